/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise kernels; see simd.h for how this file is compiled, kernel/elementwise.h for the contracts.
 *
 * One loop takes the formula as a constant argument and is inlined for each row of unary.list and binary.list. Binary
 * loops have three dense forms (both operands run, one of them stands still) and a strided one.
 */
#include "kernel/simd/simd.h"

#include "kernel/binary_formula.h"
#include "kernel/half.h"
#include "kernel/unary_formula.h"
#include "kernel/walk.h"

/* -- one argument -- */

typedef float unary_fn(float v, float a, float b, float c);
typedef float unary_gradient_fn(float v, float dy, float a, float b, float c);

enum {
    UNARY_STRETCH = 128, /* elements between two looks ahead */
    UNARY_AHEAD = 256,   /* elements */
    SINE_STRETCH = 1024  /* elements that are near, or not, together */
};

/* Asks for what is read and written UNARY_AHEAD elements on: functions of a hundred instructions leave a processor no
 * room to see so far by itself, and of arrays in memory gelu took twice the time. y may be NULL. */
ARTEL__INLINE void unary_ahead(const float *x, const float *y, const float *out, int64_t left)
{
    if (left < UNARY_AHEAD + UNARY_STRETCH) return;
    for (int i = UNARY_AHEAD; i < UNARY_AHEAD + UNARY_STRETCH; i += 16) {
        __builtin_prefetch(x + i, 0, 3);
        if (y) __builtin_prefetch(y + i, 0, 3);
        __builtin_prefetch(out + i, 1, 3);
    }
}

ARTEL__INLINE void unary_loop(unary_fn *f, const artel__unary_forward *p, int64_t begin, int64_t end)
{
    const float *x = p->x;
    float *y = p->y, a = p->a, b = p->b, c = p->c;
    for (int64_t i = begin; i < end; i += UNARY_STRETCH) {
        int64_t last = end - i < UNARY_STRETCH ? end : i + UNARY_STRETCH;
        unary_ahead(x + i, NULL, y + i, end - i);
        ARTEL__INDEPENDENT
        for (int64_t j = i; j < last; j++) y[j] = f(x[j], a, b, c);
    }
}

ARTEL__INLINE void unary_gradient_loop(unary_gradient_fn *f, const artel__unary_gradient *p, const float *v,
                                       int64_t begin, int64_t end)
{
    const float *dy = p->dy;
    float *dx = p->dx, a = p->a, b = p->b, c = p->c;
    for (int64_t i = begin; i < end; i += UNARY_STRETCH) {
        int64_t last = end - i < UNARY_STRETCH ? end : i + UNARY_STRETCH;
        unary_ahead(v + i, dy + i, dx + i, end - i);
        ARTEL__INDEPENDENT
        for (int64_t j = i; j < last; j++) dx[j] = f(v[j], dy[j], a, b, c);
    }
}

/* Whether the cheaper form of sin and cos holds for all. */
ARTEL__INLINE bool all_near(const float *x, int64_t count)
{
    int far = 0;
    for (int64_t i = 0; i < count; i++) far |= !artel__is_near(x[i]);
    return !far;
}

/* sin and cos: each stretch in the form that its elements allow. */
ARTEL__INLINE void sine_loop(unary_fn *near, unary_fn *any, const artel__unary_forward *p, int64_t begin, int64_t end)
{
    for (int64_t i = begin; i < end; i += SINE_STRETCH) {
        int64_t last = end - i < SINE_STRETCH ? end : i + SINE_STRETCH;
        if (all_near(p->x + i, last - i))
            unary_loop(near, p, i, last);
        else
            unary_loop(any, p, i, last);
    }
}

ARTEL__INLINE void sine_gradient_loop(unary_gradient_fn *near, unary_gradient_fn *any, const artel__unary_gradient *p,
                                      int64_t begin, int64_t end)
{
    for (int64_t i = begin; i < end; i += SINE_STRETCH) {
        int64_t last = end - i < SINE_STRETCH ? end : i + SINE_STRETCH;
        if (all_near(p->x + i, last - i))
            unary_gradient_loop(near, p, p->x, i, last);
        else
            unary_gradient_loop(any, p, p->x, i, last);
    }
}

