/* SPDX-License-Identifier: Apache-2.0 */
/* Rates that are written for the size of a job are those of the job that runs: not of the moment they are set, nor of
 * another one. */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "help_train.h"

#define REPLICAS "{\"class_name\": \"ByReplicas\", \"config\": {\"table\": {\"1\": 0.5, \"2\": 0.25, \"4\": 0.125}}}"
#define BATCH "{\"class_name\": \"ByBatchSize\", \"config\": {\"table\": {\"1\": 0.5, \"20\": 0.25, \"33\": 0.125}}}"

static void expect_rate(const char *optimizer, int64_t batch, int replicas, const char *callbacks, double rate)
{
    char plain[64], first[65], other[65];
    snprintf(plain, sizeof plain, "sgd:learning_rate=%g", rate);
    train_digest(plain, batch, 1, NULL, first);
    train_digest(optimizer, batch, replicas, callbacks, other);
    if (strcmp(first, other) != 0)
        fail_msg("batch %d, %d replicas: not the rate %g: %s", (int)batch, replicas, rate, optimizer);
}

static void test_tables(void **state)
{
    (void)state;
    static const double by_replicas[] = {0.5, 0.25, 0.25, 0.125, 0.125};
    for (int replicas = 1; replicas <= 5; replicas++)
        expect_rate("sgd:learning_rate=" REPLICAS, 16, replicas, NULL, by_replicas[replicas - 1]);
    expect_rate("sgd:learning_rate=" BATCH, 19, 1, NULL, 0.5);
    expect_rate("sgd:learning_rate=" BATCH, 20, 1, NULL, 0.25);
    expect_rate("sgd:learning_rate=" BATCH, 40, 2, NULL, 0.125);
    expect_rate("sgd:learning_rate={\"class_name\": \"LinearScaling\", \"config\": {\"base_rate\": 0.25, "
                "\"base_batch\": 16, \"after\": "
                "{\"class_name\": \"ByReplicas\", \"config\": {\"table\": {\"1\": 0.25, \"2\": 0.0625}}}}}",
                32, 2, NULL, 0.125);
}

static void test_scheduler(void **state)
{
    (void)state;
    static const char callbacks[] =
        "[{\"class_name\": \"LearningRateScheduler\", \"config\": {\"schedule\": " REPLICAS "}}]";
    expect_rate("sgd", 16, 2, callbacks, 0.25);
    expect_rate("sgd", 16, 4, callbacks, 0.125);
}

/* What is saved is the entry chosen; another run of the same model chooses again. */
static void expect_saved(train_bench *b, double rate)
{
    char path[128];
    json_t *record;
    snprintf(path, sizeof path, "%s/out.json", b->folder);
    assert_int_equal(artel_model_save(b->model, path), ARTEL_OK);
    assert_int_equal(artel__json_load_file(b->ctx, path, &record), ARTEL_OK);
    json_t *optimizer = json_object_get(json_object_get(record, "compile_config"), "optimizer");
    json_t *saved = json_object_get(json_object_get(optimizer, "config"), "learning_rate");
    if (rate > 0)
        assert_true(json_real_value(saved) == rate);
    else
        assert_string_equal(json_string_value(json_object_get(saved, "class_name")), "ByReplicas");
    json_decref(record);
}

static void test_saved(void **state)
{
    (void)state;
    train_bench b;
    train_open(&b, 40);
    train_expect(&b, artel_model_compile(b.model, "sgd:learning_rate=" REPLICAS, NULL, NULL), ARTEL_OK);
    assert_int_equal(artel_model_initialise(b.model, 1), ARTEL_OK);
    expect_saved(&b, 0);
    for (int replicas = 4; replicas >= 1; replicas /= 2) {
        artel_fit_options o = train_options(&b, replicas);
        train_expect(&b, artel_model_fit(b.model, b.data, &o, NULL), ARTEL_OK);
        expect_saved(&b, 0.5 / replicas);
    }
    train_close(&b);
}

/* A run that is continued on other replicas keeps the rate it began with, and so its bits. */
static void test_continued(void **state)
{
    (void)state;
    train_bench b;
    char wanted[65], digest[65], directory[128];
    train_digest("sgd:learning_rate=0.25", 16, 1, NULL, wanted);
    train_open(&b, 40);
    train_expect(&b, artel_model_compile(b.model, "sgd:learning_rate=" REPLICAS, NULL, NULL), ARTEL_OK);
    snprintf(directory, sizeof directory, "%s/ckpt", b.folder);
    artel_fit_options o = train_options(&b, 2);
    o.checkpoint_dir = directory;
    b.stop_at = 3;
    train_expect(&b, artel_model_fit(b.model, b.data, &o, NULL), ARTEL_ERROR_PREEMPTED);
    artel_context_clear(b.ctx);
    o.replicas = 4;
    b.stop_at = 0;
    train_expect(&b, artel_model_fit(b.model, b.data, &o, NULL), ARTEL_OK);
    assert_int_equal(b.resumed, 3);
    assert_int_equal(artel_model_digest(b.model, digest), ARTEL_OK);
    assert_string_equal(digest, wanted);
    train_close(&b);
}

static void test_refused(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {"{}", "no object with entries"}, {"{\"1\": true}", "neither"}, {"{\"x\": 0.1}", "key"}};
    train_bench b;
    train_open(&b, 40);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char text[256];
        snprintf(text, sizeof text, "sgd:learning_rate={\"class_name\": \"ByReplicas\", \"config\": {\"table\": %s}}",
                 wrong[i][0]);
        assert_true(artel_model_compile(b.model, text, NULL, NULL) < 0);
        assert_non_null(strstr(artel_context_error(b.ctx)->what, wrong[i][1]));
    }
    train_expect(
        &b,
        artel_model_compile(b.model,
                            "sgd:learning_rate={\"class_name\": \"ByReplicas\", \"config\": {\"table\": {\"5\": 0.1}}}",
                            NULL, NULL),
        ARTEL_OK);
    artel_fit_options o = train_options(&b, 2);
    train_expect(&b, artel_model_fit(b.model, b.data, &o, NULL), ARTEL_ERROR_INVALID);
    assert_non_null(strstr(artel_context_error(b.ctx)->what, "replicas 2 or less"));
    train_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables),    cmocka_unit_test(test_scheduler), cmocka_unit_test(test_saved),
        cmocka_unit_test(test_continued), cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
