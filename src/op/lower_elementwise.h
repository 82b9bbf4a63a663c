/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise functions as programs of devices: the formulas of kernel/unary_formula.h and kernel/binary_formula.h. */
#ifndef ARTEL_OP_LOWER_ELEMENTWISE_H
#define ARTEL_OP_LOWER_ELEMENTWISE_H

#include "graph/lower.h"
#include "kernel/elementwise.h"

/* The function, with the constants a, b and c of its node; `d` times its slope, where `v` is what artel__unary_table
 * says that the gradient reads. */
artel__hlo_value artel__lower_function(artel__hlo *h, artel__unary function, const float constant[3],
                                       artel__hlo_value v);
artel__hlo_value artel__lower_slope(artel__hlo *h, artel__unary function, const float constant[3], artel__hlo_value v,
                                    artel__hlo_value d);

/* The forward formula in the words of op/lower_formula.h, of "v" and the constants "a", "b", "c"; of "u" and "v". */
const char *artel__unary_words(artel__unary function);
const char *artel__binary_words(artel__binary function);

void artel__lower_unary(artel__lower *lower);
void artel__lower_unary_gradient(artel__lower *lower);
/* `wrt`: the operand of the gradient. */
void artel__lower_binary(artel__lower *lower, artel__binary function);
void artel__lower_binary_gradient(artel__lower *lower, artel__binary function, int wrt);
/* Input `k`, with its own dtype, as a result of type `to` lies: a ROW one gets axes of extent 1 behind its rows, so
 * that trailing axes meet. Gradients of weights have the elements of their variable under another shape. */
artel__hlo_value artel__lower_spread(artel__lower *lower, int k, const artel__hlo_type *to);
/* Any value as another type, as artel__convert does it: floats to integers towards zero, what is too large to the
 * bound, NaN to 0; numbers to BOOL by whether they are not 0. */
artel__hlo_value artel__lower_convert(artel__hlo *h, artel__hlo_value x, artel_dtype to);

#endif
