/* SPDX-License-Identifier: Apache-2.0 */
/* Setting fields of a struct from text, by table.
 *
 * One setter for each type; each returns NULL or what was expected, and artel__options_set() makes the one message.
 * Text comes from command lines, the environment and JSON alike: a quoted JSON string and a bare word are the same,
 * Python's True, False and None are read too. Memory for strings and lists is the arena's.
 */
#include "base/option.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/utf8.h"

#define MOST_NAMES 256

/* One assignment under way. */
typedef struct setting {
    artel__arena *arena;
    const artel__option *option;
    const char *value;
    char expected[160]; /* for the message; filled on failure */
} setting;

static bool is_null(const char *value)
{
    return strcmp(value, "null") == 0 || strcmp(value, "None") == 0;
}

/* "nothing set" is allowed where it is the default, and where any text is. */
static bool may_be_null(const artel__option *option)
{
    return (option->fallback && is_null(option->fallback)) || option->type == ARTEL__OPTION_JSON ||
           option->type == ARTEL__OPTION_IGNORED;
}

static size_t field_size(artel__option_type type)
{
    static const size_t sizes[] = {
        [ARTEL__OPTION_BOOL] = sizeof(bool),
        [ARTEL__OPTION_INT] = sizeof(int64_t),
        [ARTEL__OPTION_FLOAT] = sizeof(double),
        [ARTEL__OPTION_STRING] = sizeof(const char *),
        [ARTEL__OPTION_ENUM] = sizeof(int),
        [ARTEL__OPTION_INTS] = sizeof(artel__ints),
        [ARTEL__OPTION_FLOATS] = sizeof(artel__floats),
        [ARTEL__OPTION_JSON] = sizeof(const char *),
        [ARTEL__OPTION_IGNORED] = 0,
    };
    return sizes[type];
}

/* A bound as people write it: 32, 0.5, 1e-07. */
static const char *format_bound(char *buffer, size_t size, double value)
{
    bool whole = value >= -0x1p62 && value <= 0x1p62 && (double)(int64_t)value == value;
    if (!whole) return artel__format_double(buffer, size, value);
    snprintf(buffer, size, "%lld", (long long)value);
    return buffer;
}

static bool expect(setting *set, const char *what)
{
    const artel__option *option = set->option;
    char low[32], high[32];
    if (option->min == 0 && option->max == 0)
        snprintf(set->expected, sizeof(set->expected), "%s", what);
    else
        snprintf(set->expected, sizeof(set->expected), "%s from %s to %s", what,
                 format_bound(low, sizeof(low), option->min), format_bound(high, sizeof(high), option->max));
    return false;
}

static bool in_range(const artel__option *option, double value)
{
    return (option->min == 0 && option->max == 0) || (value >= option->min && value <= option->max);
}

static bool parse_bool(const char *text, bool *out)
{
    static const char *const yes[] = {"true", "True", "yes", "on", "1"}, *const no[] = {"false", "False", "no", "off",
                                                                                        "0"};
    for (size_t i = 0; i < ARTEL__COUNT(yes); i++) {
        if (strcmp(text, yes[i]) != 0 && strcmp(text, no[i]) != 0) continue;
        *out = strcmp(text, yes[i]) == 0;
        return true;
    }
    return false;
}

/* An integer; "3.0" and "1e3" are integers too, as JSON writers leave them. */
static bool parse_integer(const char *text, int64_t *out)
{
    double value = 0;
    if (artel__parse_int64(text, out)) return true;
    if (!artel__parse_double(text, &value) || !(value >= -0x1p53 && value <= 0x1p53)) return false;
    *out = (int64_t)value;
    return (double)*out == value;
}

/* A finite number. */
static bool parse_number(const char *text, double *out)
{
    return artel__parse_double(text, out) && *out - *out == 0;
}

static bool hex4(const char *text, unsigned *out)
{
    unsigned value = 0;
    for (int i = 0; i < 4; i++) {
        const char *digits = "0123456789abcdef";
        int c = text[i] >= 'A' && text[i] <= 'F' ? text[i] | 0x20 : text[i];
        const char *found = c ? strchr(digits, c) : NULL;
        if (!found) return false;
        value = value * 16 + (unsigned)(found - digits);
    }
    *out = value;
    return true;
}

