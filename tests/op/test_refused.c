/* SPDX-License-Identifier: Apache-2.0 */
/* What devices do not compute: it is refused by name, all of it at once, and the page says the same. No plug-in takes
 * part. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/lower.h"
#include "op/elementwise.h"
#include "support/graph_bench.h"

enum {
    ROWS = 7
};

static artel_status infer_same(artel__infer *infer)
{
    artel__infer_output(infer, 0, infer->in[0]->domain, infer->in[0]->dtype, &infer->in[0]->shape);
    return ARTEL_OK;
}

static const artel__op_def first_def = {.name = "first", .infer = infer_same},
                           second_def = {.name = "second", .infer = infer_same};

/* Two operations without a lowering, one of them twice: one message with both names. */
static void test_refused(void **state)
{
    (void)state;
    graph_bench b;
    artel__text text;
    artel__lowered lowered;
    artel_shape width = artel__shape(1, (int64_t)RANDOM_GRAPH_WIDTH);
    graph_bench_begin(&b, ROWS);
    artel__value_id x = artel__graph_input(&b.graph, ARTEL__DOMAIN_ROW, ARTEL_DTYPE_FLOAT32, &width);
    artel__value_id y = artel__graph_add(&b.graph, &first_def, NULL, &x, 1);
    y = artel__graph_add(&b.graph, &first_def, NULL, &y, 1);
    y = artel__op_binary(&b.graph, ARTEL__BINARY_ADD, x, y);
    artel__value_id first = artel__graph_add(&b.graph, &second_def, NULL, &y, 1);
    artel__graph_keep(&b.graph, first);
    assert_int_equal(artel__graph_seal(&b.graph), ARTEL_OK);
    artel__text_init(&text, b.ctx);
    assert_int_equal(artel__lower_graph(&b.graph, ROWS, &b.arena, &text, &lowered), ARTEL_ERROR_UNSUPPORTED);
    assert_non_null(strstr(artel_context_error(b.ctx)->what, "in this version: first, second"));
    artel__text_fini(&text);
    graph_bench_close(&b);
}

/* float64 is computed, but where the device has none: there by name. What only moves such numbers is not named. */
static void test_single(void **state)
{
    (void)state;
    graph_bench b;
    artel__text text;
    artel__lowered lowered;
    artel_shape width = artel__shape(1, (int64_t)RANDOM_GRAPH_WIDTH);
    graph_bench_begin(&b, ROWS);
    artel__value_id x = artel__graph_input(&b.graph, ARTEL__DOMAIN_ROW, ARTEL_DTYPE_FLOAT64, &width);
    artel__value_id y = artel__op_unary(&b.graph, ARTEL__UNARY_TANH, NULL, artel__op_stop_gradient(&b.graph, x));
    y = artel__op_binary(&b.graph, ARTEL__BINARY_ADD, x, y);
    artel__graph_keep(&b.graph, y);
    assert_int_equal(artel__graph_seal(&b.graph), ARTEL_OK);
    artel__text_init(&text, b.ctx);
    int32_t nodes[8];
    for (int i = 0; i < b.graph.nodes; i++) nodes[i] = i;
    artel__lower_request request = {.graph = &b.graph,
                                    .node = nodes,
                                    .nodes = b.graph.nodes,
                                    .in = &x,
                                    .ins = 1,
                                    .out = &y,
                                    .outs = 1,
                                    .rows = ROWS};
    assert_int_equal(artel__lower_write(&request, &b.arena, &text, &lowered), ARTEL_OK);
    assert_null(lowered.refused);
    assert_non_null(strstr(text.data, "f64"));
    request.single = true;
    assert_int_equal(artel__lower_write(&request, &b.arena, &text, &lowered), ARTEL_OK);
    assert_string_equal(lowered.refused, "unary:float64, binary:float64");
    artel__text_fini(&text);
    graph_bench_close(&b);
}

/* The page lists the operations that have a lowering, and in the table behind them those that have none; programs are
 * cut at collectives. */
static void test_page(void **state)
{
    (void)state;
    char path[4096], quoted[80];
    static char page[1 << 16];
    const char *source = getenv("ARTEL_SOURCE");
    snprintf(path, sizeof path, "%s/docs/devices.md", source ? source : "..");
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    page[fread(page, 1, sizeof page - 1, file)] = '\0';
    fclose(file);
    const char *refused = strstr(page, "| refused operation |");
    assert_non_null(refused);
    for (int i = 0; artel__ops[i]; i++) {
        snprintf(quoted, sizeof quoted, "`%s`", artel__ops[i]->name);
        const char *found = strstr(page, quoted);
        bool listed = found && found < refused, told = strstr(refused, quoted);
        bool lowered = artel__ops[i]->lower != NULL;
        if (listed != lowered || told != (!lowered && !artel__ops[i]->collective))
            fail_msg("docs/devices.md is wrong about %s", quoted);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_refused), cmocka_unit_test(test_single),
                                       cmocka_unit_test(test_page)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
