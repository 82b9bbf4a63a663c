/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX nodes for layers without sequences: one function a family, one row a class.
 *
 * Longer than most files because it is one list; every function is short and stands alone.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "keras/onnx.h"

typedef artel__onnx_call call;

static const int64_t to_front[4] = {0, 3, 1, 2}, to_back[4] = {0, 2, 3, 1};

/* The k-th operand as float32. */
static const char *operand(call *c, int k)
{
    artel_dtype dtype = c->onnx->graph.value[c->in[k].tensor.value].dtype;
    return dtype == ARTEL_DTYPE_FLOAT32 ? c->in[k].name : artel__onnx_cast(c->onnx, c->in[k].name, ARTEL_DTYPE_FLOAT32);
}

static const char *pass(call *c)
{
    return c->in[0].name;
}

/* -- activations -- */

const char *artel__onnx_activation_name(json_t *value)
{
    const char *name = json_string_value(value);
    if (json_is_object(value)) {
        name = json_string_value(json_object_get(value, "config"));
        if (!name) name = json_string_value(json_object_get(value, "class_name"));
    }
    return name ? name : "linear";
}

typedef const char *unary_fn(artel__onnx *o, const char *x);

static const char *with_alpha(artel__onnx *o, const char *op, const char *x, double alpha)
{
    artel__text node = artel__onnx_start(o, op);
    artel__onnx_float(&node, "alpha", alpha);
    return artel__onnx_end(o, &node, &x, 1);
}

static const char *clip(artel__onnx *o, const char *x, double low, double high)
{
    artel__text node = artel__onnx_start(o, "Clip");
    return artel__onnx_end(o, &node, (const char *[]){x, artel__onnx_scalar(o, low), artel__onnx_scalar(o, high)}, 3);
}

static const char *relu6(artel__onnx *o, const char *x)
{
    return clip(o, x, 0, 6);
}

static const char *leaky(artel__onnx *o, const char *x)
{
    return with_alpha(o, "LeakyRelu", x, 0.2);
}

static const char *silu(artel__onnx *o, const char *x)
{
    return artel__onnx_node2(o, "Mul", x, artel__onnx_node1(o, "Sigmoid", x));
}

static const char *mish(artel__onnx *o, const char *x)
{
    return artel__onnx_node2(o, "Mul", x, artel__onnx_node1(o, "Tanh", artel__onnx_node1(o, "Softplus", x)));
}

/* x / 2 (1 + erf(x / sqrt 2)) */
static const char *gelu(artel__onnx *o, const char *x)
{
    const char *erf_part = artel__onnx_node1(o, "Erf", artel__onnx_node2(o, "Mul", x, artel__onnx_scalar(o, 0.70710678118654752)));
    const char *sum = artel__onnx_node2(o, "Add", erf_part, artel__onnx_scalar(o, 1));
    return artel__onnx_node2(o, "Mul", artel__onnx_node2(o, "Mul", x, artel__onnx_scalar(o, 0.5)), sum);
}

static const char *hard_sigmoid(artel__onnx *o, const char *x)
{
    return with_alpha(o, "HardSigmoid", x, 1.0 / 6);
}

static const char *hard_silu(artel__onnx *o, const char *x)
{
    return artel__onnx_node2(o, "Mul", x, hard_sigmoid(o, x));
}

static const char *along_last(artel__onnx *o, const char *op, const char *x)
{
    artel__text node = artel__onnx_start(o, op);
    artel__onnx_int(&node, "axis", -1);
    return artel__onnx_end(o, &node, &x, 1);
}

static const char *softmax(artel__onnx *o, const char *x)
{
    return along_last(o, "Softmax", x);
}

static const char *log_softmax(artel__onnx *o, const char *x)
{
    return along_last(o, "LogSoftmax", x);
}

