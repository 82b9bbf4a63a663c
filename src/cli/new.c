/* SPDX-License-Identifier: Apache-2.0 */
/* artel new: a model to begin with, without Python. Each kind is a short list of Keras layers over the functional
 * builder; the file is Keras' own, to be opened and changed there. */
#include <string.h>

#include "artel/build.h"
#include "base/text.h"
#include "cli/cli.h"

typedef struct new_options {
    const char *input, *output, *optimizer;
    int64_t classes, width, depth, vocabulary, seed;
} new_options;

#define AT(field) offsetof(new_options, field)
static const artel__option options[] = {
    {"input", "one row: 28x28x1 of an image, 784 of numbers, 100 words of a text", ARTEL__OPTION_STRING, AT(input),
     "null", 0, 0, NULL},
    {"classes", "how many classes there are; 1: yes or no; 0: one number is to be estimated", ARTEL__OPTION_INT,
     AT(classes), "10", 0, 1e6, NULL},
    {"width", "units of a layer, filters of the first; 0: what is usual", ARTEL__OPTION_INT, AT(width), "0", 0, 65536,
     NULL},
    {"depth", "layers, or blocks of them; 0: what is usual", ARTEL__OPTION_INT, AT(depth), "0", 0, 64, NULL},
    {"vocabulary", "of transformer and lstm: rows are words numbered below this; 0: rows are numbers",
     ARTEL__OPTION_INT, AT(vocabulary), "0", 0, 1e9, NULL},
    {"optimizer", "NAME[:key=value,...]", ARTEL__OPTION_STRING, AT(optimizer), "adam", 0, 0, NULL},
    {"seed", "of the initial weights", ARTEL__OPTION_INT, AT(seed), "0", 0, 1e15, NULL},
    {"output", "where it goes: .keras with weights and compile settings, .json without weights", ARTEL__OPTION_STRING,
     AT(output), "null", 0, 0, NULL},
    {.name = NULL},
};

/* A model under construction: `at` is the last tensor. A failure is the builder's to remember. */
typedef struct draft {
    artel_builder *builder;
    artel_tensor at;
    artel_shape row;
    const new_options *options;
    int64_t width, depth;
} draft;

static artel_tensor apply(draft *d, const char *class_name, artel_tensor from, const char *format, ...)
    ARTEL__PRINTF(4, 5);
static artel_tensor apply(draft *d, const char *class_name, artel_tensor from, const char *format, ...)
{
    char config[256];
    artel_tensor out = from;
    va_list args;
    va_start(args, format);
    vsnprintf(config, sizeof config, format, args);
    va_end(args);
    artel_apply(d->builder, class_name, config, &from, 1, &out);
    return out;
}

static artel_tensor join(draft *d, const char *class_name, artel_tensor a, artel_tensor b)
{
    artel_tensor both[2] = {a, b}, out = a;
    artel_apply(d->builder, class_name, NULL, both, 2, &out);
    return out;
}

static void add(draft *d, const char *class_name, const char *config)
{
    d->at = apply(d, class_name, d->at, "%s", config);
}

static void add_dense(draft *d, int64_t units, const char *activation)
{
    d->at = apply(d, "Dense", d->at, "{\"units\": %lld, \"activation\": \"%s\"}", (long long)units, activation);
}

static artel_tensor conv(draft *d, artel_tensor from, int64_t filters)
{
    return apply(d, "Conv2D", from,
                 "{\"filters\": %lld, \"kernel_size\": 3, \"padding\": \"same\", \"activation\": \"relu\"}",
                 (long long)filters);
}

/* -- kinds -- */

static void make_mlp(draft *d)
{
    if (d->row.rank > 1) add(d, "Flatten", "{}");
    for (int64_t i = 0; i < d->depth; i++) {
        add_dense(d, d->width, "relu");
        add(d, "Dropout", "{\"rate\": 0.2}");
    }
}

static void make_cnn(draft *d)
{
    int64_t side = d->row.dim[0] < d->row.dim[1] ? d->row.dim[0] : d->row.dim[1];
    for (int64_t i = 0; i < d->depth; i++) {
        d->at = conv(d, d->at, d->width << i);
        add(d, "BatchNormalization", "{}");
        if (side >= 4) add(d, "MaxPooling2D", "{\"pool_size\": 2}");
        side /= 2;
    }
    add(d, "GlobalAveragePooling2D", "{}");
    add(d, "Dropout", "{\"rate\": 0.3}");
}

