/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers out of a JSON line without parsing the rest of it.
 *
 * Members are passed over by their brackets and quotes, the wanted one is read number by number. Whatever is out of the
 * ordinary (escapes in names, NaN, numbers that need more than one rounding, a list of another length, a wanted value
 * that is no JSON) is left to jsonl.c, which parses the line and says what is wrong with it. Numbers are those that
 * parsing gives; what is wrong inside a member that is passed over is not seen, unless its brackets or quotes are.
 */
#include "data/jsonl_fast.h"

#include <string.h>

#include "data/decimal.h"

typedef struct scan {
    const char *at, *end;
    const artel__feature *feature;
    const artel_shape *shape;
    size_t size; /* bytes of an element */
} scan;

static void skip_blanks(scan *s)
{
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\t' || *s->at == '\r' || *s->at == '\n')) s->at++;
}

static bool take(scan *s, char c)
{
    skip_blanks(s);
    if (s->at == s->end || *s->at != c) return false;
    s->at++;
    return true;
}

/* Behind the closing quote; `plain`: without escapes. */
static bool skip_string(scan *s, bool *plain)
{
    *plain = true;
    for (s->at++; s->at < s->end; s->at++) {
        if (*s->at == '"') {
            s->at++;
            return true;
        }
        if ((unsigned char)*s->at < 32) return false;
        if (*s->at != '\\') continue;
        *plain = false;
        s->at++;
    }
    return false;
}

/* Over a value of any kind, by its brackets. */
static bool skip_value(scan *s)
{
    int depth = 0;
    bool plain;
    skip_blanks(s);
    const char *begin = s->at;
    while (s->at < s->end) {
        char c = *s->at;
        if (depth == 0 && (c == ',' || c == '}' || c == ']')) break;
        if (c == '"') {
            if (!skip_string(s, &plain)) return false;
            continue;
        }
        depth += (c == '[' || c == '{') - (c == ']' || c == '}');
        s->at++;
    }
    return depth == 0 && s->at > begin;
}

/* ---- the wanted value ---- */

static bool is_number_part(char c)
{
    return (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E';
}

/* As JSON wants it: no needless zero in front, digits on both sides of the point. */
static bool is_strict(const char *text, size_t length, bool *whole)
{
    size_t i = length > 0 && text[0] == '-';
    if (i == length || text[i] < '0' || text[i] > '9') return false;
    if (text[i] == '0' && i + 1 < length && text[i + 1] >= '0' && text[i + 1] <= '9') return false;
    const char *point = memchr(text, '.', length);
    if (point != NULL && (point + 1 == text + length || point[1] < '0' || point[1] > '9')) return false;
    *whole = point == NULL && memchr(text, 'e', length) == NULL && memchr(text, 'E', length) == NULL;
    return true;
}

static bool place_number(scan *s, uint8_t *out)
{
    bool whole;
    double number;
    skip_blanks(s);
    const char *begin = s->at;
    while (s->at < s->end && is_number_part(*s->at)) s->at++;
    size_t length = (size_t)(s->at - begin);
    if (!is_strict(begin, length, &whole) || !artel__short_decimal(begin, length, &number)) return false;
    if (whole && number == 0) number = 0; /* -0 is the integer 0 */
    if (s->feature->dtype == ARTEL_DTYPE_INT64) {
        int64_t integer = (int64_t)number; /* exact: below 2^53 */
        memcpy(out, &integer, sizeof integer);
        return whole;
    }
    float narrow = (float)number;
    memcpy(out, &narrow, sizeof narrow);
    return true;
}

/* Nested lists from `axis` on; `count` elements at `out`. */
static bool place(scan *s, int axis, uint8_t *out, int64_t count)
{
    if (axis == s->shape->rank) return place_number(s, out);
    int64_t extent = s->shape->dim[axis], each = extent > 0 ? count / extent : 0, found = 0;
    if (!take(s, '[')) return false;
    if (!take(s, ']')) {
        do {
            if (found == extent || !place(s, axis + 1, out + (size_t)(found * each) * s->size, each)) return false;
            found++;
        } while (take(s, ','));
        if (!take(s, ']')) return false;
    }
    if (found < extent && !s->feature->ragged) return false;
    artel__feature_fill(s->feature, out + (size_t)(found * each) * s->size, (extent - found) * each);
    return true;
}

bool artel__jsonl_fast(const char *text, size_t length, const artel__feature *feature, const artel_shape *shape,
                       void *out)
{
    scan s = {text, text + length, feature, shape, artel_dtype_size(feature->dtype)};
    const char *value = NULL;
    if (feature->decode != ARTEL__DECODE_NONE || !take(&s, '{')) return false;
    do {
        bool plain;
        skip_blanks(&s);
        const char *name = s.at;
        if (s.at == s.end || *s.at != '"' || !skip_string(&s, &plain) || !plain) return false;
        size_t size = (size_t)(s.at - name) - 2;
        if (!take(&s, ':')) return false;
        if (size == feature->length && memcmp(name + 1, feature->name, size) == 0)
            value = s.at; /* the last of its name counts */
        if (!skip_value(&s)) return false;
    } while (take(&s, ','));
    if (value == NULL || !take(&s, '}')) return false;
    skip_blanks(&s);
    if (s.at != s.end) return false;
    s.at = value;
    if (!place(&s, 0, out, artel_shape_count(shape))) return false;
    skip_blanks(&s);
    return *s.at == ',' || *s.at == '}';
}
