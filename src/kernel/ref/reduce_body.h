/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions inside a row, one output element at a time, of one type of number (kernel/real.h): the reference of
 * float32, and all there is of float64. Who includes it says whose parameters it takes (REDUCE_PARAMS,
 * REDUCE_GRADIENT_PARAMS) and what it is called (REDUCE_KIND). The order of sums is kernel/reduce.h's.
 */
#include <math.h>

#include "kernel/real.h"
#include "kernel/reduce_form.h"

static artel__real combine(artel__reduction op, artel__real accumulated, artel__real x)
{
    switch (op) {
    case ARTEL__REDUCE_SUM:
    case ARTEL__REDUCE_MEAN: return accumulated + x;
    case ARTEL__REDUCE_MAX: return ((x > accumulated) | (x != x)) ? x : accumulated;
    case ARTEL__REDUCE_MIN: return ((x < accumulated) | (x != x)) ? x : accumulated;
    case ARTEL__REDUCE_PROD: return accumulated * x;
    }
    return (artel__real)NAN;
}

static artel__real combine_start(artel__reduction op)
{
    return op == ARTEL__REDUCE_MAX    ? -(artel__real)INFINITY
           : op == ARTEL__REDUCE_MIN  ? (artel__real)INFINITY
           : op == ARTEL__REDUCE_PROD ? 1
                                      : 0;
}

static int64_t reduce_tasks(const void *params)
{
    const REDUCE_PARAMS *p = params;
    return artel__reduce_form_make(p->rank, p->dim, p->reduced).outputs;
}

static artel__real reduce_lanes(artel__reduction op, const artel__reduce_form *form, const artel__real *x)
{
    int64_t run = form->reduced.dim[form->reduced.rank - 1];
    artel__real lane[16];
    for (int i = 0; i < 16; i++) lane[i] = combine_start(op);
    for (int64_t j = 0; j < form->count; j++) {
        artel__real *to = &lane[j % run % 16];
        *to = combine(op, *to, x[artel__axes_offset(&form->reduced, j)]);
    }
    for (int half = 8; half > 0; half /= 2)
        for (int i = 0; i < half; i++) lane[i] = combine(op, lane[i], lane[i + half]);
    return lane[0];
}

static artel__real reduce_chain(artel__reduction op, const artel__reduce_form *form, const artel__real *x)
{
    artel__real sum = combine_start(op);
    for (int64_t j = 0; j < form->count; j++) sum = combine(op, sum, x[artel__axes_offset(&form->reduced, j)]);
    return sum;
}

static void reduce_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const REDUCE_PARAMS *p = params;
    artel__reduce_form form = artel__reduce_form_make(p->rank, p->dim, p->reduced);
    (void)scratch;
    for (int64_t o = begin; o < end; o++) {
        const artel__real *x = form.count > 0 ? p->x + artel__axes_offset(&form.kept, o) : p->x;
        artel__real y =
            form.last_reduced && form.count > 0 ? reduce_lanes(p->op, &form, x) : reduce_chain(p->op, &form, x);
        p->y[o] = p->op == ARTEL__REDUCE_MEAN ? y / (artel__real)form.count : y;
    }
}

static const artel__kernel reduce = {.name = REDUCE_KIND " reduce", .tasks = reduce_tasks, .run = reduce_run};

/* -- gradients of reductions; a task is an output element and writes all inputs it came from -- */

static int64_t reduce_gradient_tasks(const void *params)
{
    const REDUCE_GRADIENT_PARAMS *p = params;
    return artel__reduce_form_make(p->rank, p->dim, p->reduced).outputs;
}

/* The product of all elements but one, from y where nothing is zero. */
static artel__real product_of_others(const artel__reduce_form *form, const artel__real *x, int64_t except)
{
    artel__real product = 1;
    for (int64_t j = 0; j < form->count; j++)
        if (j != except) product = product * x[artel__axes_offset(&form->reduced, j)];
    return product;
}

/* Where the product is no number: those before times those behind. */
static void gradient_of_infinite(const artel__reduce_form *form, const artel__real *x, artel__real dy, artel__real *dx)
{
    artel__real before = 1, behind = 1;
    for (int64_t j = 0; j < form->count; j++) {
        int64_t at = artel__axes_offset(&form->reduced, j);
        dx[at] = before;
        before = before * x[at];
    }
    for (int64_t j = form->count - 1; j >= 0; j--) {
        int64_t at = artel__axes_offset(&form->reduced, j);
        dx[at] = dy * (dx[at] * behind);
        behind = behind * x[at];
    }
}

static void gradient_of_product(const artel__reduce_form *form, const artel__real *x, artel__real y, artel__real dy,
                                artel__real *dx)
{
    int64_t zeros = 0;
    if (y - y != 0) {
        gradient_of_infinite(form, x, dy, dx);
        return;
    }
    for (int64_t j = 0; j < form->count; j++) zeros += x[artel__axes_offset(&form->reduced, j)] == 0;
    for (int64_t j = 0; j < form->count; j++) {
        int64_t at = artel__axes_offset(&form->reduced, j);
        bool single = zeros == 1 && x[at] == 0;
        dx[at] = zeros == 0 ? dy * (y / x[at]) : single ? dy * product_of_others(form, x, j) : 0;
    }
}

static void gradient_of_extreme(const artel__reduce_form *form, const artel__real *x, artel__real y, artel__real dy,
                                artel__real *dx)
{
    int64_t ties = 0;
    for (int64_t j = 0; j < form->count; j++) ties += x[artel__axes_offset(&form->reduced, j)] == y;
    for (int64_t j = 0; j < form->count; j++) {
        int64_t at = artel__axes_offset(&form->reduced, j);
        dx[at] = x[at] == y ? dy / (artel__real)ties : y == y ? 0 : y; /* beside NaN none is the greatest */
    }
}

static void reduce_gradient_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const REDUCE_GRADIENT_PARAMS *p = params;
    artel__reduce_form form = artel__reduce_form_make(p->rank, p->dim, p->reduced);
    (void)scratch;
    for (int64_t o = begin; o < end && form.count > 0; o++) {
        int64_t base = artel__axes_offset(&form.kept, o);
        if (p->op == ARTEL__REDUCE_PROD) {
            gradient_of_product(&form, p->x + base, p->y[o], p->dy[o], p->dx + base);
        } else if (p->op == ARTEL__REDUCE_MAX || p->op == ARTEL__REDUCE_MIN) {
            gradient_of_extreme(&form, p->x + base, p->y[o], p->dy[o], p->dx + base);
        } else {
            artel__real share = p->dy[o] / (p->op == ARTEL__REDUCE_MEAN ? (artel__real)form.count : 1);
            for (int64_t j = 0; j < form.count; j++) p->dx[base + artel__axes_offset(&form.reduced, j)] = share;
        }
    }
}

static const artel__kernel reduce_gradient = {
    .name = REDUCE_KIND " reduce_gradient", .tasks = reduce_gradient_tasks, .run = reduce_gradient_run};
