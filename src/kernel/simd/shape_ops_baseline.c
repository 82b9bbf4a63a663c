/* SPDX-License-Identifier: Apache-2.0 */
/* The shape_ops kernels compiled for the baseline instruction set (SSE2); see shape_ops_body.h. */
#define ARTEL__SIMD_NAME "baseline"
#define ARTEL__SIMD_ISA ARTEL__ISA_BASELINE
#define ARTEL__SIMD_TABLE artel__shape_ops_baseline
#include "kernel/simd/shape_ops_body.h"
