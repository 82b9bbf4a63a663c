/* SPDX-License-Identifier: Apache-2.0 */
/* Membership in groups as a value of the graph; spreading and picking are products with it, so that gradients come by
 * themselves. */
#include "nn/batch_groups.h"

#include "op/batch_rows.h"
#include "op/elementwise.h"
#include "op/op.h"
#include "op/reduce.h"
#include "op/shape_ops.h"

/* `x` with the extents [a][b] in its last axes and 1 before them. */
static artel__value_id as_matrix(artel__graph *graph, artel__value_id x, int64_t a, int64_t b)
{
    artel_shape shape = artel__shape(2, a, b);
    return artel__op_reshape(graph, x, &shape);
}

static int64_t last_extent(const artel__graph *graph, artel__value_id x)
{
    const artel_shape *shape = &graph->value[x].shape;
    return shape->dim[shape->rank - 1];
}

artel__value_id artel__group_sums(artel__graph *graph, artel__value_id member, artel__value_id x)
{
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    int rank = graph->value[x].shape.rank;
    if (rank > 1) x = artel__op_reduce(graph, ARTEL__REDUCE_SUM, x, (1u << (rank - 1)) - 1u, false);
    if (member >= 0 && x >= 0) {
        artel__value_id column = as_matrix(graph, member, last_extent(graph, member), 1);
        x = artel__op_binary(graph, ARTEL__BINARY_MUL, column, as_matrix(graph, x, 1, last_extent(graph, x)));
    }
    return artel__op_batch_sums(graph, x);
}

artel__value_id artel__group_rows(artel__graph *graph, artel__value_id member, artel__value_id sums, int rank)
{
    if (graph->status < 0 || sums < 0 || member < 0) return sums;
    artel__value_id column = as_matrix(graph, member, last_extent(graph, member), 1);
    artel__value_id own =
        artel__op_reduce(graph, ARTEL__REDUCE_SUM, artel__op_binary(graph, ARTEL__BINARY_MUL, column, sums), 1u, false);
    if (graph->status < 0) return ARTEL__NO_VALUE;
    artel_shape shape = {.rank = rank};
    for (int d = 0; d < rank - 1; d++) shape.dim[d] = 1;
    shape.dim[rank - 1] = last_extent(graph, own);
    return artel__op_reshape(graph, own, &shape);
}
