/* SPDX-License-Identifier: Apache-2.0 */
/* Optimizers: three steps recorded from Keras 3.15, fast against reference, norms, regularisers, constraints. */
#include "help_check.h"

#include <math.h>
#include <string.h>

#include "kernel/narrow.h"
#include "kernel/optimize.h"

/* Three steps at rate 0.1 from weights {1, -2, 0.5, 0}; limit of clips 0.5. */
typedef struct recorded {
    const char *name;
    artel__apply_options options;
    artel__clip clip;
    float want[4];
} recorded;

static const float gradients[3][4] = {{0.1f, -0.3f, 2, 0}, {-0.2f, 0.4f, 1, 0.5f}, {0.3f, 0.01f, -1, 0.25f}};

/* What Keras 3.15.1 on TensorFlow 2.21 gives. */
static const recorded table[] = {
    {"SGD", {.rule = ARTEL__RULE_SGD}, .want = {0.980000019f, -2.01099992f, 0.300000012f, -0.075000003f}},
    {"SGD m",
     {.rule = ARTEL__RULE_SGD, .momentum = 0.9},
     .want = {0.980900049f, -1.9957f, -0.131999999f, -0.120000005f}},
    {"SGD n",
     {.rule = ARTEL__RULE_SGD, .momentum = 0.9, .nesterov = true},
     .want = {0.96281004f, -2.00712991f, -0.26879999f, -0.182999998f}},
    {"RMS",
     {.rule = ARTEL__RULE_RMSPROP, .rho = 0.9, .epsilon = 1e-7},
     .want = {0.710436523f, -1.94822443f, 0.175812393f, -0.463668823f}},
    {"RMS mc",
     {.rule = ARTEL__RULE_RMSPROP, .rho = 0.9, .epsilon = 1e-7, .momentum = 0.5, .centered = true},
     .want = {0.587601781f, -1.81133938f, -0.183427989f, -0.661879539f}},
    {"ADAM",
     {.rule = ARTEL__RULE_ADAM, .beta_1 = 0.9, .beta_2 = 0.999, .epsilon = 1e-7},
     .want = {0.902289569f, -1.93558598f, 0.267113596f, -0.154435843f}},
    {"ADAM ams",
     {.rule = ARTEL__RULE_ADAM, .beta_1 = 0.9, .beta_2 = 0.999, .epsilon = 1e-7, .amsgrad = true},
     .want = {0.902289569f, -1.93558121f, 0.267113596f, -0.154435843f}},
    {"ADAMW",
     {.rule = ARTEL__RULE_ADAM, .beta_1 = 0.9, .beta_2 = 0.999, .epsilon = 1e-7, .weight_decay = 0.004},
     .want = {0.901155472f, -1.93325913f, 0.266631126f, -0.154406071f}},
    {"ADAGRAD",
     {.rule = ARTEL__RULE_ADAGRAD, .epsilon = 1e-7},
     .want = {0.960251451f, -2.00047779f, 0.397435099f, -0.123440355f}},
    {"ADADELTA",
     {.rule = ARTEL__RULE_ADADELTA, .rho = 0.95, .epsilon = 1e-7},
     .want = {0.999821961f, -2.00002527f, 0.499859571f, -0.000232707389f}},
    {"ADAMAX",
     {.rule = ARTEL__RULE_ADAMAX, .beta_1 = 0.9, .beta_2 = 0.999, .epsilon = 1e-7},
     .want = {0.904224217f, -1.92883289f, 0.298141629f, -0.104343757f}},
    {"NADAM",
     {.rule = ARTEL__RULE_NADAM, .beta_1 = 0.9, .beta_2 = 0.999, .epsilon = 1e-7},
     .want = {0.898715019f, -1.97551239f, 0.375411868f, -0.157644868f}},
    {"FTRL",
     {.rule = ARTEL__RULE_FTRL, .learning_rate_power = -0.5, .l1 = 0.01, .l2 = 0.02, .l2_shrinkage = 0.03, .beta = 0.1},
     .want = {-0.0100027872f, -0.41583702f, 0.300608903f, -0.103375942f}},
    {"LION",
     {.rule = ARTEL__RULE_LION, .beta_1 = 0.9, .beta_2 = 0.99},
     .want = {0.899999976f, -2.0999999f, 0.400000006f, -0.200000003f}},
    {"LAMB",
     {.rule = ARTEL__RULE_LAMB, .beta_1 = 0.9, .beta_2 = 0.999, .epsilon = 1e-7},
     .want = {0.853084803f, -1.93538225f, 0.126246035f, -0.298821986f}},
    {"FREE",
     {.rule = ARTEL__RULE_SCHEDULE_FREE, .beta_1 = 0.9, .beta_2 = 0.999, .epsilon = 1e-8},
     .want = {0.938036442f, -1.97657382f, 0.381406307f, -0.120074421f}},
    {"clipnorm",
     {.rule = ARTEL__RULE_SGD},
     .clip = ARTEL__CLIP_NORM,
     .want = {0.991863489f, -2.00966668f, 0.455663413f, -0.0324045271f}},
    {"global",
     {.rule = ARTEL__RULE_SGD},
     .clip = ARTEL__CLIP_SCALE,
     .want = {0.991863489f, -2.00966668f, 0.455663413f, -0.0324045271f}},
    {"clipvalue",
     {.rule = ARTEL__RULE_SGD},
     .clip = ARTEL__CLIP_VALUE,
     .want = {0.980000019f, -2.01099992f, 0.449999988f, -0.075000003f}},
};

