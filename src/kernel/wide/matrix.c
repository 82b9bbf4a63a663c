/* SPDX-License-Identifier: Apache-2.0 */
/* Small square matrices in float64. See kernel/wide.h. */
#include "kernel/wide/real.h" /* before what is written in it */

#include "kernel/wide.h"

#define MATRIX_KIND "float64"
#include "kernel/ref/matrix_body.h"

const artel__kernel *const artel__wide_matrix_kernels[] = {&matrix, NULL};
