/* SPDX-License-Identifier: Apache-2.0 */
/* Order, gradients of elements by index, products of matrices, greatest rows in float64. See kernel/wide.h. */
#include <math.h>
#include <string.h>

#include "kernel/fold_tree.h"
#include "kernel/wide.h"

/* -- order: a stable merge sort of places -- */

static int64_t order_tasks(const void *params)
{
    return ((const artel__wide_order *)params)->outer;
}

static size_t order_scratch(const void *params)
{
    return (size_t)((const artel__wide_order *)params)->length * sizeof(int32_t);
}

static bool is_before(const double *x, int32_t a, int32_t b)
{
    return x[a] < x[b] || (x[a] == x[a] && x[b] != x[b]);
}

static void merge(const double *x, const int32_t *from, int32_t *to, int64_t left, int64_t right, int64_t end)
{
    int64_t i = left, k = right;
    for (int64_t at = left; at < end; at++)
        to[at] = i < right && (k >= end || !is_before(x, from[k], from[i])) ? from[i++] : from[k++];
}

static void order_one(const double *x, int64_t n, int32_t *place, int32_t *scratch)
{
    int32_t *from = place, *to = scratch;
    for (int64_t i = 0; i < n; i++) place[i] = (int32_t)i;
    for (int64_t run = 1; run < n; run *= 2) {
        for (int64_t left = 0; left < n; left += 2 * run) {
            int64_t right = left + run < n ? left + run : n, stop = left + 2 * run < n ? left + 2 * run : n;
            merge(x, from, to, left, right, stop);
        }
        int32_t *other = from;
        from = to;
        to = other;
    }
    if (from != place) memcpy(place, from, (size_t)n * sizeof *place);
}

static void order_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__wide_order *p = params;
    for (int64_t task = begin; task < end; task++)
        order_one(p->x + task * p->length, p->length, p->y + task * p->length, scratch);
}

/* -- elements by index, back -- */

static int64_t take_gradient_tasks(const void *params)
{
    return ((const artel__wide_take_gradient *)params)->as.outer;
}

static void take_gradient_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__wide_take_gradient *g = params;
    const artel__take *p = &g->as;
    (void)scratch;
    for (int64_t outer = begin; outer < end; outer++) {
        double *dx = g->dx + outer * p->extent * p->inner;
        memset(dx, 0, (size_t)(p->extent * p->inner) * sizeof *dx);
        for (int64_t i = 0; i < p->picks; i++) {
            int64_t index = p->index[p->shared ? i : outer * p->picks + i];
            const double *dy = g->dy + (outer * p->picks + i) * p->inner;
            if (index < 0 || index >= p->extent) continue;
            for (int64_t b = 0; b < p->inner; b++) dx[index * p->inner + b] = dx[index * p->inner + b] + dy[b];
        }
    }
}

/* -- products -- */

static int64_t product_tasks(const void *params)
{
    const artel__wide_product *p = params;
    return p->columns > 0 ? p->outer * p->lead * p->rows : 0;
}

static void product_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__wide_product *p = params;
    (void)scratch;
    for (int64_t task = begin; task < end; task++) {
        int64_t outer = task / (p->lead * p->rows), line = task % (p->lead * p->rows);
        const double *a = p->a + outer * p->a_stride + line * p->inner;
        const double *b = p->b + outer * p->b_stride + line / p->rows * p->columns * p->inner;
        for (int64_t j = 0; j < p->columns; j++) {
            double sum = 0.0;
            for (int64_t r = 0; r < p->inner; r++) sum = sum + a[r] * b[j * p->inner + r];
            p->y[task * p->columns + j] = sum;
        }
    }
}

/* -- rows of a fold -- */

static int64_t fold_max_tasks(const void *params)
{
    return ((const artel__wide_fold_max *)params)->fold->nodes;
}

static void fold_max_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__wide_fold_max *p = params;
    const artel__fold_plan *fold = p->fold;
    (void)scratch;
    for (int64_t node = begin; node < end; node++) {
        double *most = p->y + node * p->columns;
        int64_t row = artel__fold_begin(fold, fold->node[node].first);
        int64_t stop = artel__fold_end(fold, fold->node[node].first + fold->node[node].count - 1);
        for (int64_t c = 0; c < p->columns; c++) most[c] = -(double)INFINITY;
        for (; row < stop; row++) {
            for (int64_t c = 0; c < p->columns; c++) {
                double value = p->x[row * p->columns + c] + 0.0;
                most[c] = value > most[c] || value != value ? value : most[c];
            }
        }
    }
}

static const artel__kernel order = {
    .name = "float64 order", .tasks = order_tasks, .scratch_bytes = order_scratch, .run = order_run};
static const artel__kernel take_gradient = {
    .name = "float64 take_gradient", .tasks = take_gradient_tasks, .run = take_gradient_run};
static const artel__kernel product = {.name = "float64 product", .tasks = product_tasks, .run = product_run};
static const artel__kernel fold_max = {.name = "float64 fold_max", .tasks = fold_max_tasks, .run = fold_max_run};

const artel__kernel *const artel__wide_order_kernels[] = {&order, NULL};
const artel__kernel *const artel__wide_take_gradient_kernels[] = {&take_gradient, NULL};
const artel__kernel *const artel__wide_product_kernels[] = {&product, NULL};
const artel__kernel *const artel__wide_fold_max_kernels[] = {&fold_max, NULL};
