/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of fast reduce kernels, one for each instruction set, indexed by this enum. */
#ifndef ARTEL_KERNEL_SIMD_REDUCE_TABLES_H
#define ARTEL_KERNEL_SIMD_REDUCE_TABLES_H

#include "kernel/kernel.h"

enum {
    ARTEL__REDUCE_REDUCE,
    ARTEL__REDUCE_REDUCE_GRADIENT,
    ARTEL__REDUCE_FOLD_COLUMNS,
    ARTEL__REDUCE_KERNELS
};

extern const artel__kernel artel__reduce_baseline[ARTEL__REDUCE_KERNELS];
extern const artel__kernel artel__reduce_avx2[ARTEL__REDUCE_KERNELS];
extern const artel__kernel artel__reduce_avx512[ARTEL__REDUCE_KERNELS];

#endif
