/* SPDX-License-Identifier: Apache-2.0 */
/* Walking a model for its ONNX export, and the file around the graph. */
#include "keras/onnx_graph.h"

#include <stdio.h>
#include <string.h>

/* A protobuf message may not be larger. */
#define PROTO_LIMIT ((size_t)INT32_MAX)
enum {
    MOST = 16
};

/* -- names, nodes, constants -- */

const char *artel__onnx_name(artel__onnx *onnx)
{
    return artel__arena_printf(&onnx->arena, "t%d", onnx->count++);
}

artel__text artel__onnx_start(artel__onnx *onnx, const char *op)
{
    artel__text node;
    artel__text_init(&node, onnx->model->ctx);
    artel__put_string(&node, 4, op);
    return node;
}

const char *artel__onnx_end(artel__onnx *onnx, artel__text *node, const char *const *inputs, int count)
{
    const char *name = artel__onnx_name(onnx);
    bool complete = name != NULL;
    for (int i = 0; i < count; i++) {
        if (inputs[i])
            artel__put_string(node, 1, inputs[i]);
        else
            complete = false;
    }
    if (name) artel__put_string(node, 2, name);
    artel__put_message(&onnx->nodes, 1, node);
    complete = complete && !onnx->nodes.failed;
    artel__text_fini(node);
    return complete ? name : NULL;
}

const char *artel__onnx_node1(artel__onnx *onnx, const char *op, const char *a)
{
    artel__text node = artel__onnx_start(onnx, op);
    return artel__onnx_end(onnx, &node, &a, 1);
}

const char *artel__onnx_node2(artel__onnx *onnx, const char *op, const char *a, const char *b)
{
    artel__text node = artel__onnx_start(onnx, op);
    return artel__onnx_end(onnx, &node, (const char *[]){a, b}, 2);
}

const char *artel__onnx_transpose(artel__onnx *onnx, const char *a, const int64_t *perm, int rank)
{
    artel__text node = artel__onnx_start(onnx, "Transpose");
    artel__onnx_ints(&node, "perm", perm, rank);
    return artel__onnx_end(onnx, &node, &a, 1);
}

const char *artel__onnx_cast(artel__onnx *onnx, const char *a, artel_dtype dtype)
{
    artel__text node = artel__onnx_start(onnx, "Cast");
    artel__onnx_int(&node, "to", artel__onnx_data_type(dtype));
    return artel__onnx_end(onnx, &node, &a, 1);
}

const char *artel__onnx_constant(artel__onnx *onnx, artel_dtype dtype, const artel_shape *shape, const void *data)
{
    const char *name = artel__onnx_name(onnx);
    if (name && data) artel__onnx_initializer(&onnx->initializers, name, dtype, shape, data);
    return data && !onnx->initializers.failed ? name : NULL;
}

const char *artel__onnx_ints_constant(artel__onnx *onnx, const int64_t *values, int count)
{
    return artel__onnx_constant(onnx, ARTEL_DTYPE_INT64, &(artel_shape){1, {count}}, values);
}

const char *artel__onnx_scalar(artel__onnx *onnx, double value)
{
    float single = (float)value;
    return artel__onnx_constant(onnx, ARTEL_DTYPE_FLOAT32, &(artel_shape){.rank = 0}, &single);
}

void *artel__onnx_variable(artel__onnx *onnx, int index)
{
    const artel__variable *variable = &onnx->model->nn->variables->item[index];
    int64_t count = artel_shape_count(&variable->shape);
    void *plain = artel__arena_alloc(&onnx->arena, (size_t)count + 1, artel_dtype_size(variable->dtype));
    if (plain) artel__state_fetch(onnx->model->weights, index, plain);
    if (!plain || !artel__variable_narrow(variable)) return plain;
    float *held = artel__arena_alloc(&onnx->arena, (size_t)count + 1, sizeof *held);
    if (held) artel__convert(variable->dtype, plain, ARTEL_DTYPE_FLOAT32, held, count);
    return held;
}

const float *artel__onnx_weight(artel__onnx *onnx, const artel__layer *layer, int n, artel_shape *shape)
{
    if (n >= layer->variable_count) return NULL;
    int index = layer->variable[n].index;
    *shape = layer->variables->item[index].shape;
    float *plain = artel__onnx_variable(onnx, index);
    if (!plain) return NULL;
    return artel__keras_merge(onnx->model, &onnx->arena, layer, &layer->variable[n], plain) < 0 ? NULL : plain;
}

