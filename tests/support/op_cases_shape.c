/* SPDX-License-Identifier: Apache-2.0 */
/* Small graphs of operations: movement: shapes, windows of axes, maps of images. See op_cases.h. */
#include "support/op_cases.h"
#include "op/elementwise.h"
#include "op/histogram.h"
#include "op/shape_ops.h"

static artel__value_id movement(op_graph *g)
{
    artel__graph *graph = &g->graph;
    artel__value_id x = op_row(g, OP_SIGNED, SHAPE(4, 3, 5)), y = op_row(g, OP_SIGNED, SHAPE(4, 3, 2));
    artel_shape flat = SHAPE(60), wide = SHAPE(2, 4, 3, 5);
    switch (g->parameter) {
    case 0: return artel__op_transpose(graph, x, (int[]){2, 0, 1});
    case 1: return artel__op_pad(graph, x, (int64_t[]){1, 0, 2}, (int64_t[]){0, 2, 1}, 0.5);
    case 2: return artel__op_pad(graph, x, (int64_t[]){-1, 0, 1}, (int64_t[]){0, -1, -2}, 0);
    case 3: return artel__op_slice(graph, x, 2, 1, 2, 2);
    case 4: return artel__op_slice(graph, x, 0, 3, 4, -1);
    case 5: return artel__op_concat(graph, (artel__value_id[]){x, y, x}, 3, -1);
    case 6: return artel__op_repeat(graph, x, 1, 3);
    case 7: return artel__op_resize_bilinear(graph, x, 7, 6);
    case 8: return artel__op_reshape(graph, x, &flat);
    default: return artel__op_broadcast_to(graph, x, &wide);
    }
}

/* More parts than a node has operands are chained: the parts go into one buffer. */
static artel__value_id many_parts(op_graph *g)
{
    artel__value_id x = op_row(g, OP_SIGNED, SHAPE(3)), part[70];
    for (int i = 0; i < 70; i++) part[i] = artel__op_affine(&g->graph, x, 0.1f * (float)i, 0.5f);
    return artel__op_concat(&g->graph, part, 70, 0);
}

/* Outputs that read one place, several, none of the last. */
static artel__value_id band(op_graph *g)
{
    static const int32_t first[] = {0, 0, 1, 3};
    static const float weight[] = {0.5f, 0.25f, 0, 1.5f, -0.5f, 0.125f, 0.5f, 0.25f, 0.25f, 0, -1, 0.75f};
    artel__op_band runs = {.extent = 6, .outputs = 4, .taps = 3, .first = first, .weight = weight};
    artel__value_id x = op_row(g, OP_SIGNED, SHAPE(6, 6, 6));
    return artel__op_band_along(&g->graph, x, g->parameter, &runs);
}

/* A map near the identity, another for each row; then the same with a perspective. */
static artel__value_id warp(op_graph *g)
{
    bool deep = g->parameter >= 8;
    int how = g->parameter % 8;
    artel_shape six = SHAPE(6), two = SHAPE(2), unit = SHAPE(6);
    static const float identity[] = {1, 0, 0, 0, 1, 0};
    artel__value_id x = op_row(g, OP_SIGNED, SHAPE(5, 4, 3));
    artel__value_id map = artel__op_add(&g->graph, artel__op_uniform(&g->graph, x, -0.7, 0.9, &six, how == 3),
                                        artel__op_constant(&g->graph, ARTEL_DTYPE_FLOAT32, &unit, identity));
    artel__warp_settings settings = {
        .height = 4, .width = 6, .bilinear = how % 2 == 0, .mode = (artel__warp_fill)(how / 2), .fill = 0.5f};
    if (deep) {
        artel__value_id depth = artel__op_uniform(&g->graph, x, -0.04, 0.04, &two, false);
        map = artel__op_concat(&g->graph, (artel__value_id[]){map, depth}, 2, 0);
    }
    return artel__op_warp(&g->graph, x, map, &settings);
}

static artel__value_id one_hot(op_graph *g)
{
    return artel__op_one_hot(&g->graph, op_indices(g, 6, SHAPE(3)), 6);
}

/* Places in bins, outside of them too, and back by a table. */
static artel__value_id bins(op_graph *g)
{
    artel__value_id x = artel__op_affine(&g->graph, op_row(g, OP_SIGNED, SHAPE(3, 4, 2)), 5, 2);
    if (g->parameter) return artel__op_lookup(&g->graph, x, op_weight(g, OP_SIGNED, 0, SHAPE(2, 6)));
    return artel__op_histogram(&g->graph, x, 6);
}

const op_family op_cases_shape[] = {
    {{.name = "movement", .build = movement}, 10},
    {{.name = "many parts", .build = many_parts}, 1},
    {{.name = "band", .build = band}, 3},
    {{.name = "warp", .build = warp, .training = true}, 16},
    {{.name = "bins", .build = bins, .kinks = true}, 2},
    {{.name = "one-hot", .build = one_hot, .bits_only = true}, 1},
    {.count = 0},
};
