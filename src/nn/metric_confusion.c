/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics of true and false positives and negatives at thresholds: AUC, precision, recall and their relatives
 * (keras/src/metrics/confusion_metrics.py, metrics_utils.py).
 *
 * Instead of four counts for each threshold, a prediction adds its weight to one bin: how many of the T sorted
 * thresholds it lies above (0..T), apart for negative and positive labels. The sums are the bins [label][2 (T + 1)] in
 * float64, and the counts at a threshold are tails of them. Where Keras takes thresholds for evenly spaced it computes
 * bins itself, ceil(p (T - 1)) in float32; so does this file, so that ties fall alike. Several thresholds in Precision
 * and the like give a list, in the order in which they were written.
 */
#include <string.h>

#include "base/scalar_math.h"
#include "nn/metric_table.h"
#include "op/elementwise.h"
#include "op/reduce.h"
#include "op/shape_ops.h"

#define EPSILON 1e-7
#define LOWEST (-1e10)
#define MOST_BINS ((int64_t)1 << 22) /* of one row of a batch: 16 MB */

typedef struct settings {
    artel__floats thresholds, label_weights;
    int64_t top_k, num_thresholds, num_labels;
    int curve, summation_method;
    bool multi_label, from_logits;
    const char *class_id; /* JSON: an integer, or NULL */
    double value;         /* of SensitivityAtSpecificity and the like */
    /* derived */
    double *sorted;     /* thresholds, [bins - 1]; float32 predictions meet them rounded */
    int *place;         /* where the thresholds of a list are among the sorted ones */
    int bins;           /* T + 1 */
    int labels;         /* kept apart; 1 unless multi_label */
    bool even, clamped; /* bins by ceil; the lowest threshold is below every prediction */
    bool has_class;
    int64_t class_number;
} settings;

static const char *const curves[] = {"ROC", "PR", "PRGAIN", "roc", "pr", "prgain", NULL};
static const char *const methods[] = {"interpolation", "majoring", "minoring", "Interpolation",
                                      "Majoring",      "Minoring", NULL};
enum {
    CURVE_ROC,
    CURVE_PR,
    CURVE_GAIN,
    CURVES
};
enum {
    METHOD_INTERPOLATION,
    METHOD_MAJORING,
    METHOD_MINORING,
    METHODS
};

#define THRESHOLDS                                                                                                   \
    {                                                                                                                \
        "thresholds", "a number from 0 to 1, or null", ARTEL__OPTION_FLOATS, offsetof(settings, thresholds), "null", \
            0, 1, NULL                                                                                               \
    }
#define CLASS                                                                                                        \
    {                                                                                                                \
        "class_id", "the only class that counts, or null", ARTEL__OPTION_JSON, offsetof(settings, class_id), "null", \
            0, 0, NULL                                                                                               \
    }
#define COUNT                                                                                                          \
    {                                                                                                                  \
        "num_thresholds", "how many thresholds", ARTEL__OPTION_INT, offsetof(settings, num_thresholds), "200", 1, 1e6, \
            NULL                                                                                                       \
    }
#define VALUE(key)                                                                           \
    {                                                                                        \
        key, "from 0 to 1", ARTEL__OPTION_FLOAT, offsetof(settings, value), NULL, 0, 1, NULL \
    }
#define END          \
    {                \
        .name = NULL \
    }

static const artel__option count_options[] = {THRESHOLDS, END};
static const artel__option precision_options[] = {THRESHOLDS,
                                                  CLASS,
                                                  {"top_k", "only the k best predictions of a row, or null",
                                                   ARTEL__OPTION_INT, offsetof(settings, top_k), "null", 1, 1e9, NULL},
                                                  END};
static const artel__option auc_options[] = {
    COUNT,
    THRESHOLDS,
    {"curve", "ROC, PR or PRGAIN", ARTEL__OPTION_ENUM, offsetof(settings, curve), "ROC", 0, 0, curves},
    {"summation_method", "how areas are taken", ARTEL__OPTION_ENUM, offsetof(settings, summation_method),
     "interpolation", 0, 0, methods},
    {"multi_label", "an area for each label, averaged", ARTEL__OPTION_BOOL, offsetof(settings, multi_label), "false", 0,
     0, NULL},
    {"num_labels", "how many labels", ARTEL__OPTION_INT, offsetof(settings, num_labels), "null", 0, 1e9, NULL},
    {"label_weights", "a number for each label", ARTEL__OPTION_FLOATS, offsetof(settings, label_weights), "null", 0, 0,
     NULL},
    {"from_logits", "predictions are logits", ARTEL__OPTION_BOOL, offsetof(settings, from_logits), "false", 0, 0, NULL},
    END};
