/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling over windows and over whole images, in one to three dimensions.
 *
 * Windows are laid over channels_last; channels_first is moved there and back. Averages count only positions inside the
 * input ("same" padding included), as TensorFlow does. Global pools are reductions; GlobalAveragePooling1D leaves
 * masked steps out. After keras/src/layers/pooling.
 */
#include "nn/layer_support.h"
#include "nn/window_float64.h"
#include "op/elementwise.h"
#include "op/norm.h"
#include "op/reduce.h"

static const char *const paddings[] = {"valid", "same", NULL};

typedef struct pool_config {
    artel__ints pool_size, strides;
    int padding, data_format;
} pool_config;

static const artel__option pool_options[] = {
    {"pool_size", "extents of the window", ARTEL__OPTION_INTS, offsetof(pool_config, pool_size), "2", 1, INT32_MAX,
     NULL},
    {"strides", "steps between windows; null: the extents", ARTEL__OPTION_INTS, offsetof(pool_config, strides), "null",
     1, INT32_MAX, NULL},
    {"padding", "valid or same", ARTEL__OPTION_ENUM, offsetof(pool_config, padding), "valid", 0, 0, paddings},
    ARTEL__DATA_FORMAT(pool_config),
    ARTEL__OPTIONS_END,
};

/* The digit of "MaxPooling2D". */
static int dimensions(const artel__layer *layer)
{
    for (const char *at = layer->def->class_name; *at; at++) {
        if (*at >= '1' && *at <= '3') return *at - '0';
    }
    return 0;
}

static artel_status configure_pool(artel__layer *layer)
{
    pool_config *c = layer->config;
    if (c->strides.count == 0) c->strides = c->pool_size;
    ARTEL_TRY(artel__layer_spread(layer, "pool_size", &c->pool_size, dimensions(layer), 1));
    return artel__layer_spread(layer, "strides", &c->strides, dimensions(layer), 1);
}

static artel_status misfit(const artel__layer *layer, int64_t window, int64_t in)
{
    return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "use a larger input, a smaller window or padding \"same\"",
                             "the window of %lld does not fit an input of %lld", (long long)window, (long long)in);
}

/* x: channels last. */
static artel_status call_pool_float64(const artel__layer *layer, artel__call *call, bool largest, artel__value_id x)
{
    const pool_config *c = layer->config;
    artel__graph *graph = call->graph;
    artel__conv_any window = {.rank = dimensions(layer), .groups = 1};
    for (int i = 0; i < window.rank; i++) {
        window.axis[i] = (artel__conv_axis){.kernel = c->pool_size.item[i],
                                            .stride = c->strides.item[i],
                                            .dilation = 1,
                                            .in = graph->value[x].shape.dim[i]};
        artel__conv_any_lay(&window.axis[i], c->padding == 1);
        if (window.axis[i].out < 1) return misfit(layer, window.axis[i].kernel, window.axis[i].in);
    }
    artel__value_id y = artel__pool_float64(graph, &window, largest, x);
    artel__call_return(call, artel__channels_back(graph, y, c->data_format));
    return graph->status;
}

static artel_status call_pool(artel__layer *layer, artel__call *call, artel__pool_op function)
{
    const pool_config *c = layer->config;
    int axes = dimensions(layer);
    ARTEL_TRY(artel__layer_check_input(layer, call, axes + 1, axes + 1));
    artel__graph *graph = call->graph;
    artel__value_id x = artel__channels_last(graph, artel__as_float(graph, call->in[0].value), c->data_format);
    ARTEL_TRY(graph->status);
    const artel_shape *in = &graph->value[x].shape;
    if (graph->real == ARTEL_DTYPE_FLOAT64) return call_pool_float64(layer, call, function == ARTEL__POOL_MAX, x);
    artel__pool_shape shape = {.channels = in->dim[axes]};
    for (int i = 0; i < 3; i++) {
        int from = i - (3 - axes);
        if (from < 0)
            artel__pool_axis(&shape, i, 1, 1, 1, false);
        else
            artel__pool_axis(&shape, i, in->dim[from], c->pool_size.item[from], c->strides.item[from], c->padding == 1);
        if (shape.out[i] < 1) return misfit(layer, shape.window[i], shape.in[i]);
    }
    artel__call_return(call, artel__channels_back(graph, artel__op_pool(graph, function, x, &shape), c->data_format));
    return ARTEL_OK;
}

static artel_status call_max(artel__layer *layer, artel__call *call)
{
    return call_pool(layer, call, ARTEL__POOL_MAX);
}

static artel_status call_average(artel__layer *layer, artel__call *call)
{
    return call_pool(layer, call, ARTEL__POOL_AVERAGE);
}

/* -- over whole images -- */

typedef struct global_config {
    int data_format;
    bool keepdims;
} global_config;

