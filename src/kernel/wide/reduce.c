/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions inside a row in float64. See kernel/wide.h. */
#include "kernel/wide/real.h" /* before what is written in it */

#include "kernel/wide.h"

#define REDUCE_PARAMS artel__wide_reduce
#define REDUCE_GRADIENT_PARAMS artel__wide_reduce_gradient
#define REDUCE_KIND "float64"
#include "kernel/ref/reduce_body.h"

const artel__kernel *const artel__wide_reduce_kernels[] = {&reduce, NULL};
const artel__kernel *const artel__wide_reduce_gradient_kernels[] = {&reduce_gradient, NULL};
