/* SPDX-License-Identifier: Apache-2.0 */
/* File -> flat form. The file is opened as an image in memory, without a copy, and walked from the root.
 *
 * Contiguous data of plain types are not sent at all: the parent has the same bytes and only needs to know where they
 * lie. Hard links may form cycles and may multiply (a group linked twice from each of many levels), so the walk keeps
 * the addresses of the groups it is in and counts what it has visited.
 */
#include <stdlib.h>
#include <string.h>

#include "helper.h"

#define TEXT_MAX ((uint64_t)1 << 24) /* strings in one dataset or attribute */

typedef struct walk {
    const helper_input *input;
    helper_output *out;
    haddr_t inside[ARTEL__WIRE_MAX_DEPTH];
    int depth;
    uint64_t visited, limit;
    const char *name; /* of what is being looked at, for messages */
} walk;

typedef struct attributes {
    helper_output *out;
    hid_t *ids;
    uint64_t count, capacity;
} attributes;

static void visit_group(walk *w, hid_t group);

/* The image is handed to libhdf5 without a copy: its memory functions give back our bytes. */
static void *image_malloc(size_t size, H5FD_file_image_op_t op, void *user)
{
    (void)op;
    const helper_input *input = user;
    return size == input->size ? input->bytes : NULL;
}

static void *image_memcpy(void *target, const void *source, size_t size, H5FD_file_image_op_t op, void *user)
{
    (void)size;
    (void)op;
    (void)user;
    return target == source ? target : NULL;
}

static void *image_realloc(void *block, size_t size, H5FD_file_image_op_t op, void *user)
{
    (void)op;
    const helper_input *input = user;
    return size <= input->size ? block : NULL;
}

static hid_t open_image(const helper_input *input)
{
    H5FD_file_image_callbacks_t callbacks = {image_malloc,      image_memcpy,           image_realloc,
                                             helper_image_free, helper_image_user_copy, helper_image_user_free,
                                             (void *)input};
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_core(access, 1 << 16, 0);
    H5Pset_file_image_callbacks(access, &callbacks);
    if (H5Pset_file_image(access, input->bytes, (size_t)input->size) < 0)
        helper_fail(HELPER_UNSUPPORTED, true, "no file image");
    hid_t file = H5Fopen("image", H5F_ACC_RDONLY, access);
    if (file < 0) helper_fail(HELPER_CORRUPT, true, "not an HDF5 file, or damaged");
    return file;
}

/* Elements of a data space and its extents; false when the rank is beyond ours. */
static bool read_space(hid_t space, artel_shape *shape, uint64_t *count, bool *scalar)
{
    *shape = (artel_shape){.rank = 0};
    *scalar = false;
    *count = 0;
    H5S_class_t kind = H5Sget_simple_extent_type(space);
    if (kind == H5S_NULL) {
        shape->rank = 1;
        return true;
    }
    int rank = H5Sget_simple_extent_ndims(space);
    if (rank < 0) helper_fail(HELPER_CORRUPT, true, "damaged extents");
    if (rank > ARTEL_MAX_RANK) return false;
    hsize_t dims[ARTEL_MAX_RANK];
    if (rank > 0 && H5Sget_simple_extent_dims(space, dims, NULL) < 0)
        helper_fail(HELPER_CORRUPT, true, "damaged extents");
    *scalar = rank == 0;
    *count = 1;
    bool empty = false;
    for (int i = 0; i < rank; i++) empty = empty || dims[i] == 0;
    for (int i = 0; i < rank; i++) {
        if (dims[i] > (hsize_t)1 << 60 || (!empty && *count > ((uint64_t)1 << 60) / dims[i]))
            helper_fail(HELPER_CORRUPT, false, "extents beyond reason");
        *count *= dims[i];
        shape->dim[i] = (int64_t)dims[i];
    }
    shape->rank = rank;
    if (empty) *count = 0;
    return true;
}

/* The length of a fixed string: up to a NUL, or without the spaces it was filled with. */
static size_t fixed_length(const char *text, size_t size, H5T_str_t pad)
{
    size_t length = strnlen(text, size);
    while (pad == H5T_STR_SPACEPAD && length > 0 && text[length - 1] == ' ') length--;
    return length;
}

/* Reads `count` strings of an attribute (or a dataset) and sends them. */
static void put_texts(helper_output *out, hid_t object, bool is_attribute, hid_t type, uint64_t count)
{
    if (count > TEXT_MAX) helper_fail(HELPER_CORRUPT, false, "%llu strings in one array", (unsigned long long)count);
    bool variable = H5Tis_variable_str(type) > 0;
    size_t size = variable ? sizeof(char *) : H5Tget_size(type);
    if (size == 0 || count > helper_room(out) / size)
        helper_fail(HELPER_CORRUPT, false, "strings longer than the file can hold");
    char *block = helper_alloc((size_t)count, size);
    hid_t memory = H5Tcopy(type);
    herr_t done = 0;
    if (count > 0 && is_attribute) done = H5Aread(object, memory, block);
    if (count > 0 && !is_attribute) done = H5Dread(object, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, block);
    if (done < 0) helper_fail(HELPER_CORRUPT, true, "damaged strings");
    H5T_str_t pad = H5Tget_strpad(type);
    for (uint64_t i = 0; i < count; i++) {
        const char *text = variable ? ((char **)(void *)block)[i] : block + i * size;
        helper_put_string(out, text ? text : "", !text ? 0 : variable ? strlen(text) : fixed_length(text, size, pad));
        if (variable) free(((char **)(void *)block)[i]);
    }
    free(block);
}

