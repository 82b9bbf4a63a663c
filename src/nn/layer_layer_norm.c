/* SPDX-License-Identifier: Apache-2.0 */
/* Normalisation inside a row: LayerNormalization, RMSNormalization, UnitNormalization, GroupNormalization.
 *
 * The operation works on the last axes; others are moved there and back. Groups become an axis of their own that is
 * moved to the front, so that a group is the rest of the row. After keras/src/layers/normalization.
 */
#include <string.h>

#include "nn/layer_support.h"
#include "op/elementwise.h"
#include "op/norm.h"
#include "op/shape_ops.h"

typedef struct norm_config {
    double epsilon;
    bool center, scale, rms_scaling;
    int64_t groups, axis;
} norm_config;

typedef struct norm_parts {
    artel__weight_parts gamma, beta;
} norm_parts;

#define EPSILON_OPTION(value)                                                                                      \
    {                                                                                                              \
        "epsilon", "added to the variance", ARTEL__OPTION_FLOAT, offsetof(norm_config, epsilon), value, 0, 0, NULL \
    }
#define AXIS_OPTION ARTEL__PART("axis", "axis or axes that are normalised together")
#define AFFINE_OPTIONS                                                                                               \
    {"center", "whether beta is added", ARTEL__OPTION_BOOL, offsetof(norm_config, center), "true", 0, 0, NULL},      \
        {"scale", "whether gamma multiplies", ARTEL__OPTION_BOOL, offsetof(norm_config, scale), "true", 0, 0, NULL}, \
        ARTEL__WEIGHT_PARTS("gamma"), ARTEL__WEIGHT_PARTS("beta")

static const artel__option layer_options[] = {
    AXIS_OPTION,
    EPSILON_OPTION("0.001"),
    AFFINE_OPTIONS,
    {"rms_scaling", "divides by the deviation without subtracting the mean", ARTEL__OPTION_BOOL,
     offsetof(norm_config, rms_scaling), "false", 0, 0, NULL},
    ARTEL__OPTIONS_END,
};
static const artel__option rms_options[] = {AXIS_OPTION, EPSILON_OPTION("1e-6"), ARTEL__OPTIONS_END};
static const artel__option unit_options[] = {AXIS_OPTION, ARTEL__OPTIONS_END};
static const artel__option group_options[] = {
    {"groups", "groups of channels, -1: one each", ARTEL__OPTION_INT, offsetof(norm_config, groups), "32", -1,
     INT32_MAX, NULL},
    {"axis", "axis of the channels", ARTEL__OPTION_INT, offsetof(norm_config, axis), "-1", 0, 0, NULL},
    EPSILON_OPTION("0.001"),
    AFFINE_OPTIONS,
    ARTEL__OPTIONS_END,
};

static artel_status configure_norm(artel__layer *layer)
{
    norm_config *c = layer->config;
    norm_parts *parts = layer->own = artel__arena_alloc(layer->arena, 1, sizeof *parts);
    if (!parts) return ARTEL_ERROR_NO_MEMORY;
    if (c->rms_scaling) {
        c->scale = true;
        c->center = false;
    }
    ARTEL_TRY(artel__layer_weight_parts(layer, "gamma", "ones", &parts->gamma));
    return artel__layer_weight_parts(layer, "beta", "zeros", &parts->beta);
}

static artel_status read_axes(const artel__layer *layer, const artel__call *call, uint32_t *out)
{
    ARTEL_TRY(artel__layer_check_input(layer, call, 1, ARTEL_MAX_RANK));
    return artel__layer_axes(layer, artel__layer_setting(layer, "axis"), -1, artel__call_shape(call, 0)->rank, out);
}

static artel_shape axes_shape(const artel_shape *in, uint32_t axes)
{
    artel_shape shape = {.rank = 0};
    for (int i = 0; i < in->rank; i++) {
        if (axes >> i & 1u) shape.dim[shape.rank++] = in->dim[i];
    }
    return shape;
}

/* As Keras declares them: axes sorted as they are written, so that -1 comes before 1, whatever axis it is. */
static artel_shape written_shape(const artel__layer *layer, const artel_shape *in, uint32_t axes)
{
    json_t *axis = artel__layer_setting(layer, "axis");
    artel_shape shape = {.rank = 0};
    int count = artel__bit_count(axes);
    int64_t written[ARTEL_MAX_RANK], number = 0;
    if (!json_is_array(axis) || json_array_size(axis) != (size_t)count) return axes_shape(in, axes);
    for (int i = 0; i < count; i++) {
        if (!artel__json_integer(json_array_get(axis, (size_t)i), &number)) return axes_shape(in, axes);
        int at = i;
        for (; at > 0 && written[at - 1] > number; at--) written[at] = written[at - 1];
        written[at] = number;
    }
    for (int i = 0; i < count; i++) shape.dim[shape.rank++] = in->dim[artel__row_axis(written[i], in->rank)];
    return shape;
}

