/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a Functional model's config: layers, and the calls that connect them.
 *
 * Every layer record lists its calls (inbound_nodes), in the form of Keras 3 ({args, kwargs} with __keras_tensor__
 * records inside) or of Keras 2 (lists of [layer, node, tensor, kwargs]). Layers need not come in executable order:
 * calls are placed as soon as their inputs are, until none is left. A layer without calls is an input.
 */
#include <stdio.h>
#include <string.h>

#include "nn/model.h"
#include "nn/record.h"

/* A call before it has found its place. */
typedef struct pending {
    int layer, node;   /* position in model.layers, number of the call */
    json_t *arguments; /* with tensors replaced by {"tensor": i}; owned until placed */
    struct {
        const char *layer;
        int64_t node, tensor;
    } * in;
    int inputs, capacity;
    int site; /* -1 until placed */
} pending;

typedef struct reader {
    artel__model *model;
    pending *call;
    int calls, capacity;
    int *first_call; /* by layer: of its calls, if it has any */
    int room;        /* for outputs */
    bool nested;     /* some of the outputs lie deeper than others, or all do */
} reader;

static artel_status broken(const reader *r, const char *what)
{
    return artel__model_fail(r->model, ARTEL_ERROR_CORRUPT, "save the model again with Keras", "%s", what);
}

static artel_status check_tensor(const reader *r, const char *layer, int64_t tensor)
{
    if (tensor < 0) return broken(r, "a tensor index is out of range");
    if (tensor < ARTEL__LAYER_OUTPUTS) return ARTEL_OK;
    return artel__model_fail(r->model, ARTEL_ERROR_UNSUPPORTED, "split into fewer parts, one after the other",
                             "layer \"%s\" gives a tensor number %llu; a layer may give %d here", layer,
                             (unsigned long long)tensor + 1, ARTEL__LAYER_OUTPUTS);
}

/* Adds a tensor reference to a call; returns its index or a negative status. */
static int add_reference(reader *r, pending *call, const char *layer, int64_t node, int64_t tensor)
{
    if (call->inputs == call->capacity) {
        int capacity = call->capacity ? call->capacity * 2 : 4;
        void *wider = artel__arena_alloc(r->model->arena, (size_t)capacity, sizeof *call->in);
        if (!wider) return ARTEL_ERROR_NO_MEMORY;
        if (call->inputs) memcpy(wider, call->in, (size_t)call->inputs * sizeof *call->in);
        call->in = wider;
        call->capacity = capacity;
    }
    call->in[call->inputs].layer = layer;
    call->in[call->inputs].node = node;
    call->in[call->inputs].tensor = tensor;
    return call->inputs++;
}

static json_t *drop(json_t *value)
{
    json_decref(value);
    return NULL;
}

/* A copy of Keras' argument structure with every tensor replaced; NULL on failure, and for NULL. */
static json_t *replace_tensors(reader *r, pending *call, json_t *value)
{
    const char *class_name = json_string_value(json_object_get(value, "class_name"));
    if (class_name && strcmp(class_name, "__keras_tensor__") == 0) {
        json_t *history = json_object_get(json_object_get(value, "config"), "keras_history");
        const char *layer = json_string_value(json_array_get(history, 0));
        if (!layer) {
            broken(r, "a tensor in inbound_nodes does not name its layer");
            return NULL;
        }
        int index = add_reference(r, call, layer, json_integer_value(json_array_get(history, 1)),
                                  json_integer_value(json_array_get(history, 2)));
        return index < 0 ? NULL : json_pack("{s:i}", "tensor", index);
    }
    if (json_is_array(value)) {
        json_t *copy = json_array();
        size_t i;
        json_t *item;
        json_array_foreach(value, i, item)
        {
            if (json_array_append_new(copy, replace_tensors(r, call, item)) < 0) return drop(copy);
        }
        return copy;
    }
    if (json_is_object(value)) {
        json_t *copy = json_object();
        const char *key;
        json_t *item;
        json_object_foreach(value, key, item)
        {
            if (json_object_set_new(copy, key, replace_tensors(r, call, item)) < 0) return drop(copy);
        }
        return copy;
    }
    return artel__json_copy_deep(value);
}

