/* SPDX-License-Identifier: Apache-2.0 */
/* The shape_ops kernels compiled for AVX2; see shape_ops_body.h. */
#define ARTEL__SIMD_NAME "avx2"
#define ARTEL__SIMD_ISA ARTEL__ISA_AVX2
#define ARTEL__SIMD_TABLE artel__shape_ops_avx2
#include "kernel/simd/shape_ops_body.h"
