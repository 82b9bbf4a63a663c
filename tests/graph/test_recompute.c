/* SPDX-License-Identifier: Apache-2.0 */
/* Dropping any activations that may be dropped changes no bit; what is chosen saves what is said; what must not run
 * twice does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "exec/cpu/plan_impl.h"
#include "graph/recompute_impl.h"
#include "op/elementwise.h"
#include "op/optimize.h"
#include "support/graph_bench.h"
#include "support/sanitized.h"

enum {
    WIDTH = RANDOM_GRAPH_WIDTH,
    ROWS = GRAPH_BENCH_ROWS,
    GRAPHS = SUPPORT_SANITIZED ? 16 : 80
};

static const artel__recompute_options plenty = {.rows = ROWS, .extra_time = 1};

static void bench_finish(graph_bench *b)
{
    assert_int_equal(artel__graph_seal(&b->graph), ARTEL_OK);
    graph_bench_plan(b);
    graph_bench_finish(b, 1);
}

/* With all of the run's memory full of NaN before it. */
static void poisoned_step(graph_bench *b)
{
    memset(b->run->block, 0xff, b->plan->block_bytes);
    assert_int_equal(artel__run_compute(b->run, &b->step, b->inputs), ARTEL_OK);
}

static void assert_same(const graph_bench *a, const graph_bench *b)
{
    assert_int_equal(a->graph.kept_count, b->graph.kept_count);
    for (int i = 0; i < a->graph.kept_count; i++) {
        const artel__value *value = &a->graph.value[a->graph.kept[i]];
        size_t rows = value->domain == ARTEL__DOMAIN_ROW ? ROWS : 1;
        assert_memory_equal(artel__run_kept(a->run, i), artel__run_kept(b->run, i),
                            rows * (size_t)value->storage * artel_dtype_size(value->dtype));
    }
    assert_memory_equal(a->state->block, b->state->block, a->variables.bytes);
}

static void assert_same_steps(graph_bench *a, graph_bench *b)
{
    for (int step = 0; step < 2; step++) {
        a->step.batch = b->step.batch = (uint64_t)step;
        poisoned_step(a);
        poisoned_step(b);
        assert_same(a, b);
        artel__run_apply(a->run, &a->step);
        artel__run_apply(b->run, &b->step);
        assert_same(a, b);
    }
}

static int count_again(const artel__graph *graph)
{
    int count = 0;
    for (int i = 0; i < graph->nodes; i++) count += graph->node[i].again;
    return count;
}

/* Nothing that folds, meets other replicas or writes a variable runs twice, and copies belong to the backward pass. */
static void assert_repeats_lawfully(const artel__graph *graph)
{
    for (int i = 0; i < graph->nodes; i++) {
        const artel__node *node = &graph->node[i];
        if (!node->again) continue;
        assert_int_equal(node->phase, ARTEL__PHASE_BACKWARD);
        assert_false(node->op->writes);
        assert_int_equal(node->op->collective, ARTEL__COLLECTIVE_NONE);
        for (int k = 0; k < node->outputs; k++)
            assert_int_not_equal(graph->value[node->output[k]].domain, ARTEL__DOMAIN_NODES);
        for (int k = 0; k < graph->kept_count; k++) assert_int_not_equal(graph->value[graph->kept[k]].node, i);
    }
}

static uint32_t draw(uint32_t *state, uint32_t below)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % below;
}

/* Drops about one in `sparsity` of the buffers that may be dropped; returns what the model said of the peak. */
static int64_t drop_at_random(graph_bench *b, uint32_t seed, uint32_t sparsity)
{
    artel__step_model model;
    assert_int_equal(artel__graph_prune(&b->graph), ARTEL_OK);
    assert_int_equal(artel__step_model_init(&model, &b->graph, &plenty), ARTEL_OK);
    bool *drop = artel__arena_alloc(&b->arena, (size_t)model.buffers + 1, sizeof *drop);
    for (int32_t i = 0; i < model.buffers; i++)
        drop[i] = model.retention[i] == ARTEL__RETENTION_DROPPED && draw(&seed, sparsity) == 0;
    int64_t peak = artel__step_model_log(&model, drop).peak - model.fixed;
    assert_true(artel__step_model_try(&model, drop).peak == peak + model.fixed);
    artel__step_model_log(&model, drop);
    assert_int_equal(artel__recompute_rewrite(&model, drop), ARTEL_OK);
    artel__step_model_fini(&model);
    return peak;
}

