/* SPDX-License-Identifier: Apache-2.0 */
/* The cores through the interface of devices: what a plan and a run alone do, whatever allocation fails; a device that
 * lacks what is optional; and one that keeps variables in a memory of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "exec/cpu/plan.h"
#include "exec/state_home.h"
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
        assert_memory_equal(artel__run_kept(run, n), artel__execution_read(execution, n),
                            count * artel_dtype_size(value->dtype));
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

/* Two replicas with common variables, joined twice: whatever allocation fails, they can be joined again and go. */
static void executions_are_joined(void **state)
{
    (void)state;
    graph_bench b;
    artel__executable *executable;
    artel__execution *pair[2];
    open_bench(&b);
    artel__plan_options options = {
        .batch_size = ROWS, .shards = 8, .replicas = 2, .isa = artel__context_isa(b.ctx), .common = true};
    artel__execution_options own = {.state = b.state, .pool = b.pool};
    assert_int_equal(artel__compile(b.ctx, &artel__cpu, &b.graph, &options, &executable), ARTEL_OK);
    for (int r = 0; r < 2; r++) assert_int_equal(artel__execution_create(executable, &own, &pair[r]), ARTEL_OK);
    for (int round = 0; round < 2; round++) {
        artel_status status = ARTEL_ERROR_NO_MEMORY;
        for (uint64_t n = 1; n < 100 && status == ARTEL_ERROR_NO_MEMORY; n++) {
            artel__fail_allocation_after(b.ctx, n);
            status = artel__execution_join(pair, 2);
        }
        artel__fail_allocation_after(b.ctx, 0);
        artel__operation_begin(b.ctx);
        assert_int_equal(status, ARTEL_OK);
    }
    for (int r = 0; r < 2; r++) artel__execution_destroy(pair[r]);
    artel__executable_destroy(executable);
    graph_bench_close(&b);
}

/* -- a device with a memory of its own: the cores, on a state that only it knows -- */

typedef struct far_memory {
    artel__state *values;
    bool lost;
    int brought;
} far_memory;

static int dropped;

static artel_status bring(void *self, const artel__state *state, void *image)
{
    far_memory *memory = self;
    artel__variable_range all = artel__all_of(artel__state_variables(state));
    if (memory->lost) return ARTEL_ERROR_RUN;
    artel__state_image(memory->values, all, image);
    memory->brought++;
    return ARTEL_OK;
}

static void drop(void *self)
{
    far_memory *memory = self;
    artel__state_destroy(memory->values);
    free(memory);
    dropped++;
}

static const artel__state_home far_home = {bring, drop};

typedef struct far_execution {
    artel__state *state;
    far_memory *memory;
    void *cores;
} far_execution;

static artel_context *far_ctx; /* of the test that runs */

static artel_status far_create(void *executable, const artel__execution_options *options, void **out)
{
    far_execution *e = calloc(1, sizeof *e);
    e->state = options->state;
    if (!artel__state_at(e->state, &far_home)) {
        far_memory *memory = calloc(1, sizeof *memory);
        assert_int_equal(artel__state_create(far_ctx, artel__state_variables(e->state), &memory->values), ARTEL_OK);
        assert_int_equal(artel__state_settle_at(e->state, &far_home, memory), ARTEL_OK);
    }
    e->memory = artel__state_at(e->state, &far_home);
    artel__execution_options own = {.state = e->memory->values, .pool = options->pool};
    *out = e;
    return artel__cpu.ops->create(executable, &own, &e->cores);
}

static void far_destroy(void *execution)
{
    far_execution *e = execution;
    artel__cpu.ops->destroy(e->cores);
    free(e);
}

static artel_status far_compute(void *execution, const artel__step *step, const void *const *inputs)
{
    far_execution *e = execution;
    if (artel__state_return(e->state))
        artel__state_copy(e->memory->values, e->state, artel__all_of(artel__state_variables(e->state)));
    return artel__cpu.ops->compute(e->cores, step, inputs);
}

static void far_apply(void *execution, const artel__step *step)
{
    far_execution *e = execution;
    artel__cpu.ops->apply(e->cores, step);
    artel__state_leave(e->state);
}

static artel__device_ops far_ops(void)
{
    artel__device_ops ops = *artel__cpu.ops;
    ops.create = far_create;
    ops.destroy = far_destroy;
    ops.compute = far_compute;
    ops.apply = far_apply;
    return ops;
}

static void step_both(graph_bench *direct, graph_bench *far, artel__execution *execution)
{
    assert_int_equal(artel__run_compute(direct->run, &direct->step, direct->inputs), ARTEL_OK);
    artel__run_apply(direct->run, &direct->step);
    assert_int_equal(artel__execution_compute(execution, &far->step, far->inputs), ARTEL_OK);
    artel__execution_apply(execution, &far->step);
}

