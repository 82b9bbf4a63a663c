/* SPDX-License-Identifier: Apache-2.0 */
/* timeout: 600 */
/* long form: 1800 */
/* Operations as programs of devices: small graphs of tests/support/op_cases.c with their gradients and the step of
 * their variables, computed by XLA's plug-in for the CPU and by artel's kernels: every eighth, for XLA compiles long;
 * all with ARTEL_LONG=1. Every function of float64 with its slope, to 13 digits. A name as argument: the cases that
 * begin with it, one line each. Skipped without the plug-in; what devices refuse is in tests/op/test_refused.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/words.h"
#include "help_device.h"
#include "op/elementwise.h"
#include "support/op_cases.h"

enum {
    MOST = 128
};

static struct {
    artel_context *ctx;
    artel__arena arena;
    artel__platform *platform;
    const char *only;
    int seen, computed, refused;
    bool exact;
} t;

/* Results of a program, as this machine keeps them. */
typedef struct launch {
    op_machine m;
    artel__lowered lowered;
    artel__program *program;
    artel__buffer *in[MOST], *out[MOST];
    int ins;
} launch;

static void put(launch *l, artel_dtype dtype, const artel_shape *shape, const void *host)
{
    assert_true(l->ins < MOST);
    assert_int_equal(artel__buffer_put(t.platform, 0, dtype, shape, host, &l->in[l->ins++]), ARTEL_OK);
}

static void put_inputs(launch *l)
{
    for (int i = 0; i < l->m.g.feds; i++) {
        const artel__value *value = &l->m.g.graph.value[l->m.g.fed[i].id];
        artel_shape shape = {.rank = value->shape.rank + 1, .dim = {l->m.fold.rows}};
        for (int k = 0; k < value->shape.rank; k++) shape.dim[k + 1] = value->shape.dim[k];
        put(l, value->dtype, &shape, l->m.data[i]);
    }
}

/* What variable `i` holds, as it lies in memory; the caller frees it. */
static void *held(const launch *l, int i)
{
    const artel__variable *v = &l->m.g.variables.item[i];
    int64_t count = artel_shape_count(&v->shape);
    void *plain = malloc((size_t)count * sizeof(double)), *wide = malloc((size_t)count * sizeof(double));
    artel__state_fetch(l->m.state, i, plain);
    if (artel__variable_narrow(v))
        artel__convert(v->dtype, plain, ARTEL_DTYPE_FLOAT32, wide, count);
    else
        memcpy(wide, plain, (size_t)count * artel_dtype_size(v->dtype));
    free(plain);
    return wide;
}

static void put_variables(launch *l)
{
    const artel__graph *graph = &l->m.g.graph;
    for (int i = 0; i < graph->variable_values; i++) {
        if (graph->variable_value[i] < 0) continue;
        const artel__variable *v = &l->m.g.variables.item[i];
        void *plain = held(l, i);
        put(l, artel__variable_held(v), &v->shape, plain);
        free(plain);
    }
}

/* The batch is one shard. */
static void put_words(launch *l)
{
    int64_t words[MOST * 8], start[2];
    artel_shape shape = {.rank = 1, .dim = {l->lowered.scalars}};
    artel__fold_plan fold;
    artel__step step = l->m.step;
    assert_true(l->lowered.scalars <= MOST * 8);
    artel__fold_plan_make(&fold, 1, 0, 1, l->m.fold.rows, start);
    step.fold = &fold;
    artel__words_fill(&l->m.g.graph, l->lowered.scalar, l->lowered.scalars, &step, words);
    if (l->lowered.scalars) put(l, ARTEL_DTYPE_INT64, &shape, words);
}

/* False when an operation has no lowering. */
static bool run(launch *l, const op_case *c, int64_t rows)
{
    artel__text text;
    op_machine_open(&l->m, c, rows, ARTEL__ISA_COUNT, 1);
    artel__text_init(&text, l->m.g.ctx);
    artel_status status = artel__lower_graph(&l->m.g.graph, rows, &l->m.g.arena, &text, &l->lowered);
    bool good = status == ARTEL_OK;
    const artel_error *error = artel_context_error(l->m.g.ctx);
    if (status == ARTEL_ERROR_UNSUPPORTED && t.only) printf("%s: %s\n", c->name, error->what);
    if (!good && status != ARTEL_ERROR_UNSUPPORTED)
        fail_msg("%s: %s: %s\n%s", c->name, error->where, error->what, text.data);
    if (good && artel__program_compile(t.platform, &(artel__program_source){c->name, text.data, text.length, NULL, 0},
                                       &l->program) < 0)
        fail_msg("%s: %s\n%s", c->name, artel_context_error(t.ctx)->what, text.data);
    artel__text_fini(&text);
    if (!good) return false;
    put_inputs(l);
    put_variables(l);
    put_words(l);
    if (artel__program_launch(l->program, 0, l->in, l->ins, l->out) < 0)
        fail_msg("%s: %s", c->name, artel_context_error(t.ctx)->what);
    return true;
}

