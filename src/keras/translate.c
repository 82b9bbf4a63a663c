/* SPDX-License-Identifier: Apache-2.0 */
/* Bringing older records into today's form; see keras/src/legacy/saving in Keras for what it accepts. */
#include "keras/translate.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Where an object of a key belongs; the key may hold a list or an object of such. The first hit counts. */
static const struct {
    const char *key; /* contained in the key */
    const char *module;
} modules[] = {
    {"initializer", "keras.initializers"},
    {"regularizer", "keras.regularizers"},
    {"constraint", "keras.constraints"},
    {"learning_rate", "keras.optimizers.schedules"},
    {"optimizer", "keras.optimizers"},
    {"weighted_metrics", "keras.metrics"},
    {"metrics", "keras.metrics"},
    {"loss", "keras.losses"},
    {"dtype", "keras"},
};

/* Settings of Keras 2's layers that Keras 3 does not have. The first change no result, or are what batch_shape says;
 * the second change none while they are off: one that is on stays, and is refused by name. */
static const char *const dropped[] = {"implementation", "input_length", "fused", "batch_input_shape", "rng_type", NULL};
static const char *const dropped_off[] = {"time_major", "virtual_batch_size", "adjustment", NULL};

static const char *module_of(const char *key, const char *class_name)
{
    if (strcmp(class_name, "Sequential") == 0) return "keras";
    if (strcmp(class_name, "Functional") == 0) return "keras.src.models.functional";
    if (strcmp(class_name, "DTypePolicy") == 0) return "keras";
    for (size_t i = 0; i < ARTEL__COUNT(modules); i++) {
        if (strstr(key, modules[i].key)) return modules[i].module;
    }
    return "keras.layers";
}

static bool is_object_record(json_t *value)
{
    return json_is_string(json_object_get(value, "class_name")) && json_object_get(value, "config");
}

/* "Custom>AdamW" -> "AdamW", "Model" -> "Functional" for what holds layers. */
static artel_status translate_class(json_t *record, bool *renamed)
{
    const char *class_name = json_string_value(json_object_get(record, "class_name"));
    const char *today = NULL;
    char plain[128];
    if (strncmp(class_name, "Custom>", 7) == 0) {
        snprintf(plain, sizeof plain, "%s", class_name + 7);
        today = plain;
    } else if (strcmp(class_name, "Policy") == 0) {
        today = "DTypePolicy";
    } else if (strcmp(class_name, "Model") == 0 && json_object_get(json_object_get(record, "config"), "layers")) {
        today = "Functional";
    } else if (strcmp(class_name, "ThresholdedReLU") == 0) {
        today = "ReLU";
    }
    *renamed = today != NULL;
    if (today && json_object_set_new(record, "class_name", json_string(today)) < 0) return ARTEL_ERROR_NO_MEMORY;
    return ARTEL_OK;
}

/* Of no module, or of a place that Keras 3 does not have ("keras.src.engine.functional"). Keras 3 writes no module for
 * a class that its user has registered ("package>Dense"), which is not Keras' own of that name. */
static bool is_of_old_module(json_t *record)
{
    const char *module = json_string_value(json_object_get(record, "module"));
    const char *registered = json_string_value(json_object_get(record, "registered_name"));
    if (!module) return !registered || !strchr(registered, '>');
    return strstr(module, ".engine.") || strncmp(module, "tf_keras", 8) == 0;
}

static artel_status add_module(json_t *record, const char *key)
{
    const char *class_name = json_string_value(json_object_get(record, "class_name"));
    if (class_name[0] == '_') return ARTEL_OK; /* __keras_tensor__ and the like */
    bool functional = strcmp(class_name, "Functional") == 0;
    bool own = !key[0] && !functional &&
               strcmp(class_name, "Sequential") != 0; /* a model whose class Keras finds by its name alone */
    json_t *registered = functional || own ? json_string(class_name) : json_null();
    if (json_object_set_new(record, "module", own ? json_null() : json_string(module_of(key, class_name))) < 0 ||
        json_object_set_new(record, "registered_name", registered) < 0)
        return ARTEL_ERROR_NO_MEMORY;
    return ARTEL_OK;
}

