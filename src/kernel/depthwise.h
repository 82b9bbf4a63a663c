/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise convolution: every input channel has `multiplier` filters of its own.
 *
 * Plain NHWC; weights plain [kh][kw][c][multiplier]; output channel c * multiplier + m. The shape is
 * artel__conv2d_shape with ic = c, oc = c * multiplier, groups = c. Taps outside the image are left out of the chain
 * (unlike conv.h), in every kernel of a kind alike. The same bits whatever the kernel and the split into tasks.
 */
#ifndef ARTEL_KERNEL_DEPTHWISE_H
#define ARTEL_KERNEL_DEPTHWISE_H

#include "kernel/conv.h"

/* depthwise_forward: out = activation(chain over kh, kw of x * w + bias[oc]). */
typedef artel__conv2d_forward
    artel__depthwise_forward; /* w plain: [kh][kw][c][multiplier]; narrow is FLOAT32: who runs it rounds */

/* depthwise_data_gradient: dx[n][ih][iw][c] = chain over kh ascending, kw ascending, m ascending of dy * w, over the
 * taps for which oh = (ih + top - kh*dh) / sh is whole and inside the output, ow likewise. */
typedef struct artel__depthwise_data_gradient {
    artel__conv2d_shape shape;
    const float *dy;
    const float *w; /* [kh][kw][c][multiplier] */
    float *dx;
} artel__depthwise_data_gradient;

/* depthwise_weight_gradient: for each node dw [kh][kw][c][multiplier] and, when not NULL, dbias[oc]; leaves are chains
 * over (n, oh, ow) in row-major order within the shard, normalised by + 0.0f, folded as in product.h. shape.images =
 * fold->rows. */
typedef artel__conv2d_weight_gradient artel__depthwise_weight_gradient; /* dw plain */

extern const artel__kernel *const artel__depthwise_forward_kernels[];
extern const artel__kernel *const artel__depthwise_data_gradient_kernels[];
extern const artel__kernel *const artel__depthwise_weight_gradient_kernels[];

#endif