static double squares(const float *x, int64_t n)
{
    double blocks[1];
    artel__block_norm p = {ARTEL__NORM_SQUARES, n, x, blocks};
    check_run_reference(artel__block_norm_kernels, &p);
    return artel__norm_combine(blocks, 1);
}

static void clip_step(artel__apply *p, artel__clip clip, const float *gradient)
{
    p->clip = clip, p->clip_a = 0.5f;
    if (clip == ARTEL__CLIP_NORM) artel__clip_by_norm(p, squares(gradient, 4), 0.5f);
    if (clip == ARTEL__CLIP_SCALE) p->clip_a = artel__clip_by_global_norm(squares(gradient, 4), 0.5f);
}

static void lamb_second_half(float *w, const float *direction)
{
    float ratio = artel__lamb_ratio((float)sqrt(squares(w, 4)), (float)sqrt(squares(direction, 4)));
    artel__lamb_step p = {4, w, direction, ratio, 0.1f};
    check_run_reference(artel__lamb_step_kernels, &p);
}

static void test_recorded(void **state)
{
    (void)state;
    for (size_t k = 0; k < ARTEL__COUNT(table); k++) {
        const recorded *r = &table[k];
        float w[] = {1, -2, 0.5f, 0}, slot[3][4] = {{0}}, u_product = 1;
        bool accumulates = r->options.rule == ARTEL__RULE_ADAGRAD || r->options.rule == ARTEL__RULE_FTRL;
        for (int i = 0; i < 4 && accumulates; i++) slot[0][i] = 0.1f;
        if (r->options.rule == ARTEL__RULE_SCHEDULE_FREE) memcpy(slot[0], w, sizeof w);
        for (int step = 0; step < 3; step++) {
            artel__apply p = {
                .count = 4, .variable = w, .gradient = gradients[step], .slot = {slot[0], slot[1], slot[2]}};
            u_product = artel__nadam_product(u_product, r->options.beta_1, step);
            artel__apply_prepare(&p, &r->options, 0.1f, step, u_product);
            clip_step(&p, r->clip, gradients[step]);
            check_run_reference(artel__apply_kernels, &p);
            if (p.rule == ARTEL__RULE_LAMB) lamb_second_half(w, slot[2]);
        }
        for (int i = 0; i < 4; i++)
            if (!(fabsf(w[i] - r->want[i]) <= 2e-6f * (1 + fabsf(r->want[i]))))
                fail_msg("%s: weight %d is %.9g, Keras has %.9g", r->name, i, (double)w[i], (double)r->want[i]);
    }
}

