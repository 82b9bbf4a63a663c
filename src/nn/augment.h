/* SPDX-License-Identifier: Apache-2.0 */
/* Random changes of images as functions of graphs, for the layers that make them (layer_augment*.c) and those that
 * choose among them.
 *
 * Images are ROW [h][w][c] float32, or what graph->real says; maps sample in float32 as TensorFlow's do. What is drawn
 * is uniform between two bounds, a number for each image unless said; equal bounds leave nothing to chance. The numbers
 * depend on the row of the global batch alone (op/random.c).
 */
#ifndef ARTEL_NN_AUGMENT_H
#define ARTEL_NN_AUGMENT_H

#include "nn/layer_support.h"
#include "op/elementwise.h"
#include "op/reduce.h"
#include "op/shape_ops.h"

/* Two bounds as Keras keeps them after its constructor. */
typedef struct artel__bounds {
    double low, high;
} artel__bounds;

/* -- settings -- */

/* A number f, which stands for max(-f, least) .. f, or a list of two; `fallback` when the key is absent (NULL: it must
 * be there). */
artel_status artel__augment_bounds(const artel__layer *layer, const char *key, double least,
                                   const artel__bounds *fallback, artel__bounds *out);
/* Two numbers; 0 .. 255 when absent. `sorted`: the smaller one first. */
artel_status artel__augment_range(const artel__layer *layer, bool sorted, artel__bounds *out);
/* Fails unless the call has one image. `out` is the image as float32, channels last in training. */
artel_status artel__augment_begin(artel__layer *layer, artel__call *call, int data_format, artel__value_id *out);
artel_status artel__augment_finish(artel__layer *layer, artel__call *call, int data_format, artel__value_id x);
/* Outside training the images are returned as they come. */
bool artel__augment_is_idle(const artel__layer *layer, bool training);

/* -- draws -- */

/* Numbers of `shape` by row; `shared`: one draw for the batch. In float64 those of float32 between 0 and 1, stretched.
 */
artel__value_id artel__augment_uniform(artel__graph *graph, artel__value_id like, double low, double high,
                                       const artel_shape *shape, bool shared);
artel__value_id artel__augment_draw(artel__graph *graph, artel__value_id like, const artel__bounds *bounds); /* [1] */
artel__value_id artel__augment_pixel(artel__graph *graph, artel__value_id x); /* [1] as [1][1][1] */
/* BOOL [1][1][1]: true with a probability that is itself drawn between the bounds. */
artel__value_id artel__augment_chance(artel__graph *graph, artel__value_id like, const artel__bounds *probability);
/* 0, 1, 2, ... of `shape`, GLOBAL. */
artel__value_id artel__augment_places(artel__graph *graph, const artel_shape *shape);
/* Which places of an axis lie in a run of `share` ([1][1][1]) of it that begins anywhere: BOOL of `shape`, which has
 * that axis alone. */
artel__value_id artel__augment_run(artel__graph *graph, artel__value_id share, const artel_shape *shape,
                                   artel__value_id like);
/* Normal numbers of `shape`. */
artel__value_id artel__augment_normal(artel__graph *graph, artel__value_id like, const artel_shape *shape, bool shared);
/* log of a draw from the gamma distribution of shape `alpha` for each place of [count]; `shared`: one for the batch.
 * Beta and Dirichlet numbers are the softmax of such. After Marsaglia and Tsang, A simple method for generating gamma
 * variables (2000); of the chance that eight tries fail, below 1e-8, the distribution is off. */
artel__value_id artel__augment_log_gamma(artel__graph *graph, artel__value_id like, double alpha, int64_t count,
                                         bool shared);

/* artel__op_warp, which samples in float32. Where nothing is weighted, images of float64 keep their digits: what
 * float32 leaves of them is sampled, too. */
artel__value_id artel__augment_warp(artel__graph *graph, artel__value_id x, artel__value_id map,
                                    const artel__warp_settings *warp);

