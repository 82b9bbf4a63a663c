/* SPDX-License-Identifier: Apache-2.0 */
/* Where a plan places sums that replicas exchange. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "exec/cpu/plan_impl.h"
#include "op/elementwise.h"
#include "op/shape_ops.h"
#include "support/graph_bench.h"

enum {
    ROWS = 21
};

/* The sums of a plan whose tasks lend lie in a block of their own, each where the blocks lie that it is made from;
 * nothing else does. */
static void sums_in_place_and_apart(void **state)
{
    (void)state;
    graph_bench b;
    graph_bench_begin(&b, ROWS);
    random_graph_build(&b.graph, &b.variables, 3);
    assert_int_equal(artel__graph_seal(&b.graph), ARTEL_OK);
    graph_bench_plan(&b);
    graph_bench_finish(&b, 1);
    for (int lends = 0; lends < 2; lends++) {
        artel__plan_options options = {
            .batch_size = ROWS, .shards = 8, .replicas = 2, .isa = artel__context_isa(b.ctx), .lends = lends};
        artel__plan *plan;
        assert_int_equal(artel__plan_create(b.ctx, &b.graph, &options, &plan), ARTEL_OK);
        int sums = 0;
        for (int i = 0; i < b.graph.nodes; i++) {
            const artel__node *node = &b.graph.node[i];
            if (node->op->collective != ARTEL__COLLECTIVE_SUM) continue;
            artel__value_id in = node->input[0], out = node->output[0];
            assert_int_equal(plan->lent[in], lends);
            assert_int_equal(plan->offset[in], plan->offset[out]);
            sums++;
        }
        assert_true(sums > 2);
        assert_int_equal(plan->lent_bytes > 0, lends);
        artel__plan_destroy(plan);
    }
    graph_bench_close(&b);
}

/* Numbers that are read again for other results stay until all are made, however few they are. */
static void what_is_broadcast_stays(void **state)
{
    (void)state;
    graph_bench b;
    graph_bench_begin(&b, 1);
    artel_shape all = artel__shape(1, (int64_t)RANDOM_GRAPH_WIDTH), column = artel__shape(2, (int64_t)2, (int64_t)1);
    artel__value_id in = artel__graph_input(&b.graph, ARTEL__DOMAIN_ROW, ARTEL_DTYPE_FLOAT32, &all);
    artel__value_id two = artel__op_affine(&b.graph, artel__op_slice(&b.graph, in, 0, 0, 2, 1), 2, 1);
    artel__value_id three = artel__op_affine(&b.graph, artel__op_slice(&b.graph, in, 0, 2, 3, 1), 2, 1);
    artel__value_id x = artel__op_binary(&b.graph, ARTEL__BINARY_MUL, artel__op_reshape(&b.graph, two, &column), three);
    artel__graph_keep(&b.graph, x);
    assert_int_equal(artel__graph_seal(&b.graph), ARTEL_OK);
    graph_bench_plan(&b);
    for (int i = 0; i < b.graph.nodes; i++) {
        const artel__node *node = &b.graph.node[i];
        if (node->output[0] != x) continue;
        for (int k = 0; k < 2; k++) assert_int_not_equal(b.plan->root[node->input[k]], b.plan->root[x]);
    }
    graph_bench_finish(&b, 1);
    graph_bench_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sums_in_place_and_apart),
                                       cmocka_unit_test(what_is_broadcast_stays)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
