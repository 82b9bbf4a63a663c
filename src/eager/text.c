/* SPDX-License-Identifier: Apache-2.0 */
/* The elements of arrays of strings: whose bytes they are, and what they are as numbers.
 *
 * An array that owns elements owns their bytes: one block for all of them, each with a NUL behind it, made anew when
 * strings are written. Views, and elements that were read, point into it. Numbers become their shortest digits in
 * Python's layout, and strings become the numbers that Python's int() and float() read, but for underscores and digits
 * beyond ASCII.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/utf8.h"
#include "eager/eager_impl.h"

/* -- bytes -- */

static artel_status check_string(artel_eager *e, const artel_string *s, int64_t i)
{
    if (s->length > 0 && !s->bytes)
        return artel__fail(e->ctx, ARTEL_ERROR_INVALID, "array", "give the bytes, or length 0",
                           "element %lld is NULL with %zu bytes", (long long)i, s->length);
    size_t good = s->length ? artel__utf8_valid(s->bytes, s->length) : 0;
    if (good == s->length) return ARTEL_OK;
    return artel__fail(e->ctx, ARTEL_ERROR_INVALID, "array", "write the text in UTF-8",
                       "byte %zu of element %lld is no UTF-8", good, (long long)i);
}

artel_status artel__ndarray_take_text(artel_ndarray *a, const artel_string *from)
{
    artel_string *to = (artel_string *)(void *)a->data;
    size_t bytes = (size_t)a->count + 1;
    void *block;
    for (int64_t i = 0; from && i < a->count; i++) {
        ARTEL_TRY(check_string(a->eager, &from[i], i));
        if (__builtin_add_overflow(bytes, from[i].length, &bytes))
            return artel__fail_memory(a->eager->ctx, "strings", SIZE_MAX);
    }
    ARTEL_TRY(artel__alloc(a->eager->ctx, bytes, "strings", &block));
    char *at = block;
    for (int64_t i = 0; i < a->count; i++) {
        size_t length = from ? from[i].length : 0;
        if (length) memcpy(at, from[i].bytes, length);
        at[length] = '\0';
        to[i] = (artel_string){at, length};
        at += length + 1;
    }
    artel__free(a->eager->ctx, a->text); /* behind the copy: `from` may be strings of this array */
    a->text = block;
    return ARTEL_OK;
}

int artel__string_compare(const artel_string *a, const artel_string *b)
{
    size_t shared = a->length < b->length ? a->length : b->length;
    int order = shared ? memcmp(a->bytes, b->bytes, shared) : 0;
    return order ? order : (a->length > b->length) - (a->length < b->length);
}

/* -- numbers of strings -- */

bool artel__is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

artel_string artel__strip(artel_string s)
{
    while (s.length && artel__is_space(s.bytes[s.length - 1])) s.length--;
    for (; s.length && artel__is_space(s.bytes[0]); s.length--) s.bytes++;
    return s;
}

/* The text between spaces, with a NUL behind it; false: there is none, or it is longer than any number. */
static bool copy_stripped(const artel_string *from, char *out, size_t size)
{
    artel_string s = artel__strip(*from);
    if (s.length == 0 || s.length >= size || memchr(s.bytes, 0, s.length)) return false;
    memcpy(out, s.bytes, s.length);
    out[s.length] = '\0';
    return true;
}

/* Digits of 64 bits without a sign, which the other reader stops short of. */
static bool parse_unsigned(const char *text, uint64_t *out)
{
    uint64_t value = 0;
    text += *text == '+';
    if (!*text) return false;
    for (; *text; text++) {
        unsigned digit = (unsigned)(unsigned char)*text - '0';
        if (digit > 9 || value > (UINT64_MAX - digit) / 10) return false;
        value = value * 10 + digit;
    }
    *out = value;
    return true;
}

/* One number into the element type; false: it is none, or does not fit. */
static bool parse_one(const char *text, artel_dtype to, void *out)
{
    double real;
    int64_t whole, back = 0;
    if (artel__is_floating(to)) {
        if (!artel__parse_double(text, &real)) return false;
        artel__convert(ARTEL_DTYPE_FLOAT64, &real, to, out, 1);
        return true;
    }
    if (to == ARTEL_DTYPE_UINT64) return parse_unsigned(text, out);
    if (!artel__parse_int64(text, &whole)) return false;
    artel__convert(ARTEL_DTYPE_INT64, &whole, to, out, 1);
    artel__convert(to, out, ARTEL_DTYPE_INT64, &back, 1);
    return back == whole; /* else it was saturated */
}

