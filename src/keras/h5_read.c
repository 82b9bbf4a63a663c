/* SPDX-License-Identifier: Apache-2.0 */
/* Reading: the bytes go to the helper in a memory file, its answer is turned into a tree.
 *
 * The answer is looked at only after the helper is dead, so it cannot change under our eyes, and every count and offset
 * in it is held against the bytes that are there before anything is allocated. Data that lie in the image are pointed
 * to, in our own sealed mapping of it, at whatever address the file gave them.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/spill.h"
#include "keras/h5_helper.h"
#include "keras/h5_tree.h"
#include "keras/h5_wire.h"

typedef struct answer {
    artel__arena *arena;
    const uint8_t *bytes;
    size_t size, at;
    const artel__mapping *image;
    int depth;
    bool bad; /* something does not fit; everything taken from here on is zero */
} answer;

static void take_children(answer *a, artel__h5_node *group);

static const uint8_t *take(answer *a, uint64_t count)
{
    if (a->bad || count > a->size - a->at) {
        a->bad = true;
        return NULL;
    }
    const uint8_t *p = a->bytes + a->at;
    a->at += (size_t)count;
    return p;
}

static uint64_t take_word(answer *a)
{
    uint64_t word = 0;
    const uint8_t *p = take(a, sizeof word);
    if (p) memcpy(&word, p, sizeof word);
    return word;
}

/* A word that must be at most `limit`. */
static uint64_t take_up_to(answer *a, uint64_t limit)
{
    uint64_t word = take_word(a);
    if (word <= limit) return word;
    a->bad = true;
    return 0;
}

static void skip_pad(answer *a, size_t alignment)
{
    take(a, (alignment - a->at % alignment) % alignment);
}

/* The number of things of at least `each` bytes that follow. */
static size_t take_count(answer *a, size_t each)
{
    return (size_t)take_up_to(a, (a->size - a->at) / each);
}

static char *take_string(answer *a)
{
    uint64_t length = take_word(a);
    const uint8_t *p = take(a, length);
    char *copy = p ? artel__arena_alloc(a->arena, 1, (size_t)length + 1) : NULL;
    if (!copy) {
        a->bad = true;
        return NULL;
    }
    memcpy(copy, p, (size_t)length);
    skip_pad(a, 8);
    return copy;
}

static const char **take_strings(answer *a, size_t count)
{
    const char **strings = artel__arena_alloc(a->arena, count + 1, sizeof *strings);
    if (!strings) a->bad = true;
    for (size_t i = 0; i < count && !a->bad; i++) strings[i] = take_string(a);
    return strings;
}

static void take_attribute(answer *a, artel__h5_node *node)
{
    artel__h5_attribute *attribute = artel__h5_attribute_add(a->arena, node, take_string(a));
    uint64_t kind = take_up_to(a, ARTEL__WIRE_STRINGS);
    bool scalar = take_up_to(a, 1);
    size_t count = take_count(a, 8);
    if (!attribute || kind == 0 || (scalar && count != 1)) a->bad = true;
    if (a->bad) return;
    attribute->kind = (artel__h5_kind)kind;
    attribute->scalar = scalar;
    attribute->count = count;
    if (kind == ARTEL__WIRE_STRINGS) {
        attribute->strings = take_strings(a, count);
        return;
    }
    const uint8_t *values = take(a, (uint64_t)count * 8);
    void *copy = artel__arena_alloc(a->arena, count + 1, 8);
    if (values && copy) memcpy(copy, values, count * 8);
    if (!copy) a->bad = true;
    attribute->ints = copy;
}

static void take_attributes(answer *a, artel__h5_node *node)
{
    for (size_t count = take_count(a, 32); count > 0 && !a->bad; count--) take_attribute(a, node);
}

/* Keras marks two-byte data of any kind. */
static void mark_bfloat16(artel__h5_node *node)
{
    const char *mark = artel__h5_attribute_text(node, "dtype");
    if (artel_dtype_size(node->dtype) == 2 && mark && strcmp(mark, "bfloat16") == 0) node->dtype = ARTEL_DTYPE_BFLOAT16;
}

static void take_data(answer *a, artel__h5_node *node, uint64_t place)
{
    int64_t count = artel_shape_count(&node->shape);
    size_t each = artel_dtype_size(node->dtype);
    uint64_t offset = place == ARTEL__WIRE_IMAGE ? take_up_to(a, a->image->size) : 0;
    uint64_t bytes = take_word(a);
    if (count < 0 || each == 0 || bytes % each != 0 || bytes / each != (uint64_t)count) a->bad = true;
    if (place == ARTEL__WIRE_IMAGE) {
        if (bytes > a->image->size - offset) a->bad = true;
        if (!a->bad) node->data = a->image->bytes + offset;
    } else {
        skip_pad(a, ARTEL__WIRE_ALIGN);
        node->data = take(a, bytes);
        skip_pad(a, 8);
    }
    node->bytes = (size_t)bytes;
    node->readable = !a->bad;
    mark_bfloat16(node);
}

static void take_texts(answer *a, artel__h5_node *node)
{
    size_t count = take_count(a, 8);
    if (node->dtype != ARTEL_DTYPE_STRING || artel_shape_count(&node->shape) != (int64_t)count) a->bad = true;
    if (a->bad) return;
    node->data = take_strings(a, count);
    node->bytes = count * sizeof(const char *);
    node->readable = !a->bad;
}

