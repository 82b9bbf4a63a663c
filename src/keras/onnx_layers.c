/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX nodes for layers of any shape: one function a family, one row a class. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "keras/onnx.h"

typedef artel__onnx_call call;

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
    const char *erf_part =
        artel__onnx_node1(o, "Erf", artel__onnx_node2(o, "Mul", x, artel__onnx_scalar(o, 0.70710678118654752)));
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
    return artel__onnx_activation(c, "activation", artel__onnx_operand(c, 0));
}

static const char *relu(call *c)
{
    const char *x = artel__onnx_operand(c, 0);
    double slope = artel__onnx_number(c->config, "negative_slope", 0),
           most = artel__onnx_number(c->config, "max_value", INFINITY);
    if (artel__onnx_number(c->config, "threshold", 0) != 0) return artel__onnx_refuse(c, "a threshold");
    x = slope != 0 ? with_alpha(c->onnx, "LeakyRelu", x, slope) : artel__onnx_node1(c->onnx, "Relu", x);
    return isinf(most) ? x : artel__onnx_node2(c->onnx, "Min", x, artel__onnx_scalar(c->onnx, most));
}

static const char *leaky_relu(call *c)
{
    double slope = artel__onnx_number(c->config, "alpha", 0.3);
    return with_alpha(c->onnx, "LeakyRelu", artel__onnx_operand(c, 0),
                      artel__onnx_number(c->config, "negative_slope", slope));
}

static const char *elu(call *c)
{
    return with_alpha(c->onnx, "Elu", artel__onnx_operand(c, 0), artel__onnx_number(c->config, "alpha", 1));
}

static const char *softmax_layer(call *c)
{
    json_t *axis = json_object_get(c->config, "axis");
    if (json_array_size(axis) > 1) return artel__onnx_refuse(c, "softmax over several axes");
    artel__text node = artel__onnx_start(c->onnx, "Softmax");
    artel__onnx_int(&node, "axis", artel__onnx_integer(c->config, "axis", -1));
    return artel__onnx_end(c->onnx, &node, (const char *[]){artel__onnx_operand(c, 0)}, 1);
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
    const char *y = artel__onnx_node2(c->onnx, "MatMul", artel__onnx_operand(c, 0),
                                      artel__onnx_weight_constant(c->onnx, c->layer, 0));
    return artel__onnx_activation(c, "activation", add_bias(c, y, 1));
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
    for (int i = 0; i < rank && i < ARTEL_MAX_RANK; i++)
        artel__json_integer(json_array_get(dims, (size_t)i), &perm[i + 1]);
    return artel__onnx_transpose(c->onnx, c->in[0].name, perm, rank + 1);
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
    const float *mean = artel__onnx_weight(o, c->layer, n, &shape),
                *variance = artel__onnx_weight(o, c->layer, n + 1, &shape);
    if (!mean || !variance || (scale && !gamma) || (center && !beta)) return NULL;
    float *factor = artel__arena_alloc(&o->arena, (size_t)shape.dim[0] * 2 + 2, sizeof *factor),
          *offset = factor + shape.dim[0];
    if (!factor) return NULL;
    double epsilon = artel__onnx_number(c->config, "epsilon", 1e-3);
    for (int64_t i = 0; i < shape.dim[0]; i++) {
        double f = (gamma ? gamma[i] : 1.0) / sqrt(variance[i] + epsilon);
        factor[i] = (float)f;
        offset[i] = (float)((beta ? beta[i] : 0.0) - mean[i] * f);
    }
    const char *y = artel__onnx_node2(o, "Mul", artel__onnx_operand(c, 0),
                                      artel__onnx_constant(o, ARTEL_DTYPE_FLOAT32, &shape, factor));
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
    return artel__onnx_end(o, &node, (const char *[]){artel__onnx_operand(c, 0), gamma, beta}, center ? 3 : 2);
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
    const char *y = artel__onnx_node2(c->onnx, "Mul", artel__onnx_operand(c, 0), factor);
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
        return artel__onnx_node2(o, "Add", artel__onnx_node2(o, "Mul", artel__onnx_operand(c, 0), deviation), m);
    return artel__onnx_node2(o, "Div", artel__onnx_node2(o, "Sub", artel__onnx_operand(c, 0), m), deviation);
}

/* -- merging -- */

/* ONNX lines axes up from the last one; Keras puts missing ones behind the batch. Masks change products and extremes.
 */
static bool can_merge(call *c)
{
    bool masks = strcmp(c->layer->def->class_name, "Multiply") == 0 ||
                 strcmp(c->layer->def->class_name, "Maximum") == 0 || strcmp(c->layer->def->class_name, "Minimum") == 0;
    const char *what = NULL;
    for (int i = 0; i < c->inputs; i++) {
        if (masks && c->in[i].tensor.mask >= 0) what = "masks";
        if (c->onnx->graph.value[c->in[i].tensor.value].shape.rank != c->shape.rank)
            what = "operands of different ranks";
    }
    if (what) artel__onnx_refuse(c, what);
    return !what;
}

static const char *merge(call *c)
{
    if (!can_merge(c)) return NULL;
    const char **names = artel__arena_alloc(&c->onnx->arena, (size_t)c->inputs + 1, sizeof *names);
    if (!names) return NULL;
    for (int i = 0; i < c->inputs; i++) names[i] = artel__onnx_operand(c, i);
    artel__text node = artel__onnx_start(c->onnx, c->op);
    if (strcmp(c->op, "Concat") == 0) artel__onnx_int(&node, "axis", artel__onnx_integer(c->config, "axis", -1));
    return artel__onnx_end(c->onnx, &node, names, c->inputs);
}

static const char *multiply(call *c)
{
    if (!can_merge(c)) return NULL;
    const char *y = artel__onnx_operand(c, 0);
    for (int i = 1; i < c->inputs; i++) y = artel__onnx_node2(c->onnx, "Mul", y, artel__onnx_operand(c, i));
    return y;
}

/* A raw operation on two arguments: tensors, numbers or lists. */
static const char *raw_argument(call *c, size_t n)
{
    json_t *json = json_array_get(json_object_get(c->arguments, "args"), n), *index = json_object_get(json, "tensor");
    if (json_is_integer(index)) return artel__onnx_operand(c, (int)json_integer_value(index));
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
    return artel__onnx_node2(c->onnx, "Mul", artel__onnx_operand(c, 0),
                             artel__onnx_weight_constant(c->onnx, c->layer, 0));
}

static const char *custom_scale(call *c)
{
    double scale = 1;
    artel__json_number(json_object_get(c->config, "scale"), &scale);
    const char *scaled =
        artel__onnx_node2(c->onnx, "Mul", artel__onnx_operand(c, 1), artel__onnx_scalar(c->onnx, scale));
    return artel__onnx_node2(c->onnx, "Add", artel__onnx_operand(c, 0), scaled);
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
    {"Flatten", flatten, NULL},
    {"Reshape", reshape, NULL},
    {"Permute", permute, NULL},
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
