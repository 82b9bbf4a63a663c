/* SPDX-License-Identifier: Apache-2.0 */
/* lookup: values become their places in a list, numbers or words; and what other stages do with columns of text.
 *
 * A text is an artel__string, whose bytes belong to the source that it came from and live as long: so stages choose,
 * order and join texts as any other values, and no stage makes a new one.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/file.h"
#include "data/stage.h"

/* ---- for other stages ---- */

/* 0.1 as the column would hold it; what it cannot hold stays as it is. */
static double round_key(artel_dtype dtype, double number)
{
    uint64_t held = 0;
    double rounded = number;
    if (!artel__is_floating(dtype)) return number;
    artel__convert(ARTEL_DTYPE_FLOAT64, &number, dtype, &held, 1);
    artel__convert(dtype, &held, ARTEL_DTYPE_FLOAT64, &rounded, 1);
    return isfinite(rounded) ? rounded : number;
}

artel_status artel__stage_numbers(const artel__stage *stage, const json_t *value, artel__stage_keys *out)
{
    out->dtype = artel__stage_made(stage)->dtype;
    out->count = json_is_array(value) ? json_array_size(value) : 1;
    out->numbers = artel__arena_alloc(stage->arena, out->count + 1, sizeof *out->numbers);
    out->whole = artel__arena_alloc(stage->arena, out->count + 1, sizeof *out->whole);
    if (out->numbers == NULL || out->whole == NULL) return ARTEL_ERROR_NO_MEMORY;
    bool whole = !artel__is_floating(out->dtype);
    for (size_t i = 0; i < out->count; i++) {
        const json_t *key = json_is_array(value) ? json_array_get(value, i) : value;
        if (!artel__json_number(key, &out->numbers[i])) return ARTEL_ERROR_INVALID;
        out->numbers[i] = round_key(out->dtype, out->numbers[i]);
        out->whole[i] = json_integer_value(key);
        whole = whole && json_is_integer(key);
    }
    if (!whole) out->whole = NULL;
    return ARTEL_OK;
}

artel__stage_value artel__stage_read_value(const artel__stage_keys *keys, const void *at)
{
    artel__stage_value value = {0};
    artel__convert(keys->dtype, at, ARTEL_DTYPE_FLOAT64, &value.number, 1);
    if (keys->whole == NULL) return value;
    artel__convert(keys->dtype, at, ARTEL_DTYPE_INT64, &value.whole, 1);
    uint64_t natural = 0;
    if (keys->dtype == ARTEL_DTYPE_UINT64) memcpy(&natural, at, sizeof natural);
    value.beyond = natural > INT64_MAX;
    return value;
}

artel_status artel__stage_words(const artel__stage *stage, json_t *value, artel__vocabulary *out)
{
    if (json_is_array(value)) return artel__vocabulary_read(stage->arena, stage->where, value, out);
    if (!json_is_string(value))
        return artel__stage_wrong(stage, "write a string, or a list of strings", "column '%s' holds text",
                                  artel__stage_made(stage)->name);
    json_t *list = json_pack("[O]", value);
    if (!list) return artel__fail_memory(stage->ctx, stage->where, 0);
    artel_status status = artel__vocabulary_read(stage->arena, stage->where, list, out);
    json_decref(list);
    return status;
}

/* ---- lookup ---- */

typedef struct lookup_options {
    const char *column, *keys, *fallback;
} lookup_options;

struct sorted_key {
    double number;
    int64_t whole; /* the same, where all are whole; else 0 */
    size_t place;
};

typedef struct lookup_state {
    artel__stage_keys numbers;
    struct sorted_key *sorted; /* the numbers by their size */
    artel__vocabulary words;   /* instead, of text */
    bool all;                  /* values that are no key have a place, too */
    int64_t fallback;
} lookup_state;

static const artel__option lookup_table[] = {
    ARTEL__STAGE_COLUMN("the column"),
    {"keys", "numbers, or of text strings or a file of lines: a value becomes its place in this list",
     ARTEL__OPTION_JSON, offsetof(lookup_options, keys), NULL, 0, 0, NULL},
    {"default", "for other values, any whole number; left out: an error", ARTEL__OPTION_JSON,
     offsetof(lookup_options, fallback), "null", 0, 0, NULL},
    {.name = NULL},
};

static int by_size(const void *a, const void *b)
{
    const struct sorted_key *x = a, *y = b;
    int order = (x->whole > y->whole) - (x->whole < y->whole);
    return order != 0 ? order : (x->number > y->number) - (x->number < y->number);
}

/* As tables of TensorFlow, which a key has one value in. */
static artel_status sort_numbers(const artel__stage *stage, lookup_state *state)
{
    const artel__stage_keys *keys = &state->numbers;
    state->sorted = artel__arena_alloc(stage->arena, keys->count + 1, sizeof *state->sorted);
    if (state->sorted == NULL) return ARTEL_ERROR_NO_MEMORY;
    for (size_t i = 0; i < keys->count; i++)
        state->sorted[i] = (struct sorted_key){keys->numbers[i], keys->whole != NULL ? keys->whole[i] : 0, i};
    qsort(state->sorted, keys->count, sizeof *state->sorted, by_size);
    for (size_t i = 1; i < keys->count; i++) {
        const struct sorted_key *key = &state->sorted[i];
        if (by_size(key, key - 1) == 0)
            return artel__stage_wrong(stage, "name each key once", "%.17g is in keys twice, as column '%s' holds it",
                                      key->number, artel__stage_made(stage)->name);
    }
    return ARTEL_OK;
}

