/* SPDX-License-Identifier: Apache-2.0 */
/* This task's parts of a plan: graphs of the nodes that are its own.
 *
 * Nodes and values are those of the function, with other numbers. What a part does not compute becomes an input of its
 * graph, in the very form in which it is computed (weights in panels, rows of a precision); a variable stays a
 * variable, though another task may have it: then its value comes before the part runs.
 */
#include <string.h>

#include "function/session/session_impl.h"

typedef struct builder {
    artel__placed_plan *plan;
    artel__placed_part *part;
    artel__value_id *id; /* by value of the function: in the part, or ARTEL__NO_VALUE */
    int *kept;           /* by part and value of the function */
    int at;              /* which part */
} builder;

static int host(const builder *b, int node)
{
    return artel__placed_host(b->plan->session, b->plan->place[node]);
}

static bool is_mine(const builder *b, int node)
{
    return b->plan->place[node] >= 0 && host(b, node) == b->plan->session->self;
}

static int part_of_level(const artel__placed_plan *p, int level)
{
    for (int i = 0; i < p->parts; i++) {
        if (p->part[i].level == level) return i;
    }
    return -1;
}

/* The number of a value among those that a part keeps; -1: it does not. */
static int *kept_by(const builder *b, int part, artel__value_id value)
{
    return &b->kept[(size_t)part * (size_t)b->plan->function->graph.values + (size_t)value];
}

/* -- where inputs come from -- */

static artel__placed_source source_of(const builder *b, artel__value_id value)
{
    artel__placed_plan *p = b->plan;
    const artel__value *v = &p->function->graph.value[value];
    if (v->input >= 0) return (artel__placed_source){.kind = ARTEL__SOURCE_FEED, .index = v->input};
    if (v->node >= 0 && is_mine(b, v->node)) {
        int part = part_of_level(p, p->level[v->node]);
        return (artel__placed_source){.kind = ARTEL__SOURCE_PART, .index = part, .kept = *kept_by(b, part, value)};
    }
    for (int e = 0; e < p->edges; e++) {
        if (p->edge[e].to == p->session->self && p->edge[e].value == value)
            return (artel__placed_source){.kind = ARTEL__SOURCE_EDGE, .index = e};
    }
    return (artel__placed_source){.kind = ARTEL__SOURCE_NONE};
}

static artel__value_id add_input(const builder *b, artel__value_id value)
{
    const artel__value *from = &b->plan->function->graph.value[value];
    artel__graph *graph = &b->part->graph;
    artel__value_id id = artel__graph_input(graph, from->domain, from->dtype, &from->shape);
    if (id < 0) return id;
    artel__value *made = &graph->value[id];
    made->precision = from->precision;
    made->storage = from->storage;
    made->layout = from->layout;
    return id;
}

/* An operand as a value of the part. One that is only looked at (its shape) has no source, unless somebody else reads
 * it. */
static artel__value_id take(const builder *b, const artel__node *node, int k)
{
    artel__value_id value = node->input[k];
    if (value < 0) return ARTEL__NO_VALUE;
    const artel__value *v = &b->plan->function->graph.value[value];
    bool reads = artel__placed_reads(node, k);
    if (v->variable >= 0) return artel__graph_variable(&b->part->graph, v->variable);
    if (b->id[value] < 0) b->id[value] = add_input(b, value);
    artel__value_id id = b->id[value];
    int input = id < 0 ? -1 : b->part->graph.value[id].input;
    if (reads && input >= 0 && b->part->source[input].kind == ARTEL__SOURCE_NONE)
        b->part->source[input] = source_of(b, value);
    return id;
}

/* -- nodes -- */

static artel_status copy_node(const builder *b, int n)
{
    const artel__graph *from = &b->plan->function->graph;
    artel__graph *to = &b->part->graph;
    const artel__node *node = &from->node[n];
    artel__value_id *ids = artel__arena_alloc(to->arena, (size_t)(node->inputs + node->outputs) + 1, sizeof *ids);
    if (!ids) return ARTEL_ERROR_NO_MEMORY;
    for (int k = 0; k < node->inputs; k++) ids[k] = take(b, node, k);
    for (int k = 0; k < node->outputs; k++) {
        artel__value value = from->value[node->output[k]];
        value.node = to->nodes;
        ids[node->inputs + k] = b->id[node->output[k]] = artel__graph_add_value(to, &value);
    }
    ARTEL_TRY(to->status);
    artel__node *made = &to->node[to->nodes++];
    *made = *node;
    made->input = ids;
    made->output = ids + node->inputs;
    if (node->phase == ARTEL__PHASE_APPLY) b->part->applies = true;
    return ARTEL_OK;
}

static artel_status init_graph(const builder *b)
{
    const artel_function *f = b->plan->function;
    artel__graph *graph = &b->part->graph;
    artel__graph_init(graph, &b->plan->arena, &f->strategy->variables, f->training);
    graph->batch_size = f->graph.batch_size;
    graph->batch_groups = f->graph.batch_groups;
    graph->arithmetic = f->graph.arithmetic;
    graph->random_ops = f->graph.random_ops;
    graph->node = artel__arena_alloc(&b->plan->arena, (size_t)f->graph.nodes + 1, sizeof *graph->node);
    b->part->source = artel__arena_alloc(&b->plan->arena, (size_t)f->graph.values + 1, sizeof *b->part->source);
    ARTEL_TRY(artel__arena_status(&b->plan->arena));
    graph->node_capacity = f->graph.nodes + 1;
    return ARTEL_OK;
}