static const struct {
    const char *name, *op; /* a plain node */
    unary_fn *make;        /* or more than one */
} activations[] = {
    {"relu", "Relu", NULL},
    {"sigmoid", "Sigmoid", NULL},
    {"tanh", "Tanh", NULL},
    {"softplus", "Softplus", NULL},
    {"softsign", "Softsign", NULL},
    {"elu", "Elu", NULL},
    {"selu", "Selu", NULL},
    {"exponential", "Exp", NULL},
    {"relu6", NULL, relu6},
    {"leaky_relu", NULL, leaky},
    {"silu", NULL, silu},
    {"swish", NULL, silu},
    {"mish", NULL, mish},
    {"gelu", NULL, gelu},
    {"hard_sigmoid", NULL, hard_sigmoid},
    {"hard_silu", NULL, hard_silu},
    {"hard_swish", NULL, hard_silu},
    {"softmax", NULL, softmax},
    {"log_softmax", NULL, log_softmax},
};

const char *artel__onnx_activation(call *c, const char *key, const char *x)
{
    const char *name = artel__onnx_activation_name(json_object_get(c->config, key));
    char what[128];
    if (!x || strcmp(name, "linear") == 0) return x;
    for (size_t i = 0; i < ARTEL__COUNT(activations); i++) {
        if (strcmp(activations[i].name, name) != 0) continue;
        return activations[i].op ? artel__onnx_node1(c->onnx, activations[i].op, x) : activations[i].make(c->onnx, x);
    }
    snprintf(what, sizeof what, "the activation %s", name);
    return artel__onnx_refuse(c, what);
}

static const char *activation(call *c)
{
    return artel__onnx_activation(c, "activation", operand(c, 0));
}

static const char *relu(call *c)
{
    const char *x = operand(c, 0);
    double slope = artel__onnx_number(c->config, "negative_slope", 0), most = artel__onnx_number(c->config, "max_value", INFINITY);
    if (artel__onnx_number(c->config, "threshold", 0) != 0) return artel__onnx_refuse(c, "a threshold");
    x = slope != 0 ? with_alpha(c->onnx, "LeakyRelu", x, slope) : artel__onnx_node1(c->onnx, "Relu", x);
    return isinf(most) ? x : artel__onnx_node2(c->onnx, "Min", x, artel__onnx_scalar(c->onnx, most));
}

static const char *leaky_relu(call *c)
{
    double slope = artel__onnx_number(c->config, "alpha", 0.3);
    return with_alpha(c->onnx, "LeakyRelu", operand(c, 0), artel__onnx_number(c->config, "negative_slope", slope));
}

static const char *elu(call *c)
{
    return with_alpha(c->onnx, "Elu", operand(c, 0), artel__onnx_number(c->config, "alpha", 1));
}

static const char *softmax_layer(call *c)
{
    json_t *axis = json_object_get(c->config, "axis");
    if (json_array_size(axis) > 1) return artel__onnx_refuse(c, "softmax over several axes");
    artel__text node = artel__onnx_start(c->onnx, "Softmax");
    artel__onnx_int(&node, "axis", artel__onnx_integer(c->config, "axis", -1));
    return artel__onnx_end(c->onnx, &node, (const char *[]){operand(c, 0)}, 1);
}

/* -- products -- */

/* Adds the n-th variable when the layer has a bias. */
static const char *add_bias(call *c, const char *x, int n)
{
    if (!artel__onnx_flag(c->config, "use_bias", true)) return x;
    return artel__onnx_node2(c->onnx, "Add", x, artel__onnx_weight_constant(c->onnx, c->layer, n));
}

static const char *dense(call *c)
{
    const char *y = artel__onnx_node2(c->onnx, "MatMul", operand(c, 0), artel__onnx_weight_constant(c->onnx, c->layer, 0));
    return artel__onnx_activation(c, "activation", add_bias(c, y, 1));
}

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
    return finish_conv(c, put_conv(c, artel__onnx_transpose(c->onnx, operand(c, 0), to_front, 4), &k, bias_of(c, 1)));
}