static const artel__option at_specificity_options[] = {VALUE("specificity"), COUNT, CLASS, END};
static const artel__option at_sensitivity_options[] = {VALUE("sensitivity"), COUNT, CLASS, END};
static const artel__option at_recall_options[] = {VALUE("recall"), COUNT, CLASS, END};
static const artel__option at_precision_options[] = {VALUE("precision"), COUNT, CLASS, END};

/* -- thresholds -- */

static artel_status refuse(const artel__metric_setup *setup, const char *advice, const char *what)
{
    return artel__fail(setup->arena->ctx, ARTEL_ERROR_UNSUPPORTED, setup->metric->name, advice, "%s", what);
}

static artel_status finish(artel__metric_setup *setup, settings *s, int thresholds)
{
    const artel_shape *shape = setup->prediction;
    int64_t last = shape->rank > 0 ? shape->dim[shape->rank - 1] : 1;
    s->bins = thresholds + 1;
    s->labels = s->multi_label ? (int)last : 1;
    setup->metric->sums = s->labels * 2 * s->bins;
    if (s->class_id) {
        if (!artel__parse_int64(s->class_id, &s->class_number) || s->class_number < -last || s->class_number >= last)
            return artel__fail(setup->arena->ctx, ARTEL_ERROR_INVALID, setup->metric->name,
                               "count the output's last axis from 0", "class_id %.40s is not one of %lld classes",
                               s->class_id, (long long)last);
        s->has_class = true;
        if (s->class_number < 0) s->class_number += last;
    }
    if (artel_shape_count(shape) * 2 * s->bins > MOST_BINS)
        return refuse(setup, "use fewer thresholds",
                      "a row of this output has too many elements for so many thresholds");
    return ARTEL_OK;
}

static void sort_numbers(double *x, int count)
{
    for (int i = 1; i < count; i++) {
        for (int k = i; k > 0 && x[k] < x[k - 1]; k--) {
            double swap = x[k];
            x[k] = x[k - 1];
            x[k - 1] = swap;
        }
    }
}

/* is_evenly_distributed_thresholds of keras/src/metrics/metrics_utils.py: numpy's allclose with atol 1e-7. */
static bool evenly_spaced(const double *x, int count)
{
    for (int i = 0; i < count; i++) {
        double even = (float)i / (float)(count - 1), off = x[i] - even;
        if ((off < 0 ? -off : off) > EPSILON + 1e-5 * even) return false;
    }
    return count >= 3;
}

/* The thresholds given, or one: 0.5, or far below everything when only the best count. */
static artel_status configure_single(artel__metric_setup *setup)
{
    settings *s = setup->metric->config;
    int count = s->thresholds.count ? s->thresholds.count : 1;
    double *x = artel__arena_alloc(setup->arena, (size_t)count, sizeof *x);
    s->sorted = artel__arena_alloc(setup->arena, (size_t)count, sizeof *s->sorted);
    s->place = artel__arena_alloc(setup->arena, (size_t)count, sizeof *s->place);
    ARTEL_TRY(artel__arena_status(setup->arena));
    x[0] = s->top_k ? LOWEST : 0.5;
    for (int i = 0; i < s->thresholds.count; i++) x[i] = s->thresholds.item[i];
    s->even = evenly_spaced(x, count);
    sort_numbers(x, count);
    for (int i = 0; i < count; i++) s->sorted[i] = x[i];
    for (int i = 0; i < s->thresholds.count; i++) {
        while (x[s->place[i]] != s->thresholds.item[i]) s->place[i]++;
    }
    setup->metric->values = count > 1 ? count : 0;
    return finish(setup, s, count);
}

