/* SPDX-License-Identifier: Apache-2.0 */
/* Models built by calls: names, shapes, defaults, sharing, failures that are remembered. */
#include "help_models.h"

#include "artel/predictor.h"
#include "keras/summary.h"

static void sequential_has_names_and_shapes(void **state)
{
    fixture *f = *state;
    artel_model *model = make_mlp(f);
    const char *name;
    artel_shape shape;
    int64_t trainable, frozen;
    assert_ok(f, artel_model_input(model, 0, &name, NULL, &shape));
    assert_string_equal(name, "input_layer");
    assert_int_equal(shape.dim[0], 3);
    assert_ok(f, artel_model_output(model, 0, &name, NULL, &shape));
    assert_string_equal(name, "dense");
    assert_int_equal(shape.dim[0], 2);
    artel__keras_count(model, &trainable, &frozen);
    assert_int_equal(trainable, 12 + 4 + 8 + 8 + 2);
    assert_int_equal(frozen, 8);
    assert_string_equal(model->nn->layer[1]->name, "first");
    artel_model_destroy(model);
}

static void weights_are_read_and_written_by_path(void **state)
{
    fixture *f = *state;
    artel_model *model = make_mlp(f);
    float kernel[12], back[12];
    for (int i = 0; i < 12; i++) kernel[i] = (float)i / 8;
    assert_ok(f, artel_model_set_weight(model, "layers/dense/vars/0", kernel, 12));
    assert_ok(f, artel_model_get_weight(model, "layers/dense/vars/0", back, 12));
    assert_memory_equal(kernel, back, sizeof kernel);
    assert_fails(f, artel_model_get_weight(model, "layers/dense/vars/0", back, 11), ARTEL_ERROR_INVALID, "found 11");
    assert_fails(f, artel_model_get_weight(model, "layers/dense/vars/9", back, 1), ARTEL_ERROR_NOT_FOUND, "vars/9");
    artel_model_destroy(model);
}

static void initialisation_is_a_function_of_the_seed(void **state)
{
    fixture *f = *state;
    artel_model *model = make_mlp(f);
    char first[65], other[65], again[65];
    assert_ok(f, artel_model_digest(model, first));
    assert_ok(f, artel_model_initialise(model, 6));
    assert_ok(f, artel_model_digest(model, other));
    assert_ok(f, artel_model_initialise(model, 5));
    assert_ok(f, artel_model_digest(model, again));
    assert_string_equal(first, again);
    assert_string_not_equal(first, other);
    artel_model_destroy(model);
}

/* What a call is given besides tensors is in the model, and what it cannot take is told. */
static artel_status attend(fixture *f, const char *first, const char *second, artel_model **out)
{
    artel_builder *b;
    artel_tensor x, y;
    assert_ok(f, artel_functional_create(f->ctx, "m", &b));
    artel_input(b, "x", ARTEL_DTYPE_FLOAT32, &(artel_shape){2, {5, 4}}, &x);
    artel_apply(b, "MultiHeadAttention", "{\"num_heads\": 1, \"key_dim\": 4}", (artel_tensor[]){x, x}, 2, &y);
    if (first) artel_apply_arguments(b, y, first);
    if (second) artel_apply_arguments(b, y, second);
    return artel_functional_finish(b, &y, 1, out);
}

static void calls_have_arguments(void **state)
{
    fixture *f = *state;
    artel_model *open, *causal;
    artel_builder *b;
    artel_tensor x;
    float rows[2][5 * 4], plain[2][5 * 4], masked[2][5 * 4];
    assert_ok(f, attend(f, NULL, NULL, &open));
    assert_ok(f, attend(f, "{\"use_causal_mask\": true}", NULL, &causal));
    for (int i = 0; i < 40; i++) rows[i / 20][i % 20] = (float)(i % 20 * 7 % 11) / 4 + (i >= 36 ? 3.0F : 0);
    for (int m = 0; m < 2; m++) {
        artel_predictor *p;
        artel_predictor_options o = ARTEL_PREDICTOR_OPTIONS_INIT;
        const void *in = rows;
        float *out = m ? masked[0] : plain[0];
        o.most_rows = 2;
        assert_ok(f, artel_model_initialise(m ? causal : open, 3));
        assert_ok(f, artel_predictor_create(m ? causal : open, &o, &p));
        assert_ok(f, artel_predictor_run(p, &in, 2, &out));
        artel_predictor_destroy(p);
    }
    /* both rows differ in their last place alone, which no other one sees behind the mask */
    assert_memory_equal(masked[0], masked[1], 16 * sizeof(float));
    assert_memory_not_equal(plain[0], plain[1], 16 * sizeof(float));
    artel_model_destroy(open);
    artel_model_destroy(causal);
    assert_int_equal(attend(f, "[1]", NULL, &open), ARTEL_ERROR_INVALID);
    assert_true(attend(f, "{\"use_causal_mask\"", NULL, &open) < 0);
    assert_int_equal(attend(f, "{\"use_causal_mask\": true}", "{\"use_causal_mask\": false}", &open),
                     ARTEL_ERROR_INVALID);
    assert_non_null(strstr(artel_context_error(f->ctx)->advice, "once"));
    assert_ok(f, artel_functional_create(f->ctx, "m", &b));
    artel_input(b, "x", ARTEL_DTYPE_FLOAT32, &(artel_shape){1, {4}}, &x);
    assert_int_equal(artel_apply_arguments(b, x, "{\"reverse\": true}"), ARTEL_ERROR_INVALID);
    assert_int_equal(artel_functional_finish(b, &x, 1, &open), ARTEL_ERROR_INVALID);
    assert_int_equal(attend(f, "{\"use_casual_mask\": true}", NULL, &open), ARTEL_ERROR_INVALID);
    assert_int_equal(attend(f, "{\"use_causal_mask\": 1}", NULL, &open), ARTEL_ERROR_INVALID);
}

