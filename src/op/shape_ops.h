/* SPDX-License-Identifier: Apache-2.0 */
/* Operations that move elements: axes are those of one row (the batch axis is not counted; Keras' axis 1 is axis 0
 * here). Negative axes count from the end. All differentiate. */
#ifndef ARTEL_OP_SHAPE_OPS_H
#define ARTEL_OP_SHAPE_OPS_H

#include "op/op.h"

artel__value_id artel__op_transpose(artel__graph *graph, artel__value_id x, const int *permutation); /* of the row axes */
/* before[i] + after[i] elements of `number` around axis i; negative amounts crop. */
artel__value_id artel__op_pad(artel__graph *graph, artel__value_id x, const int64_t *before, const int64_t *after, double number);
artel__value_id artel__op_concat(artel__graph *graph, const artel__value_id *x, int count, int axis);
/* x[begin : begin + length : step] along one axis; step may be negative (begin is then the last index read first). */
artel__value_id artel__op_slice(artel__graph *graph, artel__value_id x, int axis, int64_t begin, int64_t length, int64_t step);
artel__value_id artel__op_broadcast_to(artel__graph *graph, artel__value_id x, const artel_shape *shape);
/* Each element of an axis `times` times in a row (nearest-neighbour upsampling). */
artel__value_id artel__op_repeat(artel__graph *graph, artel__value_id x, int axis, int64_t times);
/* Bilinear resize of [h][w][c] images, half-pixel centres, no antialiasing (Keras' UpSampling2D "bilinear"). */
artel__value_id artel__op_resize_bilinear(artel__graph *graph, artel__value_id x, int64_t height, int64_t width);
/* Indices to [.., classes] float32. */
artel__value_id artel__op_one_hot(artel__graph *graph, artel__value_id indices, int64_t classes);

#endif