static void same_bits(const artel__apply_options *options, artel__clip clip, int64_t n, check_random *random)
{
    float *w = check_floats(random, n, -1, 1), *g = check_floats(random, n, -1, 1), *slot[3];
    for (int k = 0; k < 3; k++) slot[k] = check_floats(random, n, 0.01f, 0.5f);
    artel__apply p = {.count = n,
                      .variable = w,
                      .gradient = g,
                      .slot = {slot[0], slot[1], slot[2]},
                      .clip = clip,
                      .clip_a = 0.5f,
                      .clip_b = 0.75f};
    artel__apply_prepare(&p, options, 0.01f, 41, 0.3f);
    size_t bytes = (size_t)n * 4;
    check_buffer buffers[] = {{w, bytes}, {slot[0], bytes}, {slot[1], bytes}, {slot[2], bytes}};
    check_kernels(artel__apply_kernels, &p, buffers, 4);
    check_free(w), check_free(g), check_free(slot[0]), check_free(slot[1]), check_free(slot[2]);
}

static void test_same_bits(void **state)
{
    static const int64_t counts[] = {0, 1, 15, 1024, 4096, 9001};
    check_random random = {1};
    (void)state;
    for (size_t k = 0; k < ARTEL__COUNT(table); k++)
        for (size_t i = 0; i < ARTEL__COUNT(counts); i++)
            for (int clip = 0; clip <= ARTEL__CLIP_NARROW; clip++)
                same_bits(&table[k].options, (artel__clip)clip, counts[i], &random);
}

/* Slots of 16 bits: the same bits, and each slot is a number of the type. */
static void test_same_bits_held(void **state)
{
    static const artel_dtype dtypes[] = {ARTEL_DTYPE_FLOAT16, ARTEL_DTYPE_BFLOAT16};
    check_random random = {7};
    (void)state;
    for (size_t k = 0; k < ARTEL__COUNT(table); k++) {
        for (size_t d = 0; d < ARTEL__COUNT(dtypes); d++) {
            artel__apply_options options = table[k].options;
            float w[] = {1, -2, 0.5f, 0}, slot[3][4] = {{0}};
            artel__apply p = {.count = 4, .variable = w, .gradient = gradients[0], .slot = {slot[0], slot[1], slot[2]}};
            options.held = dtypes[d];
            same_bits(&options, ARTEL__CLIP_NONE, 1030, &random);
            artel__apply_prepare(&p, &options, 0.1f, 0, 0.5f);
            check_run_reference(artel__apply_kernels, &p);
            for (int i = 0; i < 12; i++)
                assert_float_equal(slot[i / 4][i % 4], artel__narrow_one(dtypes[d], slot[i / 4][i % 4]), 0);
            for (int i = 0; i < 8; i++) assert_float_equal(p.scalar[i], artel__narrow_one(dtypes[d], p.scalar[i]), 0);
        }
    }
}

/* Rows of a table: the bits of the whole table's step there, and nothing anywhere else, unless the others take a step
 * too. */
