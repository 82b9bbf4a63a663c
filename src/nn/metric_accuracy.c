/* SPDX-License-Identifier: Apache-2.0 */
/* Accuracies: the weighted mean of "was it right" (keras/src/metrics/accuracy_metrics.py). */
#include "nn/metric_table.h"
#include "op/elementwise.h"
#include "op/reduce.h"
#include "op/shape_ops.h"

typedef struct settings {
    double threshold;
    int64_t k;
    bool from_sorted_ids;
} settings;

#define END          \
    {                \
        .name = NULL \
    }

static const artel__option no_options[] = {END};
static const artel__option binary_options[] = {
    {"threshold", "predictions above it are 1", ARTEL__OPTION_FLOAT, offsetof(settings, threshold), "0.5", 0, 0, NULL},
    END};
static const artel__option top_options[] = {
    {"k", "how many of the best count", ARTEL__OPTION_INT, offsetof(settings, k), "5", 1, 1e9, NULL}, END};
static const artel__option sparse_top_options[] = {
    {"k", "how many of the best count", ARTEL__OPTION_INT, offsetof(settings, k), "5", 1, 1e9, NULL},
    {"from_sorted_ids", "predictions are classes, the best first", ARTEL__OPTION_BOOL,
     offsetof(settings, from_sorted_ids), "false", 0, 0, NULL},
    END};

/* Truth values by position; those of several elements (an output of several columns) are averaged over the last axis.
 */
static artel__value_id mean_of(artel__graph *graph, artel__value_id right, artel__value_id prediction,
                               artel__value_id weight, bool by_element)
{
    if (graph->status < 0) return ARTEL__NO_VALUE;
    artel__value_id value = artel__op_cast(graph, right, artel__real_of(graph, prediction));
    if (graph->status < 0) return ARTEL__NO_VALUE;
    if (by_element)
        value = artel__op_reduce(graph, ARTEL__REDUCE_MEAN, value, 1u << (graph->value[value].shape.rank - 1), false);
    return artel__op_fold_weighted(graph, value, weight);
}

/* A target in the shape of `like` and as it, float32 or float64. */
static artel__value_id same_form(artel__graph *graph, artel__value_id target, artel__value_id like)
{
    if (graph->status < 0) return ARTEL__NO_VALUE;
    target = artel__op_cast(graph, target, artel__real_of(graph, like));
    if (graph->status < 0) return ARTEL__NO_VALUE;
    artel_shape shape = graph->value[like].shape;
    return graph->value[target].storage == graph->value[like].storage ? artel__op_reshape(graph, target, &shape)
                                                                      : target;
}

static artel__value_id add_equal(artel__graph *graph, const artel__metric *metric, artel__value_id target,
                                 artel__value_id prediction, artel__value_id weight)
{
    (void)metric;
    return mean_of(graph,
                   artel__op_compare(graph, ARTEL__COMPARE_EQUAL, same_form(graph, target, prediction), prediction),
                   prediction, weight, true);
}

static artel__value_id add_binary(artel__graph *graph, const artel__metric *metric, artel__value_id target,
                                  artel__value_id prediction, artel__value_id weight)
{
    const settings *s = metric->config;
    artel__value_id above = artel__op_compare_scalar(graph, ARTEL__COMPARE_GREATER, prediction, s->threshold);
    if (graph->status < 0) return ARTEL__NO_VALUE;
    return add_equal(graph, metric, target, artel__op_cast(graph, above, artel__real_of(graph, prediction)), weight);
}

/* Class numbers of either form of target, in the shape of the positions. */
static artel__value_id classes_of(artel__graph *graph, const artel__metric *metric, artel__value_id target,
                                  artel__value_id prediction)
{
    artel_shape shape = graph->value[prediction].shape;
    shape.rank--;
    if (metric->def->target == ARTEL__TARGET_ONE_HOT)
        return artel__op_argmax(graph, artel__op_cast(graph, target, ARTEL_DTYPE_FLOAT32));
    return artel__op_reshape(graph, artel__op_cast(graph, target, ARTEL_DTYPE_INT32), &shape);
}

static artel__value_id add_classes(artel__graph *graph, const artel__metric *metric, artel__value_id target,
                                   artel__value_id prediction, artel__value_id weight)
{
    artel__value_id wanted = classes_of(graph, metric, target, prediction);
    return mean_of(graph, artel__op_compare(graph, ARTEL__COMPARE_EQUAL, wanted, artel__op_argmax(graph, prediction)),
                   prediction, weight, false);
}

/* in_top_k of float64, which TensorFlow does not have: fewer than k scores are above that of the class, and all are
 * finite. */
