/* SPDX-License-Identifier: Apache-2.0 */
/* Stages that choose and order elements: take, skip, repeat, shard, shuffle, filter.
 *
 * The order of `shuffle` over everything is computed, not stored: a Feistel network of six rounds over the smallest
 * even number of bits that holds the count, walked until the result lies below it (J. Black and P. Rogaway, "Ciphers
 * with arbitrary finite domains", 2002). With "buffer" it is the order in which tf.data's shuffle would draw: the place
 * in the buffer by a counter-based number; that order, as what filter keeps, takes eight bytes an element.
 */
#include <string.h>

#include "data/stage.h"

/* ---- take, skip, repeat, shard ---- */

typedef struct count_options {
    int64_t count;
} count_options;

static const artel__option count_table[] = {
    {"count", "how many elements", ARTEL__OPTION_INT, offsetof(count_options, count), NULL, 0, 9e18, NULL},
    {.name = NULL},
};

static artel_status take_open(artel__stage *stage)
{
    int64_t count = ((const count_options *)stage->options)->count;
    if (stage->count < 0 && count > stage->reach)
        return artel__stage_wrong(stage, "take fewer", "only %lld can be numbered", (long long)stage->reach);
    if (stage->count < 0 || count < stage->count) stage->count = count;
    return ARTEL_OK;
}

const artel__stage_ops artel__stage_take = {
    .name = "take", .options = count_table, .options_size = sizeof(count_options), .open = take_open};

static artel_status skip_open(artel__stage *stage)
{
    int64_t count = ((const count_options *)stage->options)->count, span = artel__stage_span(stage);
    return artel__stage_set_span(stage, span > count ? span - count : 0);
}

static artel_status skip_locate(const artel__stage *stage, int64_t index, int *input, int64_t *at)
{
    *input = 0;
    *at = index + ((const count_options *)stage->options)->count;
    return ARTEL_OK;
}

const artel__stage_ops artel__stage_skip = {.name = "skip",
                                            .options = count_table,
                                            .options_size = sizeof(count_options),
                                            .open = skip_open,
                                            .locate = skip_locate};

static const artel__option repeat_table[] = {
    {"count", "how often; left out, or -1: without end", ARTEL__OPTION_INT, offsetof(count_options, count), "-1", -1,
     9e18, NULL},
    {.name = NULL},
};

static artel_status repeat_open(artel__stage *stage)
{
    int64_t times = ((const count_options *)stage->options)->count;
    if (stage->count < 0 && times == 0) stage->count = 0;
    if (stage->count <= 0) return ARTEL_OK;
    if (times > 0 && stage->count > INT64_MAX / times)
        return artel__stage_wrong(stage, "repeat less often", "the count overflows");
    stage->count = times >= 0 ? stage->count * times : -1;
    stage->reach = INT64_MAX; /* however far the input reaches */
    return ARTEL_OK;
}

static artel_status repeat_locate(const artel__stage *stage, int64_t index, int *input, int64_t *at)
{
    int64_t count = stage->inputs[0]->count;
    *input = 0;
    *at = count > 0 ? index % count : index;
    return ARTEL_OK;
}

const artel__stage_ops artel__stage_repeat = {.name = "repeat",
                                              .options = repeat_table,
                                              .options_size = sizeof(count_options),
                                              .open = repeat_open,
                                              .locate = repeat_locate};

typedef struct shard_options {
    int64_t count, index;
    bool hint;
} shard_options;

static const artel__option shard_table[] = {
    {"count", "of how many shards", ARTEL__OPTION_INT, offsetof(shard_options, count), "0", 0, 9e18, NULL},
    {"index", "which of them, from 0 on", ARTEL__OPTION_INT, offsetof(shard_options, index), "0", 0, 9e18, NULL},
    {"hint", "as many as there are workers, and each its own: with .auto_shard hint of fit", ARTEL__OPTION_BOOL,
     offsetof(shard_options, hint), "false", 0, 0, NULL},
    {.name = NULL},
};

static artel_status shard_open(artel__stage *stage)
{
    shard_options *o = stage->options;
    if (o->hint == (o->count > 0))
        return artel__stage_wrong(stage, "give \"count\" and \"index\", or \"hint\": true alone",
                                  "one of the two is to say which shard");
    if (o->hint) {
        o->count = stage->workers;
        o->index = stage->worker;
        stage->hinted = true;
    }
    if (o->index >= o->count)
        return artel__stage_wrong(stage, "count from 0", "no shard %lld of %lld", (long long)o->index,
                                  (long long)o->count);
    int64_t span = artel__stage_span(stage);
    return artel__stage_set_span(stage, span > o->index ? (span - o->index - 1) / o->count + 1 : 0);
}

static artel_status shard_locate(const artel__stage *stage, int64_t index, int *input, int64_t *at)
{
    const shard_options *o = stage->options;
    *input = 0;
    *at = index * o->count + o->index;
    return ARTEL_OK;
}

const artel__stage_ops artel__stage_shard = {.name = "shard",
                                             .options = shard_table,
                                             .options_size = sizeof(shard_options),
                                             .open = shard_open,
                                             .locate = shard_locate};

