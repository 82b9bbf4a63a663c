/* SPDX-License-Identifier: Apache-2.0 */
/* The reduce kernels compiled for AVX-512; see reduce_body.h. */
#define ARTEL__SIMD_NAME "avx512"
#define ARTEL__SIMD_ISA ARTEL__ISA_AVX512
#define ARTEL__SIMD_TABLE artel__reduce_avx512
#include "kernel/simd/reduce_body.h"
