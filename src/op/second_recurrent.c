/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of the gradients of recurrent cells and of attention, by second_anew.c: both are written anew in float64, a
 * cell step by step.
 *
 * The gradient of a cell reads what the forward pass has kept, and not what that was made of. So it gives its own
 * gradient to the operands of the forward node, whose value the kept ones are, and none to these. The gradient of the
 * recurrent weights is a product of kept states, `before` and `extra`, with that of the steps' products q: what comes
 * back to these states goes through the steps once more, and that of q is the gradient by a nudge of zeros to each q.
 */
#include "op/second_recurrent.h"

#include "op/attention_float64.h"
#include "op/lower_recurrent.h"
#include "op/recurrent_float64.h"
#include "op/second.h"
#include "op/shape_ops.h"

typedef artel__recurrent_settings settings;

static artel__value_id wide(artel__graph *graph, artel__value_id x)
{
    return x < 0 ? ARTEL__NO_VALUE : artel__op_cast(graph, x, ARTEL_DTYPE_FLOAT64);
}

static artel__value_id single(artel__graph *graph, artel__value_id x)
{
    return x < 0 ? ARTEL__NO_VALUE : artel__op_cast(graph, x, ARTEL_DTYPE_FLOAT32);
}

/* -- cells -- */

/* A cell written anew: operands of the forward node, the leaves made of them (weights plain), and results. */
typedef struct anew {
    const settings *s;
    artel__value_id operand[ARTEL__RECURRENT_INPUTS], leaf[ARTEL__RECURRENT_INPUTS];
    artel__value_id y, last[2];
    artel__recurrent_trace trace;
} anew;

static const int operands[] = {ARTEL__RECURRENT_PROJECTED, ARTEL__RECURRENT_WEIGHTS, ARTEL__RECURRENT_BIAS,
                               ARTEL__RECURRENT_H0, ARTEL__RECURRENT_C0};

enum {
    OPERANDS = sizeof operands / sizeof *operands
};

static artel_status write_cell(artel__graph *graph, anew *a, bool nudged)
{
    for (int k = 0; k < ARTEL__RECURRENT_INPUTS; k++) {
        artel__value_id x = a->operand[k];
        if (k == ARTEL__RECURRENT_WEIGHTS) x = artel__op_plain(graph, x, a->s->units);
        a->leaf[k] = artel__second_leaf(graph, x);
    }
    artel__recurrent r = {.settings = *a->s,
                          .projected = wide(graph, a->leaf[ARTEL__RECURRENT_PROJECTED]),
                          .weights = wide(graph, a->leaf[ARTEL__RECURRENT_WEIGHTS]),
                          .bias = wide(graph, a->leaf[ARTEL__RECURRENT_BIAS]),
                          .mask = a->operand[ARTEL__RECURRENT_MASK],
                          .h0 = wide(graph, a->leaf[ARTEL__RECURRENT_H0]),
                          .c0 = wide(graph, a->leaf[ARTEL__RECURRENT_C0]),
                          .keep = wide(graph, a->operand[ARTEL__RECURRENT_KEEP])};
    a->trace.nudge = nudged ? artel__op_fill_like(graph, r.projected, 0) : ARTEL__NO_VALUE;
    a->y = artel__recurrent_traced(graph, &r, a->last, &a->trace);
    return graph->status;
}

/* What the leaves got, to the operands. */
static artel__value_id for_operand(artel__graph *graph, const anew *a, int k, artel__value_id found)
{
    if (found < 0 || k != ARTEL__RECURRENT_WEIGHTS) {
        if (found < 0) return found;
        artel_shape shape = graph->value[a->operand[k]].shape;
        return artel__op_reshape(graph, found, &shape);
    }
    return artel__op_panels_of(graph, found, a->s->units);
}

artel_status artel__second_recurrent_kept(artel__gradient *g, artel__value_id before, artel__value_id extra)
{
    artel__graph *graph = g->graph;
    anew a = {.s = g->attributes};
    artel__value_id leaf[OPERANDS], found[OPERANDS];
    for (int k = 0; k < ARTEL__RECURRENT_INPUTS; k++) a.operand[k] = g->in[k];
    ARTEL_TRY(write_cell(graph, &a, false));
    for (int i = 0; i < OPERANDS; i++) leaf[i] = a.leaf[operands[i]];
    artel__slopes slopes = {
        {a.trace.before, a.trace.extra}, {wide(graph, before), wide(graph, extra)}, 2, leaf, OPERANDS};
    ARTEL_TRY(artel__second_slopes(graph, &slopes, found));
    for (int i = 0; i < OPERANDS; i++) {
        int k = operands[i];
        if (!g->needed[k] || found[i] < 0) continue;
        artel__value_id more = for_operand(graph, &a, k, found[i]);
        g->in_gradient[k] = g->in_gradient[k] < 0 ? more : artel__op_add(graph, g->in_gradient[k], more);
    }
    return graph->status;
}

