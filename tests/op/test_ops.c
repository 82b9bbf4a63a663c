/* SPDX-License-Identifier: Apache-2.0 */
/* Every operation of ops.list in a small graph: its gradient against differences, its bits against every instruction
 * set and number of threads. A new operation fails test_coverage until it has a case here. */
#include "support/op_cases.h"

#include <string.h>

#include "op/decompose.h"
#include "op/elementwise.h"

static artel__value_id stopped(op_graph *g)
{
    artel__value_id x = op_row(g, OP_SIGNED, SHAPE(8)), y = op_row(g, OP_SIGNED, SHAPE(8));
    return artel__op_binary(&g->graph, ARTEL__BINARY_MUL, artel__op_stop_gradient(&g->graph, x), y);
}

static void test_gradients(void **state)
{
    (void)state;
    op_each(op_check_gradients, true);
}

/* The second gradient against differences of the first; the third is there wherever the second is. */
static void check_orders(const op_case *given)
{
    op_case c = *given;
    char why[256];
    bool compared = !c.kinks && !(c.jumps && c.jumps(c.parameter)) && !(c.flat && c.flat(c.parameter));
    if (c.bits_only) return;
    c.order = 2;
    if (!op_can_differentiate(&c, why, sizeof why)) fail_msg("%s: second order: %s", c.name, why);
    if (compared) op_check_gradients(&c);
    c.order = 3;
    if (!op_can_differentiate(&c, why, sizeof why)) fail_msg("%s: third order: %s", c.name, why);
}

static void test_orders(void **state)
{
    (void)state;
    op_each(check_orders, false);
}

static void test_bits(void **state)
{
    (void)state;
    op_each(op_check_bits, false);
}

static void open_graph(op_graph *g)
{
    *g = (op_graph){.feds = 0};
    assert_int_equal(artel_context_create(NULL, &g->ctx), ARTEL_OK);
    artel__arena_init(&g->arena, g->ctx);
    artel__variables_init(&g->variables, &g->arena);
    artel__graph_init(&g->graph, &g->arena, &g->variables, false);
}

/* Two convolutions that differ are two texts of --explain. */
static void test_description(void **state)
{
    static const char *const expected[] = {"conv2d[2x3/2,2 ", " groups=2 dilation=2,2]",
                                           "[3x2/2,2 7x6x3 -> 4x3x4 groups=1 dilation=2,2]"};
    static const int shapes[] = {1, 2, 4};
    (void)state;
    for (int i = 0; i < 3; i++) {
        op_graph g;
        artel__text text;
        open_graph(&g);
        artel__text_init(&text, g.ctx);
        g.parameter = shapes[i];
        op_build_conv(&g);
        artel__graph_dump(&g.graph, &text);
        if (!strstr(text.data, expected[i])) fail_msg("%s is not in %s", expected[i], text.data);
        assert_int_equal(i == 0, strstr(text.data, "dilation") == NULL);
        artel__text_fini(&text);
        artel__arena_fini(&g.arena);
        artel_context_destroy(g.ctx);
    }
}

/* --explain calls each function of one and of two arguments by its name in the list, the last ones, too. */
static void test_names(void **state)
{
    static const char *const unary[] = {
#define UNARY(name, function, reads, formula) #function,
#include "kernel/unary.list"
#undef UNARY
    };
    static const char *const binary[] = {
#define BINARY(name, function) #function,
#include "kernel/binary.list"
#undef BINARY
    };
    (void)state;
    for (int i = 0; i < ARTEL__UNARY_COUNT + ARTEL__BINARY_COUNT; i++) {
        op_graph g;
        artel__text text;
        char expected[64];
        int k = i - ARTEL__UNARY_COUNT;
        open_graph(&g);
        artel__text_init(&text, g.ctx);
        artel__value_id x = op_row(&g, OP_SIGNED, SHAPE(2)), y = op_row(&g, OP_SIGNED, SHAPE(2));
        if (k < 0)
            artel__op_unary(&g.graph, (artel__unary)i, NULL, x);
        else
            artel__op_binary(&g.graph, (artel__binary)k, x, y);
        assert_int_equal(g.graph.status, ARTEL_OK);
        artel__graph_dump(&g.graph, &text);
        snprintf(expected, sizeof expected, "[%s", k < 0 ? unary[i] : binary[k]);
        if (!strstr(text.data, expected)) fail_msg("%s is not in %s", expected, text.data);
        artel__text_fini(&text);
        artel__arena_fini(&g.arena);
        artel_context_destroy(g.ctx);
    }
}