/* Down and up again, with bridges; every pixel gets its classes. */
static void make_unet(draft *d)
{
    artel_tensor bridge[64];
    for (int64_t i = 0; i < d->depth; i++) {
        bridge[i] = d->at = conv(d, conv(d, d->at, d->width << i), d->width << i);
        add(d, "MaxPooling2D", "{\"pool_size\": 2}");
    }
    d->at = conv(d, d->at, d->width << d->depth);
    for (int64_t i = d->depth; i-- > 0;) {
        d->at = apply(d, "Conv2DTranspose", d->at,
                      "{\"filters\": %lld, \"kernel_size\": 2, \"strides\": 2, \"activation\": \"relu\"}",
                      (long long)(d->width << i));
        d->at = conv(d, join(d, "Concatenate", bridge[i], d->at), d->width << i);
    }
}

static void embed(draft *d)
{
    if (d->options->vocabulary > 0)
        d->at = apply(d, "Embedding", d->at, "{\"input_dim\": %lld, \"output_dim\": %lld}",
                      (long long)d->options->vocabulary, (long long)d->width);
    else if (d->row.rank == 1)
        add(d, "Reshape", "{\"target_shape\": [-1, 1]}");
}

static void make_lstm(draft *d)
{
    embed(d);
    for (int64_t i = 0; i < d->depth; i++)
        d->at = apply(d, "LSTM", d->at, "{\"units\": %lld, \"return_sequences\": %s}", (long long)d->width,
                      i + 1 < d->depth ? "true" : "false");
    add(d, "Dropout", "{\"rate\": 0.2}");
}

static void make_transformer(draft *d)
{
    embed(d);
    if (d->options->vocabulary == 0) add_dense(d, d->width, "linear");
    for (int64_t i = 0; i < d->depth; i++) {
        char config[96];
        artel_tensor before = d->at;
        add(d, "LayerNormalization", "{}");
        snprintf(config, sizeof config, "{\"num_heads\": 4, \"key_dim\": %lld}", (long long)((d->width + 3) / 4));
        artel_tensor self[2] = {d->at, d->at}, attended = d->at;
        artel_apply(d->builder, "MultiHeadAttention", config, self, 2, &attended);
        before = d->at = join(d, "Add", before, attended);
        add(d, "LayerNormalization", "{}");
        add_dense(d, 4 * d->width, "gelu");
        add_dense(d, d->width, "linear");
        d->at = join(d, "Add", before, d->at);
    }
    add(d, "LayerNormalization", "{}");
    add(d, "GlobalAveragePooling1D", "{}");
}

typedef struct kind {
    const char *name;
    void (*make)(draft *d);
    int64_t width, depth; /* what is usual */
    int least_rank, most_rank;
    bool words;        /* may take a vocabulary */
    const char *wants; /* of --input */
} kind;

static const kind kinds[] = {
    {"mlp", make_mlp, 128, 2, 1, 3, false, "numbers: 784, or an image"},
    {"cnn", make_cnn, 32, 3, 3, 3, false, "an image: HEIGHTxWIDTHxCHANNELS"},
    {"unet", make_unet, 16, 3, 3, 3, false, "an image: HEIGHTxWIDTHxCHANNELS, whose sides 2 divides --depth times"},
    {"lstm", make_lstm, 64, 1, 1, 2, true, "a series: STEPS, or STEPSxVALUES"},
    {"transformer", make_transformer, 64, 2, 1, 2, true, "a series: STEPS, or STEPSxVALUES"}};

/* -- options -- */

static artel_status find_kind(artel__invocation *call, const kind **out)
{
    const char *names[ARTEL__COUNT(kinds) + 1] = {NULL};
    for (size_t i = 0; i < ARTEL__COUNT(kinds); i++) {
        names[i] = kinds[i].name;
        if (strcmp(call->argument[0], kinds[i].name) != 0) continue;
        *out = &kinds[i];
        return ARTEL_OK;
    }
    const char *near = artel__nearest_name(call->argument[0], names);
    return artel__cli_usage(call, call->argument[0], "there is no such kind (mlp, cnn, unet, lstm, transformer)%s%s",
                            near ? "; the nearest is " : "", near ? near : "");
}

