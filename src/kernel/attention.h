/* SPDX-License-Identifier: Apache-2.0 */
/* The core of attention: softmax(scale q k^T) v, for each row and head, and its gradient. Rows are independent of one
 * another.
 *
 *   S[i][j] = scale * sum_d q[i][d] k[j][d];  positions that are masked, or j > i when causal, become
 * ARTEL__MASKED_SCORE P = softmax(S) along j, after kernel/softmax.h (16 lanes and a tree) D = P, each element kept
 * with probability 1 - rate and scaled by 1 / (1 - rate), or P without dropout out[i] = sum_j D[i][j] v[j] gradient: dD
 * = dout v^T;  dP = dropout of dD, plus dprobs;  dS = P (dP - sum_j dP P) scale, 0 where masked; dq = dS k;  dk = dS^T
 * q;  dv = D^T dout; over the heads that share a key and value head in order of the heads Products are chains of fused
 * multiply-adds, or sums in blocks (tiles.h). Without a mask, causal attention does not compute what no query may see:
 * products end or begin at multiples of 32 behind or before the diagonal. Masked probabilities are exact zeros but in
 * rows that are hidden throughout, of which Keras 3.15 on TensorFlow makes three things (artel__hidden).
 */
#ifndef ARTEL_KERNEL_ATTENTION_H
#define ARTEL_KERNEL_ATTENTION_H

#include "base/rng.h"
#include "kernel/kernel.h"

#define ARTEL__MASKED_SCORE (-0.7f * 3.402823466e+38f)

/* What becomes of scores that a mask hides. It shows in rows that are hidden throughout alone. */
typedef enum artel__hidden {
    ARTEL__HIDDEN_REPLACED, /* one large negative number: such a row is uniform (keras.ops.dot_product_attention) */
    ARTEL__HIDDEN_ZERO,     /* probabilities of 0, even there (keras.layers.Softmax with a mask) */
    ARTEL__HIDDEN_LOWERED   /* lowered by 1e9, in float32 to multiples of 64: in such a row scores below 32 become equal
                               ones, whose gradient is that of a softmax; float64 keeps their proportions (Attention) */
} artel__hidden;

typedef struct artel__attention_shape {
    int64_t rows, queries, keys; /* t; s */
    int64_t inner;               /* that many rows in a row belong to one row of the batch */
    int64_t heads, key_heads;    /* head h of the queries meets head h * key_heads / heads of keys and values */
    int64_t depth, value_depth;
    float scale;
    bool causal;
    artel__hidden hidden;
    const uint8_t *mask; /* 1 attends; NULL: none */
    /* Its strides, 0 along broadcast axes; of rows of the batch, and of those within one. */
    int64_t mask_row, mask_inner, mask_head, mask_query, mask_key;
    /* Dropout: draw ((row % inner * heads + head) * t + i) * s + j of a row, packed as base/rng.h says. rate 0: none.
     */
    float rate, keep_scale;
    artel__rng_key key;
    uint64_t batch;
    uint32_t node;
    int64_t first_row;
    artel__arithmetic arithmetic; /* of the products; TILES: q, k, v and dout are bfloat16, and P, D and dS are rounded
                                     to it (micro.h) */
} artel__attention_shape;

/* Tasks: a row and a head of keys. */
typedef struct artel__attention_forward {
    artel__attention_shape shape;
    const float *q, *k,
        *v;       /* [rows][t][heads][depth], [rows][s][key_heads][depth], [rows][s][key_heads][value_depth] */
    float *out;   /* [rows][t][heads][value_depth] */
    float *probs; /* [rows][heads][t][s]: P */
    bool q_half, k_half, v_half, out_half; /* stored as bfloat16 (artel__kernel.halves) */
} artel__attention_forward;

/* dprobs NULL: none. */
typedef struct artel__attention_gradient {
    artel__attention_shape shape;
    const float *q, *k, *v, *probs, *dout, *dprobs;
    float *dq, *dk, *dv;
    bool q_half, k_half, v_half, dout_half, dq_half, dk_half, dv_half;
} artel__attention_gradient;

extern const artel__kernel *const artel__attention_forward_kernels[];
extern const artel__kernel *const artel__attention_gradient_kernels[];

#endif
