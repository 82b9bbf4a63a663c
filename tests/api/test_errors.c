/* SPDX-License-Identifier: Apache-2.0 */
/* Bad uses of the C API, one row each: the status, the words that name the place and the fault, and that there is
 * advice. The record keeps the first cause, and the context goes on working afterwards. */
#include "api/help_api.h"

/* What a case works with: a context, a model, data that fit it, options to spoil. */
typedef struct scene {
    artel_context *ctx;
    artel_model *model;
    artel_data *data;
    artel_fit_options fit;
    artel_evaluate_options evaluate;
} scene;

typedef struct bad_use {
    const char *name;
    artel_status (*run)(scene *s);
    artel_status status;
    const char *parts[3]; /* words that the record must hold, in where, what or advice */
} bad_use;

static artel_status fit(scene *s)
{
    return artel_model_fit(s->model, s->data, &s->fit, NULL);
}

static artel_status zero_batch(scene *s)
{
    s->fit.batch_size = 0;
    return fit(s);
}

static artel_status negative_epochs(scene *s)
{
    s->fit.epochs = -1;
    return fit(s);
}

/* Each of them was once accepted: the first never ended. */
static artel_status negative_validation_batch(scene *s)
{
    s->fit.validation_split = 0.2;
    s->fit.validation_batch_size = -1;
    return fit(s);
}

static artel_status negative_validation_steps(scene *s)
{
    s->fit.validation_steps = -1;
    return fit(s);
}

static artel_status huge_batch(scene *s)
{
    s->fit.batch_size = INT64_MAX;
    return fit(s);
}

static artel_status huge_shards(scene *s)
{
    s->fit.shards = (int64_t)1 << 40;
    return fit(s);
}

static artel_status unknown_strategy(scene *s)
{
    s->fit.strategy = "mirored";
    return fit(s);
}

static artel_status too_many_replicas(scene *s)
{
    s->fit.strategy = "mirrored";
    s->fit.replicas = 16;
    s->fit.shards = 8;
    return fit(s);
}

static artel_status odd_shards(scene *s)
{
    s->fit.shards = 6;
    return fit(s);
}

static artel_status whole_split(scene *s)
{
    s->fit.validation_split = 1;
    return fit(s);
}

static artel_status bad_save_every(scene *s)
{
    s->fit.checkpoint_dir = "/tmp/artel-api-never-made";
    s->fit.save_every = "5parsecs";
    return fit(s);
}

static artel_status bad_callbacks(scene *s)
{
    s->fit.callbacks = "[{\"class_name\": \"EarlyStoping\", \"config\": {}}]";
    return fit(s);
}

static artel_status broken_json(scene *s)
{
    s->fit.callbacks = "[{\"class_name\": ";
    return fit(s);
}

static artel_status bad_class_weight(scene *s)
{
    s->fit.class_weight = "{\"first\": 2}";
    return fit(s);
}

static artel_status unknown_optimizer(scene *s)
{
    artel_status status = artel_model_compile(s->model, "adamm", NULL, NULL);
    return status < 0 ? status : fit(s);
}

static artel_status unknown_loss(scene *s)
{
    artel_status status = artel_model_compile(s->model, NULL, "sparse_crossentropy", NULL);
    return status < 0 ? status : fit(s);
}

static artel_status unknown_metric(scene *s)
{
    artel_status status = artel_model_compile(s->model, NULL, NULL, "acuracy");
    return status < 0 ? status : fit(s);
}

/* Trains on ten rows of `width` numbers with these labels. */
static artel_status fit_rows(scene *s, int64_t width, const int32_t *labels, int64_t label_count)
{
    static const float x[10 * (API_IMAGE + 1)];
    artel_data *data;
    const artel_data_array arrays[] = {
        {.name = "x", .role = ARTEL_DATA_ROLE_INPUT, .shape = {2, {10, width}}, .values = x},
        {.name = "y",
         .role = ARTEL_DATA_ROLE_TARGET,
         .dtype = ARTEL_DTYPE_INT32,
         .shape = {1, {label_count}},
         .values = labels},
    };
    artel_status status = artel_data_from_memory(s->ctx, arrays, 2, &data);
    if (status < 0) return status;
    status = artel_model_fit(s->model, data, &s->fit, NULL);
    artel_data_destroy(data);
    return status;
}

static artel_status label_out_of_range(scene *s)
{
    static const int32_t labels[10] = {0, 1, 2, 0, 1, 2, 0, 57, 2, 0};
    return fit_rows(s, API_IMAGE, labels, 10);
}

static artel_status negative_label(scene *s)
{
    static const int32_t labels[10] = {0, 1, 2, -4, 1, 2, 0, 1, 2, 0};
    return fit_rows(s, API_IMAGE, labels, 10);
}

