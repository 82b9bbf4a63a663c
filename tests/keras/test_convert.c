/* SPDX-License-Identifier: Apache-2.0 */
/* safetensors headers that lie, and records of older Keras brought into today's form. */
#include "help_models.h"

#include "keras/safetensors.h"
#include "keras/translate.h"

/* A file with this header and `size` bytes of data. */
static void write_tensors(fixture *f, const char *path, const char *header, size_t size)
{
    uint8_t bytes[1024] = {0};
    size_t length = strlen(header);
    for (int i = 0; i < 8; i++) bytes[i] = (uint8_t)(length >> (8 * i));
    memcpy(bytes + 8, header, length);
    assert_ok(f, artel__write_file(f->ctx, path, bytes, 8 + length + size));
}

static void safetensors_that_lie_are_refused(void **state)
{
    fixture *f = *state;
    artel__safetensors file;
    char path[128];
    static const struct {
        const char *header;
        size_t size;
        const char *words;
    } cases[] = {
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 4, "outside"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 12, "do not end"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,8]}}", 8, "do not match"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[9223372036854775807,4],\"data_offsets\":[0,8]}}", 8, "do not match"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[-2],\"data_offsets\":[0,8]}}", 8, "shape"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,0]}}", 8, "outside"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0]}}", 8, "two numbers"},
        {"{\"a\":{\"dtype\":\"F99\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8, "F99"},
        {"{\"a\":{\"shape\":[2],\"data_offsets\":[0,8]}}", 8, "(none)"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},\"b\":{\"dtype\":\"F32\",\"shape\":[1],"
         "\"data_offsets\":[2,6]}}",
         6, "overlap"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}", 8, "hole"},
        {"{\"a\":7}", 0, "dtype"},
        {"{\"a\":", 0, "line 1"},
    };
    in_folder(f, "x.safetensors", path, sizeof path);
    for (size_t i = 0; i < ARTEL__COUNT(cases); i++) {
        write_tensors(f, path, cases[i].header, cases[i].size);
        artel_status status = artel__safetensors_open(f->ctx, path, &file);
        if (status == ARTEL_OK) print_error("case %zu was accepted\n", i);
        assert_int_equal(status, ARTEL_ERROR_CORRUPT);
        artel_context_clear(f->ctx);
    }
    write_tensors(f, path,
                  "{\"__metadata__\":{\"k\":\"v\"},\"a\":{\"dtype\":\"F16\",\"shape\":[2,1],\"data_offsets\":[0,4]}}  ",
                  4);
    assert_ok(f, artel__safetensors_open(f->ctx, path, &file));
    assert_int_equal(file.count, 1);
    assert_int_equal(file.tensor[0].array.dtype, ARTEL_DTYPE_FLOAT16);
    artel__safetensors_close(&file);
    assert_ok(f, artel__write_file(f->ctx, path, "\xff\xff\xff\xff\xff\xff\xff\x7f{}", 10));
    assert_fails(f, artel__safetensors_open(f->ctx, path, &file), ARTEL_ERROR_CORRUPT, "truncated");
}

static json_t *parse(const char *text)
{
    json_t *json = json_loads(text, 0, NULL);
    assert_non_null(json);
    return json;
}

static json_t *at(json_t *json, const char *path)
{
    char copy[128], *save = NULL;
    snprintf(copy, sizeof copy, "%s", path);
    for (char *part = strtok_r(copy, "/", &save); part; part = strtok_r(NULL, "/", &save))
        json = json_is_array(json) ? json_array_get(json, (size_t)atoi(part)) : json_object_get(json, part);
    return json;
}

static void assert_text(json_t *json, const char *path, const char *expected)
{
    const char *found = json_string_value(at(json, path));
    assert_non_null(found);
    assert_string_equal(found, expected);
}

static void old_records_are_brought_up_to_date(void **state)
{
    fixture *f = *state;
    json_t *model =
        parse("{\"class_name\": \"Model\", \"config\": {\"name\": \"m\", \"layers\": [{\"class_name\": "
              "\"BatchNormalization\", \"config\": "
              "{\"name\": \"b\", \"axis\": [3], \"fused\": true, \"gamma_initializer\": {\"class_name\": \"Ones\", "
              "\"config\": {}}, "
              "\"dtype\": {\"class_name\": \"Policy\", \"config\": {\"name\": \"float32\"}}}}, {\"class_name\": "
              "\"Bidirectional\", \"config\": "
              "{\"layer\": {\"class_name\": \"LSTM\", \"config\": {\"units\": 3, \"implementation\": 2}}}}]}}");
    assert_int_equal(artel__keras_translate_model(f->ctx, "old.json", NULL, model), ARTEL_OK);
    assert_text(model, "class_name", "Functional");
    assert_text(model, "module", "keras.src.models.functional");
    assert_text(model, "registered_name", "Functional");
    assert_text(model, "config/layers/0/module", "keras.layers");
    assert_true(json_is_null(at(model, "config/layers/0/registered_name")));
    assert_int_equal(json_integer_value(at(model, "config/layers/0/config/axis")), 3);
    assert_null(at(model, "config/layers/0/config/fused"));
    assert_text(model, "config/layers/0/config/gamma_initializer/module", "keras.initializers");
    assert_text(model, "config/layers/0/config/dtype/class_name", "DTypePolicy");
    assert_text(model, "config/layers/1/config/layer/module", "keras.layers");
    assert_null(at(model, "config/layers/1/config/layer/config/implementation"));
    json_decref(model);
}

