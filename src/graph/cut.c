/* SPDX-License-Identifier: Apache-2.0 */
/* Cutting: every node gets a stage and a program; then each program collects its nodes and the values that cross its
 * border. */
#include "graph/cut.h"

#include <string.h>

enum {
    COMMON,
    ROWS,
    APPLY,
    COLLECTIVE
};

/* Where a node, by index, belongs. */
typedef struct place {
    int32_t stage;
    int kind;
} place;

typedef struct cutter {
    const artel__graph *graph;
    artel__arena *arena;
    place *place;
    int32_t *seen; /* by value: the last program that has listed it */
    int32_t programs;
    bool *early; /* by node: of APPLY, and made with what stands before it */
} cutter;

static bool is_per_row(const artel__graph *graph, artel__value_id id)
{
    return graph->value[id].domain == ARTEL__DOMAIN_ROW || graph->value[id].domain == ARTEL__DOMAIN_NODES;
}

/* Operands that the node waits for: a view is its first operand, whatever the others are for. */
static int operands(const artel__node *node)
{
    return node->op->placement == ARTEL__PLACE_VIEW && node->inputs > 1 ? 1 : node->inputs;
}

static bool is_written(const artel__graph *graph, artel__value_id id)
{
    for (int i = 0; i < graph->nodes; i++) {
        const artel__node *node = &graph->node[i];
        for (int k = 0; node->op->writes && k < node->op->written && k < node->inputs; k++) {
            if (node->input[k] == id) return true;
        }
    }
    return false;
}

/* What is kept is known before anything is written, so nodes of APPLY that make it (rows of a gradient, for servers) do
 * not wait, unless they read what APPLY writes, or makes late. `wanted`: by value. */
static bool is_early(const artel__graph *graph, const artel__node *node, const int32_t *wanted)
{
    bool makes = false;
    if (node->phase != ARTEL__PHASE_APPLY || node->op->writes || node->op->collective) return false;
    if (node->gated || node->period > 1) return false;
    for (int k = 0; k < node->outputs; k++) makes = makes || wanted[node->output[k]];
    for (int k = 0; makes && k < node->inputs; k++) {
        artel__value_id id = node->input[k];
        if (id >= 0 && graph->value[id].variable >= 0 && is_written(graph, id)) return false;
    }
    return makes;
}

static bool waits(const cutter *c, int32_t node)
{
    return c->graph->node[node].phase == ARTEL__PHASE_APPLY && !c->early[node];
}

/* Makers stand before their readers. */
static bool reads_late(const cutter *c, int32_t index)
{
    const artel__node *node = &c->graph->node[index];
    for (int k = 0; k < operands(node); k++) {
        int32_t maker = node->input[k] < 0 ? -1 : c->graph->value[node->input[k]].node;
        if (maker >= 0 && waits(c, maker)) return true;
    }
    return false;
}

/* Uses c->seen, and leaves it empty. */
static artel_status find_early(cutter *c)
{
    const artel__graph *graph = c->graph;
    c->early = artel__arena_alloc(c->arena, (size_t)graph->nodes + 1, sizeof *c->early);
    if (!c->early) return ARTEL_ERROR_NO_MEMORY;
    for (int i = 0; i < graph->kept_count; i++) c->seen[graph->kept[i]] = 1;
    for (int32_t i = graph->nodes - 1; i >= 0; i--) {
        const artel__node *node = &graph->node[i];
        c->early[i] = is_early(graph, node, c->seen);
        for (int k = 0; k < node->inputs && c->early[i]; k++) {
            if (node->input[k] >= 0) c->seen[node->input[k]] = 1;
        }
    }
    for (int32_t i = 0; i < graph->nodes; i++) c->early[i] = c->early[i] && !reads_late(c, i);
    memset(c->seen, 0, (size_t)graph->values * sizeof *c->seen);
    return ARTEL_OK;
}

static int kind_of(const cutter *c, int32_t index)
{
    const artel__graph *graph = c->graph;
    const artel__node *node = &graph->node[index];
    if (node->op->collective) return COLLECTIVE;
    if (waits(c, index)) return APPLY;
    for (int k = 0; k < node->outputs; k++) {
        if (is_per_row(graph, node->output[k])) return ROWS;
    }
    return COMMON;
}

/* A node is one stage behind the collectives that it reads. */
static int32_t find_stages(cutter *c)
{
    const artel__graph *graph = c->graph;
    int32_t stages = 1;
    for (int32_t i = 0; i < graph->nodes; i++) {
        const artel__node *node = &graph->node[i];
        place *at = &c->place[i];
        *at = (place){0, kind_of(c, i)};
        for (int k = 0; k < operands(node); k++) {
            int32_t maker = node->input[k] < 0 ? -1 : graph->value[node->input[k]].node;
            if (maker < 0) continue;
            int32_t after = c->place[maker].stage + (c->place[maker].kind == COLLECTIVE);
            if (after > at->stage) at->stage = after;
        }
        if (at->kind != APPLY && at->stage >= stages) stages = at->stage + 1;
        if (at->kind == COLLECTIVE && at->stage + 1 >= stages) stages = at->stage + 1;
    }
    return stages;
}

