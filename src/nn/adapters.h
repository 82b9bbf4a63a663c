/* SPDX-License-Identifier: Apache-2.0 */
/* Adapters of low rank (LoRA): the kernel rests, and what is trained is a b, of a few columns and rows, which is added
 * to it.
 *
 * kernel' = kernel + alpha / rank * a b, with a [..][rank] and b [rank][columns]. Layers compute x a b beside x kernel,
 * which is the same. Files of Keras hold the sum in the kernel's place (keras/variables.c). Keras itself sets both
 * adapters to 0 when it reads a file, after which neither has a gradient; here a is drawn anew, so that the result is
 * the same and training goes on.
 */
#ifndef ARTEL_NN_ADAPTERS_H
#define ARTEL_NN_ADAPTERS_H

#include "nn/layer_support.h"

#define ARTEL__ADAPTER_OPTIONS                                    \
    ARTEL__PART("lora_rank", "rank of the adapters; null: none"), \
        ARTEL__PART("lora_alpha", "scales what they add, over the rank; null: the rank")

/* 0 when the layer has none; else its rank, and the factor of what the adapters add. */
artel_status artel__adapters_read(const artel__layer *layer, int64_t *rank, double *scale);
/* Declares a and b of variable `kernel` of the layer, which rests from here on: `name`_a of the kernel's shape with
 * `rank` in the place of the last extent, as panels of `rows` rows or plain (0), and `name`_b. Nothing when the layer
 * has none. */
typedef struct artel__adapters {
    int kernel;
    const char *name; /* "lora_kernel" */
    int64_t rows;
    bool sums;                        /* b is no matrix of products, either */
    const artel__weight_parts *parts; /* of the kernel: both have its regulariser, and it may have no constraint */
} artel__adapters;
artel_status artel__adapters_declare(artel__layer *layer, const artel__adapters *adapters);
/* Numbers of a and b among the layer's variables: the first is a. 0: there are none. */
static inline int artel__adapters_of(const artel__layer *layer, int kernel)
{
    return layer->variable[kernel].adapters;
}
/* y + scale * (xa b): what `a` has made of the input, last extent `rank`, into the columns of b. */
artel__value_id artel__adapters_add(const artel__layer *layer, artel__graph *graph, int kernel, artel__value_id y,
                                    artel__value_id xa);

#endif
