/* SPDX-License-Identifier: Apache-2.0 */
/* Losses as metrics: weighted means of what the loss function says of each position.
 *
 * The settings are those of the loss of the same name. A class that does not count (ignore_class) is left out of the
 * weights where there are any, and counts as 0 where there are none, as in keras/src/metrics/reduction_metrics.py.
 */
#include "base/scalar_math.h"
#include "nn/metric_table.h"
#include "op/elementwise.h"
#include "op/reduce.h"

static artel_status configure(artel__metric_setup *setup)
{
    artel__metric *metric = setup->metric;
    const artel__metric_def *def = metric->def;
    if (!def->loss) return ARTEL_OK;
    ARTEL_TRY(
        artel__loss_configure(setup->arena, artel__loss_find(def->loss), metric->name, setup->config, metric->config));
    metric->target = ((artel__loss_config *)metric->config)->target;
    return ARTEL_OK;
}

static artel__value_id add(artel__graph *graph, const artel__metric *metric, artel__value_id target,
                           artel__value_id prediction, artel__value_id weight)
{
    const artel__loss_config *loss = metric->config;
    artel__value_id value = artel__loss_add(graph, loss, target, prediction);
    artel__value_id counts = weight >= 0 ? artel__loss_mask(graph, loss, target, value) : ARTEL__NO_VALUE;
    if (counts >= 0 && graph->status >= 0) {
        artel_shape shape = graph->value[value].shape, one = shape;
        for (int i = 0; i < one.rank; i++) one.dim[i] = 1;
        artel_dtype real = artel__real_of(graph, value);
        counts = artel__op_reshape(graph, artel__op_cast(graph, counts, real), &shape);
        bool by_row = graph->value[weight].storage == 1;
        weight = artel__op_cast(graph, weight, real);
        weight = artel__op_binary(graph, ARTEL__BINARY_MUL, artel__op_reshape(graph, weight, by_row ? &one : &shape),
                                  counts);
    }
    return artel__op_fold_weighted(graph, value, weight);
}

static double root(const artel__metric *metric, const double *sums)
{
    (void)metric;
    return artel__sqrt64(artel__divide_no_nan(sums[0], sums[1]));
}

#define ROW(class_name, name, loss, ...)                                                                             \
    {                                                                                                                \
        class_name, name, {__VA_ARGS__}, ARTEL__TARGET_SAME, sizeof(artel__loss_config), NULL, loss, configure, add, \
            NULL, 0, NULL                                                                                            \
    }
#define SAME(class_name, name) ROW(class_name, name, class_name, name)

const artel__metric_def artel__metrics_of_losses[] = {
    ROW("MeanSquaredError", "mean_squared_error", "MeanSquaredError", "mean_squared_error", "mse", "MSE"),
    ROW("MeanAbsoluteError", "mean_absolute_error", "MeanAbsoluteError", "mean_absolute_error", "mae", "MAE"),
    ROW("MeanAbsolutePercentageError", "mean_absolute_percentage_error", "MeanAbsolutePercentageError",
        "mean_absolute_percentage_error", "mape", "MAPE"),
    ROW("MeanSquaredLogarithmicError", "mean_squared_logarithmic_error", "MeanSquaredLogarithmicError",
        "mean_squared_logarithmic_error", "msle", "MSLE"),
    {"RootMeanSquaredError",
     "root_mean_squared_error",
     {"root_mean_squared_error"},
     ARTEL__TARGET_SAME,
     sizeof(artel__loss_config),
     NULL,
     "MeanSquaredError",
     configure,
     add,
     root,
     0,
     NULL},
    {"CosineSimilarity",
     "cosine_similarity",
     {"cosine_similarity"},
     ARTEL__TARGET_SAME,
     sizeof(artel__loss_config),
     NULL,
     "CosineSimilarity",
     configure,
     add,
     NULL,
     -1, /* the loss is its negative */
     NULL},
    ROW("LogCoshError", "logcosh", "LogCosh", "log_cosh_error"),
    SAME("Hinge", "hinge"),
    SAME("SquaredHinge", "squared_hinge"),
    SAME("CategoricalHinge", "categorical_hinge"),
    SAME("KLDivergence", "kl_divergence"),
    SAME("Poisson", "poisson"),
    ROW("BinaryCrossentropy", "binary_crossentropy", "BinaryCrossentropy", "binary_crossentropy", "bce", "BCE"),
    SAME("CategoricalCrossentropy", "categorical_crossentropy"),
    SAME("SparseCategoricalCrossentropy", "sparse_categorical_crossentropy"),
    {"MeanMetricWrapper",
     "mean_metric_wrapper",
     {0},
     ARTEL__TARGET_SAME,
     sizeof(artel__loss_config),
     NULL,
     NULL,
     configure,
     add,
     NULL,
     0,
     NULL},
    {.class_name = NULL},
};
