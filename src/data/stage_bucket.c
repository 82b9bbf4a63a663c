/* SPDX-License-Identifier: Apache-2.0 */
/* bucket_by_sequence_length: the last stage of a pipeline, which says that batches are made of rows of like length, as
 * tf.data's stage of this name with pad_to_bucket_boundary=True.
 *
 * It changes no element. Every length is found once, when the pipeline is opened, and takes a byte: the number of the
 * element's bucket, the first whose boundary is above the length. Who makes batches (train/batches.h) cuts the rows of
 * a bucket to its boundary less 1, so the shapes of batches are as many as the boundaries.
 */
#include <string.h>

#include "data/stage.h"

enum {
    MOST_BUCKETS = 64 /* each has graphs and plans of its own */
};

typedef struct bucket_options {
    const char *column, *boundaries, *batch_sizes, *columns, *length;
    double padding;
} bucket_options;

static const artel__option table[] = {
    ARTEL__STAGE_COLUMN("whose rows are sequences, along their first axis"),
    {"bucket_boundaries", "upper limits of the lengths, exclusive, growing: [9, 17, 33]", ARTEL__OPTION_JSON,
     offsetof(bucket_options, boundaries), NULL, 0, 0, NULL},
    {"bucket_batch_sizes", "rows of a batch, for each boundary; left out: those of the run", ARTEL__OPTION_JSON,
     offsetof(bucket_options, batch_sizes), "null", 0, 0, NULL},
    {"columns", "those that are cut; left out: the column", ARTEL__OPTION_JSON, offsetof(bucket_options, columns),
     "null", 0, 0, NULL},
    {"length", "a column that holds the length; left out: up to the last value that is no padding",
     ARTEL__OPTION_STRING, offsetof(bucket_options, length), "", 0, 0, NULL},
    {"padding", "the value behind the end of a sequence", ARTEL__OPTION_FLOAT, offsetof(bucket_options, padding), "0",
     0, 0, NULL},
    {.name = NULL},
};

typedef struct bucket_state {
    artel__data_buckets buckets;
    int64_t *length, *batch_size;
    void *of;
} bucket_state;

/* ---- settings ---- */

static artel_status wrong_list(const artel__stage *stage, const char *name)
{
    return artel__stage_wrong(stage, "for example \"bucket_boundaries\": [9, 17, 33]",
                              "%s is no list of 1 to %d whole numbers from 1 on", name, MOST_BUCKETS);
}

static artel_status take_numbers(const artel__stage *stage, const char *name, const json_t *list, int64_t *out,
                                 int *count)
{
    size_t i, most = json_array_size(list);
    const json_t *item;
    if (!json_is_array(list) || most < 1 || most > MOST_BUCKETS + 1) return wrong_list(stage, name);
    json_array_foreach(list, i, item)
    {
        if (!json_is_integer(item) || json_integer_value(item) < 1 || json_integer_value(item) > INT32_MAX)
            return wrong_list(stage, name);
        out[i] = json_integer_value(item);
    }
    *count = (int)most;
    return ARTEL_OK;
}

/* A list of whole numbers, into the stage's arena. */
static artel_status read_numbers(const artel__stage *stage, const char *name, const char *text, int64_t **out,
                                 int *count)
{
    json_t *list;
    *out = artel__arena_alloc(stage->arena, MOST_BUCKETS + 1, sizeof **out);
    if (*out == NULL) return ARTEL_ERROR_NO_MEMORY;
    ARTEL_TRY(artel__json_load(stage->ctx, stage->where, text, strlen(text), &list));
    artel_status status = take_numbers(stage, name, list, *out, count);
    json_decref(list);
    return status;
}

