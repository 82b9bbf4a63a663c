/* SPDX-License-Identifier: Apache-2.0 */
/* timeout: 120 */
/* Loops of one's own (KE3, ST10): in the order of fit they give its bits; in any order, at any rate, all strategies
 * give the same; a trainer refuses what does not fit, and goes on from what another has stored. */
#include "api/help_forms.h"
#include "artel/trainer.h"

enum {
    BATCH = 32
};

static const api_form forms[] = {{"default", 0, 1},     {"one-device", 1, 1}, {"one-device", 1, 3},
                                 {"mirrored", 2, 2},    {"mirrored", 3, 3},   {"central-storage", 3, 3},
                                 {"multi-worker", 2, 2}};
enum {
    FORMS = sizeof forms / sizeof *forms
};

typedef struct loop {
    artel_context *ctx;
    artel_model *model;
    artel_data *data;
    artel_trainer *trainer;
} loop;

static void open_loop(loop *l, bool images, const api_form *f, int64_t steps_before, artel_model *model)
{
    artel_trainer_options o = ARTEL_TRAINER_OPTIONS_INIT;
    l->ctx = api_context();
    l->model = model ? model : images ? api_cnn(l->ctx) : api_mlp(l->ctx);
    l->data = api_rows(l->ctx, images);
    o.seed = 11;
    o.strategy = f->strategy;
    o.replicas = f->replicas;
    o.threads = f->threads;
    o.steps_before = steps_before;
    api_ok(l->ctx, artel_trainer_create(l->model, l->data, &o, &l->trainer));
}

static void close_loop(loop *l, char digest[65])
{
    api_ok(l->ctx, artel_trainer_store(l->trainer, true));
    if (digest) api_ok(l->ctx, artel_model_digest(l->model, digest));
    artel_trainer_destroy(l->trainer);
    artel_data_destroy(l->data);
    artel_model_destroy(l->model);
    artel_context_destroy(l->ctx);
}

/* A pass as fit makes it. */
static void pass(loop *l, int64_t number)
{
    uint64_t order[API_ROWS];
    double loss = -1;
    api_ok(l->ctx, artel_trainer_order(l->trainer, number, order, API_ROWS));
    for (int64_t at = 0; at < API_ROWS; at += BATCH) {
        int64_t count = API_ROWS - at < BATCH ? API_ROWS - at : BATCH;
        api_ok(l->ctx, artel_trainer_step(l->trainer, order + at, count, 0, &loss));
        assert_true(loss > 0);
    }
}

static void KE3_bits_of_fit(void **state)
{
    (void)state;
    for (int images = 0; images < 2; images++) {
        char truth[65], digest[65];
        artel_context *ctx = api_context();
        api_train(ctx, &(api_run){.images = images, .epochs = 2}, truth);
        artel_context_destroy(ctx);
        for (int i = 0; i < FORMS; i++) {
            loop l;
            open_loop(&l, images, &forms[i], 0, NULL);
            assert_int_equal(artel_trainer_samples(l.trainer), API_ROWS);
            assert_int_equal(artel_trainer_replicas(l.trainer), forms[i].replicas ? forms[i].replicas : 1);
            pass(&l, 0);
            pass(&l, 1);
            assert_int_equal(artel_trainer_iteration(l.trainer), 6);
            close_loop(&l, digest);
            assert_string_equal(digest, truth);
        }
    }
}

/* Samples that repeat, batches of many sizes, rates that go up and down: what no fit does. */
static void wander(loop *l, double losses[5])
{
    uint64_t batch[BATCH];
    for (int s = 0; s < 5; s++) {
        int64_t count = s == 2 ? 1 : BATCH - 5 * s;
        for (int64_t i = 0; i < count; i++) batch[i] = (uint64_t)((i * i + 13 * s) % API_ROWS);
        api_ok(l->ctx, artel_trainer_step(l->trainer, batch, count, s % 2 ? 0.05 : 0.002, &losses[s]));
    }
}

static void KE3_any_loop_under_any_strategy(void **state)
{
    (void)state;
    for (int images = 0; images < 2; images++) {
        char truth[65] = "", digest[65];
        double expected[5], losses[5];
        for (int i = 0; i < FORMS; i++) {
            loop l;
            open_loop(&l, images, &forms[i], 0, NULL);
            wander(&l, i ? losses : expected);
            close_loop(&l, i ? digest : truth);
            if (i) assert_string_equal(digest, truth);
            if (i) assert_memory_equal(losses, expected, sizeof losses);
        }
        loop plain;
        open_loop(&plain, images, &forms[1], 0, NULL);
        pass(&plain, 0);
        close_loop(&plain, digest);
        assert_string_not_equal(digest, truth);
    }
}

