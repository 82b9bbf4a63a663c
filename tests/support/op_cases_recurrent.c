/* SPDX-License-Identifier: Apache-2.0 */
/* Small graphs of operations: recurrent cells and attention. See op_cases.h. */
#include "support/op_cases.h"
#include "op/elementwise.h"
#include "op/recurrent.h"
#include "op/shape_ops.h"

static artel__value_id recurrent(op_graph *g)
{
    artel__cell cell = (artel__cell)(g->parameter % 12 / 4);
    int64_t u = 5, gates = artel__cell_gates(cell), t = 4;
    bool odd = g->parameter & 1, second = g->parameter & 2;
    artel__recurrent r = {.settings = {.cell = cell,
                                       .units = u,
                                       .activation = {ARTEL__UNARY_TANH, {0}},
                                       .recurrent = {ARTEL__UNARY_SIGMOID, {0}},
                                       .reset_after = second,
                                       .go_backwards = odd,
                                       .zero_output_for_mask = second && odd,
                                       .sequences = !odd || second}};
    artel_shape columns = SHAPE(gates * u);
    r.projected =
        artel__op_product(&g->graph, op_row(g, OP_SIGNED, SHAPE(t, 3)), op_weight(g, OP_SIGNED, 3, SHAPE(3, gates * u)),
                          ARTEL__NO_VALUE, 1, &columns, ARTEL__FUSED_NONE);
    r.weights = op_weight(g, OP_SIGNED, u, SHAPE(u, gates * u));
    r.bias = cell == ARTEL__CELL_GRU && second ? op_weight(g, OP_SIGNED, 0, SHAPE(gates * u)) : ARTEL__NO_VALUE;
    r.mask = odd ? op_row(g, OP_BITS, SHAPE(t)) : ARTEL__NO_VALUE;
    r.h0 = second ? op_row(g, OP_SIGNED, SHAPE(u)) : ARTEL__NO_VALUE;
    r.c0 = second && cell == ARTEL__CELL_LSTM ? op_row(g, OP_SIGNED, SHAPE(u)) : ARTEL__NO_VALUE;
    r.keep = g->parameter < 12 ? ARTEL__NO_VALUE : op_row(g, OP_POSITIVE, SHAPE(gates, u));
    if (r.keep >= 0) g->fed[g->feds - 1].wanted = false;
    artel__value_id out = artel__op_recurrent(&g->graph, &r);
    if (!second) return out;
    artel__value_id last = artel__graph_output(&g->graph, out, cell == ARTEL__CELL_LSTM ? 2 : 1);
    return artel__op_add(&g->graph, out, last);
}

/* Sequences of length 0, by cell, with whole sequences or their end: what becomes of the states, and of their gradient.
 */
static artel__value_id recurrent_without_steps(op_graph *g)
{
    artel__cell cell = (artel__cell)(g->parameter / 2);
    int64_t u = 5, gates = artel__cell_gates(cell);
    bool lstm = cell == ARTEL__CELL_LSTM;
    artel_shape columns = SHAPE(gates * u);
    artel__recurrent r = {.settings = {.cell = cell,
                                       .units = u,
                                       .activation = {ARTEL__UNARY_TANH, {0}},
                                       .recurrent = {ARTEL__UNARY_SIGMOID, {0}},
                                       .sequences = g->parameter & 1},
                          .bias = ARTEL__NO_VALUE,
                          .mask = ARTEL__NO_VALUE,
                          .keep = ARTEL__NO_VALUE};
    r.projected =
        artel__op_product(&g->graph, op_row(g, OP_SIGNED, SHAPE(0, 3)), op_weight(g, OP_SIGNED, 3, SHAPE(3, gates * u)),
                          ARTEL__NO_VALUE, 1, &columns, ARTEL__FUSED_NONE);
    r.weights = op_weight(g, OP_SIGNED, u, SHAPE(u, gates * u));
    r.h0 = op_row(g, OP_SIGNED, SHAPE(u));
    r.c0 = lstm ? op_row(g, OP_SIGNED, SHAPE(u)) : ARTEL__NO_VALUE;
    artel__value_id out = artel__op_recurrent(&g->graph, &r), h = artel__graph_output(&g->graph, out, 1);
    if (lstm) h = artel__op_add(&g->graph, h, artel__graph_output(&g->graph, out, 2));
    artel__value_id y = r.settings.sequences ? h : artel__op_add(&g->graph, out, h), slope,
                    one = artel__op_fill_like(&g->graph, y, 1);
    artel__differentiate request = {.add = &artel__op_binary_def,
                                    .targets = &y,
                                    .seeds = &one,
                                    .target_count = 1,
                                    .wanted = &r.h0,
                                    .wanted_count = 1};
    artel__graph_differentiate(&g->graph, &request, &slope);
    return artel__op_add(&g->graph, y, slope);
}

