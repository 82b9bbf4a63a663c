/* SPDX-License-Identifier: Apache-2.0 */
/* artel inspect: what a file holds, and the digest of the weights in it. */
#include <string.h>
#include <zlib.h>

#include "artel/data.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/inspect.h"
#include "data/data.h"
#include "keras/h5.h"
#include "keras/model.h"
#include "keras/onnx_read.h"
#include "train/checkpoint_file.h"

typedef struct inspect_options {
    const char *digest;
    int64_t head;
    const char *extensions;
} inspect_options;

static const char *const digest_words[] = {"weights", NULL};
static const artel__option options[] = {
    {"digest", "one SHA-256 over the named weights; --digest=all adds the optimizer's variables", ARTEL__OPTION_STRING,
     offsetof(inspect_options, digest), "null", 0, 0, digest_words},
    {"head", "of data: print the first N rows, too", ARTEL__OPTION_INT, offsetof(inspect_options, head), "0", 0, 1e9,
     NULL},
    ARTEL__EXTENSION_OPTION(inspect_options),
    {.name = NULL},
};

artel_status artel__cli_ensure_weights(artel_model *model, uint64_t seed)
{
    return model->initialised ? ARTEL_OK : artel_model_initialise(model, seed);
}

/* Of a directory of checkpoints, the newest whole one; any other path stays. */
static artel_status newest_checkpoint(artel__invocation *call, const char **path)
{
    artel__paths names;
    char *folder = NULL;
    json_t *manifest = NULL;
    bool any = false;
    if (!artel__is_directory(*path)) return ARTEL_OK;
    ARTEL_TRY(artel__list_directory(call->ctx, *path, &names));
    for (size_t i = 0; i < names.count; i++) any = any || artel__starts_with(names.items[i], "ckpt-");
    artel__paths_fini(&names);
    if (!any) return ARTEL_OK;
    ARTEL_TRY(artel__checkpoint_find(call->ctx, *path, &folder, &manifest));
    bool found = manifest != NULL;
    json_decref(manifest);
    if (found) *path = artel__arena_strdup(&call->arena, folder);
    artel__free(call->ctx, folder);
    if (found) return artel__arena_status(&call->arena);
    return artel__fail(call->ctx, ARTEL_ERROR_CORRUPT, *path, "name one of its folders to see what is wrong with it",
                       "none of the checkpoints here is whole");
}

static artel_status print_digest(artel__invocation *call, const char *path, const char *what)
{
    char digest[65], state[4200];
    bool all = strcmp(what, "all") == 0;
    if (!all && strcmp(what, "weights") != 0)
        return artel__fail(call->ctx, ARTEL_ERROR_INVALID, "--digest", "use --digest or --digest=all",
                           "the value does not fit (found %.60s, expected all)", what);
    ARTEL_TRY(newest_checkpoint(call, &path));
    snprintf(state, sizeof state, "%s/state.safetensors", path);
    if (artel__is_directory(path) && artel__file_exists(state)) path = state;
    ARTEL_TRY(artel__keras_digest_file(call->ctx, path, all, digest));
    artel__show(stdout, "%s %s\n", call->argument[0], digest);
    return ARTEL_OK;
}

static artel_status print_variable(void *user, const artel__model_variable *variable)
{
    const artel_model *model = user;
    const artel__variable *declared = &model->nn->variables->item[variable->variable->index];
    char shape[128];
    artel__show(stdout, "  %-48s %-8s %-24s %s%s\n", variable->path, artel_dtype_name(declared->dtype),
                artel__shape_text(&declared->shape, false, shape, sizeof shape), variable->layer->name,
                variable->trainable ? "" : " (not trained)");
    return ARTEL_OK;
}