const char *artel__onnx_weight_constant(artel__onnx *onnx, const artel__layer *layer, int n)
{
    artel_shape shape;
    const float *plain = artel__onnx_weight(onnx, layer, n, &shape);
    return artel__onnx_constant(onnx, ARTEL_DTYPE_FLOAT32, &shape, plain);
}

const artel__layer *artel__onnx_child(const artel__layer *layer, const char *path)
{
    for (int i = 0; i < layer->child_count; i++) {
        if (strcmp(layer->child[i].path, path) == 0) return layer->child[i].layer;
    }
    return NULL;
}

/* -- settings -- */

int64_t artel__onnx_integer(json_t *config, const char *key, int64_t fallback)
{
    int64_t value;
    json_t *json = json_object_get(config, key);
    if (json_is_array(json)) json = json_array_get(json, 0);
    return artel__json_integer(json, &value) ? value : fallback;
}

double artel__onnx_number(json_t *config, const char *key, double fallback)
{
    double value;
    return artel__json_number(json_object_get(config, key), &value) ? value : fallback;
}

bool artel__onnx_flag(json_t *config, const char *key, bool fallback)
{
    json_t *json = json_object_get(config, key);
    return json_is_boolean(json) ? json_is_true(json) : fallback;
}

const char *artel__onnx_word(json_t *config, const char *key, const char *fallback)
{
    const char *word = json_string_value(json_object_get(config, key));
    return word ? word : fallback;
}

const char *artel__onnx_operand(artel__onnx_call *c, int k)
{
    artel_dtype dtype = c->onnx->graph.value[c->in[k].tensor.value].dtype;
    return dtype == ARTEL_DTYPE_FLOAT32 ? c->in[k].name : artel__onnx_cast(c->onnx, c->in[k].name, ARTEL_DTYPE_FLOAT32);
}

const char *artel__onnx_refuse(artel__onnx_call *call, const char *what)
{
    artel__layer_fail(call->layer, ARTEL_ERROR_UNSUPPORTED,
                      "leave the layer out of the exported model, or export another format",
                      "ONNX export does not know %s", what);
    return NULL;
}

/* -- the walk -- */

static const artel__onnx_row *find_row(const char *class_name)
{
    static const artel__onnx_row *const tables[] = {artel__onnx_layers, artel__onnx_images, artel__onnx_recurrent,
                                                    artel__onnx_attention};
    for (size_t t = 0; t < ARTEL__COUNT(tables); t++) {
        for (const artel__onnx_row *row = tables[t]; row->class_name; row++) {
            if (strcmp(row->class_name, class_name) == 0) return row;
        }
    }
    return NULL;
}

static artel_status walk_model(artel__onnx *onnx, const artel__model *model, const artel__onnx_value *in,
                               artel__onnx_value *out);

bool artel__onnx_open(const artel__onnx *onnx)
{
    const artel__model *nn = onnx->model->nn;
    for (int i = 0; i < nn->inputs; i++) {
        for (int d = 0; d < nn->input[i].shape.rank; d++) {
            if (nn->input[i].shape.dim[d] < 0) return true;
        }
    }
    return false;
}

/* What no row of the tables looks at: the graph's nodes know it (onnx_graph.h). */
static bool is_plain(const artel__onnx_call *call)
{
    static const char *const arguments[] = {"mask", "initial_state"};
    json_t *named = json_object_get(call->arguments, "kwargs");
    for (size_t i = 0; i < ARTEL__COUNT(arguments); i++) {
        json_t *value = json_object_get(named, arguments[i]);
        if (value && !json_is_null(value)) return false;
    }
    return strcmp(artel__onnx_word(call->config, "data_format", "channels_last"), "channels_first") != 0 &&
           !artel__onnx_flag(call->config, "stateful", false);
}

static void cut_back(artel__text *text, size_t length)
{
    text->length = length;
    if (text->capacity > 0) text->data[length] = '\0';
}

/* By the row of its class; NULL when there is none or when it does not know these settings, and nothing is written
 * then. */
static const char *export_by_row(artel__onnx_call *call)
{
    artel__onnx *onnx = call->onnx;
    const artel__onnx_row *row = find_row(call->layer->def->class_name);
    size_t nodes = onnx->nodes.length, initializers = onnx->initializers.length;
    if (!row || !is_plain(call)) return NULL;
    call->op = row->op;
    const char *name = row->export(call);
    if (name || onnx->nodes.failed || onnx->initializers.failed) return name;
    cut_back(&onnx->nodes, nodes);
    cut_back(&onnx->initializers, initializers);
    artel__operation_begin(onnx->model->ctx);
    return NULL;
}

