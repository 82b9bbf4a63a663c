/* SPDX-License-Identifier: Apache-2.0 */
/* Weights that their readers round: which ones, through transposes and views too, however many there are and in which
 * order readers come; the bits are those of weights that were rounded first. And plans of graphs with constants, and
 * with values whose nodes are no more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "exec/cpu/plan_impl.h"
#include "op/elementwise.h"
#include "op/op.h"
#include "support/graph_bench.h"

enum {
    WIDTH = RANDOM_GRAPH_WIDTH,
    MANY = 200
};

typedef struct scene {
    graph_bench bench;
    artel__value_id x, rounded; /* a row; a variable's weights; both bfloat16 numbers */
} scene;

static const artel_shape columns = {.rank = 1, .dim = {WIDTH}};

static void begin(scene *s)
{
    artel__graph *g = &s->bench.graph;
    artel_shape matrix = {.rank = 2, .dim = {WIDTH, WIDTH}};
    graph_bench_begin(&s->bench, 8);
    g->arithmetic = ARTEL__ARITHMETIC_TILES;
    int w =
        artel__variables_add(&s->bench.variables, "w", ARTEL__VARIABLE_TRAINABLE, ARTEL_DTYPE_FLOAT32, &matrix, WIDTH);
    artel__value_id fed = artel__graph_input(g, ARTEL__DOMAIN_ROW, ARTEL_DTYPE_FLOAT32, &columns);
    s->x = artel__op_narrow(g, fed, ARTEL_DTYPE_BFLOAT16);
    s->rounded = artel__op_narrow(g, artel__graph_variable(g, w), ARTEL_DTYPE_BFLOAT16);
    g->precision = ARTEL_DTYPE_BFLOAT16;
}

static artel__value_id transpose(scene *s, artel__value_id w)
{
    return artel__op_transpose_weights(&s->bench.graph, w, 1, WIDTH, WIDTH, 1);
}

/* Kept. */
static artel__value_id multiply(scene *s, artel__value_id w)
{
    artel__graph *g = &s->bench.graph;
    artel__value_id out = artel__op_product(g, s->x, w, ARTEL__NO_VALUE, 1, &columns, ARTEL__FUSED_NONE);
    artel__graph_keep(g, out);
    return out;
}

static void plan(scene *s)
{
    assert_int_equal(artel__graph_seal(&s->bench.graph), ARTEL_OK);
    graph_bench_plan(&s->bench);
}

static bool can(const scene *s)
{
    return artel__context_isa(s->bench.ctx) >= ARTEL__ISA_AVX2;
}

static void check(const scene *s, artel__value_id id, bool raw)
{
    assert_int_equal(s->bench.plan->raw[id], raw && can(s));
    if (id == s->rounded) assert_int_equal(s->bench.plan->node[s->bench.graph.value[id].node].view, raw && can(s));
}

static void all_readers_can(void **state)
{
    (void)state;
    scene s;
    begin(&s);
    artel__value_id turned = transpose(&s, s.rounded);
    multiply(&s, s.rounded);
    multiply(&s, turned);
    plan(&s);
    check(&s, s.rounded, true);
    check(&s, turned, true);
    check(&s, s.x, false);
    graph_bench_close(&s.bench);
}

static void read_by_transposes(scene *s, artel__value_id out[2])
{
    out[0] = transpose(s, s->rounded);
    out[1] = transpose(s, out[0]);
    multiply(s, out[1]);
}

/* One that cannot, at the end of many transposes: none of what they have in common, nor what other readers have of it.
 * `first`: who reads it is added before the chain. */
static void one_reader_cannot(bool first)
{
    scene s;
    artel__value_id chain[MANY], beside[2];
    begin(&s);
    if (first) read_by_transposes(&s, beside);
    for (int i = 0; i < MANY; i++) chain[i] = transpose(&s, i ? chain[i - 1] : s.rounded);
    artel__graph_keep(&s.bench.graph, chain[MANY - 1]);
    if (!first) read_by_transposes(&s, beside);
    plan(&s);
    check(&s, s.rounded, false);
    for (int i = 0; i < 2; i++) check(&s, beside[i], false);
    for (int i = 0; i < MANY; i++) check(&s, chain[i], false);
    graph_bench_close(&s.bench);
}

static void some_readers_cannot(void **state)
{
    (void)state;
    one_reader_cannot(true);
    one_reader_cannot(false);
}

/* The results of a product with the weights and one with their transposes, of weights that bfloat16 does not hold. */
static void compute(bool kept, float out[2][8 * WIDTH])
{
    scene s;
    float values[WIDTH * WIDTH];
    begin(&s);
    multiply(&s, s.rounded);
    multiply(&s, transpose(&s, s.rounded));
    if (kept) artel__graph_keep(&s.bench.graph, s.rounded);
    plan(&s);
    check(&s, s.rounded, !kept);
    graph_bench_finish(&s.bench, 1);
    for (int i = 0; i < WIDTH * WIDTH; i++) values[i] = (float)(i * 7 % 11 - 5) / 3;
    artel__state_store(s.bench.state, 0, values);
    assert_int_equal(artel__run_compute(s.bench.run, &s.bench.step, s.bench.inputs), ARTEL_OK);
    for (int k = 0; k < 2; k++) memcpy(out[k], artel__run_kept(s.bench.run, k), sizeof out[k]);
    graph_bench_close(&s.bench);
}

static void same_bits(void **state)
{
    (void)state;
    float late[2][8 * WIDTH], before[2][8 * WIDTH];
    compute(false, late);
    compute(true, before);
    assert_memory_equal(late, before, sizeof late);
    assert_memory_not_equal(late[0], late[1], sizeof late[0]);
}

/* Values that nobody needs lose their nodes when the graph is sealed; what they say of them then is nothing. */
static void constants_and_dead_values(void **state)
{
    (void)state;
    scene s;
    artel__graph *g = &s.bench.graph;
    float numbers[WIDTH] = {1, 2, 3, 4, 5, 6};
    begin(&s);
    artel__value_id constant = artel__op_constant(g, ARTEL_DTYPE_FLOAT32, &columns, numbers), dead = constant;
    for (int i = 0; i < MANY; i++) {
        dead = artel__op_stop_gradient(g, artel__op_binary(g, ARTEL__BINARY_MUL, s.x, i % 2 ? s.x : constant));
        artel__op_constant(g, ARTEL_DTYPE_FLOAT32, &columns, numbers);
    }
    artel__graph_keep(g, artel__op_binary(g, ARTEL__BINARY_ADD, multiply(&s, s.rounded), constant));
    plan(&s);
    assert_true(g->nodes < MANY && g->values > MANY && g->value[dead].node >= g->nodes);
    check(&s, s.rounded, true);
    check(&s, constant, false);
    check(&s, dead, false);
    assert_int_equal(artel__plan_source(s.bench.plan, constant), constant);
    graph_bench_close(&s.bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_readers_can), cmocka_unit_test(some_readers_cannot),
                                       cmocka_unit_test(same_bits), cmocka_unit_test(constants_and_dead_values)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
