/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of fast norm kernels, one for each instruction set, indexed by this enum. */
#ifndef ARTEL_KERNEL_SIMD_NORM_TABLES_H
#define ARTEL_KERNEL_SIMD_NORM_TABLES_H

#include "kernel/kernel.h"

enum {
    ARTEL__NORM_BATCH_MOMENTS_ROWS,
    ARTEL__NORM_BATCH_MOMENTS_FOLD,
    ARTEL__NORM_BATCH_NORM_FORWARD,
    ARTEL__NORM_BATCH_NORM_GRADIENT_ROWS,
    ARTEL__NORM_BATCH_NORM_GRADIENT,
    ARTEL__NORM_LAYER_NORM_FORWARD,
    ARTEL__NORM_LAYER_NORM_GRADIENT,
    ARTEL__NORM_LAYER_NORM_PARAMETERS,
    ARTEL__NORM_KERNELS
};

extern const artel__kernel artel__norm_baseline[ARTEL__NORM_KERNELS];
extern const artel__kernel artel__norm_avx2[ARTEL__NORM_KERNELS];
extern const artel__kernel artel__norm_avx512[ARTEL__NORM_KERNELS];

#endif