static const artel__option global_options[] = {
    ARTEL__DATA_FORMAT(global_config),
    {"keepdims", "whether the axes stay, with extent 1", ARTEL__OPTION_BOOL, offsetof(global_config, keepdims), "false",
     0, 0, NULL},
    ARTEL__OPTIONS_END,
};

static uint32_t spatial_axes(const artel__layer *layer)
{
    const global_config *c = layer->config;
    return ((1u << dimensions(layer)) - 1u) << (c->data_format == 1 ? 1 : 0);
}

static artel_status call_global(artel__layer *layer, artel__call *call, artel__reduction function)
{
    const global_config *c = layer->config;
    int axes = dimensions(layer);
    ARTEL_TRY(artel__layer_check_input(layer, call, axes + 1, axes + 1));
    artel__value_id x = artel__as_float(call->graph, call->in[0].value);
    artel__call_return(call, artel__op_reduce(call->graph, function, x, spatial_axes(layer), c->keepdims));
    return ARTEL_OK;
}

static artel_status call_global_max(artel__layer *layer, artel__call *call)
{
    return call_global(layer, call, ARTEL__REDUCE_MAX);
}

static artel_status call_global_average(artel__layer *layer, artel__call *call)
{
    return call_global(layer, call, ARTEL__REDUCE_MEAN);
}

/* sum(valid x) / number of valid steps. */
static artel_status call_global_average_1d(artel__layer *layer, artel__call *call)
{
    const global_config *c = layer->config;
    artel__graph *graph = call->graph;
    if (call->inputs != 1 || call->in[0].mask < 0) return call_global(layer, call, ARTEL__REDUCE_MEAN);
    ARTEL_TRY(artel__layer_check_input(layer, call, 2, 2));
    const artel_shape *in = artel__call_shape(call, 0);
    bool first = c->data_format == 1;
    artel_shape beside = first ? artel__shape(2, (int64_t)1, in->dim[1]) : artel__shape(2, in->dim[0], (int64_t)1);
    artel__value_id mask = artel__op_reshape(graph, call->in[0].mask, &beside);
    artel__value_id x = artel__op_where(graph, mask, artel__as_float(graph, call->in[0].value), ARTEL__NO_VALUE);
    artel__value_id sum = artel__op_reduce(graph, ARTEL__REDUCE_SUM, x, spatial_axes(layer), c->keepdims);
    artel__value_id count =
        artel__op_reduce(graph, ARTEL__REDUCE_SUM, artel__as_float(graph, mask), spatial_axes(layer), c->keepdims);
    artel__call_return(call, artel__op_binary(graph, ARTEL__BINARY_DIV, sum, count));
    return ARTEL_OK;
}

#define POOL(symbol, name, kind, sentence)                 \
    const artel__layer_def artel__layer_##symbol##_def = { \
        .class_name = name,                                \
        .doc = sentence,                                   \
        .config_size = sizeof(pool_config),                \
        .options = pool_options,                           \
        .mask = ARTEL__MASK_STOP,                          \
        .configure = configure_pool,                       \
        .call = call_##kind,                               \
    }

#define GLOBAL_POOL(symbol, name, kind, rule, sentence)    \
    const artel__layer_def artel__layer_##symbol##_def = { \
        .class_name = name,                                \
        .doc = sentence,                                   \
        .config_size = sizeof(global_config),              \
        .options = global_options,                         \
        .mask = rule,                                      \
        .call = call_##kind,                               \
    }

POOL(max_pooling1d, "MaxPooling1D", max, "Largest value of each window of a sequence.");
POOL(max_pooling2d, "MaxPooling2D", max, "Largest value of each window of an image.");
POOL(max_pooling3d, "MaxPooling3D", max, "Largest value of each window of a volume.");
POOL(average_pooling1d, "AveragePooling1D", average, "Mean of each window of a sequence.");
POOL(average_pooling2d, "AveragePooling2D", average, "Mean of each window of an image.");
POOL(average_pooling3d, "AveragePooling3D", average, "Mean of each window of a volume.");
GLOBAL_POOL(global_max_pooling1d, "GlobalMaxPooling1D", global_max, ARTEL__MASK_STOP, "Largest value of a sequence.");
GLOBAL_POOL(global_max_pooling2d, "GlobalMaxPooling2D", global_max, ARTEL__MASK_STOP, "Largest value of an image.");
GLOBAL_POOL(global_max_pooling3d, "GlobalMaxPooling3D", global_max, ARTEL__MASK_STOP, "Largest value of a volume.");
GLOBAL_POOL(global_average_pooling1d, "GlobalAveragePooling1D", global_average_1d, ARTEL__MASK_OWN,
            "Mean of a sequence, masked steps left out.");
GLOBAL_POOL(global_average_pooling2d, "GlobalAveragePooling2D", global_average, ARTEL__MASK_STOP, "Mean of an image.");
GLOBAL_POOL(global_average_pooling3d, "GlobalAveragePooling3D", global_average, ARTEL__MASK_STOP, "Mean of a volume.");