/* Settings that classes of Keras 2 inherited and did not use; what they say is what these classes do without them. */
static const struct {
    const char *class_name, *setting[7];
} idle[] = {
    {"DepthwiseConv1D", {"groups", "filters", "kernel_initializer", "kernel_regularizer", "kernel_constraint", NULL}},
    {"DepthwiseConv2D", {"groups", "filters", "kernel_initializer", "kernel_regularizer", "kernel_constraint", NULL}},
    {"SeparableConv1D", {"groups", "kernel_initializer", "kernel_regularizer", "kernel_constraint", NULL}},
    {"SeparableConv2D", {"groups", "kernel_initializer", "kernel_regularizer", "kernel_constraint", NULL}},
    {"Conv1DTranspose", {"groups", NULL}},
    {"Conv2DTranspose", {"groups", NULL}},
    {"MultiHeadAttention", {"query_shape", "key_shape", "value_shape", "softmax_robust_masking", NULL}},
};

static void drop_settings(const char *class_name, json_t *config)
{
    int64_t groups;
    for (const char *const *name = dropped; *name; name++) json_object_del(config, *name);
    for (const char *const *name = dropped_off; *name; name++) {
        const json_t *value = json_object_get(config, *name);
        if (json_is_null(value) || json_is_false(value)) json_object_del(config, *name);
    }
    if (artel__json_integer(json_object_get(config, "groups"), &groups) && groups != 1)
        return; /* which none of them could do */
    for (size_t i = 0; i < ARTEL__COUNT(idle); i++) {
        bool own = strcmp(idle[i].class_name, class_name) == 0;
        bool kernel = own && json_object_get(config, "depthwise_initializer"); /* else the kernel is what there is */
        for (const char *const *name = idle[i].setting; own && *name; name++) {
            if (kernel || strncmp(*name, "kernel_", 7) != 0) json_object_del(config, *name);
        }
    }
}

/* Settings of one layer, or of an optimizer. */
static artel_status translate_config(json_t *record)
{
    json_t *config = json_object_get(record, "config");
    const char *class_name = json_string_value(json_object_get(record, "class_name"));
    json_t *shape = json_object_get(config, "batch_input_shape");
    if (shape && strcmp(class_name, "InputLayer") == 0 && !json_object_get(config, "batch_shape") &&
        json_object_set(config, "batch_shape", shape) < 0)
        return ARTEL_ERROR_NO_MEMORY;
    json_t *axis = json_object_get(config, "axis");
    if (strcmp(class_name, "BatchNormalization") == 0 && json_is_array(axis) && json_array_size(axis) == 1 &&
        json_object_set(config, "axis", json_array_get(axis, 0)) < 0)
        return ARTEL_ERROR_NO_MEMORY;
    json_t *theta = json_object_get(config, "theta"); /* of what was a ThresholdedReLU */
    if (theta && strcmp(class_name, "ReLU") == 0) {
        if (json_object_set(config, "threshold", theta) < 0) return ARTEL_ERROR_NO_MEMORY;
        json_object_del(config, "theta");
    }
    drop_settings(class_name, config);
    return ARTEL_OK;
}

static artel_status translate_value(json_t *value, const char *key, int depth);

/* The members of a dict of losses or metrics are what the key of the dict says. */
static bool names_module(const char *key)
{
    for (size_t i = 0; i < ARTEL__COUNT(modules); i++) {
        if (strstr(key, modules[i].key)) return true;
    }
    return false;
}

static artel_status translate_object(json_t *object, const char *key, int depth)
{
    bool record = is_object_record(object), inherits = !record && names_module(key);
    const char *name;
    json_t *item;
    void *next;
    json_object_foreach_safe(object, next, name, item)
    {
        const char *own = record && strcmp(name, "config") == 0 ? "" : name;
        ARTEL_TRY(translate_value(item, inherits ? key : own, depth));
    }
    return ARTEL_OK;
}

