/* SPDX-License-Identifier: Apache-2.0 */
/* What an operation is: the table every file of the op room fills in.
 *
 * A definition has two halves. This one is the meaning: shapes, gradient, cost, and how the operation is written into a
 * program of a device. The other, graph/op_exec.h, is how kernels of this machine carry it out.
 */
#ifndef ARTEL_GRAPH_OP_DEF_H
#define ARTEL_GRAPH_OP_DEF_H

#include "graph/graph.h"

#define ARTEL__MAX_OPERANDS 32 /* inputs or outputs of a node; concatenations and sums of more are chained */

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
    /* Values made before the node that its result depends on although it does not read them, and their gradients: of
     * what a gradient reads in the form that its operation has kept (op/second_recurrent.c). */
    artel__value_id also[8], also_gradient[8];
    int alsos;
} artel__gradient;

/* How an output's bytes relate to input 0. */
typedef enum artel__placement {
    ARTEL__PLACE_OWN,     /* a buffer of its own */
    ARTEL__PLACE_INPLACE, /* may overwrite an input (artel__op_exec.in_place) when nobody needs that afterwards (same
                             size) */
    ARTEL__PLACE_VIEW,    /* is input 0 under another shape; nothing runs */
    ARTEL__PLACE_VIEW_WRITTEN /* is input 0, of which a part is written; nobody else may use input 0 */
} artel__placement;

typedef enum artel__collective {
    ARTEL__COLLECTIVE_NONE,
    ARTEL__COLLECTIVE_SUM,     /* NODES -> GLOBAL: finishes the tree of sums */
    ARTEL__COLLECTIVE_MOMENTS, /* NODES -> GLOBAL: merges (count, mean, M2) blocks, float64 */
    ARTEL__COLLECTIVE_MAX,
    ARTEL__COLLECTIVE_GATHER /* ROW -> BATCH: all rows to everyone, in order */
} artel__collective;

struct artel__lower;   /* graph/lower.h: a node on its way into a program of a device */
struct artel__op_exec; /* graph/op_exec.h */

typedef struct artel__op_def {
    const char *name;
    const char *doc; /* one sentence; formula, shapes and numerics stand in the file's head comment */
    size_t attribute_size;
    artel__placement placement;
    artel__collective collective;
    artel_status (*infer)(artel__infer *infer);
    artel_status (*grad)(artel__gradient *gradient); /* NULL: not differentiable */
    int64_t (*cost)(const artel__graph *graph,
                    const artel__node *node); /* floating-point operations a row (ROW) or in all; NULL: elements */
    void (*describe)(const artel__node *node, artel__text *out); /* attributes for the dump; optional */
    /* Writes what the node computes for the rows of one shard into a program of a device; NULL: devices refuse the
     * operation. */
    void (*lower)(struct artel__lower *lower);
    /* Whether every element of the results is an element of an input, or 0 or 1: 16-bit inputs need no rounding.
     * Optional: it is not. */
    bool (*moves)(const void *attributes);
    bool writes; /* input 0 (and inputs 1 .. `written` - 1) are variables written in place: APPLY only, never removed */
    int written;
    const struct artel__op_exec *exec; /* NULL: views and collectives */
} artel__op_def;

#endif
