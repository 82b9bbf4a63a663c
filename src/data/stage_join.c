/* SPDX-License-Identifier: Apache-2.0 */
/* Stages on several inputs: concatenate, zip, interleave, sample.
 *
 * interleave goes round a cycle of inputs and takes a block from each, as tf.data's does: an input that is exhausted
 * gives its place to the next one that has not begun. sample draws the input of each element by its weight, among those
 * that have some left. The order of both is drawn up once and takes eight bytes an element.
 */
#include <string.h>

#include "data/stage.h"

static const artel__option no_options[] = {{.name = NULL}};

/* All inputs must offer the same columns. */
static artel_status check_inputs(const artel__stage *stage)
{
    const artel__stage *first = stage->inputs[0];
    for (int k = 1; k < stage->input_count; k++) {
        const artel__stage *other = stage->inputs[k];
        bool same = other->column_count == first->column_count;
        for (int i = 0; same && i < first->column_count; i++) {
            const artel__stage_column *a = &first->columns[i], *b = &other->columns[i];
            same = strcmp(a->name, b->name) == 0 && a->dtype == b->dtype && artel__shape_equal(&a->row, &b->row);
        }
        if (!same)
            return artel__stage_wrong(stage, "cast, reshape and rename until they agree",
                                      "input %d has other columns than input 0", k);
    }
    return ARTEL_OK;
}

/* The elements of all inputs together. */
static artel_status add_counts(artel__stage *stage)
{
    ARTEL_TRY(check_inputs(stage));
    stage->count = 0;
    for (int k = 0; k < stage->input_count; k++) {
        int64_t count = stage->inputs[k]->count;
        if (count < 0 || count > INT64_MAX / 16 - stage->count)
            return artel__stage_wrong(stage, "take some of it", "input %d has no end", k);
        stage->count += count;
    }
    return ARTEL_OK;
}

/* ---- concatenate ---- */

static artel_status concatenate_locate(const artel__stage *stage, int64_t index, int *input, int64_t *at)
{
    *input = 0;
    while (*input + 1 < stage->input_count && index >= stage->inputs[*input]->count)
        index -= stage->inputs[(*input)++]->count;
    *at = index;
    return ARTEL_OK;
}

const artel__stage_ops artel__stage_concatenate = {.name = "concatenate",
                                                   .options = no_options,
                                                   .options_size = 1,
                                                   .joins = true,
                                                   .open = add_counts,
                                                   .locate = concatenate_locate};

/* ---- zip ---- */

static artel_status zip_open(artel__stage *stage)
{
    int columns = 0, at = 0;
    int64_t least = INT64_MAX;
    for (int k = 0; k < stage->input_count; k++) {
        int64_t count = stage->inputs[k]->count, span = artel__stage_span(stage->inputs[k]);
        if (stage->count < 0 || (count >= 0 && count < stage->count)) stage->count = count;
        if (span < least) least = span;
        columns += stage->inputs[k]->column_count;
    }
    ARTEL_TRY(artel__stage_set_span(stage, least));
    stage->columns = artel__arena_alloc(stage->arena, (size_t)columns, sizeof *stage->columns);
    if (stage->columns == NULL) return ARTEL_ERROR_NO_MEMORY;
    for (int k = 0; k < stage->input_count; k++) {
        for (int i = 0; i < stage->inputs[k]->column_count; i++) {
            const char *name = stage->inputs[k]->columns[i].name;
            for (int earlier = 0; earlier < at; earlier++) {
                if (strcmp(stage->columns[earlier].name, name) == 0)
                    return artel__stage_wrong(stage, "rename or select columns first", "two inputs have a column '%s'",
                                              name);
            }
            stage->columns[at++] = stage->inputs[k]->columns[i];
        }
    }
    stage->column_count = columns;
    return ARTEL_OK;
}

/* The input that a column comes from; *column becomes its number there. */
static const artel__stage *zip_input(const artel__stage *stage, int *column)
{
    int k = 0;
    while (*column >= stage->inputs[k]->column_count) *column -= stage->inputs[k++]->column_count;
    return stage->inputs[k];
}

