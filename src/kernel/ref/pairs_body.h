/* SPDX-License-Identifier: Apache-2.0 */
/* A loss of pairs of rows, of the type of number that who includes it says (PAIRS_REAL; what it is called: PAIRS_KIND).
 * See kernel/pairs.h. */
#include <math.h>

#include "base/scalar_math.h"
#include "kernel/pairs.h"

static int64_t pairs_tasks(const void *params)
{
    return ((const artel__pairs *)params)->rows;
}

/* What row j is to row i: its exponent and how that changes with the distance. */
typedef struct pair {
    bool counts, positive;
    double exponent, slope; /* d exponent / d (x_i . x_j) */
} pair;

static double product(const artel__pairs *p, int64_t i, int64_t j)
{
    const PAIRS_REAL *x = p->x, *a = x + i * p->width, *b = x + j * p->width;
    double sum = 0;
    for (int64_t k = 0; k < p->width; k++) sum += (double)a[k] * (double)b[k];
    return sum;
}

static pair pair_of(const artel__pairs *p, int64_t i, int64_t j, double similarity)
{
    pair out = {.counts = true, .positive = p->label[i] == p->label[j]};
    double away = 1 - similarity, distance = away > 0 ? away : 0, turn = away >= 0 ? -1 : 0;
    if (out.positive) {
        out.counts = !(p->others && i == j);
        double weight = p->margin + distance, gap = p->margin - distance;
        double kept = weight > 0 ? weight : 0;
        out.exponent = -p->gamma * kept * gap;
        out.slope = turn * p->gamma * (kept - (weight >= 0 ? gap : 0));
    } else {
        double weight = 1 + p->margin - distance, gap = 1 - p->margin - distance;
        double kept = weight > 0 ? weight : 0;
        out.exponent = p->gamma * kept * gap;
        out.slope = -turn * p->gamma * ((weight >= 0 ? gap : 0) + kept);
    }
    return out;
}

/* log of a sum that grows term by term: log(sum) + most. */
typedef struct log_sum {
    double most, sum;
} log_sum;

static void put(log_sum *s, double exponent)
{
    if (exponent > s->most) {
        s->sum = s->sum * artel__exp64(s->most - exponent) + 1;
        s->most = exponent;
    } else
        s->sum += artel__exp64(exponent - s->most);
}

static double value_of(const log_sum *s)
{
    return s->sum > 0 ? s->most + artel__log64(s->sum) : -INFINITY;
}

static double softplus(double x)
{
    return x > 0 ? x + artel__log64(1 + artel__exp64(-x)) : artel__log64(1 + artel__exp64(x));
}

static void forward_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__pairs *p = params;
    PAIRS_REAL *sums = p->sums, *loss = p->loss;
    (void)scratch;
    for (int64_t r = begin; r < end; r++) {
        log_sum of[2] = {{-HUGE_VAL, 0}, {-HUGE_VAL, 0}};
        for (int64_t j = 0; j < p->batch; j++) {
            pair with = pair_of(p, p->first + r, j, product(p, p->first + r, j));
            if (with.counts) put(&of[!with.positive], with.exponent);
        }
        double positive = value_of(&of[0]), negative = value_of(&of[1]);
        sums[2 * r] = (PAIRS_REAL)positive;
        sums[2 * r + 1] = (PAIRS_REAL)negative;
        bool alone = positive == -INFINITY || negative == -INFINITY;
        loss[r] = alone ? 0 : (PAIRS_REAL)softplus(positive + negative);
    }
}

/* d (upstream_i loss_i) / d (x_i . x_j) */
static double share(const artel__pairs *p, int64_t i, int64_t j, double similarity)
{
    const PAIRS_REAL *all_sums = p->all_sums, *upstream = p->upstream;
    double positive = (double)all_sums[2 * i], negative = (double)all_sums[2 * i + 1], both = positive + negative;
    if (positive == -INFINITY || negative == -INFINITY || upstream[i] == 0) return 0;
    pair with = pair_of(p, i, j, similarity);
    if (!with.counts) return 0;
    double rises = both > 0 ? 1 / (1 + artel__exp64(-both)) : artel__exp64(both) / (1 + artel__exp64(both));
    return (double)upstream[i] * rises * artel__exp64(with.exponent - (with.positive ? positive : negative)) *
           with.slope;
}

static size_t gradient_scratch(const void *params)
{
    return (size_t)((const artel__pairs *)params)->width * sizeof(double) + 8;
}

/* Row i is in its own loss and in those of all others. */
static void gradient_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__pairs *p = params;
    const PAIRS_REAL *x = p->x;
    PAIRS_REAL *gradient = p->gradient;
    double *sum = scratch;
    for (int64_t r = begin; r < end; r++) {
        int64_t i = p->first + r;
        for (int64_t k = 0; k < p->width; k++) sum[k] = 0;
        for (int64_t j = 0; j < p->batch; j++) {
            double similarity = product(p, i, j), factor = share(p, i, j, similarity) + share(p, j, i, similarity);
            for (int64_t k = 0; k < p->width; k++) sum[k] += factor * (double)x[j * p->width + k];
        }
        for (int64_t k = 0; k < p->width; k++) gradient[r * p->width + k] = (PAIRS_REAL)sum[k];
    }
}

static const artel__kernel pairs_forward = {
    .name = PAIRS_KIND " pairs", .isa = ARTEL__ISA_BASELINE, .tasks = pairs_tasks, .run = forward_run};
static const artel__kernel pairs_gradient = {.name = PAIRS_KIND " pairs gradient",
                                             .isa = ARTEL__ISA_BASELINE,
                                             .tasks = pairs_tasks,
                                             .scratch_bytes = gradient_scratch,
                                             .run = gradient_run};
