/* SPDX-License-Identifier: Apache-2.0 */
/* Order, elements by index, integers: the reference, and the lists. See kernel/gather.h. */
#include "kernel/gather.h"

#include <string.h>

/* -- order: a stable merge sort of places -- */

static int64_t order_tasks(const void *params)
{
    return ((const artel__order *)params)->outer;
}

static size_t order_scratch(const void *params)
{
    return (size_t)((const artel__order *)params)->length * sizeof(int32_t);
}

static bool is_before(const float *x, int32_t a, int32_t b)
{
    return x[a] < x[b] || (x[a] == x[a] && x[b] != x[b]);
}

static void merge(const float *x, const int32_t *from, int32_t *to, int64_t left, int64_t right, int64_t end)
{
    int64_t i = left, k = right;
    for (int64_t at = left; at < end; at++)
        to[at] = i < right && (k >= end || !is_before(x, from[k], from[i])) ? from[i++] : from[k++];
}

static void order_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__order *p = params;
    int64_t n = p->length;
    for (int64_t task = begin; task < end; task++) {
        const float *x = p->x + task * n;
        int32_t *place = p->y + task * n, *from = place, *to = scratch;
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
}

/* -- elements by index -- */

static int64_t take_tasks(const void *params)
{
    const artel__take *p = params;
    return p->outer * p->picks;
}

static int64_t index_of(const artel__take *p, int64_t task)
{
    return p->index[p->shared ? task % p->picks : task];
}

static void take_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__take *p = params;
    (void)scratch;
    for (int64_t task = begin; task < end; task++) {
        int64_t outer = task / p->picks, index = index_of(p, task);
        float *y = p->y + task * p->inner;
        if (index >= 0 && index < p->extent) {
            memcpy(y, p->x + (outer * p->extent + index) * p->inner, (size_t)p->inner * sizeof *y);
        } else {
            memset(y, 0, (size_t)p->inner * sizeof *y);
            artel__fault_slot_report(&p->fault, outer / p->per_row, index);
        }
    }
}

static int64_t take_gradient_tasks(const void *params)
{
    return ((const artel__take_gradient *)params)->as.outer;
}

static void take_gradient_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__take_gradient *g = params;
    const artel__take *p = &g->as;
    (void)scratch;
    for (int64_t outer = begin; outer < end; outer++) {
        float *dx = g->dx + outer * p->extent * p->inner;
        memset(dx, 0, (size_t)(p->extent * p->inner) * sizeof *dx);
        for (int64_t i = 0; i < p->picks; i++) {
            int64_t index = index_of(p, outer * p->picks + i);
            const float *dy = g->dy + (outer * p->picks + i) * p->inner;
            if (index < 0 || index >= p->extent) continue;
            for (int64_t b = 0; b < p->inner; b++) dx[index * p->inner + b] = dx[index * p->inner + b] + dy[b];
        }
    }
}

/* -- integers -- */

static int64_t integer_tasks(const void *params)
{
    return artel__loop_count(&((const artel__integer *)params)->loop);
}

static int64_t offset(const artel__loop *loop, int operand, int64_t i)
{
    int64_t at = 0;
    for (int d = loop->rank - 1; d >= 0; d--) {
        at += i % loop->dim[d] * loop->stride[operand][d];
        i /= loop->dim[d];
    }
    return at;
}

