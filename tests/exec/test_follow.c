/* SPDX-License-Identifier: Apache-2.0 */
/* Steps that follow their gradient part by part: the bits are those of a gradient that was written first, less memory
 * is used, and gradients that somebody else reads, that are cheaper to keep than what they are made from, or that a
 * variable has a part in are written as ever. And a step on parts is the step on the whole, under every rule. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "exec/cpu/plan_impl.h"
#include "op/elementwise.h"
#include "op/optimize.h"
#include "support/graph_bench.h"

enum {
    WIDTH = RANDOM_GRAPH_WIDTH,
    FEW = 8, /* rows: less than the weights are */
    ELEMENTS = 9001
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
    int variable = artel__variables_add(&b->variables, name, kind, ARTEL_DTYPE_FLOAT32, weights ? &matrix : &shape,
                                        weights ? WIDTH : 0);
    return artel__graph_variable(&b->graph, variable);
}

/* A step with momentum. */
static void add_step(artel__graph *g, artel__value_id variable, artel__value_id velocity, artel__value_id gradient,
                     reader kind)
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
    artel__value_id out = artel__op_unary(g, ARTEL__UNARY_TANH, NULL,
                                          artel__op_product(g, x, wanted[0], wanted[1], 1, &shape, ARTEL__FUSED_NONE));
    artel__value_id seeds = artel__op_fill_like(g, out, 0.5);
    artel__differentiate request = {.add = &artel__op_binary_def,
                                    .targets = &out,
                                    .seeds = &seeds,
                                    .target_count = 1,
                                    .wanted = wanted,
                                    .wanted_count = 2};
    artel__graph_keep(g, out);
    assert_int_equal(artel__graph_differentiate(g, &request, gradient), ARTEL_OK);
    if (kind == KEPT) artel__graph_keep(g, gradient[0]);
    g->phase = ARTEL__PHASE_APPLY;
    for (int i = 0; i < 2; i++) add_step(g, wanted[i], velocity[i], gradient[i], kind);
    assert_int_equal(artel__graph_seal(g), ARTEL_OK);
    graph_bench_plan(b);
}

/* A gradient of one row, which is that of a variable seen through views. The variable is written before the step is
 * taken. */
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

/* The text of a plan says which step is taken on the parts of which node, and says nothing of the kind where none is.
 */
static void check_text(const artel__plan *plan, bool follows)
{
    artel__text text;
    artel__text_init(&text, plan->ctx);
    artel__plan_dump(plan, &text);
    for (int i = 0; i < plan->graph->nodes; i++) {
        char begin[16], said[64];
        if (plan->node[i].step == 0) continue;
        snprintf(begin, sizeof begin, "\n%4d ", i);
        snprintf(said, sizeof said, " with optimize of node %d on each part", (int)plan->node[i].step);
        const char *line = strstr(text.data, begin), *found = line ? strstr(line, said) : NULL;
        assert_true(found && !memchr(line + 1, '\n', (size_t)(found - line - 1)));
    }
    assert_int_equal(strstr(text.data, "on each part") != NULL, follows);
    artel__text_fini(&text);
}

