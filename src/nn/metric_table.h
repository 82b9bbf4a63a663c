/* SPDX-License-Identifier: Apache-2.0 */
/* What a metric is to the files of this family: one row a class, each file a list of rows. Adding a metric: a row in
 * one of the files (or a file with a list and its name in metric.c). */
#ifndef ARTEL_NN_METRIC_TABLE_H
#define ARTEL_NN_METRIC_TABLE_H

#include "nn/loss.h"
#include "nn/loss_table.h"
#include "nn/record.h"

/* What `configure` works with. metric->config holds the settings already. */
typedef struct artel__metric_setup {
    artel__arena *arena;
    artel__metric *metric;
    json_t *config;                /* of the record, or NULL */
    const artel_shape *prediction; /* of one row */
} artel__metric_setup;

struct artel__metric_def {
    const char *class_name, *name; /* the name of an instance that has none of its own */
    const char *aliases[4];        /* what Keras' get() also knows */
    artel__target_form target;
    size_t config_size;
    const artel__option *options;                          /* NULL: those of `loss` */
    const char *loss;                                      /* class of the loss whose mean it is, or NULL */
    artel_status (*configure)(artel__metric_setup *setup); /* sets `sums`; optional: 2, a mean */
    artel__value_id (*add)(artel__graph *graph, const artel__metric *metric, artel__value_id target,
                           artel__value_id prediction, artel__value_id weight);
    double (*result)(const artel__metric *metric, const double *sums); /* optional: the mean sums[0] / sums[1] */
    double scale;                                                      /* of the mean; 0: 1 */
    double (*result_at)(const artel__metric *metric, const double *sums,
                        int place); /* of metrics whose result may be a list */
};

/* Rows, ended by one without a class name. */
extern const artel__metric_def artel__metrics_of_accuracy[];  /* metric_accuracy.c */
extern const artel__metric_def artel__metrics_of_losses[];    /* metric_loss.c */
extern const artel__metric_def artel__metrics_of_confusion[]; /* metric_confusion.c */
extern const artel__metric_def artel__metrics_of_scores[];    /* metric_score.c */
extern const artel__metric_def artel__metrics_of_overlap[];   /* metric_overlap.c */

const artel__metric_def *artel__metric_find(const char *name);
/* Settings, name, target, sums of `def`; `name` NULL: the class' own. */
artel_status artel__metric_configure(const artel__metric_def *def, const char *name, artel__metric_setup *setup);

/* a / b, and 0 where b is 0. */
static inline double artel__divide_no_nan(double a, double b)
{
    return b == 0 ? 0 : a / b;
}

#endif
