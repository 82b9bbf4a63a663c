/* SPDX-License-Identifier: Apache-2.0 */
/* Losses; see simd.h for how this file is compiled, kernel/loss.h for the contracts.
 *
 * Fast forms exist for the element-wise losses and for those of LOSS_VECTOR (losses.list), which are what training
 * uses; the others are left to the reference. Rows of one element run along the positions.
 */
#include "kernel/simd/simd.h"

#include "kernel/loss_formula.h"
#include "kernel/simd/row.h"

enum {
    LOSS_TASK = 4096
};

static bool has_fast_form(artel__loss op)
{
    switch (op) {
#define VECTOR_LOSS(NAME, name) case ARTEL__LOSS_##NAME:
#include "kernel/losses.list"
#undef VECTOR_LOSS
        return true;
    default: return loss_is_element(op);
    }
}

static const char *input_refuses(const artel__loss_input *in)
{
    if (!has_fast_form(in->op)) return "this loss has no fast form";
    return loss_form_of(in->op).sparse || in->target_dtype == ARTEL_DTYPE_FLOAT32 ? NULL : "targets are not float32";
}

static int64_t positions_per_task(const artel__loss_input *in)
{
    return in->length >= LOSS_TASK || in->length == 0 ? 1 : LOSS_TASK / in->length;
}

static int64_t input_tasks(const artel__loss_input *in)
{
    return artel__pieces(in->positions, positions_per_task(in));
}

/* -- element-wise -- */

ARTEL__INLINE void element_values(artel__loss op, const artel__loss_forward *p, int64_t from, int64_t to)
{
    loss_constants k = loss_constants_of(&p->in);
    float factor = loss_factor(op), divisor = loss_divisor(&p->in);
    int64_t n = p->in.length;
    const float *t = (const float *)p->in.target + from * n, *x = p->in.prediction + from * n;
    if (n == 1) {
        float *value = p->value + from;
        ARTEL__INDEPENDENT
        for (int64_t i = 0; i < to - from; i++) value[i] = factor * (0.0f + loss_element(op, t[i], x[i], &k)) / divisor;
        return;
    }
    for (int64_t at = from; at < to; at++, t += n, x += n) {
        float lane[ARTEL__LANES] = {0};
        int64_t i = 0;
        for (; i + ARTEL__LANES <= n; i += ARTEL__LANES)
            for (int j = 0; j < ARTEL__LANES; j++) lane[j] = lane[j] + loss_element(op, t[i + j], x[i + j], &k);
        float last_t[ARTEL__LANES], last_x[ARTEL__LANES]; /* what follows the row is computed and not added */
        artel__tail(t + i, n - i, 0.5f, last_t), artel__tail(x + i, n - i, 0.5f, last_x);
        for (int j = 0; j < ARTEL__LANES; j++) {
            float term = loss_element(op, last_t[j], last_x[j], &k);
            lane[j] = lane[j] + (i + j < n ? term : 0.0f);
        }
        p->value[at] = factor * artel__lanes_sum(lane) / divisor;
    }
}

ARTEL__INLINE void element_slopes(artel__loss op, const artel__loss_gradient *p, int64_t from, int64_t to)
{
    loss_constants k = loss_constants_of(&p->in);
    float factor = loss_factor(op), divisor = loss_divisor(&p->in);
    int64_t n = p->in.length;
    const float *t = (const float *)p->in.target + from * n, *x = p->in.prediction + from * n,
                *upstream = p->upstream + from;
    float *out = p->gradient + from * n;
    if (n == 1) {
        ARTEL__INDEPENDENT
        for (int64_t i = 0; i < to - from; i++)
            out[i] = (upstream[i] * factor / divisor) * loss_element_slope(op, t[i], x[i], &k);
        return;
    }
    for (int64_t at = 0; at < to - from; at++, t += n, x += n, out += n) {
        float share = upstream[at] * factor / divisor;
        ARTEL__INDEPENDENT
        for (int64_t i = 0; i < n; i++) out[i] = share * loss_element_slope(op, t[i], x[i], &k);
    }
}

/* -- others -- */

#define LOSS_VECTOR
#include "kernel/losses.list"
#undef LOSS_VECTOR

/* -- kernels -- */

static const char *loss_forward_refuses(const void *params)
{
    return input_refuses(&((const artel__loss_forward *)params)->in);
}

static int64_t loss_forward_tasks(const void *params)
{
    return input_tasks(&((const artel__loss_forward *)params)->in);
}

static void loss_forward_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__loss_forward *p = params;
    int64_t size = positions_per_task(&p->in);
    int64_t from = artel__piece_end(p->in.positions, size, begin), to = artel__piece_end(p->in.positions, size, end);
    (void)scratch;
    switch (p->in.op) {
#define ELEMENT_LOSS(NAME, name, ...)                    \
    case ARTEL__LOSS_##NAME:                             \
        element_values(ARTEL__LOSS_##NAME, p, from, to); \
        break;
#define VECTOR_LOSS(NAME, name)     \
    case ARTEL__LOSS_##NAME:        \
        name##_values(p, from, to); \
        break;
#include "kernel/losses.list"
#undef ELEMENT_LOSS
#undef VECTOR_LOSS
    default: break;
    }
}

static const char *loss_gradient_refuses(const void *params)
{
    return input_refuses(&((const artel__loss_gradient *)params)->in);
}

static int64_t loss_gradient_tasks(const void *params)
{
    return input_tasks(&((const artel__loss_gradient *)params)->in);
}

static void loss_gradient_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__loss_gradient *p = params;
    int64_t size = positions_per_task(&p->in);
    int64_t from = artel__piece_end(p->in.positions, size, begin), to = artel__piece_end(p->in.positions, size, end);
    (void)scratch;
    switch (p->in.op) {
#define ELEMENT_LOSS(NAME, name, ...)                    \
    case ARTEL__LOSS_##NAME:                             \
        element_slopes(ARTEL__LOSS_##NAME, p, from, to); \
        break;
#define VECTOR_LOSS(NAME, name)     \
    case ARTEL__LOSS_##NAME:        \
        name##_slopes(p, from, to); \
        break;
#include "kernel/losses.list"
#undef ELEMENT_LOSS
#undef VECTOR_LOSS
    default: break;
    }
}

ARTEL__SIMD_KERNEL(loss_forward, .refuses = loss_forward_refuses, .tasks = loss_forward_tasks, .run = loss_forward_run);
ARTEL__SIMD_KERNEL(loss_gradient, .refuses = loss_gradient_refuses, .tasks = loss_gradient_tasks,
                   .run = loss_gradient_run);