static bool can_wait(const cutter *c, int32_t index)
{
    const artel__node *node = &c->graph->node[index];
    return c->place[index].kind <= ROWS && (node->inputs == 0 || node->again);
}

/* From the last node to the first, so that a chain that can wait moves as a whole. */
static artel_status postpone(cutter *c, int32_t stages)
{
    const artel__graph *graph = c->graph;
    int32_t *first = artel__arena_alloc(c->arena, (size_t)graph->values + 1,
                                        sizeof *first); /* by value: the stage that first reads it */
    if (!first) return ARTEL_ERROR_NO_MEMORY;
    for (int i = 0; i < graph->values; i++) first[i] = stages;
    for (int i = 0; i < graph->kept_count; i++) first[graph->kept[i]] = 0;
    for (int32_t i = graph->nodes - 1; i >= 0; i--) {
        const artel__node *node = &graph->node[i];
        int32_t reader = stages, own = c->place[i].kind == APPLY ? stages - 1 : c->place[i].stage;
        for (int k = 0; k < node->outputs; k++)
            reader = first[node->output[k]] < reader ? first[node->output[k]] : reader;
        if (can_wait(c, i) && reader > own && reader < stages) own = c->place[i].stage = reader;
        for (int k = 0; k < node->inputs; k++) {
            if (node->input[k] >= 0 && own < first[node->input[k]]) first[node->input[k]] = own;
        }
    }
    return ARTEL_OK;
}

static bool belongs(const cutter *c, int32_t node, place at)
{
    return node >= 0 && c->place[node].kind == at.kind && (at.kind == APPLY || c->place[node].stage == at.stage);
}

static artel__value_id *list_of(const cutter *c, int count)
{
    return artel__arena_alloc(c->arena, (size_t)count + 1, sizeof(artel__value_id));
}

/* Values that the program reads and does not make. */
static artel_status list_inputs(cutter *c, place at, artel__cut_program *program)
{
    const artel__graph *graph = c->graph;
    int32_t mark = ++c->programs;
    for (int n = 0; n < program->nodes; n++) {
        const artel__node *node = &graph->node[program->node[n]];
        for (int k = 0; k < operands(node); k++) {
            artel__value_id id = node->input[k];
            if (id < 0 || c->seen[id] == mark || belongs(c, graph->value[id].node, at)) continue;
            c->seen[id] = mark;
            program->ins++;
        }
    }
    program->in = list_of(c, program->ins);
    if (!program->in) return ARTEL_ERROR_NO_MEMORY;
    for (artel__value_id id = 0, n = 0; id < graph->values && n < program->ins; id++) {
        if (c->seen[id] == mark) program->in[n++] = id;
    }
    return ARTEL_OK;
}

/* Values that it makes and others read. */
static artel_status list_outputs(cutter *c, place at, artel__cut_program *program)
{
    const artel__graph *graph = c->graph;
    int32_t mark = ++c->programs;
    for (int32_t i = 0; i < graph->nodes; i++) {
        const artel__node *node = &graph->node[i];
        for (int k = 0; k < operands(node) && !belongs(c, i, at); k++) {
            if (node->input[k] >= 0 && belongs(c, graph->value[node->input[k]].node, at))
                c->seen[node->input[k]] = mark;
        }
    }
    for (int i = 0; i < graph->kept_count; i++) {
        if (belongs(c, graph->value[graph->kept[i]].node, at)) c->seen[graph->kept[i]] = mark;
    }
    for (artel__value_id id = 0; id < graph->values; id++) program->outs += c->seen[id] == mark;
    program->out = list_of(c, program->outs);
    if (!program->out) return ARTEL_ERROR_NO_MEMORY;
    for (artel__value_id id = 0, n = 0; id < graph->values; id++) {
        if (c->seen[id] == mark) program->out[n++] = id;
    }
    return ARTEL_OK;
}

static artel_status list_nodes(const cutter *c, place at, int32_t **list, int *count)
{
    for (int32_t i = 0; i < c->graph->nodes; i++) *count += belongs(c, i, at);
    int32_t *node = artel__arena_alloc(c->arena, (size_t)*count + 1, sizeof *node);
    if (!node) return ARTEL_ERROR_NO_MEMORY;
    *list = node;
    for (int32_t i = 0; i < c->graph->nodes; i++) {
        if (belongs(c, i, at)) *node++ = i;
    }
    return ARTEL_OK;
}

