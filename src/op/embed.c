/* SPDX-License-Identifier: Apache-2.0 */
/* Embedding: rows of a table by index.
 *
 *   forward   y[p] = table[index[p]]; an index outside the table is a fault that ends the step
 *   gradient  positions are sorted by token for each fold node; dtable[t] = the fold of dy over the positions of t
 * The order of additions is that of kernel/embed.h: positions in order inside a shard, then the tree.
 */
#include "op/norm.h"

#include "kernel/embed.h"
#include "op/elementwise.h"

static artel_status infer_embedding(artel__infer *infer)
{
    const artel__value *table = infer->in[0], *index = infer->in[1];
    artel_shape shape = index->shape;
    if (index->dtype != ARTEL_DTYPE_INT32 || table->shape.rank != 2 || shape.rank >= ARTEL_MAX_RANK)
        return artel__op_fail(infer, "expected int32 indices, found %s", artel_dtype_name(index->dtype));
    shape.dim[shape.rank++] = table->shape.dim[1];
    artel__infer_output(infer, 0, index->domain, ARTEL_DTYPE_FLOAT32, &shape);
    return ARTEL_OK;
}

static void fill_embedding(const artel__run_args *args, void *params)
{
    const artel__value *table = artel__args_in(args, 0), *index = artel__args_in(args, 1);
    *(artel__embed_forward *)params = (artel__embed_forward){.positions = artel__args_rows(args, args->node->input[1]) * index->storage,
                                                             .per_row = index->storage,
                                                             .vocabulary = table->shape.dim[0],
                                                             .width = table->shape.dim[1],
                                                             .index = args->in[1],
                                                             .table = args->in[0],
                                                             .y = args->out[0],
                                                             .fault = artel__args_fault_slot(args)};
}

/* Input: indices. Outputs: sorted positions (ROW), where each token's begin (NODES). */
typedef struct sort_attributes {
    int64_t vocabulary;
    bool squares; /* of the gradient */
} sort_attributes;

static artel_status infer_sort(artel__infer *infer)
{
    const sort_attributes *a = infer->attributes;
    artel_shape first = artel__shape(1, a->vocabulary + 1);
    artel__infer_output(infer, 0, ARTEL__DOMAIN_ROW, ARTEL_DTYPE_INT32, &infer->in[0]->shape);
    artel__infer_output(infer, 1, ARTEL__DOMAIN_NODES, ARTEL_DTYPE_INT32, &first);
    return ARTEL_OK;
}

static void fill_sort(const artel__run_args *args, void *params)
{
    const sort_attributes *a = args->attributes;
    *(artel__embed_sort *)params = (artel__embed_sort){.fold = args->step->fold,
                                                       .per_row = artel__args_in(args, 0)->storage,
                                                       .vocabulary = a->vocabulary,
                                                       .index = args->in[0],
                                                       .sorted = args->out[0],
                                                       .first = args->out[1]};
}

const artel__op_def artel__op_embedding_sort_def = {
    .name = "embedding_sort",
    .doc = "Positions of a batch by token.",
    .attribute_size = sizeof(sort_attributes),
    .infer = infer_sort,
    .kernels = artel__embed_sort_kernels,
    .params_size = sizeof(artel__embed_sort),
    .fill = fill_sort,
};

/* Inputs: dy, sorted, first. */
static artel_status infer_embedding_gradient(artel__infer *infer)
{
    const sort_attributes *a = infer->attributes;
    const artel__value *dy = infer->in[0];
    artel_shape shape = artel__shape(2, a->vocabulary, dy->shape.dim[dy->shape.rank - 1]);
    artel__infer_output(infer, 0, ARTEL__DOMAIN_NODES, ARTEL_DTYPE_FLOAT32, &shape);
    return ARTEL_OK;
}

static void fill_embedding_gradient(const artel__run_args *args, void *params)
{
    const sort_attributes *a = args->attributes;
    const artel__value *table = artel__args_out(args, 0);
    *(artel__embed_gradient *)params = (artel__embed_gradient){.fold = args->step->fold,
                                                               .per_row = artel__args_in(args, 1)->storage,
                                                               .vocabulary = a->vocabulary,
                                                               .width = table->shape.dim[1],
                                                               .sorted = args->in[1],
                                                               .first = args->in[2],
                                                               .dy = args->in[0],
                                                               .squares = a->squares,
                                                               .dtable = args->out[0],
                                                               .stride = table->storage};
}

const artel__op_def artel__op_embedding_gradient_def = {
    .name = "embedding_gradient",
    .doc = "Gradient of an embedding table, folded over shards.",
    .attribute_size = sizeof(sort_attributes),
    .infer = infer_embedding_gradient,
    .kernels = artel__embed_gradient_kernels,
    .params_size = sizeof(artel__embed_gradient),
    .fill = fill_embedding_gradient,
};

artel__value_id artel__op_embedding_squares(artel__graph *graph, artel__value_id gradient)
{
    if (graph->status < 0 || gradient < 0 || graph->value[gradient].node < 0) return ARTEL__NO_VALUE;
    const artel__node *node = &graph->node[graph->value[gradient].node];
    if (node->op == &artel__op_binary_def && *(const artel__binary *)node->attributes == ARTEL__BINARY_ADD) {
        artel__value_id right = node->input[1], a = artel__op_embedding_squares(graph, node->input[0]);
        artel__value_id b = a < 0 ? ARTEL__NO_VALUE : artel__op_embedding_squares(graph, right);
        return a < 0 || b < 0 ? ARTEL__NO_VALUE : artel__op_add(graph, a, b);
    }
    if (node->op->collective != ARTEL__COLLECTIVE_SUM) return ARTEL__NO_VALUE;
    const artel__node *fold = &graph->node[graph->value[node->input[0]].node];
    if (fold->op != &artel__op_embedding_gradient_def) return ARTEL__NO_VALUE;
    sort_attributes attributes = *(const sort_attributes *)fold->attributes;
    attributes.squares = true;
    artel__value_id inputs[] = {fold->input[0], fold->input[1], fold->input[2]};
    return artel__op_all_reduce(graph, artel__graph_add(graph, &artel__op_embedding_gradient_def, &attributes, inputs, 3));
}

static artel_status grad_embedding(artel__gradient *g)
{
    if (!g->needed[0]) return ARTEL_OK;
    sort_attributes attributes = {g->graph->value[g->in[0]].shape.dim[0], false};
    artel__value_id sorted = artel__graph_add(g->graph, &artel__op_embedding_sort_def, &attributes, &g->in[1], 1);
    artel__value_id inputs[] = {g->out_gradient[0], sorted, artel__graph_output(g->graph, sorted, 1)};
    artel__value_id nodes = artel__graph_add(g->graph, &artel__op_embedding_gradient_def, &attributes, inputs, 3);
    g->in_gradient[0] = artel__op_all_reduce(g->graph, nodes);
    return ARTEL_OK;
}

const artel__op_def artel__op_embedding_def = {
    .name = "embedding",
    .doc = "Rows of a table by index.",
    .infer = infer_embedding,
    .grad = grad_embedding,
    .kernels = artel__embed_forward_kernels,
    .params_size = sizeof(artel__embed_forward),
    .fill = fill_embedding,
};

artel__value_id artel__op_embedding(artel__graph *graph, artel__value_id table, artel__value_id indices)
{
    return artel__graph_add(graph, &artel__op_embedding_def, NULL, (artel__value_id[]){table, indices}, 2);
}
