/* SPDX-License-Identifier: Apache-2.0 */
/* Initialisers: bounds, moments and fans as in Keras; a function of seed, ordinal and shape alone; golden numbers. */
#include "help_nn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "nn/draw.h"

/* Fills a new array; fails the test when that fails. */
static float *fill(nn_bench *bench, const char *text, uint64_t seed, uint32_t ordinal, const artel_shape *shape)
{
    artel__initializer initializer;
    json_t *json = nn_json(text);
    artel_status status = artel__initializer_read(&bench->arena, "dense", json, &initializer);
    json_decref(json);
    float *out = test_malloc((size_t)artel_shape_count(shape) * sizeof *out + 1);
    if (status == ARTEL_OK) status = artel__initializer_fill(bench->ctx, &initializer, seed, ordinal, shape, out);
    if (status < 0) fail_msg("%s: %s", text, artel_context_error(bench->ctx)->what);
    return out;
}

typedef struct moments_row {
    const char *json;
    double mean, deviation, low, high; /* bounds that no number passes, and some number comes near */
} moments_row;

/* Shape [3, 3, 20, 40]: fan in 180, fan out 360. */
#define UNIFORM(variance) 0.0, sqrt(variance), -sqrt(3.0 * (variance)), sqrt(3.0 * (variance))
#define CUT(variance) \
    0.0, sqrt(variance), -2 * sqrt(variance) / 0.8796256610342398, 2 * sqrt(variance) / 0.8796256610342398

static void test_moments(void **state)
{
    (void)state;
    const moments_row rows[] = {
        {"'zeros'", 0, 0, 0, 0},
        {"'one'", 1, 0, 1, 1},
        {"{'class_name': 'Constant', 'config': {'value': 0.3}}", (double)0.3f, 0, (double)0.3f, (double)0.3f},
        {"'random_normal'", 0, 0.05, -0.25, 0.25},
        {"{'class_name': 'RandomNormal', 'config': {'mean': 1.0, 'stddev': 0.2, 'seed': null}}", 1, 0.2, 0, 2},
        {"'uniform'", 0, 0.1 / sqrt(12), -0.05, 0.05},
        {"{'class_name': 'RandomUniform', 'config': {'minval': -1.0, 'maxval': 3.0}}", 1, 4 / sqrt(12), -1, 3},
        {"{'class_name': 'TruncatedNormal', 'config': {'mean': 0.5, 'stddev': 0.3}}", 0.5, 0.3 * 0.8796256610342398,
         -0.1, 1.1},
        {"'glorot_uniform'", UNIFORM(1 / 270.0)},
        {"'GlorotNormal'", CUT(1 / 270.0)},
        {"'he_uniform'", UNIFORM(2 / 180.0)},
        {"'he_normal'", CUT(2 / 180.0)},
        {"'lecun_uniform'", UNIFORM(1 / 180.0)},
        {"'lecun_normal'", CUT(1 / 180.0)},
        {"{'class_name': 'VarianceScaling', 'config': {'scale': 0.5, 'mode': 'fan_out', 'distribution': 'uniform'}}",
         UNIFORM(0.5 / 360)},
        {"{'class_name': 'VarianceScaling', 'config': {'scale': 2.0, 'mode': 'fan_avg', 'distribution': 'normal'}}",
         CUT(2 / 270.0)},
        {"{'class_name': 'VarianceScaling', 'config': {'input_axes': [2], 'output_axes': [-1], 'distribution': "
         "'uniform'}}",
         UNIFORM(1 / 20.0)},
    };
    nn_bench bench;
    nn_init(&bench, 1);
    artel_shape shape = artel__shape(4, (int64_t)3, (int64_t)3, (int64_t)20, (int64_t)40);
    int count = 7200;
    for (size_t r = 0; r < ARTEL__COUNT(rows); r++) {
        float *x = fill(&bench, rows[r].json, 5, 3, &shape);
        double sum = 0, squares = 0, low = x[0], high = x[0], spread = rows[r].deviation;
        for (int i = 0; i < count; i++) {
            sum += x[i];
            squares += (x[i] - rows[r].mean) * (x[i] - rows[r].mean);
            low = fmin(low, x[i]);
            high = fmax(high, x[i]);
        }
        if (fabs(sum / count - rows[r].mean) > 4 * spread / sqrt(count))
            fail_msg("%s: mean %g", rows[r].json, sum / count);
        if (fabs(sqrt(squares / count) - spread) > 0.03 * spread)
            fail_msg("%s: deviation %g", rows[r].json, sqrt(squares / count));
        double slack = 1e-6 * fmax(fabs(rows[r].low), fabs(rows[r].high));
        if (low < rows[r].low - slack || high > rows[r].high + slack) fail_msg("%s: %g to %g", rows[r].json, low, high);
        if (high - low < 0.65 * (rows[r].high - rows[r].low)) fail_msg("%s: only %g to %g", rows[r].json, low, high);
        test_free(x);
    }
    nn_fini(&bench);
}

