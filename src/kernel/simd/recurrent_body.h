/* SPDX-License-Identifier: Apache-2.0 */
/* Recurrent cells; see simd.h for how this file is compiled, kernel/recurrent.h for the formulas.
 *
 * A task takes up to BLOCK rows through all steps, two tasks of one run together. At each step one small product makes
 * the recurrent part of all gates of the block, behind the projected input; then the gates are made row by row, in
 * loops over the units. What a step works on lies side by side in scratch: rows of one time are far apart in memory,
 * and fall into few sets of the first-level cache. For the same reason what the next step reads is asked for, row by
 * row, while this one is made. The reference is this body over the plain products: what could differ between
 * instruction sets are only loops without order, and the products.
 */
#include "kernel/simd/simd.h"

#include "base/fetch_soon.h"
#include "kernel/simd/recurrent_gates.h"
#include "kernel/simd/recurrent_tables.h"

enum {
    BLOCK = 16,
    MOST = 2 * BLOCK /* rows of neighbouring tasks that are done as one */
};

typedef struct walk {
    const artel__recurrent_forward *p;
    const artel__recurrent_settings *s;
    const artel__micro *micro;
    int64_t u, g, first, m; /* units, gate columns, rows of the block */
    float *room;            /* g floats for gates, u for another array */
    float *product;         /* MOST rows of g */
    float *state;           /* MOST rows of u: c of LSTM */
    float *h;               /* MOST rows of u */
    float *kept;            /* with keep: MOST rows of u, and of a panel */
    const float *packed;    /* the weights for times_all */
} walk;

static int64_t time_of(const artel__recurrent_settings *s, int64_t steps, int64_t step)
{
    return s->go_backwards ? steps - 1 - step : step;
}

static void copy(float *to, const float *from, int64_t n)
{
    if (from)
        memcpy(to, from, (size_t)n * sizeof *to);
    else
        memset(to, 0, (size_t)n * sizeof *to);
}

/* Asks for floats that the next step will read, and mostly write. */
static void ask_for(const float *x, int64_t n)
{
    artel__fetch_soon(x, (size_t)n * sizeof *x);
}

static size_t forward_scratch(const void *params)
{
    const artel__recurrent_forward *p = params;
    int64_t u = p->settings.units, g = artel__cell_gates(p->settings.cell) * u;
    int64_t kept = p->settings.keeps ? MOST * (u + ARTEL__PANEL) : 0;
    int64_t packed = packed_floats(artel__micro_for(ARTEL__SIMD_ISA, p->arithmetic), u, g);
    return (size_t)(packed + g + u + MOST * g + 2 * MOST * u + kept + 64) * sizeof(float);
}

/* The recurrent part of all gates; with keep, each from an h of its own. */
static void recurrent_product(const walk *w, const artel__gemm *whole)
{
    if (!w->s->keeps) {
        times_all(w->micro, whole, w->packed);
        return;
    }
    keep_block block = {w->p->keep + w->first * w->g, w->m, w->g / w->u, w->u};
    for (int64_t k = 0; k < block.gates; k++) {
        artel__gemm g = *whole;
        keep_rows(&block, k, whole->a, whole->lda, w->kept);
        g.a = w->kept;
        g.lda = w->u;
        times_columns(w->micro, &g, k * w->u, w->u, w->kept + MOST * w->u);
    }
}

/* Keras' own activations, in one loop. */
static bool is_usual(const artel__recurrent_settings *s)
{
    return s->recurrent.function == ARTEL__UNARY_SIGMOID && s->activation.function == ARTEL__UNARY_TANH;
}

/* The gates from their arguments z; new c and h. */
static void lstm_row_usual(int64_t u, const float *z, float *gates, float *c, float *extra, float *h)
{
    ARTEL__INDEPENDENT
    for (int64_t i = 0; i < u; i++) {
        float input = artel__sigmoidf(z[i]), forget = artel__sigmoidf(z[u + i]), output = artel__sigmoidf(z[3 * u + i]);
        float candidate = artel__tanhf(z[2 * u + i]), state = forget * c[i] + input * candidate;
        gates[i] = input;
        gates[u + i] = forget;
        gates[2 * u + i] = candidate;
        gates[3 * u + i] = output;
        c[i] = state;
        extra[i] = state;
        h[i] = output * artel__tanhf(state);
    }
}

