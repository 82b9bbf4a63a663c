/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX nodes for what windows slide over, and for the borders and sizes of images: with channels in front, as ONNX has
 * them. */
#include <string.h>

#include "keras/onnx.h"

typedef artel__onnx_call call;

/* -- axes: of images, or of sequences, which have one -- */

static const char *to_front(call *c, const char *x, int dims)
{
    static const int64_t order[2][4] = {{0, 2, 1}, {0, 3, 1, 2}};
    return artel__onnx_transpose(c->onnx, x, order[dims - 1], dims + 2);
}

static const char *to_back(call *c, const char *y, int dims)
{
    static const int64_t order[2][4] = {{0, 2, 1}, {0, 2, 3, 1}};
    return artel__onnx_transpose(c->onnx, y, order[dims - 1], dims + 2);
}

static int dims_of(const call *c)
{
    return c->shape.rank - 1;
}

/* A setting by axis: a list, or one number for all. */
static void read_sizes(const call *c, const char *key, int64_t fallback, int64_t out[2])
{
    json_t *value = json_object_get(c->config, key);
    for (size_t i = 0; i < 2; i++) {
        out[i] = fallback;
        artel__json_integer(json_is_array(value) ? json_array_get(value, i) : value, &out[i]);
    }
}

/* -- convolutions -- */

/* What convolutions share; `data` are OI and the axes, those of a transposed one IO and the axes. */
typedef struct conv {
    const float *data;
    artel_shape shape;
    int64_t groups, strides[2], dilation[2];
    int dims;
    bool same, causal;
} conv;

/* Borders of "same" are named where onnxruntime works them out, and written where it does not: behind dilation, and
 * where strides step over the kernel. False, and refused, where they depend on an extent that is not known. */
static bool put_borders(call *c, artel__text *node, const int64_t *size, const conv *k)
{
    int64_t pads[4];
    bool plain = true;
    for (int i = 0; i < k->dims; i++) plain = plain && k->dilation[i] == 1 && k->strides[i] <= size[i];
    if (!k->causal && (!k->same || plain)) {
        artel__onnx_string(node, "auto_pad", k->same ? "SAME_UPPER" : "VALID");
        return true;
    }
    for (int i = 0; i < k->dims; i++) {
        int64_t reach = (size[i] - 1) * k->dilation[i], extent = c->shape.dim[i], stride = k->strides[i];
        if (stride > 1 && !k->causal && artel__onnx_open(c->onnx)) {
            artel__onnx_refuse(c, "these strides over images of any size");
            return false;
        }
        int64_t total = stride == 1 || k->causal ? reach : (extent - 1) / stride * stride + reach + 1 - extent;
        if (total < 0) total = 0;
        pads[i] = k->causal ? total : total / 2;
        pads[k->dims + i] = total - pads[i];
    }
    artel__onnx_ints(node, "pads", pads, 2 * (int64_t)k->dims);
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
    artel__onnx_ints(&node, "strides", k->strides, k->dims);
    artel__onnx_ints(&node, "dilations", k->dilation, k->dims);
    artel__onnx_int(&node, "group", k->groups);
    return artel__onnx_end(o, &node, (const char *[]){x, kernel, bias}, bias ? 3 : 2);
}

/* [axes][in][out] to [out][in][axes]. */
static float *turn_kernel(artel__onnx *o, const float *kernel, const artel_shape *shape, artel_shape *out)
{
    int axes = shape->rank - 2;
    int64_t area = artel__shape_product(shape, 0, axes), in = shape->dim[axes], channels = shape->dim[axes + 1];
    float *turned = artel__arena_alloc(&o->arena, (size_t)artel_shape_count(shape) + 1, sizeof *turned);
    if (!turned || !kernel) return NULL;
    for (int64_t p = 0; p < area; p++) {
        for (int64_t i = 0; i < in; i++) {
            for (int64_t k = 0; k < channels; k++)
                turned[(k * in + i) * area + p] = kernel[(p * in + i) * channels + k];
        }
    }
    *out = (artel_shape){shape->rank, {channels, in, shape->dim[0], axes > 1 ? shape->dim[1] : 0}};
    return turned;
}

/* A depthwise kernel [axes][in][multiplier] is a grouped one with in * multiplier outputs. */
static float *turn_depthwise(artel__onnx *o, const float *kernel, const artel_shape *shape, artel_shape *out)
{
    artel_shape flat = *shape;
    flat.dim[shape->rank - 1] *= shape->dim[shape->rank - 2];
    flat.dim[shape->rank - 2] = 1;
    return turn_kernel(o, kernel, &flat, out);
}

static void read_conv(call *c, conv *k)
{
    const char *padding = artel__onnx_word(c->config, "padding", "valid");
    read_sizes(c, "strides", 1, k->strides);
    read_sizes(c, "dilation_rate", 1, k->dilation);
    k->groups = artel__onnx_integer(c->config, "groups", 1);
    k->dims = dims_of(c);
    k->same = strcmp(padding, "same") == 0;
    k->causal = strcmp(padding, "causal") == 0;
}

