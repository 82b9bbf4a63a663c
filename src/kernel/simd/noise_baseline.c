/* SPDX-License-Identifier: Apache-2.0 */
/* The noise kernels compiled for the baseline instruction set (SSE2); see noise_body.h. */
#define ARTEL__SIMD_NAME "baseline"
#define ARTEL__SIMD_ISA ARTEL__ISA_BASELINE
#define ARTEL__SIMD_TABLE artel__noise_baseline
#include "kernel/simd/noise_body.h"
