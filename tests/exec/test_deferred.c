/* SPDX-License-Identifier: Apache-2.0 */
/* Late steps of rows against the walk of the whole table: for every rule, the same bits in variable and slots, whenever
 * one looks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "exec/deferred.h"

enum {
    ROWS = 700, /* more than two blocks */
    WIDTH = 5,
    SIZE = ROWS * WIDTH,
    STEPS = 400, /* what rows remember fades to nothing */
    MOST = 40
};

typedef struct table {
    float variable[SIZE], slot[ARTEL__APPLY_SLOTS][SIZE];
} table;

static uint64_t state;

static uint32_t draw(uint32_t below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % below;
}

static float number(void)
{
    return (float)draw(2001) / 1000.0f - 1.0f;
}

/* Ascending tokens, low ones often. */
static int32_t draw_tokens(int32_t *token)
{
    static bool named[ROWS];
    int32_t count = 0;
    memset(named, 0, sizeof named);
    for (uint32_t i = draw(MOST); i > 0; i--) named[draw(draw(ROWS - 100) + 1)] = true; /* the last hundred never */
    for (int32_t r = 0; r < ROWS; r++) {
        if (named[r]) token[count++] = r;
    }
    return count;
}

static void step(const artel__apply_options *options, table *t, const artel__apply_rows *rows, float rate,
                 int64_t iteration, float product)
{
    artel__apply_rows p = *rows;
    p.apply.count = SIZE;
    p.apply.variable = t->variable;
    for (int k = 0; k < ARTEL__APPLY_SLOTS; k++) p.apply.slot[k] = t->slot[k];
    artel__apply_prepare(&p.apply, options, rate, iteration, product);
    const artel__kernel *kernel = artel__kernel_choose(artel__apply_rows_kernels, ARTEL__ISA_BASELINE, &p);
    uint32_t fp = artel__fp_enter();
    kernel->run(&p, 0, kernel->tasks(&p), NULL);
    artel__fp_leave(fp);
}

static void compare(artel_context *ctx, const artel__apply_options *options, float accumulator)
{
    static table walked, late;
    static float gradient[MOST * WIDTH], squares[MOST * WIDTH];
    artel__pool *pool;
    artel__deferred *deferred;
    artel__deferred_steps steps = {.ctx = ctx};
    state = 7;
    memset(&walked, 0, sizeof walked);
    for (int i = 0; i < SIZE; i++) {
        walked.variable[i] = number();
        if (accumulator != 0) walked.slot[0][i] = accumulator;
        if (i / WIDTH % 50 == 0 && accumulator == 0) walked.slot[0][i] = walked.slot[1][i] = (float)draw(100) / 1000.0f;
    }
    late = walked;
    assert_int_equal(artel__pool_create(ctx, 2, &pool), ARTEL_OK);
    artel__deferred_table of = {
        .options = options, .squares = true, .rows = ROWS, .width = WIDTH, .variable = late.variable};
    for (int k = 0; k < ARTEL__APPLY_SLOTS; k++) of.slot[k] = late.slot[k];
    assert_int_equal(artel__deferred_create(ctx, &of, pool, &deferred), ARTEL_OK);
    artel__deferred_begin(deferred);
    float product = 1.0f;
    for (int64_t i = 0; i < STEPS; i++) {
        int32_t token[MOST], count = draw_tokens(token), look[MOST], looked = draw_tokens(look);
        float rate = 0.01f * (1.0f + (float)draw(10));
        product = artel__nadam_product(product, options->beta_1, i);
        for (int k = 0; k < MOST * WIDTH; k++) squares[k] = (gradient[k] = number()) * number() + 1.0f;
        artel__apply_rows rows = {.width = WIDTH, .most = MOST, .token = token, .count = &count, .others = true};
        rows.apply.gradient = gradient;
        rows.apply.squares = squares;
        step(options, &walked, &rows, rate, i, product);
        artel__deferred_rows(deferred, &steps, token, count);
        rows.others = false;
        step(options, &late, &rows, rate, i, product);
        assert_int_equal(artel__deferred_reserve(&steps), ARTEL_OK);
        artel__deferred_note(&steps, rate, product);
        artel__deferred_mark(deferred, &steps, token, count);
        artel__deferred_rows(deferred, &steps, look, looked);
        for (int32_t k = 0; k < looked; k++)
            assert_memory_equal(walked.variable + look[k] * WIDTH, late.variable + look[k] * WIDTH,
                                WIDTH * sizeof(float));
        if (i % 150 != 149) continue;
        artel__deferred_all(deferred, &steps);
        artel__deferred_begin(deferred);
        steps.count = 0;
        steps.first = i + 1;
        assert_memory_equal(&walked, &late, sizeof walked);
    }
    artel__deferred_all(deferred, &steps);
    assert_memory_equal(&walked, &late, sizeof walked);
    artel__free(ctx, steps.step);
    artel__deferred_destroy(deferred);
    artel__pool_destroy(pool);
}

static void rules_agree_with_the_walk(void **user)
{
    static const artel__apply_options rules[] = {
        {.rule = ARTEL__RULE_SGD, .momentum = 0.9},
        {.rule = ARTEL__RULE_SGD, .momentum = 0.5, .nesterov = true, .weight_decay = 0.01},
        {.rule = ARTEL__RULE_RMSPROP, .rho = 0.9, .epsilon = 1e-7},
        {.rule = ARTEL__RULE_RMSPROP, .rho = 0.9, .epsilon = 1e-7, .momentum = 0.3, .centered = true},
        {.rule = ARTEL__RULE_ADAM, .beta_1 = 0.9, .beta_2 = 0.999, .epsilon = 1e-7},
        {.rule = ARTEL__RULE_ADAM, .beta_1 = 0.5, .beta_2 = 0.6, .epsilon = 1e-7, .amsgrad = true},
        {.rule = ARTEL__RULE_ADAM, .beta_1 = 0.9, .beta_2 = 0.999, .epsilon = 1e-7, .weight_decay = 0.004},
        {.rule = ARTEL__RULE_ADAM,
         .beta_1 = 0.9,
         .beta_2 = 0.999,
         .epsilon = 0}, /* zeros become NaN: nobody may sleep */
        {.rule = ARTEL__RULE_ADADELTA, .rho = 0.95, .epsilon = 1e-7},
        {.rule = ARTEL__RULE_ADAMAX, .beta_1 = 0.9, .beta_2 = 0.999, .epsilon = 1e-7},
        {.rule = ARTEL__RULE_NADAM, .beta_1 = 0.9, .beta_2 = 0.999, .epsilon = 1e-7},
        {.rule = ARTEL__RULE_LION, .beta_1 = 0.9, .beta_2 = 0.99},
        {.rule = ARTEL__RULE_FTRL, .learning_rate_power = -0.5, .l1 = 0.01, .l2 = 0.1, .beta = 0.2},
    };
    artel_context *ctx = *user;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        compare(ctx, &rules[i], rules[i].rule == ARTEL__RULE_FTRL ? 0.1f : 0.0f);
}

static int set_up(void **user)
{
    return artel_context_create(NULL, (artel_context **)user) == ARTEL_OK ? 0 : -1;
}

static int tear_down(void **user)
{
    artel_context_destroy(*user);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rules_agree_with_the_walk)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
