/* SPDX-License-Identifier: Apache-2.0 */
/* Choosing a kernel: the first of an ordered list that can run.
 *
 * The choice is a pure function of the instruction set and the parameters, never of a measurement. It may differ from
 * machine to machine because all kernels of a kind give the same bits.
 */
#include "kernel/kernel.h"

const char *artel__kernel_refuses(const artel__kernel *kernel, artel__isa isa, const void *params)
{
    if (kernel->isa > isa) return "instruction set";
    /* Measured on Xeons: vdpbf16ps has half the rate of float32 multiply-adds there, on AMD's processors the full one.
     */
    if (kernel->isa == ARTEL__ISA_AVX512_BF16 && isa == ARTEL__ISA_AMX) return "slow on processors with AMX";
    return kernel->refuses ? kernel->refuses(params) : NULL;
}

const artel__kernel *artel__kernel_choose(const artel__kernel *const *list, artel__isa isa, const void *params)
{
    const artel__kernel *last = NULL;
    for (; *list; list++) {
        last = *list;
        if (!artel__kernel_refuses(last, isa, params)) return last;
    }
    return last; /* the reference, which can always run */
}
