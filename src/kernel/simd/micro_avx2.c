/* SPDX-License-Identifier: Apache-2.0 */
/* The small products of kernel/micro.h with AVX2. */
#include "kernel/simd/micro_vec_avx2.h"

#include "kernel/simd/micro_body.h"
#include "kernel/simd/micro_tables.h"

const artel__micro artel__micro_avx2 = {micro_panels, micro_nn, micro_nt, micro_tn, NULL, NULL, NULL};
