/* SPDX-License-Identifier: Apache-2.0 */
/* Movements of strings in functions: a step has a function of its own, on int32 numbers that stand for the strings,
 * under a strategy of one replica and one thread that belongs to the function's strategy. So settings, shapes, axes
 * of rows and errors are those of numbers. Choices and gathered rows have steps of their own. */
#include "function/text_moves.h"

#include <string.h>

#include "function/tape.h"

/* -- tracing -- */

static artel_status run_move(artel_function *f, artel__text_step *step, int64_t rows);

/* Numbers where these must be, strings where those must be. */
static bool check_kinds(artel_graph *g, const artel__moved *moved, const artel_value *inputs, int count)
{
    for (int i = 0; i < count; i++) {
        bool number = i < 32 && (moved->numbers >> i & 1);
        if (number != artel__texts_is(g, inputs[i])) continue;
        artel__graph_refuse(
            g, ARTEL_ERROR_INVALID, moved->name, "make strings of numbers by string_as_string",
            number ? "operand %d is strings, and must be numbers" : "operand %d is numbers, and others are strings", i);
        return false;
    }
    return true;
}

int artel__texts_move(artel_graph *g, const artel__moved *moved, const artel_value *inputs, int count,
                      const char *attributes, artel_value *outputs, int most)
{
    if (!check_kinds(g, moved, inputs, count)) return g->graph->status;
    artel__text_step *s = artel__text_step_new(g, run_move, moved->name, count, ARTEL__STRING_OPERANDS);
    int results = 0;
    if (!s) return g->graph->status;
    s->moved = moved;
    s->outputs = 0;
    s->attributes = attributes ? artel__arena_strdup(g->graph->arena, attributes) : NULL;
    for (int i = 0; i < count; i++) {
        s->in[i] = artel__text_operand(g, inputs[i]);
        if (g->graph->status < 0) return g->graph->status;
    }
    s->late = artel__text_latest(s->in, count);
    artel_status status = artel__text_moving.make(g->strategy, s, &results);
    if (status < 0) return g->graph->status = status;
    for (int i = 0; i < results; i++) {
        artel_dtype dtype;
        artel_shape shape;
        bool rows;
        artel__function_describe(s->function, i, &dtype, &shape, &rows);
        s->out[i] = artel__text_value_new(g, moved->strings ? ARTEL_DTYPE_STRING : dtype, &shape, rows, s->name);
        if (!s->out[i]) return g->graph->status;
        s->out[i]->late = s->late;
        s->outputs++;
        if (i < most) outputs[i] = artel__text_give(g, s->out[i]);
    }
    return g->graph->status < 0 ? g->graph->status : results;
}

/* -- running -- */

/* What a step has while it runs. */
typedef struct movement {
    artel_context *ctx;
    artel__text_step *step;
    int64_t rows;
    artel__moved_words words;
    int32_t *number; /* of all operands that are strings, behind them of all results that are */
    artel_array in[ARTEL__STRING_OPERANDS], out[ARTEL__STRING_OPERANDS];
} movement;

static size_t count_strings(artel__text_value *const *values, int count, int64_t rows)
{
    size_t total = 0;
    for (int i = 0; i < count; i++)
        total += values[i]->row.dtype == ARTEL_DTYPE_STRING ? (size_t)artel__text_count(values[i], rows) : 0;
    return total;
}

static void gather_operands(movement *m)
{
    artel__text_step *s = m->step;
    int32_t *at = m->number;
    for (int i = 0; i < s->inputs; i++) {
        const artel__text_value *v = s->in[i];
        int64_t count = artel__text_count(v, m->rows);
        bool strings = v->row.dtype == ARTEL_DTYPE_STRING;
        artel_shape shape = {.rank = v->row.shape.rank + v->rows, .dim = {m->rows}};
        for (int d = 0; d < v->row.shape.rank; d++) shape.dim[d + v->rows] = v->row.shape.dim[d];
        m->in[i] = (artel_array){strings ? ARTEL_DTYPE_INT32 : v->row.dtype, shape, strings ? at : v->row.data};
        if (!strings) continue;
        if (count) memcpy(m->words.word + m->words.count, v->row.data, (size_t)count * sizeof(artel_string));
        m->words.count += count;
        at += count;
    }
    artel__moved_number(s->moved, &m->words, m->number);
    for (int i = 0; i < s->outputs; i++) {
        const artel__text_value *v = s->out[i];
        bool strings = v->row.dtype == ARTEL_DTYPE_STRING;
        m->out[i] = (artel_array){.dtype = strings ? ARTEL_DTYPE_INT32 : v->row.dtype,
                                  .data = strings ? (void *)at : v->row.data};
        if (strings) at += artel__text_count(v, m->rows);
    }
}

/* The strings that numbers of a result stand for. */
static artel_status give_strings(const movement *m, artel__text_value *v, const int32_t *number)
{
    int64_t count = artel__text_count(v, m->rows);
    artel__text_sink sink;
    void *block;
    ARTEL_TRY(artel__alloc(m->ctx, (size_t)count * sizeof(artel_string) + 1, "strings", &block));
    artel__text_sink_begin(&sink, v);
    artel_status status = artel__moved_strings(m->ctx, m->step->moved, &m->words, number, count, block);
    if (status == ARTEL_OK) status = sink.sink.strings(&sink.sink, &(artel_shape){1, {count}}, block);
    artel__free(m->ctx, block);
    return status;
}

