/* SPDX-License-Identifier: Apache-2.0 */
/* What optimizers that see a variable as a matrix (matrix_optimizers.list) have in common.
 *
 * Their steps are operations of the APPLY phase. They look at lines and columns, so gradient and variable are taken out
 * of their panels first, and what they become is put back. Means and products are those of the layers: the same bits on
 * any number of replicas and threads.
 */
#ifndef ARTEL_NN_OPTIMIZER_MATRIX_H
#define ARTEL_NN_OPTIMIZER_MATRIX_H

#include "nn/layer_ops_formula.h"
#include "nn/optimizer_table.h"

static inline artel__value_id multiply(artel__graph *graph, artel__value_id a, artel__value_id b)
{
    return binary(graph, ARTEL__BINARY_MUL, a, b);
}

static inline artel__value_id divide(artel__graph *graph, artel__value_id a, artel__value_id b)
{
    return binary(graph, ARTEL__BINARY_DIV, a, b);
}

/* A float64 [1] as a scalar of the variable's type. */
artel__value_id artel__matrix_scalar(artel__graph *graph, artel__value_id x);
/* w - w * decay * rate */
artel__value_id artel__matrix_decayed(artel__graph *graph, artel__value_id w, double decay);
/* What a variable or slot becomes; `rows` of the variable. */
void artel__matrix_write_back(artel__graph *graph, artel__value_id variable, artel__value_id x, int64_t rows);
/* The step on one variable. `gradient` is as it comes, the rest of `o` as of the usual step, `squares` being those of a
 * table's gradient (artel__op_embedding_occurrences) or none. */
void artel__matrix_step(const artel__optimizer *optimizer, artel__graph *graph, const artel__variable *variable,
                        const artel__optimize *o, artel__value_id gradient);

#endif
