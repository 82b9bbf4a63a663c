/* SPDX-License-Identifier: Apache-2.0 */
/* Muon (keras/src/optimizers/muon.py, 3.15): the momentum of a matrix, made orthogonal; other variables are Adam's. */
#include "nn/optimizer_matrix.h"

#include <ctype.h>
#include <string.h>

#include "nn/layer_support.h"
#include "op/shape_ops.h"
#include "op/step_number.h"

typedef struct settings {
    double adam_beta_1, adam_beta_2, adam_weight_decay, adam_lr_ratio, epsilon;
    double muon_a, muon_b, muon_c, momentum, rms_rate; /* rms_rate 0: none */
    int64_t ns_steps;
    bool nesterov, exclude_embeddings;
    const char *exclude_layers; /* read from the record itself */
    const char **excluded;      /* [excludes] */
    int excludes;
} settings;

static artel_status read_excluded(artel__arena *arena, const char *class_name, json_t *words, settings *s)
{
    size_t i, count = json_array_size(words);
    json_t *word;
    s->excluded = artel__arena_alloc(arena, count + 1, sizeof *s->excluded);
    if (!s->excluded) return ARTEL_ERROR_NO_MEMORY;
    json_array_foreach(words, i, word)
    {
        const char *text = json_string_value(word);
        if (!text || strpbrk(text, "\\.[](){}*+?^$|"))
            return artel__fail(arena->ctx, ARTEL_ERROR_UNSUPPORTED, class_name, "write parts of names as they are",
                               "exclude_layers: patterns are not supported");
        s->excluded[s->excludes] = artel__arena_strdup(arena, text);
        if (!s->excluded[s->excludes++]) return ARTEL_ERROR_NO_MEMORY;
    }
    return ARTEL_OK;
}

static artel_status read_settings(artel__optimizer *optimizer, json_t *given, void *own)
{
    settings *s = own;
    if (json_is_null(json_object_get(given, "rms_rate"))) s->rms_rate = 0; /* a step keeps its size */
    artel__apply_options *adam = &optimizer->options;
    adam->beta_1 = s->adam_beta_1;
    adam->beta_2 = s->adam_beta_2;
    adam->epsilon = s->epsilon;
    adam->weight_decay = s->adam_weight_decay;
    adam->rate_ratio = s->adam_lr_ratio;
    return read_excluded(optimizer->arena, optimizer->class_name, json_object_get(given, "exclude_layers"), s);
}

static bool leaves(const artel__optimizer *optimizer, const artel__variable *variable)
{
    const settings *s = optimizer->matrix;
    char low[256];
    size_t i = 0;
    if (variable->shape.rank != 2) return true;
    for (; variable->name[i] && i + 1 < sizeof low; i++) low[i] = (char)tolower((unsigned char)variable->name[i]);
    low[i] = 0;
    if (s->exclude_embeddings && strstr(low, "embedding")) return true;
    for (int k = 0; k < s->excludes; k++) {
        if (strstr(variable->name, s->excluded[k])) return true;
    }
    return false;
}

static artel__value_id turned(artel__graph *graph, artel__value_id x)
{
    return artel__op_transpose(graph, x, (int[]){1, 0});
}

/* a [m][k] times b [k][n]. */
static artel__value_id matrix_product(artel__graph *graph, artel__value_id a, artel__value_id b)
{
    if (graph->status < 0) return ARTEL__NO_VALUE;
    artel_shape columns = artel__shape(1, graph->value[b].shape.dim[1]);
    if (graph->value[b].dtype != ARTEL_DTYPE_FLOAT64) b = artel__op_panels(graph, b);
    return artel__op_product(graph, a, b, ARTEL__NO_VALUE, 1, &columns, ARTEL__FUSED_NONE);
}