static artel_status configure_auc(artel__metric_setup *setup)
{
    settings *s = setup->metric->config;
    int given = s->thresholds.count, count = given ? given + 2 : (int)s->num_thresholds;
    s->curve %= CURVES;
    s->summation_method %= METHODS;
    if (count < 2) return refuse(setup, "use at least 2", "num_thresholds is below 2");
    double *x = artel__arena_alloc(setup->arena, (size_t)count, sizeof *x);
    s->sorted = artel__arena_alloc(setup->arena, (size_t)count, sizeof *s->sorted);
    ARTEL_TRY(artel__arena_status(setup->arena));
    for (int i = 1; i + 1 < count; i++) x[i] = given ? s->thresholds.item[i - 1] : i * 1.0 / (count - 1);
    if (given) sort_numbers(x + 1, given);
    x[count - 1] = 1;
    s->even = !given || evenly_spaced(x, count);
    s->clamped = true;
    x[0] = -EPSILON;
    x[count - 1] = 1 + EPSILON;
    for (int i = 0; i < count; i++) s->sorted[i] = x[i];
    ARTEL_TRY(finish(setup, s, count));
    const artel_shape *shape = setup->prediction;
    int64_t last = shape->rank > 0 ? shape->dim[shape->rank - 1] : 1;
    if (s->multi_label && shape->rank != 1)
        return refuse(setup, "leave multi_label away", "multi_label wants an output of one axis");
    if (s->num_labels && s->num_labels != last)
        return refuse(setup, "leave num_labels away", "num_labels is not the size of the output");
    if (s->label_weights.count && s->label_weights.count != last)
        return refuse(setup, "give one for each label", "label_weights do not fit the output");
    return ARTEL_OK;
}

static artel_status configure_constrained(artel__metric_setup *setup)
{
    settings *s = setup->metric->config;
    int count = (int)s->num_thresholds;
    s->sorted = artel__arena_alloc(setup->arena, (size_t)count, sizeof *s->sorted);
    if (!s->sorted) return ARTEL_ERROR_NO_MEMORY;
    for (int i = 0; i < count; i++) s->sorted[i] = count > 1 ? i * 1.0 / (count - 1) : 0.5;
    s->even = count > 1;
    return finish(setup, s, count);
}

/* -- into a graph -- */

/* Of the type in which predictions are: float32 or float64. */
static artel__value_id as_float(artel__graph *graph, artel__value_id truth, artel__value_id like)
{
    if (graph->status < 0 || like < 0) return ARTEL__NO_VALUE;
    return artel__op_cast(graph, truth, artel__real_of(graph, like));
}

/* Numbers of that type. */
static artel__value_id numbers_like(artel__graph *graph, artel__value_id like, const artel_shape *shape,
                                    const double *numbers)
{
    if (graph->status < 0) return ARTEL__NO_VALUE;
    if (artel__real_of(graph, like) == ARTEL_DTYPE_FLOAT64)
        return artel__op_constant(graph, ARTEL_DTYPE_FLOAT64, shape, numbers);
    int64_t count = artel_shape_count(shape);
    float *rounded = artel__arena_alloc(graph->arena, (size_t)count + 1, sizeof *rounded);
    for (int64_t i = 0; rounded && i < count; i++) rounded[i] = (float)numbers[i];
    return rounded ? artel__op_constant(graph, ARTEL_DTYPE_FLOAT32, shape, rounded) : ARTEL__NO_VALUE;
}

/* x with an axis of extent 1 put in at `axis`. */
static artel__value_id with_axis(artel__graph *graph, artel__value_id x, int axis)
{
    if (graph->status < 0) return ARTEL__NO_VALUE;
    artel_shape shape = graph->value[x].shape;
    for (int i = shape.rank++; i > axis; i--) shape.dim[i] = shape.dim[i - 1];
    shape.dim[axis] = 1;
    return artel__op_reshape(graph, x, &shape);
}

/* How many of the thresholds lie below each prediction. */
static artel__value_id count_passed(artel__graph *graph, const settings *s, artel__value_id p)
{
    int thresholds = s->bins - 1;
    if (s->even) {
        artel__value_id clipped = artel__op_unary(graph, ARTEL__UNARY_CLIP, (float[]){0, 1, 0}, p);
        artel__value_id scaled = artel__op_affine(graph, clipped, -(float)(thresholds - 1), 0.0f);
        artel__value_id above =
            artel__op_unary(graph, ARTEL__UNARY_NEG, NULL, artel__op_unary(graph, ARTEL__UNARY_FLOOR, NULL, scaled));
        return artel__op_unary(graph, ARTEL__UNARY_CLIP, (float[]){s->clamped ? 1.0f : 0.0f, (float)thresholds, 0},
                               above);
    }
    if (thresholds == 1)
        return as_float(graph, artel__op_compare_scalar(graph, ARTEL__COMPARE_GREATER, p, s->sorted[0]), p);
    if (graph->status < 0) return ARTEL__NO_VALUE;
    int rank = graph->value[p].shape.rank;
    artel_shape shape = artel__shape(1, (int64_t)thresholds);
    artel__value_id all = numbers_like(graph, p, &shape, s->sorted);
    artel__value_id above = artel__op_compare(graph, ARTEL__COMPARE_GREATER, with_axis(graph, p, rank), all);
    return artel__op_reduce(graph, ARTEL__REDUCE_SUM, as_float(graph, above, p), 1u << rank, false);
}

