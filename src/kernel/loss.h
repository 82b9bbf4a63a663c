/* SPDX-License-Identifier: Apache-2.0 */
/* Losses of one position: value and gradient, after keras/src/losses/losses.py and the TensorFlow backend of
 * Keras 3.15.
 *
 * A loss is a file of kernel/loss, listed in losses.list. target and prediction are [positions][length]; those marked s
 * (sparse) take one integer class a position instead.
 * value[p] is what the Keras function returns for that position (a mean or a sum over the last axis, before sample
 * weights and reduction).
 * The gradient kernel multiplies by upstream[p], the gradient of the total with respect to value[p].
 * Sums over `length`: 16 lanes and a tree as in reduce.h. epsilon is Keras' 1e-7. a, b and c are named in the loss'
 * file.
 *
 * Crossentropies from probabilities clip to [eps, 1 - eps]; the clip's gradient passes on the closed interval.
 * CATEGORICAL first divides by the row's sum. SPARSE takes log(clip(p)) as logits, so it divides by the sum of the
 * clipped row, as TensorFlow's backend does.
 */
#ifndef ARTEL_KERNEL_LOSS_H
#define ARTEL_KERNEL_LOSS_H

#include "kernel/fault_slot.h"
#include "kernel/kernel.h"

typedef enum artel__loss {
#define ELEMENT_LOSS(NAME, name, ...) ARTEL__LOSS_##NAME,
#define ROW_LOSS(NAME, name, ...) ARTEL__LOSS_##NAME,
#include "kernel/losses.list"
#undef ELEMENT_LOSS
#undef ROW_LOSS
    ARTEL__LOSS_COUNT
} artel__loss;

/* Where label smoothing (a) goes: t becomes t * (1 - a) + share. */
typedef enum artel__smoothing {
    ARTEL__SMOOTHING_NONE,
    ARTEL__SMOOTHING_TWO,    /* a / 2 */
    ARTEL__SMOOTHING_CLASSES /* a / length */
} artel__smoothing;

/* What a loss says of itself. */
typedef struct artel__loss_form {
    float factor; /* of an ELEMENT_LOSS: what the mean of the terms is multiplied by */
    bool sums;    /* of an ELEMENT_LOSS: their sum takes the mean's place */
    artel__smoothing smoothing;
    bool sparse;  /* marked s: a target is the number of a class */
    bool softmax; /* of logits, whose softmax it takes */
    bool repeats; /* the program for devices has the value in each element */
} artel__loss_form;

/* What both kernels read. */
typedef struct artel__loss_input {
    artel__loss op;
    int64_t positions, length;
    int64_t per_row;          /* positions in a row of the batch, for fault reports */
    artel_dtype target_dtype; /* float32 or int32 */
    const void *target;       /* [positions][length], or [positions] for s */
    const float *prediction;  /* [positions][length] */
    float a, b, c;
    bool labels_binary; /* hinge: all labels of the batch are 0 or 1, so they become -1 and 1 (Keras looks at the whole
                           batch) */
    bool has_ignored_class; /* s: positions whose target is ignored_class have value 0 and gradient 0 */
    int32_t ignored_class;
    artel__fault_slot fault; /* s: a class outside [0, length) is reported; its value is 0 */
} artel__loss_input;

typedef struct artel__loss_forward {
    artel__loss_input in;
    float *value; /* [positions] */
} artel__loss_forward;

/* gradient = upstream[p] * d value[p] / d prediction[p][.]. */
typedef struct artel__loss_gradient {
    artel__loss_input in;
    const float *upstream; /* [positions] */
    float *gradient;       /* [positions][length]; may be the prediction's array */
} artel__loss_gradient;

/* Whether the op is one of those marked s. */
bool artel__loss_is_sparse(artel__loss op);

extern const artel__kernel *const artel__loss_forward_kernels[];
extern const artel__kernel *const artel__loss_gradient_kernels[];

#endif
