/* SPDX-License-Identifier: Apache-2.0 */
/* Losses; see simd.h for how this file is compiled, kernel/loss.h for the contracts.
 *
 * Fast forms exist for the element-wise losses and for the two crossentropies from logits, which are what training
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
    return loss_is_element(op) || op == ARTEL__LOSS_CATEGORICAL_CROSSENTROPY_LOGITS ||
           op == ARTEL__LOSS_SPARSE_CATEGORICAL_CROSSENTROPY_LOGITS;
}

static const char *input_refuses(const artel__loss_input *in)
{
    bool sparse = in->op == ARTEL__LOSS_SPARSE_CATEGORICAL_CROSSENTROPY_LOGITS;
    if (!has_fast_form(in->op)) return "this loss has no fast form";
    return sparse || in->target_dtype == ARTEL_DTYPE_FLOAT32 ? NULL : "targets are not float32";
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

/* -- crossentropy from logits -- */

static void categorical_values(const artel__loss_forward *p, int64_t from, int64_t to)
{
    loss_constants k = loss_constants_of(&p->in);
    int64_t n = p->in.length;
    for (int64_t at = from; at < to; at++) {
        const float *t = (const float *)p->in.target + at * n, *x = p->in.prediction + at * n;
        float m, log_sum = artel__logf(artel__row_exponentials(x, n, &m)), lane[ARTEL__LANES] = {0};
        int64_t i = 0;
        for (; i + ARTEL__LANES <= n; i += ARTEL__LANES)
            for (int j = 0; j < ARTEL__LANES; j++)
                lane[j] = lane[j] + (t[i + j] * k.keep + k.add) * (log_sum - (x[i + j] - m));
        float last_t[ARTEL__LANES], last_x[ARTEL__LANES];
        artel__tail(t + i, n - i, 0.0f, last_t), artel__tail(x + i, n - i, 0.0f, last_x);
        for (int j = 0; j < ARTEL__LANES; j++) {
            float term = (last_t[j] * k.keep + k.add) * (log_sum - (last_x[j] - m));
            lane[j] = lane[j] + (i + j < n ? term : 0.0f);
        }
        p->value[at] = artel__lanes_sum(lane);
    }
}

static void categorical_slopes(const artel__loss_gradient *p, int64_t from, int64_t to)
{
    loss_constants k = loss_constants_of(&p->in);
    int64_t n = p->in.length;
    for (int64_t at = from; at < to; at++) {
        const float *t = (const float *)p->in.target + at * n, *x = p->in.prediction + at * n;
        float m, scale = 1.0f / artel__row_exponentials(x, n, &m), upstream = p->upstream[at],
                 *out = p->gradient + at * n;
        ARTEL__INDEPENDENT
        for (int64_t i = 0; i < n; i++) out[i] = upstream * (artel__expf(x[i] - m) * scale - (t[i] * k.keep + k.add));
    }
}

/* Up to 64 positions of up to 16 classes. */
static void sparse_short_values(const artel__loss_forward *p, int64_t from, int64_t rows)
{
    artel__short_rows e;
    float max[ARTEL__SHORT_ROWS], sum[ARTEL__SHORT_ROWS];
    int64_t n = p->in.length;
    artel__short_load(&e, p->in.prediction + from * n, n, rows);
    artel__short_exponentials(&e, max, sum);
    for (int r = 0; r < ARTEL__SHORT_ROWS; r++) sum[r] = artel__logf(sum[r]);
    for (int64_t r = 0; r < rows; r++) {
        int64_t class = loss_class(&p->in, from + r);
        if (class == -2) loss_report(&p->in, from + r);
        p->value[from + r] = class < 0 ? 0.0f : sum[r] - (p->in.prediction[(from + r) * n + class] - max[r]);
    }
}

