/* SPDX-License-Identifier: Apache-2.0 */
/* Trainers and memory: a steady step takes none, and an allocation that fails, whichever it is, is an error and leaves
 * nothing behind. */
#include "help_train.h"

#include "artel/trainer.h"
#include "base/context.h"

enum {
    ROWS = 40,
    BATCH = 16
};

static const uint64_t samples[BATCH] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 39, 0};

static artel_status make(train_bench *b, int replicas, artel_trainer **out)
{
    artel_trainer_options o = ARTEL_TRAINER_OPTIONS_INIT;
    o.batch_size = BATCH;
    o.strategy = replicas > 1 ? "mirrored" : "one-device";
    o.replicas = o.threads = replicas;
    return artel_trainer_create(b->model, b->data, &o, out);
}

static void steady_steps_take_no_memory(void **state)
{
    (void)state;
    for (int replicas = 1; replicas <= 2; replicas++) {
        train_bench b;
        artel_trainer *t;
        double loss;
        uint64_t before = 0;
        train_open(&b, ROWS);
        train_expect(&b, make(&b, replicas, &t), ARTEL_OK);
        for (int k = 0; k < 60; k++) {
            if (k == 10) before = artel__heap_calls(b.ctx);
            train_expect(&b, artel_trainer_step(t, samples, 1 + k % BATCH, 0, &loss), ARTEL_OK);
            train_expect(&b, artel_trainer_evaluate(t, samples, 1 + k % BATCH, &loss), ARTEL_OK);
        }
        assert_int_equal(artel__heap_calls(b.ctx), before);
        artel_trainer_destroy(t);
        train_close(&b);
    }
}

static artel_status make_and_step(train_bench *b)
{
    artel_trainer *t;
    double loss;
    artel_status status = make(b, 2, &t);
    if (status < 0) return status;
    status = artel_trainer_step(t, samples, BATCH, 0, &loss);
    if (status == ARTEL_OK) status = artel_trainer_evaluate(t, samples, BATCH, &loss);
    if (status == ARTEL_OK) status = artel_trainer_store(t, true);
    artel_trainer_destroy(t);
    return status;
}

static void every_lost_allocation_is_an_error(void **state)
{
    (void)state;
    train_bench b;
    train_open(&b, ROWS);
    uint64_t before = artel__heap_calls(b.ctx), n = 1;
    train_expect(&b, make_and_step(&b), ARTEL_OK);
    uint64_t calls = artel__heap_calls(b.ctx) - before;
    assert_true(calls > 10);
    artel_status status = ARTEL_ERROR_NO_MEMORY;
    for (; n <= calls + 50 && status != ARTEL_OK; n++) {
        artel__fail_allocation_after(b.ctx, n);
        status = make_and_step(&b);
        artel__fail_allocation_after(b.ctx, 0);
        if (status != ARTEL_OK) train_expect(&b, status, ARTEL_ERROR_NO_MEMORY);
    }
    assert_int_equal(status, ARTEL_OK); /* there are no more to fail */
    assert_true(n > 10);
    train_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(steady_steps_take_no_memory),
                                       cmocka_unit_test(every_lost_allocation_is_an_error)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