/* A matrix near the orthogonal one that x is nearest to, by steps of Newton and Schulz. */
static artel__value_id orthogonal(artel__graph *graph, const settings *s, artel__value_id x)
{
    if (graph->status < 0) return ARTEL__NO_VALUE;
    bool tall = graph->value[x].shape.dim[0] > graph->value[x].shape.dim[1];
    if (tall) x = turned(graph, x);
    artel__value_id norm =
        unary(graph, ARTEL__UNARY_SQRT, artel__matrix_scalar(graph, artel__op_squared_norm(graph, x)));
    x = divide(graph, x, artel__op_affine(graph, norm, 1, 1e-7));
    for (int64_t i = 0; i < s->ns_steps && graph->status == ARTEL_OK; i++) {
        artel__value_id a = matrix_product(graph, x, turned(graph, x));
        artel__value_id b = matrix_product(graph, artel__op_affine(graph, a, s->muon_c, 0), a);
        b = artel__op_add(graph, artel__op_affine(graph, a, s->muon_b, 0), b);
        artel__value_id fifth = matrix_product(graph, b, x);
        x = artel__op_add(graph, artel__op_affine(graph, x, s->muon_a, 0), fifth);
    }
    return tall ? turned(graph, x) : x;
}

static void take_step(const artel__optimizer *optimizer, artel__graph *graph, const artel__variable *variable,
                      const artel__optimize *o, artel__value_id g, artel__value_id squares)
{
    const settings *s = optimizer->matrix;
    (void)squares;
    int64_t rows = variable->rows, *dim = (int64_t[]){variable->shape.dim[0], variable->shape.dim[1]};
    artel__value_id w =
        artel__matrix_decayed(graph, artel__op_plain(graph, o->variable, rows), optimizer->weight_decay);
    artel__value_id m = artel__op_plain(graph, o->slot[0], rows);
    m = artel__op_add(graph, m, artel__op_add(graph, g, artel__op_affine(graph, m, s->momentum - 1, 0)));
    artel__matrix_write_back(graph, o->slot[0], m, rows);
    if (s->nesterov) g = artel__op_add(graph, g, artel__op_affine(graph, m, s->momentum, 0));
    artel__value_id step =
        multiply(graph, orthogonal(graph, s, s->nesterov ? g : m), artel__op_step_number(graph, ARTEL__STEP_RATE, 0));
    if (s->rms_rate > 0) {
        artel__value_id side =
            unary(graph, ARTEL__UNARY_SQRT, number(graph, (double)(dim[0] > dim[1] ? dim[0] : dim[1])));
        step = artel__op_affine(graph, multiply(graph, step, side), s->rms_rate, 0);
    }
    artel__matrix_write_back(graph, o->variable, artel__op_binary(graph, ARTEL__BINARY_SUB, w, step), rows);
}

#define SETTINGS settings
const artel__optimizer_def artel__optimizer_muon = {
    .class_name = "Muon",
    .name = "muon",
    .learning_rate = 0.001,
    .weight_decay = 0.004,
    .options =
        OPTIONS(FLOAT(adam_beta_1, "0.9", 0, 1, "from 0 to 1"), FLOAT(adam_beta_2, "0.999", 0, 1, "from 0 to 1"),
                FLOAT(epsilon, "1e-07", 0, MUCH, "a small number"),
                TEXT(exclude_layers, JSON, "[]", "parts of the paths of variables that Adam changes"),
                FLOAT(muon_a, "3.4445", -MUCH, MUCH, "a number"), FLOAT(muon_b, "-4.775", -MUCH, MUCH, "a number"),
                FLOAT(muon_c, "2.0315", -MUCH, MUCH, "a number"), FLOAT(adam_lr_ratio, "1", 0, MUCH, "a number"),
                FLOAT(momentum, "0.95", 0, 1, "from 0 to 1"),
                COUNT(ns_steps, "5", 0, 100, "steps towards an orthogonal matrix"), TRUE(nesterov, "look ahead"),
                TRUE(exclude_embeddings, "Adam changes what has embedding in its path"),
                FLOAT(adam_weight_decay, "0.004", 0, MUCH, "a number that is not negative, or null"),
                FLOAT(rms_rate, "0.2", 0, MUCH, "a number, or null")),
    .rule = ARTEL__RULE_ADAM,
    .slot =
        (const artel__slot_row[ARTEL__APPLY_SLOTS]){
            {.name = "momentum", .when = ARTEL__SLOT_ALWAYS},
            {.name = "velocity", .when = ARTEL__SLOT_ALWAYS, .form = ARTEL__SLOT_OF_RULE}},
    .matrix = &(
        const artel__matrix_ops){.size = sizeof(settings), .read = read_settings, .leaves = leaves, .step = take_step},
};
