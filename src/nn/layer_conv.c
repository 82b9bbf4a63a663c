/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions in one and two dimensions: plain, transposed, depthwise, separable.
 *
 * One dimension is an image of height 1. Kernels of plain convolutions are panels [kh*kw*ic/groups][filters]; depthwise
 * kernels are plain [kh][kw][c][multiplier]. Padding "same" puts the smaller half in front, "causal" all of it, as
 * TensorFlow does. A plain ReLU is fused. channels_first is moved to channels_last and back around the convolution.
 * After keras/src/layers/convolutional.
 */
#include <string.h>

#include "nn/adapters.h"
#include "nn/window_float64.h"
#include "op/op.h"

static const char *const paddings[] = {"valid", "same", "causal", NULL};
enum {
    VALID,
    SAME,
    CAUSAL
};

typedef struct conv_config {
    int64_t filters, groups, multiplier;
    artel__ints kernel_size, strides, dilation_rate, output_padding;
    int padding, data_format;
    bool use_bias;
} conv_config;

typedef struct conv_parts {
    artel__activation_config activation;
    artel__weight_parts kernel, pointwise, bias;
    int rank;
} conv_parts;

#define WINDOW_OPTIONS                                                                                              \
    {                                                                                                               \
        "kernel_size",                                                                                              \
        "extents of the window",                                                                                    \
        ARTEL__OPTION_INTS,                                                                                         \
        offsetof(conv_config, kernel_size),                                                                         \
        NULL,                                                                                                       \
        1,                                                                                                          \
        INT32_MAX,                                                                                                  \
        NULL},                                                                                                      \
        {"strides", "steps between windows", ARTEL__OPTION_INTS, offsetof(conv_config, strides), "1", 1, INT32_MAX, \
         NULL},                                                                                                     \
        {"padding", "valid, same or causal", ARTEL__OPTION_ENUM, offsetof(conv_config, padding), "valid", 0, 0,     \
         paddings},                                                                                                 \
        ARTEL__DATA_FORMAT(conv_config),                                                                            \
        {"dilation_rate",                                                                                           \
         "steps between taps",                                                                                      \
         ARTEL__OPTION_INTS,                                                                                        \
         offsetof(conv_config, dilation_rate),                                                                      \
         "1",                                                                                                       \
         1,                                                                                                         \
         INT32_MAX,                                                                                                 \
         NULL},                                                                                                     \
        {"use_bias", "whether a bias is added", ARTEL__OPTION_BOOL, offsetof(conv_config, use_bias), "true", 0, 0,  \
         NULL},                                                                                                     \
        ARTEL__PART("activation", "activation: a name or a record"), ARTEL__WEIGHT_PARTS("bias")

#define FILTERS_OPTION                                                                                              \
    {                                                                                                               \
        "filters", "channels of the output", ARTEL__OPTION_INT, offsetof(conv_config, filters), NULL, 1, INT32_MAX, \
            NULL                                                                                                    \
    }
#define MULTIPLIER_OPTION                                                                                           \
    {                                                                                                               \
        "depth_multiplier", "filters for each input channel", ARTEL__OPTION_INT, offsetof(conv_config, multiplier), \
            "1", 1, INT32_MAX, NULL                                                                                 \
    }

static const artel__option conv_options[] = {
    FILTERS_OPTION,
    WINDOW_OPTIONS,
    {"groups", "groups of channels", ARTEL__OPTION_INT, offsetof(conv_config, groups), "1", 1, INT32_MAX, NULL},
    ARTEL__WEIGHT_PARTS("kernel"),
    ARTEL__ADAPTER_OPTIONS,
    ARTEL__OPTIONS_END,
};

static const artel__option transpose_options[] = {
    FILTERS_OPTION,
    WINDOW_OPTIONS,
    {"output_padding", "what is added to the output at its end", ARTEL__OPTION_INTS,
     offsetof(conv_config, output_padding), "null", 0, INT32_MAX, NULL},
    ARTEL__WEIGHT_PARTS("kernel"),
    ARTEL__OPTIONS_END,
};

