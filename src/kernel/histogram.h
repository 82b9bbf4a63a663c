/* SPDX-License-Identifier: Apache-2.0 */
/* Counts of places in bins, and numbers looked up by place: for each of the channels, which are the last axis, a table
 * of its own.
 *
 * The bin of x is x without its fraction, moved into 0 .. bins - 1; NaN counts as 0.
 */
#ifndef ARTEL_KERNEL_HISTOGRAM_H
#define ARTEL_KERNEL_HISTOGRAM_H

#include "kernel/kernel.h"

static inline int64_t artel__bin(float x, int64_t bins)
{
    return x >= (float)(bins - 1) ? bins - 1 : x >= 0 ? (int64_t)x : 0;
}

/* y[row][c][k] = how many of x[row][..][c] lie in bin k. Tasks: rows. */
typedef struct artel__histogram {
    int64_t rows, places, channels, bins; /* places: of a channel in a row */
    const float *x;
    float *y;
} artel__histogram;

/* y[row][i][c] = table[c][bin of x[row][i][c]]. Tasks: rows. */
typedef struct artel__lookup {
    int64_t rows, places, channels, bins;
    const float *x, *table;
    float *y;
} artel__lookup;

extern const artel__kernel *const artel__histogram_kernels[];
extern const artel__kernel *const artel__lookup_kernels[];

#endif
