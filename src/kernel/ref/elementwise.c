/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise kernels, the reference: one element at a time, offsets computed afresh for each.
 *
 * Here are also the lists of kernels of the family, the table of functions, the making of loops, and the kernels on
 * bools and comparisons, which have no fast form.
 */
#include "kernel/elementwise.h"

#include "kernel/binary_formula.h"
#include "kernel/unary_formula.h"

const artel__unary_info artel__unary_table[ARTEL__UNARY_COUNT] = {
#define UNARY(name, function, reads, formula) {#function, ARTEL__READS_##reads, formula},
#include "kernel/unary.list"
#undef UNARY
};

/* -- loops -- */

/* Drops axes of extent 1, and merges axis d into d - 1 where every operand runs through both as through one. */
static void loop_merge(artel__loop *loop)
{
    int kept = 0;
    for (int d = 0; d < loop->rank; d++) {
        if (loop->dim[d] == 1) continue;
        bool merge = kept > 0;
        for (int k = 0; k < ARTEL__LOOP_OPERANDS; k++)
            merge = merge && loop->stride[k][kept - 1] == loop->stride[k][d] * loop->dim[d];
        int to = merge ? kept - 1 : kept++;
        loop->dim[to] = merge ? loop->dim[to] * loop->dim[d] : loop->dim[d];
        for (int k = 0; k < ARTEL__LOOP_OPERANDS; k++) loop->stride[k][to] = loop->stride[k][d];
    }
    if (kept == 0) loop->dim[kept++] = 1;
    loop->rank = kept;
}

void artel__loop_broadcast(artel__loop *loop, int64_t rows, const artel_shape *out, int operands,
                           const artel_shape *const *shape, const bool *has_rows)
{
    int batch = rows >= 0 ? 1 : 0;
    *loop = (artel__loop){.rank = out->rank + batch};
    if (batch) loop->dim[0] = rows;
    for (int d = 0; d < out->rank; d++) loop->dim[batch + d] = out->dim[d];
    for (int k = 0; k < operands; k++) {
        int64_t stride = 1;
        for (int d = shape[k]->rank - 1; d >= 0; d--) {
            int to = loop->rank - (shape[k]->rank - d);
            loop->stride[k][to] = shape[k]->dim[d] == 1 ? 0 : stride;
            stride *= shape[k]->dim[d];
        }
        if (batch && has_rows[k]) loop->stride[k][0] = stride;
    }
    loop_merge(loop);
}

int64_t artel__loop_count(const artel__loop *loop)
{
    int64_t count = 1;
    for (int d = 0; d < loop->rank; d++) count *= loop->dim[d];
    return count;
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

/* -- one argument; a task is an element -- */

static int64_t unary_forward_tasks(const void *params)
{
    return ((const artel__unary_forward *)params)->count;
}

static float unary_value(const artel__unary_forward *p, float x)
{
    switch (p->op) {
#define UNARY(name, function, reads, formula) \
    case ARTEL__UNARY_##name:                 \
        return forward_##function(x, p->a, p->b, p->c);
#include "kernel/unary.list"
#undef UNARY
    case ARTEL__UNARY_COUNT: break;
    }
    return NAN;
}

static void unary_forward_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__unary_forward *p = params;
    (void)scratch;
    for (int64_t i = begin; i < end; i++) p->y[i] = unary_value(p, p->x[i]);
}

static int64_t unary_gradient_tasks(const void *params)
{
    return ((const artel__unary_gradient *)params)->count;
}

static float unary_slope(const artel__unary_gradient *p, float v, float dy)
{
    switch (p->op) {
#define UNARY(name, function, reads, formula) \
    case ARTEL__UNARY_##name:                 \
        return backward_##function(v, dy, p->a, p->b, p->c);
#include "kernel/unary.list"
#undef UNARY
    case ARTEL__UNARY_COUNT: break;
    }
    return NAN;
}

static void unary_gradient_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__unary_gradient *p = params;
    artel__reads reads = artel__unary_table[p->op].reads;
    const float *v = reads == ARTEL__READS_X ? p->x : reads == ARTEL__READS_Y ? p->y : p->dy;
    (void)scratch;
    for (int64_t i = begin; i < end; i++) p->dx[i] = unary_slope(p, v[i], p->dy[i]);
}

