/* SPDX-License-Identifier: Apache-2.0 */
/* Losses, metrics: read from Keras' records or names, added to graphs.
 *
 * A loss turns (target, prediction) into a ROW value by sample (and position); the train room weighs, reduces and
 * seeds it. A metric turns (target, prediction, weight) into float64 partial sums that are folded over all rows; its
 * result is computed on the host from the accumulated sums.
 */
#ifndef ARTEL_NN_LOSS_H
#define ARTEL_NN_LOSS_H

#include "nn/layer.h"

typedef enum artel__loss_reduction {
    ARTEL__REDUCTION_MEAN_BATCH, /* "sum_over_batch_size": divide by the number of elements */
    ARTEL__REDUCTION_SUM,
    ARTEL__REDUCTION_MEAN,          /* "mean" */
    ARTEL__REDUCTION_WEIGHTED_MEAN, /* "mean_with_sample_weight": divide by the sum of weights */
    ARTEL__REDUCTION_NONE
} artel__loss_reduction;

/* What the loss or metric wants to be fed as target. */
typedef enum artel__target_form {
    ARTEL__TARGET_SAME,    /* float32 of the prediction's shape */
    ARTEL__TARGET_INDEX,   /* class numbers without the last axis */
    ARTEL__TARGET_ONE_HOT, /* one-hot or probabilities over the last axis */
    ARTEL__TARGET_NUMBER,  /* an integer a row, whatever the prediction's shape */
    ARTEL__TARGET_LIST     /* a list of integers a row, likewise */
} artel__target_form;

typedef struct artel__loss_def artel__loss_def;
typedef struct artel__loss_config {
    const artel__loss_def *def;
    void *config;
    const char *name; /* the function's name: "mean_squared_error" */
    artel__loss_reduction reduction;
    artel__target_form target;
    const struct artel__custom_loss
        *custom;      /* of one that a program has added (custom.h): `config` is its JSON text; else NULL */
    bool has_ignored; /* ignore_class */
    int64_t ignored;
} artel__loss_config;

/* From a name ("mse", "MeanSquaredError", "sparse_categorical_crossentropy") or a record. */
artel_status artel__loss_read(artel__arena *arena, json_t *json, artel__loss_config *out);
/* "crossentropy" and "ce": binary, sparse or categorical, as shapes say (keras/src/trainers/compile_utils.py). */
bool artel__loss_is_by_shape(json_t *json);
/* Whether what it means depends on the target, too: not for a prediction of one number a row, or a position. */
bool artel__loss_needs_target(const artel_shape *prediction);
/* As artel__loss_read, with "crossentropy" by these shapes of a row. It is refused where the target is needed and not
 * known: NULL, or of rank -1. */
artel_status artel__loss_read_for(artel__arena *arena, json_t *json, const artel_shape *prediction,
                                  const artel_shape *target, artel__loss_config *out);
/* What is computed of a prediction: FLOAT64 where it is that, else FLOAT32. */
static inline artel_dtype artel__real_of(const artel__graph *graph, artel__value_id prediction)
{
    bool wide = graph->value[prediction].dtype == ARTEL_DTYPE_FLOAT64;
    return wide ? ARTEL_DTYPE_FLOAT64 : ARTEL_DTYPE_FLOAT32;
}
/* By sample: target and prediction ROW -> ROW without the last axis (or the prediction's shape minus it). */
artel__value_id artel__loss_add(artel__graph *graph, const artel__loss_config *loss, artel__value_id target,
                                artel__value_id prediction);
/* Whether it is one number of the whole batch, which every row carries. Keras multiplies it with the weights: their
 * mean over the batch counts, for each row the same (artel__loss_even_weight, in loss_overlap.h). */
bool artel__loss_mixes_rows(const artel__loss_config *loss);
/* Above which a single number says yes: 0 for logits and hinges, else a half. */
float artel__loss_border(const artel__loss_config *loss);
/* ROW BOOL of the positions that count (their loss is 0 elsewhere), or none: ignore_class, and Circle's rows without a
 * partner. Keras multiplies it into the mask of the prediction, so means divide by what counts. `value` is the loss. */
artel__value_id artel__loss_mask(artel__graph *graph, const artel__loss_config *loss, artel__value_id target,
                                 artel__value_id value);

typedef struct artel__metric_def artel__metric_def;
typedef struct artel__metric {
    const artel__metric_def *def;
    void *config;
    const char *name; /* as it appears in History, before prefixes: "accuracy" */
    artel__target_form target;
    int sums;   /* float64 accumulators */
    int values; /* 0: its result is one number; else a list of so many, as of a score by class */
} artel__metric;

/* From a name or a record. "accuracy" and "crossentropy" resolve by the output's shape and the loss, as in Keras'
 * compile
 * (`prediction` is the shape of one row of the output, `loss` may be NULL). */
artel_status artel__metric_read(artel__arena *arena, json_t *json, const artel_shape *prediction,
                                const artel__loss_config *loss, artel__metric *out);
/* Adds the partial sums of one batch: NODES float64 [metric->sums]. `weight` is ROW float32 [] or of the metric's
 * elements, or none; masks are already part of it. */
artel__value_id artel__metric_add(artel__graph *graph, const artel__metric *metric, artel__value_id target,
                                  artel__value_id prediction, artel__value_id weight);
/* Does the mask of a prediction count in it? In means it does; counts at thresholds, scores and roots see every
 * position, as in Keras (MeanMetricWrapper alone asks for the mask). */
bool artel__metric_takes_mask(const artel__metric *metric);
/* Is it made of a mean over positions? Keras adds up means of rows then (reduce_to_samplewise_values): rows of several
 * positions count by 1 / positions, which batches of other lengths show. */
bool artel__metric_is_mean(const artel__metric *metric);
/* 1: more is better, -1: less is, 0: it is not known; the `_direction` of Keras' metric objects. */
int artel__metric_direction(const artel__metric *metric);
/* The value from the accumulated sums; of a list, that at `place`. */
double artel__metric_result(const artel__metric *metric, const double *sums, int place);

#endif
