/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions and pooling of float64 with windows of one to three dimensions, put together from operations. */
#ifndef ARTEL_NN_WINDOW_FLOAT64_H
#define ARTEL_NN_WINDOW_FLOAT64_H

#include "nn/conv_any.h"

enum {
    ARTEL__WINDOW_MOST = 1024 /* places of a window */
};

/* x [in..][channels] by kernel [window..][channels of a group][filters], GLOBAL: [out..][filters]. */
artel__value_id artel__conv_float64(artel__graph *graph, const artel__conv_any *conv, artel__value_id x,
                                    artel__value_id kernel);
/* The gradient of a convolution's data as a forward pass: x [out..][filters] by kernel [window..][channels][filters]:
 * [in..][channels]. `after` is not read. */
artel__value_id artel__conv_back_float64(artel__graph *graph, const artel__conv_any *conv, artel__value_id x,
                                         artel__value_id kernel);
/* The largest number of a window, the first of equals having the gradient; or the mean of those that are not padding.
 * [in..][channels] -> [out..][channels]. */
artel__value_id artel__pool_float64(artel__graph *graph, const artel__conv_any *window, bool largest,
                                    artel__value_id x);

/* artel__op_conv2d, conv2d_transpose and depthwise of images, in the type of x. */
artel__value_id artel__images_conv(artel__graph *graph, artel__value_id x, artel__value_id w, artel__value_id bias,
                                   const artel__conv2d_shape *shape, artel__fused activation);
artel__value_id artel__images_transpose(artel__graph *graph, artel__value_id x, artel__value_id w, artel__value_id bias,
                                        const artel__conv2d_shape *shape, artel__fused activation);
artel__value_id artel__images_depthwise(artel__graph *graph, artel__value_id x, artel__value_id w, artel__value_id bias,
                                        const artel__conv2d_shape *shape, artel__fused activation);

/* artel__conv_any_weights and artel__conv_any_run, in the type of the weights and of x. */
artel__value_id artel__volumes_weights(artel__graph *graph, const artel__conv_any *conv, artel__value_id plain);
artel__value_id artel__volumes_conv(artel__graph *graph, const artel__conv_any *conv, artel__value_id x,
                                    artel__value_id weights, artel__value_id bias, artel__fused activation);

#endif