static artel_status wrong_width(scene *s)
{
    static const int32_t labels[10] = {0};
    return fit_rows(s, API_IMAGE + 1, labels, 10);
}

static artel_status unequal_lengths(scene *s)
{
    static const int32_t labels[10] = {0};
    return fit_rows(s, API_IMAGE, labels, 9);
}

static artel_status missing_model(scene *s)
{
    artel_model *model;
    return artel_model_load(s->ctx, "/nowhere/at/all.keras", &model);
}

static artel_status missing_data(scene *s)
{
    artel_data *data;
    return artel_data_open(s->ctx, "npz:/nowhere/train.npz", &data);
}

static artel_status unknown_format(scene *s)
{
    artel_data *data;
    return artel_data_open(s->ctx, "npx:train.npz", &data);
}

static artel_status not_a_model(scene *s)
{
    artel_model *model;
    return artel_model_load(s->ctx, "/proc/self/exe", &model);
}

static artel_status odd_ending(scene *s)
{
    artel_status status = artel_model_initialise(s->model, 1);
    return status < 0 ? status : artel_model_save(s->model, "/tmp/artel-api-never-made.pt");
}

static artel_status no_directory(scene *s)
{
    artel_status status = artel_model_initialise(s->model, 1);
    return status < 0 ? status : artel_model_save(s->model, "/nowhere/at/all/model.keras");
}

static artel_status weight_name(scene *s)
{
    float value[3];
    artel_status status = artel_model_initialise(s->model, 1);
    return status < 0 ? status : artel_model_get_weight(s->model, "layers/dence/vars/0", value, 3);
}

static artel_status weight_count(scene *s)
{
    float value[3];
    artel_status status = artel_model_initialise(s->model, 1);
    return status < 0 ? status : artel_model_get_weight(s->model, "layers/dense/vars/0", value, 3);
}

static artel_status zero_evaluate_batch(scene *s)
{
    artel_history *history;
    s->evaluate.batch_size = 0;
    return artel_model_evaluate(s->model, s->data, &s->evaluate, &history);
}

static artel_status unknown_layer(scene *s)
{
    artel_builder *b;
    artel_model *model;
    artel_status status = artel_sequential_create(s->ctx, "m", ARTEL_DTYPE_FLOAT32, &(artel_shape){1, {4}}, &b);
    if (status < 0) return status;
    artel_layer_add(b, "Dens", "{\"units\": 3}");
    artel_layer_flatten(b, NULL); /* the first failure is the one that is told */
    return artel_sequential_finish(b, &model);
}

static artel_status negative_units(scene *s)
{
    artel_builder *b;
    artel_model *model;
    artel_status status = artel_sequential_create(s->ctx, "m", ARTEL_DTYPE_FLOAT32, &(artel_shape){1, {4}}, &b);
    if (status < 0) return status;
    artel_layer_dense(b, &(artel_dense_options){.units = -3});
    return artel_sequential_finish(b, &model);
}

static artel_status kernel_too_large(scene *s)
{
    artel_builder *b;
    artel_model *model;
    artel_status status = artel_sequential_create(s->ctx, "m", ARTEL_DTYPE_FLOAT32, &(artel_shape){3, {4, 4, 1}}, &b);
    if (status < 0) return status;
    artel_layer_conv2d(b, &(artel_conv2d_options){.filters = 2, .kernel = {7, 7}});
    return artel_sequential_finish(b, &model);
}

