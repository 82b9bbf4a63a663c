/* SPDX-License-Identifier: Apache-2.0 */
/* Losses of one position: value and gradient, after keras/src/losses/losses.py and the TensorFlow backend of
 * Keras 3.15.
 *
 * target and prediction are [positions][length]; the losses marked s below take one integer class a position instead.
 * value[p] is what the Keras function returns for that position (a mean or a sum over the last axis, before sample
 * weights and reduction).
 * The gradient kernel multiplies by upstream[p], the gradient of the total with respect to value[p].
 * Sums over `length`: 16 lanes and a tree as in reduce.h. epsilon is Keras' 1e-7.
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
    ARTEL__LOSS_MEAN_SQUARED_ERROR,
    ARTEL__LOSS_MEAN_ABSOLUTE_ERROR,
    ARTEL__LOSS_MEAN_ABSOLUTE_PERCENTAGE_ERROR,
    ARTEL__LOSS_MEAN_SQUARED_LOGARITHMIC_ERROR,
    ARTEL__LOSS_HUBER, /* a = delta */
    ARTEL__LOSS_LOG_COSH,
    ARTEL__LOSS_BINARY_CROSSENTROPY,                    /* probabilities; a = label_smoothing */
    ARTEL__LOSS_BINARY_CROSSENTROPY_LOGITS,             /* a = label_smoothing */
    ARTEL__LOSS_CATEGORICAL_CROSSENTROPY,               /* probabilities; a = label_smoothing */
    ARTEL__LOSS_CATEGORICAL_CROSSENTROPY_LOGITS,        /* a = label_smoothing */
    ARTEL__LOSS_SPARSE_CATEGORICAL_CROSSENTROPY,        /* s; probabilities */
    ARTEL__LOSS_SPARSE_CATEGORICAL_CROSSENTROPY_LOGITS, /* s */
    ARTEL__LOSS_HINGE,                                  /* labels_binary: see below */
    ARTEL__LOSS_SQUARED_HINGE,                          /* labels_binary */
    ARTEL__LOSS_CATEGORICAL_HINGE,
    ARTEL__LOSS_KL_DIVERGENCE,
    ARTEL__LOSS_POISSON,
    ARTEL__LOSS_COSINE_SIMILARITY,
    ARTEL__LOSS_BINARY_FOCAL_CROSSENTROPY, /* probabilities; a = label_smoothing, b = alpha (negative: no balancing), c
                                              = gamma */
    ARTEL__LOSS_CATEGORICAL_FOCAL_CROSSENTROPY, /* probabilities; a = label_smoothing, b = alpha, c = gamma */
    ARTEL__LOSS_COUNT
} artel__loss;

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
