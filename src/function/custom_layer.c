/* SPDX-License-Identifier: Apache-2.0 */
/* Layers, losses and metrics that a program adds: definitions of its own in the form of nn's tables. */
#include <string.h>

#include "artel/extend.h"
#include "function/function_impl.h"
#include "nn/custom.h"
#include "nn/layer_support.h"

/* What lies in the context: nn sees the first member. */
typedef struct layer_class {
    artel__layer_def def;
    artel_layer_definition own;
    char name[128];
} layer_class;

/* A layer's `own`. */
struct artel_custom_layer {
    artel__layer *layer;
    const char *config;
    bool building;
};

typedef struct loss_class {
    artel__custom_loss def;
    artel_loss_definition own;
} loss_class;

static const layer_class *class_of(const artel__layer *layer)
{
    return layer->def->custom;
}

/* -- instances -- */

static artel_status configure(artel__layer *layer)
{
    char *text = NULL;
    artel_custom_layer *own = layer->own = artel__arena_alloc(layer->arena, 1, sizeof *own);
    if (!own) return ARTEL_ERROR_NO_MEMORY;
    own->layer = layer;
    json_t *config = json_object_get(layer->record, "config");
    if (config) ARTEL_TRY(artel__json_dump_string(layer->arena->ctx, config, ARTEL__JSON_COMPACT, &text));
    own->config = artel__arena_strdup(layer->arena, text ? text : "{}");
    artel__free(layer->arena->ctx, text);
    return artel__arena_status(layer->arena);
}

static artel_status said(const artel__layer *layer, artel_status status)
{
    const artel_error *error = artel_context_error(layer->arena->ctx);
    if (status >= 0 || error->status < 0) return status < 0 ? status : ARTEL_OK;
    return artel__layer_fail(layer, status, "see what its callback has found", "the layer's own code failed");
}

static artel_status build(artel__layer *layer, const artel__call *call)
{
    const layer_class *c = class_of(layer);
    artel_custom_layer *own = layer->own;
    artel_shape *shape = artel__arena_alloc(layer->arena, (size_t)call->inputs + 1, sizeof *shape);
    if (!shape) return ARTEL_ERROR_NO_MEMORY;
    for (int i = 0; i < call->inputs; i++) shape[i] = *artel__call_shape(call, i);
    if (!c->own.build) return ARTEL_OK;
    own->building = true;
    artel_status status = c->own.build(c->own.user, own, shape, call->inputs);
    own->building = false;
    return said(layer, status);
}

static artel_status call_layer(artel__layer *layer, artel__call *call)
{
    const layer_class *c = class_of(layer);
    int outputs = c->own.output_count > 0 ? c->own.output_count : 1;
    artel_graph g;
    artel_value *in = artel__arena_alloc(call->graph->arena, (size_t)call->inputs + 1, sizeof *in),
                out[ARTEL__LAYER_OUTPUTS];
    if (!in) return ARTEL_ERROR_NO_MEMORY;
    artel__graph_wrap(&g, call->graph);
    for (int i = 0; i < call->inputs; i++) in[i] = artel__graph_give(&g, call->in[i].value);
    for (int i = 0; i < outputs; i++) out[i] = ARTEL_NO_VALUE;
    artel_status status = c->own.call(c->own.user, layer->own, &g, in, call->inputs, out);
    ARTEL_TRY(call->graph->status);
    ARTEL_TRY(said(layer, status));
    for (int i = 0; i < outputs; i++) {
        artel__value_id value = out[i] < 0 ? ARTEL__NO_VALUE : artel__graph_take(&g, out[i]);
        ARTEL_TRY(call->graph->status);
        if (value < 0 || call->graph->value[value].domain != ARTEL__DOMAIN_ROW)
            return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "write every output, with rows", "output %d %s", i,
                                     value < 0 ? "was not written" : "is a shared value");
        call->out[i] = (artel__tensor){value, call->inputs ? call->in[0].mask : ARTEL__NO_VALUE};
    }
    call->outputs = outputs;
    return ARTEL_OK;
}

/* -- adding -- */

static artel_status check_name(artel_context *ctx, const char *what, const char *name)
{
    if (name && name[0] && strlen(name) < sizeof((layer_class *)NULL)->name) return ARTEL_OK;
    return artel__fail(ctx, ARTEL_ERROR_INVALID, what, "give it a name of less than 128 bytes",
                       "it has no name, or too long a one");
}

static const artel__range no_ranges[] = {{.name = NULL}};

artel_status artel_context_add_layer(artel_context *ctx, const artel_layer_definition *definition)
{
    static const artel__options_kind kind = {"layer definition", "set struct_size", sizeof(artel_layer_definition),
                                             no_ranges};
    artel_layer_definition own = {.struct_size = sizeof own};
    void *block;
    ARTEL_TRY(artel__enter(ctx, __func__, "context definition", ctx, definition));
    ARTEL_TRY(artel__take_options(ctx, &kind, definition, &own));
    ARTEL_TRY(check_name(ctx, "layer definition", own.class_name));
    if (!own.call || own.output_count < 0 || own.output_count > ARTEL__LAYER_OUTPUTS)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, own.class_name, "give a call, and 1 to 16 outputs", "%s%d outputs",
                           own.call ? "" : "no call, ", own.output_count);
    ARTEL_TRY(artel__calloc(ctx, 1, sizeof(layer_class), "layer class", &block));
    layer_class *c = block;
    c->own = own;
    strcpy(c->name, own.class_name);
    c->own.class_name = c->name;
    const char *package = strrchr(c->name, '>'); /* paths of weights have the class alone */
    c->def = (artel__layer_def){.class_name = package ? package + 1 : c->name,
                                .doc = "A class of the program's own.",
                                .custom = c,
                                .mask = ARTEL__MASK_OWN,
                                .configure = configure,
                                .build = build,
                                .call = call_layer};
    return artel__extension_add(ctx, ARTEL__EXTENSION_LAYER, c->name, c);
}

