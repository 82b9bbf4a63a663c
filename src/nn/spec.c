/* SPDX-License-Identifier: Apache-2.0 */
/* The command line's way of writing Keras records.
 *
 * Text is cut at commas and colons of depth zero, brackets and quotes being counted, so that JSON may be a value. In a
 * list a piece of the form key=value belongs to the item before it. Nothing here knows which settings exist: that is
 * for the readers, whose messages name class and setting.
 */
#include "nn/spec.h"

#include <ctype.h>
#include <string.h>

#include "base/json_written.h"
#include "base/utf8.h"
#include "nn/optimizer.h"

#define DEEPEST 16

typedef struct parsing {
    artel_context *ctx;
    const char *option;
    int depth;
} parsing;

/* A piece of the text. */
typedef struct piece {
    const char *at;
    size_t length;
} piece;

static artel_status read_value(const parsing *p, piece text, json_t **out);

static artel_status wrong(const parsing *p, piece text, const char *what, const char *advice)
{
    return artel__fail(p->ctx, ARTEL_ERROR_INVALID, p->option, advice, "\"%.*s\": %s",
                       (int)(text.length > 200 ? 200 : text.length), text.at, what);
}

static piece trim(piece text)
{
    while (text.length && isspace((unsigned char)*text.at)) {
        text.at++;
        text.length--;
    }
    while (text.length && isspace((unsigned char)text.at[text.length - 1])) text.length--;
    return text;
}

/* Where the first `separator` of depth zero is, or the length. */
static size_t find(piece text, char separator)
{
    int depth = 0;
    bool quoted = false;
    for (size_t i = 0; i < text.length; i++) {
        char c = text.at[i];
        if (quoted && c == '\\')
            i++;
        else if (c == '"')
            quoted = !quoted;
        else if (!quoted && depth == 0 && c == separator)
            return i;
        else if (!quoted && strchr("([{", c) && c)
            depth++;
        else if (!quoted && strchr(")]}", c) && c)
            depth--;
    }
    return text.length;
}

/* Cuts off what lies in front of the next comma; false at the end. */
static bool next(piece *rest, piece *out)
{
    if (!rest->at) return false;
    size_t end = find(*rest, ',');
    *out = trim((piece){rest->at, end});
    if (end == rest->length)
        *rest = (piece){NULL, 0};
    else
        *rest = (piece){rest->at + end + 1, rest->length - end - 1};
    return true;
}

static size_t word_length(piece text)
{
    size_t n = 0;
    while (n < text.length && (isalnum((unsigned char)text.at[n]) || text.at[n] == '_')) n++;
    return n > 0 && isdigit((unsigned char)*text.at) ? 0 : n;
}

/* The same of a name, in front of which a package may stand: "package>Name". */
static size_t name_length(piece text)
{
    size_t n = word_length(text), more = 0;
    if (n > 0 && n < text.length && text.at[n] == '>')
        more = word_length((piece){text.at + n + 1, text.length - n - 1});
    return more > 0 ? n + 1 + more : n;
}

/* Where the '=' of key=value is; 0 when the text is something else. */
static size_t equals_sign(piece text)
{
    size_t n = word_length(text);
    if (n == 0) return 0;
    while (n < text.length && text.at[n] == ' ') n++;
    return n < text.length && text.at[n] == '=' ? n : 0;
}

/* -- values -- */

static artel_status out_of_memory(const parsing *p)
{
    return artel__fail_memory(p->ctx, p->option, 64);
}

static artel_status read_settings(const parsing *p, piece text, json_t *config)
{
    piece rest = trim(text), item;
    if (!rest.length) return ARTEL_OK;
    while (next(&rest, &item)) {
        json_t *value;
        size_t n = word_length(item), equals = equals_sign(item);
        if (!equals) return wrong(p, item, "expected key=value", "write NAME:key=value,key=value");
        ARTEL_TRY(read_value(p, trim((piece){item.at + equals + 1, item.length - equals - 1}), &value));
        char key[64];
        if (n >= sizeof key) {
            json_decref(value);
            return wrong(p, item, "the key is too long", "look it up in the documentation");
        }
        memcpy(key, item.at, n);
        key[n] = '\0';
        if (json_object_get(config, key)) {
            json_decref(value);
            return wrong(p, item, "the key occurs twice", "write each key once");
        }
        if (json_object_set_new(config, key, value) < 0) return out_of_memory(p);
    }
    return ARTEL_OK;
}

/* {"class_name": name, "config": {settings}}. */
static artel_status read_record(const parsing *p, piece name, piece settings, json_t **out)
{
    json_t *config = json_object(), *record = json_object();
    artel_status status = ARTEL_OK;
    if (!record || !config || json_object_set_new(record, "class_name", json_stringn(name.at, name.length)) < 0 ||
        json_object_set(record, "config", config) < 0)
        status = out_of_memory(p);
    if (status == ARTEL_OK) status = read_settings(p, settings, config);
    if (status == ARTEL_OK) status = artel__schedule_spell_out(p->ctx, record);
    json_decref(config);
    if (status == ARTEL_OK)
        *out = record;
    else
        json_decref(record);
    return status;
}

