/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a whole batch in another order.
 *
 * shuffle  row i of the result is row order[i] of x, `order` the rows by their keys, equal ones by their place; or the
 * other way about: row order[i] is row i of x. A task is an owned row.
 */
#ifndef ARTEL_KERNEL_BATCH_H
#define ARTEL_KERNEL_BATCH_H

#include "kernel/kernel.h"

typedef struct artel__shuffle {
    int64_t batch, width; /* rows; elements of one, of float64 two for each */
    int64_t first, rows;  /* those that are owned */
    bool back;            /* the other way about */
    const float *x;       /* [batch][width] */
    const float *key;     /* [batch] */
    float *y;             /* [rows][width] */
} artel__shuffle;

extern const artel__kernel *const artel__shuffle_kernels[];

#endif