/* Of functions, which take longer than memory does: rounding the elements of one task after the other gains nothing
 * where sums of arrays pass through. */
static int64_t element_task(const void *params)
{
    (void)params;
    return ARTEL__ELEMENT_TASK;
}

static int64_t unary_forward_tasks(const void *params)
{
    return artel__pieces(((const artel__unary_forward *)params)->count, ARTEL__ELEMENT_TASK);
}

static void unary_forward_range(const artel__unary_forward *p, int64_t from, int64_t to)
{
    if (p->op == ARTEL__UNARY_SIN) {
        sine_loop(forward_near_sin, forward_sin, p, from, to);
        return;
    }
    if (p->op == ARTEL__UNARY_COS) {
        sine_loop(forward_near_cos, forward_cos, p, from, to);
        return;
    }
    switch (p->op) {
#define UNARY(name, function, reads, formula)        \
    case ARTEL__UNARY_##name:                        \
        unary_loop(forward_##function, p, from, to); \
        break;
#include "kernel/unary.list"
#undef UNARY
    case ARTEL__UNARY_COUNT: break;
    }
}

static void unary_forward_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__unary_forward *p = params;
    int64_t from = artel__piece_end(p->count, ARTEL__ELEMENT_TASK, begin),
            to = artel__piece_end(p->count, ARTEL__ELEMENT_TASK, end);
    float x[ARTEL__HALF_RUN], y[ARTEL__HALF_RUN];
    (void)scratch;
    if (!p->x_half && !p->y_half) {
        unary_forward_range(p, from, to);
        return;
    }
    for (int64_t at = from; at < to; at += ARTEL__HALF_RUN) {
        int64_t n = to - at < ARTEL__HALF_RUN ? to - at : ARTEL__HALF_RUN;
        artel__unary_forward run = *p;
        run.x = artel__half_load(p->x, p->x_half, at, n, x);
        run.y = artel__half_make(p->y, p->y_half, at, y);
        unary_forward_range(&run, 0, n);
        artel__half_store(p->y, p->y_half, at, n, y);
    }
}

static int64_t unary_gradient_tasks(const void *params)
{
    return artel__pieces(((const artel__unary_gradient *)params)->count, ARTEL__ELEMENT_TASK);
}

static void unary_gradient_range(const artel__unary_gradient *p, int64_t from, int64_t to)
{
    artel__reads reads = artel__unary_table[p->op].reads;
    const float *v = reads == ARTEL__READS_X ? p->x : reads == ARTEL__READS_Y ? p->y : p->dy;
    if (p->op == ARTEL__UNARY_SIN) {
        sine_gradient_loop(backward_near_sin, backward_sin, p, from, to);
        return;
    }
    if (p->op == ARTEL__UNARY_COS) {
        sine_gradient_loop(backward_near_cos, backward_cos, p, from, to);
        return;
    }
    switch (p->op) {
#define UNARY(name, function, reads, formula)                     \
    case ARTEL__UNARY_##name:                                     \
        unary_gradient_loop(backward_##function, p, v, from, to); \
        break;
#include "kernel/unary.list"
#undef UNARY
    case ARTEL__UNARY_COUNT: break;
    }
}

static void unary_gradient_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__unary_gradient *p = params;
    int64_t from = artel__piece_end(p->count, ARTEL__ELEMENT_TASK, begin),
            to = artel__piece_end(p->count, ARTEL__ELEMENT_TASK, end);
    artel__reads reads = artel__unary_table[p->op].reads;
    const float *read = reads == ARTEL__READS_X ? p->x : p->y;
    float v[ARTEL__HALF_RUN], dy[ARTEL__HALF_RUN], dx[ARTEL__HALF_RUN];
    (void)scratch;
    if (!p->v_half && !p->dy_half && !p->dx_half) {
        unary_gradient_range(p, from, to);
        return;
    }
    for (int64_t at = from; at < to; at += ARTEL__HALF_RUN) {
        int64_t n = to - at < ARTEL__HALF_RUN ? to - at : ARTEL__HALF_RUN;
        artel__unary_gradient run = *p;
        if (reads != ARTEL__READS_NONE) run.x = run.y = artel__half_load(read, p->v_half, at, n, v);
        run.dy = artel__half_load(p->dy, p->dy_half, at, n, dy);
        run.dx = artel__half_make(p->dx, p->dx_half, at, dx);
        unary_gradient_range(&run, 0, n);
        artel__half_store(p->dx, p->dx_half, at, n, dx);
    }
}

