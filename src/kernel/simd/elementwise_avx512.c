/* SPDX-License-Identifier: Apache-2.0 */
/* The elementwise kernels compiled for AVX-512; see elementwise_body.h. */
#define ARTEL__SIMD_NAME "avx512"
#define ARTEL__SIMD_ISA ARTEL__ISA_AVX512
#define ARTEL__SIMD_TABLE artel__elementwise_avx512
#include "kernel/simd/elementwise_body.h"
