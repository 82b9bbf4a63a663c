/* SPDX-License-Identifier: Apache-2.0 */
/* Operations that look into strings: their table, their settings, and the way to their functions. An operation is a
 * line of `operations`, and a function of one of the files that words.h names; a setting is a key, a line of
 * `key_names` and a case of read_setting(). */
#include <ctype.h>
#include <string.h>

#include "text/words.h"

enum {
    KEY_SEPARATOR,
    KEY_SEP,
    KEY_AXIS,
    KEY_MAXSPLIT,
    KEY_DEFAULT,
    KEY_BUCKETS,
    KEY_KEY,
    KEY_UNIT,
    KEY_OUT_TYPE,
    KEY_POS,
    KEY_LEN,
    KEY_PATTERN,
    KEY_REWRITE,
    KEY_REPLACE_GLOBAL,
    KEY_NGRAM_WIDTH,
    KEY_PAD_VALUES,
    KEY_PADDING_WIDTH,
    KEY_PRESERVE_SHORT,
    KEY_PRECISION,
    KEY_SCIENTIFIC,
    KEY_SHORTEST,
    KEY_WIDTH,
    KEY_FILL,
    KEY_PARTS,
    KEYS
};
static const char *const key_names[KEYS] = {"separator",     "sep",
                                            "axis",          "maxsplit",
                                            "default_value", "num_buckets",
                                            "key",           "unit",
                                            "out_type",      "pos",
                                            "len",           "pattern",
                                            "rewrite",       "replace_global",
                                            "ngram_width",   "pad_values",
                                            "padding_width", "preserve_short_sequences",
                                            "precision",     "scientific",
                                            "shortest",      "width",
                                            "fill",          "parts"};

enum {
    SUBSTR = 1 << KEY_POS | 1 << KEY_LEN | 1 << KEY_UNIT,
    REPLACE = 1 << KEY_PATTERN | 1 << KEY_REWRITE | 1 << KEY_REPLACE_GLOBAL,
    NGRAMS = 1 << KEY_NGRAM_WIDTH | 1 << KEY_SEPARATOR | 1 << KEY_PAD_VALUES | 1 << KEY_PADDING_WIDTH |
             1 << KEY_PRESERVE_SHORT,
    AS_STRING = 1 << KEY_PRECISION | 1 << KEY_SCIENTIFIC | 1 << KEY_SHORTEST | 1 << KEY_WIDTH | 1 << KEY_FILL
};

static const artel__string_operation operations[] = {
    {"string_to_hash_bucket", 1, 1, 1 << KEY_BUCKETS, artel__string_infer_bucket, artel__string_old_hash, false},
    {"string_to_hash_bucket_fast", 1, 1, 1 << KEY_BUCKETS, artel__string_infer_bucket, artel__string_hash, false},
    {"string_to_hash_bucket_strong", 1, 1, 1 << KEY_BUCKETS | 1 << KEY_KEY, artel__string_infer_bucket,
     artel__string_keyed_hash, false},
    {"string_length", 1, 1, 1 << KEY_UNIT, artel__string_infer_length, artel__string_length, false},
    {"string_to_number", 1, 1, 1 << KEY_OUT_TYPE, artel__string_infer_number, artel__string_number, false},
    {"string_lower", 1, 1, 0, artel__string_infer_same, artel__string_lower, false},
    {"string_upper", 1, 1, 0, artel__string_infer_same, artel__string_upper, false},
    {"string_strip", 1, 1, 0, artel__string_infer_same, artel__string_strip, false},
    {"string_substr", 1, 1, SUBSTR, artel__string_infer_part, artel__string_part, false},
    {"string_lookup", 2, 2, 1 << KEY_DEFAULT, artel__string_infer_lookup, artel__string_lookup, false},
    {"string_join", 1, ARTEL__STRING_OPERANDS, 1 << KEY_SEPARATOR, artel__string_infer_join, artel__string_join, false},
    {"string_reduce_join", 1, 1, 1 << KEY_SEPARATOR | 1 << KEY_AXIS, artel__string_infer_reduce_join,
     artel__string_reduce_join, false},
    {"string_split", 1, 1, 1 << KEY_SEP | 1 << KEY_MAXSPLIT | 1 << KEY_PARTS, artel__string_infer_split,
     artel__string_split, false},
    {"string_ngrams", 1, 1, NGRAMS, artel__string_infer_ngrams, artel__string_ngrams, false},
    {"string_unicode_decode", 1, 1, 1 << KEY_DEFAULT | 1 << KEY_PARTS, artel__string_infer_decode, artel__string_decode,
     false},
    {"string_unicode_split", 1, 1, 1 << KEY_PARTS, artel__string_infer_split, artel__string_characters, false},
    {"string_unicode_encode", 1, 1, 0, artel__string_infer_encode, artel__string_encode, true},
    {"string_as_string", 1, 1, AS_STRING, artel__string_infer_as_string, artel__string_as_string, true},
    {"string_regex_full_match", 1, 1, 1 << KEY_PATTERN, artel__string_infer_match, artel__string_full_match, false},
    {"string_regex_replace", 1, 1, REPLACE, artel__string_infer_replace, artel__string_replace, false}};

