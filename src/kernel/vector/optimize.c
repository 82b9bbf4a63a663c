/* SPDX-License-Identifier: Apache-2.0 */
/* Optimizer steps; see simd.h for how this file is compiled, kernel/optimize.h for the contracts.
 *
 * One loop takes rule and flags as constants and is inlined for each combination that exists. Clipped gradients and
 * decayed weights pass through a run of buffers in the first-level cache, so that no combination of them multiplies the
 * loops.
 */
#include "kernel/simd/simd.h"

#include "base/fetch_soon.h"
#include "kernel/optimize_formula.h"

#include <string.h>

enum {
    RUN = 1024,
    ROWS = 64,
    AHEAD = 8,
    ASKED = 64 /* elements of a row that are asked for */
};

typedef element rule_fn(const float *scalar, float rate, rule_flags flags, element e);

/* A run of elements: at .. at + n - 1 of the variable, their gradient and squares (or NULL). Or, with tokens, so many
 * rows of n elements, whose gradients lie side by side; `more` tokens follow these. */
typedef struct piece {
    const artel__apply *p;
    int64_t at, n;
    const float *gradient, *squares;
    const int32_t *token;
    int64_t rows, more;
} piece;

/* Rows lie anywhere in tables that fit no cache: they are asked for before their turn. */
ARTEL__INLINE void ask_for_row(const artel__apply *p, int64_t at, int64_t width)
{
    size_t bytes = (size_t)(width < ASKED ? width : ASKED) * sizeof(float);
    artel__fetch_soon(p->variable + at, bytes);
    for (int k = 0; k < ARTEL__APPLY_SLOTS; k++)
        if (p->slot[k]) artel__fetch_soon(p->slot[k] + at, bytes);
}

/* artel__slot_exists, by the flags. */
ARTEL__INLINE bool has_slot(const artel__rule_def *rule, int k, rule_flags flags)
{
    artel__slot_when when = rule->slot[k].when;
    return when == ARTEL__SLOT_MOMENTUM   ? flags.momentum
           : when == ARTEL__SLOT_CENTERED ? flags.centered
           : when == ARTEL__SLOT_AMSGRAD  ? flags.amsgrad
                                          : when != ARTEL__SLOT_NEVER;
}

/* Reads and writes the slots that there are; LAMB's third is only written, which reading first does not harm. */
ARTEL__INLINE void rule_loop(rule_fn *apply, const artel__rule_def *rule, rule_flags flags, piece c)
{
    const artel__apply *p = c.p;
    const float *gradient = c.gradient, *squares = c.squares;
    flags.occurrences = squares != NULL;
    bool one = has_slot(rule, 0, flags), two = has_slot(rule, 1, flags), three = has_slot(rule, 2, flags);
    float rate = p->rate, scalar[8];
    memcpy(scalar, p->scalar, sizeof scalar);
    for (int64_t k = 0; k < c.rows; k++) {
        int64_t at = c.token ? c.token[k] * c.n : c.at;
        float *w = p->variable + at, *s0 = one ? p->slot[0] + at : w, *s1 = two ? p->slot[1] + at : w,
              *s2 = three ? p->slot[2] + at : w;
        if (c.token && k + AHEAD < c.rows + c.more) ask_for_row(p, c.token[k + AHEAD] * c.n, c.n);
        ARTEL__INDEPENDENT
        for (int64_t i = 0; i < c.n; i++) {
            element e = {w[i], gradient[i], squares ? squares[i] : gradient[i] * gradient[i], {s0[i], s1[i], s2[i]}};
            e = apply(scalar, rate, flags, e);
            w[i] = e.w;
            if (one) s0[i] = e.slot[0];
            if (two) s1[i] = e.slot[1];
            if (three) s2[i] = e.slot[2];
        }
        gradient += c.n;
        if (squares) squares += c.n;
    }
}

/* A loop for each combination of the flags that the rule knows: here one flag is chosen after the other. */
ARTEL__INLINE void choose_amsgrad(rule_fn *apply, const artel__rule_def *rule, rule_flags flags, piece c)
{
    if (rule->flags & ARTEL__FLAG_AMSGRAD && c.p->amsgrad) {
        flags.amsgrad = true;
        rule_loop(apply, rule, flags, c);
    } else
        rule_loop(apply, rule, flags, c);
}

