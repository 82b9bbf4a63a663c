/* SPDX-License-Identifier: Apache-2.0 */
/* Reverse-mode differentiation of a graph by its own operations.
 *
 * Nodes are visited from last to first. Each operation's `grad` adds the nodes that compute the gradients of its
 * inputs. A value used several times collects its contributions in a list; they are added in the order of the forward
 * uses, which is part of the definition of the result (floating-point addition does not associate). A GLOBAL operand
 * of a ROW operation gets its gradient through a fold and an all-reduce, which the operation's `grad` adds itself.
 * Gradients are computed in the precision of the node they belong to, and the gradient of a 16-bit value is rounded to
 * its type.
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
    int values;          /* of the forward graph */
    contribution **list; /* by forward value */
    bool *wanted;        /* forward values that lie on a path from a wanted value */
} differentiator;

static void contribute(differentiator *d, artel__value_id to, artel__value_id gradient)
{
    if (to < 0 || gradient < 0) return;
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
    entry->next = d->list[to];
    d->list[to] = entry;
}

/* The sum of what has been contributed to a value; ARTEL__NO_VALUE when nothing has. */
static artel__value_id collect(differentiator *d, artel__value_id of)
{
    contribution *entry = d->list[of];
    if (!entry) return ARTEL__NO_VALUE;
    artel__value_id sum = entry->value;
    d->graph->precision = d->graph->value[of].precision;
    for (entry = entry->next; entry; entry = entry->next)
        sum = artel__graph_add(d->graph, d->add, NULL, (artel__value_id[]){sum, entry->value}, 2);
    if (d->list[of]->next) {
        d->list[of] = NULL;
        contribute(d, of, sum);
    }
    return sum;
}

/* Forward sweep: which values depend on a wanted one. */
static void mark_wanted(differentiator *d, int nodes)
{
    for (int i = 0; i < nodes; i++) {
        const artel__node *node = &d->graph->node[i];
        bool any = false;
        for (int k = 0; k < node->inputs; k++) any = any || (node->input[k] >= 0 && d->wanted[node->input[k]]);
        for (int k = 0; any && k < node->outputs; k++) {
            if (artel__is_floating(d->graph->value[node->output[k]].dtype)) d->wanted[node->output[k]] = true;
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
        g.needed[k] = g.in[k] >= 0 && d->wanted[g.in[k]];
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
        if (g.also[k] >= 0 && d->wanted[g.also[k]]) contribute(d, g.also[k], g.also_gradient[k]);
    }
    return d->graph->status;
}

artel_status artel__graph_differentiate(artel__graph *graph, const artel__differentiate *request, artel__value_id *out)
{
    if (graph->status < 0) return graph->status;
    differentiator d = {.graph = graph, .add = request->add, .narrow = request->narrow, .values = graph->values};
    int nodes = graph->nodes;
    d.list = artel__arena_alloc(graph->arena, (size_t)d.values + 1, sizeof *d.list);
    d.wanted = artel__arena_alloc(graph->arena, (size_t)d.values + 1, sizeof *d.wanted);
    if (!d.list || !d.wanted) return graph->status = ARTEL_ERROR_NO_MEMORY;
    for (int i = 0; i < request->wanted_count; i++) {
        if (request->wanted[i] >= 0) d.wanted[request->wanted[i]] = true;
    }
    mark_wanted(&d, nodes);
    for (int i = 0; i < request->target_count; i++) contribute(&d, request->targets[i], request->seeds[i]);
    const char *scope = graph->scope;
    artel__phase phase = graph->phase;
    artel_dtype precision = graph->precision;
    graph->phase = ARTEL__PHASE_BACKWARD;
    for (int i = nodes - 1; i >= 0 && graph->status == ARTEL_OK; i--) {
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