static const char *depthwise_conv2d(call *c)
{
    conv k;
    artel_shape shape = {.rank = 0};
    read_conv(c, &k);
    const float *kernel = artel__onnx_weight(c->onnx, c->layer, 0, &shape);
    k.data = turn_depthwise(c->onnx, kernel, &shape, &k.shape);
    k.groups = shape.dim[2];
    return finish_conv(c, put_conv(c, artel__onnx_transpose(c->onnx, operand(c, 0), to_front, 4), &k, bias_of(c, 1)));
}

static const char *separable_conv2d(call *c)
{
    conv k;
    artel_shape shape = {.rank = 0};
    read_conv(c, &k);
    const float *kernel = artel__onnx_weight(c->onnx, c->layer, 0, &shape);
    k.data = turn_depthwise(c->onnx, kernel, &shape, &k.shape);
    k.groups = shape.dim[2];
    const char *y = put_conv(c, artel__onnx_transpose(c->onnx, operand(c, 0), to_front, 4), &k, NULL);
    kernel = artel__onnx_weight(c->onnx, c->layer, 1, &shape);
    k = (conv){.groups = 1, .strides = {1, 1}, .dilation = {1, 1}};
    k.data = turn_kernel(c->onnx, kernel, &shape, &k.shape);
    return finish_conv(c, put_conv(c, y, &k, bias_of(c, 2)));
}

static const char *pooling2d(call *c)
{
    int64_t size[2];
    conv k = {.dilation = {1, 1}, .same = strcmp(artel__onnx_word(c->config, "padding", "valid"), "same") == 0};
    artel__onnx_pair(c->config, "pool_size", 2, size);
    memcpy(k.strides, size, sizeof size);
    if (!json_is_null(json_object_get(c->config, "strides"))) artel__onnx_pair(c->config, "strides", 0, k.strides);
    if (k.strides[0] == 0) memcpy(k.strides, size, sizeof size);
    const char *x = artel__onnx_transpose(c->onnx, operand(c, 0), to_front, 4);
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
    return artel__onnx_end(c->onnx, &node, (const char *[]){operand(c, 0)}, 1);
}

/* -- shapes -- */

static const char *flatten(call *c)
{
    artel__text node = artel__onnx_start(c->onnx, "Flatten");
    artel__onnx_int(&node, "axis", 1);
    return artel__onnx_end(c->onnx, &node, &c->in[0].name, 1);
}

static const char *reshape(call *c)
{
    int64_t shape[ARTEL_MAX_RANK + 1] = {0};
    json_t *target = json_object_get(c->config, "target_shape");
    int rank = (int)json_array_size(target);
    for (int i = 0; i < rank && i < ARTEL_MAX_RANK; i++) {
        if (!artel__json_integer(json_array_get(target, (size_t)i), &shape[i + 1])) shape[i + 1] = -1;
    }
    return artel__onnx_node2(c->onnx, "Reshape", c->in[0].name, artel__onnx_ints_constant(c->onnx, shape, rank + 1));
}

static const char *permute(call *c)
{
    int64_t perm[ARTEL_MAX_RANK + 1] = {0};
    json_t *dims = json_object_get(c->config, "dims");
    int rank = (int)json_array_size(dims);
    for (int i = 0; i < rank && i < ARTEL_MAX_RANK; i++) artel__json_integer(json_array_get(dims, (size_t)i), &perm[i + 1]);
    return artel__onnx_transpose(c->onnx, c->in[0].name, perm, rank + 1);
}

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
    return artel__onnx_node2(c->onnx, "Pad", operand(c, 0), artel__onnx_ints_constant(c->onnx, pads, 8));
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
    const char *x = artel__onnx_transpose(c->onnx, operand(c, 0), to_front, 4);
    artel__text node = artel__onnx_start(c->onnx, "Resize");
    artel__onnx_string(&node, "mode", nearest ? "nearest" : "linear");
    artel__onnx_string(&node, "coordinate_transformation_mode", nearest ? "asymmetric" : "half_pixel");
    artel__onnx_string(&node, "nearest_mode", "floor");
    const char *factors = artel__onnx_constant(c->onnx, ARTEL_DTYPE_FLOAT32, &(artel_shape){1, {4}}, scales);
    return artel__onnx_transpose(c->onnx, artel__onnx_end(c->onnx, &node, (const char *[]){x, "", factors}, 3), to_back, 4);
}