static const bad_use bad_uses[] = {
    {"zero batch", zero_batch, ARTEL_ERROR_INVALID, {"batch"}},
    {"negative epochs", negative_epochs, ARTEL_ERROR_INVALID, {"epochs"}},
    {"negative validation batch", negative_validation_batch, ARTEL_ERROR_INVALID, {"validation_batch_size", "-1"}},
    {"negative validation steps", negative_validation_steps, ARTEL_ERROR_INVALID, {"validation_steps", "-1"}},
    {"huge batch", huge_batch, ARTEL_ERROR_INVALID, {"batch_size", "at most"}},
    {"huge shards", huge_shards, ARTEL_ERROR_INVALID, {"shards", "at most"}},
    {"unknown strategy", unknown_strategy, ARTEL_ERROR_INVALID, {"mirored", "mirrored"}},
    {"more replicas than shards", too_many_replicas, ARTEL_ERROR_INVALID, {"16", "8", "shards"}},
    {"odd shards", odd_shards, ARTEL_ERROR_INVALID, {"shards", "power of two"}},
    {"split of everything", whole_split, ARTEL_ERROR_INVALID, {"validation"}},
    {"save_every", bad_save_every, ARTEL_ERROR_INVALID, {"5parsecs"}},
    {"unknown callback", bad_callbacks, 0, {"EarlyStoping"}},
    {"broken JSON", broken_json, ARTEL_ERROR_CORRUPT, {"callbacks"}},
    {"class weight", bad_class_weight, ARTEL_ERROR_INVALID, {"class", "weight"}},
    {"unknown optimizer", unknown_optimizer, 0, {"adamm", "adam"}},
    {"unknown loss", unknown_loss, 0, {"sparse_crossentropy"}},
    {"unknown metric", unknown_metric, 0, {"acuracy", "accuracy"}},
    {"label out of range", label_out_of_range, ARTEL_ERROR_INVALID, {"57", "record 7"}},
    {"negative label", negative_label, ARTEL_ERROR_INVALID, {"-4", "record 3"}},
    {"wrong width", wrong_width, ARTEL_ERROR_INVALID, {"65", "64"}},
    {"unequal lengths", unequal_lengths, ARTEL_ERROR_INVALID, {"10", "9"}},
    {"missing model", missing_model, ARTEL_ERROR_NOT_FOUND, {"/nowhere/at/all.keras"}},
    {"missing data", missing_data, ARTEL_ERROR_NOT_FOUND, {"/nowhere/train.npz"}},
    {"unknown format", unknown_format, ARTEL_ERROR_INVALID, {"npx", "npz"}},
    {"not a model", not_a_model, 0, {"/proc/self/exe"}},
    {"odd ending", odd_ending, 0, {"artel-api-never-made.pt", ".keras"}},
    {"no directory", no_directory, 0, {"/nowhere/at/all"}},
    {"name of a weight", weight_name, ARTEL_ERROR_NOT_FOUND, {"dence"}},
    {"elements of a weight", weight_count, ARTEL_ERROR_INVALID, {"1536", "3"}},
    {"zero batch to evaluate", zero_evaluate_batch, ARTEL_ERROR_INVALID, {"batch"}},
    {"unknown layer", unknown_layer, 0, {"Dens"}},
    {"negative units", negative_units, ARTEL_ERROR_INVALID, {"units", "-3"}},
    {"kernel larger than image", kernel_too_large, ARTEL_ERROR_INVALID, {"conv2d"}},
};

static bool holds(const artel_error *error, const char *part)
{
    return strstr(error->where, part) || strstr(error->what, part) || strstr(error->advice, part);
}

/* True when the record is as it should be; says what is not. */
static bool judge(const bad_use *use, artel_status status, const artel_error *error)
{
    bool good = status < 0 && error->status == status && (use->status == 0 || use->status == status);
    for (int i = 0; i < 3 && use->parts[i]; i++) good = good && holds(error, use->parts[i]);
    good = good && error->where[0] && error->what[0] && (error->advice[0] || use->run == weight_count) &&
           artel_status_exit_code(status) == 1;
    if (!good)
        print_error("%s: %s | %s | %s | %s\n", use->name, artel_status_name(status), error->where, error->what,
                    error->advice);
    return good;
}

static void test_bad_uses(void **state)
{
    int wrong = 0;
    (void)state;
    artel_context *ctx = api_context();
    for (size_t i = 0; i < sizeof bad_uses / sizeof *bad_uses; i++) {
        scene s = {.ctx = ctx, .fit = ARTEL_FIT_OPTIONS_INIT, .evaluate = ARTEL_EVALUATE_OPTIONS_INIT};
        s.model = api_mlp(ctx);
        s.data = api_rows(ctx, false);
        artel_status status = bad_uses[i].run(&s);
        wrong += !judge(&bad_uses[i], status, artel_context_error(ctx));
        artel_data_destroy(s.data);
        artel_model_destroy(s.model);
    }
    assert_int_equal(wrong, 0);
    char digest[65]; /* the context has taken no harm */
    artel_context_clear(ctx);
    api_train(ctx, &(api_run){.replicas = 2, .threads = 2}, digest);
    artel_context_destroy(ctx);
}

static void test_contexts_that_cannot_be(void **state)
{
    artel_context *ctx = NULL;
    (void)state;
    artel_context_options options = ARTEL_CONTEXT_OPTIONS_INIT;
    options.isa = "z80";
    assert_int_equal(artel_context_create(&options, &ctx), ARTEL_ERROR_INVALID);
    assert_null(ctx);
    artel_context_destroy(NULL);
    artel_model_destroy(NULL);
    artel_data_destroy(NULL);
    artel_history_destroy(NULL);
    artel_predictions_destroy(NULL);
    artel_builder_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_uses),
        cmocka_unit_test(test_contexts_that_cannot_be),
    };
    return cmocka_run_group_tests_name("api.errors", tests, NULL, NULL);
}