static void check_same(nn_bench *bench, const char *text, uint64_t seed, uint32_t ordinal, bool same)
{
    artel_shape shape = artel__shape(2, (int64_t)7, (int64_t)5);
    float *a = fill(bench, text, 1, 0, &shape), *b = fill(bench, text, seed, ordinal, &shape);
    if ((memcmp(a, b, 35 * sizeof *a) == 0) != same) fail_msg("%s: seed %d, ordinal %d", text, (int)seed, (int)ordinal);
    test_free(a);
    test_free(b);
}

static void test_seeds(void **state)
{
    (void)state;
    nn_bench bench;
    nn_init(&bench, 1);
    check_same(&bench, "'glorot_uniform'", 1, 0, true);
    check_same(&bench, "'glorot_uniform'", 2, 0, false);
    check_same(&bench, "'glorot_uniform'", 1, 1, false);
    check_same(&bench, "'he_normal'", 1, 1, false);
    check_same(&bench, "'orthogonal'", 2, 0, false);
    check_same(&bench, "{'class_name': 'GlorotUniform', 'config': {'seed': 17}}", 2, 4, true);
    check_same(&bench,
               "{'class_name': 'HeNormal', 'config': {'seed': {'class_name': 'SeedGenerator', 'config': {'seed': 3}}}}",
               2, 4, true);
    nn_fini(&bench);
}

/* Saved runs depend on these numbers. */
static void test_golden(void **state)
{
    (void)state;
    static const double uniform[] = {-1.07340741, -0.81884557, -0.587013662, 0.463620186, -0.813040197, 1.07679486};
    static const double normal[] = {0.00616258616, -0.077145271, -0.0204135422,
                                    -0.0829876587, 0.0670102164, -0.00541082537};
    static const double orthogonal[] = {0.718082011,  0.439884126, -0.137788773,
                                        -0.669725478, 0.682182193, -0.598305762};
    nn_bench bench;
    nn_init(&bench, 1);
    artel_shape shape = artel__shape(2, (int64_t)3, (int64_t)2);
    float *u = fill(&bench, "'glorot_uniform'", 42, 1, &shape), *n = fill(&bench, "'truncated_normal'", 42, 1, &shape);
    float *o = fill(&bench, "'orthogonal'", 42, 1, &shape);
    for (int i = 0; i < 6; i++) {
        assert_true(u[i] == (float)uniform[i]);
        assert_true(n[i] == (float)normal[i]);
        assert_true(o[i] == (float)orthogonal[i]);
    }
    test_free(u);
    test_free(n);
    test_free(o);
    nn_fini(&bench);
}

static void check_orthogonal(nn_bench *bench, const char *text, const artel_shape *shape, double gain)
{
    int64_t columns = shape->dim[shape->rank - 1], rows = artel_shape_count(shape) / columns,
            few = rows < columns ? rows : columns;
    float *q = fill(bench, text, 9, 2, shape);
    for (int64_t a = 0; a < few; a++) {
        for (int64_t b = 0; b < few; b++) {
            double sum = 0;
            for (int64_t i = 0; i < (rows < columns ? columns : rows); i++)
                sum += (double)q[rows < columns ? a * columns + i : i * columns + a] *
                       (double)q[rows < columns ? b * columns + i : i * columns + b];
            nn_assert_near(sum / (gain * gain), a == b, 2e-6, text);
        }
    }
    test_free(q);
}

static void test_matrices(void **state)
{
    (void)state;
    nn_bench bench;
    nn_init(&bench, 1);
    artel_shape tall = artel__shape(2, (int64_t)30, (int64_t)11),
                wide = artel__shape(3, (int64_t)2, (int64_t)5, (int64_t)40);
    artel_shape square = artel__shape(2, (int64_t)3, (int64_t)4);
    check_orthogonal(&bench, "'orthogonal'", &tall, 1);
    check_orthogonal(&bench, "{'class_name': 'Orthogonal', 'config': {'gain': 1.5}}", &wide, 1.5);
    float *eye = fill(&bench, "{'class_name': 'Identity', 'config': {'gain': 2.0}}", 1, 0, &square);
    for (int i = 0; i < 12; i++) assert_true(eye[i] == (i % 5 ? 0.0f : 2.0f));
    test_free(eye);
    nn_fini(&bench);
}

