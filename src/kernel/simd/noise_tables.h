/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of fast noise kernels, one for each instruction set, indexed by this enum. */
#ifndef ARTEL_KERNEL_SIMD_NOISE_TABLES_H
#define ARTEL_KERNEL_SIMD_NOISE_TABLES_H

#include "kernel/kernel.h"

enum {
    ARTEL__NOISE_NOISE,
    ARTEL__NOISE_KERNELS
};

extern const artel__kernel artel__noise_baseline[ARTEL__NOISE_KERNELS];
extern const artel__kernel artel__noise_avx2[ARTEL__NOISE_KERNELS];
extern const artel__kernel artel__noise_avx512[ARTEL__NOISE_KERNELS];

#endif
