/* SPDX-License-Identifier: Apache-2.0 */
/* Operations that move elements as programs of devices: those of shape_ops.c. */
#ifndef ARTEL_OP_LOWER_SHAPE_OPS_H
#define ARTEL_OP_LOWER_SHAPE_OPS_H

#include "graph/lower.h"

void artel__lower_transpose(artel__lower *lower);
void artel__lower_pad(artel__lower *lower);
void artel__lower_slice(artel__lower *lower);
void artel__lower_insert(artel__lower *lower);
void artel__lower_blank(artel__lower *lower);
void artel__lower_concat_insert(artel__lower *lower);
void artel__lower_concat(artel__lower *lower);
void artel__lower_repeat(artel__lower *lower);

/* `weights` [outputs][extent] along the axis of a row: what sampling is made of. */
typedef struct artel__lower_map {
    int axis;
    int64_t extent, outputs;
    const float *weights;
} artel__lower_map;
artel__hlo_value artel__lower_along(artel__lower *lower, artel__hlo_value x, const artel__lower_map *map);

#endif