static artel_status read_input(artel__invocation *call, const kind *k, artel_shape *out)
{
    const new_options *o = call->options;
    char text[256], *rest = NULL;
    if (!o->input) return artel__cli_usage(call, "--input", "say what a row is; %s takes %s", k->name, k->wants);
    snprintf(text, sizeof text, "%s", o->input);
    *out = (artel_shape){.rank = 0};
    for (char *part = strtok_r(text, "x,", &rest); part; part = strtok_r(NULL, "x,", &rest)) {
        int64_t extent;
        if (out->rank == 4 || !artel__parse_int64(part, &extent) || extent < 1 || extent > 1000000)
            return artel__cli_usage(call, "--input",
                                    "the value does not fit (found %.60s, expected numbers with x between them)",
                                    o->input);
        out->dim[out->rank++] = extent;
    }
    bool fits = out->rank >= k->least_rank && out->rank <= k->most_rank && !(o->vocabulary && out->rank != 1);
    if (!fits)
        return artel__cli_usage(call, "--input", "%s takes %s%s", k->name, k->wants,
                                o->vocabulary ? "; with --vocabulary STEPS" : "");
    if (o->vocabulary && !k->words) return artel__cli_usage(call, "--vocabulary", "%s takes no words", k->name);
    for (int64_t i = 0; strcmp(k->name, "unet") == 0 && i < (o->depth ? o->depth : k->depth); i++) {
        if (out->dim[0] % ((int64_t)2 << i) || out->dim[1] % ((int64_t)2 << i))
            return artel__cli_usage(call, "--input", "%s takes %s", k->name, k->wants);
    }
    return ARTEL_OK;
}

/* -- the whole -- */

/* The last layer, and what it is compared by. */
static void finish_layers(draft *d, const kind *k, const char **loss, const char **metrics)
{
    int64_t classes = d->options->classes;
    bool pixels = strcmp(k->name, "unet") == 0;
    *loss = classes == 0 ? "mse" : classes == 1 ? "binary_crossentropy" : "sparse_categorical_crossentropy";
    *metrics = classes == 0 ? "mae" : classes == 1 ? "binary_accuracy" : "sparse_categorical_accuracy";
    const char *activation = classes == 0 ? "linear" : classes == 1 ? "sigmoid" : "softmax";
    if (pixels)
        d->at = apply(d, "Conv2D", d->at, "{\"filters\": %lld, \"kernel_size\": 1, \"activation\": \"%s\"}",
                      (long long)(classes ? classes : 1), activation);
    else
        add_dense(d, classes ? classes : 1, activation);
}

static artel_status write_model(artel__invocation *call, const kind *k, const artel_shape *row, artel_model **model)
{
    const new_options *o = call->options;
    const char *loss, *metrics;
    draft d = {
        .row = *row, .options = o, .width = o->width ? o->width : k->width, .depth = o->depth ? o->depth : k->depth};
    ARTEL_TRY(artel_functional_create(call->ctx, k->name, &d.builder));
    artel_input(d.builder, "input", o->vocabulary ? ARTEL_DTYPE_INT32 : ARTEL_DTYPE_FLOAT32, row, &d.at);
    k->make(&d);
    finish_layers(&d, k, &loss, &metrics);
    ARTEL_TRY(artel_functional_finish(d.builder, &d.at, 1, model));
    ARTEL_TRY(artel_model_compile(*model, o->optimizer, loss, metrics));
    ARTEL_TRY(artel_model_initialise(*model, (uint64_t)o->seed));
    ARTEL_TRY(artel_model_save(*model, o->output));
    artel__show(stderr, "artel: %s; artel summary %s shows its layers, artel fit %s --data SPEC trains it\n", o->output,
                o->output, o->output);
    return ARTEL_OK;
}

static artel_status run_new(artel__invocation *call)
{
    const new_options *o = call->options;
    const kind *k = NULL;
    artel_shape row;
    artel_model *model = NULL;
    ARTEL_TRY(find_kind(call, &k));
    ARTEL_TRY(read_input(call, k, &row));
    if (!o->output) return artel__cli_usage(call, "--output", "name the file: model.keras or model.json");
    ARTEL_TRY(artel__cli_check_target(call, o->output));
    artel_status status = write_model(call, k, &row, &model);
    artel_model_destroy(model);
    return status;
}

const artel__command artel__command_new = {
    .name = "new",
    .summary = "a model to begin with: mlp, cnn, unet, lstm, transformer",
    .usage = "mlp|cnn|unet|lstm|transformer --input SHAPE --output FILE [options]",
    .examples = "  artel new cnn --input 28x28x1 --classes 10 -o model.keras\n"
                "  artel new transformer --input 128 --vocabulary 20000 --classes 2 --output text.keras\n"
                "  artel new unet --input 128x128x3 --classes 21 --output masks.json\n",
    .options = options,
    .options_size = sizeof(new_options),
    .min_arguments = 1,
    .max_arguments = 1,
    .letter = "o=output",
    .run = run_new,
};
