/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that move elements, convert them, or draw random numbers for them.
 *
 * strided_copy carries transpose, slice, concat, split, flip, repeat and tile; artel__copy_* fill its parameters.
 * The batch is simply the first axis of every shape here.
 */
#ifndef ARTEL_KERNEL_SHAPE_OPS_H
#define ARTEL_KERNEL_SHAPE_OPS_H

#include "base/rng.h"
#include "kernel/elementwise.h"

/* y[y_offset + index . y_stride] = x[x_offset + index . x_stride] over the index space dim; offsets and strides in
 * elements, 0 or negative allowed (for y not 0). item: bytes of an element: 1, 2, 4 or 8. Tasks: runs of the index
 * space. */
typedef struct artel__strided_copy {
    int rank;
    int64_t dim[ARTEL__LOOP_RANK], x_stride[ARTEL__LOOP_RANK], y_stride[ARTEL__LOOP_RANK];
    int64_t x_offset, y_offset; /* set by all of artel__copy_*, so that x and y are the whole arrays */
    size_t item;
    const void *x;
    void *y;
} artel__strided_copy;

/* y = x with axes permuted: extent i of y is extent permutation[i] of x. */
void artel__copy_transpose(artel__strided_copy *copy, int rank, const int64_t *dim, const int *permutation);
/* y (dense, extents `count`) = x[start + step * i] along each axis; x dense of extents dim. Steps may be negative. */
void artel__copy_slice(artel__strided_copy *copy, int rank, const int64_t *dim, const int64_t *start,
                       const int64_t *step, const int64_t *count);
/* The reverse: x dense of extents `count` goes to y[start + step * i]; y dense of extents dim; the rest of y is
 * untouched. For concat: one call an input, with start = offset along the axis; the gradient of slice: fill with 0,
 * then this. */
void artel__copy_insert(artel__strided_copy *copy, int rank, const int64_t *dim, const int64_t *start,
                        const int64_t *step, const int64_t *count);
/* y = x repeated: each element of axis i appears each[i] times in a row and the whole axis whole[i] times. */
void artel__copy_repeat(artel__strided_copy *copy, int rank, const int64_t *dim, const int64_t *each,
                        const int64_t *whole);

/* count elements of `item` bytes (1, 2, 4, 8), all equal to the low bytes of bits. */
typedef struct artel__fill {
    int64_t count;
    size_t item;
    uint64_t bits;
    void *y;
} artel__fill;

/* y of extents out[i] = x shifted by before[i] (negative: cropped), elements outside x are the low bytes of `bits`.
 * Every pad or crop with one value in one pass; its gradient is the same kernel with before negated and the extents
 * swapped. */
typedef struct artel__pad {
    int rank;
    int64_t in[ARTEL__LOOP_RANK], out[ARTEL__LOOP_RANK], before[ARTEL__LOOP_RANK];
    size_t item;
    uint64_t bits;
    const void *x;
    void *y;
} artel__pad;

/* Between float32, float64, int32, int64, uint8 and bool in any pair, others as artel__convert; floats to integers
 * truncate and saturate, anything to bool is != 0. */
typedef struct artel__cast {
    artel_dtype from, to;
    int64_t count;
    const void *x;
    void *y;
} artel__cast;

/* y[p][d] = index[p] == d ? on : off; an index out of range gives a row of `off` (tf.one_hot). */
typedef struct artel__one_hot {
    int64_t positions, depth;
    float on, off;
    const int32_t *index;
    float *y;
} artel__one_hot;

extern const artel__kernel *const artel__strided_copy_kernels[];
extern const artel__kernel *const artel__fill_kernels[];
extern const artel__kernel *const artel__pad_kernels[];
extern const artel__kernel *const artel__cast_kernels[];
extern const artel__kernel *const artel__one_hot_kernels[];

/* -- resizing of images, channels last -- */

/* NEAREST: UpSampling2D of whole factors, out = in * factor. BILINEAR: tf.image.resize(method="bilinear",
 * antialias=False) with half-pixel centres, any sizes: along each axis f = (o + 0.5) * (in / out) - 0.5, lower =
 * max(floor(f), 0), t = f - floor(f), upper = min(floor(f) + 1, in - 1); value = left + (right - left) * t, first along
 * the width, then along the height. */
typedef enum artel__resize_method {
    ARTEL__RESIZE_NEAREST,
    ARTEL__RESIZE_BILINEAR
} artel__resize_method;

/* x [rows][in_h][in_w][channels] -> y [rows][out_h][out_w][channels]. Tasks: rows times out_h. */
typedef struct artel__resize_forward {
    artel__resize_method method;
    int64_t rows, in_h, in_w, out_h, out_w, channels;
    const float *x;
    float *y;
} artel__resize_forward;

/* dx from 0, adding in row-major order of the outputs, the four corners in the order top left, top right, bottom left,
 * bottom right. Tasks: rows. */
typedef struct artel__resize_gradient {
    artel__resize_method method;
    int64_t rows, in_h, in_w, out_h, out_w, channels;
    const float *dy;
    float *dx;
} artel__resize_gradient;

extern const artel__kernel *const artel__resize_forward_kernels[];
extern const artel__kernel *const artel__resize_gradient_kernels[];

/* -- random masks and noise -- */

/* Each element of a row of shape dim has a random word: that of the logical index in the noise shape (row-major), where
 * the noise shape has extent 1 or dim[i]; SpatialDropout2D: noise (1, 1, C). Words by the packing of base/rng.h with
 * row = global row, or 0 for all rows when shared_rows (noise_shape with batch extent 1). u = artel__rng_uniform(word).
 * n = the standard normal i & 1 of artel__rng_normal_pair of the words of logical indices i & ~1 and i | 1. Gradients
 * run the same kernel on dy. */
typedef enum artel__noise_op {
    ARTEL__NOISE_DROPOUT, /* y = u >= rate ? x * scale : 0; the caller sets scale = 1 / (1 - rate) */
    ARTEL__NOISE_ALPHA, /* y = u >= rate ? x * scale + shift : other, AlphaDropout; in the gradient other = shift = 0 */
    ARTEL__NOISE_GAUSSIAN,     /* y = x + scale * n: GaussianNoise; the gradient is the identity */
    ARTEL__NOISE_GAUSSIAN_MUL, /* y = x * (1 + scale * n): GaussianDropout */
    ARTEL__NOISE_UNIFORM       /* y = other + (scale - other) * u; x is not read */
} artel__noise_op;

/* Tasks: rows times runs of elements. y may be x. */
typedef struct artel__noise {
    artel__noise_op op;
    artel__rng_key key;
    uint64_t batch;    /* batches consumed before this one */
    uint32_t node;     /* index in the sealed graph */
    int64_t first_row; /* global index of the first row */
    bool shared_rows;
    int64_t rows;
    int rank;
    int64_t dim[ARTEL_MAX_RANK], noise[ARTEL_MAX_RANK];
    float rate, scale, shift, other;
    const float *x;
    float *y;
    bool x_half, y_half; /* stored as bfloat16 (artel__kernel.halves) */
} artel__noise;

extern const artel__kernel *const artel__noise_kernels[];

#endif