/* -- what others need of a part -- */

static bool is_of_part(const builder *b, artel__value_id value)
{
    int node = b->plan->function->graph.value[value].node;
    return node >= 0 && is_mine(b, node) && b->plan->level[node] == b->part->level;
}

static int keep_value(const builder *b, artel__value_id value)
{
    int *kept = kept_by(b, b->at, value);
    if (*kept < 0) *kept = artel__graph_keep(&b->part->graph, b->id[value]);
    return *kept;
}

static void keep_results(const builder *b)
{
    artel__placed_plan *p = b->plan;
    const artel__graph *graph = &p->function->graph;
    for (int i = 0; i < p->function->outputs; i++) {
        if (!p->wanted[i] || !is_of_part(b, graph->kept[i])) continue;
        p->kept_part[i] = b->at;
        p->kept[i] = keep_value(b, graph->kept[i]);
    }
    for (int e = 0; e < p->edges; e++) {
        if (p->edge[e].from == p->session->self && p->edge[e].variable < 0 && is_of_part(b, p->edge[e].value))
            p->edge[e].kept = keep_value(b, p->edge[e].value);
    }
    for (int n = 0; n < graph->nodes; n++) {
        const artel__node *node = &graph->node[n];
        for (int k = 0; k < node->inputs && is_mine(b, n) && p->level[n] > b->part->level; k++) {
            if (artel__placed_reads(node, k) && is_of_part(b, node->input[k])) keep_value(b, node->input[k]);
        }
    }
}

static artel_status make_part(builder *b)
{
    artel__placed_plan *p = b->plan;
    const artel__graph *graph = &p->function->graph;
    ARTEL_TRY(init_graph(b));
    for (int i = 0; i < graph->values; i++) b->id[i] = ARTEL__NO_VALUE;
    for (int n = 0; n < graph->nodes; n++) {
        if (is_mine(b, n) && p->level[n] == b->part->level) ARTEL_TRY(copy_node(b, n));
    }
    keep_results(b);
    b->part->graph.sealed = true;
    b->part->input = artel__arena_alloc(&p->arena, (size_t)b->part->graph.inputs + 1, sizeof *b->part->input);
    return b->part->input ? b->part->graph.status : ARTEL_ERROR_NO_MEMORY;
}

/* Levels in which this task computes something, ascending. */
static artel_status list_parts(builder *b, int levels)
{
    artel__placed_plan *p = b->plan;
    bool *here = artel__arena_alloc(&p->arena, (size_t)levels + 1, sizeof *here);
    if (!here) return ARTEL_ERROR_NO_MEMORY;
    for (int n = 0; n < p->function->graph.nodes; n++) {
        if (is_mine(b, n)) here[p->level[n]] = true;
    }
    for (int l = 0; l < levels; l++) p->parts += here[l];
    p->part = artel__arena_alloc(&p->arena, (size_t)p->parts + 1, sizeof *p->part);
    if (!p->part) return ARTEL_ERROR_NO_MEMORY;
    for (int l = 0, i = 0; l < levels; l++) {
        if (here[l]) p->part[i++].level = l;
    }
    return ARTEL_OK;
}

artel_status artel__placed_parts_make(artel__placed_plan *p)
{
    const artel__graph *graph = &p->function->graph;
    builder b = {.plan = p};
    int levels = 1;
    for (int n = 0; n < graph->nodes; n++)
        levels = p->place[n] >= 0 && p->level[n] >= levels ? p->level[n] + 1 : levels;
    ARTEL_TRY(list_parts(&b, levels));
    size_t values = (size_t)graph->values + 1, all = values * ((size_t)p->parts + 1);
    b.id = artel__arena_alloc(&p->arena, values, sizeof *b.id);
    b.kept = artel__arena_alloc(&p->arena, all, sizeof *b.kept);
    ARTEL_TRY(artel__arena_status(&p->arena));
    for (size_t i = 0; i < all; i++) b.kept[i] = -1;
    for (int i = 0; i < p->function->outputs; i++) p->kept[i] = p->kept_part[i] = -1;
    for (b.at = 0; b.at < p->parts; b.at++) {
        b.part = &p->part[b.at];
        ARTEL_TRY(make_part(&b));
    }
    return ARTEL_OK;
}

artel_status artel__placed_part_open(artel__placed_plan *p, artel__placed_part *part)
{
    artel_strategy *s = p->session->strategy;
    artel__plan_options options = {.batch_size = s->options.batch_size,
                                   .shards = (int32_t)s->options.shards,
                                   .replicas = 1,
                                   .isa = artel__context_isa(s->ctx)};
    artel__execution_options mine = {.state = s->state[0], .pool = s->pool[0]};
    if (part->run) return ARTEL_OK;
    if (!part->executable) ARTEL_TRY(artel__compile(s->ctx, &artel__cpu, &part->graph, &options, &part->executable));
    return artel__execution_create(part->executable, &mine, &part->run);
}
