/* SPDX-License-Identifier: Apache-2.0 */
/* Keras' raw operations as layers: their arguments, the table, and those that are one operation of ours.
 *
 * layer_ops.list has a row each; layer_ops_math.c has those that are put together, layer_ops_shape.c those that move
 * elements. Arguments are in call->arguments, with constants inline. Integers and truth values become float32 before
 * arithmetic.
 */
#include "nn/layer_ops.h"

#include <math.h>
#include <string.h>

#include "op/elementwise.h"
#include "op/reduce.h"

/* -- arguments -- */

json_t *artel__raw_argument(const artel__call *call, int n)
{
    return json_array_get(json_object_get(call->arguments, "args"), (size_t)n);
}

artel_status artel__raw_refuse(const artel__layer *layer, const char *what)
{
    return artel__layer_fail(layer, ARTEL_ERROR_UNSUPPORTED, "see docs/layers.md for the operations and their forms",
                             "this operation of keras.src.ops is not supported with %s", what);
}

artel_status artel__raw_operand(const artel__layer *layer, const artel__call *call, json_t *argument, artel__value_id *out)
{
    if (!call->arguments && call->inputs > 0) {
        *out = call->in[0].value;
        return ARTEL_OK;
    }
    *out = artel__call_tensor(call, argument).value;
    if (*out < 0) *out = artel__constant_json(call->graph, argument);
    return *out < 0 ? artel__raw_refuse(layer, "this argument") : ARTEL_OK;
}

artel_status artel__raw_tensor(const artel__layer *layer, const artel__call *call, artel__value_id *out)
{
    ARTEL_TRY(artel__raw_operand(layer, call, artel__raw_argument(call, 0), out));
    return call->graph->value[*out].domain == ARTEL__DOMAIN_ROW ? ARTEL_OK : artel__raw_refuse(layer, "a constant as its first argument");
}

json_t *artel__raw_setting(const artel__layer *layer, const artel__call *call, const char *key, int position)
{
    json_t *value = artel__layer_setting(layer, key);
    if (!value) value = artel__call_argument(call, key);
    if (!value && position > 0) value = artel__raw_argument(call, position);
    return json_is_null(value) ? NULL : value;
}

double artel__raw_number(const artel__layer *layer, const artel__call *call, const char *key, double fallback)
{
    double number = fallback;
    artel__json_number(artel__raw_setting(layer, call, key, 0), &number);
    return number;
}

artel_status artel__raw_axis(const artel__layer *layer, const artel__call *call, const char *key, int64_t fallback, int rank, int *out)
{
    int64_t axis = fallback;
    json_t *given = artel__raw_setting(layer, call, key, 0);
    *out = given && !artel__json_integer(given, &axis) ? -1 : artel__row_axis(axis, rank);
    return *out < 0 ? artel__raw_refuse(layer, "this axis") : ARTEL_OK;
}

artel_status artel__raw_axes(const artel__layer *layer, const artel__call *call, int rank, uint32_t *out)
{
    json_t *axis = artel__raw_setting(layer, call, "axis", 0);
    *out = 0;
    if (!axis) return artel__raw_refuse(layer, "axis=None, which mixes the rows of the batch");
    for (size_t i = 0; i < (json_is_array(axis) ? json_array_size(axis) : 1); i++) {
        int64_t number;
        json_t *item = json_is_array(axis) ? json_array_get(axis, i) : axis;
        int row = artel__json_integer(item, &number) ? artel__row_axis(number, rank) : -1;
        if (row < 0) return artel__raw_refuse(layer, "this axis; the batch cannot be reduced");
        *out |= 1u << row;
    }
    return ARTEL_OK;
}

bool artel__raw_keeps_axes(const artel__layer *layer, const artel__call *call)
{
    return json_is_true(artel__raw_setting(layer, call, "keepdims", 0));
}

artel_status artel__raw_float(const artel__layer *layer, const artel__call *call, artel__value_id *x)
{
    ARTEL_TRY(artel__raw_tensor(layer, call, x));
    *x = artel__as_float(call->graph, *x);
    return ARTEL_OK;
}

/* A constant written with a batch axis loses it; then the two broadcast as rows. */
artel_status artel__raw_align(const artel__layer *layer, artel__graph *graph, artel__value_id *a, const artel__value_id *b)
{
    if (graph->status < 0) return graph->status;
    const artel__value *constant = &graph->value[*a], *row = &graph->value[*b];
    if (constant->domain != ARTEL__DOMAIN_GLOBAL || constant->shape.rank <= row->shape.rank) return ARTEL_OK;
    if (constant->shape.rank != row->shape.rank + 1 || constant->shape.dim[0] != 1)
        return artel__raw_refuse(layer, "a constant of this shape");
    artel_shape shape = {.rank = constant->shape.rank - 1};
    for (int i = 0; i < shape.rank; i++) shape.dim[i] = constant->shape.dim[i + 1];
    *a = artel__op_reshape(graph, *a, &shape);
    return ARTEL_OK;
}

