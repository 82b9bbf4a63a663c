/* SPDX-License-Identifier: Apache-2.0 */
/* The reduce kernels compiled for the baseline instruction set (SSE2); see reduce_body.h. */
#define ARTEL__SIMD_NAME "baseline"
#define ARTEL__SIMD_ISA ARTEL__ISA_BASELINE
#define ARTEL__SIMD_TABLE artel__reduce_baseline
#include "kernel/simd/reduce_body.h"