/* Constant [rows][k]: whether j comes before the row's own class. Decides which of equal predictions is among the best.
 */
static artel__value_id before(artel__graph *graph, int64_t first, int64_t rows, int64_t k)
{
    uint8_t *data = artel__arena_alloc(graph->arena, (size_t)(rows * k), 1);
    if (!data) return ARTEL__NO_VALUE;
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < k; j++) data[i * k + j] = j < first + i;
    }
    artel_shape shape = artel__shape(2, rows, k);
    return artel__op_constant(graph, ARTEL_DTYPE_BOOL, &shape, data);
}

/* Predictions that are not among the k best of their row become LOWEST; of class_id only, when there is one. */
static artel__value_id keep_best(artel__graph *graph, const settings *s, artel__value_id p)
{
    if (graph->status < 0) return ARTEL__NO_VALUE;
    int rank = graph->value[p].shape.rank;
    int64_t k = graph->value[p].shape.dim[rank - 1], first = s->has_class ? s->class_number : 0,
            rows = s->has_class ? 1 : k;
    artel__value_id own = s->has_class ? artel__op_slice(graph, p, rank - 1, first, 1, 1) : p;
    artel__value_id one = with_axis(graph, own, rank), all = with_axis(graph, p, rank - 1);
    artel__value_id tie = artel__op_logical_and(graph, artel__op_compare(graph, ARTEL__COMPARE_EQUAL, all, one),
                                                before(graph, first, rows, k));
    artel__value_id better =
        artel__op_logical_or(graph, artel__op_compare(graph, ARTEL__COMPARE_GREATER, all, one), tie);
    artel__value_id place = artel__op_reduce(graph, ARTEL__REDUCE_SUM, as_float(graph, better, p), 1u << rank, false);
    artel__value_id best = artel__op_compare_scalar(graph, ARTEL__COMPARE_LESS, place, (double)s->top_k);
    return artel__op_where(graph, best, own, artel__op_fill_like(graph, own, LOWEST));
}

/* Weights in a shape that broadcasts to [..., k, bins]. */
static artel__value_id weight_of_bins(artel__graph *graph, artel__value_id weight, artel__value_id p)
{
    artel_shape shape = graph->value[p].shape;
    int64_t count = graph->value[weight].storage, all = artel_shape_count(&shape),
            positions = artel__shape_product(&shape, 0, shape.rank - 1);
    if (count != all) {
        for (int i = 0; i < shape.rank; i++) {
            if (count == 1 || count != positions || i == shape.rank - 1) shape.dim[i] = 1;
        }
    }
    shape.dim[shape.rank++] = 1;
    return artel__op_reshape(graph, weight, &shape);
}

/* The bins of one batch from predictions and labels of the same shape. */
static artel__value_id add_bins(artel__graph *graph, const settings *s, artel__value_id y, artel__value_id p,
                                artel__value_id weight)
{
    artel__value_id positive = as_float(graph, artel__op_compare_scalar(graph, ARTEL__COMPARE_NOT_EQUAL, y, 0), p);
    artel__value_id offset = artel__op_affine(graph, positive, (float)s->bins, 0.0f),
                    bin = artel__op_add(graph, count_passed(graph, s, p), offset);
    artel__value_id bins = artel__op_one_hot(graph, artel__op_cast(graph, bin, ARTEL_DTYPE_INT32), 2 * s->bins);
    artel_shape labels = artel__shape(2, (int64_t)s->label_weights.count, (int64_t)1);
    bins = as_float(graph, bins, p);
    if (graph->status < 0) return ARTEL__NO_VALUE;
    if (weight >= 0) bins = artel__op_binary(graph, ARTEL__BINARY_MUL, bins, weight_of_bins(graph, weight, p));
    if (s->label_weights.count && !s->multi_label)
        bins = artel__op_binary(graph, ARTEL__BINARY_MUL, bins, numbers_like(graph, p, &labels, s->label_weights.item));
    artel_shape flat = artel__shape(1, (int64_t)s->labels * 2 * s->bins);
    if (s->multi_label) bins = artel__op_reshape(graph, bins, &flat);
    return artel__op_fold_columns64(graph, bins);
}

