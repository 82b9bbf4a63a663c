/* SPDX-License-Identifier: Apache-2.0 */
/* The pool kernels compiled for AVX-512; see pool_body.h. */
#define ARTEL__SIMD_NAME "avx512"
#define ARTEL__SIMD_ISA ARTEL__ISA_AVX512
#define ARTEL__SIMD_TABLE artel__pool_avx512
#include "kernel/simd/pool_body.h"
