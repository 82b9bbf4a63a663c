/* SPDX-License-Identifier: Apache-2.0 */
/* The cells of kernel/recurrent.h in float64, step by step, where operations take the place of its kernels: the same
 * formulas, after keras/src/layers/rnn. A graph has the nodes of all steps.
 */
#include "op/recurrent_float64.h"

#include "op/formula.h"
#include "op/shape_ops.h"
#include "op/wide_product.h"

typedef struct sequence {
    artel__graph *graph;
    const artel__recurrent *r;
    artel__value_id turned; /* weights as [1][g*u][u] */
    int64_t units, gates, steps;
    artel__value_id h, c, put_out;
    artel__value_id nudge, met; /* of the step, of a GRU; what met R_n in it */
} sequence;

static artel__value_id apply(const sequence *q, const artel__cell_activation *a, artel__value_id x)
{
    return artel__op_unary(q->graph, a->function, a->parameter, x);
}

static artel__value_id gate(const sequence *q, artel__value_id all, int64_t k)
{
    return artel__op_slice(q->graph, all, 0, k * q->units, q->units, 1);
}

/* h times columns [first, first + count) of the weights, gates counted. */
static artel__value_id times_weights(const sequence *q, artel__value_id h, int64_t first, int64_t count)
{
    artel_shape line = artel__shape(3, 1, 1, q->units), flat = artel__shape(1, count * q->units);
    artel__value_id w = q->turned;
    if (count < q->gates) w = artel__op_slice(q->graph, w, 1, first * q->units, count * q->units, 1);
    artel__value_id y = artel__op_wide_product(q->graph, artel__op_reshape(q->graph, h, &line), w);
    return artel__op_reshape(q->graph, y, &flat);
}

/* The h that gate k multiplies. */
static artel__value_id kept(const sequence *q, artel__value_id h, int64_t k)
{
    if (q->r->keep < 0) return h;
    artel_shape row = artel__shape(1, q->units);
    artel__value_id factor = artel__op_reshape(q->graph, artel__op_slice(q->graph, q->r->keep, 0, k, 1, 1), &row);
    return product(q->graph, h, factor);
}

/* h R of gates [0, count). */
static artel__value_id recurrent_part(const sequence *q, int64_t count)
{
    artel__value_id part[4];
    if (q->r->keep < 0) return times_weights(q, q->h, 0, count);
    for (int64_t k = 0; k < count; k++) part[k] = times_weights(q, kept(q, q->h, k), k, 1);
    return count > 1 ? artel__op_concat(q->graph, part, (int)count, 0) : part[0];
}

static artel__value_id step_lstm(sequence *q, artel__value_id x, artel__value_id *c)
{
    const artel__recurrent_settings *s = &q->r->settings;
    artel__value_id z = artel__op_add(q->graph, x, recurrent_part(q, 4));
    artel__value_id i = apply(q, &s->recurrent, gate(q, z, 0)), f = apply(q, &s->recurrent, gate(q, z, 1));
    artel__value_id added = product(q->graph, i, apply(q, &s->activation, gate(q, z, 2)));
    *c = artel__op_add(q->graph, product(q->graph, f, q->c), added);
    return product(q->graph, apply(q, &s->recurrent, gate(q, z, 3)), apply(q, &s->activation, *c));
}

static artel__value_id step_gru(sequence *q, artel__value_id x)
{
    const artel__recurrent_settings *s = &q->r->settings;
    artel__graph *graph = q->graph;
    artel__value_id own = recurrent_part(q, s->reset_after ? 3 : 2), n;
    if (s->reset_after && q->r->bias >= 0) own = artel__op_add(graph, own, q->r->bias);
    if (q->nudge >= 0)
        own = artel__op_add(graph, own,
                            s->reset_after ? q->nudge : artel__op_slice(graph, q->nudge, 0, 0, 2 * q->units, 1));
    artel__value_id z = apply(q, &s->recurrent, artel__op_add(graph, gate(q, x, 0), gate(q, own, 0))),
                    r = apply(q, &s->recurrent, artel__op_add(graph, gate(q, x, 1), gate(q, own, 1)));
    if (s->reset_after) {
        n = product(graph, r, gate(q, own, 2));
    } else {
        q->met = product(graph, r, kept(q, q->h, 2));
        n = times_weights(q, q->met, 2, 1);
        if (q->nudge >= 0) n = artel__op_add(graph, n, gate(q, q->nudge, 2));
    }
    n = apply(q, &s->activation, artel__op_add(graph, gate(q, x, 2), n));
    artel__value_id kept_part = product(graph, z, q->h), rest = artel__op_affine(graph, z, -1, 1);
    return artel__op_add(graph, kept_part, product(graph, rest, n));
}