static artel_status read_json(const parsing *p, piece text, json_t **out)
{
    return artel__json_load_written(p->ctx, p->option, text.at, text.length, out);
}

/* A number, true, false, null, or a word. */
static artel_status read_word(const parsing *p, piece text, json_t **out)
{
    static const char *const constants[] = {"true", "True", "false", "False", "null", "None"};
    char word[256];
    if (text.length >= sizeof word) return wrong(p, text, "the value is too long", "write lists and records as JSON");
    memcpy(word, text.at, text.length);
    word[text.length] = '\0';
    int64_t integer;
    double number;
    size_t kind = 0;
    if (artel__utf8_valid(word, text.length) != text.length) return wrong(p, text, "this is no text", "write UTF-8");
    while (kind < ARTEL__COUNT(constants) && strcmp(word, constants[kind]) != 0) kind++;
    if (kind < 2)
        *out = json_true();
    else if (kind < 4)
        *out = json_false();
    else if (kind < 6)
        *out = json_null();
    else if (artel__parse_int64(word, &integer))
        *out = json_integer(integer);
    else if (artel__parse_double(word, &number))
        *out = artel__json_real(number);
    else
        *out = json_string(word);
    return *out ? ARTEL_OK : out_of_memory(p);
}

/* "{epoch:02d}-x.keras": a name whose first part is a field, or "{{", and no JSON. */
static bool begins_with_field(piece text)
{
    return text.length > 2 && text.at[0] == '{' && text.at[text.length - 1] != '}' &&
           (text.at[1] == '{' || word_length((piece){text.at + 1, text.length - 1}) > 0);
}

static artel_status read_value(const parsing *p, piece text, json_t **out)
{
    if (!text.length) return wrong(p, text, "a value is missing", "write key=value");
    if (begins_with_field(text)) return read_word(p, text, out);
    if (strchr("{[\"", *text.at)) return read_json(p, text, out);
    size_t n = word_length(text);
    if (n == 0 || n == text.length || text.at[n] != '(') return read_word(p, text, out);
    parsing inner = *p;
    if (inner.depth++ == DEEPEST) return wrong(p, text, "nested too deep", "write the record into a file, @FILE.json");
    if (text.at[text.length - 1] != ')') return wrong(p, text, "a bracket is not closed", "write name(key=value,...)");
    return read_record(&inner, (piece){text.at, n}, (piece){text.at + n + 1, text.length - n - 2}, out);
}

/* -- whole specifications -- */

static artel_status read_file(const parsing *p, piece text, json_t **out)
{
    char path[4096];
    if (text.length - 1 >= sizeof path) return wrong(p, text, "the path is too long", "use a shorter one");
    memcpy(path, text.at + 1, text.length - 1);
    path[text.length - 1] = '\0';
    return artel__json_load_written_file(p->ctx, path, out);
}

static artel_status read_item(const parsing *p, piece text, json_t **out)
{
    if (!text.length) return wrong(p, text, "a name is missing", "write NAME, NAME:key=value,... or @FILE.json");
    if (*text.at == '@') return read_file(p, text, out);
    if (*text.at == '{' || *text.at == '[') return read_json(p, text, out);
    size_t colon = find(text, ':');
    piece name = trim((piece){text.at, colon});
    if (!name.length || name_length(name) != name.length)
        return wrong(p, text, "this is no name", "write NAME, NAME:key=value,... or @FILE.json");
    if (colon == text.length) return read_word(p, name, out);
    return read_record(p, name, (piece){text.at + colon + 1, text.length - colon - 1}, out);
}

artel_status artel__spec_read(artel_context *ctx, const char *option, const char *text, json_t **out)
{
    parsing p = {ctx, option, 0};
    return read_item(&p, trim((piece){text, strlen(text)}), out);
}

/* Joins to an item the settings that follow it; `rest` moves on. */
static piece with_settings(piece item, piece *rest)
{
    piece ahead = *rest, following;
    while (next(&ahead, &following) && equals_sign(following)) {
        item.length = (size_t)(following.at + following.length - item.at);
        *rest = ahead;
    }
    return item;
}

static artel_status read_list(const parsing *p, piece rest, json_t *list)
{
    piece item;
    while (next(&rest, &item)) {
        json_t *value;
        if (find(item, ':') < item.length) item = with_settings(item, &rest);
        ARTEL_TRY(read_item(p, item, &value));
        bool failed = json_is_array(value) ? json_array_extend(list, value) < 0 : json_array_append(list, value) < 0;
        json_decref(value);
        if (failed) return out_of_memory(p);
    }
    return ARTEL_OK;
}

artel_status artel__spec_read_list(artel_context *ctx, const char *option, const char *text, json_t **out)
{
    parsing p = {ctx, option, 0};
    json_t *list = json_array();
    if (!list) return out_of_memory(&p);
    artel_status status = read_list(&p, trim((piece){text, strlen(text)}), list);
    if (status < 0) {
        json_decref(list);
        return status;
    }
    *out = list;
    return ARTEL_OK;
}
