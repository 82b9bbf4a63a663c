/* SPDX-License-Identifier: Apache-2.0 */
/* Recurrent cells: fast against reference bit for bit, the forward pass against a plain one in float64, gradients by
 * differences. */
#include "help_check.h"

#include <math.h>
#include <string.h>

#include "kernel/product.h"
#include "kernel/narrow.h"
#include "kernel/recurrent.h"

enum {
    ROWS = 35, /* tasks of 16: two that are done together, and one */
    STEPS = 5,
    UNITS = 19,
    MOST = ROWS * STEPS * UNITS * 4
};

typedef struct arrays {
    float projected[MOST], plain[UNITS * UNITS * 4], weights[UNITS * 128], transposed[UNITS * 128], bias[UNITS * 4],
        h0[ROWS * UNITS], c0[ROWS * UNITS], keep[ROWS * UNITS * 4];
    float out[MOST], h[ROWS * UNITS], c[ROWS * UNITS], before[MOST], gates[MOST], extra[MOST];
    float dout[MOST], dh[ROWS * UNITS], dc[ROWS * UNITS], dprojected[MOST], dh0[ROWS * UNITS], dc0[ROWS * UNITS],
        drecurrent[MOST], drecurrent_n[MOST];
    uint8_t mask[ROWS * STEPS];
    bool kept;
} arrays;

static void fill(check_random *random, float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) x[i] = check_uniform(random, -1, 1);
}

static void pack(artel__pack what, int64_t rows, int64_t columns, const float *from, float *to)
{
    artel__product_pack p = {
        .what = what, .taps = 1, .rows = rows, .columns = columns, .groups = 1, .from = from, .to = to};
    check_run_reference(artel__product_pack_kernels, &p);
}

static double apply(const artel__cell_activation *a, double x)
{
    switch (a->function) {
    case ARTEL__UNARY_TANH: return tanh(x);
    case ARTEL__UNARY_SIGMOID: return 1 / (1 + exp(-x));
    case ARTEL__UNARY_SOFTSIGN: return x / (1 + fabs(x));
    case ARTEL__UNARY_HARD_SIGMOID: return fmin(fmax(x + 3, 0), 6) / 6;
    default: return x;
    }
}

/* sum over k of h[k] R[k][column], h times the factors of the column's gate. */
static double dot(const arrays *a, int64_t row, const double *h, int64_t column, int64_t g)
{
    double sum = 0;
    const float *keep = a->keep + row * g + column / UNITS * UNITS;
    for (int k = 0; k < UNITS; k++) sum += (a->kept ? (double)keep[k] : 1) * h[k] * (double)a->plain[k * g + column];
    return sum;
}

static void plain_step(const arrays *a, const artel__recurrent_settings *s, int64_t row, const float *x, double *h,
                       double *c)
{
    int64_t u = UNITS, g = artel__cell_gates(s->cell) * u;
    double next[UNITS], reset[UNITS], old[UNITS];
    memcpy(old, h, sizeof old);
    for (int64_t j = 0; j < u; j++)
        reset[j] =
            apply(&s->recurrent, (double)x[(s->cell == ARTEL__CELL_GRU) * u + j] +
                                     dot(a, row, old, (s->cell == ARTEL__CELL_GRU) * u + j, g) +
                                     (s->cell == ARTEL__CELL_GRU && s->reset_after ? (double)a->bias[u + j] : 0)) *
            old[j];
    for (int64_t j = 0; j < u; j++) {
        if (s->cell == ARTEL__CELL_SIMPLE) next[j] = apply(&s->activation, (double)x[j] + dot(a, row, old, j, g));
        if (s->cell == ARTEL__CELL_LSTM) {
            double i = apply(&s->recurrent, (double)x[j] + dot(a, row, old, j, g)),
                   f = apply(&s->recurrent, (double)x[u + j] + dot(a, row, old, u + j, g));
            c[j] = f * c[j] + i * apply(&s->activation, (double)x[2 * u + j] + dot(a, row, old, 2 * u + j, g));
            next[j] = apply(&s->recurrent, (double)x[3 * u + j] + dot(a, row, old, 3 * u + j, g)) *
                      apply(&s->activation, c[j]);
        }
        if (s->cell == ARTEL__CELL_GRU) {
            double b[3] = {0};
            for (int k = 0; k < 3 && s->reset_after; k++) b[k] = (double)a->bias[k * u + j];
            double z = apply(&s->recurrent, (double)x[j] + dot(a, row, old, j, g) + b[0]);
            double r = apply(&s->recurrent, (double)x[u + j] + dot(a, row, old, u + j, g) + b[1]);
            double n = s->reset_after ? r * (dot(a, row, old, 2 * u + j, g) + b[2]) : dot(a, row, reset, 2 * u + j, g);
            next[j] = z * old[j] + (1 - z) * apply(&s->activation, (double)x[2 * u + j] + n);
        }
    }
    memcpy(h, next, sizeof next);
}

