/* SPDX-License-Identifier: Apache-2.0 */
/* timeout: 120 */
/* The promise of the library, through its public face: the same bits for every number of replicas and threads, for a
 * caller with another floating-point environment, over a save and a load, beside another fit; and the same values from
 * evaluation and prediction. */
#include <fenv.h>

#include "api/help_api.h"

static void test_replicas_and_threads(void **state)
{
    static const int replicas[] = {1, 2, 3, 8}, threads[] = {1, 2, 5};
    (void)state;
    artel_context *ctx = api_context();
    for (int images = 0; images < 2; images++) {
        char expected[65], digest[65];
        api_train(ctx, &(api_run){.images = images}, expected);
        for (size_t r = 0; r < sizeof replicas / sizeof *replicas; r++) {
            for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
                api_train(ctx, &(api_run){.images = images, .replicas = replicas[r], .threads = threads[t]}, digest);
                if (strcmp(digest, expected) != 0) print_error("%d replicas, %d threads\n", replicas[r], threads[t]);
                assert_string_equal(digest, expected);
            }
        }
    }
    artel_context_destroy(ctx);
}

/* A second model, trained in the middle of the first one's steps, each with what is its own. */
typedef struct nested {
    artel_context *ctx;
    bool images, at_step; /* the outer model's kind; else in the event of an epoch's end */
    int fits;
    char digest[65];
} nested;

static void fit_within(void *user, const artel_event *event)
{
    nested *n = user;
    if (n->fits || event->kind != (n->at_step ? ARTEL_EVENT_STEP : ARTEL_EVENT_EPOCH_END)) return;
    n->fits++;
    api_train(n->ctx, &(api_run){.images = !n->images, .replicas = 2, .threads = 2}, n->digest);
}

static void test_fit_in_a_callback(void **state)
{
    char alone[2][65], digest[65];
    artel_context *ctx = api_context();
    (void)state;
    for (int images = 0; images < 2; images++) api_train(ctx, &(api_run){.images = images}, alone[images]);
    for (int k = 0; k < 4; k++) {
        nested n = {.ctx = ctx, .images = k & 1, .at_step = k & 2};
        api_train(ctx, &(api_run){.images = n.images, .replicas = k, .threads = 2, .on_event = fit_within, .user = &n},
                  digest);
        assert_int_equal(n.fits, 1);
        assert_string_equal(digest, alone[n.images]);
        assert_string_equal(n.digest, alone[!n.images]);
    }
    artel_context_destroy(ctx);
}

/* The comparison above can fail: another seed or another number of epochs gives another digest. */
static void test_digest_sees_a_difference(void **state)
{
    char one[65], two[65];
    (void)state;
    artel_context *ctx = api_context();
    api_train(ctx, &(api_run){.epochs = 1}, one);
    api_train(ctx, &(api_run){.epochs = 2}, two);
    assert_string_not_equal(one, two);
    artel_context_destroy(ctx);
}

#if defined(__x86_64__)
static uint32_t read_mxcsr(void)
{
    uint32_t value;
    __asm__ volatile("stmxcsr %0" : "=m"(value));
    return value;
}

static void write_mxcsr(uint32_t value)
{
    __asm__ volatile("ldmxcsr %0" : : "m"(value));
}

/* Rounding toward zero; flushing of denormal results and operands on; both. The low six bits are flags of what
 * happened. */
static void test_foreign_environment(void **state)
{
    static const uint32_t foreign[] = {0x1f80 | 0x6000, 0x1f80 | 0x8000 | 0x0040, 0x1f80 | 0xe040, 0x1f80 | 0x2000};
    (void)state;
    artel_context *ctx = api_context();
    for (int images = 0; images < 2; images++) {
        char expected[65], digest[65];
        api_train(ctx, &(api_run){.images = images, .replicas = 2, .threads = 2}, expected);
        for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
            uint32_t before = read_mxcsr();
            write_mxcsr(foreign[i]);
            api_train(ctx, &(api_run){.images = images, .replicas = 2, .threads = 2}, digest);
            uint32_t after = read_mxcsr();
            write_mxcsr(before);
            assert_int_equal(after & ~0x3fu, foreign[i] & ~0x3fu);
            assert_string_equal(digest, expected);
        }
    }
    artel_context_destroy(ctx);
}
#endif

