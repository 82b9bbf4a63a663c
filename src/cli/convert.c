/* SPDX-License-Identifier: Apache-2.0 */
/* artel convert: between the formats of models and weights. */
#include "base/text.h"
#include "cli/cli.h"
#include "keras/model.h"

typedef struct convert_options {
    const char *architecture;
    int64_t seed;
    const char *extensions;
} convert_options;

static const artel__option options[] = {
    {"architecture", "a model file for inputs that hold weights only", ARTEL__OPTION_STRING,
     offsetof(convert_options, architecture), "null", 0, 0, NULL},
    {"seed", "seed of the weights when IN has none", ARTEL__OPTION_INT, offsetof(convert_options, seed), "0", 0, 9e18,
     NULL},
    ARTEL__EXTENSION_OPTION(convert_options),
    {.name = NULL},
};

static bool weights_only(const char *path)
{
    return artel__ends_with(path, ".weights.h5") || artel__ends_with(path, ".safetensors");
}

static artel_status run_convert(artel__invocation *call)
{
    const convert_options *o = call->options;
    const char *in = call->argument[0], *out = call->argument[1];
    artel_model *model;
    if (weights_only(in) && !o->architecture)
        return artel__cli_usage(
            call, in, "the file holds weights only; name a model of the same architecture with --architecture");
    ARTEL_TRY(artel__cli_check_source(call, in));
    ARTEL_TRY(artel__cli_load_model(call, o->architecture ? o->architecture : in, &model));
    artel_status status = o->architecture ? artel_model_load_weights(model, in) : ARTEL_OK;
    if (status == ARTEL_OK && !model->initialised && !artel__ends_with(out, ".json"))
        artel__log(call->ctx, ARTEL_LOG_NOTE, "%s holds no weights: they are drawn from --seed %lld", in,
                   (long long)o->seed);
    if (status == ARTEL_OK) status = artel__cli_ensure_weights(model, (uint64_t)o->seed);
    if (status == ARTEL_OK) status = artel_model_save(model, out);
    artel_model_destroy(model);
    return status;
}

const artel__command artel__command_convert = {
    .name = "convert",
    .summary = "between .keras, .h5, .weights.h5, .json, .safetensors, .onnx",
    .usage = "IN OUT [options]",
    .more = "With --architecture IN may also be a TensorFlow checkpoint (its name without .index, or the folder), or a "
            "SavedModel, whose "
            "variables\n"
            "are found by the names that Keras gives them.\n",
    .examples = "  artel convert trained.keras trained.h5\n"
                "  artel convert trained.weights.h5 trained.keras --architecture model.json\n"
                "  artel convert trained.keras trained.safetensors\n"
                "  artel convert checkpoints/ckpt-7 trained.keras --architecture model.keras\n",
    .options = options,
    .options_size = sizeof(convert_options),
    .min_arguments = 2,
    .max_arguments = 2,
    .run = run_convert,
};
