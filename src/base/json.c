/* SPDX-License-Identifier: Apache-2.0 */
/* Reading JSON; see json.h for what is promised.
 *
 * One scan before parsing looks at the tokens that jansson refuses (NaN, Infinity, numbers out of range) and checks
 * the depth. Only when it meets one is the text copied with those tokens replaced; otherwise jansson gets the bytes as
 * they are. Newlines are never changed, so that line numbers in messages stay right.
 */
#include "base/json_written.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json_parse.h"

#define NUMBER_MAX 4096

static const char *const specials[] = {"NaN", "Infinity", "-Infinity"};

typedef struct scan {
    const char *text;
    size_t size;
    artel__text *out; /* NULL: only look */
    size_t copied;    /* of text, to out */
    bool special;     /* something has to be replaced */
    int depth, deepest;
} scan;

/* Replaces text [at, at + length) by `with`. */
static void replace(scan *s, size_t at, size_t length, const char *with)
{
    s->special = true;
    if (!s->out) return;
    artel__text_append_bytes(s->out, s->text + s->copied, at - s->copied);
    artel__text_append(s->out, with);
    s->copied = at + length;
}

static size_t skip_string(const scan *s, size_t at)
{
    for (at++; at < s->size && s->text[at] != '"'; at++)
        if (s->text[at] == '\\') at++;
    return at + 1;
}

static bool in_number(char c)
{
    return (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.' || c == 'e' || c == 'E';
}

/* A number token that a double or an int64 cannot hold becomes an infinity or a real. Malformed ones are left to the
 * parser. */
static size_t scan_number(scan *s, size_t at)
{
    size_t end = at;
    while (end < s->size && in_number(s->text[end])) end++;
    size_t length = end - at;
    bool real =
        memchr(s->text + at, '.', length) || memchr(s->text + at, 'e', length) || memchr(s->text + at, 'E', length);
    if (length >= NUMBER_MAX || (!real && length < 19) || (real && length < 4)) return end;
    char copy[NUMBER_MAX + 3], *stop;
    memcpy(copy, s->text + at, length);
    copy[length] = '\0';
    errno = 0;
    if (!real) {
        (void)strtoll(copy, &stop, 10);
        if (*stop != '\0' || errno != ERANGE) return end;
    }
    double number = strtod(copy, &stop);
    if (*stop != '\0') return end;
    if (isinf(number))
        replace(s, at, length, number > 0 ? "\"\\u0001Infinity\"" : "\"\\u0001-Infinity\"");
    else if (!real) {
        memcpy(copy + length, ".0", 3);
        replace(s, at, length, copy);
    }
    return end;
}

static size_t scan_special(scan *s, size_t at)
{
    for (size_t i = 0; i < ARTEL__COUNT(specials); i++) {
        size_t length = strlen(specials[i]);
        if (s->size - at < length || memcmp(s->text + at, specials[i], length) != 0) continue;
        char quoted[32];
        snprintf(quoted, sizeof quoted, "\"\\u0001%s\"", specials[i]);
        replace(s, at, length, quoted);
        return at + length;
    }
    return s->text[at] == '-' ? scan_number(s, at) : at + 1;
}

static void scan_text(scan *s)
{
    for (size_t at = 0; at < s->size;) {
        char c = s->text[at];
        if (c == '"') {
            at = skip_string(s, at);
        } else if (c == 'N' || c == 'I' || c == '-') {
            at = scan_special(s, at);
        } else if (c >= '0' && c <= '9') {
            at = scan_number(s, at);
        } else {
            if (c == '[' || c == '{') s->depth++;
            if (c == ']' || c == '}') s->depth--;
            if (s->depth > s->deepest) s->deepest = s->depth;
            at++;
        }
    }
    if (s->out) artel__text_append_bytes(s->out, s->text + s->copied, s->size - s->copied);
}

/* In jansson's words: where, and what was expected. */
static artel_status fail_parse(artel_context *ctx, const char *where, const char *text, size_t size, bool doubled)
{
    json_error_t error;
    json_t *value = json_loadb(text, size, JSON_DECODE_ANY | (doubled ? JSON_REJECT_DUPLICATES : 0), &error);
    json_decref(value);
    if (value) snprintf(error.text, sizeof error.text, "a number or a character is not possible");
    if (doubled)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, where, "write each key once",
                           "line %d, column %d: a key occurs twice: %s", error.line, error.column, error.text);
    return artel__fail(ctx, ARTEL_ERROR_CORRUPT, where, "correct the text at that place, or write the file again",
                       "not valid JSON: line %d, column %d: %s", error.line, error.column, error.text);
}

