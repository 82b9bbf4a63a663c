/* SPDX-License-Identifier: Apache-2.0 */
/* Fits end in the same bits on any number of replicas and threads; what they refuse, and what a failure leaves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/context.h"
#include "help_fit.h"
#include "train/fit_impl.h"
#include "train/mixed.h"

/* -- replicas and threads -- */

static void digest_of(const char *json, const char *optimizer, int64_t batch, int64_t rows, int replicas, int threads,
                      char out[65])
{
    fit_bench b;
    bool image = json == fit_cnn;
    fit_open(&b, json, rows, image ? 72 : 9,
             image ? (artel_shape){.rank = 3, .dim = {6, 6, 2}} : (artel_shape){.rank = 1, .dim = {9}});
    artel_fit_options o = fit_options(&b, batch, replicas, threads);
    fit_expect(&b, artel_model_compile(b.model, optimizer, "sparse_categorical_crossentropy", "[\"accuracy\"]"),
               ARTEL_OK);
    fit_expect(&b, artel_model_fit(b.model, b.data, &o, NULL), ARTEL_OK);
    assert_int_equal(artel_model_digest(b.model, out), ARTEL_OK);
    fit_close(&b);
}

static void check_replicas(const char *json, int64_t batch, int64_t rows)
{
    static const int replicas[] = {1, 2, 3, 5, 8, 16};
    char first[65], other[65];
    digest_of(json, "adam", batch, rows, 1, 1, first);
    for (size_t r = 0; r < sizeof replicas / sizeof *replicas; r++) {
        for (int threads = 1; threads <= 2; threads++) {
            digest_of(json, "adam", batch, rows, replicas[r], threads * replicas[r], other);
            if (strcmp(first, other) != 0)
                fail_msg("batch %lld, %d replicas, %d threads each: another digest", (long long)batch, replicas[r],
                         threads);
        }
    }
}

static void test_mlp_on_replicas(void **state)
{
    (void)state;
    check_replicas(fit_mlp, 96, 230);
    check_replicas(fit_mlp, 100, 230);
    check_replicas(fit_mlp, 7, 25); /* fewer rows than shards */
}

static void test_cnn_on_replicas(void **state)
{
    (void)state;
    check_replicas(fit_cnn, 96, 230);
    check_replicas(fit_cnn, 11, 25);
}

/* Of central storage every replica reads and writes the same variables and slots, of which there is one copy; it
 * computes its own rows, and the sum of all is applied: the bits of one device. */
static void SG6_central_storage(void **state)
{
    (void)state;
    for (int replicas = 1; replicas <= 5; replicas += 2) {
        fit_bench b, alone;
        char first[65], other[65];
        fit_open_mlp(&b, 60);
        fit_open_mlp(&alone, 60);
        artel_fit_options o = fit_options(&b, 24, replicas, replicas), one = fit_options(&alone, 24, 1, 1);
        o.strategy = "central-storage";
        artel__fit fit = {.ctx = b.ctx, .model = b.model, .options = o};
        artel__arena_init(&fit.arena, fit.ctx);
        fit_expect(&b, artel__fit_open(&fit, b.data), ARTEL_OK);
        assert_int_equal(fit.session->replicas, replicas);
        for (int r = 0; r < replicas; r++)
            assert_ptr_equal(fit.session->replica[r].state, fit.session->replica[0].state);
        artel__fit_close(&fit);
        fit_expect(&b, artel_model_fit(b.model, b.data, &o, NULL), ARTEL_OK);
        fit_expect(&alone, artel_model_fit(alone.model, alone.data, &one, NULL), ARTEL_OK);
        assert_int_equal(artel_model_digest(b.model, first), ARTEL_OK);
        assert_int_equal(artel_model_digest(alone.model, other), ARTEL_OK);
        assert_string_equal(first, other);
        fit_close(&alone);
        fit_close(&b);
    }
}

