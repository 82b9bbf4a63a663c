/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as strings, after tf.strings.as_string: C's printf, of floats with six decimals unless something else is
 * asked for. (artel_ndarray_cast() writes the shortest text that reads back.) words.c has its table. */
#include <stdio.h>
#include <string.h>

#include "text/words.h"
#include "tensor/shape.h"

enum {
    ROOM = 2400 /* the largest number with ARTEL__MOST_DIGITS behind its point, or filled up to as many */
};

/* The decimal point of a locale that the program has set is none of TensorFlow's. */
static void write_number(artel__string_writer *to, char *text, int length)
{
    for (int i = 0; i < length; i++)
        if (text[i] == ',') text[i] = '.';
    artel__string_write(to, text, (size_t)length);
}

static const char *check(const artel__string_call *c)
{
    const artel__string_settings *s = c->settings;
    artel_dtype dtype = c->in[0].dtype;
    bool floats = dtype <= ARTEL_DTYPE_BFLOAT16;
    if (dtype == ARTEL_DTYPE_STRING) return "the operand is strings";
    if (s->scientific && s->shortest) return "'scientific' and 'shortest' are given together";
    if (!floats && (s->scientific || s->shortest || s->precision >= 0))
        return "'precision', 'scientific' and 'shortest' are for floats";
    if (s->fill.length > 1 || (s->fill.length == 1 && !memchr(" +-0#", s->fill.bytes[0], 5)))
        return "'fill' is none of space, +, -, 0 and #";
    return NULL;
}

static bool has_no_sign(artel_dtype dtype)
{
    return dtype >= ARTEL_DTYPE_UINT8 && dtype <= ARTEL_DTYPE_UINT64;
}

/* %[fill][width].[precision][letter] */
static void make_form(const artel__string_settings *s, const char *letter, char out[32])
{
    snprintf(out, 32, "%%%s*.*%s", s->fill.length ? (char[2]){s->fill.bytes[0], '\0'} : "", letter);
}

static void write_floats(const artel__string_call *c, const double *from, int64_t count, artel__string_writer *to)
{
    const artel__string_settings *s = c->settings;
    char form[32], text[ROOM];
    make_form(s, s->shortest ? "g" : s->scientific ? "e" : "f", form);
    for (int64_t i = 0; i < count; i++, artel__string_next(to))
        write_number(to, text, snprintf(text, sizeof text, form, (int)s->width, (int)s->precision, from[i]));
}

static void write_integers(const artel__string_call *c, const int64_t *from, int64_t count, artel__string_writer *to)
{
    const artel__string_settings *s = c->settings;
    bool plain = has_no_sign(c->in[0].dtype);
    char form[32], text[ROOM];
    make_form(s, plain ? "llu" : "lld", form);
    for (int64_t i = 0; i < count; i++, artel__string_next(to)) {
        int length = plain ? snprintf(text, sizeof text, form, (int)s->width, -1, (unsigned long long)from[i])
                           : snprintf(text, sizeof text, form, (int)s->width, -1, (long long)from[i]);
        artel__string_write(to, text, (size_t)length);
    }
}

static void write_flags(const int64_t *from, int64_t count, artel__string_writer *to)
{
    for (int64_t i = 0; i < count; i++, artel__string_next(to))
        artel__string_write(to, from[i] ? "true" : "false", from[i] ? 4 : 5);
}

artel_status artel__string_infer_as_string(const artel__string_call *c, artel_dtype *dtype, artel_shape *shape)
{
    const char *why = check(c);
    if (why) return artel__string_wrong(c, "see tf.strings.as_string", why);
    *dtype = ARTEL_DTYPE_STRING;
    *shape = c->in[0].shape;
    return ARTEL_OK;
}

artel_status artel__string_as_string(const artel__string_call *c)
{
    const artel__cells *from = &c->in[0];
    artel_dtype dtype;
    artel_shape shape;
    artel__string_writer writer;
    void *block;
    ARTEL_TRY(artel__string_infer_as_string(c, &dtype, &shape));
    artel_dtype as = from->dtype <= ARTEL_DTYPE_BFLOAT16 ? ARTEL_DTYPE_FLOAT64
                     : has_no_sign(from->dtype)          ? ARTEL_DTYPE_UINT64
                                                         : ARTEL_DTYPE_INT64;
    ARTEL_TRY(artel__string_begin(c->ctx, from->count, &writer));
    artel_status status = artel__alloc(c->ctx, (size_t)from->count * 8 + 1, "strings", &block);
    if (status == ARTEL_OK) {
        artel__convert(from->dtype, from->data, as, block, from->count);
        if (as == ARTEL_DTYPE_FLOAT64)
            write_floats(c, block, from->count, &writer);
        else if (from->dtype == ARTEL_DTYPE_BOOL)
            write_flags(block, from->count, &writer);
        else
            write_integers(c, block, from->count, &writer);
        artel__free(c->ctx, block);
    }
    return artel__string_end(&writer, c, &shape, status);
}
