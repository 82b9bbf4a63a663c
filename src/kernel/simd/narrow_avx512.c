/* SPDX-License-Identifier: Apache-2.0 */
/* The narrow kernels compiled for AVX-512; see narrow_body.h. */
#define ARTEL__SIMD_NAME "avx512"
#define ARTEL__SIMD_ISA ARTEL__ISA_AVX512
#define ARTEL__SIMD_TABLE artel__narrow_avx512
#include "kernel/simd/narrow_body.h"
