/* SPDX-License-Identifier: Apache-2.0 */
/* Plans: what is needed, in which order tasks wait for one another, what goes from whom to whom.
 *
 * The level of a node is how often a value on its way from the feeds to it has changed tasks. The nodes of a task of
 * one level are a part: when what comes from outside is there, all of it can be computed without waiting. A part waits
 * only for parts of lower levels, so no order of messages can make tasks wait in a circle.
 */
#include <string.h>

#include "base/hash.h"
#include "function/session/session_impl.h"

size_t artel__placed_bytes(const artel__placed_plan *p, artel__value_id value, int64_t rows)
{
    const artel__value *v = &p->function->graph.value[value];
    return (size_t)v->storage * artel_dtype_size(v->dtype) * (size_t)(v->domain == ARTEL__DOMAIN_ROW ? rows : 1);
}

static int host_of(const artel__placed_plan *p, int node)
{
    return artel__placed_host(p->session, p->place[node]);
}

/* -- what is needed -- */

/* From the last node to the first: those whose results are fetched or written, and what they read. */
static artel_status mark_needed(artel__placed_plan *p)
{
    const artel_function *f = p->function;
    const artel__graph *graph = &f->graph;
    bool *used = artel__arena_alloc(&p->arena, (size_t)graph->values + 1, sizeof *used);
    if (!used) return ARTEL_ERROR_NO_MEMORY;
    for (int i = 0; i < f->outputs; i++) used[graph->kept[i]] = used[graph->kept[i]] || p->wanted[i];
    for (int n = graph->nodes - 1; n >= 0; n--) {
        const artel__node *node = &graph->node[n];
        bool alive = node->op->writes && p->updates;
        for (int k = 0; k < node->outputs && !node->op->writes; k++) alive = alive || used[node->output[k]];
        p->place[n] = alive ? 0 : -1;
        p->writes = p->writes || (alive && node->op->writes);
        for (int k = 0; k < node->inputs && alive; k++) {
            if (artel__placed_reads(node, k)) used[node->input[k]] = true;
        }
    }
    return ARTEL_OK;
}

/* -- levels -- */

static void set_levels(artel__placed_plan *p)
{
    const artel__graph *graph = &p->function->graph;
    int last[ARTEL__PLACED_MOST_TASKS] = {0};
    for (int n = 0; n < graph->nodes; n++) {
        const artel__node *node = &graph->node[n];
        if (p->place[n] < 0) continue;
        for (int k = 0; k < node->inputs; k++) {
            int from = artel__placed_reads(node, k) ? graph->value[node->input[k]].node : -1;
            if (from < 0) continue;
            int level = p->level[from] + (host_of(p, from) != host_of(p, n));
            if (level > p->level[n]) p->level[n] = level;
        }
        if (p->level[n] > last[host_of(p, n)]) last[host_of(p, n)] = p->level[n];
    }
    for (int n = 0; n < graph->nodes; n++) { /* nothing is written before all is computed */
        if (p->place[n] >= 0 && graph->node[n].phase == ARTEL__PHASE_APPLY) p->level[n] = last[host_of(p, n)];
    }
}

/* -- what goes from task to task -- */

static artel_status add_edge(artel__placed_plan *p, const artel__placed_edge *edge)
{
    for (int e = 0; e < p->edges; e++) {
        if (p->edge[e].to == edge->to && p->edge[e].value == edge->value) return ARTEL_OK;
    }
    if (p->edges == p->edge_room) {
        int wider = p->edge_room ? 2 * p->edge_room : 16;
        artel__placed_edge *block = artel__arena_alloc(&p->arena, (size_t)wider, sizeof *block);
        if (!block) return ARTEL_ERROR_NO_MEMORY;
        if (p->edges) memcpy(block, p->edge, (size_t)p->edges * sizeof *block);
        p->edge = block;
        p->edge_room = wider;
    }
    p->edge[p->edges++] = *edge;
    p->involved[edge->from] = p->involved[edge->to] = true;
    return ARTEL_OK;
}

