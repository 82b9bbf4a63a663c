/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of one kernel on shared arguments, run where the caller's arrays lie: no buffers, no copies, no other
 * threads.
 *
 * For whoever calls many small ones (the eager room). Which they are, and their bits, are those of
 * artel_function_run().
 */
#ifndef ARTEL_FUNCTION_DIRECT_H
#define ARTEL_FUNCTION_DIRECT_H

#include "artel/strategy.h"
#include "graph/op_exec.h"

/* Element types of arguments, constants and values: float32, float64, int32, int64, bool. */
bool artel__computes_with(artel_dtype dtype);

typedef struct artel__direct {
    artel__run_args args;
    artel__step step;
    artel__fold_plan fold;
    artel__fault fault;
    const artel__kernel *kernel;
    const artel__op_exec *exec;
    int inputs;
    int argument[ARTEL__MAX_OPERANDS]; /* by input of the node: the function's argument; -1: absent */
    void *in[ARTEL__MAX_OPERANDS], *out[ARTEL__MAX_OPERANDS];
    void *scratch;
    size_t scratch_bytes;
    int64_t tasks;
    /* Where the kernel's parameters have the address of an input, or, last, of the output; -1: they have none. */
    int16_t place[ARTEL__MAX_OPERANDS + 1];
    bool patched;
    _Alignas(64) uint8_t params[ARTEL__MAX_PARAMS];
} artel__direct;

/* Makes *out in memory of `arena` where the function is such a one; else *out is NULL. */
artel_status artel__function_direct(const artel_function *function, artel__arena *arena, artel__direct **out);
void artel__direct_fini(artel_context *ctx, artel__direct *direct); /* NULL accepted */
/* One run: `inputs` by argument, of the shapes that were declared. The only output goes to `output`. A fault inside is
 * reported. */
artel_status artel__direct_run(artel__direct *direct, artel_context *ctx, const void *const *inputs, void *output);

/* Gives a function up before its strategy. */
void artel__function_drop(artel_function *function);

#endif
