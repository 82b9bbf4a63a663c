/* SPDX-License-Identifier: Apache-2.0 */
/* Activations: the names of keras.activations, and the layers that can stand in for one (ReLU, LeakyReLU, ELU,
 * Softmax...).
 *
 * A row says which operation computes it and which settings its record may have. Element-wise ones are functions of
 * kernel/unary.list; softmax and its relatives run along an axis, the last unless said. Parameters are those of the
 * kernel's row, as the table's `make` computes them from the settings.
 */
#include <math.h>
#include <string.h>

#include "nn/activation_float64.h"
#include "nn/layer.h"
#include "nn/parts.h"
#include "nn/record.h"
#include "op/elementwise.h"
#include "op/reduce.h"

typedef struct settings {
    double negative_slope, alpha, threshold, b;
    const char *max_value; /* JSON: a number, or NULL for none */
    bool approximate;
    int64_t axis;
} settings;

typedef enum form {
    FORM_UNARY,
    FORM_SOFTMAX,
    FORM_GLU
} form;

struct artel__activation_def {
    const char *name;
    const char *aliases[4]; /* other names, class names of layers */
    form form;
    int op;                       /* artel__unary or artel__softmax_op */
    const artel__option *options; /* NULL: none */
    void (*make)(const settings *s, double parameter[3]);
};

#define FLOAT(key, field, fallback, help)                                               \
    {                                                                                   \
        key, help, ARTEL__OPTION_FLOAT, offsetof(settings, field), fallback, 0, 0, NULL \
    }
#define END          \
    {                \
        .name = NULL \
    }

static const artel__option no_options[] = {{.name = "trainable", .type = ARTEL__OPTION_IGNORED, .fallback = "null"},
                                           END};
static const artel__option relu_options[] = {
    FLOAT("negative_slope", negative_slope, "0.0", "slope below the threshold"),
    FLOAT("threshold", threshold, "0.0", "below it the negative slope applies"),
    {"max_value", "greatest value, or null", ARTEL__OPTION_JSON, offsetof(settings, max_value), "null", 0, 0, NULL},
    {.name = "trainable", .type = ARTEL__OPTION_IGNORED, .fallback = "null"},
    END};
static const artel__option leaky_options[] = {FLOAT("negative_slope", negative_slope, "0.2", "slope below zero"), END};
static const artel__option leaky_layer_options[] = {
    FLOAT("negative_slope", negative_slope, "0.3", "slope below zero"),
    FLOAT("alpha", negative_slope, "0.3", "the same in old files"),
    {.name = "trainable", .type = ARTEL__OPTION_IGNORED, .fallback = "null"},
    END};
static const artel__option alpha_options[] = {FLOAT("alpha", alpha, "1.0", "scale of the negative side"),
                                              {.name = "trainable", .type = ARTEL__OPTION_IGNORED, .fallback = "null"},
                                              END};
static const artel__option threshold_options[] = {
    FLOAT("threshold", threshold, "0.5", "half-width of the band around zero"), END};
static const artel__option squareplus_options[] = {FLOAT("b", b, "4", "smoothness"), END};
static const artel__option gelu_options[] = {
    {"approximate", "by tanh", ARTEL__OPTION_BOOL, offsetof(settings, approximate), "false", 0, 0, NULL}, END};
static const artel__option axis_options[] = {{"axis", "axis in Keras' numbering, the batch being 0", ARTEL__OPTION_INT,
                                              offsetof(settings, axis), "-1", 0, 0, NULL},
                                             {.name = "trainable", .type = ARTEL__OPTION_IGNORED, .fallback = "null"},
                                             END};

static void make_relu(const settings *s, double parameter[3])
{
    double most = INFINITY;
    if (s->max_value && !artel__parse_double(s->max_value, &most)) most = NAN;
    parameter[0] = s->negative_slope;
    parameter[1] = most;
    parameter[2] = s->threshold;
}

