/* SPDX-License-Identifier: Apache-2.0 */
/* A layer read from its record, with its variables; its calls are in layer_call.c.
 *
 * Options are data: the class's table says which keys a config may have. Keys that every Keras layer carries are read
 * here once. A key that nobody knows is an error unless it holds nothing (null, false, an empty list): files written by
 * newer versions of Keras stay readable as long as they ask for nothing new.
 */
#include "nn/model.h"

#include <stdio.h>
#include <string.h>

#include "nn/custom.h"
#include "nn/layer_ops.h"
#include "op/elementwise.h"

artel_status artel__layer_fail(const artel__layer *layer, artel_status status, const char *advice, const char *format,
                               ...)
{
    char what[512];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    char where[256];
    snprintf(where, sizeof where, "layer \"%s\" (%s)", layer->name, layer->def ? layer->def->class_name : "?");
    return artel__fail(layer->arena->ctx, status, where, advice, "%s", what);
}

const artel__layer_def *artel__layer_find(const char *class_name)
{
    for (const artel__layer_def *const *def = artel__layers; *def; def++) {
        if (strcmp((*def)->class_name, class_name) == 0) return *def;
    }
    return NULL;
}

int artel__row_axis(int64_t keras_axis, int rank)
{
    int64_t axis = keras_axis < 0 ? keras_axis + rank : keras_axis - 1;
    return axis < 0 || axis >= rank ? -1 : (int)axis;
}

/* Keys that any config may have and that the core reads or does not need. */
static const char *const common_keys[] = {"name",
                                          "trainable",
                                          "dtype",
                                          "batch_input_shape",
                                          "batch_shape",
                                          "input_shape",
                                          "input_dtype",
                                          "autocast",
                                          "sparse",
                                          "ragged",
                                          "optional",
                                          "build_input_shape",
                                          "registered_name",
                                          "activity_regularizer",
                                          NULL};

static bool is_common(const char *key)
{
    for (const char *const *common = common_keys; *common; common++) {
        if (strcmp(*common, key) == 0) return true;
    }
    return false;
}

static bool holds_nothing(const json_t *value)
{
    return json_is_null(value) || json_is_false(value) || (json_is_array(value) && json_array_size(value) == 0) ||
           (json_is_object(value) && json_object_size(value) == 0);
}

static artel_status unknown_key(const artel__layer *layer, const char *key)
{
    const char *names[64];
    int count = 0;
    for (const artel__option *o = layer->def->options; o && o->name && count < 63; o++) names[count++] = o->name;
    names[count] = NULL;
    const char *near = artel__nearest_name(key, names);
    return artel__layer_fail(layer, ARTEL_ERROR_UNSUPPORTED,
                             "remove the setting, or see docs/layers.md for what is covered",
                             "the setting \"%s\" is not supported%s%s%s", key, near ? " (did you mean \"" : "",
                             near ? near : "", near ? "\"?)" : "");
}

static artel_status set_option(artel__layer *layer, const artel__option *option, json_t *value)
{
    if (option->type != ARTEL__OPTION_JSON && json_is_null(value)) return ARTEL_OK;
    artel_context *ctx = layer->arena->ctx;
    if (json_is_string(value) && option->type != ARTEL__OPTION_JSON)
        return artel__options_set(layer->arena, layer->def->options, layer->config, layer->name, option->name,
                                  json_string_value(value));
    char *text;
    ARTEL_TRY(artel__json_dump_string(ctx, value, ARTEL__JSON_PYTHON, &text));
    artel_status status =
        artel__options_set(layer->arena, layer->def->options, layer->config, layer->name, option->name, text);
    artel__free(ctx, text);
    return status;
}

