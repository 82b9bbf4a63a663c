/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes that take each number for itself, products, normalisation, embeddings. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "keras/onnx_import.h"

typedef artel__onnx_import import;
typedef artel__onnx_operator operator;

/* -- functions -- */

typedef struct function {
    const char *type, *class_name, *config;
    const char *setting, *attribute; /* one number, or NULL */
    double fallback;
    bool positive;
} function;

static const function functions[] = {
    {"Relu", "ReLU", "", NULL, NULL, 0, true},
    {"Sigmoid", "Activation", "\"activation\": \"sigmoid\"", NULL, NULL, 0, true},
    {"Tanh", "Activation", "\"activation\": \"tanh\"", NULL, NULL, 0, false},
    {"Softplus", "Activation", "\"activation\": \"softplus\"", NULL, NULL, 0, true},
    {"Softsign", "Activation", "\"activation\": \"softsign\"", NULL, NULL, 0, false},
    {"Exp", "Activation", "\"activation\": \"exponential\"", NULL, NULL, 0, true},
    {"HardSwish", "Activation", "\"activation\": \"hard_silu\"", NULL, NULL, 0, false},
    {"Mish", "Activation", "\"activation\": \"mish\"", NULL, NULL, 0, false},
    {"LeakyRelu", "LeakyReLU", "", "negative_slope", "alpha", 0.01, false},
    {"Elu", "ELU", "", "alpha", "alpha", 1, false},
};

static artel_status read_function(import *m, const operator* node)
{
    artel__onnx_held x;
    const function *f = functions;
    while (strcmp(f->type, node->type) != 0) f++;
    ARTEL_TRY(artel__onnx_take_any(m, node, 0, &x));
    if (f->setting)
        ARTEL_TRY(artel__onnx_over(m, &x, f->class_name, NULL, "\"%s\": %.9g", f->setting,
                                   artel__onnx_float_of(node, f->attribute, f->fallback)));
    else
        ARTEL_TRY(artel__onnx_over(m, &x, f->class_name, NULL, "%s", f->config));
    x.positive = f->positive;
    return artel__onnx_give(m, node->output[0], &x);
}

/* Those whose numbers Keras has fixed. */
static artel_status read_fixed_function(import *m, const operator* node)
{
    artel__onnx_held x;
    double alpha = artel__onnx_float_of(node, "alpha", NAN), beta = artel__onnx_float_of(node, "beta", 0.5),
           gamma = artel__onnx_float_of(node, "gamma", NAN);
    const char *name = NULL;
    if (strcmp(node->type, "Gelu") == 0 && artel__onnx_text_is(node, "approximate", "none", "none")) name = "gelu";
    if (strcmp(node->type, "Selu") == 0 && !(fabs(alpha - 1.67326) > 1e-4) && !(fabs(gamma - 1.0507) > 1e-4))
        name = "selu";
    if (strcmp(node->type, "HardSigmoid") == 0 && fabs(alpha - 1 / 6.0) < 1e-4 && beta == 0.5) name = "hard_sigmoid";
    ARTEL_TRY(artel__onnx_take_any(m, node, 0, &x));
    if (!name) return artel__onnx_import_refuse(m, node, "of these numbers, which are not Keras'");
    ARTEL_TRY(artel__onnx_over(m, &x, "Activation", NULL, "\"activation\": \"%s\"", name));
    x.positive = strcmp(name, "hard_sigmoid") == 0;
    return artel__onnx_give(m, node->output[0], &x);
}

static artel_status read_clip(import *m, const operator* node)
{
    artel__onnx_held x;
    const artel__onnx_numbers *low, *high;
    ARTEL_TRY(artel__onnx_optional(m, node, 1, &low));
    ARTEL_TRY(artel__onnx_optional(m, node, 2, &high));
    double from = low ? (double)low->f[0] : artel__onnx_float_of(node, "min", -INFINITY);
    double to = high ? (double)high->f[0] : artel__onnx_float_of(node, "max", INFINITY);
    ARTEL_TRY(artel__onnx_take_any(m, node, 0, &x));
    if (from != 0) return artel__onnx_import_refuse(m, node, "from another number than 0");
    if (isfinite(to))
        ARTEL_TRY(artel__onnx_over(m, &x, "ReLU", NULL, "\"max_value\": %.9g", to));
    else
        ARTEL_TRY(artel__onnx_over(m, &x, "ReLU", NULL, "%s", ""));
    x.positive = true;
    return artel__onnx_give(m, node->output[0], &x);
}

