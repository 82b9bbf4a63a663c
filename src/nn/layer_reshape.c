/* SPDX-License-Identifier: Apache-2.0 */
/* Layers that only move elements: Flatten, Reshape, Permute, RepeatVector, padding, cropping, upsampling.
 *
 * channels_first moves the spatial axes by one and changes nothing else here (bilinear interpolation apart). After
 * keras/src/layers/reshaping.
 */
#include <string.h>

#include "nn/filter.h"
#include "nn/layer_support.h"
#include "op/elementwise.h"
#include "op/shape_ops.h"

typedef struct reshape_config {
    int data_format, interpolation;
    artel__ints list; /* target_shape, dims, size */
    int64_t n;
} reshape_config;

/* -- Flatten -- */

static const artel__option flatten_options[] = {ARTEL__DATA_FORMAT(reshape_config), ARTEL__OPTIONS_END};

static artel_status call_flatten(artel__layer *layer, artel__call *call)
{
    const reshape_config *c = layer->config;
    ARTEL_TRY(artel__layer_check_input(layer, call, 0, ARTEL_MAX_RANK));
    artel__graph *graph = call->graph;
    const artel_shape *in = artel__call_shape(call, 0);
    artel_shape flat = artel__shape(1, artel_shape_count(in));
    artel__value_id x = call->in[0].value;
    int permutation[ARTEL_MAX_RANK];
    if (c->data_format == 1 && in->rank > 1) x = artel__axes_last(graph, x, 1u, permutation);
    artel__call_return(call, artel__op_reshape(graph, x, &flat));
    return ARTEL_OK;
}

/* -- Reshape -- */

static const artel__option reshape_options[] = {
    {"target_shape", "shape of one row, one extent may be -1", ARTEL__OPTION_INTS, offsetof(reshape_config, list), NULL,
     0, 0, NULL},
    ARTEL__OPTIONS_END,
};

/* Fills in the extent -1; false when the shape does not fit. */
static bool complete_shape(const artel__ints *list, int64_t count, artel_shape *out)
{
    int open = -1;
    artel_shape known = {.rank = 0};
    *out = (artel_shape){.rank = list->count};
    for (int i = 0; i < list->count; i++) {
        out->dim[i] = list->item[i];
        if (list->item[i] == -1 && open < 0)
            open = i;
        else if (list->item[i] < 0)
            return false;
        else
            known.dim[known.rank++] = list->item[i];
    }
    int64_t product = artel_shape_count(&known);
    if (open < 0) return product == count;
    if (product <= 0 || count % product) return false;
    out->dim[open] = count / product;
    return true;
}

static artel_status call_reshape(artel__layer *layer, artel__call *call)
{
    const reshape_config *c = layer->config;
    ARTEL_TRY(artel__layer_check_input(layer, call, 0, ARTEL_MAX_RANK));
    artel_shape shape;
    if (!complete_shape(&c->list, artel_shape_count(artel__call_shape(call, 0)), &shape))
        return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "choose a shape of as many elements",
                                 "its %lld elements do not fit target_shape",
                                 (long long)artel_shape_count(artel__call_shape(call, 0)));
    artel__call_return(call, artel__op_reshape(call->graph, call->in[0].value, &shape));
    return ARTEL_OK;
}

/* -- Permute -- */

static const artel__option permute_options[] = {
    {"dims", "axes of the input, counted from 1, in their new order", ARTEL__OPTION_INTS,
     offsetof(reshape_config, list), NULL, 1, 8, NULL},
    ARTEL__OPTIONS_END,
};

static artel_status configure_permute(artel__layer *layer)
{
    const reshape_config *c = layer->config;
    uint32_t seen = 0;
    for (int i = 0; i < c->list.count; i++) seen |= 1u << (c->list.item[i] - 1);
    if (seen == (1u << c->list.count) - 1u) return ARTEL_OK;
    return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "name each axis from 1 on once",
                             "the setting \"dims\" is no permutation");
}

static artel_status call_permute(artel__layer *layer, artel__call *call)
{
    const reshape_config *c = layer->config;
    ARTEL_TRY(artel__layer_check_input(layer, call, c->list.count, c->list.count));
    int permutation[ARTEL_MAX_RANK];
    for (int i = 0; i < c->list.count; i++) permutation[i] = (int)c->list.item[i] - 1;
    artel__call_return(call, artel__op_transpose(call->graph, call->in[0].value, permutation));
    return ARTEL_OK;
}