static artel_status read_options(artel__layer *layer, json_t *config)
{
    static const artel__option none[] = {{.name = NULL}};
    const artel__option *table = layer->def->options ? layer->def->options : none;
    layer->config = artel__arena_alloc(layer->arena, 1, layer->def->config_size + 1);
    if (!layer->config) return ARTEL_ERROR_NO_MEMORY;
    ARTEL_TRY(artel__options_default(layer->arena, table, layer->config));
    for (const artel__option *o = table; o->name; o++) {
        if (!o->fallback && !json_object_get(config, o->name))
            return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "write the setting into the model's config",
                                     "the setting \"%s\" is missing", o->name);
    }
    const char *key;
    json_t *value;
    json_object_foreach(config, key, value)
    {
        const artel__option *option = artel__options_find(table, key);
        if (option)
            ARTEL_TRY(set_option(layer, option, value));
        else if (!layer->def->custom && !is_common(key) && !holds_nothing(value))
            return unknown_key(layer, key);
    }
    return ARTEL_OK;
}

/* "float32" from a plain string or a DTypePolicy record. A map by path counts where it is empty: for its default. */
static const char *policy_name(json_t *dtype)
{
    json_t *of_map = json_object_get(dtype, "config");
    const char *map = json_string_value(json_object_get(dtype, "class_name"));
    if (map && strcmp(map, "DTypePolicyMap") == 0 && json_object_size(json_object_get(of_map, "policy_map")) == 0) {
        dtype = json_object_get(of_map, "default_policy");
        if (!dtype || json_is_null(dtype)) return "float32";
    }
    if (json_is_string(dtype)) return json_string_value(dtype);
    const char *name = json_string_value(json_object_get(json_object_get(dtype, "config"), "name"));
    const char *class_name = json_string_value(json_object_get(dtype, "class_name"));
    bool policy = !class_name || strcmp(class_name, "DTypePolicy") == 0 ||
                  strcmp(class_name, "FloatDTypePolicy") == 0 ||
                  strcmp(class_name, "Policy") == 0; /* the last: Keras 2 */
    return !policy ? class_name : name ? name : "float32";
}

static artel_status take_float64(artel__layer *layer)
{
    layer->real = layer->variables_in = ARTEL_DTYPE_FLOAT64;
    if (artel__layer_has_float64(layer->def->class_name)) return ARTEL_OK;
    return artel__layer_fail(layer, ARTEL_ERROR_UNSUPPORTED,
                             "give this layer the dtype policy float32, or see docs/precision.md for the layers that "
                             "have float64",
                             "this layer does not compute in float64");
}

static artel_status read_common(artel__layer *layer, json_t *config)
{
    const char *name = json_string_value(json_object_get(config, "name"));
    layer->name = layer->scope = artel__arena_strdup(layer->arena, name ? name : layer->def->class_name);
    layer->trainable = !json_is_false(json_object_get(config, "trainable"));
    layer->dtype = artel__arena_strdup(layer->arena, policy_name(json_object_get(config, "dtype")));
    ARTEL_TRY(artel__arena_status(layer->arena));
    if (strcmp(layer->dtype, "mixed_bfloat16") == 0) layer->precision = ARTEL_DTYPE_BFLOAT16;
    if (strcmp(layer->dtype, "mixed_float16") == 0) layer->precision = ARTEL_DTYPE_FLOAT16;
    bool plain = strcmp(layer->dtype, "float32") == 0 || strncmp(layer->dtype, "int", 3) == 0 ||
                 strncmp(layer->dtype, "uint", 4) == 0 || strcmp(layer->dtype, "bool") == 0 ||
                 (layer->def->strings && strcmp(layer->dtype, "string") == 0);
    if (strcmp(layer->dtype, "bfloat16") == 0) layer->precision = layer->variables_in = ARTEL_DTYPE_BFLOAT16;
    if (strcmp(layer->dtype, "float16") == 0) layer->precision = layer->variables_in = ARTEL_DTYPE_FLOAT16;
    if (strcmp(layer->dtype, "float64") == 0) return take_float64(layer);
    if (plain || layer->precision) return ARTEL_OK;
    return artel__layer_fail(
        layer, ARTEL_ERROR_UNSUPPORTED,
        "save the model with one of the dtype policies float32, mixed_bfloat16, mixed_float16, bfloat16, float16, "
        "float64",
        "the dtype policy \"%s\" is not supported", layer->dtype);
}