static artel_status read_boundaries(artel__stage *stage, bucket_state *state)
{
    const bucket_options *o = stage->options;
    artel__data_buckets *b = &state->buckets;
    ARTEL_TRY(read_numbers(stage, "bucket_boundaries", o->boundaries, &state->length, &b->count));
    if (b->count > MOST_BUCKETS) return wrong_list(stage, "bucket_boundaries");
    for (int k = 0; k < b->count; k++) {
        if (--state->length[k] < 1)
            return artel__stage_wrong(stage, "a boundary is above the lengths of its bucket: from 2 on",
                                      "no sequence is shorter than the boundary 1");
        if (k > 0 && state->length[k] <= state->length[k - 1])
            return artel__stage_wrong(stage, "sort them, and name each once", "the boundaries do not grow at %lld",
                                      (long long)state->length[k] + 1);
    }
    b->length = state->length;
    return ARTEL_OK;
}

/* tf.data wants one more size than boundaries: of what is longer than all of them, which here is an error, as there. */
static artel_status read_batch_sizes(const artel__stage *stage, bucket_state *state)
{
    const bucket_options *o = stage->options;
    int count;
    if (o->batch_sizes == NULL) return ARTEL_OK;
    ARTEL_TRY(read_numbers(stage, "bucket_batch_sizes", o->batch_sizes, &state->batch_size, &count));
    state->buckets.batch_size = state->batch_size;
    if (count == state->buckets.count || count == state->buckets.count + 1) return ARTEL_OK;
    return artel__stage_wrong(stage, "give a size for each boundary", "%d batch sizes for %d boundaries", count,
                              state->buckets.count);
}

/* Rows of every column that is cut reach as far as the last bucket. */
static artel_status check_extent(const artel__stage *stage, const bucket_state *state, int column)
{
    const artel__stage_column *c = &stage->columns[column];
    int64_t longest = state->length[state->buckets.count - 1];
    if (c->row.rank < 1)
        return artel__stage_wrong(stage, "name a column of sequences", "column '%s' holds single values", c->name);
    if (c->row.dim[0] >= longest) return ARTEL_OK;
    return artel__stage_wrong(stage, "let the last boundary be one more than the longest row, or pad rows to it",
                              "rows of '%s' have %lld positions, and the last bucket %lld", c->name,
                              (long long)c->row.dim[0], (long long)longest);
}

static artel_status choose_columns(const artel__stage *stage, bucket_state *state)
{
    const bucket_options *o = stage->options;
    int *chosen = artel__arena_alloc(stage->arena, (size_t)stage->column_count + 1, sizeof *chosen), count = 1;
    bool *cut = artel__arena_alloc(stage->arena, (size_t)stage->column_count + 1, sizeof *cut);
    if (chosen == NULL || cut == NULL) return ARTEL_ERROR_NO_MEMORY;
    chosen[0] = stage->target;
    if (o->columns != NULL) ARTEL_TRY(artel__stage_find_list(stage, o->columns, chosen, &count));
    for (int i = 0; i < count; i++) cut[chosen[i]] = true;
    state->buckets.cut = cut;
    for (int i = 0; i < stage->column_count; i++)
        if (cut[i]) ARTEL_TRY(check_extent(stage, state, i));
    return check_extent(stage, state, stage->target);
}

/* ---- lengths ---- */

/* How lengths are found: counted in the sequence, or read from a column that holds them. */
typedef struct measure {
    int column;
    bool counts;
    uint64_t padding[2]; /* a value of the column */
} measure;

static artel_status choose_measure(artel__stage *stage, measure *m)
{
    const bucket_options *o = stage->options;
    *m = (measure){.column = stage->target, .counts = !o->length || !*o->length};
    if (m->counts && stage->columns[stage->target].dtype == ARTEL_DTYPE_STRING)
        return artel__stage_wrong(stage, "name the column that holds the length: \"length\": \"words\"",
                                  "column '%s' holds text, of which no value is padding",
                                  stage->columns[stage->target].name);
    if (m->counts) return artel__stage_filling(stage, artel__stage_made(stage)->dtype, o->padding, m->padding);
    ARTEL_TRY(artel__stage_find(stage, o->length, &m->column));
    const artel__stage_column *c = &stage->columns[m->column];
    if (c->elements == 1 && c->dtype != ARTEL_DTYPE_STRING && !artel__is_floating(c->dtype)) return ARTEL_OK;
    return artel__stage_wrong(stage, "name a column of whole numbers", "column '%s' does not hold one length", c->name);
}

