/* SPDX-License-Identifier: Apache-2.0 */
/* artel inspect: what a file holds, and the digest of the weights in it. */
#include <string.h>

#include "artel/data.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/cli.h"
#include "data/data.h"
#include "keras/model.h"

typedef struct inspect_options {
    const char *digest;
} inspect_options;

static const char *const digest_words[] = {"weights", NULL};
static const artel__option options[] = {
    {"digest", "one SHA-256 over the named weights; --digest=all adds the optimizer's variables", ARTEL__OPTION_STRING,
     offsetof(inspect_options, digest), "null", 0, 0, digest_words},
    {.name = NULL},
};

artel_status artel__cli_ensure_weights(artel_model *model, uint64_t seed)
{
    return model->initialised ? ARTEL_OK : artel_model_initialise(model, seed);
}

static artel_status print_digest(artel__invocation *call, const char *path, const char *what)
{
    char digest[65], state[4200];
    bool all = strcmp(what, "all") == 0;
    if (!all && strcmp(what, "weights") != 0) return artel__cli_usage(call, "--digest", "use --digest or --digest=all");
    snprintf(state, sizeof state, "%s/state.safetensors", path);
    if (artel__is_directory(path) && artel__file_exists(state)) path = state;
    ARTEL_TRY(artel__keras_digest_file(call->ctx, path, all, digest));
    printf("%s %s\n", call->argument[0], digest);
    return ARTEL_OK;
}

static artel_status print_variable(void *user, const artel__model_variable *variable)
{
    const artel_model *model = user;
    const artel__variable *declared = &model->nn->variables->item[variable->variable->index];
    char shape[128];
    printf("  %-48s %-8s %-24s %s%s\n", variable->path, artel_dtype_name(declared->dtype),
           artel__shape_text(&declared->shape, false, shape, sizeof shape), variable->layer->name,
           variable->trainable ? "" : " (not trained)");
    return ARTEL_OK;
}

static artel_status print_model(const artel_model *model)
{
    char shape[128];
    printf("model \"%s\" (%s)\n", model->nn->name, model->nn->class_name);
    for (int i = 0; i < model->nn->inputs; i++)
        printf("  input  %s: %s %s\n", model->nn->input[i].name, artel_dtype_name(model->nn->input[i].dtype),
               artel__shape_text(&model->nn->input[i].shape, true, shape, sizeof shape));
    for (int i = 0; i < model->nn->outputs; i++)
        printf("  output %s: %s %s\n", model->nn->output[i].name, artel_dtype_name(model->nn->output[i].dtype),
               artel__shape_text(&model->nn->output[i].shape, true, shape, sizeof shape));
    printf("weights%s:\n", model->initialised ? "" : " (none in the file)");
    ARTEL_TRY(artel__model_visit(model->nn, print_variable, (void *)(uintptr_t)model));
    json_t *optimizer = json_object_get(model->compile_config, "optimizer");
    const char *name =
        json_is_string(optimizer) ? json_string_value(optimizer) : json_string_value(json_object_get(optimizer, "class_name"));
    if (name)
        printf("optimizer: %s, %d variables\n", name, model->optimizer.count);
    else
        printf("no compile settings\n");
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
        fputs(description.data, stdout);
    }
    artel_data_destroy(data);
    artel__text_fini(&description);
    artel__text_fini(&specification);
    return status;
}

static artel_status print_json(artel__invocation *call, const char *path)
{
    json_t *json;
    char *text;
    ARTEL_TRY(artel__json_load_file(call->ctx, path, &json));
    json_object_del(json, "history");
    artel_status status = artel__json_dump_string(call->ctx, json, ARTEL__JSON_INDENT, &text);
    json_decref(json);
    ARTEL_TRY(status);
    puts(text);
    artel__free(call->ctx, text);
    return ARTEL_OK;
}

static artel_status run_inspect(artel__invocation *call)
{
    const inspect_options *o = call->options;
    const char *path = call->argument[0];
    char manifest[4200];
    if (o->digest) return print_digest(call, path, o->digest);
    snprintf(manifest, sizeof manifest, "%s/manifest.json", path);
    if (artel__is_directory(path) && artel__file_exists(manifest)) return print_json(call, manifest);
    if (artel__ends_with(path, ".npz")) return print_data(call, "npz:", path);
    if (artel__ends_with(path, ".npy")) return print_data(call, "npy:", path);
    artel_model *model;
    ARTEL_TRY(artel_model_load(call->ctx, path, &model));
    artel_status status = print_model(model);
    artel_model_destroy(model);
    return status;
}

const artel__command artel__command_inspect = {
    .name = "inspect",
    .summary = "what a model, checkpoint, .npy or .npz holds; --digest: one hash over the weights",
    .usage = "FILE [--digest]",
    .examples = "  artel inspect trained.keras\n  artel inspect trained.weights.h5 --digest\n  artel inspect run1/ckpt-500 --digest\n",
    .options = options,
    .options_size = sizeof(inspect_options),
    .min_arguments = 1,
    .max_arguments = 1,
    .run = run_inspect,
};
