/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling over windows, channels last; three spatial axes, of which leading ones may be 1 (2D: in[0] = 1; 1D: in[0] =
 * in[1] = 1).
 *
 * Output o reads input positions o * stride - pad .. + window - 1 along each axis, those outside left out.
 *   max      the greatest value (NaN is never greater); a window wholly outside gives -inf
 *   average  sum over the window in row-major order, divided by the number of positions inside the input
 * Gradients: max gives dy to the first maximum in row-major order (recomputed from x and y); average dy / n to each.
 * dx starts from 0 and adds in row-major order of the outputs; with `relu` it then is 0.0f * dx where x is not
 * positive: the gradient of a ReLU that made x. Global pools are reductions (reduce.h).
 */
#ifndef ARTEL_KERNEL_POOL_H
#define ARTEL_KERNEL_POOL_H

#include "kernel/kernel.h"

typedef enum artel__pool_op {
    ARTEL__POOL_MAX,
    ARTEL__POOL_AVERAGE
} artel__pool_op;

typedef struct artel__pool_shape {
    int64_t channels;
    int64_t in[3], out[3];
    int64_t window[3], stride[3], pad[3]; /* pad: positions before the first; behind, the extents say it */
} artel__pool_shape;

/* x [rows][in...][channels], y [rows][out...][channels]. Tasks: rows times out[0] * out[1] lines. */
typedef struct artel__pool_forward {
    artel__pool_op op;
    int64_t rows;
    artel__pool_shape shape;
    const float *x;
    float *y;
    bool x_half, y_half; /* stored as bfloat16 (artel__kernel.halves) */
} artel__pool_forward;

/* x, y and relu are read by MAX only. dx may be x where windows lie apart (artel__pool_apart). Tasks: rows times tiles
 * of 64 channels. */
typedef struct artel__pool_gradient {
    artel__pool_op op;
    int64_t rows;
    artel__pool_shape shape;
    const float *x, *y, *dy;
    float *dx;
    bool relu;
    bool x_half, y_half, dy_half, dx_half;
} artel__pool_gradient;

/* Whether no element of the input lies in two windows. */
bool artel__pool_apart(const artel__pool_shape *shape);

/* Fills out, pad and the rest for Keras' "same" (TensorFlow's split: the smaller half in front) or "valid" padding
 * along one axis. */
void artel__pool_axis(artel__pool_shape *shape, int axis, int64_t in, int64_t window, int64_t stride, bool same);

extern const artel__kernel *const artel__pool_forward_kernels[];
extern const artel__kernel *const artel__pool_gradient_kernels[];

#endif
