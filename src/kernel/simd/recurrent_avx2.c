/* SPDX-License-Identifier: Apache-2.0 */
/* The recurrent kernels compiled for AVX2; see recurrent_body.h. */
#define ARTEL__SIMD_NAME "avx2"
#define ARTEL__SIMD_ISA ARTEL__ISA_AVX2
#define ARTEL__SIMD_TABLE artel__recurrent_avx2
#include "kernel/simd/recurrent_body.h"