static int64_t length_of(const measure *m, const artel__stage_column *c, const uint8_t *bytes)
{
    size_t size = artel_dtype_size(c->dtype);
    int64_t length = 0, position = c->row.dim[0] > 0 ? c->elements / c->row.dim[0] : 0, values = c->elements;
    if (!m->counts) artel__convert(c->dtype, bytes, ARTEL_DTYPE_INT64, &length, 1);
    if (!m->counts || position == 0) return length;
    while (values > 0 && memcmp(bytes + (size_t)(values - 1) * size, m->padding, size) == 0) values--;
    return (values + position - 1) / position;
}

static artel_status put_element(const artel__stage *stage, bucket_state *state, int64_t index, int64_t length)
{
    int k = 0;
    while (k < state->buckets.count && length > state->length[k]) k++;
    if (length < 0 || k == state->buckets.count)
        return artel__stage_wrong(stage, "add a boundary above it, or filter it out",
                                  "element %lld has the length %lld, and the last boundary is %lld", (long long)index,
                                  (long long)length, (long long)state->length[state->buckets.count - 1] + 1);
    ((uint8_t *)state->of)[index] = (uint8_t)k;
    return ARTEL_OK;
}

static artel_status measure_all(const artel__stage *stage, bucket_state *state, const measure *m)
{
    const artel__stage *input = stage->inputs[0];
    const artel__stage_column *column = &input->columns[m->column];
    artel__stage_scratch scratch;
    artel_status status = ARTEL_OK;
    ARTEL_TRY(artel__stage_scratch_init(stage->ctx, column->bytes, &scratch));
    for (int64_t i = 0; i < input->count && status == ARTEL_OK; i++) {
        status = artel__data_go_on(stage->ctx, stage->where);
        if (status == ARTEL_OK) status = artel__stage_at(input, m->column, i, scratch.bytes);
        if (status == ARTEL_OK) status = put_element(stage, state, i, length_of(m, column, scratch.bytes));
    }
    artel__stage_scratch_fini(stage->ctx, &scratch);
    return status;
}

/* ---- the stage ---- */

static artel_status bucket_open(artel__stage *stage)
{
    measure m;
    bucket_state *state = artel__arena_alloc(stage->arena, 1, sizeof *state);
    if (state == NULL) return ARTEL_ERROR_NO_MEMORY;
    stage->state = state;
    if (stage->count < 0)
        return artel__stage_wrong(stage, "take some of it before", "what has no end has no lengths as a whole");
    ARTEL_TRY(read_boundaries(stage, state));
    ARTEL_TRY(read_batch_sizes(stage, state));
    ARTEL_TRY(choose_columns(stage, state));
    ARTEL_TRY(choose_measure(stage, &m));
    artel__stage_freeze(stage, m.column); /* or an element's bucket would be that of another length later */
    ARTEL_TRY(artel__calloc(stage->ctx, (size_t)stage->count + 1, 1, stage->where, &state->of));
    state->buckets.of = state->of;
    return measure_all(stage, state, &m);
}

static artel_status bucket_locate(const artel__stage *stage, int64_t index, int *input, int64_t *at)
{
    (void)stage;
    *input = 0;
    *at = index;
    return ARTEL_OK;
}

static void bucket_close(artel__stage *stage)
{
    artel__free(stage->ctx, ((bucket_state *)stage->state)->of);
}

const artel__data_buckets *artel__stage_buckets(const artel__stage *stage)
{
    return stage->ops == &artel__stage_bucket ? &((const bucket_state *)stage->state)->buckets : NULL;
}

const artel__stage_ops artel__stage_bucket = {.name = "bucket_by_sequence_length",
                                              .options = table,
                                              .options_size = sizeof(bucket_options),
                                              .open = bucket_open,
                                              .locate = bucket_locate,
                                              .close = bucket_close};
