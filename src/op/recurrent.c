/* SPDX-License-Identifier: Apache-2.0 */
/* Recurrent cells over whole sequences: LSTM, GRU, SimpleRNN.
 *
 *   forward   inputs projected, weights, bias, mask, h0, c0, keep; outputs the sequence or the last output, last h,
 * last c (LSTM only), then what the gradient needs: `before`, `gates`, `extra` of kernel/recurrent.h backward  through
 * time: gradients of projected and of the first states, and of the recurrent products q weights   dR = fold over shards
 * of before^T dq, one product over all rows and times, and the bias with it; GRU without reset_after: the part of n
 * meets r h in place of h, so dR is the sum of two folds with keep every gate meets an h of its own: the gates are more
 * positions of a row, each with zeros for the others
 */
#include "op/elementwise.h"
#include "op/lower_recurrent.h"
#include "op/recurrent.h"
#include "op/second_recurrent.h"

typedef artel__recurrent_settings settings;

/* Outputs: 0 sequence, 1 h, then c for LSTM, then the rest. */
static int first_kept(const settings *s)
{
    return s->cell == ARTEL__CELL_LSTM ? 3 : 2;
}

static artel_status infer_recurrent(artel__infer *infer)
{
    const settings *s = infer->attributes;
    const artel__value *x = infer->in[ARTEL__RECURRENT_PROJECTED], *w = infer->in[ARTEL__RECURRENT_WEIGHTS],
                       *mask = infer->in[ARTEL__RECURRENT_MASK];
    int64_t u = s->units, g = artel__cell_gates(s->cell) * u;
    if (x->dtype != ARTEL_DTYPE_FLOAT32 || x->domain != ARTEL__DOMAIN_ROW || x->shape.rank != 2 || x->shape.dim[1] != g)
        return artel__op_fail(infer, "the projected input does not fit %lld units", (long long)u);
    if (w->storage != artel__panels_floats(u, g)) return artel__op_fail(infer, "the recurrent weights do not fit");
    int64_t steps = x->shape.dim[0];
    if (mask && (mask->dtype != ARTEL_DTYPE_BOOL || mask->domain != ARTEL__DOMAIN_ROW || mask->storage != steps))
        return artel__op_fail(infer, "the mask does not have one element for each of %lld steps", (long long)steps);
    for (int k = ARTEL__RECURRENT_H0; k <= ARTEL__RECURRENT_C0; k++) {
        if (infer->in[k] && (infer->in[k]->domain != ARTEL__DOMAIN_ROW || infer->in[k]->storage != u))
            return artel__op_fail(infer, "an initial state does not have %lld elements", (long long)u);
    }
    const artel__value *keep = infer->in[ARTEL__RECURRENT_KEEP];
    if (keep && (keep->dtype != ARTEL_DTYPE_FLOAT32 || keep->domain != ARTEL__DOMAIN_ROW || keep->storage != g))
        return artel__op_fail(infer, "the factors of the states do not fit %lld units", (long long)u);
    artel_shape state = artel__shape(1, u), sequence = artel__shape(2, steps, u);
    int n = 0;
    artel__infer_output(infer, n++, ARTEL__DOMAIN_ROW, ARTEL_DTYPE_FLOAT32, s->sequences ? &sequence : &state);
    artel__infer_output(infer, n++, ARTEL__DOMAIN_ROW, ARTEL_DTYPE_FLOAT32, &state);
    if (s->cell == ARTEL__CELL_LSTM) artel__infer_output(infer, n++, ARTEL__DOMAIN_ROW, ARTEL_DTYPE_FLOAT32, &state);
    artel__infer_output(infer, n++, ARTEL__DOMAIN_ROW, ARTEL_DTYPE_FLOAT32, &sequence);
    artel__infer_output(infer, n++, ARTEL__DOMAIN_ROW, ARTEL_DTYPE_FLOAT32, &x->shape);
    if (s->cell != ARTEL__CELL_SIMPLE)
        artel__infer_output(infer, n++, ARTEL__DOMAIN_ROW, ARTEL_DTYPE_FLOAT32, &sequence);
    return ARTEL_OK;
}

/* The gates take the place of the projected input. */
static artel__in_place place_gates(const void *attributes)
{
    return (artel__in_place){ARTEL__RECURRENT_PROJECTED, first_kept(attributes) + 1};
}

/* In blocks where the weights are bfloat16. */
static artel__arithmetic arithmetic(const artel__run_args *args, int weights)
{
    return artel__args_arithmetic(args, artel__args_in(args, weights)->precision);
}

