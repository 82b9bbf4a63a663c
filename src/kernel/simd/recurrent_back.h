/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of recurrent cells: back through the steps, as recurrent_body.h goes forward. Included there, behind what
 * both use. */
#ifndef ARTEL_KERNEL_SIMD_RECURRENT_BACK_H
#define ARTEL_KERNEL_SIMD_RECURRENT_BACK_H

typedef struct walk_back {
    const artel__recurrent_gradient *p;
    const artel__recurrent_settings *s;
    const artel__micro *micro;
    int64_t u, g, first, m;
    float *room;         /* g floats for gates, 3 u for other arrays */
    float *dz;           /* MOST rows of g, `pitch` apart: gradients of the arguments of the gates */
    float *dh, *dc;      /* MOST rows of u: gradients of the states behind this step */
    float *dlate;        /* MOST rows of u: of the output that masked steps repeat */
    float *product;      /* MOST rows of u */
    float *kept;         /* with keep: MOST rows of u */
    const float *packed; /* the transposed weights for times_all */
    int64_t pitch;
} walk_back;

/* Rows of dz do not fall into one set of the first-level cache. */
static int64_t pitch_of(int64_t g)
{
    return g + ARTEL__LANES;
}

static size_t gradient_scratch(const void *params)
{
    const artel__recurrent_gradient *p = params;
    int64_t u = p->settings.units, g = artel__cell_gates(p->settings.cell) * u;
    int64_t packed = packed_floats(artel__micro_for(ARTEL__SIMD_ISA, p->arithmetic), g, u);
    return (size_t)(packed + g + 4 * u + MOST * pitch_of(g) + (p->settings.keeps ? 5 : 4) * MOST * u + 64) *
           sizeof(float);
}

/* The product of `gates` gates from the first on, whose gradients are in g->a, with their rows of R^T; with keep, each
 * times its own. */
static void product_back(const walk_back *w, const artel__gemm *whole, int64_t gates)
{
    int64_t u = w->u;
    artel__gemm g = *whole;
    keep_block block = {w->s->keeps ? w->p->keep + w->first * w->g : NULL, w->m, w->g / u, u};
    if (!block.keep) {
        g.k = gates * u;
        times_rows(w->micro, &g, 0, w->g);
        return;
    }
    g.k = u;
    for (int64_t k = 0; k < gates; k++) {
        g.a = whole->a + k * u;
        g.c = k ? w->kept : w->product;
        times_rows(w->micro, &g, k * u, w->g);
        keep_rows(&block, k, g.c, u, g.c);
        if (k == 0) continue;
        ARTEL__INDEPENDENT
        for (int64_t i = 0; i < w->m * u; i++) w->product[i] = w->product[i] + w->kept[i];
    }
}

/* Adds the gradient of what this step puts out to that of h; false for a masked step, whose gates have no gradient. */
static bool begin_row_back(const walk_back *w, int64_t r, int64_t step, int64_t time)
{
    const artel__recurrent_gradient *p = w->p;
    int64_t row = w->first + r, u = w->u;
    bool on = valid(p->mask, p->steps, row, time);
    float *late = w->dlate + r * u, *dh = w->dh + r * u;
    const float *dout = NULL;
    if (p->dout && w->s->sequences)
        dout = p->dout + (row * p->steps + step) * u;
    else if (p->dout && step == p->steps - 1)
        dout = p->dout + row * u;
    if (!p->mask) {
        ARTEL__INDEPENDENT
        for (int64_t i = 0; dout && i < u; i++) dh[i] = dh[i] + dout[i];
        return true;
    }
    ARTEL__INDEPENDENT
    for (int64_t i = 0; dout && i < u; i++) late[i] = late[i] + dout[i];
    if (on) {
        ARTEL__INDEPENDENT
        for (int64_t i = 0; i < u; i++) dh[i] = dh[i] + late[i];
    }
    if (on || w->s->zero_output_for_mask) memset(late, 0, (size_t)u * sizeof *late);
    return on;
}