static artel_status make_program(cutter *c, int32_t stage, int kind, artel__cut_program *program)
{
    place at = {stage, kind};
    ARTEL_TRY(list_nodes(c, at, &program->node, &program->nodes));
    ARTEL_TRY(list_inputs(c, at, program));
    return list_outputs(c, at, program);
}

artel_status artel__graph_cut(const artel__graph *graph, artel__arena *arena, artel__cut *out)
{
    cutter c = {.graph = graph,
                .arena = arena,
                .place = artel__arena_alloc(arena, (size_t)graph->nodes + 1, sizeof(place)),
                .seen = artel__arena_alloc(arena, (size_t)graph->values + 1, sizeof(int32_t))};
    if (!c.place || !c.seen) return ARTEL_ERROR_NO_MEMORY;
    ARTEL_TRY(find_early(&c));
    *out = (artel__cut){.stages = find_stages(&c)};
    ARTEL_TRY(postpone(&c, out->stages));
    out->stage = artel__arena_alloc(arena, (size_t)out->stages, sizeof *out->stage);
    if (!out->stage) return ARTEL_ERROR_NO_MEMORY;
    for (int32_t s = 0; s < out->stages; s++) {
        artel__cut_stage *stage = &out->stage[s];
        ARTEL_TRY(make_program(&c, s, COMMON, &stage->common));
        ARTEL_TRY(make_program(&c, s, ROWS, &stage->rows));
        ARTEL_TRY(list_nodes(&c, (place){s, COLLECTIVE}, &stage->collective, &stage->collectives));
    }
    return make_program(&c, 0, APPLY, &out->apply);
}

/* The variables' step reads what all that stands before it has made, and nothing reads what it has written. */
static artel_status make_step(cutter *c, artel__cut *cut)
{
    const artel__cut_program *rows = &cut->stage->rows, *apply = &cut->apply;
    for (int i = 0; i < c->graph->nodes; i++) c->place[i].kind = ROWS;
    ARTEL_TRY(make_program(c, 0, ROWS, &cut->step));
    memcpy(cut->step.node, rows->node, (size_t)rows->nodes * sizeof *rows->node);
    memcpy(cut->step.node + rows->nodes, apply->node, (size_t)apply->nodes * sizeof *apply->node);
    return ARTEL_OK;
}

artel_status artel__graph_join(const artel__graph *graph, artel__arena *arena, artel__cut *out)
{
    cutter c = {.graph = graph,
                .arena = arena,
                .place = artel__arena_alloc(arena, (size_t)graph->nodes + 1, sizeof(place)),
                .seen = artel__arena_alloc(arena, (size_t)graph->values + 1, sizeof(int32_t))};
    if (!c.place || !c.seen) return ARTEL_ERROR_NO_MEMORY;
    ARTEL_TRY(find_early(&c));
    for (int i = 0; i < graph->nodes; i++) c.place[i].kind = waits(&c, i) ? APPLY : ROWS;
    *out = (artel__cut){.stages = 1, .stage = artel__arena_alloc(arena, 1, sizeof *out->stage)};
    if (!out->stage) return ARTEL_ERROR_NO_MEMORY;
    ARTEL_TRY(make_program(&c, 0, ROWS, &out->stage->rows));
    ARTEL_TRY(make_program(&c, 0, APPLY, &out->apply));
    return out->apply.nodes ? make_step(&c, out) : ARTEL_OK;
}

/* -- the text -- */

static void dump_values(const char *title, const artel__value_id *id, int count, artel__text *out)
{
    artel__text_printf(out, "  %s", title);
    for (int i = 0; i < count; i++) artel__text_printf(out, " %%%d", (int)id[i]);
}

static void dump_program(const char *name, const artel__cut_program *program, artel__text *out)
{
    if (!program->nodes) return;
    artel__text_printf(out, "  %s: %d nodes %d..%d", name, program->nodes, (int)program->node[0],
                       (int)program->node[program->nodes - 1]);
    dump_values("reads", program->in, program->ins, out);
    dump_values("gives", program->out, program->outs, out);
    artel__text_append(out, "\n");
}

void artel__cut_dump(const artel__graph *graph, const artel__cut *cut, artel__text *out)
{
    for (int s = 0; s < cut->stages; s++) {
        const artel__cut_stage *stage = &cut->stage[s];
        artel__text_printf(out, "stage %d\n", s);
        dump_program("common", &stage->common, out);
        dump_program("rows", &stage->rows, out);
        for (int i = 0; i < stage->collectives; i++)
            artel__text_printf(out, "  %s: node %d\n", graph->node[stage->collective[i]].op->name,
                               (int)stage->collective[i]);
    }
    dump_program("apply", &cut->apply, out);
    dump_program("all of it as one", &cut->step, out);
}
