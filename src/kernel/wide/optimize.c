/* SPDX-License-Identifier: Apache-2.0 */
/* Optimizer steps in float64, and the seed of the backward pass. See kernel/wide.h. */
#include "kernel/wide/real.h" /* before the formulas */

#include "kernel/wide.h"

#define APPLY_PARAMS artel__wide_apply
#define FLAT_PARAMS artel__wide_flat
#define APPLY_PREPARE artel__wide_apply_prepare
#define APPLY_KIND "float64"
#include "kernel/ref/optimize_body.h"

double artel__wide_nadam_product(double u_product, double beta_1, int64_t iteration)
{
    return u_product * beta_1 * (1 - 0.5 * real_pow(0.96, (double)(iteration + 1)));
}

double artel__wide_clip_factor(double squared_norm, double clipnorm)
{
    double norm = real_sqrt(squared_norm);
    return clipnorm * real_min(1 / norm, 1 / clipnorm) + (norm - norm);
}

enum {
    ROWS_A_TASK = 1024
};

static int64_t seed_tasks(const void *params)
{
    return (((const artel__wide_seed *)params)->rows + ROWS_A_TASK - 1) / ROWS_A_TASK;
}

static void seed_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__wide_seed *p = params;
    (void)scratch;
    double divisor = p->denominator ? *p->denominator : p->count, factor = divisor == 0 ? 0 : p->scale / divisor;
    int64_t last = end * ROWS_A_TASK < p->rows ? end * ROWS_A_TASK : p->rows;
    for (int64_t r = begin * ROWS_A_TASK; r < last; r++) {
        for (int64_t i = 0; i < p->inner; i++) {
            double weight = p->weight_inner == 0 ? 1 : p->weight[r * p->weight_inner + (p->weight_inner == 1 ? 0 : i)];
            p->out[r * p->inner + i] = factor * weight;
        }
    }
}

static const artel__kernel seed = {.name = "float64 loss_seed", .tasks = seed_tasks, .run = seed_run};

const artel__kernel *const artel__wide_seed_kernels[] = {&seed, NULL};
const artel__kernel *const artel__wide_apply_kernels[] = {&apply_elements, NULL};
const artel__kernel *const artel__wide_flat_kernels[] = {&flat_elements, NULL};