static void test_random_drops_change_no_bit(void **state)
{
    (void)state;
    int repeated = 0;
    for (uint32_t seed = 1; seed <= GRAPHS; seed++) {
        graph_bench a, b;
        graph_bench_begin(&a, ROWS);
        graph_bench_begin(&b, ROWS);
        random_graph_build(&a.graph, &a.variables, seed);
        random_graph_build(&b.graph, &b.variables, seed);
        int64_t peak = drop_at_random(&b, seed * 77, 1 + seed % 4);
        repeated += count_again(&b.graph);
        assert_repeats_lawfully(&b.graph);
        bench_finish(&a);
        bench_finish(&b);
        if (count_again(&b.graph) == 0) assert_true((int64_t)b.plan->block_bytes >= peak); /* nothing was left out */
        assert_same_steps(&a, &b);
        graph_bench_close(&a);
        graph_bench_close(&b);
    }
    assert_true(repeated > 6 * GRAPHS);
}

/* The model of a step and the plan agree about what is alive at once, but for where the buffers lie. */
static void test_model_agrees_with_plan(void **state)
{
    (void)state;
    for (uint32_t seed = 200; seed < 200 + GRAPHS / 2; seed++) {
        graph_bench b;
        artel__step_model model;
        graph_bench_begin(&b, ROWS);
        random_graph_build(&b.graph, &b.variables, seed);
        assert_int_equal(artel__graph_prune(&b.graph), ARTEL_OK);
        assert_int_equal(artel__step_model_init(&model, &b.graph, &plenty), ARTEL_OK);
        bench_finish(&b);
        int64_t peak = model.trial->base - model.fixed, placed = (int64_t)b.plan->block_bytes;
        if (placed < peak || placed > peak + peak / 3)
            fail_msg("seed %u: alive %lld, placed %lld", seed, (long long)peak, (long long)placed);
        artel__step_model_fini(&model);
        graph_bench_close(&b);
    }
}

static void test_chosen_drops_change_no_bit(void **state)
{
    (void)state;
    double before = 0, after = 0;
    for (uint32_t seed = 1; seed <= GRAPHS / 2; seed++) {
        graph_bench a, b;
        artel__recompute_report report = {.nodes = 0};
        graph_bench_begin(&a, ROWS);
        graph_bench_begin(&b, ROWS);
        random_graph_build(&a.graph, &a.variables, seed);
        random_graph_build(&b.graph, &b.variables, seed);
        assert_int_equal(artel__graph_recompute(&b.graph, &plenty, &report), ARTEL_OK);
        assert_repeats_lawfully(&b.graph);
        assert_true(report.peak_after <= report.peak_before);
        before += report.peak_before;
        after += report.peak_after;
        bench_finish(&a);
        bench_finish(&b);
        assert_same_steps(&a, &b);
        graph_bench_close(&a);
        graph_bench_close(&b);
    }
    assert_true(after < before * 0.9);
}

static void update(artel__graph *graph, artel__value_id variable, artel__value_id gradient)
{
    artel__optimize o = {.options = {.rule = ARTEL__RULE_SGD},
                         .squared_norm = ARTEL__NO_VALUE,
                         .u_product = ARTEL__NO_VALUE,
                         .squares = ARTEL__NO_VALUE,
                         .scale = ARTEL__NO_VALUE,
                         .variable = variable,
                         .gradient = gradient};
    artel__op_optimize(graph, &o);
}

/* x -> `layers` times tanh(x w) -> gradients -> a step. */
static void build_chain(graph_bench *b, int layers)
{
    enum {
        MOST = 100
    };
    artel__graph *g = &b->graph;
    artel_shape shape = {.rank = 1, .dim = {WIDTH}}, matrix = {.rank = 2, .dim = {WIDTH, WIDTH}};
    artel__value_id w[MOST], gradient[MOST];
    artel__value_id x = artel__graph_input(g, ARTEL__DOMAIN_ROW, ARTEL_DTYPE_FLOAT32, &shape);
    for (int i = 0; i < layers; i++) {
        const char *name = artel__arena_printf(&b->arena, "w%d", i);
        artel__variables_add(&b->variables, name, ARTEL__VARIABLE_TRAINABLE, ARTEL_DTYPE_FLOAT32, &matrix, WIDTH);
    }
    g->scope = "chain";
    for (int i = 0; i < layers; i++) {
        w[i] = artel__graph_variable(g, i);
        x = artel__op_unary(g, ARTEL__UNARY_TANH, NULL,
                            artel__op_product(g, x, w[i], ARTEL__NO_VALUE, 1, &shape, ARTEL__FUSED_NONE));
    }
    artel__value_id seed = artel__op_fill_like(g, x, 1);
    artel__differentiate request = {.add = &artel__op_binary_def,
                                    .targets = &x,
                                    .seeds = &seed,
                                    .target_count = 1,
                                    .wanted = w,
                                    .wanted_count = layers};
    assert_int_equal(artel__graph_differentiate(g, &request, gradient), ARTEL_OK);
    g->phase = ARTEL__PHASE_APPLY;
    for (int i = 0; i < layers; i++) update(g, w[i], gradient[i]);
    artel__graph_keep(g, x);
}

