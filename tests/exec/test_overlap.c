/* SPDX-License-Identifier: Apache-2.0 */
/* Exchanges that go on behind a computation: the schedule of random graphs stays a legal one, and a long computation
 * lies between posting and waiting. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "exec/cpu/plan_impl.h"
#include "support/graph_bench.h"

enum {
    ROWS = 21
};

/* What has happened so far in a schedule. */
typedef struct walk {
    const artel__plan *plan;
    int *made;     /* by node: how often it was carried out, or its sum begun */
    bool *readied; /* by node: its results may be read */
    int posted;    /* the action whose exchange is on its way; -1: none */
    int covered;   /* exchanges with work between posting and waiting */
} walk;

/* Looking at what has not come yet is legal, as views do; reading is not. */
static void check_inputs(const walk *w, int32_t index)
{
    const artel__graph *graph = w->plan->graph;
    for (int k = 0; k < graph->node[index].inputs && !w->plan->node[index].view; k++) {
        artel__value_id source = artel__plan_source(w->plan, graph->node[index].input[k]);
        int from = source < 0 ? -1 : graph->value[source].node;
        if (from >= 0 && !w->readied[from])
            fail_msg("node %d (%s) comes before its input %d", index, graph->node[index].op->name, from);
    }
}

static void carry_out(walk *w, int32_t index, bool ready)
{
    check_inputs(w, index);
    w->made[index]++;
    w->readied[index] = ready;
}

static void ready_all(walk *w, const artel__action *action)
{
    for (int c = 0; c < action->count; c++) w->readied[w->plan->collective[action->first + c]] = true;
}

static void check_await(walk *w, int at)
{
    const artel__action *posted = &w->plan->action[w->posted], *action = &w->plan->action[at];
    assert_true(w->posted >= 0);
    assert_int_equal(posted->first, action->first);
    assert_int_equal(posted->count, action->count);
    for (int a = w->posted + 1; a < at; a++) {
        int32_t node = w->plan->action[a].node;
        w->covered += node >= 0 && w->plan->graph->node[node].op->cost;
    }
    w->posted = -1;
    ready_all(w, action);
}

static void check_exchange(walk *w, int at)
{
    const artel__action *action = &w->plan->action[at];
    if (action->node == ARTEL__ACTION_AWAIT) {
        check_await(w, at);
        return;
    }
    if (action->node == ARTEL__ACTION_FINISH) {
        ready_all(w, action);
        return;
    }
    bool ready = action->node == ARTEL__ACTION_EXCHANGE;
    if (action->node != ARTEL__ACTION_BEGIN) assert_int_equal(w->posted, -1);
    if (action->node == ARTEL__ACTION_POST) w->posted = at;
    for (int c = 0; c < action->count; c++) carry_out(w, w->plan->collective[action->first + c], ready);
}

static void check_schedule(walk *w)
{
    const artel__plan *plan = w->plan;
    for (int a = 0; a < plan->actions; a++) {
        if (a == plan->apply_action) assert_int_equal(w->posted, -1);
        if (plan->action[a].node < 0) {
            assert_true(a < plan->apply_action);
            check_exchange(w, a);
        } else {
            bool applies = plan->graph->node[plan->action[a].node].phase == ARTEL__PHASE_APPLY ||
                           plan->node[plan->action[a].node].lazy;
            assert_int_equal(applies, a >= plan->apply_action);
            carry_out(w, plan->action[a].node, true);
        }
    }
    for (int i = 0; i < plan->graph->nodes; i++) assert_int_equal(w->made[i], 1);
}

static int schedule(uint32_t seed, bool common)
{
    graph_bench b;
    artel__plan *plan;
    graph_bench_begin(&b, ROWS);
    random_graph_build(&b.graph, &b.variables, seed);
    assert_int_equal(artel__graph_seal(&b.graph), ARTEL_OK);
    artel__plan_options options = {.batch_size = ROWS,
                                   .shards = 8,
                                   .replicas = 2 + (int)(seed % 7),
                                   .isa = artel__context_isa(b.ctx),
                                   .common = common};
    assert_int_equal(artel__plan_create(b.ctx, &b.graph, &options, &plan), ARTEL_OK);
    walk w = {.plan = plan, .posted = -1};
    w.made = calloc((size_t)b.graph.nodes, sizeof *w.made);
    w.readied = calloc((size_t)b.graph.nodes, sizeof *w.readied);
    assert_true(w.made && w.readied);
    check_schedule(&w);
    free(w.made);
    free(w.readied);
    artel__plan_destroy(plan);
    artel__arena_fini(&b.arena);
    artel_context_destroy(b.ctx);
    return w.covered;
}

static void schedules_are_legal(void **state)
{
    (void)state;
    int covered = 0;
    for (uint32_t seed = 1; seed <= 200; seed++) {
        covered += schedule(seed, false);
        covered += schedule(seed, true);
    }
    if (covered < 100) fail_msg("only %d exchanges go on behind a computation", covered);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(schedules_are_legal)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
