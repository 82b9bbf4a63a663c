/* SPDX-License-Identifier: Apache-2.0 */
/* Intersection over union by class, and correlations (keras/src/metrics/iou_metrics.py, correlation_metrics.py).
 *
 * The matrix is of integers unless the metric's dtype says otherwise, as in Keras, which cuts weights to integers for
 * it. Sums of an IoU are a confusion matrix, [classes true][classes predicted]: positions whose class is out of range,
 * or ignored, are left out. A correlation is a mean over rows of that of the row's last axis.
 */
#include <string.h>

#include "nn/layer_support.h"
#include "nn/metric_table.h"

#include "op/formula.h"
#include "op/reduce.h"
#include "op/shape_ops.h"

#define EPSILON 1e-7
#define MOST_CLASSES 1024

typedef struct settings {
    int64_t num_classes, axis;
    artel__ints target_class_ids;
    const char *ignore_class; /* JSON */
    bool sparse_y_true, sparse_y_pred;
    double threshold;
    int64_t ignored;
    bool ignores, whole; /* whole: the matrix is of integers, and so are weights */
} settings;

#define CONFIG(field) offsetof(settings, field)
#define CLASSES                                                                                        \
    {                                                                                                  \
        "num_classes", "how many", ARTEL__OPTION_INT, CONFIG(num_classes), NULL, 1, MOST_CLASSES, NULL \
    }
#define IDS(fallback)                                                                                            \
    {                                                                                                            \
        "target_class_ids", "the classes that count", ARTEL__OPTION_INTS, CONFIG(target_class_ids), fallback, 0, \
            MOST_CLASSES - 1, NULL                                                                               \
    }
#define IGNORED                                                                                                      \
    {                                                                                                                \
        "ignore_class", "a class that does not count, or null", ARTEL__OPTION_JSON, CONFIG(ignore_class), "null", 0, \
            0, NULL                                                                                                  \
    }
#define SPARSE(key, fallback, help)                                       \
    {                                                                     \
#key, help, ARTEL__OPTION_BOOL, CONFIG(key), fallback, 0, 0, NULL \
    }
#define AXIS                                                                           \
    {                                                                                  \
        "axis", "only the last, -1", ARTEL__OPTION_INT, CONFIG(axis), "-1", 0, 0, NULL \
    }
#define END          \
    {                \
        .name = NULL \
    }

static const artel__option iou_options[] = {CLASSES,
                                            IDS(NULL),
                                            IGNORED,
                                            SPARSE(sparse_y_true, "true", "targets are classes"),
                                            SPARSE(sparse_y_pred, "true", "predictions are classes"),
                                            AXIS,
                                            END};
static const artel__option mean_options[] = {CLASSES,
                                             IGNORED,
                                             SPARSE(sparse_y_true, "true", "targets are classes"),
                                             SPARSE(sparse_y_pred, "true", "predictions are classes"),
                                             AXIS,
                                             END};
static const artel__option one_hot_options[] = {
    CLASSES, IDS(NULL), IGNORED, SPARSE(sparse_y_pred, "false", "predictions are classes"), AXIS, END};
static const artel__option one_hot_mean_options[] = {
    CLASSES, IGNORED, SPARSE(sparse_y_pred, "false", "predictions are classes"), AXIS, END};
static const artel__option binary_options[] = {
    IDS("[0, 1]"),
    {"threshold", "predictions above it are 1", ARTEL__OPTION_FLOAT, CONFIG(threshold), "0.5", 0, 0, NULL},
    END};
static const artel__option axis_options[] = {AXIS, END};

static artel_status last_axis_only(artel__metric_setup *setup)
{
    const settings *s = setup->metric->config;
    if (s->axis == -1 || s->axis == setup->prediction->rank) return ARTEL_OK;
    return artel__fail(setup->arena->ctx, ARTEL_ERROR_UNSUPPORTED, setup->metric->name,
                       "put the classes on the last axis and leave axis at -1", "axis %lld is not supported",
                       (long long)s->axis);
}

