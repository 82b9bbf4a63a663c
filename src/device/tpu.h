/* SPDX-License-Identifier: Apache-2.0 */
/* What the environment of a TPU host says, as TPUClusterResolver and libtpu read it. */
#ifndef ARTEL_DEVICE_TPU_H
#define ARTEL_DEVICE_TPU_H

#include "base/text.h"

/* One line from TPU_NAME, TPU_ACCELERATOR_TYPE, TPU_TOPOLOGY, TPU_WORKER_ID (CLOUD_TPU_TASK_ID) and
 * TPU_WORKER_HOSTNAMES, as many as are there: "v5litepod-16, topology 4x4, host 1 of 2 (t1k-0, t1k-1)"; empty where
 * there is none. *hosts: how many, 0 when it is not said. Errors, `where` the variable: INVALID (no number, or no host
 * of that number). */
artel_status artel__tpu_topology(artel_context *ctx, artel__text *out, int *hosts);

#endif
