/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels: pure functions on buffers.
 *
 * A kernel takes a plain parameter struct and knows no graph. Its work is cut into tasks whose results do not depend
 * on how they are grouped or on who runs them; run() computes tasks [begin, end). For each kind there is one ordered
 * list, best first, the reference last; the first that can run is taken, and `refuses` gives the printable reason of
 * those passed over (shown by --explain).
 *
 * Bits. For one kind every kernel gives the same bits: each output element is computed by a fixed sequence of IEEE
 * operations (documented beside the parameter struct), products by a chain of fused multiply-adds in the order of the
 * reduction index. So reference, AVX2 and AVX-512 agree exactly, and tests compare with memcmp.
 */
#ifndef ARTEL_KERNEL_KERNEL_H
#define ARTEL_KERNEL_KERNEL_H

#include "base/context.h"
#include "tensor/shape.h"

/* What is done with a result part by part, while it is near, instead of writing it: elements [first, first + count) of
 * it lie at `part`, for the length of the call. Parts come in any order, from any thread, each element once. */
typedef struct artel__consumer {
    void (*run)(void *user, const float *part, int64_t first, int64_t count); /* NULL: the result is written */
    void *user;
} artel__consumer;

typedef struct artel__kernel {
    const char *name;                           /* "avx512 conv2d_forward" */
    artel__isa isa;                             /* the least instruction set it needs */
    const char *(*refuses)(const void *params); /* optional: a constant reason, or NULL when it can run */
    int64_t (*tasks)(const void *params);       /* how many tasks there are; 0 is legal */
    int64_t (*grain)(const void *params);       /* optional: tasks share work with neighbours, in such multiples most */
    /* Optional: task i writes elements [i e, (i + 1) e) of its first result and no others; what to do with them next
     * may be done while they are near. */
    int64_t (*elements)(const void *params);
    /* Optional (never): whether operands may be bfloat16, 16 bits an element, where the params have a flag `..._half`
     * for them. What is stored so is rounded on its way (narrow.h); everything is computed in float32, with the same
     * bits. References need not be able to. Likewise whether weights may be given before they are rounded to bfloat16,
     * where there is a flag `..._raw`. */
    bool (*halves)(const void *params);
    bool (*follows)(
        const void *params); /* optional (never): whether its first result may be followed (artel__consumer) */
    size_t (*scratch_bytes)(const void *params); /* optional (0): 64-byte aligned scratch for each thread */
    void (*run)(const void *params, int64_t begin, int64_t end, void *scratch);
} artel__kernel;

/* The list of a kind of which kernel/vector has a kernel for each instruction set; `reference` is of the file that says
 * so. */
#define ARTEL__KERNEL_LIST(kernel, reference)                                                                     \
    extern const artel__kernel artel__##kernel##_avx512, artel__##kernel##_avx2, artel__##kernel##_baseline;      \
    const artel__kernel *const artel__##kernel##_kernels[] = {&artel__##kernel##_avx512, &artel__##kernel##_avx2, \
                                                              &artel__##kernel##_baseline, &(reference), NULL}

/* Why a kernel is passed over where `isa` is the instruction set: a constant text; NULL: it can run. */
const char *artel__kernel_refuses(const artel__kernel *kernel, artel__isa isa, const void *params);

/* The first kernel of a NULL-terminated list that the instruction set and the parameters allow. The last entry of
 * every list is the reference, which can always run. */
const artel__kernel *artel__kernel_choose(const artel__kernel *const *list, artel__isa isa, const void *params);

#endif
