/* SPDX-License-Identifier: Apache-2.0 */
/* Rescaling and Normalization: constants at the front of a model.
 *
 * Rescaling: x * scale + offset. Normalization: (x - mean) / max(sqrt(variance), 1e-7), or the inverse; mean and
 * variance come from the config, or were adapted and are variables of the weights file. After
 * keras/src/layers/preprocessing.
 */
#include "kernel/narrow.h"
#include "nn/layer_support.h"
#include "op/elementwise.h"

typedef struct scale_config {
    bool invert;
} scale_config;

static const artel__option rescaling_options[] = {
    {"scale", "factor, or a list of them", ARTEL__OPTION_IGNORED, 0, NULL, 0, 0, NULL},
    ARTEL__PART("offset", "summand, or a list of them"),
    ARTEL__OPTIONS_END,
};

/* Numbers of a setting. Keras' TensorFlow backend makes them float32 before it casts them to the layer's type. */
static artel__value_id setting(artel__graph *graph, json_t *numbers)
{
    artel_dtype real = graph->real;
    graph->real = ARTEL_DTYPE_FLOAT32;
    artel__value_id value = artel__constant_json(graph, numbers);
    graph->real = real;
    return value < 0 ? value : artel__op_cast(graph, value, real);
}

static artel_status call_rescaling(artel__layer *layer, artel__call *call)
{
    ARTEL_TRY(artel__layer_check_input(layer, call, 0, ARTEL_MAX_RANK));
    artel__graph *graph = call->graph;
    artel__value_id x = artel__as_float(graph, call->in[0].value);
    json_t *scale = artel__layer_setting(layer, "scale"), *offset = artel__layer_setting(layer, "offset");
    double factor = 1, summand = 0;
    bool plain = artel__json_number(scale, &factor) && (!offset || artel__json_number(offset, &summand));
    if (plain && graph->real == ARTEL_DTYPE_FLOAT64) {
        /* float32 on their way, as in Keras' TensorFlow backend */
        artel__call_return(
            call, artel__op_affine(graph, x, artel__round_to_float32(factor), artel__round_to_float32(summand)));
        return ARTEL_OK;
    }
    if (plain) {
        float a = artel__narrow_one(graph->precision, (float)factor),
              b = artel__narrow_one(graph->precision, (float)summand);
        artel__call_return(call, artel__op_affine(graph, x, a, b));
        return ARTEL_OK;
    }
    artel__value_id a = setting(graph, scale), b = offset ? setting(graph, offset) : ARTEL__NO_VALUE;
    if (a < 0 || (offset && b < 0))
        return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "use numbers or lists of numbers",
                                 "scale or offset is neither");
    artel__value_id y = artel__op_binary(graph, ARTEL__BINARY_MUL, x, a);
    artel__call_return(call, b >= 0 ? artel__op_add(graph, y, b) : y);
    return ARTEL_OK;
}

const artel__layer_def artel__layer_rescaling_def = {
    .class_name = "Rescaling",
    .doc = "x * scale + offset.",
    .config_size = sizeof(scale_config),
    .options = rescaling_options,
    .mask = ARTEL__MASK_PASS,
    .call = call_rescaling,
};

/* -- Normalization -- */

static const artel__option normalization_options[] = {
    ARTEL__PART("axis", "axes that have statistics of their own; null: one mean for all"),
    ARTEL__PART("mean", "given mean; null: adapted"),
    ARTEL__PART("variance", "given variance; null: adapted"),
    {"invert", "whether the layer undoes a normalisation", ARTEL__OPTION_BOOL, offsetof(scale_config, invert), "false",
     0, 0, NULL},
    ARTEL__OPTIONS_END,
};

/* null means no axis at all here, unlike a missing key. */
static artel_status kept_axes(const artel__layer *layer, const artel__call *call, uint32_t *out)
{
    json_t *axis = json_object_get(json_object_get(layer->record, "config"), "axis");
    ARTEL_TRY(artel__layer_check_input(layer, call, 0, ARTEL_MAX_RANK));
    *out = 0;
    return json_is_null(axis) ? ARTEL_OK : artel__layer_axes(layer, axis, -1, artel__call_shape(call, 0)->rank, out);
}