static artel_status translate_value(json_t *value, const char *key, int depth)
{
    if (depth > ARTEL__KERAS_MAX_NESTING) return ARTEL_OK;
    if (json_is_array(value)) {
        size_t i;
        json_t *item;
        json_array_foreach(value, i, item) ARTEL_TRY(translate_value(item, key, depth + 1));
        return ARTEL_OK;
    }
    if (!json_is_object(value)) return ARTEL_OK;
    if (is_object_record(value)) {
        bool renamed = false;
        ARTEL_TRY(translate_class(value, &renamed));
        ARTEL_TRY(translate_config(value));
        if (renamed || is_of_old_module(value)) ARTEL_TRY(add_module(value, key));
    }
    return translate_object(value, key, depth + 1);
}

/* Keras 2 wrote a Sequential's input shape into its first layer; later ones put an InputLayer in front. */
static artel_status add_input_layer(json_t *record)
{
    const char *class_name = json_string_value(json_object_get(record, "class_name"));
    json_t *config = json_object_get(record, "config");
    if (!class_name || strcmp(class_name, "Sequential") != 0) return ARTEL_OK;
    if (json_is_array(config)) { /* Keras 1 and early 2: the bare list of layers */
        json_t *whole = json_pack("{s:s, s:O}", "name", "sequential", "layers", config);
        if (!whole || json_object_set_new(record, "config", whole) < 0) return ARTEL_ERROR_NO_MEMORY;
        config = whole;
    }
    json_t *layers = json_object_get(config, "layers"), *first = json_array_get(layers, 0);
    json_t *shape = json_object_get(json_object_get(first, "config"), "batch_input_shape");
    const char *first_class = json_string_value(json_object_get(first, "class_name"));
    if (!json_is_array(shape) || !first_class || strcmp(first_class, "InputLayer") == 0) return ARTEL_OK;
    json_t *dtype = json_object_get(json_object_get(first, "config"), "dtype");
    const char *type =
        json_is_string(dtype) && strcmp(first_class, "Embedding") != 0 ? json_string_value(dtype) : "float32";
    json_t *input = json_pack("{s:s, s:{s:O, s:s, s:s}}", "class_name", "InputLayer", "config", "batch_shape", shape,
                              "dtype", type, "name", "input_layer");
    return input && json_array_insert_new(layers, 0, input) == 0 ? ARTEL_OK : ARTEL_ERROR_NO_MEMORY;
}

static artel_status add_input_layers(json_t *record, int depth)
{
    if (depth > ARTEL__KERAS_MAX_NESTING) return ARTEL_OK;
    ARTEL_TRY(add_input_layer(record));
    size_t i;
    json_t *item;
    json_array_foreach(json_object_get(json_object_get(record, "config"), "layers"), i, item)
    {
        ARTEL_TRY(add_input_layers(item, depth + 1));
    }
    return ARTEL_OK;
}

/* "2.15.0", "2.2.4-tf"; Keras 1 had the same functions. */
static bool is_old_version(const char *version)
{
    return version && (strncmp(version, "2.", 2) == 0 || strncmp(version, "1.", 2) == 0);
}

/* Only Keras 2 says batch_input_shape: in all of its models, but for a Sequential that got its shape from data. */
static bool has_old_shapes(json_t *record, int depth)
{
    size_t i;
    json_t *config = json_object_get(record, "config"), *layer;
    json_t *layers = json_is_array(config) ? config : json_object_get(config, "layers");
    bool old = json_object_get(config, "batch_input_shape") != NULL;
    json_array_foreach(layers, i, layer)
    {
        old = old || (depth < ARTEL__KERAS_MAX_NESTING && has_old_shapes(layer, depth + 1));
    }
    return old;
}

/* What is called alike in Keras 2 and Keras 3 and is not the same: hard_sigmoid is 0.2 x + 0.5 between 0 and 1, not
 * x / 6 + 0.5, and RandomCrop cuts the middle out of what is not trained on. It gets a name that no table has, by which
 * it is refused: what a model has learnt is not to be computed with another function. */