static void fill_recurrent(const artel__run_args *args, void *params)
{
    const settings *s = args->attributes;
    const artel__value *x = artel__args_in(args, ARTEL__RECURRENT_PROJECTED);
    int kept = first_kept(s);
    bool lstm = s->cell == ARTEL__CELL_LSTM;
    *(artel__recurrent_forward *)params =
        (artel__recurrent_forward){.settings = *s,
                                   .rows = args->step->fold->rows,
                                   .steps = x->shape.dim[0],
                                   .projected = args->in[ARTEL__RECURRENT_PROJECTED],
                                   .weights = args->in[ARTEL__RECURRENT_WEIGHTS],
                                   .bias = args->in[ARTEL__RECURRENT_BIAS],
                                   .keep = args->in[ARTEL__RECURRENT_KEEP],
                                   .mask = args->in[ARTEL__RECURRENT_MASK],
                                   .h0 = args->in[ARTEL__RECURRENT_H0],
                                   .c0 = args->in[ARTEL__RECURRENT_C0],
                                   .arithmetic = arithmetic(args, ARTEL__RECURRENT_WEIGHTS),
                                   .out = args->out[0],
                                   .h = args->out[1],
                                   .c = lstm ? args->out[2] : NULL,
                                   .before = args->out[kept],
                                   .gates = args->out[kept + 1],
                                   .extra = s->cell == ARTEL__CELL_SIMPLE ? NULL : args->out[kept + 2]};
}

static int64_t cost_recurrent(const artel__graph *graph, const artel__node *node)
{
    const settings *s = node->attributes;
    return 2 * s->units * graph->value[node->input[ARTEL__RECURRENT_PROJECTED]].storage;
}

static void describe_recurrent(const artel__node *node, artel__text *out)
{
    static const char *const names[] = {"lstm", "gru", "simple"};
    const settings *s = node->attributes;
    artel__text_printf(out, "%s units=%lld%s%s", names[s->cell], (long long)s->units,
                       s->go_backwards ? " backwards" : "",
                       s->cell == ARTEL__CELL_GRU && s->reset_after ? " reset_after" : "");
}

/* -- gradient; outputs: dprojected, dh0, then dc0 (LSTM) or drecurrent (GRU), drecurrent_n (GRU without reset_after) --
 */

static artel_status infer_recurrent_gradient(artel__infer *infer)
{
    const settings *s = infer->attributes;
    const artel_shape *projected = &infer->in[ARTEL__RECURRENT_BACK_GATES]->shape;
    artel_shape state = artel__shape(1, s->units);
    artel__infer_output(infer, 0, ARTEL__DOMAIN_ROW, ARTEL_DTYPE_FLOAT32, projected);
    artel__infer_output(infer, 1, ARTEL__DOMAIN_ROW, ARTEL_DTYPE_FLOAT32, &state);
    if (s->cell == ARTEL__CELL_LSTM) artel__infer_output(infer, 2, ARTEL__DOMAIN_ROW, ARTEL_DTYPE_FLOAT32, &state);
    if (s->cell == ARTEL__CELL_GRU) artel__infer_output(infer, 2, ARTEL__DOMAIN_ROW, ARTEL_DTYPE_FLOAT32, projected);
    if (s->cell == ARTEL__CELL_GRU && !s->reset_after)
        artel__infer_output(infer, 3, ARTEL__DOMAIN_ROW, ARTEL_DTYPE_FLOAT32, projected);
    return ARTEL_OK;
}

static void fill_recurrent_gradient(const artel__run_args *args, void *params)
{
    const settings *s = args->attributes;
    bool lstm = s->cell == ARTEL__CELL_LSTM, gru = s->cell == ARTEL__CELL_GRU;
    *(artel__recurrent_gradient *)params =
        (artel__recurrent_gradient){.settings = *s,
                                    .rows = args->step->fold->rows,
                                    .steps = artel__args_in(args, ARTEL__RECURRENT_BACK_GATES)->shape.dim[0],
                                    .transposed = args->in[ARTEL__RECURRENT_BACK_WEIGHTS],
                                    .keep = args->in[ARTEL__RECURRENT_BACK_KEEP],
                                    .mask = args->in[ARTEL__RECURRENT_BACK_MASK],
                                    .c0 = args->in[ARTEL__RECURRENT_BACK_C0],
                                    .arithmetic = arithmetic(args, ARTEL__RECURRENT_BACK_WEIGHTS),
                                    .before = args->in[ARTEL__RECURRENT_BACK_BEFORE],
                                    .gates = args->in[ARTEL__RECURRENT_BACK_GATES],
                                    .extra = args->in[ARTEL__RECURRENT_BACK_EXTRA],
                                    .dout = args->in[ARTEL__RECURRENT_BACK_DOUT],
                                    .dh = args->in[ARTEL__RECURRENT_BACK_DH],
                                    .dc = args->in[ARTEL__RECURRENT_BACK_DC],
                                    .dprojected = args->out[0],
                                    .dh0 = args->out[1],
                                    .dc0 = lstm ? args->out[2] : NULL,
                                    .drecurrent = gru ? args->out[2] : NULL,
                                    .drecurrent_n = gru && !s->reset_after ? args->out[3] : NULL};
}

