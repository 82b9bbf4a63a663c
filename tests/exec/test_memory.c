/* SPDX-License-Identifier: Apache-2.0 */
/* Where a plan places sums that replicas exchange. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "exec/cpu/plan_impl.h"
#include "support/graph_bench.h"

enum {
    ROWS = 21
};

/* The sums of a plan whose tasks lend lie in a block of their own, each where the blocks lie that it is made from; nothing else does. */
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
        artel__plan_options options = {.batch_size = ROWS, .shards = 8, .replicas = 2, .isa = artel__context_isa(b.ctx), .lends = lends};
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sums_in_place_and_apart)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
