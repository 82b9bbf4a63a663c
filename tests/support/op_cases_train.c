/* SPDX-License-Identifier: Apache-2.0 */
/* Small graphs of operations: losses, steps of optimizers, 16-bit values, loss scaling. See op_cases.h. */
#include "support/op_cases.h"
#include "op/align.h"
#include "op/batch.h"
#include "op/elementwise.h"
#include "op/loss.h"
#include "op/pairs.h"
#include "op/optimize.h"
#include "op/stand_in.h"
#include "op/step_number.h"

static artel__value_id loss(op_graph *g)
{
    artel__loss_input s = {
        .op = (artel__loss)g->parameter, .a = g->parameter == ARTEL__LOSS_HUBER ? 0.5f : 0.1f, .b = 0.25f, .c = 2.0f};
    bool hinge = s.op == ARTEL__LOSS_HINGE || s.op == ARTEL__LOSS_SQUARED_HINGE;
    artel__value_id x = op_row(g, OP_SIMPLEX, SHAPE(3, 5));
    if (artel__loss_is_sparse(s.op)) {
        s.has_ignored_class = true;
        s.ignored_class = 2;
        return artel__op_loss(&g->graph, &s, op_indices(g, 5, SHAPE(3)), x);
    }
    /* TensorFlow's gradient of the crossentropy of logits takes it that targets add up to 1. */
    op_numbers numbers = hinge                                                 ? OP_SIGNED
                         : s.op == ARTEL__LOSS_CATEGORICAL_CROSSENTROPY_LOGITS ? OP_SIMPLEX
                                                                               : OP_POSITIVE;
    artel__value_id target = op_row(g, numbers, SHAPE(3, 5));
    g->fed[g->feds - 1].wanted = false;
    if (s.op <= ARTEL__LOSS_MEAN_ABSOLUTE_PERCENTAGE_ERROR) target = artel__op_affine(&g->graph, target, 1.0f, 2.0f);
    return artel__op_loss(&g->graph, &s, target, x);
}

/* Labels of two classes and blanks, with repetitions. */
static artel__value_id align(op_graph *g)
{
    return artel__op_align(&g->graph, op_indices(g, 3, SHAPE(2)), op_row(g, OP_SIGNED, SHAPE(5, 3)));
}

static artel__value_id pairs(op_graph *g)
{
    artel__pairs_settings s = {.gamma = 4, .margin = 0.3, .others = g->parameter};
    artel__value_id x = op_row(g, OP_SIGNED, SHAPE(3));
    g->graph.batch_size = 64;
    return artel__op_pairs(&g->graph, &s, op_indices(g, 2, (artel_shape){.rank = 0}),
                           artel__op_affine(&g->graph, x, 0.3f, 0));
}

static artel__value_id loss_seed(op_graph *g)
{
    artel__value_id like = op_row(g, OP_SIGNED, SHAPE(3)), weights = op_row(g, OP_POSITIVE, SHAPE(3));
    artel__loss_seed seed = {
        .like = like, .weights = weights, .denominator = ARTEL__NO_VALUE, .scale = 1.5, .sum = g->parameter};
    return artel__op_loss_seed(&g->graph, &seed);
}