static void take_dataset(answer *a, artel__h5_node *node)
{
    node->dtype = (artel_dtype)take_up_to(a, ARTEL_DTYPE_STRING);
    node->shape.rank = (int)take_up_to(a, ARTEL_MAX_RANK);
    for (int i = 0; i < node->shape.rank; i++) node->shape.dim[i] = (int64_t)take_up_to(a, (uint64_t)1 << 60);
    uint64_t place = take_up_to(a, ARTEL__WIRE_TEXTS);
    if (a->bad || place == ARTEL__WIRE_NONE) return;
    if (place == ARTEL__WIRE_TEXTS)
        take_texts(a, node);
    else
        take_data(a, node, place);
}

static artel__h5_node *take_node(answer *a, artel__h5_node *parent, uint64_t tag)
{
    artel__h5_node *node = artel__h5_node_add(a->arena, parent, take_string(a), tag == ARTEL__WIRE_DATASET);
    if (!node) a->bad = true;
    if (a->bad) return NULL;
    take_attributes(a, node);
    if (tag == ARTEL__WIRE_DATASET)
        take_dataset(a, node);
    else
        take_children(a, node);
    return a->bad ? NULL : node;
}

static void take_children(answer *a, artel__h5_node *group)
{
    if (++a->depth > ARTEL__H5_MAX_DEPTH) a->bad = true;
    for (uint64_t tag; !a->bad && (tag = take_up_to(a, ARTEL__WIRE_DATASET)) != ARTEL__WIRE_END;)
        take_node(a, group, tag);
    a->depth--;
}

artel_status artel__h5_parse(artel__arena *arena, const char *where, artel__h5_file *file)
{
    artel__wire_header header = {0};
    answer a = {.arena = arena, .bytes = file->reply.bytes, .size = file->reply.size, .image = &file->image};
    const uint8_t *p = take(&a, sizeof header);
    if (p) memcpy(&header, p, sizeof header);
    if (header.magic != ARTEL__WIRE_MAGIC || header.complete != ARTEL__WIRE_COMPLETE || header.length != a.size)
        a.bad = true;
    if (take_word(&a) != ARTEL__WIRE_GROUP) a.bad = true;
    if (!a.bad) file->root = take_node(&a, NULL, ARTEL__WIRE_GROUP);
    ARTEL_TRY(artel__arena_status(arena));
    if (a.bad || !file->root)
        return artel__fail(file->ctx, ARTEL_ERROR_CORRUPT, where, "copy or download the file again, or save it again",
                           "the HDF5 helper did not give a complete answer");
    return ARTEL_OK;
}

enum {
    SEALING_TRIES = 20
};

/* While the kernel itself still holds pages that have just been written, it says that they are in use. */
static bool seal(int fd)
{
    const struct timespec pause = {.tv_nsec = 50000000};
    for (int i = 0; i < SEALING_TRIES; i++) {
        if (fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0) return true;
        if (errno != EBUSY) return false;
        nanosleep(&pause, NULL);
    }
    return false;
}

/* The image must not change any more, nor shrink under our mapping: data are pointed to. */
static artel_status make_image(artel_context *ctx, const char *where, const void *bytes, size_t size, int *fd,
                               artel__mapping *out)
{
    ARTEL_TRY(artel__memory_write(ctx, where, *fd, bytes, size));
    if (artel__spill_is_open(ctx)) /* a file on disk has no seals */
        ARTEL_TRY(artel__memory_guard(ctx, where, fd));
    else if (!seal(*fd))
        return artel__fail_errno(ctx, where, "make a copy in memory");
    return artel__memory_map(ctx, where, *fd, out);
}

artel_status artel__h5_read(artel__arena *arena, const char *where, const void *bytes, size_t size, artel__h5_file *out)
{
    artel_context *ctx = arena->ctx;
    if (!artel__h5_is_h5(bytes, size))
        return artel__fail(ctx, ARTEL_ERROR_CORRUPT, where,
                           "check that this is the file that was meant, and that it is complete",
                           "not an HDF5 file (%zu bytes without its signature)", size);
    artel__h5_file file = {.ctx = ctx};
    artel__helper_job job = {
        .where = where, .mode = "read", .input = -1, .output = -1, .seconds = artel__helper_seconds(size)};
    artel_status status = artel__memory_file(ctx, where, &job.input);
    if (status >= 0) status = artel__memory_file(ctx, where, &job.output);
    if (status >= 0) status = make_image(ctx, where, bytes, size, &job.input, &file.image);
    if (status >= 0) status = artel__helper_run(ctx, &job);
    if (status >= 0) status = artel__memory_map(ctx, where, job.output, &file.reply);
    if (status >= 0) status = artel__h5_parse(arena, where, &file);
    if (job.input >= 0) close(job.input);
    if (job.output >= 0) close(job.output);
    if (status < 0)
        artel__h5_close(&file);
    else
        *out = file;
    return status;
}

artel_status artel__h5_read_file(artel__arena *arena, const char *path, artel__h5_file *out)
{
    artel__mapping mapping;
    ARTEL_TRY(artel__map_file(arena->ctx, path, &mapping));
    artel_status status = artel__h5_read(arena, path, mapping.bytes, mapping.size, out);
    artel__unmap_file(&mapping);
    return status;
}

void artel__h5_close(artel__h5_file *file)
{
    artel__h5_release(&file->image);
    artel__h5_release(&file->reply);
    *file = (artel__h5_file){0};
}

void artel__h5_release(artel__mapping *bytes)
{
    if (bytes->bytes) munmap((void *)bytes->bytes, bytes->size);
    *bytes = (artel__mapping){0};
}