static void same_bits(void **state)
{
    (void)state;
    for (int64_t rows = 1; rows <= FEW; rows++) {
        graph_bench followed, written;
        build(&followed, rows, STEP_ALONE);
        build(&written, rows, KEPT);
        bool follows = artel__context_isa(followed.ctx) >= ARTEL__ISA_AVX2;
        assert_int_equal(count_followed(followed.plan), follows);
        assert_int_equal(count_followed(written.plan), 0);
        check_text(followed.plan, follows);
        check_text(written.plan, false);
        take_steps(&followed, 1 + (int)(rows % 2));
        take_steps(&written, 1);
        assert_memory_equal(followed.state->block, written.state->block, followed.variables.bytes);
        if (follows) assert_true(followed.plan->block_bytes < written.plan->block_bytes);
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
    assert_memory_equal(alone.state->block, written.state->block, alone.variables.bytes);
    assert_int_equal(count_followed(alone.plan), 0);
    graph_bench_close(&alone);
    graph_bench_close(&written);
}

static const artel__apply_options rules[] = {
    [ARTEL__RULE_SGD] = {.momentum = 0.9, .nesterov = true, .weight_decay = 0.004},
    [ARTEL__RULE_RMSPROP] = {.rho = 0.9, .epsilon = 1e-7, .momentum = 0.5, .centered = true},
    [ARTEL__RULE_ADAM] = {.beta_1 = 0.9, .beta_2 = 0.999, .epsilon = 1e-7, .amsgrad = true},
    [ARTEL__RULE_ADAGRAD] = {.epsilon = 1e-7},
    [ARTEL__RULE_ADADELTA] = {.rho = 0.95, .epsilon = 1e-7},
    [ARTEL__RULE_ADAMAX] = {.beta_1 = 0.9, .beta_2 = 0.999, .epsilon = 1e-7},
    [ARTEL__RULE_NADAM] = {.beta_1 = 0.9, .beta_2 = 0.999, .epsilon = 1e-7},
    [ARTEL__RULE_FTRL] = {.learning_rate_power = -0.5, .l1 = 0.01, .l2 = 0.02, .l2_shrinkage = 0.03, .beta = 0.1},
    [ARTEL__RULE_LION] = {.beta_1 = 0.9, .beta_2 = 0.99},
    [ARTEL__RULE_LAMB] = {.beta_1 = 0.9, .beta_2 = 0.999, .epsilon = 1e-7},
    [ARTEL__RULE_SCHEDULE_FREE] = {.beta_1 = 0.9, .beta_2 = 0.999, .epsilon = 1e-8, .warmup_steps = 9},
};

typedef struct weights {
    float gradient[ELEMENTS], squares[ELEMENTS]; /* read */
    float variable[ELEMENTS], slot[ARTEL__APPLY_SLOTS][ELEMENTS];
} weights;

static void fill_weights(weights *w)
{
    for (int i = 0; i < ELEMENTS; i++) {
        w->gradient[i] = (float)(i * 7919 % 2003 - 1001) / 1000;
        w->squares[i] = (float)(i * 31 % 997) / 1000;
        w->variable[i] = (float)(i * 104729 % 1999 - 999) / 1000;
        for (int k = 0; k < ARTEL__APPLY_SLOTS; k++) w->slot[k][i] = (float)(i * (17 + k) % 499 + 1) / 1000;
    }
}

static artel__apply step_on(weights *w, artel__rule rule, artel__clip clip, bool squares)
{
    artel__apply_options options = rules[rule];
    artel__apply p = {.count = ELEMENTS,
                      .variable = w->variable,
                      .gradient = w->gradient,
                      .squares = squares ? w->squares : NULL,
                      .slot = {w->slot[0], w->slot[1], w->slot[2]},
                      .clip = clip,
                      .clip_a = 0.5f,
                      .clip_b = 0.75f};
    options.rule = rule;
    artel__apply_prepare(&p, &options, 0.01f, 41, 0.3f);
    return p;
}

/* The last part first; each part of the gradient lies somewhere else for as long as its step takes. */
static void step_in_parts(const artel__kernel *kernel, const artel__apply *whole)
{
    static const int64_t begin[] = {0, 1, 18, 1024, 1024 + ARTEL__NORM_BLOCK, 8000, ELEMENTS};
    for (int i = (int)ARTEL__COUNT(begin) - 2; i >= 0; i--) {
        int64_t count = begin[i + 1] - begin[i];
        artel__apply part = *whole;
        float *gradient = malloc((size_t)count * sizeof *gradient);
        assert_non_null(gradient);
        memcpy(gradient, whole->gradient + begin[i], (size_t)count * sizeof *gradient);
        artel__op_optimize_def.exec->part(&part, gradient, begin[i], count);
        kernel->run(&part, 0, kernel->tasks(&part), NULL);
        free(gradient);
    }
}

static void check_parts(const artel__kernel *kernel, artel__rule rule, artel__clip clip, bool squares)
{
    static weights whole, parts;
    fill_weights(&whole);
    fill_weights(&parts);
    artel__apply at_once = step_on(&whole, rule, clip, squares), cut = step_on(&parts, rule, clip, squares);
    if (kernel->refuses && kernel->refuses(&at_once)) return;
    kernel->run(&at_once, 0, kernel->tasks(&at_once), NULL);
    step_in_parts(kernel, &cut);
    if (memcmp(&whole, &parts, sizeof whole) != 0)
        fail_msg("%s: rule %d, clip %d differ in parts", kernel->name, rule, clip);
}

static void parts_are_the_whole(void **state)
{
    (void)state;
    artel_context *ctx;
    assert_int_equal(artel_context_create(NULL, &ctx), ARTEL_OK);
    assert_int_equal(ARTEL__COUNT(rules), ARTEL__RULE_COUNT);
    for (const artel__kernel *const *kernel = artel__apply_kernels; *kernel; kernel++) {
        if ((*kernel)->isa > artel__context_isa(ctx)) continue;
        for (int rule = 0; rule < (int)ARTEL__COUNT(rules); rule++) {
            for (int clip = 0; clip <= ARTEL__CLIP_NARROW; clip++) {
                check_parts(*kernel, (artel__rule)rule, (artel__clip)clip, false);
                check_parts(*kernel, (artel__rule)rule, (artel__clip)clip, true);
            }
        }
    }
    artel_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_bits), cmocka_unit_test(others_are_written),
                                       cmocka_unit_test(written_variables_are_not_read),
                                       cmocka_unit_test(parts_are_the_whole)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