static const char *bias_of(call *c, int n)
{
    return artel__onnx_flag(c->config, "use_bias", true) ? artel__onnx_weight_constant(c->onnx, c->layer, n) : NULL;
}

static const char *finish_conv(call *c, const char *y)
{
    return artel__onnx_activation(c, "activation", to_back(c, y, dims_of(c)));
}

static const char *convolution(call *c)
{
    conv k;
    artel_shape shape = {.rank = 0};
    read_conv(c, &k);
    const float *kernel = artel__onnx_weight(c->onnx, c->layer, 0, &shape);
    k.data = turn_kernel(c->onnx, kernel, &shape, &k.shape);
    return finish_conv(c, put_conv(c, to_front(c, artel__onnx_operand(c, 0), k.dims), &k, bias_of(c, 1)));
}

static const char *depthwise(call *c)
{
    conv k;
    artel_shape shape = {.rank = 0};
    read_conv(c, &k);
    const float *kernel = artel__onnx_weight(c->onnx, c->layer, 0, &shape);
    k.data = turn_depthwise(c->onnx, kernel, &shape, &k.shape);
    k.groups = shape.dim[k.dims];
    return finish_conv(c, put_conv(c, to_front(c, artel__onnx_operand(c, 0), k.dims), &k, bias_of(c, 1)));
}

static const char *separable(call *c)
{
    conv k;
    artel_shape shape = {.rank = 0};
    read_conv(c, &k);
    const float *kernel = artel__onnx_weight(c->onnx, c->layer, 0, &shape);
    k.data = turn_depthwise(c->onnx, kernel, &shape, &k.shape);
    k.groups = shape.dim[k.dims];
    const char *y = put_conv(c, to_front(c, artel__onnx_operand(c, 0), k.dims), &k, NULL);
    kernel = artel__onnx_weight(c->onnx, c->layer, 1, &shape);
    k = (conv){.groups = 1, .strides = {1, 1}, .dilation = {1, 1}, .dims = k.dims};
    k.data = turn_kernel(c->onnx, kernel, &shape, &k.shape);
    return finish_conv(c, put_conv(c, y, &k, bias_of(c, 2)));
}

/* The gradient of a convolution, whose borders are those of the forward one: what strides step over is zero, at the
 * end. */
static const char *transposed(call *c)
{
    conv k;
    artel__onnx *o = c->onnx;
    artel_shape shape = {.rank = 0};
    int64_t pads[4], beyond[2];
    json_t *output_padding = json_object_get(c->config, "output_padding");
    read_conv(c, &k);
    const float *kernel = artel__onnx_weight(o, c->layer, 0, &shape);
    k.data = turn_kernel(o, kernel, &shape, &k.shape); /* Keras' is [axes][out][in] */
    if (output_padding && !json_is_null(output_padding)) return artel__onnx_refuse(c, "output_padding");
    for (int i = 0; i < k.dims; i++) {
        int64_t reach = (k.shape.dim[2 + i] - 1) * k.dilation[i] + 1,
                total = k.same && reach > k.strides[i] ? reach - k.strides[i] : 0;
        pads[i] = total / 2;
        pads[k.dims + i] = total - total / 2;
        beyond[i] = reach < k.strides[i] ? k.strides[i] - reach : 0;
    }
    const char *x = to_front(c, artel__onnx_operand(c, 0), k.dims), *bias = bias_of(c, 1);
    const char *weights = artel__onnx_constant(o, ARTEL_DTYPE_FLOAT32, &k.shape, k.data);
    artel__text node = artel__onnx_start(o, "ConvTranspose");
    artel__onnx_ints(&node, "pads", pads, 2 * (int64_t)k.dims);
    artel__onnx_ints(&node, "output_padding", beyond, k.dims);
    artel__onnx_ints(&node, "strides", k.strides, k.dims);
    artel__onnx_ints(&node, "dilations", k.dilation, k.dims);
    return finish_conv(c, artel__onnx_end(o, &node, (const char *[]){x, weights, bias}, bias ? 3 : 2));
}

/* -- pools -- */