static const artel__kernel unary_forward = {
    .name = "reference unary_forward", .tasks = unary_forward_tasks, .run = unary_forward_run};
static const artel__kernel unary_gradient = {
    .name = "reference unary_gradient", .tasks = unary_gradient_tasks, .run = unary_gradient_run};

/* -- two arguments; a task is an element -- */

static int64_t binary_forward_tasks(const void *params)
{
    return artel__loop_count(&((const artel__binary_forward *)params)->loop);
}

static float binary_value(artel__binary op, float a, float b)
{
    switch (op) {
#define BINARY(name, function) \
    case ARTEL__BINARY_##name: \
        return binary_##function(a, b);
#include "kernel/binary.list"
#undef BINARY
    case ARTEL__BINARY_COUNT: break;
    }
    return NAN;
}

static void binary_forward_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__binary_forward *p = params;
    (void)scratch;
    for (int64_t i = begin; i < end; i++)
        p->out[i] = binary_value(p->op, p->a[loop_offset(&p->loop, 0, i)], p->b[loop_offset(&p->loop, 1, i)]);
}

static int64_t binary_gradient_tasks(const void *params)
{
    return artel__loop_count(&((const artel__binary_gradient *)params)->loop);
}

static float binary_slope(artel__binary op, int wrt, float a, float b, float d)
{
    switch (op) {
#define BINARY(name, function) \
    case ARTEL__BINARY_##name: \
        return wrt ? binary_##function##_b(a, b, d) : binary_##function##_a(a, b, d);
#include "kernel/binary.list"
#undef BINARY
    case ARTEL__BINARY_COUNT: break;
    }
    return NAN;
}

static void binary_gradient_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__binary_gradient *p = params;
    bool linear = p->op == ARTEL__BINARY_ADD || p->op == ARTEL__BINARY_SUB;
    (void)scratch;
    for (int64_t i = begin; i < end; i++) {
        float a = linear ? 0.0f : p->a[loop_offset(&p->loop, 0, i)],
              b = linear ? 0.0f : p->b[loop_offset(&p->loop, 1, i)];
        p->gradient[i] = binary_slope(p->op, p->wrt, a, b, p->dout[i]);
    }
}

static const artel__kernel binary_forward = {
    .name = "reference binary_forward", .tasks = binary_forward_tasks, .run = binary_forward_run};
static const artel__kernel binary_gradient = {
    .name = "reference binary_gradient", .tasks = binary_gradient_tasks, .run = binary_gradient_run};

/* -- comparisons and bools -- */

static int64_t pieces(int64_t count)
{
    return (count + ARTEL__ELEMENT_TASK - 1) / ARTEL__ELEMENT_TASK;
}

static int64_t piece_end(int64_t count, int64_t task)
{
    return task * ARTEL__ELEMENT_TASK < count ? task * ARTEL__ELEMENT_TASK : count;
}

static int64_t compare_tasks(const void *params)
{
    return pieces(artel__loop_count(&((const artel__compare *)params)->loop));
}

/* Every comparison from two: less and equal; both false for NaN. */
static uint8_t compare_answer(artel__comparison op, bool less, bool equal, bool greater)
{
    switch (op) {
    case ARTEL__COMPARE_EQUAL: return equal;
    case ARTEL__COMPARE_NOT_EQUAL: return !equal;
    case ARTEL__COMPARE_LESS: return less;
    case ARTEL__COMPARE_LESS_EQUAL: return less || equal;
    case ARTEL__COMPARE_GREATER: return greater;
    case ARTEL__COMPARE_GREATER_EQUAL: return greater || equal;
    }
    return 0;
}