/* Some leave steps that replicas share out, some need all of a variable or what another node of the phase writes. */
static void test_optimizers_on_replicas(void **state)
{
    static const char *const names[] = {"sgd:momentum=0.9,nesterov=true,weight_decay=0.01",
                                        "adam:clipnorm=0.1",
                                        "adam:global_clipnorm=0.1",
                                        "rmsprop:use_ema=true,ema_momentum=0.5",
                                        "nadam",
                                        "nadam:gradient_accumulation_steps=2,global_clipnorm=0.1",
                                        "lamb"};
    char first[65], other[65];
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        digest_of(fit_cnn, names[i], 24, 60, 1, 1, first);
        for (int replicas = 2; replicas <= 3; replicas++) {
            digest_of(fit_cnn, names[i], 24, 60, replicas, replicas, other);
            if (strcmp(first, other) != 0) fail_msg("%s, %d replicas: another digest", names[i], replicas);
        }
    }
}

/* Activations computed again, the first time or on several replicas: the same bits, and the plan says so. */
static void on_plan(void *user, const char *text)
{
    fit_bench *b = user;
    b->recomputes = strstr(text, ", again\n") != NULL;
}

static void test_recompute(void **state)
{
    (void)state;
    static const int replicas[] = {1, 2, 8};
    char plain[65], other[65];
    digest_of(fit_cnn, "adam", 96, 230, 1, 1, plain);
    for (size_t r = 0; r < sizeof replicas / sizeof *replicas; r++) {
        fit_bench b;
        fit_open(&b, fit_cnn, 230, 72, (artel_shape){.rank = 3, .dim = {6, 6, 2}});
        artel_fit_options o = fit_options(&b, 96, replicas[r], replicas[r]);
        o.recompute = 100;
        o.on_plan = on_plan;
        fit_expect(&b, artel_model_fit(b.model, b.data, &o, NULL), ARTEL_OK);
        assert_true(b.recomputes);
        assert_int_equal(artel_model_digest(b.model, other), ARTEL_OK);
        assert_string_equal(plain, other);
        o.recompute = -1;
        fit_expect(&b, artel_model_fit(b.model, b.data, &o, NULL), ARTEL_ERROR_INVALID);
        assert_string_equal(artel_context_error(b.ctx)->where, ".recompute");
        fit_close(&b);
    }
}

/* -- failures -- */

/* A label out of range on one replica: no weight changes anywhere, and the model can be trained again. */
static void test_label_out_of_range(void **state)
{
    (void)state;
    for (int replicas = 1; replicas <= 3; replicas += 2) {
        fit_bench b;
        char before[65], after[65];
        fit_open_mlp(&b, 48);
        assert_int_equal(artel_model_initialise(b.model, 5), ARTEL_OK);
        assert_int_equal(artel_model_digest(b.model, before), ARTEL_OK);
        artel_fit_options o = fit_options(&b, 48, replicas, replicas);
        b.y[41] = 9;
        b.fails = true; /* hides nothing of what happens later */
        assert_true(artel_model_fit(b.model, b.data, &o, NULL) < 0);
        assert_non_null(strstr(artel_context_error(b.ctx)->what, "9"));
        b.fails = false;
        assert_int_equal(artel_model_digest(b.model, after), ARTEL_OK);
        assert_string_equal(before, after);
        b.y[41] = 1;
        artel_data *fresh;
        artel_data_array arrays[] = {
            {.name = "x", .dtype = ARTEL_DTYPE_FLOAT32, .shape = {.rank = 2, .dim = {48, 9}}, .values = b.x},
            {.name = "y", .dtype = ARTEL_DTYPE_INT32, .shape = {.rank = 1, .dim = {48}}, .values = b.y}};
        assert_int_equal(artel_data_from_memory(b.ctx, arrays, 2, &fresh), ARTEL_OK);
        fit_expect(&b, artel_model_fit(b.model, fresh, &o, NULL), ARTEL_OK);
        artel_data_destroy(fresh);
        fit_close(&b);
    }
}

static void test_stop_on_nan(void **state)
{
    (void)state;
    fit_bench b;
    fit_open_mlp(&b, 48);
    b.x[100] = 1e38f * 10;
    artel_fit_options o = fit_options(&b, 16, 2, 2);
    o.stop_on_nan = true;
    o.shuffle = false;
    assert_true(artel_model_fit(b.model, b.data, &o, NULL) < 0);
    assert_non_null(strstr(artel_context_error(b.ctx)->what, "\"a\""));
    fit_close(&b);
}

