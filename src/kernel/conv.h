/* SPDX-License-Identifier: Apache-2.0 */
/* Two-dimensional convolution: forward, data gradient, weight gradient with the fold over shards in the tile.
 *
 * Activations are plain NHWC; weights [kh][kw][ic/groups][oc] live in panels(kh*kw*ic/groups, oc), see product.h. One
 * dimension is a convolution of height 1; a separable one is a depthwise (depthwise.h) and a 1x1 convolution; a
 * transposed one is the data gradient, whose bias and activation are there for it.
 *
 * Pixels outside the image are +0.0f and take part in the chain (fmaf(0, w, acc)). A chain over more than one tap (kh *
 * kw > 1) ends with + 0.0f, in front of the bias: then a kernel may leave such pixels out and gives the same bits,
 * since they can change nothing but the sign of a zero. Chains, bias and activation else as in product.h; the same bits
 * whatever the kernel and the split into tasks.
 */
#ifndef ARTEL_KERNEL_CONV_H
#define ARTEL_KERNEL_CONV_H

#include "kernel/product.h"

/* Input row of (output row o, tap t): o * sh - top + t * dh, columns likewise; whatever lies outside is zero. Bottom
 * and right padding follow from oh and ow, which may have any value >= 0. groups divides ic and oc. */
typedef struct artel__conv2d_shape {
    int64_t images;
    int64_t ih, iw, ic;
    int64_t oh, ow, oc;
    int64_t kh, kw;
    int64_t sh, sw;    /* strides, >= 1 */
    int64_t dh, dw;    /* dilations, >= 1 */
    int64_t top, left; /* zero rows above, zero columns on the left; >= 0 */
    int64_t groups;
} artel__conv2d_shape;

/* Output extent of one axis for explicit padding: floor((in + before + after - ((kernel-1)*dilation+1)) / stride) + 1,
 * at least 0. */
int64_t artel__conv_extent(int64_t in, int64_t kernel, int64_t stride, int64_t dilation, int64_t before, int64_t after);

/* Keras' padding "same": the extent ceil(in / stride); *before receives the smaller half of the padding. */
int64_t artel__conv_extent_same(int64_t in, int64_t kernel, int64_t stride, int64_t dilation, int64_t *before);

/* Images of a row of the batch, of `images` in all. */
static inline int64_t artel__conv_images_a_row(int64_t images, int64_t rows)
{
    return rows > 0 ? images / rows : 1;
}

/* Whether a chain ends with + 0.0f. */
static inline bool artel__conv_normalises(const artel__conv2d_shape *s)
{
    return s->kh * s->kw > 1;
}

/* conv2d_forward: out[n][oh][ow][oc] = activation(chain over kh, kw, ic of x * w + bias[oc]). */
typedef struct artel__conv2d_forward {
    artel__conv2d_shape shape;
    const float *x;
    const float *w;    /* panels(kh*kw*ic/groups, oc) */
    const float *bias; /* oc values, or NULL */
    artel__fused activation;
    float *out;
    artel_dtype narrow, held; /* as in product.h */
    artel__arithmetic arithmetic;
    bool x_half, out_half, w_raw; /* as in product.h */
} artel__conv2d_forward;

/* conv2d_data_gradient: dx[n][ih][iw][ic] = activation(chain + bias[ic]), the chain over kh descending, kw descending,
 * oc (of the group) ascending, of dy[n][oh][ow][oc] * w[kh][kw][ic][oc] with oh = (ih + top - kh*dh) / sh and ow
 * likewise: taps for which the division leaves a remainder are left out, taps with (oh, ow) outside the output multiply
 * +0.0f. A transposed convolution passes its input as dy and its output as dx. */
typedef struct artel__conv2d_data_gradient {
    artel__conv2d_shape shape;
    const float *dy;
    const float *wt;   /* the TRANSPOSE of the weights: taps = kh*kw, rows = ic/groups, columns = oc (product_pack) */
    const float *bias; /* ic values, or NULL: NULL in a gradient */
    artel__fused activation;
    float *dx;
    artel_dtype narrow, held; /* as in product.h */
    artel__arithmetic arithmetic;
    bool dy_half, dx_half, wt_raw; /* as in product.h */
} artel__conv2d_data_gradient;

/* conv2d_weight_gradient: as product_weight_gradient, the rows of a shard being its images' (oh, ow) in row-major
 * order, k = (kh, kw, ic). A row of the fold is one image or more: shape.images is a multiple of fold->rows. */
typedef struct artel__conv2d_weight_gradient {
    artel__conv2d_shape shape;
    const artel__fold_plan *fold;
    const float *x;
    const float *dy;
    float *dw; /* for each node panels(kh*kw*ic/groups, oc) */
    int64_t dw_stride;
    float *dbias; /* for each node oc values; or NULL */
    int64_t dbias_stride;
    artel_dtype held;             /* BFLOAT16: x and dy hold nothing else; FLOAT32: whatever they hold */
    artel__consumer follow;       /* of dw */
    artel__arithmetic arithmetic; /* as in product.h; the sums for the bias stay chains */
    bool x_half, dy_half;
} artel__conv2d_weight_gradient;

extern const artel__kernel *const artel__conv2d_forward_kernels[];
extern const artel__kernel *const artel__conv2d_data_gradient_kernels[];
extern const artel__kernel *const artel__conv2d_weight_gradient_kernels[];

#endif
