/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of recurrent kernels, one for each instruction set, indexed by this enum. */
#ifndef ARTEL_KERNEL_SIMD_RECURRENT_TABLES_H
#define ARTEL_KERNEL_SIMD_RECURRENT_TABLES_H

#include "kernel/kernel.h"

enum {
    ARTEL__RECURRENT_FORWARD,
    ARTEL__RECURRENT_GRADIENT,
    ARTEL__RECURRENT_KERNELS
};

extern const artel__kernel artel__recurrent_reference[ARTEL__RECURRENT_KERNELS];
extern const artel__kernel artel__recurrent_avx2[ARTEL__RECURRENT_KERNELS];
extern const artel__kernel artel__recurrent_avx512[ARTEL__RECURRENT_KERNELS];
extern const artel__kernel artel__recurrent_amx[ARTEL__RECURRENT_KERNELS];

#endif
