/* SPDX-License-Identifier: Apache-2.0 */
/* Classes that a program adds to a context (base/extension.h), as this room's tables hold their own. */
#ifndef ARTEL_NN_CUSTOM_H
#define ARTEL_NN_CUSTOM_H

#include "base/extension.h"
#include "nn/layer.h"
#include "nn/loss.h"

/* Of the kind "layer": an artel__layer_def whose `custom` is set. */
#define ARTEL__EXTENSION_LAYER "layer"
/* Of the kind "optimizer": an artel__optimizer_def whose `registered` is set, with a step on matrices. */
#define ARTEL__EXTENSION_OPTIMIZER "optimizer"

/* Of the kinds "loss" and "metric": by sample, as artel__loss_add; a metric is the weighted mean. */
#define ARTEL__EXTENSION_LOSS "loss"
#define ARTEL__EXTENSION_METRIC "metric"
typedef struct artel__custom_loss {
    const void *self;
    artel__target_form target;
    /* `config`: the record's settings as JSON text. */
    artel__value_id (*add)(const void *self, const char *config, artel__graph *graph, artel__value_id target,
                           artel__value_id prediction);
} artel__custom_loss;

/* Of a loss or metric whose settings are this JSON. */
artel_status artel__custom_loss_configure(artel__arena *arena, const artel__custom_loss *custom, const char *name,
                                          json_t *config, artel__loss_config *out);

#endif