static void refuse(nn_bench *bench, const char *text, artel_status expected, const char *part)
{
    artel__initializer initializer;
    artel_shape shape = artel__shape(1, (int64_t)4);
    float out[4];
    json_t *json = nn_json(text);
    artel_status status = artel__initializer_read(&bench->arena, "dense", json, &initializer);
    json_decref(json);
    if (status == ARTEL_OK) status = artel__initializer_fill(bench->ctx, &initializer, 1, 0, &shape, out);
    nn_expect_failure(bench->ctx, status, expected, part);
}

static void test_refused(void **state)
{
    (void)state;
    nn_bench bench;
    artel__initializer initializer;
    nn_init(&bench, 1);
    assert_int_equal(artel__initializer_read(&bench.arena, "dense", NULL, &initializer), ARTEL_OK);
    assert_null(initializer.def);
    refuse(&bench, "'stft'", ARTEL_ERROR_UNSUPPORTED, "stft");
    refuse(&bench, "'glorot'", ARTEL_ERROR_UNSUPPORTED, "dense");
    refuse(&bench, "'identity'", ARTEL_ERROR_INVALID, "a matrix");
    refuse(&bench, "'orthogonal'", ARTEL_ERROR_INVALID, "two axes");
    refuse(&bench, "{'class_name': 'VarianceScaling', 'config': {'mode': 'fan'}}", ARTEL_ERROR_INVALID, "fan_in");
    refuse(&bench, "{'class_name': 'VarianceScaling', 'config': {'scale': 0}}", ARTEL_ERROR_INVALID, "scale");
    refuse(&bench, "{'class_name': 'GlorotUniform', 'config': {'input_axes': [0], 'output_axes': [3]}}",
           ARTEL_ERROR_INVALID, "axes");
    refuse(&bench, "{'class_name': 'RandomNormal', 'config': {'seed': 'x'}}", ARTEL_ERROR_INVALID, "seed");
    refuse(&bench, "{'class_name': 'Constant', 'config': {'value': [1, 2]}}", ARTEL_ERROR_INVALID, "value");
    nn_fini(&bench);
}

/* Any run of elements is what it is in the whole. */
static void test_parts(void **state)
{
    (void)state;
    static const char *const texts[] = {"'zeros'",
                                        "'uniform'",
                                        "'random_normal'",
                                        "'truncated_normal'",
                                        "'glorot_uniform'",
                                        "'he_normal'",
                                        "{'class_name': 'Constant', 'config': {'value': 0.3}}",
                                        "{'class_name': 'HeUniform', 'config': {'seed': 17}}"};
    static const int64_t runs[][2] = {{0, 35}, {0, 1}, {1, 2}, {3, 4}, {4, 8}, {30, 5}, {34, 1}, {7, 0}};
    nn_bench bench;
    artel_shape shape = artel__shape(2, (int64_t)7, (int64_t)5);
    nn_init(&bench, 1);
    for (size_t t = 0; t < ARTEL__COUNT(texts); t++) {
        artel__initializer initializer;
        float *whole = fill(&bench, texts[t], 3, 2, &shape), part[35];
        json_t *json = nn_json(texts[t]);
        assert_int_equal(artel__initializer_read(&bench.arena, "dense", json, &initializer), ARTEL_OK);
        json_decref(json);
        assert_true(artel__initializer_has_parts(&initializer));
        for (size_t r = 0; r < ARTEL__COUNT(runs); r++) {
            int64_t first = runs[r][0], count = runs[r][1];
            artel_status status =
                artel__initializer_fill_part(bench.ctx, &initializer, 3, 2, &shape, first, count, part);
            assert_int_equal(status, ARTEL_OK);
            if (memcmp(part, whole + first, (size_t)count * sizeof *part))
                fail_msg("%s: from %d on", texts[t], (int)first);
        }
        test_free(whole);
    }
    nn_fini(&bench);
}

static void test_wholes(void **state)
{
    (void)state;
    nn_bench bench;
    nn_init(&bench, 1);
    static const char *const texts[] = {"'orthogonal'", "'identity'"};
    for (size_t t = 0; t < ARTEL__COUNT(texts); t++) {
        artel__initializer initializer;
        json_t *json = nn_json(texts[t]);
        assert_int_equal(artel__initializer_read(&bench.arena, "dense", json, &initializer), ARTEL_OK);
        json_decref(json);
        assert_false(artel__initializer_has_parts(&initializer));
    }
    nn_fini(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_moments), cmocka_unit_test(test_seeds),
                                       cmocka_unit_test(test_golden),  cmocka_unit_test(test_matrices),
                                       cmocka_unit_test(test_refused), cmocka_unit_test(test_parts),
                                       cmocka_unit_test(test_wholes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
