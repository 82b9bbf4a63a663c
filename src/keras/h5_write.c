/* SPDX-License-Identifier: Apache-2.0 */
/* Writing: the tree goes to the helper in its flat form (keras/h5_wire.h), the file comes back in a memory file.
 *
 * Small items are gathered in a buffer, data go to the memory file directly, so that each byte of a large model is
 * copied once here.
 */
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "keras/h5.h"
#include "keras/h5_helper.h"
#include "keras/h5_wire.h"

#define BUFFER ((size_t)1 << 16)

typedef struct request {
    artel_context *ctx;
    const char *where;
    int fd;
    artel__text buffer;
    uint64_t written; /* in the buffer or before it */
    int depth;
} request;

static artel_status flush(request *r)
{
    ARTEL_TRY(artel__text_status(&r->buffer));
    ARTEL_TRY(artel__memory_write(r->ctx, r->where, r->fd, r->buffer.data, r->buffer.length));
    artel__text_clear(&r->buffer);
    return ARTEL_OK;
}

static void put(request *r, const void *bytes, size_t count)
{
    artel__text_append_bytes(&r->buffer, bytes, count);
    r->written += count;
}

static void put_word(request *r, uint64_t word)
{
    put(r, &word, sizeof word);
}

static void put_pad(request *r, size_t alignment)
{
    static const char zeros[ARTEL__WIRE_ALIGN];
    put(r, zeros, (alignment - r->written % alignment) % alignment);
}

static void put_string(request *r, const char *text)
{
    size_t length = strlen(text);
    put_word(r, length);
    put(r, text, length);
    put_pad(r, 8);
}

static void put_attributes(request *r, const artel__h5_node *node)
{
    put_word(r, node->attribute_count);
    for (const artel__h5_attribute *a = node->attributes; a; a = a->next) {
        put_string(r, a->name);
        put_word(r, a->kind);
        put_word(r, a->scalar);
        put_word(r, a->count);
        if (a->kind != ARTEL__H5_STRINGS)
            put(r, a->ints, a->count * 8);
        else
            for (size_t i = 0; i < a->count; i++) put_string(r, a->strings[i]);
    }
}

static artel_status put_dataset(request *r, const artel__h5_node *node)
{
    int64_t count = artel_shape_count(&node->shape);
    size_t each = artel_dtype_size(node->dtype);
    if (count < 0 || each == 0 || (uint64_t)count > SIZE_MAX / each || node->bytes != (size_t)count * each ||
        (node->bytes > 0 && !node->data))
        return artel__fail(r->ctx, ARTEL_ERROR_INVALID, r->where, "", "the array %s (%s) cannot be written", node->name,
                           artel_dtype_name(node->dtype));
    put_word(r, node->dtype);
    put_word(r, (uint64_t)node->shape.rank);
    for (int i = 0; i < node->shape.rank; i++) put_word(r, (uint64_t)node->shape.dim[i]);
    put_word(r, ARTEL__WIRE_HERE);
    put_word(r, node->bytes);
    put_pad(r, ARTEL__WIRE_ALIGN);
    if (node->bytes < BUFFER) {
        put(r, node->data, node->bytes);
    } else {
        ARTEL_TRY(flush(r));
        ARTEL_TRY(artel__memory_write(r->ctx, r->where, r->fd, node->data, node->bytes));
        r->written += node->bytes;
    }
    put_pad(r, 8);
    return ARTEL_OK;
}

static artel_status put_node(request *r, const artel__h5_node *node)
{
    put_word(r, node->is_dataset ? ARTEL__WIRE_DATASET : ARTEL__WIRE_GROUP);
    put_string(r, node->name);
    put_attributes(r, node);
    if (node->is_dataset) ARTEL_TRY(put_dataset(r, node));
    if (++r->depth > ARTEL__H5_MAX_DEPTH)
        return artel__fail(r->ctx, ARTEL_ERROR_INVALID, r->where, "", "groups are nested deeper than %d",
                           ARTEL__H5_MAX_DEPTH);
    for (const artel__h5_node *child = node->first; child; child = child->next) ARTEL_TRY(put_node(r, child));
    r->depth--;
    if (!node->is_dataset) put_word(r, ARTEL__WIRE_END);
    return r->buffer.length >= BUFFER ? flush(r) : artel__text_status(&r->buffer);
}

static artel_status encode(artel_context *ctx, const char *where, const artel__h5_node *root, int fd, uint64_t *size)
{
    request r = {.ctx = ctx, .where = where, .fd = fd};
    artel__wire_header header = {.magic = ARTEL__WIRE_MAGIC};
    artel__text_init(&r.buffer, ctx);
    put(&r, &header, sizeof header);
    artel_status status = put_node(&r, root);
    if (status >= 0) status = flush(&r);
    artel__text_fini(&r.buffer);
    *size = r.written;
    return status;
}

artel_status artel__h5_write(artel_context *ctx, const char *where, const artel__h5_node *root, artel__mapping *out)
{
    artel__helper_job job = {.where = where, .mode = "write", .input = -1, .output = -1};
    uint64_t size = 0;
    artel__mapping bytes = {0};
    artel_status status = artel__memory_file(ctx, where, &job.input);
    if (status >= 0) status = artel__memory_file(ctx, where, &job.output);
    if (status >= 0) status = encode(ctx, where, root, job.input, &size);
    job.seconds = artel__helper_seconds(size);
    if (status >= 0) status = artel__helper_run(ctx, &job);
    if (status >= 0) status = artel__memory_map(ctx, where, job.output, &bytes);
    if (status >= 0 && !artel__h5_is_h5(bytes.bytes, bytes.size))
        status = artel__fail(ctx, ARTEL_ERROR_INTERNAL, where, "try again", "the HDF5 helper gave no file back");
    if (job.input >= 0) close(job.input);
    if (job.output >= 0) close(job.output);
    if (status < 0)
        artel__h5_release(&bytes);
    else
        *out = bytes;
    return status;
}
