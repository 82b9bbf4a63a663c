/* SPDX-License-Identifier: Apache-2.0 */
/* Resizing of images by a filter, as bands of weights along their axes. */
#ifndef ARTEL_NN_FILTER_H
#define ARTEL_NN_FILTER_H

#include "op/shape_ops.h"

typedef enum artel__filter {
    ARTEL__FILTER_NEAREST,
    ARTEL__FILTER_BILINEAR,
    ARTEL__FILTER_BICUBIC,
    ARTEL__FILTER_LANCZOS3,
    ARTEL__FILTER_LANCZOS5,
    ARTEL__FILTER_AREA
} artel__filter;

/* Their names, NULL-terminated. */
extern const char *const artel__filters[];

/* x [..][h][w][c] with other h and w, the axes before the last one; what tf.image.resize makes of it, with half-pixel
 * centres. `antialias` widens the filter where the image becomes smaller. */
artel__value_id artel__filter_resize(artel__graph *graph, artel__value_id x, artel__filter filter, bool antialias,
                                     int64_t height, int64_t width);

/* One image by row: its middle part of the proportions height : width, or the image in a frame of them; equal on both
 * sides, as in Keras. */
artel__value_id artel__filter_cut(artel__graph *graph, artel__value_id x, int64_t height, int64_t width);
artel__value_id artel__filter_frame(artel__graph *graph, artel__value_id x, int64_t height, int64_t width, double fill);

/* Means over [floor(i n / m), ceil((i + 1) n / m)) of an axis of n places, m of them. */
artel__value_id artel__filter_maxima(artel__graph *graph, artel__value_id x, int axis,
                                     int64_t outputs); /* the largest of each */
artel__value_id artel__filter_means(artel__graph *graph, artel__value_id x, int axis, int64_t outputs);

#endif
