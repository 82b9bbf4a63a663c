/* SPDX-License-Identifier: Apache-2.0 */
/* The noise kernels compiled for AVX-512; see noise_body.h. */
#define ARTEL__SIMD_NAME "avx512"
#define ARTEL__SIMD_ISA ARTEL__ISA_AVX512
#define ARTEL__SIMD_TABLE artel__noise_avx512
#include "kernel/simd/noise_body.h"
