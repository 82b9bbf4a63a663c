/* SPDX-License-Identifier: Apache-2.0 */
/* Plans and runs over random graphs: sharing memory changes nothing, a step can be abandoned anywhere, steady steps
 * take no memory, and values that are not finite are traced to their origin. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "exec/cpu/plan_impl.h"
#include "op/elementwise.h"
#include "support/graph_bench.h"

enum {
    WIDTH = RANDOM_GRAPH_WIDTH,
    ROWS = 5
};

/* A graph of random operations with its gradients, some values kept, and a step of gradient descent. */
static void build(graph_bench *b, uint32_t seed)
{
    random_graph_build(&b->graph, &b->variables, seed);
    assert_int_equal(artel__graph_seal(&b->graph), ARTEL_OK);
}

/* Every computed value at a place of its own; views stay where what they show is. */
static void unshare(artel__plan *plan)
{
    const artel__graph *graph = plan->graph;
    size_t end = 0;
    for (int i = 0; i < graph->nodes; i++) {
        const artel__node *node = &graph->node[i];
        bool view = plan->node[i].view || node->op->placement == ARTEL__PLACE_VIEW_WRITTEN;
        for (int k = 0; k < node->outputs; k++) {
            artel__value_id out = node->output[k];
            plan->root[out] = view && k == 0 ? plan->root[node->input[0]] : out;
            plan->offset[out] = view && k == 0 ? plan->offset[node->input[0]] : end;
            if (!view || k) end += artel__plan_value_bytes(plan, out);
        }
    }
    plan->block_bytes = end;
}

static void bench_finish(graph_bench *b, bool shared, int threads)
{
    graph_bench_plan(b);
    if (!shared) unshare(b->plan);
    graph_bench_finish(b, threads);
}

static void random_bench(graph_bench *b, uint32_t seed, bool shared)
{
    graph_bench_begin(b, ROWS);
    build(b, seed);
    bench_finish(b, shared, 1);
}

/* One step with all of the run's memory full of NaN before it. */
static void poisoned_step(graph_bench *b)
{
    float held[ROWS * WIDTH];
    uint8_t before[4096];
    memcpy(held, b->x, sizeof held);
    assert_true(b->variables.bytes <= sizeof before);
    memcpy(before, b->state->block, b->variables.bytes);
    memset(b->run->block, 0xff, b->plan->block_bytes);
    assert_int_equal(artel__run_compute(b->run, &b->step, b->inputs), ARTEL_OK);
    assert_memory_equal(before, b->state->block, b->variables.bytes); /* only apply writes variables */
    assert_memory_equal(held, b->x, sizeof held);                     /* nothing writes what was fed */
}

static void assert_same(const graph_bench *a, const graph_bench *b)
{
    for (int i = 0; i < a->graph.kept_count; i++) {
        const artel__value *value = &a->graph.value[a->graph.kept[i]];
        assert_memory_equal(artel__run_kept(a->run, i), artel__run_kept(b->run, i),
                            (size_t)(ROWS * value->storage) * sizeof(float));
    }
    assert_memory_equal(a->state->block, b->state->block, a->variables.bytes);
}

static void test_sharing_changes_nothing(void **state)
{
    (void)state;
    size_t with = 0, without = 0;
    for (uint32_t seed = 1; seed <= 60; seed++) {
        graph_bench a, b;
        random_bench(&a, seed, true);
        random_bench(&b, seed, false);
        for (int step = 0; step < 2; step++) {
            poisoned_step(&a);
            poisoned_step(&b);
            assert_same(&a, &b);
            artel__run_apply(a.run, &a.step);
            artel__run_apply(b.run, &b.step);
            assert_same(&a, &b);
        }
        with += a.plan->block_bytes;
        without += b.plan->block_bytes;
        graph_bench_close(&a);
        graph_bench_close(&b);
    }
    assert_true(with * 2 < without);
}

/* Buffers alive at the same time lie apart: looked at directly, action by action. */
static void test_live_buffers_lie_apart(void **state)
{
    (void)state;
    for (uint32_t seed = 100; seed < 120; seed++) {
        graph_bench b;
        random_bench(&b, seed, true);
        const artel__graph *g = &b.graph;
        for (int i = 0; i < g->nodes; i++) {
            const artel__node *node = &g->node[i];
            for (int k = 0; k < node->outputs; k++) {
                artel__value_id out = node->output[k];
                for (int j = 0; j < node->inputs; j++) {
                    artel__value_id in = node->input[j];
                    size_t p = b.plan->offset[out], q = in >= 0 ? b.plan->offset[in] : ARTEL__OFFSET_EXTERNAL;
                    if (q == ARTEL__OFFSET_EXTERNAL || p == ARTEL__OFFSET_EXTERNAL || !artel__node_reads(node, j))
                        continue;
                    bool overlap = p < q + b.plan->bytes[in] && q < p + b.plan->bytes[out];
                    bool allowed = k == 0 && b.plan->root[out] == b.plan->root[in] &&
                                   (node->op->placement != ARTEL__PLACE_OWN || b.plan->node[i].view);
                    if (overlap && !allowed)
                        fail_msg("seed %u: node %d (%s) overwrites its input %d", seed, i, node->op->name, j);
                }
            }
        }
        graph_bench_close(&b);
    }
}

