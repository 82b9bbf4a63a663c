/* SPDX-License-Identifier: Apache-2.0 */
/* The attention kernels compiled for AVX-512; see attention_body.h. */
#define ARTEL__SIMD_NAME "avx512"
#define ARTEL__SIMD_ISA ARTEL__ISA_AVX512
#define ARTEL__SIMD_TABLE artel__attention_avx512
#include "kernel/simd/attention_body.h"