static artel__value_id attention(op_graph *g)
{
    artel__attention a = {
        .scale = 0.7f, .causal = g->parameter & 1, .rate = g->parameter & 4 ? 0.3 : 0, .mask = ARTEL__NO_VALUE};
    if (g->parameter & 8) a.hidden = ARTEL__HIDDEN_ZERO;
    a.query = op_row(g, OP_SIGNED, SHAPE(3, 4, 5));
    a.key = op_row(g, OP_SIGNED, SHAPE(4, 2, 5));
    a.value = op_row(g, OP_SIGNED, SHAPE(4, 2, 3));
    if (g->parameter & 2) a.mask = op_row(g, OP_BITS, SHAPE(1, 3, 4));
    return artel__op_attention(&g->graph, &a);
}

/* Scores that a mask lowers. 1: with a causal mask; 2: queries that see nothing. What is lowered in float32 loses its
 * differences, and its gradient does not show it: differences do not see what these queries get. */
static artel__value_id attention_lowered(op_graph *g)
{
    static const uint8_t seen[2][12] = {{1, 0, 1, 1, 1, 1, 0, 0, 1, 0, 0, 1}, {0, 1, 1, 1, 0, 0, 0, 0, 1, 0, 0, 1}};
    artel_shape shape = SHAPE(3, 4);
    artel__attention a = {.scale = 0.7f, .causal = g->parameter & 1, .hidden = ARTEL__HIDDEN_LOWERED};
    a.query = op_row(g, OP_SIGNED, SHAPE(3, 4, 5));
    a.key = op_row(g, OP_SIGNED, SHAPE(4, 2, 5));
    a.value = op_row(g, OP_SIGNED, SHAPE(4, 2, 3));
    a.mask = artel__op_constant(&g->graph, ARTEL_DTYPE_BOOL, &shape, seen[g->parameter / 2]);
    return artel__op_attention(&g->graph, &a);
}

static bool sees_nothing(int parameter)
{
    return parameter & 2;
}

/* Axes in front, and a mask of each row or one that all share. */
static artel__value_id attention_of_axes(op_graph *g)
{
    static const uint8_t seen[] = {1, 0, 1, 1, 0, 1, 1, 1, 1, 0, 0, 1};
    artel_shape shape = SHAPE(3, 4);
    artel__attention a = {.scale = 0.7f, .causal = !g->parameter, .rate = 0.3};
    a.query = op_row(g, OP_SIGNED, SHAPE(2, 3, 4, 5));
    a.key = op_row(g, OP_SIGNED, SHAPE(2, 4, 2, 5));
    a.value = op_row(g, OP_SIGNED, SHAPE(2, 4, 2, 3));
    a.mask = g->parameter ? artel__op_constant(&g->graph, ARTEL_DTYPE_BOOL, &shape, seen)
                          : op_row(g, OP_BITS, SHAPE(4, 1, 4));
    return artel__op_attention(&g->graph, &a);
}

/* An activation whose gradient reads its argument. */
static artel__value_id recurrent_by_argument(op_graph *g)
{
    artel__cell cell = (artel__cell)(g->parameter / 2);
    int64_t u = 5, gates = artel__cell_gates(cell), t = 4;
    artel__recurrent r = {.settings = {.cell = cell,
                                       .units = u,
                                       .activation = {ARTEL__UNARY_SILU, {0}},
                                       .recurrent = {ARTEL__UNARY_SIGMOID, {0}},
                                       .reset_after = g->parameter & 1}};
    artel_shape columns = SHAPE(gates * u);
    r.projected =
        artel__op_product(&g->graph, op_row(g, OP_SIGNED, SHAPE(t, 3)), op_weight(g, OP_SIGNED, 3, SHAPE(3, gates * u)),
                          ARTEL__NO_VALUE, 1, &columns, ARTEL__FUSED_NONE);
    r.weights = op_weight(g, OP_SIGNED, u, SHAPE(u, gates * u));
    r.mask = op_row(g, OP_BITS, SHAPE(t));
    r.bias = r.h0 = r.c0 = r.keep = ARTEL__NO_VALUE;
    return artel__op_recurrent(&g->graph, &r);
}

const op_family op_cases_recurrent[] = {
    {{.name = "recurrent", .build = recurrent}, 24},
    {{.name = "attention", .build = attention, .training = true}, 16},
    {{.name = "attention lowered", .build = attention_lowered, .flat = sees_nothing}, 4},
    {{.name = "attention of axes", .build = attention_of_axes, .training = true}, 2},
    {{.name = "recurrent without steps", .build = recurrent_without_steps, .bits_only = true}, 6},
    {{.name = "recurrent by argument", .build = recurrent_by_argument}, 6},
    {.count = 0},
};