/* The place of a number, or -1. */
static int64_t find_number(const lookup_state *state, const artel__stage_value *value)
{
    size_t low = 0, high = state->numbers.count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        double order = artel__stage_compare(&state->numbers, state->sorted[middle].place, value);
        if (order == 0) return (int64_t)state->sorted[middle].place;
        if (order < 0)
            high = middle;
        else if (order > 0)
            low = middle + 1;
        else
            return -1; /* NaN is no key */
    }
    return -1;
}

static artel_status read_keys(const artel__stage *stage, json_t *list, lookup_state *out)
{
    const artel__stage_column *column = artel__stage_made(stage);
    bool text = column->dtype == ARTEL_DTYPE_STRING;
    artel_status status = ARTEL_ERROR_INVALID;
    if (text && (json_is_array(list) || json_is_string(list)))
        return artel__vocabulary_read(stage->arena, stage->where, list, &out->words);
    if (json_is_array(list)) status = artel__stage_numbers(stage, list, &out->numbers);
    if (status == ARTEL_OK) return sort_numbers(stage, out);
    if (status != ARTEL_ERROR_INVALID) return status;
    return artel__stage_wrong(
        stage,
        text ? "write \"keys\": [\"cat\", \"dog\"], or the name of a file with a word in each line"
             : "write \"keys\": [3, 1, 4]",
        "keys is no list of %s, which column '%s' holds", text ? "strings" : "numbers", column->name);
}

static artel_status read_default(const artel__stage *stage, lookup_state *out)
{
    const char *text = ((const lookup_options *)stage->options)->fallback;
    json_t *value;
    if (text == NULL) return ARTEL_OK;
    ARTEL_TRY(artel__json_load(stage->ctx, stage->where, text, strlen(text), &value));
    out->all = artel__json_integer(value, &out->fallback);
    json_decref(value);
    if (out->all) return ARTEL_OK;
    return artel__stage_wrong(stage, "write \"default\": -1", "default is no whole number that int64 holds");
}

/* The words of a file; one that is not there is missed when the stage is opened. */
static artel_status lookup_file(const artel__stage *stage, const char **path)
{
    const char *text = ((const lookup_options *)stage->options)->keys;
    json_t *keys;
    ARTEL_TRY(artel__json_load(stage->ctx, stage->where, text, strlen(text), &keys));
    const char *name = json_string_value(keys);
    if (name != NULL && artel__file_exists(name)) *path = artel__arena_strdup(stage->arena, name);
    json_decref(keys);
    return artel__arena_status(stage->arena);
}

static artel_status lookup_open(artel__stage *stage)
{
    const char *text = ((const lookup_options *)stage->options)->keys;
    lookup_state *state = artel__arena_alloc(stage->arena, 1, sizeof *state);
    artel_shape row = artel__stage_made(stage)->row;
    json_t *list;
    if (state == NULL) return ARTEL_ERROR_NO_MEMORY;
    ARTEL_TRY(artel__json_load(stage->ctx, stage->where, text, strlen(text), &list));
    artel_status status = read_keys(stage, list, state);
    json_decref(list);
    if (status == ARTEL_OK) status = read_default(stage, state);
    if (status < 0) return status;
    stage->state = state;
    return artel__stage_set_column(stage, stage->target, ARTEL_DTYPE_INT64, &row);
}

static artel_status no_key(const artel__stage *stage, int64_t index, const char *value)
{
    return artel__stage_wrong(stage, "add it to keys, or give a default", "element %lld: %s is no key",
                              (long long)index, value);
}

static artel_status no_word(const artel__stage *stage, int64_t index, const artel__string *word)
{
    char shown[400], value[402];
    artel__clean(word->bytes, word->length < 60 ? word->length : 60, shown, sizeof shown);
    snprintf(value, sizeof value, "'%s'", shown);
    return no_key(stage, index, value);
}

static artel_status no_number(const artel__stage *stage, int64_t index, const artel__stage_value *value, bool whole)
{
    char text[40];
    if (whole && !value->beyond)
        snprintf(text, sizeof text, "%lld", (long long)value->whole);
    else
        snprintf(text, sizeof text, "%.17g", value->number);
    return no_key(stage, index, text);
}

static artel_status find_words(const artel__stage *stage, int64_t index, const artel__string *in, int64_t *out)
{
    const lookup_state *state = stage->state;
    for (int64_t i = 0; i < artel__stage_made(stage)->elements; i++) {
        out[i] = artel__vocabulary_find(&state->words, in[i].bytes, in[i].length);
        if (out[i] < 0 && !state->all) return no_word(stage, index, &in[i]);
        if (out[i] < 0) out[i] = state->fallback;
    }
    return ARTEL_OK;
}

static artel_status lookup_map(const artel__stage *stage, int64_t index, const void *in, void *out)
{
    const lookup_state *state = stage->state;
    const artel__stage_column *from = artel__stage_given(stage);
    size_t size = artel_dtype_size(from->dtype);
    if (from->dtype == ARTEL_DTYPE_STRING) return find_words(stage, index, in, out);
    for (int64_t i = 0; i < from->elements; i++) {
        const artel__stage_keys *keys = &state->numbers;
        artel__stage_value value = artel__stage_read_value(keys, (const uint8_t *)in + (size_t)i * size);
        int64_t place = find_number(state, &value);
        if (place < 0 && !state->all) return no_number(stage, index, &value, keys->whole != NULL);
        ((int64_t *)out)[i] = place >= 0 ? place : state->fallback;
    }
    return ARTEL_OK;
}

const artel__stage_ops artel__stage_lookup = {.name = "lookup",
                                              .options = lookup_table,
                                              .options_size = sizeof(lookup_options),
                                              .texts = true,
                                              .find_file = lookup_file,
                                              .file = "keys",
                                              .open = lookup_open,
                                              .map = lookup_map};
