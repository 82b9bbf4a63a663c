/* SPDX-License-Identifier: Apache-2.0 */
/* The softmax kernels compiled for AVX-512; see softmax_body.h. */
#define ARTEL__SIMD_NAME "avx512"
#define ARTEL__SIMD_ISA ARTEL__ISA_AVX512
#define ARTEL__SIMD_TABLE artel__softmax_avx512
#include "kernel/simd/softmax_body.h"
