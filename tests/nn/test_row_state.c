/* SPDX-License-Identifier: Apache-2.0 */
/* State of rows: what a row of a batch leaves behind is what that row of the next begins with, in training and in
 * inference. */
#include "help_layer.h"

#include <stdio.h>
#include <string.h>

enum {
    BATCH = 5
};

static layer_result result;

/* h' = x + h / 2 over two steps, units of 1: what a SimpleRNN makes of these weights. */
static void open_rnn(layer_bench *bench, const char *more)
{
    char layers[1024];
    snprintf(layers, sizeof layers,
             "{\"class_name\": \"SimpleRNN\", \"config\": {\"name\": \"r\", \"units\": 1, \"activation\": \"linear\", "
             "\"use_bias\": false, "
             "\"stateful\": true%s}, \"build_config\": {\"input_shape\": [%d, 2, 1]}}",
             more, BATCH);
    layer_open(bench, "[5, 2, 1]", "float32", layers);
    layer_set(bench, 0, (const float[]){1.0f});
    layer_set(bench, 1, (const float[]){0.5f});
    layer_set(bench, 2, (const float[BATCH]){0});
}

static void rows_go_on_where_they_stopped(void **state)
{
    (void)state;
    for (int training = 0; training < 2; training++) {
        layer_bench bench;
        float expected[BATCH] = {0}, x[BATCH * 2], kept[BATCH];
        open_rnn(&bench, "");
        for (int batch = 0; batch < 3; batch++) {
            for (int i = 0; i < BATCH * 2; i++) x[i] = (float)(i * 3 + batch * 7 - 11);
            const void *in[] = {x};
            for (int r = 0; r < BATCH; r++) expected[r] = x[2 * r + 1] + 0.5f * (x[2 * r] + 0.5f * expected[r]);
            layer_run(&bench, in, BATCH, training, true, &result);
            layer_assert_floats(&result, expected, BATCH, 0);
            layer_get(&bench, 2, kept);
            assert_memory_equal(kept, expected, sizeof kept);
        }
        layer_close(&bench);
    }
}

/* Without apply nothing moves: an abandoned step can begin again. */
static void nothing_moves_before_apply(void **state)
{
    (void)state;
    layer_bench bench;
    float x[BATCH * 2], first[BATCH], kept[BATCH];
    const void *in[] = {x};
    open_rnn(&bench, "");
    layer_numbers(x, BATCH * 2, 3);
    layer_run(&bench, in, BATCH, true, false, &result);
    memcpy(first, result.data, sizeof first);
    layer_run(&bench, in, BATCH, true, false, &result);
    assert_memory_equal(result.data, first, sizeof first);
    layer_get(&bench, 2, kept);
    for (int r = 0; r < BATCH; r++) assert_true(kept[r] == 0);
    layer_close(&bench);
}

/* The gradient stops at the state, and passes the steps of the batch. */
static void gradients_pass_the_steps(void **state)
{
    (void)state;
    layer_bench bench;
    float x[BATCH * 2];
    const void *in[] = {x};
    open_rnn(&bench, "");
    layer_numbers(x, BATCH * 2, 5);
    layer_set(&bench, 2, (const float[BATCH]){0.5f, -0.25f, 1.0f, 0.0f, 2.0f});
    layer_check_gradients(&bench, in, BATCH, true);
    layer_close(&bench);
}

static void the_batch_must_be_known(void **state)
{
    (void)state;
    char message[1100];
    const char *layer = "{\"class_name\": \"GRU\", \"config\": {\"name\": \"g\", \"units\": 2, \"stateful\": true}}";
    assert_int_equal(layer_refused("[null, 2, 3]", layer, message), ARTEL_ERROR_INVALID);
    assert_non_null(strstr(message, "batch"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_go_on_where_they_stopped),
        cmocka_unit_test(nothing_moves_before_apply),
        cmocka_unit_test(gradients_pass_the_steps),
        cmocka_unit_test(the_batch_must_be_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
