/* SPDX-License-Identifier: Apache-2.0 */
/* Barrier: nobody passes before all have come; one that is not well is heard by all; any number of ranks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdatomic.h>

#include "help_ranks.h"

enum {
    MOST_RANKS = 33,
    ROUNDS = 60
};

typedef struct scene {
    int ranks;
    artel__fabric *fabric;
    atomic_int arrived[ROUNDS];
    atomic_int wrong_early, wrong_answer, wrong_status;
} scene;

/* In round i rank i % (2 R) is not well; in half of the rounds no such rank exists. */
static void pass(void *user, int r)
{
    scene *s = user;
    artel__barrier barrier;
    artel__barrier_init(&barrier, artel__fabric_endpoint(s->fabric, r));
    artel__coll_task *tasks[] = {&barrier.base};
    for (int i = 0; i < ROUNDS; i++) {
        int ill = i % (2 * s->ranks);
        atomic_fetch_add(&s->arrived[i], 1);
        barrier.ok = r != ill;
        barrier.base.frame = (artel__frame){.step = (uint64_t)i};
        if (artel__coll_run(barrier.base.endpoint, tasks, 1) != ARTEL_OK) atomic_fetch_add(&s->wrong_status, 1);
        if (atomic_load(&s->arrived[i]) != s->ranks) atomic_fetch_add(&s->wrong_early, 1);
        if (barrier.ok != (ill >= s->ranks)) atomic_fetch_add(&s->wrong_answer, 1);
    }
}

static void every_rank_count(void **state)
{
    (void)state;
    static const int ranks[] = {1, 2, 3, 5, 8, 16, 33};
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
        artel_context *ctx;
        scene s = {.ranks = ranks[i]};
        assert_int_equal(artel_context_create(NULL, &ctx), ARTEL_OK);
        assert_int_equal(artel__fabric_create(ctx, ranks[i], i % 2 == 0, &s.fabric), ARTEL_OK);
        help_run_ranks(ranks[i], pass, &s);
        assert_int_equal(atomic_load(&s.wrong_early), 0);
        assert_int_equal(atomic_load(&s.wrong_answer), 0);
        assert_int_equal(atomic_load(&s.wrong_status), 0);
        artel__fabric_destroy(s.fabric);
        artel_context_destroy(ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_rank_count)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
