/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of gradients: the `grad` of operations that are themselves the gradient of another, written in plain
 * operations, which have gradients again; so reverse mode may be applied to its own results, any number of times. */
#ifndef ARTEL_OP_SECOND_H
#define ARTEL_OP_SECOND_H

#include "kernel/decompose.h"
#include "op/elementwise.h"
#include "op/pairs.h"
#include "op/reduce.h"

/* Of unary_gradient (second_unary.c): inputs dy and x, or y. A function whose second derivative is not written down is
 * named. */
artel_status artel__second_unary(artel__gradient *gradient);
/* Of binary_gradient: inputs dout, a, b; `wrt`: which of the two it is the gradient of. */
artel_status artel__second_binary(artel__gradient *gradient, artel__binary function, int wrt);
/* Of reduce_gradient: inputs x, y, dy. */
artel_status artel__second_reduce(artel__gradient *gradient);
/* Of softmax_gradient: inputs dy, y. */
artel_status artel__second_softmax(artel__gradient *gradient);
/* Of a fold and of the collective behind it, which hands on what it gets: each row contributed once. */
artel_status artel__second_fold_sum(artel__gradient *gradient);
artel_status artel__second_all_reduce(artel__gradient *gradient);

/* Of conv2d_data_gradient (inputs dy, turned weights), depthwise_data_gradient (dy, weights), and both weight gradients
 * (x, dy). */
artel_status artel__second_conv_data(artel__gradient *gradient);
artel_status artel__second_depthwise_data(artel__gradient *gradient);
artel_status artel__second_conv_weights(artel__gradient *gradient);
/* Of loss_gradient: inputs upstream, target, prediction (second_loss.c). */
artel_status artel__second_loss(artel__gradient *gradient);

/* Of what normalisations are differentiated by (second_norm.c): normalise_gradient (dy, x, y, mean, inverse, gamma,
 * sums), normalise_gradient_rows (x, y, dy, mean, inverse), layer_norm_gradient (dy, x, mean, inverse, gamma),
 * layer_norm_parameters (dy, x, mean, inverse). What comes back for x has passed mean and inverse as well, where these
 * are of x. */
artel_status artel__second_normalise(artel__gradient *gradient);
artel_status artel__second_normalise_rows(artel__gradient *gradient);
artel_status artel__second_layer_norm(artel__gradient *gradient);
artel_status artel__second_layer_norm_parameters(artel__gradient *gradient);
/* Of pool_gradient: inputs dy, x, y (second_pool.c). */
artel_status artel__second_pool(artel__gradient *gradient);
/* Of align_gradient: inputs upstream, labels, logits (second_align.c). */
artel_status artel__second_align(artel__gradient *gradient);
/* Of pairs_gradient: inputs x, labels, sums, upstream, all gathered (second_pairs.c). */
artel_status artel__second_pairs(artel__gradient *gradient, const artel__pairs_settings *settings);
/* Of decompose_gradient: inputs a, its factors, what comes back to them (second_decompose.c). */
artel_status artel__second_decompose(artel__gradient *gradient, artel__decomposition function);

/* -- for gradients that have to be written anew: the operation once more, of operations that have gradients, and its
 * gradient taken from these (second_anew.c) -- */

/* x as a value of its own, which nothing else depends on; none of none. */
artel__value_id artel__second_leaf(artel__graph *graph, artel__value_id x);

/* out[i]: what comes back to leaf i where seed[k] comes back to target[k]; targets and seeds that are absent count for
 * nothing. */
typedef struct artel__slopes {
    artel__value_id target[4], seed[4];
    int targets;
    const artel__value_id *leaf;
    int leaves;
} artel__slopes;
artel_status artel__second_slopes(artel__graph *graph, const artel__slopes *slopes, artel__value_id *out);

/* A gradient node of which dx was written anew from leaves: what comes back to it goes on to them. leaf[i] was made of
 * input `input[i]`, whose gradient is filled in. */
artel_status artel__second_finish(artel__gradient *gradient, const artel__slopes *slopes, const int *input);

/* The same of an operation of two leaves: y, written of leaf[0], is what dx is the gradient of, by leaf[0]; `seed`,
 * made of leaf[1], is what comes back to y. */
artel_status artel__second_written(artel__gradient *gradient, artel__value_id y, artel__value_id seed,
                                   const artel__value_id leaf[2], const int input[2]);

/* Says which part has none. */
artel_status artel__second_refuse(const artel__gradient *gradient, const char *what);

#endif
