/* SPDX-License-Identifier: Apache-2.0 */
/* timeout: 120 */
/* Operations written as programs of devices: one graph of all element-wise functions with their gradients, and products, computed by
 * XLA's plug-in for the CPU and by artel's kernels. Skipped without the plug-in; what devices refuse is in tests/op/test_refused.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "graph/lower.h"
#include "help_device.h"
#include "op/elementwise.h"
#include "support/graph_bench.h"

enum {
    ROWS = 7,
    WIDTH = RANDOM_GRAPH_WIDTH,
    MOST = 160
};

static struct {
    artel_context *ctx;
    artel__arena arena;
    artel__platform *platform;
} t;

static char names[MOST][48];

static void keep(graph_bench *b, artel__value_id value, const char *what, int n)
{
    assert_int_equal(b->graph.status, ARTEL_OK);
    int k = artel__graph_keep(&b->graph, value);
    assert_in_range(k, 0, MOST - 1);
    snprintf(names[k], sizeof names[k], "%s %d", what, n);
}

static void add_unary(graph_bench *b, artel__value_id x, artel__unary f)
{
    static const float constants[ARTEL__UNARY_COUNT][3] = {[ARTEL__UNARY_RELU] = {0.1f, 2.0f, 0.5f},
                                                           [ARTEL__UNARY_LEAKY_RELU] = {0.2f},
                                                           [ARTEL__UNARY_ELU] = {1.3f},
                                                           [ARTEL__UNARY_CELU] = {1.2f},
                                                           [ARTEL__UNARY_SOFT_SHRINK] = {0.1f},
                                                           [ARTEL__UNARY_HARD_SHRINK] = {0.1f},
                                                           [ARTEL__UNARY_SQUAREPLUS] = {4.0f},
                                                           [ARTEL__UNARY_THRESHOLD] = {0.1f, 0.5f},
                                                           [ARTEL__UNARY_SCALE_SHIFT] = {1.5f, -0.25f},
                                                           [ARTEL__UNARY_CLIP] = {-0.1f, 1.5f},
                                                           [ARTEL__UNARY_POWER] = {1.7f}};
    artel__value_id wide = artel__op_affine(&b->graph, x, 4.1f, 0.03f), y = artel__op_unary(&b->graph, f, constants[f], wide);
    artel__unary_attributes a = {.function = f};
    memcpy(a.parameter, constants[f], sizeof a.parameter);
    artel__reads reads = artel__unary_table[f].reads;
    artel__value_id in[] = {x, reads == ARTEL__READS_Y ? y : wide};
    keep(b, y, "unary", (int)f);
    keep(b, artel__graph_add(&b->graph, &artel__op_unary_gradient_def, &a, in, reads == ARTEL__READS_NONE ? 1 : 2), "unary gradient",
         (int)f);
}

/* A ROW operand with an axis fewer, and a GLOBAL one; gradients by differentiation where the operands are alike. */
static void add_binary(graph_bench *b, artel__value_id x, artel__value_id w, artel__binary f)
{
    artel__graph *graph = &b->graph;
    artel_shape square = artel__shape(2, INT64_C(2), (int64_t)(WIDTH / 2)), part = artel__shape(2, INT64_C(1), (int64_t)WIDTH);
    artel__value_id y = artel__op_affine(graph, x, -2.5f, 0.3f), matrix = artel__op_reshape(graph, x, &part);
    artel__value_id both = artel__op_binary(graph, f, x, y), wanted[] = {x, y}, found[2];
    keep(b, both, "binary", (int)f);
    keep(b, artel__op_binary(graph, f, x, w), "binary global", (int)f);
    keep(b, artel__op_binary(graph, f, y, artel__op_binary(graph, f, matrix, y)), "binary broadcast", (int)f);
    keep(b, artel__op_reshape(graph, both, &square), "reshape", (int)f);
    artel__differentiate d = {
        .add = &artel__op_binary_def, .targets = &both, .seeds = &x, .target_count = 1, .wanted = wanted, .wanted_count = 2};
    assert_int_equal(artel__graph_differentiate(graph, &d, found), ARTEL_OK);
    keep(b, found[0], "binary gradient", (int)f);
    keep(b, found[1], "binary gradient of the second", (int)f);
}

static artel__value_id weights(graph_bench *b, const char *name, int64_t rows, const artel_shape *shape)
{
    int index = artel__variables_add(&b->variables, name, ARTEL__VARIABLE_TRAINABLE, ARTEL_DTYPE_FLOAT32, shape, rows);
    assert_true(index >= 0);
    return artel__graph_variable(&b->graph, index);
}