static const artel__option depthwise_options[] = {
    WINDOW_OPTIONS,
    MULTIPLIER_OPTION,
    ARTEL__WEIGHT_PARTS("depthwise"),
    ARTEL__OPTIONS_END,
};

static const artel__option separable_options[] = {
    FILTERS_OPTION,
    WINDOW_OPTIONS,
    MULTIPLIER_OPTION,
    ARTEL__WEIGHT_PARTS("depthwise"),
    ARTEL__WEIGHT_PARTS("pointwise"),
    ARTEL__OPTIONS_END,
};

static artel_status configure_window(artel__layer *layer, const char *kernel)
{
    conv_config *c = layer->config;
    conv_parts *parts = layer->own = artel__arena_alloc(layer->arena, 1, sizeof *parts);
    if (!parts) return ARTEL_ERROR_NO_MEMORY;
    parts->rank = strstr(layer->def->class_name, "1D") ? 1 : 2;
    ARTEL_TRY(artel__layer_spread(layer, "kernel_size", &c->kernel_size, parts->rank, 1));
    ARTEL_TRY(artel__layer_spread(layer, "strides", &c->strides, parts->rank, 1));
    ARTEL_TRY(artel__layer_spread(layer, "dilation_rate", &c->dilation_rate, parts->rank, 1));
    if (c->padding == CAUSAL && (parts->rank != 1 || strcmp(kernel, "kernel") != 0))
        return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "use valid or same",
                                 "the padding causal belongs to Conv1D");
    ARTEL_TRY(artel__layer_activation(layer, "activation", &parts->activation));
    ARTEL_TRY(artel__layer_weight_parts(layer, kernel, "glorot_uniform", &parts->kernel));
    return artel__layer_weight_parts(layer, "bias", "zeros", &parts->bias);
}

static artel_status configure_conv(artel__layer *layer)
{
    ARTEL_TRY(configure_window(layer, "kernel"));
    const conv_config *c = layer->config;
    if (c->filters % c->groups == 0) return ARTEL_OK;
    return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "choose a multiple",
                             "%lld filters do not divide into %lld groups", (long long)c->filters,
                             (long long)c->groups);
}

static artel_status configure_transpose(artel__layer *layer)
{
    ARTEL_TRY(configure_window(layer, "kernel"));
    conv_config *c = layer->config;
    const conv_parts *parts = layer->own;
    if (c->padding == CAUSAL)
        return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "use valid or same",
                                 "the padding causal belongs to Conv1D");
    c->groups = 1;
    return c->output_padding.count ? artel__layer_spread(layer, "output_padding", &c->output_padding, parts->rank, 0)
                                   : ARTEL_OK;
}

static artel_status configure_depthwise(artel__layer *layer)
{
    return configure_window(layer, "depthwise");
}

static artel_status configure_separable(artel__layer *layer)
{
    ARTEL_TRY(configure_window(layer, "depthwise"));
    conv_parts *parts = layer->own;
    return artel__layer_weight_parts(layer, "pointwise", "glorot_uniform", &parts->pointwise);
}

/* One axis of the window: output extent and padding in front. */
static artel_status shape_axis(const artel__layer *layer, int axis, int64_t in, int64_t *out, int64_t *before)
{
    const conv_config *c = layer->config;
    int64_t kernel = c->kernel_size.item[axis], stride = c->strides.item[axis], dilation = c->dilation_rate.item[axis];
    if (c->padding == SAME)
        *out = artel__conv_extent_same(in, kernel, stride, dilation, before);
    else {
        *before = c->padding == CAUSAL ? (kernel - 1) * dilation : 0;
        *out = artel__conv_extent(in, kernel, stride, dilation, *before, 0);
    }
    if (*out > 0) return ARTEL_OK;
    return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "use a larger input, a smaller window or padding \"same\"",
                             "the window of %lld does not fit an input of %lld",
                             (long long)((kernel - 1) * dilation + 1), (long long)in);
}