static artel_model *make_branches(fixture *f)
{
    artel_builder *b;
    artel_model *model;
    artel_tensor x, left, right, sum, out;
    artel_shape shape = {1, {6}};
    assert_ok(f, artel_functional_create(f->ctx, "branches", &b));
    artel_input(b, "x", ARTEL_DTYPE_FLOAT32, &shape, &x);
    artel_apply(b, "Dense", "{\"units\": 5, \"activation\": \"relu\", \"name\": \"shared\"}", &x, 1, &left);
    artel_apply_again(b, left, &x, 1, &right);
    artel_apply(b, "Concatenate", NULL, (artel_tensor[]){left, right}, 2, &sum);
    artel_apply(b, "Dense",
                "{\"units\": 1, \"kernel_regularizer\": {\"class_name\": \"L2\", \"config\": {\"l2\": 0.01}}}", &sum, 1,
                &out);
    assert_ok(f, artel_functional_finish(b, (artel_tensor[]){out, left}, 2, &model));
    return model;
}

static void functional_shares_layers(void **state)
{
    fixture *f = *state;
    artel_model *model = make_branches(f);
    int64_t trainable, frozen;
    artel_shape shape;
    artel__keras_count(model, &trainable, &frozen);
    assert_int_equal(trainable, 35 + 11);
    assert_int_equal(artel_model_output_count(model), 2);
    assert_ok(f, artel_model_output(model, 1, NULL, NULL, &shape));
    assert_int_equal(shape.dim[0], 5);
    artel_model_destroy(model);
}

static void summary_lists_layers(void **state)
{
    fixture *f = *state;
    artel_model *model = make_branches(f);
    artel__model_summary summary;
    assert_ok(f, artel__keras_summary(model, false, &summary));
    assert_int_equal(summary.rows, 4);
    assert_true(summary.connections);
    assert_string_equal(summary.row[0].output_shape, "(None, 6)");
    assert_string_equal(summary.row[1].connected_to, "x[0][0], x[0][0]");
    assert_string_equal(summary.row[2].connected_to, "shared[0][0], shared[1][0]");
    assert_string_equal(summary.row[2].output_shape, "(None, 10)");
    assert_int_equal(summary.row[3].params, 11);
    artel__keras_summary_fini(&summary);
    artel_model_destroy(model);
}

static void open_axes_stay_open(void **state)
{
    fixture *f = *state;
    artel_builder *b;
    artel_model *model;
    artel__model_summary summary;
    artel_shape shape = {3, {-1, -1, 3}};
    assert_ok(f, artel_sequential_create(f->ctx, NULL, ARTEL_DTYPE_FLOAT32, &shape, &b));
    artel_layer_conv2d(b,
                       &(artel_conv2d_options){.filters = 4, .kernel = {3, 3}, .strides = {2, 2}, .padding = "same"});
    artel_layer_global_average_pooling2d(b, NULL);
    assert_ok(f, artel_sequential_finish(b, &model));
    assert_ok(f, artel__keras_summary(model, false, &summary));
    assert_string_equal(summary.row[0].output_shape, "(None, None, None, 4)");
    assert_string_equal(summary.row[1].output_shape, "(None, 4)");
    assert_false(summary.connections);
    artel__keras_summary_fini(&summary);
    artel_model_destroy(model);
}

static artel_builder *start_builder(fixture *f)
{
    artel_builder *b;
    artel_shape shape = {1, {3}};
    assert_ok(f, artel_sequential_create(f->ctx, NULL, ARTEL_DTYPE_FLOAT32, &shape, &b));
    return b;
}

