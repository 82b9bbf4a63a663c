/* SPDX-License-Identifier: Apache-2.0 */
/* The pool kernels compiled for the baseline instruction set (SSE2); see pool_body.h. */
#define ARTEL__SIMD_NAME "baseline"
#define ARTEL__SIMD_ISA ARTEL__ISA_BASELINE
#define ARTEL__SIMD_TABLE artel__pool_baseline
#include "kernel/simd/pool_body.h"