static void make_slope(const settings *s, double parameter[3])
{
    parameter[0] = s->negative_slope;
}

static void make_alpha(const settings *s, double parameter[3])
{
    parameter[0] = s->alpha;
}

static void make_threshold(const settings *s, double parameter[3])
{
    parameter[0] = s->threshold;
}

static void make_squareplus(const settings *s, double parameter[3])
{
    parameter[0] = s->b;
}

static void make_axis(const settings *s, double parameter[3])
{
    parameter[0] = (double)s->axis;
}

#define UNARY_ROW(name, op)                                  \
    {                                                        \
        name, {0}, FORM_UNARY, ARTEL__UNARY_##op, NULL, NULL \
    }

static const artel__activation_def table[] = {
    {"linear", {0}, FORM_UNARY, ARTEL__UNARY_LINEAR, NULL, NULL},
    {"relu", {"ReLU"}, FORM_UNARY, ARTEL__UNARY_RELU, relu_options, make_relu},
    {"leaky_relu", {0}, FORM_UNARY, ARTEL__UNARY_LEAKY_RELU, leaky_options, make_slope},
    {"LeakyReLU", {0}, FORM_UNARY, ARTEL__UNARY_LEAKY_RELU, leaky_layer_options, make_slope},
    {"elu", {"ELU"}, FORM_UNARY, ARTEL__UNARY_ELU, alpha_options, make_alpha},
    {"celu", {0}, FORM_UNARY, ARTEL__UNARY_CELU, alpha_options, make_alpha},
    UNARY_ROW("relu6", RELU6),
    UNARY_ROW("selu", SELU),
    {"gelu", {0}, FORM_UNARY, ARTEL__UNARY_GELU, gelu_options, NULL},
    UNARY_ROW("sigmoid", SIGMOID),
    UNARY_ROW("hard_sigmoid", HARD_SIGMOID),
    {"silu", {"swish"}, FORM_UNARY, ARTEL__UNARY_SILU, NULL, NULL},
    {"hard_silu", {"hard_swish"}, FORM_UNARY, ARTEL__UNARY_HARD_SILU, NULL, NULL},
    UNARY_ROW("tanh", TANH),
    UNARY_ROW("hard_tanh", HARD_TANH),
    UNARY_ROW("tanh_shrink", TANH_SHRINK),
    {"soft_shrink", {0}, FORM_UNARY, ARTEL__UNARY_SOFT_SHRINK, threshold_options, make_threshold},
    {"hard_shrink", {0}, FORM_UNARY, ARTEL__UNARY_HARD_SHRINK, threshold_options, make_threshold},
    UNARY_ROW("softplus", SOFTPLUS),
    UNARY_ROW("softsign", SOFTSIGN),
    UNARY_ROW("mish", MISH),
    {"exponential", {"exp"}, FORM_UNARY, ARTEL__UNARY_EXPONENTIAL, NULL, NULL},
    UNARY_ROW("log_sigmoid", LOG_SIGMOID),
    {"squareplus", {0}, FORM_UNARY, ARTEL__UNARY_SQUAREPLUS, squareplus_options, make_squareplus},
    UNARY_ROW("sparse_plus", SPARSE_PLUS),
    UNARY_ROW("sparse_sigmoid", SPARSE_SIGMOID),
    {"softmax", {"Softmax"}, FORM_SOFTMAX, ARTEL__SOFTMAX, axis_options, make_axis},
    {"log_softmax", {0}, FORM_SOFTMAX, ARTEL__LOG_SOFTMAX, axis_options, make_axis},
    {"sparsemax", {0}, FORM_SOFTMAX, ARTEL__SPARSEMAX, axis_options, make_axis},
    {"glu", {0}, FORM_GLU, 0, axis_options, make_axis},
};

static const artel__activation_def *find(const char *name)
{
    for (size_t i = 0; i < ARTEL__COUNT(table); i++) {
        if (strcmp(table[i].name, name) == 0 || artel__name_in(name, table[i].aliases)) return &table[i];
    }
    return NULL;
}

