/* SPDX-License-Identifier: Apache-2.0 */
/* Resizing and CenterCrop: images of another size, in training and outside of it.
 *
 * With crop_to_aspect_ratio the middle part of the wanted proportions is resized, with pad_to_aspect_ratio the image in
 * a frame of them. CenterCrop cuts the middle; where the image is too small one way, it is cut to the proportions and
 * stretched. After keras/src/layers/preprocessing/image_preprocessing and tf.image.resize (nn/filter.h).
 */
#include "nn/filter.h"
#include "nn/layer_support.h"

typedef struct resize_config {
    int64_t height, width;
    int data_format, interpolation, fill_mode;
    bool crop, pad, antialias;
    double fill_value;
} resize_config;

static const char *const fill_modes[] = {"constant", NULL};

#define CONFIG(field) offsetof(resize_config, field)
#define SIZE                                                                              \
    {"height", "lines", ARTEL__OPTION_INT, CONFIG(height), NULL, 1, INT32_MAX, NULL},     \
        {"width", "columns", ARTEL__OPTION_INT, CONFIG(width), NULL, 1, INT32_MAX, NULL}, \
        ARTEL__DATA_FORMAT(resize_config), ARTEL__PART("bounding_box_format", "accepted")

static const artel__option resizing_options[] = {
    SIZE,
    {"interpolation", "the filter", ARTEL__OPTION_ENUM, CONFIG(interpolation), "bilinear", 0, 0, artel__filters},
    {"crop_to_aspect_ratio", "cut what is too much", ARTEL__OPTION_BOOL, CONFIG(crop), "false", 0, 0, NULL},
    {"pad_to_aspect_ratio", "add a frame", ARTEL__OPTION_BOOL, CONFIG(pad), "false", 0, 0, NULL},
    {"fill_mode", "constant", ARTEL__OPTION_ENUM, CONFIG(fill_mode), "constant", 0, 0, fill_modes},
    {"fill_value", "the value of the frame", ARTEL__OPTION_FLOAT, CONFIG(fill_value), "0.0", 0, 0, NULL},
    {"antialias", "a wider filter where images become smaller", ARTEL__OPTION_BOOL, CONFIG(antialias), "false", 0, 0,
     NULL},
    ARTEL__OPTIONS_END,
};
static const artel__option crop_options[] = {SIZE, ARTEL__OPTIONS_END};

static artel_status call_resizing(artel__layer *layer, artel__call *call)
{
    const resize_config *c = layer->config;
    artel__graph *graph = call->graph;
    ARTEL_TRY(artel__layer_check_input(layer, call, 3, 3));
    if (c->crop && c->pad)
        return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "choose one of the two",
                                 "it has both crop_to_aspect_ratio and pad_to_aspect_ratio");
    if (graph->value[call->in[0].value].dtype != graph->real)
        return artel__layer_fail(layer, ARTEL_ERROR_UNSUPPORTED, "give the model an input of dtype float32",
                                 "images of integers are not supported");
    artel__value_id x = artel__channels_last(graph, call->in[0].value, c->data_format);
    if (c->crop) x = artel__filter_cut(graph, x, c->height, c->width);
    if (c->pad) x = artel__filter_frame(graph, x, c->height, c->width, c->fill_value);
    x = artel__filter_resize(graph, x, (artel__filter)c->interpolation, c->antialias, c->height, c->width);
    artel__call_return(call, artel__channels_back(graph, x, c->data_format));
    return graph->status;
}

static artel_status call_center_crop(artel__layer *layer, artel__call *call)
{
    const resize_config *c = layer->config;
    artel__graph *graph = call->graph;
    ARTEL_TRY(artel__layer_check_input(layer, call, 3, 3));
    artel__value_id x = artel__channels_last(graph, artel__as_float(graph, call->in[0].value), c->data_format);
    ARTEL_TRY(graph->status);
    int64_t down = graph->value[x].shape.dim[0] - c->height, across = graph->value[x].shape.dim[1] - c->width;
    if (down >= 0 && across >= 0)
        x = artel__op_slice(graph, artel__op_slice(graph, x, 0, down / 2, c->height, 1), 1, across / 2, c->width, 1);
    else
        x = artel__filter_resize(graph, artel__filter_cut(graph, x, c->height, c->width), ARTEL__FILTER_BILINEAR, false,
                                 c->height, c->width);
    artel__call_return(call, artel__channels_back(graph, x, c->data_format));
    return graph->status;
}

const artel__layer_def artel__layer_resizing_def = {
    .class_name = "Resizing",
    .doc = "Resizes images.",
    .config_size = sizeof(resize_config),
    .options = resizing_options,
    .mask = ARTEL__MASK_STOP,
    .call = call_resizing,
};

const artel__layer_def artel__layer_center_crop_def = {
    .class_name = "CenterCrop",
    .doc = "Cuts the middle of images.",
    .config_size = sizeof(resize_config),
    .options = crop_options,
    .mask = ARTEL__MASK_STOP,
    .call = call_center_crop,
};
