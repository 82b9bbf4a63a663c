/* SPDX-License-Identifier: Apache-2.0 */
/* Factors of small matrices in float64. See kernel/wide.h. */
#include "kernel/wide/real.h" /* before what is written in it */

#include "kernel/wide.h"

#define DECOMPOSE_KIND "float64"
#include "kernel/ref/decompose_body.h"

const artel__kernel *const artel__wide_decompose_kernels[] = {&decompose, NULL};
