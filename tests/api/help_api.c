/* SPDX-License-Identifier: Apache-2.0 */
/* Small models and rows for the tests of the C API. */
#include "api/help_api.h"

#include <dirent.h>
#include <unistd.h>

void api_ok_at(const artel_context *ctx, artel_status status, const char *file, int line)
{
    if (status == ARTEL_OK) return;
    const artel_error *error = artel_context_error(ctx);
    print_error("%s: %s; %s\n", error->where, error->what, error->advice);
    _assert_int_equal(status, ARTEL_OK, file, line);
}

void api_refused(const artel_context *ctx, artel_status got, artel_status wanted, const char *word)
{
    const artel_error *error = artel_context_error(ctx);
    assert_int_equal(got, wanted);
    if (!strstr(error->what, word) && !strstr(error->where, word))
        fail_msg("no \"%s\" in: %s: %s", word, error->where, error->what);
}

artel_context *api_context(void)
{
    artel_context *ctx = NULL;
    assert_int_equal(artel_context_create(NULL, &ctx), ARTEL_OK);
    return ctx;
}

artel_model *api_mlp(artel_context *ctx)
{
    artel_builder *b;
    artel_model *model = NULL;
    api_ok(ctx, artel_sequential_create(ctx, "mlp", ARTEL_DTYPE_FLOAT32, &(artel_shape){1, {API_IMAGE}}, &b));
    artel_layer_dense(b, &(artel_dense_options){.units = 24, .activation = "relu"});
    artel_layer_dropout(b, &(artel_dropout_options){.rate = 0.3});
    artel_layer_dense(b, &(artel_dense_options){.units = API_CLASSES, .activation = "softmax"});
    api_ok(ctx, artel_sequential_finish(b, &model));
    api_ok(ctx, artel_model_compile(model, "adam", "sparse_categorical_crossentropy", "accuracy"));
    return model;
}

artel_model *api_cnn(artel_context *ctx)
{
    static const char optimizer[] =
        "{\"class_name\": \"SGD\", \"config\": {\"learning_rate\": 0.05, \"momentum\": 0.9}}";
    artel_builder *b;
    artel_model *model = NULL;
    api_ok(ctx, artel_sequential_create(ctx, "cnn", ARTEL_DTYPE_FLOAT32, &(artel_shape){3, {8, 8, 1}}, &b));
    artel_layer_conv2d(b, &(artel_conv2d_options){.filters = 5, .kernel = {3, 3}, .padding = "same"});
    artel_layer_batch_normalization(b, NULL);
    artel_layer_activation(b, &(artel_activation_options){.activation = "relu"});
    artel_layer_max_pooling2d(b, NULL);
    artel_layer_flatten(b, NULL);
    artel_layer_dense(b, &(artel_dense_options){.units = API_CLASSES, .activation = "softmax"});
    api_ok(ctx, artel_sequential_finish(b, &model));
    api_ok(ctx, artel_model_compile(model, optimizer, "sparse_categorical_crossentropy", "accuracy"));
    return model;
}

artel_model *api_wide(artel_context *ctx, bool images)
{
    char folder[64], path[96];
    artel_model *narrow = images ? api_cnn(ctx) : api_mlp(ctx), *wide = NULL;
    api_folder_make(folder);
    snprintf(path, sizeof path, "%s/m.json", folder); /* the policy is that of loading */
    api_ok(ctx, artel_model_save(narrow, path));
    api_ok(ctx, artel_model_load_with_policy(ctx, path, "float64", &wide));
    api_ok(ctx, artel_model_compile(wide, images ? "sgd:learning_rate=0.05,momentum=0.9" : "adam",
                                    "sparse_categorical_crossentropy", NULL));
    artel_model_destroy(narrow);
    api_folder_remove(folder);
    return wide;
}

/* Row r: a function of r alone, with numbers small enough to need denormals somewhere in training. */
void api_row(uint64_t r, float *x, int32_t *y)
{
    for (uint64_t i = 0; i < API_IMAGE; i++) x[i] = (float)((r * 31 + i * (r % 5 + 3)) % 97) / 97.0f;
    *y = (int32_t)(r % API_CLASSES);
}

static void describe(bool images, artel_data_array arrays[2])
{
    arrays[0] = (artel_data_array){.name = "x", .role = ARTEL_DATA_ROLE_INPUT, .shape = {2, {API_ROWS, API_IMAGE}}};
    if (images) arrays[0].shape = (artel_shape){4, {API_ROWS, 8, 8, 1}};
    arrays[1] = (artel_data_array){
        .name = "y", .role = ARTEL_DATA_ROLE_TARGET, .dtype = ARTEL_DTYPE_INT32, .shape = {1, {API_ROWS}}};
}

typedef struct rows {
    float x[API_ROWS * API_IMAGE];
    int32_t y[API_ROWS];
} rows;

/* The values, made once by a library constructor, so that threads may share them. */
static rows all;
__attribute__((constructor)) static void make_rows(void)
{
    for (int r = 0; r < API_ROWS; r++) api_row((uint64_t)r, all.x + r * API_IMAGE, all.y + r);
}

artel_data *api_rows(artel_context *ctx, bool images)
{
    artel_data_array arrays[2];
    artel_data *data = NULL;
    describe(images, arrays);
    arrays[0].values = all.x;
    arrays[1].values = all.y;
    api_ok(ctx, artel_data_from_memory(ctx, arrays, 2, &data));
    return data;
}

static artel_status fetch(void *user, const uint64_t *index, int64_t count, void *const *buffers, char *message)
{
    (void)user;
    (void)message;
    float *x = buffers[0];
    int32_t *y = buffers[1];
    for (int64_t i = 0; i < count; i++) api_row(index[i], x + i * API_IMAGE, y + i);
    return ARTEL_OK;
}

artel_data *api_rows_by_callback(artel_context *ctx, bool images)
{
    artel_data_array arrays[2];
    artel_data *data = NULL;
    describe(images, arrays);
    const artel_data_callback callback = {.arrays = arrays, .array_count = 2, .count = API_ROWS, .fetch = fetch};
    api_ok(ctx, artel_data_from_callback(ctx, &callback, &data));
    return data;
}

void api_train(artel_context *ctx, const api_run *run, char digest[65])
{
    artel_model *model = run->images ? api_cnn(ctx) : api_mlp(ctx);
    artel_data *data = run->by_callback ? api_rows_by_callback(ctx, run->images) : api_rows(ctx, run->images);
    artel_fit_options options = ARTEL_FIT_OPTIONS_INIT;
    options.epochs = run->epochs ? run->epochs : 2;
    options.seed = 11;
    options.replicas = run->replicas;
    options.threads = run->threads;
    options.on_event = run->on_event;
    options.event_user = run->user;
    options.strategy = run->replicas ? "mirrored" : "auto";
    api_ok(ctx, artel_model_fit(model, data, &options, NULL));
    api_ok(ctx, artel_model_digest(model, digest));
    artel_data_destroy(data);
    artel_model_destroy(model);
}

void api_folder_make(char folder[64])
{
    snprintf(folder, 64, "/tmp/artel-api-XXXXXX");
    assert_non_null(mkdtemp(folder));
}

void api_folder_remove(const char *folder)
{
    char path[512];
    DIR *listing = opendir(folder);
    for (struct dirent *entry; listing && (entry = readdir(listing));) {
        if (entry->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (unlink(path) != 0) api_folder_remove(path);
    }
    if (listing) closedir(listing);
    rmdir(folder);
}
