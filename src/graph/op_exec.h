/* SPDX-License-Identifier: Apache-2.0 */
/* How this machine's cores carry out an operation: the half of a definition that devices never look at.
 *
 * Most operations are one kernel: `kernels` is its ordered list (kernel/kernel.h) and `fill` writes the kernel's plain
 * parameter struct from the run arguments. Views copy nothing; collectives are carried out by the run's comm; neither
 * has this half.
 */
#ifndef ARTEL_GRAPH_OP_EXEC_H
#define ARTEL_GRAPH_OP_EXEC_H

#include "base/rng.h"
#include "graph/op_def.h"
#include "kernel/fold.h"
#include "kernel/held_rows.h"
#include "kernel/kernel.h"

#define ARTEL__MAX_PARAMS 1024 /* bytes of the largest kernel parameter struct */

/* The facts of one step that kernels may depend on; the same on all replicas but for `fold`. */
typedef struct artel__step {
    const artel__fold_plan *fold; /* the rows of this replica */
    uint64_t seed;
    uint64_t batch;       /* batches consumed before this one: part of the random counter */
    int64_t iteration;    /* optimizer steps before this one */
    double learning_rate; /* of this step, from the schedule */
    bool training;
    const artel__held_rows *held; /* by variable: rows that embeddings read in place of tables; NULL: tables are here */
    const struct artel__step *others; /* of functions that step several optimizers: this step as those beside the first
                                         see it, by node.optimizer - 1; NULL: there are none */
} artel__step;

/* As the node sees it: with the iterations and the rate of its optimizer. */
static inline const artel__step *artel__step_of(const artel__step *step, const artel__node *node)
{
    return node->optimizer > 0 && step->others ? &step->others[node->optimizer - 1] : step;
}

/* A fault found inside a kernel (an index out of range): the smallest row of the first node that found one, so that
 * the report does not depend on threads. */
typedef struct artel__fault {
    _Atomic int64_t row; /* of the global batch; INT64_MAX: none */
    _Atomic int64_t value;
    int32_t node; /* set by the run behind the node that reported; -1: none */
} artel__fault;

typedef struct artel__run_args {
    const artel__graph *graph;
    const artel__node *node;
    int32_t node_index;
    const void *attributes;
    const artel__step *step;
    void *const *in; /* ROW: first owned row; NODES: first block; GLOBAL, BATCH: the value; NULL: absent */
    void *const *out;
    const bool *half; /* by value: stored as bfloat16 (kernel.h); NULL: none is */
    const bool *raw;  /* by value: weights that their readers round; NULL: none are */
    artel__fault *fault;
    artel__isa isa;
} artel__run_args;

/* The input that a node may overwrite, -1 for none, and the output that does. */
typedef struct artel__in_place {
    int input, output;
} artel__in_place;

typedef struct artel__op_exec {
    const artel__kernel *const *kernels;
    /* Optional: other kernels than `kernels` for this node, with parameters of their own, which `fill` knows of; NULL:
     * those. Kernels of float64 are named so, and devices that have no such numbers refuse what they compute. */
    const artel__kernel *const *(*choose)(const artel__graph *graph, const artel__node *node);
    size_t params_size;
    void (*fill)(const artel__run_args *args, void *params);
    /* Operands of which only shape and type matter: bit k for input k. Their memory may be used for something else by
     * then. */
    uint32_t (*unread)(const artel__node *node);         /* optional: all are read */
    artel__in_place (*in_place)(const void *attributes); /* of ARTEL__PLACE_INPLACE; optional: input 0 by output 0 */
    /* Of one that writes: tasks touch elements of the variables that no other task touches, so replicas with common
     * variables share them out. With `piece`, task i reads elements [i piece, (i + 1) piece) of input `summed` and no
     * others. */
    bool divides;
    int summed;
    int64_t piece;
    /* Makes the params of a step on a whole variable those of elements [first, first + count), whose gradient lies at
     * `gradient`. Optional: steps on parts are not the step on the whole. */
    void (*part)(void *params, const float *gradient, int64_t first, int64_t count);
    size_t follow; /* offset of the artel__consumer in the params; 0: the kernels have none */
    /* Operands that kernels may be given as bfloat16 (artel__kernel.halves): bit k for input k, output k; `fill` says
     * which are. */
    uint32_t half_in, half_out;
    bool half_alike; /* all of these are, or none: elements are moved as they lie */
    uint32_t raw_in; /* the same of weights that kernels may be given before they are rounded */
    bool raw_alike;  /* input 0 may be that if what reads output 0 may: elements are moved as they lie */
    size_t narrow; /* offset of the artel_dtype to which the kernels round output 0; 0: the run rounds it behind them */
} artel__op_exec;

extern const artel__op_exec artel__no_exec; /* of views and collectives: no kernels, everything is read */

static inline const artel__op_exec *artel__node_exec(const artel__node *node)
{
    return node->op->exec ? node->op->exec : &artel__no_exec;
}

static inline artel__in_place artel__node_in_place(const artel__node *node)
{
    const artel__op_exec *exec = artel__node_exec(node);
    return exec->in_place ? exec->in_place(node->attributes) : (artel__in_place){0, 0};
}

/* The list of a node. */
static inline const artel__kernel *const *artel__node_kernels(const artel__graph *graph, const artel__node *node)
{
    const artel__op_exec *exec = artel__node_exec(node);
    const artel__kernel *const *chosen = exec->choose ? exec->choose(graph, node) : NULL;
    return chosen ? chosen : exec->kernels;
}

/* Whether the k-th operand of a node must still be in memory when it runs. */
static inline bool artel__node_reads(const artel__node *node, int k)
{
    const artel__op_exec *exec = artel__node_exec(node);
    return node->input[k] >= 0 && !(exec->unread && (exec->unread(node) >> k & 1));
}

#endif