static const char *pooling(call *c)
{
    int64_t size[2];
    conv k = {.dilation = {1, 1},
              .dims = dims_of(c),
              .same = strcmp(artel__onnx_word(c->config, "padding", "valid"), "same") == 0};
    read_sizes(c, "pool_size", 2, size);
    memcpy(k.strides, size, sizeof size);
    if (!json_is_null(json_object_get(c->config, "strides"))) read_sizes(c, "strides", 0, k.strides);
    if (k.strides[0] == 0) memcpy(k.strides, size, sizeof size);
    const char *x = to_front(c, artel__onnx_operand(c, 0), k.dims);
    artel__text node = artel__onnx_start(c->onnx, c->op);
    if (!put_borders(c, &node, size, &k)) {
        artel__text_fini(&node);
        return NULL;
    }
    artel__onnx_ints(&node, "kernel_shape", size, k.dims);
    artel__onnx_ints(&node, "strides", k.strides, k.dims);
    return to_back(c, artel__onnx_end(c->onnx, &node, &x, 1), k.dims);
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

/* [[top, bottom], [left, right]], [h, w] or one number; of sequences [begin, end] or one number. */
static void read_edges(const call *c, const char *key, int64_t fallback, int64_t edges[2][2])
{
    json_t *json = json_object_get(c->config, key);
    for (size_t axis = 0; axis < 2; axis++) {
        json_t *item = dims_of(c) > 1 && json_is_array(json) ? json_array_get(json, axis) : json;
        for (size_t end = 0; end < 2; end++) {
            edges[axis][end] = fallback;
            artel__json_integer(json_is_array(item) ? json_array_get(item, end) : item, &edges[axis][end]);
        }
    }
}

static const char *zero_padding(call *c)
{
    int64_t e[2][2], pads[8] = {0};
    int dims = dims_of(c);
    read_edges(c, "padding", 1, e);
    for (int i = 0; i < dims; i++) {
        pads[1 + i] = e[i][0];
        pads[dims + 3 + i] = e[i][1];
    }
    return artel__onnx_node2(c->onnx, "Pad", artel__onnx_operand(c, 0),
                             artel__onnx_ints_constant(c->onnx, pads, 2 * (dims + 2)));
}

static const char *cropping(call *c)
{
    int64_t e[2][2];
    const int64_t axes[2] = {1, 2};
    int dims = dims_of(c);
    read_edges(c, "cropping", dims > 1 ? 0 : 1, e);
    const int64_t starts[2] = {e[0][0], e[1][0]},
                  ends[2] = {e[0][1] ? -e[0][1] : INT64_MAX, e[1][1] ? -e[1][1] : INT64_MAX};
    artel__text node = artel__onnx_start(c->onnx, "Slice");
    return artel__onnx_end(c->onnx, &node,
                           (const char *[]){c->in[0].name, artel__onnx_ints_constant(c->onnx, starts, dims),
                                            artel__onnx_ints_constant(c->onnx, ends, dims),
                                            artel__onnx_ints_constant(c->onnx, axes, dims)},
                           4);
}

static const char *up_sampling(call *c)
{
    int64_t size[2];
    int dims = dims_of(c);
    const char *how = artel__onnx_word(c->config, "interpolation", "nearest");
    bool nearest = strcmp(how, "nearest") == 0;
    if (!nearest && strcmp(how, "bilinear") != 0) return artel__onnx_refuse(c, "this interpolation");
    read_sizes(c, "size", 2, size);
    const float scales[4] = {1, 1, (float)size[0], (float)size[1]};
    const char *x = to_front(c, artel__onnx_operand(c, 0), dims);
    artel__text node = artel__onnx_start(c->onnx, "Resize");
    artel__onnx_string(&node, "mode", nearest ? "nearest" : "linear");
    artel__onnx_string(&node, "coordinate_transformation_mode", nearest ? "asymmetric" : "half_pixel");
    artel__onnx_string(&node, "nearest_mode", "floor");
    const char *factors = artel__onnx_constant(c->onnx, ARTEL_DTYPE_FLOAT32, &(artel_shape){1, {dims + 2}}, scales);
    return to_back(c, artel__onnx_end(c->onnx, &node, (const char *[]){x, "", factors}, 3), dims);
}

const artel__onnx_row artel__onnx_images[] = {
    {"Conv1D", convolution, NULL},
    {"Conv2D", convolution, NULL},
    {"Conv1DTranspose", transposed, NULL},
    {"Conv2DTranspose", transposed, NULL},
    {"DepthwiseConv1D", depthwise, NULL},
    {"DepthwiseConv2D", depthwise, NULL},
    {"SeparableConv1D", separable, NULL},
    {"SeparableConv2D", separable, NULL},
    {"MaxPooling1D", pooling, "MaxPool"},
    {"MaxPooling2D", pooling, "MaxPool"},
    {"AveragePooling1D", pooling, "AveragePool"},
    {"AveragePooling2D", pooling, "AveragePool"},
    {"GlobalAveragePooling1D", global_pooling, "ReduceMean"},
    {"GlobalAveragePooling2D", global_pooling, "ReduceMean"},
    {"GlobalMaxPooling1D", global_pooling, "ReduceMax"},
    {"GlobalMaxPooling2D", global_pooling, "ReduceMax"},
    {"ZeroPadding1D", zero_padding, NULL},
    {"ZeroPadding2D", zero_padding, NULL},
    {"Cropping1D", cropping, NULL},
    {"Cropping2D", cropping, NULL},
    {"UpSampling1D", up_sampling, NULL},
    {"UpSampling2D", up_sampling, NULL},
    {NULL, NULL, NULL},
};