/* One escape after the backslash at *from; a pair of surrogates is one code point. */
static bool unescape(const char **from, char **to)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    unsigned code = 0, low = 0;
    char c = *++*from;
    const char *found = c ? strchr(names, c) : NULL;
    if (found) {
        *(*to)++ = values[found - names];
        ++*from;
        return true;
    }
    if (c != 'u' || !hex4(*from + 1, &code)) return false;
    *from += 5;
    if (code >= 0xD800 && code < 0xDC00 && (*from)[0] == '\\' && (*from)[1] == 'u' && hex4(*from + 2, &low) &&
        low >= 0xDC00 && low < 0xE000) {
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        *from += 6;
    }
    if (code == 0 || (code >= 0xD800 && code < 0xE000)) return false;
    *to += artel__utf8_put(code, *to);
    return true;
}

/* The text of a value: what stands between the quotes of a JSON string, or the bare word. NULL when the quotes or an
 * escape are broken, or memory is short. */
static const char *plain_text(artel__arena *arena, const char *value)
{
    char *copy = artel__arena_strdup(arena, value);
    if (!copy || *value != '"') return copy;
    char *to = copy;
    const char *from = value + 1;
    while (*from && *from != '"') {
        if (*from != '\\')
            *to++ = *from++;
        else if (!unescape(&from, &to))
            return NULL;
    }
    if (from[0] != '"' || from[1] != '\0') return NULL;
    *to = '\0';
    return copy;
}

static bool set_bool(setting *set, void *field)
{
    return parse_bool(set->value, field) || expect(set, "true or false");
}

static bool set_int(setting *set, void *field)
{
    int64_t value = 0;
    if (!parse_integer(set->value, &value) || !in_range(set->option, (double)value)) return expect(set, "an integer");
    memcpy(field, &value, sizeof(value));
    return true;
}

static bool set_float(setting *set, void *field)
{
    double value = 0;
    if (!parse_number(set->value, &value) || !in_range(set->option, value)) return expect(set, "a number");
    memcpy(field, &value, sizeof(value));
    return true;
}

static bool set_string(setting *set, void *field)
{
    const char *text = plain_text(set->arena, set->value);
    if (!text) return expect(set, "a text");
    memcpy(field, &text, sizeof(text));
    return true;
}

static bool set_json(setting *set, void *field)
{
    const char *text = is_null(set->value) ? NULL : artel__arena_strdup(set->arena, set->value);
    if (!text && !is_null(set->value)) return expect(set, "a text");
    memcpy(field, &text, sizeof(text));
    return true;
}

/* "one of a, b, c; did you mean b?" */
static bool expect_choice(setting *set, const char *word)
{
    const char *nearest = artel__nearest_name(word, set->option->choices);
    size_t at = (size_t)snprintf(set->expected, sizeof(set->expected), "one of");
    for (const char *const *name = set->option->choices; *name && at < sizeof(set->expected); name++)
        at += (size_t)snprintf(set->expected + at, sizeof(set->expected) - at, "%s %s",
                               name == set->option->choices ? "" : ",", *name);
    if (nearest && at < sizeof(set->expected))
        snprintf(set->expected + at, sizeof(set->expected) - at, "; did you mean %s?", nearest);
    return false;
}

static bool set_enum(setting *set, void *field)
{
    const char *word = plain_text(set->arena, set->value);
    if (!word) return expect(set, "a name");
    for (int i = 0; set->option->choices[i]; i++) {
        if (strcmp(word, set->option->choices[i]) != 0) continue;
        memcpy(field, &i, sizeof(i));
        return true;
    }
    return expect_choice(set, word);
}

/* Cuts the next item out of a list "1,2,3", "[1, 2, 3]" or "(1, 2)"; the cursor starts at the copy of the text. */
static char *next_item(char **cursor)
{
    char *item = *cursor + strspn(*cursor, " ");
    if (!*item) return NULL;
    size_t length = strcspn(item, ",");
    *cursor = item + length + (item[length] == ',');
    item[length] = '\0';
    while (length > 0 && item[length - 1] == ' ') item[--length] = '\0';
    return item;
}

/* A copy of a list without its brackets; NULL when they do not match. */
static char *list_text(artel__arena *arena, const char *value)
{
    char *text = artel__arena_strdup(arena, value);
    if (!text) return NULL;
    size_t length = strlen(text);
    char close = *text == '[' ? ']' : *text == '(' ? ')' : '\0';
    if (!close) return text;
    if (length < 2 || text[length - 1] != close) return NULL;
    text[length - 1] = '\0';
    return text + 1;
}

static bool set_ints(setting *set, void *field)
{
    artel__ints list = {0};
    char *cursor = list_text(set->arena, set->value), *item = NULL;
    if (!cursor) return expect(set, "integers");
    while ((item = next_item(&cursor))) {
        if (list.count == (int)ARTEL__COUNT(list.item)) return expect(set, "at most eight integers");
        if (!parse_integer(item, &list.item[list.count])) return expect(set, "integers");
        if (!in_range(set->option, (double)list.item[list.count++])) return expect(set, "integers");
    }
    memcpy(field, &list, sizeof(list));
    return true;
}