static void fit(artel_context *ctx, artel_model *model, artel_data *data, int64_t from, int64_t to)
{
    artel_fit_options options = ARTEL_FIT_OPTIONS_INIT;
    options.initial_epoch = from;
    options.epochs = to;
    options.seed = 5;
    api_ok(ctx, artel_model_fit(model, data, &options, NULL));
}

static void continues_as_one(artel_context *ctx, bool images, const char *file)
{
    char expected[65], digest[65];
    artel_data *data = api_rows(ctx, images);
    artel_model *whole = images ? api_cnn(ctx) : api_mlp(ctx), *first = images ? api_cnn(ctx) : api_mlp(ctx), *second;
    fit(ctx, whole, data, 0, 4);
    fit(ctx, first, data, 0, 2);
    api_ok(ctx, artel_model_save(first, file));
    artel_model_destroy(first);
    api_ok(ctx, artel_model_load(ctx, file, &second));
    fit(ctx, second, data, 2, 4);
    api_ok(ctx, artel_model_digest(whole, expected));
    api_ok(ctx, artel_model_digest(second, digest));
    assert_string_equal(digest, expected);
    artel_model_destroy(second);
    artel_model_destroy(whole);
    artel_data_destroy(data);
}

/* Two epochs, a file, two epochs more: the optimizer's state, the order of samples and dropout go on as without the
 * file. */
static void test_save_and_load_continue(void **state)
{
    char folder[64], file[128];
    (void)state;
    artel_context *ctx = api_context();
    api_folder_make(folder);
    snprintf(file, sizeof file, "%s/half.keras", folder);
    continues_as_one(ctx, false, file);
    continues_as_one(ctx, true, file);
    api_folder_remove(folder);
    artel_context_destroy(ctx);
}

/* Values of evaluation and predictions of a model that is trained a little. */
static void pass(artel_context *ctx, artel_model *model, artel_data *data, int replicas, double values[2], float *rows)
{
    artel_evaluate_options options = ARTEL_EVALUATE_OPTIONS_INIT;
    artel_history *history;
    artel_predictions *predictions;
    const char *name;
    artel_shape shape;
    const float *found;
    options.strategy = "mirrored";
    options.replicas = replicas;
    options.threads = replicas;
    api_ok(ctx, artel_model_evaluate(model, data, &options, &history));
    values[0] = artel_history_values(history, "loss", NULL)[0];
    values[1] = artel_history_values(history, "accuracy", NULL)[0];
    artel_history_destroy(history);
    api_ok(ctx, artel_model_predict(model, data, &options, &predictions));
    assert_int_equal(artel_predictions_count(predictions), 1);
    api_ok(ctx, artel_predictions_get(predictions, 0, &name, &shape, &found));
    assert_int_equal(shape.rank, 2);
    assert_int_equal(shape.dim[0], API_ROWS);
    assert_int_equal(shape.dim[1], API_CLASSES);
    memcpy(rows, found, API_ROWS * API_CLASSES * sizeof *rows);
    artel_predictions_destroy(predictions);
}

static void test_evaluate_and_predict(void **state)
{
    static float one[API_ROWS * API_CLASSES], three[API_ROWS * API_CLASSES];
    double values[2], others[2];
    (void)state;
    artel_context *ctx = api_context();
    for (int images = 0; images < 2; images++) {
        artel_model *model = images ? api_cnn(ctx) : api_mlp(ctx);
        artel_data *data = api_rows(ctx, images);
        fit(ctx, model, data, 0, 1);
        pass(ctx, model, data, 1, values, one);
        pass(ctx, model, data, 3, others, three);
        assert_memory_equal(values, others, sizeof values);
        assert_memory_equal(one, three, sizeof one);
        for (int r = 0; r < API_ROWS; r++) {
            float sum = one[3 * r] + one[3 * r + 1] + one[3 * r + 2];
            assert_true(sum > 0.9999f && sum < 1.0001f);
        }
        artel_data_destroy(data);
        artel_model_destroy(model);
    }
    artel_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replicas_and_threads),
        cmocka_unit_test(test_fit_in_a_callback),
        cmocka_unit_test(test_digest_sees_a_difference),
#if defined(__x86_64__)
        cmocka_unit_test(test_foreign_environment),
#endif
        cmocka_unit_test(test_save_and_load_continue),
        cmocka_unit_test(test_evaluate_and_predict),
    };
    return cmocka_run_group_tests_name("api.digests", tests, NULL, NULL);
}
