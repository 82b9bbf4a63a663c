/* SPDX-License-Identifier: Apache-2.0 */
/* labels: device */
/* timeout: 120 */
/* Trainers and predictors on XLA's plug-in for the CPU: near those on processors, the same bits on two of its devices
 * as on one, and the words of a device that is not there; beside processors, and in the fast class on four devices,
 * near them. Skipped without the plug-in. */
#include "help_train.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "artel/predictor.h"
#include "artel/trainer.h"

enum {
    ROWS = 64,
    BATCH = 32,
    WIDTH = 5,
    CLASSES = 4,
    STEPS = 4
};

static const char *reduce_of(const char *device)
{
    return strchr(device, '3') ? "fast" : NULL;
}

static artel_status make(train_bench *b, const char *device, int replicas, artel_trainer **out)
{
    artel_trainer_options o = ARTEL_TRAINER_OPTIONS_INIT;
    o.batch_size = BATCH;
    o.device_reduce = reduce_of(device);
    o.shards = o.device_reduce ? 4 : 2;
    o.strategy = replicas > 1 ? "mirrored" : "one-device";
    o.replicas = replicas;
    o.device = device;
    o.allow_mixed_arithmetic = strncmp(device, "cpu,", 4) == 0;
    train_expect(b, artel_model_initialise(b->model, 3), ARTEL_OK);
    return artel_trainer_create(b->model, b->data, &o, out);
}

static void run(const char *device, int replicas, double loss[STEPS + 1], char digest[65])
{
    train_bench b;
    artel_trainer *t;
    uint64_t samples[BATCH];
    train_open(&b, ROWS);
    train_expect(&b, make(&b, device, replicas, &t), ARTEL_OK);
    for (int k = 0; k < STEPS; k++) {
        for (int i = 0; i < BATCH; i++) samples[i] = (uint64_t)(7 * k + 3 * i) % ROWS;
        train_expect(&b, artel_trainer_step(t, samples, BATCH - k, 0, &loss[k]), ARTEL_OK);
    }
    train_expect(&b, artel_trainer_evaluate(t, samples, BATCH, &loss[STEPS]), ARTEL_OK);
    train_expect(&b, artel_trainer_store(t, true), ARTEL_OK);
    train_expect(&b, artel_model_digest(b.model, digest), ARTEL_OK);
    artel_trainer_destroy(t);
    train_close(&b);
}

static void trainer_is_near(void **state)
{
    (void)state;
    double cores[STEPS + 1], device[STEPS + 1], two[STEPS + 1];
    char bits[65], one_bits[65], two_bits[65];
    run("cpu", 1, cores, bits);
    run("cpu:xla", 1, device, one_bits);
    run("cpu:xla", 2, two, two_bits);
    for (int k = 0; k <= STEPS; k++) assert_true(fabs(cores[k] - device[k]) <= 1e-5 * fabs(cores[k]));
    assert_memory_equal(device, two, sizeof device);
    assert_string_equal(one_bits, two_bits);
    assert_string_not_equal(one_bits, bits); /* another arithmetic: it was on the device */
}

/* Each a class of its own: repeated, the bits are the same. */
static void other_classes_are_near(void **state)
{
    (void)state;
    static const char *const device[] = {"cpu,cpu:xla:0", "cpu:xla:0,cpu:xla:1,cpu:xla:2,cpu:xla:3"};
    double cores[STEPS + 1], loss[STEPS + 1], again[STEPS + 1];
    char bits[65], device_bits[65], again_bits[65];
    run("cpu", 1, cores, bits);
    for (int i = 0; i < 2; i++) {
        run(device[i], 2 + 2 * i, loss, device_bits);
        run(device[i], 2 + 2 * i, again, again_bits);
        for (int k = 0; k <= STEPS; k++) assert_true(fabs(cores[k] - loss[k]) <= 1e-5 * fabs(cores[k]));
        assert_memory_equal(loss, again, sizeof loss);
        assert_string_equal(device_bits, again_bits);
        assert_string_not_equal(device_bits, bits);
    }
}

static void predict(train_bench *b, const char *device, float out[ROWS][CLASSES])
{
    artel_predictor_options o = ARTEL_PREDICTOR_OPTIONS_INIT;
    artel_predictor *p;
    o.most_rows = 16;
    o.device = device;
    train_expect(b, artel_predictor_create(b->model, &o, &p), ARTEL_OK);
    for (int64_t row = 0, count = 16; row < ROWS; row += count) {
        count = row % 3 ? 5 : 16;
        if (count > ROWS - row) count = ROWS - row;
        train_expect(b, artel_predictor_run(p, (const void *[]){b->x + row * WIDTH}, count, (float *[]){out[row]}),
                     ARTEL_OK);
    }
    artel_predictor_destroy(p);
}

static void predictor_is_near(void **state)
{
    (void)state;
    train_bench b;
    float cores[ROWS][CLASSES] = {{0}}, device[ROWS][CLASSES] = {{0}};
    train_open(&b, ROWS);
    train_expect(&b, artel_model_initialise(b.model, 3), ARTEL_OK);
    predict(&b, NULL, cores);
    predict(&b, "cpu:xla", device);
    for (int i = 0; i < ROWS; i++) {
        for (int k = 0; k < CLASSES; k++) assert_true(fabsf(cores[i][k] - device[i][k]) <= 1e-5f);
    }
    train_close(&b);
}

static void refusals(void **state)
{
    (void)state;
    train_bench b;
    artel_trainer *t = NULL;
    artel_predictor *p = NULL;
    artel_predictor_options o = ARTEL_PREDICTOR_OPTIONS_INIT;
    train_open(&b, ROWS);
    train_expect(&b, make(&b, "gpus", 1, &t), ARTEL_ERROR_INVALID);
    train_expect(&b, make(&b, "tpu:7", 1, &t), ARTEL_ERROR_NOT_FOUND);
    o.device = "cpu:xla";
    o.device_launches = "all";
    train_expect(&b, artel_predictor_create(b.model, &o, &p), ARTEL_ERROR_INVALID);
    assert_true(!t && !p);
    train_close(&b);
}

static bool has_plugin(void)
{
    train_bench b;
    artel_trainer *t;
    train_open(&b, ROWS);
    bool has = make(&b, "cpu:xla", 1, &t) == ARTEL_OK;
    if (has) artel_trainer_destroy(t);
    train_close(&b);
    return has;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(trainer_is_near), cmocka_unit_test(other_classes_are_near),
                                       cmocka_unit_test(predictor_is_near), cmocka_unit_test(refusals)};
    setenv("TF_CPP_MIN_LOG_LEVEL", "3", 0);
    if (has_plugin()) return cmocka_run_group_tests(tests, NULL, NULL);
    printf("skipped: no lammps-jax-pjrt-cpu (tests/requirements.txt)\n");
    return 77;
}