/* -- RepeatVector -- */

static const artel__option repeat_options[] = {
    {"n", "how many times", ARTEL__OPTION_INT, offsetof(reshape_config, n), NULL, 1, INT32_MAX, NULL},
    ARTEL__OPTIONS_END,
};

static artel_status call_repeat(artel__layer *layer, artel__call *call)
{
    const reshape_config *c = layer->config;
    ARTEL_TRY(artel__layer_check_input(layer, call, 1, 1));
    artel_shape shape = artel__shape(2, (int64_t)1, artel__call_shape(call, 0)->dim[0]);
    artel__value_id x = artel__op_reshape(call->graph, call->in[0].value, &shape);
    artel__call_return(call, artel__op_repeat(call->graph, x, 0, c->n));
    return ARTEL_OK;
}

/* -- ZeroPadding and Cropping -- */

typedef struct border {
    int64_t before[3], after[3];
} border;

static const artel__option padding_options[] = {
    {"padding", "an integer, an integer an axis, or two an axis", ARTEL__OPTION_IGNORED, 0, "1", 0, 0, NULL},
    ARTEL__DATA_FORMAT(reshape_config),
    ARTEL__OPTIONS_END,
};
static const artel__option cropping_options[] = {
    {"cropping", "an integer, an integer an axis, or two an axis", ARTEL__OPTION_IGNORED, 0, "1", 0, 0, NULL},
    ARTEL__DATA_FORMAT(reshape_config),
    ARTEL__OPTIONS_END,
};

static int dimensions(const artel__layer *layer)
{
    return layer->def->class_name[strlen(layer->def->class_name) - 2] - '0';
}

static bool read_amount(json_t *json, int64_t *out)
{
    return artel__json_integer(json, out) && *out >= 0 && *out <= INT32_MAX;
}

static bool read_pair(json_t *json, int64_t *before, int64_t *after)
{
    if (json_is_array(json))
        return json_array_size(json) == 2 && read_amount(json_array_get(json, 0), before) &&
               read_amount(json_array_get(json, 1), after);
    if (!read_amount(json, before)) return false;
    *after = *before;
    return true;
}

static bool read_border(json_t *json, int axes, border *out)
{
    bool by_axis = json_is_array(json) && (axes > 1 || json_is_array(json_array_get(json, 0)));
    if (by_axis && (int)json_array_size(json) != axes) return false;
    for (int i = 0; i < axes; i++) {
        if (!read_pair(by_axis ? json_array_get(json, (size_t)i) : json, &out->before[i], &out->after[i])) return false;
    }
    return true;
}

static artel_status configure_border(artel__layer *layer, const char *key)
{
    border *own = layer->own = artel__arena_alloc(layer->arena, 1, sizeof *own);
    if (!own) return ARTEL_ERROR_NO_MEMORY;
    json_t *given = artel__layer_setting(layer, key);
    for (int i = 0; i < 3; i++) own->before[i] = own->after[i] = 1;
    if (!given && strcmp(key, "cropping") == 0 && dimensions(layer) == 2) memset(own, 0, sizeof *own);
    if (!given || read_border(given, dimensions(layer), own)) return ARTEL_OK;
    return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "save the model again with Keras",
                             "the setting \"%s\" has no form that Keras knows", key);
}

static artel_status configure_padding(artel__layer *layer)
{
    return configure_border(layer, "padding");
}

static artel_status configure_cropping(artel__layer *layer)
{
    return configure_border(layer, "cropping");
}

static artel_status call_border(artel__layer *layer, artel__call *call, int sign)
{
    const reshape_config *c = layer->config;
    const border *own = layer->own;
    int axes = dimensions(layer), first = c->data_format == 1 ? 1 : 0;
    ARTEL_TRY(artel__layer_check_input(layer, call, axes + 1, axes + 1));
    const artel_shape *in = artel__call_shape(call, 0);
    int64_t before[ARTEL_MAX_RANK] = {0}, after[ARTEL_MAX_RANK] = {0};
    for (int i = 0; i < axes; i++) {
        before[first + i] = sign * own->before[i];
        after[first + i] = sign * own->after[i];
        if (in->dim[first + i] + before[first + i] + after[first + i] < 1)
            return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "crop less",
                                     "nothing would be left of an axis of %lld", (long long)in->dim[first + i]);
    }
    artel__call_return(call, artel__op_pad(call->graph, call->in[0].value, before, after, 0));
    return ARTEL_OK;
}

