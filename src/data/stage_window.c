/* SPDX-License-Identifier: Apache-2.0 */
/* window: rows that follow one another as one row, for time series; as keras.utils.timeseries_dataset_from_array makes
 * them. batch: windows of all columns, side by side; as tf.data's with drop_remainder, since rows have one shape, or
 * with a last one that is filled.
 *
 * Window i holds elements i * shift, i * shift + stride, ... (`size` of them). Columns that are not listed are taken
 * from the element `offset` behind the window's last one: a target to be predicted.
 */
#include <string.h>

#include "data/stage.h"

typedef struct window_options {
    int64_t size, shift, stride, offset;
    const char *columns;
    bool drop_remainder; /* of batch, with what the last one is filled with */
    const char *fill;
} window_options;

typedef struct window_state {
    bool *windowed;      /* by column */
    int64_t span;        /* from the first to the last element */
    int64_t rest;        /* elements of the last one, where that is filled; else 0 */
    uint64_t (*fill)[2]; /* by column: the value */
} window_state;

static const artel__option table[] = {
    {"size", "elements of a window", ARTEL__OPTION_INT, offsetof(window_options, size), NULL, 1, 1e9, NULL},
    {"shift", "elements from one window to the next; 0: size", ARTEL__OPTION_INT, offsetof(window_options, shift), "0",
     0, 1e15, NULL},
    {"stride", "elements from one of a window to its next", ARTEL__OPTION_INT, offsetof(window_options, stride), "1", 1,
     1e9, NULL},
    {"offset", "of the other columns, behind the window's last element", ARTEL__OPTION_INT,
     offsetof(window_options, offset), "0", 0, 1e15, NULL},
    {"columns", "those that are windowed; left out: all", ARTEL__OPTION_JSON, offsetof(window_options, columns), "null",
     0, 0, NULL},
    {.name = NULL},
};

static artel_status choose_columns(artel__stage *stage, window_state *state)
{
    const window_options *o = stage->options;
    int *chosen = artel__arena_alloc(stage->arena, (size_t)stage->column_count + 1, sizeof *chosen), count = 0;
    if (chosen == NULL) return ARTEL_ERROR_NO_MEMORY;
    for (int c = 0; c < stage->column_count; c++) state->windowed[c] = o->columns == NULL;
    if (o->columns == NULL) return ARTEL_OK;
    ARTEL_TRY(artel__stage_find_list(stage, o->columns, chosen, &count));
    for (int i = 0; i < count; i++) state->windowed[chosen[i]] = true;
    return ARTEL_OK;
}

static artel_status window_open(artel__stage *stage)
{
    window_options *o = stage->options;
    window_state *state = artel__arena_alloc(stage->arena, 1, sizeof *state);
    if (state == NULL) return ARTEL_ERROR_NO_MEMORY;
    state->windowed = artel__arena_alloc(stage->arena, (size_t)stage->column_count + 1, sizeof *state->windowed);
    if (state->windowed == NULL) return ARTEL_ERROR_NO_MEMORY;
    ARTEL_TRY(choose_columns(stage, state));
    if (o->shift == 0) o->shift = o->size;
    state->span = (o->size - 1) * o->stride;
    stage->state = state;
    int64_t reach = state->span;
    for (int c = 0; c < stage->column_count; c++) {
        artel_shape row = {stage->columns[c].row.rank + 1, {o->size}};
        if (!state->windowed[c]) reach = state->span + o->offset;
        if (!state->windowed[c]) continue;
        if (row.rank > ARTEL_MAX_RANK)
            return artel__stage_wrong(stage, "reshape first", "column '%s' has too many axes", stage->columns[c].name);
        memcpy(row.dim + 1, stage->columns[c].row.dim, (size_t)(row.rank - 1) * sizeof(int64_t));
        ARTEL_TRY(artel__stage_set_column(stage, c, stage->columns[c].dtype, &row));
    }
    int64_t span = artel__stage_span(stage);
    return artel__stage_set_span(stage, span > reach ? (span - reach - 1) / o->shift + 1 : 0);
}

/* Those of `wants` that are windowed, for the `place`-th element of the window, or the others; how many. */
static int choose_wants(const artel__stage *stage, const artel__stage_want *wants, int count, bool windowed,
                        int64_t place, artel__stage_want *out)
{
    const window_state *state = stage->state;
    int some = 0;
    for (int i = 0; i < count; i++) {
        int column = wants[i].column;
        if (state->windowed[column] != windowed) continue;
        size_t at = (size_t)place * stage->inputs[0]->columns[column].bytes;
        out[some++] = (artel__stage_want){column, (uint8_t *)wants[i].out + at};
    }
    return some;
}

/* The last batch behind its elements. */
static void fill_rest(const artel__stage *stage, const artel__stage_want *wants, int count)
{
    const window_options *o = stage->options;
    const window_state *state = stage->state;
    for (int i = 0; i < count; i++) {
        const artel__stage_column *one = &stage->inputs[0]->columns[wants[i].column];
        size_t size = artel__cell_size(one->dtype);
        uint8_t *at = (uint8_t *)wants[i].out + (size_t)state->rest * one->bytes;
        for (int64_t left = (o->size - state->rest) * one->elements; left > 0; left--, at += size)
            memcpy(at, state->fill[wants[i].column], size);
    }
}

