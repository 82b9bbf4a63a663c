/* SPDX-License-Identifier: Apache-2.0 */
/* The pool kernels compiled for AVX2; see pool_body.h. */
#define ARTEL__SIMD_NAME "avx2"
#define ARTEL__SIMD_ISA ARTEL__ISA_AVX2
#define ARTEL__SIMD_TABLE artel__pool_avx2
#include "kernel/simd/pool_body.h"