static artel_status rename_namesakes(json_t *value, int depth)
{
    const char *key, *name;
    size_t i;
    json_t *item;
    if (depth > ARTEL__KERAS_MAX_NESTING) return ARTEL_OK;
    json_array_foreach(value, i, item) ARTEL_TRY(rename_namesakes(item, depth + 1));
    json_object_foreach(value, key, item)
    {
        bool activation = strstr(key, "activation") != NULL;
        json_t *function = activation && json_is_object(item) ? json_object_get(item, "config") : NULL;
        if (json_is_string(function)) item = function; /* {"class_name": "function", "config": NAME} */
        name = json_string_value(item);
        bool sigmoid = name && activation && strcmp(name, "hard_sigmoid") == 0,
             crop = name && strcmp(key, "class_name") == 0 && strcmp(name, "RandomCrop") == 0;
        if ((sigmoid && json_string_set(item, "hard_sigmoid of Keras 2") < 0) ||
            (crop && json_string_set(item, "RandomCrop of Keras 2") < 0))
            return ARTEL_ERROR_NO_MEMORY;
        ARTEL_TRY(rename_namesakes(item, depth + 1));
    }
    return ARTEL_OK;
}

static bool is_keras2(json_t *record, const char *version)
{
    const char *own = json_string_value(json_object_get(record, "keras_version"));
    return is_old_version(version) || is_old_version(own) || has_old_shapes(record, 0);
}

static artel_status translate_record(json_t *record, const char *version)
{
    if (!json_is_object(record)) return ARTEL_OK;
    if (is_keras2(record, version)) ARTEL_TRY(rename_namesakes(record, 0));
    ARTEL_TRY(add_input_layers(record, 0));
    ARTEL_TRY(translate_value(record, "", 0));
    return artel__keras_translate_calls(record, 0);
}

/* Changes to records report what they cannot do by their status alone: memory. */
static artel_status recorded(artel_context *ctx, const char *where, artel_status status)
{
    return status == ARTEL_ERROR_NO_MEMORY ? artel__fail_memory(ctx, where, 0) : status;
}

artel_status artel__keras_translate_model(artel_context *ctx, const char *where, const char *version, json_t *record)
{
    return recorded(ctx, where, translate_record(record, version));
}

/* -- compile settings -- */

static artel_status rename_key(json_t *object, const char *from, const char *to)
{
    json_t *value = json_object_get(object, from);
    if (!value) return ARTEL_OK;
    if (!json_object_get(object, to) && json_object_set(object, to, value) < 0) return ARTEL_ERROR_NO_MEMORY;
    json_object_del(object, from);
    return ARTEL_OK;
}

/* "sparse_categorical_accuracy" -> "SparseCategoricalAccuracy". */
static void camel_case(const char *snake, char *out, size_t size)
{
    size_t n = 0;
    bool start = true;
    for (; *snake && n + 1 < size; snake++) {
        if (*snake == '_') {
            start = true;
            continue;
        }
        out[n++] = start ? (char)toupper((unsigned char)*snake) : *snake;
        start = false;
    }
    out[n] = 0;
}

/* The class of a function: its name in capitals, but for two. */
static void class_of_function(const char *function, bool metric, char *out, size_t size)
{
    camel_case(function, out, size);
    if (strcmp(function, "kl_divergence") == 0) snprintf(out, size, "KLDivergence");
    if (metric && strcmp(function, "log_cosh") == 0) snprintf(out, size, "LogCoshError");
}

/* The wrappers in which Keras 2 saved functions: {"class_name": "MeanMetricWrapper", "config": {"name", "fn"}}. */
static artel_status unwrap(json_t *record)
{
    json_t *config = json_object_get(record, "config");
    const char *class_name = json_string_value(json_object_get(record, "class_name"));
    json_t *function = json_object_get(config, "fn");
    if (strcmp(class_name, "MeanMetricWrapper") == 0 || strcmp(class_name, "LossFunctionWrapper") == 0) {
        const char *name = json_is_string(function) ? json_string_value(function)
                                                    : json_string_value(json_object_get(function, "config"));
        char camel[128];
        if (!name) return ARTEL_OK;
        class_of_function(name, class_name[0] == 'M', camel, sizeof camel);
        if (json_object_set_new(record, "class_name", json_string(camel)) < 0) return ARTEL_ERROR_NO_MEMORY;
    }
    json_object_del(config, "fn");
    const char *reduction = json_string_value(json_object_get(config, "reduction"));
    if (reduction && strcmp(reduction, "auto") == 0 &&
        json_object_set_new(config, "reduction", json_string("sum_over_batch_size")) < 0)
        return ARTEL_ERROR_NO_MEMORY;
    return ARTEL_OK;
}