/* ---- an order that is kept ---- */

static artel_status listed_locate(const artel__stage *stage, int64_t index, int *input, int64_t *at)
{
    *input = 0;
    *at = (int64_t)((const uint64_t *)stage->state)[index];
    return ARTEL_OK;
}

static void listed_close(artel__stage *stage)
{
    artel__free(stage->ctx, stage->state);
}

/* ---- shuffle ---- */

typedef struct shuffle_options {
    int64_t seed, buffer;
    bool again;
} shuffle_options;

static const artel__option shuffle_table[] = {
    {"seed", "of the order", ARTEL__OPTION_INT, offsetof(shuffle_options, seed), "0", 0, 9e18, NULL},
    {"buffer", "elements to draw from, as tf.data; left out: all", ARTEL__OPTION_INT, offsetof(shuffle_options, buffer),
     "0", 0, 1e15, NULL},
    {"reshuffle_each_iteration", "another order in each pass over the data", ARTEL__OPTION_BOOL,
     offsetof(shuffle_options, again), "false", 0, 0, NULL},
    {.name = NULL},
};

/* The first pass has the order that a shuffle has which stays. */
static uint64_t feistel(const artel__stage *stage, int half, uint64_t value)
{
    const shuffle_options *o = stage->options;
    const uint64_t rounds = 6, pass = o->again ? artel__stage_pass() : 0;
    uint64_t mask = ((uint64_t)1 << half) - 1, left = value >> half, right = value & mask;
    for (uint64_t round = 0; round < rounds; round++) {
        uint32_t words[4];
        artel__stage_draw(stage, o->seed, (int64_t)right, pass * rounds + round, words);
        uint64_t next = (left ^ ((uint64_t)words[1] << 32 | words[0])) & mask;
        left = right;
        right = next;
    }
    return left << half | right;
}

static artel_status shuffle_locate(const artel__stage *stage, int64_t index, int *input, int64_t *at)
{
    int half = 1;
    if (stage->state != NULL) return listed_locate(stage, index, input, at);
    while (half < 31 && (uint64_t)1 << (2 * half) < (uint64_t)stage->count) half++;
    uint64_t value = (uint64_t)index;
    do value = feistel(stage, half, value);
    while (value >= (uint64_t)stage->count);
    *input = 0;
    *at = (int64_t)value;
    return ARTEL_OK;
}

/* Draws as a buffer would be drawn from: element i takes a random place of it, where the next of the input comes in. */
static artel_status draw_buffered(artel__stage *stage)
{
    const shuffle_options *o = stage->options;
    int64_t count = stage->count, room = o->buffer < count ? o->buffer : count;
    uint64_t *out, *held;
    ARTEL_TRY(artel__stage_order(stage, count, &out));
    stage->state = out;
    ARTEL_TRY(artel__stage_order(stage, room, &held));
    for (int64_t i = 0; i < room; i++) held[i] = (uint64_t)i;
    artel_status status = ARTEL_OK;
    for (int64_t i = 0, next = room; i < count && status == ARTEL_OK; i++) {
        uint32_t words[4];
        status = artel__data_go_on(stage->ctx, stage->where);
        artel__stage_draw(stage, o->seed, i, 0, words);
        uint64_t place = (((uint64_t)words[0]) * (uint64_t)room) >> 32;
        out[i] = held[place];
        held[place] = next < count ? (uint64_t)next++ : held[--room];
    }
    artel__free(stage->ctx, held);
    return status;
}

static artel_status shuffle_open(artel__stage *stage)
{
    const shuffle_options *o = stage->options;
    if (stage->count < 0 || stage->count > (int64_t)1 << 61)
        return artel__stage_wrong(stage, "shuffle before repeat", "what has no end cannot be shuffled as a whole");
    if (o->buffer > UINT32_MAX) return artel__stage_wrong(stage, "leave buffer out", "the buffer is too large");
    if (o->again && o->buffer > 0)
        return artel__stage_wrong(stage, "leave buffer out: an order of everything is computed and takes no memory",
                                  "the order of a buffer is drawn once");
    for (int i = 0; i < stage->column_count && o->again; i++) stage->columns[i].draws = true;
    return o->buffer > 0 ? draw_buffered(stage) : ARTEL_OK;
}

const artel__stage_ops artel__stage_shuffle = {.name = "shuffle",
                                               .options = shuffle_table,
                                               .options_size = sizeof(shuffle_options),
                                               .open = shuffle_open,
                                               .locate = shuffle_locate,
                                               .close = listed_close};

/* ---- filter ---- */

typedef struct filter_options {
    const char *column, *value;
    int is;
} filter_options;

enum comparison {
    IS,
    IS_NOT,
    BELOW,
    AT_MOST,
    ABOVE,
    AT_LEAST,
    AMONG,
    FINITE
};
static const char *const comparisons[] = {"==", "!=", "<", "<=", ">", ">=", "in", "finite", NULL};