static artel_status unknown(artel__arena *arena, const char *where, const char *name)
{
    const char *names[ARTEL__COUNT(table) + 1];
    for (size_t i = 0; i < ARTEL__COUNT(table); i++) names[i] = table[i].name;
    names[ARTEL__COUNT(table)] = NULL;
    return artel__record_unknown(arena->ctx, where, "activation", name, names, "docs/activations.md");
}

artel_status artel__activation_read(artel__arena *arena, const char *where, json_t *json, artel__activation_config *out)
{
    *out = (artel__activation_config){0};
    if (!json || json_is_null(json)) return ARTEL_OK;
    artel__record record;
    ARTEL_TRY(artel__record_parse(arena->ctx, where, "activation", json, &record));
    const artel__activation_def *def = find(record.name);
    if (!def) return unknown(arena, where, record.name);
    settings s = {0};
    ARTEL_TRY(artel__record_options(arena, where, def->options ? def->options : no_options, record.config, &s));
    if (def->form == FORM_UNARY && def->op == ARTEL__UNARY_LINEAR) return ARTEL_OK;
    out->def = def;
    if (def->make) def->make(&s, out->exact);
    if (s.approximate) out->exact[0] = 1;
    for (int i = 0; i < 3; i++) out->parameter[i] = (float)out->exact[i];
    if (isnan(out->parameter[1]))
        return artel__fail(arena->ctx, ARTEL_ERROR_INVALID, where, "write a number, or null for none",
                           "max_value is not a number");
    return ARTEL_OK;
}

int artel__activation_unary(const artel__activation_config *activation)
{
    if (!activation->def) return ARTEL__UNARY_LINEAR;
    if (activation->def->form != FORM_UNARY) return -1;
    if (activation->def->op == ARTEL__UNARY_GELU && activation->parameter[0] != 0) return ARTEL__UNARY_GELU_TANH;
    return activation->def->op;
}

bool artel__activation_is_relu(const artel__activation_config *activation)
{
    const float *p = activation->parameter;
    return artel__activation_unary(activation) == ARTEL__UNARY_RELU && p[0] == 0 && isinf(p[1]) && p[1] > 0 &&
           p[2] == 0;
}

bool artel__activation_is_linear(const artel__activation_config *activation)
{
    return !activation->def;
}

const char *artel__activation_name(const artel__activation_config *activation)
{
    return activation->def ? activation->def->name : "linear";
}

artel__value_id artel__activation_apply(artel__graph *graph, const artel__activation_config *activation,
                                        artel__value_id x)
{
    const artel__activation_def *def = activation->def;
    if (!def || graph->status < 0 || x < 0) return x;
    if (def->form == FORM_UNARY)
        return artel__op_unary_exact(graph, (artel__unary)artel__activation_unary(activation), activation->exact, x);
    int axis = artel__row_axis((int64_t)activation->parameter[0], graph->value[x].shape.rank);
    if (axis < 0) {
        graph->status = artel__fail(artel__graph_context(graph), ARTEL_ERROR_INVALID, graph->scope,
                                    "choose an axis of the input, not the batch", "%s: axis %d is out of range",
                                    def->name, (int)activation->parameter[0]);
        return ARTEL__NO_VALUE;
    }
    bool wide = graph->value[x].dtype == ARTEL_DTYPE_FLOAT64;
    if (wide && def->op == ARTEL__SPARSEMAX && def->form == FORM_SOFTMAX) return artel__wide_sparsemax(graph, x, axis);
    if (def->form == FORM_SOFTMAX) return artel__op_softmax(graph, (artel__softmax_op)def->op, x, axis);
    bool odd = graph->value[x].shape.dim[axis] % 2 != 0; /* which the operation of float32 says itself */
    return wide && !odd ? artel__wide_glu(graph, x, axis) : artel__op_glu(graph, x, axis);
}