/* -- normalisation -- */

static bool is_last_axis(call *c)
{
    int64_t axis = artel__onnx_integer(c->config, "axis", -1);
    bool several = json_array_size(json_object_get(c->config, "axis")) > 1;
    if (!several && (axis == -1 || axis == c->shape.rank)) return true;
    artel__onnx_refuse(c, "an axis other than the last");
    return false;
}

/* x * scale + offset over the last axis, with the statistics folded in. */
static const char *batch_normalization(call *c)
{
    artel__onnx *o = c->onnx;
    artel_shape shape = {.rank = 0};
    if (!is_last_axis(c)) return NULL;
    int n = 0;
    bool scale = artel__onnx_flag(c->config, "scale", true), center = artel__onnx_flag(c->config, "center", true);
    const float *gamma = scale ? artel__onnx_weight(o, c->layer, n++, &shape) : NULL;
    const float *beta = center ? artel__onnx_weight(o, c->layer, n++, &shape) : NULL;
    const float *mean = artel__onnx_weight(o, c->layer, n, &shape), *variance = artel__onnx_weight(o, c->layer, n + 1, &shape);
    if (!mean || !variance || (scale && !gamma) || (center && !beta)) return NULL;
    float *factor = artel__arena_alloc(&o->arena, (size_t)shape.dim[0] * 2 + 2, sizeof *factor), *offset = factor + shape.dim[0];
    if (!factor) return NULL;
    double epsilon = artel__onnx_number(c->config, "epsilon", 1e-3);
    for (int64_t i = 0; i < shape.dim[0]; i++) {
        double f = (gamma ? gamma[i] : 1.0) / sqrt(variance[i] + epsilon);
        factor[i] = (float)f;
        offset[i] = (float)((beta ? beta[i] : 0.0) - mean[i] * f);
    }
    const char *y = artel__onnx_node2(o, "Mul", operand(c, 0), artel__onnx_constant(o, ARTEL_DTYPE_FLOAT32, &shape, factor));
    return artel__onnx_node2(o, "Add", y, artel__onnx_constant(o, ARTEL_DTYPE_FLOAT32, &shape, offset));
}

static const char *layer_normalization(call *c)
{
    artel__onnx *o = c->onnx;
    int n = 0;
    if (!is_last_axis(c)) return NULL;
    if (artel__onnx_flag(c->config, "rms_scaling", false)) return artel__onnx_refuse(c, "rms_scaling");
    int64_t width = c->shape.dim[c->shape.rank - 1];
    float *ones = artel__arena_alloc(&o->arena, (size_t)width + 1, sizeof *ones);
    if (!ones) return NULL;
    for (int64_t i = 0; i < width; i++) ones[i] = 1;
    const char *gamma = artel__onnx_flag(c->config, "scale", true)
                            ? artel__onnx_weight_constant(o, c->layer, n++)
                            : artel__onnx_constant(o, ARTEL_DTYPE_FLOAT32, &(artel_shape){1, {width}}, ones);
    bool center = artel__onnx_flag(c->config, "center", true);
    const char *beta = center ? artel__onnx_weight_constant(o, c->layer, n) : NULL;
    artel__text node = artel__onnx_start(o, "LayerNormalization");
    artel__onnx_int(&node, "axis", -1);
    artel__onnx_float(&node, "epsilon", artel__onnx_number(c->config, "epsilon", 1e-3));
    return artel__onnx_end(o, &node, (const char *[]){operand(c, 0), gamma, beta}, center ? 3 : 2);
}

