/* SPDX-License-Identifier: Apache-2.0 */
/* long form: 600 */
/* libFuzzer: any bytes as changes of a checkpoint's manifest, which is also how a position comes from another task; a
 * run takes it up, and goes on to the end or refuses it. Two bytes make a change: which value, and what stands in its
 * place. An input that begins with '{' is the manifest itself.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "artel/fit.h"
#include "base/file.h"
#include "base/json.h"
#include "fuzz/help_fuzz.h"

enum {
    ROWS = 20,
    WIDTH = 3
};

static const char model_json[] = "{\"class_name\": \"Sequential\", \"config\": {\"name\": \"m\", \"layers\": "
                                 "[{\"class_name\": \"InputLayer\", \"config\": "
                                 "{\"batch_shape\": [null, 3], \"dtype\": \"float32\", \"name\": \"in\"}}, "
                                 "{\"class_name\": \"Dense\", \"config\": {\"name\": \"a\", \"units\": 2}}]}}";
static const char callbacks[] =
    "[{\"class_name\": \"EarlyStopping\", \"config\": {\"patience\": 2, \"restore_best_weights\": true}}, "
    "{\"class_name\": \"ReduceLROnPlateau\", \"config\": {\"patience\": 1}}]";

static char folder[64], run[96];
static char *manifest, *tensors; /* as the run of two epochs has left them */
static size_t tensors_size;

static void need(artel_status status)
{
    if (status < 0) {
        fprintf(stderr, "fuzz_checkpoint: status %d\n", (int)status);
        exit(1);
    }
}

static void write_file(const char *path, const char *text, size_t count)
{
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(text, 1, count, file) != count || fclose(file) != 0) exit(1);
}

/* Trains to the end of epoch `epochs`, from the checkpoint that is there. */
static artel_status train(artel_context *ctx, int64_t epochs)
{
    static float x[ROWS * WIDTH], y[ROWS * 2];
    char path[96];
    artel_model *model = NULL;
    artel_data *data = NULL;
    for (int i = 0; i < ROWS * WIDTH; i++) x[i] = (float)(i % 7) - 3;
    for (int i = 0; i < ROWS * 2; i++) y[i] = (float)(i % 5);
    artel_data_array arrays[] = {
        {.name = "x", .dtype = ARTEL_DTYPE_FLOAT32, .shape = {.rank = 2, .dim = {ROWS, WIDTH}}, .values = x},
        {.name = "y", .dtype = ARTEL_DTYPE_FLOAT32, .shape = {.rank = 2, .dim = {ROWS, 2}}, .values = y}};
    snprintf(path, sizeof path, "%s/m.json", folder);
    need(artel_model_load(ctx, path, &model));
    need(artel_model_compile(model, "sgd", "mse", NULL));
    need(artel_data_from_memory(ctx, arrays, 2, &data));
    artel_fit_options options = ARTEL_FIT_OPTIONS_INIT;
    options.epochs = epochs;
    options.batch_size = 4;
    options.threads = 1;
    options.validation_split = 0.2;
    options.callbacks = callbacks;
    options.checkpoint_dir = run;
    artel_history *history = NULL;
    artel_status status = artel_model_fit(model, data, &options, &history);
    artel_history_destroy(history);
    artel_data_destroy(data);
    artel_model_destroy(model);
    return status;
}

static char *read_file(artel_context *ctx, const char *name, size_t *size)
{
    char path[160];
    artel__mapping file;
    snprintf(path, sizeof path, "%s/ckpt-8/%s", run, name);
    need(artel__map_file(ctx, path, &file));
    char *copy = calloc(1, file.size + 1);
    if (!copy) exit(1);
    memcpy(copy, file.bytes, file.size);
    *size = file.size;
    artel__unmap_file(&file);
    return copy;
}

static void clean_up(void)
{
    artel_context *ctx;
    if (artel_context_create(NULL, &ctx) < 0) return;
    artel__remove_tree(ctx, folder);
    artel_context_destroy(ctx);
}

/* A run of two epochs, whose checkpoint every input changes. */
static void prepare(void)
{
    artel_context *ctx;
    char path[96];
    size_t size;
    snprintf(folder, sizeof folder, "/dev/shm/artel-fuzz-XXXXXX"); /* in memory: checkpoints are synchronised */
    if (!mkdtemp(folder)) snprintf(folder, sizeof folder, "/tmp/artel-fuzz-XXXXXX");
    if (access(folder, W_OK) != 0 && !mkdtemp(folder)) exit(1);
    atexit(clean_up);
    snprintf(run, sizeof run, "%s/run", folder);
    snprintf(path, sizeof path, "%s/m.json", folder);
    write_file(path, model_json, sizeof model_json - 1);
    need(artel_context_create(NULL, &ctx));
    need(train(ctx, 2));
    manifest = read_file(ctx, "manifest.json", &size);
    tensors = read_file(ctx, "state.safetensors", &tensors_size);
    artel_context_destroy(ctx);
}

/* The folder as it was, with another manifest. */
static void lay_out(artel_context *ctx, const char *text, size_t count)
{
    char path[160];
    need(artel__remove_tree(ctx, run));
    snprintf(path, sizeof path, "%s/ckpt-8", run);
    need(artel__make_directory(ctx, path));
    snprintf(path, sizeof path, "%s/ckpt-8/state.safetensors", run);
    write_file(path, tensors, tensors_size);
    snprintf(path, sizeof path, "%s/ckpt-8/manifest.json", run);
    write_file(path, text, count);
}

static void lay_out_changed(artel_context *ctx, const uint8_t *data, size_t size)
{
    json_t *tree;
    char *text = NULL;
    need(artel__json_load(ctx, "manifest", manifest, strlen(manifest), &tree));
    artel_fuzz_change_json(tree, data, size);
    need(artel__json_dump_string(ctx, tree, 0, &text));
    lay_out(ctx, text, strlen(text));
    artel__free(ctx, text);
    json_decref(tree);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    artel_context *ctx;
    if (!manifest) prepare();
    if (artel_context_create(NULL, &ctx) < 0) return 0;
    if (size && data[0] == '{')
        lay_out(ctx, (const char *)data, size);
    else
        lay_out_changed(ctx, data, size);
    train(ctx, 3);
    artel_context_destroy(ctx);
    return 0;
}

size_t artel_fuzz_seed(unsigned number, uint8_t *out, size_t room)
{
    if (!manifest) prepare();
    if (number == 0) return artel_fuzz_text((const char *const *)&manifest, 1, 0, out, room);
    for (uint8_t i = 0; i < 16; i++) out[i] = (uint8_t)(i % 2 ? 0 : number * 7 + i);
    return number < 12 ? 2 : 0;
}
