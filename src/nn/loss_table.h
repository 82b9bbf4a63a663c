/* SPDX-License-Identifier: Apache-2.0 */
/* The table of losses, for the metrics that are means of losses. */
#ifndef ARTEL_NN_LOSS_TABLE_H
#define ARTEL_NN_LOSS_TABLE_H

#include "nn/loss.h"

/* By class, function or alias; NULL when there is none. */
const artel__loss_def *artel__loss_find(const char *name);
/* Reads the settings (`config` NULL: none); `name` becomes the loss' name. */
artel_status artel__loss_configure(artel__arena *arena, const artel__loss_def *def, const char *name, json_t *config,
                                   artel__loss_config *out);

/* A value with at least one axis: [] becomes [1]. */
artel__value_id artel__with_last_axis(artel__graph *graph, artel__value_id x);

#endif