static artel_status parse_all(artel_eager *e, const artel_string *from, artel_dtype to, char *out, int64_t count)
{
    char text[512];
    if (to == ARTEL_DTYPE_BOOL)
        return artel__fail(e->ctx, ARTEL_ERROR_UNSUPPORTED, "array", "compare them: \"equal\", \"not_equal\"",
                           "strings do not become bool");
    for (int64_t i = 0; i < count; i++) {
        uint64_t number = 0;
        ARTEL_TRY(check_string(e, &from[i], i));
        bool is = copy_stripped(&from[i], text, sizeof text) && parse_one(text, to, &number);
        if (!is)
            return artel__fail(e->ctx, ARTEL_ERROR_INVALID, "array", "write numbers as Python does",
                               "element %lld, \"%.*s\", is no %s", (long long)i,
                               (int)(from[i].length < 60 ? from[i].length : 60), from[i].length ? from[i].bytes : "",
                               artel_dtype_name(to));
        memcpy(out + (size_t)i * artel_dtype_size(to), &number, artel_dtype_size(to));
    }
    return ARTEL_OK;
}

artel_status artel__ndarray_convert(artel_eager *e, artel_dtype from, const void *source, artel_dtype to, void *target,
                                    int64_t count)
{
    if (to == ARTEL_DTYPE_STRING)
        return artel__fail(e->ctx, ARTEL_ERROR_INVALID, "array", "use artel_ndarray_cast, whose result owns them",
                           "numbers have no strings to be read as, or written");
    if (from == ARTEL_DTYPE_STRING) return parse_all(e, source, to, target, count);
    artel__convert(from, source, to, target, count);
    return ARTEL_OK;
}

/* -- strings of numbers -- */

/* The shortest digits that read back as this number of 16 bits. */
static double short_half(artel_dtype dtype, const void *element, double value)
{
    char digits[48], text[64];
    for (int count = 1; count < 6; count++) {
        double back;
        uint16_t narrow;
        snprintf(digits, sizeof digits, "%.*e", count - 1, value < 0 ? -value : value);
        const char *behind = count > 1 ? digits + 2 : digits + 1; /* the point, whatever the locale writes */
        snprintf(text, sizeof text, "%s%c%c%s", value < 0 ? "-" : "", digits[0], '.', behind);
        if (!artel__parse_double(text, &back)) continue;
        artel__convert(ARTEL_DTYPE_FLOAT64, &back, dtype, &narrow, 1);
        if (memcmp(&narrow, element, sizeof narrow) == 0) return back;
    }
    return value;
}

static void print_real(artel_dtype dtype, const void *element, char *out, size_t size)
{
    float single;
    double value;
    if (dtype == ARTEL_DTYPE_FLOAT32) {
        memcpy(&single, element, sizeof single);
        artel__format_float(out, size, single);
        return;
    }
    artel__convert(dtype, element, ARTEL_DTYPE_FLOAT64, &value, 1);
    bool half = dtype != ARTEL_DTYPE_FLOAT64 && value - value == 0 && value != 0;
    artel__format_double(out, size, half ? short_half(dtype, element, value) : value);
}

static void print_one(artel_dtype dtype, const void *element, char *out, size_t size)
{
    int64_t whole;
    uint64_t natural;
    if (artel__is_floating(dtype)) {
        print_real(dtype, element, out, size);
    } else if (dtype == ARTEL_DTYPE_BOOL) {
        snprintf(out, size, *(const uint8_t *)element ? "True" : "False");
    } else if (dtype == ARTEL_DTYPE_UINT64) {
        memcpy(&natural, element, sizeof natural);
        snprintf(out, size, "%llu", (unsigned long long)natural);
    } else {
        artel__convert(dtype, element, ARTEL_DTYPE_INT64, &whole, 1);
        snprintf(out, size, "%lld", (long long)whole);
    }
}

enum {
    PRINTED = 40 /* bytes of any number */
};

artel_status artel__ndarray_print(artel_eager *e, artel_dtype from, const void *source, const artel_shape *shape,
                                  artel_ndarray **out)
{
    artel_ndarray *made;
    void *block;
    ARTEL_TRY(artel__ndarray_new(e, ARTEL_DTYPE_STRING, shape, &made));
    artel_status status = artel__alloc(e->ctx, (size_t)made->count * PRINTED + 1, "strings", &block);
    if (status < 0) {
        artel_ndarray_release(made);
        return status;
    }
    artel_string *element = (artel_string *)(void *)made->data;
    for (int64_t i = 0; i < made->count; i++) {
        char *text = (char *)block + (size_t)i * PRINTED;
        print_one(from, (const char *)source + (size_t)i * artel_dtype_size(from), text, PRINTED);
        element[i] = (artel_string){text, strlen(text)};
    }
    status = artel__ndarray_take_text(made, element);
    artel__free(e->ctx, block);
    if (status < 0)
        artel_ndarray_release(made);
    else
        *out = made;
    return status;
}
