/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of gradients: the `grad` of operations that are themselves the gradient of another, written in plain
 * operations, which have gradients again; so reverse mode may be applied to its own results, any number of times. */
#ifndef ARTEL_OP_SECOND_H
#define ARTEL_OP_SECOND_H

#include "op/elementwise.h"
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
/* Of loss_gradient: inputs upstream, target, prediction (second_loss.c). A loss whose second derivative is not written
 * down is named. */
artel_status artel__second_loss(artel__gradient *gradient);

/* Says which part has none. */
artel_status artel__second_refuse(const artel__gradient *gradient, const char *what);

#endif
