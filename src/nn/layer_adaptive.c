/* SPDX-License-Identifier: Apache-2.0 */
/* Adaptive pooling: windows of such extents that the output has the size asked for.
 *
 * Window i of m over n places is [floor(i n / m), ceil((i + 1) n / m)). Means are bands of weights along each axis in
 * turn; maxima are taken window by window, axis by axis. After keras/src/layers/pooling/base_adaptive_pooling.py.
 */
#include <string.h>

#include "nn/filter.h"
#include "nn/layer_support.h"
#include "op/reduce.h"

#define MOST_WINDOWS 512

typedef struct adaptive_config {
    artel__ints output_size;
    int data_format;
} adaptive_config;

static const artel__option adaptive_options[] = {
    {"output_size", "extents of the result", ARTEL__OPTION_INTS, offsetof(adaptive_config, output_size), NULL, 1,
     INT32_MAX, NULL},
    ARTEL__DATA_FORMAT(adaptive_config),
    ARTEL__OPTIONS_END,
};

static int dimensions(const artel__layer *layer)
{
    return layer->def->class_name[strlen(layer->def->class_name) - 2] - '0';
}

static artel_status configure_adaptive(artel__layer *layer)
{
    adaptive_config *c = layer->config;
    return artel__layer_spread(layer, "output_size", &c->output_size, dimensions(layer), 1);
}

static artel_status call_adaptive(artel__layer *layer, artel__call *call)
{
    const adaptive_config *c = layer->config;
    artel__graph *graph = call->graph;
    int axes = dimensions(layer);
    bool most = strstr(layer->def->class_name, "Max");
    ARTEL_TRY(artel__layer_check_input(layer, call, axes + 1, axes + 1));
    artel__value_id x = artel__channels_last(graph, artel__as_float(graph, call->in[0].value), c->data_format);
    ARTEL_TRY(graph->status);
    for (int i = 0; i < axes; i++) {
        int64_t outputs = c->output_size.item[i];
        if (outputs > (most ? MOST_WINDOWS : graph->value[x].shape.dim[i] * 16))
            return artel__layer_fail(layer, ARTEL_ERROR_UNSUPPORTED, "choose a smaller output_size",
                                     "%lld windows along an axis are not supported", (long long)outputs);
        if (outputs == graph->value[x].shape.dim[i]) continue;
        x = most ? artel__filter_maxima(graph, x, i, outputs) : artel__filter_means(graph, x, i, outputs);
        ARTEL_TRY(graph->status);
    }
    artel__call_return(call, artel__channels_back(graph, x, c->data_format));
    return graph->status;
}

#define ADAPTIVE(symbol, name, sentence)                   \
    const artel__layer_def artel__layer_##symbol##_def = { \
        .class_name = name,                                \
        .doc = sentence,                                   \
        .config_size = sizeof(adaptive_config),            \
        .options = adaptive_options,                       \
        .mask = ARTEL__MASK_STOP,                          \
        .configure = configure_adaptive,                   \
        .call = call_adaptive,                             \
    }

ADAPTIVE(adaptive_average_pooling1d, "AdaptiveAveragePooling1D", "Means of a sequence in a given number of windows.");
ADAPTIVE(adaptive_average_pooling2d, "AdaptiveAveragePooling2D", "Means of an image in a given number of windows.");
ADAPTIVE(adaptive_average_pooling3d, "AdaptiveAveragePooling3D", "Means of a volume in a given number of windows.");
ADAPTIVE(adaptive_max_pooling1d, "AdaptiveMaxPooling1D", "Largest values of a sequence in a given number of windows.");
ADAPTIVE(adaptive_max_pooling2d, "AdaptiveMaxPooling2D", "Largest values of an image in a given number of windows.");
ADAPTIVE(adaptive_max_pooling3d, "AdaptiveMaxPooling3D", "Largest values of a volume in a given number of windows.");