/* A number, or a list of them, in any number of lists of one. */
static const char *list_constant(call *c, json_t *json)
{
    artel__onnx *o = c->onnx;
    double number;
    if (artel__json_number(json, &number)) return artel__onnx_scalar(o, number);
    while (json_array_size(json) == 1 && json_is_array(json_array_get(json, 0))) json = json_array_get(json, 0);
    size_t count = json_array_size(json);
    float *values = artel__arena_alloc(&o->arena, count + 1, sizeof *values);
    if (!values) return NULL;
    for (size_t i = 0; i < count; i++) {
        if (!artel__json_number(json_array_get(json, i), &number)) return artel__onnx_refuse(c, "tables of numbers");
        values[i] = (float)number;
    }
    if (!json_is_array(json)) return artel__onnx_refuse(c, "numbers in this form");
    return artel__onnx_constant(o, ARTEL_DTYPE_FLOAT32, &(artel_shape){1, {(int64_t)count}}, values);
}

static const char *rescaling(call *c)
{
    json_t *scale = json_object_get(c->config, "scale"), *offset = json_object_get(c->config, "offset");
    const char *factor = list_constant(c, scale), *more = factor && offset ? list_constant(c, offset) : NULL;
    if (!factor || (offset && !more)) return NULL;
    const char *y = artel__onnx_node2(c->onnx, "Mul", operand(c, 0), factor);
    return offset ? artel__onnx_node2(c->onnx, "Add", y, more) : y;
}

static const char *normalization(call *c)
{
    artel__onnx *o = c->onnx;
    json_t *mean = json_object_get(c->config, "mean"), *variance = json_object_get(c->config, "variance");
    bool given = mean && !json_is_null(mean);
    if (!json_is_null(json_object_get(c->config, "axis")) && !is_last_axis(c)) return NULL;
    const char *m = given ? list_constant(c, mean) : artel__onnx_weight_constant(o, c->layer, 0);
    const char *v = given ? list_constant(c, variance) : artel__onnx_weight_constant(o, c->layer, 1);
    if (!m || !v) return NULL;
    const char *deviation = artel__onnx_node2(o, "Max", artel__onnx_node1(o, "Sqrt", v), artel__onnx_scalar(o, 1e-7));
    if (artel__onnx_flag(c->config, "invert", false))
        return artel__onnx_node2(o, "Add", artel__onnx_node2(o, "Mul", operand(c, 0), deviation), m);
    return artel__onnx_node2(o, "Div", artel__onnx_node2(o, "Sub", operand(c, 0), m), deviation);
}

/* -- merging -- */

/* ONNX lines axes up from the last one; Keras puts missing ones behind the batch. Masks change products and extremes. */
static bool can_merge(call *c)
{
    bool masks = strcmp(c->layer->def->class_name, "Multiply") == 0 || strcmp(c->layer->def->class_name, "Maximum") == 0 ||
                 strcmp(c->layer->def->class_name, "Minimum") == 0;
    const char *what = NULL;
    for (int i = 0; i < c->inputs; i++) {
        if (masks && c->in[i].tensor.mask >= 0) what = "masks";
        if (c->onnx->graph.value[c->in[i].tensor.value].shape.rank != c->shape.rank) what = "operands of different ranks";
    }
    if (what) artel__onnx_refuse(c, what);
    return !what;
}

static const char *merge(call *c)
{
    if (!can_merge(c)) return NULL;
    const char **names = artel__arena_alloc(&c->onnx->arena, (size_t)c->inputs + 1, sizeof *names);
    if (!names) return NULL;
    for (int i = 0; i < c->inputs; i++) names[i] = operand(c, i);
    artel__text node = artel__onnx_start(c->onnx, c->op);
    if (strcmp(c->op, "Concat") == 0) artel__onnx_int(&node, "axis", artel__onnx_integer(c->config, "axis", -1));
    return artel__onnx_end(c->onnx, &node, names, c->inputs);
}

static const char *multiply(call *c)
{
    if (!can_merge(c)) return NULL;
    const char *y = operand(c, 0);
    for (int i = 1; i < c->inputs; i++) y = artel__onnx_node2(c->onnx, "Mul", y, operand(c, i));
    return y;
}

