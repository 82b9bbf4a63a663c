/* SPDX-License-Identifier: Apache-2.0 */
/* The table of small products for an instruction set. */
#include "kernel/micro.h"

#include "kernel/simd/micro_tables.h"

const artel__micro *artel__micro_for(artel__isa isa, artel__arithmetic arithmetic)
{
    if (arithmetic == ARTEL__ARITHMETIC_TILES) {
        if (isa == ARTEL__ISA_AMX) return &artel__micro_tiles_amx;
        if (isa >= ARTEL__ISA_AVX512) return &artel__micro_tiles_avx512;
        return isa == ARTEL__ISA_AVX2 ? &artel__micro_tiles_avx2 : &artel__micro_tiles_ref;
    }
    if (isa >= ARTEL__ISA_AVX512) return &artel__micro_avx512;
    return isa == ARTEL__ISA_AVX2 ? &artel__micro_avx2 : &artel__micro_ref;
}