static artel_status run_move(artel_function *f, artel__text_step *s, int64_t rows)
{
    movement m = {.ctx = f->strategy->ctx, .step = s, .rows = rows};
    size_t in = count_strings(s->in, s->inputs, rows), out = count_strings(s->out, s->outputs, rows);
    void *block = NULL;
    ARTEL_TRY(artel__moved_begin(m.ctx, in, &m.words));
    artel_status status = artel__alloc(m.ctx, (in + out) * sizeof(int32_t) + 1, "strings", &block);
    if (status == ARTEL_OK) {
        m.number = block;
        gather_operands(&m);
        bool any = s->function->rows_arguments > 0;
        s->function->first_row = f->first_row;
        status = artel__text_moving.run(s->function, m.in, m.out, any ? rows : 1);
    }
    for (int i = 0; i < s->outputs && status == ARTEL_OK; i++) {
        if (s->out[i]->row.dtype == ARTEL_DTYPE_STRING) status = give_strings(&m, s->out[i], m.out[i].data);
    }
    artel__free(m.ctx, block);
    artel__moved_end(m.ctx, &m.words);
    return status;
}

/* -- choices -- */

/* in: condition, then, otherwise. */
static artel_status run_choose(artel_function *f, artel__text_step *s, int64_t rows)
{
    artel__text_value *out = s->out[0];
    artel_context *ctx = f->strategy->ctx;
    artel__text_sink sink;
    int64_t count = artel__text_count(out, rows), each = out->row.count;
    const uint8_t *condition = s->in[0]->row.data;
    void *block;
    ARTEL_TRY(artel__alloc(ctx, (size_t)count * sizeof(artel_string) + 1, "strings", &block));
    artel_string *chosen = block;
    for (int64_t i = 0; i < count; i++) {
        const artel__text_value *from = s->in[condition[s->in[0]->rows ? i / each : 0] ? 1 : 2];
        chosen[i] = ((const artel_string *)from->row.data)[from->rows ? i : i % each];
    }
    artel__text_sink_begin(&sink, out);
    artel_status status = sink.sink.strings(&sink.sink, &(artel_shape){1, {count}}, chosen);
    artel__free(ctx, block);
    return status;
}

artel_value artel__texts_choose(artel_graph *g, artel__value_id condition, artel_value a, artel_value b)
{
    const artel_value both[2] = {a, b};
    if (a == b || g->graph->status < 0) return a;
    if (!artel__texts_is(g, a) || !artel__texts_is(g, b) || !artel__shape_equal(&g->place[a].shape, &g->place[b].shape))
        return artel__graph_refuse(g, ARTEL_ERROR_INVALID, "control flow", "keep shapes and element types",
                                   "one side is strings, and the other is numbers, or of another shape");
    artel__text_step *s = artel__text_step_new(g, run_choose, "choose", 3, 1);
    if (!s) return ARTEL_NO_VALUE;
    s->in[0] = artel__text_known(g, condition);
    if (!s->in[0] && g->graph->status == ARTEL_OK) s->in[0] = artel__text_operand(g, artel__graph_give(g, condition));
    for (int i = 0; i < 2; i++) s->in[i + 1] = artel__text_operand(g, both[i]);
    if (g->graph->status < 0) return ARTEL_NO_VALUE;
    bool rows = s->in[0]->rows || s->in[1]->rows || s->in[2]->rows;
    s->late = artel__text_latest(s->in, 3);
    s->out[0] = artel__text_value_new(g, ARTEL_DTYPE_STRING, &s->in[1]->row.shape, rows, s->name);
    if (s->out[0]) s->out[0]->late = s->late;
    return artel__text_give(g, s->out[0]);
}

/* -- all rows -- */

static artel_status run_gather(artel_function *f, artel__text_step *s, int64_t rows)
{
    artel_context *ctx = f->strategy->ctx;
    artel__text_value *out = s->out[0];
    artel__text_sink sink;
    size_t given = (size_t)artel__text_count(s->in[0], rows);
    void *block;
    ARTEL_TRY(artel__calloc(ctx, (size_t)out->row.count + 1, sizeof(artel_string), "strings", &block));
    if (given) memcpy(block, s->in[0]->row.data, given * sizeof(artel_string));
    artel__text_sink_begin(&sink, out);
    artel_status status = sink.sink.strings(&sink.sink, &(artel_shape){1, {out->row.count}}, block);
    artel__free(ctx, block);
    return status;
}

artel_value artel__texts_gather(artel_graph *g, artel_value value)
{
    artel__text_value *in = artel__text_operand(g, value);
    if (!in) return ARTEL_NO_VALUE;
    artel_shape shape = {.rank = in->row.shape.rank + 1, .dim = {g->graph->batch_size}};
    if (!in->rows || in->row.shape.rank == ARTEL_MAX_RANK)
        return artel__graph_refuse(g, ARTEL_ERROR_INVALID, "gather", "give a value with rows, of up to 7 axes",
                                   in->rows ? "rows of 8 axes" : "a shared value, which has no rows");
    for (int d = 0; d < in->row.shape.rank; d++) shape.dim[d + 1] = in->row.shape.dim[d];
    artel__tape_entry *entry = artel__tape_begin(g, &(artel__tape_entry){.kind = ARTEL__TAPE_GATHER}, &value, 1);
    artel__text_step *s = artel__text_step_new(g, run_gather, "gather", 1, 1);
    if (!s) return ARTEL_NO_VALUE;
    s->in[0] = in;
    s->late = in->late;
    s->out[0] = artel__text_value_new(g, ARTEL_DTYPE_STRING, &shape, false, s->name);
    if (s->out[0]) s->out[0]->late = s->late;
    return artel__tape_gave(g, entry, artel__text_give(g, s->out[0]));
}
