/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of fast resize kernels, one for each instruction set, indexed by this enum. */
#ifndef ARTEL_KERNEL_SIMD_RESIZE_TABLES_H
#define ARTEL_KERNEL_SIMD_RESIZE_TABLES_H

#include "kernel/kernel.h"

enum {
    ARTEL__RESIZE_FORWARD,
    ARTEL__RESIZE_GRADIENT,
    ARTEL__RESIZE_KERNELS
};

extern const artel__kernel artel__resize_baseline[ARTEL__RESIZE_KERNELS];
extern const artel__kernel artel__resize_avx2[ARTEL__RESIZE_KERNELS];
extern const artel__kernel artel__resize_avx512[ARTEL__RESIZE_KERNELS];

#endif
