/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX nodes for what windows slide over, and for the borders and sizes of images: with channels in front, as ONNX has them. */
#include <string.h>

#include "keras/onnx.h"

typedef artel__onnx_call call;

static const int64_t to_front[4] = {0, 3, 1, 2}, to_back[4] = {0, 2, 3, 1};

/* -- convolutions -- */

/* What convolutions share; `data` are OIHW. */
typedef struct conv {
    const float *data;
    artel_shape shape;
    int64_t groups, strides[2], dilation[2];
    bool same;
} conv;

/* Borders of "same" are named where onnxruntime works them out, and written where it does not: behind dilation, and where
 * strides step over the kernel. False, and refused, where they depend on an extent that is not known. */
static bool put_borders(call *c, artel__text *node, const int64_t size[2], const conv *k)
{
    int64_t pads[4];
    bool plain = k->dilation[0] == 1 && k->dilation[1] == 1 && k->strides[0] <= size[0] && k->strides[1] <= size[1];
    if (!k->same || plain) {
        artel__onnx_string(node, "auto_pad", k->same ? "SAME_UPPER" : "VALID");
        return true;
    }
    for (int i = 0; i < 2; i++) {
        int64_t reach = (size[i] - 1) * k->dilation[i], extent = c->shape.dim[i], stride = k->strides[i];
        if (stride > 1 && artel__onnx_open(c->onnx)) {
            artel__onnx_refuse(c, "these strides over images of any size");
            return false;
        }
        int64_t total = stride == 1 ? reach : (extent - 1) / stride * stride + reach + 1 - extent;
        if (total < 0) total = 0;
        pads[i] = total / 2;
        pads[2 + i] = total - total / 2;
    }
    artel__onnx_ints(node, "pads", pads, 4);
    return true;
}

static const char *put_conv(call *c, const char *x, const conv *k, const char *bias)
{
    artel__onnx *o = c->onnx;
    const char *kernel = artel__onnx_constant(o, ARTEL_DTYPE_FLOAT32, &k->shape, k->data);
    artel__text node = artel__onnx_start(o, "Conv");
    if (!put_borders(c, &node, &k->shape.dim[2], k)) {
        artel__text_fini(&node);
        return NULL;
    }
    artel__onnx_ints(&node, "strides", k->strides, 2);
    artel__onnx_ints(&node, "dilations", k->dilation, 2);
    artel__onnx_int(&node, "group", k->groups);
    return artel__onnx_end(o, &node, (const char *[]){x, kernel, bias}, bias ? 3 : 2);
}

/* HWIO to OIHW. */
static float *turn_kernel(artel__onnx *o, const float *hwio, const artel_shape *shape, artel_shape *out)
{
    int64_t area = shape->dim[0] * shape->dim[1], in = shape->dim[2], channels = shape->dim[3];
    float *oihw = artel__arena_alloc(&o->arena, (size_t)artel_shape_count(shape) + 1, sizeof *oihw);
    if (!oihw || !hwio) return NULL;
    for (int64_t p = 0; p < area; p++) {
        for (int64_t i = 0; i < in; i++) {
            for (int64_t k = 0; k < channels; k++) oihw[(k * in + i) * area + p] = hwio[(p * in + i) * channels + k];
        }
    }
    *out = (artel_shape){4, {channels, in, shape->dim[0], shape->dim[1]}};
    return oihw;
}

/* A depthwise kernel [h][w][in][multiplier] is a grouped one with in * multiplier outputs. */
static float *turn_depthwise(artel__onnx *o, const float *hwim, const artel_shape *shape, artel_shape *out)
{
    artel_shape flat = {4, {shape->dim[0], shape->dim[1], 1, shape->dim[2] * shape->dim[3]}};
    return turn_kernel(o, hwim, &flat, out);
}

static void read_conv(call *c, conv *k)
{
    const char *padding = artel__onnx_word(c->config, "padding", "valid");
    artel__onnx_pair(c->config, "strides", 1, k->strides);
    artel__onnx_pair(c->config, "dilation_rate", 1, k->dilation);
    k->groups = artel__onnx_integer(c->config, "groups", 1);
    k->same = strcmp(padding, "same") == 0;
}