static void build(graph_bench *b)
{
    artel_shape width = artel__shape(1, (int64_t)WIDTH), three = artel__shape(1, INT64_C(3)),
                matrix = artel__shape(2, (int64_t)WIDTH, INT64_C(3));
    artel__value_id x = artel__graph_input(&b->graph, ARTEL__DOMAIN_ROW, ARTEL_DTYPE_FLOAT32, &width);
    artel__value_id w = weights(b, "w", 0, &width), bias = weights(b, "bias", 0, &three), panels = weights(b, "panels", WIDTH, &matrix);
    for (int f = 0; f < ARTEL__UNARY_COUNT; f++) add_unary(b, x, (artel__unary)f);
    for (int f = 0; f < ARTEL__BINARY_COUNT; f++) add_binary(b, x, w, (artel__binary)f);
    keep(b, artel__op_product(&b->graph, x, panels, bias, 1, &three, ARTEL__FUSED_RELU), "product with ReLU", 0);
    keep(b, artel__op_product(&b->graph, x, panels, ARTEL__NO_VALUE, 1, &three, ARTEL__FUSED_NONE), "product", 0);
    assert_int_equal(artel__graph_seal(&b->graph), ARTEL_OK);
}

static artel__buffer *put(const artel_shape *shape, const void *host)
{
    artel__buffer *out;
    assert_int_equal(artel__buffer_put(t.platform, 0, ARTEL_DTYPE_FLOAT32, shape, host, &out), ARTEL_OK);
    return out;
}

static void launch(graph_bench *b, artel__buffer **out)
{
    artel__text text;
    artel__program *program;
    artel__buffer *in[4];
    artel_shape rows = artel__shape(2, (int64_t)ROWS, (int64_t)WIDTH);
    artel__text_init(&text, b->ctx);
    if (artel__lower_graph(&b->graph, ROWS, &text) < 0) fail_msg("%s", artel_context_error(b->ctx)->what);
    if (artel__program_compile(t.platform, "test", text.data, text.length, &program) < 0) fail_msg("%s", artel_context_error(t.ctx)->what);
    in[0] = put(&rows, b->x);
    for (int i = 0; i < 3; i++) {
        float plain[WIDTH * WIDTH];
        artel__state_fetch(b->state, i, plain);
        in[1 + i] = put(&b->variables.item[i].shape, plain);
    }
    assert_int_equal(artel__program_results(program), b->graph.kept_count);
    assert_int_equal(artel__program_launch(program, 0, in, 4, out), ARTEL_OK);
    for (int i = 0; i < 4; i++) artel__buffer_release(t.platform, in[i]);
    artel__program_release(program);
    artel__text_fini(&text);
}

static void compare(const graph_bench *b, int k, artel__buffer *buffer)
{
    static float found[ROWS * WIDTH * WIDTH];
    const float *expected = artel__run_kept(b->run, k);
    int64_t count = ROWS * artel_shape_count(&b->graph.value[b->graph.kept[k]].shape);
    assert_in_range(count, 1, ROWS * WIDTH * WIDTH);
    assert_int_equal(artel__buffer_get(t.platform, buffer, found, (size_t)count * sizeof(float)), ARTEL_OK);
    for (int64_t i = 0; i < count; i++) {
        bool same = found[i] == expected[i] || (isnan(found[i]) && isnan(expected[i]));
        if (!same && !(fabsf(found[i] - expected[i]) <= 4e-6f * (1 + fabsf(expected[i]))))
            fail_msg("%s, element %lld: %.9g instead of %.9g", names[k], (long long)i, (double)found[i], (double)expected[i]);
    }
}

static void test_values(void **state)
{
    (void)state;
    graph_bench b;
    artel__buffer *out[MOST];
    graph_bench_begin(&b, ROWS);
    build(&b);
    graph_bench_plan(&b);
    graph_bench_finish(&b, 1);
    assert_int_equal(artel__run_compute(b.run, &b.step, b.inputs), ARTEL_OK);
    launch(&b, out);
    for (int k = 0; k < b.graph.kept_count; k++) {
        compare(&b, k, out[k]);
        artel__buffer_release(t.platform, out[k]);
    }
    graph_bench_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_values)};
    if (artel_context_create(NULL, &t.ctx) < 0) return 1;
    artel__arena_init(&t.arena, t.ctx);
    const artel__plugin *cpu = device_cpu(&t.arena);
    if (!cpu) return 77;
    if (artel__platform_open(t.ctx, cpu, 1, &t.platform) < 0) {
        fprintf(stderr, "%s: %s\n", artel_context_error(t.ctx)->where, artel_context_error(t.ctx)->what);
        return 1;
    }
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    artel__platform_close(t.platform);
    artel__arena_fini(&t.arena);
    artel_context_destroy(t.ctx);
    return failed;
}
