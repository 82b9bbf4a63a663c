/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of fast shape_ops kernels, one for each instruction set, indexed by this enum. */
#ifndef ARTEL_KERNEL_SIMD_SHAPE_OPS_TABLES_H
#define ARTEL_KERNEL_SIMD_SHAPE_OPS_TABLES_H

#include "kernel/kernel.h"

enum {
    ARTEL__SHAPE_OPS_STRIDED_COPY,
    ARTEL__SHAPE_OPS_PAD,
    ARTEL__SHAPE_OPS_CAST,
    ARTEL__SHAPE_OPS_KERNELS
};

extern const artel__kernel artel__shape_ops_baseline[ARTEL__SHAPE_OPS_KERNELS];
extern const artel__kernel artel__shape_ops_avx2[ARTEL__SHAPE_OPS_KERNELS];
extern const artel__kernel artel__shape_ops_avx512[ARTEL__SHAPE_OPS_KERNELS];

#endif