/* Memory is out, unless what was recorded before says more. */
static artel_status lost(reader *r)
{
    artel_context *ctx = r->model->arena->ctx;
    artel__fail_memory(ctx, r->model->name, 64);
    return artel_context_error(ctx)->status;
}

/* What Keras' layers call tensors that are given by position behind their inputs (None among them stands for what is
 * left out; anything else Keras wants by name). */
static const struct {
    const char *class_names[9], *arguments[3];
} signatures[] = {
    {{"LSTM", "GRU", "SimpleRNN", "RNN", "Bidirectional", "ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D"},
     {"initial_state", "mask", "training"}},
    {{"Softmax", "GlobalAveragePooling1D", "Attention", "AdditiveAttention"}, {"mask"}},
    {{"CategoryEncoding"}, {"count_weights"}},
};
static const char *const attention_masks[] = {"query_mask", "value_mask", "key_mask", "attention_mask"};

static const char *argument_name(const char *class_name, size_t position)
{
    bool attention = strcmp(class_name, "MultiHeadAttention") == 0 || strcmp(class_name, "GroupQueryAttention") == 0;
    if (attention)
        return position >= 3 && position - 3 < ARTEL__COUNT(attention_masks) ? attention_masks[position - 3] : NULL;
    for (size_t i = 0; i < ARTEL__COUNT(signatures); i++) {
        if (artel__name_in(class_name, signatures[i].class_names))
            return position <= ARTEL__COUNT(signatures[i].arguments) ? signatures[i].arguments[position - 1] : NULL;
    }
    return NULL;
}

/* Operations know their own. */
static artel_status name_arguments(reader *r, const artel__layer *layer, json_t *args, json_t *kwargs)
{
    for (size_t i = json_array_size(args); i-- > 1;) {
        const char *name = argument_name(layer->def->class_name, i);
        if (!name) break;
        if (!json_object_get(kwargs, name) && json_object_set(kwargs, name, json_array_get(args, i)) < 0)
            return lost(r);
        json_array_remove(args, i);
    }
    return ARTEL_OK;
}

static artel_status read_new_call(reader *r, pending *call, json_t *node)
{
    json_t *given_args = json_object_get(node, "args"), *given_kwargs = json_object_get(node, "kwargs");
    json_t *args = given_args ? replace_tensors(r, call, given_args) : json_array();
    json_t *kwargs = given_kwargs ? replace_tensors(r, call, given_kwargs) : json_object();
    call->arguments = json_pack("{s:o, s:o}", "args", args, "kwargs", kwargs);
    return call->arguments ? name_arguments(r, r->model->layer[call->layer], args, kwargs) : lost(r);
}

/* Keras 2: a list of [layer, node, tensor, kwargs]. */
static artel_status read_old_call(reader *r, pending *call, json_t *node)
{
    size_t i;
    json_t *item, *kwargs = NULL;
    json_t *tensors = json_array();
    json_array_foreach(node, i, item)
    {
        const char *layer = json_string_value(json_array_get(item, 0));
        int index = layer ? add_reference(r, call, layer, json_integer_value(json_array_get(item, 1)),
                                          json_integer_value(json_array_get(item, 2)))
                          : -1;
        if (index < 0) {
            json_decref(tensors);
            return broken(r, "a call in inbound_nodes does not name its inputs");
        }
        if (json_array_append_new(tensors, json_pack("{s:i}", "tensor", index)) < 0) {
            json_decref(tensors);
            return lost(r);
        }
        kwargs = json_array_get(item, 3);
    }
    if (json_array_size(tensors) == 1) {
        json_t *only = json_incref(json_array_get(tensors, 0));
        json_decref(tensors);
        tensors = only;
    }
    call->arguments = json_pack("{s:[o], s:o}", "args", tensors, "kwargs",
                                json_is_object(kwargs) ? artel__json_copy_deep(kwargs) : json_object());
    return call->arguments ? ARTEL_OK : lost(r);
}

