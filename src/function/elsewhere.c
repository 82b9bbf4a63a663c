/* SPDX-License-Identifier: Apache-2.0 */
/* Functions whose variables belong to servers: what they would write is kept instead, for whoever runs them to send.
 *
 * A worker's graph has everything but the writing: gradients (clipping by norm is a worker's own affair, as in
 * TensorFlow, unless gradients of several steps are added up first) and values to assign are results of it. Moving
 * statistics are written by layers themselves, into the worker's copy; what they were and have become is sent.
 */
#include <string.h>

#include "function/closure.h"
#include "op/elementwise.h"
#include "op/op.h"
#include "ps/part.h"

artel_status artel__elsewhere_begin(artel_strategy *s, artel_cluster *cluster)
{
    if (artel__mesh_is_single(cluster))
        return artel__fail(
            s->ctx, ARTEL_ERROR_INVALID, s->plan.name,
            "start it with artel launch -n 2 --ps 1, or set TF_CONFIG, and open the cluster with parameter_servers set",
            "parameter-server needs a cluster with a chief, workers and ps tasks, and this process is alone");
    int tasks = artel__mesh_tasks(cluster)->tasks;
    if (tasks > ARTEL__MOST_MEMBERS)
        return artel__fail(s->ctx, ARTEL_ERROR_INVALID, s->plan.name, "start fewer tasks",
                           "%d tasks; closures are dealt among %d at the most", tasks, ARTEL__MOST_MEMBERS);
    s->servers = artel__mesh_tasks(cluster)->count[ARTEL__TASK_PS];
    s->copies = s->options.ps_copies ? (int)s->options.ps_copies : 1;
    if (s->servers >= 1 && s->copies > s->servers)
        return artel__fail(s->ctx, ARTEL_ERROR_INVALID, ".ps_copies", "start as many ps tasks, or leave it out",
                           "%d servers are to have each variable, of %d", s->copies, s->servers);
    if (s->servers >= 1 && s->servers <= ARTEL__PLACE_SERVERS)
        return artel__partition_read(s->ctx, s->options.ps_partitioner ? s->options.ps_partitioner : "none", s->servers,
                                     &s->partition);
    return artel__fail(s->ctx, ARTEL_ERROR_INVALID, s->plan.name, "start one ps task, or up to 256", "%d ps tasks",
                       s->servers);
}

artel_status artel__elsewhere_check(artel_strategy *s, const artel__optimizer *o)
{
    const char *all = artel__optimizer_reads_all(o);
    if (!all) return ARTEL_OK;
    return artel__fail(s->ctx, ARTEL_ERROR_UNSUPPORTED, o->class_name, "use clipnorm, or another strategy",
                       "clipping wants %s, and no parameter server has all of them", all);
}

/* -- while a function is traced -- */

static artel__update *note(artel_graph *g, artel__update_kind kind, int variable)
{
    if (g->updates == g->update_room) {
        int wider = g->update_room ? 2 * g->update_room : 16;
        artel__update *block = artel__arena_alloc(g->graph->arena, (size_t)wider, sizeof *block);
        if (!block) {
            g->graph->status = ARTEL_ERROR_NO_MEMORY;
            return NULL;
        }
        if (g->updates) memcpy(block, g->update, (size_t)g->updates * sizeof *block);
        g->update = block;
        g->update_room = wider;
    }
    artel__update *u = &g->update[g->updates++];
    *u = (artel__update){.kind = kind,
                         .variable = variable,
                         .item = -1,
                         .value = ARTEL_NO_VALUE,
                         .squares = ARTEL_NO_VALUE,
                         .norm = ARTEL_NO_VALUE,
                         .token = ARTEL_NO_VALUE,
                         .number = ARTEL_NO_VALUE,
                         .kept = -1,
                         .kept_squares = -1,
                         .kept_norm = -1,
                         .kept_token = -1,
                         .kept_number = -1};
    return u;
}

/* What is kept is made by the graph: a variable that is assigned to another one is read now. */
static artel__value_id made(artel_graph *g, artel__value_id value, const artel__variable *variable)
{
    artel__graph *graph = g->graph;
    if (graph->value[value].node >= 0) return value;
    if (variable->layout != ARTEL__LAYOUT_PANELS) return artel__op_unary(graph, ARTEL__UNARY_LINEAR, NULL, value);
    return artel__op_panels_of(graph, artel__op_plain(graph, value, variable->rows), variable->rows);
}

static void send(artel_graph *g, artel__update_kind kind, const artel_variable *variable, artel__value_id value)
{
    artel__update *u = note(g, kind, variable->index);
    if (u) u->value = artel__graph_give(g, made(g, value, &g->strategy->variables.item[variable->index]));
}

void artel__elsewhere_assign(artel_graph *g, const artel_variable *variable, artel__value_id value)
{
    send(g, ARTEL__UPDATE_ASSIGN, variable, value);
}

void artel__elsewhere_add(artel_graph *g, const artel_variable *variable, artel__value_id value)
{
    send(g, ARTEL__UPDATE_ADD, variable, value);
}

/* The rows of a table's gradient in its place, where they will do. */
static bool note_rows(artel_graph *g, const artel_optimizer *o, artel__update *u, artel__value_id gradient)
{
    artel__graph *graph = g->graph;
    artel__embedding_rows rows;
    const artel__variable *table = &g->strategy->variables.item[u->variable];
    bool plain = table->layout == ARTEL__LAYOUT_PLAIN && table->shape.rank == 2;
    if (!plain || o->variable[u->item]->constraint.def) return false;
    if (artel__optimizer_rows(&o->rule, graph, table, gradient, &rows) || graph->status < 0) return false;
    u->rows = true;
    u->most = graph->batch_size * graph->value[rows.token].storage;
    u->value = artel__graph_give(g, rows.rows);
    u->squares = rows.squares < 0 ? ARTEL_NO_VALUE : artel__graph_give(g, rows.squares);
    u->token = artel__graph_give(g, rows.token);
    u->number = artel__graph_give(g, rows.count);
    return true;
}