/* The c each time began with. */
static const float *c_before(const walk_back *w, int64_t row, int64_t step, float *zeros)
{
    const artel__recurrent_gradient *p = w->p;
    if (step > 0) return p->extra + (row * p->steps + time_of(w->s, p->steps, step - 1)) * w->u;
    if (p->c0) return p->c0 + row * w->u;
    memset(zeros, 0, (size_t)w->u * sizeof *zeros);
    return zeros;
}

typedef struct lstm_kept {
    const float *gates, *c, *old; /* of one row and step: the gates, c after it and before */
} lstm_kept;

static void lstm_row_back_usual(int64_t u, const lstm_kept *k, const float *dh, float *dc, float *dz)
{
    const float *gates = k->gates, *c = k->c, *old = k->old;
    ARTEL__INDEPENDENT
    for (int64_t i = 0; i < u; i++) {
        float input = gates[i], forget = gates[u + i], candidate = gates[2 * u + i], output = gates[3 * u + i];
        float top = artel__tanhf(c[i]), du = dh[i] * output;
        float d = dc[i] + du * (1.0f - top * top);
        dz[i] = (d * candidate) * (input * (1.0f - input));
        dz[u + i] = (d * old[i]) * (forget * (1.0f - forget));
        dz[2 * u + i] = (d * input) * (1.0f - candidate * candidate);
        dz[3 * u + i] = (dh[i] * top) * (output * (1.0f - output));
        dc[i] = d * forget;
    }
}

static void lstm_row_back(const walk_back *w, int64_t r, int64_t step, const float *kept, const float *c, float *dz)
{
    int64_t u = w->u;
    const artel__recurrent_settings *s = w->s;
    float *top = w->room + 4 * u, *du = top + u, *dh = w->dh + r * u, *dc = w->dc + r * u;
    const float *old = c_before(w, w->first + r, step, w->room + 6 * u);
    if (is_usual(s)) {
        lstm_row_back_usual(u, &(lstm_kept){kept, c, old}, dh, dc, dz);
        return;
    }
    const float *input = gate_again(&s->recurrent, 2 * u, kept, w->room), *forget = input + u;
    const float *candidate = gate_again(&s->activation, u, kept + 2 * u, w->room + 2 * u);
    const float *output = gate_again(&s->recurrent, u, kept + 3 * u, w->room + 3 * u);
    activate(&s->activation, u, c, top);
    ARTEL__INDEPENDENT
    for (int64_t i = 0; i < u; i++) dz[3 * u + i] = dh[i] * top[i];
    ARTEL__INDEPENDENT
    for (int64_t i = 0; i < u; i++) du[i] = dh[i] * output[i];
    slope(&s->activation, u, keeps_argument(&s->activation) ? c : top, du, du);
    ARTEL__INDEPENDENT
    for (int64_t i = 0; i < u; i++) {
        float d = dc[i] + du[i];
        dz[i] = d * candidate[i];
        dz[u + i] = d * old[i];
        dz[2 * u + i] = d * input[i];
        dc[i] = d * forget[i];
    }
    slope(&s->recurrent, 2 * u, kept, dz, dz);
    slope(&s->activation, u, kept + 2 * u, dz + 2 * u, dz + 2 * u);
    slope(&s->recurrent, u, kept + 3 * u, dz + 3 * u, dz + 3 * u);
}

/* dz, dr and dn before the product that makes dr without reset_after; dh becomes z dh. */
static void gru_row_back(const walk_back *w, int64_t r, const float *kept, const float *h, float *dz)
{
    int64_t u = w->u;
    const artel__recurrent_settings *s = w->s;
    float *dh = w->dh + r * u;
    const float *update = gate_again(&s->recurrent, u, kept, w->room);
    const float *candidate = gate_again(&s->activation, u, kept + 2 * u, w->room + 2 * u);
    ARTEL__INDEPENDENT
    for (int64_t i = 0; i < u; i++) {
        float d = dh[i];
        dz[i] = d * (h[i] - candidate[i]);
        dz[2 * u + i] = d * (1.0f - update[i]);
        dh[i] = d * update[i];
    }
    slope(&s->recurrent, u, kept, dz, dz);
    slope(&s->activation, u, kept + 2 * u, dz + 2 * u, dz + 2 * u);
}