/* The first pass, a file, and the second by another trainer: dropout and optimizer go on where they were. */
static void test_goes_on(void **state)
{
    (void)state;
    char truth[65], digest[65], folder[64], path[96];
    artel_model *half;
    loop first, second;
    artel_context *ctx = api_context();
    api_train(ctx, &(api_run){.epochs = 2}, truth);
    api_folder_make(folder);
    snprintf(path, sizeof path, "%s/half.keras", folder);
    open_loop(&first, false, &forms[3], 0, NULL);
    pass(&first, 0);
    api_ok(first.ctx, artel_trainer_store(first.trainer, false));
    api_ok(first.ctx, artel_model_save(first.model, path));
    pass(&first, 1); /* storing changes nothing */
    close_loop(&first, digest);
    assert_string_equal(digest, truth);
    api_ok(ctx, artel_model_load(ctx, path, &half));
    artel_trainer_options o = ARTEL_TRAINER_OPTIONS_INIT;
    o.seed = 11;
    o.steps_before = 3;
    second = (loop){.ctx = ctx, .model = half, .data = api_rows(ctx, false)};
    api_ok(ctx, artel_trainer_create(half, second.data, &o, &second.trainer));
    assert_int_equal(artel_trainer_iteration(second.trainer), 3);
    pass(&second, 1);
    close_loop(&second, digest);
    assert_string_equal(digest, truth);
    api_folder_remove(folder);
}

/* What evaluate says of all rows, from batches; nothing is changed by asking. */
static void test_evaluates(void **state)
{
    (void)state;
    for (int i = 1; i < FORMS; i++) {
        loop l;
        double loss, sum = 0;
        char digest[65], same[65];
        uint64_t rows[API_ROWS];
        artel_history *history;
        open_loop(&l, true, &forms[i], 0, NULL);
        pass(&l, 0);
        api_ok(l.ctx, artel_trainer_store(l.trainer, false));
        api_ok(l.ctx, artel_model_digest(l.model, digest));
        for (int r = 0; r < API_ROWS; r++) rows[r] = (uint64_t)r;
        for (int64_t at = 0; at < API_ROWS; at += 25) {
            api_ok(l.ctx, artel_trainer_evaluate(l.trainer, rows + at, 25, &loss));
            sum += loss * 25;
        }
        artel_evaluate_options e = ARTEL_EVALUATE_OPTIONS_INIT;
        e.batch_size = 25;
        api_ok(l.ctx, artel_model_evaluate(l.model, l.data, &e, &history));
        assert_float_equal(sum / API_ROWS, artel_history_values(history, "loss", NULL)[0], 1e-12);
        artel_history_destroy(history);
        api_ok(l.ctx, artel_trainer_store(l.trainer, false));
        api_ok(l.ctx, artel_model_digest(l.model, same));
        assert_string_equal(same, digest);
        close_loop(&l, NULL);
    }
}

static void expect(loop *l, artel_status status, const char *what)
{
    assert_int_equal(status, ARTEL_ERROR_INVALID);
    assert_non_null(strstr(artel_context_error(l->ctx)->what, what));
}

static void test_refuses(void **state)
{
    (void)state;
    loop l;
    char truth[65], digest[65];
    uint64_t rows[BATCH + 1] = {0}, beyond[2] = {0, API_ROWS};
    artel_context *ctx = api_context();
    api_train(ctx, &(api_run){.epochs = 1}, truth);
    artel_context_destroy(ctx);
    open_loop(&l, false, &forms[3], 0, NULL);
    expect(&l, artel_trainer_step(l.trainer, rows, 0, 0, NULL), "0 samples");
    expect(&l, artel_trainer_step(l.trainer, rows, BATCH + 1, 0, NULL), "33 samples");
    expect(&l, artel_trainer_step(l.trainer, beyond, 2, 0, NULL), "sample 75");
    expect(&l, artel_trainer_step(l.trainer, rows, 1, -1, NULL), "rate of -1");
    expect(&l, artel_trainer_order(l.trainer, 0, rows, 2), "room for 2");
    expect(&l, artel_trainer_order(l.trainer, -1, rows, 2), "pass -1");
    artel_context_cancel(l.ctx);
    assert_int_equal(artel_trainer_step(l.trainer, rows, 1, 0, NULL), ARTEL_ERROR_CANCELLED);
    artel_context_clear(l.ctx);
    pass(&l, 0);
    api_ok(l.ctx, artel_trainer_store(l.trainer, true));
    expect(&l, artel_trainer_step(l.trainer, rows, 1, 0, NULL), "ended");
    close_loop(&l, digest);
    assert_string_equal(digest, truth); /* nothing that was refused has left a trace */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(KE3_bits_of_fit), cmocka_unit_test(KE3_any_loop_under_any_strategy),
        cmocka_unit_test(test_goes_on), cmocka_unit_test(test_evaluates), cmocka_unit_test(test_refuses)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
