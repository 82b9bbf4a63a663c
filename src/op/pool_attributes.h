/* SPDX-License-Identifier: Apache-2.0 */
/* What nodes of pools and their gradients know. */
#ifndef ARTEL_OP_POOL_ATTRIBUTES_H
#define ARTEL_OP_POOL_ATTRIBUTES_H

#include "kernel/pool.h"

typedef struct artel__pool_attributes {
    artel__pool_op function;
    artel__pool_shape shape;
    bool relu; /* of a gradient */
} artel__pool_attributes;

#endif