static void put_numbers(helper_output *out, hid_t attribute, hid_t memory, uint64_t count)
{
    if (count > helper_room(out) / 8) helper_fail(HELPER_CORRUPT, false, "an attribute larger than the file can hold");
    void *block = helper_alloc((size_t)count, 8);
    if (count > 0 && H5Aread(attribute, memory, block) < 0) helper_fail(HELPER_CORRUPT, true, "damaged attribute");
    helper_put(out, block, (size_t)count * 8);
    free(block);
}

static int attribute_kind(hid_t type)
{
    switch (H5Tget_class(type)) {
    case H5T_INTEGER:
    case H5T_ENUM: return ARTEL__WIRE_INTS;
    case H5T_FLOAT: return ARTEL__WIRE_DOUBLES;
    case H5T_STRING: return ARTEL__WIRE_STRINGS;
    default: return 0;
    }
}

static herr_t collect_attribute(hid_t object, const char *name, const H5A_info_t *info, void *user)
{
    (void)info;
    attributes *list = user;
    hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
    if (attribute < 0) helper_fail(HELPER_CORRUPT, true, "damaged attribute %s", name);
    if (attribute_kind(H5Aget_type(attribute)) == 0) return 0;
    if (list->count == list->capacity) {
        list->capacity = 2 * list->capacity + 8;
        list->ids = realloc(list->ids, list->capacity * sizeof *list->ids);
        if (!list->ids) helper_fail(HELPER_MEMORY, false, "no memory for attributes");
    }
    list->ids[list->count++] = attribute;
    return 0;
}

static void put_attribute(helper_output *out, hid_t attribute)
{
    static char name[1 << 16];
    ssize_t length = H5Aget_name(attribute, sizeof name, name);
    if (length < 0 || (size_t)length >= sizeof name) helper_fail(HELPER_CORRUPT, true, "damaged attribute");
    hid_t type = H5Aget_type(attribute), space = H5Aget_space(attribute);
    artel_shape shape;
    uint64_t count;
    bool scalar;
    if (!read_space(space, &shape, &count, &scalar))
        helper_fail(HELPER_CORRUPT, false, "attribute %s has too many dimensions", name);
    int kind = attribute_kind(type);
    helper_put_string(out, name, (size_t)length);
    helper_put_word(out, (uint64_t)kind);
    helper_put_word(out, scalar);
    helper_put_word(out, count);
    if (kind == ARTEL__WIRE_STRINGS)
        put_texts(out, attribute, true, type, count);
    else
        put_numbers(out, attribute, kind == ARTEL__WIRE_INTS ? H5T_NATIVE_INT64 : H5T_NATIVE_DOUBLE, count);
    H5Sclose(space);
    H5Tclose(type);
    H5Aclose(attribute);
}

/* Attributes of kinds nobody asks for are left out, so they are collected before they are counted. */
static void put_attributes(walk *w, hid_t object)
{
    attributes list = {.out = w->out};
    hsize_t index = 0;
    if (H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, &index, collect_attribute, &list) < 0)
        helper_fail(HELPER_CORRUPT, true, "the attributes of %s are damaged", w->name);
    helper_put_word(w->out, list.count);
    for (uint64_t i = 0; i < list.count; i++) put_attribute(w->out, list.ids[i]);
    free(list.ids);
}

/* Where the data lie in the image when they can be used as they are. */
static bool in_image(const walk *w, hid_t dataset, const helper_type *type, uint64_t bytes, uint64_t *offset)
{
    hid_t properties = H5Dget_create_plist(dataset);
    bool plain =
        type->identical && H5Pget_layout(properties) == H5D_CONTIGUOUS && H5Pget_external_count(properties) == 0;
    H5Pclose(properties);
    if (!plain) return false;
    haddr_t at = H5Dget_offset(dataset);
    uint64_t stored = H5Dget_storage_size(dataset);
    if (at == HADDR_UNDEF || stored == 0) return false; /* never written: libhdf5 fills it */
    if (at > w->input->size || bytes > w->input->size - at || stored != bytes)
        helper_fail(HELPER_CORRUPT, false, "the data of %s lie outside the file", w->name);
    *offset = at;
    return true;
}

