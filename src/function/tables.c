/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of which a closure moves rows only: those that one embedding reads, by an index that follows from arguments.
 *
 * Which rows that are a worker must know before it computes, for it asks the servers for them. The part of the function
 * that makes the index from its arguments is a graph of its own, which ends in the tokens of each table: once each, in
 * ascending order. Any other reading fetches a variable whole.
 */
#include <string.h>

#include "function/closure.h"

/* A copy of the graph, to which more is added; nodes that write are not in it. */
static artel_status copy_graph(artel__arena *arena, const artel__graph *from, artel__graph *out)
{
    size_t values = (size_t)from->values + 1, nodes = (size_t)from->nodes + 1;
    *out = *from;
    out->value = artel__arena_alloc(arena, values, sizeof *out->value);
    out->node = artel__arena_alloc(arena, nodes, sizeof *out->node);
    ARTEL_TRY(artel__arena_status(arena));
    memcpy(out->value, from->value, (size_t)from->values * sizeof *out->value);
    out->value_capacity = from->values;
    out->node_capacity = from->nodes;
    out->nodes = 0;
    for (int n = 0; n < from->nodes; n++) {
        artel__node node = from->node[n];
        if (node.op->writes) continue;
        size_t ids = (size_t)(node.inputs + node.outputs) + 1;
        node.input = artel__arena_alloc(arena, ids, sizeof *node.input);
        if (!node.input) return ARTEL_ERROR_NO_MEMORY;
        node.output = node.input + node.inputs;
        if (node.inputs) memcpy(node.input, from->node[n].input, (size_t)node.inputs * sizeof *node.input);
        if (node.outputs) memcpy(node.output, from->node[n].output, (size_t)node.outputs * sizeof *node.output);
        for (int k = 0; k < node.outputs; k++) out->value[node.output[k]].node = out->nodes;
        out->node[out->nodes++] = node;
    }
    out->kept = NULL;
    out->kept_count = out->kept_capacity = 0;
    out->extra = out->gate = ARTEL__NO_VALUE;
    out->phase = ARTEL__PHASE_FORWARD;
    out->scope = "tables";
    out->sealed = false;
    return ARTEL_OK;
}

static bool is_written(const artel_function *f, int variable)
{
    for (int k = 0; k < f->updates; k++) {
        if (f->update[k].variable == variable && f->update[k].kind == ARTEL__UPDATE_STATISTIC) return true;
    }
    return false;
}

/* Variable `v`, which the function reads, as a table; no table where it is none. */
static void add_table(artel_function *f, int v, int *table)
{
    artel__tables *t = &f->tables;
    const artel__graph *graph = &f->graph;
    const artel__variable *variable = &f->strategy->variables.item[v];
    artel__value_id value = v < graph->variable_values ? graph->variable_value[v] : ARTEL__NO_VALUE;
    artel__embedding_rows rows;
    const char *why;
    *table = -1;
    if (value < 0 || variable->layout != ARTEL__LAYOUT_PLAIN || variable->shape.rank != 2 || is_written(f, v)) return;
    artel__value_id index = artel__op_embedding_index(graph, value, &why);
    if (index < 0) return;
    for (int i = 0; i < graph->kept_count; i++) {
        if (graph->kept[i] == value) return; /* read as it is, too */
    }
    artel__op_embedding_tokens(&t->graph, value, index, &rows);
    if (t->graph.status < 0) return;
    *table = t->count;
    t->item[t->count++] = (artel__table_read){.variable = v,
                                              .token = artel__graph_keep(&t->graph, rows.token),
                                              .number = artel__graph_keep(&t->graph, rows.count)};
}

artel_status artel__tables_find(artel_function *f)
{
    artel__tables *t = &f->tables;
    size_t reads = (size_t)f->reads + 1;
    t->item = artel__arena_alloc(&f->arena, reads, sizeof *t->item);
    t->of = artel__arena_alloc(&f->arena, reads, sizeof *t->of);
    ARTEL_TRY(artel__arena_status(&f->arena));
    ARTEL_TRY(copy_graph(&f->arena, &f->graph, &t->graph));
    for (int k = 0; k < f->reads; k++) add_table(f, f->read[k], &t->of[k]);
    return artel__graph_seal(&t->graph);
}

artel_status artel__tables_open(artel_function *f)
{
    artel__tables *t = &f->tables;
    artel_strategy *s = f->strategy;
    const artel__plan_options options = {.batch_size = s->options.batch_size,
                                         .shards = (int32_t)s->options.shards,
                                         .replicas = 1,
                                         .isa = artel__context_isa(s->ctx)};
    if (t->count == 0 || t->run) return ARTEL_OK;
    ARTEL_TRY(artel__compile(s->ctx, &artel__cpu, &t->graph, &options, &t->plan));
    const artel__execution_options own = {.state = s->state[0], .pool = s->pool[0]};
    return artel__execution_create(t->plan, &own, &t->run);
}

void artel__tables_close(artel_function *f)
{
    artel__execution_destroy(f->tables.run);
    artel__executable_destroy(f->tables.plan);
    f->tables.run = NULL;
    f->tables.plan = NULL;
}

/* -- lists of rows -- */

static void add_piece(artel__row_list *list, const artel_strategy *s, const artel__owned_piece *p, int table,
                      const artel__update *u)
{
    int64_t rows = p->count / p->width, most = u && u->most < rows ? u->most : rows;
    list->item[list->count++] = (artel__row_piece){.piece = (int)(p - s->piece),
                                                   .table = table,
                                                   .first = p->first / p->width,
                                                   .rows = rows,
                                                   .width = p->width,
                                                   .most = most,
                                                   .squares = u && u->kept_squares >= 0};
}

static artel_status make_list(artel__arena *arena, const artel_function *f, int part, bool update, artel__row_list *out)
{
    const artel_strategy *s = f->strategy;
    const artel__owned_piece *p;
    *out = (artel__row_list){.item = artel__arena_alloc(arena, (size_t)s->pieces + 1, sizeof *out->item),
                             .counts = artel__arena_alloc(arena, (size_t)s->pieces + 1, sizeof *out->counts)};
    ARTEL_TRY(artel__arena_status(arena));
    for (int k = 0; k < (update ? f->updates : f->reads); k++) {
        const artel__update *u = update ? &f->update[k] : NULL;
        int table = update ? k : f->tables.of[k];
        if (update ? !u->rows : table < 0) continue;
        for (int at = 0; (p = artel__closure_piece(s, u ? u->variable : f->read[k], part, &at)) != NULL;)
            if (p->width > 0) add_piece(out, s, p, table, u);
    }
    return ARTEL_OK;
}

artel_status artel__row_lists_make(artel__arena *arena, const artel_function *f, int part, artel__row_lists *out)
{
    ARTEL_TRY(make_list(arena, f, part, false, &out->read));
    return make_list(arena, f, part, true, &out->update);
}
