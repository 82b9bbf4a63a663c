/* SPDX-License-Identifier: Apache-2.0 */
/* What operations that look into strings end with: an error, or an array of strings, of those that are given or of what
 * is written one behind another. */
#include "text/words.h"

artel_status artel__string_wrong(const artel__string_call *c, const char *advice, const char *what)
{
    return artel__fail(c->ctx, ARTEL_ERROR_INVALID, c->operation->name, advice, "%s", what);
}

artel_status artel__string_like(const artel__string_call *c, artel_dtype dtype, void **out)
{
    return c->to->numbers(c->to, dtype, &c->in[0].shape, out);
}

artel_status artel__string_give(const artel__string_call *c, const artel_shape *shape, const artel_string *from)
{
    return c->to->strings(c->to, shape, from);
}

artel_status artel__string_check_shape(const artel__string_call *c, const artel_shape *shape, int64_t *count)
{
    *count = artel_shape_count(shape);
    if (*count >= 0 && *count <= INT64_MAX / 64) return ARTEL_OK;
    return artel__string_wrong(c, "take fewer", "the result has more elements than there can be");
}

artel_status artel__string_begin(artel_context *ctx, int64_t most, artel__string_writer *out)
{
    void *ends;
    *out = (artel__string_writer){.count = 0};
    artel__text_init(&out->text, ctx);
    ARTEL_TRY(artel__calloc(ctx, (size_t)most + 1, sizeof *out->end, "strings", &ends));
    out->end = ends;
    return ARTEL_OK;
}

void artel__string_write(artel__string_writer *to, const char *bytes, size_t length)
{
    artel__text_append_bytes(&to->text, bytes, length);
}

void artel__string_next(artel__string_writer *to)
{
    to->end[to->count++] = to->text.length;
}

artel_status artel__string_end(artel__string_writer *of, const artel__string_call *call, const artel_shape *shape,
                               artel_status status)
{
    artel_context *ctx = of->text.ctx;
    void *list = NULL;
    size_t begin = 0;
    if (status == ARTEL_OK) status = artel__text_status(&of->text);
    if (status == ARTEL_OK) status = artel__alloc(ctx, (size_t)of->count * sizeof(artel_string) + 1, "strings", &list);
    artel_string *made = list;
    for (int64_t i = 0; i < of->count && status == ARTEL_OK; begin = of->end[i++])
        made[i] = (artel_string){of->text.data + begin, of->end[i] - begin};
    if (status == ARTEL_OK) status = artel__string_give(call, shape, made);
    artel__free(ctx, list);
    artel__free(ctx, of->end);
    artel__text_fini(&of->text);
    return status;
}
