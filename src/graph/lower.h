/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes of a graph as programs of a device: artel__op_def.lower writes a node for the rows of one shard.
 *
 * ROW values have the rows in front of their shape, BATCH values those of the global batch; GLOBAL values and the leaf
 * of a fold (NODES) have their own shape alone. All layouts are plain: panels are a form of this machine's memory only,
 * so a value with panels is its matrix of shape.dim, and a variable its Keras shape. What an operation cannot write it
 * refuses by name, and the others go on, so that all are told at once.
 *
 * A value that is rounded to 16 bits is rounded behind its node by whoever writes the program. A node that writes
 * (op->writes) says what its operands become.
 */
#ifndef ARTEL_GRAPH_LOWER_H
#define ARTEL_GRAPH_LOWER_H

#include "graph/hlo.h"
#include "graph/op_def.h"

/* A number that the host knows at each step: a field of the params that the node's `fill` (graph/op_exec.h) writes. */
typedef struct artel__lower_scalar {
    int32_t node;
    uint32_t offset; /* of the field; ARTEL__LOWER_TURN: whether the step is the last of the node's period */
    artel_dtype dtype;
} artel__lower_scalar;

#define ARTEL__LOWER_TURN UINT32_MAX

typedef struct artel__lower_program artel__lower_program; /* the program that is being written */

typedef struct artel__lower {
    const artel__graph *graph;
    const artel__node *node;
    const void *attributes;
    artel__hlo *hlo;
    int64_t rows;                             /* of the shard */
    artel__hlo_value in[ARTEL__MAX_OPERANDS]; /* -1: absent */
    artel__hlo_value out[ARTEL__MAX_OPERANDS];
    artel__hlo_value written[ARTEL__MAX_OPERANDS]; /* what input k becomes; -1: it stays. In its own type */
    artel__lower_program *program;
} artel__lower;

/* The type of a value of the graph in a program for `rows` rows of `batch`. */
artel__hlo_type artel__lower_type(const artel__graph *graph, artel__value_id id, int64_t rows, int64_t batch);
/* That of output `k`, of input `k`. */
artel__hlo_type artel__lower_out_type(const artel__lower *lower, int k);
artel__hlo_type artel__lower_in_type(const artel__lower *lower, int k);
/* Rows of the global batch: whoever asks gets a program for each. artel__lower_scalar_of is better where a number does.
 */
int64_t artel__lower_batch(const artel__lower *lower);
/* Says that the node cannot be written; each name is told once. Its outputs stay -1, and what reads them is not
 * written. `detail`: which of its forms; "": all. */
void artel__lower_refuse(artel__lower *lower, const char *detail);
/* A scalar that changes with the step or the shard: the field at `offset` in the params which `fill` writes on the
 * host, of that dtype (FLOAT32, FLOAT64, INT32, INT64, UINT32, UINT64, BOOL). `fill` sees the rows of the shard and no
 * arrays. */
artel__hlo_value artel__lower_scalar_of(artel__lower *lower, size_t offset, artel_dtype dtype);
/* The node has met a fault in the rows where `bad` (BOOL, rows in front) is true: the first of them is told, with its
 * `value` (INT64 of the same shape). */
void artel__lower_fault_in(artel__lower *lower, artel__hlo_value bad, artel__hlo_value value);
/* Whether convolutions of bfloat16 numbers may round their results to bfloat16. */
bool artel__lower_halves(const artel__lower *lower);
/* Whether operands `a` and `b` of a product hold nothing but bfloat16 or float16 numbers: that type; else FLOAT32. */
artel_dtype artel__lower_held(const artel__lower *lower, int a, int b);

/* -- programs -- */

/* A value of the graph, or ARTEL__NO_VALUE with `scalars`: an INT64 vector, word i of which is the bits of scalar i. */
typedef struct artel__lower_request {
    const artel__graph *graph;
    const int32_t *node; /* in order */
    int nodes;
    const artel__value_id *in, *out; /* arguments and results; a variable among `out` is what it has become */
    int ins, outs;
    const bool *given; /* by argument: its memory may be used for the results; NULL: none */
    int64_t rows, batch;
    const char *precision; /* of products: as artel__hlo.precision; NULL: HIGHEST */
    bool narrow;           /* as artel__hlo.narrow */
    bool half;   /* what holds 16-bit numbers may be stored as such, and convolutions of bfloat16 numbers give bfloat16
                    numbers */
    bool scan;   /* look for what is not finite */
    bool single; /* the device has no float64 of its own: what a graph computes in that type is refused */
} artel__lower_request;

/* What else a program takes and gives: with scalars, one more argument behind the others, INT64 [scalars]; with faults,
 * one more result behind the others, INT64 [faults][2]: row in the shard (INT64_MAX: none), value; by fault the node.
 * All in the arena. */
typedef struct artel__lowered {
    artel__lower_scalar *scalar;
    int scalars;
    int32_t *fault;
    int faults;
    int32_t *scanned; /* by row of the last result, INT64 [scans][3]: the node; in the row: the first and the last row
                         of the shard whose output has a number that is not finite (INT64_MAX, -1: none; 0, 0 in values
                         without rows), and its bits as float64 */
    int scans;
    bool by_batch;       /* it is another program for another batch */
    const char *refused; /* names, with commas; NULL: none */
} artel__lowered;

/* Writes one program. What cannot be written is no error: `out` says so, and `text` is empty then. Errors: NO_MEMORY,
 * INTERNAL. */
artel_status artel__lower_write(const artel__lower_request *request, artel__arena *arena, artel__text *text,
                                artel__lowered *out);

/* The whole sealed graph as one program for one shard of `rows` rows, which are the batch: arguments are the inputs,
 * then the variables it reads, in order; results what is kept, then what these variables have become. Collectives hand
 * the leaf on. Errors: UNSUPPORTED, which names every operation that devices refuse. */
artel_status artel__lower_graph(const artel__graph *graph, int64_t rows, artel__arena *arena, artel__text *text,
                                artel__lowered *out);

#endif
