/* SPDX-License-Identifier: Apache-2.0 */
#include "support/graph_bench.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

enum {
    WIDTH = RANDOM_GRAPH_WIDTH
};

void graph_bench_begin(graph_bench *b, int64_t rows)
{
    memset(b, 0, sizeof *b);
    assert_true(rows <= GRAPH_BENCH_ROWS);
    b->rows = rows;
    assert_int_equal(artel_context_create(NULL, &b->ctx), ARTEL_OK);
    artel__arena_init(&b->arena, b->ctx);
    artel__variables_init(&b->variables, &b->arena);
    artel__graph_init(&b->graph, &b->arena, &b->variables, true);
    for (int64_t i = 0; i < rows * WIDTH; i++) b->x[i] = (float)((i * 37) % 19 - 9) / 10;
    b->inputs[0] = b->x;
}

void graph_bench_plan(graph_bench *b)
{
    artel__plan_options options = {
        .batch_size = b->rows, .shards = 8, .replicas = 1, .isa = artel__context_isa(b->ctx)};
    assert_int_equal(artel__plan_create(b->ctx, &b->graph, &options, &b->plan), ARTEL_OK);
}

void graph_bench_finish(graph_bench *b, int threads)
{
    assert_int_equal(artel__state_create(b->ctx, &b->variables, &b->state), ARTEL_OK);
    for (int i = 0; i < b->variables.count; i++) {
        float plain[WIDTH * WIDTH];
        for (int k = 0; k < WIDTH * WIDTH; k++) plain[k] = (float)((k * 7 + i) % 11 - 5) / 8;
        artel__state_store(b->state, i, plain);
    }
    assert_int_equal(artel__pool_create(b->ctx, threads, &b->pool), ARTEL_OK);
    assert_int_equal(artel__run_create(b->plan, b->state, b->pool, NULL, &b->run), ARTEL_OK);
    artel__fold_plan_make(&b->fold, 8, 0, 8, b->rows, b->start);
    b->step = (artel__step){.fold = &b->fold, .seed = 5, .learning_rate = 0.01, .training = true};
}

void graph_bench_close(graph_bench *b)
{
    artel__run_destroy(b->run);
    artel__pool_destroy(b->pool);
    artel__state_destroy(b->state);
    artel__plan_destroy(b->plan);
    artel__arena_fini(&b->arena);
    artel_context_destroy(b->ctx);
}