static artel__value_id optimize(op_graph *g)
{
    artel__graph *graph = &g->graph;
    artel__rule rule = (artel__rule)g->parameter;
    artel__optimize o = {.options = {.rule = rule,
                                     .momentum = 0.9,
                                     .rho = 0.9,
                                     .beta_1 = 0.9,
                                     .beta_2 = 0.99,
                                     .epsilon = 1e-7,
                                     .nesterov = true,
                                     .amsgrad = true,
                                     .centered = true,
                                     .learning_rate_power = -0.5,
                                     .l1 = 0.01,
                                     .weight_decay = 0.01},
                         .clip = ARTEL__CLIP_NORM,
                         .limit = 1.0,
                         .u_product = ARTEL__NO_VALUE,
                         .squares = ARTEL__NO_VALUE,
                         .slots = 3};
    artel_shape shape = SHAPE(7, 37);
    o.variable = op_weight(g, OP_SIGNED, 7, shape);
    o.gradient = op_weight(g, OP_SIGNED, 7, shape);
    for (int i = 0; i < o.slots; i++) o.slot[i] = op_weight(g, OP_POSITIVE, 7, shape);
    o.squared_norm = artel__op_squared_norm(graph, o.gradient);
    artel__value_id penalty[] = {o.squared_norm, artel__op_absolute_norm(graph, o.variable),
                                 artel__op_penalty(graph, o.variable, 0.1, 0.2)};
    artel__value_id result = artel__op_sum_scalars(graph, penalty, 3);
    o.gradient = artel__op_regularise(graph, o.gradient, o.variable, 0.01, 0.02);
    graph->phase = ARTEL__PHASE_APPLY;
    if (rule == ARTEL__RULE_NADAM) {
        o.u_product = op_weight(g, OP_POSITIVE, 0, SCALAR);
        artel__op_nadam_product(graph, o.u_product, 0.9);
    }
    artel__op_optimize(graph, &o);
    if (rule == ARTEL__RULE_LAMB)
        artel__op_lamb_step(graph, o.variable, o.slot[2], artel__op_squared_norm(graph, o.variable),
                            artel__op_squared_norm(graph, o.slot[2]));
    artel__op_moving_average(graph, op_weight(g, OP_SIGNED, 7, shape), o.variable, 0.9f);
    artel__op_ema(graph, op_weight(g, OP_SIGNED, 7, shape), o.variable, 0.99, 2, 1 + rule % 2);
    artel__op_assign(graph, op_weight(g, OP_SIGNED, 7, shape), o.variable);
    artel__op_accumulate(graph, op_weight(g, OP_SIGNED, 7, shape), o.gradient, 1 + rule % 2);
    artel__op_clear(graph, op_weight(g, OP_SIGNED, 7, shape));
    artel__constrain_config config = {
        .op = (artel__constraint)(rule % 4), .a = 0.5f, .b = 1.0f, .c = 0.5f, .from = 0, .to = 1};
    artel__op_constrain(graph, &config, o.variable);
    return result;
}

static artel__value_id narrow(op_graph *g)
{
    artel__value_id x = artel__op_narrow(&g->graph, op_row(g, OP_SIGNED, SHAPE(3, 7)), ARTEL_DTYPE_FLOAT16);
    if (!g->parameter) return x;
    return artel__op_narrow(&g->graph, artel__op_unary(&g->graph, ARTEL__UNARY_TANH, NULL, x), ARTEL_DTYPE_BFLOAT16);
}

/* A step of dynamic loss scaling: with a finite norm and growth at each step, the scale doubles. */
static artel__value_id loss_scale(op_graph *g)
{
    artel__graph *graph = &g->graph;
    artel_shape scalar = SCALAR;
    artel__value_id scale = op_weight(g, OP_POSITIVE, 0, scalar);
    int index = artel__variables_add(&g->variables, "count", ARTEL__VARIABLE_SLOT, ARTEL_DTYPE_INT64, &scalar, 0);
    artel__value_id result = artel__op_unscale(graph, op_weight(g, OP_SIGNED, 7, SHAPE(7, 37)), scale);
    artel__value_id norm = artel__op_squared_norm(graph, result);
    graph->phase = ARTEL__PHASE_APPLY;
    artel__op_loss_scale(graph, scale, artel__graph_variable(graph, index), norm, g->parameter ? 2000 : 1);
    return result;
}

/* A variable of a 16-bit type, in panels, that takes numbers of float32. */
static artel__value_id round_variable(op_graph *g)
{
    artel__graph *graph = &g->graph;
    artel_shape shape = SHAPE(7, 37);
    artel__value_id from = op_weight(g, OP_SIGNED, 7, shape);
    artel_dtype dtype = g->parameter ? ARTEL_DTYPE_FLOAT16 : ARTEL_DTYPE_BFLOAT16;
    int index = artel__variables_add(&g->variables, "held", ARTEL__VARIABLE_TRAINABLE, dtype, &shape, 7);
    graph->phase = ARTEL__PHASE_APPLY;
    artel__op_assign(graph, artel__graph_variable(graph, index), from);
    artel__op_round_variables(graph);
    graph->phase = ARTEL__PHASE_FORWARD;
    return artel__op_squared_norm(graph, from);
}

