/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a whole batch, the reference. See kernel/batch.h. */
#include "kernel/batch.h"

#include <string.h>

static int64_t shuffle_tasks(const void *params)
{
    return ((const artel__shuffle *)params)->rows;
}

static size_t shuffle_scratch(const void *params)
{
    return (size_t)((const artel__shuffle *)params)->batch * 2 * sizeof(int64_t) + 8;
}

/* Two runs that are in order, [from, middle) and [middle, to), as one. */
static void merge(const float *key, const int64_t *in, int64_t *out, int64_t from, int64_t middle, int64_t to)
{
    int64_t a = from, b = middle;
    for (int64_t i = from; i < to; i++)
        out[i] = b >= to || (a < middle && !(key[in[b]] < key[in[a]])) ? in[a++] : in[b++];
}

/* The rows by their keys, in one of the two halves of `scratch`. */
static const int64_t *sort(const artel__shuffle *p, int64_t *scratch)
{
    int64_t *order = scratch, *other = scratch + p->batch;
    for (int64_t i = 0; i < p->batch; i++) order[i] = i;
    for (int64_t run = 1; run < p->batch; run *= 2) {
        for (int64_t from = 0; from < p->batch; from += 2 * run) {
            int64_t middle = from + run < p->batch ? from + run : p->batch,
                    to = middle + run < p->batch ? middle + run : p->batch;
            merge(p->key, order, other, from, middle, to);
        }
        int64_t *sorted = other;
        other = order;
        order = sorted;
    }
    return order;
}

static void shuffle_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__shuffle *p = params;
    const int64_t *order = sort(p, scratch);
    size_t bytes = (size_t)p->width * sizeof(float);
    for (int64_t i = begin; i < end && !p->back; i++)
        memcpy(p->y + i * p->width, p->x + order[p->first + i] * p->width, bytes);
    for (int64_t k = 0; k < p->batch && p->back; k++) {
        int64_t i = order[k] - p->first;
        if (i >= begin && i < end) memcpy(p->y + i * p->width, p->x + k * p->width, bytes);
    }
}

static const artel__kernel shuffle = {.name = "ref shuffle",
                                      .isa = ARTEL__ISA_BASELINE,
                                      .tasks = shuffle_tasks,
                                      .scratch_bytes = shuffle_scratch,
                                      .run = shuffle_run};
const artel__kernel *const artel__shuffle_kernels[] = {&shuffle, NULL};
