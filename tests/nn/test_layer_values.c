/* SPDX-License-Identifier: Apache-2.0 */
/* What single layers compute, on numbers small enough to work out by hand. */
#include "help_layer.h"

#include <math.h>
#include <string.h>

static layer_result result;

static void run_layer(const char *batch_shape, const char *layer, const float *x, int64_t rows, layer_bench *bench)
{
    layer_open(bench, batch_shape, "float32", layer);
    const void *in[] = {x};
    layer_run(bench, in, rows, false, false, &result);
}

static void dense_multiplies_and_adds(void **state)
{
    (void)state;
    layer_bench bench;
    layer_open(&bench, "[null, 2]", "float32",
               "{\"class_name\": \"Dense\", \"config\": {\"name\": \"d\", \"units\": 2, \"activation\": \"relu\"}}");
    layer_set(&bench, 0, (float[]){1, 2, 3, -4});
    layer_set(&bench, 1, (float[]){0.5f, -0.5f});
    const void *in[] = {(float[]){1, 1, 2, 0}};
    layer_run(&bench, in, 2, false, false, &result);
    layer_assert_floats(&result, (float[]){4.5f, 0, 2.5f, 3.5f}, 4, 0);
    assert_string_equal(bench.model->variables->item[0].name, "d/kernel");
    layer_close(&bench);
}

static void convolution_pads_like_tensorflow(void **state)
{
    (void)state;
    layer_bench bench;
    layer_open(&bench, "[null, 4, 1]", "float32",
               "{\"class_name\": \"Conv1D\", \"config\": {\"name\": \"c\", \"filters\": 1, \"kernel_size\": 2, "
               "\"strides\": 1, "
               "\"padding\": \"same\", \"use_bias\": false}}");
    layer_set(&bench, 0, (float[]){10, 1});
    const void *in[] = {(float[]){1, 2, 3, 4}};
    layer_run(&bench, in, 1, false, false,
              &result); /* one more step behind: the smaller half of the padding is in front */
    layer_assert_floats(&result, (float[]){12, 23, 34, 40}, 4, 0);
    layer_close(&bench);
    layer_open(&bench, "[null, 4, 1]", "float32",
               "{\"class_name\": \"Conv1D\", \"config\": {\"name\": \"c\", \"filters\": 1, \"kernel_size\": 2, "
               "\"padding\": \"causal\", "
               "\"use_bias\": false}}");
    layer_set(&bench, 0, (float[]){10, 1});
    layer_run(&bench, in, 1, false, false, &result);
    layer_assert_floats(&result, (float[]){1, 12, 23, 34}, 4, 0);
    layer_close(&bench);
}

static void averages_count_what_is_inside(void **state)
{
    (void)state;
    layer_bench bench;
    run_layer("[null, 3, 1]",
              "{\"class_name\": \"AveragePooling1D\", \"config\": {\"name\": \"p\", \"pool_size\": 2, \"padding\": "
              "\"same\"}}",
              (float[]){2, 4, 7}, 1, &bench);
    layer_assert_floats(&result, (float[]){3, 7}, 2, 0);
    layer_close(&bench);
}

static void batch_statistics_move(void **state)
{
    (void)state;
    layer_bench bench;
    layer_open(&bench, "[null, 1]", "float32",
               "{\"class_name\": \"BatchNormalization\", \"config\": {\"name\": \"b\", \"momentum\": 0.75, "
               "\"epsilon\": 0.0}}");
    layer_set(&bench, 0, (float[]){2});
    layer_set(&bench, 1, (float[]){1});
    layer_set(&bench, 2, (float[]){4});
    layer_set(&bench, 3, (float[]){8});
    const void *in[] = {(float[]){1, 3, 5, 7}};
    layer_run(&bench, in, 4, true, true, &result);
    float deviation = sqrtf(5), mean, variance;
    layer_assert_floats(
        &result, (float[]){-6 / deviation + 1, -2 / deviation + 1, 2 / deviation + 1, 6 / deviation + 1}, 4, 1e-5f);
    layer_get(&bench, 2, &mean);
    layer_get(&bench, 3, &variance);
    assert_true(fabsf(mean - 4.0f) < 1e-6f && fabsf(variance - 7.25f) < 1e-5f); /* 0.75 * 8 + 0.25 * 5 */
    layer_run(&bench, in, 4, false, true, &result);
    layer_assert_floats(&result, (float[]){-6 / sqrtf(7.25f) + 1}, 1, 1e-5f);
    layer_close(&bench);
}

static void a_frozen_normalisation_infers(void **state)
{
    (void)state;
    layer_bench bench;
    layer_open(&bench, "[null, 1]", "float32",
               "{\"class_name\": \"BatchNormalization\", \"config\": {\"name\": \"b\", \"trainable\": false, "
               "\"epsilon\": 0.0}}");
    for (int i = 0; i < 4; i++) layer_set(&bench, i, (float[]){i == 3 ? 4.0f : 1.0f});
    const void *in[] = {(float[]){1, 3, 5}};
    layer_run(&bench, in, 3, true, true, &result);
    layer_assert_floats(&result, (float[]){1, 2, 3}, 3, 1e-6f);
    float mean;
    layer_get(&bench, 2, &mean);
    assert_true(mean == 1.0f);
    layer_close(&bench);
}

