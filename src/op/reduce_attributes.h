/* SPDX-License-Identifier: Apache-2.0 */
/* What nodes of op/reduce.c carry, for the file that makes programs of them. */
#ifndef ARTEL_OP_REDUCE_ATTRIBUTES_H
#define ARTEL_OP_REDUCE_ATTRIBUTES_H

#include "kernel/reduce.h"

typedef struct artel__reduce_attributes {
    artel__reduction function;
    uint32_t axes;
    bool keep;
} artel__reduce_attributes;

/* `function`: artel__softmax_op. */
typedef struct artel__axis_attributes {
    int function, axis;
} artel__axis_attributes;

typedef struct artel__top_attributes {
    int k;
} artel__top_attributes;

#endif