static artel_status call_padding(artel__layer *layer, artel__call *call)
{
    return call_border(layer, call, 1);
}

static artel_status call_cropping(artel__layer *layer, artel__call *call)
{
    return call_border(layer, call, -1);
}

/* -- UpSampling -- */

static const artel__option upsampling_options[] = {
    {"size", "factor of each axis", ARTEL__OPTION_INTS, offsetof(reshape_config, list), "2", 1, INT32_MAX, NULL},
    ARTEL__DATA_FORMAT(reshape_config),
    {"interpolation", "nearest; of images any filter", ARTEL__OPTION_ENUM, offsetof(reshape_config, interpolation),
     "nearest", 0, 0, artel__filters},
    ARTEL__OPTIONS_END,
};

static artel_status configure_upsampling(artel__layer *layer)
{
    reshape_config *c = layer->config;
    return artel__layer_spread(layer, "size", &c->list, dimensions(layer), 1);
}

static artel_status call_upsampling(artel__layer *layer, artel__call *call)
{
    const reshape_config *c = layer->config;
    int axes = dimensions(layer), first = c->data_format == 1 ? 1 : 0;
    ARTEL_TRY(artel__layer_check_input(layer, call, axes + 1, axes + 1));
    artel__graph *graph = call->graph;
    const artel_shape *in = artel__call_shape(call, 0);
    artel__value_id x = call->in[0].value;
    if (c->interpolation != ARTEL__FILTER_NEAREST) {
        int64_t height = in->dim[first] * c->list.item[0], width = in->dim[first + 1] * c->list.item[1];
        x = artel__channels_last(graph, artel__as_float(graph, x), c->data_format);
        artel__call_return(call, artel__channels_back(graph,
                                                      artel__filter_resize(graph, x, (artel__filter)c->interpolation,
                                                                           false, height, width),
                                                      c->data_format));
        return ARTEL_OK;
    }
    for (int i = 0; i < axes; i++) {
        if (c->list.item[i] > 1) x = artel__op_repeat(graph, x, first + i, c->list.item[i]);
    }
    artel__call_return(call, x);
    return ARTEL_OK;
}

#define RESHAPE(symbol, name, kind, before, sentence)      \
    const artel__layer_def artel__layer_##symbol##_def = { \
        .class_name = name,                                \
        .doc = sentence,                                   \
        .config_size = sizeof(reshape_config),             \
        .options = kind##_options,                         \
        .mask = ARTEL__MASK_STOP,                          \
        .configure = before,                               \
        .call = call_##kind,                               \
    }

RESHAPE(flatten, "Flatten", flatten, NULL, "A row as one axis.");
RESHAPE(reshape, "Reshape", reshape, NULL, "A row under another shape.");
RESHAPE(permute, "Permute", permute, configure_permute, "The axes of a row in another order.");
RESHAPE(repeat_vector, "RepeatVector", repeat, NULL, "A vector several times.");
RESHAPE(zero_padding1d, "ZeroPadding1D", padding, configure_padding, "Zeros around a sequence.");
RESHAPE(zero_padding2d, "ZeroPadding2D", padding, configure_padding, "Zeros around an image.");
RESHAPE(zero_padding3d, "ZeroPadding3D", padding, configure_padding, "Zeros around a volume.");
RESHAPE(cropping1d, "Cropping1D", cropping, configure_cropping, "A sequence without its ends.");
RESHAPE(cropping2d, "Cropping2D", cropping, configure_cropping, "An image without its border.");
RESHAPE(cropping3d, "Cropping3D", cropping, configure_cropping, "A volume without its border.");
RESHAPE(up_sampling1d, "UpSampling1D", upsampling, configure_upsampling, "Each step several times.");
RESHAPE(up_sampling2d, "UpSampling2D", upsampling, configure_upsampling, "A larger image.");
RESHAPE(up_sampling3d, "UpSampling3D", upsampling, configure_upsampling, "A larger volume.");