/* Step number t of the time; what it puts out. */
static artel__value_id step(sequence *q, int64_t t)
{
    const artel__recurrent_settings *s = &q->r->settings;
    artel__graph *graph = q->graph;
    artel_shape flat = artel__shape(1, q->gates * q->units);
    artel__value_id x = artel__op_reshape(graph, artel__op_slice(graph, q->r->projected, 0, t, 1, 1), &flat), h,
                    c = ARTEL__NO_VALUE;
    if (s->cell == ARTEL__CELL_LSTM)
        h = step_lstm(q, x, &c);
    else if (s->cell == ARTEL__CELL_GRU)
        h = step_gru(q, x);
    else
        h = apply(q, &s->activation, artel__op_add(graph, x, recurrent_part(q, 1)));
    artel__value_id put_out = h;
    if (q->r->mask >= 0) {
        artel__value_id valid = artel__op_slice(graph, q->r->mask, 0, t, 1, 1);
        put_out = where(graph, valid, h, s->zero_output_for_mask ? ARTEL__NO_VALUE : q->put_out);
        h = where(graph, valid, h, q->h);
        if (c >= 0) c = where(graph, valid, c, q->c);
    }
    q->h = h;
    q->c = c;
    q->put_out = put_out;
    return put_out;
}

/* Weights turned once, states that are there: zeros where none are given. */
static void begin(sequence *q)
{
    artel_shape weights = artel__shape(3, 1, q->units, q->gates * q->units), row = artel__shape(1, q->units);
    artel__graph *graph = q->graph;
    q->turned = artel__op_transpose(graph, artel__op_reshape(graph, q->r->weights, &weights), (int[]){0, 2, 1});
    artel__value_id first =
        artel__op_slice(graph, artel__op_slice(graph, q->r->projected, 0, 0, 1, 1), 1, 0, q->units, 1);
    artel__value_id zeros = artel__op_fill_like(graph, artel__op_reshape(graph, first, &row), 0);
    q->h = q->r->h0 >= 0 ? q->r->h0 : zeros;
    q->c = q->r->c0 >= 0 ? q->r->c0 : zeros;
}

/* Values of steps as one of all times. */
static artel__value_id along_time(const sequence *q, artel__value_id *step)
{
    artel_shape line = artel__shape(2, 1, q->units);
    for (int64_t t = 0; t < q->steps; t++) step[t] = artel__op_reshape(q->graph, step[t], &line);
    return q->steps > 1 ? artel__op_concat(q->graph, step, (int)q->steps, 0) : step[0];
}

static bool fits(artel__graph *graph, int64_t steps)
{
    if (steps >= 1 && steps <= ARTEL__RECURRENT_MOST_STEPS) return true;
    graph->status = artel__fail(artel__graph_context(graph), ARTEL_ERROR_UNSUPPORTED, graph->scope,
                                "use shorter sequences, or the policy float32",
                                "sequences of %lld steps have no float64", (long long)steps);
    return false;
}

artel__value_id artel__recurrent_traced(artel__graph *graph, const artel__recurrent *recurrent, artel__value_id last[2],
                                        artel__recurrent_trace *trace)
{
    if (graph->status < 0 || recurrent->projected < 0 || recurrent->weights < 0) return ARTEL__NO_VALUE;
    const artel__recurrent_settings *s = &recurrent->settings;
    sequence q = {.graph = graph,
                  .r = recurrent,
                  .units = s->units,
                  .gates = artel__cell_gates(s->cell),
                  .steps = graph->value[recurrent->projected].shape.dim[0],
                  .put_out = ARTEL__NO_VALUE,
                  .nudge = ARTEL__NO_VALUE,
                  .met = ARTEL__NO_VALUE};
    if (!fits(graph, q.steps)) return ARTEL__NO_VALUE;
    artel__value_id *all = artel__arena_alloc(graph->arena, 3 * (size_t)q.steps, sizeof *all), y = ARTEL__NO_VALUE;
    if (!all) return ARTEL__NO_VALUE;
    artel__value_id *before = all + q.steps, *met = before + q.steps;
    artel_shape row = artel__shape(1, q.gates * q.units);
    begin(&q);
    for (int64_t i = 0; i < q.steps; i++) {
        int64_t t = s->go_backwards ? q.steps - 1 - i : i;
        before[t] = q.h;
        if (trace && trace->nudge >= 0)
            q.nudge = artel__op_reshape(graph, artel__op_slice(graph, trace->nudge, 0, t, 1, 1), &row);
        y = all[i] = step(&q, t);
        met[t] = q.met;
    }
    last[0] = q.h;
    last[1] = q.c;
    if (trace) trace->before = along_time(&q, before);
    if (trace) trace->extra = met[0] >= 0 ? along_time(&q, met) : ARTEL__NO_VALUE;
    return s->sequences ? along_time(&q, all) : y;
}

artel__value_id artel__recurrent_float64(artel__graph *graph, const artel__recurrent *recurrent,
                                         artel__value_id last[2])
{
    return artel__recurrent_traced(graph, recurrent, last, NULL);
}
