/* SPDX-License-Identifier: Apache-2.0 */
/* The seed of the backward pass: the gradient of a reduced loss with respect to the loss of each position.
 *
 * out[r][i] = (float)(scale / d) * (weight ? weight[r][i or 0] : 1), d = denominator ? *denominator : count; d of 0
 * gives 0. The factor is computed in float64 and rounded once, so it is the same on every replica.
 */
#ifndef ARTEL_KERNEL_SEED_H
#define ARTEL_KERNEL_SEED_H

#include "kernel/kernel.h"

typedef struct artel__loss_seed_kernel {
    int64_t rows, inner, weight_inner; /* weight_inner: 0 (no weights), 1 or inner */
    const float *weight;
    const double *denominator; /* float64 [1], or NULL */
    double count, scale;
    float *out;
} artel__loss_seed_kernel;

extern const artel__kernel *const artel__loss_seed_kernels[];

#endif
