/* SPDX-License-Identifier: Apache-2.0 */
/* Building, differentiating, sealing and printing graphs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "op/elementwise.h"
#include "op/reduce.h"
#include "op/shape_ops.h"

typedef struct bench {
    artel_context *ctx;
    artel__arena arena;
    artel__variables variables;
    artel__graph graph;
    artel__value_id x, w;
} bench;

/* x ROW [3], w a variable [3]. */
static void bench_open(bench *b)
{
    artel_shape shape = {.rank = 1, .dim = {3}};
    assert_int_equal(artel_context_create(NULL, &b->ctx), ARTEL_OK);
    artel__arena_init(&b->arena, b->ctx);
    artel__variables_init(&b->variables, &b->arena);
    assert_int_equal(
        artel__variables_add(&b->variables, "w", ARTEL__VARIABLE_TRAINABLE, ARTEL_DTYPE_FLOAT32, &shape, 0), 0);
    artel__graph_init(&b->graph, &b->arena, &b->variables, true);
    b->x = artel__graph_input(&b->graph, ARTEL__DOMAIN_ROW, ARTEL_DTYPE_FLOAT32, &shape);
    b->w = artel__graph_variable(&b->graph, 0);
}

static void bench_close(bench *b)
{
    artel__arena_fini(&b->arena);
    artel_context_destroy(b->ctx);
}

static void assert_dump(const bench *b, const char *expected)
{
    artel__text text;
    artel__text_init(&text, b->ctx);
    artel__graph_dump(&b->graph, &text);
    assert_string_equal(text.data ? text.data : "", expected);
    artel__text_fini(&text);
}

static artel_status differentiate(bench *b, artel__value_id target, artel__value_id wanted, artel__value_id *out)
{
    artel__value_id seed = artel__op_fill_like(&b->graph, target, 1);
    artel__differentiate request = {.add = &artel__op_binary_def,
                                    .targets = &target,
                                    .seeds = &seed,
                                    .target_count = 1,
                                    .wanted = &wanted,
                                    .wanted_count = 1};
    return artel__graph_differentiate(&b->graph, &request, out);
}

/* Gradients that meet are added in the order of the forward uses: (((first) + second) + third). */
static void test_order_of_contributions(void **state)
{
    (void)state;
    bench b;
    bench_open(&b);
    static const float factor[] = {2, 3, 5};
    artel__value_id use[3], gradient;
    for (int i = 0; i < 3; i++) {
        b.graph.scope = i == 0 ? "first" : i == 1 ? "second" : "third";
        use[i] = artel__op_affine(&b.graph, b.x, factor[i], 0);
    }
    /* Joined in another order than they were made. */
    artel__value_id out = artel__op_add(&b.graph, use[2], artel__op_add(&b.graph, use[1], use[0]));
    assert_int_equal(differentiate(&b, out, b.x, &gradient), ARTEL_OK);
    const artel__node *outer = &b.graph.node[b.graph.value[gradient].node];
    assert_ptr_equal(outer->op, &artel__op_binary_def);
    const artel__node *inner = &b.graph.node[b.graph.value[outer->input[0]].node];
    assert_ptr_equal(inner->op, &artel__op_binary_def);
    assert_string_equal(b.graph.node[b.graph.value[inner->input[0]].node].name, "first");
    assert_string_equal(b.graph.node[b.graph.value[inner->input[1]].node].name, "second");
    assert_string_equal(b.graph.node[b.graph.value[outer->input[1]].node].name, "third");
    assert_int_equal(outer->phase, ARTEL__PHASE_BACKWARD);
    bench_close(&b);
}

static void test_unconnected_and_unwanted(void **state)
{
    (void)state;
    bench b;
    bench_open(&b);
    artel__value_id out = artel__op_unary(&b.graph, ARTEL__UNARY_TANH, NULL, b.x), gradient;
    int before = b.graph.nodes;
    assert_int_equal(differentiate(&b, out, b.w, &gradient), ARTEL_OK);
    assert_int_equal(gradient, ARTEL__NO_VALUE);
    assert_int_equal(b.graph.nodes, before + 1); /* the seed alone */
    bench_close(&b);
}

/* An operation without a gradient between a wanted value and the target is named, with its layer. */
static void test_operation_without_gradient(void **state)
{
    (void)state;
    bench b;
    bench_open(&b);
    b.graph.scope = "the_layer";
    artel__value_id out = artel__op_all_gather(&b.graph, artel__op_fold_sum(&b.graph, b.x)), gradient;
    assert_true(differentiate(&b, out, b.x, &gradient) < 0);
    assert_string_equal(artel_context_error(b.ctx)->where, "the_layer");
    bench_close(&b);
}

static void test_dead_code(void **state)
{
    (void)state;
    bench b;
    bench_open(&b);
    artel__value_id alive = artel__op_unary(&b.graph, ARTEL__UNARY_TANH, NULL, b.x);
    artel__op_unary(&b.graph, ARTEL__UNARY_LOG, NULL, artel__op_add(&b.graph, alive, b.w));
    artel__value_id last = artel__op_add(&b.graph, alive, b.x);
    artel__graph_keep(&b.graph, last);
    assert_int_equal(b.graph.nodes, 4);
    assert_int_equal(artel__graph_seal(&b.graph), ARTEL_OK);
    assert_int_equal(b.graph.nodes, 2);
    assert_true(b.graph.sealed);
    assert_int_equal(b.graph.value[alive].node, 0);
    assert_int_equal(b.graph.value[last].node, 1);
    bench_close(&b);
}