static const char *bias_of(call *c, int n)
{
    return artel__onnx_flag(c->config, "use_bias", true) ? artel__onnx_weight_constant(c->onnx, c->layer, n) : NULL;
}

static const char *finish_conv(call *c, const char *y)
{
    return artel__onnx_activation(c, "activation", artel__onnx_transpose(c->onnx, y, to_back, 4));
}

static const char *conv2d(call *c)
{
    conv k;
    artel_shape shape = {.rank = 0};
    read_conv(c, &k);
    const float *kernel = artel__onnx_weight(c->onnx, c->layer, 0, &shape);
    k.data = turn_kernel(c->onnx, kernel, &shape, &k.shape);
    return finish_conv(c, put_conv(c, artel__onnx_transpose(c->onnx, artel__onnx_operand(c, 0), to_front, 4), &k, bias_of(c, 1)));
}

static const char *depthwise_conv2d(call *c)
{
    conv k;
    artel_shape shape = {.rank = 0};
    read_conv(c, &k);
    const float *kernel = artel__onnx_weight(c->onnx, c->layer, 0, &shape);
    k.data = turn_depthwise(c->onnx, kernel, &shape, &k.shape);
    k.groups = shape.dim[2];
    return finish_conv(c, put_conv(c, artel__onnx_transpose(c->onnx, artel__onnx_operand(c, 0), to_front, 4), &k, bias_of(c, 1)));
}

static const char *separable_conv2d(call *c)
{
    conv k;
    artel_shape shape = {.rank = 0};
    read_conv(c, &k);
    const float *kernel = artel__onnx_weight(c->onnx, c->layer, 0, &shape);
    k.data = turn_depthwise(c->onnx, kernel, &shape, &k.shape);
    k.groups = shape.dim[2];
    const char *y = put_conv(c, artel__onnx_transpose(c->onnx, artel__onnx_operand(c, 0), to_front, 4), &k, NULL);
    kernel = artel__onnx_weight(c->onnx, c->layer, 1, &shape);
    k = (conv){.groups = 1, .strides = {1, 1}, .dilation = {1, 1}};
    k.data = turn_kernel(c->onnx, kernel, &shape, &k.shape);
    return finish_conv(c, put_conv(c, y, &k, bias_of(c, 2)));
}

/* -- pools -- */

static const char *pooling2d(call *c)
{
    int64_t size[2];
    conv k = {.dilation = {1, 1}, .same = strcmp(artel__onnx_word(c->config, "padding", "valid"), "same") == 0};
    artel__onnx_pair(c->config, "pool_size", 2, size);
    memcpy(k.strides, size, sizeof size);
    if (!json_is_null(json_object_get(c->config, "strides"))) artel__onnx_pair(c->config, "strides", 0, k.strides);
    if (k.strides[0] == 0) memcpy(k.strides, size, sizeof size);
    const char *x = artel__onnx_transpose(c->onnx, artel__onnx_operand(c, 0), to_front, 4);
    artel__text node = artel__onnx_start(c->onnx, c->op);
    if (!put_borders(c, &node, size, &k)) {
        artel__text_fini(&node);
        return NULL;
    }
    artel__onnx_ints(&node, "kernel_shape", size, 2);
    artel__onnx_ints(&node, "strides", k.strides, 2);
    return artel__onnx_transpose(c->onnx, artel__onnx_end(c->onnx, &node, &x, 1), to_back, 4);
}

/* Over the axes between the batch and the channels. */
static const char *global_pooling(call *c)
{
    const int64_t axes[3] = {1, 2, 3};
    if (c->in[0].tensor.mask >= 0) return artel__onnx_refuse(c, "masks");
    artel__text node = artel__onnx_start(c->onnx, c->op);
    artel__onnx_ints(&node, "axes", axes, c->shape.rank - 1);
    artel__onnx_int(&node, "keepdims", artel__onnx_flag(c->config, "keepdims", false));
    return artel__onnx_end(c->onnx, &node, (const char *[]){artel__onnx_operand(c, 0)}, 1);
}

