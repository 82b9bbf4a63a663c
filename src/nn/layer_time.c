/* SPDX-License-Identifier: Apache-2.0 */
/* TimeDistributed: one layer at every step of axis 1.
 *
 * Layers that work on the last axis alone take all steps at once. Any other is called step by step with the same
 * variables and the results put side by side, as Keras does: batch statistics are those of a step, and the moving
 * ones change once a step. A mask goes on as it is; its steps go to layers inside that take one.
 */
#include <string.h>

#include "nn/layer_support.h"
#include "op/op.h"
#include "op/shape_ops.h"

#define MOST_STEPS 4096 /* each adds nodes of its own to the graph */

static const artel__option time_options[] = {
    {"layer", "record of the layer inside", ARTEL__OPTION_IGNORED, 0, NULL, 0, 0, NULL},
    ARTEL__OPTIONS_END,
};

static artel_status configure_time(artel__layer *layer)
{
    artel__layer *child;
    json_t *record;
    ARTEL_TRY(artel__layer_inside(layer, &record));
    ARTEL_TRY(artel__layer_add_child(layer, record, "layer", &child));
    child->activity = (artel__regularizer){0}; /* Keras calls what is inside without what is around a call */
    return ARTEL_OK;
}

/* Whether one call over [t][...] is the same as a call a step. */
static bool takes_all_steps(const artel__layer *child)
{
    static const char *const classes[] = {"Dense", "Embedding",     "Identity",        "ReLU", "LeakyReLU",
                                          "ELU",   "GaussianNoise", "GaussianDropout", NULL};
    static const char *const last_axis[] = {"LayerNormalization", "RMSNormalization", "UnitNormalization", "Softmax",
                                            NULL};
    for (int i = 0; classes[i]; i++) {
        if (strcmp(classes[i], child->def->class_name) == 0) return true;
    }
    json_t *axis = artel__layer_setting(child, "axis");
    if (json_is_array(axis) && json_array_size(axis) == 1) axis = json_array_get(axis, 0);
    for (int i = 0; last_axis[i]; i++) {
        if (strcmp(last_axis[i], child->def->class_name) == 0)
            return !axis || (json_is_integer(axis) && json_integer_value(axis) == -1);
    }
    return false;
}

/* Whether Keras hands the step of a mask to the layer inside: it does when the layer's call has an argument for it. */
static bool takes_mask(const artel__layer *child)
{
    static const char *const classes[] = {
        "BatchNormalization", "LSTM",       "GRU",        "SimpleRNN", "RNN", "Bidirectional", "GlobalAveragePooling1D",
        "TimeDistributed",    "Sequential", "Functional", "Model",     NULL};
    for (int i = 0; classes[i]; i++) {
        if (strcmp(classes[i], child->def->class_name) == 0) return true;
    }
    return false;
}

/* Step `t` of [t][...]. */
static artel__value_id take_step(artel__graph *graph, artel__value_id x, int64_t t)
{
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    artel_shape shape = graph->value[x].shape, rest = {.rank = shape.rank - 1};
    for (int i = 0; i < rest.rank; i++) rest.dim[i] = shape.dim[i + 1];
    return artel__op_reshape(graph, artel__op_slice(graph, x, 0, t, 1, 1), &rest);
}

/* One result as [1][...]. */
static artel_status call_step(artel__layer *layer, artel__call *outer, int64_t t, artel__value_id *out)
{
    artel__graph *graph = outer->graph;
    artel__layer *child = layer->child[0].layer;
    artel__tensor in = {take_step(graph, outer->in[0].value, t), ARTEL__NO_VALUE}, made[16];
    if (takes_mask(child)) in.mask = take_step(graph, outer->in[0].mask, t);
    artel__call call = {.graph = graph, .in = &in, .inputs = 1, .out = made};
    ARTEL_TRY(artel__layer_call(child, &call));
    if (call.outputs != 1)
        return artel__layer_fail(layer, ARTEL_ERROR_UNSUPPORTED, "wrap a layer with one output",
                                 "the layer inside has %d outputs", call.outputs);
    artel_shape shape = graph->value[made[0].value].shape;
    if (shape.rank >= ARTEL_MAX_RANK)
        return artel__layer_fail(layer, ARTEL_ERROR_UNSUPPORTED, "use fewer axes", "the result has too many axes");
    for (int i = shape.rank++; i > 0; i--) shape.dim[i] = shape.dim[i - 1];
    shape.dim[0] = 1;
    *out = artel__op_reshape(graph, made[0].value, &shape);
    return graph->status;
}

static artel_status call_time(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__layer *child = layer->child[0].layer;
    ARTEL_TRY(artel__layer_check_input(layer, call, 2, ARTEL_MAX_RANK));
    if (takes_all_steps(child)) {
        artel__tensor in = {call->in[0].value, ARTEL__NO_VALUE};
        artel__call inner = {.graph = graph, .in = &in, .inputs = 1, .out = call->out};
        ARTEL_TRY(artel__layer_call(child, &inner));
        call->outputs = inner.outputs;
        return ARTEL_OK;
    }
    int64_t steps = artel__call_shape(call, 0)->dim[0];
    if (steps < 1 || steps > MOST_STEPS)
        return artel__layer_fail(layer, ARTEL_ERROR_UNSUPPORTED, "feed 1 to 4096 steps",
                                 "%lld steps of a %s one by one are not supported", (long long)steps,
                                 child->def->class_name);
    artel__value_id *part = artel__arena_alloc(graph->arena, (size_t)steps, sizeof *part);
    if (!part) return ARTEL_ERROR_NO_MEMORY;
    for (int64_t t = 0; t < steps; t++) ARTEL_TRY(call_step(layer, call, t, &part[t]));
    artel__call_return(call, steps == 1 ? part[0] : artel__op_concat(graph, part, (int)steps, 0));
    return ARTEL_OK;
}

const artel__layer_def artel__layer_time_distributed_def = {
    .class_name = "TimeDistributed",
    .doc = "One layer at every step.",
    .options = time_options,
    .mask = ARTEL__MASK_PASS,
    .configure = configure_time,
    .call = call_time,
};