/* Class weights of 1 change nothing; others do. */
static void test_class_weights(void **state)
{
    (void)state;
    static const char *const weights[] = {NULL, "{\"0\": 1, \"3\": 1.0}", "{\"1\": 5}"};
    char digest[3][65];
    for (int i = 0; i < 3; i++) {
        fit_bench b;
        fit_open_mlp(&b, 40);
        artel_fit_options o = fit_options(&b, 16, 2, 2);
        o.class_weight = weights[i];
        fit_expect(&b, artel_model_fit(b.model, b.data, &o, NULL), ARTEL_OK);
        assert_int_equal(artel_model_digest(b.model, digest[i]), ARTEL_OK);
        fit_close(&b);
    }
    assert_string_equal(digest[0], digest[1]);
    assert_string_not_equal(digest[0], digest[2]);
}

/* Two names of one class, weights that are none. */
static void test_class_weights_refused(void **state)
{
    (void)state;
    static const char *const weights[] = {"{\"00\": 1}",   "{\"-0\": 1}",    "{\"+1\": 1}",  "{\"1.0\": 1}",
                                          "{\" 1\": 1}",   "{\"0\": 1e400}", "{\"0\": NaN}", "{\"0\": -1}",
                                          "{\"0\": null}", "{\"0\": \"1\"}", "[1, 2]",       "{\"0\": true}"};
    for (size_t i = 0; i < ARTEL__COUNT(weights); i++) {
        fit_bench b;
        fit_open_mlp(&b, 40);
        artel_fit_options o = fit_options(&b, 16, 2, 2);
        o.class_weight = weights[i];
        fit_expect(&b, artel_model_fit(b.model, b.data, &o, NULL), ARTEL_ERROR_INVALID);
        fit_close(&b);
    }
}

/* -- statistics of batch normalisation by group of shards -- */

static void grouped_digest(int groups, int64_t batch, int64_t rows, int replicas, char out[65])
{
    fit_bench b;
    fit_open(&b, fit_cnn, rows, 72, (artel_shape){.rank = 3, .dim = {6, 6, 2}});
    artel_fit_options o = fit_options(&b, batch, replicas, replicas);
    o.batch_norm_groups = groups;
    fit_expect(&b, artel_model_fit(b.model, b.data, &o, NULL), ARTEL_OK);
    assert_int_equal(artel_model_digest(b.model, out), ARTEL_OK);
    fit_close(&b);
}

/* 23 rows in 16 shards leave a last batch of 7 with empty shards, and with 16 groups empty groups. */
static void test_batch_norm_groups(void **state)
{
    (void)state;
    static const int groups[] = {1, 2, 4, 16}, replicas[] = {2, 3, 8};
    char global[65], first[4][65], other[65];
    grouped_digest(0, 16, 23, 1, global);
    for (int g = 0; g < 4; g++) {
        grouped_digest(groups[g], 16, 23, 1, first[g]);
        for (int r = 0; r < 3; r++) {
            grouped_digest(groups[g], 16, 23, replicas[r], other);
            if (strcmp(first[g], other) != 0)
                fail_msg("%d groups, %d replicas: another digest", groups[g], replicas[r]);
        }
        for (int k = 0; k < g; k++) assert_string_not_equal(first[k], first[g]);
    }
    assert_string_equal(global, first[0]);
}

static void test_wrong_groups(void **state)
{
    (void)state;
    static const int wrong[] = {3, 32, -1};
    fit_bench b;
    fit_open_mlp(&b, 40);
    for (int i = 0; i < 3; i++) {
        artel_fit_options o = fit_options(&b, 16, 2, 2);
        o.batch_norm_groups = wrong[i];
        fit_expect(&b, artel_model_fit(b.model, b.data, &o, NULL), ARTEL_ERROR_INVALID);
        assert_string_equal(artel_context_error(b.ctx)->where, ".batch_norm_groups");
    }
    fit_close(&b);
}

