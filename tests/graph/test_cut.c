/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs cut into programs: every node is in one; whatever a program reads is there by then, and it says so; what
 * others need is given. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "graph/cut.h"
#include "graph/recompute.h"
#include "support/graph_bench.h"
#include "support/sanitized.h"

enum {
    GRAPHS = SUPPORT_SANITIZED ? 20 : 60
};

typedef struct walk {
    const artel__graph *graph;
    bool *there;     /* by value */
    int *program_of; /* by value: the program that made it, counted from 1; 0: none */
    int *program_at; /* by node: the program that it is in; 0: none */
    int programs, nodes;
} walk;

static bool lists(const artel__value_id *list, int count, artel__value_id id)
{
    for (int i = 0; i < count; i++) {
        if (list[i] == id) return true;
    }
    return false;
}

/* Operands that a node waits for. */
static int waits_for(const artel__node *node)
{
    return node->op->placement == ARTEL__PLACE_VIEW ? 1 : node->inputs;
}

static void take_program(walk *w, const artel__cut_program *program)
{
    int own = ++w->programs;
    for (int i = 1; i < program->ins; i++) assert_true(program->in[i] > program->in[i - 1]);
    for (int i = 0; i < program->ins; i++) assert_true(w->there[program->in[i]]);
    for (int n = 0; n < program->nodes; n++) {
        const artel__node *node = &w->graph->node[program->node[n]];
        assert_int_equal(node->op->collective, ARTEL__COLLECTIVE_NONE);
        for (int k = 0; k < waits_for(node) && k < node->inputs; k++) {
            artel__value_id id = node->input[k];
            if (id < 0) continue;
            assert_true(w->there[id]);
            assert_int_equal(lists(program->in, program->ins, id), w->program_of[id] != own);
        }
        for (int k = 0; k < node->outputs; k++) {
            w->there[node->output[k]] = true;
            w->program_of[node->output[k]] = own;
        }
        w->program_at[program->node[n]] = own;
        w->nodes++;
    }
    for (int i = 0; i < program->outs; i++) assert_int_equal(w->program_of[program->out[i]], own);
}

/* Values that go from one program to another, or are kept, are given by the one that makes them, and no others are. */
static void check_given(const walk *w, const artel__cut_program *program, int own)
{
    for (artel__value_id id = 0; id < w->graph->values; id++) {
        if (w->program_of[id] != own) continue;
        bool wanted = lists(w->graph->kept, w->graph->kept_count, id);
        for (int i = 0; i < w->graph->nodes; i++) {
            const artel__node *node = &w->graph->node[i];
            for (int k = 0; k < waits_for(node) && k < node->inputs; k++)
                wanted = wanted || (node->input[k] == id && w->program_at[i] != own);
        }
        bool given = lists(program->out, program->outs, id);
        if (given != wanted) fail_msg("value %d is %s", (int)id, given ? "given to nobody" : "not given");
    }
}

/* Whether somebody reads the value in the stage of node `index`, or it must be there at the end. */
static bool is_used_with(const walk *w, int index, artel__value_id id)
{
    int stage = (w->program_at[index] - 1) / 2;
    bool later = false, early = lists(w->graph->kept, w->graph->kept_count, id);
    for (int i = 0; i < w->graph->nodes; i++) {
        const artel__node *node = &w->graph->node[i];
        if (!lists(node->input, node->inputs, id)) continue;
        early = early || w->program_at[i] == 0 || (w->program_at[i] - 1) / 2 == stage;
        later = true;
    }
    return early || !later;
}

/* What can wait is computed in the stage that first reads it. */
static void check_waiting(const walk *w)
{
    for (int i = 0; i < w->graph->nodes; i++) {
        const artel__node *node = &w->graph->node[i];
        bool waits = (node->inputs == 0 || node->again) && !node->op->collective && node->phase != ARTEL__PHASE_APPLY,
             used = false;
        for (int k = 0; k < node->outputs; k++) used = used || is_used_with(w, i, node->output[k]);
        if (waits && !used) fail_msg("node %d (%s) does not wait for its readers", i, node->op->name);
    }
}

