/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of attention kernels, one for each instruction set, indexed by this enum. */
#ifndef ARTEL_KERNEL_SIMD_ATTENTION_TABLES_H
#define ARTEL_KERNEL_SIMD_ATTENTION_TABLES_H

#include "kernel/kernel.h"

enum {
    ARTEL__ATTENTION_FORWARD,
    ARTEL__ATTENTION_GRADIENT,
    ARTEL__ATTENTION_KERNELS
};

extern const artel__kernel artel__attention_reference[ARTEL__ATTENTION_KERNELS];
extern const artel__kernel artel__attention_avx2[ARTEL__ATTENTION_KERNELS];
extern const artel__kernel artel__attention_avx512[ARTEL__ATTENTION_KERNELS];
extern const artel__kernel artel__attention_amx[ARTEL__ATTENTION_KERNELS];

#endif
