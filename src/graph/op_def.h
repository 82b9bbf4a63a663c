/* SPDX-License-Identifier: Apache-2.0 */
/* What an operation is: the table every file of the op room fills in.
 *
 * Most operations are one kernel: `kernels` is its ordered list (kernel/kernel.h) and `fill` writes the kernel's plain
 * parameter struct from the run arguments. Views copy nothing; collectives are carried out by the run's comm.
 */
#ifndef ARTEL_GRAPH_OP_DEF_H
#define ARTEL_GRAPH_OP_DEF_H

#include "base/rng.h"
#include "graph/graph.h"
#include "kernel/fold.h"
#include "kernel/kernel.h"

#define ARTEL__MAX_PARAMS 1024 /* bytes of the largest kernel parameter struct */
#define ARTEL__MAX_OPERANDS 32 /* inputs or outputs of a node; concatenations and sums of more are chained */

/* The facts of one step that kernels may depend on; the same on all replicas but for `fold`. */
typedef struct artel__step {
    const artel__fold_plan *fold; /* the rows of this replica */
    uint64_t seed;
    uint64_t batch;       /* batches consumed before this one: part of the random counter */
    int64_t iteration;    /* optimizer steps before this one */
    double learning_rate; /* of this step, from the schedule */
    bool training;
} artel__step;

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
    artel__fault *fault;
    artel__isa isa;
} artel__run_args;

/* Shape inference: reads inputs, fills outputs. */
typedef struct artel__infer {
    artel__graph *graph;
    const struct artel__op_def *op;
    const void *attributes;
    int inputs;
    const artel__value *in[ARTEL__MAX_OPERANDS]; /* NULL: absent */
    int outputs;
    artel__value out[ARTEL__MAX_OPERANDS]; /* domain, dtype, shape */
} artel__infer;

/* Differentiation of one node: given the gradients of its outputs (ARTEL__NO_VALUE: none), adds nodes and fills the
 * gradients of the inputs that are needed. */
typedef struct artel__gradient {
    artel__graph *graph;
    int32_t node;
    artel__value_id in[ARTEL__MAX_OPERANDS], out[ARTEL__MAX_OPERANDS];
    artel__value_id out_gradient[ARTEL__MAX_OPERANDS];
    bool needed[ARTEL__MAX_OPERANDS];
    artel__value_id in_gradient[ARTEL__MAX_OPERANDS]; /* ARTEL__NO_VALUE on entry */
    const void *attributes;
} artel__gradient;

/* How an output's bytes relate to input 0. */
typedef enum artel__placement {
    ARTEL__PLACE_OWN,         /* a buffer of its own */
    ARTEL__PLACE_INPLACE,     /* may overwrite input 0 (see `in_place`) when nobody needs that afterwards (same size) */
    ARTEL__PLACE_VIEW,        /* is input 0 under another shape; nothing runs */
    ARTEL__PLACE_VIEW_WRITTEN /* is input 0, of which a part is written; nobody else may use input 0 */
} artel__placement;

/* The input that a node may overwrite, -1 for none, and the output that does. */
typedef struct artel__in_place {
    int input, output;
} artel__in_place;

typedef enum artel__collective {
    ARTEL__COLLECTIVE_NONE,
    ARTEL__COLLECTIVE_SUM,     /* NODES -> GLOBAL: finishes the tree of sums */
    ARTEL__COLLECTIVE_MOMENTS, /* NODES -> GLOBAL: merges (count, mean, M2) blocks, float64 */
    ARTEL__COLLECTIVE_MAX,
    ARTEL__COLLECTIVE_GATHER /* ROW -> BATCH: all rows to everyone, in order */
} artel__collective;

struct artel__lower; /* graph/lower.h: a node on its way into a program of a device */

typedef struct artel__op_def {
    const char *name;
    const char *doc; /* one sentence; formula, shapes and numerics stand in the file's head comment */
    size_t attribute_size;
    artel__placement placement;
    artel__collective collective;
    artel_status (*infer)(artel__infer *infer);
    artel_status (*grad)(artel__gradient *gradient);                /* NULL: not differentiable */
    const artel__kernel *const *kernels;                            /* NULL: views and collectives */
    const artel__kernel *const *(*choose)(const artel__node *node); /* instead of `kernels`: a list by attribute */
    size_t params_size;
    void (*fill)(const artel__run_args *args, void *params);
    int64_t (*cost)(const artel__graph *graph,
                    const artel__node *node);                    /* floating-point operations a row (ROW) or in all; NULL: elements */
    void (*describe)(const artel__node *node, artel__text *out); /* attributes for the dump; optional */
    /* Writes what the node computes for the rows of one shard into a program of a device; NULL: devices refuse the operation. */
    void (*lower)(struct artel__lower *lower);
    /* Operands of which only shape and type matter: bit k for input k. Their memory may be used for something else by then. */
    uint32_t (*unread)(const artel__node *node);         /* optional: all are read */
    artel__in_place (*in_place)(const void *attributes); /* of ARTEL__PLACE_INPLACE; optional: input 0 by output 0 */
    /* Whether every element of the results is an element of an input, or 0 or 1: 16-bit inputs need no rounding. Optional: it is not. */
    bool (*moves)(const void *attributes);
    bool writes; /* input 0 (and inputs 1 .. `written` - 1) are variables written in place: APPLY only, never removed */
    int written;
    /* Of one that writes: tasks touch elements of the variables that no other task touches, so replicas with common variables share them
     * out. With `piece`, task i reads elements [i piece, (i + 1) piece) of input `summed` and no others. */
    bool divides;
    int summed;
    int64_t piece;
    /* Makes the params of a step on a whole variable those of elements [first, first + count), whose gradient lies at `gradient`.
     * Optional: steps on parts are not the step on the whole. */
    void (*part)(void *params, const float *gradient, int64_t first, int64_t count);
    size_t follow; /* offset of the artel__consumer in the params; 0: the kernels have none */
    size_t narrow; /* offset of the artel_dtype to which the kernels round output 0; 0: the run rounds it behind them */
} artel__op_def;

static inline artel__in_place artel__node_in_place(const artel__node *node)
{
    return node->op->in_place ? node->op->in_place(node->attributes) : (artel__in_place){0, 0};
}

/* Whether the k-th operand of a node must still be in memory when it runs. */
static inline bool artel__node_reads(const artel__node *node, int k)
{
    return node->input[k] >= 0 && !(node->op->unread && (node->op->unread(node) >> k & 1));
}

#endif
