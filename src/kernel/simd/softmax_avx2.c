/* SPDX-License-Identifier: Apache-2.0 */
/* The softmax kernels compiled for AVX2; see softmax_body.h. */
#define ARTEL__SIMD_NAME "avx2"
#define ARTEL__SIMD_ISA ARTEL__ISA_AVX2
#define ARTEL__SIMD_TABLE artel__softmax_avx2
#include "kernel/simd/softmax_body.h"
