/* SPDX-License-Identifier: Apache-2.0 */
/* Losses of sequences whose alignment is not known: connectionist temporal classification.
 *
 * A row has `steps` vectors of `classes` logits and the list of its classes, in order; class 0 is the blank, and zeros
 * fill the list. Its loss is -log of the probability that the steps, repetitions joined and blanks dropped, read as the
 * list (A. Graves, S. Fernandez, F. Gomez, J. Schmidhuber, "Connectionist temporal classification", ICML 2006).
 * Infinite where that cannot be; the gradient is 0 then. All arithmetic is float64 in the logarithm, in the order of
 * the steps and states, rounded once at the end. A class out of range is reported in the fault slot. A task is a row.
 */
#ifndef ARTEL_KERNEL_ALIGN_H
#define ARTEL_KERNEL_ALIGN_H

#include "kernel/fault_slot.h"
#include "kernel/kernel.h"

typedef struct artel__align {
    int64_t rows, steps, classes, labels;
    const int32_t *label;  /* [rows][labels] */
    const float *logits;   /* [rows][steps][classes] */
    const float *upstream; /* [rows], of the gradient */
    float *loss;           /* [rows], or NULL */
    float *gradient;       /* [rows][steps][classes], or NULL */
    artel__fault_slot fault;
} artel__align;

extern const artel__kernel *const artel__align_kernels[];

#endif
