/* SPDX-License-Identifier: Apache-2.0 */
/* Embedding in programs of devices (op/embed.c). Sums over the positions of a token are taken along the sorted
 * positions, in an order that follows from their number: nothing is added where it lies. */
#ifndef ARTEL_OP_LOWER_EMBED_H
#define ARTEL_OP_LOWER_EMBED_H

#include "graph/lower.h"
#include "kernel/occurrence.h"

void artel__lower_embedding(artel__lower *lower);
/* Inputs: indices, what comes back; the table's gradient in one node. */
void artel__lower_lookup_gradient(artel__lower *lower);
void artel__lower_embedding_sort(artel__lower *lower, int64_t vocabulary);
void artel__lower_embedding_gradient(artel__lower *lower, artel__occurrence of);
void artel__lower_embedding_tokens(artel__lower *lower, int64_t vocabulary);
/* Rows behind the last one are 0. */
void artel__lower_embedding_rows(artel__lower *lower, artel__occurrence of);

#endif