/* -- maps; `how` has the filling, and as extents those of the result (0: those of x) -- */

artel__value_id artel__augment_translate(artel__graph *graph, artel__value_id x, const artel__bounds *down,
                                         const artel__bounds *across, const artel__warp_settings *how);
artel__value_id artel__augment_rotate(artel__graph *graph, artel__value_id x, const artel__bounds *turns,
                                      const artel__warp_settings *how);
artel__value_id artel__augment_shear(artel__graph *graph, artel__value_id x, const artel__bounds *across,
                                     const artel__bounds *down, const artel__warp_settings *how);
/* Six ROW numbers, each [1], as the map of artel__op_warp. */
artel__value_id artel__augment_map(artel__graph *graph, artel__value_id x, const artel__value_id part[6],
                                   const artel__warp_settings *how);

/* -- places; height and width of `how` are those of x -- */

/* Seen so that the corners `from` [4][2] (x, y) come to lie at `to`; `to` ROW, `from` that or GLOBAL. */
artel__value_id artel__augment_perspective(artel__graph *graph, artel__value_id x, artel__value_id from,
                                           artel__value_id to, const artel__warp_settings *how);
/* Each coordinate of the corners grows by a part of itself, drawn between half of `scale` and its negative. */
artel__value_id artel__augment_lean(artel__graph *graph, artel__value_id x, double scale,
                                    const artel__warp_settings *how);
/* Places are moved by a smooth random field, whose strength is drawn once for the batch. */
artel__value_id artel__augment_elastic(artel__graph *graph, artel__value_id x, const artel__bounds *strength,
                                       const artel__warp_settings *how);

/* -- colours; `range` is that of the values of pixels -- */

artel__value_id artel__augment_clip(artel__graph *graph, artel__value_id x, const artel__bounds *range);
/* From one range of values to another. */
artel__value_id artel__augment_rescale(artel__graph *graph, artel__value_id x, const artel__bounds *from,
                                       const artel__bounds *to);
/* What histograms and tables read by place take, float32: numbers of float64 lose their fraction first. */
artel__value_id artel__augment_bins(artel__graph *graph, artel__value_id x);
artel__value_id artel__augment_brightness(artel__graph *graph, artel__value_id x, const artel__bounds *factor,
                                          const artel__bounds *range);
artel__value_id artel__augment_contrast(artel__graph *graph, artel__value_id x, const artel__bounds *factor,
                                        const artel__bounds *range);
artel__value_id artel__augment_saturation(artel__graph *graph, artel__value_id x, const artel__bounds *factor,
                                          const artel__bounds *range);
artel__value_id artel__augment_hue(artel__graph *graph, artel__value_id x, const artel__bounds *factor,
                                   const artel__bounds *range);
artel__value_id artel__augment_degenerate(artel__graph *graph, artel__value_id x, const artel__bounds *factor,
                                          const artel__bounds *range);
artel__value_id artel__augment_sharpness(artel__graph *graph, artel__value_id x, const artel__bounds *factor,
                                         const artel__bounds *range);
/* Whole numbers of bits in low .. high - 1; low where both are equal. */
artel__value_id artel__augment_posterize(artel__graph *graph, artel__value_id x, const artel__bounds *bits,
                                         const artel__bounds *range);
artel__value_id artel__augment_solarize(artel__graph *graph, artel__value_id x, const artel__bounds *addition,
                                        const artel__bounds *threshold, const artel__bounds *range);
artel__value_id artel__augment_autocontrast(artel__graph *graph, artel__value_id x, const artel__bounds *range);
/* The histogram is that of the whole batch, each channel alone. */
artel__value_id artel__augment_equalize(artel__graph *graph, artel__value_id x, int64_t bins,
                                        const artel__bounds *range);
/* [h][w][1], or x itself of one channel; of other than 1 and 3 channels the graph fails. */
artel__value_id artel__augment_grayscale(artel__graph *graph, artel__value_id x);

#endif
