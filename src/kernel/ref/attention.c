/* SPDX-License-Identifier: Apache-2.0 */
/* The attention kernels over the plain products, for any machine, and the lists. */
#define ARTEL__SIMD_NAME "reference"
#define ARTEL__SIMD_ISA ARTEL__ISA_BASELINE
#define ARTEL__SIMD_TABLE artel__attention_reference
#include "kernel/simd/attention_body.h"

#define LIST(row)                                                                               \
    {                                                                                           \
        &artel__attention_amx[row], &artel__attention_avx512[row], &artel__attention_avx2[row], \
            &artel__attention_reference[row], NULL                                              \
    }

const artel__kernel *const artel__attention_forward_kernels[] = LIST(ARTEL__ATTENTION_FORWARD);
const artel__kernel *const artel__attention_gradient_kernels[] = LIST(ARTEL__ATTENTION_GRADIENT);
