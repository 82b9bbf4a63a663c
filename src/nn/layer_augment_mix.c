/* SPDX-License-Identifier: Apache-2.0 */
/* MixUp and CutMix: each image of a batch meets another one, drawn for it from the whole global batch.
 *
 * MixUp: y = w x + (1 - w) other, w by image from the beta distribution of `alpha`. CutMix: a rectangle of the other
 * one in its place, of a share 1 - w of the extents squared; its alpha is drawn for the batch, between the bounds of
 * `factor`. The order of the others is that of numbers drawn by row, so it is the same on any number of replicas.
 * Labels are no business of a layer of one input: Keras' form with a dictionary of images and labels is refused. After
 * keras/src/layers/preprocessing/image_preprocessing/mix_up.py, cut_mix.py.
 */
#include "nn/augment.h"
#include "op/batch.h"
#include "op/formula.h"

typedef struct mix_config {
    int data_format;
    double alpha;
} mix_config;

static const artel__option mix_options[] = {
    {"alpha", "of the beta distribution", ARTEL__OPTION_FLOAT, offsetof(mix_config, alpha), "0.2", 1e-6, 1e6, NULL},
    ARTEL__PART("seed", "accepted; the run's seed decides"),
    ARTEL__DATA_FORMAT(mix_config),
    ARTEL__OPTIONS_END,
};
static const artel__option cut_options[] = {
    ARTEL__PART("factor", "a number, or two"),
    ARTEL__PART("seed", "accepted; the run's seed decides"),
    ARTEL__DATA_FORMAT(mix_config),
    ARTEL__OPTIONS_END,
};

static const artel__bounds unit = {0, 1};

static artel__value_id others(artel__graph *graph, artel__value_id x)
{
    return artel__op_shuffle(graph, x, artel__augment_draw(graph, x, &unit));
}

/* The first of two such logarithms of gamma numbers as a beta number, [1]. */
static artel__value_id beta_of(artel__graph *graph, artel__value_id log_gamma)
{
    return artel__op_slice(graph, artel__op_softmax(graph, ARTEL__SOFTMAX, log_gamma, 0), 0, 0, 1, 1);
}

static artel_status call_mix_up(artel__layer *layer, artel__call *call)
{
    const mix_config *c = layer->config;
    artel__graph *graph = call->graph;
    artel__value_id x;
    ARTEL_TRY(artel__augment_begin(layer, call, c->data_format, &x));
    if (!graph->training) return artel__augment_finish(layer, call, c->data_format, x);
    artel__value_id w =
        artel__augment_pixel(graph, beta_of(graph, artel__augment_log_gamma(graph, x, c->alpha, 2, false)));
    artel__value_id other = others(graph, x), rest = product(graph, artel__op_affine(graph, w, -1, 1), other);
    return artel__augment_finish(layer, call, c->data_format, artel__op_add(graph, product(graph, w, x), rest));
}

/* -- CutMix -- */

/* Gamma numbers of alpha + 1, two of them, by tries of Marsaglia and Tsang as in augment.c; alpha is a value. */
static artel__value_id draw_log_gamma(artel__graph *graph, artel__value_id like, artel__value_id alpha)
{
    enum {
        TRIES = 8
    };
    const artel_shape two = artel__shape(1, (int64_t)2);
    artel__value_id d = artel__op_affine(graph, alpha, 1, 2.0 / 3.0), taken[TRIES], number[TRIES], x = ARTEL__NO_VALUE;
    artel__value_id spread = artel__op_unary(graph, ARTEL__UNARY_RSQRT, NULL, artel__op_affine(graph, d, 9, 0));
    for (int i = 0; i < TRIES; i++) {
        artel__value_id n = artel__augment_normal(graph, like, &two, false),
                        u = artel__augment_uniform(graph, like, 0, 1, &two, false);
        artel__value_id v = artel__op_affine(graph, product(graph, n, spread), 1, 1);
        artel__value_id positive = artel__op_compare_scalar(graph, ARTEL__COMPARE_GREATER, v, 0);
        v = artel__op_where(graph, positive, v, artel__op_affine(graph, v, 0, 1));
        number[i] = artel__op_affine(graph, artel__op_unary(graph, ARTEL__UNARY_LOG, NULL, v), 3, 0);
        artel__value_id over = artel__op_binary(graph, ARTEL__BINARY_SUB, number[i],
                                                artel__op_unary(graph, ARTEL__UNARY_EXPONENTIAL, NULL, number[i]));
        artel__value_id bound = artel__op_affine(graph, artel__op_unary(graph, ARTEL__UNARY_SQUARE, NULL, n), 0.5f, 0);
        bound = artel__op_add(graph, bound, product(graph, artel__op_affine(graph, over, 1, 1), d));
        u = artel__op_unary(graph, ARTEL__UNARY_LOG, NULL, artel__op_affine(graph, u, -1, 1));
        taken[i] = artel__op_logical_and(graph, positive, artel__op_compare(graph, ARTEL__COMPARE_LESS, u, bound));
    }
    for (int i = TRIES - 1; i >= 0; i--)
        x = i == TRIES - 1 ? number[i] : artel__op_where(graph, taken[i], number[i], x);
    artel__value_id u = artel__op_affine(graph, artel__augment_uniform(graph, like, 0, 1, &two, false), -1, 1);
    u = artel__op_binary(graph, ARTEL__BINARY_DIV, artel__op_unary(graph, ARTEL__UNARY_LOG, NULL, u), alpha);
    return artel__op_add(graph, x, u);
}

static artel_status call_cut_mix(artel__layer *layer, artel__call *call)
{
    const mix_config *c = layer->config;
    const artel_shape one = artel__shape(1, (int64_t)1);
    artel__graph *graph = call->graph;
    artel__bounds factor;
    artel__value_id x;
    ARTEL_TRY(artel__augment_bounds(layer, "factor", 0, &unit, &factor));
    ARTEL_TRY(artel__augment_begin(layer, call, c->data_format, &x));
    if (!graph->training) return artel__augment_finish(layer, call, c->data_format, x);
    artel__value_id alpha =
        artel__op_affine(graph, artel__augment_uniform(graph, x, factor.low, factor.high, &one, true), 1, 1e-6);
    artel__value_id w = beta_of(graph, draw_log_gamma(graph, x, alpha));
    artel__value_id share = artel__op_unary(graph, ARTEL__UNARY_SQRT, NULL, artel__op_affine(graph, w, -1, 1));
    share = artel__augment_pixel(graph, share);
    const artel_shape *image = &graph->value[x].shape;
    artel_shape lines = artel__shape(3, image->dim[0], (int64_t)1, (int64_t)1),
                columns = artel__shape(3, (int64_t)1, image->dim[1], (int64_t)1);
    artel__value_id line = artel__augment_run(graph, share, &lines, x),
                    column = artel__augment_run(graph, share, &columns, x);
    artel__value_id inside = artel__op_logical_and(graph, column, line);
    return artel__augment_finish(layer, call, c->data_format, artel__op_where(graph, inside, others(graph, x), x));
}

#define MIX(symbol, name, table, sentence)                 \
    const artel__layer_def artel__layer_##symbol##_def = { \
        .class_name = name,                                \
        .doc = sentence,                                   \
        .config_size = sizeof(mix_config),                 \
        .options = table,                                  \
        .mask = ARTEL__MASK_STOP,                          \
        .call = call_##symbol,                             \
        .returns_input = artel__augment_is_idle,           \
    }

MIX(mix_up, "MixUp", mix_options, "Mixes images of a batch at random.");
MIX(cut_mix, "CutMix", cut_options, "Puts parts of images of a batch into others at random.");
