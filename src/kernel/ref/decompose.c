/* SPDX-License-Identifier: Apache-2.0 */
/* Factors of small matrices, the reference. See kernel/decompose.h. */
#define DECOMPOSE_KIND "reference"
#include "kernel/ref/decompose_body.h"

const artel__kernel *const artel__decompose_kernels[] = {&decompose, NULL};