artel_status artel__raw_operands(const artel__layer *layer, const artel__call *call, artel__value_id *a, artel__value_id *b)
{
    ARTEL_TRY(artel__raw_operand(layer, call, artel__raw_argument(call, 0), a));
    ARTEL_TRY(artel__raw_operand(layer, call, artel__raw_argument(call, 1), b));
    ARTEL_TRY(artel__raw_align(layer, call->graph, a, b));
    return artel__raw_align(layer, call->graph, b, a);
}

/* -- rows of the table -- */

typedef struct unary_row {
    const char *class_name;
    artel__unary function;
    float parameter[3];
} unary_row;

typedef struct coded_row {
    const char *class_name;
    int code;
} coded_row;

#define OTHER(symbol, name)
#define FORMULA(symbol, name)
#define BINARY(symbol, name, function)
#define COMPARE(symbol, name, function)
#define REDUCE(symbol, name, function)
#define UNARY(symbol, name, function, a, b, c) {"ops." name, ARTEL__UNARY_##function, {a, b, c}},
static const unary_row unary_rows[] = {
#include "nn/layer_ops.list"
};
#undef UNARY
#define UNARY(symbol, name, function, a, b, c)
#undef BINARY
#define BINARY(symbol, name, function) {"ops." name, ARTEL__BINARY_##function},
static const coded_row binary_rows[] = {
#include "nn/layer_ops.list"
};
#undef BINARY
#define BINARY(symbol, name, function)
#undef COMPARE
#define COMPARE(symbol, name, function) {"ops." name, ARTEL__COMPARE_##function},
static const coded_row compare_rows[] = {
#include "nn/layer_ops.list"
};
#undef COMPARE
#define COMPARE(symbol, name, function)
#undef REDUCE
#define REDUCE(symbol, name, function) {"ops." name, ARTEL__REDUCE_##function},
static const coded_row reduce_rows[] = {
#include "nn/layer_ops.list"
};
#undef REDUCE
#undef COMPARE
#undef BINARY
#undef UNARY
#undef OTHER
#undef FORMULA

/* The row of this layer's class, which exists, for the layer was made from it. */
static int code_of(const coded_row *rows, const artel__layer *layer)
{
    while (strcmp(rows->class_name, layer->def->class_name) != 0) rows++;
    return rows->code;
}

static artel_status call_unary(artel__layer *layer, artel__call *call)
{
    const unary_row *row = unary_rows;
    while (strcmp(row->class_name, layer->def->class_name) != 0) row++;
    artel__value_id x;
    ARTEL_TRY(artel__raw_float(layer, call, &x));
    artel__call_return(call, artel__op_unary(call->graph, row->function, row->parameter, x));
    return ARTEL_OK;
}

static artel_status call_binary(artel__layer *layer, artel__call *call)
{
    artel__binary function = (artel__binary)code_of(binary_rows, layer);
    artel__graph *graph = call->graph;
    artel__value_id a, b;
    double exponent;
    ARTEL_TRY(artel__raw_operands(layer, call, &a, &b));
    a = artel__as_float(graph, a);
    if (function == ARTEL__BINARY_POW && artel__json_number(artel__raw_argument(call, 1), &exponent)) {
        float parameter[3] = {(float)exponent, 0, 0};
        artel__call_return(call, artel__op_unary(graph, exponent == 2 ? ARTEL__UNARY_SQUARE : ARTEL__UNARY_POWER, parameter, a));
        return ARTEL_OK;
    }
    artel__call_return(call, artel__op_binary(graph, function, a, artel__as_float(graph, b)));
    return ARTEL_OK;
}

static artel_status call_compare(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__value_id operand[2];
    ARTEL_TRY(artel__raw_operands(layer, call, &operand[0], &operand[1]));
    artel__comparison function = (artel__comparison)code_of(compare_rows, layer);
    bool integers = graph->value[operand[0]].dtype == ARTEL_DTYPE_INT32 && graph->value[operand[1]].dtype == ARTEL_DTYPE_INT32;
    for (int i = 0; i < 2 && !integers; i++) operand[i] = artel__as_float(graph, operand[i]);
    artel__call_return(call, artel__op_compare(graph, function, operand[0], operand[1]));
    return ARTEL_OK;
}