/* A variable of whole numbers, or of truth values, that takes what is made of float32. */
static artel__value_id store(op_graph *g)
{
    artel__graph *graph = &g->graph;
    artel_shape shape = SHAPE(5, 3);
    artel_dtype dtype = g->parameter ? ARTEL_DTYPE_BOOL : ARTEL_DTYPE_INT32;
    artel__value_id from = op_weight(g, OP_SIGNED, 0, shape);
    int index = artel__variables_add(&g->variables, "held", ARTEL__VARIABLE_TRAINABLE, dtype, &shape, 0);
    artel__value_id value = artel__op_cast(graph, artel__op_affine(graph, from, 10, 0), dtype);
    graph->phase = ARTEL__PHASE_APPLY;
    artel__op_assign(graph, artel__graph_variable(graph, index), value);
    graph->phase = ARTEL__PHASE_FORWARD;
    return artel__op_squared_norm(graph, from);
}

/* Numbers of the step, and a matrix in panels and out of them. */
static artel__value_id step_numbers(op_graph *g)
{
    artel__graph *graph = &g->graph;
    artel__value_id x = artel__op_plain(graph, op_weight(g, OP_SIGNED, 7, SHAPE(7, 37)), 7);
    artel__value_id w = op_weight(g, OP_SIGNED, 7, SHAPE(7, 37)),
                    n = artel__op_step_number(graph, (artel__step_number)g->parameter, -0.8);
    graph->phase = ARTEL__PHASE_APPLY;
    artel__op_assign(graph, w, artel__op_panels_of(graph, artel__op_binary(graph, ARTEL__BINARY_MUL, x, n), 7));
    graph->phase = ARTEL__PHASE_FORWARD;
    return artel__op_squared_norm(graph, x);
}

/* What is read is the value; the gradient is that of the variable, as if it were added to what the value is without it.
 */
static artel__value_id stand_in(op_graph *g)
{
    artel__graph *graph = &g->graph;
    artel__value_id w = op_weight(g, OP_SIGNED, 0, SHAPE(3, 4)), x = op_row(g, OP_SIGNED, SHAPE(3, 4));
    artel__value_id value = artel__op_affine(graph, w, 1, 0.25f);
    return artel__op_binary(graph, ARTEL__BINARY_MUL, x, artel__op_stand_in(graph, value, w));
}

static artel__value_id shuffle(op_graph *g)
{
    artel__value_id keys = op_row(g, OP_POSITIVE, SHAPE(1));
    return artel__op_shuffle(&g->graph, op_row(g, OP_SIGNED, SHAPE(2, 3)), artel__op_stop_gradient(&g->graph, keys));
}

const op_family op_cases_train[] = {
    {{.name = "loss", .build = loss, .tolerance = 0.01}, ARTEL__LOSS_COUNT},
    {{.name = "align", .build = align, .tolerance = 0.01}, 1},
    {{.name = "pairs", .build = pairs, .tolerance = 0.01}, 2},
    {{.name = "shuffle", .build = shuffle, .tolerance = 0.01}, 1},
    {{.name = "stand-in", .build = stand_in}, 1},
    {{.name = "loss seed", .build = loss_seed, .bits_only = true}, 2},
    {{.name = "narrow", .build = narrow, .tolerance = 0.25}, 1},
    {{.name = "narrow twice", .build = narrow, .parameter = 1, .bits_only = true}, 1},
    {{.name = "step numbers", .build = step_numbers, .bits_only = true}, 3},
    {{.name = "round variable", .build = round_variable, .bits_only = true}, 2},
    {{.name = "store", .build = store, .bits_only = true}, 2},
    {{.name = "loss scale", .build = loss_scale, .bits_only = true}, 2},
    {{.name = "optimize", .build = optimize, .bits_only = true}, ARTEL__RULE_COUNT},
    {.count = 0},
};
