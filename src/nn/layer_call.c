/* SPDX-License-Identifier: Apache-2.0 */
/* The call of a layer into a graph, with what is the same for all of them: recorded arguments and masks, the dtype that
 * it computes in, penalties of its activity, what its result may be.
 */
#include <string.h>

#include "nn/activity.h"
#include "nn/layer_ops.h"
#include "nn/model.h"
#include "nn/record.h"
#include "op/elementwise.h"
#include "op/reduce.h"

#define MOST_ELEMENTS ((int64_t)1 << 40) /* in one row of a layer's result */

static void count_asked(json_t *kwargs, const char *name, uint64_t *asked)
{
    const char *key;
    json_t *value;
    uint64_t bit = 1;
    json_object_foreach(kwargs, key, value)
    {
        if (strcmp(key, name) == 0) *asked |= bit;
        bit <<= 1;
    }
}

json_t *artel__call_argument(const artel__call *call, const char *name)
{
    json_t *kwargs = json_object_get(call->arguments, "kwargs");
    if (call->asked) count_asked(kwargs, name, call->asked);
    return json_object_get(kwargs, name);
}

artel__tensor artel__call_tensor(const artel__call *call, json_t *argument)
{
    json_t *index = json_object_get(argument, "tensor");
    if (!json_is_integer(index) || json_integer_value(index) < 0 || json_integer_value(index) >= call->inputs)
        return (artel__tensor){ARTEL__NO_VALUE, ARTEL__NO_VALUE};
    if (call->taken) *call->taken |= (uint64_t)1 << (json_integer_value(index) & 63);
    return call->in[json_integer_value(index)];
}

/* Extents are settings of a file: their product must stay a count. */
static artel_status check_sizes(const artel__layer *layer, const artel__call *call)
{
    for (int i = 0; i < call->outputs; i++) {
        int64_t count = artel_shape_count(&call->graph->value[call->out[i].value].shape);
        if (count < 0 || count > MOST_ELEMENTS)
            return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "check the sizes in the model",
                                     "its result would be too large");
    }
    return ARTEL_OK;
}

/* Layers and operations that know nothing of masks keep one by returning their input as it is. */
static bool passes_mask(const artel__layer *layer, const artel__call *call)
{
    if (layer->def->mask == ARTEL__MASK_PASS) return true;
    return artel__layer_returns_input(layer, call->graph->training) && call->out[0].value == call->in[0].value;
}

static void apply_mask_rule(artel__layer *layer, artel__call *call)
{
    bool operation = artel__is_operation(layer->def->class_name);
    if (layer->def->mask == ARTEL__MASK_OWN && !operation) return;
    artel__value_id mask = call->inputs ? call->in[0].mask : ARTEL__NO_VALUE;
    bool passes = call->inputs && passes_mask(layer, call);
    if (operation && !passes) return;
    if (!passes && mask >= 0 && !layer->mask_warned) {
        layer->mask_warned = true;
        artel__log(layer->arena->ctx, ARTEL_LOG_WARNING, "layer \"%s\" (%s) does not pass masks on; the mask ends here",
                   layer->name, layer->def->class_name);
    }
    for (int i = 0; i < call->outputs; i++) call->out[i].mask = passes ? mask : ARTEL__NO_VALUE;
}

static artel__value_id explicit_mask(artel__call *call, json_t *argument)
{
    artel__value_id mask = artel__call_tensor(call, argument).value;
    return mask >= 0 ? artel__op_cast(call->graph, mask, ARTEL_DTYPE_BOOL) : ARTEL__NO_VALUE;
}

/* Masks that Keras recorded as an argument, one or a list, travel with the inputs like all others and are no inputs. */
static artel_status take_explicit_masks(const artel__layer *layer, artel__call *call)
{
    if (artel__is_operation(layer->def->class_name))
        return ARTEL_OK; /* the mask of dot_product_attention is an operand */
    json_t *masks = artel__call_argument(call, "mask");
    int given = artel__flatten_tensors(masks, NULL, 0),
        positional = artel__flatten_tensors(json_object_get(call->arguments, "args"), NULL, 0);
    if (!given || call->inputs < 1) return ARTEL_OK;
    artel__tensor *in = artel__arena_alloc(call->graph->arena, (size_t)call->inputs, sizeof *in);
    if (!in) return ARTEL_ERROR_NO_MEMORY;
    memcpy(in, call->in, (size_t)call->inputs * sizeof *in);
    if (layer->model) ARTEL_TRY(artel__model_take_masks(layer, call, masks, in));
    if (!layer->model && !json_is_array(masks)) in[0].mask = explicit_mask(call, masks);
    for (int i = 0; !layer->model && i < (int)json_array_size(masks) && i < call->inputs; i++)
        in[i].mask = explicit_mask(call, json_array_get(masks, (size_t)i));
    call->in = in;
    if (positional > 0 && positional + given == call->inputs) call->inputs = positional;
    return call->graph->status;
}