static artel_status build_layer(artel__layer *layer, const artel__call *call)
{
    const norm_config *c = layer->config;
    const norm_parts *parts = layer->own;
    uint32_t axes;
    ARTEL_TRY(read_axes(layer, call, &axes));
    artel_shape shape = written_shape(layer, artel__call_shape(call, 0), axes);
    if (c->scale) ARTEL_TRY(artel__layer_declare(layer, "gamma", &shape, 0, true, &parts->gamma));
    return c->center ? artel__layer_declare(layer, "beta", &shape, 0, true, &parts->beta) : ARTEL_OK;
}

static artel_status build_rms(artel__layer *layer, const artel__call *call)
{
    uint32_t axes;
    artel__weight_parts parts;
    ARTEL_TRY(read_axes(layer, call, &axes));
    ARTEL_TRY(artel__layer_weight_parts(layer, "scale", "ones", &parts));
    artel_shape shape = written_shape(layer, artel__call_shape(call, 0), axes);
    return artel__layer_declare(layer, "scale", &shape, 0, true, &parts);
}

/* A weight beside axes in their order: its numbers lie as they do, for so Keras reshapes it. */
static artel__value_id in_order(artel__graph *graph, artel__value_id weight, const artel_shape *in, uint32_t axes)
{
    if (weight < 0 || graph->status < 0) return weight;
    artel_shape shape = axes_shape(in, axes);
    return artel__shape_equal(&graph->value[weight].shape, &shape) ? weight : artel__op_reshape(graph, weight, &shape);
}

typedef struct normalisation {
    artel__layer_norm_mode mode;
    double epsilon;
    artel__value_id gamma, beta;
} normalisation;

static artel_status normalise(artel__layer *layer, artel__call *call, const normalisation *n)
{
    artel__graph *graph = call->graph;
    uint32_t axes;
    int permutation[ARTEL_MAX_RANK];
    ARTEL_TRY(read_axes(layer, call, &axes));
    if (!axes) return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "name an axis", "no axis is normalised");
    artel__value_id x = artel__axes_last(graph, artel__as_float(graph, call->in[0].value), axes, permutation);
    const artel_shape *in = artel__call_shape(call, 0);
    artel__value_id gamma = in_order(graph, n->gamma, in, axes), beta = in_order(graph, n->beta, in, axes);
    artel__value_id y = artel__op_layer_norm(graph, n->mode, x, gamma, beta, artel__bit_count(axes), n->epsilon);
    artel__call_return(call, artel__axes_back(graph, y, permutation));
    return ARTEL_OK;
}

static artel_status call_layer(artel__layer *layer, artel__call *call)
{
    const norm_config *c = layer->config;
    normalisation n = {c->rms_scaling ? ARTEL__LAYER_NORM_RMS_SCALED : ARTEL__LAYER_NORM_LAYER, c->epsilon,
                       ARTEL__NO_VALUE, ARTEL__NO_VALUE};
    if (c->scale) n.gamma = artel__layer_weight(layer, call->graph, 0);
    if (c->center) n.beta = artel__layer_weight(layer, call->graph, c->scale ? 1 : 0);
    return normalise(layer, call, &n);
}

/* Keras lays the scale over the last axes, whichever are normalised. */
static artel_status call_rms(artel__layer *layer, artel__call *call)
{
    const norm_config *c = layer->config;
    artel__graph *graph = call->graph;
    artel__value_id scale = artel__layer_weight(layer, graph, 0);
    normalisation n = {ARTEL__LAYER_NORM_RMS, c->epsilon, scale, ARTEL__NO_VALUE};
    uint32_t axes;
    ARTEL_TRY(read_axes(layer, call, &axes));
    int rank = artel__call_shape(call, 0)->rank, count = artel__bit_count(axes);
    if (axes == ((1u << count) - 1u) << (rank - count)) return normalise(layer, call, &n);
    n.gamma = ARTEL__NO_VALUE;
    ARTEL_TRY(normalise(layer, call, &n));
    artel__call_return(call, artel__op_binary(graph, ARTEL__BINARY_MUL, call->out[0].value, scale));
    return graph->status;
}

static artel_status call_unit(artel__layer *layer, artel__call *call)
{
    normalisation n = {ARTEL__LAYER_NORM_UNIT, 1e-12, ARTEL__NO_VALUE, ARTEL__NO_VALUE};
    return normalise(layer, call, &n);
}

