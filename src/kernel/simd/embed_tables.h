/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of fast embed kernels, one for each instruction set, indexed by this enum. */
#ifndef ARTEL_KERNEL_SIMD_EMBED_TABLES_H
#define ARTEL_KERNEL_SIMD_EMBED_TABLES_H

#include "kernel/kernel.h"

enum {
    ARTEL__EMBED_FORWARD,
    ARTEL__EMBED_GRADIENT,
    ARTEL__EMBED_ROWS,
    ARTEL__EMBED_KERNELS
};

extern const artel__kernel artel__embed_baseline[ARTEL__EMBED_KERNELS];
extern const artel__kernel artel__embed_avx2[ARTEL__EMBED_KERNELS];
extern const artel__kernel artel__embed_avx512[ARTEL__EMBED_KERNELS];

#endif
