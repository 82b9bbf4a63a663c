/* SPDX-License-Identifier: Apache-2.0 */
/* JSON (RFC 8259) into jansson's values, by recursive descent. What jansson refuses is refused here too: a NUL in a
 * string, halves of surrogate pairs, bytes that are no UTF-8, leading zeros. Of keys that occur twice the last counts,
 * or they are refused.
 */
#include "base/json_parse.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/utf8.h"

typedef struct parser {
    const char *at, *end;
    bool once;                 /* a key twice is refused */
    artel__json_answer answer; /* the first thing that went wrong */
} parser;

static json_t *fail(parser *p, artel__json_answer answer)
{
    if (p->answer == ARTEL__JSON_READ) p->answer = answer;
    return NULL;
}

/* A new value of jansson's, which is NULL when memory is out. */
static json_t *made(parser *p, json_t *value)
{
    return value ? value : fail(p, ARTEL__JSON_NO_MEMORY);
}

static void skip_space(parser *p)
{
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\t' || *p->at == '\n' || *p->at == '\r')) p->at++;
}

/* Takes the character if it is next, after white space. */
static bool take(parser *p, char c)
{
    skip_space(p);
    if (p->at >= p->end || *p->at != c) return false;
    p->at++;
    return true;
}

/* -- strings -- */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The four digits of \uXXXX; -1 when they are not there. */
static int32_t code_unit(parser *p)
{
    int32_t unit = 0;
    if (p->end - p->at < 4) return -1;
    for (int i = 0; i < 4; i++) {
        int digit = hex_digit(*p->at++);
        if (digit < 0) return -1;
        unit = unit * 16 + digit;
    }
    return unit;
}

/* Behind "\u"; NULL when it is no character. */
static char *take_code(parser *p, char *out)
{
    int32_t code = code_unit(p);
    if (code >= 0xD800 && code < 0xDC00) {
        if (p->end - p->at < 2 || p->at[0] != '\\' || p->at[1] != 'u') return NULL;
        p->at += 2;
        int32_t low = code_unit(p);
        if (low < 0xDC00 || low > 0xDFFF) return NULL;
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        return out + artel__utf8_put((uint32_t)code, out);
    }
    return code <= 0 || (code >= 0xDC00 && code < 0xE000) ? NULL : out + artel__utf8_put((uint32_t)code, out);
}

static char *take_escape(parser *p, char *out)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    if (p->at >= p->end) return NULL;
    char c = *p->at++;
    if (c == 'u') return take_code(p, out);
    const char *found = c ? strchr(names, c) : NULL;
    if (!found) return NULL;
    *out++ = values[found - names];
    return out;
}

/* Behind the first quote: the bytes, in a block of the caller's, which must be freed; none is longer decoded than
 * written. */
static char *take_string(parser *p, size_t *length)
{
    const char *close = p->at;
    while (close < p->end && *close != '"') close += *close == '\\' ? 2 : 1;
    if (close >= p->end) {
        fail(p, ARTEL__JSON_MALFORMED);
        return NULL;
    }
    char *bytes = malloc((size_t)(close - p->at) + 1), *out = bytes;
    if (!bytes) {
        fail(p, ARTEL__JSON_NO_MEMORY);
        return NULL;
    }
    while (out && *p->at != '"') {
        char c = *p->at++;
        if (c == '\\')
            out = take_escape(p, out);
        else if ((unsigned char)c < 0x20)
            out = NULL;
        else
            *out++ = c;
    }
    if (!out) {
        free(bytes);
        fail(p, ARTEL__JSON_MALFORMED);
        return NULL;
    }
    p->at++;
    *out = '\0';
    *length = (size_t)(out - bytes);
    return bytes;
}

static json_t *string_value(parser *p)
{
    size_t length = 0;
    char *bytes = take_string(p, &length);
    if (!bytes) return NULL;
    json_t *value = artel__utf8_valid(bytes, length) == length ? made(p, json_stringn_nocheck(bytes, length))
                                                               : fail(p, ARTEL__JSON_MALFORMED);
    free(bytes);
    return value;
}

/* -- numbers and words -- */

static const char *skip_digits(const char *at, const char *end)
{
    while (at < end && *at >= '0' && *at <= '9') at++;
    return at;
}

