/* SPDX-License-Identifier: Apache-2.0 */
/* The attention kernels compiled for processors with AMX, whose products are in blocks; see attention_body.h. */
#define ARTEL__SIMD_NAME "amx"
#define ARTEL__SIMD_ISA ARTEL__ISA_AMX
#define ARTEL__SIMD_TABLE artel__attention_amx
#include "kernel/simd/attention_body.h"