static artel__value_id add(artel__graph *graph, const artel__metric *metric, artel__value_id target,
                           artel__value_id prediction, artel__value_id weight)
{
    const settings *s = metric->config;
    if (graph->status < 0) return ARTEL__NO_VALUE;
    artel_shape shape = graph->value[prediction].shape;
    artel__value_id y = artel__op_reshape(graph, as_float(graph, target, prediction), &shape), p = prediction;
    if (s->from_logits) p = artel__op_unary(graph, ARTEL__UNARY_SIGMOID, NULL, p);
    if (s->top_k)
        p = keep_best(graph, s, p);
    else if (s->has_class)
        p = artel__op_slice(graph, p, shape.rank - 1, s->class_number, 1, 1);
    if (s->has_class) y = artel__op_slice(graph, y, shape.rank - 1, s->class_number, 1, 1);
    return add_bins(graph, s, y, p, weight);
}

/* -- results -- */

/* The counts at one threshold. */
typedef struct counts {
    double tp, fp, tn, fn;
} counts;

/* Walks down the thresholds of one label: counts at the highest, then at the next lower. */
static counts highest(const settings *s, const double *bin)
{
    counts c = {.tp = bin[2 * s->bins - 1], .fp = bin[s->bins - 1]};
    for (int i = 0; i < s->bins - 1; i++) {
        c.tn += bin[i];
        c.fn += bin[s->bins + i];
    }
    return c;
}

/* The counts at threshold i from those at threshold i + 1. */
static counts lower(const settings *s, const double *bin, int i, counts c)
{
    double negative = bin[i + 1], positive = bin[s->bins + i + 1];
    return (counts){c.tp + positive, c.fp + negative, c.tn - negative, c.fn - positive};
}

typedef struct point {
    double x, y;
} point;

static point point_of(const settings *s, counts c)
{
    double recall = artel__divide_no_nan(c.tp, c.tp + c.fn);
    if (s->curve == CURVE_ROC) return (point){artel__divide_no_nan(c.fp, c.fp + c.tn), recall};
    if (s->curve == CURVE_PR) return (point){recall, artel__divide_no_nan(c.tp, c.tp + c.fp)};
    double scale = artel__divide_no_nan(c.tp + c.fn, c.tn + c.fp);
    if (c.tp == 0) return (point){0, 1};
    double gain = 1 - scale * (c.fn / c.tp);
    return (point){gain > 0 ? gain : 0, 1 - scale * (c.fp / c.tp)};
}

static double area_between(const settings *s, counts low, counts high)
{
    point a = point_of(s, low), b = point_of(s, high);
    double less = a.y < b.y ? a.y : b.y, more = a.y < b.y ? b.y : a.y;
    double height = s->summation_method == METHOD_INTERPOLATION ? (a.y + b.y) / 2
                    : s->summation_method == METHOD_MINORING    ? less
                                                                : more;
    return (a.x - b.x) * height;
}

/* J. Davis and M. Goadrich, "The relationship between precision-recall and ROC curves", ICML 2006. */
static double precision_recall_between(counts low, counts high)
{
    double positives_low = low.tp + low.fp, positives_high = high.tp + high.fp, step = positives_low - positives_high;
    double gained = low.tp - high.tp, slope = step > 0 ? gained / step : 0,
           intercept = high.tp - slope * positives_high;
    double ratio = positives_low > 0 && positives_high > 0 ? positives_low / positives_high : 1;
    return artel__divide_no_nan(slope * (gained + intercept * artel__log64(ratio)), high.tp + high.fn);
}

static double area_of_label(const settings *s, const double *bin)
{
    bool interpolated = s->curve == CURVE_PR && s->summation_method == METHOD_INTERPOLATION;
    counts high = highest(s, bin);
    double area = 0;
    for (int i = s->bins - 3; i >= 0; i--) {
        counts low = lower(s, bin, i, high);
        area += interpolated ? precision_recall_between(low, high) : area_between(s, low, high);
        high = low;
    }
    return area;
}

static double result_auc(const artel__metric *metric, const double *sums)
{
    const settings *s = metric->config;
    double area = 0, weights = 0;
    for (int i = 0; i < s->labels; i++) {
        double weight = s->multi_label && s->label_weights.count ? s->label_weights.item[i] : 1;
        area += weight * area_of_label(s, sums + (int64_t)i * 2 * s->bins);
        weights += weight;
    }
    return artel__divide_no_nan(area, weights);
}