ARTEL__INLINE void choose_centered(rule_fn *apply, const artel__rule_def *rule, rule_flags flags, piece c)
{
    if (rule->flags & ARTEL__FLAG_CENTERED && c.p->centered) {
        flags.centered = true;
        choose_amsgrad(apply, rule, flags, c);
    } else
        choose_amsgrad(apply, rule, flags, c);
}

ARTEL__INLINE void choose_nesterov(rule_fn *apply, const artel__rule_def *rule, rule_flags flags, piece c)
{
    if (rule->flags & ARTEL__FLAG_NESTEROV && c.p->nesterov) {
        flags.nesterov = true;
        choose_centered(apply, rule, flags, c);
    } else
        choose_centered(apply, rule, flags, c);
}

ARTEL__INLINE void choose_flags(rule_fn *apply, const artel__rule_def *rule, rule_flags flags, piece c)
{
    if (rule->flags & ARTEL__FLAG_MOMENTUM && c.p->has_momentum) {
        flags.momentum = true;
        choose_nesterov(apply, rule, flags, c);
    } else
        choose_centered(apply, rule, flags, c);
}

ARTEL__INLINE void rule_run(artel_dtype held, piece c)
{
    const rule_flags flags = {.held = held};
    switch (c.p->rule) {
#define RULE(NAME, name, ...)                              \
    case ARTEL__RULE_##NAME: {                             \
        static const artel__rule_def rule = {__VA_ARGS__}; \
        choose_flags(apply_##name, &rule, flags, c);       \
        break;                                             \
    }
#include "kernel/optimizers.list"
#undef RULE
    case ARTEL__RULE_COUNT: break;
    }
}

/* Copies of the loops: the square is computed, or read. */
static void rule_run_plain(piece c)
{
    c.squares = NULL;
    rule_run(ARTEL_DTYPE_FLOAT32, c);
}

static void rule_run_squares(piece c)
{
    rule_run(ARTEL_DTYPE_FLOAT32, c);
}

/* Slots of 16 bits; there may be squares of the gradient. */
static void rule_run_bfloat16(piece c)
{
    rule_run(ARTEL_DTYPE_BFLOAT16, c);
}

static void rule_run_float16(piece c)
{
    rule_run(ARTEL_DTYPE_FLOAT16, c);
}

static void rule_run_held(piece c)
{
    if (c.p->held == ARTEL_DTYPE_BFLOAT16)
        rule_run_bfloat16(c);
    else if (c.p->held == ARTEL_DTYPE_FLOAT16)
        rule_run_float16(c);
    else if (c.squares)
        rule_run_squares(c);
    else
        rule_run_plain(c);
}

/* `clip` as a constant, so that the loop vectorises. */
ARTEL__INLINE void clip_loop(artel__clip clip, bool square, bool sizes, const artel__apply *p, const float *from,
                             float *to, int64_t n)
{
    artel__apply constant = {.clip = clip, .clip_a = p->clip_a, .clip_b = p->clip_b, .sizes = sizes};
    ARTEL__INDEPENDENT
    for (int64_t i = 0; i < n; i++)
        to[i] = square ? apply_clip_square(&constant, from[i]) : apply_clip(&constant, from[i]);
}

ARTEL__INLINE void clip_run(bool square, bool sizes, const artel__apply *p, const float *from, float *to, int64_t n)
{
    switch (p->clip) {
    case ARTEL__CLIP_NONE: break;
    case ARTEL__CLIP_VALUE: clip_loop(ARTEL__CLIP_VALUE, square, sizes, p, from, to, n); break;
    case ARTEL__CLIP_NORM: clip_loop(ARTEL__CLIP_NORM, square, sizes, p, from, to, n); break;
    case ARTEL__CLIP_SCALE: clip_loop(ARTEL__CLIP_SCALE, square, sizes, p, from, to, n); break;
    case ARTEL__CLIP_NARROW: clip_loop(ARTEL__CLIP_NARROW, square, sizes, p, from, to, n); break;
    }
}

