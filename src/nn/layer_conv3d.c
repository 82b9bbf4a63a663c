/* SPDX-License-Identifier: Apache-2.0 */
/* Conv3D and Conv3DTranspose: convolutions of volumes [d][h][w][c], see nn/conv_any.h.
 *
 * A transposed one is a convolution with the window turned around, over its input with stride - 1 zeros between
 * neighbours. After keras/src/layers/convolutional.
 */
#include <string.h>

#include "nn/layer_support.h"
#include "nn/window_float64.h"
#include "op/elementwise.h"
#include "op/shape_ops.h"

typedef struct volume_config {
    int64_t filters, groups;
    artel__ints kernel_size, strides, dilation_rate, output_padding;
    int padding, data_format;
    bool use_bias;
} volume_config;

typedef struct volume_parts {
    artel__activation_config activation;
    artel__weight_parts kernel, bias;
} volume_parts;

static const char *const paddings[] = {"valid", "same", NULL};

#define CONFIG(field) offsetof(volume_config, field)
#define VOLUME_OPTIONS                                                                                               \
    {"filters", "channels of the output", ARTEL__OPTION_INT, CONFIG(filters), NULL, 1, INT32_MAX, NULL},             \
        {"kernel_size", "extents of the window", ARTEL__OPTION_INTS, CONFIG(kernel_size), NULL, 1, INT32_MAX, NULL}, \
        {"strides", "steps between windows", ARTEL__OPTION_INTS, CONFIG(strides), "1", 1, INT32_MAX, NULL},          \
        {"padding", "valid or same", ARTEL__OPTION_ENUM, CONFIG(padding), "valid", 0, 0, paddings},                  \
        ARTEL__DATA_FORMAT(volume_config),                                                                           \
        {"dilation_rate", "steps between taps", ARTEL__OPTION_INTS, CONFIG(dilation_rate), "1", 1, INT32_MAX, NULL}, \
        {"groups", "groups of channels", ARTEL__OPTION_INT, CONFIG(groups), "1", 1, INT32_MAX, NULL},                \
        {"use_bias", "whether a bias is added", ARTEL__OPTION_BOOL, CONFIG(use_bias), "true", 0, 0, NULL},           \
        ARTEL__PART("activation", "activation: a name or a record"), ARTEL__WEIGHT_PARTS("kernel"),                  \
        ARTEL__WEIGHT_PARTS("bias")

static const artel__option conv_options[] = {VOLUME_OPTIONS, ARTEL__OPTIONS_END};
static const artel__option transpose_options[] = {
    VOLUME_OPTIONS,
    {"output_padding", "what is added to the output at its end", ARTEL__OPTION_INTS, CONFIG(output_padding), "null", 0,
     INT32_MAX, NULL},
    ARTEL__OPTIONS_END,
};

static artel_status configure_volume(artel__layer *layer)
{
    volume_config *c = layer->config;
    volume_parts *parts = layer->own = artel__arena_alloc(layer->arena, 1, sizeof *parts);
    if (!parts) return ARTEL_ERROR_NO_MEMORY;
    ARTEL_TRY(artel__layer_spread(layer, "kernel_size", &c->kernel_size, 3, 1));
    ARTEL_TRY(artel__layer_spread(layer, "strides", &c->strides, 3, 1));
    ARTEL_TRY(artel__layer_spread(layer, "dilation_rate", &c->dilation_rate, 3, 1));
    if (c->output_padding.count) ARTEL_TRY(artel__layer_spread(layer, "output_padding", &c->output_padding, 3, 0));
    if (c->filters % c->groups)
        return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "choose a multiple",
                                 "%lld filters do not divide into %lld groups", (long long)c->filters,
                                 (long long)c->groups);
    ARTEL_TRY(artel__layer_activation(layer, "activation", &parts->activation));
    ARTEL_TRY(artel__layer_weight_parts(layer, "kernel", "glorot_uniform", &parts->kernel));
    return artel__layer_weight_parts(layer, "bias", "zeros", &parts->bias);
}

