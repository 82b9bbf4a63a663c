/* SPDX-License-Identifier: Apache-2.0 */
/* A loss of pairs of rows: every row of a batch beside every other (Y. Sun et al., "Circle loss", CVPR 2020, as Keras
 * computes it).
 *
 * With d = max(1 - x_i . x_j, 0), positives of i the rows j of its class (i itself left out if so wished), negatives
 * all others: P_i = log sum over positives of exp(-gamma max(m + d, 0) (m - d)),   N_i = log sum over negatives of
 * exp(gamma max(1 + m - d, 0) (1 - m - d)), loss_i = log(1 + exp(P_i + N_i));   0, with no gradient, where there are no
 * positives or no negatives. Arithmetic is float64, sums run over the elements and over the rows of the batch in order;
 * a result is rounded once, to float32 or not at all: the lists of kernels say of which type all numbers are. So a row
 * needs the rows of all replicas, and its bits do not depend on who owns them. A task is an owned row.
 */
#ifndef ARTEL_KERNEL_PAIRS_H
#define ARTEL_KERNEL_PAIRS_H

#include "kernel/kernel.h"

typedef struct artel__pairs {
    int64_t batch, width;
    int64_t first, rows;  /* those that are owned */
    const void *x;        /* [batch][width] */
    const int32_t *label; /* [batch] */
    double gamma, margin;
    bool others;          /* a row is no positive of itself */
    void *loss;           /* [rows]: forward */
    void *sums;           /* [rows][2]: P and N */
    const void *all_sums; /* [batch][2]: backward */
    const void *upstream; /* [batch] */
    void *gradient;       /* [rows][width] */
} artel__pairs;

extern const artel__kernel *const artel__pairs_forward_kernels[];
extern const artel__kernel *const artel__pairs_gradient_kernels[];

#endif
