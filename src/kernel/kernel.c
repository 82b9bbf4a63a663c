/* SPDX-License-Identifier: Apache-2.0 */
/* Choosing a kernel: the first of an ordered list that can run.
 *
 * The choice is a pure function of the instruction set and the parameters, never of a measurement. It may differ from
 * machine to machine because all kernels of a kind give the same bits.
 */
#include "kernel/kernel.h"

const artel__kernel *artel__kernel_choose(const artel__kernel *const *list, artel__isa isa, const void *params)
{
    const artel__kernel *last = NULL;
    for (; *list; list++) {
        last = *list;
        if (last->isa > isa) continue;
        if (!last->refuses || !last->refuses(params)) return last;
    }
    return last; /* the reference, which can always run */
}
