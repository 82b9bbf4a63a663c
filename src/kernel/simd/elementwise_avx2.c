/* SPDX-License-Identifier: Apache-2.0 */
/* The elementwise kernels compiled for AVX2; see elementwise_body.h. */
#define ARTEL__SIMD_NAME "avx2"
#define ARTEL__SIMD_ISA ARTEL__ISA_AVX2
#define ARTEL__SIMD_TABLE artel__elementwise_avx2
#include "kernel/simd/elementwise_body.h"
