/* SPDX-License-Identifier: Apache-2.0 */
/* What goes with batch (stage_window.c): unbatch: rows taken apart along their first axis. pad: rows filled at the end
 * of each axis, up to extents that are declared.
 *
 * Both are tf.data's (unbatch, padded_batch) for rows of one shape: every row has the same extents, so how many
 * elements come of one is known, any of them may be asked for by number, and a batch's longest row is as long as all
 * others.
 */
#include <string.h>

#include "data/stage.h"

/* ---- unbatch ---- */

static const artel__option unbatch_table[] = {
    {.name = NULL},
};

/* stage->state: the extent of the first axis, which all columns share. */
static int64_t parts_of(const artel__stage *stage)
{
    return *(const int64_t *)stage->state;
}

static artel_status drop_axis(artel__stage *stage, int column)
{
    const artel__stage_column *c = &stage->columns[column];
    const artel__stage_column *first = &stage->inputs[0]->columns[0];
    artel_shape row = {c->row.rank - 1, {0}};
    if (c->row.rank == 0)
        return artel__stage_wrong(stage, "select others, or reshape it", "column '%s' holds single values", c->name);
    if (c->row.dim[0] != first->row.dim[0])
        return artel__stage_wrong(stage, "select columns of one length", "rows of '%s' have %lld parts, of '%s' %lld",
                                  first->name, (long long)first->row.dim[0], c->name, (long long)c->row.dim[0]);
    memcpy(row.dim, c->row.dim + 1, (size_t)row.rank * sizeof(int64_t));
    return artel__stage_set_column(stage, column, c->dtype, &row);
}

static artel_status unbatch_open(artel__stage *stage)
{
    int64_t *parts = artel__arena_alloc(stage->arena, 1, sizeof *parts);
    if (parts == NULL) return ARTEL_ERROR_NO_MEMORY;
    for (int c = 0; c < stage->column_count; c++) ARTEL_TRY(drop_axis(stage, c));
    *parts = stage->inputs[0]->columns[0].row.dim[0];
    stage->state = parts;
    int64_t span = artel__stage_span(stage);
    if (*parts == 0 || span <= INT64_MAX / *parts) return artel__stage_set_span(stage, span * *parts);
    if (stage->count >= 0) return artel__stage_wrong(stage, "take fewer elements", "the count overflows");
    return artel__stage_set_span(stage, INT64_MAX);
}

/* Bytes of a whole row, so that another one may lie behind it. */
static size_t whole_bytes(const artel__stage *stage, int column)
{
    return (stage->inputs[0]->columns[column].bytes + 15) / 16 * 16;
}

static artel_status unbatch_at_some(const artel__stage *stage, const artel__stage_want *wants, int count, int64_t index)
{
    int64_t parts = parts_of(stage);
    artel__stage_want whole[ARTEL__STAGE_TOGETHER];
    artel__stage_scratch scratch;
    size_t all = 0;
    for (int i = 0; i < count; i++) all += whole_bytes(stage, wants[i].column);
    ARTEL_TRY(artel__stage_scratch_init(stage->ctx, all, &scratch));
    uint8_t *at = scratch.bytes;
    for (int i = 0; i < count; at += whole_bytes(stage, wants[i++].column))
        whole[i] = (artel__stage_want){wants[i].column, at};
    artel_status status = artel__stage_at_some(stage->inputs[0], whole, count, index / parts);
    for (int i = 0; i < count && status == ARTEL_OK; i++) {
        size_t bytes = stage->columns[wants[i].column].bytes;
        if (bytes > 0) memcpy(wants[i].out, (const uint8_t *)whole[i].out + (size_t)(index % parts) * bytes, bytes);
    }
    artel__stage_scratch_fini(stage->ctx, &scratch);
    return status;
}

static artel_status unbatch_hash(const artel__stage *stage, int column, int64_t index, uint64_t *out)
{
    uint64_t sum = (uint64_t)(index % parts_of(stage));
    ARTEL_TRY(artel__stage_hash_add(stage->inputs[0], column, index / parts_of(stage), &sum));
    *out = sum;
    return ARTEL_OK;
}

const artel__stage_ops artel__stage_unbatch = {.name = "unbatch",
                                               .options = unbatch_table,
                                               .options_size = 1,
                                               .open = unbatch_open,
                                               .at = artel__stage_at_one,
                                               .at_some = unbatch_at_some,
                                               .hash = unbatch_hash};