/* Elements at .. at + n - 1 of the variable; their gradient and squares (or NULL). */
static void apply_piece(const artel__apply *p, int64_t at, const float *g, const float *q, int64_t n)
{
    float clipped[RUN], squared[RUN], *w = p->variable + at, decay = p->decay, rate = p->rate;
    if (p->clip) {
        clip_run(false, false, p, g, clipped, n);
        g = clipped;
    }
    const rule_flags held = {.held = p->held}, none = {0};
    for (int64_t i = 0; decay != 0.0f && !p->held && i < n; i++) w[i] = apply_decay(none, w[i], decay, rate);
    for (int64_t i = 0; decay != 0.0f && p->held && i < n; i++) w[i] = apply_decay(held, w[i], decay, rate);
    if (q && p->clip) {
        if (p->sizes)
            clip_run(true, true, p, q, squared, n);
        else
            clip_run(true, false, p, q, squared, n);
        q = squared;
    }
    rule_run_held((piece){p, at, n, g, q, NULL, 1, 0});
}

static int64_t apply_tasks(const void *params)
{
    return artel__norm_blocks(((const artel__apply *)params)->count);
}

static void apply_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__apply *p = params;
    int64_t to = artel__piece_end(p->count, ARTEL__NORM_BLOCK, end);
    (void)scratch;
    for (int64_t at = begin * ARTEL__NORM_BLOCK; at < to; at += RUN)
        apply_piece(p, at, p->gradient + at, p->squares ? p->squares + at : NULL, to - at < RUN ? to - at : RUN);
}

/* -- on rows of a table -- */

static int64_t apply_rows_tasks(const void *params)
{
    const artel__apply_rows *p = params;
    if (!p->others) return artel__pieces(p->most, ROWS);
    return p->width > 0 ? artel__pieces(p->apply.count / p->width, ROWS) : 0;
}

static void apply_row(const artel__apply_rows *p, int64_t k)
{
    const float *g = p->apply.gradient + k * p->width, *q = p->apply.squares ? p->apply.squares + k * p->width : NULL;
    int64_t at = p->token[k] * p->width;
    for (int64_t i = 0; i < p->width; i += RUN)
        apply_piece(&p->apply, at + i, g + i, q ? q + i : NULL, p->width - i < RUN ? p->width - i : RUN);
}

/* The first k whose token is not below `row`. */
static int64_t find_token(const artel__apply_rows *p, int64_t row)
{
    int64_t low = 0, high = *p->count;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (p->token[middle] < row)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Rows [row, end) of the table, those between the tokens as runs without a gradient. */
static void apply_table(const artel__apply_rows *p, int64_t row, int64_t end)
{
    static const float zeros[RUN] = {0};
    for (int64_t k = find_token(p, row); row < end; k++) {
        int64_t next = k < *p->count && p->token[k] < end ? p->token[k] : end, to = next * p->width;
        for (int64_t at = row * p->width; at < to; at += RUN)
            apply_piece(&p->apply, at, zeros, p->apply.squares ? zeros : NULL, to - at < RUN ? to - at : RUN);
        if (next < end) apply_row(p, k);
        row = next + 1;
    }
}

/* Nothing happens to their gradients before the rule, so one loop takes them all: most rows are short. */
static void apply_rows_at_once(const artel__apply_rows *p, int64_t k, int64_t to)
{
    const artel__apply *a = &p->apply;
    rule_run_held((piece){.p = a,
                          .n = p->width,
                          .gradient = a->gradient + k * p->width,
                          .squares = a->squares ? a->squares + k * p->width : NULL,
                          .token = p->token + k,
                          .rows = to - k,
                          .more = *p->count - to});
}

static void apply_rows_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__apply_rows *p = params;
    int64_t k = begin * ROWS, to = artel__piece_end(*p->count, ROWS, end);
    (void)scratch;
    if (p->others) {
        apply_table(p, begin * ROWS, artel__piece_end(p->apply.count / p->width, ROWS, end));
        return;
    }
    if (k < to && !p->apply.clip && p->apply.decay == 0.0f) {
        apply_rows_at_once(p, k, to);
        return;
    }
    for (; k < to; k++) {
        if (k + AHEAD < *p->count) ask_for_row(&p->apply, p->token[k + AHEAD] * p->width, p->width);
        apply_row(p, k);
    }
}

/* -- second half of LAMB -- */

static int64_t lamb_step_tasks(const void *params)
{
    return artel__norm_blocks(((const artel__lamb_step *)params)->count);
}

