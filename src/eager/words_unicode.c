/* SPDX-License-Identifier: Apache-2.0 */
/* Characters of strings as code points and as strings of their own, and back, after tf.strings.unicode_decode,
 * unicode_split and unicode_encode of UTF-8. words.c has their table.
 *
 * Elements with fewer characters than the one with the most end in `default_value` or in empty strings, as to_tensor()
 * makes it of what TensorFlow gives. */
#include "base/utf8.h"
#include "eager/words.h"

/* The shape with an axis of characters. */
static artel_status add_axis(const artel__string_call *c, artel_shape *shape)
{
    int64_t most = 0;
    *shape = c->inputs[0]->shape;
    if (shape->rank == ARTEL_MAX_RANK)
        return artel__string_wrong(c, "take axes away", "there is no room for another axis");
    for (int64_t i = 0; i < c->inputs[0]->count; i++) {
        int64_t count = (int64_t)artel__utf8_count(c->in[0][i].bytes, c->in[0][i].length);
        if (count > most) most = count;
    }
    shape->dim[shape->rank++] = most;
    return ARTEL_OK;
}

artel_status artel__string_decode(const artel__string_call *c)
{
    artel_shape shape;
    artel_ndarray *made;
    int64_t missing = c->settings->missing;
    if (missing < INT32_MIN || missing > INT32_MAX)
        return artel__string_wrong(c, "give a number of 32 bits", "'default_value' is no int32");
    ARTEL_TRY(add_axis(c, &shape));
    ARTEL_TRY(artel__ndarray_new(c->e, ARTEL_DTYPE_INT32, &shape, &made));
    int32_t *out = (int32_t *)(void *)made->data;
    int64_t most = shape.dim[shape.rank - 1];
    for (int64_t i = 0; i < c->inputs[0]->count; i++, out += most) {
        artel_string s = c->in[0][i];
        int64_t k = 0;
        for (size_t at = 0, width; at < s.length; at += width)
            out[k++] = artel__utf8_take(s.bytes + at, s.length - at, &width);
        for (; k < most; k++) out[k] = (int32_t)missing;
    }
    *c->out = made;
    return ARTEL_OK;
}

artel_status artel__string_characters(const artel__string_call *c)
{
    artel_shape shape;
    void *list;
    ARTEL_TRY(add_axis(c, &shape));
    ARTEL_TRY(artel__ndarray_check(c->e, ARTEL_DTYPE_STRING, &shape));
    int64_t most = shape.dim[shape.rank - 1], count = c->inputs[0]->count;
    ARTEL_TRY(artel__calloc(c->e->ctx, (size_t)(count * most) + 1, sizeof(artel_string), "strings", &list));
    artel_string *part = list;
    for (int64_t i = 0; i < count; i++) {
        artel_string s = c->in[0][i], *to = part + i * most;
        for (size_t at = 0, width; at < s.length; at += width) {
            (void)artel__utf8_take(s.bytes + at, s.length - at, &width);
            *to++ = (artel_string){s.bytes + at, width};
        }
    }
    artel_status status = artel__string_give(c, &shape, part);
    artel__free(c->e->ctx, list);
    return status;
}

/* Of what is no code point, U+FFFD. */
static void write_point(artel__string_writer *to, int32_t code)
{
    char bytes[4];
    bool is = code >= 0 && code <= 0x10FFFF && (code < 0xD800 || code >= 0xE000);
    artel__string_write(to, bytes, artel__utf8_put(is ? (uint32_t)code : 0xFFFD, bytes));
}

artel_status artel__string_encode(const artel__string_call *c)
{
    artel_shape shape = c->inputs[0]->shape;
    artel__string_writer writer;
    void *block;
    if (c->inputs[0]->dtype != ARTEL_DTYPE_INT32 || shape.rank == 0)
        return artel__string_wrong(c, "give code points along the last axis", "the operand is no row of int32");
    int64_t length = shape.dim[--shape.rank], count = artel_shape_count(&shape);
    ARTEL_TRY(artel__string_begin(c->e->ctx, count, &writer));
    artel_status status = artel__alloc(c->e->ctx, (size_t)c->inputs[0]->count * sizeof(int32_t) + 1, "strings", &block);
    if (status == ARTEL_OK) {
        const int32_t *code = block;
        artel__ndarray_gather(c->inputs[0], block);
        for (int64_t i = 0; i < count; i++, artel__string_next(&writer)) {
            for (int64_t k = 0; k < length; k++) write_point(&writer, *code++);
        }
        artel__free(c->e->ctx, block);
    }
    return artel__string_end(&writer, c, &shape, status);
}
