/* SPDX-License-Identifier: Apache-2.0 */
/* The graph of one step: values, nodes, variables. Built once, sealed, then shared read-only by plans and runs.
 *
 * A value lives in one of four domains. ROW: one entry for each row of the batch this replica owns; its shape leaves
 * the batch axis out. NODES: one block for each maximal fold node this replica owns (kernel/fold.h); only folds make
 * them and only all-reduce takes them. GLOBAL: the same bits on every replica: parameters, all-reduced values and what
 * is computed from these alone. BATCH: likewise, but with one entry for each row of the whole global batch; only
 * all-gather makes them, of rows, and what is computed from its results.
 *
 * Mixed precision: 16-bit tensors are float32 values of which each is one that the 16-bit type holds, whichever way
 * they are stored. A node added while graph->precision is such a type computes in float32, and its first ROW result is
 * rounded once. GLOBAL and NODES results stay float32: statistics, folds. The gradient of a value has the precision of
 * the value.
 *
 * A builder is single-threaded. Nodes are numbered in the order of creation, which is also the order of execution, so a
 * node may only use values that exist already. (The recomputation pass puts nodes in between, whose values come last.)
 * A sealed graph is immutable and may be used from any thread.
 */
#ifndef ARTEL_GRAPH_GRAPH_H
#define ARTEL_GRAPH_GRAPH_H

#include "base/arena.h"
#include "base/text.h"
#include "tensor/shape.h"

typedef enum artel__domain {
    ARTEL__DOMAIN_ROW,
    ARTEL__DOMAIN_NODES,
    ARTEL__DOMAIN_GLOBAL,
    ARTEL__DOMAIN_BATCH
} artel__domain;

/* Which part of the step a node belongs to. Only APPLY nodes write variables. */
typedef enum artel__phase {
    ARTEL__PHASE_FORWARD,
    ARTEL__PHASE_BACKWARD,
    ARTEL__PHASE_APPLY
} artel__phase;

typedef int32_t artel__value_id; /* index of a value in its graph; ARTEL__NO_VALUE for none */
#define ARTEL__NO_VALUE (-1)

struct artel__op_def;
struct artel__ahead; /* nn/ahead.h */

/* How the elements of a variable are laid out in memory; files always hold the plain form. */
typedef enum artel__layout {
    ARTEL__LAYOUT_PLAIN, /* row-major */
    ARTEL__LAYOUT_PANELS /* a [rows][columns] matrix as panels of 32 columns; see kernel/product.h */
} artel__layout;

typedef struct artel__value {
    artel__domain domain;
    artel_dtype dtype;
    artel_dtype precision; /* of a float32 value: FLOAT16 or BFLOAT16 when each element is one that this type holds;
                              else FLOAT32 */
    bool rounds;           /* the run rounds it to its precision once its node has computed it */
    artel_shape shape;     /* of one row, one node block, or the whole value */
    int64_t storage;       /* elements in memory of the same, layout padding included; set from the shape when 0 */
    artel__layout layout;  /* of parameters and what has their form */
    int32_t node;          /* the producer; -1 for inputs and variables */
    int32_t variable;      /* index into the variable table, or -1 */
    int32_t input;         /* index of the fed input, or -1 */
} artel__value;

typedef struct artel__node {
    const struct artel__op_def *op;
    const void *attributes; /* the op's own struct, in the graph's arena; NULL when it has none */
    const char *name;       /* path of the layer that asked for it, for messages, profiles and dumps */
    artel__phase phase;
    bool gated;            /* APPLY: passed over when the graph's gate is not finite */
    int64_t period;        /* APPLY: run only in the last of so many steps; 1: in each */
    int optimizer;         /* whose iterations and rate it reads (artel__step.others); 0: those of the step itself */
    artel_dtype precision; /* graph->precision when it was added; its gradient is computed in the same */
    bool again;            /* repeats a forward node whose result was dropped (recompute.h) */
    int inputs, outputs;
    artel__value_id *input, *output;
} artel__node;

typedef enum artel__variable_kind {
    ARTEL__VARIABLE_TRAINABLE,     /* changed by the optimizer */
    ARTEL__VARIABLE_NON_TRAINABLE, /* moving statistics, frozen weights */
    ARTEL__VARIABLE_SLOT,          /* state of the optimizer */
    ARTEL__VARIABLE_ROW_STATE      /* state of stateful layers */
} artel__variable_kind;