static artel_status note_operand(artel__placed_plan *p, int n, artel__value_id value)
{
    const artel__value *v = &p->function->graph.value[value];
    int to = host_of(p, n),
        from = v->variable >= 0 ? artel__placed_host(p->session, p->session->owner[v->variable]) : -1;
    if (v->input >= 0) p->fed[to * p->function->arguments + v->input] = true;
    if (v->node >= 0) from = host_of(p, v->node);
    if (from < 0 || from == to) return ARTEL_OK;
    return add_edge(p, &(artel__placed_edge){.from = from,
                                             .to = to,
                                             .value = value,
                                             .variable = v->variable,
                                             .level = v->node >= 0 ? p->level[v->node] : 0,
                                             .kept = -1});
}

static artel_status list_edges(artel__placed_plan *p)
{
    const artel__graph *graph = &p->function->graph;
    for (int n = 0; n < graph->nodes; n++) {
        const artel__node *node = &graph->node[n];
        if (p->place[n] < 0) continue;
        p->involved[host_of(p, n)] = true;
        for (int k = 0; k < node->inputs; k++) {
            if (artel__placed_reads(node, k)) ARTEL_TRY(note_operand(p, n, node->input[k]));
        }
    }
    for (int i = 0; i < p->function->outputs; i++) { /* an argument given back */
        const artel__value *v = &graph->value[graph->kept[i]];
        if (p->wanted[i] && v->input >= 0) p->fed[p->client * p->function->arguments + v->input] = true;
    }
    return ARTEL_OK;
}

/* -- the plan as text, which equal plans have in common -- */

static void dump_node(const artel__placed_plan *p, int n, artel__text *out)
{
    const artel__node *node = &p->function->graph.node[n];
    if (p->place[n] < 0) return;
    artel__text_printf(out, "  node %d %s%s%s: %s, part %d\n", n, node->op->name, node->name[0] ? " of " : "",
                       node->name, p->session->task[p->place[n]].text, p->level[n]);
}

void artel__placed_plan_dump(const artel__placed_plan *p, artel__text *out)
{
    const artel_session *s = p->session;
    artel__text_printf(out, "# %s%s\n", p->function->name, p->updates ? "" : ", read only");
    for (int n = 0; n < p->function->graph.nodes; n++) dump_node(p, n, out);
    for (int e = 0; e < p->edges; e++) {
        const artel__placed_edge *edge = &p->edge[e];
        size_t bytes = artel__placed_bytes(p, edge->value, 1);
        const char *each = p->function->graph.value[edge->value].domain == ARTEL__DOMAIN_ROW ? " a row" : "";
        artel__text_printf(out, "  send %d: ", e);
        if (edge->variable >= 0)
            artel__text_printf(out, "variable %s", s->strategy->variables.item[edge->variable].name);
        else
            artel__text_printf(out, "result of node %d", p->function->graph.value[edge->value].node);
        artel__text_printf(out, ", %zu bytes%s, %s -> %s\n", bytes, each, s->task[edge->from].text,
                           s->task[edge->to].text);
    }
}

static artel_status set_hash(artel__placed_plan *p)
{
    artel__text text;
    artel__text_init(&text, p->session->ctx);
    artel__graph_dump(&p->function->graph, &text);
    artel__placed_plan_dump(p, &text);
    p->hash = artel__hash64(text.data, text.length);
    artel_status status = artel__text_status(&text);
    artel__text_fini(&text);
    return status;
}

/* -- making -- */

artel_status artel__placed_check_function(const artel_session *s, const artel_function *f)
{
    if (artel__texts_any(f))
        return artel__fail(s->ctx, ARTEL_ERROR_UNSUPPORTED, f->name, "run it with artel_function_run",
                           "a function that computes with text is not placed on tasks");
    if (f->scaling)
        return artel__fail(s->ctx, ARTEL_ERROR_UNSUPPORTED, f->name, "run it with artel_function_run",
                           "the optimizer scales its loss, and no task has all gradients");
    if (f->applies > 1)
        return artel__fail(s->ctx, ARTEL_ERROR_UNSUPPORTED, f->name, "make a function for each step",
                           "a session runs one step of one optimizer, and the function takes %d", f->applies);
    return ARTEL_OK;
}