static void same_rows(const artel__apply_options *options, artel__clip clip, int64_t width, bool others,
                      check_random *random)
{
    enum {
        TABLE = 150,
        COUNT = 70,
        MOST = 90
    };
    int64_t n = TABLE * width;
    size_t bytes = (size_t)n * 4;
    float *w = check_floats(random, n, -1, 1), *g = check_floats(random, MOST * width, -1, 1),
          *whole = check_alloc(bytes), *slot[3], *want[4];
    int32_t token[MOST], count = COUNT;
    for (int k = 0; k < 3; k++) slot[k] = check_floats(random, n, 0.01f, 0.5f);
    for (int k = 0; k < MOST; k++) token[k] = 2 * k + k / 50;
    memset(whole, 0, bytes);
    for (int k = 0; k < COUNT; k++) memcpy(whole + token[k] * width, g + k * width, (size_t)width * 4);
    for (int k = 0; k < 4; k++) want[k] = memcpy(check_alloc(bytes), k ? slot[k - 1] : w, bytes);
    artel__apply p = {.variable = want[0],
                      .gradient = whole,
                      .slot = {want[1], want[2], want[3]},
                      .clip = clip,
                      .clip_a = 0.5f,
                      .clip_b = 0.75f};
    p.count = n;
    artel__apply_prepare(&p, options, 0.01f, 41, 0.3f);
    check_run_reference(artel__apply_kernels, &p);
    for (int64_t row = 0, k = 0; row < TABLE; row++) { /* rows without a gradient stay as they are */
        if (others || (k < COUNT && token[k] == row))
            k++;
        else
            for (int i = 0; i < 4; i++)
                memcpy(want[i] + row * width, (i ? slot[i - 1] : w) + row * width, (size_t)width * 4);
    }
    artel__apply_rows r = {.apply = p, .width = width, .most = MOST, .token = token, .count = &count, .others = others};
    r.apply.variable = w, r.apply.gradient = g;
    for (int k = 0; k < 3; k++) r.apply.slot[k] = slot[k];
    check_buffer buffers[] = {{w, bytes}, {slot[0], bytes}, {slot[1], bytes}, {slot[2], bytes}};
    check_kernels(artel__apply_rows_kernels, &r, buffers, 4);
    for (int k = 0; k < 4; k++) assert_memory_equal(want[k], k ? slot[k - 1] : w, bytes);
    float *squares = check_floats(random, MOST * width, 0, 1);
    r.apply.squares = squares;
    check_kernels(artel__apply_rows_kernels, &r, buffers, 4);
    check_free(squares);
    for (int k = 0; k < 4; k++) check_free(want[k]);
    check_free(w), check_free(g), check_free(whole), check_free(slot[0]), check_free(slot[1]), check_free(slot[2]);
}

static void test_rows(void **state)
{
    static const int64_t widths[] = {1, 16, 1500};
    check_random random = {4};
    (void)state;
    for (size_t k = 0; k < ARTEL__COUNT(table); k++)
        for (size_t i = 0; i < ARTEL__COUNT(widths); i++)
            for (int others = 0; others < 2; others++)
                same_rows(&table[k].options, (artel__clip)(k % 4), widths[i], others, &random);
}

/* Zeros in variable, gradient and moments stay zeros: the padding of panels. */
static void test_padding_stays(void **state)
{
    (void)state;
    for (size_t k = 0; k < ARTEL__COUNT(table); k++) {
        float w[1] = {0}, g[1] = {0}, slot[3][1] = {{0}};
        if (table[k].options.rule == ARTEL__RULE_ADAGRAD || table[k].options.rule == ARTEL__RULE_FTRL)
            slot[0][0] = 0.1f;
        artel__apply p = {.count = 1, .variable = w, .gradient = g, .slot = {slot[0], slot[1], slot[2]}};
        artel__apply_prepare(&p, &table[k].options, 0.1f, 0, 0.5f);
        check_run_reference(artel__apply_kernels, &p);
        assert_true(w[0] == 0 && slot[1][0] == 0 && slot[2][0] == 0);
    }
}