/* Whether a record speaks of Keras' own class: no user's package in registered_name, a module of Keras or none. */
static bool is_keras_class(json_t *record)
{
    const char *registered = json_string_value(json_object_get(record, "registered_name"));
    const char *module = json_string_value(json_object_get(record, "module"));
    static const char *const packages[] = {"keras", "tf_keras", "tensorflow", NULL};
    bool known = !module;
    for (int i = 0; packages[i] && !known; i++) known = strncmp(module, packages[i], strlen(packages[i])) == 0;
    return known && !(registered && strchr(registered, '>'));
}

/* A function of TensorFlow between layers of Keras 2 that has not become an operation. */
static artel_status unknown_function(artel__arena *arena, const char *where, const char *function, const char *of)
{
    return artel__fail(arena->ctx, ARTEL_ERROR_UNSUPPORTED, where,
                       "build the model with a layer or a function of keras.ops in its place (docs/formats.md)",
                       "the function tf.%.80s between layers (%s) is not supported in this form", function, of);
}

/* The class is known by no row of the table; says so and offers the nearest. */
static artel_status unknown_class(artel__arena *arena, json_t *record, const char *class_name, bool operation)
{
    const char *function = json_string_value(json_object_get(json_object_get(record, "config"), "function"));
    const char *names[256];
    int count = 0;
    for (int i = 0; artel__layers[i] && count < 255; i++) {
        bool op = artel__is_operation(artel__layers[i]->class_name);
        if (op == operation) names[count++] = artel__layers[i]->class_name + (op ? 4 : 0);
    }
    names[count] = NULL;
    const char *near = is_keras_class(record) ? artel__nearest_name(class_name, names) : NULL;
    const char *name = json_string_value(json_object_get(json_object_get(record, "config"), "name"));
    const char *module = json_string_value(json_object_get(record, "module"));
    char where[256];
    snprintf(where, sizeof where, "layer \"%s\"", name ? name : "?");
    if (function && (strcmp(class_name, "TFOpLambda") == 0 || strcmp(class_name, "SlicingOpLambda") == 0))
        return unknown_function(arena, where, function, class_name);
    return artel__fail(arena->ctx, ARTEL_ERROR_UNSUPPORTED, where, "use a layer of docs/layers.md, or ask for this one",
                       "the %s %s%s%s is not supported%s%s%s", operation ? "operation" : "layer class",
                       module && (operation || !is_keras_class(record)) ? module : "",
                       module && (operation || !is_keras_class(record)) ? "." : "", class_name,
                       near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
}

/* Raw operations of Keras ("keras.src.ops.numpy", "Add") are rows of the table of their own ("ops.Add"). */
static artel_status find_class(artel__arena *arena, json_t *record, const artel__layer_def **out)
{
    const char *class_name = json_string_value(json_object_get(record, "class_name"));
    const char *module = json_string_value(json_object_get(record, "module"));
    if (!class_name)
        return artel__fail(arena->ctx, ARTEL_ERROR_CORRUPT, "the model's config", "save the model again with Keras",
                           "a layer has no class_name");
    bool operation = module && strncmp(module, "keras.src.ops", 13) == 0;
    char name[128];
    snprintf(name, sizeof name, "%s%s", operation ? "ops." : "", class_name);
    *out = is_keras_class(record) ? artel__layer_find(name) : NULL;
    const char *registered = json_string_value(json_object_get(record, "registered_name"));
    if (!*out) *out = artel__extension_find(arena->ctx, ARTEL__EXTENSION_LAYER, registered ? registered : class_name);
    return *out ? ARTEL_OK : unknown_class(arena, record, class_name, operation);
}

artel_status artel__layer_create(artel__arena *arena, artel__variables *variables, json_t *record, artel__layer **out)
{
    const artel__layer_def *def;
    ARTEL_TRY(find_class(arena, record, &def));
    artel__layer *layer = artel__arena_alloc(arena, 1, sizeof *layer);
    if (!layer) return ARTEL_ERROR_NO_MEMORY;
    layer->def = def;
    layer->arena = arena;
    layer->variables = variables;
    layer->record = record;
    layer->name = "?";
    json_t *config = json_object_get(record, "config");
    ARTEL_TRY(read_common(layer, config));
    ARTEL_TRY(
        artel__regularizer_read(arena, layer->name, json_object_get(config, "activity_regularizer"), &layer->activity));
    ARTEL_TRY(read_options(layer, config));
    if (def->configure) ARTEL_TRY(def->configure(layer));
    *out = layer;
    return ARTEL_OK;
}

artel_status artel__layer_prefix_scope(artel__layer *layer, const char *prefix)
{
    layer->scope = artel__arena_printf(layer->arena, "%s/%s", prefix, layer->scope);
    for (int i = 0; i < layer->child_count; i++) ARTEL_TRY(artel__layer_prefix_scope(layer->child[i].layer, prefix));
    for (int i = 0; layer->model && i < layer->model->layers; i++)
        ARTEL_TRY(artel__layer_prefix_scope(layer->model->layer[i], prefix));
    return artel__arena_status(layer->arena);
}

artel_status artel__layer_add_child(artel__layer *layer, json_t *record, const char *path, artel__layer **out)
{
    artel__layer *child;
    ARTEL_TRY(artel__layer_create(layer->arena, layer->variables, record, &child));
    artel__layer_child *wider = artel__arena_alloc(layer->arena, (size_t)layer->child_count + 1, sizeof *wider);
    if (!wider) return ARTEL_ERROR_NO_MEMORY;
    ARTEL_TRY(artel__layer_prefix_scope(child, layer->scope));
    if (layer->child_count) memcpy(wider, layer->child, (size_t)layer->child_count * sizeof *wider);
    wider[layer->child_count] = (artel__layer_child){artel__arena_strdup(layer->arena, path), child};
    layer->child = wider;
    layer->child_count++;
    *out = child;
    return artel__arena_status(layer->arena);
}

/* Room for one more variable behind those there are. */
static artel__layer_variable *widen(artel__layer *layer)
{
    artel__layer_variable *wider = artel__arena_alloc(layer->arena, (size_t)layer->variable_count + 1, sizeof *wider);
    if (wider && layer->variable_count) memcpy(wider, layer->variable, (size_t)layer->variable_count * sizeof *wider);
    return wider;
}

artel_status artel__layer_add_alias(artel__layer *layer, const artel__layer_variable *of)
{
    artel__layer_variable *wider = widen(layer);
    if (!wider) return ARTEL_ERROR_NO_MEMORY;
    wider[layer->variable_count] =
        (artel__layer_variable){.index = of->index, .name = of->name, .trainable = of->trainable, .alias = true};
    layer->variable = wider;
    layer->variable_count++;
    return ARTEL_OK;
}

int artel__layer_add_weight(artel__layer *layer, const artel__weight *weight)
{
    char *name = artel__arena_printf(layer->arena, "%s/%s", layer->scope, weight->name);
    artel__layer_variable *wider = widen(layer);
    if (!name || !wider) return ARTEL_ERROR_NO_MEMORY;
    int index = artel__variables_add(layer->variables, name,
                                     weight->trainable ? ARTEL__VARIABLE_TRAINABLE : ARTEL__VARIABLE_NON_TRAINABLE,
                                     weight->dtype ? weight->dtype : layer->variables_in, &weight->shape, weight->rows);
    if (index < 0) return index;
    artel__layer_variable *added = &wider[layer->variable_count];
    *added = (artel__layer_variable){.index = index,
                                     .trainable = weight->trainable,
                                     .name = artel__arena_strdup(layer->arena, weight->name),
                                     .matrix_fans = weight->matrix_fans};
    if (weight->initializer) added->initializer = *weight->initializer;
    if (weight->regularizer) added->regularizer = *weight->regularizer;
    if (weight->constraint) added->constraint = *weight->constraint;
    layer->variable = wider;
    return layer->variable_count++;
}

artel__value_id artel__layer_weight(const artel__layer *layer, artel__graph *graph, int n)
{
    artel__value_id value = artel__graph_variable(graph, layer->variable[n].index);
    if (layer->variable[n].adapter) value = artel__op_cast(graph, value, layer->real);
    return layer->def->cast == ARTEL__CAST_ALL ? artel__op_narrow(graph, value, graph->precision) : value;
}