static pending *add_call(reader *r)
{
    if (r->calls == r->capacity) {
        int capacity = r->capacity ? r->capacity * 2 : 64;
        pending *wider = artel__arena_alloc(r->model->arena, (size_t)capacity, sizeof *wider);
        if (!wider) return NULL;
        if (r->calls) memcpy(wider, r->call, (size_t)r->calls * sizeof *wider);
        r->call = wider;
        r->capacity = capacity;
    }
    r->call[r->calls] = (pending){.site = -1};
    return &r->call[r->calls++];
}

static artel_status read_layer(reader *r, json_t *record)
{
    artel__model *model = r->model;
    artel__layer *layer;
    ARTEL_TRY(artel__model_add_layer(model, record, &layer));
    r->first_call[model->layers - 1] = r->calls;
    const char *name = json_string_value(json_object_get(record, "name"));
    if (name) {
        layer->scope = name;
        ARTEL_TRY(artel__model_name_layer(model, model->layers - 1, name));
    }
    json_t *nodes = json_object_get(record, "inbound_nodes");
    bool input = strcmp(layer->def->class_name, "InputLayer") == 0;
    if (!input && json_array_size(nodes) == 0) return ARTEL_OK;
    size_t i;
    json_t *node;
    if (input) {
        pending *call = add_call(r);
        if (!call) return ARTEL_ERROR_NO_MEMORY;
        call->layer = model->layers - 1;
        return ARTEL_OK;
    }
    json_array_foreach(nodes, i, node)
    {
        pending *call = add_call(r);
        if (!call) return ARTEL_ERROR_NO_MEMORY;
        call->layer = model->layers - 1;
        call->node = (int)i;
        ARTEL_TRY(json_is_array(node) ? read_old_call(r, call, node) : read_new_call(r, call, node));
    }
    return ARTEL_OK;
}

/* The call that a reference means; NULL when there is none. */
static pending *find_call(reader *r, const char *layer, int64_t node)
{
    const int *number = artel__names_find(&r->model->layer_names, layer);
    if (!number) return NULL;
    /* Calls of a layer lie one behind the other, by node. */
    int64_t at = *number >= 0 && node < r->calls ? r->first_call[*number] + node : r->calls;
    if (*number >= 0) return node >= 0 && at < r->calls && r->call[at].layer == *number ? &r->call[at] : NULL;
    for (int i = 0; i < r->calls; i++) {
        if (r->call[i].node == node && strcmp(r->model->layer[r->call[i].layer]->name, layer) == 0) return &r->call[i];
    }
    return NULL;
}

/* Places a call when all its inputs are placed. */
static artel_status place_call(reader *r, pending *call, bool *placed)
{
    artel__model *model = r->model;
    for (int k = 0; k < call->inputs; k++) {
        const pending *source = find_call(r, call->in[k].layer, call->in[k].node);
        if (!source)
            return artel__model_fail(model, ARTEL_ERROR_CORRUPT, "save the model again with Keras",
                                     "call %lld of layer \"%s\" does not exist", (long long)call->in[k].node,
                                     call->in[k].layer);
        if (source->site < 0) return ARTEL_OK;
        ARTEL_TRY(check_tensor(r, call->in[k].layer, call->in[k].tensor));
    }
    artel__model_tensor *in = artel__arena_alloc(model->arena, (size_t)call->inputs + 1, sizeof *in);
    if (!in) return ARTEL_ERROR_NO_MEMORY;
    for (int k = 0; k < call->inputs; k++)
        in[k] = (artel__model_tensor){find_call(r, call->in[k].layer, call->in[k].node)->site, (int)call->in[k].tensor};
    artel__layer *layer = model->layer[call->layer];
    artel__model_call_site *site = artel__model_add_site(model);
    if (!site) return ARTEL_ERROR_NO_MEMORY;
    *site = (artel__model_call_site){
        .layer = layer, .in = in, .inputs = call->inputs, .arguments = call->arguments, .input = -1};
    call->arguments = NULL;
    call->site = model->sites - 1;
    *placed = true;
    return ARTEL_OK;
}

