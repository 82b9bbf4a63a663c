/* SPDX-License-Identifier: Apache-2.0 */
/* Scores by class: F1, F-beta, R2 (keras/src/metrics/f_score_metrics.py, regression_metrics.py).
 *
 * Sums are kept for each column of the output, [kind][columns], and joined in the result, or given column by column
 * (average None).
 */
#include <string.h>

#include "nn/metric_table.h"
#include "op/elementwise.h"
#include "op/reduce.h"
#include "op/shape_ops.h"

#define EPSILON 1e-7

typedef struct settings {
    int average, class_aggregation;
    double beta, threshold;
    int64_t num_regressors;
    int columns;
} settings;

static const char *const averages[] = {"micro", "macro", "weighted", NULL};
static const char *const aggregations[] = {"uniform_average", "variance_weighted_average", NULL};
enum {
    AVERAGE_MICRO,
    AVERAGE_MACRO,
    AVERAGE_WEIGHTED
};
enum {
    AGGREGATE_UNIFORM,
    AGGREGATE_VARIANCE
};

#define AVERAGE                                                                                                        \
    {                                                                                                                  \
        "average", "micro, macro or weighted", ARTEL__OPTION_ENUM, offsetof(settings, average), "null", 0, 0, averages \
    }
#define THRESHOLD                                                                                    \
    {                                                                                                \
        "threshold", "predictions above it are 1; null: the greatest of a row", ARTEL__OPTION_FLOAT, \
            offsetof(settings, threshold), "null", 0, 1, NULL                                        \
    }
#define END          \
    {                \
        .name = NULL \
    }

static const artel__option f1_options[] = {AVERAGE, THRESHOLD, END};
static const artel__option f_beta_options[] = {
    AVERAGE,
    THRESHOLD,
    {"beta", "weight of recall", ARTEL__OPTION_FLOAT, offsetof(settings, beta), "1.0", 1e-300, 1e300, NULL},
    END};
static const artel__option r2_options[] = {{"class_aggregation", "how columns are joined", ARTEL__OPTION_ENUM,
                                            offsetof(settings, class_aggregation), "uniform_average", 0, 0,
                                            aggregations},
                                           {"num_regressors", "for the adjusted score", ARTEL__OPTION_INT,
                                            offsetof(settings, num_regressors), "0", 0, 1e9, NULL},
                                           END};

static artel_status configure(artel__metric_setup *setup, int kinds)
{
    settings *s = setup->metric->config;
    if (s->beta == 0) s->beta = 1;
    artel_context *ctx = setup->arena->ctx;
    if (setup->prediction->rank != 1)
        return artel__fail(ctx, ARTEL_ERROR_UNSUPPORTED, setup->metric->name, "use it on an output of one axis",
                           "the output has %d axes", setup->prediction->rank);
    s->columns = (int)setup->prediction->dim[0];
    setup->metric->sums = kinds * s->columns;
    return ARTEL_OK;
}

static artel_status configure_f(artel__metric_setup *setup)
{
    const settings *s = setup->metric->config;
    ARTEL_TRY(configure(setup, 3));
    if (s->average < 0) setup->metric->values = s->columns;
    return ARTEL_OK;
}

static artel_status configure_r2(artel__metric_setup *setup)
{
    return configure(setup, 5);
}

/* [kinds of columns] -> NODES float64, each row times its weight. */
static artel__value_id fold_parts(artel__graph *graph, const artel__value_id *part, int count, artel__value_id weight)
{
    artel__value_id all = artel__op_concat(graph, part, count, 0);
    artel_shape one = artel__shape(1, (int64_t)1);
    if (weight >= 0) all = artel__op_binary(graph, ARTEL__BINARY_MUL, all, artel__op_reshape(graph, weight, &one));
    return artel__op_fold_columns64(graph, all);
}

static artel__value_id chosen(artel__graph *graph, const settings *s, artel__value_id p)
{
    if (s->threshold > 0) return artel__op_compare_scalar(graph, ARTEL__COMPARE_GREATER, p, s->threshold);
    artel__value_id most = artel__op_reduce(graph, ARTEL__REDUCE_MAX, p, 1, true);
    artel__value_id some = artel__op_compare_scalar(graph, ARTEL__COMPARE_GREATER,
                                                    artel__op_unary(graph, ARTEL__UNARY_ABS, NULL, p), 1e-9);
    return artel__op_logical_and(graph, artel__op_compare(graph, ARTEL__COMPARE_GREATER_EQUAL, p, most), some);
}

