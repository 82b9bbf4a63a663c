/* SPDX-License-Identifier: Apache-2.0 */
/* The norm kernels compiled for the baseline instruction set (SSE2); see norm_body.h. */
#define ARTEL__SIMD_NAME "baseline"
#define ARTEL__SIMD_ISA ARTEL__ISA_BASELINE
#define ARTEL__SIMD_TABLE artel__norm_baseline
#include "kernel/simd/norm_body.h"