static artel__value_id add_loss(const void *self, const char *config, artel__graph *graph, artel__value_id target,
                                artel__value_id prediction)
{
    const loss_class *c = self;
    artel_graph g;
    artel__graph_wrap(&g, graph);
    if (c->def.target != ARTEL__TARGET_INDEX) target = artel__as_float(graph, target);
    artel_value t = artel__graph_give(&g, target), p = artel__graph_give(&g, prediction);
    if (graph->status < 0) return ARTEL__NO_VALUE;
    artel_value out = c->own.call(c->own.user, config, &g, t, p);
    if (graph->status < 0) return ARTEL__NO_VALUE;
    artel__value_id value = out < 0 ? ARTEL__NO_VALUE : artel__graph_take(&g, out);
    if (graph->status == ARTEL_OK && (value < 0 || graph->value[value].domain != ARTEL__DOMAIN_ROW))
        artel__graph_refuse(&g, ARTEL_ERROR_INVALID, c->own.name, "return a value by sample, before any reduction",
                            "it has given no value with rows");
    return graph->status < 0 ? ARTEL__NO_VALUE : artel__as_float(graph, value);
}

static artel_status add_class(artel_context *ctx, const char *kind_name, const artel_loss_definition *definition)
{
    static const artel__options_kind kind = {"loss definition", "set struct_size", sizeof(artel_loss_definition),
                                             no_ranges};
    artel_loss_definition own = {.struct_size = sizeof own};
    void *block;
    ARTEL_TRY(artel__take_options(ctx, &kind, definition, &own));
    ARTEL_TRY(check_name(ctx, "loss definition", own.name));
    if (!own.call) return artel__fail(ctx, ARTEL_ERROR_INVALID, own.name, "give a call", "the definition has none");
    size_t length = strlen(own.name) + 1;
    ARTEL_TRY(artel__calloc(ctx, 1, sizeof(loss_class) + length, kind_name, &block));
    loss_class *c = block;
    c->own = own;
    c->own.name = memcpy(c + 1, own.name, length);
    c->def = (artel__custom_loss){c, own.class_numbers ? ARTEL__TARGET_INDEX : ARTEL__TARGET_SAME, add_loss};
    return artel__extension_add(ctx, kind_name, c->own.name, c);
}

artel_status artel_context_add_loss(artel_context *ctx, const artel_loss_definition *definition)
{
    ARTEL_TRY(artel__enter(ctx, __func__, "context definition", ctx, definition));
    return add_class(ctx, ARTEL__EXTENSION_LOSS, definition);
}

artel_status artel_context_add_metric(artel_context *ctx, const artel_loss_definition *definition)
{
    ARTEL_TRY(artel__enter(ctx, __func__, "context definition", ctx, definition));
    return add_class(ctx, ARTEL__EXTENSION_METRIC, definition);
}

/* -- for callbacks -- */

const char *artel_custom_name(const artel_custom_layer *l)
{
    return l ? l->layer->name : "";
}

const char *artel_custom_config(const artel_custom_layer *l)
{
    return l ? l->config : "";
}

double artel_custom_number(const artel_custom_layer *l, const char *key, double fallback)
{
    double number = fallback;
    if (l && key) artel__json_number(artel__layer_setting(l->layer, key), &number);
    return number;
}

int artel_custom_add_weight(artel_custom_layer *l, const char *name, const artel_shape *shape, const char *initializer,
                            bool trainable)
{
    ARTEL_TRY(artel__need(l ? l->layer->arena->ctx : NULL, __func__, "layer name shape", l, name, shape));
    artel__layer *layer = l->layer;
    if (!l->building)
        return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "declare weights in build",
                                 "a weight is declared in call");
    if (!name[0] || shape->rank < 0 || shape->rank > ARTEL_MAX_RANK || artel_shape_count(shape) < 1)
        return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "give a name, and 0 to 8 axes of at least 1",
                                 "a weight without a name or elements");
    json_t *json = NULL;
    artel__initializer made;
    const char *text = initializer ? initializer : "glorot_uniform";
    if (text[0] == '{')
        ARTEL_TRY(artel__json_load(layer->arena->ctx, layer->name, text, strlen(text), &json));
    else if (!(json = json_string(text)))
        return artel__fail_memory(layer->arena->ctx, layer->name, 1);
    artel_status status = artel__initializer_read(layer->arena, layer->name, json, &made);
    json_decref(json);
    ARTEL_TRY(status);
    const artel__weight weight = {
        .name = artel__arena_strdup(layer->arena, name), .shape = *shape, .trainable = trainable, .initializer = &made};
    return weight.name ? artel__layer_add_weight(layer, &weight) : ARTEL_ERROR_NO_MEMORY;
}

artel_value artel_custom_weight(artel_custom_layer *l, artel_graph *g, int index)
{
    if (!g || g->graph->status < 0) return ARTEL_NO_VALUE;
    if (!l || index < 0 || index >= l->layer->variable_count)
        return artel__graph_refuse(g, ARTEL_ERROR_INVALID, l ? l->layer->name : "layer",
                                   "use indices that artel_custom_add_weight gave", "there is no weight %d", index);
    return artel__graph_give(g, artel__layer_weight(l->layer, g->graph, index));
}