static void test_norms(void **state)
{
    check_random random = {2};
    static const int64_t counts[] = {0, 1, 4096, 4097, 30000};
    (void)state;
    for (size_t k = 0; k < ARTEL__COUNT(counts); k++) {
        for (int kind = 0; kind < 2; kind++) {
            int64_t n = counts[k];
            float *x = check_floats(&random, n, -1, 1);
            double blocks[8] = {0}, truth = 0;
            artel__block_norm p = {(artel__norm_kind)kind, n, x, blocks};
            check_kernels(artel__block_norm_kernels, &p, &(check_buffer){blocks, sizeof blocks}, 1);
            for (int64_t i = 0; i < n; i++) truth += kind ? fabs((double)x[i]) : (double)x[i] * (double)x[i];
            assert_true(fabs(artel__norm_combine(blocks, artel__norm_blocks(n)) - truth) <= 1e-12 * (1 + truth));
            check_free(x);
        }
    }
    double five[] = {1e16, 1, -1e16, 1, 3};
    assert_true(artel__norm_combine(five, 5) == ((1e16 + 1) + (-1e16 + 1)) + 3);
}

static void test_flat(void **state)
{
    check_random random = {3};
    int64_t n = 5000;
    float *x = check_floats(&random, n, -1, 1), *y = check_floats(&random, n, -1, 1);
    (void)state;
    for (int op = 0; op <= ARTEL__FLAT_CLIP; op++) {
        artel__flat p = {(artel__flat_op)op, n, x, y, -0.25f, 0.5f};
        check_kernels(artel__flat_kernels, &p, &(check_buffer){y, (size_t)n * 4}, 1);
    }
    for (int64_t i = 0; i < n; i++) assert_true(y[i] >= -0.25f && y[i] <= 0.5f);
    float w[] = {2, -3, 0}, g[] = {1, 1, 1};
    artel__flat r = {ARTEL__FLAT_REGULARISE, 3, w, g, 0.5f, 0.25f};
    check_run_reference(artel__flat_kernels, &r);
    assert_true(g[0] == 2.5f && g[1] == -1 && g[2] == 1);
    artel__lamb_step s = {n, x, y, 0.5f, 0.1f};
    check_kernels(artel__lamb_step_kernels, &s, &(check_buffer){x, (size_t)n * 4}, 1);
    check_free(x), check_free(y);
}

static double column_norm(const float *w, int64_t length, int64_t inner)
{
    double sum = 0;
    for (int64_t i = 0; i < length; i++) sum += pow((double)w[i * inner], 2);
    return sqrt(sum);
}

static void test_constraints(void **state)
{
    float w[12], before[12];
    (void)state;
    for (int op = 0; op <= ARTEL__CONSTRAINT_MIN_MAX_NORM; op++) {
        for (int i = 0; i < 12; i++) w[i] = before[i] = (float)(i - 5) * 0.5f;
        artel__constrain p = {(artel__constraint)op, 2, 3, 2, w, 1.5f, 2.0f, 1.0f};
        check_kernels(artel__constrain_kernels, &p, &(check_buffer){w, sizeof w}, 1);
        for (int o = 0; o < 2; o++) {
            for (int i = 0; i < 2; i++) {
                double old = column_norm(before + 6 * o + i, 3, 2), now = column_norm(w + 6 * o + i, 3, 2);
                if (op == ARTEL__CONSTRAINT_MAX_NORM) assert_true(fabs(now - fmin(old, 1.5)) < 1e-6);
                if (op == ARTEL__CONSTRAINT_UNIT_NORM) assert_true(fabs(now - 1) < 1e-6);
                if (op == ARTEL__CONSTRAINT_MIN_MAX_NORM) assert_true(fabs(now - fmin(fmax(old, 1.5), 2.0)) < 1e-6);
            }
        }
        for (int i = 0; i < 12 && op == ARTEL__CONSTRAINT_NON_NEG; i++)
            assert_true(w[i] == (before[i] > 0 ? before[i] : 0));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recorded), cmocka_unit_test(test_same_bits),     cmocka_unit_test(test_same_bits_held),
        cmocka_unit_test(test_rows),     cmocka_unit_test(test_padding_stays), cmocka_unit_test(test_norms),
        cmocka_unit_test(test_flat),     cmocka_unit_test(test_constraints),
    };
    check_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