/* The gradients of the gates' arguments take the place of the gates. */
static artel__in_place place_gradient(const void *attributes)
{
    (void)attributes;
    return (artel__in_place){ARTEL__RECURRENT_BACK_GATES, 0};
}

static int64_t cost_recurrent_gradient(const artel__graph *graph, const artel__node *node)
{
    const settings *s = node->attributes;
    return 2 * s->units * graph->value[node->input[ARTEL__RECURRENT_BACK_GATES]].storage;
}

const artel__op_def artel__op_recurrent_gradient_def = {
    .name = "recurrent_gradient",
    .doc = "Gradient of a recurrent cell through time.",
    .attribute_size = sizeof(settings),
    .placement = ARTEL__PLACE_INPLACE,
    .infer = infer_recurrent_gradient,
    .grad = artel__second_recurrent,
    .cost = cost_recurrent_gradient,
    .lower = artel__lower_recurrent_gradient,
    .exec =
        &(const artel__op_exec){
            .in_place = place_gradient,
            .kernels = artel__recurrent_gradient_kernels,
            .params_size = sizeof(artel__recurrent_gradient),
            .fill = fill_recurrent_gradient,
        },
};

/* h times the factors of each gate, [steps][gates][u], and the gradients of the gates apart, [steps][gates][gates*u].
 */
static void split_gates(artel__graph *graph, const settings *s, artel__value_id keep, artel__value_id *h,
                        artel__value_id *dq)
{
    int64_t u = s->units, gates = artel__cell_gates(s->cell), steps = graph->value[*h].shape.dim[0];
    artel_shape factors = artel__shape(3, (int64_t)1, gates, u), beside = artel__shape(3, steps, (int64_t)1, u);
    artel_shape narrow = artel__shape(4, steps, gates, (int64_t)1, u), wide = artel__shape(3, steps, gates, gates * u);
    artel_shape square = artel__shape(3, gates, gates, (int64_t)1);
    float unit[16] = {0};
    for (int64_t k = 0; k < gates; k++) unit[k * gates + k] = 1;
    keep = artel__op_reshape(graph, keep, &factors);
    *h = artel__op_binary(graph, ARTEL__BINARY_MUL, artel__op_reshape(graph, *h, &beside), keep);
    if (gates == 1) return;
    *dq = artel__op_binary(graph, ARTEL__BINARY_MUL, artel__op_reshape(graph, *dq, &narrow),
                           artel__op_constant(graph, ARTEL_DTYPE_FLOAT32, &square, unit));
    *dq = artel__op_reshape(graph, *dq, &wide);
}

static void grad_weights(artel__gradient *g, artel__value_id back)
{
    const settings *s = g->attributes;
    artel__graph *graph = g->graph;
    int kept = first_kept(s);
    int64_t u = s->units, n = artel__cell_gates(s->cell) * u;
    bool gru = s->cell == ARTEL__CELL_GRU;
    artel__value_id dq = gru ? artel__graph_output(graph, back, 2) : back, h = g->out[kept];
    if (s->keeps) split_gates(graph, s, g->in[ARTEL__RECURRENT_KEEP], &h, &dq);
    artel__value_id nodes = artel__op_weight_gradient(graph, h, dq, u, n, g->needed[ARTEL__RECURRENT_BIAS]);
    g->in_gradient[ARTEL__RECURRENT_WEIGHTS] = artel__op_all_reduce(graph, nodes);
    if (g->needed[ARTEL__RECURRENT_BIAS])
        g->in_gradient[ARTEL__RECURRENT_BIAS] = artel__op_all_reduce(graph, artel__graph_output(graph, nodes, 1));
    if (!gru || s->reset_after) return;
    artel__value_id late =
        artel__op_weight_gradient(graph, g->out[kept + 2], artel__graph_output(graph, back, 3), u, n, false);
    g->in_gradient[ARTEL__RECURRENT_WEIGHTS] =
        artel__op_add(graph, g->in_gradient[ARTEL__RECURRENT_WEIGHTS], artel__op_all_reduce(graph, late));
}

