/* SPDX-License-Identifier: Apache-2.0 */
/* Reading LossScaleOptimizer, for optimizer.c; what it does in a step is in optimizer_step.c. */
#ifndef ARTEL_NN_LOSS_SCALE_H
#define ARTEL_NN_LOSS_SCALE_H

#include <string.h>

#include "nn/optimizer.h"

#define ARTEL__LOSS_SCALE_CLASS "LossScaleOptimizer"

/* `given`: its config. Fills `out` with the inner optimizer, scales_loss and the record of both. */
artel_status artel__loss_scale_read(artel__arena *arena, json_t *given, int replicas, int64_t batch_size,
                                    artel__optimizer *out);

#endif
