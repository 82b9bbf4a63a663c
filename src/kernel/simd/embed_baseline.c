/* SPDX-License-Identifier: Apache-2.0 */
/* The embed kernels compiled for the baseline instruction set (SSE2); see embed_body.h. */
#define ARTEL__SIMD_NAME "baseline"
#define ARTEL__SIMD_ISA ARTEL__ISA_BASELINE
#define ARTEL__SIMD_TABLE artel__embed_baseline
#include "kernel/simd/embed_body.h"