/* Builds the call in the inference graph, then asks the table for its nodes, or else takes those of the graph. */
static artel_status walk_layer(artel__onnx *onnx, artel__layer *layer, const artel__onnx_value *in, int inputs,
                               json_t *arguments, artel__onnx_value *out)
{
    artel__tensor *operands = artel__arena_alloc(&onnx->arena, (size_t)inputs + 1, sizeof *operands), made[MOST];
    if (!operands) return ARTEL_ERROR_NO_MEMORY;
    artel__call call = {.graph = &onnx->graph, .in = operands, .inputs = inputs, .arguments = arguments, .out = made};
    artel__onnx_call export = {.onnx = onnx,
                               .layer = layer,
                               .config = json_object_get(layer->record, "config"),
                               .in = in,
                               .inputs = inputs,
                               .arguments = arguments};
    for (int i = 0; i < inputs; i++) {
        operands[i] = in[i].tensor;
        if (onnx->graph.value[operands[i].value].dtype != ARTEL_DTYPE_STRING) continue;
        artel__onnx_refuse(&export, "strings");
        return artel_context_error(onnx->model->ctx)->status;
    }
    ARTEL_TRY(artel__layer_call(layer, &call));
    if (inputs) export.shape = onnx->graph.value[in[0].tensor.value].shape;
    export.out = onnx->graph.value[made[0].value].shape;
    const char *first = call.outputs == 1 && inputs ? export_by_row(&export) : NULL;
    if (first) ARTEL_TRY(artel__onnx_value_is(onnx, made[0].value, first));
    for (int i = 0; i < call.outputs; i++) {
        out[i] = (artel__onnx_value){.name = artel__onnx_value_of(onnx, layer, made[i].value), .tensor = made[i]};
        const artel_error *error = artel_context_error(onnx->model->ctx);
        if (!out[i].name)
            return error->status < 0 ? error->status : artel__fail_memory(onnx->model->ctx, layer->name, 0);
    }
    return ARTEL_OK;
}

/* The operands of a call of a model in the order of its inputs, with the masks that the call gives. */
static artel_status take_inputs(artel__onnx *onnx, const artel__model_call_site *site, const artel__onnx_value *given,
                                artel__onnx_value *in)
{
    const artel__model *inner = site->layer->model;
    json_t *masks = json_object_get(json_object_get(site->arguments, "kwargs"), "mask");
    int *place = artel__arena_alloc(&onnx->arena, (size_t)inner->inputs + 1, sizeof *place);
    artel__tensor *tensors = artel__arena_alloc(&onnx->arena, (size_t)site->inputs + 1, sizeof *tensors);
    if (!place || !tensors) return ARTEL_ERROR_NO_MEMORY;
    for (int k = 0; k < site->inputs; k++) tensors[k] = given[k].tensor;
    artel__call call = {.graph = &onnx->graph, .in = tensors, .inputs = site->inputs, .arguments = site->arguments};
    int inputs = site->inputs - artel__flatten_tensors(masks, NULL, 0);
    bool known = inner->inputs == inputs && inner->outputs <= MOST &&
                 artel__model_places(inner, site->arguments, inputs, place) == inputs;
    for (int k = 0; known && k < inputs; k++) known = place[k] >= 0 && place[k] < site->inputs;
    if (!known)
        return artel__layer_fail(site->layer, ARTEL_ERROR_UNSUPPORTED, "call it with its inputs in order",
                                 "ONNX export cannot tell its inputs apart");
    if (masks) ARTEL_TRY(artel__model_take_masks(site->layer, &call, masks, tensors));
    for (int k = 0; k < inputs; k++)
        in[k] = (artel__onnx_value){.name = given[place[k]].name, .tensor = tensors[place[k]]};
    return ARTEL_OK;
}

