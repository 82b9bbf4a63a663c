/* SPDX-License-Identifier: Apache-2.0 */
/* What takes the place of a variable in a step. */
#ifndef ARTEL_OP_STAND_IN_H
#define ARTEL_OP_STAND_IN_H

#include "op/op.h"

/* `value` where `variable` would be read, in its shape and layout; its gradient is the variable's own. */
artel__value_id artel__op_stand_in(artel__graph *graph, artel__value_id value, artel__value_id variable);
/* `value` with the gradient of x, which has its shape. */
artel__value_id artel__op_with_gradient(artel__graph *graph, artel__value_id value, artel__value_id x);
/* The newest value that stands in for a variable in the graph; the variable itself when none does. */
artel__value_id artel__op_stood_in(const artel__graph *graph, artel__value_id variable);
/* Whether anything stands in for a variable. */
bool artel__op_stands_in(const artel__graph *graph);

#endif