typedef struct artel__variable {
    const char *name; /* "dense/kernel": unique, Keras' path */
    artel__variable_kind kind;
    artel_dtype dtype; /* in the plain form: that of files */
    artel_shape shape; /* the plain, Keras shape */
    artel__layout layout;
    int64_t rows, columns; /* of the matrix that products read; rows 0: none */
    int64_t count;         /* elements in memory, padding included */
    size_t offset;         /* bytes from the start of the state block, 64-byte aligned */
} artel__variable;

/* Whether a variable is of a 16-bit floating type. It lies in memory, and is a value of graphs, as float32 that this
 * type holds. */
static inline bool artel__variable_narrow(const artel__variable *variable)
{
    return variable->dtype == ARTEL_DTYPE_FLOAT16 || variable->dtype == ARTEL_DTYPE_BFLOAT16;
}

/* The elements that stay together where it is cut: a row, or a block of norms where rows are not whole in memory. */
int64_t artel__variable_unit(const artel__variable *variable);

/* The dtype of the elements in memory, and of the value in graphs: float32 for floats of 16 bits, int32 for whole
 * numbers of 8 and 16 bits, int64 for uint32. */
static inline artel_dtype artel__variable_held(const artel__variable *variable)
{
    artel_dtype dtype = variable->dtype;
    if (dtype == ARTEL_DTYPE_INT8 || dtype == ARTEL_DTYPE_INT16 || dtype == ARTEL_DTYPE_UINT8 ||
        dtype == ARTEL_DTYPE_UINT16)
        return ARTEL_DTYPE_INT32;
    if (dtype == ARTEL_DTYPE_UINT32) return ARTEL_DTYPE_INT64;
    return artel__variable_narrow(variable) ? ARTEL_DTYPE_FLOAT32 : dtype;
}

/* Of the plain form. */
size_t artel__variable_bytes(const artel__variable *variable);

/* The variables of a model, shared by all its graphs. Append only until the first state block is made. */
typedef struct artel__variables {
    artel__arena *arena;
    artel__variable *item;
    int count, capacity;
    size_t bytes; /* of a state block */
} artel__variables;

void artel__variables_init(artel__variables *variables, artel__arena *arena);
/* Declares a variable and returns its index, or a negative status. `rows` > 0 asks for panels of [rows][columns], which
 * float64 has not. */
int artel__variables_add(artel__variables *variables, const char *name, artel__variable_kind kind, artel_dtype dtype,
                         const artel_shape *shape, int64_t rows);

/* Of a variable, and of a value in one row: products of it with other sizes stay counts. */
#define ARTEL__MOST_ELEMENTS (INT64_C(1) << 40)

typedef struct artel__graph {
    artel__arena *arena;
    const artel__variables *variables;
    artel__value *value;
    int values, value_capacity;
    artel__node *node;
    int nodes, node_capacity;
    artel__value_id *variable_value; /* by variable: its value in this graph, or ARTEL__NO_VALUE */
    int variable_values;
    artel__value_id *stand_in; /* by variable: what is read in its place, or ARTEL__NO_VALUE (op/stand_in.h); NULL:
                                  nothing anywhere */
    int stand_ins;
    int variable_base; /* added to the numbers of variables: where those of the model that is being called begin; else 0
                        */
    artel__value_id *input; /* fed from outside, in order of declaration */
    int inputs, input_capacity;
    artel__value_id *kept; /* results that outlive the step (loss, metrics, predictions) */
    int kept_count, kept_capacity;
    artel__phase phase;    /* of the nodes being added */
    const char *scope;     /* name given to the nodes being added */
    artel_dtype precision; /* FLOAT16, BFLOAT16: what ROW results of the nodes being added are rounded to; FLOAT32: not
                              at all */
    artel_dtype
        real; /* what operations that are called by name make of numbers: FLOAT32, or FLOAT64 beside such operands */
    artel__arithmetic arithmetic; /* of products of two bfloat16 operands; set before the graph is used */
    bool gating;                  /* APPLY nodes being added are gated */
    int64_t period;               /* of the APPLY nodes being added */
    int optimizer;                /* of the nodes being added */
    artel__value_id extra; /* ROW float32 scalar: what layers add to the loss of a row; ARTEL__NO_VALUE: nothing */
    artel__value_id
        gate;            /* GLOBAL float64 scalar, computed before the APPLY phase; ARTEL__NO_VALUE: nothing is gated */
    bool training;       /* layers that differ between training and inference ask this */
    int64_t batch_size;  /* the most rows of a global batch; 0: not known */
    int batch_groups;    /* groups of shards with batch statistics of their own; 0 or 1: those of the global batch */
    int gradient_depth;  /* gradients of a program's operations that are being asked for, one within another */
    uint32_t random_ops; /* random operations so far: each gets its own number for the counter (base/rng.h) */
    struct artel__ahead *ahead; /* what is computed of the inputs before the graph sees them; NULL: nothing. Of interest
                                   while it is built */
    bool sealed;
    artel_status status; /* the first failure while building; every later call is a no-op */
} artel__graph;

