/* SPDX-License-Identifier: Apache-2.0 */
/* Reverse-mode differentiation of a graph by its own operations.
 *
 * Nodes are visited from last to first of those that a wanted value could reach. Each operation's `grad` adds the nodes
 * that compute the gradients of its inputs. A value used several times collects its contributions in a list; they are
 * added in the order of the forward uses, which is part of the definition of the result (floating-point addition does
 * not associate). A GLOBAL operand of a ROW operation gets its gradient through a fold and an all-reduce, which the
 * operation's `grad` adds itself. Gradients are computed in the precision of the node they belong to, and the gradient
 * of a 16-bit value is rounded to its type.
 */
#include <string.h>

#include "graph/op_def.h"

/* Contributions to one value, newest first; visiting backwards makes the list ascend in forward order. */
typedef struct contribution {
    artel__value_id value;
    struct contribution *next;
} contribution;

typedef struct differentiator {
    artel__graph *graph;
    const artel__op_def *add, *narrow;
    int nodes, values;           /* of the forward graph */
    int first;                   /* the first node that may read a wanted value */
    artel__value_id first_value; /* the first wanted value; none before it depends on one */
    contribution **list;         /* by forward value, from first_value on */
    bool *wanted;                /* of these: those that lie on a path from a wanted value */
} differentiator;

static bool is_wanted(const differentiator *d, artel__value_id x)
{
    return x >= d->first_value && d->wanted[x - d->first_value];
}

static contribution **list_of(differentiator *d, artel__value_id x)
{
    return &d->list[x - d->first_value];
}

static void contribute(differentiator *d, artel__value_id to, artel__value_id gradient)
{
    if (to < d->first_value || gradient < 0) return;
    artel_dtype precision = d->graph->value[to].precision;
    if (precision && d->narrow && d->graph->value[gradient].precision != precision) {
        gradient = artel__graph_add(d->graph, d->narrow, &precision, &gradient, 1);
        if (gradient < 0) return;
    }
    contribution *entry = artel__arena_alloc(d->graph->arena, 1, sizeof *entry);
    if (!entry) {
        d->graph->status = ARTEL_ERROR_NO_MEMORY;
        return;
    }
    entry->value = gradient;
    entry->next = *list_of(d, to);
    *list_of(d, to) = entry;
}

/* The sum of what has been contributed to a value; ARTEL__NO_VALUE when nothing has. */
static artel__value_id collect(differentiator *d, artel__value_id of)
{
    contribution *entry = of < d->first_value ? NULL : *list_of(d, of);
    if (!entry) return ARTEL__NO_VALUE;
    artel__value_id sum = entry->value;
    d->graph->precision = d->graph->value[of].precision;
    for (entry = entry->next; entry; entry = entry->next)
        sum = artel__graph_add(d->graph, d->add, NULL, (artel__value_id[]){sum, entry->value}, 2);
    if ((*list_of(d, of))->next) {
        *list_of(d, of) = NULL;
        contribute(d, of, sum);
    }
    return sum;
}

/* Forward sweep: which values depend on a wanted one. */
static void mark_wanted(differentiator *d)
{
    for (int i = d->first; i < d->nodes; i++) {
        const artel__node *node = &d->graph->node[i];
        bool any = false;
        for (int k = 0; k < node->inputs; k++) any = any || is_wanted(d, node->input[k]);
        for (int k = 0; any && k < node->outputs; k++) {
            artel__value_id out = node->output[k];
            if (artel__is_floating(d->graph->value[out].dtype)) d->wanted[out - d->first_value] = true;
        }
    }
}

static artel_status visit(differentiator *d, int32_t index)
{
    artel__gradient g = {.graph = d->graph, .node = index};
    const artel__op_def *op = d->graph->node[index].op;
    bool any_gradient = false, any_needed = false;
    for (int k = 0; k < ARTEL__MAX_OPERANDS; k++)
        g.in[k] = g.out[k] = g.out_gradient[k] = g.in_gradient[k] = ARTEL__NO_VALUE;
    int inputs = d->graph->node[index].inputs, outputs = d->graph->node[index].outputs;
    for (int k = 0; k < inputs; k++) {
        g.in[k] = d->graph->node[index].input[k];
        g.needed[k] = is_wanted(d, g.in[k]);
        any_needed = any_needed || g.needed[k];
    }
    if (!any_needed) return ARTEL_OK;
    for (int k = 0; k < outputs; k++) {
        g.out[k] = d->graph->node[index].output[k];
        g.out_gradient[k] = collect(d, g.out[k]);
        any_gradient = any_gradient || g.out_gradient[k] >= 0;
    }
    if (!any_gradient) return ARTEL_OK;
    g.attributes = d->graph->node[index].attributes;
    d->graph->scope = d->graph->node[index].name;
    d->graph->precision = d->graph->node[index].precision;
    if (!op->grad) {
        return artel__fail(artel__graph_context(d->graph), ARTEL_ERROR_UNSUPPORTED, d->graph->scope,
                           "freeze the layers before it, or leave it out of the loss",
                           "the operation %s has no gradient", op->name);
    }
    ARTEL_TRY(op->grad(&g));
    for (int k = 0; k < inputs; k++) {
        if (g.needed[k]) contribute(d, g.in[k], g.in_gradient[k]);
    }
    for (int k = 0; k < g.alsos; k++) {
        if (is_wanted(d, g.also[k])) contribute(d, g.also[k], g.also_gradient[k]);
    }
    return d->graph->status;
}

static artel_status begin(differentiator *d, const artel__differentiate *request)
{
    artel__graph *graph = d->graph;
    d->nodes = d->first = graph->nodes;
    d->values = d->first_value = graph->values;
    for (int i = 0; i < request->wanted_count; i++) {
        artel__value_id x = request->wanted[i];
        if (x < 0) continue;
        if (x < d->first_value) d->first_value = x;
        if (graph->value[x].node + 1 < d->first) d->first = graph->value[x].node + 1;
    }
    size_t count = (size_t)(d->values - d->first_value) + 1;
    d->list = artel__arena_alloc(graph->arena, count, sizeof *d->list);
    d->wanted = artel__arena_alloc(graph->arena, count, sizeof *d->wanted);
    if (!d->list || !d->wanted) return graph->status = ARTEL_ERROR_NO_MEMORY;
    for (int i = 0; i < request->wanted_count; i++) {
        if (request->wanted[i] >= 0) d->wanted[request->wanted[i] - d->first_value] = true;
    }
    return ARTEL_OK;
}

artel_status artel__graph_differentiate(artel__graph *graph, const artel__differentiate *request, artel__value_id *out)
{
    if (graph->status < 0) return graph->status;
    differentiator d = {.graph = graph, .add = request->add, .narrow = request->narrow};
    ARTEL_TRY(begin(&d, request));
    mark_wanted(&d);
    for (int i = 0; i < request->target_count; i++) contribute(&d, request->targets[i], request->seeds[i]);
    const char *scope = graph->scope;
    artel__phase phase = graph->phase;
    artel_dtype precision = graph->precision;
    graph->phase = ARTEL__PHASE_BACKWARD;
    for (int i = d.nodes - 1; i >= d.first && graph->status == ARTEL_OK; i--) {
        artel_status status = visit(&d, i);
        if (status < 0) graph->status = status;
    }
    for (int i = 0; i < request->wanted_count && graph->status == ARTEL_OK; i++)
        out[i] = request->wanted[i] >= 0 ? collect(&d, request->wanted[i]) : ARTEL__NO_VALUE;
    graph->scope = scope;
    graph->phase = phase;
    graph->precision = precision;
    return graph->status;
}
