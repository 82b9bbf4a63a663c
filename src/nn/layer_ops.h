/* SPDX-License-Identifier: Apache-2.0 */
/* Keras' raw operations as layers without variables: what their two files share. The axes of an operation count the batch; it
 * must stay where it is, and everything that would mix rows is refused by name. */
#ifndef ARTEL_NN_LAYER_OPS_H
#define ARTEL_NN_LAYER_OPS_H

#include "nn/layer_support.h"

/* The n-th positional argument of the call. */
json_t *artel__raw_argument(const artel__call *call, int n);
/* The value of an argument: a tensor of the call as it is, or a constant as float32 (numbers, lists, arrays). */
artel_status artel__raw_operand(const artel__layer *layer, const artel__call *call, json_t *argument, artel__value_id *out);
/* The first argument, which must be a tensor. */
artel_status artel__raw_tensor(const artel__layer *layer, const artel__call *call, artel__value_id *out);
/* A setting of the operation, or the same given in the call (by position from 1 on, or by name). */
json_t *artel__raw_setting(const artel__layer *layer, const artel__call *call, const char *key, int position);
/* Settings as numbers; the fallback when absent. */
double artel__raw_number(const artel__layer *layer, const artel__call *call, const char *key, double fallback);
/* The axis setting as a row axis. `rank` of the row. */
artel_status artel__raw_axis(const artel__layer *layer, const artel__call *call, const char *key, int64_t fallback, int rank, int *out);
/* Axis, list of axes or null of a reduction as row axes; the batch among them is refused. */
artel_status artel__raw_axes(const artel__layer *layer, const artel__call *call, int rank, uint32_t *out);
bool artel__raw_keeps_axes(const artel__layer *layer, const artel__call *call);
/* The first argument as float32. */
artel_status artel__raw_float(const artel__layer *layer, const artel__call *call, artel__value_id *x);
/* The first two arguments, constants shaped so that the two broadcast as rows. */
artel_status artel__raw_operands(const artel__layer *layer, const artel__call *call, artel__value_id *a, artel__value_id *b);
/* A constant that is written with a batch axis loses it beside a row. */
artel_status artel__raw_align(const artel__layer *layer, artel__graph *graph, artel__value_id *a, const artel__value_id *b);
/* What a reduction begins with: the first argument as float32, and the axes. */
artel_status artel__raw_reduction(const artel__layer *layer, const artel__call *call, artel__value_id *x, uint32_t *axes);
/* The call of every FORMULA. */
artel_status artel__raw_formula(artel__layer *layer, artel__call *call);
artel_status artel__raw_refuse(const artel__layer *layer, const char *what);

#define OTHER(symbol, name) artel_status artel__raw_##symbol(artel__layer *layer, artel__call *call);
#define UNARY(symbol, name, function, a, b, c)
#define BINARY(symbol, name, function)
#define COMPARE(symbol, name, function)
#define REDUCE(symbol, name, function)
#define FORMULA(symbol, name)
#include "nn/layer_ops.list"
#undef OTHER
#undef UNARY
#undef BINARY
#undef COMPARE
#undef REDUCE
#undef FORMULA

#endif
