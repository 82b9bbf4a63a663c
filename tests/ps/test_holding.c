/* SPDX-License-Identifier: Apache-2.0 */
/* timeout: 300 */
/* long form: 1500 */
/* Storms over production view machines, logs and codec: kills without memory, cuts one way and both, partitions, lost
 * messages. No acknowledged update is lost, doubled or at two positions, and when the storm is over every item is
 * applied everywhere. Of a failing seed: test_holding SEED SHAPE prints what happened.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "help_world.h"

static world_sum run(uint64_t seed, world_shape shape, bool trace)
{
    world_options o = world_storm(seed, shape);
    o.trace = trace;
    world *w = world_create(&o);
    world_start_all(w);
    bool done = world_run(w, 60 * WORLD_SECOND);
    const char *wrong = world_wrong(w);
    world_sum sum = world_count(w);
    for (uint32_t t = 0; trace && t < o.voters; t++) world_dump(w, t);
    if (wrong || !done) fail_msg("seed %u shape %u: %s", (unsigned)seed, (unsigned)shape, wrong ? wrong : "it hangs");
    world_destroy(w);
    return sum;
}

static uint64_t seeds(void)
{
    return getenv("ARTEL_LONG") ? 100000 : 3000;
}

static void storms(void **state)
{
    (void)state;
    world_sum all = {0};
    for (uint64_t seed = 1; seed <= seeds() * 2 / 3; seed++) {
        world_sum s = run(seed, seed % 4 ? WORLD_STORM : WORLD_LARGE, false);
        all.acknowledged += s.acknowledged;
        all.views += s.views;
        all.deaths += s.deaths;
        all.fallbacks += s.fallbacks;
    }
    print_message("%u updates acknowledged in %u views, %u deaths, %u times back to a checkpoint\n",
                  (unsigned)all.acknowledged, (unsigned)all.views, (unsigned)all.deaths, (unsigned)all.fallbacks);
}

/* What the promises cover: one fault, and the next when all parts have their copies again. Nothing goes back to a
 * checkpoint then. */
static void one_fault_at_a_time(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= seeds() / 3; seed++) assert_int_equal(run(seed, WORLD_GENTLE, false).fallbacks, 0);
}

static void equal_seeds_give_equal_runs(void **state)
{
    (void)state;
    for (uint64_t seed = 5; seed < 9; seed++)
        assert_int_equal(run(seed, WORLD_LARGE, false).events, run(seed, WORLD_LARGE, false).events);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(storms),
        cmocka_unit_test(one_fault_at_a_time),
        cmocka_unit_test(equal_seeds_give_equal_runs),
    };
    if (argc > 1) {
        run(strtoull(argv[1], NULL, 0), argc > 2 ? (world_shape)atoi(argv[2]) : WORLD_STORM, true);
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