static artel_status parse(artel_context *ctx, const char *where, const char *text, size_t size, bool once, json_t **out)
{
    artel__json_answer answer = artel__json_parse(text, size, once, out);
    if (answer == ARTEL__JSON_READ) return ARTEL_OK;
    if (answer == ARTEL__JSON_NO_MEMORY) return artel__fail_memory(ctx, where, size);
    return fail_parse(ctx, where, text, size, answer == ARTEL__JSON_DOUBLED);
}

static artel_status load(artel_context *ctx, const char *where, const char *text, size_t size, bool once, json_t **out)
{
    if (size > ARTEL__JSON_MAX_SIZE)
        return artel__fail(ctx, ARTEL_ERROR_CORRUPT, where, "", "%zu bytes of JSON; at most %zu are read", size,
                           ARTEL__JSON_MAX_SIZE);
    scan look = {.text = text, .size = size};
    scan_text(&look);
    if (look.deepest > ARTEL__JSON_MAX_DEPTH)
        return artel__fail(ctx, ARTEL_ERROR_CORRUPT, where, "", "the JSON is nested %d deep; at most %d are read",
                           look.deepest, ARTEL__JSON_MAX_DEPTH);
    if (!look.special) return parse(ctx, where, text, size, once, out);
    artel__text copy;
    artel__text_init(&copy, ctx);
    scan rewrite = {.text = text, .size = size, .out = &copy};
    scan_text(&rewrite);
    artel_status status = artel__text_status(&copy);
    if (status >= 0) status = parse(ctx, where, copy.data, copy.length, once, out);
    artel__text_fini(&copy);
    return status;
}

artel_status artel__json_load(artel_context *ctx, const char *where, const char *text, size_t size, json_t **out)
{
    return load(ctx, where, text, size, false, out);
}

artel_status artel__json_load_written(artel_context *ctx, const char *where, const char *text, size_t size,
                                      json_t **out)
{
    return load(ctx, where, text, size, true, out);
}

static artel_status load_file(artel_context *ctx, const char *path, bool once, json_t **out)
{
    char *text;
    size_t size;
    ARTEL_TRY(artel__read_file(ctx, path, ARTEL__JSON_MAX_SIZE, &text, &size));
    artel_status status = load(ctx, path, text, size, once, out);
    artel__free(ctx, text);
    return status;
}

artel_status artel__json_load_file(artel_context *ctx, const char *path, json_t **out)
{
    return load_file(ctx, path, false, out);
}

artel_status artel__json_load_written_file(artel_context *ctx, const char *path, json_t **out)
{
    return load_file(ctx, path, true, out);
}

artel_status artel__json_literal(const char *text, json_t **out)
{
    *out = json_loads(text, JSON_DECODE_ANY, NULL);
    return *out ? ARTEL_OK : ARTEL_ERROR_NO_MEMORY;
}

bool artel__json_number(const json_t *value, double *out)
{
    if (json_is_number(value)) {
        *out = json_number_value(value);
        return true;
    }
    const char *text = json_string_value(value);
    if (!text || text[0] != '\1') return false;
    static const double numbers[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < ARTEL__COUNT(specials); i++) {
        if (strcmp(text + 1, specials[i]) != 0) continue;
        *out = numbers[i];
        return true;
    }
    return false;
}

bool artel__json_integer(const json_t *value, int64_t *out)
{
    if (json_is_integer(value)) {
        *out = json_integer_value(value);
        return true;
    }
    double number = json_real_value(value);
    if (!json_is_real(value) || !(number >= -0x1p63 && number < 0x1p63) || (double)(int64_t)number != number)
        return false;
    *out = (int64_t)number;
    return true;
}

json_t *artel__json_real(double number)
{
    if (isfinite(number)) return json_real(number);
    return json_string(isnan(number) ? "\1NaN" : number > 0 ? "\1Infinity" : "\1-Infinity");
}

/* -- copies -- */

json_t *artel__json_copy(json_t *value)
{
    json_t *copy = json_copy(value);
    if (!copy || (json_object_size(copy) == json_object_size(value) && json_array_size(copy) == json_array_size(value)))
        return copy;
    json_decref(copy);
    return NULL;
}

/* Adding NULL fails, as adding without memory does. */
static bool copy_members(json_t *value, json_t *copy)
{
    size_t i;
    const char *key;
    json_t *item;
    json_array_foreach(value, i, item)
    {
        if (json_array_append_new(copy, artel__json_copy_deep(item)) < 0) return false;
    }
    json_object_foreach(value, key, item)
    {
        if (json_object_set_new_nocheck(copy, key, artel__json_copy_deep(item)) < 0) return false;
    }
    return true;
}

json_t *artel__json_copy_deep(json_t *value)
{
    json_t *copy = json_is_array(value) ? json_array() : json_is_object(value) ? json_object() : json_copy(value);
    if (!copy || copy_members(value, copy)) return copy;
    json_decref(copy);
    return NULL;
}
