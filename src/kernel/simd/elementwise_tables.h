/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of fast elementwise kernels, one for each instruction set, indexed by this enum. */
#ifndef ARTEL_KERNEL_SIMD_ELEMENTWISE_TABLES_H
#define ARTEL_KERNEL_SIMD_ELEMENTWISE_TABLES_H

#include "kernel/kernel.h"

enum {
    ARTEL__ELEMENTWISE_UNARY_FORWARD,
    ARTEL__ELEMENTWISE_UNARY_GRADIENT,
    ARTEL__ELEMENTWISE_BINARY_FORWARD,
    ARTEL__ELEMENTWISE_BINARY_GRADIENT,
    ARTEL__ELEMENTWISE_SELECT,
    ARTEL__ELEMENTWISE_ADD_N,
    ARTEL__ELEMENTWISE_AXPY,
    ARTEL__ELEMENTWISE_KERNELS
};

extern const artel__kernel artel__elementwise_baseline[ARTEL__ELEMENTWISE_KERNELS];
extern const artel__kernel artel__elementwise_avx2[ARTEL__ELEMENTWISE_KERNELS];
extern const artel__kernel artel__elementwise_avx512[ARTEL__ELEMENTWISE_KERNELS];

#endif
