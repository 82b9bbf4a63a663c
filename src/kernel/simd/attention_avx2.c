/* SPDX-License-Identifier: Apache-2.0 */
/* The attention kernels compiled for AVX2; see attention_body.h. */
#define ARTEL__SIMD_NAME "avx2"
#define ARTEL__SIMD_ISA ARTEL__ISA_AVX2
#define ARTEL__SIMD_TABLE artel__attention_avx2
#include "kernel/simd/attention_body.h"
