/* SPDX-License-Identifier: Apache-2.0 */
/* Small square matrices, the reference. See kernel/matrix.h. */
#define MATRIX_KIND "reference"
#include "kernel/ref/matrix_body.h"

const artel__kernel *const artel__matrix_kernels[] = {&matrix, NULL};