static artel_status finish(artel__metric_setup *setup)
{
    settings *s = setup->metric->config;
    artel_context *ctx = setup->arena->ctx;
    const char *name = setup->metric->name;
    if (s->num_classes > MOST_CLASSES || s->num_classes < 1)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, name, "write a number of 1 to 1024", "num_classes is %lld",
                           (long long)s->num_classes);
    for (int i = 0; i < s->target_class_ids.count; i++) {
        if (s->target_class_ids.item[i] >= s->num_classes)
            return artel__fail(ctx, ARTEL_ERROR_INVALID, name, "name classes below num_classes",
                               "the class %lld does not exist", (long long)s->target_class_ids.item[i]);
    }
    if (s->ignore_class && !artel__parse_int64(s->ignore_class, &s->ignored))
        return artel__fail(ctx, ARTEL_ERROR_INVALID, name, "write a class number, or null", "ignore_class is %.100s",
                           s->ignore_class);
    s->ignores = s->ignore_class;
    const char *dtype = json_string_value(json_object_get(setup->config, "dtype"));
    s->whole = !dtype || strncmp(dtype, "float", 5) != 0;
    setup->metric->sums = (int)(s->num_classes * s->num_classes);
    setup->metric->target = s->sparse_y_pred ? ARTEL__TARGET_SAME : ARTEL__TARGET_INDEX;
    return ARTEL_OK;
}

/* Targets of several columns beside predicted classes: Keras would take the greatest of either, or mix positions with
 * classes. */
static artel_status configure_iou(artel__metric_setup *setup)
{
    const settings *s = setup->metric->config;
    ARTEL_TRY(last_axis_only(setup));
    if (s->sparse_y_true != s->sparse_y_pred && s->sparse_y_pred)
        return artel__fail(setup->arena->ctx, ARTEL_ERROR_UNSUPPORTED, setup->metric->name,
                           "let sparse_y_pred be false", "one-hot targets beside predicted classes are not supported");
    return finish(setup);
}

static artel_status configure_one_hot(artel__metric_setup *setup)
{
    settings *s = setup->metric->config;
    s->sparse_y_true = false;
    return configure_iou(setup);
}

static artel_status configure_binary(artel__metric_setup *setup)
{
    settings *s = setup->metric->config;
    s->num_classes = 2;
    s->sparse_y_true = s->sparse_y_pred = true;
    return finish(setup);
}

/* [positions][classes] of the truth times its weight; out of range: no class at all. */
static artel__value_id truth_of(artel__graph *graph, const settings *s, artel__value_id classes, artel__value_id weight)
{
    artel__value_id one = artel__op_one_hot(graph, classes, s->num_classes);
    if (s->ignores) {
        artel__value_id kept = artel__op_compare_scalar(graph, ARTEL__COMPARE_NOT_EQUAL, classes, (double)s->ignored);
        if (graph->status < 0) return ARTEL__NO_VALUE;
        artel_shape beside = artel__shape(2, graph->value[classes].storage, (int64_t)1);
        one = artel__op_where(graph, artel__op_reshape(graph, kept, &beside), one, ARTEL__NO_VALUE);
    }
    if (weight < 0 || graph->status < 0) return one;
    if (s->whole) weight = artel__op_cast(graph, artel__op_cast(graph, weight, ARTEL_DTYPE_INT32), ARTEL_DTYPE_FLOAT32);
    one = artel__op_cast(graph, one, artel__real_of(graph, weight));
    if (graph->status < 0) return ARTEL__NO_VALUE;
    artel_shape beside = artel__shape(2, graph->value[weight].storage, (int64_t)1);
    return artel__op_binary(graph, ARTEL__BINARY_MUL, one, artel__op_reshape(graph, weight, &beside));
}

static artel__value_id as_list(artel__graph *graph, artel__value_id x)
{
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    artel_shape list = artel__shape(1, graph->value[x].storage);
    return artel__op_reshape(graph, artel__op_cast(graph, x, ARTEL_DTYPE_INT32), &list);
}

static artel__value_id add_iou(artel__graph *graph, const artel__metric *metric, artel__value_id target,
                               artel__value_id prediction, artel__value_id weight)
{
    static const int turned[] = {1, 0};
    const settings *s = metric->config;
    if (metric->def->options == binary_options)
        prediction = artel__op_compare_scalar(graph, ARTEL__COMPARE_GREATER_EQUAL, prediction, s->threshold);
    else if (!s->sparse_y_pred)
        prediction = artel__op_argmax(graph, prediction);
    artel__value_id truth = truth_of(graph, s, as_list(graph, target), weight);
    artel__value_id said = artel__op_one_hot(graph, as_list(graph, prediction), s->num_classes);
    artel__value_id columns = artel__op_transpose(graph, said, turned),
                    cells = artel__row_products(graph, artel__op_transpose(graph, truth, turned), columns);
    if (graph->status < 0) return ARTEL__NO_VALUE;
    artel_shape list = artel__shape(1, s->num_classes * s->num_classes);
    return artel__op_fold_columns64(graph, artel__op_reshape(graph, cells, &list));
}