static artel__value_id in_top_k_float64(artel__graph *graph, artel__value_id x, artel__value_id wanted, int64_t k)
{
    if (graph->status < 0) return ARTEL__NO_VALUE;
    artel_shape beside = graph->value[x].shape;
    int last = beside.rank - 1;
    artel__value_id own =
        artel__op_cast(graph, artel__op_one_hot(graph, wanted, beside.dim[last]), ARTEL_DTYPE_FLOAT64);
    beside.dim[last] = 1;
    own = artel__op_reduce(graph, ARTEL__REDUCE_SUM, artel__op_binary(graph, ARTEL__BINARY_MUL, own, x), 1u << last,
                           false);
    artel__value_id above = artel__op_compare(graph, ARTEL__COMPARE_GREATER, x, artel__op_reshape(graph, own, &beside));
    above = artel__op_reduce(graph, ARTEL__REDUCE_SUM, artel__op_cast(graph, above, ARTEL_DTYPE_FLOAT32), 1u << last,
                             false);
    artel__value_id none = artel__op_binary(graph, ARTEL__BINARY_SUB, x, x); /* 0, or not a number */
    none = artel__op_reduce(graph, ARTEL__REDUCE_SUM, none, 1u << last, false);
    return artel__op_logical_and(graph, artel__op_compare_scalar(graph, ARTEL__COMPARE_LESS, above, (double)k),
                                 artel__op_compare_scalar(graph, ARTEL__COMPARE_EQUAL, none, 0));
}

static artel__value_id add_top(artel__graph *graph, const artel__metric *metric, artel__value_id target,
                               artel__value_id prediction, artel__value_id weight)
{
    const settings *s = metric->config;
    artel__value_id wanted = classes_of(graph, metric, target, prediction);
    bool wide = artel__real_of(graph, prediction) == ARTEL_DTYPE_FLOAT64;
    artel__value_id best = wide ? in_top_k_float64(graph, prediction, wanted, s->k)
                                : artel__op_in_top_k(graph, prediction, wanted, (int)s->k);
    return mean_of(graph, best, prediction, weight, false);
}

/* Predictions are classes, the best first. */
static artel__value_id among_first(artel__graph *graph, artel__value_id wanted, artel__value_id prediction, int64_t k)
{
    if (graph->status < 0) return ARTEL__NO_VALUE;
    artel_shape beside = graph->value[prediction].shape;
    int last = beside.rank - 1;
    int64_t columns = beside.dim[last];
    beside.dim[last] = 1;
    wanted = artel__op_cast(graph, wanted, artel__real_of(graph, prediction));
    wanted = artel__op_reshape(graph, wanted, &beside);
    artel__value_id first = artel__op_slice(graph, prediction, last, 0, k < columns ? k : columns, 1);
    artel__value_id same =
        artel__op_cast(graph, artel__op_compare(graph, ARTEL__COMPARE_EQUAL, wanted, first), ARTEL_DTYPE_FLOAT32);
    return artel__op_reduce(graph, ARTEL__REDUCE_MAX, same, 1u << last, false);
}

static artel__value_id add_sparse_top(artel__graph *graph, const artel__metric *metric, artel__value_id target,
                                      artel__value_id prediction, artel__value_id weight)
{
    const settings *s = metric->config;
    if (!s->from_sorted_ids) return add_top(graph, metric, target, prediction, weight);
    artel__value_id wanted = classes_of(graph, metric, target, prediction);
    return mean_of(graph, among_first(graph, wanted, prediction, s->k), prediction, weight, false);
}

#define ROW(class_name, name, form, options, add)                                                                 \
    {                                                                                                             \
        class_name, name, {name}, ARTEL__TARGET_##form, sizeof(settings), options, NULL, NULL, add, NULL, 0, NULL \
    }

const artel__metric_def artel__metrics_of_accuracy[] = {
    ROW("Accuracy", "accuracy", SAME, no_options, add_equal),
    ROW("BinaryAccuracy", "binary_accuracy", SAME, binary_options, add_binary),
    ROW("CategoricalAccuracy", "categorical_accuracy", ONE_HOT, no_options, add_classes),
    ROW("SparseCategoricalAccuracy", "sparse_categorical_accuracy", INDEX, no_options, add_classes),
    ROW("TopKCategoricalAccuracy", "top_k_categorical_accuracy", ONE_HOT, top_options, add_top),
    ROW("SparseTopKCategoricalAccuracy", "sparse_top_k_categorical_accuracy", INDEX, sparse_top_options,
        add_sparse_top),
    {.class_name = NULL},
};