/* What the settings say; an axis that is not there has extent 1. */
static artel__conv2d_shape window_of(const artel__layer *layer)
{
    const conv_config *c = layer->config;
    const conv_parts *parts = layer->own;
    int w = parts->rank - 1;
    bool two = parts->rank > 1;
    return (artel__conv2d_shape){.ih = 1,
                                 .oh = 1,
                                 .kh = two ? c->kernel_size.item[0] : 1,
                                 .kw = c->kernel_size.item[w],
                                 .sh = two ? c->strides.item[0] : 1,
                                 .sw = c->strides.item[w],
                                 .dh = two ? c->dilation_rate.item[0] : 1,
                                 .dw = c->dilation_rate.item[w],
                                 .groups = 1};
}

static artel_status shape_window(const artel__layer *layer, const artel_shape *in, artel__conv2d_shape *s)
{
    const conv_parts *parts = layer->own;
    int w = parts->rank - 1;
    *s = window_of(layer);
    s->ic = in->dim[in->rank - 1];
    s->iw = in->dim[w];
    ARTEL_TRY(shape_axis(layer, w, s->iw, &s->ow, &s->left));
    if (parts->rank == 1) return ARTEL_OK;
    s->ih = in->dim[0];
    return shape_axis(layer, 0, s->ih, &s->oh, &s->top);
}

/* One axis of a transposed convolution: the extent of its output, that is the convolution's input, and the padding in
 * front of it. */
static artel_status transpose_axis(const artel__layer *layer, int axis, int64_t in, int64_t *out, int64_t *before)
{
    const conv_config *c = layer->config;
    int64_t stride = c->strides.item[axis], dilation = c->dilation_rate.item[axis], back;
    int64_t window = (c->kernel_size.item[axis] - 1) * dilation + 1,
            added = c->output_padding.count ? c->output_padding.item[axis] : -1;
    *before = 0;
    if (c->padding == SAME) {
        *out = added < 0 ? in * stride : (in - 1) * stride + window % 2 + added;
        back = artel__conv_extent_same(*out, c->kernel_size.item[axis], stride, dilation, before);
    } else {
        *out = (in - 1) * stride + window + (added >= 0 ? added : window < stride ? stride - window : 0);
        back = artel__conv_extent(*out, c->kernel_size.item[axis], stride, dilation, 0, 0);
    }
    if (*out > 0 && back == in) return ARTEL_OK;
    return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "leave output_padding away, or choose one below the stride",
                             "an output of %lld does not belong to an input of %lld", (long long)*out, (long long)in);
}

/* The shape of the convolution that it is the data gradient of. */
static artel_status shape_transpose(const artel__layer *layer, const artel_shape *in, artel__conv2d_shape *s)
{
    const conv_config *c = layer->config;
    const conv_parts *parts = layer->own;
    int w = parts->rank - 1;
    *s = window_of(layer);
    s->ic = c->filters;
    s->oc = in->dim[in->rank - 1];
    s->ow = in->dim[w];
    ARTEL_TRY(transpose_axis(layer, w, s->ow, &s->iw, &s->left));
    if (parts->rank == 1) return ARTEL_OK;
    s->oh = in->dim[0];
    return transpose_axis(layer, 0, s->oh, &s->ih, &s->top);
}

static int64_t channels_of(const artel__layer *layer, const artel__call *call)
{
    const conv_config *c = layer->config;
    const conv_parts *parts = layer->own;
    return artel__call_shape(call, 0)->dim[c->data_format == 1 ? 0 : parts->rank];
}

static artel_status check_channels(artel__layer *layer, const artel__call *call)
{
    const conv_config *c = layer->config;
    const conv_parts *parts = layer->own;
    ARTEL_TRY(artel__layer_check_input(layer, call, parts->rank + 1, parts->rank + 1));
    int64_t channels = channels_of(layer, call);
    if (c->groups < 2 || channels % c->groups == 0) return ARTEL_OK;
    return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "choose another number of groups",
                             "%lld channels do not divide into %lld groups", (long long)channels, (long long)c->groups);
}