static void modern_records_stay(void **state)
{
    fixture *f = *state;
    json_t *model =
        parse("{\"module\": \"keras\", \"class_name\": \"Sequential\", \"config\": {\"layers\": [{\"module\": "
              "\"keras.layers\", \"class_name\": \"BatchNormalization\", "
              "\"config\": {\"axis\": -1}, \"registered_name\": null}]}}");
    json_t *copy = json_deep_copy(model);
    assert_int_equal(artel__keras_translate_model(f->ctx, "old.json", NULL, model), ARTEL_OK);
    assert_true(json_equal(model, copy));
    json_decref(copy);
    json_decref(model);
}

static void old_training_settings_become_compile_settings(void **state)
{
    fixture *f = *state;
    json_t *out, *training = parse("{\"optimizer_config\": {\"class_name\": \"Custom>Adam\", \"config\": {\"lr\": 0.5, "
                                   "\"decay\": 0.0, \"jit_compile\": true}}, "
                                   "\"loss\": {\"a\": {\"class_name\": \"LossFunctionWrapper\", \"config\": {\"fn\": "
                                   "\"mean_squared_error\", \"reduction\": "
                                   "\"auto\"}}}, "
                                   "\"metrics\": [[{\"class_name\": \"MeanMetricWrapper\", \"config\": {\"name\": "
                                   "\"acc\", \"fn\": \"binary_accuracy\"}}]], "
                                   "\"sample_weight_mode\": null}");
    assert_ok(f, artel__keras_translate_training(f->ctx, "m.h5", training, &out));
    assert_text(out, "optimizer/class_name", "Adam");
    assert_text(out, "optimizer/module", "keras.optimizers");
    assert_true(json_real_value(at(out, "optimizer/config/learning_rate")) == 0.5);
    assert_null(at(out, "optimizer/config/decay"));
    assert_text(out, "loss/a/class_name", "MeanSquaredError");
    assert_text(out, "loss/a/module", "keras.losses");
    assert_text(out, "loss/a/config/reduction", "sum_over_batch_size");
    assert_text(out, "metrics/0/0/class_name", "BinaryAccuracy");
    assert_text(out, "metrics/0/0/config/name", "acc");
    assert_true(json_is_null(at(out, "loss_weights")));
    json_decref(out);
    json_decref(training);
    training = parse("{\"loss\": \"mse\"}");
    assert_fails(f, artel__keras_translate_training(f->ctx, "m.h5", training, &out), ARTEL_ERROR_CORRUPT,
                 "no optimizer");
    json_decref(training);
}

static void *no_memory(size_t size)
{
    (void)size;
    return NULL;
}

/* Whoever reads a model finds in its context what stopped it. */
static void memory_that_is_short_is_recorded(void **state)
{
    fixture *f = *state;
    json_t *model = parse("{\"class_name\": \"Model\", \"config\": {\"layers\": []}}");
    json_t *compile = parse("{\"optimizer\": {\"class_name\": \"SGD\", \"config\": {\"lr\": 0.5}}, \"loss\": "
                            "{\"class_name\": \"LossFunctionWrapper\", \"config\": {\"fn\": \"mse\"}}}");
    json_t *out, *training = parse("{\"optimizer_config\": {\"class_name\": \"SGD\", \"config\": {}}}");
    json_set_alloc_funcs(no_memory, free);
    artel_status status = artel__keras_translate_model(f->ctx, "old.json", NULL, model);
    assert_fails(f, status, ARTEL_ERROR_NO_MEMORY, "old.json");
    status = artel__keras_translate_compile(f->ctx, "old.keras", compile);
    assert_fails(f, status, ARTEL_ERROR_NO_MEMORY, "old.keras");
    status = artel__keras_translate_training(f->ctx, "old.h5", training, &out);
    assert_fails(f, status, ARTEL_ERROR_NO_MEMORY, "old.h5");
    json_set_alloc_funcs(malloc, free);
    json_decref(training);
    json_decref(compile);
    json_decref(model);
}

static void compile_takes_names_and_records(void **state)
{
    fixture *f = *state;
    artel_model *model = make_mlp(f);
    give_optimizer(model);
    assert_ok(f, artel_model_compile(model, NULL, "mae", NULL));
    assert_int_equal(model->optimizer.count, 3);
    assert_text(model->compile_config, "loss", "mae");
    assert_text(model->compile_config, "optimizer/class_name", "Adam");
    assert_ok(f, artel_model_compile(model, "{\"class_name\": \"SGD\", \"config\": {\"momentum\": 0.5}}", NULL,
                                     "[\"mse\", \"mae\"]"));
    assert_int_equal(model->optimizer.count, 0);
    assert_true(json_real_value(at(model->compile_config, "optimizer/config/momentum")) == 0.5);
    assert_text(model->compile_config, "metrics/1", "mae");
    json_t *before = json_deep_copy(model->compile_config);
    assert_int_equal(artel_model_compile(model, "sdg", NULL, NULL) < 0, true);
    assert_true(json_equal(before, model->compile_config));
    artel_context_clear(f->ctx);
    assert_int_equal(artel_model_compile(model, NULL, "no_such_loss", NULL) < 0, true);
    assert_true(json_equal(before, model->compile_config));
    json_decref(before);
    artel_model_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(safetensors_that_lie_are_refused, start_models, stop_models),
        cmocka_unit_test_setup_teardown(old_records_are_brought_up_to_date, start_models, stop_models),
        cmocka_unit_test_setup_teardown(modern_records_stay, start_models, stop_models),
        cmocka_unit_test_setup_teardown(memory_that_is_short_is_recorded, start_models, stop_models),
        cmocka_unit_test_setup_teardown(old_training_settings_become_compile_settings, start_models, stop_models),
        cmocka_unit_test_setup_teardown(compile_takes_names_and_records, start_models, stop_models),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
