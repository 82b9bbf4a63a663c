/* SPDX-License-Identifier: Apache-2.0 */
/* The recurrent kernels compiled for processors with AMX, whose products are in blocks; see recurrent_body.h. */
#define ARTEL__SIMD_NAME "amx"
#define ARTEL__SIMD_ISA ARTEL__ISA_AMX
#define ARTEL__SIMD_TABLE artel__recurrent_amx
#include "kernel/simd/recurrent_body.h"