static artel_status grad_recurrent(artel__gradient *g)
{
    const settings *s = g->attributes;
    artel__graph *graph = g->graph;
    int kept = first_kept(s);
    bool lstm = s->cell == ARTEL__CELL_LSTM;
    artel__value_id wt = artel__op_transpose_weights(graph, g->in[ARTEL__RECURRENT_WEIGHTS], 1, s->units,
                                                     artel__cell_gates(s->cell) * s->units, 1);
    artel__value_id inputs[ARTEL__RECURRENT_BACK_INPUTS] = {
        [ARTEL__RECURRENT_BACK_WEIGHTS] = wt,
        [ARTEL__RECURRENT_BACK_MASK] = g->in[ARTEL__RECURRENT_MASK],
        [ARTEL__RECURRENT_BACK_C0] = g->in[ARTEL__RECURRENT_C0],
        [ARTEL__RECURRENT_BACK_BEFORE] = g->out[kept],
        [ARTEL__RECURRENT_BACK_GATES] = g->out[kept + 1],
        [ARTEL__RECURRENT_BACK_EXTRA] = s->cell == ARTEL__CELL_SIMPLE ? ARTEL__NO_VALUE : g->out[kept + 2],
        [ARTEL__RECURRENT_BACK_DOUT] = g->out_gradient[0],
        [ARTEL__RECURRENT_BACK_DH] = g->out_gradient[1],
        [ARTEL__RECURRENT_BACK_DC] = lstm ? g->out_gradient[2] : ARTEL__NO_VALUE,
        [ARTEL__RECURRENT_BACK_KEEP] = g->in[ARTEL__RECURRENT_KEEP]};
    artel__value_id back =
        artel__graph_add(graph, &artel__op_recurrent_gradient_def, s, inputs, ARTEL__RECURRENT_BACK_INPUTS);
    g->in_gradient[ARTEL__RECURRENT_PROJECTED] = back;
    if (g->needed[ARTEL__RECURRENT_H0]) g->in_gradient[ARTEL__RECURRENT_H0] = artel__graph_output(graph, back, 1);
    if (g->needed[ARTEL__RECURRENT_C0]) g->in_gradient[ARTEL__RECURRENT_C0] = artel__graph_output(graph, back, 2);
    if (g->needed[ARTEL__RECURRENT_WEIGHTS] || g->needed[ARTEL__RECURRENT_BIAS]) grad_weights(g, back);
    artel__value_id before = g->out_gradient[kept],
                    extra = s->cell == ARTEL__CELL_GRU ? g->out_gradient[kept + 2] : ARTEL__NO_VALUE;
    if (before >= 0 || extra >= 0) return artel__second_recurrent_kept(g, before, extra);
    return ARTEL_OK;
}

const artel__op_def artel__op_recurrent_def = {
    .name = "recurrent",
    .doc = "A recurrent cell over a sequence.",
    .attribute_size = sizeof(settings),
    .placement = ARTEL__PLACE_INPLACE,
    .infer = infer_recurrent,
    .grad = grad_recurrent,
    .cost = cost_recurrent,
    .lower = artel__lower_recurrent,
    .describe = describe_recurrent,
    .exec =
        &(const artel__op_exec){
            .in_place = place_gates,
            .kernels = artel__recurrent_forward_kernels,
            .params_size = sizeof(artel__recurrent_forward),
            .fill = fill_recurrent,
        },
};

artel__value_id artel__op_recurrent(artel__graph *graph, const artel__recurrent *r)
{
    if (graph->status < 0 || r->projected < 0 || r->weights < 0) return ARTEL__NO_VALUE;
    settings s = r->settings;
    s.keeps = r->keep >= 0;
    artel__value_id inputs[ARTEL__RECURRENT_INPUTS] = {r->projected, r->weights, r->bias, r->mask,
                                                       r->h0,        r->c0,      r->keep};
    return artel__graph_add(graph, &artel__op_recurrent_def, &s, inputs, ARTEL__RECURRENT_INPUTS);
}