static bool has_wide_input(const artel__call *call)
{
    bool wide = false;
    for (int i = 0; i < call->inputs; i++)
        wide = wide || call->graph->value[call->in[i].value].dtype == ARTEL_DTYPE_FLOAT64;
    return wide;
}

static artel__value_id cast_input(const artel__layer *layer, artel__graph *graph, artel__value_id x)
{
    artel_dtype dtype = graph->status < 0 ? ARTEL_DTYPE_BOOL : graph->value[x].dtype;
    if (dtype == ARTEL_DTYPE_FLOAT32 || dtype == ARTEL_DTYPE_FLOAT64) x = artel__op_cast(graph, x, graph->real);
    return layer->def->cast == ARTEL__CAST_RESULT ? x : artel__op_narrow(graph, x, graph->precision);
}

/* Keras' autocast: floating-point inputs arrive in the compute dtype. Those of models and raw operations stay. */
static artel_status cast_inputs(const artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    bool wide = (layer->real == ARTEL_DTYPE_FLOAT64 || has_wide_input(call)) && !layer->model &&
                !artel__is_operation(layer->def->class_name),
         narrow = graph->precision && layer->def->cast != ARTEL__CAST_RESULT;
    if ((!wide && !narrow) || call->inputs < 1) return ARTEL_OK;
    artel__tensor *in = artel__arena_alloc(graph->arena, (size_t)call->inputs, sizeof *in);
    if (!in) return ARTEL_ERROR_NO_MEMORY;
    for (int i = 0; i < call->inputs; i++)
        in[i] = (artel__tensor){cast_input(layer, graph, call->in[i].value), call->in[i].mask};
    call->in = in;
    return graph->status;
}

/* What a call makes of numbers: a raw operation computes in float64 beside such an operand, and else as it was called;
 * in a model every layer follows its own policy. */
static artel_status choose_real(const artel__layer *layer, const artel__call *call)
{
    artel__graph *graph = call->graph;
    if (layer->model) return ARTEL_OK;
    if (!artel__is_operation(layer->def->class_name)) {
        graph->real = layer->real;
        return ARTEL_OK;
    }
    if (!has_wide_input(call)) return ARTEL_OK;
    graph->real = ARTEL_DTYPE_FLOAT64;
    if (artel__raw_has_float64(layer->def->class_name + 4)) return ARTEL_OK;
    return artel__layer_fail(layer, ARTEL_ERROR_UNSUPPORTED,
                             "cast its operands to float32; docs/eager.md lists the operations that have float64",
                             "this operation does not compute in float64");
}

/* The dtype that a call computes in: a raw operation has no policy and keeps what all its inputs have; in a model every
 * layer follows its own. */
static artel_dtype call_precision(const artel__layer *layer, const artel__call *call)
{
    const artel__graph *graph = call->graph;
    artel_dtype common = ARTEL_DTYPE_FLOAT32;
    bool any = false;
    if (layer->model) return ARTEL_DTYPE_FLOAT32;
    if (!artel__is_operation(layer->def->class_name)) return layer->precision;
    for (int i = 0; i < call->inputs; i++) {
        const artel__value *in = &graph->value[call->in[i].value];
        if (in->dtype != ARTEL_DTYPE_FLOAT32) continue;
        if (any && in->precision != common) return ARTEL_DTYPE_FLOAT32;
        common = in->precision;
        any = true;
    }
    return common;
}

static artel_status call_with_precision(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel_dtype outer = graph->precision, precision = call_precision(layer, call), real = graph->real;
    graph->precision = precision;
    ARTEL_TRY(choose_real(layer, call));
    ARTEL_TRY(cast_inputs(layer, call));
    if (layer->def->cast == ARTEL__CAST_RESULT) graph->precision = ARTEL_DTYPE_FLOAT32;
    ARTEL_TRY(layer->def->call(layer, call));
    for (int i = 0; i < call->outputs; i++) call->out[i].value = artel__op_narrow(graph, call->out[i].value, precision);
    graph->precision = outer;
    graph->real = real;
    return ARTEL_OK;
}

/* The penalty of one row joins what there is; beside float64 it is float64. */
static void add_extra(artel__graph *graph, artel__value_id sum)
{
    if (graph->status < 0) return;
    if (graph->extra < 0) {
        graph->extra = sum;
        return;
    }
    bool wide =
        graph->value[sum].dtype == ARTEL_DTYPE_FLOAT64 || graph->value[graph->extra].dtype == ARTEL_DTYPE_FLOAT64;
    artel_dtype dtype = wide ? ARTEL_DTYPE_FLOAT64 : ARTEL_DTYPE_FLOAT32;
    artel__value_id before = artel__op_cast(graph, graph->extra, dtype);
    graph->extra = artel__op_add(graph, before, artel__op_cast(graph, sum, dtype));
}

