/* SPDX-License-Identifier: Apache-2.0 */
/* A loss of pairs of rows in float64. See kernel/wide.h. */
#include "kernel/wide.h"

#define PAIRS_REAL double
#define PAIRS_KIND "float64"
#include "kernel/ref/pairs_body.h"

const artel__kernel *const artel__wide_pairs_forward_kernels[] = {&pairs_forward, NULL};
const artel__kernel *const artel__wide_pairs_gradient_kernels[] = {&pairs_gradient, NULL};
