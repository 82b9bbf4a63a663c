/* SPDX-License-Identifier: Apache-2.0 */
/* The narrow kernels compiled for AVX2; see narrow_body.h. */
#define ARTEL__SIMD_NAME "avx2"
#define ARTEL__SIMD_ISA ARTEL__ISA_AVX2
#define ARTEL__SIMD_TABLE artel__narrow_avx2
#include "kernel/simd/narrow_body.h"
