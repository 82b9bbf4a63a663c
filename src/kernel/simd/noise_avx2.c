/* SPDX-License-Identifier: Apache-2.0 */
/* The noise kernels compiled for AVX2; see noise_body.h. */
#define ARTEL__SIMD_NAME "avx2"
#define ARTEL__SIMD_ISA ARTEL__ISA_AVX2
#define ARTEL__SIMD_TABLE artel__noise_avx2
#include "kernel/simd/noise_body.h"