static artel_status channels_of(const artel__layer *layer, const artel__call *call, int64_t *out)
{
    const volume_config *c = layer->config;
    ARTEL_TRY(artel__layer_check_input(layer, call, 4, 4));
    *out = artel__call_shape(call, 0)->dim[c->data_format == 1 ? 0 : 3];
    if (*out % c->groups == 0) return ARTEL_OK;
    return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "choose another number of groups",
                             "%lld channels do not divide into %lld groups", (long long)*out, (long long)c->groups);
}

static artel_status declare(artel__layer *layer, int64_t a, int64_t b)
{
    const volume_config *c = layer->config;
    const volume_parts *parts = layer->own;
    artel_shape kernel = artel__shape(5, c->kernel_size.item[0], c->kernel_size.item[1], c->kernel_size.item[2], a, b);
    artel_shape bias = artel__shape(1, c->filters);
    if (artel_shape_count(&kernel) < 0)
        return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "check the sizes",
                                 "the weight \"kernel\" has an impossible shape");
    ARTEL_TRY(artel__layer_declare(layer, "kernel", &kernel, 0, true, &parts->kernel));
    return c->use_bias ? artel__layer_declare(layer, "bias", &bias, 0, true, &parts->bias) : ARTEL_OK;
}

static artel_status build_conv(artel__layer *layer, const artel__call *call)
{
    const volume_config *c = layer->config;
    int64_t channels;
    ARTEL_TRY(channels_of(layer, call, &channels));
    return declare(layer, channels / c->groups, c->filters);
}

static artel_status build_transpose(artel__layer *layer, const artel__call *call)
{
    const volume_config *c = layer->config;
    int64_t channels;
    if (c->groups > 1)
        return artel__layer_fail(layer, ARTEL_ERROR_UNSUPPORTED, "use one group", "groups are not supported");
    ARTEL_TRY(channels_of(layer, call, &channels));
    return declare(layer, c->filters, channels);
}

static artel_status does_not_fit(const artel__layer *layer, const artel__conv_axis *axis)
{
    return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "use a larger input, a smaller window or padding \"same\"",
                             "the window of %lld does not fit an input of %lld",
                             (long long)((axis->kernel - 1) * axis->dilation + 1), (long long)axis->in);
}

/* Convolution, bias, activation, the user's order of axes. */
static artel_status run(artel__layer *layer, artel__call *call, const artel__conv_any *conv, artel__value_id x,
                        artel__value_id plain)
{
    const volume_config *c = layer->config;
    const volume_parts *parts = layer->own;
    artel__graph *graph = call->graph;
    artel__value_id bias = c->use_bias ? artel__layer_weight(layer, graph, 1) : ARTEL__NO_VALUE;
    bool relu = artel__activation_is_relu(&parts->activation);
    artel__value_id y = artel__volumes_conv(graph, conv, x, artel__volumes_weights(graph, conv, plain), bias,
                                            relu ? ARTEL__FUSED_RELU : ARTEL__FUSED_NONE);
    bool pointwise =
        artel__activation_unary(&parts->activation) >= 0; /* others see the axes as the user ordered them */
    if (pointwise && !relu) y = artel__activation_apply(graph, &parts->activation, y);
    y = artel__channels_back(graph, y, c->data_format);
    artel__call_return(call, pointwise ? y : artel__activation_apply(graph, &parts->activation, y));
    return graph->status;
}