static void test_wrong_arithmetic(void **state)
{
    (void)state;
    fit_bench b;
    fit_open_mlp(&b, 40);
    artel_fit_options o = fit_options(&b, 16, 2, 2);
    artel_evaluate_options e = ARTEL_EVALUATE_OPTIONS_INIT;
    o.arithmetic = e.arithmetic = "tile";
    fit_expect(&b, artel_model_fit(b.model, b.data, &o, NULL), ARTEL_ERROR_INVALID);
    assert_string_equal(artel_context_error(b.ctx)->where, ".arithmetic");
    fit_expect(&b, artel_model_evaluate(b.model, b.data, &e, NULL), ARTEL_ERROR_INVALID);
    assert_string_equal(artel_context_error(b.ctx)->where, ".arithmetic");
    o.arithmetic = "auto";
    fit_expect(&b, artel_model_fit(b.model, b.data, &o, NULL), ARTEL_OK);
    fit_close(&b);
}

/* Options without their size are refused, those of a shorter struct are completed with defaults. */
static void test_struct_size(void **state)
{
    (void)state;
    char digest[2][65];
    for (int i = 0; i < 2; i++) {
        fit_bench b;
        fit_open_mlp(&b, 40);
        artel_fit_options o = fit_options(&b, 16, 2, 2);
        if (i) {
            o.struct_size = 0;
            fit_expect(&b, artel_model_fit(b.model, b.data, &o, NULL), ARTEL_ERROR_INVALID);
            o.struct_size = offsetof(artel_fit_options, batch_norm_groups);
            o.batch_norm_groups = -7;
        }
        fit_expect(&b, artel_model_fit(b.model, b.data, &o, NULL), ARTEL_OK);
        assert_int_equal(artel_model_digest(b.model, digest[i]), ARTEL_OK);
        artel_evaluate_options e = ARTEL_EVALUATE_OPTIONS_INIT;
        e.struct_size = 0;
        fit_expect(&b, artel_model_evaluate(b.model, b.data, &e, NULL), ARTEL_ERROR_INVALID);
        e.struct_size = offsetof(artel_evaluate_options, steps);
        e.steps = -3; /* not read */
        e.batch_size = 7;
        fit_expect(&b, artel_model_evaluate(b.model, b.data, &e, NULL), ARTEL_OK);
        fit_close(&b);
    }
    assert_string_equal(digest[0], digest[1]);
}

/* -- who computes what -- */

static void words_of(int workers, int port, const char *last, char out[ARTEL__ARITHMETIC_ROOM])
{
    char text[8192];
    int length = snprintf(text, sizeof text, "mixed among tasks: ");
    for (int i = 0; i < workers; i++)
        length += snprintf(text + length, sizeof text - (size_t)length, "worker %d (10.0.0.7:%d) %s, ", i, port,
                           i + 1 < workers ? "pjrt cpu 0123456789abcdef" : last);
    artel__mixed_words(text, out);
}

/* More than there is room for: whatever differs shows, but addresses. */
static void test_words_of_many(void **state)
{
    (void)state;
    char one[ARTEL__ARITHMETIC_ROOM], other[ARTEL__ARITHMETIC_ROOM];
    words_of(2, 80, "artel-1 float32", one);
    assert_string_equal(one, "mixed among tasks: worker 0 (10.0.0.7:80) pjrt cpu 0123456789abcdef, "
                             "worker 1 (10.0.0.7:80) artel-1 float32, ");
    for (int workers = 16; workers <= 100; workers++) {
        words_of(workers, 80, "artel-1 float32", one);
        words_of(workers, 65000, "artel-1 float32", other);
        if (workers >= 40) assert_string_equal(one, other);
        words_of(workers, 80, "artel-1 float33", other);
        assert_string_not_equal(one, other);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mlp_on_replicas),
        cmocka_unit_test(test_cnn_on_replicas),
        cmocka_unit_test(SG6_central_storage),
        cmocka_unit_test(test_optimizers_on_replicas),
        cmocka_unit_test(test_recompute),
        cmocka_unit_test(test_label_out_of_range),
        cmocka_unit_test(test_stop_on_nan),
        cmocka_unit_test(test_class_weights),
        cmocka_unit_test(test_class_weights_refused),
        cmocka_unit_test(test_batch_norm_groups),
        cmocka_unit_test(test_wrong_groups),
        cmocka_unit_test(test_wrong_arithmetic),
        cmocka_unit_test(test_struct_size),
        cmocka_unit_test(test_words_of_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
