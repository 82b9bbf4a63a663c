/* SPDX-License-Identifier: Apache-2.0 */
/* All-gather: rows in the order of the batch on every rank, ranks without rows included; two values in one call. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "help_ranks.h"

enum {
    MOST_RANKS = 16,
    WIDE = 7
};

typedef struct scene {
    artel__coll_layout layout;
    artel__fabric *fabric;
    int64_t batch;
    float *wide;  /* the truth: [batch][WIDE] */
    int64_t *ids; /* [batch] */
    artel__all_gather task[MOST_RANKS];
    int wrong[MOST_RANKS];
} scene;

static void gather(void *user, int r)
{
    scene *s = user;
    int64_t first = artel__coll_first_row(&s->layout, s->batch, r);
    float *wide = calloc((size_t)s->batch * WIDE + 1, sizeof *wide);
    int64_t *ids = calloc((size_t)s->batch + 1, sizeof *ids);
    artel__coll_segment segment[2] = {{.count = WIDE, .element = 4, .in = s->wide + first * WIDE, .out = wide},
                                      {.count = 1, .element = 8, .in = s->ids + first, .out = ids}};
    artel__all_gather *t = &s->task[r];
    t->segment = segment;
    t->segments = 2;
    t->batch = s->batch;
    artel__coll_task *tasks[] = {&t->base};
    for (int i = 0; i < 3; i++) {
        memset(wide, 0, (size_t)s->batch * WIDE * sizeof *wide);
        if (artel__coll_run(t->base.endpoint, tasks, 1) != ARTEL_OK) s->wrong[r]++;
        if (memcmp(wide, s->wide, (size_t)s->batch * WIDE * sizeof *wide) != 0) s->wrong[r]++;
        if (memcmp(ids, s->ids, (size_t)s->batch * sizeof *ids) != 0) s->wrong[r]++;
    }
    free(wide);
    free(ids);
}

static void check(int32_t shards, int ranks, int64_t batch)
{
    artel_context *ctx;
    scene *s = calloc(1, sizeof *s);
    assert_int_equal(artel_context_create(NULL, &ctx), ARTEL_OK);
    assert_int_equal(artel__coll_layout_init(ctx, shards, ranks, &s->layout), ARTEL_OK);
    assert_int_equal(artel__fabric_create(ctx, ranks, false, &s->fabric), ARTEL_OK);
    s->batch = batch;
    s->wide = calloc((size_t)batch * WIDE + 1, sizeof *s->wide);
    s->ids = calloc((size_t)batch + 1, sizeof *s->ids);
    for (int64_t i = 0; i < batch * WIDE; i++) s->wide[i] = (float)i + 0.5f;
    for (int64_t i = 0; i < batch; i++) s->ids[i] = 1000 - i;
    for (int r = 0; r < ranks; r++)
        artel__all_gather_init(&s->task[r], artel__fabric_endpoint(s->fabric, r), &s->layout);
    help_run_ranks(ranks, gather, s);
    for (int r = 0; r < ranks; r++) {
        assert_int_equal(s->wrong[r], 0);
        artel__all_gather_fini(&s->task[r]);
    }
    free(s->wide);
    free(s->ids);
    artel__fabric_destroy(s->fabric);
    artel__coll_layout_fini(ctx, &s->layout);
    artel_context_destroy(ctx);
    free(s);
}

static void every_rank_count(void **state)
{
    (void)state;
    static const int ranks[] = {1, 2, 3, 5, 8, 16};
    static const int64_t batches[] = {0, 1, 3, 16, 100};
    for (size_t r = 0; r < sizeof ranks / sizeof *ranks; r++) {
        for (size_t b = 0; b < sizeof batches / sizeof *batches; b++) check(16, ranks[r], batches[b]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_rank_count)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