static artel_status zip_at_some(const artel__stage *stage, const artel__stage_want *wants, int count, int64_t index)
{
    artel__stage_want below[ARTEL__STAGE_TOGETHER];
    int left = count;
    for (int k = 0, first = 0; left > 0; first += stage->inputs[k++]->column_count) {
        int some = 0, end = first + stage->inputs[k]->column_count;
        for (int i = 0; i < count; i++) {
            if (wants[i].column < first || wants[i].column >= end) continue;
            below[some++] = (artel__stage_want){wants[i].column - first, wants[i].out};
        }
        ARTEL_TRY(artel__stage_at_some(stage->inputs[k], below, some, index));
        left -= some;
    }
    return ARTEL_OK;
}

static artel_status zip_hash(const artel__stage *stage, int column, int64_t index, uint64_t *out)
{
    const artel__stage *input = zip_input(stage, &column);
    return artel__stage_hash(input, column, index, out);
}

const artel__stage_ops artel__stage_zip = {.name = "zip",
                                           .options = no_options,
                                           .options_size = 1,
                                           .joins = true,
                                           .open = zip_open,
                                           .at = artel__stage_at_one,
                                           .at_some = zip_at_some,
                                           .hash = zip_hash,
                                           .same_number = true};

/* ---- an order over several inputs: the input in the upper 16 bits, the element in the rest ---- */

#define INPUT_SHIFT 48

static artel_status drawn_up_locate(const artel__stage *stage, int64_t index, int *input, int64_t *at)
{
    uint64_t entry = ((const uint64_t *)stage->state)[index];
    *input = (int)(entry >> INPUT_SHIFT);
    *at = (int64_t)(entry & (((uint64_t)1 << INPUT_SHIFT) - 1));
    return ARTEL_OK;
}

static void drawn_up_close(artel__stage *stage)
{
    artel__free(stage->ctx, stage->state);
}

/* Room for the order, and for the number of the next element of each input. */
static artel_status begin_order(artel__stage *stage, uint64_t **order, int64_t **next)
{
    ARTEL_TRY(add_counts(stage));
    if (stage->input_count >= 1 << 16 || stage->count >= (int64_t)1 << INPUT_SHIFT)
        return artel__stage_wrong(stage, "take fewer", "too many inputs or elements");
    *next = artel__arena_alloc(stage->arena, (size_t)stage->input_count, sizeof **next);
    if (*next == NULL) return ARTEL_ERROR_NO_MEMORY;
    ARTEL_TRY(artel__stage_order(stage, stage->count, order));
    stage->state = *order;
    return ARTEL_OK;
}

static void add_entry(uint64_t *order, int64_t *at, int input, int64_t *next)
{
    order[(*at)++] = (uint64_t)input << INPUT_SHIFT | (uint64_t)next[input]++;
}

typedef struct interleave_options {
    int64_t cycle, block;
} interleave_options;

static const artel__option interleave_table[] = {
    {"cycle", "inputs that are gone round; 0: all", ARTEL__OPTION_INT, offsetof(interleave_options, cycle), "0", 0,
     65535, NULL},
    {"block", "elements taken from one at a time", ARTEL__OPTION_INT, offsetof(interleave_options, block), "1", 1, 1e15,
     NULL},
    {.name = NULL},
};