/* dr, and the gradient of q. */
static void gru_reset_back(const walk_back *w, const float *kept, const float *q, float *dz, float *dq)
{
    int64_t u = w->u;
    const float *reset = gate_again(&w->s->recurrent, u, kept + u, w->room + u);
    ARTEL__INDEPENDENT
    for (int64_t i = 0; i < u; i++) dz[u + i] = dz[2 * u + i] * q[i];
    slope(&w->s->recurrent, u, kept + u, dz + u, dz + u);
    memcpy(dq, dz, (size_t)(2 * u) * sizeof *dq);
    ARTEL__INDEPENDENT
    for (int64_t i = 0; i < u; i++) dq[2 * u + i] = dz[2 * u + i] * reset[i];
}

static void clear(float *x, int64_t n)
{
    memset(x, 0, (size_t)n * sizeof *x);
}

/* dh (+)= the product; rows that are masked keep theirs. */
static void add_product(const walk_back *w, int64_t time, bool replace)
{
    for (int64_t r = 0; r < w->m; r++) {
        float *dh = w->dh + r * w->u;
        const float *d = w->product + r * w->u;
        if (!valid(w->p->mask, w->p->steps, w->first + r, time)) continue;
        if (replace) {
            memcpy(dh, d, (size_t)w->u * sizeof *dh);
            continue;
        }
        ARTEL__INDEPENDENT
        for (int64_t i = 0; i < w->u; i++) dh[i] = dh[i] + d[i];
    }
}

/* What the step before this one in time's order, the next to be made, reads of a row. */
static void ask_for_row_back(const walk_back *w, int64_t row, int64_t step)
{
    const artel__recurrent_gradient *p = w->p;
    if (step == 0) return;
    int64_t at = row * p->steps + time_of(w->s, p->steps, step - 1);
    ask_for(p->gates + at * w->g, w->g);
    if (p->dprojected != p->gates) ask_for(p->dprojected + at * w->g, w->g);
    if (w->s->cell == ARTEL__CELL_LSTM && step > 1)
        ask_for(p->extra + (row * p->steps + time_of(w->s, p->steps, step - 2)) * w->u, w->u);
}

static void step_back(const walk_back *w, int64_t step, int64_t time)
{
    const artel__recurrent_gradient *p = w->p;
    int64_t u = w->u, at = w->first * p->steps + time;
    size_t bytes = (size_t)w->g * sizeof(float);
    bool gru = w->s->cell == ARTEL__CELL_GRU;
    for (int64_t r = 0; r < w->m; r++) {
        int64_t here = at + r * p->steps;
        const float *kept = p->gates + here * w->g;
        float *dz = w->dz + r * w->pitch, *dq = gru ? p->drecurrent + here * w->g : NULL;
        ask_for_row_back(w, w->first + r, step);
        if (!begin_row_back(w, r, step, time)) {
            clear(dz, w->g);
            if (gru) clear(dq, w->g);
        } else if (w->s->cell == ARTEL__CELL_LSTM) {
            lstm_row_back(w, r, step, kept, p->extra + here * u, dz);
        } else if (gru) {
            gru_row_back(w, r, kept, p->before + here * u, dz);
            gru_reset_back(w, kept, p->extra + here * u, dz, dq);
        } else {
            slope(&w->s->activation, u, kept, w->dh + r * u, dz);
        }
        memcpy(p->dprojected + here * w->g, dz, bytes);
        if (gru) memcpy(dz, dq, bytes);
    }
    artel__gemm g = {w->m, u, w->g, w->dz, w->pitch, p->transposed, 0, w->product, u, false};
    if (w->s->keeps)
        product_back(w, &g, w->g / u);
    else
        times_all(w->micro, &g, w->packed);
    add_product(w, time, !gru);
}

