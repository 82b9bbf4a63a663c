/* SPDX-License-Identifier: Apache-2.0 */
/* The calls between the layers of a Functional model of Keras 2, in the form of Keras 3.
 *
 * Keras 2 lists a call's tensors as [layer, node, tensor, arguments], those inside the arguments as [layer, node,
 * tensor], and counts the node that a model with an input layer has of its own as number 0. Operators and functions of
 * TensorFlow between layers are layers of the classes TFOpLambda and SlicingOpLambda; those that exist here become
 * operations of keras.src.ops, others stay as they are and are refused by name.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "keras/translate.h"
#include "keras/translate_operations.h"

/* -- tensors -- */

static json_t *class_of(json_t *record)
{
    return json_object_get(record, "class_name");
}

static bool is_class(json_t *record, const char *name)
{
    const char *class_name = json_string_value(class_of(record));
    return class_name && strcmp(class_name, name) == 0;
}

/* Whether a layer has a node of its own: a model that begins with an input layer. */
static bool has_own_node(json_t *record)
{
    json_t *layers = json_object_get(json_object_get(record, "config"), "layers");
    return json_is_array(layers) && is_class(json_array_get(layers, 0), "InputLayer");
}

static json_t *find_layer(json_t *layers, const char *name)
{
    size_t i;
    json_t *record;
    json_array_foreach(layers, i, record)
    {
        const char *own = json_string_value(json_object_get(record, "name"));
        if (!own) own = json_string_value(json_object_get(json_object_get(record, "config"), "name"));
        if (own && strcmp(own, name) == 0) return record;
    }
    return NULL;
}

/* [layer, node, tensor, ...] of a layer of this model. */
static json_t *referred(json_t *layers, json_t *value)
{
    const char *name = json_string_value(json_array_get(value, 0));
    bool form = name && json_is_integer(json_array_get(value, 1)) && json_is_integer(json_array_get(value, 2));
    return form && json_array_size(value) <= 4 ? find_layer(layers, name) : NULL;
}

static json_t *make_tensor(json_t *layers, json_t *value)
{
    json_int_t node = json_integer_value(json_array_get(value, 1));
    if (node > 0 && has_own_node(referred(layers, value))) node--;
    return json_pack("{s:s, s:{s:[O, I, O]}}", "class_name", "__keras_tensor__", "config", "keras_history",
                     json_array_get(value, 0), node, json_array_get(value, 2));
}

/* Drops what could not be completed. */
static json_t *complete(json_t *made, bool whole)
{
    if (whole) return made;
    json_decref(made);
    return NULL;
}

/* A copy of an argument with its tensors in today's form; NULL: no memory. */
static json_t *convert_argument(json_t *layers, json_t *value, int depth)
{
    const char *key, *name = json_string_value(json_array_get(value, 0));
    size_t i;
    json_t *item;
    bool whole = true;
    if (name && strcmp(name, "_CONSTANT_VALUE") == 0) return artel__json_copy_deep(json_array_get(value, 2));
    if (referred(layers, value)) return make_tensor(layers, value);
    if (depth > ARTEL__KERAS_MAX_NESTING || (!json_is_array(value) && !json_is_object(value)))
        return artel__json_copy_deep(value);
    json_t *copy = json_is_array(value) ? json_array() : json_object();
    json_array_foreach(value, i, item)
    {
        whole = whole && json_array_append_new(copy, convert_argument(layers, item, depth + 1)) == 0;
    }
    json_object_foreach(value, key, item)
    {
        whole = whole && json_object_set_new(copy, key, convert_argument(layers, item, depth + 1)) == 0;
    }
    return complete(copy, whole);
}

/* -- calls -- */

/* {"args", "kwargs"} of a list of tensors, or of one tensor, with the arguments in the last of them; NULL: no memory.
 */
static json_t *convert_call(json_t *layers, json_t *call)
{
    bool flat = json_is_string(json_array_get(call, 0)), whole = true;
    size_t count = flat ? 1 : json_array_size(call);
    json_t *tensors = json_array(), *kwargs = NULL;
    for (size_t i = 0; i < count; i++) {
        json_t *entry = flat ? call : json_array_get(call, i);
        whole = whole && json_array_append_new(tensors, convert_argument(layers, entry, 0)) == 0;
        kwargs = json_array_get(entry, 3);
    }
    tensors = complete(tensors, whole);
    json_t *first = count == 1 ? json_incref(json_array_get(tensors, 0)) : json_incref(tensors);
    json_t *made = json_pack("{s:[o], s:o}", "args", first, "kwargs",
                             json_is_object(kwargs) ? convert_argument(layers, kwargs, 0) : json_object());
    json_decref(tensors);
    return made;
}

