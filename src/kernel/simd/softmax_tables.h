/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of fast softmax kernels, one for each instruction set, indexed by this enum. */
#ifndef ARTEL_KERNEL_SIMD_SOFTMAX_TABLES_H
#define ARTEL_KERNEL_SIMD_SOFTMAX_TABLES_H

#include "kernel/kernel.h"

enum {
    ARTEL__SOFTMAX_FORWARD,
    ARTEL__SOFTMAX_GRADIENT,
    ARTEL__SOFTMAX_GLU_FORWARD,
    ARTEL__SOFTMAX_GLU_GRADIENT,
    ARTEL__SOFTMAX_KERNELS
};

extern const artel__kernel artel__softmax_baseline[ARTEL__SOFTMAX_KERNELS];
extern const artel__kernel artel__softmax_avx2[ARTEL__SOFTMAX_KERNELS];
extern const artel__kernel artel__softmax_avx512[ARTEL__SOFTMAX_KERNELS];

#endif
