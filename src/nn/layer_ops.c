/* SPDX-License-Identifier: Apache-2.0 */
/* Keras' raw operations as layers: the table, and those that are one operation of ours.
 *
 * layer_ops.list has a row each; layer_ops_math.c has those that are put together, layer_ops_shape.c those that move
 * elements. Integers and truth values become float32 before arithmetic.
 */
#include "nn/layer_ops.h"

#include <math.h>
#include <string.h>

#include "op/elementwise.h"
#include "op/reduce.h"
#include "op/shape_ops.h"

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
#define ALSO(symbol, name, function)
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
#undef ALSO
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
        double parameter[3] = {exponent, 0, 0};
        artel__call_return(
            call, artel__op_unary_exact(graph, exponent == 2 ? ARTEL__UNARY_SQUARE : ARTEL__UNARY_POWER, parameter, a));
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
    bool integers =
        graph->value[operand[0]].dtype == ARTEL_DTYPE_INT32 && graph->value[operand[1]].dtype == ARTEL_DTYPE_INT32;
    for (int i = 0; i < 2 && !integers; i++) operand[i] = artel__as_float(graph, operand[i]);
    artel__call_return(call, artel__op_compare(graph, function, operand[0], operand[1]));
    return ARTEL_OK;
}

static artel_status call_reduce(artel__layer *layer, artel__call *call)
{
    artel__value_id x;
    uint32_t axes;
    ARTEL_TRY(artel__raw_reduction(layer, call, &x, &axes));
    artel__reduction function = (artel__reduction)code_of(reduce_rows, layer);
    const artel_shape *shape = &call->graph->value[x].shape;
    bool keeps = artel__raw_keeps_axes(layer, call); /* a single number has none, and may be told to keep them */
    bool extremum = function == ARTEL__REDUCE_MAX || function == ARTEL__REDUCE_MIN;
    for (int i = 0; i < shape->rank && extremum; i++) {
        if (axes >> i & 1u && shape->dim[i] == 0) return artel__raw_refuse(layer, "an axis without elements");
    }
    artel__call_return(call, axes ? artel__op_reduce(call->graph, function, x, axes, keeps) : x);
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
    ARTEL__PART("x", "places of trapezoid"),
    ARTEL__PART("dx", "the width of trapezoid"),
    ARTEL__PART("synchronized", "accepted"),
    ARTEL__PART("offset", "which diagonal"),
    ARTEL__PART("axisa", "vectors of the first operand"),
    ARTEL__PART("axisb", "vectors of the second operand"),
    ARTEL__PART("axisc", "vectors of the result"),
    ARTEL__PART("block_size", "extent of a block"),
    ARTEL__PART("sequence_length", "of a frame"),
    ARTEL__PART("sequence_stride", "between frames"),
    ARTEL__PART("ragged", "not supported"),
    ARTEL__PART("pool_size", "extents of a window"),
    ARTEL__PART("output_size", "extents of the result"),
    ARTEL__PART("strides", "between windows"),
    ARTEL__PART("padding", "valid or same"),
    ARTEL__PART("dilation_rate", "between places of a window"),
    ARTEL__PART("output_padding", "what is added to the output at its end"),
    ARTEL__PART("rms_scaling", "whether the mean stays"),
    ARTEL__PART("is_causal", "whether keys behind the query are hidden"),
    ARTEL__PART("flash_attention", "not supported"),
    ARTEL__PART("attn_logits_soft_cap", "not supported"),
    ARTEL__PART("top_padding", "border above"),
    ARTEL__PART("bottom_padding", "border below"),
    ARTEL__PART("left_padding", "border on the left"),
    ARTEL__PART("right_padding", "border on the right"),
    ARTEL__PART("top_cropping", "lines cut above"),
    ARTEL__PART("bottom_cropping", "lines cut below"),
    ARTEL__PART("left_cropping", "columns cut on the left"),
    ARTEL__PART("right_cropping", "columns cut on the right"),
    ARTEL__PART("target_height", "lines of the result"),
    ARTEL__PART("target_width", "columns of the result"),
    ARTEL__PART("kernel_size", "extents of a window"),
    ARTEL__PART("dilation", "between places of a window"),
    ARTEL__PART("stride", "between windows"),
    ARTEL__PART("sigma", "width of a normal curve"),
    ARTEL__PART("max_val", "the largest number of an image"),
    ARTEL__PART("filter_size", "extent of a filter"),
    ARTEL__PART("filter_sigma", "width of a filter"),
    ARTEL__PART("k1", "a constant of SSIM"),
    ARTEL__PART("k2", "a constant of SSIM"),
    ARTEL__PART("upper", "whether the factor is the upper triangle"),
    ARTEL__PART("lower", "whether the triangle is the lower one"),
    ARTEL__PART("full_matrices", "whether vectors are whole bases"),
    ARTEL__PART("compute_uv", "whether singular vectors are wanted"),
    ARTEL__PART("rcond", "singular values that count as 0, as a part of the largest"),
    ARTEL__PART("tol", "singular values that count as 0"),
    ARTEL__PART("fft_length", "places of a transform"),
    ARTEL__PART("window", "hann, hamming or a list"),
    ARTEL__PART("center", "whether the signal is mirrored at its ends"),
    ARTEL__PART("k", "how many, or which diagonal"),
    ARTEL__PART("sorted", "accepted"),
    ARTEL__PART("method", "how a quantile lies between two elements"),
    ARTEL__PART("side", "left or right"),
    ARTEL__PART("assume_unique", "accepted"),
    ARTEL__PART("invert", "whether the answer is turned"),
    ARTEL__PART("sparse", "not supported"),
    ARTEL__PART("shape", "of an array"),
    ARTEL__PART("subscripts", "the equation of einsum"),
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

/* Those that TensorFlow leaves out where nothing is to be done. */
static bool returns_operand(const artel__layer *layer, bool training)
{
    static const char *const names[] = {"ops.Cast", "ops.Conj", "ops.Conjugate", "ops.Real"};
    (void)training;
    for (size_t i = 0; i < ARTEL__COUNT(names); i++) {
        if (strcmp(layer->def->class_name, names[i]) == 0) return true;
    }
    return false;
}

#define DEFINE(symbol, name, function)                        \
    const artel__layer_def artel__layer_op_##symbol##_def = { \
        .class_name = "ops." name,                            \
        .doc = "Keras' operation of that name.",              \
        .options = op_options,                                \
        .mask = ARTEL__MASK_OWN,                              \
        .call = function,                                     \
        .returns_input = returns_operand,                     \
    };
#define UNARY(symbol, name, function, a, b, c) DEFINE(symbol, name, call_unary)
#define BINARY(symbol, name, function) DEFINE(symbol, name, call_binary)
#define COMPARE(symbol, name, function) DEFINE(symbol, name, call_compare)
#define REDUCE(symbol, name, function) DEFINE(symbol, name, call_reduce)
#define FORMULA(symbol, name) DEFINE(symbol, name, artel__raw_formula)
#define OTHER(symbol, name) DEFINE(symbol, name, artel__raw_##symbol)
#define ALSO(symbol, name, function) DEFINE(symbol, name, artel__raw_##function)
#include "nn/layer_ops.list"
