/* SPDX-License-Identifier: Apache-2.0 */
/* Histories as they are made: one list of names and values an epoch, or one of an evaluation. */
#ifndef ARTEL_TRAIN_HISTORY_H
#define ARTEL_TRAIN_HISTORY_H

#include "artel/fit.h"

/* Names and values in order: an epoch's logs. */
typedef struct artel__log_list {
    artel_metric_value *item;
    int count, capacity;
} artel__log_list;

artel_status artel__history_create(artel_context *ctx, artel_history **out);
void artel__history_clear(artel_history *history); /* no epochs; the keys stay */
artel_status artel__history_append(artel_history *history, const artel__log_list *logs);

#endif