static void lstm_row(const walk *w, float *z, float *gates, float *c, float *extra, float *h)
{
    int64_t u = w->u;
    const float *input = gate(&w->s->recurrent, 2 * u, z, w->room), *forget = input + u;
    const float *candidate = gate(&w->s->activation, u, z + 2 * u, w->room + 2 * u);
    const float *output = gate(&w->s->recurrent, u, z + 3 * u, w->room + 3 * u);
    ARTEL__INDEPENDENT
    for (int64_t i = 0; i < u; i++) c[i] = forget[i] * c[i] + input[i] * candidate[i];
    memcpy(gates, z, (size_t)(4 * u) * sizeof *z);
    memcpy(extra, c, (size_t)u * sizeof *c);
    activate(&w->s->activation, u, c, h);
    ARTEL__INDEPENDENT
    for (int64_t i = 0; i < u; i++) h[i] = output[i] * h[i];
}

/* h' from h; `q` the recurrent part of the row. */
static void gru_row(const walk *w, float *z, const float *q, float *extra, float *h)
{
    int64_t u = w->u;
    float *n = z + 2 * u;
    ARTEL__INDEPENDENT
    for (int64_t i = 0; i < 2 * u; i++) z[i] = z[i] + q[i];
    const float *update = gate(&w->s->recurrent, 2 * u, z, w->room), *reset = update + u;
    memcpy(extra, q + 2 * u, (size_t)u * sizeof *extra);
    ARTEL__INDEPENDENT
    for (int64_t i = 0; i < u; i++) n[i] = n[i] + reset[i] * q[2 * u + i];
    const float *candidate = gate(&w->s->activation, u, n, w->room + 2 * u);
    ARTEL__INDEPENDENT
    for (int64_t i = 0; i < u; i++) h[i] = update[i] * h[i] + (1.0f - update[i]) * candidate[i];
}

static bool valid(const uint8_t *mask, int64_t steps, int64_t row, int64_t time)
{
    return !mask || mask[row * steps + time];
}

/* Starts the gates at the projected input, LSTM's in scratch, and keeps the state each row begins with. */
static void begin_step(const walk *w, int64_t time)
{
    const artel__recurrent_forward *p = w->p;
    bool lstm = w->s->cell == ARTEL__CELL_LSTM;
    for (int64_t r = 0; r < w->m; r++) {
        int64_t at = (w->first + r) * p->steps + time;
        float *gates = lstm ? w->product + r * w->g : p->gates + at * w->g;
        if (gates != p->projected + at * w->g) memcpy(gates, p->projected + at * w->g, (size_t)w->g * sizeof(float));
        memcpy(p->before + at * w->u, w->h + r * w->u, (size_t)w->u * sizeof(float));
    }
}

/* The place of `step` among the times, or that of the last step again behind the end. */
static int64_t time_after(const artel__recurrent_settings *s, int64_t steps, int64_t step)
{
    return time_of(s, steps, step + 1 < steps ? step + 1 : step);
}

static void finish_row(const walk *w, int64_t r, int64_t step, bool on, const float *h)
{
    const artel__recurrent_forward *p = w->p;
    int64_t row = w->first + r, u = w->u;
    size_t bytes = (size_t)u * sizeof(float);
    float *out = p->out + (w->s->sequences ? row * p->steps + step : row) * u;
    if (on)
        memcpy(out, h, bytes);
    else if (w->s->zero_output_for_mask || step == 0)
        memset(out, 0, bytes);
    else if (w->s->sequences)
        memcpy(out, out - u, bytes);
}

static void step_lstm(const walk *w, int64_t step, int64_t time)
{
    const artel__recurrent_forward *p = w->p;
    int64_t next = time_after(w->s, p->steps, step);
    artel__gemm g = {w->m, w->g, w->u, w->h, w->u, p->weights, 0, w->product, w->g, true};
    bool usual = is_usual(w->s);
    recurrent_product(w, &g);
    for (int64_t r = 0; r < w->m; r++) {
        int64_t at = (w->first + r) * p->steps, here = at + time;
        float *z = w->product + r * w->g, *c = w->state + r * w->u, *h = w->h + r * w->u;
        bool on = valid(p->mask, p->steps, w->first + r, time);
        ask_for(p->projected + (at + next) * w->g, w->g);
        if (p->gates != p->projected) ask_for(p->gates + (at + next) * w->g, w->g);
        ask_for(p->before + (at + next) * w->u, w->u);
        ask_for(p->extra + (at + next) * w->u, w->u);
        float *gates = p->gates + here * w->g, *extra = p->extra + here * w->u;
        if (!on) {
            memcpy(gates, z, (size_t)w->g * sizeof *z);
            memcpy(extra, c, (size_t)w->u * sizeof *c);
        } else if (usual) {
            lstm_row_usual(w->u, z, gates, c, extra, h);
        } else {
            lstm_row(w, z, gates, c, extra, h);
        }
        finish_row(w, r, step, on, h);
    }
}