/* -- settings -- */

static bool read_text(const json_t *value, artel_string *out)
{
    *out = (artel_string){json_string_value(value), json_string_length(value)};
    return out->bytes != NULL;
}

static bool read_flag(const json_t *value, bool on, bool *out)
{
    *out = json_is_true(value) == on;
    return json_is_boolean(value);
}

/* -1: not given. */
static bool read_count(const json_t *value, int64_t *out)
{
    int64_t number;
    if (!artel__json_integer(value, &number) || number < -1 || number > ARTEL__MOST_DIGITS) return false;
    *out = number;
    return true;
}

static bool read_unit(const json_t *value, bool *characters)
{
    const char *text = json_string_value(value);
    *characters = text && strcmp(text, "UTF8_CHAR") == 0;
    return *characters || (text && strcmp(text, "BYTE") == 0);
}

/* Two whole numbers of 64 bits without sign, as far as JSON has them. */
static bool read_key(const json_t *value, uint64_t *out)
{
    int64_t number = 0;
    bool is = json_array_size(value) == 2;
    for (size_t i = 0; i < 2 && is; i++) {
        is = artel__json_integer(json_array_get(value, i), &number);
        out[i] = (uint64_t)number;
    }
    return is;
}

/* One width or some. */
static bool read_widths(const json_t *value, artel__ngram_settings *out)
{
    size_t count = json_is_array(value) ? json_array_size(value) : 1;
    bool is = count > 0 && count <= ARTEL__NGRAM_WIDTHS;
    for (size_t i = 0; i < count && is; i++) {
        const json_t *width = json_is_array(value) ? json_array_get(value, i) : value;
        is = artel__json_integer(width, &out->width[i]) && out->width[i] > 0 && out->width[i] <= INT32_MAX;
    }
    out->widths = (int)count;
    return is;
}

/* One text for both ends, or two. */
static bool read_pads(const json_t *value, artel__ngram_settings *out)
{
    out->padded = !json_is_null(value);
    if (!json_is_array(value))
        return !out->padded || (read_text(value, &out->pad[0]) && read_text(value, &out->pad[1]));
    return json_array_size(value) == 2 && read_text(json_array_get(value, 0), &out->pad[0]) &&
           read_text(json_array_get(value, 1), &out->pad[1]);
}

static bool read_setting(int key, json_t *value, artel__string_settings *out)
{
    const char *text = json_string_value(value);
    artel__ngram_settings *ngrams = &out->ngrams;
    switch (key) {
    case KEY_SEP:
    case KEY_SEPARATOR: return read_text(value, &out->separator) || (key == KEY_SEP && json_is_null(value));
    case KEY_AXIS: out->all = json_is_null(value); return out->all || artel__json_integer(value, &out->axis);
    case KEY_MAXSPLIT: return artel__json_integer(value, &out->most) && out->most >= -1;
    case KEY_BUCKETS: return artel__json_integer(value, &out->buckets) && out->buckets > 0;
    case KEY_KEY: out->keyed = true; return read_key(value, out->key);
    case KEY_UNIT: return read_unit(value, &out->characters);
    case KEY_OUT_TYPE:
        return text && artel_dtype_parse(text, &out->dtype) == ARTEL_OK && artel_dtype_size(out->dtype) > 0;
    case KEY_POS: return artel__json_integer(value, &out->position);
    case KEY_LEN: return artel__json_integer(value, &out->length) && out->length >= 0;
    case KEY_PATTERN: return read_text(value, &out->pattern);
    case KEY_REWRITE: return read_text(value, &out->rewrite);
    case KEY_REPLACE_GLOBAL: return read_flag(value, false, &out->first);
    case KEY_NGRAM_WIDTH: return read_widths(value, ngrams);
    case KEY_PAD_VALUES: return read_pads(value, ngrams);
    case KEY_PADDING_WIDTH:
        return json_is_null(value) || (artel__json_integer(value, &ngrams->padding) && ngrams->padding > 0);
    case KEY_PRECISION: return read_count(value, &out->precision);
    case KEY_WIDTH: return read_count(value, &out->width);
    case KEY_SCIENTIFIC: return read_flag(value, true, &out->scientific);
    case KEY_SHORTEST: return read_flag(value, true, &out->shortest);
    case KEY_PARTS: return artel__json_integer(value, &out->parts) && out->parts >= 0 && out->parts <= INT32_MAX;
    case KEY_FILL: return read_text(value, &out->fill);
    case KEY_PRESERVE_SHORT: return read_flag(value, true, &ngrams->keep_short);
    default: return artel__json_integer(value, &out->missing);
    }
}