static void noise_is_for_training_only(void **state)
{
    (void)state;
    layer_bench bench;
    static float x[4096];
    for (int i = 0; i < 4096; i++) x[i] = 1;
    const void *in[] = {x};
    layer_open(&bench, "[null, 64]", "float32",
               "{\"class_name\": \"Dropout\", \"config\": {\"name\": \"d\", \"rate\": 0.25, \"seed\": 1}}");
    layer_run(&bench, in, 64, false, false, &result);
    assert_int_equal(result.random_ops, 0);
    layer_run(&bench, in, 64, true, false, &result);
    int dropped = 0;
    for (int i = 0; i < 4096; i++) {
        assert_true(result.data[i] == 0.0f || fabsf(result.data[i] - 4.0f / 3) < 1e-6f);
        dropped += result.data[i] == 0.0f;
    }
    assert_true(dropped > 850 && dropped < 1200);
    layer_close(&bench);
    layer_open(&bench, "[null, 8, 8]", "float32",
               "{\"class_name\": \"SpatialDropout1D\", \"config\": {\"name\": \"d\", \"rate\": 0.5}}");
    layer_run(&bench, in, 8, true, false, &result);
    for (int i = 0; i < 512; i++) assert_true(result.data[i] == result.data[i / 64 * 64 + i % 8]);
    layer_close(&bench);
}

static void embeddings_look_up_and_mask(void **state)
{
    (void)state;
    layer_bench bench;
    layer_open(&bench, "[null, 3]", "int32",
               "{\"class_name\": \"Embedding\", \"config\": {\"name\": \"e\", \"input_dim\": 3, \"output_dim\": 2, "
               "\"mask_zero\": true}}");
    layer_set(&bench, 0, (float[]){1, 2, 3, 4, 5, 6});
    const void *in[] = {(int32_t[]){2, 0, 1}};
    layer_run(&bench, in, 1, false, false, &result);
    layer_assert_floats(&result, (float[]){5, 6, 1, 2, 3, 4}, 6, 0);
    assert_true(result.masked && result.mask[0] == 1 && result.mask[1] == 0 && result.mask[2] == 1);
    assert_int_equal(bench.model->input[0].limit, 3);
    layer_close(&bench);
}

static void masking_hides_empty_steps(void **state)
{
    (void)state;
    layer_bench bench;
    run_layer("[null, 3, 2]", "{\"class_name\": \"Masking\", \"config\": {\"name\": \"m\", \"mask_value\": -1}}",
              (float[]){-1, -1, -1, 2, 0, 3}, 1, &bench);
    layer_assert_floats(&result, (float[]){0, 0, -1, 2, 0, 3}, 6, 0);
    assert_true(result.masked && !result.mask[0] && result.mask[1] && result.mask[2]);
    layer_close(&bench);
}

static void masks_reach_those_that_use_them(void **state)
{
    (void)state;
    layer_bench bench;
    float x[] = {0, 0, 2, 4, 4, 8};
    run_layer(
        "[null, 3, 2]",
        "{\"class_name\": \"Masking\", \"config\": {\"name\": \"m\"}}, {\"class_name\": \"Rescaling\", \"config\": "
        "{\"name\": \"r\", "
        "\"scale\": 1, \"offset\": 1}}, {\"class_name\": \"GlobalAveragePooling1D\", \"config\": {\"name\": \"g\"}}",
        x, 1, &bench);
    layer_assert_floats(&result, (float[]){4, 7}, 2, 1e-6f);
    assert_false(result.masked);
    layer_close(&bench);
    run_layer("[null, 3, 2]",
              "{\"class_name\": \"Masking\", \"config\": {\"name\": \"m\"}}, {\"class_name\": \"Flatten\", \"config\": "
              "{\"name\": \"f\"}}",
              x, 1, &bench);
    assert_false(result.masked); /* Flatten does not support masks */
    layer_close(&bench);
}

static void masked_statistics_leave_steps_out(void **state)
{
    (void)state;
    layer_bench bench;
    layer_open(&bench, "[null, 3, 1]", "float32",
               "{\"class_name\": \"Masking\", \"config\": {\"name\": \"m\"}}, {\"class_name\": \"BatchNormalization\", "
               "\"config\": "
               "{\"name\": \"b\", "
               "\"momentum\": 0.5, \"epsilon\": 0.0, \"center\": false, \"scale\": false}}");
    layer_set(&bench, 0, (float[]){0});
    layer_set(&bench, 1, (float[]){0});
    const void *in[] = {(float[]){0, 1, 3, 5, 0, 7}};
    layer_run(&bench, in, 2, true, true, &result);
    float mean, deviation = sqrtf(5);
    layer_get(&bench, 0, &mean);
    assert_true(fabsf(mean - 2.0f) < 1e-5f); /* half of the mean of 1, 3, 5, 7 */
    assert_true(fabsf(result.data[1] + 3 / deviation) < 1e-5f && fabsf(result.data[5] - 3 / deviation) < 1e-5f);
    layer_close(&bench);
    layer_open(&bench, "[null, 3]", "int32",
               "{\"class_name\": \"Embedding\", \"config\": {\"name\": \"e\", \"input_dim\": 4, \"output_dim\": 2, "
               "\"mask_zero\": true}}, "
               "{\"class_name\": \"BatchNormalization\", \"config\": {\"name\": \"b\", \"epsilon\": 0.1}}");
    const void *tokens[] = {(int32_t[]){1, 2, 0, 3, 0, 0, 2, 2, 1}};
    layer_check_gradients(&bench, tokens, 3, true);
    layer_close(&bench);
}

