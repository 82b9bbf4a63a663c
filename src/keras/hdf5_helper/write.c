/* SPDX-License-Identifier: Apache-2.0 */
/* Flat form -> file, the way h5py lays files out for Keras.
 *
 * The flat form comes from our own library, so it is only checked enough to fail with a message. The file is made in
 * memory, which is the output's: nothing is copied out. No time stamps: the same tree gives the same bytes.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "helper.h"

#define ATTRIBUTE_MAX 64512u /* of an object header, as in Keras */

typedef struct reader {
    const uint8_t *at, *start, *end;
} reader;

static const void *take(reader *r, uint64_t count)
{
    if (count > (uint64_t)(r->end - r->at)) helper_fail(HELPER_INVALID, false, "the request is cut short");
    const void *p = r->at;
    r->at += count;
    return p;
}

static uint64_t take_word(reader *r)
{
    uint64_t word;
    memcpy(&word, take(r, sizeof word), sizeof word);
    return word;
}

static void skip_pad(reader *r, size_t alignment)
{
    size_t done = (size_t)(r->at - r->start);
    take(r, (alignment - done % alignment) % alignment);
}

/* A copy with a NUL. */
static char *take_string(reader *r)
{
    uint64_t length = take_word(r);
    const void *bytes = take(r, length);
    char *copy = helper_alloc((size_t)length + 1, 1);
    memcpy(copy, bytes, (size_t)length);
    skip_pad(r, 8);
    return copy;
}

static hid_t text_type(void)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, H5T_VARIABLE);
    H5Tset_cset(type, H5T_CSET_UTF8);
    return type;
}

static void put_attribute(hid_t object, const char *name, hid_t type, bool scalar, uint64_t count, const void *values)
{
    hsize_t extent = count;
    if (count * H5Tget_size(type) > ATTRIBUTE_MAX)
        helper_fail(HELPER_INVALID, false, "the attribute %s has %llu values; %u bytes fit", name,
                    (unsigned long long)count, ATTRIBUTE_MAX);
    hid_t space = scalar ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &extent, NULL);
    hid_t attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    if (attribute < 0 || (count > 0 && H5Awrite(attribute, type, values) < 0))
        helper_fail(HELPER_INVALID, true, "the attribute %s cannot be written", name);
    H5Aclose(attribute);
    H5Sclose(space);
}

static void write_attribute(reader *r, hid_t object)
{
    char *name = take_string(r);
    uint64_t kind = take_word(r), scalar = take_word(r), count = take_word(r);
    if (scalar) count = 1;
    if (kind == ARTEL__WIRE_STRINGS && count > 0) {
        if (count > (uint64_t)(r->end - r->at) / 8) helper_fail(HELPER_INVALID, false, "the request is cut short");
        char **texts = helper_alloc((size_t)count, sizeof *texts);
        for (uint64_t i = 0; i < count; i++) texts[i] = take_string(r);
        put_attribute(object, name, text_type(), scalar != 0, count, texts);
    } else {
        const void *values = take(r, count <= UINT32_MAX ? count * 8 : UINT64_MAX);
        put_attribute(object, name, kind == ARTEL__WIRE_INTS ? H5T_STD_I64LE : H5T_IEEE_F64LE, scalar != 0, count,
                      values);
    }
}

static void write_attributes(reader *r, hid_t object)
{
    for (uint64_t count = take_word(r); count > 0; count--) write_attribute(r, object);
}

/* Names beyond ASCII are marked as UTF-8; names of a '/' would be paths. */
static hid_t link_properties(const char *name)
{
    hid_t properties = H5Pcreate(H5P_LINK_CREATE);
    for (const char *p = name; *p; p++)
        if ((unsigned char)*p > 0x7f) H5Pset_char_encoding(properties, H5T_CSET_UTF8);
    if (name[0] == '\0' || strchr(name, '/') || strcmp(name, ".") == 0)
        helper_fail(HELPER_INVALID, false, "\"%s\" cannot be a name", name);
    return properties;
}

/* Attributes stand before the extents in the flat form, but need the dataset: they are passed over and read later. */
static void skip_attributes(reader *r)
{
    for (uint64_t count = take_word(r); count > 0; count--) {
        take_string(r);
        uint64_t kind = take_word(r);
        take_word(r);
        for (uint64_t values = take_word(r); values > 0; values--) {
            if (kind == ARTEL__WIRE_STRINGS)
                take_string(r);
            else
                take(r, 8);
        }
    }
}

static hid_t make_dataset(hid_t parent, const char *name, hid_t type, hid_t space)
{
    hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_obj_track_times(properties, 0);
    H5Pset_fill_time(properties, H5D_FILL_TIME_NEVER);
    hid_t dataset = H5Dcreate2(parent, name, type, space, link_properties(name), properties, H5P_DEFAULT);
    if (dataset < 0) helper_fail(HELPER_INVALID, true, "the dataset %s cannot be written", name);
    H5Pclose(properties);
    return dataset;
}

