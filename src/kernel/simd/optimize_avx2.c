/* SPDX-License-Identifier: Apache-2.0 */
/* The optimize kernels compiled for AVX2; see optimize_body.h. */
#define ARTEL__SIMD_NAME "avx2"
#define ARTEL__SIMD_ISA ARTEL__ISA_AVX2
#define ARTEL__SIMD_TABLE artel__optimize_avx2
#include "kernel/simd/optimize_body.h"