static void sparse_short_slopes(const artel__loss_gradient *p, int64_t from, int64_t rows)
{
    artel__short_rows e;
    float max[ARTEL__SHORT_ROWS], sum[ARTEL__SHORT_ROWS], upstream[ARTEL__SHORT_ROWS];
    int64_t n = p->in.length;
    artel__short_load(&e, p->in.prediction + from * n, n, rows);
    artel__short_exponentials(&e, max, sum);
    for (int64_t r = 0; r < ARTEL__SHORT_ROWS; r++) upstream[r] = r < rows ? p->upstream[from + r] : 0.0f;
    for (int64_t r = 0; r < rows; r++) sum[r] = 1.0f / sum[r];
    for (int64_t k = 0; k < n; k++)
        for (int r = 0; r < ARTEL__SHORT_ROWS; r++) e.v[k][r] = e.v[k][r] * sum[r];
    for (int64_t r = 0; r < rows; r++) {
        int64_t class = loss_class(&p->in, from + r);
        if (class >= 0) e.v[class][r] = e.v[class][r] - 1.0f;
        for (int64_t k = 0; class < 0 && k < n; k++) e.v[k][r] = upstream[r] = 0.0f;
    }
    for (int64_t k = 0; k < n; k++)
        for (int r = 0; r < ARTEL__SHORT_ROWS; r++) e.v[k][r] = upstream[r] * e.v[k][r];
    artel__short_store(&e, p->gradient + from * n);
}

static void sparse_values(const artel__loss_forward *p, int64_t from, int64_t to)
{
    int64_t n = p->in.length;
    if (n <= ARTEL__LANES) {
        for (; from < to; from += ARTEL__SHORT_ROWS)
            sparse_short_values(p, from, to - from < ARTEL__SHORT_ROWS ? to - from : ARTEL__SHORT_ROWS);
        return;
    }
    for (int64_t at = from; at < to; at++) {
        int64_t class = loss_class(&p->in, at);
        const float *x = p->in.prediction + at * n;
        float m;
        if (class == -2) loss_report(&p->in, at);
        p->value[at] = class < 0 ? 0.0f : artel__logf(artel__row_exponentials(x, n, &m));
        if (class >= 0) p->value[at] = p->value[at] - (x[class] - m);
    }
}

static void sparse_slopes(const artel__loss_gradient *p, int64_t from, int64_t to)
{
    int64_t n = p->in.length;
    if (n <= ARTEL__LANES) {
        for (; from < to; from += ARTEL__SHORT_ROWS)
            sparse_short_slopes(p, from, to - from < ARTEL__SHORT_ROWS ? to - from : ARTEL__SHORT_ROWS);
        return;
    }
    for (int64_t at = from; at < to; at++) {
        int64_t class = loss_class(&p->in, at);
        const float *x = p->in.prediction + at * n;
        float *out = p->gradient + at * n, upstream = p->upstream[at], m;
        if (class < 0) {
            for (int64_t i = 0; i < n; i++) out[i] = 0.0f;
            continue;
        }
        float scale = 1.0f / artel__row_exponentials(x, n, &m),
              hit = upstream * (artel__expf(x[class] - m) * scale - 1.0f);
        ARTEL__INDEPENDENT
        for (int64_t i = 0; i < n; i++) out[i] = upstream * (artel__expf(x[i] - m) * scale);
        out[class] = hit;
    }
}

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
#define ELEMENT(name)                                    \
    case ARTEL__LOSS_##name:                             \
        element_values(ARTEL__LOSS_##name, p, from, to); \
        break;
#include "kernel/loss_element.list"
#undef ELEMENT
    case ARTEL__LOSS_CATEGORICAL_CROSSENTROPY_LOGITS: categorical_values(p, from, to); break;
    case ARTEL__LOSS_SPARSE_CATEGORICAL_CROSSENTROPY_LOGITS: sparse_values(p, from, to); break;
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
#define ELEMENT(name)                                    \
    case ARTEL__LOSS_##name:                             \
        element_slopes(ARTEL__LOSS_##name, p, from, to); \
        break;
#include "kernel/loss_element.list"
#undef ELEMENT
    case ARTEL__LOSS_CATEGORICAL_CROSSENTROPY_LOGITS: categorical_slopes(p, from, to); break;
    case ARTEL__LOSS_SPARSE_CATEGORICAL_CROSSENTROPY_LOGITS: sparse_slopes(p, from, to); break;
    default: break;
    }
}

ARTEL__SIMD_KERNEL(loss_forward, .refuses = loss_forward_refuses, .tasks = loss_forward_tasks, .run = loss_forward_run);
ARTEL__SIMD_KERNEL(loss_gradient, .refuses = loss_gradient_refuses, .tasks = loss_gradient_tasks,
                   .run = loss_gradient_run);