/* What comes back to the gradients of q: without reset_after those of n come apart. */
static artel__value_id back_to_products(const artel__gradient *g, const settings *s)
{
    artel__graph *graph = g->graph;
    artel__value_id part[2] = {g->out_gradient[2], g->out_gradient[3]};
    if (s->cell != ARTEL__CELL_GRU || s->reset_after) return s->cell == ARTEL__CELL_GRU ? part[0] : ARTEL__NO_VALUE;
    if (part[0] < 0 && part[1] < 0) return ARTEL__NO_VALUE;
    for (int k = 0; k < 2; k++) {
        if (part[k] < 0) part[k] = artel__op_fill_like(graph, g->out[2], 0);
        part[k] = artel__op_slice(graph, part[k], 1, k ? 2 * s->units : 0, (k ? 1 : 2) * s->units, 1);
    }
    return artel__op_concat(graph, part, 2, 1);
}

/* The gradients that the node computes: of projected, h0, c0 and q. */
static artel_status first_slopes(artel__graph *graph, const anew *a, const artel__value_id back[3],
                                 artel__value_id out[4])
{
    const artel__value_id leaf[] = {a->leaf[ARTEL__RECURRENT_PROJECTED], a->leaf[ARTEL__RECURRENT_H0],
                                    a->leaf[ARTEL__RECURRENT_C0], a->trace.nudge};
    artel__slopes slopes = {{a->y, a->last[0], a->last[1]}, {0}, 3, leaf, 4};
    for (int k = 0; k < 3; k++) slopes.seed[k] = wide(graph, back[k]);
    ARTEL_TRY(artel__second_slopes(graph, &slopes, out));
    out[3] = single(graph, out[3]);
    return graph->status;
}

artel_status artel__second_recurrent(artel__gradient *g)
{
    const settings *s = g->attributes;
    artel__graph *graph = g->graph;
    anew a = {.s = s};
    const artel__node *forward = &graph->node[graph->value[g->in[ARTEL__RECURRENT_BACK_BEFORE]].node];
    for (int k = 0; k < ARTEL__RECURRENT_INPUTS; k++) a.operand[k] = forward->input[k];
    if (graph->value[a.operand[ARTEL__RECURRENT_PROJECTED]].shape.dim[0] > ARTEL__RECURRENT_MOST_STEPS)
        return artel__second_refuse(g, "a recurrent cell of more than 4,096 steps");
    ARTEL_TRY(write_cell(graph, &a, s->cell == ARTEL__CELL_GRU));
    artel__value_id leaf[3 + OPERANDS], found[3 + OPERANDS], first[4];
    for (int k = 0; k < 3; k++) leaf[k] = artel__second_leaf(graph, g->in[ARTEL__RECURRENT_BACK_DOUT + k]);
    for (int i = 0; i < OPERANDS; i++) leaf[3 + i] = a.leaf[operands[i]];
    ARTEL_TRY(graph->status);
    ARTEL_TRY(first_slopes(graph, &a, leaf, first));
    artel__value_id products = back_to_products(g, s);
    artel__slopes slopes = {{first[0], first[1], first[2], first[3]},
                            {g->out_gradient[0], g->out_gradient[1],
                             s->cell == ARTEL__CELL_LSTM ? g->out_gradient[2] : ARTEL__NO_VALUE, products},
                            4,
                            leaf,
                            3 + OPERANDS};
    ARTEL_TRY(artel__second_slopes(graph, &slopes, found));
    for (int k = 0; k < 3; k++) g->in_gradient[ARTEL__RECURRENT_BACK_DOUT + k] = found[k];
    for (int i = 0; i < OPERANDS; i++) {
        g->also[i] = a.operand[operands[i]];
        g->also_gradient[i] = for_operand(graph, &a, operands[i], found[3 + i]);
    }
    g->alsos = OPERANDS;
    return graph->status;
}

/* -- attention -- */

artel_status artel__second_attention(artel__gradient *g)
{
    enum {
        QUERY,
        KEY,
        VALUE,
        MASK,
        PROBS,
        DOUT,
        DPROBS
    };
    static const int input[] = {QUERY, KEY, VALUE, DOUT, DPROBS};
    const artel__attention_attributes *a = g->attributes;
    artel__graph *graph = g->graph;
    artel__value_id leaf[5], first[3], probs;
    for (int i = 0; i < 5; i++) leaf[i] = artel__second_leaf(graph, g->in[input[i]]);
    artel__attention_float64 how = {.attention = {.query = wide(graph, leaf[0]),
                                                  .key = wide(graph, leaf[1]),
                                                  .value = wide(graph, leaf[2]),
                                                  .mask = g->in[MASK],
                                                  .causal = a->causal,
                                                  .rate = (double)a->rate,
                                                  .hidden = (artel__hidden)a->hidden},
                                    .scale = (double)a->scale,
                                    .factor = ARTEL__NO_VALUE,
                                    .of_float32 = true};
    uint32_t drawn = graph->random_ops;
    graph->random_ops = a->ordinal; /* the same draws, which count once */
    artel__value_id y = artel__attend_float64(graph, &how, &probs);
    graph->random_ops = drawn;
    ARTEL_TRY(graph->status);
    artel__slopes slopes = {{y, probs}, {wide(graph, leaf[3]), wide(graph, leaf[4])}, 2, leaf, 3};
    ARTEL_TRY(artel__second_slopes(graph, &slopes, first));
    artel__slopes second = {
        {first[0], first[1], first[2]}, {g->out_gradient[0], g->out_gradient[1], g->out_gradient[2]}, 3, leaf, 5};
    return artel__second_finish(g, &second, input);
}
