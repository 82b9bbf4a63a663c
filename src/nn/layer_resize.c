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

/* The middle part of height : width. */
static artel__value_id cut(artel__graph *graph, artel__value_id x, const resize_config *c)
{
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    artel_shape in = graph->value[x].shape;
    int64_t crop[2] = {(int64_t)((float)(in.dim[1] * c->height) / (float)c->width),
                       (int64_t)((float)(in.dim[0] * c->width) / (float)c->height)};
    for (int i = 0; i < 2; i++) {
        int64_t length = crop[i] < in.dim[i] ? crop[i] : in.dim[i];
        if (length < 1) length = 1;
        x = artel__op_slice(graph, x, i, (in.dim[i] - length) / 2, length, 1);
    }
    return x;
}

/* A frame that brings the image to height : width; equal on both sides, as in Keras. */
static artel__value_id frame(artel__graph *graph, artel__value_id x, const resize_config *c)
{
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    artel_shape in = graph->value[x].shape;
    int64_t height = (int64_t)((float)(in.dim[1] * c->height) / (float)c->width),
            width = (int64_t)((float)(in.dim[0] * c->width) / (float)c->height);
    int64_t border[3] = {height > in.dim[0] ? (height - in.dim[0]) / 2 : 0,
                         width > in.dim[1] ? (width - in.dim[1]) / 2 : 0, 0};
    return artel__op_pad(graph, x, border, border, c->fill_value);
}

static artel_status call_resizing(artel__layer *layer, artel__call *call)
{
    const resize_config *c = layer->config;
    artel__graph *graph = call->graph;
    ARTEL_TRY(artel__layer_check_input(layer, call, 3, 3));
    if (c->crop && c->pad)
        return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "choose one of the two",
                                 "it has both crop_to_aspect_ratio and pad_to_aspect_ratio");
    if (graph->value[call->in[0].value].dtype != ARTEL_DTYPE_FLOAT32)
        return artel__layer_fail(layer, ARTEL_ERROR_UNSUPPORTED, "give the model an input of dtype float32",
                                 "images of integers are not supported");
    artel__value_id x = artel__channels_last(graph, call->in[0].value, c->data_format);
    if (c->crop) x = cut(graph, x, c);
    if (c->pad) x = frame(graph, x, c);
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
        x = artel__op_resize_bilinear(graph, cut(graph, x, c), c->height, c->width);
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