/* ---- pad ---- */

typedef struct pad_options {
    const char *column;
    artel__ints shape;
    double value;
} pad_options;

static const artel__option pad_table[] = {
    ARTEL__STAGE_COLUMN("the column"),
    {"shape", "extents that rows are filled up to; -1 for one that stays", ARTEL__OPTION_INTS,
     offsetof(pad_options, shape), NULL, 0, 0, NULL},
    {"value", "what they are filled with", ARTEL__OPTION_FLOAT, offsetof(pad_options, value), "0", 0, 0, NULL},
    {.name = NULL},
};

artel_status artel__stage_filling(const artel__stage *stage, artel_dtype dtype, double value, void *out)
{
    if (dtype == ARTEL_DTYPE_FLOAT32 || dtype == ARTEL_DTYPE_FLOAT64 || dtype == ARTEL_DTYPE_FLOAT16 ||
        dtype == ARTEL_DTYPE_BFLOAT16) {
        artel__convert(ARTEL_DTYPE_FLOAT64, &value, dtype, out, 1);
        return ARTEL_OK;
    }
    double back = 0;
    if (dtype == ARTEL_DTYPE_STRING) {
        static const artel__string empty = {"", 0};
        if (value != 0)
            return artel__stage_wrong(stage, "leave it out, or give 0", "text is filled with empty strings");
        memcpy(out, &empty, sizeof empty);
        return ARTEL_OK;
    }
    int64_t whole = value > -9e15 && value < 9e15 ? (int64_t)value : 0;
    artel__convert(ARTEL_DTYPE_INT64, &whole, dtype, out, 1);
    artel__convert(dtype, out, ARTEL_DTYPE_FLOAT64, &back, 1);
    if (back == value) return ARTEL_OK;
    return artel__stage_wrong(stage, "choose another value, or cast first", "%s holds no %g", artel_dtype_name(dtype),
                              value);
}

static artel_status pad_open(artel__stage *stage)
{
    const pad_options *o = stage->options;
    const artel__stage_column *c = artel__stage_made(stage);
    artel_shape row = c->row;
    uint64_t *value = artel__arena_alloc(stage->arena, 2, sizeof *value);
    if (value == NULL) return ARTEL_ERROR_NO_MEMORY;
    stage->state = value;
    if (o->shape.count != row.rank)
        return artel__stage_wrong(stage, "give an extent for each axis", "rows have %d axes, the shape %d", row.rank,
                                  o->shape.count);
    for (int i = 0; i < row.rank; i++) {
        int64_t extent = o->shape.item[i];
        if (extent == -1) continue;
        if (extent < row.dim[i])
            return artel__stage_wrong(stage, "give the longest rows' extents; crop or reshape to shorten",
                                      "rows have %lld in axis %d, the shape %lld", (long long)row.dim[i], i,
                                      (long long)extent);
        row.dim[i] = extent;
    }
    ARTEL_TRY(artel__stage_filling(stage, c->dtype, o->value, value));
    return artel__stage_set_column(stage, stage->target, c->dtype, &row);
}

/* What lies along the last axis goes over in one piece; the place of the next one is counted up axis by axis. */
static artel_status pad_map(const artel__stage *stage, int64_t index, const void *in, void *out)
{
    const artel__stage_column *to = artel__stage_made(stage);
    const artel_shape *from = &artel__stage_given(stage)->row;
    int last = to->row.rank - 1;
    size_t size = artel__cell_size(to->dtype), run = (last >= 0 ? (size_t)from->dim[last] : 1) * size;
    int64_t place[ARTEL_MAX_RANK] = {0}, left = artel_shape_count(from);
    (void)index;
    for (int64_t i = 0; i < to->elements; i++) memcpy((uint8_t *)out + (size_t)i * size, stage->state, size);
    for (const uint8_t *next = in; left > 0; next += run, left -= (int64_t)(run / size)) {
        int64_t at = 0;
        for (int i = 0; i <= last; i++) at = at * to->row.dim[i] + place[i];
        memcpy((uint8_t *)out + (size_t)at * size, next, run);
        for (int i = last - 1; i >= 0 && ++place[i] == from->dim[i]; i--) place[i] = 0;
    }
    return ARTEL_OK;
}

const artel__stage_ops artel__stage_pad = {.name = "pad",
                                           .options = pad_table,
                                           .options_size = sizeof(pad_options),
                                           .texts = true,
                                           .open = pad_open,
                                           .map = pad_map};
