/* SPDX-License-Identifier: Apache-2.0 */
/* Operations that move elements: axes are those of one row (the batch axis is not counted; Keras' axis 1 is axis 0
 * here). Negative axes count from the end. All differentiate. */
#ifndef ARTEL_OP_SHAPE_OPS_H
#define ARTEL_OP_SHAPE_OPS_H

#include "kernel/resample.h"
#include "op/op.h"

artel__value_id artel__op_transpose(artel__graph *graph, artel__value_id x,
                                    const int *permutation); /* of the row axes */
/* One axis, by its number from the front, behind the others, and back in its place. */
artel__value_id artel__op_axis_last(artel__graph *graph, artel__value_id x, int axis);
artel__value_id artel__op_axis_back(artel__graph *graph, artel__value_id x, int axis);
/* before[i] + after[i] elements of `number` around axis i; negative amounts crop. */
artel__value_id artel__op_pad(artel__graph *graph, artel__value_id x, const int64_t *before, const int64_t *after,
                              double number);
artel__value_id artel__op_concat(artel__graph *graph, const artel__value_id *x, int count, int axis);
/* x[begin : begin + length : step] along one axis; step may be negative (begin is then the last index read first). */
artel__value_id artel__op_slice(artel__graph *graph, artel__value_id x, int axis, int64_t begin, int64_t length,
                                int64_t step);
artel__value_id artel__op_broadcast_to(artel__graph *graph, artel__value_id x, const artel_shape *shape);
/* Each element of an axis `times` times in a row (nearest-neighbour upsampling). */
artel__value_id artel__op_repeat(artel__graph *graph, artel__value_id x, int axis, int64_t times);
/* Bilinear resize of [h][w][c] images, half-pixel centres, no antialiasing (Keras' UpSampling2D "bilinear"). */
artel__value_id artel__op_resize_bilinear(artel__graph *graph, artel__value_id x, int64_t height, int64_t width);
/* Runs of `taps` weights along an axis of `extent` places: out[o] = sum over k of weight[o * taps + k] * x[first[o] +
 * k]. `first` never falls and stays within 0 .. extent - taps. The arrays live in the graph's arena. */
typedef struct artel__op_band {
    int64_t extent, outputs, taps;
    const int32_t *first;
    const float *weight;
} artel__op_band;
artel__value_id artel__op_band_along(artel__graph *graph, artel__value_id x, int axis, const artel__op_band *band);

/* Images [h][w][c] ROW seen through a map of six or eight numbers each, ROW (kernel/resample.h). No gradient of the
 * map. */
typedef struct artel__warp_settings {
    int64_t height, width; /* of the result */
    bool bilinear;
    artel__warp_fill mode;
    float fill;
} artel__warp_settings;
artel__value_id artel__op_warp(artel__graph *graph, artel__value_id x, artel__value_id map,
                               const artel__warp_settings *warp);
/* Indices to [.., classes] float32. */
artel__value_id artel__op_one_hot(artel__graph *graph, artel__value_id indices, int64_t classes);

#endif
