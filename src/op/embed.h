/* SPDX-License-Identifier: Apache-2.0 */
/* Embedding, and the gradient of its table as rows. */
#ifndef ARTEL_OP_EMBED_H
#define ARTEL_OP_EMBED_H

#include "kernel/occurrence.h"
#include "op/op.h"

/* table[indices]; indices ROW int32 of any row shape; the result has one more axis. An index outside the table is a
 * fault that ends the step. */
artel__value_id artel__op_embedding(artel__graph *graph, artel__value_id table, artel__value_id indices);

/* For a gradient that comes from embeddings alone: the sum over the occurrences of each token of their squares, or of
 * their sizes. Keras' TensorFlow backend squares IndexedSlices before it adds equal rows, so its optimizers and norms
 * see this and not the square of the gradient. ARTEL__NO_VALUE for every other gradient. */
artel__value_id artel__op_embedding_occurrences(artel__graph *graph, artel__value_id gradient, artel__occurrence of);
/* For the same gradients: the sum over the occurrences, each clipped to -limit .. limit, as Keras clips IndexedSlices
 * by value. */
artel__value_id artel__op_embedding_clip(artel__graph *graph, artel__value_id gradient, double limit);

/* The gradient of a table as rows, the same on all replicas. rows[k] (BATCH, as many as a batch has indices) belongs to
 * row token[k] of the table, k < count; each token is there once, and every row that is not there has the gradient 0.
 */
typedef struct artel__embedding_rows {
    artel__value_id rows, squares; /* squares: `beside` of the occurrences, as above; ARTEL__NO_VALUE for ITSELF */
    artel__value_id token, count;  /* int32 */
} artel__embedding_rows;

/* Makes the rows of a table's gradient, which are then used in its place: same bits, and nothing of the table's size is
 * computed, kept or exchanged. All-gathers go to the phase of the moment, what is computed from them to APPLY. NULL, or
 * why the gradient has to be used as it is (a constant text); `out` is untouched then. */
const char *artel__op_embedding_rows(artel__graph *graph, artel__value_id gradient, artel__occurrence beside,
                                     artel__embedding_rows *out);
/* For who fetches the rows of a table before a batch is computed with them. The index of the one embedding that reads
 * `table`, a variable's value, if nothing else reads the table and the index follows from what is fed alone; else
 * ARTEL__NO_VALUE, and *why says so (a constant text). The tokens of that index, of the whole batch, go to token and
 * count of `out`. */
artel__value_id artel__op_embedding_index(const artel__graph *graph, artel__value_id table, const char **why);
void artel__op_embedding_tokens(artel__graph *graph, artel__value_id table, artel__value_id index,
                                artel__embedding_rows *out);
/* Notes for the dump why the gradients of tables that `gradient` is made of have the tables' size. `why` is kept by
 * reference. */
void artel__op_embedding_explain(artel__graph *graph, artel__value_id gradient, const char *why);

#endif
