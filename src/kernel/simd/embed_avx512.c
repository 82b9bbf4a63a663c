/* SPDX-License-Identifier: Apache-2.0 */
/* The embed kernels compiled for AVX-512; see embed_body.h. */
#define ARTEL__SIMD_NAME "avx512"
#define ARTEL__SIMD_ISA ARTEL__ISA_AVX512
#define ARTEL__SIMD_TABLE artel__embed_avx512
#include "kernel/simd/embed_body.h"
