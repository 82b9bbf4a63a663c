/* SPDX-License-Identifier: Apache-2.0 */
/* What nodes of normalisations know; artel__norm_attributes is in op/norm.h. */
#ifndef ARTEL_OP_NORM_ATTRIBUTES_H
#define ARTEL_OP_NORM_ATTRIBUTES_H

#include "kernel/norm.h"

/* moments_fold */
typedef struct artel__moments_attributes {
    int64_t inner; /* positions in a row */
} artel__moments_attributes;

/* moments_finalize, norm_inverse */
typedef struct artel__epsilon_attributes {
    float epsilon;
} artel__epsilon_attributes;

typedef struct artel__moving_attributes {
    double momentum;
} artel__moving_attributes;

typedef struct artel__layer_norm_attributes {
    artel__layer_norm_mode mode;
    int axes;
    float epsilon;
    bool gamma, beta; /* of the parameters' gradient: wanted */
} artel__layer_norm_attributes;

#endif
