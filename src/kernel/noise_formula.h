/* SPDX-License-Identifier: Apache-2.0 */
/* What random kernels make of a draw, shared by the reference and the fast kernels. */
#ifndef ARTEL_KERNEL_NOISE_FORMULA_H
#define ARTEL_KERNEL_NOISE_FORMULA_H

#include "kernel/math.h"
#include "kernel/shape_ops.h"

typedef struct noise_constants {
    float rate, scale, shift, other;
} noise_constants;

static inline bool noise_is_normal(artel__noise_op op)
{
    return op == ARTEL__NOISE_GAUSSIAN || op == ARTEL__NOISE_GAUSSIAN_MUL;
}

ARTEL__MATH float noise_element(artel__noise_op op, float x, float draw, const noise_constants *k)
{
    switch (op) {
    case ARTEL__NOISE_DROPOUT: return draw >= k->rate ? x * k->scale : 0.0f;
    case ARTEL__NOISE_ALPHA: return draw >= k->rate ? x * k->scale + k->shift : k->other;
    case ARTEL__NOISE_GAUSSIAN: return x + k->scale * draw;
    case ARTEL__NOISE_GAUSSIAN_MUL: return x * (1.0f + k->scale * draw);
    case ARTEL__NOISE_UNIFORM: return k->other + (k->scale - k->other) * draw;
    }
    return x;
}

static inline int64_t noise_row_size(const artel__noise *p)
{
    int64_t size = 1;
    for (int d = 0; d < p->rank; d++) size *= p->dim[d];
    return size;
}

/* Over the row's shape, operand 0 being the index in the noise shape; equal shapes become one axis. */
static inline artel__loop noise_loop(const artel__noise *p)
{
    artel__loop loop;
    artel_shape out = {.rank = p->rank}, noise = {.rank = p->rank};
    const artel_shape *const shape[] = {&noise};
    const bool no_rows[] = {false};
    for (int d = 0; d < p->rank; d++) {
        out.dim[d] = p->dim[d];
        noise.dim[d] = p->noise[d];
    }
    artel__loop_broadcast(&loop, -1, &out, 1, shape, no_rows);
    return loop;
}

#endif