/* -- borders and sizes -- */

/* [[top, bottom], [left, right]], [h, w] or one number. */
static void read_edges(json_t *config, const char *key, int64_t fallback, int64_t edges[2][2])
{
    json_t *json = json_object_get(config, key);
    for (size_t axis = 0; axis < 2; axis++) {
        json_t *item = json_is_array(json) ? json_array_get(json, axis) : json;
        for (size_t end = 0; end < 2; end++) {
            edges[axis][end] = fallback;
            artel__json_integer(json_is_array(item) ? json_array_get(item, end) : item, &edges[axis][end]);
        }
    }
}

static const char *zero_padding2d(call *c)
{
    int64_t e[2][2];
    read_edges(c->config, "padding", 1, e);
    const int64_t pads[8] = {0, e[0][0], e[1][0], 0, 0, e[0][1], e[1][1], 0};
    return artel__onnx_node2(c->onnx, "Pad", artel__onnx_operand(c, 0), artel__onnx_ints_constant(c->onnx, pads, 8));
}

static const char *cropping2d(call *c)
{
    int64_t e[2][2];
    read_edges(c->config, "cropping", 0, e);
    const int64_t starts[2] = {e[0][0], e[1][0]}, axes[2] = {1, 2};
    const int64_t ends[2] = {e[0][1] ? -e[0][1] : INT64_MAX, e[1][1] ? -e[1][1] : INT64_MAX};
    artel__text node = artel__onnx_start(c->onnx, "Slice");
    return artel__onnx_end(c->onnx, &node,
                           (const char *[]){c->in[0].name, artel__onnx_ints_constant(c->onnx, starts, 2),
                                            artel__onnx_ints_constant(c->onnx, ends, 2), artel__onnx_ints_constant(c->onnx, axes, 2)},
                           4);
}

static const char *up_sampling2d(call *c)
{
    int64_t size[2];
    const char *how = artel__onnx_word(c->config, "interpolation", "nearest");
    bool nearest = strcmp(how, "nearest") == 0;
    if (!nearest && strcmp(how, "bilinear") != 0) return artel__onnx_refuse(c, "this interpolation");
    artel__onnx_pair(c->config, "size", 2, size);
    const float scales[4] = {1, 1, (float)size[0], (float)size[1]};
    const char *x = artel__onnx_transpose(c->onnx, artel__onnx_operand(c, 0), to_front, 4);
    artel__text node = artel__onnx_start(c->onnx, "Resize");
    artel__onnx_string(&node, "mode", nearest ? "nearest" : "linear");
    artel__onnx_string(&node, "coordinate_transformation_mode", nearest ? "asymmetric" : "half_pixel");
    artel__onnx_string(&node, "nearest_mode", "floor");
    const char *factors = artel__onnx_constant(c->onnx, ARTEL_DTYPE_FLOAT32, &(artel_shape){1, {4}}, scales);
    return artel__onnx_transpose(c->onnx, artel__onnx_end(c->onnx, &node, (const char *[]){x, "", factors}, 3), to_back, 4);
}

const artel__onnx_row artel__onnx_images[] = {
    {"Conv2D", conv2d, NULL},
    {"DepthwiseConv2D", depthwise_conv2d, NULL},
    {"SeparableConv2D", separable_conv2d, NULL},
    {"MaxPooling2D", pooling2d, "MaxPool"},
    {"AveragePooling2D", pooling2d, "AveragePool"},
    {"GlobalAveragePooling1D", global_pooling, "ReduceMean"},
    {"GlobalAveragePooling2D", global_pooling, "ReduceMean"},
    {"GlobalMaxPooling1D", global_pooling, "ReduceMax"},
    {"GlobalMaxPooling2D", global_pooling, "ReduceMax"},
    {"ZeroPadding2D", zero_padding2d, NULL},
    {"Cropping2D", cropping2d, NULL},
    {"UpSampling2D", up_sampling2d, NULL},
    {NULL, NULL, NULL},
};
