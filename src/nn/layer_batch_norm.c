/* SPDX-License-Identifier: Apache-2.0 */
/* BatchNormalization over the whole global batch.
 *
 * Trains when the graph does and the layer is not frozen, as in Keras 3, where fit's training=True goes before a
 * training=False recorded in the call; otherwise the moving statistics normalise. An axis that is not
 * the last is moved there and back. With a mask, masked positions count neither for mean nor for variance, and a run
 * may keep statistics by group of shards (nn/batch_groups.h); these forms are put together from folds, since the fused
 * operation knows neither: mean = S(m x) / (S(m) + 1e-7),  variance = S(m (x - mean)^2) / (S(m) + 1e-7),  S the sum
 * over (the group's) rows and inner axes. Of renorm (S. Ioffe, Batch Renormalization, 2017) a step normalises by the
 * batch and then corrects towards statistics of its own, by r and d, which have no gradient:  y = ((x - mean) / s * r +
 * d) * gamma + beta,  s = sqrt(variance + epsilon),  r = s / renorm_stddev, d = (mean - renorm_mean) / renorm_stddev,
 * both clipped. After keras/src/layers/normalization/batch_normalization.py.
 */
#include <math.h>
#include <string.h>

#include "nn/batch_groups.h"
#include "op/batch_rows.h"
#include "nn/layer_support.h"
#include "nn/record.h"
#include "op/elementwise.h"
#include "op/norm.h"
#include "op/optimize.h"
#include "op/reduce.h"
#include "op/shape_ops.h"

typedef struct norm_config {
    artel__ints axis;
    double momentum, epsilon;
    bool center, scale, renorm;
    double renorm_momentum;
} norm_config;

typedef struct norm_parts {
    artel__weight_parts gamma, beta, mean, variance;
    double least, most, shift; /* of renorm: r lies in least .. most, d in -shift .. shift */
} norm_parts;

static const artel__option norm_options[] = {
    {"axis", "axis of the channels", ARTEL__OPTION_INTS, offsetof(norm_config, axis), "-1", 0, 0, NULL},
    {"momentum", "share of the old value in moving statistics", ARTEL__OPTION_FLOAT, offsetof(norm_config, momentum),
     "0.99", 0, 0, NULL},
    {"epsilon", "added to the variance", ARTEL__OPTION_FLOAT, offsetof(norm_config, epsilon), "0.001", 0, 0, NULL},
    {"center", "whether beta is added", ARTEL__OPTION_BOOL, offsetof(norm_config, center), "true", 0, 0, NULL},
    {"scale", "whether gamma multiplies", ARTEL__OPTION_BOOL, offsetof(norm_config, scale), "true", 0, 0, NULL},
    ARTEL__PART("moving_mean_initializer", "initialiser: a name or a record"),
    ARTEL__PART("moving_variance_initializer", "initialiser: a name or a record"),
    ARTEL__PART("synchronized", "accepted; statistics are always those of the global batch"),
    {"renorm", "whether a step is corrected towards moving statistics", ARTEL__OPTION_BOOL,
     offsetof(norm_config, renorm), "false", 0, 0, NULL},
    {"renorm_momentum", "share of the old value in the statistics that steps are corrected to", ARTEL__OPTION_FLOAT,
     offsetof(norm_config, renorm_momentum), "0.99", 0, 0, NULL},
    ARTEL__PART("renorm_clipping", "null, or a record of rmin, rmax, dmax"),
    ARTEL__WEIGHT_PARTS("gamma"),
    ARTEL__WEIGHT_PARTS("beta"),
    ARTEL__OPTIONS_END,
};

static artel_status read_limit(const artel__layer *layer, const char *key, double fallback, double *out)
{
    json_t *given = json_object_get(artel__layer_setting(layer, "renorm_clipping"), key);
    *out = fallback;
    if (!given || json_is_null(given) || artel__json_number(given, out)) return ARTEL_OK;
    return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "write a number, or leave it out",
                             "\"%s\" of \"renorm_clipping\" is no number", key);
}

