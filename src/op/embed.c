/* SPDX-License-Identifier: Apache-2.0 */
/* Embedding: rows of a table by index.
 *
 *   forward   y[p] = table[index[p]]; an index outside the table is a fault that ends the step
 *   gradient  positions are sorted by token for each fold node; dtable[t] = the fold of dy over the positions of t
 *   tokens    the tokens of the whole batch and their positions, likewise by token
 *   rows      the gradient of these tokens' rows alone, for optimizers that change no other row
 * The order of additions is that of kernel/embed.h: positions in order inside a shard, then the tree. A table's
 * gradient is made in full by differentiation; artel__op_embedding_rows puts rows in its place, which have the same
 * bits.
 */
#include "op/embed.h"

#include "kernel/embed.h"
#include "op/elementwise.h"
#include "op/lower_embed.h"
#include "op/ops.h"
#include "op/optimize.h"
#include "op/second.h"
#include "op/wide_embed.h"

static artel_status infer_embedding(artel__infer *infer)
{
    const artel__value *table = infer->in[0], *index = infer->in[1];
    artel_shape shape = index->shape;
    if (index->dtype != ARTEL_DTYPE_INT32 || table->shape.rank != 2 || shape.rank >= ARTEL_MAX_RANK)
        return artel__op_fail(infer, "expected int32 indices, found %s", artel_dtype_name(index->dtype));
    if (table->dtype != ARTEL_DTYPE_FLOAT32 && table->dtype != ARTEL_DTYPE_INT32)
        return artel__op_fail(infer, "expected a table of float32 or int32, found %s", artel_dtype_name(table->dtype));
    shape.dim[shape.rank++] = table->shape.dim[1];
    artel__infer_output(infer, 0, index->domain, table->dtype, &shape);
    return ARTEL_OK;
}

static void fill_embedding(const artel__run_args *args, void *params)
{
    const artel__value *table = artel__args_in(args, 0), *index = artel__args_in(args, 1);
    int32_t variable = args->graph->value[args->node->input[0]].variable;
    const artel__held_rows *held = args->step->held && variable >= 0 ? &args->step->held[variable] : NULL;
    *(artel__embed_forward *)params =
        (artel__embed_forward){.positions = artel__args_rows(args, args->node->input[1]) * index->storage,
                               .per_row = index->storage,
                               .vocabulary = table->shape.dim[0],
                               .width = table->shape.dim[1],
                               .index = args->in[1],
                               .table = args->in[0],
                               .y = args->out[0],
                               .fault = artel__args_fault_slot(args)};
    if (held) ((artel__embed_forward *)params)->held = *held;
}

/* Input: indices. Outputs: sorted positions (ROW), where each token's begin (NODES). */
typedef struct sort_attributes {
    int64_t vocabulary;
    artel__occurrence of; /* what the gradient adds up */
    const char *why;      /* the gradient has the size of the table; NULL: nobody asked */
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

static void lower_sort(artel__lower *lower)
{
    artel__lower_embedding_sort(lower, ((const sort_attributes *)lower->attributes)->vocabulary);
}

const artel__op_def artel__op_embedding_sort_def = {
    .name = "embedding_sort",
    .doc = "Positions of a batch by token.",
    .attribute_size = sizeof(sort_attributes),
    .infer = infer_sort,
    .lower = lower_sort,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__embed_sort_kernels,
            .params_size = sizeof(artel__embed_sort),
            .fill = fill_sort,
        },
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
                                                               .of = a->of,
                                                               .dtable = args->out[0],
                                                               .stride = table->storage};
}

static void describe_gradient(const artel__node *node, artel__text *out)
{
    const sort_attributes *a = node->attributes;
    artel__text_printf(out, "the whole table%s%s", a->why ? ": " : "", a->why ? a->why : "");
}

static void lower_gradient(artel__lower *lower)
{
    artel__lower_embedding_gradient(lower, ((const sort_attributes *)lower->attributes)->of);
}

/* Each occurrence of a token gets what comes back to its row. */
static artel_status grad_embedding_gradient(artel__gradient *g)
{
    const sort_attributes *a = g->attributes;
    artel__graph *graph = g->graph;
    if (a->of != ARTEL__OCCURRENCE_ITSELF)
        return artel__second_refuse(g, "squares or sizes of an embedding's occurrences");
    artel__value_id index = graph->node[graph->value[g->in[1]].node].input[0];
    artel_shape shape = graph->value[g->in[0]].shape;
    artel__value_id rows = artel__op_embedding(graph, g->out_gradient[0], index);
    g->in_gradient[0] = artel__op_reshape(graph, rows, &shape);
    return graph->status;
}

