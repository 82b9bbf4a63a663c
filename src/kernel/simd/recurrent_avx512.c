/* SPDX-License-Identifier: Apache-2.0 */
/* The recurrent kernels compiled for AVX-512; see recurrent_body.h. */
#define ARTEL__SIMD_NAME "avx512"
#define ARTEL__SIMD_ISA ARTEL__ISA_AVX512
#define ARTEL__SIMD_TABLE artel__recurrent_avx512
#include "kernel/simd/recurrent_body.h"
