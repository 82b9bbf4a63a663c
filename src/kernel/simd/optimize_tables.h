/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of fast optimize kernels, one for each instruction set, indexed by this enum. */
#ifndef ARTEL_KERNEL_SIMD_OPTIMIZE_TABLES_H
#define ARTEL_KERNEL_SIMD_OPTIMIZE_TABLES_H

#include "kernel/kernel.h"

enum {
    ARTEL__OPTIMIZE_APPLY,
    ARTEL__OPTIMIZE_APPLY_ROWS,
    ARTEL__OPTIMIZE_LAMB_STEP,
    ARTEL__OPTIMIZE_BLOCK_NORM,
    ARTEL__OPTIMIZE_FLAT,
    ARTEL__OPTIMIZE_KERNELS
};

extern const artel__kernel artel__optimize_baseline[ARTEL__OPTIMIZE_KERNELS];
extern const artel__kernel artel__optimize_avx2[ARTEL__OPTIMIZE_KERNELS];
extern const artel__kernel artel__optimize_avx512[ARTEL__OPTIMIZE_KERNELS];

#endif