const artel__op_def artel__op_embedding_gradient_def = {
    .name = "embedding_gradient",
    .doc = "Gradient of an embedding table, folded over shards.",
    .attribute_size = sizeof(sort_attributes),
    .infer = infer_embedding_gradient,
    .grad = grad_embedding_gradient,
    .describe = describe_gradient,
    .lower = lower_gradient,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__embed_gradient_kernels,
            .params_size = sizeof(artel__embed_gradient),
            .fill = fill_embedding_gradient,
        },
};

/* Input: indices of the batch. Outputs: sorted positions, where each token's end, the tokens; how many. */
static artel_status infer_tokens(artel__infer *infer)
{
    const artel__value *index = infer->in[0];
    artel_shape one = artel__shape(1, (int64_t)1);
    if (index->domain != ARTEL__DOMAIN_BATCH) return artel__op_fail(infer, "the indices are not those of the batch");
    for (int i = 0; i < 3; i++) artel__infer_output(infer, i, ARTEL__DOMAIN_BATCH, ARTEL_DTYPE_INT32, &index->shape);
    artel__infer_output(infer, 3, ARTEL__DOMAIN_GLOBAL, ARTEL_DTYPE_INT32, &one);
    return ARTEL_OK;
}

static void fill_tokens(const artel__run_args *args, void *params)
{
    const sort_attributes *a = args->attributes;
    *(artel__embed_tokens *)params =
        (artel__embed_tokens){.positions = args->step->fold->batch * artel__args_in(args, 0)->storage,
                              .vocabulary = a->vocabulary,
                              .index = args->in[0],
                              .sorted = args->out[0],
                              .end = args->out[1],
                              .token = args->out[2],
                              .count = args->out[3]};
}

static void lower_tokens(artel__lower *lower)
{
    artel__lower_embedding_tokens(lower, ((const sort_attributes *)lower->attributes)->vocabulary);
}

const artel__op_def artel__op_embedding_tokens_def = {
    .name = "embedding_tokens",
    .doc = "The tokens of a batch and their positions.",
    .attribute_size = sizeof(sort_attributes),
    .infer = infer_tokens,
    .lower = lower_tokens,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__embed_tokens_kernels,
            .params_size = sizeof(artel__embed_tokens),
            .fill = fill_tokens,
        },
};

/* Inputs: dy of the batch, sorted, end, count. Output: a row for each token, as many as there can be. */
static artel_status infer_rows(artel__infer *infer)
{
    const artel__value *dy = infer->in[0];
    if (dy->domain != ARTEL__DOMAIN_BATCH) return artel__op_fail(infer, "the gradient is not that of the batch");
    artel__infer_output(infer, 0, ARTEL__DOMAIN_BATCH, ARTEL_DTYPE_FLOAT32, &dy->shape);
    return ARTEL_OK;
}

static void fill_rows(const artel__run_args *args, void *params)
{
    const sort_attributes *a = args->attributes;
    const artel__value *dy = artel__args_in(args, 0);
    *(artel__embed_rows *)params = (artel__embed_rows){.shards = args->step->fold->shards,
                                                       .batch = args->step->fold->batch,
                                                       .per_row = artel__args_in(args, 1)->storage,
                                                       .width = dy->shape.dim[dy->shape.rank - 1],
                                                       .sorted = args->in[1],
                                                       .end = args->in[2],
                                                       .count = args->in[3],
                                                       .dy = args->in[0],
                                                       .of = a->of,
                                                       .rows = args->out[0]};
}

static void lower_rows(artel__lower *lower)
{
    artel__lower_embedding_rows(lower, ((const sort_attributes *)lower->attributes)->of);
}

const artel__op_def artel__op_embedding_rows_def = {
    .name = "embedding_rows",
    .doc = "Gradient of the rows of a table that a batch names.",
    .attribute_size = sizeof(sort_attributes),
    .infer = infer_rows,
    .lower = lower_rows,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__embed_rows_kernels,
            .params_size = sizeof(artel__embed_rows),
            .fill = fill_rows,
        },
};

/* The embedding_gradient whose all-reduce a value is; NULL for every other value. */
static artel__node *gradient_of(artel__graph *graph, artel__value_id value)
{
    if (value < 0 || graph->value[value].node < 0) return NULL;
    const artel__node *node = &graph->node[graph->value[value].node];
    if (node->op->collective != ARTEL__COLLECTIVE_SUM) return NULL;
    artel__node *fold = &graph->node[graph->value[node->input[0]].node];
    return fold->op == &artel__op_embedding_gradient_def ? fold : NULL;
}

