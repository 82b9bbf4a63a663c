/* SPDX-License-Identifier: Apache-2.0 */
/* The arithmetic of `tiles`: products of two bfloat16 operands added in blocks, as AMX' tdpbf16ps adds them.
 *
 * The terms of an output are taken in the order of the reduction index, 32 at a time; the last block is filled up with
 * terms of +0 times +0. In each block two chains of fused multiply-adds start at +0, one over the even terms and one
 * over the odd ones; their sum is added to the accumulator, which starts at +0: acc = +0;  for each block: even = odd =
 * +0;  for (k = 0; k < 32; k += 2) even = fmaf(a[k], b[k], even), odd = fmaf(a[k+1], b[k+1], odd); acc = acc + (even +
 * odd) Everything is rounded to nearest even and denormals are flushed to zero, in operands and results: the mode that
 * kernels run in, and the only one that the instruction knows (2,356,760 random outputs, normal and extreme, equal on a
 * Xeon; which of several NaNs comes out excepted). The blocks of a weight gradient begin anew with each shard. Terms
 * that do not exist, as those of taps between the strides of a data gradient, take no place in a block; pixels outside
 * the image are terms with a factor of +0.
 */
#ifndef ARTEL_KERNEL_TILES_H
#define ARTEL_KERNEL_TILES_H

#include <stdint.h>

#include "base/context.h"

enum {
    ARTEL__BLOCK = 32 /* terms of a block */
};

/* A sum of products under way in either arithmetic, one term at a time: for references. Begins with all but
 * `arithmetic` zero. */
typedef struct artel__terms {
    artel__arithmetic arithmetic;
    float acc, chain[2];
    int64_t count;
} artel__terms;

static inline void artel__terms_add(artel__terms *sum, float a, float b)
{
    if (sum->arithmetic == ARTEL__ARITHMETIC_CHAIN) {
        sum->acc = __builtin_fmaf(a, b, sum->acc);
        return;
    }
    sum->chain[sum->count % 2] = __builtin_fmaf(a, b, sum->chain[sum->count % 2]);
    if (++sum->count % ARTEL__BLOCK > 0) return;
    sum->acc += sum->chain[0] + sum->chain[1];
    sum->chain[0] = sum->chain[1] = 0.0f;
}

/* The whole sum. */
static inline float artel__terms_end(artel__terms *sum)
{
    while (sum->count % ARTEL__BLOCK > 0) artel__terms_add(sum, 0.0f, 0.0f);
    return sum->acc;
}

#endif