static int64_t gcd(int64_t a, int64_t b)
{
    if (a < 0) a = -a;
    if (b < 0) b = -b;
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static int64_t floor_mod(int64_t a, int64_t b)
{
    int64_t rest = b ? a % b : 0;
    return rest && (rest < 0) != (b < 0) ? rest + b : rest;
}

static int64_t compute(artel__integer_op op, int32_t a, int32_t b)
{
    int by = b < 0 ? 0 : b > 31 ? 31 : (int)b;
    switch (op) {
    case ARTEL__INTEGER_AND: return a & b;
    case ARTEL__INTEGER_OR: return a | b;
    case ARTEL__INTEGER_XOR: return a ^ b;
    case ARTEL__INTEGER_SHIFT_LEFT: return (int64_t)((uint64_t)(int64_t)a << by);
    case ARTEL__INTEGER_SHIFT_RIGHT: return a >= 0 ? a >> by : ~(~a >> by);
    case ARTEL__INTEGER_DIV: return b ? ((int64_t)a - floor_mod(a, b)) / b : 0;
    case ARTEL__INTEGER_MOD: return floor_mod(a, b);
    case ARTEL__INTEGER_GCD: return gcd(a, b);
    case ARTEL__INTEGER_LCM: return a && b ? gcd(a, 0) / gcd(a, b) * gcd(b, 0) : 0;
    case ARTEL__INTEGER_ADD: return (int64_t)a + b;
    case ARTEL__INTEGER_SUBTRACT: return (int64_t)a - b;
    case ARTEL__INTEGER_MULTIPLY: return (int64_t)a * b;
    default: return 0;
    }
}

/* Without a sign. */
static uint64_t size_of(int64_t a)
{
    return a < 0 ? 0 - (uint64_t)a : (uint64_t)a;
}

static uint64_t gcd_long(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Rounded towards minus infinity; INT64_MIN by -1 wraps around. */
static uint64_t quotient_long(int64_t a, int64_t b)
{
    if (b == 0) return 0;
    if (b == -1) return 0 - (uint64_t)a;
    return (uint64_t)(a / b - (a % b && (a < 0) != (b < 0)));
}

static uint64_t compute_long(artel__integer_op op, int64_t a, int64_t b)
{
    int by = b < 0 ? 0 : b > 63 ? 63 : (int)b;
    uint64_t u = (uint64_t)a, v = (uint64_t)b;
    switch (op) {
    case ARTEL__INTEGER_AND: return u & v;
    case ARTEL__INTEGER_OR: return u | v;
    case ARTEL__INTEGER_XOR: return u ^ v;
    case ARTEL__INTEGER_SHIFT_LEFT: return u << by;
    case ARTEL__INTEGER_SHIFT_RIGHT: return (uint64_t)(a >= 0 ? a >> by : ~(~a >> by));
    case ARTEL__INTEGER_DIV: return quotient_long(a, b);
    case ARTEL__INTEGER_MOD: return b ? u - quotient_long(a, b) * v : 0;
    case ARTEL__INTEGER_GCD: return gcd_long(size_of(a), size_of(b));
    case ARTEL__INTEGER_LCM: return a && b ? size_of(a) / gcd_long(size_of(a), size_of(b)) * size_of(b) : 0;
    case ARTEL__INTEGER_ADD: return u + v;
    case ARTEL__INTEGER_SUBTRACT: return u - v;
    case ARTEL__INTEGER_MULTIPLY: return u * v;
    default: return 0;
    }
}

static void integer_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__integer *p = params;
    (void)scratch;
    for (int64_t i = begin; i < end; i++) {
        int64_t at = offset(&p->loop, 0, i), bt = offset(&p->loop, 1, i);
        if (p->is_long) {
            uint64_t value = compute_long(p->op, ((const int64_t *)p->a)[at], ((const int64_t *)p->b)[bt]);
            memcpy((int64_t *)p->out + i, &value, sizeof value);
        } else {
            int64_t value = compute(p->op, ((const int32_t *)p->a)[at], ((const int32_t *)p->b)[bt]);
            uint32_t low = (uint32_t)(uint64_t)value;
            memcpy((int32_t *)p->out + i, &low, sizeof low);
        }
    }
}

static const artel__kernel order = {
    .name = "reference order", .tasks = order_tasks, .scratch_bytes = order_scratch, .run = order_run};
static const artel__kernel take = {.name = "reference take", .tasks = take_tasks, .run = take_run};
static const artel__kernel take_gradient = {
    .name = "reference take_gradient", .tasks = take_gradient_tasks, .run = take_gradient_run};
static const artel__kernel integer = {.name = "reference integer", .tasks = integer_tasks, .run = integer_run};

const artel__kernel *const artel__order_kernels[] = {&order, NULL};
const artel__kernel *const artel__take_kernels[] = {&take, NULL};
const artel__kernel *const artel__take_gradient_kernels[] = {&take_gradient, NULL};
const artel__kernel *const artel__integer_kernels[] = {&integer, NULL};