static void put_data(walk *w, hid_t dataset, const helper_type *type, uint64_t count)
{
    size_t size = H5Tget_size(type->memory);
    if (count > (UINT64_MAX >> 1) / size) helper_fail(HELPER_CORRUPT, false, "extents beyond reason");
    uint64_t bytes = count * size, offset = 0;
    if (bytes > 0 && in_image(w, dataset, type, bytes, &offset)) {
        helper_put_word(w->out, ARTEL__WIRE_IMAGE);
        helper_put_word(w->out, offset);
        helper_put_word(w->out, bytes);
        return;
    }
    helper_put_word(w->out, ARTEL__WIRE_HERE);
    helper_put_word(w->out, bytes);
    helper_pad(w->out, ARTEL__WIRE_ALIGN);
    if (bytes > helper_room(w->out))
        helper_fail(HELPER_CORRUPT, false, "%s declares %llu bytes, more than the file can hold", w->name,
                    (unsigned long long)bytes);
    void *block = helper_alloc(bytes > 0 ? (size_t)bytes : 1, 1);
    if (bytes > 0 && H5Dread(dataset, type->memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, block) < 0)
        helper_fail(HELPER_CORRUPT, true, "the data of %s are damaged", w->name);
    helper_put(w->out, block, (size_t)bytes);
    helper_pad(w->out, 8);
    free(block);
}

static void visit_dataset(walk *w, hid_t dataset)
{
    hid_t file_type = H5Dget_type(dataset), space = H5Dget_space(dataset);
    if (file_type < 0 || space < 0) helper_fail(HELPER_CORRUPT, true, "the array %s is damaged", w->name);
    helper_type type = helper_classify(file_type);
    artel_shape shape;
    uint64_t count;
    bool scalar;
    if (!read_space(space, &shape, &count, &scalar)) type.known = false;
    helper_put_word(w->out, type.known ? (uint64_t)type.dtype : 0);
    helper_put_word(w->out, (uint64_t)shape.rank);
    for (int i = 0; i < shape.rank; i++) helper_put_word(w->out, (uint64_t)shape.dim[i]);
    if (!type.known) {
        helper_put_word(w->out, ARTEL__WIRE_NONE);
    } else if (type.dtype == ARTEL_DTYPE_STRING) {
        helper_put_word(w->out, ARTEL__WIRE_TEXTS);
        helper_put_word(w->out, count);
        put_texts(w->out, dataset, false, file_type, count);
    } else {
        put_data(w, dataset, &type, count);
    }
    H5Sclose(space);
}

static void visit_child(walk *w, hid_t object, const char *name, H5I_type_t kind)
{
    helper_put_word(w->out, kind == H5I_GROUP ? ARTEL__WIRE_GROUP : ARTEL__WIRE_DATASET);
    helper_put_string(w->out, name, strlen(name));
    w->name = name;
    put_attributes(w, object);
    if (kind == H5I_GROUP)
        visit_group(w, object);
    else
        visit_dataset(w, object);
}

static herr_t visit_link(hid_t group, const char *name, const H5L_info_t *info, void *user)
{
    walk *w = user;
    if (info->type != H5L_TYPE_HARD) return 0;
    if (++w->visited > w->limit) helper_fail(HELPER_CORRUPT, false, "more objects than the file can hold");
    hid_t object = H5Oopen(group, name, H5P_DEFAULT);
    if (object < 0) helper_fail(HELPER_CORRUPT, true, "the object %s is damaged", name);
    H5I_type_t kind = H5Iget_type(object);
    if (kind == H5I_GROUP || kind == H5I_DATASET) visit_child(w, object, name, kind);
    H5Oclose(object);
    return 0;
}

static void visit_group(walk *w, hid_t group)
{
    H5O_info_t info;
    if (H5Oget_info2(group, &info, H5O_INFO_BASIC) < 0) helper_fail(HELPER_CORRUPT, true, "a group is damaged");
    if (w->depth == ARTEL__WIRE_MAX_DEPTH)
        helper_fail(HELPER_CORRUPT, false, "groups are nested deeper than %d", ARTEL__WIRE_MAX_DEPTH);
    for (int i = 0; i < w->depth; i++)
        if (w->inside[i] == info.addr) helper_fail(HELPER_CORRUPT, false, "a group contains itself");
    w->inside[w->depth++] = info.addr;
    hid_t properties = H5Gget_create_plist(group);
    unsigned order = 0;
    H5Pget_link_creation_order(properties, &order);
    H5Pclose(properties);
    hsize_t index = 0;
    if (H5Literate(group, order & H5P_CRT_ORDER_TRACKED ? H5_INDEX_CRT_ORDER : H5_INDEX_NAME, H5_ITER_INC, &index,
                   visit_link, w) < 0)
        helper_fail(HELPER_CORRUPT, true, "a group is damaged");
    w->depth--;
    helper_put_word(w->out, ARTEL__WIRE_END);
}

void helper_read(const helper_input *input, helper_output *out)
{
    H5PLset_loading_state(0);
    hid_t file = open_image(input);
    hid_t root = H5Gopen2(file, "/", H5P_DEFAULT);
    if (root < 0) helper_fail(HELPER_CORRUPT, true, "the root group is damaged");
    walk w = {.input = input, .out = out, .limit = 10000 + input->size / 100};
    visit_child(&w, root, "/", H5I_GROUP);
}
