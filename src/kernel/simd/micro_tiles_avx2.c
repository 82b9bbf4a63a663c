/* SPDX-License-Identifier: Apache-2.0 */
/* The small products of kernel/micro.h in blocks, with AVX2. */
#include "kernel/simd/micro_vec_avx2.h"

#include "kernel/simd/micro_tables.h"
#include "kernel/simd/tiles_multiply_fma.h"

#include "kernel/simd/micro_tiles.h"

const artel__micro artel__micro_tiles_avx2 = {micro_panels,       micro_nn,   micro_nt,    micro_tn,
                                              micro_packed_bytes, micro_pack, micro_packed};