static artel_status read_same(import *m, const operator* node)
{
    artel__onnx_held x;
    const int *number = artel__names_find(&m->file.by_name, node->inputs ? node->input[0] : "");
    if (number) return artel__names_set(&m->file.by_name, node->output[0], *number);
    ARTEL_TRY(artel__onnx_take_any(m, node, 0, &x));
    int64_t to = artel__onnx_int_of(node, "to", 1);
    bool kept = x.whole ? to == 6 || to == 7 : to == 1; /* ONNX' int32, int64, float32 */
    if (strcmp(node->type, "Cast") == 0 && !kept)
        return artel__onnx_import_refuse(m, node, "between integers and others");
    return artel__onnx_give(m, node->output[0], &x);
}

/* Before version 13 an axis meant all behind it, which is the same over a last one. */
static artel_status read_softmax(import *m, const operator* node)
{
    artel__onnx_held x;
    bool whole = m->file.opset < 13, logarithm = strcmp(node->type, "LogSoftmax") == 0;
    int64_t axis = artel__onnx_int_of(node, "axis", whole ? 1 : -1);
    ARTEL_TRY(artel__onnx_take_any(m, node, 0, &x));
    ARTEL_TRY(artel__onnx_settle(m, &x));
    axis = artel__onnx_row_axis(&x, axis) + 1;
    if (axis < 1 || (whole && (axis != x.shape.rank || x.batch >= axis)))
        return artel__onnx_import_refuse(m, node, "over this axis");
    if (logarithm && axis == x.shape.rank) ARTEL_TRY(artel__onnx_to_plain(m, &x));
    int place = artel__onnx_axis_in(&x, (int)axis - 1) + 1;
    if (logarithm && place != x.shape.rank) return artel__onnx_import_refuse(m, node, "over this axis");
    if (logarithm)
        ARTEL_TRY(artel__onnx_over(m, &x, "Activation", NULL, "\"activation\": \"log_softmax\""));
    else
        ARTEL_TRY(artel__onnx_over(m, &x, "Softmax", NULL, "\"axis\": %d", place == x.shape.rank ? -1 : place));
    x.positive = !logarithm;
    return artel__onnx_give(m, node->output[0], &x);
}

/* -- two operands -- */

/* Lays `x` so that a constant meets its last axis: which of ONNX' axes the constant goes along is counted from the
 * right. */
static artel_status meet(import *m, const operator* node, artel__onnx_held *x, const artel__onnx_numbers *c)
{
    int axis = -1, rank = x->shape.rank;
    for (int i = 0; i < c->shape.rank; i++) {
        if (c->shape.dim[i] == c->count) axis = i - c->shape.rank + rank;
    }
    if (axis == rank - 1 && rank > 0 && x->shape.dim[axis] == c->count) return artel__onnx_to_plain(m, x);
    if (axis == 0 && rank > 1 && x->shape.dim[axis] == c->count) return artel__onnx_to_last(m, x);
    return artel__onnx_import_refuse(m, node, "a constant that is not one number for all or for each channel");
}

/* x * scale + offset with one number, or one for each channel or feature. */
static artel_status put_scaling(import *m, const operator* node, artel__onnx_held *x, const artel__onnx_numbers *c,
                                bool scales, double sign, bool inverse)
{
    artel__text text;
    bool one = c->count == 1;
    if (!c->f) return artel__onnx_import_refuse(m, node, "a constant of whole numbers");
    if (!one) ARTEL_TRY(meet(m, node, x, c));
    artel__text_init(&text, m->arena->ctx);
    artel__text_append(&text, scales ? "\"offset\": 0.0, \"scale\": " : "\"scale\": 1.0, \"offset\": ");
    for (int64_t i = 0; i < c->count; i++)
        artel__text_printf(&text, "%s%.9g",
                           one ? ""
                           : i ? ", "
                               : "[",
                           inverse ? 1 / (double)c->f[i] : sign * (double)c->f[i]);
    artel__text_append(&text, one ? "" : "]");
    artel_status status = artel__text_status(&text);
    const artel_tensor from = x->tensor;
    if (status == ARTEL_OK) status = artel__onnx_layer(m, "Rescaling", &from, 1, text.data, &x->tensor, NULL);
    artel__text_fini(&text);
    return status;
}