/* Deviations begin as the root of what the initialiser of variances makes: the same for zeros and ones. */
static bool begins_plainly(const artel__layer *layer)
{
    json_t *given = artel__layer_setting(layer, "moving_variance_initializer");
    const char *name = json_string_value(json_is_object(given) ? json_object_get(given, "class_name") : given);
    static const char *const plain[] = {"ones", "zeros", "Ones", "Zeros", NULL};
    return !given || (name && artel__name_in(name, plain));
}

static artel_status configure_renorm(const artel__layer *layer, norm_parts *parts)
{
    ARTEL_TRY(read_limit(layer, "rmin", -INFINITY, &parts->least));
    ARTEL_TRY(read_limit(layer, "rmax", INFINITY, &parts->most));
    ARTEL_TRY(read_limit(layer, "dmax", INFINITY, &parts->shift));
    if (begins_plainly(layer)) return ARTEL_OK;
    return artel__layer_fail(layer, ARTEL_ERROR_UNSUPPORTED, "use ones or zeros",
                             "renorm with this \"moving_variance_initializer\" is not supported");
}

static artel_status configure_norm(artel__layer *layer)
{
    norm_config *c = layer->config;
    norm_parts *parts = layer->own = artel__arena_alloc(layer->arena, 1, sizeof *parts);
    if (!parts) return ARTEL_ERROR_NO_MEMORY;
    if (c->axis.count != 1)
        return artel__layer_fail(layer, ARTEL_ERROR_UNSUPPORTED, "name one axis",
                                 "normalisation over several axes is not supported");
    if (c->renorm) ARTEL_TRY(configure_renorm(layer, parts));
    ARTEL_TRY(artel__layer_weight_parts(layer, "gamma", "ones", &parts->gamma));
    ARTEL_TRY(artel__layer_weight_parts(layer, "beta", "zeros", &parts->beta));
    ARTEL_TRY(artel__layer_weight_parts(layer, "moving_mean", "zeros", &parts->mean));
    return artel__layer_weight_parts(layer, "moving_variance", "ones", &parts->variance);
}

static artel_status find_axis(const artel__layer *layer, const artel__call *call, int *out)
{
    const norm_config *c = layer->config;
    ARTEL_TRY(artel__layer_check_input(layer, call, 1, ARTEL_MAX_RANK));
    *out = artel__row_axis(c->axis.item[0], artel__call_shape(call, 0)->rank);
    if (*out >= 0) return ARTEL_OK;
    return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "name an axis of the input, the batch (0) excepted",
                             "the axis %lld does not exist", (long long)c->axis.item[0]);
}

static artel_status build_norm(artel__layer *layer, const artel__call *call)
{
    const norm_config *c = layer->config;
    const norm_parts *parts = layer->own;
    int axis;
    ARTEL_TRY(find_axis(layer, call, &axis));
    artel_shape shape = artel__shape(1, artel__call_shape(call, 0)->dim[axis]);
    if (c->scale) ARTEL_TRY(artel__layer_declare(layer, "gamma", &shape, 0, true, &parts->gamma));
    if (c->center) ARTEL_TRY(artel__layer_declare(layer, "beta", &shape, 0, true, &parts->beta));
    ARTEL_TRY(artel__layer_declare(layer, "moving_mean", &shape, 0, false, &parts->mean));
    ARTEL_TRY(artel__layer_declare(layer, "moving_variance", &shape, 0, false, &parts->variance));
    if (!c->renorm) return ARTEL_OK;
    ARTEL_TRY(artel__layer_declare(layer, "moving_stddev", &shape, 0, false, &parts->variance));
    ARTEL_TRY(artel__layer_declare(layer, "renorm_mean", &shape, 0, false, &parts->mean));
    return artel__layer_declare(layer, "renorm_stddev", &shape, 0, false, &parts->variance);
}

static void move_statistic(artel__graph *graph, artel__value_id variable, artel__value_id value, double momentum)
{
    artel__phase phase = graph->phase;
    graph->phase = ARTEL__PHASE_APPLY;
    artel__op_moving_average(graph, variable, value, momentum);
    graph->phase = phase;
}