static artel_status place_calls(reader *r)
{
    bool placed = true;
    while (placed) {
        placed = false;
        for (int i = 0; i < r->calls; i++) {
            if (r->call[i].site < 0) ARTEL_TRY(place_call(r, &r->call[i], &placed));
        }
    }
    for (int i = 0; i < r->calls; i++) {
        if (r->call[i].site < 0)
            return artel__model_fail(r->model, ARTEL_ERROR_CORRUPT, "save the model again with Keras",
                                     "the call of layer \"%s\" depends on itself",
                                     r->model->layer[r->call[i].layer]->name);
    }
    return ARTEL_OK;
}

/* -- the nesting of input_layers and output_layers -- */

/* Where a leaf lies: the keys and positions in front of it, with slashes behind them; its own; whether that is a key.
 */
typedef struct place {
    const char *above, *last;
    bool keyed;
} place;

typedef artel_status leaf_fn(reader *r, const place *at, json_t *leaf);

static bool is_leaf(json_t *value)
{
    return json_is_array(value) && json_array_size(value) == 3 && json_is_string(json_array_get(value, 0)) &&
           json_is_integer(json_array_get(value, 1));
}

static artel_status each_leaf(reader *r, const char *above, json_t *value, leaf_fn *visit);

/* An item of a list or an object: a leaf, or another level. */
static artel_status each_item(reader *r, const char *above, const char *name, bool keyed, json_t *item, leaf_fn *visit)
{
    if (is_leaf(item)) return visit(r, &(place){above, name, keyed}, item);
    const char *below = artel__arena_printf(r->model->arena, "%s%s/", above, name);
    return below ? each_leaf(r, below, item, visit) : ARTEL_ERROR_NO_MEMORY;
}

static artel_status each_leaf(reader *r, const char *above, json_t *value, leaf_fn *visit)
{
    if (json_is_array(value)) {
        size_t i;
        json_t *item;
        json_array_foreach(value, i, item)
        {
            char position[24];
            snprintf(position, sizeof position, "%zu", i);
            ARTEL_TRY(each_item(r, above, position, false, item, visit));
        }
        return ARTEL_OK;
    }
    if (!json_is_object(value)) return broken(r, "input_layers or output_layers hold something that is not a tensor");
    if (json_object_size(value) > (size_t)r->room)
        return broken(r, "input_layers or output_layers have more entries than there are calls");
    const char *last = "";
    for (size_t done = 0; done < json_object_size(value); done++) { /* keys in sorted order, as Keras flattens */
        const char *best = NULL, *key;
        json_t *item;
        json_object_foreach(value, key, item)
        {
            if ((done == 0 || strcmp(key, last) > 0) && (!best || strcmp(key, best) < 0)) best = key;
        }
        if (!best) break;
        ARTEL_TRY(each_item(r, above, best, true, json_object_get(value, best), visit));
        last = best;
    }
    return ARTEL_OK;
}

static artel_status each_end(reader *r, json_t *ends, leaf_fn *visit)
{
    return is_leaf(ends) ? visit(r, &(place){"", "", false}, ends) : each_leaf(r, "", ends, visit);
}

static bool is_nested(json_t *ends)
{
    size_t i;
    const char *key;
    json_t *item;
    bool nested = false;
    if (is_leaf(ends)) return false;
    json_array_foreach(ends, i, item) nested = nested || !is_leaf(item);
    json_object_foreach(ends, key, item) nested = nested || !is_leaf(item);
    return nested;
}

static pending *leaf_call(reader *r, json_t *leaf)
{
    const char *name = json_string_value(json_array_get(leaf, 0));
    int64_t node = json_integer_value(json_array_get(leaf, 1));
    for (int i = 0; i < r->model->layers; i++) {
        artel__layer *layer = r->model->layer[i];
        if (strcmp(layer->name, name) == 0 && layer->model && strcmp(layer->def->class_name, "Sequential") != 0 &&
            node > 0)
            node--;
    }
    return find_call(r, name, node);
}