/* [kernel...][a][b]; its leading extents as a product, or -1. */
static artel_shape kernel_shape(const conv_config *c, const conv_parts *parts, int64_t a, int64_t b)
{
    artel_shape shape = {.rank = parts->rank + 2};
    for (int i = 0; i < parts->rank; i++) shape.dim[i] = c->kernel_size.item[i];
    shape.dim[parts->rank] = a;
    shape.dim[parts->rank + 1] = b;
    return shape;
}

static artel_status declare_panels(artel__layer *layer, const char *name, const artel_shape *shape,
                                   const artel__weight_parts *parts)
{
    if (artel_shape_count(shape) < 0 || shape->dim[shape->rank - 1] < 1)
        return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "check the sizes",
                                 "the weight \"%s\" has an impossible shape", name);
    return artel__layer_declare(layer, name, shape, artel_shape_count(shape) / shape->dim[shape->rank - 1], true,
                                parts);
}

static artel_status declare_bias(artel__layer *layer, int64_t channels)
{
    const conv_config *c = layer->config;
    const conv_parts *parts = layer->own;
    artel_shape bias = artel__shape(1, channels);
    return c->use_bias ? artel__layer_declare(layer, "bias", &bias, 0, true, &parts->bias) : ARTEL_OK;
}

static artel_status build_conv(artel__layer *layer, const artel__call *call)
{
    const conv_config *c = layer->config;
    const conv_parts *parts = layer->own;
    ARTEL_TRY(check_channels(layer, call));
    artel_shape kernel = kernel_shape(c, parts, channels_of(layer, call) / c->groups, c->filters);
    ARTEL_TRY(declare_panels(layer, "kernel", &kernel, &parts->kernel));
    ARTEL_TRY(declare_bias(layer, c->filters));
    int64_t rows = artel_shape_count(&kernel) / c->filters;
    ARTEL_TRY(artel__adapters_declare(
        layer, &(artel__adapters){.kernel = 0, .name = "lora_kernel", .rows = rows, .parts = &parts->kernel}));
    if (!artel__adapters_of(layer, 0) || c->groups == 1) return ARTEL_OK;
    return artel__layer_fail(layer, ARTEL_ERROR_UNSUPPORTED, "use one group",
                             "\"lora_rank\" with groups is not supported");
}

static artel_status build_transpose(artel__layer *layer, const artel__call *call)
{
    const conv_config *c = layer->config;
    const conv_parts *parts = layer->own;
    ARTEL_TRY(check_channels(layer, call));
    artel_shape kernel = kernel_shape(c, parts, c->filters, channels_of(layer, call));
    ARTEL_TRY(declare_panels(layer, "kernel", &kernel, &parts->kernel));
    return declare_bias(layer, c->filters);
}

static artel_status build_depthwise(artel__layer *layer, const artel__call *call)
{
    const conv_config *c = layer->config;
    const conv_parts *parts = layer->own;
    ARTEL_TRY(check_channels(layer, call));
    artel_shape kernel = kernel_shape(c, parts, channels_of(layer, call), c->multiplier);
    ARTEL_TRY(artel__layer_declare(layer, "kernel", &kernel, 0, true, &parts->kernel));
    return declare_bias(layer, kernel.dim[parts->rank] * c->multiplier);
}

static artel_status build_separable(artel__layer *layer, const artel__call *call)
{
    const conv_config *c = layer->config;
    const conv_parts *parts = layer->own;
    ARTEL_TRY(check_channels(layer, call));
    artel_shape kernel = kernel_shape(c, parts, channels_of(layer, call), c->multiplier), point = kernel;
    for (int i = 0; i < parts->rank; i++) point.dim[i] = 1;
    point.dim[parts->rank] = kernel.dim[parts->rank] * c->multiplier;
    point.dim[parts->rank + 1] = c->filters;
    ARTEL_TRY(artel__layer_declare(layer, "depthwise_kernel", &kernel, 0, true, &parts->kernel));
    ARTEL_TRY(declare_panels(layer, "pointwise_kernel", &point, &parts->pointwise));
    return declare_bias(layer, c->filters);
}