/* -- groups -- */

static artel_status find_groups(const artel__layer *layer, const artel__call *call, int *axis, int64_t *groups)
{
    const norm_config *c = layer->config;
    ARTEL_TRY(artel__layer_check_input(layer, call, 1, ARTEL_MAX_RANK - 1));
    const artel_shape *in = artel__call_shape(call, 0);
    *axis = artel__row_axis(c->axis, in->rank);
    if (*axis < 0)
        return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "name an axis of the input",
                                 "the axis %lld does not exist", (long long)c->axis);
    *groups = c->groups == -1 ? in->dim[*axis] : c->groups;
    if (*groups >= 1 && in->dim[*axis] % *groups == 0) return ARTEL_OK;
    return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "choose a number of groups that divides the channels",
                             "%lld channels do not divide into %lld groups", (long long)in->dim[*axis],
                             (long long)*groups);
}

static artel_status build_group(artel__layer *layer, const artel__call *call)
{
    const norm_config *c = layer->config;
    const norm_parts *parts = layer->own;
    int axis;
    int64_t groups;
    ARTEL_TRY(find_groups(layer, call, &axis, &groups));
    artel_shape shape = artel__shape(1, artel__call_shape(call, 0)->dim[axis]);
    if (c->scale) ARTEL_TRY(artel__layer_declare(layer, "gamma", &shape, 0, true, &parts->gamma));
    return c->center ? artel__layer_declare(layer, "beta", &shape, 0, true, &parts->beta) : ARTEL_OK;
}

/* x with the channels last, as [groups][rest][channels / groups] normalised over all but the first axis. */
static artel__value_id normalise_groups(artel__graph *graph, artel__value_id x, int64_t groups, double epsilon)
{
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    artel_shape in = graph->value[x].shape;
    int64_t channels = in.dim[in.rank - 1], inner = artel__shape_product(&in, 0, in.rank - 1);
    artel_shape split = artel__shape(3, inner, groups, channels / groups);
    static const int exchange[] = {1, 0, 2};
    artel__value_id y = artel__op_transpose(graph, artel__op_reshape(graph, x, &split), exchange);
    y = artel__op_layer_norm(graph, ARTEL__LAYER_NORM_LAYER, y, ARTEL__NO_VALUE, ARTEL__NO_VALUE, 2, epsilon);
    return artel__op_reshape(graph, artel__op_transpose(graph, y, exchange), &in);
}

static artel_status call_group(artel__layer *layer, artel__call *call)
{
    const norm_config *c = layer->config;
    artel__graph *graph = call->graph;
    int axis, permutation[ARTEL_MAX_RANK];
    int64_t groups;
    ARTEL_TRY(find_groups(layer, call, &axis, &groups));
    artel__value_id x = artel__axes_last(graph, artel__as_float(graph, call->in[0].value), 1u << axis, permutation);
    artel__value_id y = normalise_groups(graph, x, groups, c->epsilon);
    if (c->scale) y = artel__op_binary(graph, ARTEL__BINARY_MUL, y, artel__layer_weight(layer, graph, 0));
    if (c->center) y = artel__op_add(graph, y, artel__layer_weight(layer, graph, c->scale ? 1 : 0));
    artel__call_return(call, artel__axes_back(graph, y, permutation));
    return ARTEL_OK;
}

#define NORM(symbol, name, kind, rule, casts, before, first, sentence) \
    const artel__layer_def artel__layer_##symbol##_def = {             \
        .class_name = name,                                            \
        .doc = sentence,                                               \
        .config_size = sizeof(norm_config),                            \
        .options = kind##_options,                                     \
        .mask = rule,                                                  \
        .cast = ARTEL__CAST_##casts,                                   \
        .configure = before,                                           \
        .build = first,                                                \
        .call = call_##kind,                                           \
    }

NORM(layer_normalization, "LayerNormalization", layer, ARTEL__MASK_PASS, RESULT, configure_norm, build_layer,
     "Normalises axes of each row by their own mean and variance.");
NORM(rms_normalization, "RMSNormalization", rms, ARTEL__MASK_STOP, RESULT, NULL, build_rms,
     "Divides axes of each row by their root mean square.");
NORM(unit_normalization, "UnitNormalization", unit, ARTEL__MASK_PASS, ALL, NULL, NULL,
     "Scales axes of each row to length 1.");
NORM(group_normalization, "GroupNormalization", group, ARTEL__MASK_PASS, RESULT, configure_norm, build_group,
     "Normalises groups of channels of each row.");
