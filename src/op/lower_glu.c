/* SPDX-License-Identifier: Apache-2.0 */
/* y = a s(b), a and b the halves of an axis: da = dy s(b), db = dy a s(b) (1 - s(b)). */
#include "op/lower_glu.h"

/* The axis of x as programs have it. */
static int axis_of(const artel__lower *lower, int axis)
{
    const artel__value *x = &lower->graph->value[lower->node->input[0]];
    return artel__hlo_type_of(lower->hlo, lower->in[0])->rank - x->shape.rank + axis;
}

static artel__hlo_value half_of(artel__lower *lower, int axis, int which)
{
    int64_t half = artel__hlo_type_of(lower->hlo, lower->in[0])->dim[axis] / 2;
    return artel__hlo_slice_axis(lower->hlo, lower->in[0], axis, which * half, (which + 1) * half);
}

void artel__lower_glu(artel__lower *lower, int axis)
{
    int at = axis_of(lower, axis);
    artel__hlo_value gate = artel__hlo_unary(lower->hlo, "logistic", half_of(lower, at, 1));
    lower->out[0] = artel__hlo_binary(lower->hlo, "multiply", half_of(lower, at, 0), gate);
}

void artel__lower_glu_gradient(artel__lower *lower, int axis)
{
    artel__hlo *h = lower->hlo;
    int at = axis_of(lower, axis);
    artel__hlo_value dy = lower->in[1], a = half_of(lower, at, 0), gate = artel__hlo_unary(h, "logistic", half_of(lower, at, 1));
    artel__hlo_value slope = artel__hlo_binary(h, "multiply", gate, artel__hlo_binary(h, "subtract", artel__hlo_number(h, 1, gate), gate));
    artel__hlo_value d[] = {artel__hlo_binary(h, "multiply", dy, gate),
                            artel__hlo_binary(h, "multiply", artel__hlo_binary(h, "multiply", dy, a), slope)};
    lower->out[0] = artel__hlo_concatenate(h, d, 2, at);
}