/* Values are brought when somebody looks, once a step at most; what is stored between two steps goes there. */
static void variables_live_elsewhere(void **state)
{
    (void)state;
    graph_bench direct, far;
    artel__executable *executable;
    artel__execution *execution;
    artel__device_ops ops = far_ops();
    const artel__device device = {.name = "far:0", .ops = &ops};
    open_bench(&direct);
    open_bench(&far);
    far_ctx = far.ctx;
    artel__plan_options options = {.batch_size = ROWS, .shards = 8, .replicas = 1, .isa = artel__context_isa(far.ctx)};
    artel__execution_options own = {.state = far.state, .pool = far.pool};
    assert_int_equal(artel__compile(far.ctx, &device, &far.graph, &options, &executable), ARTEL_OK);
    assert_int_equal(artel__execution_create(executable, &own, &execution), ARTEL_OK);
    far_memory *memory = artel__state_at(far.state, &far_home);
    artel__variable_range all = artel__all_of(&direct.variables);
    float plain[RANDOM_GRAPH_WIDTH * RANDOM_GRAPH_WIDTH];
    for (int step = 0; step < STEPS; step++) {
        step_both(&direct, &far, execution);
        step_both(&direct, &far, execution);
        assert_int_equal(memory->brought, step);
        assert_true(artel__state_hash(direct.state, all) == artel__state_hash(far.state, all));
        artel__state_fetch(far.state, 0, plain);
        assert_int_equal(memory->brought, step + 1);
        for (int k = 0; k < RANDOM_GRAPH_WIDTH; k++) plain[k] += 0.25f;
        artel__state_store(direct.state, 0, plain);
        artel__state_store(far.state, 0, plain);
        ((float *)artel__state_lend(direct.state, 1))[0] += 0.5f;
        ((float *)artel__state_lend(far.state, 1))[0] += 0.5f;
    }
    step_both(&direct, &far, execution);
    memory->lost = true;
    assert_int_equal(artel__state_bring(far.state), ARTEL_ERROR_RUN);
    assert_int_equal(artel__state_settle_at(far.state, NULL, NULL), ARTEL_ERROR_RUN);
    memory->lost = false;
    assert_true(artel__state_hash(direct.state, all) == artel__state_hash(far.state, all));
    artel__execution_destroy(execution);
    artel__executable_destroy(executable);
    graph_bench_close(&direct);
    dropped = 0;
    graph_bench_close(&far);
    assert_int_equal(dropped, 1);
}

/* Where all variables are overwritten, nothing is brought for it, not even from a device that is lost; where some are,
 * the others are. */
static void what_is_overwritten_is_not_brought(void **state)
{
    (void)state;
    graph_bench b;
    artel__executable *executable;
    artel__execution *execution;
    artel__state *other;
    artel__device_ops ops = far_ops();
    const artel__device device = {.name = "far:0", .ops = &ops};
    open_bench(&b);
    far_ctx = b.ctx;
    artel__plan_options options = {.batch_size = ROWS, .shards = 8, .replicas = 1, .isa = artel__context_isa(b.ctx)};
    artel__execution_options own = {.state = b.state, .pool = b.pool};
    assert_int_equal(artel__compile(b.ctx, &device, &b.graph, &options, &executable), ARTEL_OK);
    assert_int_equal(artel__execution_create(executable, &own, &execution), ARTEL_OK);
    assert_int_equal(artel__state_create(b.ctx, &b.variables, &other), ARTEL_OK);
    far_memory *memory = artel__state_at(b.state, &far_home);
    artel__variable_range all = artel__all_of(&b.variables), first = {0, 1};
    void *image = malloc(artel__image_bytes(&b.variables, all));
    artel__state_image(b.state, all, image);
    uint64_t before = artel__state_hash(b.state, all);
    for (int way = 0; way < 2; way++) {
        assert_int_equal(artel__execution_compute(execution, &b.step, b.inputs), ARTEL_OK);
        artel__execution_apply(execution, &b.step);
        memory->lost = true;
        if (way == 0)
            artel__state_restore(b.state, all, image);
        else
            artel__state_copy(b.state, other, all);
        assert_int_equal(artel__state_bring(b.state), ARTEL_OK);
        assert_true(artel__state_hash(b.state, all) == (way ? artel__state_hash(other, all) : before));
        memory->lost = false;
        assert_int_equal(artel__execution_compute(execution, &b.step, b.inputs), ARTEL_OK);
        assert_true(artel__state_hash(memory->values, all) == artel__state_hash(b.state, all));
        assert_int_equal(memory->brought, 0);
    }
    artel__execution_apply(execution, &b.step);
    uint64_t newest = artel__state_hash(memory->values, (artel__variable_range){1, b.variables.count - 1});
    artel__state_restore(b.state, first, image);
    assert_int_equal(memory->brought, 1);
    assert_true(artel__state_hash(b.state, (artel__variable_range){1, b.variables.count - 1}) == newest);
    artel__execution_apply(execution, &b.step);
    artel__state_copy(b.state, b.state, all);
    assert_int_equal(memory->brought, 2);
    artel__state_destroy(other);
    free(image);
    artel__execution_destroy(execution);
    artel__executable_destroy(executable);
    graph_bench_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cores_are_a_device), cmocka_unit_test(common_variables_are_refused_where_there_are_none),
        cmocka_unit_test(executions_are_joined), cmocka_unit_test(variables_live_elsewhere),
        cmocka_unit_test(what_is_overwritten_is_not_brought)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
