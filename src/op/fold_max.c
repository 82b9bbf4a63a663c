/* SPDX-License-Identifier: Apache-2.0 */
/* The greatest of all rows of the global batch, element by element.
 *
 *   fold_max   ROW [..] -> NODES [..], float32 or float64: the greatest of the rows of each node; of none: -infinity.
 * NaN is greater than all batch_max  a view of what the collective has made of it, with its gradient: shared out evenly
 * among the rows that are as great Leaves are normalised by + 0.0f, so zeros of both signs are one number and the order
 * in which nodes meet does not matter.
 */
#include <math.h>

#include "graph/lower.h"
#include "kernel/fold_tree.h"
#include "kernel/wide.h"
#include "op/elementwise.h"
#include "op/reduce.h"

typedef struct fold_max {
    const artel__fold_plan *fold;
    int64_t columns;
    const float *x;
    float *y;
} fold_max;

#define TILE 256 /* columns of a task */

static int64_t tiles(const fold_max *p)
{
    return (p->columns + TILE - 1) / TILE;
}

static int64_t fold_tasks(const void *params)
{
    const fold_max *p = params;
    return tiles(p) * p->fold->nodes;
}

static void fold_node(const fold_max *p, int node, int64_t first, int64_t count)
{
    const artel__fold_plan *fold = p->fold;
    float *most = p->y + node * p->columns + first;
    int64_t row = artel__fold_begin(fold, fold->node[node].first);
    int64_t end = artel__fold_end(fold, fold->node[node].first + fold->node[node].count - 1);
    for (int64_t c = 0; c < count; c++) most[c] = -INFINITY;
    for (; row < end; row++) {
        const float *x = p->x + row * p->columns + first;
        for (int64_t c = 0; c < count; c++) {
            float value = x[c] + 0.0f;
            most[c] = value > most[c] || value != value ? value : most[c];
        }
    }
}

static void fold_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const fold_max *p = params;
    (void)scratch;
    for (int64_t task = begin; task < end; task++) {
        int64_t first = task % tiles(p) * TILE, left = p->columns - first;
        fold_node(p, (int)(task / tiles(p)), first, left < TILE ? left : TILE);
    }
}

static const artel__kernel fold_kernel = {
    .name = "ref fold_max", .isa = ARTEL__ISA_BASELINE, .tasks = fold_tasks, .run = fold_run};
static const artel__kernel *const fold_kernels[] = {&fold_kernel, NULL};

static artel_status infer_fold_max(artel__infer *infer)
{
    const artel__value *x = infer->in[0];
    if (x->domain != ARTEL__DOMAIN_ROW || (x->dtype != ARTEL_DTYPE_FLOAT32 && x->dtype != ARTEL_DTYPE_FLOAT64))
        return artel__op_fail(infer, "the operand is not float32 by row");
    artel__infer_output(infer, 0, ARTEL__DOMAIN_NODES, x->dtype, &x->shape);
    return ARTEL_OK;
}

static void fill_fold_max(const artel__run_args *args, void *params)
{
    int64_t columns = artel__args_out(args, 0)->storage;
    if (artel__args_wide(args))
        *(artel__wide_fold_max *)params = (artel__wide_fold_max){args->step->fold, columns, args->in[0], args->out[0]};
    else
        *(fold_max *)params = (fold_max){args->step->fold, columns, args->in[0], args->out[0]};
}

static const artel__kernel *const *choose_fold_max(const artel__graph *graph, const artel__node *node)
{
    return artel__node_wide(graph, node, false) ? artel__wide_fold_max_kernels : NULL;
}

static void lower_fold_max(artel__lower *lower)
{
    artel__hlo *h = lower->hlo;
    lower->out[0] = artel__hlo_reduce(
        h, "maximum", -INFINITY, artel__hlo_binary(h, "add", lower->in[0], artel__hlo_number(h, 0, lower->in[0])), 1);
}

const artel__op_def artel__op_fold_max_def = {
    .name = "fold_max",
    .doc = "The greatest of the rows of each fold node.",
    .infer = infer_fold_max,
    .lower = lower_fold_max,
    .exec =
        &(const artel__op_exec){
            .kernels = fold_kernels,
            .choose = choose_fold_max,
            .params_size = ARTEL__EITHER_SIZE(fold_max, artel__wide_fold_max),
            .fill = fill_fold_max,
        },
};

/* -- the whole -- */

static artel_status infer_batch_max(artel__infer *infer)
{
    if (infer->in[1]->domain != ARTEL__DOMAIN_ROW) return artel__op_fail(infer, "the operand has no rows");
    artel__infer_output(infer, 0, ARTEL__DOMAIN_GLOBAL, infer->in[0]->dtype, &infer->in[0]->shape);
    return ARTEL_OK;
}

static artel_status grad_batch_max(artel__gradient *g)
{
    artel__graph *graph = g->graph;
    if (!g->needed[1]) return ARTEL_OK;
    artel__value_id equal =
        artel__op_compare(graph, ARTEL__COMPARE_EQUAL, artel__op_affine(graph, g->in[1], 1, 0), g->out[0]);
    artel__value_id one = artel__op_cast(graph, equal, graph->value[g->in[1]].dtype);
    artel__value_id count = artel__op_all_reduce(graph, artel__op_fold_sum(graph, one));
    artel__value_id share = artel__op_binary(graph, ARTEL__BINARY_DIV, g->out_gradient[0], count);
    g->in_gradient[1] = artel__op_binary(graph, ARTEL__BINARY_MUL, one, share);
    return graph->status;
}

static void lower_batch_max(artel__lower *lower)
{
    artel__hlo_type out = artel__lower_out_type(lower, 0);
    lower->out[0] = artel__hlo_reshape(lower->hlo, lower->in[0], &out);
}

/* Inputs: the finished number, of which this is a view, and the rows. */
const artel__op_def artel__op_batch_max_def = {
    .name = "batch_max",
    .doc = "The greatest of the rows of the global batch, with its gradient.",
    .placement = ARTEL__PLACE_VIEW,
    .infer = infer_batch_max,
    .grad = grad_batch_max,
    .lower = lower_batch_max,
};

artel__value_id artel__op_batch_max(artel__graph *graph, artel__value_id rows)
{
    artel__value_id nodes = artel__graph_add(graph, &artel__op_fold_max_def, NULL, &rows, 1);
    return artel__graph_add(graph, &artel__op_batch_max_def, NULL,
                            (artel__value_id[]){artel__op_all_reduce_max(graph, nodes), rows}, 2);
}
