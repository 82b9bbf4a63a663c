/* SPDX-License-Identifier: Apache-2.0 */
/* The elementwise kernels compiled for the baseline instruction set (SSE2); see elementwise_body.h. */
#define ARTEL__SIMD_NAME "baseline"
#define ARTEL__SIMD_ISA ARTEL__ISA_BASELINE
#define ARTEL__SIMD_TABLE artel__elementwise_baseline
#include "kernel/simd/elementwise_body.h"
