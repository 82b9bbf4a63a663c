/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise functions and selection in float64. See kernel/wide.h. */
#include "kernel/wide/real.h" /* before the formulas */

#include <string.h>

#include "kernel/binary_formula.h"
#include "kernel/unary_formula.h"
#include "kernel/wide.h"

static int64_t pieces(int64_t count)
{
    return (count + ARTEL__ELEMENT_TASK - 1) / ARTEL__ELEMENT_TASK;
}

static int64_t piece_end(int64_t count, int64_t task)
{
    return task * ARTEL__ELEMENT_TASK < count ? task * ARTEL__ELEMENT_TASK : count;
}

/* Where operand k lies for element `position` of the result. */
static int64_t loop_offset(const artel__loop *loop, int k, int64_t position)
{
    int64_t offset = 0;
    for (int d = loop->rank - 1; d >= 0; d--) {
        offset += position % loop->dim[d] * loop->stride[k][d];
        position /= loop->dim[d];
    }
    return offset;
}

/* -- one argument -- */

static int64_t unary_tasks(const void *params)
{
    return pieces(((const artel__wide_unary *)params)->count);
}

static double unary_value(const artel__wide_unary *p, double x)
{
    switch (p->op) {
#define UNARY(name, function, reads, formula) \
    case ARTEL__UNARY_##name:                 \
        return forward_##function(x, p->a, p->b, p->c);
#include "kernel/unary.list"
#undef UNARY
    case ARTEL__UNARY_COUNT: break;
    }
    return (double)NAN;
}

static void unary_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__wide_unary *p = params;
    int64_t to = piece_end(p->count, end);
    (void)scratch;
    for (int64_t i = begin * ARTEL__ELEMENT_TASK; i < to; i++) p->y[i] = unary_value(p, p->x[i]);
}

static int64_t unary_gradient_tasks(const void *params)
{
    return pieces(((const artel__wide_unary_gradient *)params)->count);
}

static double unary_slope(const artel__wide_unary_gradient *p, double v, double dy)
{
    switch (p->op) {
#define UNARY(name, function, reads, formula) \
    case ARTEL__UNARY_##name:                 \
        return backward_##function(v, dy, p->a, p->b, p->c);
#include "kernel/unary.list"
#undef UNARY
    case ARTEL__UNARY_COUNT: break;
    }
    return (double)NAN;
}

static void unary_gradient_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__wide_unary_gradient *p = params;
    const double *v = p->v ? p->v : p->dy;
    int64_t to = piece_end(p->count, end);
    (void)scratch;
    for (int64_t i = begin * ARTEL__ELEMENT_TASK; i < to; i++) p->dx[i] = unary_slope(p, v[i], p->dy[i]);
}

/* -- two arguments -- */

static int64_t binary_tasks(const void *params)
{
    return pieces(artel__loop_count(&((const artel__wide_binary *)params)->loop));
}

static double binary_value(artel__binary op, double a, double b)
{
    switch (op) {
#define BINARY(name, function) \
    case ARTEL__BINARY_##name: \
        return binary_##function(a, b);
#include "kernel/binary.list"
#undef BINARY
    case ARTEL__BINARY_COUNT: break;
    }
    return (double)NAN;
}

static void binary_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__wide_binary *p = params;
    int64_t to = piece_end(artel__loop_count(&p->loop), end);
    (void)scratch;
    for (int64_t i = begin * ARTEL__ELEMENT_TASK; i < to; i++)
        p->out[i] = binary_value(p->op, p->a[loop_offset(&p->loop, 0, i)], p->b[loop_offset(&p->loop, 1, i)]);
}

static int64_t binary_gradient_tasks(const void *params)
{
    return pieces(artel__loop_count(&((const artel__wide_binary_gradient *)params)->loop));
}

static double binary_slope(artel__binary op, int wrt, double a, double b, double d)
{
    switch (op) {
#define BINARY(name, function) \
    case ARTEL__BINARY_##name: \
        return wrt ? binary_##function##_b(a, b, d) : binary_##function##_a(a, b, d);
#include "kernel/binary.list"
#undef BINARY
    case ARTEL__BINARY_COUNT: break;
    }
    return (double)NAN;
}

static void binary_gradient_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__wide_binary_gradient *p = params;
    int64_t to = piece_end(artel__loop_count(&p->loop), end);
    (void)scratch;
    for (int64_t i = begin * ARTEL__ELEMENT_TASK; i < to; i++) {
        double a = p->a[loop_offset(&p->loop, 0, i)], b = p->b[loop_offset(&p->loop, 1, i)];
        p->gradient[i] = binary_slope(p->op, p->wrt, a, b, p->dout[i]);
    }
}

/* -- selection -- */

static int64_t select_tasks(const void *params)
{
    return pieces(artel__loop_count(&((const artel__wide_select *)params)->loop));
}

static void select_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__wide_select *p = params;
    int64_t to = piece_end(artel__loop_count(&p->loop), end);
    (void)scratch;
    for (int64_t i = begin * ARTEL__ELEMENT_TASK; i < to; i++) {
        double a = p->a ? p->a[loop_offset(&p->loop, 1, i)] : 0.0, b = p->b ? p->b[loop_offset(&p->loop, 2, i)] : 0.0;
        p->out[i] = p->condition[loop_offset(&p->loop, 0, i)] ? a : b;
    }
}

/* Elements of int64, moved as they lie. */
static void select_long_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    static const int64_t zero = 0;
    const artel__wide_select *p = params;
    const void *const from[2] = {p->a, p->b};
    int64_t to = piece_end(artel__loop_count(&p->loop), end);
    (void)scratch;
    for (int64_t i = begin * ARTEL__ELEMENT_TASK; i < to; i++) {
        int side = p->condition[loop_offset(&p->loop, 0, i)] ? 0 : 1;
        const char *at = from[side] ? (const char *)from[side] + 8 * loop_offset(&p->loop, 1 + side, i) : NULL;
        memcpy((char *)p->out + 8 * i, at ? (const void *)at : &zero, 8);
    }
}

static const artel__kernel unary = {.name = "float64 unary", .tasks = unary_tasks, .run = unary_run};
static const artel__kernel unary_gradient = {
    .name = "float64 unary_gradient", .tasks = unary_gradient_tasks, .run = unary_gradient_run};
static const artel__kernel binary = {.name = "float64 binary", .tasks = binary_tasks, .run = binary_run};
static const artel__kernel binary_gradient = {
    .name = "float64 binary_gradient", .tasks = binary_gradient_tasks, .run = binary_gradient_run};
static const artel__kernel select_elements = {.name = "float64 select", .tasks = select_tasks, .run = select_run};
static const artel__kernel select_long = {.name = "int64 select", .tasks = select_tasks, .run = select_long_run};

const artel__kernel *const artel__wide_unary_kernels[] = {&unary, NULL};
const artel__kernel *const artel__wide_unary_gradient_kernels[] = {&unary_gradient, NULL};
const artel__kernel *const artel__wide_binary_kernels[] = {&binary, NULL};
const artel__kernel *const artel__wide_binary_gradient_kernels[] = {&binary_gradient, NULL};
const artel__kernel *const artel__wide_select_kernels[] = {&select_elements, NULL};
const artel__kernel *const artel__long_select_kernels[] = {&select_long, NULL};
