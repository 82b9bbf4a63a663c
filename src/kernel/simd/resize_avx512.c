/* SPDX-License-Identifier: Apache-2.0 */
/* The resize kernels compiled for AVX-512; see resize_body.h. */
#define ARTEL__SIMD_NAME "avx512"
#define ARTEL__SIMD_ISA ARTEL__ISA_AVX512
#define ARTEL__SIMD_TABLE artel__resize_avx512
#include "kernel/simd/resize_body.h"