/* The loss that dout, dh and dc are the gradients of. */
static double plain_loss(const arrays *a, const artel__recurrent_settings *s, bool masked, float *compare)
{
    int64_t u = UNITS, g = artel__cell_gates(s->cell) * u;
    double loss = 0;
    for (int64_t r = 0; r < ROWS; r++) {
        double h[UNITS], c[UNITS], shown[UNITS] = {0};
        for (int64_t j = 0; j < u; j++) h[j] = (double)a->h0[r * u + j], c[j] = (double)a->c0[r * u + j];
        for (int64_t step = 0; step < STEPS; step++) {
            int64_t time = s->go_backwards ? STEPS - 1 - step : step;
            bool on = !masked || a->mask[r * STEPS + time];
            if (on) plain_step(a, s, r, a->projected + (r * STEPS + time) * g, h, c);
            for (int64_t j = 0; j < u; j++) shown[j] = on ? h[j] : s->zero_output_for_mask ? 0 : shown[j];
            int64_t at = s->sequences ? (r * STEPS + step) * u : r * u;
            for (int64_t j = 0; j < u && (s->sequences || step == STEPS - 1); j++) {
                loss += shown[j] * (double)a->dout[at + j];
                if (compare) assert_true(fabs(shown[j] - (double)compare[at + j]) < 1e-4);
            }
        }
        for (int64_t j = 0; j < u; j++) {
            loss +=
                h[j] * (double)a->dh[r * u + j] + (s->cell == ARTEL__CELL_LSTM ? c[j] * (double)a->dc[r * u + j] : 0);
        }
    }
    return loss;
}

static void check_slopes(check_random *random, arrays *a, const artel__recurrent_settings *s, bool masked, float *x,
                         const float *dx, int64_t n)
{
    for (int trial = 0; trial < 6; trial++) {
        int64_t at = check_below(random, n);
        float before = x[at], h = 1.0f / 512;
        x[at] = before + h;
        double up = plain_loss(a, s, masked, NULL);
        x[at] = before - h;
        double down = plain_loss(a, s, masked, NULL);
        x[at] = before;
        assert_true(fabs((up - down) / (2 * (double)h) - (double)dx[at]) < 3e-3);
    }
}

/* The gates over the projected input, and their gradient over the gates: the bits of the same in buffers of their own.
 */
static void same_in_place(arrays *a, artel__recurrent_forward f, artel__recurrent_gradient b, size_t wide)
{
    size_t state = ROWS * UNITS * sizeof(float);
    float *gates = memcpy(check_alloc(wide), a->gates, wide),
          *dprojected = memcpy(check_alloc(wide), a->dprojected, wide);
    memcpy(a->gates, a->projected, wide);
    f.projected = a->gates;
    check_buffer forward[] = {{a->gates, wide}, {a->extra, state * STEPS}, {a->h, state}};
    check_kernels(artel__recurrent_forward_kernels, &f, forward, 3);
    assert_memory_equal(a->gates, gates, wide);
    b.dprojected = a->gates;
    check_buffer back[] = {{a->gates, wide}, {a->dh0, state}, {a->drecurrent, wide}, {a->drecurrent_n, wide}};
    check_kernels(artel__recurrent_gradient_kernels, &b, back, 4);
    assert_memory_equal(a->gates, dprojected, wide);
    check_free(gates), check_free(dprojected);
}