/* Products of taps inside the image, counted one by one. */
static int64_t operations(const artel__conv2d_shape *s)
{
    int64_t count = 0;
    for (int64_t i = 0; i < s->oh * s->ow * s->kh * s->kw; i++) {
        int64_t tap = i % (s->kh * s->kw), pixel = i / (s->kh * s->kw);
        int64_t y = pixel / s->ow * s->sh - s->top + tap / s->kw * s->dh,
                x = pixel % s->ow * s->sw - s->left + tap % s->kw * s->dw;
        count += y >= 0 && y < s->ih && x >= 0 && x < s->iw;
    }
    return 2 * count * (s->ic / s->groups) * s->oc;
}

static void test_cost(void **state)
{
    (void)state;
    for (int i = 0; i < OP_CONV_SHAPES; i++) {
        op_graph g;
        open_graph(&g);
        g.parameter = i;
        artel__value_id out = op_build_conv(&g);
        const artel__node *node = &g.graph.node[g.graph.value[out].node];
        assert_int_equal(node->op->cost(&g.graph, node), operations(&op_conv_shapes[i]));
        artel__arena_fini(&g.arena);
        artel_context_destroy(g.ctx);
    }
}

/* The gradient of a stopped operand is none, that of the other what it should be. */
static void test_stop_gradient(void **state)
{
    (void)state;
    op_case c = {.name = "stop gradient", .build = stopped};
    op_check_bits(&c);
    op_graph g;
    open_graph(&g);
    artel__value_id out = stopped(&g), wanted[] = {g.fed[0].id, g.fed[1].id}, found[2],
                    seed = artel__op_fill_like(&g.graph, out, 1);
    artel__differentiate request = {.add = &artel__op_binary_def,
                                    .targets = &out,
                                    .seeds = &seed,
                                    .target_count = 1,
                                    .wanted = wanted,
                                    .wanted_count = 2};
    assert_int_equal(artel__graph_differentiate(&g.graph, &request, found), ARTEL_OK);
    assert_int_equal(found[0], ARTEL__NO_VALUE);
    assert_true(found[1] >= 0);
    artel__arena_fini(&g.arena);
    artel_context_destroy(g.ctx);
}

/* After the other tests. */
static void test_coverage(void **state)
{
    (void)state;
    op_check_coverage();
}

/* Vectors that are only known to be orthogonal to all others have no gradient, in TensorFlow neither: refused by name,
 * once it is wanted. */
static void test_whole_bases(void **state)
{
    static const struct {
        artel__decomposition function;
        int64_t m, n;
        const char *advice;
    } rows[] = {{ARTEL__DECOMPOSITION_QR, 4, 3, "reduced"},
                {ARTEL__DECOMPOSITION_SINGULAR, 5, 3, "full_matrices"},
                {ARTEL__DECOMPOSITION_SINGULAR, 2, 4, "full_matrices"}};
    (void)state;
    for (size_t i = 0; i < ARTEL__COUNT(rows); i++) {
        op_graph g;
        open_graph(&g);
        artel__value_id x = op_row(&g, OP_SIGNED, SHAPE(rows[i].m, rows[i].n)), found = ARTEL__NO_VALUE;
        artel__value_id y = artel__op_decompose(&g.graph, rows[i].function, true, x),
                        seed = artel__op_affine(&g.graph, y, 0, 1);
        artel__differentiate request = {.add = &artel__op_binary_def,
                                        .targets = &y,
                                        .seeds = &seed,
                                        .target_count = 1,
                                        .wanted = &x,
                                        .wanted_count = 1};
        assert_int_equal(g.graph.status, ARTEL_OK);
        artel__graph_differentiate(&g.graph, &request, &found);
        assert_non_null(strstr(artel_context_error(g.ctx)->advice, rows[i].advice));
        assert_int_equal(artel_context_error(g.ctx)->status, ARTEL_ERROR_UNSUPPORTED);
        artel__arena_fini(&g.arena);
        artel_context_destroy(g.ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradients),     cmocka_unit_test(test_orders),   cmocka_unit_test(test_bits),
        cmocka_unit_test(test_description),   cmocka_unit_test(test_names),    cmocka_unit_test(test_cost),
        cmocka_unit_test(test_stop_gradient), cmocka_unit_test(test_coverage), cmocka_unit_test(test_whole_bases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