static double number(const void *data, artel_dtype dtype, int64_t i)
{
    switch (dtype) {
    case ARTEL_DTYPE_FLOAT32: return (double)((const float *)data)[i];
    case ARTEL_DTYPE_FLOAT64: return ((const double *)data)[i];
    case ARTEL_DTYPE_INT32: return ((const int32_t *)data)[i];
    case ARTEL_DTYPE_INT64: return (double)((const int64_t *)data)[i];
    default: return ((const uint8_t *)data)[i];
    }
}

/* Of two ways of adding up: a bound by the largest element, and a relative one. With `exact` all of it is float64. */
static void compare(const op_case *c, const char *what, int n, artel_dtype dtype, int64_t count, const void *expected,
                    const void *found)
{
    double largest = 0;
    for (int64_t i = 0; i < count; i++) {
        double e = fabs(number(expected, dtype, i));
        if (isfinite(e) && e > largest) largest = e;
    }
    for (int64_t i = 0; i < count; i++) {
        double e = number(expected, dtype, i), f = number(found, dtype, i);
        bool same = e == f || (isnan(e) && isnan(f)), far = !isfinite(e);
        double most = t.exact ? 1e-13 * (fabs(e) + largest) : 2e-5 * fabs(e) + 4e-6 * largest + 1e-7;
        if (!same && (far || !(fabs(e - f) <= most)))
            fail_msg("%s, %s %d, element %lld of %lld: %.9g instead of %.9g", c->name, what, n, (long long)i,
                     (long long)count, f, e);
    }
}

static void compare_kept(launch *l, const op_case *c)
{
    const artel__graph *graph = &l->m.g.graph;
    assert_int_equal(artel__run_compute(l->m.run, &l->m.step, (const void *const *)l->m.data), ARTEL_OK);
    for (int k = 0; k < graph->kept_count; k++) {
        const artel__value *value = &graph->value[graph->kept[k]];
        bool by_row = value->domain == ARTEL__DOMAIN_ROW || value->domain == ARTEL__DOMAIN_BATCH;
        int64_t count = artel_shape_count(&value->shape) * (by_row ? l->m.fold.rows : 1);
        size_t bytes = (size_t)count * artel_dtype_size(value->dtype);
        void *found = malloc(bytes + 1), *plain = malloc(bytes + 1);
        const void *expected = artel__run_kept(l->m.run, k);
        if (value->layout == ARTEL__LAYOUT_PANELS) {
            artel__variable v = {
                .shape = value->shape, .dtype = value->dtype, .layout = value->layout, .rows = value->shape.dim[0]};
            v.columns = artel_shape_count(&value->shape) / v.rows;
            artel__variables one = {.item = &v, .count = 1, .bytes = (size_t)value->storage * sizeof(float)};
            artel__image_fetch(&one, expected, 0, plain);
            expected = plain;
        }
        if (value->domain != ARTEL__DOMAIN_NODES) {
            if (artel__buffer_get(t.platform, l->out[k], found, bytes) < 0)
                fail_msg("%s: %s", c->name, artel_context_error(t.ctx)->what);
            compare(c, "result", k, value->dtype, count, expected, found);
        }
        free(plain);
        free(found);
    }
}

/* What the variables have become. */
static void compare_variables(launch *l, const op_case *c)
{
    const artel__graph *graph = &l->m.g.graph;
    int at = graph->kept_count;
    artel__run_apply(l->m.run, &l->m.step);
    for (int i = 0; i < graph->variable_values; i++) {
        if (graph->variable_value[i] < 0) continue;
        const artel__variable *v = &l->m.g.variables.item[i];
        int64_t count = artel_shape_count(&v->shape);
        size_t bytes = (size_t)count * artel_dtype_size(artel__variable_held(v));
        void *found = malloc(bytes), *expected = held(l, i);
        if (artel__buffer_get(t.platform, l->out[at++], found, bytes) < 0)
            fail_msg("%s: %s", c->name, artel_context_error(t.ctx)->what);
        compare(c, "variable", i, artel__variable_held(v), count, expected, found);
        free(expected);
        free(found);
    }
}