/* Of bfloat16 weights in blocks every kernel gives the bits of the reference; what is put out is that of chains but for
 * rounded states. */
static void in_blocks(arrays *a, artel__recurrent_forward f, artel__recurrent_gradient b, size_t shown, size_t wide)
{
    size_t state = ROWS * UNITS * sizeof(float), sequence = state * STEPS;
    check_buffer forward[] = {{a->out, shown},       {a->h, state},    {a->c, state},
                              {a->before, sequence}, {a->gates, wide}, {a->extra, sequence}};
    check_buffer back[] = {
        {a->dprojected, wide}, {a->dh0, state}, {a->dc0, state}, {a->drecurrent, wide}, {a->drecurrent_n, wide}};
    float *chains = memcpy(check_alloc(shown), a->out, shown);
    for (size_t i = 0; i < sizeof a->weights / sizeof *a->weights; i++)
        a->weights[i] = artel__narrow_one(ARTEL_DTYPE_BFLOAT16, a->weights[i]);
    for (size_t i = 0; i < sizeof a->transposed / sizeof *a->transposed; i++)
        a->transposed[i] = artel__narrow_one(ARTEL_DTYPE_BFLOAT16, a->transposed[i]);
    f.arithmetic = b.arithmetic = ARTEL__ARITHMETIC_TILES;
    check_kernels(artel__recurrent_forward_kernels, &f, forward, 6);
    check_kernels(artel__recurrent_gradient_kernels, &b, back, 5);
    for (size_t i = 0; i < shown / sizeof *chains; i++) assert_true(fabs((double)chains[i] - (double)a->out[i]) < 0.05);
    check_free(chains);
}

static void one_case(check_random *random, arrays *a, const artel__recurrent_settings *s, bool masked)
{
    int64_t u = UNITS, gates = artel__cell_gates(s->cell), g = gates * u;
    size_t state = ROWS * UNITS * sizeof(float), sequence = state * STEPS, wide = sequence * (size_t)gates;
    fill(random, a->projected, MOST), fill(random, a->plain, UNITS * UNITS * 4), fill(random, a->bias, UNITS * 4);
    fill(random, a->h0, ROWS * UNITS), fill(random, a->c0, ROWS * UNITS), fill(random, a->dout, MOST);
    fill(random, a->dh, ROWS * UNITS), fill(random, a->dc, ROWS * UNITS);
    for (int i = 0; i < UNITS * UNITS * 4; i++) a->plain[i] *= 0.5f;
    for (int i = 0; i < ROWS * STEPS; i++) a->mask[i] = check_below(random, 3) > 0;
    for (int i = 0; i < ROWS * UNITS * 4; i++) a->keep[i] = check_below(random, 3) ? 1.5f : 0.0f;
    pack(ARTEL__PACK_PLAIN_TO_PANELS, u, g, a->plain, a->weights);
    pack(ARTEL__PACK_TRANSPOSE, u, g, a->weights, a->transposed);
    artel__recurrent_forward f = {.settings = *s,
                                  .rows = ROWS,
                                  .steps = STEPS,
                                  .projected = a->projected,
                                  .weights = a->weights,
                                  .bias = s->cell == ARTEL__CELL_GRU && s->reset_after ? a->bias : NULL,
                                  .keep = a->kept ? a->keep : NULL,
                                  .mask = masked ? a->mask : NULL,
                                  .h0 = a->h0,
                                  .c0 = a->c0,
                                  .out = a->out,
                                  .h = a->h,
                                  .c = a->c,
                                  .before = a->before,
                                  .gates = a->gates,
                                  .extra = a->extra};
    check_kernels(artel__recurrent_forward_kernels, &f,
                  (check_buffer[]){{a->out, s->sequences ? sequence : state},
                                   {a->h, state},
                                   {a->c, state},
                                   {a->before, sequence},
                                   {a->gates, wide},
                                   {a->extra, sequence}},
                  6);
    plain_loss(a, s, masked, a->out);
    artel__recurrent_gradient b = {.settings = *s,
                                   .rows = ROWS,
                                   .steps = STEPS,
                                   .transposed = a->transposed,
                                   .keep = f.keep,
                                   .mask = f.mask,
                                   .c0 = a->c0,
                                   .before = a->before,
                                   .gates = a->gates,
                                   .extra = a->extra,
                                   .dout = a->dout,
                                   .dh = a->dh,
                                   .dc = a->dc,
                                   .dprojected = a->dprojected,
                                   .dh0 = a->dh0,
                                   .dc0 = a->dc0,
                                   .drecurrent = a->drecurrent,
                                   .drecurrent_n = a->drecurrent_n};
    check_kernels(
        artel__recurrent_gradient_kernels, &b,
        (check_buffer[]){
            {a->dprojected, wide}, {a->dh0, state}, {a->dc0, state}, {a->drecurrent, wide}, {a->drecurrent_n, wide}},
        5);
    same_in_place(a, f, b, wide);
    check_slopes(random, a, s, masked, a->projected, a->dprojected, ROWS * STEPS * g);
    check_slopes(random, a, s, masked, a->h0, a->dh0, ROWS * u);
    if (s->cell == ARTEL__CELL_LSTM) check_slopes(random, a, s, masked, a->c0, a->dc0, ROWS * u);
    in_blocks(a, f, b, s->sequences ? sequence : state, wide);
}

