/* SPDX-License-Identifier: Apache-2.0 */
/* The norm kernels compiled for AVX-512; see norm_body.h. */
#define ARTEL__SIMD_NAME "avx512"
#define ARTEL__SIMD_ISA ARTEL__ISA_AVX512
#define ARTEL__SIMD_TABLE artel__norm_avx512
#include "kernel/simd/norm_body.h"
