/* SPDX-License-Identifier: Apache-2.0 */
/* The reduce kernels compiled for AVX2; see reduce_body.h. */
#define ARTEL__SIMD_NAME "avx2"
#define ARTEL__SIMD_ISA ARTEL__ISA_AVX2
#define ARTEL__SIMD_TABLE artel__reduce_avx2
#include "kernel/simd/reduce_body.h"