static artel_status read_settings(artel_context *ctx, const artel__string_operation *op, const json_t *given,
                                  artel__string_settings *out)
{
    const char *key;
    json_t *value;
    *out = (artel__string_settings){
        .most = -1, .length = -1, .parts = -1, .dtype = ARTEL_DTYPE_FLOAT32, .all = true, .ngrams = {.padding = -1}};
    if (op->run == artel__string_as_string) out->precision = -1;
    if (op->run == artel__string_lookup) out->missing = -1;
    if (op->run == artel__string_ngrams) out->separator = (artel_string){" ", 1};
    json_object_foreach((json_t *)(uintptr_t)given, key, value)
    {
        bool known = false;
        for (int k = 0; k < KEYS; k++) {
            if (op->keys >> k & 1 && strcmp(key, key_names[k]) == 0) known = read_setting(k, value, out);
        }
        if (!known)
            return artel__fail(ctx, ARTEL_ERROR_INVALID, op->name,
                               "see docs/eager.md for the settings of operations on strings",
                               "the setting '%s' is unknown, or has no such value", key);
    }
    return ARTEL_OK;
}

/* -- calls -- */

/* All names begin alike, as those of nothing else do. */
bool artel__makes_words(const char *name)
{
    static const char begin[] = "string";
    for (int i = 0; begin[i]; i++, name++) {
        name += *name == '_';
        if ((*name | 0x20) != begin[i]) return false;
    }
    return true;
}

bool artel__same_operation(const char *a, const char *b)
{
    for (;; a++, b++) {
        a += *a == '_';
        b += *b == '_';
        if (tolower((unsigned char)*a) != tolower((unsigned char)*b)) return false;
        if (!*a) return true;
    }
}

const artel__string_operation *artel__string_find(const char *name)
{
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        if (artel__same_operation(operations[i].name, name)) return &operations[i];
    }
    return NULL;
}

artel_status artel__string_prepare(artel_context *ctx, const artel__string_operation *op, int count,
                                   const char *attributes, artel__string_settings *out, json_t **json)
{
    *json = NULL;
    if (count < op->least || count > op->most_inputs)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, op->name, "see docs/eager.md",
                           "it takes another number of arrays");
    if (attributes) ARTEL_TRY(artel__json_load(ctx, op->name, attributes, strlen(attributes), json));
    if (*json && !json_is_object(*json))
        return artel__fail(ctx, ARTEL_ERROR_INVALID, op->name, "give a JSON object", "the settings are no object");
    return read_settings(ctx, op, *json, out);
}

static artel_status check_kinds(const artel__string_call *c)
{
    for (int i = 0; i < c->count && !c->operation->numbers; i++) {
        if (c->in[i].dtype != ARTEL_DTYPE_STRING)
            return artel__string_wrong(c, "cast it with artel_ndarray_cast", "an operand is numbers");
    }
    return ARTEL_OK;
}

artel_status artel__string_infer(const artel__string_call *c, artel_dtype *dtype, artel_shape *shape)
{
    ARTEL_TRY(check_kinds(c));
    return c->operation->infer(c, dtype, shape);
}

artel_status artel__string_run(const artel__string_call *c)
{
    ARTEL_TRY(check_kinds(c));
    return c->operation->run(c);
}