/* Moving statistics take the mean over all groups, each weighted by its positions, as replicas with statistics of their
 * own do. */
static artel__value_id over_groups(artel__graph *graph, artel__value_id member, artel__value_id value,
                                   artel__value_id positions)
{
    if (member < 0) return value;
    value = artel__op_reduce(graph, ARTEL__REDUCE_SUM, artel__op_binary(graph, ARTEL__BINARY_MUL, value, positions), 1u,
                             false);
    return artel__op_binary(graph, ARTEL__BINARY_DIV, value,
                            artel__op_reduce(graph, ARTEL__REDUCE_SUM, positions, 1u, false));
}

/* `mask` as ROW BOOL of x's rank with a last extent of 1; all true when there is none. */
static artel__value_id mask_like(artel__graph *graph, artel__value_id x, artel__value_id mask)
{
    artel_shape beside = graph->value[x].shape;
    beside.dim[beside.rank - 1] = 1;
    return artel__op_reshape(graph, mask, &beside);
}

/* Positions of each group, or of the batch: the unmasked ones, or all. */
static artel__value_id count_positions(artel__graph *graph, artel__value_id member, artel__value_id x,
                                       artel__value_id mask)
{
    if (mask >= 0) return artel__group_sums(graph, member, artel__as_float(graph, mask));
    int last = graph->value[x].shape.rank - 1;
    if (member < 0)
        return artel__group_sums(graph, member,
                                 artel__op_fill_like(graph, artel__op_slice(graph, x, last, 0, 1, 1), 1));
    artel__value_id one = artel__op_slice(graph, member, 0, 0, 1, 1);
    int64_t inner = artel__shape_product(&graph->value[x].shape, 0, graph->value[x].shape.rank - 1);
    return artel__group_sums(graph, member, artel__op_affine(graph, one, 0.0f, (float)inner));
}

/* -- renorm -- */

/* What a layer with renorm has beside the moving statistics, and how it takes them. */
typedef struct renorm {
    artel__value_id moving_stddev, mean, stddev;
    double momentum;
    const norm_parts *limits;
} renorm;

/* Of a batch, or of each group of it. */
typedef struct statistics {
    artel__value_id mean, variance, member, positions; /* positions: how many stand behind them */
} statistics;

/* In float64 the limits keep their digits. */
static artel__value_id limited(artel__graph *graph, artel__value_id x, double least, double most)
{
    if (least == -INFINITY && most == INFINITY) return x;
    if (graph->real == ARTEL_DTYPE_FLOAT64) {
        if (least != -INFINITY) x = artel__op_binary(graph, ARTEL__BINARY_MAX, x, artel__op_scalar(graph, least));
        return most == INFINITY ? x : artel__op_binary(graph, ARTEL__BINARY_MIN, x, artel__op_scalar(graph, most));
    }
    return artel__op_unary(graph, ARTEL__UNARY_CLIP, (float[]){(float)least, (float)most, 0}, x);
}

/* stddev = stddev * momentum + batch * (1 - momentum); variance = max(stddev^2 - epsilon, 0). */
static void move_deviation(artel__graph *graph, const artel__batch_norm *norm, artel__value_id stddev,
                           artel__value_id batch)
{
    bool wide = graph->real == ARTEL_DTYPE_FLOAT64;
    double old = wide ? norm->momentum : (float)norm->momentum,
           part = wide ? 1 - norm->momentum : (float)(1 - norm->momentum);
    artel__value_id kept = artel__op_affine(graph, stddev, old, 0), added = artel__op_affine(graph, batch, part, 0);
    artel__value_id moved = artel__op_add(graph, kept, added);
    artel__value_id less =
        artel__op_affine(graph, artel__op_unary(graph, ARTEL__UNARY_SQUARE, NULL, moved), 1, -norm->epsilon);
    artel__value_id variance = limited(graph, less, 0, INFINITY);
    artel__phase phase = graph->phase;
    graph->phase = ARTEL__PHASE_APPLY;
    artel__op_assign(graph, stddev, moved);
    artel__op_assign(graph, norm->variance, variance);
    graph->phase = phase;
}