/* A raw operation on two arguments: tensors, numbers or lists. */
static const char *raw_argument(call *c, size_t n)
{
    json_t *json = json_array_get(json_object_get(c->arguments, "args"), n), *index = json_object_get(json, "tensor");
    if (json_is_integer(index)) return operand(c, (int)json_integer_value(index));
    double number;
    if (!artel__json_number(json, &number)) return artel__onnx_refuse(c, "this argument");
    return artel__onnx_scalar(c->onnx, number);
}

static const char *raw(call *c)
{
    const char *a = raw_argument(c, 0), *b = a ? raw_argument(c, 1) : NULL;
    return b ? artel__onnx_node2(c->onnx, c->op, a, b) : NULL;
}

/* keras.applications' own. */
static const char *layer_scale(call *c)
{
    return artel__onnx_node2(c->onnx, "Mul", operand(c, 0), artel__onnx_weight_constant(c->onnx, c->layer, 0));
}

static const char *custom_scale(call *c)
{
    double scale = 1;
    artel__json_number(json_object_get(c->config, "scale"), &scale);
    const char *scaled = artel__onnx_node2(c->onnx, "Mul", operand(c, 1), artel__onnx_scalar(c->onnx, scale));
    return artel__onnx_node2(c->onnx, "Add", operand(c, 0), scaled);
}

static const char *embedding(call *c)
{
    const char *index = artel__onnx_cast(c->onnx, c->in[0].name, ARTEL_DTYPE_INT64);
    return artel__onnx_node2(c->onnx, "Gather", artel__onnx_weight_constant(c->onnx, c->layer, 0), index);
}

const artel__onnx_row artel__onnx_layers[] = {
    {"InputLayer", pass, NULL},
    {"Identity", pass, NULL},
    {"Dropout", pass, NULL},
    {"SpatialDropout1D", pass, NULL},
    {"SpatialDropout2D", pass, NULL},
    {"GaussianNoise", pass, NULL},
    {"GaussianDropout", pass, NULL},
    {"AlphaDropout", pass, NULL},
    {"Dense", dense, NULL},
    {"Conv2D", conv2d, NULL},
    {"DepthwiseConv2D", depthwise_conv2d, NULL},
    {"SeparableConv2D", separable_conv2d, NULL},
    {"MaxPooling2D", pooling2d, "MaxPool"},
    {"AveragePooling2D", pooling2d, "AveragePool"},
    {"GlobalAveragePooling1D", global_pooling, "ReduceMean"},
    {"GlobalAveragePooling2D", global_pooling, "ReduceMean"},
    {"GlobalMaxPooling1D", global_pooling, "ReduceMax"},
    {"GlobalMaxPooling2D", global_pooling, "ReduceMax"},
    {"Flatten", flatten, NULL},
    {"Reshape", reshape, NULL},
    {"Permute", permute, NULL},
    {"ZeroPadding2D", zero_padding2d, NULL},
    {"Cropping2D", cropping2d, NULL},
    {"UpSampling2D", up_sampling2d, NULL},
    {"BatchNormalization", batch_normalization, NULL},
    {"LayerNormalization", layer_normalization, NULL},
    {"Rescaling", rescaling, NULL},
    {"Normalization", normalization, NULL},
    {"Activation", activation, NULL},
    {"ReLU", relu, NULL},
    {"LeakyReLU", leaky_relu, NULL},
    {"ELU", elu, NULL},
    {"Softmax", softmax_layer, NULL},
    {"Add", merge, "Sum"},
    {"Subtract", merge, "Sub"},
    {"Multiply", multiply, NULL},
    {"Average", merge, "Mean"},
    {"Maximum", merge, "Max"},
    {"Minimum", merge, "Min"},
    {"Concatenate", merge, "Concat"},
    {"Embedding", embedding, NULL},
    {"LayerScale", layer_scale, NULL},
    {"StochasticDepth", pass, NULL},
    {"CustomScaleLayer", custom_scale, NULL},
    {"ops.Add", raw, "Add"},
    {"ops.Subtract", raw, "Sub"},
    {"ops.Multiply", raw, "Mul"},
    {"ops.Divide", raw, "Div"},
    {"ops.TrueDivide", raw, "Div"},
    {NULL, NULL, NULL},
};
