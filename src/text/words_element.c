/* SPDX-License-Identifier: Apache-2.0 */
/* Single strings: whether they are text, their order, and the numbers that they are. See words.h. */
#include <string.h>

#include "base/utf8.h"
#include "text/words.h"

artel_status artel__string_check(artel_context *ctx, const char *where, const artel_string *s, int64_t i)
{
    if (s->length > 0 && !s->bytes)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, where, "give the bytes, or length 0",
                           "element %lld is NULL with %zu bytes", (long long)i, s->length);
    size_t good = s->length ? artel__utf8_valid(s->bytes, s->length) : 0;
    if (good == s->length) return ARTEL_OK;
    return artel__fail(ctx, ARTEL_ERROR_INVALID, where, "write the text in UTF-8",
                       "byte %zu of element %lld is no UTF-8", good, (long long)i);
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

artel_status artel__string_parse(artel_context *ctx, const char *where, const artel_string *from, artel_dtype to,
                                 void *result, int64_t count)
{
    char text[512], *out = result;
    if (to == ARTEL_DTYPE_BOOL)
        return artel__fail(ctx, ARTEL_ERROR_UNSUPPORTED, where, "compare them: \"equal\", \"not_equal\"",
                           "strings do not become bool");
    for (int64_t i = 0; i < count; i++) {
        uint64_t number = 0;
        ARTEL_TRY(artel__string_check(ctx, where, &from[i], i));
        bool is = copy_stripped(&from[i], text, sizeof text) && parse_one(text, to, &number);
        if (!is)
            return artel__fail(ctx, ARTEL_ERROR_INVALID, where, "write numbers as Python does",
                               "element %lld, \"%.*s\", is no %s", (long long)i,
                               (int)(from[i].length < 60 ? from[i].length : 60), from[i].length ? from[i].bytes : "",
                               artel_dtype_name(to));
        memcpy(out + (size_t)i * artel_dtype_size(to), &number, artel_dtype_size(to));
    }
    return ARTEL_OK;
}