static json_t *convert_slice(json_t *item)
{
    bool slice = json_is_object(item) && json_object_get(item, "start") && json_object_get(item, "stop");
    bool ellipsis = json_is_string(item) && strcmp(json_string_value(item), "...") == 0;
    if (slice) return json_pack("{s:s, s:O}", "class_name", "__slice__", "config", item);
    return ellipsis ? json_pack("{s:s, s:{}}", "class_name", "__ellipsis__", "config") : json_incref(item);
}

/* Python's slices of Keras 2, {"start", "stop", "step"}, as Keras 3 writes them; NULL: no memory. */
static json_t *convert_slices(json_t *spec)
{
    json_t *list = json_is_array(spec) ? json_incref(spec) : json_pack("[O]", spec), *made = list ? json_array() : NULL,
           *item;
    size_t i;
    bool whole = true;
    json_array_foreach(list, i, item)
    {
        whole = whole && json_array_append_new(made, convert_slice(item)) == 0;
    }
    json_decref(list);
    return complete(made, whole);
}

static bool is_equal(const json_t *a, const json_t *b)
{
    return json_is_number(a) && json_is_number(b) ? json_number_value(a) == json_number_value(b) : json_equal(a, b);
}

/* TensorFlow splits by sizes where Keras splits at indices; NULL: one of them is not told, or no memory. */
static json_t *convert_sizes(const json_t *sizes)
{
    json_t *indices = json_array();
    json_int_t at = 0;
    bool whole = indices != NULL;
    for (size_t i = 0; i < json_array_size(sizes) && whole; i++) {
        json_int_t size = json_integer_value(json_array_get(sizes, i));
        bool last = i + 1 == json_array_size(sizes);
        whole = size > 0 && size < INT32_MAX && (last || json_array_append_new(indices, json_integer(at += size)) == 0);
    }
    return complete(indices, whole);
}

/* Moves what is an argument in Keras 3 behind the first one, and settings into the layer's config. *fits: nothing is
 * left over. */
static artel_status arrange(const artel__keras_operation *op, json_t *call, json_t *config, bool *fits)
{
    json_t *args = json_object_get(call, "args"), *kwargs = json_object_get(call, "kwargs"), *value;
    const char *key;
    void *next;
    *fits = false;
    for (int i = 1; i < ARTEL__KERAS_MOST_ARGUMENTS && op->argument[i]; i++) {
        value = json_object_get(kwargs, op->argument[i]);
        if (!value) return ARTEL_OK;
        value = strcmp(op->class_name, "GetItem") == 0 ? convert_slices(value) : json_incref(value);
        if (json_array_append_new(args, value) < 0) return ARTEL_ERROR_NO_MEMORY;
        json_object_del(kwargs, op->argument[i]);
    }
    for (int i = 0; i < ARTEL__KERAS_MOST_ARGUMENTS && op->setting[i][0]; i++) {
        value = json_object_get(kwargs, op->setting[i][0]);
        bool set = value && !json_is_null(value), sizes = json_is_array(value) && strcmp(op->class_name, "Split") == 0;
        json_t *now = sizes ? convert_sizes(value) : json_incref(value);
        if (sizes && !now) return ARTEL_OK;
        int failed = set ? json_object_set(config, op->setting[i][1], now) : 0;
        json_decref(now);
        if (failed < 0) return ARTEL_ERROR_NO_MEMORY;
        json_object_del(kwargs, op->setting[i][0]);
    }
    json_t *idle = NULL;
    if (op->idle) ARTEL_TRY(artel__json_literal(op->idle, &idle));
    json_object_foreach_safe(kwargs, next, key, value)
    {
        const json_t *usual = json_object_get(idle, key);
        bool nothing = strcmp(key, "name") == 0 || json_is_null(value) || json_is_false(value);
        if (nothing || (usual && is_equal(usual, value))) json_object_del(kwargs, key);
    }
    json_decref(idle);
    *fits = json_object_size(kwargs) == 0;
    return ARTEL_OK;
}

/* The layer becomes an operation of Keras 3. */
static bool rename_operation(const artel__keras_operation *op, json_t *record, json_t *config)
{
    json_object_del(record, "build_config");
    return json_object_set_new(record, "module", json_string(op->module)) == 0 &&
           json_object_set_new(record, "class_name", json_string(op->class_name)) == 0 &&
           json_object_set_new(record, "registered_name", json_string(op->class_name)) == 0 &&
           json_object_set(record, "config", config) == 0;
}