static void step_simple(const walk *w, int64_t step, int64_t time)
{
    const artel__recurrent_forward *p = w->p;
    int64_t at = w->first * p->steps + time;
    artel__gemm g = {
        w->m, w->g, w->u, p->before + at * w->u, p->steps * w->u, p->weights, 0, p->gates + at * w->g, p->steps * w->g,
        true};
    recurrent_product(w, &g);
    for (int64_t r = 0; r < w->m; r++) {
        float *z = p->gates + ((w->first + r) * p->steps + time) * w->g;
        bool on = valid(p->mask, p->steps, w->first + r, time);
        if (on) memcpy(w->h + r * w->u, gate(&w->s->activation, w->u, z, w->room), (size_t)w->u * sizeof(float));
        finish_row(w, r, step, on, w->h + r * w->u);
    }
}

static void step_gru(const walk *w, int64_t step, int64_t time)
{
    const artel__recurrent_forward *p = w->p;
    int64_t at = w->first * p->steps + time;
    artel__gemm g = {w->m, w->g,       w->u, p->before + at * w->u, p->steps * w->u, p->weights,
                     0,    w->product, w->g, p->bias != NULL};
    for (int64_t r = 0; p->bias && r < w->m; r++) memcpy(w->product + r * w->g, p->bias, (size_t)w->g * sizeof(float));
    recurrent_product(w, &g);
    for (int64_t r = 0; r < w->m; r++) {
        int64_t here = (w->first + r) * p->steps + time;
        bool on = valid(p->mask, p->steps, w->first + r, time);
        if (on) gru_row(w, p->gates + here * w->g, w->product + r * w->g, p->extra + here * w->u, w->h + r * w->u);
        finish_row(w, r, step, on, w->h + r * w->u);
    }
}

/* GRU without reset_after: the gates first, then the product of r h with all columns, of which the last are used. */
static void step_gru_before(const walk *w, int64_t step, int64_t time)
{
    const artel__recurrent_forward *p = w->p;
    int64_t at = w->first * p->steps + time, u = w->u;
    artel__gemm g = {w->m, w->g, u, p->before + at * u, p->steps * u, p->weights, 0, w->product, w->g, true};
    for (int64_t r = 0; r < w->m; r++)
        memcpy(w->product + r * w->g, p->gates + (at + r * p->steps) * w->g, (size_t)w->g * sizeof(float));
    recurrent_product(w, &g);
    for (int64_t r = 0; r < w->m; r++) {
        int64_t here = at + r * p->steps;
        float *z = p->gates + here * w->g, *extra = p->extra + here * u;
        const float *h = w->h + r * u;
        if (w->s->keeps) {
            keep_rows(&(keep_block){p->keep + (w->first + r) * w->g, 1, 3, u}, 2, h, u, w->kept);
            h = w->kept;
        }
        memcpy(z, w->product + r * w->g, (size_t)(2 * u) * sizeof *z);
        const float *reset = gate(&w->s->recurrent, 2 * u, z, w->room) + u;
        ARTEL__INDEPENDENT
        for (int64_t i = 0; i < u; i++) extra[i] = reset[i] * h[i];
        memcpy(w->product + r * w->g, z, (size_t)w->g * sizeof *z);
    }
    g.a = p->extra + at * u;
    times_all(w->micro, &g, w->packed);
    for (int64_t r = 0; r < w->m; r++) {
        float *z = p->gates + (at + r * p->steps) * w->g, *n = z + 2 * u, *h = w->h + r * u;
        bool on = valid(p->mask, p->steps, w->first + r, time);
        memcpy(n, w->product + r * w->g + 2 * u, (size_t)u * sizeof *n);
        const float *candidate = gate(&w->s->activation, u, n, w->room + 2 * u);
        const float *update = gate_again(&w->s->recurrent, u, z, w->room);
        ARTEL__INDEPENDENT
        for (int64_t i = 0; i < u && on; i++) h[i] = update[i] * h[i] + (1.0f - update[i]) * candidate[i];
        finish_row(w, r, step, on, h);
    }
}

