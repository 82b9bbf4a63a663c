/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions of one to three dimensions with weights that a graph has computed, put together from convolutions of
 * images. */
#ifndef ARTEL_NN_CONV_ANY_H
#define ARTEL_NN_CONV_ANY_H

#include "op/op.h"

/* By spatial axis: the window's extent, and how it is laid over an input of extent `in`, padded by `before` and `after`
 * (negative: cropped), which gives `out` places. */
typedef struct artel__conv_axis {
    int64_t kernel, stride, dilation, in, before, after, out;
} artel__conv_axis;

typedef struct artel__conv_any {
    int rank; /* 1 to 3 */
    artel__conv_axis axis[3];
    int64_t groups;
} artel__conv_any;

/* Fills before, after and out from the rest; out is 0 when the window does not fit. */
void artel__conv_any_lay(artel__conv_axis *axis, bool same);

/* x with `number` around it as the axes say. */
artel__value_id artel__conv_any_pad(artel__graph *graph, const artel__conv_any *conv, artel__value_id x, double number);
/* x with stride - 1 zeros behind each place of an axis. */
artel__value_id artel__conv_any_spread(artel__graph *graph, artel__value_id x, int axis, int64_t stride);

/* Plain weights [kernel..][channels of a group][filters] as artel__conv_any_run wants them; once a graph. */
artel__value_id artel__conv_any_weights(artel__graph *graph, const artel__conv_any *conv, artel__value_id plain);
/* x [in..][channels] -> activation([out..][filters]); bias [filters] or none. */
artel__value_id artel__conv_any_run(artel__graph *graph, const artel__conv_any *conv, artel__value_id x,
                                    artel__value_id weights, artel__value_id bias, artel__fused activation);

#endif