static void move_renorm(artel__graph *graph, const artel__batch_norm *norm, const renorm *r, const statistics *of,
                        artel__value_id stddev)
{
    artel__value_id mean = over_groups(graph, of->member, of->mean, of->positions),
                    deviation = over_groups(graph, of->member, stddev, of->positions);
    move_statistic(graph, r->mean, mean, r->momentum);
    move_statistic(graph, r->stddev, deviation, r->momentum);
    move_statistic(graph, norm->mean, mean, norm->momentum);
    move_deviation(graph, norm, r->moving_stddev, deviation);
}

/* gamma and beta of `norm` become those that correct as well. */
static void correct(artel__graph *graph, artel__batch_norm *norm, const renorm *own, const statistics *of)
{
    artel__value_id above = artel__op_affine(graph, of->variance, 1, norm->epsilon);
    artel__value_id stddev = artel__op_unary(graph, ARTEL__UNARY_SQRT, NULL, above);
    double rounded = (float)norm->epsilon; /* Keras casts it, by way of float32, and takes its root */
    bool wide = graph->real == ARTEL_DTYPE_FLOAT64;
    artel__value_id least = artel__op_scalar(graph, wide ? sqrt(rounded) : (double)sqrtf((float)rounded));
    artel__value_id by = artel__op_binary(graph, ARTEL__BINARY_MAX, own->stddev, least);
    artel__value_id r = artel__op_binary(graph, ARTEL__BINARY_DIV, stddev, by);
    artel__value_id d =
        artel__op_binary(graph, ARTEL__BINARY_DIV, artel__op_binary(graph, ARTEL__BINARY_SUB, of->mean, own->mean), by);
    r = artel__op_stop_gradient(graph, limited(graph, r, own->limits->least, own->limits->most));
    d = artel__op_stop_gradient(graph, limited(graph, d, -own->limits->shift, own->limits->shift));
    move_renorm(graph, norm, own, of, stddev);
    if (norm->gamma >= 0) {
        d = artel__op_binary(graph, ARTEL__BINARY_MUL, d, norm->gamma);
        r = artel__op_binary(graph, ARTEL__BINARY_MUL, r, norm->gamma);
    }
    norm->gamma = r;
    norm->beta = norm->beta >= 0 ? artel__op_add(graph, d, norm->beta) : d;
}

/* Statistics put together from sums, over unmasked positions (mask ROW BOOL of x's shape without its last axis, or
 * none) and by group of shards (`member`, or none). */
static artel__value_id composed_training(artel__graph *graph, artel__batch_norm *norm, const renorm *own,
                                         artel__value_id mask, artel__value_id member)
{
    if (graph->status < 0) return ARTEL__NO_VALUE;
    int rank = graph->value[norm->x].shape.rank;
    if (mask >= 0) mask = mask_like(graph, norm->x, mask);
    artel__value_id positions = count_positions(graph, member, norm->x, mask);
    bool plain = graph->real == ARTEL_DTYPE_FLOAT64 && mask < 0; /* of a mask alone, in Keras */
    artel__value_id count = plain ? positions : artel__op_add(graph, positions, artel__op_scalar(graph, 1e-7));
    artel__value_id valid = mask >= 0 ? artel__op_where(graph, mask, norm->x, ARTEL__NO_VALUE) : norm->x;
    artel__value_id mean = artel__op_binary(graph, ARTEL__BINARY_DIV, artel__group_sums(graph, member, valid), count);
    artel__value_id distance =
        artel__op_binary(graph, ARTEL__BINARY_SUB, norm->x, artel__group_rows(graph, member, mean, rank));
    artel__value_id kept = mask >= 0 ? artel__op_where(graph, mask, distance, ARTEL__NO_VALUE) : distance;
    artel__value_id square = artel__op_unary(graph, ARTEL__UNARY_SQUARE, NULL, kept);
    artel__value_id variance =
        artel__op_binary(graph, ARTEL__BINARY_DIV, artel__group_sums(graph, member, square), count);
    if (own) {
        correct(graph, norm, own, &(statistics){mean, variance, member, positions});
        norm->beta = artel__group_rows(graph, member, norm->beta, rank);
    } else {
        move_statistic(graph, norm->mean, over_groups(graph, member, mean, positions), norm->momentum);
        move_statistic(graph, norm->variance, over_groups(graph, member, variance, positions), norm->momentum);
    }
    artel__value_id inverse = artel__op_unary(graph, ARTEL__UNARY_RSQRT, NULL,
                                              artel__op_add(graph, variance, artel__op_scalar(graph, norm->epsilon)));
    if (norm->gamma >= 0) inverse = artel__op_binary(graph, ARTEL__BINARY_MUL, inverse, norm->gamma);
    artel__value_id y =
        artel__op_binary(graph, ARTEL__BINARY_MUL, distance, artel__group_rows(graph, member, inverse, rank));
    return norm->beta >= 0 ? artel__op_add(graph, y, norm->beta) : y;
}