static artel_status unwrap_all(json_t *value, int depth)
{
    if (depth > ARTEL__KERAS_MAX_NESTING) return ARTEL_OK;
    size_t i;
    const char *key;
    json_t *item;
    json_array_foreach(value, i, item) ARTEL_TRY(unwrap_all(item, depth + 1));
    if (is_object_record(value)) return unwrap(value);
    json_object_foreach(value, key, item) ARTEL_TRY(unwrap_all(item, depth + 1));
    return ARTEL_OK;
}

static artel_status translate_optimizer(artel_context *ctx, const char *where, json_t *optimizer)
{
    static const char *const gone[] = {"jit_compile", "is_legacy_optimizer", "decay", NULL};
    json_t *config = json_object_get(optimizer, "config");
    double decay;
    ARTEL_TRY(rename_key(config, "lr", "learning_rate"));
    if (artel__json_number(json_object_get(config, "decay"), &decay) && decay > 0)
        artel__log(ctx, ARTEL_LOG_WARNING, "%s: the optimizer's decay of %g is left out, as in Keras 3; use a schedule",
                   where, decay);
    for (const char *const *name = gone; *name; name++) json_object_del(config, *name);
    return ARTEL_OK;
}

/* Keras 2 saved null for settings that Keras 3 wants left out. */
static void drop_unset(json_t *compile)
{
    static const char *const keys[] = {"run_eagerly", "steps_per_execution", "jit_compile", NULL};
    for (const char *const *key = keys; *key; key++) {
        if (json_is_null(json_object_get(compile, *key))) json_object_del(compile, *key);
    }
}

artel_status artel__keras_translate_compile(artel_context *ctx, const char *where, json_t *compile)
{
    static const char *const wrapped[] = {"loss", "metrics", "weighted_metrics", NULL};
    artel_status status = translate_optimizer(ctx, where, json_object_get(compile, "optimizer"));
    for (const char *const *key = wrapped; *key && status == ARTEL_OK; key++)
        status = unwrap_all(json_object_get(compile, *key), 0);
    drop_unset(compile);
    return recorded(ctx, where, status);
}

artel_status artel__keras_translate_training(artel_context *ctx, const char *where, json_t *training, json_t **out)
{
    static const char *const kept[] = {"loss",        "loss_weights",        "metrics",     "weighted_metrics",
                                       "run_eagerly", "steps_per_execution", "jit_compile", NULL};
    json_t *compile = json_object();
    json_t *optimizer = artel__json_copy_deep(json_object_get(training, "optimizer_config"));
    artel_status status = compile && optimizer ? ARTEL_OK : ARTEL_ERROR_NO_MEMORY;
    if (!json_is_object(json_object_get(training, "optimizer_config"))) {
        json_decref(compile);
        json_decref(optimizer);
        return artel__fail(ctx, ARTEL_ERROR_CORRUPT, where, "save the model again with Keras",
                           "training_config names no optimizer");
    }
    if (status == ARTEL_OK) status = translate_optimizer(ctx, where, optimizer);
    if (status == ARTEL_OK && json_object_set(compile, "optimizer", optimizer) < 0) status = ARTEL_ERROR_NO_MEMORY;
    json_decref(optimizer);
    for (const char *const *key = kept; *key && status == ARTEL_OK; key++) {
        json_t *given = json_object_get(training, *key), *value = given ? artel__json_copy_deep(given) : json_null();
        status = value ? unwrap_all(value, 0) : ARTEL_ERROR_NO_MEMORY;
        if (json_object_set_new(compile, *key, value) < 0) status = ARTEL_ERROR_NO_MEMORY;
    }
    drop_unset(compile);
    if (status == ARTEL_OK) status = translate_value(compile, "", 0);
    if (status < 0) {
        json_decref(compile);
        return recorded(ctx, where, status);
    }
    *out = compile;
    return ARTEL_OK;
}
