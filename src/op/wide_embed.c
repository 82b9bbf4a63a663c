/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a table by index in float64, where float32 has embeddings (embed.c).
 *
 *   wide_lookup            y[..][d] = table[index[..]]
 *   wide_lookup_gradient   NODES [n][d]: the sum of dy over the places that name a row of the table
 * An index outside the table is a fault that ends the step.
 */
#include "op/wide_embed.h"

#include "kernel/wide.h"
#include "op/lower_embed.h"

static artel_status infer_lookup(artel__infer *infer)
{
    const artel__value *table = infer->in[0], *index = infer->in[1];
    if (table->domain != ARTEL__DOMAIN_GLOBAL || table->shape.rank != 2 || index->dtype != ARTEL_DTYPE_INT32 ||
        index->shape.rank >= ARTEL_MAX_RANK)
        return artel__op_fail(infer, "expected a table and int32 indices");
    artel_shape shape = index->shape;
    shape.dim[shape.rank++] = table->shape.dim[1];
    artel__infer_output(infer, 0, index->domain, ARTEL_DTYPE_FLOAT64, &shape);
    return ARTEL_OK;
}

static void fill_lookup(const artel__run_args *args, void *params)
{
    const artel__value *table = artel__args_in(args, 0);
    *(artel__wide_lookup *)params = (artel__wide_lookup){.rows = artel__args_rows(args, args->node->input[1]),
                                                         .picks = artel__args_in(args, 1)->storage,
                                                         .extent = table->shape.dim[0],
                                                         .width = table->shape.dim[1],
                                                         .table = args->in[0],
                                                         .index = args->in[1],
                                                         .y = args->out[0],
                                                         .fault = artel__args_fault_slot(args)};
}

/* Inputs: index, dy. */
typedef struct lookup_attributes {
    int64_t extent;
} lookup_attributes;

static artel_status infer_gradient(artel__infer *infer)
{
    const lookup_attributes *a = infer->attributes;
    const artel_shape *dy = &infer->in[1]->shape;
    artel_shape shape = artel__shape(2, a->extent, dy->dim[dy->rank - 1]);
    if (infer->in[0]->domain != ARTEL__DOMAIN_ROW) return artel__op_fail(infer, "the indices have no rows");
    artel__infer_output(infer, 0, ARTEL__DOMAIN_NODES, ARTEL_DTYPE_FLOAT64, &shape);
    return ARTEL_OK;
}

static void fill_gradient(const artel__run_args *args, void *params)
{
    const lookup_attributes *a = args->attributes;
    const artel_shape *dy = &artel__args_in(args, 1)->shape;
    *(artel__wide_lookup_gradient *)params = (artel__wide_lookup_gradient){.fold = args->step->fold,
                                                                           .picks = artel__args_in(args, 0)->storage,
                                                                           .extent = a->extent,
                                                                           .width = dy->dim[dy->rank - 1],
                                                                           .index = args->in[0],
                                                                           .dy = args->in[1],
                                                                           .dtable = args->out[0]};
}

/* Each occurrence gets what comes back to its row. */
static artel_status grad_lookup_gradient(artel__gradient *g)
{
    artel_shape shape = g->graph->value[g->in[1]].shape;
    artel__value_id rows = artel__op_wide_lookup(g->graph, g->out_gradient[0], g->in[0]);
    if (g->needed[1]) g->in_gradient[1] = artel__op_reshape(g->graph, rows, &shape);
    return g->graph->status;
}

const artel__op_def artel__op_wide_lookup_gradient_def = {
    .name = "wide_lookup_gradient",
    .doc = "Gradient of a table in float64, folded over shards.",
    .attribute_size = sizeof(lookup_attributes),
    .infer = infer_gradient,
    .grad = grad_lookup_gradient,
    .lower = artel__lower_lookup_gradient,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__wide_lookup_gradient_kernels,
            .params_size = sizeof(artel__wide_lookup_gradient),
            .fill = fill_gradient,
        },
};

static artel_status grad_lookup(artel__gradient *g)
{
    lookup_attributes attributes = {g->graph->value[g->in[0]].shape.dim[0]};
    artel__value_id inputs[] = {g->in[1], g->out_gradient[0]};
    if (g->needed[0])
        g->in_gradient[0] = artel__op_all_reduce(
            g->graph, artel__graph_add(g->graph, &artel__op_wide_lookup_gradient_def, &attributes, inputs, 2));
    return g->graph->status;
}

const artel__op_def artel__op_wide_lookup_def = {
    .name = "wide_lookup",
    .doc = "Rows of a table by index in float64.",
    .infer = infer_lookup,
    .grad = grad_lookup,
    .lower = artel__lower_embedding,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__wide_lookup_kernels,
            .params_size = sizeof(artel__wide_lookup),
            .fill = fill_lookup,
        },
};

artel__value_id artel__op_wide_lookup(artel__graph *graph, artel__value_id table, artel__value_id index)
{
    return artel__graph_add(graph, &artel__op_wide_lookup_def, NULL, (artel__value_id[]){table, index}, 2);
}

static const artel__node *fold_behind(const artel__graph *graph, artel__value_id gradient)
{
    int32_t all = graph->value[gradient].node;
    if (all < 0 || graph->node[all].op->collective != ARTEL__COLLECTIVE_SUM) return NULL;
    int32_t fold = graph->value[graph->node[all].input[0]].node;
    return fold >= 0 && graph->node[fold].op == &artel__op_wide_lookup_gradient_def ? &graph->node[fold] : NULL;
}

bool artel__op_is_wide_lookup_gradient(const artel__graph *graph, artel__value_id gradient)
{
    return fold_behind(graph, gradient) != NULL;
}

artel__value_id artel__op_wide_lookup_again(artel__graph *graph, artel__value_id gradient, artel__unary function,
                                            const double parameter[3])
{
    const artel__node *fold = fold_behind(graph, gradient);
    lookup_attributes attributes = *(const lookup_attributes *)fold->attributes;
    artel__value_id inputs[] = {fold->input[0], fold->input[1]};
    inputs[1] = artel__op_unary_exact(graph, function, parameter, inputs[1]);
    return artel__op_all_reduce(graph,
                                artel__graph_add(graph, &artel__op_wide_lookup_gradient_def, &attributes, inputs, 2));
}