static artel_status make_lists(artel__placed_plan *p, const bool *wanted)
{
    const artel_function *f = p->function;
    ARTEL_TRY(artel__placed_check_function(p->session, f));
    size_t nodes = (size_t)f->graph.nodes + 1, arguments = (size_t)f->arguments + 1, tasks = (size_t)p->session->tasks;
    p->wanted = artel__arena_alloc(&p->arena, (size_t)f->outputs + 1, sizeof *p->wanted);
    p->kept = artel__arena_alloc(&p->arena, (size_t)f->outputs + 1, sizeof *p->kept);
    p->kept_part = artel__arena_alloc(&p->arena, (size_t)f->outputs + 1, sizeof *p->kept_part);
    p->place = artel__arena_alloc(&p->arena, nodes, sizeof *p->place);
    p->level = artel__arena_alloc(&p->arena, nodes, sizeof *p->level);
    p->fed = artel__arena_alloc(&p->arena, arguments * tasks, sizeof *p->fed);
    p->involved = artel__arena_alloc(&p->arena, tasks, sizeof *p->involved);
    p->asked = artel__arena_alloc(&p->arena, tasks, sizeof *p->asked);
    p->due = artel__arena_alloc(&p->arena, tasks, sizeof *p->due);
    p->piece = artel__arena_alloc(&p->arena, arguments + (size_t)f->outputs + 1, sizeof *p->piece);
    p->feed = artel__arena_alloc(&p->arena, arguments, sizeof *p->feed);
    p->feed_bytes = artel__arena_alloc(&p->arena, arguments, sizeof *p->feed_bytes);
    p->start = artel__arena_alloc(&p->arena, (size_t)p->session->strategy->options.shards + 1, sizeof *p->start);
    ARTEL_TRY(artel__arena_status(&p->arena));
    if (f->outputs) memcpy(p->wanted, wanted, (size_t)f->outputs * sizeof *wanted);
    return ARTEL_OK;
}

static artel_status make(artel__placed_plan *p, const bool *wanted)
{
    ARTEL_TRY(make_lists(p, wanted));
    ARTEL_TRY(mark_needed(p));
    ARTEL_TRY(artel__placed_place_nodes(p));
    set_levels(p);
    ARTEL_TRY(list_edges(p));
    ARTEL_TRY(set_hash(p));
    return artel__placed_parts_make(p);
}

static bool is_for(const artel__placed_plan *p, const artel_function *f, int client, const bool *wanted, bool updates)
{
    if (p->function != f || p->client != client || p->updates != updates) return false;
    for (int i = 0; i < f->outputs; i++) {
        if (p->wanted[i] != wanted[i]) return false;
    }
    return true;
}

artel_status artel__placed_plan_get(artel_session *s, artel_function *f, int client, const bool *wanted, bool updates,
                                    artel__placed_plan **out)
{
    void *block;
    for (artel__placed_plan *p = s->plan; p; p = p->after) {
        if (!is_for(p, f, client, wanted, updates)) continue;
        *out = p;
        return ARTEL_OK;
    }
    ARTEL_TRY(artel__calloc(s->ctx, 1, sizeof(artel__placed_plan), "plan", &block));
    artel__placed_plan *made = block;
    made->session = s;
    made->function = f;
    made->client = client;
    made->updates = updates;
    artel__arena_init(&made->arena, s->ctx);
    artel_status status = make(made, wanted);
    if (status < 0) {
        artel__placed_plan_destroy(made);
        return status;
    }
    made->after = s->plan;
    s->plan = made;
    *out = made;
    return ARTEL_OK;
}

void artel__placed_plan_destroy(artel__placed_plan *p)
{
    artel_context *ctx = p->session->ctx;
    for (int i = 0; i < p->parts; i++) {
        artel__execution_destroy(p->part[i].run);
        artel__executable_destroy(p->part[i].executable);
    }
    for (int e = 0; e < p->edges; e++) {
        if (p->edge[e].memory) artel__free_aligned(ctx, p->edge[e].memory, p->edge[e].room);
    }
    for (int i = 0; p->feed_bytes && i < p->function->arguments; i++) {
        if (p->feed[i]) artel__free_aligned(ctx, p->feed[i], p->feed_bytes[i]);
    }
    artel__arena_fini(&p->arena);
    artel__free(ctx, p);
}
