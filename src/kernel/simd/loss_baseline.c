/* SPDX-License-Identifier: Apache-2.0 */
/* The loss kernels compiled for the baseline instruction set (SSE2); see loss_body.h. */
#define ARTEL__SIMD_NAME "baseline"
#define ARTEL__SIMD_ISA ARTEL__ISA_BASELINE
#define ARTEL__SIMD_TABLE artel__loss_baseline
#include "kernel/simd/loss_body.h"