const char *artel__op_embedding_rows(artel__graph *graph, artel__value_id gradient, artel__occurrence beside,
                                     artel__embedding_rows *out)
{
    artel__node *fold = graph->status < 0 ? NULL : gradient_of(graph, gradient);
    if (!fold) return "it is not the gradient of one embedding alone";
    artel__value_id dy = fold->input[0], index = graph->node[graph->value[fold->input[1]].node].input[0];
    sort_attributes attributes = *(const sort_attributes *)fold->attributes;
    if (graph->batch_size * graph->value[index].storage >= attributes.vocabulary)
        return "a batch has no fewer indices than the table has rows";
    dy = artel__op_all_gather(graph, dy);
    index = artel__op_all_gather(graph, index);
    artel__phase phase = graph->phase;
    graph->phase = ARTEL__PHASE_APPLY; /* so that the rows of all tables are exchanged at once */
    artel__value_id sorted = artel__graph_add(graph, &artel__op_embedding_tokens_def, &attributes, &index, 1);
    artel__value_id inputs[] = {dy, sorted, artel__graph_output(graph, sorted, 1),
                                artel__graph_output(graph, sorted, 3)};
    *out = (artel__embedding_rows){
        .token = artel__graph_output(graph, sorted, 2), .count = inputs[3], .squares = ARTEL__NO_VALUE};
    out->rows = artel__graph_add(graph, &artel__op_embedding_rows_def, &attributes, inputs, 4);
    attributes.of = beside;
    if (beside) out->squares = artel__graph_add(graph, &artel__op_embedding_rows_def, &attributes, inputs, 4);
    graph->phase = phase;
    return NULL;
}

/* Whether a value follows from what is fed; *left nodes at most are looked at. */
static bool is_fed(const artel__graph *graph, artel__value_id value, int *left)
{
    if (value < 0) return true;
    if (graph->value[value].variable >= 0 || --*left < 0) return false;
    if (graph->value[value].node < 0) return graph->value[value].input >= 0;
    const artel__node *node = &graph->node[graph->value[value].node];
    bool random = node->op == &artel__op_noise_def || node->op == &artel__op_uniform_def;
    for (int k = 0; !random && k < node->inputs; k++) {
        if (!is_fed(graph, node->input[k], left)) return false;
    }
    return !random && node->op->collective == ARTEL__COLLECTIVE_NONE;
}

artel__value_id artel__op_embedding_index(const artel__graph *graph, artel__value_id table, const char **why)
{
    artel__value_id index = ARTEL__NO_VALUE;
    int left = 1000;
    for (int n = 0; n < graph->nodes; n++) {
        const artel__node *node = &graph->node[n];
        for (int k = 0; k < node->inputs; k++) {
            if (node->input[k] != table) continue;
            *why = node->op != &artel__op_embedding_def ? "more than an embedding reads the table"
                                                        : "several embeddings read the table";
            if (node->op != &artel__op_embedding_def || index >= 0) return ARTEL__NO_VALUE;
            index = node->input[1];
        }
    }
    *why = "which rows a batch reads is not known before it is computed";
    return is_fed(graph, index, &left) ? index : ARTEL__NO_VALUE;
}

void artel__op_embedding_tokens(artel__graph *graph, artel__value_id table, artel__value_id index,
                                artel__embedding_rows *out)
{
    if (graph->status < 0) return;
    sort_attributes attributes = {.vocabulary = graph->value[table].shape.dim[0]};
    index = artel__op_all_gather(graph, index);
    artel__value_id sorted = artel__graph_add(graph, &artel__op_embedding_tokens_def, &attributes, &index, 1);
    out->token = artel__graph_output(graph, sorted, 2);
    out->count = artel__graph_output(graph, sorted, 3);
}

void artel__op_embedding_explain(artel__graph *graph, artel__value_id gradient, const char *why)
{
    if (graph->status < 0 || gradient < 0 || graph->value[gradient].node < 0) return;
    artel__node *fold = gradient_of(graph, gradient);
    if (!fold) {
        const artel__node *node = &graph->node[graph->value[gradient].node];
        bool joins =
            node->op == &artel__op_binary_def || node->op == &artel__op_unary_def || node->op == &artel__op_flat_def;
        for (int k = 0; joins && k < node->inputs; k++) artel__op_embedding_explain(graph, node->input[k], why);
        return;
    }
    sort_attributes *attributes = artel__arena_alloc(graph->arena, 1, sizeof *attributes);
    if (!attributes) {
        graph->status = ARTEL_ERROR_NO_MEMORY;
        return;
    }
    *attributes = *(const sort_attributes *)fold->attributes;
    attributes->why = why;
    fold->attributes = attributes;
}