static double iou_of(const settings *s, const double *sums, int64_t class, int *valid)
{
    double row = 0, column = 0, both = sums[class * s->num_classes + class];
    for (int64_t i = 0; i < s->num_classes; i++) {
        row += sums[i * s->num_classes + class];
        column += sums[class * s->num_classes + i];
    }
    double all = row + column - both;
    *valid += all > 1e-9;
    return both / (all + EPSILON);
}

static double result_iou(const artel__metric *metric, const double *sums)
{
    const settings *s = metric->config;
    int valid = 0;
    double sum = 0;
    int64_t count = s->target_class_ids.count ? s->target_class_ids.count : s->num_classes;
    for (int64_t i = 0; i < count; i++)
        sum += iou_of(s, sums, s->target_class_ids.count ? s->target_class_ids.item[i] : i, &valid);
    return sum / valid;
}

/* -- correlations -- */

static artel__value_id mean_of(artel__graph *graph, artel__value_id x, bool keep)
{
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    return artel__op_reduce(graph, ARTEL__REDUCE_MEAN, x, 1u << (graph->value[x].shape.rank - 1), keep);
}

static artel__value_id variance(artel__graph *graph, artel__value_id x)
{
    return mean_of(
        graph, artel__op_unary(graph, ARTEL__UNARY_SQUARE, NULL, difference(graph, x, mean_of(graph, x, true))), true);
}

static artel__value_id target_like(artel__graph *graph, artel__value_id target, artel__value_id prediction)
{
    artel_shape shape = graph->value[prediction].shape;
    return artel__op_reshape(graph, artel__op_cast(graph, target, artel__real_of(graph, prediction)), &shape);
}

static artel__value_id add_pearson(artel__graph *graph, const artel__metric *metric, artel__value_id target,
                                   artel__value_id prediction, artel__value_id weight)
{
    (void)metric;
    artel__value_id x[2] = {target_like(graph, target, prediction), prediction};
    for (int i = 0; i < 2; i++) {
        x[i] = difference(graph, x[i], mean_of(graph, x[i], true));
        x[i] = artel__op_binary(graph, ARTEL__BINARY_DIV, x[i],
                                artel__op_unary(graph, ARTEL__UNARY_SQRT, NULL, variance(graph, x[i])));
    }
    return artel__op_fold_weighted(graph, mean_of(graph, product(graph, x[0], x[1]), false), weight);
}

/* Both deviations are from the mean of the predictions, as Keras has it. */
static artel__value_id add_concordance(artel__graph *graph, const artel__metric *metric, artel__value_id target,
                                       artel__value_id prediction, artel__value_id weight)
{
    (void)metric;
    artel__value_id y = target_like(graph, target, prediction), p = prediction;
    artel__value_id of_y = mean_of(graph, y, true), of_p = mean_of(graph, p, true);
    artel__value_id apart = artel__op_unary(graph, ARTEL__UNARY_SQUARE, NULL, difference(graph, of_y, of_p));
    artel__value_id spread = variance(graph, difference(graph, p, of_p)),
                    norm = artel__op_add(graph, variance(graph, difference(graph, y, of_y)), spread);
    norm = artel__op_affine(graph, artel__op_add(graph, norm, apart), 1, EPSILON);
    artel__value_id away = difference(graph, p, of_p),
                    both = artel__op_affine(graph, product(graph, difference(graph, y, of_p), away), 2, 0);
    return artel__op_fold_weighted(graph, mean_of(graph, artel__op_binary(graph, ARTEL__BINARY_DIV, both, norm), false),
                                   weight);
}

#define IOU(class_name, name, options, kind)                                                                      \
    {                                                                                                             \
        class_name, name, {NULL}, ARTEL__TARGET_SAME, sizeof(settings), options, NULL, configure_##kind, add_iou, \
            result_iou, 0, NULL                                                                                   \
    }
#define CORRELATION(class_name, name, kind)                                                                 \
    {                                                                                                       \
        class_name, name, {name}, ARTEL__TARGET_SAME, sizeof(settings), axis_options, NULL, last_axis_only, \
            add_##kind, NULL, 0, NULL                                                                       \
    }

const artel__metric_def artel__metrics_of_overlap[] = {
    IOU("IoU", "io_u", iou_options, iou),
    IOU("MeanIoU", "mean_io_u", mean_options, iou),
    IOU("OneHotIoU", "one_hot_io_u", one_hot_options, one_hot),
    IOU("OneHotMeanIoU", "one_hot_mean_io_u", one_hot_mean_options, one_hot),
    IOU("BinaryIoU", "binary_io_u", binary_options, binary),
    CORRELATION("PearsonCorrelation", "pearson_correlation", pearson),
    CORRELATION("ConcordanceCorrelation", "concordance_correlation", concordance),
    {.class_name = NULL},
};