static artel_status with_constant(import *m, const operator* node, int which)
{
    artel__onnx_held x;
    const artel__onnx_numbers *c = artel__onnx_fixed(m, node, which);
    char kind = node->type[0]; /* Add, Sub, Mul, Div */
    ARTEL_TRY(artel__onnx_take_any(m, node, 1 - which, &x));
    if (c->count != 1) ARTEL_TRY(artel__onnx_settle(m, &x));
    bool met = !x.batch || (x.batch < x.shape.rank && c->shape.rank && c->shape.dim[c->shape.rank - 1] == c->count);
    if (c->count != 1 && !met) return artel__onnx_import_refuse(m, node, "a constant along another axis than the last");
    if (which == 0 && kind == 'D') return artel__onnx_import_refuse(m, node, "a constant divided");
    if (which == 0 && kind == 'S')
        ARTEL_TRY(artel__onnx_over(m, &x, "Rescaling", NULL, "\"scale\": -1.0, \"offset\": 0.0"));
    ARTEL_TRY(put_scaling(m, node, &x, c, kind == 'M' || kind == 'D', kind == 'S' && which == 1 ? -1 : 1, kind == 'D'));
    x.positive = false;
    return artel__onnx_give(m, node->output[0], &x);
}

/* The axes in front of a channel or feature share its slope; one slope is shared by all. */
static artel_status read_prelu(import *m, const operator* node)
{
    static const char *const shared[] = {"null", "[1]", "[1, 2]", "[1, 2, 3]", "[1, 2, 3, 4]"};
    artel__onnx_held x;
    const char *name;
    const artel__onnx_numbers *slope = artel__onnx_fixed(m, node, 1);
    ARTEL_TRY(artel__onnx_take(m, node, 0, &x));
    if (!slope || !slope->f || x.shape.rank < 1 || x.shape.rank >= (int)ARTEL__COUNT(shared))
        return artel__onnx_import_refuse(m, node, "slopes that are computed, or of so many axes");
    bool one = slope->count == 1;
    if (!one) ARTEL_TRY(meet(m, node, &x, slope));
    ARTEL_TRY(artel__onnx_over(m, &x, "PReLU", &name, "\"shared_axes\": %s", shared[x.shape.rank - !one]));
    ARTEL_TRY(artel__onnx_weight_is(m, name, "alpha", slope->f, slope->count));
    return artel__onnx_give(m, node->output[0], &x);
}

static artel_status read_two(import *m, const operator* node)
{
    static const struct {
        const char *type, *class_name;
    } how[] = {{"Add", "Add"},     {"Sub", "Subtract"}, {"Mul", "Multiply"},
               {"Max", "Maximum"}, {"Min", "Minimum"},  {"Div", NULL}};
    artel__onnx_held a, b;
    size_t k = 0;
    while (strcmp(how[k].type, node->type) != 0) k++;
    if (node->inputs != 2) return artel__onnx_import_refuse(m, node, "of other than two operands");
    for (int i = 0; i < 2; i++) {
        bool simple = node->type[0] != 'M' || node->type[1] == 'u';
        if (artel__onnx_fixed(m, node, i))
            return simple ? with_constant(m, node, i) : artel__onnx_import_refuse(m, node, "with a constant");
    }
    ARTEL_TRY(artel__onnx_take_any(m, node, 0, &a));
    ARTEL_TRY(artel__onnx_take_any(m, node, 1, &b));
    ARTEL_TRY(artel__onnx_settle(m, &a));
    ARTEL_TRY(artel__onnx_settle(m, &b));
    if (!how[k].class_name) return artel__onnx_import_refuse(m, node, "by what is computed");
    if (a.batch != b.batch) return artel__onnx_import_refuse(m, node, "of operands whose batch is not the same axis");
    if (a.shape.rank != b.shape.rank) return artel__onnx_import_refuse(m, node, "of operands of different rank");
    if (a.last != b.last) {
        ARTEL_TRY(artel__onnx_to_last(m, &a));
        ARTEL_TRY(artel__onnx_to_last(m, &b));
    }
    const artel_tensor both[2] = {a.tensor, b.tensor};
    for (int i = 0; i < a.shape.rank; i++) a.shape.dim[i] = a.shape.dim[i] == 1 ? b.shape.dim[i] : a.shape.dim[i];
    a.positive = a.positive && b.positive && k != 1;
    ARTEL_TRY(artel__onnx_layer(m, how[k].class_name, both, 2, "", &a.tensor, NULL));
    return artel__onnx_give(m, node->output[0], &a);
}