/* A layer of the class TFOpLambda or SlicingOpLambda; stays as it is when its function does not exist here, or not in
 * this form. */
static artel_status convert_operation(json_t *record, json_t *calls)
{
    json_t *old = json_object_get(record, "config"), *kwargs = json_object_get(json_array_get(calls, 0), "kwargs"),
           *call;
    const char *function = json_string_value(json_object_get(old, "function"));
    bool a = json_is_true(json_object_get(kwargs, "transpose_a")),
         b = json_is_true(json_object_get(kwargs, "transpose_b"));
    const char *mode = json_string_value(json_object_get(kwargs, "mode"));
    bool borders = mode && (strcmp(mode, "REFLECT") == 0 || strcmp(mode, "SYMMETRIC") == 0);
    char form[64]; /* functions with such arguments are listed apart */
    snprintf(form, sizeof form, "%s%s%s%s%s", function ? function : "", a ? " of a transposed" : "",
             b ? " by b transposed" : "", borders ? " by " : "", borders ? mode : "");
    const artel__keras_operation *op = artel__keras_find_operation(form);
    if (!op || json_array_size(calls) != 1) return ARTEL_OK; /* settings are those of one call */
    json_t *config = NULL;
    bool fits = true;
    ARTEL_TRY(artel__json_literal(op->given ? op->given : "{}", &config));
    bool named = json_object_set(config, "name", json_object_get(old, "name")) == 0;
    artel_status status = named ? ARTEL_OK : ARTEL_ERROR_NO_MEMORY;
    size_t i;
    json_array_foreach(calls, i, call)
    {
        if (status == ARTEL_OK && fits) status = arrange(op, call, config, &fits);
    }
    if (status == ARTEL_OK && fits && !rename_operation(op, record, config)) status = ARTEL_ERROR_NO_MEMORY;
    json_decref(config);
    return status;
}

static artel_status convert_layer(json_t *layers, json_t *record)
{
    json_t *nodes = json_object_get(record, "inbound_nodes"), *node;
    if (!json_is_array(json_array_get(nodes, 0))) return ARTEL_OK;
    json_t *calls = json_array();
    size_t i;
    bool whole = true;
    json_array_foreach(nodes, i, node)
    {
        whole = whole &&
                json_array_append_new(calls, json_is_array(node) ? convert_call(layers, node) : json_incref(node)) == 0;
    }
    artel_status status = whole && calls ? ARTEL_OK : ARTEL_ERROR_NO_MEMORY;
    bool operates = is_class(record, "TFOpLambda") || is_class(record, "SlicingOpLambda");
    if (status == ARTEL_OK && operates) status = convert_operation(record, calls);
    if (status == ARTEL_OK && json_object_set(record, "inbound_nodes", calls) < 0) status = ARTEL_ERROR_NO_MEMORY;
    json_decref(calls);
    return status;
}

/* Outputs of a Sequential are counted from its own node, too; of a Functional, Keras 3 counts so as well. */
static artel_status convert_ends(json_t *layers, json_t *ends, int depth)
{
    size_t i;
    const char *key;
    json_t *item, *layer = referred(layers, ends);
    if (depth > ARTEL__KERAS_MAX_NESTING) return ARTEL_OK;
    if (layer) {
        json_int_t node = json_integer_value(json_array_get(ends, 1));
        bool counted = node > 0 && has_own_node(layer) && is_class(layer, "Sequential");
        return counted && json_array_set_new(ends, 1, json_integer(node - 1)) < 0 ? ARTEL_ERROR_NO_MEMORY : ARTEL_OK;
    }
    json_array_foreach(ends, i, item) ARTEL_TRY(convert_ends(layers, item, depth + 1));
    json_object_foreach(ends, key, item) ARTEL_TRY(convert_ends(layers, item, depth + 1));
    return ARTEL_OK;
}

artel_status artel__keras_translate_calls(json_t *record, int depth)
{
    json_t *config = json_object_get(record, "config"), *layers = json_object_get(config, "layers"), *layer;
    size_t i;
    bool old = false;
    if (depth > ARTEL__KERAS_MAX_NESTING || !json_is_array(layers)) return ARTEL_OK;
    json_array_foreach(layers, i, layer)
    {
        old = old || json_is_array(json_array_get(json_object_get(layer, "inbound_nodes"), 0));
        ARTEL_TRY(artel__keras_translate_calls(layer, depth + 1));
    }
    if (!old) return ARTEL_OK;
    json_array_foreach(layers, i, layer) ARTEL_TRY(convert_layer(layers, layer));
    return convert_ends(layers, json_object_get(config, "output_layers"), 0);
}