static artel_status build_normalization(artel__layer *layer, const artel__call *call)
{
    uint32_t axes;
    ARTEL_TRY(kept_axes(layer, call, &axes));
    bool mean = artel__layer_setting(layer, "mean"), variance = artel__layer_setting(layer, "variance");
    if (mean != variance)
        return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "give both or neither",
                                 "only one of mean and variance is given");
    if (mean) return ARTEL_OK;
    const artel_shape *in = artel__call_shape(call, 0);
    artel_shape shape = {.rank = 0}, scalar = {.rank = 0};
    for (int i = 0; i < in->rank; i++) {
        if (axes >> i & 1u) shape.dim[shape.rank++] = in->dim[i];
    }
    artel__weight_parts zeros, ones;
    ARTEL_TRY(artel__layer_weight_parts(layer, "adapted", "zeros", &zeros));
    ARTEL_TRY(artel__layer_weight_parts(layer, "adapted", "ones", &ones));
    ARTEL_TRY(artel__layer_declare(layer, "mean", &shape, 0, false, &zeros));
    ARTEL_TRY(artel__layer_declare(layer, "variance", &shape, 0, false, &ones));
    artel__weight count = {
        .name = "count", .shape = scalar, .dtype = ARTEL_DTYPE_INT64, .initializer = &zeros.initializer};
    int index = artel__layer_add_weight(layer, &count);
    return index < 0 ? (artel_status)index : ARTEL_OK;
}

/* A statistic with the extents of the kept axes, 1 elsewhere. */
static artel_status spread(const artel__layer *layer, const artel__call *call, uint32_t axes, artel__value_id *value)
{
    artel__graph *graph = call->graph;
    if (graph->status < 0 || *value < 0) return graph->status;
    const artel_shape *in = artel__call_shape(call, 0), *given = &graph->value[*value].shape;
    artel_shape shape = {.rank = in->rank};
    int left = given->rank - 1;
    bool fits = true;
    for (int i = in->rank - 1; i >= 0; i--) {
        shape.dim[i] = 1;
        if (!(axes >> i & 1u) || left < 0) continue;
        shape.dim[i] = given->dim[left--];
        fits = fits && (shape.dim[i] == 1 || shape.dim[i] == in->dim[i]);
    }
    for (; left >= 0; left--) fits = fits && given->dim[left] == 1;
    if (!fits)
        return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "give as many numbers as the axis has elements",
                                 "the mean and variance do not fit the input");
    *value = artel__op_reshape(graph, *value, &shape);
    return ARTEL_OK;
}

static artel_status call_normalization(artel__layer *layer, artel__call *call)
{
    const scale_config *c = layer->config;
    artel__graph *graph = call->graph;
    uint32_t axes;
    ARTEL_TRY(kept_axes(layer, call, &axes));
    json_t *given = artel__layer_setting(layer, "mean");
    artel__value_id mean = given ? setting(graph, given) : artel__layer_weight(layer, graph, 0);
    artel__value_id variance =
        given ? setting(graph, artel__layer_setting(layer, "variance")) : artel__layer_weight(layer, graph, 1);
    if (given && (mean < 0 || variance < 0) && graph->status == ARTEL_OK)
        return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "use numbers or lists of numbers",
                                 "mean or variance is neither");
    ARTEL_TRY(spread(layer, call, axes, &mean));
    ARTEL_TRY(spread(layer, call, axes, &variance));
    artel__value_id x = artel__as_float(graph, call->in[0].value);
    artel__value_id least = artel__op_scalar(graph, 1e-7),
                    root = artel__op_unary(graph, ARTEL__UNARY_SQRT, NULL, variance);
    artel__value_id deviation = artel__op_binary(graph, ARTEL__BINARY_MAX, root, least);
    artel__value_id y = c->invert ? artel__op_add(graph, artel__op_binary(graph, ARTEL__BINARY_MUL, x, deviation), mean)
                                  : artel__op_binary(graph, ARTEL__BINARY_DIV,
                                                     artel__op_binary(graph, ARTEL__BINARY_SUB, x, mean), deviation);
    artel__call_return(call, y);
    return ARTEL_OK;
}

const artel__layer_def artel__layer_normalization_def = {
    .class_name = "Normalization",
    .doc = "(x - mean) / deviation, with given or adapted statistics.",
    .config_size = sizeof(scale_config),
    .options = normalization_options,
    .mask = ARTEL__MASK_PASS,
    .build = build_normalization,
    .call = call_normalization,
};
