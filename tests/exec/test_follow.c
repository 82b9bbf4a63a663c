/* SPDX-License-Identifier: Apache-2.0 */
/* Steps that follow their gradient part by part: the bits are those of a gradient that was written first, less memory is used, and
 * gradients that somebody else reads, that are cheaper to keep than what they are made from, or that a variable has a part in are written
 * as ever. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "exec/plan_impl.h"
#include "op/elementwise.h"
#include "op/optimize.h"
#include "support/graph_bench.h"

enum {
    WIDTH = RANDOM_GRAPH_WIDTH,
    FEW = 8 /* rows: less than the weights are */
};

typedef enum reader {
    STEP_ALONE,
    KEPT,   /* the gradient is kept, too */
    CLIPPED /* its norm is needed first */
} reader;

static artel__value_id add_variable(graph_bench *b, const char *name, bool weights)
{
    artel_shape shape = {.rank = 1, .dim = {WIDTH}}, matrix = {.rank = 2, .dim = {WIDTH, WIDTH}};
    artel__variable_kind kind = name[0] == 'v' ? ARTEL__VARIABLE_SLOT : ARTEL__VARIABLE_TRAINABLE;
    int variable = artel__variables_add(&b->variables, name, kind, ARTEL_DTYPE_FLOAT32, weights ? &matrix : &shape, weights ? WIDTH : 0);
    return artel__graph_variable(&b->graph, variable);
}

/* A step with momentum. */
static void add_step(artel__graph *g, artel__value_id variable, artel__value_id velocity, artel__value_id gradient, reader kind)
{
    artel__optimize o = {.options = {.rule = ARTEL__RULE_SGD, .momentum = 0.9},
                         .clip = kind == CLIPPED ? ARTEL__CLIP_NORM : ARTEL__CLIP_NONE,
                         .limit = 1e9,
                         .squared_norm = kind == CLIPPED ? artel__op_squared_norm(g, gradient) : ARTEL__NO_VALUE,
                         .u_product = ARTEL__NO_VALUE,
                         .squares = ARTEL__NO_VALUE,
                         .scale = ARTEL__NO_VALUE,
                         .slot = {velocity},
                         .slots = 1,
                         .variable = variable,
                         .gradient = gradient};
    artel__op_optimize(g, &o);
}

/* tanh(x w + b), its gradients, and a step with momentum on each variable. */
static void build(graph_bench *b, int64_t rows, reader kind)
{
    artel__graph *g = &b->graph;
    artel_shape shape = {.rank = 1, .dim = {WIDTH}};
    graph_bench_begin(b, rows);
    artel__value_id wanted[] = {add_variable(b, "w", true), add_variable(b, "b", false)}, gradient[2];
    artel__value_id velocity[] = {add_variable(b, "v of w", true), add_variable(b, "v of b", false)};
    artel__value_id x = artel__graph_input(g, ARTEL__DOMAIN_ROW, ARTEL_DTYPE_FLOAT32, &shape);
    artel__value_id out =
        artel__op_unary(g, ARTEL__UNARY_TANH, NULL, artel__op_product(g, x, wanted[0], wanted[1], 1, &shape, ARTEL__FUSED_NONE));
    artel__value_id seeds = artel__op_fill_like(g, out, 0.5);
    artel__differentiate request = {
        .add = &artel__op_binary_def, .targets = &out, .seeds = &seeds, .target_count = 1, .wanted = wanted, .wanted_count = 2};
    artel__graph_keep(g, out);
    assert_int_equal(artel__graph_differentiate(g, &request, gradient), ARTEL_OK);
    if (kind == KEPT) artel__graph_keep(g, gradient[0]);
    g->phase = ARTEL__PHASE_APPLY;
    for (int i = 0; i < 2; i++) add_step(g, wanted[i], velocity[i], gradient[i], kind);
    assert_int_equal(artel__graph_seal(g), ARTEL_OK);
    graph_bench_plan(b);
}

/* A gradient of one row, which is that of a variable seen through views. The variable is written before the step is taken. */
static void build_of_variable(graph_bench *b, reader kind)
{
    artel__graph *g = &b->graph;
    artel_shape shape = {.rank = 1, .dim = {WIDTH}}, column = {.rank = 2, .dim = {WIDTH, 1}};
    graph_bench_begin(b, 1);
    artel__value_id w = add_variable(b, "w", true), velocity = add_variable(b, "v of w", true);
    artel__value_id row = add_variable(b, "row", false), next = add_variable(b, "next row", false);
    artel__value_id dy = artel__graph_input(g, ARTEL__DOMAIN_ROW, ARTEL_DTYPE_FLOAT32, &shape);
    artel__value_id x = artel__op_reshape(g, artel__op_reshape(g, row, &column), &shape);
    artel__value_id gradient = artel__op_all_reduce(g, artel__op_weight_gradient(g, x, dy, WIDTH, WIDTH, false));
    if (kind == KEPT) artel__graph_keep(g, gradient);
    artel__op_assign(g, row, next);
    g->phase = ARTEL__PHASE_APPLY;
    add_step(g, w, velocity, gradient, kind);
    assert_int_equal(artel__graph_seal(g), ARTEL_OK);
    graph_bench_plan(b);
}

static int count_followed(const artel__plan *plan)
{
    int count = 0;
    for (int i = 0; i < plan->graph->nodes; i++) count += plan->node[i].step > 0;
    return count;
}

static void take_steps(graph_bench *b, int threads)
{
    graph_bench_finish(b, threads);
    for (int step = 0; step < 3; step++) {
        assert_int_equal(artel__run_compute(b->run, &b->step, b->inputs), ARTEL_OK);
        artel__run_apply(b->run, &b->step);
        b->step.iteration++;
        b->step.batch++;
    }
}

static void same_bits(void **state)
{
    (void)state;
    for (int64_t rows = 1; rows <= FEW; rows++) {
        graph_bench followed, written;
        build(&followed, rows, STEP_ALONE);
        build(&written, rows, KEPT);
        if (artel__context_isa(followed.ctx) >= ARTEL__ISA_AVX2) assert_int_equal(count_followed(followed.plan), 1);
        assert_int_equal(count_followed(written.plan), 0);
        take_steps(&followed, 1 + (int)(rows % 2));
        take_steps(&written, 1);
        assert_memory_equal(followed.state.block, written.state.block, followed.variables.bytes);
        assert_true(followed.plan->block_bytes <= written.plan->block_bytes);
        graph_bench_close(&followed);
        graph_bench_close(&written);
    }
}

static void others_are_written(void **state)
{
    (void)state;
    graph_bench b;
    build(&b, FEW, CLIPPED);
    assert_int_equal(count_followed(b.plan), 0);
    take_steps(&b, 1);
    graph_bench_close(&b);
    build(&b, GRAPH_BENCH_ROWS, STEP_ALONE); /* more to keep than to write */
    assert_int_equal(count_followed(b.plan), 0);
    take_steps(&b, 1);
    graph_bench_close(&b);
}

static void written_variables_are_not_read(void **state)
{
    (void)state;
    graph_bench alone, written;
    build_of_variable(&alone, STEP_ALONE);
    build_of_variable(&written, KEPT);
    take_steps(&alone, 1);
    take_steps(&written, 1);
    assert_memory_equal(alone.state.block, written.state.block, alone.variables.bytes);
    assert_int_equal(count_followed(alone.plan), 0);
    graph_bench_close(&alone);
    graph_bench_close(&written);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_bits), cmocka_unit_test(others_are_written),
                                       cmocka_unit_test(written_variables_are_not_read)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
