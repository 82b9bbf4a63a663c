/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of fast rounding kernels, one for each instruction set, indexed by this enum. */
#ifndef ARTEL_KERNEL_SIMD_NARROW_TABLES_H
#define ARTEL_KERNEL_SIMD_NARROW_TABLES_H

#include "kernel/kernel.h"

enum {
    ARTEL__NARROW_NARROW,
    ARTEL__NARROW_KERNELS
};

extern const artel__kernel artel__narrow_baseline[ARTEL__NARROW_KERNELS];
extern const artel__kernel artel__narrow_avx2[ARTEL__NARROW_KERNELS];
extern const artel__kernel artel__narrow_avx512[ARTEL__NARROW_KERNELS];

#endif
