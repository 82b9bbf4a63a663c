/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of fast pool kernels, one for each instruction set, indexed by this enum. */
#ifndef ARTEL_KERNEL_SIMD_POOL_TABLES_H
#define ARTEL_KERNEL_SIMD_POOL_TABLES_H

#include "kernel/kernel.h"

enum {
    ARTEL__POOL_FORWARD,
    ARTEL__POOL_GRADIENT,
    ARTEL__POOL_KERNELS
};

extern const artel__kernel artel__pool_baseline[ARTEL__POOL_KERNELS];
extern const artel__kernel artel__pool_avx2[ARTEL__POOL_KERNELS];
extern const artel__kernel artel__pool_avx512[ARTEL__POOL_KERNELS];

#endif
