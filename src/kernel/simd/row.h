/* SPDX-License-Identifier: Apache-2.0 */
/* The maximum of a row and the sum of its exponentials, for softmax and crossentropies. Include simd.h first.
 * Rows of up to 16 elements, the classes of a small problem, are made 64 at a time.
 *
 * Missing elements of the last 16 are -inf: they never are the maximum, and their exponential, 0, changes no lane.
 */
#ifndef ARTEL_KERNEL_SIMD_ROW_H
#define ARTEL_KERNEL_SIMD_ROW_H

#include "kernel/math.h"
#include "kernel/simd/simd.h"

static inline float artel__lanes_max(const float *lane)
{
    float eight[8], four[4];
    for (int i = 0; i < 8; i++) eight[i] = artel__maxf(lane[i], lane[i + 8]);
    for (int i = 0; i < 4; i++) four[i] = artel__maxf(eight[i], eight[i + 4]);
    return artel__maxf(artel__maxf(four[0], four[2]), artel__maxf(four[1], four[3]));
}

/* The sum of exp(x - max) on 16 lanes; *max receives the maximum. n >= 1. */
static inline float artel__row_exponentials(const float *x, int64_t n, float *max)
{
    int64_t whole = n / ARTEL__LANES * ARTEL__LANES;
    float tail[ARTEL__LANES], top[ARTEL__LANES], lane[ARTEL__LANES] = {0};
    artel__tail(x + whole, n - whole, -INFINITY, tail);
    memcpy(top, tail, sizeof top);
    for (int64_t i = 0; i < whole; i += ARTEL__LANES)
        for (int k = 0; k < ARTEL__LANES; k++) top[k] = artel__maxf(x[i + k], top[k]);
    float m = artel__lanes_max(top);
    for (int64_t i = 0; i < whole; i += ARTEL__LANES)
        for (int k = 0; k < ARTEL__LANES; k++) lane[k] = lane[k] + artel__expf(x[i + k] - m);
    for (int k = 0; k < ARTEL__LANES; k++) lane[k] = lane[k] + artel__expf(tail[k] - m);
    *max = m;
    return artel__lanes_sum(lane);
}

/* -- short rows: up to 16 elements, made side by side -- */

enum {
    ARTEL__SHORT_ROWS = 64
};

/* Element k of row r at v[k][r]. */
typedef struct artel__short_rows {
    int64_t n, rows;
    float v[ARTEL__LANES][ARTEL__SHORT_ROWS];
} artel__short_rows;

/* Rows past the last are copies of the first, computed and not used. */
static inline void artel__short_load(artel__short_rows *s, const float *x, int64_t n, int64_t rows)
{
    *s = (artel__short_rows){.n = n, .rows = rows};
    for (int64_t r = 0; r < ARTEL__SHORT_ROWS; r++)
        for (int64_t k = 0; k < n; k++) s->v[k][r] = x[(r < rows ? r : 0) * n + k];
}

static inline void artel__short_store(const artel__short_rows *s, float *y)
{
    for (int64_t r = 0; r < s->rows; r++)
        for (int64_t k = 0; k < s->n; k++) y[r * s->n + k] = s->v[k][r];
}

/* The tree over 16 lanes of which those from n on are +0 and so change nothing; v is overwritten, no element of it is
 * -0. */
static inline void artel__short_tree(artel__short_rows *s, float *restrict sum)
{
    for (int64_t half = ARTEL__LANES / 2; half > 0; half /= 2)
        for (int64_t i = 0; i < half && i + half < s->n; i++)
            for (int r = 0; r < ARTEL__SHORT_ROWS; r++) s->v[i][r] = s->v[i][r] + s->v[i + half][r];
    for (int r = 0; r < ARTEL__SHORT_ROWS; r++) sum[r] = s->v[0][r];
}

/* Replaces v by exp(v - max), and fills max and the sums. */
static inline void artel__short_exponentials(artel__short_rows *s, float *restrict max, float *restrict sum)
{
    artel__short_rows lanes = {.n = s->n};
    for (int r = 0; r < ARTEL__SHORT_ROWS; r++) max[r] = s->v[0][r];
    for (int64_t k = 1; k < s->n; k++)
        for (int r = 0; r < ARTEL__SHORT_ROWS; r++) max[r] = artel__maxf(s->v[k][r], max[r]);
    for (int64_t k = 0; k < s->n; k++)
        for (int r = 0; r < ARTEL__SHORT_ROWS; r++) s->v[k][r] = artel__expf(s->v[k][r] - max[r]);
    memcpy(lanes.v, s->v, (size_t)s->n * sizeof s->v[0]);
    artel__short_tree(&lanes, sum);
}

#endif