/* Element by element, each of which is asked for once; that of the other columns may be the window's last. */
static artel_status window_at_some(const artel__stage *stage, const artel__stage_want *wants, int count, int64_t index)
{
    const window_options *o = stage->options;
    const window_state *state = stage->state;
    const artel__stage *input = stage->inputs[0];
    artel__stage_want below[ARTEL__STAGE_TOGETHER];
    int64_t first = index * o->shift;
    int others = choose_wants(stage, wants, count, false, 0, below);
    bool together = o->offset == 0 && others < count;
    if (others > 0 && !together) ARTEL_TRY(artel__stage_at_some(input, below, others, first + state->span + o->offset));
    int64_t size = state->rest > 0 && index == stage->count - 1 ? state->rest : o->size;
    for (int64_t i = 0; i < size && others < count; i++) {
        int some = choose_wants(stage, wants, count, true, i, below);
        if (together && i == size - 1) some += choose_wants(stage, wants, count, false, 0, below + some);
        ARTEL_TRY(artel__stage_at_some(input, below, some, first + i * o->stride));
    }
    if (size < o->size) fill_rest(stage, wants, count);
    return ARTEL_OK;
}

static artel_status window_hash(const artel__stage *stage, int column, int64_t index, uint64_t *out)
{
    const window_options *o = stage->options;
    const window_state *state = stage->state;
    uint64_t sum = 0;
    if (!state->windowed[column])
        return artel__stage_hash(stage->inputs[0], column, index * o->shift + state->span + o->offset, out);
    int64_t size = state->rest > 0 && index == stage->count - 1 ? state->rest : o->size;
    for (int64_t i = 0; i < size; i++)
        ARTEL_TRY(artel__stage_hash_add(stage->inputs[0], column, index * o->shift + i * o->stride, &sum));
    *out = sum;
    return ARTEL_OK;
}

const artel__stage_ops artel__stage_window = {.name = "window",
                                              .options = table,
                                              .options_size = sizeof(window_options),
                                              .open = window_open,
                                              .at = artel__stage_at_one,
                                              .at_some = window_at_some,
                                              .hash = window_hash};

/* ---- batch ---- */

static const artel__option batch_table[] = {
    {"size", "elements of a batch; fewer at the end are left out", ARTEL__OPTION_INT, offsetof(window_options, size),
     NULL, 1, 1e9, NULL},
    {"drop_remainder", "false: an error where some are left, unless there is fill", ARTEL__OPTION_BOOL,
     offsetof(window_options, drop_remainder), "true", 0, 0, NULL},
    {"fill", "what a last batch with fewer is filled with: a number, or one by column", ARTEL__OPTION_JSON,
     offsetof(window_options, fill), "null", 0, 0, NULL},
    {.name = NULL},
};

static artel_status not_filling(const artel__stage *stage)
{
    return artel__stage_wrong(stage, "write \"fill\": 0, or {\"x\": 0, \"y\": -1}", "fill holds what is no number");
}

/* One number for all columns, or an object with those of some; others are filled with 0. */
static artel_status read_filling(artel__stage *stage, const json_t *value)
{
    window_state *state = stage->state;
    const artel__stage *input = stage->inputs[0];
    double number = 0;
    const char *name;
    json_t *member;
    if (!json_is_object(value) && !artel__json_number(value, &number)) return not_filling(stage);
    for (int c = 0; c < input->column_count; c++)
        ARTEL_TRY(artel__stage_filling(stage, input->columns[c].dtype, number, state->fill[c]));
    if (!json_is_object(value)) return ARTEL_OK;
    json_object_foreach((json_t *)(uintptr_t)value, name, member)
    {
        int column;
        ARTEL_TRY(artel__stage_find(stage, name, &column));
        if (!artel__json_number(member, &number)) return not_filling(stage);
        ARTEL_TRY(artel__stage_filling(stage, input->columns[column].dtype, number, state->fill[column]));
    }
    return ARTEL_OK;
}

/* A last batch that is filled. */
static artel_status open_rest(artel__stage *stage, int64_t rest)
{
    const window_options *o = stage->options;
    window_state *state = stage->state;
    json_t *value;
    state->fill = artel__arena_alloc(stage->arena, (size_t)stage->column_count + 1, sizeof *state->fill);
    if (state->fill == NULL) return ARTEL_ERROR_NO_MEMORY;
    ARTEL_TRY(artel__json_load(stage->ctx, stage->where, o->fill, strlen(o->fill), &value));
    artel_status status = read_filling(stage, value);
    json_decref(value);
    state->rest = rest;
    return status < 0 || rest == 0 ? status : artel__stage_set_span(stage, stage->count + 1);
}

static artel_status batch_open(artel__stage *stage)
{
    window_options *o = stage->options;
    *o = (window_options){.size = o->size, .stride = 1, .drop_remainder = o->drop_remainder, .fill = o->fill};
    int64_t rest = stage->count >= 0 ? stage->count % o->size : 0;
    ARTEL_TRY(window_open(stage));
    if (o->fill != NULL) return open_rest(stage, rest);
    if (o->drop_remainder || rest == 0) return ARTEL_OK;
    return artel__stage_wrong(stage, "fill it (\"fill\": 0), or take a multiple of the size",
                              "the last batch would have %lld elements of %lld, and rows have one shape",
                              (long long)rest, (long long)o->size);
}

const artel__stage_ops artel__stage_batch = {.name = "batch",
                                             .options = batch_table,
                                             .options_size = sizeof(window_options),
                                             .open = batch_open,
                                             .at = artel__stage_at_one,
                                             .at_some = window_at_some,
                                             .hash = window_hash};
