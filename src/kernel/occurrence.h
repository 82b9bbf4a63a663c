/* SPDX-License-Identifier: Apache-2.0 */
/* What is added up over the occurrences of a token in a batch. Keras' TensorFlow backend squares IndexedSlices, and
 * takes their sizes, before it adds equal rows, so that its optimizers see these sums beside the gradient. */
#ifndef ARTEL_KERNEL_OCCURRENCE_H
#define ARTEL_KERNEL_OCCURRENCE_H

typedef enum artel__occurrence {
    ARTEL__OCCURRENCE_ITSELF, /* the gradient */
    ARTEL__OCCURRENCE_SQUARE,
    ARTEL__OCCURRENCE_SIZE /* its absolute value */
} artel__occurrence;

#endif
