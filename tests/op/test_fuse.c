/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of maximum pools that take over the ReLU's: where they may, with the same bits; and where nobody else needs
 * it, over x. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "exec/cpu/plan_impl.h"
#include "op/fuse.h"
#include "op/norm.h"
#include "op/elementwise.h"
#include "support/graph_bench.h"

enum {
    WIDTH = RANDOM_GRAPH_WIDTH,
    ROWS = 13
};

typedef enum form {
    INSIDE,  /* the ReLU is fused into the convolution */
    BEHIND,  /* it is an operation of its own */
    OVERLAP, /* windows overlap */
    NARROW,  /* bfloat16, windows apart: nothing is rounded between the two */
    FIRST_REFUSED /* these keep their mask: */ = 4,
    NARROW_OVERLAP = FIRST_REFUSED, /* sums are rounded before the mask */
    LEAKY,
    AVERAGE,
    TWICE, /* two pools read the ReLU */
    KEPT,  /* the gradient of the pool is wanted, too */
    FORMS
} form;

static artel__value_id add_relu(artel__graph *g, artel__value_id x, artel__value_id w, form f)
{
    artel__conv2d_shape s = {.ih = 1,
                             .iw = WIDTH,
                             .ic = 1,
                             .oh = 1,
                             .ow = WIDTH,
                             .oc = WIDTH,
                             .kh = 1,
                             .kw = 3,
                             .sh = 1,
                             .sw = 1,
                             .dh = 1,
                             .dw = 1,
                             .left = 1,
                             .groups = 1};
    bool behind = f == BEHIND || f == LEAKY;
    x = artel__op_conv2d(g, x, w, ARTEL__NO_VALUE, &s, behind ? ARTEL__FUSED_NONE : ARTEL__FUSED_RELU);
    if (!behind) return x;
    return artel__op_unary(g, ARTEL__UNARY_RELU, (float[]){f == LEAKY ? 0.1f : 0.0f, INFINITY, 0.0f}, x);
}

static artel__value_id add_pool(artel__graph *g, artel__value_id x, form f, bool same)
{
    artel__pool_shape s = {.channels = WIDTH};
    bool overlap = f == OVERLAP || f == NARROW_OVERLAP;
    artel__pool_axis(&s, 0, 1, 1, 1, false);
    artel__pool_axis(&s, 1, 1, 1, 1, false);
    artel__pool_axis(&s, 2, WIDTH, overlap ? 3 : 2, 2, overlap || same);
    return artel__op_pool(g, f == AVERAGE ? ARTEL__POOL_AVERAGE : ARTEL__POOL_MAX, x, &s);
}

/* Keeps the gradient of w. */
static void build(graph_bench *b, form f, bool fuse)
{
    artel__graph *g = &b->graph;
    artel_shape row = {.rank = 1, .dim = {WIDTH}}, image = {.rank = 3, .dim = {1, WIDTH, 1}},
                matrix = {.rank = 2, .dim = {3, WIDTH}};
    graph_bench_begin(b, ROWS);
    int variable = artel__variables_add(&b->variables, "w", ARTEL__VARIABLE_TRAINABLE, ARTEL_DTYPE_FLOAT32, &matrix, 3);
    artel__value_id wanted[2] = {artel__graph_variable(g, variable), ARTEL__NO_VALUE}, gradient[2];
    artel__value_id x = artel__graph_input(g, ARTEL__DOMAIN_ROW, ARTEL_DTYPE_FLOAT32, &row);
    if (f == NARROW || f == NARROW_OVERLAP) {
        x = artel__op_narrow(g, x, ARTEL_DTYPE_BFLOAT16);
        g->precision = ARTEL_DTYPE_BFLOAT16;
    }
    artel__value_id relu = add_relu(g, artel__op_reshape(g, x, &image), wanted[0], f),
                    out = add_pool(g, relu, f, false);
    if (f == TWICE) out = artel__op_add(g, out, add_pool(g, relu, f, true));
    if (f == KEPT) wanted[1] = relu;
    artel__value_id seeds = artel__op_affine(g, out, 1.0f, -0.4f);
    artel__differentiate request = {.add = &artel__op_binary_def,
                                    .narrow = &artel__op_narrow_def,
                                    .targets = &out,
                                    .seeds = &seeds,
                                    .target_count = 1,
                                    .wanted = wanted,
                                    .wanted_count = 1 + (f == KEPT)};
    assert_int_equal(artel__graph_differentiate(g, &request, gradient), ARTEL_OK);
    for (int i = 0; i < request.wanted_count; i++) artel__graph_keep(g, gradient[i]);
    if (fuse) assert_int_equal(artel__op_fuse_gradients(g), ARTEL_OK);
    assert_int_equal(artel__graph_seal(g), ARTEL_OK);
    graph_bench_plan(b);
}

static int count_nodes(const artel__graph *g, const artel__op_def *op, const artel__node **last)
{
    int count = 0;
    for (int i = 0; i < g->nodes; i++) {
        if (g->node[i].op != op) continue;
        *last = &g->node[i];
        count++;
    }
    return count;
}

static void same_bits(void **state)
{
    (void)state;
    for (form f = INSIDE; f < FORMS; f++) {
        graph_bench apart, joined;
        const artel__node *mask = NULL, *pool = NULL;
        build(&apart, f, false);
        build(&joined, f, true);
        assert_int_equal(count_nodes(&apart.graph, &artel__op_unary_gradient_def, &mask), 1);
        assert_int_equal(count_nodes(&joined.graph, &artel__op_unary_gradient_def, &mask), f >= FIRST_REFUSED);
        assert_int_equal(count_nodes(&joined.graph, &artel__op_pool_gradient_def, &pool), 1 + (f == TWICE));
        bool over = joined.plan->root[pool->output[0]] == joined.plan->root[pool->input[1]];
        assert_int_equal(over, f == INSIDE || f == BEHIND || f == NARROW ||
                                   f == LEAKY); /* LEAKY: the mask is made of its input */
        graph_bench_finish(&apart, 1);
        graph_bench_finish(&joined, 2);
        assert_int_equal(artel__run_compute(apart.run, &apart.step, apart.inputs), ARTEL_OK);
        assert_int_equal(artel__run_compute(joined.run, &joined.step, joined.inputs), ARTEL_OK);
        size_t bytes = (size_t)apart.variables.item[0].count * sizeof(float);
        assert_memory_equal(artel__run_kept(apart.run, 0), artel__run_kept(joined.run, 0), bytes);
        graph_bench_close(&apart);
        graph_bench_close(&joined);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_bits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
