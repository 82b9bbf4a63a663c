/* SPDX-License-Identifier: Apache-2.0 */
/* Keras' raw operations as layers without variables: what their two files share. The axes of an operation count the
 * batch; it must stay where it is, and everything that would mix rows is refused by name. */
#ifndef ARTEL_NN_LAYER_OPS_H
#define ARTEL_NN_LAYER_OPS_H

#include <string.h>

#include "nn/layer_support.h"

/* Whether a class is an operation: "ops." and what Keras calls it, "ops.Add". */
static inline bool artel__is_operation(const char *class_name)
{
    return strncmp(class_name, "ops.", 4) == 0;
}
/* x with `nan` in the place of NaN, and the largest numbers in those of infinities. */
artel__value_id artel__raw_finite(artel__graph *graph, artel__value_id x, double nan);
/* The n-th positional argument of the call. */
json_t *artel__raw_argument(const artel__call *call, int n);
/* The value of an argument: a tensor of the call as it is, or a constant as float32 (numbers, lists, arrays). */
artel_status artel__raw_operand(const artel__layer *layer, const artel__call *call, json_t *argument,
                                artel__value_id *out);
/* The first argument, which must be a tensor. */
artel_status artel__raw_tensor(const artel__layer *layer, const artel__call *call, artel__value_id *out);
/* A setting of the operation, or the same given in the call (by position from 1 on, or by name). */
json_t *artel__raw_setting(const artel__layer *layer, const artel__call *call, const char *key, int position);
/* The first argument and the shape of its row. */
artel_status artel__raw_row(const artel__layer *layer, const artel__call *call, artel__value_id *x, artel_shape *shape);
/* As artel__raw_setting, as an integer: the fallback when absent, false when it is none. */
bool artel__raw_integer(const artel__layer *layer, const artel__call *call, const char *key, int position,
                        int64_t fallback, int64_t *out);
/* As artel__raw_setting, one integer for all or a list of `count`, each from `least` on: false when it is none; the
 * fallback when absent. */
bool artel__raw_integers(const artel__layer *layer, const artel__call *call, const char *key, int count, int64_t least,
                         int64_t fallback, int64_t *out);
/* As artel__raw_setting, a name; the fallback when absent. */
const char *artel__raw_name(const artel__layer *layer, const artel__call *call, const char *key, const char *fallback);
/* The first argument as float32, and the axis setting as a row axis. */
artel_status artel__raw_along(const artel__layer *layer, const artel__call *call, int64_t fallback, artel__value_id *x,
                              int *axis);
/* A constant argument: its numbers, in the arena, and its shape; false when it is none. */
bool artel__raw_constant(const artel__call *call, json_t *json, artel_shape *shape, const float **numbers);
/* Settings as numbers; the fallback when absent. */
double artel__raw_number(const artel__layer *layer, const artel__call *call, const char *key, double fallback);
/* An axis of an operation's own, counted as NumPy counts the axes of whole arrays, as the setting "axis" has it in this
 * call: values without rows have no batch in front. */
int64_t artel__raw_own_axis(const artel__call *call, int64_t axis);
/* The axis setting as a row axis; `fallback` is an own axis. `rank` of the row. */
artel_status artel__raw_axis(const artel__layer *layer, const artel__call *call, const char *key, int64_t fallback,
                             int rank, int *out);
/* Axis, list of axes or null of a reduction as row axes; the batch among them is refused. */
artel_status artel__raw_axes(const artel__layer *layer, const artel__call *call, int rank, uint32_t *out);
/* The same where one may be given twice, as of tf.squeeze. */
artel_status artel__raw_axes_repeated(const artel__layer *layer, const artel__call *call, int rank, uint32_t *out);
bool artel__raw_keeps_axes(const artel__layer *layer, const artel__call *call);
/* The first argument as float32. */
artel_status artel__raw_float(const artel__layer *layer, const artel__call *call, artel__value_id *x);
/* The first two arguments, constants shaped so that the two broadcast as rows. */
artel_status artel__raw_operands(const artel__layer *layer, const artel__call *call, artel__value_id *a,
                                 artel__value_id *b);
/* A constant that is written with a batch axis loses it beside a row. */
artel_status artel__raw_align(const artel__layer *layer, artel__graph *graph, artel__value_id *a,
                              const artel__value_id *b);
/* What a reduction begins with: the first argument as float32, and the axes. */
artel_status artel__raw_reduction(const artel__layer *layer, const artel__call *call, artel__value_id *x,
                                  uint32_t *axes);
/* [..][n] as [..][frames][length], a frame every `stride` places. */
artel__value_id artel__raw_frames(artel__graph *graph, artel__value_id x, int64_t length, int64_t stride);
/* The last axis of x through a table [places][frequencies] of what the graph computes in. */
artel__value_id artel__raw_through(artel__graph *graph, artel__value_id x, artel__value_id table);
/* Real transforms of frames of the last axis under the setting "window"; `centred`: with half a frame mirrored at both
 * ends. */
typedef struct artel__short_time {
    int64_t length, stride, places;
    bool centred;
} artel__short_time;
artel_status artel__raw_short_time(const artel__layer *layer, const artel__call *call, artel__value_id x,
                                   const artel__short_time *how, artel__value_id *real, artel__value_id *imaginary);
/* Of matrices in the last two axes, descending. */
artel__value_id artel__raw_singular_values(artel__graph *graph, artel__value_id x);
/* The call of every FORMULA. */
artel_status artel__raw_formula(artel__layer *layer, artel__call *call);
/* The sum of products of two values. axes: a letter or digit for each axis of the first, the second and the result, in
 * values with rows and the result the batch's first. */
artel_status artel__raw_sum_of_products(const artel__layer *layer, const artel__call *call,
                                        const artel__value_id value[2], const char *const axes[3],
                                        artel__value_id *out);
artel_status artel__raw_refuse(const artel__layer *layer, const char *what);

#define OTHER(symbol, name) artel_status artel__raw_##symbol(artel__layer *layer, artel__call *call);
#define ALSO(symbol, name, function) artel_status artel__raw_##function(artel__layer *layer, artel__call *call);
#define UNARY(symbol, name, function, a, b, c)
#define BINARY(symbol, name, function)
#define COMPARE(symbol, name, function)
#define REDUCE(symbol, name, function)
#define FORMULA(symbol, name)
#include "nn/layer_ops.list"
#undef OTHER
#undef ALSO
#undef UNARY
#undef BINARY
#undef COMPARE
#undef REDUCE
#undef FORMULA

#endif