/* `arena` carries everything and must outlive the graph. */
void artel__graph_init(artel__graph *graph, artel__arena *arena, const artel__variables *variables, bool training);
static inline artel_context *artel__graph_context(const artel__graph *graph)
{
    return graph->arena->ctx;
}

/* A value fed at every step (data): ROW or GLOBAL. */
artel__value_id artel__graph_input(artel__graph *graph, artel__domain domain, artel_dtype dtype,
                                   const artel_shape *shape);
/* The GLOBAL value of a variable; the same id at every call. */
artel__value_id artel__graph_variable(artel__graph *graph, int variable);
/* Keeps a value until the end of the step, so that it can be read; returns its index among the kept. */
int artel__graph_keep(artel__graph *graph, artel__value_id value);

/* Adds a node and infers its outputs. `attributes` is copied (op->attribute_size bytes); NULL leaves them zero.
 * Returns the first output, or ARTEL__NO_VALUE after a failure, which is recorded. Inputs of ARTEL__NO_VALUE stand
 * for absent optional ones; after a failed call every later one fails quietly. */
artel__value_id artel__graph_add(artel__graph *graph, const struct artel__op_def *op, const void *attributes,
                                 const artel__value_id *inputs, int count);
/* The n-th output of the node that made `value`. */
artel__value_id artel__graph_output(const artel__graph *graph, artel__value_id value, int n);

/* Reverse-mode differentiation. seeds[i] is the gradient of targets[i]. Adds BACKWARD nodes for everything between
 * the targets and the wanted values. Gradients that meet are added, with `add` (two operands), in the order in which
 * the forward graph uses the value; parameters used several times are added after their folds, which no distribution
 * of shards can change. out[i] is the gradient of wanted[i], or ARTEL__NO_VALUE when no target depends on it. */
typedef struct artel__differentiate {
    const struct artel__op_def *add;
    const struct artel__op_def
        *narrow; /* attribute: artel_dtype; rounds its input. Gradients of 16-bit values meet it */
    const artel__value_id *targets, *seeds;
    int target_count;
    const artel__value_id *wanted;
    int wanted_count;
} artel__differentiate;
artel_status artel__graph_differentiate(artel__graph *graph, const artel__differentiate *request, artel__value_id *out);

/* How many nodes use each value (kept values count once more); `uses` has graph->values entries. */
void artel__graph_count_uses(const artel__graph *graph, int32_t *uses);
/* Makes every user of `from` use `to` instead. */
void artel__graph_replace(artel__graph *graph, artel__value_id from, artel__value_id to);

/* Removes nodes whose results nobody uses. */
artel_status artel__graph_prune(artel__graph *graph);
/* Adds a value that a pass makes with its nodes; ARTEL__NO_VALUE after a failure. */
artel__value_id artel__graph_add_value(artel__graph *graph, const artel__value *value);
/* Removes nodes whose results nobody uses, then freezes the graph. Node numbers are final from here on. */
artel_status artel__graph_seal(artel__graph *graph);

/* Stable text, one line a node. */
void artel__graph_dump(const artel__graph *graph, artel__text *out);

#endif