static int64_t forward_tasks(const void *params)
{
    return artel__pieces(((const artel__recurrent_forward *)params)->rows, BLOCK);
}

/* The first row behind the tasks that are done together with `task`, of those before `end`. */
static int64_t block_end(int64_t rows, int64_t task, int64_t end)
{
    int64_t last = (task + MOST / BLOCK < end ? task + MOST / BLOCK : end) * BLOCK;
    return last < rows ? last : rows;
}

static void forward_block(const artel__recurrent_forward *p, int64_t first, int64_t m, float *scratch)
{
    int64_t u = p->settings.units, g = artel__cell_gates(p->settings.cell) * u;
    walk w = {.p = p,
              .s = &p->settings,
              .micro = artel__micro_for(ARTEL__SIMD_ISA, p->arithmetic),
              .u = u,
              .g = g,
              .first = first,
              .m = m,
              .packed = scratch};
    if (w.micro->pack) w.micro->pack(p->weights, u, g, scratch);
    w.product = scratch + packed_floats(w.micro, u, g);
    w.state = w.product + MOST * g;
    w.h = w.state + MOST * u;
    w.kept = w.h + MOST * u;
    w.room = w.kept + (p->settings.keeps ? MOST * (u + ARTEL__PANEL) : 0);
    copy(w.h, p->h0 ? p->h0 + first * u : NULL, m * u);
    copy(w.state, p->c0 ? p->c0 + first * u : NULL, m * u);
    if (p->steps == 0) copy(p->out + (p->settings.sequences ? 0 : first * u), NULL, p->settings.sequences ? 0 : m * u);
    for (int64_t step = 0; step < p->steps; step++) {
        int64_t time = time_of(&p->settings, p->steps, step);
        begin_step(&w, time);
        if (p->settings.cell == ARTEL__CELL_LSTM)
            step_lstm(&w, step, time);
        else if (p->settings.cell == ARTEL__CELL_SIMPLE)
            step_simple(&w, step, time);
        else if (p->settings.reset_after)
            step_gru(&w, step, time);
        else
            step_gru_before(&w, step, time);
    }
    copy(p->h + first * u, w.h, m * u);
    if (p->settings.cell == ARTEL__CELL_LSTM) copy(p->c + first * u, w.state, m * u);
}

static void forward_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__recurrent_forward *p = params;
    for (int64_t task = begin; task < end; task += MOST / BLOCK)
        forward_block(p, task * BLOCK, block_end(p->rows, task, end) - task * BLOCK, scratch);
}

#include "kernel/simd/recurrent_back.h"

/* With AMX, whose small products are in blocks, chains are no business of this file's. */
static const char *refuses(artel__arithmetic arithmetic)
{
    return ARTEL__SIMD_ISA < ARTEL__ISA_AMX || arithmetic == ARTEL__ARITHMETIC_TILES ? NULL
                                                                                     : "adds in blocks, not in chains";
}

static const char *forward_refuses(const void *params)
{
    return refuses(((const artel__recurrent_forward *)params)->arithmetic);
}

static const char *gradient_refuses(const void *params)
{
    return refuses(((const artel__recurrent_gradient *)params)->arithmetic);
}

const artel__kernel ARTEL__SIMD_TABLE[ARTEL__RECURRENT_KERNELS] = {
    [ARTEL__RECURRENT_FORWARD] = {.name = ARTEL__SIMD_NAME " recurrent_forward",
                                  .isa = ARTEL__SIMD_ISA,
                                  .refuses = forward_refuses,
                                  .tasks = forward_tasks,
                                  .scratch_bytes = forward_scratch,
                                  .run = forward_run},
    [ARTEL__RECURRENT_GRADIENT] = {.name = ARTEL__SIMD_NAME " recurrent_gradient",
                                   .isa = ARTEL__SIMD_ISA,
                                   .refuses = gradient_refuses,
                                   .tasks = gradient_tasks,
                                   .scratch_bytes = gradient_scratch,
                                   .run = gradient_run},
};
