/* SPDX-License-Identifier: Apache-2.0 */
/* The narrow kernels compiled for the baseline instruction set (SSE2); see narrow_body.h. */
#define ARTEL__SIMD_NAME "baseline"
#define ARTEL__SIMD_ISA ARTEL__ISA_BASELINE
#define ARTEL__SIMD_TABLE artel__narrow_baseline
#include "kernel/simd/narrow_body.h"
