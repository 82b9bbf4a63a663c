/* SPDX-License-Identifier: Apache-2.0 */
/* Recurrent cells over whole sequences: LSTM, GRU, SimpleRNN, and their gradients. Rows are independent of one another.
 *
 * The input is projected already, x[t] = input[t] kernel + bias, with g gates of u columns. R is the recurrent kernel,
 * b its bias (GRU with reset_after), s the recurrent activation, a the activation. Formulas after Keras 3.15: LSTM    z
 * = x + h R;  i, f, o = s(z_i, z_f, z_o);  c' = f c + i a(z_c);  h' = o a(c');                 gates i f c o GRU     q
 * = b + h R;  z, r = s(x + q);  n = a(x_n + r q_n);  h' = z h + (1 - z) n;                     gates z r n without
 * reset_after: n = a(x_n + (r h) R_n) Simple  h' = a(x + h R) Products are chains of fused multiply-adds, or sums in
 * blocks (tiles.h), that start from x (LSTM, Simple and the gates of a GRU without reset_after), b, or +0.0f. Steps are
 * taken in order of time, or against it with go_backwards; the sequence put out is in the order of the steps. `keep`
 * (Keras' recurrent_dropout) multiplies the h of each product, by gate: gate k takes (keep_k h) R_k, and without
 * reset_after n takes (r keep_n h) R_n. It is the same at all steps; the z h of a GRU is not touched. A step whose mask
 * is 0 keeps the state, and puts out what the step before did (zeros at first), or zeros with zero_output_for_mask.
 *
 * What the gradient needs is kept by time, not by step: `before` the state h each time began with, `gates` the gates
 * after activation (before it where the activation's gradient reads its argument, see kernel/unary.list), `extra` the c
 * after each time (LSTM), q_n (GRU with reset_after) or r keep_n h (GRU without). At masked times gates and extra hold
 * numbers of no meaning.
 */
#ifndef ARTEL_KERNEL_RECURRENT_H
#define ARTEL_KERNEL_RECURRENT_H

#include "kernel/elementwise.h"

typedef enum artel__cell {
    ARTEL__CELL_LSTM,
    ARTEL__CELL_GRU,
    ARTEL__CELL_SIMPLE
} artel__cell;

/* A row of kernel/unary.list with its constants. */
typedef struct artel__cell_activation {
    artel__unary function;
    float parameter[3];
} artel__cell_activation;

typedef struct artel__recurrent_settings {
    artel__cell cell;
    int64_t units;
    artel__cell_activation activation, recurrent; /* a and s */
    bool reset_after, go_backwards, zero_output_for_mask;
    bool sequences; /* put out every step, not the last alone */
    bool keeps;     /* there are factors of h */
} artel__recurrent_settings;

static inline int64_t artel__cell_gates(artel__cell cell)
{
    return cell == ARTEL__CELL_LSTM ? 4 : cell == ARTEL__CELL_GRU ? 3 : 1;
}

/* Tasks: blocks of rows. */
typedef struct artel__recurrent_forward {
    artel__recurrent_settings settings;
    int64_t rows, steps;
    const float *projected; /* [rows][steps][g*u] */
    const float *weights;   /* R as panels(u, g*u) */
    const float *bias;      /* [g*u], or NULL */
    const float *keep;      /* [rows][g][u] when settings.keeps */
    const uint8_t *mask;    /* [rows][steps], or NULL */
    const float *h0, *c0;   /* [rows][u], or NULL: zeros */
    artel__arithmetic
        arithmetic; /* of the products with R; TILES: R is bfloat16, and what meets it is rounded to that (micro.h) */
    float *out;     /* [rows][steps][u], or [rows][u] */
    float *h, *c;   /* [rows][u]: the last states; c of LSTM only */
    float *before, *gates,
        *extra; /* [rows][steps][u], [rows][steps][g*u] (may be projected), [rows][steps][u] (none for Simple) */
} artel__recurrent_forward;

/* Gradients of out, h and c are NULL where there are none. Writes dprojected [rows][steps][g*u], dh0 and dc0 [rows][u]
 * and, for GRU, the gradient of q in drecurrent [rows][steps][3u]; without reset_after that has zeros for n, and
 * drecurrent_n [rows][steps][3u], zero but for n, goes with r keep_n h in place of h. For the other gates the product
 * is with keep h. dprojected may be gates. Tasks: blocks of rows. */
typedef struct artel__recurrent_gradient {
    artel__recurrent_settings settings;
    int64_t rows, steps;
    const float *transposed; /* R^T as panels(g*u, u) */
    artel__arithmetic arithmetic;
    const float *keep; /* as above */
    const uint8_t *mask;
    const float *c0;
    const float *before, *gates, *extra; /* as forward wrote them */
    const float *dout, *dh, *dc;
    float *dprojected, *dh0, *dc0, *drecurrent, *drecurrent_n;
} artel__recurrent_gradient;

extern const artel__kernel *const artel__recurrent_forward_kernels[];
extern const artel__kernel *const artel__recurrent_gradient_kernels[];

#endif