/* -- two arguments -- */

typedef float binary_fn(float a, float b);
typedef float binary_gradient_fn(float a, float b, float d);

/* A run of n elements: operands with their strides. */
typedef struct line {
    int64_t n, a_stride, b_stride;
    const float *a, *b, *d;
    float *out;
} line;

ARTEL__INLINE void binary_loop(binary_fn *f, const line *l)
{
    const float *a = l->a, *b = l->b;
    float *out = l->out;
    int64_t n = l->n, sa = l->a_stride, sb = l->b_stride;
    if (sa == 1 && sb == 1) {
        ARTEL__INDEPENDENT
        for (int64_t i = 0; i < n; i++) out[i] = f(a[i], b[i]);
    } else if (sa == 1 && sb == 0) {
        float fixed = *b;
        ARTEL__INDEPENDENT
        for (int64_t i = 0; i < n; i++) out[i] = f(a[i], fixed);
    } else if (sa == 0 && sb == 1) {
        float fixed = *a;
        ARTEL__INDEPENDENT
        for (int64_t i = 0; i < n; i++) out[i] = f(fixed, b[i]);
    } else {
        for (int64_t i = 0; i < n; i++) out[i] = f(a[i * sa], b[i * sb]);
    }
}

ARTEL__INLINE void binary_gradient_loop(binary_gradient_fn *f, const line *l)
{
    const float *a = l->a, *b = l->b, *d = l->d;
    float *out = l->out;
    int64_t n = l->n, sa = l->a_stride, sb = l->b_stride;
    if (sa == 1 && sb == 1) {
        ARTEL__INDEPENDENT
        for (int64_t i = 0; i < n; i++) out[i] = f(a[i], b[i], d[i]);
    } else if (sa == 1 && sb == 0) {
        float fixed = *b;
        ARTEL__INDEPENDENT
        for (int64_t i = 0; i < n; i++) out[i] = f(a[i], fixed, d[i]);
    } else if (sa == 0 && sb == 1) {
        float fixed = *a;
        ARTEL__INDEPENDENT
        for (int64_t i = 0; i < n; i++) out[i] = f(fixed, b[i], d[i]);
    } else {
        for (int64_t i = 0; i < n; i++) out[i] = f(a[i * sa], b[i * sb], d[i]);
    }
}