/* Sums: true positives, predicted positives, positives. */
static artel__value_id add_f(artel__graph *graph, const artel__metric *metric, artel__value_id target,
                             artel__value_id prediction, artel__value_id weight)
{
    artel_shape shape = graph->value[prediction].shape;
    artel_dtype real = artel__real_of(graph, prediction);
    artel__value_id y = artel__op_reshape(graph, artel__op_cast(graph, target, real), &shape);
    artel__value_id p = artel__op_cast(graph, chosen(graph, metric->config, prediction), real);
    artel__value_id part[] = {artel__op_binary(graph, ARTEL__BINARY_MUL, p, y), p, y};
    return fold_parts(graph, part, 3, weight);
}

static double f_score(const settings *s, double tp, double predicted, double positive)
{
    double precision = tp / (predicted + EPSILON), recall = tp / (positive + EPSILON), square = s->beta * s->beta;
    return precision * recall / (square * precision + recall + EPSILON) * (1 + square);
}

static double score_of_column(const settings *s, const double *sums, int i)
{
    return f_score(s, sums[i], sums[s->columns + i], sums[2 * s->columns + i]);
}

static double result_f(const artel__metric *metric, const double *sums, int place)
{
    const settings *s = metric->config;
    int n = s->columns;
    if (metric->values) return score_of_column(s, sums, place);
    double score = 0, tp = 0, predicted = 0, positive = 0;
    for (int i = 0; i < n; i++) {
        double own = score_of_column(s, sums, i);
        score += s->average == AVERAGE_WEIGHTED ? own * sums[2 * n + i] : own;
        tp += sums[i];
        predicted += sums[n + i];
        positive += sums[2 * n + i];
    }
    if (s->average == AVERAGE_MICRO) return f_score(s, tp, predicted, positive);
    return s->average == AVERAGE_WEIGHTED ? score / (positive + EPSILON) : score / n;
}

/* Sums: targets, their squares, squared errors, weights, elements. */
static artel__value_id add_r2(artel__graph *graph, const artel__metric *metric, artel__value_id target,
                              artel__value_id prediction, artel__value_id weight)
{
    (void)metric;
    artel_shape shape = graph->value[prediction].shape, one = artel__shape(1, (int64_t)1);
    artel_dtype real = artel__real_of(graph, prediction);
    artel__value_id y = artel__op_reshape(graph, artel__op_cast(graph, target, real), &shape);
    artel__value_id ones = artel__op_fill_like(graph, y, 1.0), w = ones;
    if (weight >= 0) w = artel__op_binary(graph, ARTEL__BINARY_MUL, ones, artel__op_reshape(graph, weight, &one));
    artel__value_id weighted = artel__op_binary(graph, ARTEL__BINARY_MUL, y, w);
    artel__value_id error = artel__op_binary(graph, ARTEL__BINARY_SQUARED_DIFFERENCE, y, prediction);
    artel__value_id part[] = {weighted, artel__op_binary(graph, ARTEL__BINARY_MUL, y, weighted),
                              artel__op_binary(graph, ARTEL__BINARY_MUL, error, w), w, ones};
    return fold_parts(graph, part, 5, ARTEL__NO_VALUE);
}

static double result_r2(const artel__metric *metric, const double *sums)
{
    const settings *s = metric->config;
    int n = s->columns;
    double score = 0, weights = 0, samples = 0;
    for (int i = 0; i < n; i++) {
        double sum = sums[i], total = sums[n + i] - sum * (sum / sums[3 * n + i]), own = 1 - sums[2 * n + i] / total;
        if (own * 0 != 0 && own == own) own = 0; /* infinite: Keras says 0 */
        double weight = s->class_aggregation == AGGREGATE_VARIANCE ? total : 1;
        score += own * weight;
        weights += weight;
        samples += sums[4 * n + i];
    }
    score /= weights;
    double left = samples - (double)s->num_regressors - 1;
    return s->num_regressors > 0 && left > 0 ? 1 - (1 - score) * (samples - 1) / left : score;
}

#define F_SCORE(class_name, name, alias, options)                                                                    \
    {                                                                                                                \
        class_name, name, {alias}, ARTEL__TARGET_SAME, sizeof(settings), options, NULL, configure_f, add_f, NULL, 0, \
            result_f                                                                                                 \
    }

const artel__metric_def artel__metrics_of_scores[] = {
    F_SCORE("F1Score", "f1_score", "f1_score", f1_options),
    F_SCORE("FBetaScore", "fbeta_score", "f_beta_score", f_beta_options),
    {"R2Score",
     "r2_score",
     {"r2_score"},
     ARTEL__TARGET_SAME,
     sizeof(settings),
     r2_options,
     NULL,
     configure_r2,
     add_r2,
     result_r2,
     0,
     NULL},
    {.class_name = NULL},
};