static void lamb_step_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__lamb_step *p = params;
    int64_t from = artel__piece_end(p->count, ARTEL__NORM_BLOCK, begin),
            to = artel__piece_end(p->count, ARTEL__NORM_BLOCK, end);
    float *w = p->variable, step = p->ratio * p->rate;
    const float *u = p->direction;
    (void)scratch;
    ARTEL__INDEPENDENT
    for (int64_t i = from; i < to; i++) w[i] = w[i] - step * u[i];
}

/* -- norms -- */

static int64_t block_norm_tasks(const void *params)
{
    return artel__norm_blocks(((const artel__block_norm *)params)->count);
}

ARTEL__INLINE double block_sum(bool squares, const float *x, int64_t n)
{
    double lane[ARTEL__LANES] = {0};
    int64_t i = 0;
    for (; i + ARTEL__LANES <= n; i += ARTEL__LANES) {
        for (int k = 0; k < ARTEL__LANES; k++) {
            double v = (double)x[i + k];
            lane[k] = lane[k] + (squares ? v * v : (double)artel__absf(x[i + k]));
        }
    }
    for (int k = 0; i + k < n; k++) {
        double v = (double)x[i + k];
        lane[k] = lane[k] + (squares ? v * v : (double)artel__absf(x[i + k]));
    }
    return artel__lanes_sum64(lane);
}

static void block_norm_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__block_norm *p = params;
    (void)scratch;
    for (int64_t block = begin; block < end; block++) {
        int64_t from = block * ARTEL__NORM_BLOCK, n = artel__piece_end(p->count, ARTEL__NORM_BLOCK, block + 1) - from;
        bool squares = p->kind == ARTEL__NORM_SQUARES;
        p->blocks[block] = squares ? block_sum(true, p->x + from, n) : block_sum(false, p->x + from, n);
    }
}

/* -- whole-variable passes -- */

static int64_t flat_tasks(const void *params)
{
    return artel__norm_blocks(((const artel__flat *)params)->count);
}

ARTEL__INLINE void flat_loop(artel__flat_op op, const artel__flat *p, int64_t from, int64_t to)
{
    const float *x = p->x;
    float *y = p->y, a = p->a, b = p->b;
    bool reads = op <= ARTEL__FLAT_AVERAGE;
    ARTEL__INDEPENDENT
    for (int64_t i = from; i < to; i++) y[i] = flat_element(op, x[i], reads ? y[i] : 0.0f, a, b);
}

static void flat_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__flat *p = params;
    int64_t from = artel__piece_end(p->count, ARTEL__NORM_BLOCK, begin),
            to = artel__piece_end(p->count, ARTEL__NORM_BLOCK, end);
    (void)scratch;
    switch (p->op) {
    case ARTEL__FLAT_REGULARISE: flat_loop(ARTEL__FLAT_REGULARISE, p, from, to); break;
    case ARTEL__FLAT_EMA: flat_loop(ARTEL__FLAT_EMA, p, from, to); break;
    case ARTEL__FLAT_ACCUMULATE: flat_loop(ARTEL__FLAT_ACCUMULATE, p, from, to); break;
    case ARTEL__FLAT_AVERAGE: flat_loop(ARTEL__FLAT_AVERAGE, p, from, to); break;
    case ARTEL__FLAT_SCALE: flat_loop(ARTEL__FLAT_SCALE, p, from, to); break;
    case ARTEL__FLAT_DIVIDE: flat_loop(ARTEL__FLAT_DIVIDE, p, from, to); break;
    case ARTEL__FLAT_CLIP: flat_loop(ARTEL__FLAT_CLIP, p, from, to); break;
    }
}

ARTEL__SIMD_KERNEL(apply, .tasks = apply_tasks, .run = apply_run);
ARTEL__SIMD_KERNEL(apply_rows, .tasks = apply_rows_tasks, .run = apply_rows_run);
ARTEL__SIMD_KERNEL(lamb_step, .tasks = lamb_step_tasks, .run = lamb_step_run);
ARTEL__SIMD_KERNEL(block_norm, .tasks = block_norm_tasks, .run = block_norm_run);
ARTEL__SIMD_KERNEL(flat, .tasks = flat_tasks, .run = flat_run);
