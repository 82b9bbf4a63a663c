/* SPDX-License-Identifier: Apache-2.0 */
/* Merging of moments: the inner node of a fold of kind MOMENTS.
 *
 * A block is float64 [3][columns]: count, mean, M2 (sum of squared distances to the mean), after T. F. Chan, G. H.
 * Golub and R. J. LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances" (1979). An empty
 * side leaves the other untouched. Every room that finishes a tree of moments calls this function, so the bits agree.
 */
#ifndef ARTEL_KERNEL_MOMENTS_H
#define ARTEL_KERNEL_MOMENTS_H

#include <stdint.h>

/* left = merge(left, right); blocks of [3][columns]. */
static inline void artel__moments_merge(double *left, const double *right, int64_t columns)
{
    double *count = left, *mean = left + columns, *m2 = left + 2 * columns;
    for (int64_t c = 0; c < columns; c++) {
        double na = count[c], nb = right[c], mb = right[columns + c], qb = right[2 * columns + c];
        double n = na + nb, delta = mb - mean[c], share = nb / (n > 0 ? n : 1);
        double merged_mean = mean[c] + delta * share, merged_m2 = (m2[c] + qb) + delta * delta * (na * share);
        mean[c] = nb == 0 ? mean[c] : na == 0 ? mb : merged_mean;
        m2[c] = nb == 0 ? m2[c] : na == 0 ? qb : merged_m2;
        count[c] = n;
    }
}

#endif
