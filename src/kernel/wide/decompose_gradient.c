/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of factors of small matrices in float64. See kernel/wide.h. */
#include "kernel/wide/real.h" /* before what is written in it */

#include "kernel/wide.h"

#define DECOMPOSE_KIND "float64"
#include "kernel/ref/decompose_gradient_body.h"

const artel__kernel *const artel__wide_decompose_gradient_kernels[] = {&gradient, NULL};