static void test_cells(void **state)
{
    static const artel__cell_activation tanh_ = {ARTEL__UNARY_TANH, {0}}, sigmoid = {ARTEL__UNARY_SIGMOID, {0}},
                                        softsign = {ARTEL__UNARY_SOFTSIGN, {0}},
                                        hard = {ARTEL__UNARY_HARD_SIGMOID, {0}};
    check_random random = {3};
    arrays *a = check_alloc(sizeof *a);
    (void)state;
    memset(a, 0, sizeof *a);
    for (int kind = 0; kind < 4; kind++) {
        for (int k = 0; k < 8; k++) {
            artel__recurrent_settings s = {.cell = kind == 3 ? ARTEL__CELL_GRU : (artel__cell)kind,
                                           .units = UNITS,
                                           .activation = tanh_,
                                           .recurrent = sigmoid,
                                           .reset_after = kind == 1,
                                           .go_backwards = k & 1,
                                           .sequences = (k & 2) != 0,
                                           .zero_output_for_mask = k == 7};
            if (k == 4) s.activation = softsign, s.recurrent = hard;
            for (int kept = 0; kept < 2; kept++) {
                a->kept = s.keeps = kept;
                one_case(&random, a, &s, k >= 4);
            }
        }
    }
    check_free(a);
}

/* No steps: the states go through. */
static void test_no_steps(void **state)
{
    arrays *a = check_alloc(sizeof *a);
    artel__recurrent_settings s = {.cell = ARTEL__CELL_SIMPLE, .units = UNITS, .activation = {ARTEL__UNARY_TANH, {0}}};
    artel__recurrent_forward f = {
        .settings = s, .rows = 2, .weights = a->weights, .h0 = a->h0, .out = a->out, .h = a->h};
    (void)state;
    memset(a, 0, sizeof *a);
    for (int i = 0; i < 2 * UNITS; i++) a->h0[i] = (float)i, a->out[i] = 7;
    check_kernels(artel__recurrent_forward_kernels, &f,
                  (check_buffer[]){{a->out, 2 * UNITS * 4}, {a->h, 2 * UNITS * 4}}, 2);
    assert_memory_equal(a->h, a->h0, 2 * UNITS * 4);
    for (int i = 0; i < 2 * UNITS; i++) assert_true(a->out[i] == 0);
    check_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cells),
        cmocka_unit_test(test_no_steps),
    };
    check_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