static const artel__option filter_table[] = {
    ARTEL__STAGE_COLUMN("whose value decides"),
    {"is", "the comparison", ARTEL__OPTION_ENUM, offsetof(filter_options, is), "==", 0, 0, comparisons},
    {"value", "a number or string, or a list of them for in", ARTEL__OPTION_JSON, offsetof(filter_options, value),
     "null", 0, 0, NULL},
    {.name = NULL},
};

/* What values are compared with. */
typedef struct standard {
    int is;
    artel__stage_keys with;
    artel__vocabulary words; /* instead, of text */
} standard;

static bool compares(const standard *s, const artel__stage_value *value)
{
    double order = s->with.count > 0 ? artel__stage_compare(&s->with, 0, value) : NAN;
    switch (s->is) {
    case IS: return order == 0;
    case IS_NOT: return order != 0;
    case BELOW: return order < 0;
    case AT_MOST: return order <= 0;
    case ABOVE: return order > 0;
    case AT_LEAST: return order >= 0;
    case FINITE: return value->number - value->number == 0;
    default: break;
    }
    for (size_t i = 0; i < s->with.count; i++) {
        if (artel__stage_compare(&s->with, i, value) == 0) return true;
    }
    return false;
}

static bool words_pass(const standard *s, const artel__string *texts, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if ((artel__vocabulary_find(&s->words, texts[i].bytes, texts[i].length) >= 0) == (s->is == IS_NOT))
            return false;
    return true;
}

/* Whether all values of an element pass. */
static bool passes(const artel__stage_column *column, const void *bytes, const standard *s)
{
    size_t size = artel_dtype_size(column->dtype);
    if (column->dtype == ARTEL_DTYPE_STRING) return words_pass(s, bytes, column->elements);
    for (int64_t i = 0; i < column->elements; i++) {
        artel__stage_value value = artel__stage_read_value(&s->with, (const uint8_t *)bytes + (size_t)i * size);
        if (!compares(s, &value)) return false;
    }
    return true;
}

/* Asks for every element once, and keeps the numbers of those that pass. */
static artel_status keep_passing(artel__stage *stage, int column, const standard *s)
{
    const artel__stage *input = stage->inputs[0];
    artel__stage_scratch scratch;
    uint64_t *kept;
    ARTEL_TRY(artel__stage_order(stage, input->count, &kept));
    stage->state = kept;
    stage->count = 0;
    ARTEL_TRY(artel__stage_scratch_init(stage->ctx, input->columns[column].bytes, &scratch));
    artel_status status = ARTEL_OK;
    for (int64_t i = 0; i < input->count && status == ARTEL_OK; i++) {
        status = artel__data_go_on(stage->ctx, stage->where);
        if (status == ARTEL_OK) status = artel__stage_at(input, column, i, scratch.bytes);
        if (status == ARTEL_OK && passes(&input->columns[column], scratch.bytes, s)) kept[stage->count++] = (uint64_t)i;
    }
    artel__stage_scratch_fini(stage->ctx, &scratch);
    return status;
}

/* Texts are the same or others, and nothing else. */
static artel_status read_words(const artel__stage *stage, json_t *value, standard *out)
{
    if ((out->is != IS && out->is != IS_NOT && out->is != AMONG) || json_is_array(value) != (out->is == AMONG))
        return artel__stage_wrong(
            stage, "write \"value\": \"cat\" with == or !=, or a list of strings with \"is\": \"in\"",
            "column '%s' holds text, which is compared by ==, != and in", stage->columns[stage->target].name);
    return artel__stage_words(stage, value, &out->words);
}

static artel_status read_numbers(const artel__stage *stage, json_t *value, standard *out)
{
    artel_status status = ARTEL_ERROR_INVALID;
    if (json_is_array(value) ? out->is == AMONG : value != NULL)
        status = artel__stage_numbers(stage, value, &out->with);
    if (status != ARTEL_ERROR_INVALID) return status;
    if (out->is == FINITE && !json_is_array(value)) return ARTEL_OK; /* compared with nothing */
    return artel__stage_wrong(stage, "write \"value\": 5, or a list with \"is\": \"in\"",
                              "the value is no number to compare with");
}

static artel_status filter_open(artel__stage *stage)
{
    const filter_options *o = stage->options;
    standard s = {.is = o->is, .with = {.dtype = stage->columns[stage->target].dtype}};
    json_t *value = NULL;
    bool text = stage->columns[stage->target].dtype == ARTEL_DTYPE_STRING;
    if (stage->count < 0)
        return artel__stage_wrong(stage, "filter before repeat", "what has no end cannot be filtered as a whole");
    if (o->value != NULL) ARTEL_TRY(artel__json_load(stage->ctx, stage->where, o->value, strlen(o->value), &value));
    artel_status status = text ? read_words(stage, value, &s) : read_numbers(stage, value, &s);
    json_decref(value);
    if (status < 0) return status;
    artel__stage_freeze(stage, stage->target); /* or what passed here would not pass later */
    return keep_passing(stage, stage->target, &s);
}

const artel__stage_ops artel__stage_filter = {.name = "filter",
                                              .options = filter_table,
                                              .options_size = sizeof(filter_options),
                                              .texts = true,
                                              .open = filter_open,
                                              .locate = listed_locate,
                                              .close = listed_close};