artel_status artel__elsewhere_apply(artel_graph *g, artel_optimizer *o, artel__value_id *gradient)
{
    artel__graph *graph = g->graph;
    artel__value_id *norm = artel__arena_alloc(graph->arena, (size_t)o->count + 1, sizeof *norm);
    if (!norm) return graph->status = ARTEL_ERROR_NO_MEMORY;
    ARTEL_TRY(artel__optimizer_norms(&o->rule, graph, &o->slots, gradient, norm));
    for (int i = 0; i < o->count; i++) {
        if (gradient[i] < 0) continue;
        artel__update *u = note(g, ARTEL__UPDATE_GRADIENT, o->variable[i]->index);
        if (!u) return graph->status;
        artel__value_id clipped = artel__optimizer_clip_table(&o->rule, graph, gradient[i]);
        u->item = i;
        u->clipped = clipped >= 0;
        if (clipped >= 0) gradient[i] = clipped;
        if (note_rows(g, o, u, gradient[i])) continue;
        u->squares = artel__graph_give(g, artel__optimizer_squares(&o->rule, graph, gradient[i]));
        u->value = artel__graph_give(g, made(g, gradient[i], &g->strategy->variables.item[u->variable]));
        u->norm = artel__graph_give(g, norm[i]);
    }
    return graph->status;
}

static int keep(artel_graph *g, artel_value value)
{
    return value < 0 || g->graph->status < 0 ? -1 : artel__graph_keep(g->graph, g->place[value].value);
}

void artel__elsewhere_keep(artel_function *f, artel_graph *g)
{
    for (int i = 0; i < g->updates; i++) {
        artel__update *u = &g->update[i];
        u->kept = keep(g, u->value);
        u->kept_squares = keep(g, u->squares);
        u->kept_norm = keep(g, u->norm);
        u->kept_token = keep(g, u->token);
        u->kept_number = keep(g, u->number);
    }
    f->update = g->update;
    f->updates = g->updates;
}

/* -- once it is sealed -- */

static bool is_written(const artel__graph *graph, int variable)
{
    for (int n = 0; n < graph->nodes; n++) {
        const artel__node *node = &graph->node[n];
        for (int k = 0; node->op->writes && k < node->op->written && k < node->inputs; k++) {
            if (node->input[k] >= 0 && graph->value[node->input[k]].variable == variable) return true;
        }
    }
    return false;
}

static artel_status check_variable(const artel_function *f, const artel__variable *v)
{
    const char *what = v->kind == ARTEL__VARIABLE_ROW_STATE ? "a state that goes from batch to batch"
                       : v->dtype != ARTEL_DTYPE_FLOAT32    ? "a variable that is not float32"
                                                            : NULL;
    if (!what) return ARTEL_OK;
    return artel__fail(f->strategy->ctx, ARTEL_ERROR_UNSUPPORTED, v->name, "use another strategy",
                       "%s has no place among parameter servers", what);
}

static artel_status add_statistic(artel_function *f, artel__update *u, int variable)
{
    const artel__variable *v = &f->strategy->variables.item[variable];
    *u = (artel__update){.kind = ARTEL__UPDATE_STATISTIC,
                         .variable = variable,
                         .item = -1,
                         .kept = -1,
                         .kept_squares = -1,
                         .kept_norm = -1};
    u->before = artel__arena_alloc(&f->arena, (size_t)v->count + 1, sizeof *u->before);
    return u->before ? ARTEL_OK : ARTEL_ERROR_NO_MEMORY;
}

static artel_status make_arranged(artel_function *f, artel__update *u)
{
    const artel__variable *v = &f->strategy->variables.item[u->variable];
    if (u->kept < 0 || v->layout == ARTEL__LAYOUT_PLAIN) return ARTEL_OK;
    u->arranged = artel__arena_alloc(&f->arena, (size_t)v->count, sizeof *u->arranged);
    return u->arranged ? ARTEL_OK : ARTEL_ERROR_NO_MEMORY;
}

artel_status artel__elsewhere_finish(artel_function *f)
{
    const artel__graph *graph = &f->graph;
    int variables = f->strategy->variables.count;
    bool *used = artel__arena_alloc(&f->arena, (size_t)variables + 1, sizeof *used);
    artel__update *all = artel__arena_alloc(&f->arena, (size_t)(f->updates + variables) + 1, sizeof *all);
    f->read = artel__arena_alloc(&f->arena, (size_t)variables + 1, sizeof *f->read);
    ARTEL_TRY(artel__arena_status(&f->arena));
    memset(used, 0, (size_t)variables + 1);
    if (f->updates) memcpy(all, f->update, (size_t)f->updates * sizeof *all);
    f->update = all;
    for (int k = 0; f->strategy->devices && k < f->updates; k++) ARTEL_TRY(make_arranged(f, &all[k]));
    for (int v = 0; v < graph->values; v++) {
        if (graph->value[v].variable >= 0) used[graph->value[v].variable] = true;
    }
    for (int v = 0; v < variables; v++) {
        if (!used[v]) continue;
        ARTEL_TRY(check_variable(f, &f->strategy->variables.item[v]));
        f->read[f->reads++] = v;
        if (is_written(graph, v)) ARTEL_TRY(add_statistic(f, &f->update[f->updates++], v));
    }
    ARTEL_TRY(artel__tables_find(f));
    return artel__spans_find(f);
}
