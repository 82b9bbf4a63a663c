/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of fast loss kernels, one for each instruction set, indexed by this enum. */
#ifndef ARTEL_KERNEL_SIMD_LOSS_TABLES_H
#define ARTEL_KERNEL_SIMD_LOSS_TABLES_H

#include "kernel/kernel.h"

enum {
    ARTEL__LOSS_FORWARD,
    ARTEL__LOSS_GRADIENT,
    ARTEL__LOSS_KERNELS
};

extern const artel__kernel artel__loss_baseline[ARTEL__LOSS_KERNELS];
extern const artel__kernel artel__loss_avx2[ARTEL__LOSS_KERNELS];
extern const artel__kernel artel__loss_avx512[ARTEL__LOSS_KERNELS];

#endif