/* Of n values of a chain about 2 sqrt(n) are alive at once: 100 layers keep less than a quarter, and the plan follows.
 */
static void test_chain_needs_the_root(void **state)
{
    (void)state;
    graph_bench a, b;
    artel__recompute_report report;
    graph_bench_begin(&a, ROWS);
    graph_bench_begin(&b, ROWS);
    build_chain(&a, 100);
    build_chain(&b, 100);
    assert_int_equal(artel__graph_recompute(&b.graph, &plenty, &report), ARTEL_OK);
    assert_true(report.peak_after * 3 < report.peak_before);
    assert_true(report.extra_time > 0.05 && report.extra_time < 0.5);
    assert_int_equal(report.nodes, count_again(&b.graph));
    bench_finish(&a);
    bench_finish(&b);
    assert_true(b.plan->block_bytes * 3 < a.plan->block_bytes);
    assert_same_steps(&a, &b);
    graph_bench_close(&a);
    graph_bench_close(&b);
}

static char *dump_of(graph_bench *b, artel__text *text)
{
    artel__text_init(text, b->ctx);
    artel__graph_dump(&b->graph, text);
    return text->data;
}

/* A share of time that allows nothing leaves the graph alone; a larger one never needs more memory. */
static void test_budget(void **state)
{
    (void)state;
    double peak = 0;
    static const double share[] = {0.0001, 0.05, 0.1, 0.2, 0.4};
    for (size_t i = 0; i < sizeof share / sizeof *share; i++) {
        graph_bench a, b;
        artel__text before, after;
        artel__recompute_report report;
        graph_bench_begin(&a, ROWS);
        graph_bench_begin(&b, ROWS);
        build_chain(&a, 60);
        build_chain(&b, 60);
        artel__recompute_options options = {.rows = ROWS, .extra_time = share[i]};
        assert_int_equal(artel__graph_recompute(&b.graph, &options, &report), ARTEL_OK);
        assert_true(report.extra_time <= share[i]);
        assert_true(i == 0 || report.peak_after <= peak);
        peak = report.peak_after;
        if (i == 0) assert_string_equal(dump_of(&a, &before), dump_of(&b, &after));
        if (i == 0) artel__text_fini(&before);
        if (i == 0) artel__text_fini(&after);
        if (i > 0) assert_true(report.nodes > 0);
        graph_bench_close(&a);
        graph_bench_close(&b);
    }
}

static void test_explanation(void **state)
{
    (void)state;
    graph_bench b;
    artel__text text;
    artel__recompute_report report;
    graph_bench_begin(&b, ROWS);
    build_chain(&b, 4);
    assert_int_equal(artel__graph_recompute(&b.graph, &plenty, &report), ARTEL_OK);
    artel__text_init(&text, b.ctx);
    artel__recompute_dump(&b.graph, &report, &text);
    artel__graph_dump(&b.graph, &text);
    assert_non_null(strstr(text.data, "forward operations run again, about"));
    assert_non_null(strstr(text.data, "unary, 1472 bytes, dropped, computed again  ; chain\n"));
    assert_non_null(strstr(text.data, "unary, 1472 bytes, kept: a result of the step  ; chain\n"));
    assert_non_null(strstr(text.data, "  ; chain, again\n"));
    artel__text_fini(&text);
    graph_bench_close(&b);
}

static void test_memory_failures(void **state)
{
    (void)state;
    artel_status status = ARTEL_ERROR_NO_MEMORY;
    int failures = 0;
    for (uint64_t n = 1; n < 200 && status == ARTEL_ERROR_NO_MEMORY; n++) {
        graph_bench b;
        artel__recompute_report report;
        graph_bench_begin(&b, ROWS);
        random_graph_build(&b.graph, &b.variables, 4);
        artel__fail_allocation_after(b.ctx, n);
        status = artel__graph_recompute(&b.graph, &plenty, &report);
        artel__fail_allocation_after(b.ctx, 0);
        assert_int_equal(b.graph.status, status);
        failures += status == ARTEL_ERROR_NO_MEMORY;
        graph_bench_close(&b);
    }
    assert_int_equal(status, ARTEL_OK);
    assert_true(failures > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_drops_change_no_bit),
        cmocka_unit_test(test_model_agrees_with_plan),
        cmocka_unit_test(test_chosen_drops_change_no_bit),
        cmocka_unit_test(test_chain_needs_the_root),
        cmocka_unit_test(test_budget),
        cmocka_unit_test(test_explanation),
        cmocka_unit_test(test_memory_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