static artel_status interleave_open(artel__stage *stage)
{
    const interleave_options *o = stage->options;
    uint64_t *order;
    int64_t *next, at = 0;
    ARTEL_TRY(begin_order(stage, &order, &next));
    int cycle = o->cycle > 0 && o->cycle < stage->input_count ? (int)o->cycle : stage->input_count, begun = 0;
    int *slots = artel__arena_alloc(stage->arena, (size_t)cycle, sizeof *slots);
    if (slots == NULL) return ARTEL_ERROR_NO_MEMORY;
    for (int s = 0; s < cycle; s++) slots[s] = -1;
    for (int s = 0; at < stage->count; s = s + 1 < cycle ? s + 1 : 0) {
        ARTEL_TRY(artel__data_go_on(stage->ctx, stage->where));
        if (slots[s] < 0 && begun < stage->input_count) slots[s] = begun++;
        for (int64_t i = 0; slots[s] >= 0 && i < o->block; i++) {
            if (next[slots[s]] == stage->inputs[slots[s]]->count)
                slots[s] = -1;
            else
                add_entry(order, &at, slots[s], next);
        }
        if (slots[s] >= 0 || begun < stage->input_count) continue;
        memmove(slots + s, slots + s + 1, (size_t)(--cycle - s) * sizeof *slots); /* nobody takes its place */
        s--;
    }
    return ARTEL_OK;
}

const artel__stage_ops artel__stage_interleave = {.name = "interleave",
                                                  .options = interleave_table,
                                                  .options_size = sizeof(interleave_options),
                                                  .joins = true,
                                                  .open = interleave_open,
                                                  .locate = drawn_up_locate,
                                                  .close = drawn_up_close};

/* ---- sample ---- */

typedef struct sample_options {
    artel__floats weights;
    int64_t seed;
    bool stop;
} sample_options;

static const artel__option sample_table[] = {
    {"weights", "how often each input is drawn; left out: alike", ARTEL__OPTION_FLOATS,
     offsetof(sample_options, weights), "[]", 0, 0, NULL},
    {"seed", "of the draws", ARTEL__OPTION_INT, offsetof(sample_options, seed), "0", 0, 9e18, NULL},
    {"stop_on_empty", "end with the first input that is exhausted", ARTEL__OPTION_BOOL, offsetof(sample_options, stop),
     "false", 0, 0, NULL},
    {.name = NULL},
};

/* The input drawn among those with elements left, or -1 when none with a weight has any. */
static int draw_input(const artel__stage *stage, int64_t index, const int64_t *next)
{
    const sample_options *o = stage->options;
    uint32_t words[4];
    double total = 0, reached = 0;
    int last = -1;
    for (int k = 0; k < stage->input_count; k++) {
        if (next[k] < stage->inputs[k]->count || o->stop) total += o->weights.count > 0 ? o->weights.item[k] : 1;
    }
    artel__stage_draw(stage, o->seed, index, 0, words);
    double draw = (double)words[0] * 0x1p-32 * total;
    for (int k = 0; k < stage->input_count; k++) {
        double weight = o->weights.count > 0 ? o->weights.item[k] : 1;
        if ((next[k] == stage->inputs[k]->count && !o->stop) || weight == 0) continue;
        last = k;
        reached += weight;
        if (draw < reached) break;
    }
    return last;
}

static artel_status sample_open(artel__stage *stage)
{
    const sample_options *o = stage->options;
    uint64_t *order;
    int64_t *next, at = 0;
    if (o->weights.count != 0 && o->weights.count != stage->input_count)
        return artel__stage_wrong(stage, "give one weight for each input", "%d weights for %d inputs", o->weights.count,
                                  stage->input_count);
    for (int k = 0; k < o->weights.count; k++) {
        if (!(o->weights.item[k] >= 0 && o->weights.item[k] < 1e300))
            return artel__stage_wrong(stage, "give numbers of 0 or more", "weight %d is none", k);
    }
    ARTEL_TRY(begin_order(stage, &order, &next));
    for (;;) {
        ARTEL_TRY(artel__data_go_on(stage->ctx, stage->where));
        int k = at < stage->count ? draw_input(stage, at, next) : -1;
        if (k < 0 || next[k] == stage->inputs[k]->count) break;
        add_entry(order, &at, k, next);
    }
    stage->count = at;
    return ARTEL_OK;
}

const artel__stage_ops artel__stage_sample = {.name = "sample",
                                              .options = sample_table,
                                              .options_size = sizeof(sample_options),
                                              .joins = true,
                                              .open = sample_open,
                                              .locate = drawn_up_locate,
                                              .close = drawn_up_close};
