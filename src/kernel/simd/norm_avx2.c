/* SPDX-License-Identifier: Apache-2.0 */
/* The norm kernels compiled for AVX2; see norm_body.h. */
#define ARTEL__SIMD_NAME "avx2"
#define ARTEL__SIMD_ISA ARTEL__ISA_AVX2
#define ARTEL__SIMD_TABLE artel__norm_avx2
#include "kernel/simd/norm_body.h"