static artel_status print_model(const artel_model *model)
{
    char shape[128];
    artel__show(stdout, "model \"%s\" (%s)\n", model->nn->name, model->nn->class_name);
    for (int i = 0; i < model->nn->inputs; i++)
        artel__show(stdout, "  input  %s: %s %s\n", model->nn->input[i].name,
                    artel_dtype_name(model->nn->input[i].dtype),
                    artel__shape_text(&model->nn->input[i].shape, true, shape, sizeof shape));
    for (int i = 0; i < model->nn->outputs; i++)
        artel__show(stdout, "  output %s: %s %s\n", model->nn->output[i].name,
                    artel_dtype_name(model->nn->output[i].dtype),
                    artel__shape_text(&model->nn->output[i].shape, true, shape, sizeof shape));
    artel__show(stdout, "weights%s:\n", model->initialised ? "" : " (none in the file)");
    ARTEL_TRY(artel__model_visit(model->nn, print_variable, (void *)(uintptr_t)model));
    json_t *optimizer = json_object_get(model->compile_config, "optimizer");
    const char *name = json_is_string(optimizer) ? json_string_value(optimizer)
                                                 : json_string_value(json_object_get(optimizer, "class_name"));
    if (name)
        artel__show(stdout, "optimizer: %s, %d variables\n", name, model->optimizer.count);
    else
        artel__show(stdout,
                    model->compile_config ? "optimizer: none named, RMSprop as in Keras; %d variables\n"
                                          : "no compile settings\n",
                    model->optimizer.count);
    return ARTEL_OK;
}

static artel_status print_data(artel__invocation *call, const char *format, const char *path)
{
    artel__text specification, description;
    artel_data *data = NULL;
    artel__text_init(&specification, call->ctx);
    artel__text_init(&description, call->ctx);
    artel__text_printf(&specification, "%s%s", format, path);
    artel_status status = artel__text_status(&specification);
    if (status == ARTEL_OK) status = artel_data_open(call->ctx, specification.data, &data);
    if (status == ARTEL_OK) {
        artel__data_describe(data, &description);
        status = artel__text_status(&description);
        if (status == ARTEL_OK) fputs(description.data, stdout);
    }
    const inspect_options *o = call->options;
    if (status == ARTEL_OK && o->head > 0) {
        artel_data_destroy(data);
        data = NULL;
        status = artel__inspect_rows(call, specification.data, o->head);
    }
    artel_data_destroy(data);
    artel__text_fini(&description);
    artel__text_fini(&specification);
    return status;
}

static artel_status inspect_model(artel__invocation *call, const char *path)
{
    artel_model *model;
    ARTEL_TRY(artel__cli_load_model(call, path, &model));
    artel_status status = print_model(model);
    artel_model_destroy(model);
    return status;
}

/* Keras' History.history: an object of lists of numbers. */
static artel_status print_history(const char *path, json_t *json)
{
    const char *key;
    json_t *values;
    char number[32];
    artel__show(stdout, "%s: History\n", path);
    json_object_foreach(json, key, values)
    {
        double last = 0;
        size_t epochs = json_array_size(values);
        if (epochs && artel__json_number(json_array_get(values, epochs - 1), &last))
            artel__show(stdout, "  %-24s %zu epochs, last %s\n", key, epochs,
                        artel__format_double(number, sizeof number, last));
    }
    return ARTEL_OK;
}

/* A model's architecture, a History, or any other JSON, which is printed as it is. */
static artel_status inspect_json(artel__invocation *call, const char *path)
{
    json_t *json, *values;
    const char *key;
    ARTEL_TRY(artel__json_load_file(call->ctx, path, &json));
    bool model = json_object_get(json, "class_name") != NULL,
         history = json_is_object(json) && json_object_size(json) > 0;
    json_object_foreach(json, key, values) history =
        history && json_is_array(values) && !json_is_object(json_array_get(values, 0));
    artel_status status = ARTEL_OK;
    if (model)
        status = inspect_model(call, path);
    else if (history)
        status = print_history(path, json);
    else {
        char *text;
        status = artel__json_dump_string(call->ctx, json, ARTEL__JSON_INDENT, &text);
        if (status == ARTEL_OK) {
            puts(text);
            artel__free(call->ctx, text);
        }
    }
    json_decref(json);
    return status;
}

