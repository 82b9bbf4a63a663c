/* SPDX-License-Identifier: Apache-2.0 */
/* Membership in groups as a value of the graph; spreading and picking are products with it, so that gradients come by themselves. */
#include "nn/batch_groups.h"

#include <string.h>

#include "graph/op_def.h"
#include "kernel/fold.h"
#include "op/elementwise.h"
#include "op/op.h"
#include "op/reduce.h"
#include "op/shape_ops.h"

/* -- membership: no inputs, ROW float32 [groups] -- */

typedef struct membership {
    const artel__fold_plan *fold;
    int32_t groups; /* divides fold->shards */
    float *out;
} membership;

typedef struct groups_attributes {
    int32_t groups;
} groups_attributes;

/* A task is an owned shard. */
static int64_t membership_tasks(const void *params)
{
    return ((const membership *)params)->fold->count;
}

static void membership_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const membership *p = params;
    const artel__fold_plan *fold = p->fold;
    int32_t width = fold->shards / p->groups;
    (void)scratch;
    for (int64_t shard = begin; shard < end; shard++) {
        int64_t group = (fold->first + shard) / width;
        for (int64_t row = fold->start[shard]; row < fold->start[shard + 1]; row++)
            for (int64_t g = 0; g < p->groups; g++) p->out[row * p->groups + g] = g == group ? 1.0f : 0.0f;
    }
}

static const artel__kernel membership_kernel = {
    .name = "ref batch_groups", .isa = ARTEL__ISA_BASELINE, .tasks = membership_tasks, .run = membership_run};
static const artel__kernel *const membership_kernels[] = {&membership_kernel, NULL};

static artel_status infer_membership(artel__infer *infer)
{
    const groups_attributes *a = infer->attributes;
    artel_shape shape = artel__shape(1, (int64_t)a->groups);
    artel__infer_output(infer, 0, ARTEL__DOMAIN_ROW, ARTEL_DTYPE_FLOAT32, &shape);
    return ARTEL_OK;
}

static void fill_membership(const artel__run_args *args, void *params)
{
    const groups_attributes *a = args->attributes;
    *(membership *)params = (membership){args->step->fold, a->groups, args->out[0]};
}

static const artel__op_def membership_def = {
    .name = "batch_groups",
    .doc = "To which group of shards a row belongs.",
    .attribute_size = sizeof(groups_attributes),
    .infer = infer_membership,
    .kernels = membership_kernels,
    .params_size = sizeof(membership),
    .fill = fill_membership,
};

artel__value_id artel__batch_groups(artel__graph *graph, int groups)
{
    groups_attributes attributes = {groups};
    return artel__graph_add(graph, &membership_def, &attributes, NULL, 0);
}

/* -- a sum over the global batch that has a gradient: ROW -> GLOBAL -- */

static artel_status infer_batch_sum(artel__infer *infer)
{
    artel__infer_output(infer, 0, ARTEL__DOMAIN_GLOBAL, ARTEL_DTYPE_FLOAT32, &infer->in[0]->shape);
    return ARTEL_OK;
}

/* Every row contributed once: each gets the gradient of the sum. */
static artel_status grad_batch_sum(artel__gradient *g)
{
    if (!g->needed[1]) return ARTEL_OK;
    artel__value_id zeros = artel__op_fill_like(g->graph, g->in[1], 0);
    g->in_gradient[1] = artel__op_add(g->graph, zeros, g->out_gradient[0]);
    return ARTEL_OK;
}

/* Inputs: the finished sum, of which this is a view, and what was summed. */
static const artel__op_def batch_sum_def = {
    .name = "batch_sum",
    .doc = "A sum over the rows of the global batch, with its gradient.",
    .placement = ARTEL__PLACE_VIEW,
    .infer = infer_batch_sum,
    .grad = grad_batch_sum,
};

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
    artel__value_id sum = artel__op_all_reduce(graph, artel__op_fold_sum(graph, x));
    return artel__graph_add(graph, &batch_sum_def, NULL, (artel__value_id[]){sum, x}, 2);
}

artel__value_id artel__group_rows(artel__graph *graph, artel__value_id member, artel__value_id sums, int rank)
{
    if (graph->status < 0 || sums < 0 || member < 0) return sums;
    artel__value_id column = as_matrix(graph, member, last_extent(graph, member), 1);
    artel__value_id own = artel__op_reduce(graph, ARTEL__REDUCE_SUM, artel__op_binary(graph, ARTEL__BINARY_MUL, column, sums), 1u, false);
    if (graph->status < 0) return ARTEL__NO_VALUE;
    artel_shape shape = {.rank = rank};
    for (int d = 0; d < rank - 1; d++) shape.dim[d] = 1;
    shape.dim[rank - 1] = last_extent(graph, own);
    return artel__op_reshape(graph, own, &shape);
}
