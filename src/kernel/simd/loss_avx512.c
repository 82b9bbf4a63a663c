/* SPDX-License-Identifier: Apache-2.0 */
/* The loss kernels compiled for AVX-512; see loss_body.h. */
#define ARTEL__SIMD_NAME "avx512"
#define ARTEL__SIMD_ISA ARTEL__ISA_AVX512
#define ARTEL__SIMD_TABLE artel__loss_avx512
#include "kernel/simd/loss_body.h"
