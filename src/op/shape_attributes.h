/* SPDX-License-Identifier: Apache-2.0 */
/* What nodes that move elements know. Axes are those of a row. */
#ifndef ARTEL_OP_SHAPE_ATTRIBUTES_H
#define ARTEL_OP_SHAPE_ATTRIBUTES_H

#include "tensor/shape.h"

typedef struct artel__transpose_attributes {
    int permutation[ARTEL_MAX_RANK];
} artel__transpose_attributes;

typedef struct artel__pad_attributes {
    int64_t before[ARTEL_MAX_RANK], after[ARTEL_MAX_RANK];
    float number;
    double exact; /* the same, not rounded: of float64 */
} artel__pad_attributes;

/* slice, insert, concat_insert */
typedef struct artel__slice_attributes {
    int axis;
    int64_t begin, length, step;
} artel__slice_attributes;

/* blank, concat */
typedef struct artel__concat_attributes {
    int axis;
    int64_t total;
} artel__concat_attributes;

typedef struct artel__repeat_attributes {
    int axis;
    int64_t times;
} artel__repeat_attributes;

#endif