/* -- products -- */

/* A Dense layer; `w` is [in][out]. */
static artel_status put_dense(import *m, artel__onnx_held *x, const float *w, int64_t in, int64_t out,
                              const float *bias)
{
    const char *name;
    ARTEL_TRY(artel__onnx_over(m, x, "Dense", &name, "\"units\": %lld, \"use_bias\": %s", (long long)out,
                               bias ? "true" : "false"));
    ARTEL_TRY(artel__onnx_weight_is(m, name, "kernel", w, in * out));
    if (bias) ARTEL_TRY(artel__onnx_weight_is(m, name, "bias", bias, out));
    x->shape.dim[x->shape.rank - 1] = out;
    x->positive = false;
    return ARTEL_OK;
}

static artel_status read_gemm(import *m, const operator* node)
{
    artel__onnx_held x;
    const artel__onnx_numbers *w = artel__onnx_fixed(m, node, 1), *c;
    bool turned = artel__onnx_int_of(node, "transB", 0) != 0;
    double alpha = artel__onnx_float_of(node, "alpha", 1), beta = artel__onnx_float_of(node, "beta", 1);
    ARTEL_TRY(artel__onnx_take(m, node, 0, &x));
    ARTEL_TRY(artel__onnx_to_plain(m, &x));
    ARTEL_TRY(artel__onnx_optional(m, node, 2, &c));
    if (!w || !w->f || w->shape.rank != 2 || x.shape.rank != 1 || artel__onnx_int_of(node, "transA", 0))
        return artel__onnx_import_refuse(m, node, "matrices that are computed or turned");
    int64_t in = w->shape.dim[turned], out = w->shape.dim[!turned];
    if (c && c->count != out && c->count != 1) return artel__onnx_import_refuse(m, node, "this bias");
    float *kernel = artel__onnx_floats(m, w->count), *bias = c ? artel__onnx_floats(m, out) : NULL;
    for (int64_t i = 0; kernel && i < in; i++) {
        for (int64_t o = 0; o < out; o++)
            kernel[i * out + o] = (float)(alpha * (double)w->f[turned ? o * in + i : i * out + o]);
    }
    for (int64_t o = 0; bias && o < out; o++) bias[o] = (float)(beta * (double)c->f[c->count == 1 ? 0 : o]);
    ARTEL_TRY(artel__arena_status(m->arena));
    ARTEL_TRY(put_dense(m, &x, kernel, in, out, bias));
    return artel__onnx_give(m, node->output[0], &x);
}

/* The Add of a bias that follows and that alone reads the product. */
static const artel__onnx_numbers *bias_behind(const import *m, const operator* node, int64_t out)
{
    const operator* next = m->at + 1<m->file.nodes ? &m->file.node[m->at + 1] : NULL;
    const int *uses = artel__names_find(&m->uses, node->output[0]);
    if (!next || strcmp(next->type, "Add") != 0 || next->inputs != 2 || !uses || *uses != 1) return NULL;
    for (int k = 0; k < 2; k++) {
        const artel__onnx_numbers *c = artel__onnx_fixed(m, next, k);
        if (c && c->f && c->count == out && c->shape.rank && c->shape.dim[c->shape.rank - 1] == out &&
            strcmp(next->input[1 - k], node->output[0]) == 0)
            return c;
    }
    return NULL;
}

