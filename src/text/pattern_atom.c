/* SPDX-License-Identifier: Apache-2.0 */
/* The atoms of patterns: characters, escapes, classes, assertions. See pattern.h. */
#include <string.h>

#include "base/utf8.h"
#include "text/pattern_parse.h"

static bool wrong(artel__pattern_reader *r, size_t at, const char *what)
{
    return artel__pattern_wrong(r, ARTEL_ERROR_INVALID, at, what);
}

/* The character at `r->at`, which is passed. */
static int32_t take(artel__pattern_reader *r)
{
    size_t width;
    int32_t code = artel__utf8_take(r->text + r->at, r->length - r->at, &width);
    r->at += width;
    return code;
}

/* The next byte; 0: there is none. */
static char peek(const artel__pattern_reader *r)
{
    return r->at < r->length ? r->text[r->at] : 0;
}

/* -- sets -- */

static bool add(artel__pattern_reader *r, size_t at, int32_t low, int32_t high)
{
    bool signs = low == high && (low == 0x17F || low == 0x212A);
    if (r->flags.fold && high >= 0x80 && !signs)
        return artel__pattern_wrong(r, ARTEL_ERROR_UNSUPPORTED, at, "(?i) knows the letters of ASCII alone");
    return artel__set_add(r->ctx, &r->pattern->ranges, low, high, r->flags.fold) || artel__pattern_memory(r);
}

/* A step of the ranges from `first` on. */
static bool emit_set(artel__pattern_reader *r, int32_t first)
{
    artel__set_tidy(&r->pattern->ranges, first);
    return artel__pattern_emit(r, ARTEL__STEP_SET, first, r->pattern->ranges.count - first);
}

static bool emit_character(artel__pattern_reader *r, size_t at, int32_t code)
{
    int32_t first = r->pattern->ranges.count;
    return add(r, at, code, code) && emit_set(r, first);
}

static bool emit_any(artel__pattern_reader *r)
{
    artel__grown *ranges = &r->pattern->ranges;
    int32_t first = ranges->count;
    bool fine = r->flags.dot_all ? artel__set_add(r->ctx, ranges, 0, ARTEL__PATTERN_LAST, false)
                                 : artel__set_add(r->ctx, ranges, 0, '\n' - 1, false) &&
                                       artel__set_add(r->ctx, ranges, '\n' + 1, ARTEL__PATTERN_LAST, false);
    return fine ? emit_set(r, first) : artel__pattern_memory(r);
}

/* -- escapes -- */

static int digit_of(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f') return (c | 0x20) - 'a' + 10;
    return 16;
}

/* Behind \x: two digits, or some in braces; -1: not so. */
static int32_t read_hexadecimal(artel__pattern_reader *r)
{
    bool braces = peek(r) == '{';
    int32_t code = 0;
    r->at += braces;
    size_t begin = r->at;
    for (; digit_of(peek(r)) < 16 && (braces || r->at < begin + 2); r->at++) {
        code = code * 16 + digit_of(peek(r));
        if (code > ARTEL__PATTERN_LAST) return -1;
    }
    if (!braces) return r->at == begin + 2 ? code : -1;
    if (r->at == begin || peek(r) != '}') return -1;
    r->at++;
    return code;
}

/* At the digit behind a backslash: \0 and up to two more, \1 to \7 only with another: alone it would refer to a group.
 */
static int32_t read_octal(artel__pattern_reader *r)
{
    int32_t code = 0;
    size_t begin = r->at;
    bool zero = peek(r) == '0';
    while (r->at < begin + 3 && peek(r) >= '0' && peek(r) <= '7') code = code * 8 + (r->text[r->at++] - '0');
    return r->at > begin + 1 || zero ? code : -1;
}

/* A character by an escape, from the backslash on; false: refused. */
static bool read_escape(artel__pattern_reader *r, int32_t *out)
{
    static const char letters[] = "afnrtv", codes[] = "\a\f\n\r\t\v";
    size_t begin = r->at++;
    if (r->at >= r->length) return wrong(r, begin, "a backslash ends it");
    char c = peek(r);
    const char *letter = c ? strchr(letters, c) : NULL;
    *out = -1;
    if (letter) {
        *out = codes[letter - letters];
        r->at++;
    } else if (c == 'x') {
        r->at++;
        *out = read_hexadecimal(r);
    } else if (c >= '0' && c <= '7') {
        *out = read_octal(r);
    } else if ((unsigned char)c < 0x80 && !((c | 0x20) >= 'a' && (c | 0x20) <= 'z') && c != '8' && c != '9') {
        *out = take(r);
    }
    return *out >= 0 || wrong(r, begin, "there is no such escape");
}

/* \d, \D, \s, \S, \w, \W into the ranges: 1; 0: nothing of this; -1: refused. */
static int read_class_escape(artel__pattern_reader *r)
{
    if (peek(r) != '\\' || r->at + 1 >= r->length) return 0;
    char c = r->text[r->at + 1], small = (char)(c | 0x20);
    if (small == 'p') {
        artel__pattern_wrong(r, ARTEL_ERROR_UNSUPPORTED, r->at, "there are no classes of Unicode (\\p)");
        return -1;
    }
    if (!c || !strchr("dDsSwW", c)) return 0;
    r->at += 2;
    int made = artel__set_class(r->ctx, &r->pattern->ranges, &small, 1, c != small, r->flags.fold);
    if (made < 0) artel__pattern_memory(r);
    return made;
}

