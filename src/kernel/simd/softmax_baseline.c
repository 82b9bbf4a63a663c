/* SPDX-License-Identifier: Apache-2.0 */
/* The softmax kernels compiled for the baseline instruction set (SSE2); see softmax_body.h. */
#define ARTEL__SIMD_NAME "baseline"
#define ARTEL__SIMD_ISA ARTEL__ISA_BASELINE
#define ARTEL__SIMD_TABLE artel__softmax_baseline
#include "kernel/simd/softmax_body.h"