typedef double measure_fn(counts c);

static double sensitivity_of(counts c)
{
    return artel__divide_no_nan(c.tp, c.tp + c.fn);
}

static double specificity_of(counts c)
{
    return artel__divide_no_nan(c.tn, c.tn + c.fp);
}

static double precision_of(counts c)
{
    return artel__divide_no_nan(c.tp, c.tp + c.fp);
}

/* The counts at the threshold of that place among the sorted ones. */
static counts counts_at(const settings *s, const double *bin, int place)
{
    counts c = highest(s, bin);
    for (int i = s->bins - 3; i >= place; i--) c = lower(s, bin, i, c);
    return c;
}

static counts counts_of(const artel__metric *metric, const double *sums, int place)
{
    const settings *s = metric->config;
    return counts_at(s, sums, s->place[place]);
}

static double result_precision(const artel__metric *metric, const double *sums, int place)
{
    return precision_of(counts_of(metric, sums, place));
}

static double result_recall(const artel__metric *metric, const double *sums, int place)
{
    return sensitivity_of(counts_of(metric, sums, place));
}

static double result_tp(const artel__metric *metric, const double *sums, int place)
{
    return counts_of(metric, sums, place).tp;
}

static double result_fp(const artel__metric *metric, const double *sums, int place)
{
    return counts_of(metric, sums, place).fp;
}

static double result_tn(const artel__metric *metric, const double *sums, int place)
{
    return counts_of(metric, sums, place).tn;
}

static double result_fn(const artel__metric *metric, const double *sums, int place)
{
    return counts_of(metric, sums, place).fn;
}

/* The greatest `wanted` over all thresholds where `constrained` reaches the value asked for; 0 when none does. */
static double best_where(const artel__metric *metric, const double *bin, measure_fn *constrained, measure_fn *wanted)
{
    const settings *s = metric->config;
    counts c = highest(s, bin);
    double best = 0;
    for (int i = s->bins - 2; i >= 0; i--) {
        if (i < s->bins - 2) c = lower(s, bin, i, c);
        if ((float)constrained(c) >= (float)s->value && wanted(c) > best) best = wanted(c);
    }
    return best;
}

static double result_at_specificity(const artel__metric *metric, const double *sums)
{
    return best_where(metric, sums, specificity_of, sensitivity_of);
}

static double result_at_sensitivity(const artel__metric *metric, const double *sums)
{
    return best_where(metric, sums, sensitivity_of, specificity_of);
}

static double result_at_recall(const artel__metric *metric, const double *sums)
{
    return best_where(metric, sums, sensitivity_of, precision_of);
}

static double result_at_precision(const artel__metric *metric, const double *sums)
{
    return best_where(metric, sums, precision_of, sensitivity_of);
}

#define ROW(class_name, name, options, configure, result)                                                              \
    {                                                                                                                  \
        class_name, name, {name}, ARTEL__TARGET_SAME, sizeof(settings), options, NULL, configure, add, result, 0, NULL \
    }
#define LIST(class_name, name, options, result)                                                                        \
    {                                                                                                                  \
        class_name, name, {name}, ARTEL__TARGET_SAME, sizeof(settings), options, NULL, configure_single, add, NULL, 0, \
            result                                                                                                     \
    }

const artel__metric_def artel__metrics_of_confusion[] = {
    ROW("AUC", "auc", auc_options, configure_auc, result_auc),
    LIST("Precision", "precision", precision_options, result_precision),
    LIST("Recall", "recall", precision_options, result_recall),
    LIST("TruePositives", "true_positives", count_options, result_tp),
    LIST("FalsePositives", "false_positives", count_options, result_fp),
    LIST("TrueNegatives", "true_negatives", count_options, result_tn),
    LIST("FalseNegatives", "false_negatives", count_options, result_fn),
    ROW("SensitivityAtSpecificity", "sensitivity_at_specificity", at_specificity_options, configure_constrained,
        result_at_specificity),
    ROW("SpecificityAtSensitivity", "specificity_at_sensitivity", at_sensitivity_options, configure_constrained,
        result_at_sensitivity),
    ROW("PrecisionAtRecall", "precision_at_recall", at_recall_options, configure_constrained, result_at_recall),
    ROW("RecallAtPrecision", "recall_at_precision", at_precision_options, configure_constrained, result_at_precision),
    {.class_name = NULL},
};