static artel_status call_conv(artel__layer *layer, artel__call *call)
{
    const volume_config *c = layer->config;
    artel__graph *graph = call->graph;
    int64_t channels;
    ARTEL_TRY(channels_of(layer, call, &channels));
    artel__value_id x = artel__channels_last(graph, artel__as_float(graph, call->in[0].value), c->data_format);
    ARTEL_TRY(graph->status);
    artel__conv_any conv = {.rank = 3, .groups = c->groups};
    for (int i = 0; i < 3; i++) {
        conv.axis[i] = (artel__conv_axis){.kernel = c->kernel_size.item[i],
                                          .stride = c->strides.item[i],
                                          .dilation = c->dilation_rate.item[i],
                                          .in = graph->value[x].shape.dim[i]};
        artel__conv_any_lay(&conv.axis[i], c->padding == 1);
        if (conv.axis[i].out < 1) return does_not_fit(layer, &conv.axis[i]);
    }
    return run(layer, call, &conv, x, artel__layer_weight(layer, graph, 0));
}

/* -- transposed -- */

/* The convolution over the spread input: its extent with the zeros behind the last place, and what is around it. */
static artel_status transpose_axis(const artel__layer *layer, int i, int64_t in, artel__conv_axis *axis)
{
    const volume_config *c = layer->config;
    int64_t kernel = c->kernel_size.item[i], stride = c->strides.item[i], dilation = c->dilation_rate.item[i];
    int64_t window = (kernel - 1) * dilation + 1, added = c->output_padding.count ? c->output_padding.item[i] : -1;
    bool same = c->padding == 1;
    int64_t out = same ? (added < 0 ? in * stride : (in - 1) * stride + window % 2 + added)
                       : (in - 1) * stride + window +
                             (added >= 0        ? added
                              : window < stride ? stride - window
                                                : 0);
    artel__conv_axis back = {.kernel = kernel, .stride = stride, .dilation = dilation, .in = out};
    artel__conv_any_lay(&back, same);
    if (out < 1 || back.out != in)
        return artel__layer_fail(
            layer, ARTEL_ERROR_INVALID, "leave output_padding away, or choose one below the stride",
            "an output of %lld does not belong to an input of %lld", (long long)out, (long long)in);
    *axis = (artel__conv_axis){.kernel = kernel, .stride = 1, .dilation = dilation, .in = in * stride, .out = out};
    axis->before = window - 1 - back.before;
    axis->after = out + window - 1 - axis->before - axis->in;
    return ARTEL_OK;
}

static artel_status call_transpose(artel__layer *layer, artel__call *call)
{
    static const int exchanged[] = {0, 1, 2, 4, 3};
    const volume_config *c = layer->config;
    artel__graph *graph = call->graph;
    ARTEL_TRY(artel__layer_check_input(layer, call, 4, 4));
    artel__value_id x = artel__channels_last(graph, artel__as_float(graph, call->in[0].value), c->data_format);
    artel__value_id w = artel__layer_weight(layer, graph, 0);
    ARTEL_TRY(graph->status);
    artel__conv_any conv = {.rank = 3, .groups = 1};
    for (int i = 0; i < 3; i++) {
        int64_t kernel = c->kernel_size.item[i];
        ARTEL_TRY(transpose_axis(layer, i, graph->value[x].shape.dim[i], &conv.axis[i]));
        x = artel__conv_any_spread(graph, x, i, c->strides.item[i]);
        if (kernel > 1) w = artel__op_slice(graph, w, i, kernel - 1, kernel, -1);
    }
    return run(layer, call, &conv, x, artel__op_transpose(graph, w, exchanged));
}

#define VOLUME(symbol, name, kind, sentence)               \
    const artel__layer_def artel__layer_##symbol##_def = { \
        .class_name = name,                                \
        .doc = sentence,                                   \
        .config_size = sizeof(volume_config),              \
        .options = kind##_options,                         \
        .mask = ARTEL__MASK_STOP,                          \
        .configure = configure_volume,                     \
        .build = build_##kind,                             \
        .call = call_##kind,                               \
    }

VOLUME(conv3d, "Conv3D", conv, "Convolution of volumes.");
VOLUME(conv3d_transpose, "Conv3DTranspose", transpose, "Transposed convolution of volumes.");
