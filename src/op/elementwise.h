/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise operations: unary functions, arithmetic with broadcasting, casts, selection, random masks. */
#ifndef ARTEL_OP_ELEMENTWISE_H
#define ARTEL_OP_ELEMENTWISE_H

#include "kernel/elementwise.h"
#include "op/op.h"

/* out = f(x); the functions, their parameters and formulas are the rows of the table in kernel/elementwise.h.
 * `parameter` holds the constants a, b, c of the row, NULL for none. */
artel__value_id artel__op_unary(artel__graph *graph, artel__unary function, const float parameter[3],
                                artel__value_id x);
/* The same with constants that float64 takes as they are. */
artel__value_id artel__op_unary_exact(artel__graph *graph, artel__unary function, const double parameter[3],
                                      artel__value_id x);
/* dy where out > 0, else +0.0f: the gradient through a fused ReLU. */
artel__value_id artel__op_relu_mask(artel__graph *graph, artel__value_id dy, artel__value_id out);

/* What a unary node and its gradient are of; NULL: the node is neither. */
typedef struct artel__unary_attributes {
    artel__unary function;
    float parameter[3];
    double exact[3]; /* the same, not rounded: for float64 */
} artel__unary_attributes;
const artel__unary_attributes *artel__op_unary_read(const artel__node *node);

/* out = a op b, NumPy broadcasting over the row shape; a ROW value meets a GLOBAL one row by row. The gradient of a
 * GLOBAL operand passes through a fold and an all-reduce. */
artel__value_id artel__op_binary(artel__graph *graph, artel__binary function, artel__value_id a, artel__value_id b);
artel__value_id artel__op_add(artel__graph *graph, artel__value_id a, artel__value_id b);
artel__binary artel__op_binary_function(const artel__node *node); /* of a node of artel__op_binary_def */
extern const artel__op_def artel__op_unary_def;
extern const artel__op_def artel__op_unary_gradient_def; /* inputs: dy and what the function's row reads */
extern const artel__op_def artel__op_binary_def;         /* with zero attributes: addition, for sums of gradients */
/* Sums x over the axes along which `like` was broadcast to it, rows included when `like` is GLOBAL. */
artel__value_id artel__op_sum_to(artel__graph *graph, artel__value_id x, artel__value_id like);

/* For other files of element-wise operations: the broadcast of the inputs as output 0; the kernel's loop over inputs
 * first .. first + operands - 1 for the index space of `like`. */
artel_status artel__infer_broadcast(artel__infer *infer, int operands, artel_dtype dtype);
void artel__args_loop(const artel__run_args *args, int first, int operands, artel__value_id like, artel__loop *loop);
/* out = x * scale + offset, product and sum rounded once each; of float32 the constants, too. */
artel__value_id artel__op_affine(artel__graph *graph, artel__value_id x, double scale, double offset);

/* Comparisons give uint8 0 or 1 (BOOL). */
artel__value_id artel__op_compare(artel__graph *graph, artel__comparison function, artel__value_id a,
                                  artel__value_id b);
artel__value_id artel__op_compare_scalar(artel__graph *graph, artel__comparison function, artel__value_id a, double b);
artel__value_id artel__op_logical_and(artel__graph *graph, artel__value_id a, artel__value_id b);
artel__value_id artel__op_logical_or(artel__graph *graph, artel__value_id a, artel__value_id b);
artel__value_id artel__op_logical_not(artel__graph *graph, artel__value_id a);
/* condition ? a : b with broadcasting of the three. */
artel__value_id artel__op_where(artel__graph *graph, artel__value_id condition, artel__value_id a, artel__value_id b);
artel__value_id artel__op_cast(artel__graph *graph, artel__value_id x, artel_dtype dtype);
/* x rounded to a 16-bit type and marked as such; x itself where nothing is to be done (FLOAT32, other dtypes, rounded
 * already). */
artel__value_id artel__op_narrow(artel__graph *graph, artel__value_id x, artel_dtype to);
extern const artel__op_def artel__op_narrow_def;
/* Once the whole step is built: gradients of weights that only the optimizer reads are rounded in the APPLY phase, so
 * that their all-reduces may go on to the end of the backward pass. */
void artel__op_narrow_late(artel__graph *graph);
/* Stops the gradient. */
artel__value_id artel__op_stop_gradient(artel__graph *graph, artel__value_id x);
/* A GLOBAL constant in the graph: count(shape) elements of dtype, copied. */
artel__value_id artel__op_constant(artel__graph *graph, artel_dtype dtype, const artel_shape *shape, const void *data);
/* The same of one float32 number that remembers what it was before rounding. */
artel__value_id artel__op_constant_exact(artel__graph *graph, double number);
/* A number of the graph's type of numbers. */
artel__value_id artel__op_scalar(artel__graph *graph, double number);
extern const artel__op_def artel__op_constant_def;
/* A ROW value filled with one number. */
artel__value_id artel__op_fill_like(artel__graph *graph, artel__value_id like, double number);

/* x with each element kept with probability 1 - rate and scaled by 1 / (1 - rate). Axes of extent 1 in `noise` share
 * their draw with the whole axis (noise->rank 0: one draw an element). Only in training graphs; the caller checks. */
artel__value_id artel__op_dropout(artel__graph *graph, artel__value_id x, double rate, const artel_shape *noise);
/* x + normal(0, deviation). */
artel__value_id artel__op_gaussian_noise(artel__graph *graph, artel__value_id x, double deviation);
/* Numbers between low and high, of `shape` by row, drawn as those of a mask; with `shared` the same for all rows of a
 * batch. `like` is ROW; it is not read. */
artel__value_id artel__op_uniform(artel__graph *graph, artel__value_id like, double low, double high,
                                  const artel_shape *shape, bool shared);

#endif