/* Every input is an image here; the result loses its height again in one dimension. */
static artel__value_id as_image(artel__graph *graph, artel__value_id x, int rank)
{
    if (rank == 2 || graph->status < 0) return x;
    artel_shape shape = artel__shape(3, (int64_t)1, graph->value[x].shape.dim[0], graph->value[x].shape.dim[1]);
    return artel__op_reshape(graph, x, &shape);
}

static void finish(artel__layer *layer, artel__call *call, artel__value_id y, bool relu)
{
    const conv_parts *parts = layer->own;
    const conv_config *c = layer->config;
    artel__graph *graph = call->graph;
    if (parts->rank == 1 && graph->status == ARTEL_OK) {
        artel_shape shape = artel__shape(2, graph->value[y].shape.dim[1], graph->value[y].shape.dim[2]);
        y = artel__op_reshape(graph, y, &shape);
    }
    bool pointwise =
        artel__activation_unary(&parts->activation) >= 0; /* others see the axes as the user ordered them */
    if (!relu && pointwise) y = artel__activation_apply(graph, &parts->activation, y);
    y = artel__channels_back(graph, y, c->data_format);
    artel__call_return(call, pointwise ? y : artel__activation_apply(graph, &parts->activation, y));
}

typedef struct conv_call {
    artel__conv2d_shape shape;
    artel__value_id x, bias;
    bool relu;
} conv_call;

typedef artel_status shape_fn(const artel__layer *layer, const artel_shape *in, artel__conv2d_shape *s);

/* What all kinds of call begin with. */
static artel_status begin(artel__layer *layer, artel__call *call, int bias, shape_fn *shape, conv_call *out)
{
    const conv_config *c = layer->config;
    const conv_parts *parts = layer->own;
    ARTEL_TRY(check_channels(layer, call));
    out->x = artel__channels_last(call->graph, artel__as_float(call->graph, call->in[0].value), c->data_format);
    ARTEL_TRY(call->graph->status);
    ARTEL_TRY(shape(layer, &call->graph->value[out->x].shape, &out->shape));
    out->x = as_image(call->graph, out->x, parts->rank);
    out->bias = c->use_bias ? artel__layer_weight(layer, call->graph, bias) : ARTEL__NO_VALUE;
    out->relu = artel__activation_is_relu(&parts->activation);
    return ARTEL_OK;
}

/* y and what adapters add: a convolution of few filters, and a product of those. */
static artel__value_id adapted(const artel__layer *layer, artel__graph *graph, const conv_call *k, artel__value_id y)
{
    artel__value_id a = artel__layer_weight(layer, graph, artel__adapters_of(layer, 0));
    if (graph->status < 0) return ARTEL__NO_VALUE;
    artel__conv2d_shape narrow = k->shape;
    narrow.oc = graph->value[a].shape.dim[graph->value[a].shape.rank - 1];
    return artel__adapters_add(layer, graph, 0, y,
                               artel__images_conv(graph, k->x, a, ARTEL__NO_VALUE, &narrow, ARTEL__FUSED_NONE));
}

static artel_status call_conv(artel__layer *layer, artel__call *call)
{
    const conv_config *c = layer->config;
    conv_call k;
    ARTEL_TRY(begin(layer, call, 1, shape_window, &k));
    k.shape.oc = c->filters;
    k.shape.groups = c->groups;
    if (artel__adapters_of(layer, 0)) k.relu = false;
    artel__value_id y = artel__images_conv(call->graph, k.x, artel__layer_weight(layer, call->graph, 0), k.bias,
                                           &k.shape, k.relu ? ARTEL__FUSED_RELU : ARTEL__FUSED_NONE);
    if (artel__adapters_of(layer, 0)) y = adapted(layer, call->graph, &k, y);
    finish(layer, call, y, k.relu);
    return ARTEL_OK;
}