static artel_status walk_site(artel__onnx *onnx, const artel__model *model, int i, const artel__onnx_value *made,
                              artel__onnx_value *out)
{
    const artel__model_call_site *site = &model->site[i];
    artel__onnx_value *given = artel__arena_alloc(&onnx->arena, (size_t)site->inputs + 1, sizeof *given);
    if (!given) return ARTEL_ERROR_NO_MEMORY;
    for (int k = 0; k < site->inputs; k++) {
        given[k] = made[site->in[k].call * MOST + site->in[k].output];
        if (artel__model_mask_is_taken(model, &site->in[k], i, onnx->graph.training))
            given[k].tensor.mask = ARTEL__NO_VALUE;
    }
    if (!site->layer->model) return walk_layer(onnx, site->layer, given, site->inputs, site->arguments, out);
    artel__onnx_value *in = artel__arena_alloc(&onnx->arena, (size_t)site->layer->model->inputs + 1, sizeof *in);
    if (!in) return ARTEL_ERROR_NO_MEMORY;
    ARTEL_TRY(take_inputs(onnx, site, given, in));
    return walk_model(onnx, site->layer->model, in, out);
}

static artel_status walk_model(artel__onnx *onnx, const artel__model *model, const artel__onnx_value *in,
                               artel__onnx_value *out)
{
    artel__onnx_value *made = artel__arena_alloc(&onnx->arena, (size_t)model->sites * MOST + 1, sizeof *made);
    if (!made) return ARTEL_ERROR_NO_MEMORY;
    for (int i = 0; i < model->sites; i++) {
        const artel__model_call_site *site = &model->site[i];
        if (!site->layer)
            made[i * MOST] = in[site->input];
        else
            ARTEL_TRY(walk_site(onnx, model, i, made, &made[i * MOST]));
    }
    for (int i = 0; i < model->outputs; i++) {
        out[i] = made[model->result[i].call * MOST + model->result[i].output];
        if (artel__model_mask_is_taken(model, &model->result[i], -1, onnx->graph.training))
            out[i].tensor.mask = ARTEL__NO_VALUE;
    }
    return ARTEL_OK;
}

/* -- the file -- */

static artel_status add_inputs(artel__onnx *onnx, artel__text *graph, artel__onnx_value *in)
{
    const artel__model *nn = onnx->model->nn;
    for (int i = 0; i < nn->inputs; i++) {
        artel_shape shape = nn->input[i].shape;
        artel__onnx_value_info(graph, 11, nn->input[i].name, nn->input[i].dtype, &shape, nn->input[i].name);
        for (int d = 0; d < shape.rank; d++) {
            if (shape.dim[d] < 0)
                shape.dim[d] = onnx->more + (shape.rank == 3 ? 96 : 16); /* stand-ins, as in nn/model.c */
        }
        in[i].name = nn->input[i].name;
        in[i].tensor = (artel__tensor){artel__graph_input(&onnx->graph, ARTEL__DOMAIN_ROW, nn->input[i].dtype, &shape),
                                       ARTEL__NO_VALUE};
        if (onnx->graph.status == ARTEL_OK) ARTEL_TRY(artel__onnx_value_is(onnx, in[i].tensor.value, in[i].name));
    }
    return onnx->graph.status;
}

static bool is_input_name(const artel__model *nn, const char *name)
{
    for (int i = 0; i < nn->inputs; i++) {
        if (strcmp(nn->input[i].name, name) == 0) return true;
    }
    return false;
}

/* An Identity gives each result the name of its output. */
static artel_status add_outputs(artel__onnx *onnx, artel__text *graph, const artel__onnx_value *out)
{
    const artel__model *nn = onnx->model->nn;
    for (int i = 0; i < nn->outputs; i++) {
        const char *name = nn->output[i].name;
        artel_shape shape = nn->output[i].shape;
        for (int k = 0; k < i; k++) {
            if (strcmp(nn->output[k].name, nn->output[i].name) == 0)
                name = artel__arena_printf(&onnx->arena, "%s_%d", nn->output[i].name, i);
        }
        if (name && is_input_name(nn, name)) name = artel__arena_printf(&onnx->arena, "%s_output", name);
        if (!name) return ARTEL_ERROR_NO_MEMORY;
        artel__text node = artel__onnx_start(onnx, "Identity");
        artel__put_string(&node, 1, out[i].name);
        artel__put_string(&node, 2, name);
        artel__put_message(&onnx->nodes, 1, &node);
        artel__text_fini(&node);
        for (int d = 0; artel__onnx_open(onnx) && d < shape.rank; d++) shape.dim[d] = -1;
        artel__onnx_value_info(graph, 12, name, nn->output[i].dtype, &shape, name);
    }
    return ARTEL_OK;
}

/* ModelProto: ir_version 1, producer_name 2, producer_version 3, graph 7, opset_import 8. GraphProto: node 1, name 2,
 * initializer 5, input 11, output 12; fields of several parts may be written one after the other. */