/* No case is faulty. */
static void compare_faults(const launch *l, const op_case *c)
{
    int64_t fault[2 * MOST];
    if (!l->lowered.faults) return;
    artel__buffer *buffer = l->out[artel__program_results(l->program) - 1];
    assert_int_equal(artel__buffer_get(t.platform, buffer, fault, (size_t)l->lowered.faults * 2 * sizeof(int64_t)),
                     ARTEL_OK);
    for (int i = 0; i < l->lowered.faults; i++) {
        if (fault[2 * i] != INT64_MAX) fail_msg("%s: a fault in row %lld", c->name, (long long)fault[2 * i]);
    }
}

static bool chosen(const op_case *c)
{
    if (t.only) return strncmp(c->name, t.only, strlen(t.only)) == 0;
    return t.seen++ % 8 == 0 || getenv("ARTEL_LONG") != NULL;
}

static void compute(const op_case *c)
{
    static launch l;
    l = (launch){.ins = 0};
    bool computed = run(&l, c, 37);
    t.computed += computed;
    t.refused += !computed;
    if (computed) {
        compare_kept(&l, c);
        compare_variables(&l, c);
        compare_faults(&l, c);
        for (int i = 0; i < l.ins; i++) artel__buffer_release(t.platform, l.in[i]);
        for (int i = 0; i < artel__program_results(l.program); i++) artel__buffer_release(t.platform, l.out[i]);
        artel__program_release(l.program);
        if (t.only) printf("%s: same\n", c->name);
    }
    op_machine_close(&l.m);
}

static void check(const op_case *c)
{
    if (chosen(c)) compute(c);
}

/* A function of one or two numbers, and its slopes. */
static void keep_all(artel__graph *graph, artel__value_id y, const artel__value_id *x, int count)
{
    artel__value_id slope[2], one = artel__op_fill_like(graph, y, 1);
    artel__differentiate request = {.add = &artel__op_binary_def,
                                    .targets = &y,
                                    .seeds = &one,
                                    .target_count = 1,
                                    .wanted = x,
                                    .wanted_count = count};
    artel__graph_differentiate(graph, &request, slope);
    artel__graph_keep(graph, y);
    for (int i = 0; i < count; i++) artel__graph_keep(graph, slope[i]);
}

/* 0: functions of one number; 1: of two */
static artel__value_id build_digits(op_graph *g)
{
    artel__graph *graph = &g->graph;
    artel__value_id x[2];
    for (int i = 0; i < 2; i++)
        x[i] = artel__op_cast(graph, op_row(g, i ? OP_POSITIVE : OP_SIGNED, SHAPE(5)), ARTEL_DTYPE_FLOAT64);
    for (int f = 0; f < (g->parameter ? 0 : ARTEL__UNARY_COUNT); f++)
        keep_all(graph, artel__op_unary_exact(graph, (artel__unary)f, (double[]){1 / 3.0, 2.3, 0.1}, x[0]), x, 1);
    for (int f = 0; f < (g->parameter ? ARTEL__BINARY_COUNT : 0); f++)
        keep_all(graph, artel__op_binary(graph, (artel__binary)f, x[1], x[0]), (artel__value_id[]){x[1], x[0]}, 2);
    return artel__op_cast(graph, x[0], ARTEL_DTYPE_FLOAT32);
}

static void test_digits(void **state)
{
    (void)state;
    t.exact = true;
    for (int i = 0; i < 2 && !t.only; i++)
        compute(&(op_case){.name = i ? "digits of two" : "digits", .build = build_digits, .parameter = i});
    t.exact = false;
}

static void test_values(void **state)
{
    (void)state;
    op_each(check, false);
    printf("%d graphs computed, %d refused\n", t.computed, t.refused);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_digits), cmocka_unit_test(test_values)};
    t.only = argc > 1 ? argv[1] : NULL;
    int failed = device_open(1, &t.ctx, &t.arena, &t.platform);
    if (!failed) {
        failed = cmocka_run_group_tests(tests, NULL, NULL);
        device_close(t.ctx, &t.arena, t.platform);
    }
    return failed;
}