/* -- classes in brackets -- */

/* [:alpha:], [:^alpha:]: as read_class_escape. */
static int read_named(artel__pattern_reader *r)
{
    size_t begin = r->at + 2, end = begin;
    if (r->length - r->at < 3 || memcmp(r->text + r->at, "[:", 2) != 0) return 0;
    while (end + 1 < r->length && memcmp(r->text + end, ":]", 2) != 0) end++;
    if (end + 1 >= r->length) return 0;
    bool negated = r->text[begin] == '^';
    begin += negated;
    int made =
        end - begin < 2 /* "d" of \d is no name here */ || begin > end
            ? 0
            : artel__set_class(r->ctx, &r->pattern->ranges, r->text + begin, end - begin, negated, r->flags.fold);
    if (made == 0) wrong(r, r->at, "there is no class of this name");
    if (made < 0) artel__pattern_memory(r);
    r->at = end + 2;
    return made > 0 ? 1 : -1;
}

static bool read_one(artel__pattern_reader *r, int32_t *out)
{
    if (r->at >= r->length) return wrong(r, r->at, "a bracket is not closed");
    if (peek(r) == '\\') return read_escape(r, out);
    *out = take(r);
    return true;
}

static bool read_range(artel__pattern_reader *r)
{
    int32_t low, high;
    size_t at = r->at;
    if (!read_one(r, &low)) return false;
    high = low;
    if (r->at + 1 < r->length && peek(r) == '-' && r->text[r->at + 1] != ']') {
        r->at++;
        if (!read_one(r, &high)) return false;
    }
    return high < low ? wrong(r, at, "a range ends before it begins") : add(r, at, low, high);
}

static bool read_brackets(artel__pattern_reader *r)
{
    size_t begin = r->at++;
    int32_t first = r->pattern->ranges.count;
    bool negated = peek(r) == '^';
    r->at += negated;
    for (size_t start = r->at; r->at < r->length && (peek(r) != ']' || r->at == start);) {
        int made = read_named(r);
        if (made == 0) made = read_class_escape(r);
        if (made < 0 || (made == 0 && !read_range(r))) return false;
    }
    if (r->at >= r->length) return wrong(r, begin, "a bracket is not closed");
    r->at++;
    if (negated && !artel__set_negate(r->ctx, &r->pattern->ranges, first)) return artel__pattern_memory(r);
    return emit_set(r, first);
}

/* -- atoms -- */

/* \Q ... \E: the characters as they are, backslashes too, to the end without \E. */
static bool read_quoted(artel__pattern_reader *r, int32_t *start, bool *atom)
{
    for (r->at += 2; r->at < r->length;) {
        if (r->length - r->at >= 2 && memcmp(r->text + r->at, "\\E", 2) == 0) {
            r->at += 2;
            return true;
        }
        size_t at = r->at;
        *start = r->pattern->steps.count;
        *atom = true;
        if (!emit_character(r, at, take(r))) return false;
    }
    return true;
}

static bool emit_assertion(artel__pattern_reader *r, size_t bytes, artel__assertion assertion)
{
    r->at += bytes;
    return artel__pattern_emit(r, ARTEL__STEP_ASSERT, assertion, 0);
}

static bool read_backslash(artel__pattern_reader *r, int32_t *start, bool *atom)
{
    size_t at = r->at;
    int32_t code, first = r->pattern->ranges.count;
    char c = at + 1 < r->length ? r->text[at + 1] : 0;
    if (c == 'Q') return read_quoted(r, start, atom);
    *atom = true;
    switch (c) {
    case 'A': return emit_assertion(r, 2, ARTEL__BEGIN_TEXT);
    case 'z': return emit_assertion(r, 2, ARTEL__END_TEXT);
    case 'b': return emit_assertion(r, 2, ARTEL__WORD_BOUNDARY);
    case 'B': return emit_assertion(r, 2, ARTEL__NO_WORD_BOUNDARY);
    case 'C': return artel__pattern_wrong(r, ARTEL_ERROR_UNSUPPORTED, at, "there are no single bytes (\\C)");
    default: break;
    }
    int made = read_class_escape(r);
    if (made != 0) return made > 0 && emit_set(r, first);
    return read_escape(r, &code) && emit_character(r, at, code);
}

bool artel__pattern_atom(artel__pattern_reader *r, int32_t *start, bool *atom)
{
    size_t at = r->at;
    char c = peek(r);
    if (c == '\\') return read_backslash(r, start, atom);
    *atom = true;
    switch (c) {
    case '[': return read_brackets(r);
    case '^': return emit_assertion(r, 1, r->flags.lines ? ARTEL__BEGIN_LINE : ARTEL__BEGIN_TEXT);
    case '$': return emit_assertion(r, 1, r->flags.lines ? ARTEL__END_LINE : ARTEL__END_TEXT);
    case '.': r->at++; return emit_any(r);
    default: return emit_character(r, at, take(r));
    }
}