/* HDF5: a whole model, or the tree of a weights file. */
static artel_status inspect_hdf5(artel__invocation *call, const char *path)
{
    artel__h5_file file = {0};
    artel_status status = artel__h5_read_file(&call->arena, path, &file);
    bool whole = status == ARTEL_OK && artel__h5_attribute_text(file.root, "model_config");
    artel__h5_close(&file);
    ARTEL_TRY(status);
    return whole ? inspect_model(call, path) : artel__inspect_h5(call, path);
}

static artel_status inspect_event_files(artel__invocation *call, const char *path, const artel__paths *names)
{
    char file[4400];
    for (size_t i = 0; i < names->count; i++) {
        if (!strstr(names->items[i], "tfevents")) continue;
        snprintf(file, sizeof file, "%s/%s", path, names->items[i]);
        ARTEL_TRY(artel__inspect_records(call, file));
    }
    return ARTEL_OK;
}

/* A log directory: its own event files, and those of train and validation. */
static artel_status inspect_logs(artel__invocation *call, const char *path, int *found)
{
    static const char *const parts[] = {"", "/train", "/validation"};
    char directory[4300];
    artel_status status = ARTEL_OK;
    for (size_t p = 0; p < ARTEL__COUNT(parts) && status == ARTEL_OK; p++) {
        artel__paths names;
        snprintf(directory, sizeof directory, "%s%s", path, parts[p]);
        if (!artel__is_directory(directory)) continue;
        ARTEL_TRY(artel__list_directory(call->ctx, directory, &names));
        for (size_t i = 0; i < names.count; i++) *found += strstr(names.items[i], "tfevents") != NULL;
        status = inspect_event_files(call, directory, &names);
        artel__paths_fini(&names);
    }
    return status;
}

static artel_status inspect_directory(artel__invocation *call, const char *path)
{
    char file[4200];
    artel__paths names;
    int checkpoints = 0, logs = 0;
    snprintf(file, sizeof file, "%s/manifest.json", path);
    if (artel__file_exists(file)) return artel__inspect_checkpoint(call, path);
    snprintf(file, sizeof file, "%s/config.json", path);
    if (artel__file_exists(file)) return inspect_model(call, path);
    ARTEL_TRY(artel__list_directory(call->ctx, path, &names));
    for (size_t i = 0; i < names.count; i++) checkpoints += artel__starts_with(names.items[i], "ckpt-");
    artel__paths_fini(&names);
    if (checkpoints) return artel__inspect_checkpoints(call, path);
    ARTEL_TRY(inspect_logs(call, path, &logs));
    if (logs) return ARTEL_OK;
    return artel__fail(call->ctx, ARTEL_ERROR_INVALID, path,
                       "name a model, a checkpoint, a log directory, or data as images:DIR",
                       "this directory holds neither checkpoints nor event files nor an unpacked model");
}

/* IDX: two zeros, type, rank, extents in big-endian order. */
static bool print_idx(const char *path, const uint8_t *b, size_t size)
{
    static const char *const types[] = {"uint8", "int8", "?", "int16", "int32", "float32", "float64"};
    if (size < 8 || b[0] || b[1] || b[2] < 8 || b[2] > 14 || b[3] < 1 || b[3] > 8 || size < 4 + 4 * (size_t)b[3])
        return false;
    artel__show(stdout, "%s: IDX, %s (", path, types[b[2] - 8]);
    for (int i = 0; i < b[3]; i++) {
        const uint8_t *e = b + 4 + 4 * i;
        artel__show(stdout, "%s%lld", i ? ", " : "", (long long)e[0] << 24 | e[1] << 16 | e[2] << 8 | e[3]);
    }
    puts(")");
    return true;
}

/* The same of a gzipped file. */
static bool print_gzipped_idx(const char *path)
{
    uint8_t head[64];
    gzFile file = gzopen(path, "rb");
    if (!file) return false;
    int size = gzread(file, head, sizeof head);
    gzclose(file);
    return size > 0 && print_idx(path, head, (size_t)size);
}