static artel_status write_model(artel__onnx *onnx, const char *path, const artel__text *graph)
{
    artel_context *ctx = onnx->model->ctx;
    artel__text head, opset, body;
    artel__text_init(&head, ctx);
    artel__text_init(&opset, ctx);
    artel__text_init(&body, ctx);
    artel__put_integer(&head, 1, 8);
    artel__put_string(&head, 2, "artel");
    artel__put_string(&opset, 1, "");
    artel__put_integer(&opset, 2, 17);
    artel__put_message(&head, 8, &opset);
    artel__text_append_text(&body, &onnx->nodes);
    artel__put_string(&body, 2, onnx->model->nn->name);
    artel__text_append_text(&body, &onnx->initializers);
    artel__text_append_text(&body, graph);
    artel__put_message(&head, 7, &body);
    artel_status status = artel__text_status(&head);
    if (status == ARTEL_OK && head.length > PROTO_LIMIT)
        status = artel__fail(ctx, ARTEL_ERROR_UNSUPPORTED, path, "export .safetensors",
                             "the model is larger than the 2 GiB of an ONNX file");
    if (status == ARTEL_OK) status = artel__write_file(ctx, path, head.data, head.length);
    artel__text_fini(&head);
    artel__text_fini(&opset);
    artel__text_fini(&body);
    return status;
}

static artel_status export_model(artel__onnx *onnx, artel__text *graph)
{
    const artel__model *nn = onnx->model->nn;
    artel__onnx_value *in = artel__arena_alloc(&onnx->arena, (size_t)nn->inputs + 1, sizeof *in);
    artel__onnx_value *out = artel__arena_alloc(&onnx->arena, (size_t)nn->outputs + 1, sizeof *out);
    if (!in || !out) return ARTEL_ERROR_NO_MEMORY;
    ARTEL_TRY(add_inputs(onnx, graph, in));
    ARTEL_TRY(walk_model(onnx, nn, in, out));
    ARTEL_TRY(add_outputs(onnx, graph, out));
    ARTEL_TRY(artel__text_status(graph));
    ARTEL_TRY(artel__text_status(&onnx->nodes));
    return artel__text_status(&onnx->initializers);
}

static void begin(artel__onnx *onnx, const artel_model *model, int more)
{
    *onnx = (artel__onnx){.model = model, .more = more};
    artel__arena_init(&onnx->arena, model->ctx);
    artel__graph_init(&onnx->graph, &onnx->arena, model->nn->variables, false);
    artel__text_init(&onnx->nodes, model->ctx);
    artel__text_init(&onnx->initializers, model->ctx);
}

static void end(artel__onnx *onnx)
{
    artel__text_fini(&onnx->initializers);
    artel__text_fini(&onnx->nodes);
    artel__arena_fini(&onnx->arena);
}

static bool same_text(const artel__text *a, const artel__text *b)
{
    return a->length == b->length && memcmp(a->data, b->data, a->length) == 0;
}

/* Where axes are open, stand-ins of another size must give the same nodes: else one of them depends on the size. */
static artel_status check_sizes(const artel__onnx *first)
{
    artel__onnx second;
    artel__text graph;
    if (!artel__onnx_open(first)) return ARTEL_OK;
    begin(&second, first->model, 8);
    artel__text_init(&graph, first->model->ctx);
    artel_status status = export_model(&second, &graph);
    bool same = same_text(&first->nodes, &second.nodes) && same_text(&first->initializers, &second.initializers);
    if (status == ARTEL_OK && !same)
        status = artel__fail(
            first->model->ctx, ARTEL_ERROR_UNSUPPORTED, first->model->nn->name,
            "give the inputs their extents and export again",
            "a layer depends on the size of inputs that may have any size, which ONNX export does not know");
    artel__text_fini(&graph);
    end(&second);
    return status;
}

artel_status artel__onnx_save(const artel_model *model, const char *path)
{
    if (model->nn->wide)
        return artel__fail(model->ctx, ARTEL_ERROR_UNSUPPORTED, path, "export .keras or .safetensors",
                           "models of float64 are not written as ONNX");
    artel__onnx onnx;
    artel__text graph;
    begin(&onnx, model, 0);
    artel__text_init(&graph, model->ctx);
    artel_status status = export_model(&onnx, &graph);
    if (status == ARTEL_OK) status = check_sizes(&onnx);
    if (status == ARTEL_OK) status = write_model(&onnx, path, &graph);
    artel__text_fini(&graph);
    end(&onnx);
    return status;
}
