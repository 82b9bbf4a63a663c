/* SPDX-License-Identifier: Apache-2.0 */
/* APPLY operations: optimizers, clipping, regularisers, constraints, moving averages. All take GLOBAL values. */
#ifndef ARTEL_OP_OPTIMIZE_H
#define ARTEL_OP_OPTIMIZE_H

#include "kernel/optimize.h"
#include "op/op.h"

/* One optimizer step on one variable: writes the variable and its slots. The learning rate and the iteration come from
 * artel__step. Slots in the order of kernel/optimize.h. */
typedef struct artel__optimize {
    artel__apply_options options; /* weight_decay 0 for variables that do not decay */
    artel__clip clip;
    double limit;                 /* of the clip */
    artel__value_id squared_norm; /* float64 [1]: of this gradient (NORM) or of all (SCALE); else none */
    artel__value_id u_product;    /* NADAM: the scalar variable, updated by artel__op_nadam_product before */
    artel__value_id variable, gradient, slot[ARTEL__APPLY_SLOTS];
    artel__value_id
        scale; /* float32 scalar that the gradient is divided by: the loss scale; or none. Not with a clip. */
    artel__value_id squares; /* of artel__op_embedding_occurrences, or none */
    int slots;
    bool rows;                    /* gradient and squares are those of artel__op_embedding_rows */
    artel__value_id token, count; /* likewise */
    bool others;                  /* with rows: all other rows of the table take a step with the gradient 0 */
} artel__optimize;
void artel__op_optimize(artel__graph *graph, const artel__optimize *optimize);
extern const artel__op_def artel__op_optimize_def;
/* Of an optimize node without a clip whose gradient is nothing but `narrow`, to bfloat16, of a value: the step rounds
 * while it reads. */
void artel__op_optimize_narrow(artel__graph *graph, artel__node *node, const artel__node *narrow);
/* LAMB's second half: direction and the two squared norms. */
void artel__op_lamb_step(artel__graph *graph, artel__value_id variable, artel__value_id direction,
                         artel__value_id variable_norm, artel__value_id direction_norm);
void artel__op_nadam_product(artel__graph *graph, artel__value_id u_product, double beta_1);

/* Dynamic loss scaling: the float32 scale is doubled after `growth_steps` steps in a row whose norm was finite, and
 * halved after each other one; `count`, int64, counts them. */
void artel__op_loss_scale(artel__graph *graph, artel__value_id scale, artel__value_id count, artel__value_id norm,
                          int64_t growth_steps);
/* x / scale, a parameter-shaped value by a float32 scalar. */
extern const artel__op_def artel__op_unscale_def;
artel__value_id artel__op_unscale(artel__graph *graph, artel__value_id x, artel__value_id scale);

/* Sum of squares of a parameter-shaped value -> GLOBAL float64 [1], in blocks of 4,096 elements (DESIGN section 2). */
artel__value_id artel__op_squared_norm(artel__graph *graph, artel__value_id x);
/* Sum of absolute values, likewise. */
artel__value_id artel__op_absolute_norm(artel__graph *graph, artel__value_id x);
/* Such a number by a factor. */
artel__value_id artel__op_norm_scaled(artel__graph *graph, artel__value_id norm, double scale);
/* The sum of float64 scalars in order. */
artel__value_id artel__op_sum_scalars(artel__graph *graph, const artel__value_id *x, int count);
/* gradient + l1 * sign(w) + 2 * l2 * w. */
extern const artel__op_def artel__op_flat_def; /* what it makes */
artel__value_id artel__op_regularise(artel__graph *graph, artel__value_id gradient, artel__value_id variable, double l1,
                                     double l2);
/* l1 * sum |w| + l2 * sum w^2 -> GLOBAL float64 [1], blocks as in the squared norm. */
artel__value_id artel__op_penalty(artel__graph *graph, artel__value_id variable, double l1, double l2);
/* variable = variable * momentum + value * (1 - momentum): moving statistics. */
void artel__op_moving_average(artel__graph *graph, artel__value_id variable, artel__value_id value, double momentum);
/* variable = variable, rounded to its dtype. */
void artel__op_round_variable(artel__graph *graph, artel__value_id variable);
/* Once the whole step is built: what it writes of variables of 16-bit types is rounded in the end. */
void artel__op_round_variables(artel__graph *graph);
/* variable = value. */
/* Of whole numbers and truth values their bytes (store.c). */
extern const artel__op_def artel__op_store_def;
void artel__op_assign(artel__graph *graph, artel__value_id variable, artel__value_id value);
/* Projection of a variable after the optimizer's step. */
/* Norms run over the axes [from, to) of the variable's plain shape; for panels these may not reach into the columns. */
typedef struct artel__constrain_config {
    artel__constraint op;
    float a, b, c;
    int from, to;
} artel__constrain_config;
void artel__op_constrain(artel__graph *graph, const artel__constrain_config *config, artel__value_id variable);
/* variable = momentum * variable + (1 - momentum) * value, momentum 0 at iteration 0: Keras' use_ema. `every` > 0 also
 * writes the average into `value` (a variable) each so many iterations. An iteration is `period` steps. */
void artel__op_ema(artel__graph *graph, artel__value_id average, artel__value_id value, double momentum, int64_t every,
                   int64_t period);
/* Gradient accumulation: sum += gradient; in the last of `period` steps sum = (gradient + sum) / period. */
void artel__op_accumulate(artel__graph *graph, artel__value_id sum, artel__value_id gradient, int64_t period);
/* What `sum` would be after that, which it is not. */
artel__value_id artel__op_accumulated(artel__graph *graph, artel__value_id sum, artel__value_id gradient,
                                      int64_t period);
/* variable = 0. */
void artel__op_clear(artel__graph *graph, artel__value_id variable);

#endif
