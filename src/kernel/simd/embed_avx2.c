/* SPDX-License-Identifier: Apache-2.0 */
/* The embed kernels compiled for AVX2; see embed_body.h. */
#define ARTEL__SIMD_NAME "avx2"
#define ARTEL__SIMD_ISA ARTEL__ISA_AVX2
#define ARTEL__SIMD_TABLE artel__embed_avx2
#include "kernel/simd/embed_body.h"
