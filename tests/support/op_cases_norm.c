/* SPDX-License-Identifier: Apache-2.0 */
/* Small graphs of operations: normalisation, pooling, embedding. See op_cases.h. */
#include <math.h>

#include "support/op_cases.h"
#include "op/elementwise.h"
#include "op/embed.h"
#include "op/fuse.h"
#include "op/norm.h"
#include "op/optimize.h"

static artel__value_id batch_norm(op_graph *g)
{
    artel__batch_norm norm = {.epsilon = 1e-2f, .momentum = 0.9, .update = g->parameter != 2};
    norm.x = op_row(g, OP_SIGNED, SHAPE(3, 2, 5));
    if (g->parameter != 1)
        norm.gamma = op_weight(g, OP_SIGNED, 0, SHAPE(5));
    else
        norm.gamma = ARTEL__NO_VALUE;
    norm.beta = op_weight(g, OP_SIGNED, 0, SHAPE(5));
    norm.mean = op_weight(g, OP_SIGNED, 0, SHAPE(5));
    norm.variance = op_weight(g, OP_POSITIVE, 0, SHAPE(5));
    return g->parameter == 2 ? artel__op_batch_norm_inference(&g->graph, &norm)
                             : artel__op_batch_norm_training(&g->graph, &norm);
}

/* A residual and ReLU or ReLU6 join the normalisation. */
static artel__value_id batch_norm_fused(op_graph *g)
{
    artel__batch_norm norm = {.epsilon = 1e-2f, .momentum = 0.9, .update = true};
    artel__value_id other = op_row(g, OP_SIGNED, SHAPE(3, 2, 5));
    norm.x = op_row(g, OP_SIGNED, SHAPE(3, 2, 5));
    norm.gamma = op_weight(g, OP_SIGNED, 0, SHAPE(5));
    norm.beta = op_weight(g, OP_SIGNED, 0, SHAPE(5));
    norm.mean = op_weight(g, OP_SIGNED, 0, SHAPE(5));
    norm.variance = op_weight(g, OP_POSITIVE, 0, SHAPE(5));
    artel__value_id y = artel__op_batch_norm_training(&g->graph, &norm), *kept = &y;
    if (g->parameter & 1) y = artel__op_add(&g->graph, y, other);
    y = artel__op_unary(&g->graph, ARTEL__UNARY_RELU6, NULL,
                        g->parameter & 2 ? artel__op_affine(&g->graph, y, 8, 0) : y);
    assert_int_equal(artel__op_fuse(&g->graph, &kept, 1), ARTEL_OK);
    return y;
}

static artel__value_id layer_norm(op_graph *g)
{
    artel__value_id x = op_row(g, OP_SIGNED, SHAPE(3, 2, 6)), gamma = op_weight(g, OP_SIGNED, 0, SHAPE(6));
    bool shifts = g->parameter == ARTEL__LAYER_NORM_LAYER;
    return artel__op_layer_norm(&g->graph, (artel__layer_norm_mode)g->parameter, x,
                                g->parameter == ARTEL__LAYER_NORM_UNIT ? ARTEL__NO_VALUE : gamma,
                                shifts ? op_weight(g, OP_SIGNED, 0, SHAPE(6)) : ARTEL__NO_VALUE, 1, 1e-2f);
}

static artel__value_id pool(op_graph *g)
{
    artel__pool_shape shape = {.channels = 3};
    artel__pool_axis(&shape, 0, 1, 1, 1, false);
    artel__pool_axis(&shape, 1, 6, 3, 2, g->parameter & 2);
    artel__pool_axis(&shape, 2, 5, 2, 1, g->parameter & 2);
    return artel__op_pool(&g->graph, (artel__pool_op)(g->parameter & 1), op_row(g, OP_APART, SHAPE(6, 5, 3)), &shape);
}

