/* SPDX-License-Identifier: Apache-2.0 */
/* Histograms and tables, the reference: place after place. See kernel/histogram.h. */
#include "kernel/histogram.h"

#include <string.h>

static int64_t histogram_tasks(const void *params)
{
    return ((const artel__histogram *)params)->rows;
}

static void histogram_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__histogram *p = params;
    (void)scratch;
    for (int64_t row = begin; row < end; row++) {
        const float *x = p->x + row * p->places * p->channels;
        float *y = p->y + row * p->channels * p->bins;
        memset(y, 0, (size_t)(p->channels * p->bins) * sizeof *y);
        for (int64_t i = 0; i < p->places; i++) {
            for (int64_t c = 0; c < p->channels; c++)
                y[c * p->bins + artel__bin(x[i * p->channels + c], p->bins)] += 1.0f;
        }
    }
}

static const artel__kernel histogram = {.name = "reference histogram", .tasks = histogram_tasks, .run = histogram_run};

static int64_t lookup_tasks(const void *params)
{
    return ((const artel__lookup *)params)->rows;
}

static void lookup_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__lookup *p = params;
    (void)scratch;
    for (int64_t i = begin * p->places; i < end * p->places; i++) {
        const float *x = p->x + i * p->channels;
        float *y = p->y + i * p->channels;
        for (int64_t c = 0; c < p->channels; c++) y[c] = p->table[c * p->bins + artel__bin(x[c], p->bins)];
    }
}

static const artel__kernel lookup = {.name = "reference lookup", .tasks = lookup_tasks, .run = lookup_run};

const artel__kernel *const artel__histogram_kernels[] = {&histogram, NULL};
const artel__kernel *const artel__lookup_kernels[] = {&lookup, NULL};
