/* SPDX-License-Identifier: Apache-2.0 */
/* The fusion passes: batch normalisation takes over a residual addition and the ReLU behind it; in the backward pass, a
 * pool of maxima the ReLU before it.
 *
 * Joined only where the intermediate value has no other use. An addition joins the later of its two operands, so that
 * the other exists when the normalisation runs. Addition commutes bit for bit, and max(x, 0) is the same in both
 * places. The gradient of a ReLU is a mask times what comes back. A pool that alone reads the ReLU's result hands back
 * its dx, and its own x says where the mask is 1: x is the ReLU's result, whether the mask is made from that or from
 * what the ReLU read.
 */
#include "op/fuse.h"

#include <math.h>
#include <string.h>

#include "op/elementwise.h"
#include "op/norm.h"

typedef struct fuser {
    artel__graph *graph;
    int32_t *uses;
    artel__value_id **values;
    int count;
} fuser;

static artel__norm_activation activation_of(const artel__node *node)
{
    if (node->op != &artel__op_unary_def) return ARTEL__NORM_LINEAR;
    const artel__unary_attributes *unary = artel__op_unary_read(node);
    if (unary->function == ARTEL__UNARY_RELU6) return ARTEL__NORM_RELU6;
    bool plain = unary->function == ARTEL__UNARY_RELU && unary->parameter[0] == 0.0f && unary->parameter[2] == 0.0f;
    if (plain && isinf(unary->parameter[1])) return ARTEL__NORM_RELU;
    return plain && unary->parameter[1] == 6.0f ? ARTEL__NORM_RELU6 : ARTEL__NORM_LINEAR;
}

/* The normalise node that made a value used once, still open for joining; NULL otherwise. */
static artel__node *open_norm(fuser *f, artel__value_id value)
{
    if (value < 0 || f->graph->value[value].node < 0 || f->uses[value] != 1) return NULL;
    artel__node *node = &f->graph->node[f->graph->value[value].node];
    if (node->op != &artel__op_normalise_def) return NULL;
    return ((const artel__norm_attributes *)node->attributes)->activation == ARTEL__NORM_LINEAR ? node : NULL;
}

/* Everybody who used `from` uses `to`; `from`'s producer dies when the graph is sealed. */
static void rename_value(fuser *f, artel__value_id from, artel__value_id to)
{
    artel__graph_replace(f->graph, from, to);
    for (int i = 0; i < f->count; i++) {
        if (*f->values[i] == from) *f->values[i] = to;
    }
    f->uses[to] = f->uses[from];
    f->uses[from] = 0;
}

static void join_addition(fuser *f, artel__node *node)
{
    if (node->op != &artel__op_binary_def || artel__op_binary_function(node) != ARTEL__BINARY_ADD) return;
    int late = f->graph->value[node->input[0]].node > f->graph->value[node->input[1]].node ? 0 : 1;
    artel__value_id host = node->input[late], other = node->input[1 - late];
    artel__node *norm = open_norm(f, host);
    const artel__value *a = &f->graph->value[host], *b = &f->graph->value[other];
    if (!norm || norm->input[5] >= 0 || host == other || norm->precision != node->precision || a->domain != b->domain ||
        !artel__shape_equal(&a->shape, &b->shape))
        return;
    norm->input[5] = other;
    artel__value_id old = node->output[0];
    node->input[0] = node->input[1] = ARTEL__NO_VALUE;
    rename_value(f, old, host);
}

static void join_activation(fuser *f, artel__node *node)
{
    artel__norm_activation activation = activation_of(node);
    artel__node *norm = activation == ARTEL__NORM_LINEAR ? NULL : open_norm(f, node->input[0]);
    if (!norm || norm->precision != node->precision) return;
    artel__norm_attributes *attributes = artel__arena_alloc(f->graph->arena, 1, sizeof *attributes);
    if (!attributes) return;
    *attributes = *(const artel__norm_attributes *)norm->attributes;
    attributes->activation = activation;
    norm->attributes = attributes;
    artel__value_id host = node->input[0], old = node->output[0];
    node->input[0] = ARTEL__NO_VALUE;
    rename_value(f, old, host);
}

/* max(x, 0) and its gradient, to the bit. */
static bool is_relu(const artel__node *node)
{
    static const float constants[3] = {0.0f, INFINITY, 0.0f};
    const artel__unary_attributes *unary = artel__op_unary_read(node);
    return unary && unary->function == ARTEL__UNARY_RELU && memcmp(unary->parameter, constants, sizeof constants) == 0;
}

/* Whether x is positive where `read` is: the same value, or the ReLU of it. */
static bool as_positive(const artel__graph *graph, artel__value_id x, artel__value_id read)
{
    const artel__value *value = &graph->value[x];
    if (x == read) return true;
    return value->node >= 0 && !value->rounds && is_relu(&graph->node[value->node]) &&
           graph->node[value->node].input[0] == read;
}

static void join_mask(fuser *f, artel__node *node)
{
    if (node->op != &artel__op_unary_gradient_def || !is_relu(node)) return;
    artel__value_id host = node->input[0], old = node->output[0];
    const artel__value *dx = &f->graph->value[host], *masked = &f->graph->value[old];
    artel__node *pool = dx->node < 0 ? NULL : &f->graph->node[dx->node];
    if (!pool || pool->op != &artel__op_pool_gradient_def || f->uses[host] != 1) return;
    if (dx->rounds || masked->rounds || dx->precision != masked->precision) return;
    if (!as_positive(f->graph, pool->input[1], node->input[1]) || !artel__op_pool_take_relu(f->graph, pool)) return;
    node->input[0] = node->input[1] = ARTEL__NO_VALUE;
    rename_value(f, old, host);
}

artel_status artel__op_fuse_gradients(artel__graph *graph)
{
    if (graph->status < 0) return graph->status;
    fuser f = {.graph = graph, .uses = artel__arena_alloc(graph->arena, (size_t)graph->values + 1, sizeof(int32_t))};
    if (!f.uses) return graph->status = ARTEL_ERROR_NO_MEMORY;
    artel__graph_count_uses(graph, f.uses);
    for (int i = 0; i < graph->nodes; i++) join_mask(&f, &graph->node[i]);
    return graph->status;
}

artel_status artel__op_fuse(artel__graph *graph, artel__value_id **values, int count)
{
    if (graph->status < 0) return graph->status;
    fuser f = {graph, artel__arena_alloc(graph->arena, (size_t)graph->values + 1, sizeof(int32_t)), values, count};
    if (!f.uses) return graph->status = ARTEL_ERROR_NO_MEMORY;
    artel__graph_count_uses(graph, f.uses);
    for (int i = 0; i < count; i++) {
        if (*values[i] >= 0) f.uses[*values[i]]++;
    }
    for (int i = 0; i < graph->nodes; i++) {
        join_addition(&f, &graph->node[i]);
        join_activation(&f, &graph->node[i]);
    }
    return graph->status;
}
