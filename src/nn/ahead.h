/* SPDX-License-Identifier: Apache-2.0 */
/* What is computed of a model's inputs before its graph sees them.
 *
 * Layers that make numbers of words and categories are functions of a row (text/row_function.h). Where all that such a
 * layer takes comes from the inputs by way of such functions alone, it is a step of the model's program
 * (text/program.h), which runs where rows are fetched: on the host, also with a device. No graph knows of strings.
 * Everywhere else the layer is an operation of the graph.
 *
 * The program is written down while the model is made, which builds a graph once. Every later graph of the model meets
 * the same calls in the same order and takes the results as they are fed. Without `graph->ahead` everything is an
 * operation, and strings are refused.
 */
#ifndef ARTEL_NN_AHEAD_H
#define ARTEL_NN_AHEAD_H

#include "nn/layer.h"
#include "text/program.h"

typedef struct artel__ahead {
    artel__program *program;
    artel__value_id *value; /* by value of the program: which one it is in this graph; ARTEL__NO_VALUE: none yet */
    int next;               /* step of the next call */
    bool recording;
} artel__ahead;

/* Writes the program down: the values of the inputs follow from artel__ahead_set. */
artel_status artel__ahead_record(artel__graph *graph, artel__program *program, artel__ahead *out);
/* Takes results of the program as they are fed. */
artel_status artel__ahead_replay(artel__graph *graph, const artel__program *program, artel__ahead *out);
static inline void artel__ahead_set(artel__ahead *ahead, int value, artel__value_id id)
{
    ahead->value[value] = id;
}
/* Marks the values of the program that the nodes of the recorded graph read, or that are its results, as delivered. */
artel_status artel__ahead_deliver(const artel__graph *graph, const artel__tensor *out, int outputs);
/* A value that stands for one that is not fed: only the program reads it. */
artel__value_id artel__ahead_stand_in(artel__graph *graph, artel_dtype dtype, const artel_shape *shape);
/* Fails when a node reads a stand-in. */
artel_status artel__ahead_check(const artel__graph *graph);

/* Calls a function of rows on all tensors of a call: the layer's result. */
artel_status artel__call_row_function(artel__layer *layer, artel__call *call, const artel__row_function *function,
                                      const void *settings);

#endif