static artel_status read_input(reader *r, const place *at, json_t *leaf)
{
    (void)at;
    artel__model *model = r->model;
    pending *call = leaf_call(r, leaf);
    if (!call || strcmp(model->layer[call->layer]->def->class_name, "InputLayer") != 0)
        return broken(r, "input_layers name a layer that is not an InputLayer");
    if (model->site[call->site].input >= 0 && !model->site[call->site].layer)
        return broken(r, "input_layers name a layer twice");
    artel__model_input *input = &model->input[model->inputs];
    *input = *(const artel__model_input *)model->layer[call->layer]->own;
    input->name = model->layer[call->layer]->name;
    model->site[call->site].layer = NULL;
    model->site[call->site].input = model->inputs++;
    return ARTEL_OK;
}

/* Named as Keras does: an output of a plain dictionary by its key, others by their layers; its loss by its place, too,
 * where there is one. */
static artel_status read_output(reader *r, const place *at, json_t *leaf)
{
    artel__model *model = r->model;
    pending *call = leaf_call(r, leaf);
    int64_t tensor = json_integer_value(json_array_get(leaf, 2));
    if (!call) return broken(r, "output_layers name a tensor that does not exist");
    ARTEL_TRY(check_tensor(r, model->layer[call->layer]->name, tensor));
    if (model->outputs == r->room) return broken(r, "too many outputs");
    const char *layer = model->layer[call->layer]->name, *last = at->keyed ? at->last : layer;
    artel__model_output *output = &model->output[model->outputs];
    output->name = r->nested ? layer : last;
    output->loss_name = artel__arena_printf(model->arena, "%s%s", at->above, last);
    output->path = artel__arena_printf(model->arena, "%s%s", at->above, at->last);
    ARTEL_TRY(artel__arena_status(model->arena));
    model->result[model->outputs++] = (artel__model_tensor){call->site, (int)tensor};
    return ARTEL_OK;
}

static artel_status read_ends(reader *r, json_t *config)
{
    artel__model *model = r->model;
    size_t room = (size_t)r->calls * ARTEL__LAYER_OUTPUTS + 1;
    model->input = artel__arena_alloc(model->arena, (size_t)r->calls + 1, sizeof *model->input);
    model->output = artel__arena_alloc(model->arena, room, sizeof *model->output);
    model->result = artel__arena_alloc(model->arena, room, sizeof *model->result);
    ARTEL_TRY(artel__arena_status(model->arena));
    r->room = (int)room;
    ARTEL_TRY(each_end(r, json_object_get(config, "input_layers"), read_input));
    r->nested = is_nested(json_object_get(config, "output_layers"));
    ARTEL_TRY(each_end(r, json_object_get(config, "output_layers"), read_output));
    if (model->inputs == 0 || model->outputs == 0) return broken(r, "the model has no inputs or no outputs");
    for (int i = 0; i < model->sites; i++) {
        artel__layer *layer = model->site[i].layer;
        if (layer && strcmp(layer->def->class_name, "InputLayer") == 0)
            return artel__model_fail(model, ARTEL_ERROR_CORRUPT, "save the model again with Keras",
                                     "the input layer \"%s\" is not among input_layers", layer->name);
    }
    return ARTEL_OK;
}

artel_status artel__model_parse(artel__model *model, json_t *config)
{
    reader r = {.model = model};
    r.first_call =
        artel__arena_alloc(model->arena, json_array_size(json_object_get(config, "layers")) + 1, sizeof *r.first_call);
    if (!r.first_call) return ARTEL_ERROR_NO_MEMORY;
    size_t i;
    json_t *record;
    artel_status status = ARTEL_OK;
    json_array_foreach(json_object_get(config, "layers"), i, record)
    {
        if (status == ARTEL_OK) status = read_layer(&r, record);
    }
    if (status == ARTEL_OK) status = place_calls(&r);
    for (int k = 0; k < r.calls; k++) json_decref(r.call[k].arguments);
    if (status == ARTEL_OK) status = read_ends(&r, config);
    if (status == ARTEL_OK) status = artel__model_order_masks(model);
    return status;
}