static artel_status inspect_file(artel__invocation *call, const char *path)
{
    artel__mapping file;
    ARTEL_TRY(artel__map_file(call->ctx, path, &file));
    const uint8_t *b = file.bytes;
    size_t n = file.size, text = 0;
    while (text < n && text < 64 && strchr(" \t\r\n", b[text])) text++;
    bool npy = n >= 6 && memcmp(b, "\x93NUMPY", 6) == 0, h5 = n && artel__h5_is_h5(b, n),
         zip = n >= 4 && memcmp(b, "PK", 2) == 0;
    bool records = artel__inspect_is_records(b, n), safetensors = n > 9 && b[8] == '{' && b[6] == 0 && b[7] == 0;
    bool json = text < n && (b[text] == '{' || b[text] == '['), gzip = n > 2 && b[0] == 0x1f && b[1] == 0x8b;
    bool onnx = !json && n && artel__onnx_is(b, n), idx = !safetensors && !records && print_idx(path, b, n);
    artel__unmap_file(&file);
    if (idx) return ARTEL_OK;
    if (npy) return print_data(call, "npy:", path);
    if (zip && !artel__ends_with(path, ".keras") && artel__ends_with(path, ".npz"))
        return print_data(call, "npz:", path);
    if (h5) return inspect_hdf5(call, path);
    if (records) return artel__inspect_records(call, path);
    if (safetensors) return artel__inspect_safetensors(call, path);
    if (json) return inspect_json(call, path);
    if (onnx || artel__ends_with(path, ".onnx")) return artel__inspect_onnx(call, path);
    if (artel__ends_with(path, ".csv")) return print_data(call, "csv:", path);
    if (gzip && print_gzipped_idx(path)) return ARTEL_OK;
    if (gzip)
        return artel__fail(call->ctx, ARTEL_ERROR_INVALID, path, "inflate it first (gzip -d)",
                           "of gzipped files only IDX is known (found something else)");
    if (strstr(path, "tfevents") || artel__ends_with(path, ".tfrecord")) return artel__inspect_records(call, path);
    return inspect_model(call, path);
}

/* Files that are data by themselves. */
static bool shows_rows(const char *path)
{
    return artel__ends_with(path, ".npy") || artel__ends_with(path, ".npz") || artel__ends_with(path, ".csv");
}

static artel_status run_inspect(artel__invocation *call)
{
    const inspect_options *o = call->options;
    const char *path = call->argument[0];
    bool address = strncmp(path + strcspn(path, ":"), "://", 3) == 0;
    if (!o->digest && !address && artel__cli_is_specification(path)) return print_data(call, "", path);
    ARTEL_TRY(artel__cli_check_source(call, path));
    if (o->head > 0 && !shows_rows(path))
        return artel__cli_usage(
            call, "--head",
            "rows are shown of data; name it as a specification, for example tfrecord:FILE or idx:IMAGES,LABELS");
    if (o->digest) return print_digest(call, path, o->digest);
    return artel__is_directory(path) ? inspect_directory(call, path) : inspect_file(call, path);
}

const artel__command artel__command_inspect = {
    .name = "inspect",
    .summary = "what a file holds: model, weights, checkpoint, data, events; --digest: one hash over the weights",
    .usage = "FILE [--digest | --head N]",
    .more = "FILE is a .keras, .h5, .weights.h5, .safetensors, .onnx or .json file, a checkpoint (ckpt-<step>) or a "
            "directory of them, a\n"
            "TensorBoard event file or log directory, a .tfrecord, .npy, .npz, .csv or IDX file, or a data "
            "specification (docs/data.md).\n",
    .examples = "  artel inspect trained.keras\n  artel inspect trained.weights.h5 --digest\n  artel inspect "
                "run1/ckpt-500 --digest\n"
                "  artel inspect logs/train\n  artel inspect 'images:photos#size=32x32'\n  artel inspect "
                "csv:rows.csv#label=price --head 5\n",
    .options = options,
    .options_size = sizeof(inspect_options),
    .min_arguments = 1,
    .max_arguments = 1,
    .run = run_inspect,
};
