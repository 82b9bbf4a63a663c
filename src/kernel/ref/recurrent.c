/* SPDX-License-Identifier: Apache-2.0 */
/* The recurrent kernels over the plain products, for any machine, and the lists. */
#define ARTEL__SIMD_NAME "reference"
#define ARTEL__SIMD_ISA ARTEL__ISA_BASELINE
#define ARTEL__SIMD_TABLE artel__recurrent_reference
#include "kernel/simd/recurrent_body.h"

#define LIST(row)                                                                               \
    {                                                                                           \
        &artel__recurrent_amx[row], &artel__recurrent_avx512[row], &artel__recurrent_avx2[row], \
            &artel__recurrent_reference[row], NULL                                              \
    }

const artel__kernel *const artel__recurrent_forward_kernels[] = LIST(ARTEL__RECURRENT_FORWARD);
const artel__kernel *const artel__recurrent_gradient_kernels[] = LIST(ARTEL__RECURRENT_GRADIENT);