static void first_failure_is_remembered(void **state)
{
    fixture *f = *state;
    artel_model *model;
    artel_builder *b = start_builder(f);
    assert_int_equal(artel_layer_add(b, "Dense", "{\"units\": "), ARTEL_ERROR_CORRUPT);
    assert_int_equal(artel_layer_dense(b, &(artel_dense_options){.units = 2}), ARTEL_ERROR_CORRUPT);
    assert_fails(f, artel_sequential_finish(b, &model), ARTEL_ERROR_CORRUPT, "Dense");

    b = start_builder(f);
    artel_layer_dense(b, &(artel_dense_options){.units = 2, .name = "twin"});
    artel_layer_dense(b, &(artel_dense_options){.units = 2, .name = "twin"});
    assert_fails(f, artel_sequential_finish(b, &model), ARTEL_ERROR_INVALID, "twin");

    b = start_builder(f);
    artel_layer_dense(b, NULL);
    assert_fails(f, artel_sequential_finish(b, &model), ARTEL_ERROR_INVALID, "units");

    b = start_builder(f);
    artel_layer_add(b, "Dence", "{\"units\": 2}");
    assert_fails(f, artel_sequential_finish(b, &model), ARTEL_ERROR_UNSUPPORTED, "Dense");
}

static void strangers_are_refused(void **state)
{
    fixture *f = *state;
    artel_builder *b;
    artel_model *model;
    artel_tensor x, y;
    artel_shape shape = {1, {3}};
    assert_ok(f, artel_functional_create(f->ctx, NULL, &b));
    assert_ok(f, artel_input(b, NULL, ARTEL_DTYPE_FLOAT32, &shape, &x));
    assert_int_equal(artel_apply(b, "Dense", "{\"units\": 1}", &(artel_tensor){7, 0}, 1, &y), ARTEL_ERROR_INVALID);
    assert_fails(f, artel_functional_finish(b, &x, 1, &model), ARTEL_ERROR_INVALID, "does not exist");
    assert_fails(f, artel_sequential_create(f->ctx, NULL, ARTEL_DTYPE_FLOAT32, &(artel_shape){1, {-7}}, &b),
                 ARTEL_ERROR_INVALID, "shape");
    for (int i = 0; i < 2; i++) { /* outputs that a layer does not have, as operand and as result */
        assert_ok(f, artel_functional_create(f->ctx, NULL, &b));
        assert_ok(f, artel_input(b, "in", ARTEL_DTYPE_FLOAT32, &shape, &x));
        assert_ok(f, artel_apply(b, "Dense", "{\"units\": 1}", (artel_tensor[]){i ? x : artel_output(x, 5)}, 1, &y));
        y = i ? artel_output(y, 1) : y;
        assert_fails(f, artel_functional_finish(b, &y, 1, &model), ARTEL_ERROR_INVALID,
                     i ? "\"dense\" has no output 1" : "\"in\" has no output 5");
    }
    b = start_builder(f);
    assert_int_equal(artel_apply(b, "Dense", "{}", &x, 1, &y), ARTEL_ERROR_INVALID);
    artel_builder_destroy(b);
    artel_builder_destroy(NULL);
}

static void every_allocation_may_fail(void **state)
{
    fixture *f = *state;
    for (uint64_t n = 1; n < 2000; n++) {
        artel_builder *b;
        artel_model *model = NULL;
        artel_shape shape = {1, {3}};
        artel_context_clear(f->ctx);
        artel__fail_allocation_after(f->ctx, n);
        artel_status status = artel_sequential_create(f->ctx, NULL, ARTEL_DTYPE_FLOAT32, &shape, &b);
        if (status == ARTEL_OK) {
            artel_layer_dense(b, &(artel_dense_options){.units = 4, .activation = "relu"});
            artel_layer_dense(b, &(artel_dense_options){.units = 2});
            status = artel_sequential_finish(b, &model);
        }
        if (status == ARTEL_OK) status = artel_model_initialise(model, 1);
        artel__fail_allocation_after(f->ctx, 0);
        artel_model_destroy(model);
        if (status == ARTEL_OK) return;
        assert_int_equal(status, ARTEL_ERROR_NO_MEMORY);
    }
    fail_msg("the model was never built");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(sequential_has_names_and_shapes, start_models, stop_models),
        cmocka_unit_test_setup_teardown(weights_are_read_and_written_by_path, start_models, stop_models),
        cmocka_unit_test_setup_teardown(initialisation_is_a_function_of_the_seed, start_models, stop_models),
        cmocka_unit_test_setup_teardown(calls_have_arguments, start_models, stop_models),
        cmocka_unit_test_setup_teardown(functional_shares_layers, start_models, stop_models),
        cmocka_unit_test_setup_teardown(summary_lists_layers, start_models, stop_models),
        cmocka_unit_test_setup_teardown(open_axes_stay_open, start_models, stop_models),
        cmocka_unit_test_setup_teardown(first_failure_is_remembered, start_models, stop_models),
        cmocka_unit_test_setup_teardown(strangers_are_refused, start_models, stop_models),
        cmocka_unit_test_setup_teardown(every_allocation_may_fail, start_models, stop_models),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