static void test_abandoned_anywhere(void **state)
{
    (void)state;
    graph_bench whole;
    random_bench(&whole, 7, true);
    poisoned_step(&whole);
    artel__run_apply(whole.run, &whole.step);
    int abandoned = 0;
    for (int n = 0; n < whole.graph.nodes; n++) {
        graph_bench b;
        random_bench(&b, 7, true);
        artel__run_abandon_at(b.run, n);
        artel_status status = artel__run_compute(b.run, &b.step, b.inputs);
        assert_true(status == ARTEL_OK ? b.graph.node[n].phase == ARTEL__PHASE_APPLY : status == ARTEL_AGAIN);
        abandoned += status == ARTEL_AGAIN;
        artel__run_abandon_at(b.run, -1);
        poisoned_step(&b);
        artel__run_apply(b.run, &b.step);
        assert_same(&whole, &b);
        graph_bench_close(&b);
    }
    assert_true(abandoned > 30);
    graph_bench_close(&whole);
}

static void test_steady_steps_take_no_memory(void **state)
{
    (void)state;
    graph_bench b;
    graph_bench_begin(&b, ROWS);
    build(&b, 3);
    bench_finish(&b, true, 2);
    uint64_t before = artel__heap_calls(b.ctx);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(artel__run_compute(b.run, &b.step, b.inputs), ARTEL_OK);
        artel__run_apply(b.run, &b.step);
        b.step.iteration++;
        b.step.batch++;
    }
    assert_int_equal(artel__heap_calls(b.ctx), before);
    graph_bench_close(&b);
}

static void test_nonfinite(void **state)
{
    (void)state;
    graph_bench b;
    graph_bench_begin(&b, ROWS);
    artel__graph *g = &b.graph;
    artel_shape shape = {.rank = 1, .dim = {WIDTH}};
    artel__value_id x = artel__graph_input(g, ARTEL__DOMAIN_ROW, ARTEL_DTYPE_FLOAT32, &shape);
    g->scope = "fine";
    artel__value_id y = artel__op_affine(g, x, 1, 0);
    g->scope = "culprit";
    y = artel__op_unary(g, ARTEL__UNARY_LOG, NULL, y);
    g->scope = "after";
    artel__graph_keep(g, artel__op_unary(g, ARTEL__UNARY_SQUARE, NULL, y));
    assert_int_equal(artel__graph_seal(g), ARTEL_OK);
    bench_finish(&b, true, 1);
    artel__nonfinite found;
    for (int i = 0; i < ROWS * WIDTH; i++) b.x[i] = 1.5f;
    assert_false(artel__run_find_nonfinite(b.run, &b.step, b.inputs, &found));
    b.x[1 * WIDTH + 5] = -1;
    b.x[3 * WIDTH] = 0;
    assert_true(artel__run_find_nonfinite(b.run, &b.step, b.inputs, &found));
    assert_string_equal(found.name, "culprit");
    assert_string_equal(found.op, "unary");
    assert_int_equal(found.first_row, 1);
    assert_int_equal(found.last_row, 3);
    assert_true(isnan(found.value));
    graph_bench_close(&b);
}

static void test_memory_failures(void **state)
{
    (void)state;
    graph_bench b;
    graph_bench_begin(&b, ROWS);
    build(&b, 9);
    artel__plan_options options = {.batch_size = ROWS, .shards = 8, .replicas = 1, .isa = artel__context_isa(b.ctx)};
    artel_status status = ARTEL_ERROR_NO_MEMORY;
    for (uint64_t n = 1; n < 100 && status == ARTEL_ERROR_NO_MEMORY; n++) {
        artel__fail_allocation_after(b.ctx, n);
        status = artel__plan_create(b.ctx, &b.graph, &options, &b.plan);
    }
    artel__fail_allocation_after(b.ctx, 0);
    assert_int_equal(status, ARTEL_OK);
    assert_int_equal(artel__state_create(b.ctx, &b.variables, &b.state), ARTEL_OK);
    assert_int_equal(artel__pool_create(b.ctx, 1, &b.pool), ARTEL_OK);
    status = ARTEL_ERROR_NO_MEMORY;
    for (uint64_t n = 1; n < 100 && status == ARTEL_ERROR_NO_MEMORY; n++) {
        artel__fail_allocation_after(b.ctx, n);
        status = artel__run_create(b.plan, b.state, b.pool, NULL, &b.run);
    }
    artel__fail_allocation_after(b.ctx, 0);
    assert_int_equal(status, ARTEL_OK);
    graph_bench_close(&b);
}

/* Definitions without kernels once the plan is made: a step needs the plan alone. */
static void test_steps_follow_the_plan(void **state)
{
    (void)state;
    graph_bench a, b;
    random_bench(&a, 7, true);
    random_bench(&b, 7, true);
    for (int i = 0; i < b.graph.nodes; i++) {
        artel__op_def *bare = artel__arena_alloc(&b.arena, 1, sizeof *bare);
        *bare = *b.graph.node[i].op;
        bare->exec = &artel__no_exec;
        b.graph.node[i].op = bare;
    }
    for (int step = 0; step < 2; step++) {
        poisoned_step(&a);
        poisoned_step(&b);
        artel__run_apply(a.run, &a.step);
        artel__run_apply(b.run, &b.step);
        assert_same(&a, &b);
    }
    graph_bench_close(&a);
    graph_bench_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sharing_changes_nothing), cmocka_unit_test(test_live_buffers_lie_apart),
        cmocka_unit_test(test_abandoned_anywhere),      cmocka_unit_test(test_steady_steps_take_no_memory),
        cmocka_unit_test(test_steps_follow_the_plan),   cmocka_unit_test(test_nonfinite),
        cmocka_unit_test(test_memory_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
