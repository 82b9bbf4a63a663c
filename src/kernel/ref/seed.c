/* SPDX-License-Identifier: Apache-2.0 */
/* The seed of the backward pass in plain C; it touches one number a position, so there is no faster form. */
#include "kernel/seed.h"

enum {
    ROWS_A_TASK = 1024
};

static int64_t seed_tasks(const void *params)
{
    const artel__loss_seed_kernel *p = params;
    return (p->rows + ROWS_A_TASK - 1) / ROWS_A_TASK;
}

static void seed_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__loss_seed_kernel *p = params;
    (void)scratch;
    double divisor = p->denominator ? *p->denominator : p->count;
    float factor = divisor == 0 ? 0.0f : (float)(p->scale / divisor);
    int64_t last = end * ROWS_A_TASK < p->rows ? end * ROWS_A_TASK : p->rows;
    for (int64_t r = begin * ROWS_A_TASK; r < last; r++) {
        for (int64_t i = 0; i < p->inner; i++) {
            float weight =
                p->weight_inner == 0 ? 1.0f : p->weight[r * p->weight_inner + (p->weight_inner == 1 ? 0 : i)];
            p->out[r * p->inner + i] = factor * weight;
        }
    }
}

static const artel__kernel seed_kernel = {
    .name = "ref loss_seed", .isa = ARTEL__ISA_BASELINE, .tasks = seed_tasks, .run = seed_run};
const artel__kernel *const artel__loss_seed_kernels[] = {&seed_kernel, NULL};