/* GRU without reset_after: d(r h) comes from a product of its own, before dr can be made. */
static void step_back_before(const walk_back *w, int64_t step, int64_t time)
{
    const artel__recurrent_gradient *p = w->p;
    int64_t u = w->u, at = w->first * p->steps + time;
    for (int64_t r = 0; r < w->m; r++) {
        int64_t here = at + r * p->steps;
        float *dz = w->dz + r * w->pitch, *dn = p->drecurrent_n + here * w->g;
        if (begin_row_back(w, r, step, time))
            gru_row_back(w, r, p->gates + here * w->g, p->before + here * u, dz);
        else
            clear(dz, w->g);
        clear(dn, 2 * u);
        memcpy(dn + 2 * u, dz + 2 * u, (size_t)u * sizeof *dn);
    }
    artel__gemm g = {w->m, u, u, w->dz + 2 * u, w->pitch, p->transposed, 0, w->product, u, false};
    times_rows(w->micro, &g, 2 * u, w->g);
    if (w->s->keeps) keep_rows(&(keep_block){p->keep + w->first * w->g, w->m, 3, u}, 2, w->product, u, w->product);
    for (int64_t r = 0; r < w->m; r++) {
        int64_t here = at + r * p->steps;
        const float *kept = p->gates + here * w->g, *h = p->before + here * u;
        float *dz = w->dz + r * w->pitch, *dq = p->drecurrent + here * w->g, *dh = w->dh + r * u,
              *d = w->product + r * u;
        if (valid(p->mask, p->steps, w->first + r, time)) {
            const float *reset = gate_again(&w->s->recurrent, u, kept + u, w->room);
            ARTEL__INDEPENDENT
            for (int64_t i = 0; i < u; i++) {
                dz[u + i] = d[i] * h[i];
                dh[i] = dh[i] + d[i] * reset[i];
            }
            slope(&w->s->recurrent, u, kept + u, dz + u, dz + u);
        }
        memcpy(dq, dz, (size_t)(2 * u) * sizeof *dq);
        clear(dq + 2 * u, u);
        memcpy(p->dprojected + here * w->g, dz, (size_t)w->g * sizeof *dz);
    }
    g.a = w->dz;
    product_back(w, &g, 2);
    add_product(w, time, false);
}

static int64_t gradient_tasks(const void *params)
{
    return artel__pieces(((const artel__recurrent_gradient *)params)->rows, BLOCK);
}

static void gradient_block(const artel__recurrent_gradient *p, int64_t first, int64_t m, float *scratch)
{
    int64_t u = p->settings.units, g = artel__cell_gates(p->settings.cell) * u;
    walk_back w = {.p = p,
                   .s = &p->settings,
                   .micro = artel__micro_for(ARTEL__SIMD_ISA, p->arithmetic),
                   .u = u,
                   .g = g,
                   .first = first,
                   .m = m,
                   .packed = scratch};
    if (w.micro->pack) w.micro->pack(p->transposed, g, u, scratch);
    w.dh = scratch + packed_floats(w.micro, g, u);
    w.pitch = pitch_of(g);
    w.dc = w.dh + MOST * u;
    w.dlate = w.dc + MOST * u;
    w.product = w.dlate + MOST * u;
    w.dz = w.product + MOST * u;
    w.kept = w.dz + MOST * w.pitch;
    w.room = w.kept + (p->settings.keeps ? MOST * u : 0);
    copy(w.dh, p->dh ? p->dh + first * u : NULL, m * u);
    copy(w.dc, p->dc ? p->dc + first * u : NULL, m * u);
    clear(w.dlate, m * u);
    bool before = p->settings.cell == ARTEL__CELL_GRU && !p->settings.reset_after;
    for (int64_t step = p->steps - 1; step >= 0; step--) {
        int64_t time = time_of(&p->settings, p->steps, step);
        if (before)
            step_back_before(&w, step, time);
        else
            step_back(&w, step, time);
    }
    copy(p->dh0 + first * u, w.dh, m * u);
    if (p->settings.cell == ARTEL__CELL_LSTM) copy(p->dc0 + first * u, w.dc, m * u);
}

static void gradient_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__recurrent_gradient *p = params;
    for (int64_t task = begin; task < end; task += MOST / BLOCK)
        gradient_block(p, task * BLOCK, block_end(p->rows, task, end) - task * BLOCK, scratch);
}

#endif
