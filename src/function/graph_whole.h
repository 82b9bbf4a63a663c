/* SPDX-License-Identifier: Apache-2.0 */
/* Whole numbers in functions: sums that wrap around, and int64 (graph_whole.c). */
#ifndef ARTEL_FUNCTION_GRAPH_WHOLE_H
#define ARTEL_FUNCTION_GRAPH_WHOLE_H

#include "function/function_impl.h"

/* An operation by name as artel_graph_op_all() has it; `call` makes those of float32 and float64. */
typedef struct artel__whole_call {
    artel_graph *g;
    const char *class_name;
    json_t *settings;
    const artel_value *inputs;
    int count;
    artel_value *outputs;
    int most;
    int (*call)(const struct artel__whole_call *c);
} artel__whole_call;

/* Sums, differences and products of int32 (and bool) that wrap around where they leave its range, as those of arrays
 * and TensorFlow's do. ARTEL__NO_VALUE: it is none of them, or operands that the operation itself refuses. */
artel__value_id artel__whole_wrap(artel_graph *g, const char *class_name, const artel__tensor *in, int count);
/* Whether a call has an operand of int64, or makes one. */
bool artel__whole_is_long(const artel__whole_call *c);
/* Such a call: the number of its results, or the failure. */
int artel__whole_call_long(const artel__whole_call *c);

/* x = half[0] 2^32 + half[1], both float64, which has all of them: what moves elements, or adds them up, is done with
 * both. */
void artel__whole_split(artel__graph *graph, artel__value_id x, artel__value_id *half);
artel__value_id artel__whole_join(artel__graph *graph, artel__value_id high, artel__value_id low);
/* What a variable of fewer bits becomes of a value of the type that it is held in (artel__variable_held): the low ones,
 * as arithmetic of its own type would leave them. Any other variable: the value. */
artel__value_id artel__whole_low(artel__graph *graph, const artel__variable *variable, artel__value_id value);
/* artel__graph_take() of what says places: int64 as int32, saturated, so that what is out of range stays that. */
artel__value_id artel__whole_places(artel_graph *g, artel_value value);

#endif