static artel__value_id sums_of_sizes(artel__graph *graph, const artel__regularizer *regularizer, artel__value_id x)
{
    artel__value_id sum = ARTEL__NO_VALUE;
    if (regularizer->l1 != 0)
        sum = artel__op_affine(graph, artel__op_unary(graph, ARTEL__UNARY_ABS, NULL, x), (float)regularizer->l1, 0);
    if (regularizer->l2 != 0) {
        artel__value_id squares =
            artel__op_affine(graph, artel__op_unary(graph, ARTEL__UNARY_SQUARE, NULL, x), (float)regularizer->l2, 0);
        sum = sum < 0 ? squares : artel__op_add(graph, sum, squares);
    }
    uint32_t axes = (1u << graph->value[x].shape.rank) - 1u;
    return axes ? artel__op_reduce(graph, ARTEL__REDUCE_SUM, sum, axes, false) : sum;
}

void artel__layer_penalise(artel__graph *graph, const artel__regularizer *regularizer, artel__value_id x)
{
    if (artel__regularizer_is_none(regularizer) || graph->status < 0 || x < 0 ||
        (graph->value[x].dtype != ARTEL_DTYPE_FLOAT32 && graph->value[x].dtype != ARTEL_DTYPE_FLOAT64))
        return;
    artel_dtype outer = graph->precision;
    graph->precision = ARTEL_DTYPE_FLOAT32;
    artel__value_id sum = regularizer->orthogonal != 0 ? artel__regularizer_activity(graph, regularizer, x)
                                                       : sums_of_sizes(graph, regularizer, x);
    if (sum >= 0) add_extra(graph, sum);
    graph->precision = outer;
}

/* Strings go to the layers that make numbers of them. */
static artel_status check_strings(const artel__layer *layer, const artel__call *call)
{
    for (int i = 0; i < call->inputs && !layer->def->strings && !layer->model; i++) {
        if (call->graph->value[call->in[i].value].dtype == ARTEL_DTYPE_STRING)
            return artel__layer_fail(layer, ARTEL_ERROR_UNSUPPORTED,
                                     "put a StringLookup, Hashing or TextVectorization in front of it",
                                     "its input holds strings, which this layer does not take");
    }
    return ARTEL_OK;
}

static bool holds_array(json_t *value)
{
    const char *key;
    bool found = artel__is_array_record(value);
    size_t i;
    json_t *item;
    json_array_foreach(value, i, item) found = found || holds_array(item);
    json_object_foreach(value, key, item) found = found || holds_array(item);
    return found;
}

/* Arrays beside tensors are operands of operations, and the attention_mask of layers; of no other call. */
static artel_status check_arrays(const artel__layer *layer, const artel__call *call)
{
    const char *key;
    json_t *item, *kwargs = json_object_get(call->arguments, "kwargs");
    bool found = holds_array(json_object_get(call->arguments, "args"));
    if (artel__is_operation(layer->def->class_name)) return ARTEL_OK;
    json_object_foreach(kwargs, key, item) found = found || (strcmp(key, "attention_mask") != 0 && holds_array(item));
    if (!found) return ARTEL_OK;
    return artel__layer_fail(layer, ARTEL_ERROR_UNSUPPORTED, "make it a result of an operation, or an input",
                             "an array among the arguments of its call is not supported");
}

artel_status artel__layer_call(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    const char *outer = graph->scope;
    ARTEL_TRY(graph->status);
    graph->scope = layer->scope;
    call->outputs = 0;
    ARTEL_TRY(check_strings(layer, call));
    ARTEL_TRY(check_arrays(layer, call));
    ARTEL_TRY(take_explicit_masks(layer, call));
    if (!layer->built) {
        if (layer->def->build) ARTEL_TRY(layer->def->build(layer, call));
        layer->built = true;
    }
    int first = graph->nodes;
    ARTEL_TRY(call_with_precision(layer, call));
    ARTEL_TRY(graph->status);
    if (layer->real == ARTEL_DTYPE_FLOAT64 && !layer->model) ARTEL_TRY(artel__layer_check_float64(layer, graph, first));
    ARTEL_TRY(check_sizes(layer, call));
    for (int i = 0; i < call->outputs; i++) artel__layer_penalise(graph, &layer->activity, call->out[i].value);
    apply_mask_rule(layer, call);
    graph->scope = outer;
    return ARTEL_OK;
}