static void walk_cut(walk *w, const artel__cut *cut)
{
    const artel__graph *graph = w->graph;
    for (int i = 0; i < graph->values; i++) w->there[i] = graph->value[i].node < 0;
    for (int s = 0; s < cut->stages; s++) {
        const artel__cut_stage *stage = &cut->stage[s];
        take_program(w, &stage->common);
        take_program(w, &stage->rows);
        for (int n = 0; n < stage->common.nodes; n++) {
            const artel__node *node = &graph->node[stage->common.node[n]];
            for (int k = 0; k < node->outputs; k++)
                assert_true(graph->value[node->output[k]].domain >= ARTEL__DOMAIN_GLOBAL);
        }
        for (int i = 0; i < stage->collectives; i++) {
            const artel__node *node = &graph->node[stage->collective[i]];
            assert_true(node->op->collective && w->there[node->input[0]] && !w->there[node->output[0]]);
            w->there[node->output[0]] = true;
            w->nodes++;
        }
        assert_true(s == cut->stages - 1 || stage->collectives > 0);
    }
    take_program(w, &cut->apply);
    assert_int_equal(w->nodes, graph->nodes);
    check_waiting(w);
    for (int s = 0; s < cut->stages; s++) {
        check_given(w, &cut->stage[s].common, 2 * s + 1);
        check_given(w, &cut->stage[s].rows, 2 * s + 2);
    }
}

/* Joined, every node is in one of two programs, and in the one that is both: operands first, APPLY last, and nothing is
 * given but what is kept. */
static void check_joined(const artel__graph *graph, artel__arena *arena)
{
    artel__cut cut;
    bool *there = artel__arena_alloc(arena, (size_t)graph->values + 1, sizeof *there), behind = false;
    assert_non_null(there);
    assert_int_equal(artel__graph_join(graph, arena, &cut), ARTEL_OK);
    assert_int_equal(cut.stages, 1);
    assert_int_equal(cut.stage->common.nodes + cut.stage->collectives, 0);
    assert_int_equal(cut.stage->rows.nodes + cut.apply.nodes, graph->nodes);
    assert_int_equal(cut.step.nodes, cut.apply.nodes ? graph->nodes : 0);
    for (int n = 0; n < cut.step.nodes; n++) {
        const artel__node *node = &graph->node[cut.step.node[n]];
        assert_true(node->phase == ARTEL__PHASE_APPLY || !behind);
        behind = node->phase == ARTEL__PHASE_APPLY;
        for (int k = 0; k < waits_for(node) && k < node->inputs; k++) {
            artel__value_id id = node->input[k];
            assert_true(id < 0 || there[id] || lists(cut.step.in, cut.step.ins, id));
        }
        for (int k = 0; k < node->outputs; k++) {
            assert_false(there[node->output[k]]);
            there[node->output[k]] = true;
        }
    }
    for (int i = 0; i < cut.step.ins; i++) assert_false(there[cut.step.in[i]]);
    for (int i = 0; i < cut.step.outs; i++) assert_true(lists(graph->kept, graph->kept_count, cut.step.out[i]));
}

static void check_graph(uint32_t seed, bool recompute, int *stages, int *again)
{
    graph_bench b;
    artel__cut cut;
    graph_bench_begin(&b, GRAPH_BENCH_ROWS);
    random_graph_build(&b.graph, &b.variables, seed);
    const artel__recompute_options plenty = {.rows = GRAPH_BENCH_ROWS, .extra_time = 1};
    artel__recompute_report report;
    if (recompute) assert_int_equal(artel__graph_recompute(&b.graph, &plenty, &report), ARTEL_OK);
    assert_int_equal(artel__graph_seal(&b.graph), ARTEL_OK);
    check_joined(&b.graph, &b.arena);
    assert_int_equal(artel__graph_cut(&b.graph, &b.arena, &cut), ARTEL_OK);
    walk w = {.graph = &b.graph,
              .there = calloc((size_t)b.graph.values + 1, sizeof(bool)),
              .program_of = calloc((size_t)b.graph.values + 1, sizeof(int)),
              .program_at = calloc((size_t)b.graph.nodes + 1, sizeof(int))};
    walk_cut(&w, &cut);
    *stages += cut.stages;
    for (int i = 0; i < b.graph.nodes; i++) *again += b.graph.node[i].again;
    free(w.there);
    free(w.program_of);
    free(w.program_at);
    artel__arena_fini(&b.arena);
    artel_context_destroy(b.ctx);
}

static void random_graphs(void **state)
{
    (void)state;
    int stages = 0, again = 0;
    for (uint32_t seed = 1; seed <= GRAPHS; seed++) {
        check_graph(seed, false, &stages, &again);
        check_graph(seed, true, &stages, &again);
    }
    if (stages < 5 * GRAPHS || again < GRAPHS)
        fail_msg("%d stages, %d nodes computed again: the graphs show nothing", stages, again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_graphs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
