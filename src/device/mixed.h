/* SPDX-License-Identifier: Apache-2.0 */
/* Replicas on processors beside replicas on devices, as one device (exec/device.h): each execution is one or the other.
 *
 * Both compute the same graph and exchange the same sums, so the gradients of a step are those of all rows. What the
 * two kinds make of the variables is not equal to the last bit: who trains makes all variables those of the first
 * replica behind each step.
 */
#ifndef ARTEL_DEVICE_MIXED_H
#define ARTEL_DEVICE_MIXED_H

#include "exec/device.h"

enum {
    ARTEL__MAX_MIXED = 64,  /* names of a list */
    ARTEL__MAX_SHARE = 1024 /* of one of them */
};

typedef struct artel__mixture {
    artel__device devices;
    bool *core;     /* by replica: whether processors compute it */
    int count;      /* of the replicas, all of this process */
    int *share;     /* by replica: of the shards, as parts of the sum of all */
    int32_t *start; /* by replica, and behind the last: its first shard; once there are shards */
} artel__mixture;

extern const artel__device_ops artel__mixed_device_ops; /* artel__device.self: an artel__mixture */

/* Gives every replica its run of so many shards. False: one of them would have none. */
bool artel__mixture_divide(artel__mixture *mixture, int32_t shards);
/* Whether processors compute a replica, one of mixture->count. */
bool artel__mixture_is_core(const artel__mixture *mixture, int replica);

#endif