static void binary_line(artel__binary op, const line *l)
{
    switch (op) {
#define BINARY(name, function)             \
    case ARTEL__BINARY_##name:             \
        binary_loop(binary_##function, l); \
        break;
#include "kernel/binary.list"
#undef BINARY
    case ARTEL__BINARY_COUNT: break;
    }
}

static void binary_gradient_line(artel__binary op, int wrt, const line *l)
{
    switch (op * 2 + wrt) {
#define BINARY(name, function)                                                            \
    case ARTEL__BINARY_##name * 2: binary_gradient_loop(binary_##function##_a, l); break; \
    case ARTEL__BINARY_##name * 2 + 1:                                                    \
        binary_gradient_loop(binary_##function##_b, l);                                   \
        break;
#include "kernel/binary.list"
#undef BINARY
    default: break;
    }
}

/* `n` elements of a broadcast operand, `*stride` apart, widened side by side; an operand that stands still stays one.
 */
static const float *line_load(const float *x, bool half, int64_t at, int64_t n, int64_t *stride, float *room)
{
    if (!half) return x + at;
    if (*stride == 0) return artel__half_load(x, true, at, 1, room);
    if (*stride == 1) return artel__half_load(x, true, at, n, room);
    for (int64_t i = 0; i < n; i++) artel__half_load(x, true, at + i * *stride, 1, room + i);
    *stride = 1;
    return room;
}

static int64_t loop_tasks(const artel__loop *loop)
{
    return artel__pieces(artel__loop_count(loop), ARTEL__ELEMENT_TASK);
}

static int64_t binary_forward_tasks(const void *params)
{
    return loop_tasks(&((const artel__binary_forward *)params)->loop);
}

static void binary_forward_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__binary_forward *p = params;
    bool half = p->a_half || p->b_half || p->out_half;
    float a[ARTEL__HALF_RUN], b[ARTEL__HALF_RUN], out[ARTEL__HALF_RUN];
    int64_t count = artel__loop_count(&p->loop), to = artel__piece_end(count, ARTEL__ELEMENT_TASK, end);
    int last = p->loop.rank - 1;
    artel__walk walk;
    (void)scratch;
    artel__walk_start(&walk, &p->loop, begin * ARTEL__ELEMENT_TASK);
    while (walk.position < to) {
        line l = {.n = artel__walk_run(&walk, &p->loop, to),
                  .a_stride = p->loop.stride[0][last],
                  .b_stride = p->loop.stride[1][last]};
        if (half && l.n > ARTEL__HALF_RUN) l.n = ARTEL__HALF_RUN;
        l.a = line_load(p->a, p->a_half, walk.offset[0], l.n, &l.a_stride, a);
        l.b = line_load(p->b, p->b_half, walk.offset[1], l.n, &l.b_stride, b);
        l.out = artel__half_make(p->out, p->out_half, walk.position, out);
        binary_line(p->op, &l);
        artel__half_store(p->out, p->out_half, walk.position, l.n, out);
        artel__walk_advance(&walk, &p->loop, l.n);
    }
}

static int64_t binary_gradient_tasks(const void *params)
{
    return loop_tasks(&((const artel__binary_gradient *)params)->loop);
}

static void binary_gradient_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__binary_gradient *p = params;
    bool linear = p->op == ARTEL__BINARY_ADD || p->op == ARTEL__BINARY_SUB;
    bool half = p->a_half || p->b_half || p->dout_half || p->gradient_half;
    float a[ARTEL__HALF_RUN], b[ARTEL__HALF_RUN], d[ARTEL__HALF_RUN], out[ARTEL__HALF_RUN];
    int64_t count = artel__loop_count(&p->loop), to = artel__piece_end(count, ARTEL__ELEMENT_TASK, end);
    int last = p->loop.rank - 1;
    artel__walk walk;
    (void)scratch;
    artel__walk_start(&walk, &p->loop, begin * ARTEL__ELEMENT_TASK);
    while (walk.position < to) {
        line l = {.n = artel__walk_run(&walk, &p->loop, to),
                  .a_stride = linear ? 1 : p->loop.stride[0][last],
                  .b_stride = linear ? 1 : p->loop.stride[1][last]};
        if (half && l.n > ARTEL__HALF_RUN) l.n = ARTEL__HALF_RUN;
        l.d = artel__half_load(p->dout, p->dout_half, walk.position, l.n, d);
        l.a = linear ? l.d : line_load(p->a, p->a_half, walk.offset[0], l.n, &l.a_stride, a);
        l.b = linear ? l.d : line_load(p->b, p->b_half, walk.offset[1], l.n, &l.b_stride, b);
        l.out = artel__half_make(p->gradient, p->gradient_half, walk.position, out);
        binary_gradient_line(p->op, p->wrt, &l);
        artel__half_store(p->gradient, p->gradient_half, walk.position, l.n, out);
        artel__walk_advance(&walk, &p->loop, l.n);
    }
}

/* -- select -- */

static int64_t select_tasks(const void *params)
{
    return loop_tasks(&((const artel__select *)params)->loop);
}

