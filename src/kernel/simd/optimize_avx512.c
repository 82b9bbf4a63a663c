/* SPDX-License-Identifier: Apache-2.0 */
/* The optimize kernels compiled for AVX-512; see optimize_body.h. */
#define ARTEL__SIMD_NAME "avx512"
#define ARTEL__SIMD_ISA ARTEL__ISA_AVX512
#define ARTEL__SIMD_TABLE artel__optimize_avx512
#include "kernel/simd/optimize_body.h"