artel__value_id artel__op_embedding_occurrences(artel__graph *graph, artel__value_id gradient, artel__occurrence of)
{
    if (graph->status < 0 || gradient < 0 || graph->value[gradient].node < 0) return ARTEL__NO_VALUE;
    const artel__node *node = &graph->node[graph->value[gradient].node];
    if (node->op == &artel__op_binary_def && *(const artel__binary *)node->attributes == ARTEL__BINARY_ADD) {
        artel__value_id right = node->input[1], a = artel__op_embedding_occurrences(graph, node->input[0], of);
        artel__value_id b = a < 0 ? ARTEL__NO_VALUE : artel__op_embedding_occurrences(graph, right, of);
        return a < 0 || b < 0 ? ARTEL__NO_VALUE : artel__op_add(graph, a, b);
    }
    if (node->op == &artel__op_unscale_def) {
        artel__value_id scale = node->input[1], scaled = artel__op_embedding_occurrences(graph, node->input[0], of);
        if (scaled < 0) return ARTEL__NO_VALUE;
        artel__value_id once = artel__op_unscale(graph, scaled, scale);
        return of == ARTEL__OCCURRENCE_SQUARE ? artel__op_unscale(graph, once, scale) : once;
    }
    if (artel__op_is_wide_lookup_gradient(graph, gradient))
        return artel__op_wide_lookup_again(graph, gradient,
                                           of == ARTEL__OCCURRENCE_SQUARE ? ARTEL__UNARY_SQUARE : ARTEL__UNARY_ABS,
                                           (double[]){0, 0, 0});
    const artel__node *fold = gradient_of(graph, gradient);
    if (!fold) return ARTEL__NO_VALUE;
    sort_attributes attributes = *(const sort_attributes *)fold->attributes;
    attributes.of = of;
    artel__value_id inputs[] = {fold->input[0], fold->input[1], fold->input[2]};
    return artel__op_all_reduce(graph,
                                artel__graph_add(graph, &artel__op_embedding_gradient_def, &attributes, inputs, 3));
}

/* The gradient `scaled` still has to be divided by that scale, if there is one. */
static artel__value_id clip_occurrences(artel__graph *graph, artel__value_id scaled, artel__value_id scale,
                                        double limit)
{
    if (graph->status < 0 || scaled < 0 || graph->value[scaled].node < 0) return ARTEL__NO_VALUE;
    const artel__node *node = &graph->node[graph->value[scaled].node];
    if (node->op == &artel__op_binary_def && *(const artel__binary *)node->attributes == ARTEL__BINARY_ADD) {
        artel__value_id right = node->input[1], a = clip_occurrences(graph, node->input[0], scale, limit);
        artel__value_id b = a < 0 ? ARTEL__NO_VALUE : clip_occurrences(graph, right, scale, limit);
        return a < 0 || b < 0 ? ARTEL__NO_VALUE : artel__op_add(graph, a, b);
    }
    if (node->op == &artel__op_unscale_def && scale < 0)
        return clip_occurrences(graph, node->input[0], node->input[1], limit);
    if (scale < 0 && artel__op_is_wide_lookup_gradient(graph, scaled))
        return artel__op_wide_lookup_again(graph, scaled, ARTEL__UNARY_CLIP, (double[]){-limit, limit, 0});
    const artel__node *fold = gradient_of(graph, scaled);
    if (!fold) return ARTEL__NO_VALUE;
    sort_attributes attributes = *(const sort_attributes *)fold->attributes;
    artel__value_id inputs[] = {fold->input[0], fold->input[1], fold->input[2]};
    if (scale >= 0) inputs[0] = artel__op_unscale(graph, inputs[0], scale);
    inputs[0] = artel__op_unary(graph, ARTEL__UNARY_CLIP, (float[]){(float)-limit, (float)limit, 0}, inputs[0]);
    return artel__op_all_reduce(graph,
                                artel__graph_add(graph, &artel__op_embedding_gradient_def, &attributes, inputs, 3));
}

artel__value_id artel__op_embedding_clip(artel__graph *graph, artel__value_id gradient, double limit)
{
    return clip_occurrences(graph, gradient, ARTEL__NO_VALUE, limit);
}

static artel_status grad_embedding(artel__gradient *g)
{
    if (!g->needed[0]) return ARTEL_OK;
    sort_attributes attributes = {.vocabulary = g->graph->value[g->in[0]].shape.dim[0]};
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
    .lower = artel__lower_embedding,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__embed_forward_kernels,
            .params_size = sizeof(artel__embed_forward),
            .fill = fill_embedding,
        },
};

artel__value_id artel__op_embedding(artel__graph *graph, artel__value_id table, artel__value_id indices)
{
    if (graph->status < 0 || table < 0 || indices < 0) return ARTEL__NO_VALUE;
    if (graph->value[table].dtype == ARTEL_DTYPE_FLOAT64) return artel__op_wide_lookup(graph, table, indices);
    return artel__graph_add(graph, &artel__op_embedding_def, NULL, (artel__value_id[]){table, indices}, 2);
}