/* Operands that are missing read one zero with stride 0. */
static void select_line(const uint8_t *condition, int64_t sc, const float *a, int64_t sa, const float *b, int64_t sb,
                        float *out, int64_t n)
{
    if (sc == 1 && sa == 1 && sb == 0) {
        float fixed = *b;
        ARTEL__INDEPENDENT
        for (int64_t i = 0; i < n; i++) out[i] = condition[i] ? a[i] : fixed;
    } else if (sc == 0 && sa == 1 && sb == 1) {
        const float *chosen = *condition ? a : b;
        ARTEL__INDEPENDENT
        for (int64_t i = 0; i < n; i++) out[i] = chosen[i];
    } else {
        for (int64_t i = 0; i < n; i++) out[i] = condition[i * sc] ? a[i * sa] : b[i * sb];
    }
}

static void select_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    static const float zero = 0.0f;
    const artel__select *p = params;
    const artel__loop *loop = &p->loop;
    int64_t to = artel__piece_end(artel__loop_count(loop), ARTEL__ELEMENT_TASK, end);
    int last = loop->rank - 1;
    artel__walk walk;
    (void)scratch;
    artel__walk_start(&walk, loop, begin * ARTEL__ELEMENT_TASK);
    while (walk.position < to) {
        int64_t n = artel__walk_run(&walk, loop, to);
        const float *a = p->a ? p->a + walk.offset[1] : &zero, *b = p->b ? p->b + walk.offset[2] : &zero;
        select_line(p->condition + walk.offset[0], loop->stride[0][last], a, p->a ? loop->stride[1][last] : 0, b,
                    p->b ? loop->stride[2][last] : 0, p->out + walk.position, n);
        artel__walk_advance(&walk, loop, n);
    }
}

/* -- sums of arrays -- */

static int64_t add_n_tasks(const void *params)
{
    return artel__pieces(((const artel__add_n *)params)->count, ARTEL__ELEMENT_TASK);
}

/* By runs that stay in the first-level cache; the first sum goes through a buffer because out may be any input. */
static void add_n_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    enum {
        RUN = 1024
    };
    const artel__add_n *p = params;
    int64_t to = artel__piece_end(p->count, ARTEL__ELEMENT_TASK, end);
    float sum[RUN];
    (void)scratch;
    for (int64_t at = begin * ARTEL__ELEMENT_TASK; at < to; at += RUN) {
        int64_t n = to - at < RUN ? to - at : RUN;
        memcpy(sum, p->in[0] + at, (size_t)n * sizeof *sum);
        for (int k = 1; k < p->n; k++) {
            const float *x = p->in[k] + at;
            for (int64_t i = 0; i < n; i++) sum[i] = sum[i] + x[i];
        }
        memcpy(p->out + at, sum, (size_t)n * sizeof *sum);
    }
}

static int64_t axpy_tasks(const void *params)
{
    return artel__pieces(((const artel__axpy *)params)->count, ARTEL__ELEMENT_TASK);
}

static void axpy_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__axpy *p = params;
    int64_t from = artel__piece_end(p->count, ARTEL__ELEMENT_TASK, begin),
            to = artel__piece_end(p->count, ARTEL__ELEMENT_TASK, end);
    const float *x = p->x;
    float *y = p->y, a = p->a;
    (void)scratch;
    ARTEL__INDEPENDENT
    for (int64_t i = from; i < to; i++) y[i] = y[i] + a * x[i];
}

ARTEL__SIMD_KERNEL(unary_forward, .tasks = unary_forward_tasks, .elements = element_task,
                   .halves = artel__halves_always, .run = unary_forward_run);
ARTEL__SIMD_KERNEL(unary_gradient, .tasks = unary_gradient_tasks, .elements = element_task,
                   .halves = artel__halves_always, .run = unary_gradient_run);
ARTEL__SIMD_KERNEL(binary_forward, .tasks = binary_forward_tasks, .halves = artel__halves_always,
                   .run = binary_forward_run);
ARTEL__SIMD_KERNEL(binary_gradient, .tasks = binary_gradient_tasks, .halves = artel__halves_always,
                   .run = binary_gradient_run);
ARTEL__SIMD_KERNEL(select, .tasks = select_tasks, .run = select_run);
ARTEL__SIMD_KERNEL(add_n, .tasks = add_n_tasks, .run = add_n_run);
ARTEL__SIMD_KERNEL(axpy, .tasks = axpy_tasks, .run = axpy_run);
