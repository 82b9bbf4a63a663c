/* SPDX-License-Identifier: Apache-2.0 */
/* A loss of pairs of rows, the reference. See kernel/pairs.h. */
#define PAIRS_REAL float
#define PAIRS_KIND "ref"
#include "kernel/ref/pairs_body.h"

const artel__kernel *const artel__pairs_forward_kernels[] = {&pairs_forward, NULL};
const artel__kernel *const artel__pairs_gradient_kernels[] = {&pairs_gradient, NULL};