static void compare_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__compare *p = params;
    int64_t to = piece_end(artel__loop_count(&p->loop), end);
    (void)scratch;
    for (int64_t i = begin * ARTEL__ELEMENT_TASK; i < to; i++) {
        int64_t at = loop_offset(&p->loop, 0, i), bt = loop_offset(&p->loop, 1, i);
        if (p->dtype == ARTEL_DTYPE_INT32) {
            int32_t a = ((const int32_t *)p->a)[at], b = ((const int32_t *)p->b)[bt];
            p->out[i] = compare_answer(p->op, a<b, a == b, a> b);
        } else if (p->dtype == ARTEL_DTYPE_INT64) {
            int64_t a = ((const int64_t *)p->a)[at], b = ((const int64_t *)p->b)[bt];
            p->out[i] = compare_answer(p->op, a<b, a == b, a> b);
        } else if (p->dtype == ARTEL_DTYPE_FLOAT64) {
            double a = ((const double *)p->a)[at], b = ((const double *)p->b)[bt];
            p->out[i] = compare_answer(p->op, a<b, a == b, a> b);
        } else {
            float a = ((const float *)p->a)[at], b = ((const float *)p->b)[bt];
            p->out[i] = compare_answer(p->op, a<b, a == b, a> b);
        }
    }
}

static int64_t logical_tasks(const void *params)
{
    return pieces(artel__loop_count(&((const artel__logical *)params)->loop));
}

static void logical_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__logical *p = params;
    int64_t to = piece_end(artel__loop_count(&p->loop), end);
    (void)scratch;
    for (int64_t i = begin * ARTEL__ELEMENT_TASK; i < to; i++) {
        bool a = p->a[loop_offset(&p->loop, 0, i)] != 0,
             b = p->op != ARTEL__LOGIC_NOT && p->b[loop_offset(&p->loop, 1, i)] != 0;
        switch (p->op) {
        case ARTEL__LOGIC_AND: p->out[i] = a && b; break;
        case ARTEL__LOGIC_OR: p->out[i] = a || b; break;
        case ARTEL__LOGIC_XOR: p->out[i] = a != b; break;
        case ARTEL__LOGIC_NOT: p->out[i] = !a; break;
        }
    }
}

static int64_t select_tasks(const void *params)
{
    return artel__loop_count(&((const artel__select *)params)->loop);
}

static void select_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__select *p = params;
    (void)scratch;
    for (int64_t i = begin; i < end; i++) {
        float a = p->a ? p->a[loop_offset(&p->loop, 1, i)] : 0.0f, b = p->b ? p->b[loop_offset(&p->loop, 2, i)] : 0.0f;
        p->out[i] = p->condition[loop_offset(&p->loop, 0, i)] ? a : b;
    }
}

static const artel__kernel compare = {.name = "reference compare", .tasks = compare_tasks, .run = compare_run};
static const artel__kernel logical = {.name = "reference logical", .tasks = logical_tasks, .run = logical_run};
static const artel__kernel select_elements = {.name = "reference select", .tasks = select_tasks, .run = select_run};

/* -- sums of arrays -- */

static int64_t add_n_tasks(const void *params)
{
    return ((const artel__add_n *)params)->count;
}

static void add_n_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__add_n *p = params;
    (void)scratch;
    for (int64_t i = begin; i < end; i++) {
        float sum = p->in[0][i];
        for (int k = 1; k < p->n; k++) sum = sum + p->in[k][i];
        p->out[i] = sum;
    }
}

static int64_t axpy_tasks(const void *params)
{
    return ((const artel__axpy *)params)->count;
}

static void axpy_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__axpy *p = params;
    (void)scratch;
    for (int64_t i = begin; i < end; i++) p->y[i] = p->y[i] + p->a * p->x[i];
}

static const artel__kernel add_n = {.name = "reference add_n", .tasks = add_n_tasks, .run = add_n_run};
static const artel__kernel axpy = {.name = "reference axpy", .tasks = axpy_tasks, .run = axpy_run};

/* -- the lists -- */

ARTEL__KERNEL_LIST(unary_forward, unary_forward);
ARTEL__KERNEL_LIST(unary_gradient, unary_gradient);
ARTEL__KERNEL_LIST(binary_forward, binary_forward);
ARTEL__KERNEL_LIST(binary_gradient, binary_gradient);
const artel__kernel *const artel__compare_kernels[] = {&compare, NULL};
const artel__kernel *const artel__logical_kernels[] = {&logical, NULL};
ARTEL__KERNEL_LIST(select, select_elements);
ARTEL__KERNEL_LIST(add_n, add_n);
ARTEL__KERNEL_LIST(axpy, axpy);