static artel_status call_transpose(artel__layer *layer, artel__call *call)
{
    conv_call k;
    ARTEL_TRY(begin(layer, call, 1, shape_transpose, &k));
    artel__value_id y = artel__images_transpose(call->graph, k.x, artel__layer_weight(layer, call->graph, 0), k.bias,
                                                &k.shape, k.relu ? ARTEL__FUSED_RELU : ARTEL__FUSED_NONE);
    finish(layer, call, y, k.relu);
    return ARTEL_OK;
}

static artel_status call_depthwise(artel__layer *layer, artel__call *call)
{
    const conv_config *c = layer->config;
    conv_call k;
    ARTEL_TRY(begin(layer, call, 1, shape_window, &k));
    k.shape.groups = k.shape.ic;
    k.shape.oc = k.shape.ic * c->multiplier;
    artel__value_id y = artel__images_depthwise(call->graph, k.x, artel__layer_weight(layer, call->graph, 0), k.bias,
                                                &k.shape, k.relu ? ARTEL__FUSED_RELU : ARTEL__FUSED_NONE);
    finish(layer, call, y, k.relu);
    return ARTEL_OK;
}

static artel_status call_separable(artel__layer *layer, artel__call *call)
{
    const conv_config *c = layer->config;
    conv_call k;
    ARTEL_TRY(begin(layer, call, 2, shape_window, &k));
    k.shape.groups = k.shape.ic;
    k.shape.oc = k.shape.ic * c->multiplier;
    artel__value_id middle = artel__images_depthwise(call->graph, k.x, artel__layer_weight(layer, call->graph, 0),
                                                     ARTEL__NO_VALUE, &k.shape, ARTEL__FUSED_NONE);
    artel__conv2d_shape point = {.ih = k.shape.oh,
                                 .iw = k.shape.ow,
                                 .ic = k.shape.oc,
                                 .oh = k.shape.oh,
                                 .ow = k.shape.ow,
                                 .oc = c->filters,
                                 .kh = 1,
                                 .kw = 1,
                                 .sh = 1,
                                 .sw = 1,
                                 .dh = 1,
                                 .dw = 1,
                                 .groups = 1};
    artel__value_id y = artel__images_conv(call->graph, middle, artel__layer_weight(layer, call->graph, 1), k.bias,
                                           &point, k.relu ? ARTEL__FUSED_RELU : ARTEL__FUSED_NONE);
    finish(layer, call, y, k.relu);
    return ARTEL_OK;
}

#define CONV(symbol, name, kind, sentence)                 \
    const artel__layer_def artel__layer_##symbol##_def = { \
        .class_name = name,                                \
        .doc = sentence,                                   \
        .config_size = sizeof(conv_config),                \
        .options = kind##_options,                         \
        .mask = ARTEL__MASK_STOP,                          \
        .configure = configure_##kind,                     \
        .build = build_##kind,                             \
        .call = call_##kind,                               \
    }

CONV(conv1d, "Conv1D", conv, "Convolution of sequences.");
CONV(conv2d, "Conv2D", conv, "Convolution of images.");
CONV(conv1d_transpose, "Conv1DTranspose", transpose, "Transposed convolution of sequences.");
CONV(conv2d_transpose, "Conv2DTranspose", transpose, "Transposed convolution of images.");
CONV(depthwise_conv1d, "DepthwiseConv1D", depthwise, "Convolution of sequences, channel by channel.");
CONV(depthwise_conv2d, "DepthwiseConv2D", depthwise, "Convolution of images, channel by channel.");
CONV(separable_conv1d, "SeparableConv1D", separable, "Depthwise, then pointwise convolution of sequences.");
CONV(separable_conv2d, "SeparableConv2D", separable, "Depthwise, then pointwise convolution of images.");