/* What the pool reads is needed by nobody else: gradients are written over it. */
static artel__value_id pool_apart(op_graph *g)
{
    artel__pool_shape shape = {.channels = 3};
    artel__pool_axis(&shape, 0, 1, 1, 1, false);
    artel__pool_axis(&shape, 1, 6, 2, 2 + (g->parameter >> 1), false);
    artel__pool_axis(&shape, 2, 5, 2, 2, g->parameter & 1);
    return artel__op_pool(&g->graph, ARTEL__POOL_MAX,
                          artel__op_affine(&g->graph, op_row(g, OP_APART, SHAPE(6, 5, 3)), 1.5f, 0.1f), &shape);
}

/* The gradient of the pool is that of the ReLU too. */
static artel__value_id pool_behind_relu(op_graph *g)
{
    static const float plain[] = {0, INFINITY, 0};
    artel__pool_shape shape = {.channels = 3};
    artel__pool_axis(&shape, 0, 1, 1, 1, false);
    artel__pool_axis(&shape, 1, 6, 2 + g->parameter, 2, true);
    artel__pool_axis(&shape, 2, 5, 2 + g->parameter, 2, true);
    artel__value_id x = artel__op_affine(&g->graph, op_row(g, OP_SIGNED, SHAPE(6, 5, 3)), 1.5f, 0.1f);
    return artel__op_pool(&g->graph, ARTEL__POOL_MAX, artel__op_unary(&g->graph, ARTEL__UNARY_RELU, plain, x), &shape);
}

static artel__value_id embedding(op_graph *g)
{
    artel__value_id table = op_weight(g, OP_SIGNED, 0, SHAPE(11, 4));
    artel__value_id one = artel__op_embedding(&g->graph, table, op_indices(g, 11, SHAPE(3, 2)));
    return g->parameter ? artel__op_unary(&g->graph, ARTEL__UNARY_TANH, NULL, one) : one;
}

/* A table and a step on the rows of its gradient. */
static artel__value_id embedding_rows(op_graph *g)
{
    artel__graph *graph = &g->graph;
    artel__value_id table = op_weight(g, OP_SIGNED, 0, SHAPE(1100, 4)), index = op_indices(g, 1100, SHAPE(3, 2));
    artel__value_id result = artel__op_embedding(graph, table, index), gradient;
    artel__differentiate d = {.add = &artel__op_binary_def, .targets = &result, .seeds = &result, .target_count = 1};
    d.wanted = &table;
    d.wanted_count = 1;
    graph->batch_size = 64;
    assert_int_equal(artel__graph_differentiate(graph, &d, &gradient), ARTEL_OK);
    artel__optimize o = {
        .options = {.rule = ARTEL__RULE_ADAGRAD, .epsilon = 1e-7}, .squared_norm = ARTEL__NO_VALUE, .rows = true};
    artel__embedding_rows rows;
    assert_null(artel__op_embedding_rows(graph, gradient, true, &rows));
    o.u_product = o.scale = ARTEL__NO_VALUE;
    o.variable = table;
    o.slot[0] = op_weight(g, OP_POSITIVE, 0, SHAPE(1100, 4));
    o.slots = 1;
    o.gradient = rows.rows, o.squares = rows.squares, o.token = rows.token, o.count = rows.count;
    o.others = g->parameter == 1;
    artel__op_optimize(graph, &o);
    graph->batch_size = 200; /* 1200 indices */
    assert_non_null(artel__op_embedding_rows(graph, gradient, true, &rows));
    assert_non_null(artel__op_embedding_rows(graph, result, true, &rows));
    return result;
}

const op_family op_cases_norm[] = {
    {{.name = "batch norm", .build = batch_norm, .training = true, .tolerance = 0.01}, 2},
    {{.name = "batch norm inference", .build = batch_norm, .parameter = 2}, 1},
    {{.name = "batch norm fused", .build = batch_norm_fused, .kinks = true, .training = true}, 4},
    {{.name = "layer norm", .build = layer_norm, .tolerance = 5e-3}, 4},
    {{.name = "pool", .build = pool}, 4},
    {{.name = "pool apart", .build = pool_apart}, 4},
    {{.name = "pool behind relu", .build = pool_behind_relu, .kinks = true}, 2},
    {{.name = "embedding", .build = embedding}, 2},
    {{.name = "embedding rows", .build = embedding_rows, .bits_only = true}, 2},
    {.count = 0},
};