static void write_dataset(reader *r, hid_t parent)
{
    char *name = take_string(r);
    reader marks = *r;
    skip_attributes(r);
    hid_t type = helper_memory_type((artel_dtype)take_word(r));
    uint64_t rank = take_word(r);
    hsize_t extents[ARTEL_MAX_RANK] = {0};
    if (type < 0 || rank > ARTEL_MAX_RANK)
        helper_fail(HELPER_INVALID, false, "the dataset %s has a type or rank that cannot be written", name);
    for (uint64_t i = 0; i < rank; i++) extents[i] = take_word(r);
    if (take_word(r) != ARTEL__WIRE_HERE) helper_fail(HELPER_INVALID, false, "the dataset %s comes without data", name);
    uint64_t bytes = take_word(r);
    skip_pad(r, ARTEL__WIRE_ALIGN);
    const void *data = take(r, bytes);
    skip_pad(r, 8);
    hid_t space = rank == 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple((int)rank, extents, NULL);
    if (space < 0 || (uint64_t)H5Sget_simple_extent_npoints(space) * H5Tget_size(type) != bytes)
        helper_fail(HELPER_INVALID, false, "the dataset %s has %llu bytes, which its shape does not", name,
                    (unsigned long long)bytes);
    hid_t dataset = make_dataset(parent, name, type, space);
    if (bytes > 0 && H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0)
        helper_fail(HELPER_INVALID, true, "the dataset %s cannot be written", name);
    write_attributes(&marks, dataset);
    H5Dclose(dataset);
    H5Sclose(space);
}

static void write_children(reader *r, hid_t group, int depth)
{
    if (depth > ARTEL__WIRE_MAX_DEPTH)
        helper_fail(HELPER_INVALID, false, "groups are nested deeper than %d", ARTEL__WIRE_MAX_DEPTH);
    for (;;) {
        uint64_t tag = take_word(r);
        if (tag == ARTEL__WIRE_END) return;
        if (tag == ARTEL__WIRE_DATASET) {
            write_dataset(r, group);
            continue;
        }
        char *name = take_string(r);
        hid_t child = H5Gcreate2(group, name, link_properties(name), H5P_DEFAULT, H5P_DEFAULT);
        if (child < 0) helper_fail(HELPER_INVALID, true, "the group %s cannot be written", name);
        write_attributes(r, child);
        write_children(r, child, depth + 1);
        H5Gclose(child);
    }
}

/* -- the image: libhdf5 keeps the file in a mapping of the output -- */

static void *image_realloc(void *block, size_t size, H5FD_file_image_op_t op, void *user)
{
    size_t *mapped = user;
    (void)op;
    if (size <= *mapped) return block;
    if (ftruncate(ARTEL__WIRE_OUTPUT, (off_t)size) != 0) return NULL;
    void *at = block ? mremap(block, *mapped, size, MREMAP_MAYMOVE)
                     : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, ARTEL__WIRE_OUTPUT, 0);
    if (at == MAP_FAILED) return NULL;
    *mapped = size;
    return at;
}

static hid_t create_image(size_t step, size_t *mapped)
{
    H5FD_file_image_callbacks_t callbacks = {
        NULL, NULL, image_realloc, helper_image_free, helper_image_user_copy, helper_image_user_free, mapped};
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_core(access, step, 0);
    H5Pset_file_image_callbacks(access, &callbacks);
    hid_t file = H5Fcreate("image", H5F_ACC_TRUNC, H5P_DEFAULT, access);
    if (file < 0) helper_fail(HELPER_MEMORY, true, "no memory for the file");
    return file;
}

/* Closing it clears the mark that somebody writes; the room behind the end is cut off. */
static void finish_image(hid_t file)
{
    bool whole = H5Fflush(file, H5F_SCOPE_GLOBAL) >= 0;
    ssize_t size = whole ? H5Fget_file_image(file, NULL, 0) : -1;
    if (size <= 0 || H5Fclose(file) < 0 || ftruncate(ARTEL__WIRE_OUTPUT, size) != 0)
        helper_fail(HELPER_MEMORY, true, "the file cannot be finished");
}

void helper_write(const helper_input *input)
{
    reader r = {.at = input->bytes, .start = input->bytes, .end = input->bytes + input->size};
    size_t mapped = 0;
    take(&r, sizeof(artel__wire_header));
    hid_t file = create_image((size_t)input->size + (1 << 16), &mapped);
    if (take_word(&r) != ARTEL__WIRE_GROUP)
        helper_fail(HELPER_INVALID, false, "the request does not begin with a group");
    take_string(&r);
    hid_t root = H5Gopen2(file, "/", H5P_DEFAULT);
    write_attributes(&r, root);
    write_children(&r, root, 0);
    H5Gclose(root);
    finish_image(file);
}