static bool set_floats(setting *set, void *field)
{
    artel__floats list = {0};
    size_t most = 1;
    for (const char *at = set->value; *at; at++) most += *at == ',';
    char *cursor = list_text(set->arena, set->value), *item = NULL;
    list.item = artel__arena_alloc(set->arena, most, sizeof(double));
    if (!cursor || !list.item) return expect(set, "numbers");
    while ((item = next_item(&cursor))) {
        if (!parse_number(item, &list.item[list.count])) return expect(set, "numbers");
        if (!in_range(set->option, list.item[list.count++])) return expect(set, "numbers");
    }
    memcpy(field, &list, sizeof(list));
    return true;
}

static bool set_nothing(setting *set, void *field)
{
    (void)set;
    (void)field;
    return true;
}

typedef bool set_fn(setting *set, void *field);

static set_fn *const setters[] = {
    [ARTEL__OPTION_BOOL] = set_bool,     [ARTEL__OPTION_INT] = set_int,   [ARTEL__OPTION_FLOAT] = set_float,
    [ARTEL__OPTION_STRING] = set_string, [ARTEL__OPTION_ENUM] = set_enum, [ARTEL__OPTION_INTS] = set_ints,
    [ARTEL__OPTION_FLOATS] = set_floats, [ARTEL__OPTION_JSON] = set_json, [ARTEL__OPTION_IGNORED] = set_nothing,
};

/* True for an enum that has a choice of this very name. */
static bool is_choice(const artel__option *option, const char *value)
{
    for (int i = 0; option->type == ARTEL__OPTION_ENUM && option->choices[i]; i++)
        if (strcmp(option->choices[i], value) == 0) return true;
    return false;
}

/* Nothing set: zero, NULL, an empty list; -1 for an enum, whose first choice is 0. */
static void set_null(const artel__option *option, void *field)
{
    static const int none = -1;
    memset(field, 0, field_size(option->type));
    if (option->type == ARTEL__OPTION_ENUM) memcpy(field, &none, sizeof(none));
}

static artel_status assign(artel__arena *arena, const artel__option *option, void *target, const char *where,
                           const char *value)
{
    setting set = {arena, option, value, ""};
    void *field = (char *)target + option->offset;
    if (is_null(value) && may_be_null(option) && !is_choice(option, value)) {
        set_null(option, field);
        return ARTEL_OK;
    }
    if (setters[option->type](&set, field)) return ARTEL_OK;
    ARTEL_TRY(artel__arena_status(arena));
    char advice[256], name[64] = "the value";
    snprintf(advice, sizeof(advice), "it means: %s", option->help ? option->help : option->name);
    if (strncmp(where, "--", 2) != 0 && strncmp(where, "ARTEL_", 6) != 0)
        snprintf(name, sizeof(name), "%s", option->name);
    return artel__fail(arena->ctx, ARTEL_ERROR_INVALID, where, advice, "%s does not fit (found %.100s, expected %s)",
                       name,
                       *value == '\1' ? value + 1
                       : *value       ? value
                                      : "nothing",
                       set.expected); /* \1: as base/json.h keeps NaN */
}

const artel__option *artel__options_find(const artel__option *table, const char *name)
{
    for (; table->name; table++)
        if (strcmp(table->name, name) == 0) return table;
    return NULL;
}

artel_status artel__options_default(artel__arena *arena, const artel__option *table, void *target)
{
    for (; table->name; table++) {
        memset((char *)target + table->offset, 0, field_size(table->type));
        if (table->fallback) ARTEL_TRY(assign(arena, table, target, "defaults", table->fallback));
    }
    return ARTEL_OK;
}

static artel_status fail_unknown(artel__arena *arena, const artel__option *table, const char *where, const char *name)
{
    const char *names[MOST_NAMES + 1];
    size_t count = 0;
    for (; table->name && count < MOST_NAMES; table++) names[count++] = table->name;
    names[count] = NULL;
    const char *nearest = artel__nearest_name(name, names);
    char advice[128] = "";
    if (nearest)
        snprintf(advice, sizeof(advice), "did you mean %s?", nearest);
    else
        snprintf(advice, sizeof(advice), "leave it out");
    return artel__fail(arena->ctx, ARTEL_ERROR_INVALID, where, advice, "there is no option %.100s", name);
}

artel_status artel__options_set(artel__arena *arena, const artel__option *table, void *target, const char *where,
                                const char *name, const char *value)
{
    const artel__option *option = artel__options_find(table, name);
    if (!option) return fail_unknown(arena, table, where, name);
    return assign(arena, option, target, where, value);
}
