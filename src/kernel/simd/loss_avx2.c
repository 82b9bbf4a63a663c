/* SPDX-License-Identifier: Apache-2.0 */
/* The loss kernels compiled for AVX2; see loss_body.h. */
#define ARTEL__SIMD_NAME "avx2"
#define ARTEL__SIMD_ISA ARTEL__ISA_AVX2
#define ARTEL__SIMD_TABLE artel__loss_avx2
#include "kernel/simd/loss_body.h"