static artel_status call_norm(artel__layer *layer, artel__call *call)
{
    const norm_config *c = layer->config;
    artel__graph *graph = call->graph;
    int axis, permutation[ARTEL_MAX_RANK], n = 0;
    bool training = graph->training && layer->trainable, wide = graph->real == ARTEL_DTYPE_FLOAT64;
    ARTEL_TRY(find_axis(layer, call, &axis));
    artel__value_id x = artel__as_float(graph, call->in[0].value), mask = call->in[0].mask, y;
    artel__batch_norm norm = {.x = artel__axes_last(graph, x, 1u << axis, permutation),
                              .gamma = ARTEL__NO_VALUE,
                              .beta = ARTEL__NO_VALUE,
                              .epsilon = wide ? c->epsilon : (double)(float)c->epsilon,
                              .momentum = c->momentum,
                              .update = true};
    if (c->scale) norm.gamma = artel__layer_weight(layer, graph, n++);
    if (c->center) norm.beta = artel__layer_weight(layer, graph, n++);
    norm.mean = artel__layer_weight(layer, graph, n++);
    norm.variance = artel__layer_weight(layer, graph, n++);
    if (!training)
        y = artel__op_batch_norm_inference(graph, &norm);
    else if (mask < 0 && graph->batch_groups <= 1 && !c->renorm && !wide)
        y = artel__op_batch_norm_training(graph, &norm);
    else {
        int rank = artel__call_shape(call, 0)->rank;
        if (mask >= 0 && (axis != rank - 1 || graph->value[mask].shape.rank != rank - 1))
            return artel__layer_fail(layer, ARTEL_ERROR_UNSUPPORTED, "normalise the last axis",
                                     "a mask of %d axes with an input of %d is not supported",
                                     graph->value[mask].shape.rank + 1, rank + 1);
        graph->precision = ARTEL_DTYPE_FLOAT32; /* Keras, too, puts these together in float32 */
        artel__value_id member =
            graph->batch_groups > 1 ? artel__op_batch_groups(graph, graph->batch_groups) : ARTEL__NO_VALUE;
        renorm own = {.momentum = c->renorm_momentum, .limits = layer->own};
        if (c->renorm) {
            own.moving_stddev = artel__layer_weight(layer, graph, n++);
            own.mean = artel__layer_weight(layer, graph, n++);
            own.stddev = artel__layer_weight(layer, graph, n);
        }
        y = composed_training(graph, &norm, c->renorm ? &own : NULL, mask, member);
    }
    artel__call_return(call, artel__axes_back(graph, y, permutation));
    return ARTEL_OK;
}

const artel__layer_def artel__layer_batch_normalization_def = {
    .class_name = "BatchNormalization",
    .doc = "Normalises channels by mean and variance of the global batch.",
    .config_size = sizeof(norm_config),
    .options = norm_options,
    .mask = ARTEL__MASK_PASS,
    .cast = ARTEL__CAST_INPUTS,
    .configure = configure_norm,
    .build = build_norm,
    .call = call_norm,
};
