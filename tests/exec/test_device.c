/* SPDX-License-Identifier: Apache-2.0 */
/* The cores through the interface of devices: what a plan and a run alone do, whatever allocation fails; and a device that lacks what is
 * optional. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/context.h"
#include "exec/cpu/plan.h"
#include "support/graph_bench.h"

enum {
    ROWS = 21,
    STEPS = 3
};

static void open_bench(graph_bench *b)
{
    graph_bench_begin(b, ROWS);
    random_graph_build(&b->graph, &b->variables, 5);
    assert_int_equal(artel__graph_seal(&b->graph), ARTEL_OK);
    graph_bench_plan(b);
    graph_bench_finish(b, 1);
}

/* Compiles and creates, failing every allocation once. */
static artel__execution *create(graph_bench *b, const artel__device *device, artel__executable **executable)
{
    artel__plan_options options = {.batch_size = ROWS, .shards = 8, .replicas = 1, .isa = artel__context_isa(b->ctx)};
    artel__execution_options own = {.state = b->state, .pool = b->pool};
    artel__execution *execution = NULL;
    artel_status status = ARTEL_ERROR_NO_MEMORY;
    for (uint64_t n = 1; n < 100 && status == ARTEL_ERROR_NO_MEMORY; n++) {
        artel__fail_allocation_after(b->ctx, n);
        status = artel__compile(b->ctx, device, &b->graph, &options, executable);
    }
    assert_int_equal(status, ARTEL_OK);
    status = ARTEL_ERROR_NO_MEMORY;
    for (uint64_t n = 1; n < 100 && status == ARTEL_ERROR_NO_MEMORY; n++) {
        artel__fail_allocation_after(b->ctx, n);
        status = artel__execution_create(*executable, &own, &execution);
    }
    artel__fail_allocation_after(b->ctx, 0);
    artel__operation_begin(b->ctx);
    assert_int_equal(status, ARTEL_OK);
    return execution;
}

static void compare_kept(const graph_bench *b, const artel__run *run, const artel__execution *execution)
{
    for (int n = 0; n < b->graph.kept_count; n++) {
        const artel__value *value = &b->graph.value[b->graph.kept[n]];
        size_t count = (size_t)(value->domain == ARTEL__DOMAIN_ROW ? ROWS : 1) * (size_t)value->storage;
        assert_memory_equal(artel__run_kept(run, n), artel__execution_read(execution, n), count * artel_dtype_size(value->dtype));
    }
}

static void cores_are_a_device(void **state)
{
    (void)state;
    graph_bench direct, through;
    artel__executable *executable;
    open_bench(&direct);
    open_bench(&through);
    artel__execution *execution = create(&through, &artel__cpu, &executable);
    assert_null(artel__execution_times(execution));
    assert_int_equal(artel__execution_profile(execution), ARTEL_OK);
    for (int step = 0; step < STEPS; step++) {
        assert_int_equal(artel__run_compute(direct.run, &direct.step, direct.inputs), ARTEL_OK);
        assert_int_equal(artel__execution_compute(execution, &through.step, through.inputs), ARTEL_OK);
        assert_int_equal(artel__execution_fault(execution)->node, -1);
        compare_kept(&direct, direct.run, execution);
        artel__run_apply(direct.run, &direct.step);
        artel__execution_apply(execution, &through.step);
    }
    artel__variable_range all = artel__all_of(&direct.variables);
    assert_true(artel__state_hash(direct.state, all) == artel__state_hash(through.state, all));
    int64_t calls = 0;
    for (int i = 0; i < through.graph.nodes; i++) calls += artel__execution_times(execution)[i].calls;
    assert_true(calls > STEPS);
    artel__execution_destroy(execution);
    artel__executable_destroy(executable);
    graph_bench_close(&direct);
    graph_bench_close(&through);
}

/* A copy of the cores without the optional slot. */
static void common_variables_are_refused_where_there_are_none(void **state)
{
    (void)state;
    graph_bench b;
    artel__executable *executable;
    open_bench(&b);
    artel__device_ops ops = *artel__cpu.ops;
    ops.join = NULL;
    const artel__device device = {.name = "lonely:0", .ops = &ops};
    artel__execution *execution = create(&b, &device, &executable);
    assert_int_equal(artel__execution_join(&execution, 1), ARTEL_ERROR_UNSUPPORTED);
    assert_non_null(strstr(artel_context_error(b.ctx)->what, "common variables"));
    artel__execution_destroy(execution);
    artel__executable_destroy(executable);
    graph_bench_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(cores_are_a_device),
                                       cmocka_unit_test(common_variables_are_refused_where_there_are_none)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
