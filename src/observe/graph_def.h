/* SPDX-License-Identifier: Apache-2.0 */
/* A graph of operations as TensorBoard's page "Graphs" draws it: TensorFlow's GraphDef, node by node.
 *
 * Names with slashes are boxes in boxes. A name may be given several times and hold any character: what the page
 * refuses becomes '_', and a number is put behind names that are taken. Format: tensorflow/core/framework/graph.proto,
 * node_def.proto, attr_value.proto.
 */
#ifndef ARTEL_OBSERVE_GRAPH_DEF_H
#define ARTEL_OBSERVE_GRAPH_DEF_H

#include "base/names.h"
#include "base/text.h"
#include "tensor/shape.h"

typedef struct artel__graph_def {
    artel__arena arena; /* names given */
    const char **name;
    int nodes, capacity;
    artel__names taken;
    artel__text bytes, node, attribute, value, shape, part; /* the message, and what is being built of it */
    artel_status status;                                    /* of the first failure; later calls do nothing */
} artel__graph_def;

/* A result of a node that was added: its number, and which of its results. */
typedef struct artel__graph_edge {
    int node, output;
} artel__graph_edge;

typedef struct artel__graph_node {
    const char *scope, *op; /* its name is scope/op; an op alone without a scope */
    const artel__graph_edge *input;
    int inputs;
    artel_dtype dtype;
    const artel_shape *shape; /* of the first result; an extent below 0 is any; NULL: not known */
    const char *settings;     /* of the operation, as text; NULL: none */
} artel__graph_node;

void artel__graph_def_init(artel__graph_def *graph, artel_context *ctx);
void artel__graph_def_fini(artel__graph_def *graph);
/* Returns the number of the node; after a failure -1. */
int artel__graph_def_add(artel__graph_def *graph, const artel__graph_node *node);
/* The message, valid until the next call. Adds nothing after this. */
artel_status artel__graph_def_end(artel__graph_def *graph, const artel__text **out);

#endif
