/* SPDX-License-Identifier: Apache-2.0 */
/* The optimize kernels compiled for the baseline instruction set (SSE2); see optimize_body.h. */
#define ARTEL__SIMD_NAME "baseline"
#define ARTEL__SIMD_ISA ARTEL__ISA_BASELINE
#define ARTEL__SIMD_TABLE artel__optimize_baseline
#include "kernel/simd/optimize_body.h"