static void test_dump(void **state)
{
    (void)state;
    bench b;
    bench_open(&b);
    artel__value_id gradient;
    b.graph.scope = "scale";
    artel__value_id product = artel__op_binary(&b.graph, ARTEL__BINARY_MUL, b.x, b.w);
    artel__graph_keep(&b.graph, product);
    b.graph.scope = "seed";
    assert_int_equal(differentiate(&b, product, b.w, &gradient), ARTEL_OK);
    artel__graph_keep(&b.graph, gradient);
    assert_int_equal(artel__graph_seal(&b.graph), ARTEL_OK);
    assert_dump(
        &b, "   0 forward  binary[mul] (%0:row.float32(3,), %1{w}:global.float32(3,)) -> %2:row.float32(3,)  ; scale\n"
            "   1 forward  fill (%2:row.float32(3,)) -> %3:row.float32(3,)  ; seed\n"
            "   2 backward binary_gradient[mul] (%3:row.float32(3,), %0:row.float32(3,), %1{w}:global.float32(3,)) -> "
            "%4:row.float32(3,)  ; scale\n"
            "   3 backward fold_sum (%4:row.float32(3,)) -> %5:nodes.float32(3,)  ; scale\n"
            "   4 backward all_reduce (%5:nodes.float32(3,)) -> %6:global.float32(3,)  ; scale\n");
    bench_close(&b);
}

/* The first failure stays: later calls do nothing and the context keeps the first cause. */
static void test_failures_stick(void **state)
{
    (void)state;
    bench b;
    bench_open(&b);
    artel_shape four = {.rank = 1, .dim = {4}};
    artel__value_id other = artel__graph_input(&b.graph, ARTEL__DOMAIN_ROW, ARTEL_DTYPE_FLOAT32, &four);
    b.graph.scope = "broken";
    assert_int_equal(artel__op_add(&b.graph, b.x, other), ARTEL__NO_VALUE);
    artel_status first = b.graph.status;
    assert_true(first < 0);
    int nodes = b.graph.nodes, values = b.graph.values;
    b.graph.scope = "later";
    assert_int_equal(artel__op_add(&b.graph, b.x, b.x), ARTEL__NO_VALUE);
    assert_int_equal(artel__graph_input(&b.graph, ARTEL__DOMAIN_ROW, ARTEL_DTYPE_FLOAT32, &four), ARTEL__NO_VALUE);
    assert_int_equal(artel__graph_variable(&b.graph, 0), ARTEL__NO_VALUE);
    assert_int_equal(artel__graph_keep(&b.graph, b.x), -1);
    assert_int_equal(artel__graph_seal(&b.graph), first);
    assert_int_equal(b.graph.nodes, nodes);
    assert_int_equal(b.graph.values, values);
    assert_false(b.graph.sealed);
    assert_string_equal(artel_context_error(b.ctx)->where, "broken");
    bench_close(&b);
}

/* Lack of memory at any allocation fails the graph and nothing else. */
static void test_memory(void **state)
{
    (void)state;
    for (uint64_t n = 1; n < 200; n++) {
        bench b;
        bench_open(&b);
        artel__fail_allocation_after(b.ctx, n);
        artel__value_id sum = b.x, gradient = ARTEL__NO_VALUE;
        for (int i = 0; i < 300; i++) sum = artel__op_binary(&b.graph, ARTEL__BINARY_MUL, sum, b.w);
        artel__graph_keep(&b.graph, sum);
        if (b.graph.status == ARTEL_OK) differentiate(&b, sum, b.w, &gradient);
        artel_status status = artel__graph_seal(&b.graph);
        artel__fail_allocation_after(b.ctx, 0);
        assert_true(status == ARTEL_OK || status == ARTEL_ERROR_NO_MEMORY);
        bench_close(&b);
        if (status == ARTEL_OK) return;
    }
    fail_msg("never enough memory");
}

static void test_uses_and_replace(void **state)
{
    (void)state;
    bench b;
    bench_open(&b);
    int32_t uses[16];
    artel__value_id a = artel__op_unary(&b.graph, ARTEL__UNARY_TANH, NULL, b.x);
    artel__value_id c = artel__op_add(&b.graph, a, a);
    artel__graph_keep(&b.graph, a);
    artel__graph_count_uses(&b.graph, uses);
    assert_int_equal(uses[a], 3);
    assert_int_equal(uses[c], 0);
    assert_int_equal(uses[b.x], 1);
    artel__graph_replace(&b.graph, a, b.x);
    artel__graph_count_uses(&b.graph, uses);
    assert_int_equal(uses[a], 0);
    assert_int_equal(uses[b.x], 4);
    assert_int_equal(artel__graph_variable(&b.graph, 0), b.w);
    bench_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_of_contributions),
        cmocka_unit_test(test_unconnected_and_unwanted),
        cmocka_unit_test(test_operation_without_gradient),
        cmocka_unit_test(test_dead_code),
        cmocka_unit_test(test_dump),
        cmocka_unit_test(test_failures_stick),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_uses_and_replace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
