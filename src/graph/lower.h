/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes of a graph as programs of a device: artel__op_def.lower writes a node for the rows of one shard.
 *
 * ROW values have the rows in front of their shape; GLOBAL values and the leaf of a fold have their own shape alone. All layouts are plain:
 * panels are a form of this machine's memory only. What an operation cannot write it refuses by name, and the others go on, so that
 * all are told at once.
 */
#ifndef ARTEL_GRAPH_LOWER_H
#define ARTEL_GRAPH_LOWER_H

#include "graph/hlo.h"
#include "graph/op_def.h"

typedef struct artel__lower {
    const artel__graph *graph;
    const artel__node *node;
    const void *attributes;
    artel__hlo *hlo;
    int64_t rows;
    artel__hlo_value in[ARTEL__MAX_OPERANDS]; /* -1: absent */
    artel__hlo_value out[ARTEL__MAX_OPERANDS];
    artel__text *refused; /* names, with commas */
} artel__lower;

/* The type of a value of the graph in a program for `rows` rows. */
artel__hlo_type artel__lower_type(const artel__graph *graph, artel__value_id id, int64_t rows);
/* That of output `k`. */
artel__hlo_type artel__lower_out_type(const artel__lower *lower, int k);
/* Says that the node cannot be written; each name is told once. Its outputs stay -1, and what reads them is not written. */
void artel__lower_refuse(artel__lower *lower, const char *detail);

/* The whole sealed graph as one program for one shard of `rows` rows: arguments are the inputs, then the variables it reads, in order;
 * results what is kept. Errors: UNSUPPORTED, which names every operation that devices refuse. */
artel_status artel__lower_graph(const artel__graph *graph, int64_t rows, artel__text *out);

#endif
