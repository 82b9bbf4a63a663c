/* SPDX-License-Identifier: Apache-2.0 */
/* Characters of strings as code points and as strings of their own, and back, after tf.strings.unicode_decode,
 * unicode_split and unicode_encode of UTF-8. words.c has their table.
 *
 * Elements with fewer characters than the one with the most end in `default_value` or in empty strings, as to_tensor()
 * makes it of what TensorFlow gives. */
#include "base/utf8.h"
#include "text/words.h"

/* Takes the next character off a string, as its bytes and its code point; false at the end. */
static bool take_character(artel_string *rest, artel_string *character, int32_t *code)
{
    if (rest->length == 0) return false;
    character->bytes = rest->bytes;
    *code = artel__utf8_take(rest->bytes, rest->length, &character->length);
    rest->bytes += character->length;
    rest->length -= character->length;
    return true;
}

/* The shape with an axis of characters. */
static artel_status add_axis(const artel__string_call *c, artel_shape *shape, int64_t *all)
{
    artel_dtype dtype;
    ARTEL_TRY(c->operation->infer(c, &dtype, shape));
    int64_t *most = &shape->dim[shape->rank - 1];
    for (int64_t i = 0; i < c->in[0].count && c->settings->parts < 0; i++) {
        artel_string s = artel__string_in(c, 0)[i];
        int64_t count = (int64_t)artel__utf8_count(s.bytes, s.length);
        if (count > *most) *most = count;
    }
    if (*most < 0) *most = 0;
    return artel__string_check_shape(c, shape, all);
}

artel_status artel__string_infer_decode(const artel__string_call *c, artel_dtype *dtype, artel_shape *shape)
{
    if (c->settings->missing < INT32_MIN || c->settings->missing > INT32_MAX)
        return artel__string_wrong(c, "give a number of 32 bits", "'default_value' is no int32");
    ARTEL_TRY(artel__string_infer_split(c, dtype, shape));
    *dtype = ARTEL_DTYPE_INT32;
    return ARTEL_OK;
}

artel_status artel__string_decode(const artel__string_call *c)
{
    artel_shape shape;
    int64_t all;
    void *block;
    ARTEL_TRY(add_axis(c, &shape, &all));
    ARTEL_TRY(c->to->numbers(c->to, ARTEL_DTYPE_INT32, &shape, &block));
    int32_t *out = block;
    int64_t most = shape.dim[shape.rank - 1];
    for (int64_t i = 0; i < c->in[0].count; i++, out += most) {
        artel_string rest = artel__string_in(c, 0)[i], character;
        int64_t k = 0;
        while (k < most && take_character(&rest, &character, &out[k])) k++;
        for (; k < most; k++) out[k] = (int32_t)c->settings->missing;
    }
    return ARTEL_OK;
}

artel_status artel__string_characters(const artel__string_call *c)
{
    artel_shape shape;
    int64_t all;
    void *list;
    ARTEL_TRY(add_axis(c, &shape, &all));
    int64_t most = shape.dim[shape.rank - 1];
    ARTEL_TRY(artel__calloc(c->ctx, (size_t)all + 1, sizeof(artel_string), "strings", &list));
    artel_string *part = list;
    for (int64_t i = 0; i < c->in[0].count; i++) {
        artel_string rest = artel__string_in(c, 0)[i], *to = part + i * most, *end = to + most;
        int32_t code;
        while (to < end && take_character(&rest, to, &code)) to++;
    }
    artel_status status = artel__string_give(c, &shape, part);
    artel__free(c->ctx, list);
    return status;
}

/* Of what is no code point, U+FFFD. */
static void write_point(artel__string_writer *to, int32_t code)
{
    char bytes[4];
    bool is = code >= 0 && code <= 0x10FFFF && (code < 0xD800 || code >= 0xE000);
    artel__string_write(to, bytes, artel__utf8_put(is ? (uint32_t)code : 0xFFFD, bytes));
}

artel_status artel__string_infer_encode(const artel__string_call *c, artel_dtype *dtype, artel_shape *shape)
{
    if (c->in[0].dtype != ARTEL_DTYPE_INT32 || c->in[0].shape.rank == 0)
        return artel__string_wrong(c, "give code points along the last axis", "the operand is no row of int32");
    *dtype = ARTEL_DTYPE_STRING;
    *shape = c->in[0].shape;
    shape->rank--;
    return ARTEL_OK;
}

artel_status artel__string_encode(const artel__string_call *c)
{
    artel_dtype dtype;
    artel_shape shape;
    artel__string_writer writer;
    ARTEL_TRY(artel__string_infer_encode(c, &dtype, &shape));
    int64_t length = c->in[0].shape.dim[shape.rank], count = artel_shape_count(&shape);
    const int32_t *code = c->in[0].data;
    artel_status status = artel__string_begin(c->ctx, count, &writer);
    for (int64_t i = 0; i < count && status == ARTEL_OK; i++, artel__string_next(&writer)) {
        for (int64_t k = 0; k < length; k++) write_point(&writer, *code++);
    }
    return artel__string_end(&writer, c, &shape, status);
}
