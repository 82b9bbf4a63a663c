/* SPDX-License-Identifier: Apache-2.0 */
/* The resize kernels compiled for the baseline instruction set (SSE2); see resize_body.h. */
#define ARTEL__SIMD_NAME "baseline"
#define ARTEL__SIMD_ISA ARTEL__ISA_BASELINE
#define ARTEL__SIMD_TABLE artel__resize_baseline
#include "kernel/simd/resize_body.h"