artel_status artel__raw_reduction(const artel__layer *layer, const artel__call *call, artel__value_id *x, uint32_t *axes)
{
    ARTEL_TRY(artel__raw_float(layer, call, x));
    if (call->graph->status < 0) return call->graph->status;
    if (artel__raw_setting(layer, call, "initial", 0)) return artel__raw_refuse(layer, "initial");
    return artel__raw_axes(layer, call, call->graph->value[*x].shape.rank, axes);
}

static artel_status call_reduce(artel__layer *layer, artel__call *call)
{
    artel__value_id x;
    uint32_t axes;
    ARTEL_TRY(artel__raw_reduction(layer, call, &x, &axes));
    artel__reduction function = (artel__reduction)code_of(reduce_rows, layer);
    artel__call_return(call, axes ? artel__op_reduce(call->graph, function, x, axes, artel__raw_keeps_axes(layer, call)) : x);
    return ARTEL_OK;
}

/* -- definitions -- */

static const artel__option op_options[] = {
    ARTEL__PART("axis", "axis, counting the batch"),
    ARTEL__PART("keepdims", "whether reduced axes stay"),
    ARTEL__PART("initial", "not supported"),
    ARTEL__PART("approximate", "the faster form of GELU"),
    ARTEL__PART("negative_slope", "slope below 0"),
    ARTEL__PART("alpha", "of ELU and CELU"),
    ARTEL__PART("x_min", "lower limit"),
    ARTEL__PART("x_max", "upper limit"),
    ARTEL__PART("ord", "order of a norm"),
    ARTEL__PART("order", "order of a norm"),
    ARTEL__PART("epsilon", "least norm"),
    ARTEL__PART("num_classes", "of one_hot"),
    ARTEL__PART("newshape", "shape with the batch"),
    ARTEL__PART("axes", "order of the axes"),
    ARTEL__PART("axis1", "first axis"),
    ARTEL__PART("axis2", "second axis"),
    ARTEL__PART("indices_or_sections", "where to split"),
    ARTEL__PART("repeats", "how many times"),
    ARTEL__PART("pad_width", "border of each axis"),
    ARTEL__PART("mode", "kind of border"),
    ARTEL__PART("decimals", "0"),
    ARTEL__PART("threshold", "where a function changes"),
    ARTEL__PART("default_value", "of threshold"),
    ARTEL__PART("b", "of squareplus"),
    ARTEL__PART("n", "how often"),
    ARTEL__PART("shift", "how far"),
    ARTEL__PART("num", "how many parts"),
    ARTEL__PART("source", "an axis"),
    ARTEL__PART("destination", "where it goes"),
    ARTEL__PART("size", "height and width"),
    ARTEL__PART("interpolation", "filter of resize"),
    ARTEL__PART("antialias", "a wider filter"),
    ARTEL__PART("crop_to_aspect_ratio", "not supported"),
    ARTEL__PART("pad_to_aspect_ratio", "not supported"),
    ARTEL__PART("fill_mode", "accepted"),
    ARTEL__PART("fill_value", "accepted"),
    ARTEL__PART("data_format", "channels_last or channels_first"),
    ARTEL__PART("dtype", "accepted"),
    ARTEL__PART("equal_nan", "whether NaN is close to NaN"),
    ARTEL__PART("nan", "in place of NaN"),
    ARTEL__PART("posinf", "in place of infinity"),
    ARTEL__PART("neginf", "in place of minus infinity"),
    ARTEL__PART("from_logits", "whether numbers are logits"),
    ARTEL__OPTIONS_END,
};

#define DEFINE(symbol, name, function)                        \
    const artel__layer_def artel__layer_op_##symbol##_def = { \
        .class_name = "ops." name,                            \
        .doc = "Keras' operation of that name.",              \
        .options = op_options,                                \
        .mask = ARTEL__MASK_OWN,                              \
        .call = function,                                     \
    };
#define UNARY(symbol, name, function, a, b, c) DEFINE(symbol, name, call_unary)
#define BINARY(symbol, name, function) DEFINE(symbol, name, call_binary)
#define COMPARE(symbol, name, function) DEFINE(symbol, name, call_compare)
#define REDUCE(symbol, name, function) DEFINE(symbol, name, call_reduce)
#define FORMULA(symbol, name) DEFINE(symbol, name, artel__raw_formula)
#define OTHER(symbol, name) DEFINE(symbol, name, artel__raw_##symbol)
#include "nn/layer_ops.list"