static artel_status read_matmul(import *m, const operator* node)
{
    artel__onnx_held x;
    const artel__onnx_numbers *w = artel__onnx_fixed(m, node, 1);
    ARTEL_TRY(artel__onnx_take_any(m, node, 0, &x));
    ARTEL_TRY(artel__onnx_to_plain(m, &x));
    if (!w || !w->f || w->shape.rank != 2 || x.shape.rank < 1 || x.batch >= x.shape.rank)
        return artel__onnx_import_refuse(m, node, "by what is computed");
    int64_t out = w->shape.dim[1];
    const artel__onnx_numbers *bias = bias_behind(m, node, out);
    ARTEL_TRY(put_dense(m, &x, w->f, w->shape.dim[0], out, bias ? bias->f : NULL));
    if (bias) m->at++;
    return artel__onnx_give(m, bias ? m->file.node[m->at].output[0] : node->output[0], &x);
}

static artel_status read_gather(import *m, const operator* node)
{
    artel__onnx_held x;
    const char *name;
    const artel__onnx_numbers *table = artel__onnx_fixed(m, node, 0);
    if (!table && artel__onnx_fixed(m, node, 1)) return artel__onnx_select(m, node, artel__onnx_fixed(m, node, 1));
    ARTEL_TRY(artel__onnx_take_any(m, node, 1, &x));
    ARTEL_TRY(artel__onnx_to_plain(m, &x));
    if (!table || !table->f || table->shape.rank != 2 || artel__onnx_int_of(node, "axis", 0) ||
        x.shape.rank >= ARTEL_MAX_RANK)
        return artel__onnx_import_refuse(m, node, "other than rows of a constant table");
    ARTEL_TRY(artel__onnx_over(m, &x, "Embedding", &name, "\"input_dim\": %lld, \"output_dim\": %lld",
                               (long long)table->shape.dim[0], (long long)table->shape.dim[1]));
    ARTEL_TRY(artel__onnx_weight_is(m, name, "embeddings", table->f, table->count));
    x.shape.dim[x.shape.rank++] = table->shape.dim[1];
    x.whole = false;
    return artel__onnx_give(m, node->output[0], &x);
}

static artel_status read_layer_normalization(import *m, const operator* node)
{
    artel__onnx_held x;
    const char *name;
    const artel__onnx_numbers *gamma = artel__onnx_fixed(m, node, 1), *beta;
    ARTEL_TRY(artel__onnx_take_any(m, node, 0, &x));
    ARTEL_TRY(artel__onnx_optional(m, node, 2, &beta));
    ARTEL_TRY(artel__onnx_to_plain(m, &x));
    int64_t axis = artel__onnx_int_of(node, "axis", -1);
    if (artel__onnx_row_axis(&x, axis) != x.shape.rank - 1 || x.batch >= x.shape.rank || !gamma || !gamma->f ||
        node->outputs > 1)
        return artel__onnx_import_refuse(m, node, "over other than the last axis");
    ARTEL_TRY(artel__onnx_over(m, &x, "LayerNormalization", &name, "\"axis\": -1, \"epsilon\": %.9g, \"center\": %s",
                               artel__onnx_float_of(node, "epsilon", 1e-5), beta ? "true" : "false"));
    ARTEL_TRY(artel__onnx_weight_is(m, name, "gamma", gamma->f, gamma->count));
    if (beta) ARTEL_TRY(artel__onnx_weight_is(m, name, "beta", beta->f, beta->count));
    x.positive = false;
    return artel__onnx_give(m, node->output[0], &x);
}

const artel__onnx_import_row artel__onnx_imports_plain[] = {
    {"Relu", read_function},
    {"Sigmoid", read_function},
    {"Tanh", read_function},
    {"Softplus", read_function},
    {"Softsign", read_function},
    {"Exp", read_function},
    {"HardSwish", read_function},
    {"Mish", read_function},
    {"LeakyRelu", read_function},
    {"Elu", read_function},
    {"Gelu", read_fixed_function},
    {"Selu", read_fixed_function},
    {"HardSigmoid", read_fixed_function},
    {"Clip", read_clip},
    {"Identity", read_same},
    {"Dropout", read_same},
    {"Cast", read_same},
    {"Softmax", read_softmax},
    {"LogSoftmax", read_softmax},
    {"Add", read_two},
    {"Sub", read_two},
    {"Mul", read_two},
    {"Div", read_two},
    {"Max", read_two},
    {"Min", read_two},
    {"PRelu", read_prelu},
    {"Gemm", read_gemm},
    {"MatMul", read_matmul},
    {"Gather", read_gather},
    {"LayerNormalization", read_layer_normalization},
    {NULL, NULL},
};
