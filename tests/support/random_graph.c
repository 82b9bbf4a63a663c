/* SPDX-License-Identifier: Apache-2.0 */
#include "support/random_graph.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "op/elementwise.h"
#include "op/norm.h"
#include "op/optimize.h"
#include "op/reduce.h"
#include "op/shape_ops.h"

enum {
    WIDTH = RANDOM_GRAPH_WIDTH,
    MADE = 40
};

static uint32_t draw(uint32_t *state, uint32_t below)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % below;
}

static artel__value_id random_node(artel__graph *g, uint32_t *r, const artel__value_id *pool, int count,
                                   artel__value_id w, artel__value_id bias)
{
    artel_shape flat = {.rank = 1, .dim = {WIDTH}}, square = {.rank = 2, .dim = {2, 3}};
    artel__value_id a = pool[draw(r, (uint32_t)count)], b = pool[draw(r, (uint32_t)count)];
    switch (draw(r, 12)) {
    case 0: return artel__op_unary(g, ARTEL__UNARY_TANH, NULL, a);
    case 1: return artel__op_unary(g, ARTEL__UNARY_SILU, NULL, a);
    case 2: return artel__op_add(g, a, b);
    case 3: return artel__op_binary(g, ARTEL__BINARY_MUL, a, bias);
    case 4: return artel__op_softmax(g, ARTEL__SOFTMAX, a, 0);
    case 5: return artel__op_product(g, a, w, bias, 1, &flat, ARTEL__FUSED_RELU);
    case 6:
        return artel__op_reshape(g, artel__op_unary(g, ARTEL__UNARY_SQUARE, NULL, artel__op_reshape(g, a, &square)),
                                 &flat);
    case 7: return artel__op_slice(g, artel__op_concat(g, (artel__value_id[]){a, b}, 2, 0), 0, 3, WIDTH, 1);
    case 8: return artel__op_dropout(g, a, 0.3, &(artel_shape){.rank = 0});
    case 9: return artel__op_layer_norm(g, ARTEL__LAYER_NORM_LAYER, a, bias, ARTEL__NO_VALUE, 1, 1e-3f);
    case 10:
        return artel__op_batch_norm_training(
            g, &(artel__batch_norm){.x = a, .gamma = bias, .beta = bias, .epsilon = 1e-3f});
    default:
        return artel__op_reshape(g, artel__op_transpose(g, artel__op_reshape(g, a, &square), (int[]){1, 0}), &flat);
    }
}

void random_graph_build(artel__graph *g, artel__variables *variables, uint32_t seed)
{
    artel_shape shape = {.rank = 1, .dim = {WIDTH}}, matrix = {.rank = 2, .dim = {WIDTH, WIDTH}};
    artel__variables_add(variables, "w", ARTEL__VARIABLE_TRAINABLE, ARTEL_DTYPE_FLOAT32, &matrix, WIDTH);
    artel__variables_add(variables, "b", ARTEL__VARIABLE_TRAINABLE, ARTEL_DTYPE_FLOAT32, &shape, 0);
    artel__value_id wanted[3], gradient[3], made[MADE + 1], out;
    made[0] = wanted[2] = artel__graph_input(g, ARTEL__DOMAIN_ROW, ARTEL_DTYPE_FLOAT32, &shape);
    wanted[0] = artel__graph_variable(g, 0);
    wanted[1] = artel__graph_variable(g, 1);
    for (int i = 1; i <= MADE; i++) {
        made[i] = random_node(g, &seed, made, i, wanted[0], wanted[1]);
        if (draw(&seed, 6) == 0) artel__graph_keep(g, made[i]);
    }
    out = made[MADE];
    for (int i = MADE - 4; i < MADE; i++) out = artel__op_add(g, out, made[i]);
    artel__value_id seeds = artel__op_fill_like(g, out, 0.5);
    artel__differentiate request = {.add = &artel__op_binary_def,
                                    .targets = &out,
                                    .seeds = &seeds,
                                    .target_count = 1,
                                    .wanted = wanted,
                                    .wanted_count = 3};
    artel__graph_keep(g, out);
    assert_int_equal(artel__graph_differentiate(g, &request, gradient), ARTEL_OK);
    if (gradient[2] >= 0) artel__graph_keep(g, gradient[2]);
    g->phase = ARTEL__PHASE_APPLY;
    for (int i = 0; i < 2; i++) {
        artel__optimize o = {.options = {.rule = ARTEL__RULE_SGD},
                             .squared_norm = ARTEL__NO_VALUE,
                             .u_product = ARTEL__NO_VALUE,
                             .squares = ARTEL__NO_VALUE,
                             .scale = ARTEL__NO_VALUE,
                             .variable = wanted[i],
                             .gradient = gradient[i]};
        if (gradient[i] >= 0) artel__op_optimize(g, &o);
    }
}
