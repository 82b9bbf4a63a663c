/* SPDX-License-Identifier: Apache-2.0 */
/* The resize kernels compiled for AVX2; see resize_body.h. */
#define ARTEL__SIMD_NAME "avx2"
#define ARTEL__SIMD_ISA ARTEL__ISA_AVX2
#define ARTEL__SIMD_TABLE artel__resize_avx2
#include "kernel/simd/resize_body.h"
