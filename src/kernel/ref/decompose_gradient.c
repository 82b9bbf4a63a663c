/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of factors of small matrices, the reference. See kernel/decompose.h. */
#define DECOMPOSE_KIND "reference"
#include "kernel/ref/decompose_gradient_body.h"

const artel__kernel *const artel__decompose_gradient_kernels[] = {&gradient, NULL};