/* The end of the number that begins here; NULL when it is none. */
static const char *number_end(const parser *p, bool *real)
{
    const char *at = p->at + (*p->at == '-'), *digits = at;
    at = skip_digits(at, p->end);
    if (at == digits || (*digits == '0' && at - digits > 1)) return NULL;
    *real = false;
    if (at < p->end && *at == '.') {
        digits = ++at;
        at = skip_digits(at, p->end);
        if (at == digits) return NULL;
        *real = true;
    }
    if (at < p->end && (*at == 'e' || *at == 'E')) {
        if (++at < p->end && (*at == '+' || *at == '-')) at++;
        digits = at;
        at = skip_digits(at, p->end);
        if (at == digits) return NULL;
        *real = true;
    }
    return at;
}

static json_t *number_value(parser *p)
{
    bool real;
    char copy[4200];
    const char *end = number_end(p, &real);
    if (!end || (size_t)(end - p->at) >= sizeof copy) return fail(p, ARTEL__JSON_MALFORMED);
    size_t length = (size_t)(end - p->at);
    memcpy(copy, p->at, length);
    copy[length] = '\0';
    p->at = end;
    double number = 0;
    errno = 0;
    if (!real) {
        long long integer = strtoll(copy, NULL, 10);
        return errno ? fail(p, ARTEL__JSON_MALFORMED) : made(p, json_integer(integer));
    }
    bool possible = artel__parse_double(copy, &number) && isfinite(number);
    return possible ? made(p, json_real(number)) : fail(p, ARTEL__JSON_MALFORMED);
}

static json_t *word_value(parser *p)
{
    static const struct {
        const char *word;
        size_t length;
    } words[] = {{"true", 4}, {"false", 5}, {"null", 4}};
    for (int i = 0; i < 3; i++) {
        if ((size_t)(p->end - p->at) < words[i].length || memcmp(p->at, words[i].word, words[i].length) != 0) continue;
        p->at += words[i].length;
        return i == 0 ? json_true() : i == 1 ? json_false() : json_null();
    }
    return fail(p, ARTEL__JSON_MALFORMED);
}

/* -- values -- */

static json_t *read_value(parser *p);

static bool read_member(parser *p, json_t *object)
{
    size_t length = 0;
    if (!take(p, '"')) {
        fail(p, ARTEL__JSON_MALFORMED);
        return false;
    }
    char *key = take_string(p, &length);
    if (key && artel__utf8_valid(key, length) != length) fail(p, ARTEL__JSON_MALFORMED);
    if (key && !take(p, ':')) fail(p, ARTEL__JSON_MALFORMED);
    if (key && p->once && json_object_get(object, key)) fail(p, ARTEL__JSON_DOUBLED);
    json_t *value = key && p->answer == ARTEL__JSON_READ ? read_value(p) : NULL;
    if (value && json_object_set_new_nocheck(object, key, value) < 0) {
        fail(p, ARTEL__JSON_NO_MEMORY);
        value = NULL;
    }
    free(key);
    return value != NULL;
}

static bool read_item(parser *p, json_t *array)
{
    json_t *value = read_value(p);
    if (!value) return false;
    if (json_array_append_new(array, value) == 0) return true;
    fail(p, ARTEL__JSON_NO_MEMORY);
    return false;
}

/* Behind the opening bracket. */
static json_t *read_members(parser *p, json_t *container, char close)
{
    bool object = close == '}', more = container && !take(p, close);
    while (more && (object ? read_member(p, container) : read_item(p, container))) {
        if (take(p, close)) return container;
        if (!take(p, ',')) {
            fail(p, ARTEL__JSON_MALFORMED);
            break;
        }
    }
    if (!container) return fail(p, ARTEL__JSON_NO_MEMORY);
    if (p->answer == ARTEL__JSON_READ) return container;
    json_decref(container);
    return NULL;
}

static json_t *read_value(parser *p)
{
    skip_space(p);
    if (p->at >= p->end) return fail(p, ARTEL__JSON_MALFORMED);
    switch (*p->at) {
    case '{': p->at++; return read_members(p, json_object(), '}');
    case '[': p->at++; return read_members(p, json_array(), ']');
    case '"': p->at++; return string_value(p);
    case '-': return number_value(p);
    default: return *p->at >= '0' && *p->at <= '9' ? number_value(p) : word_value(p);
    }
}

artel__json_answer artel__json_parse(const char *text, size_t size, bool once, json_t **out)
{
    parser p = {.at = text, .end = text + size, .once = once, .answer = ARTEL__JSON_READ};
    json_t *value = read_value(&p);
    skip_space(&p);
    if (value && p.at < p.end) fail(&p, ARTEL__JSON_MALFORMED);
    if (p.answer == ARTEL__JSON_READ)
        *out = value;
    else
        json_decref(value);
    return p.answer;
}
