/* SPDX-License-Identifier: Apache-2.0 */
/* timeout: 300 */
/* The checker sees mistakes: each of seven, planted around the production code, is found within 20,000 storms. The
 * search begins at a seed that finds it, so it is short as long as the timing of the machine stays as it is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "help_world.h"

enum {
    MOST = 20000
};

static bool finds(uint64_t seed, world_mistake mistake)
{
    world_options o = world_storm(seed, WORLD_STORM);
    o.mistake = mistake;
    world *w = world_create(&o);
    world_start_all(w);
    world_run(w, 60 * WORLD_SECOND);
    bool found = world_wrong(w) != NULL;
    world_destroy(w);
    return found;
}

static void search(uint64_t first, world_mistake mistake)
{
    for (uint64_t i = 0; i < MOST; i++) {
        uint64_t seed = 1 + (first - 1 + i) % MOST;
        if (!finds(seed, mistake)) continue;
        if (i) print_message("found by seed %u after %u others\n", (unsigned)seed, (unsigned)i);
        assert_false(finds(seed, WORLD_RIGHT));
        return;
    }
    fail_msg("not found in %d storms", MOST);
}

static void acknowledging_before_the_backup(void **state)
{
    (void)state;
    search(17, WORLD_ACK_EARLY);
}

static void no_table_of_duplicates(void **state)
{
    (void)state;
    search(1, WORLD_NO_TABLE);
}

static void the_longest_log_wins(void **state)
{
    (void)state;
    search(34, WORLD_LONGEST_WINS);
}

static void a_stale_copy_counts(void **state)
{
    (void)state;
    search(1113, WORLD_STALE_COPY);
}

static void no_majority(void **state)
{
    (void)state;
    search(1, WORLD_NO_MAJORITY);
}

static void going_on_after_acceptance(void **state)
{
    (void)state;
    search(13, WORLD_NO_FENCE);
}

static void voters_without_memory_vote(void **state)
{
    (void)state;
    search(926, WORLD_AMNESIA);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(acknowledging_before_the_backup),
        cmocka_unit_test(no_table_of_duplicates),
        cmocka_unit_test(the_longest_log_wins),
        cmocka_unit_test(a_stale_copy_counts),
        cmocka_unit_test(no_majority),
        cmocka_unit_test(going_on_after_acceptance),
        cmocka_unit_test(voters_without_memory_vote),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