static void normalisation_takes_adapted_numbers(void **state)
{
    (void)state;
    layer_bench bench;
    layer_open(&bench, "[null, 2]", "float32",
               "{\"class_name\": \"Normalization\", \"config\": {\"name\": \"n\", \"axis\": [-1]}}");
    assert_int_equal(bench.model->variables->count, 3);
    assert_int_equal(bench.model->variables->item[2].dtype, ARTEL_DTYPE_INT64);
    layer_set(&bench, 0, (float[]){1, 2});
    layer_set(&bench, 1, (float[]){4, 0});
    const void *in[] = {(float[]){5, 2}};
    layer_run(&bench, in, 1, false, false, &result);
    layer_assert_floats(&result, (float[]){2, 0}, 2, 0);
    layer_close(&bench);
}

static void images_arrive_as_bytes(void **state)
{
    (void)state;
    layer_bench bench;
    layer_open(&bench, "[null, 2]", "uint8",
               "{\"class_name\": \"Rescaling\", \"config\": {\"name\": \"r\", \"scale\": 0.5, \"offset\": [1, 2]}}");
    const void *in[] = {(uint8_t[]){10, 255}};
    layer_run(&bench, in, 1, false, false, &result);
    layer_assert_floats(&result, (float[]){6, 129.5f}, 2, 0);
    layer_close(&bench);
}

static void time_distributed_shares_its_weights(void **state)
{
    (void)state;
    layer_bench bench;
    layer_open(&bench, "[null, 2, 2, 1]", "float32",
               "{\"class_name\": \"TimeDistributed\", \"config\": {\"name\": \"t\", \"layer\": {\"class_name\": "
               "\"Conv1D\", \"config\": "
               "{\"name\": \"c\", \"filters\": 1, \"kernel_size\": 2, \"use_bias\": false}}}}");
    assert_int_equal(bench.model->variables->count, 1);
    assert_string_equal(bench.model->variables->item[0].name, "t/c/kernel");
    layer_set(&bench, 0, (float[]){1, 10});
    const void *in[] = {(float[]){1, 2, 3, 4}};
    layer_run(&bench, in, 1, false, false, &result);
    layer_assert_shape(&result.shape, 3, 2, 1, 1);
    layer_assert_floats(&result, (float[]){21, 43}, 2, 0);
    layer_close(&bench);
}

/* Every step has statistics of its own, and the moving ones change once a step, as in Keras. */
static void time_distributed_normalises_by_step(void **state)
{
    (void)state;
    layer_bench bench;
    layer_open(&bench, "[null, 2, 1]", "float32",
               "{\"class_name\": \"TimeDistributed\", \"config\": {\"name\": \"t\", \"layer\": {\"class_name\": "
               "\"BatchNormalization\", "
               "\"config\": "
               "{\"name\": \"b\", \"momentum\": 0.5, \"epsilon\": 0.0, \"center\": false, \"scale\": false}}}}");
    layer_set(&bench, 0, (float[]){0});
    layer_set(&bench, 1, (float[]){1});
    const void *in[] = {(float[]){1, 10, 3, 20}};
    layer_run(&bench, in, 2, true, true, &result);
    layer_assert_floats(&result, (float[]){-1, -1, 1, 1}, 4, 1e-5f);
    float mean;
    layer_get(&bench, 0, &mean);
    assert_true(fabsf(mean - 8.0f) < 1e-5f); /* (0 / 2 + 2 / 2) / 2 + 15 / 2 */
    layer_close(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dense_multiplies_and_adds),           cmocka_unit_test(convolution_pads_like_tensorflow),
        cmocka_unit_test(averages_count_what_is_inside),       cmocka_unit_test(batch_statistics_move),
        cmocka_unit_test(a_frozen_normalisation_infers),       cmocka_unit_test(noise_is_for_training_only),
        cmocka_unit_test(embeddings_look_up_and_mask),         cmocka_unit_test(masking_hides_empty_steps),
        cmocka_unit_test(masks_reach_those_that_use_them),     cmocka_unit_test(masked_statistics_leave_steps_out),
        cmocka_unit_test(normalisation_takes_adapted_numbers), cmocka_unit_test(images_arrive_as_bytes),
        cmocka_unit_test(time_distributed_shares_its_weights), cmocka_unit_test(time_distributed_normalises_by_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
