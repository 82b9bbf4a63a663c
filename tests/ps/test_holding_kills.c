/* SPDX-License-Identifier: Apache-2.0 */
/* timeout: 300 */
/* Every kill point of a 30-update run at three voters and two copies: chief, head and follower die before each single
 * message that they get, and come back soon, late, or never. Everything is applied once, and nothing goes back to a
 * checkpoint.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "help_world.h"

/* Until the first view is in force at all voters. */
static void boot(world *w, uint32_t voters)
{
    world_start_all(w);
    for (uint32_t t = 0; t < voters && world_now(w) < WORLD_SECOND;) {
        if (artel__holding_serving(world_holding(w, t)))
            t++;
        else
            world_pass(w, world_now(w) + WORLD_MS / 10);
    }
}

/* Messages that the task gets in an undisturbed run, after the first view. */
static uint32_t count(const world_options *o, uint32_t task)
{
    world *w = world_create(o);
    boot(w, o->voters);
    uint32_t before = world_heard(w, task);
    assert_true(world_run(w, 10 * WORLD_SECOND));
    uint32_t after = world_heard(w, task);
    world_destroy(w);
    return after - before;
}

static void kill_before(const world_options *o, uint32_t task, uint32_t message, int64_t restart)
{
    world *w = world_create(o);
    boot(w, o->voters);
    world_kill_at(w, task, world_heard(w, task) + message, restart);
    bool done = world_run(w, 20 * WORLD_SECOND);
    const char *wrong = world_wrong(w);
    if (wrong || !done || world_count(w).fallbacks)
        fail_msg("task %u killed before message %u, back after %d ms: %s", (unsigned)task, (unsigned)message,
                 (int)(restart / WORLD_MS),
                 wrong   ? wrong
                 : !done ? "it hangs"
                         : "it went back to a checkpoint");
    assert_int_equal(world_count(w).acknowledged, o->items * o->parts);
    world_destroy(w);
}

static void every_kill_point(void **state)
{
    (void)state;
    static const int64_t restart[] = {20 * WORLD_MS, 400 * WORLD_MS, 0};
    world_options o = WORLD_OPTIONS_INIT;
    o.parts = 1;
    uint32_t points = 0;
    for (uint32_t run = 0; run < 8 * o.voters; run++) {
        uint32_t task = run / 8;
        o.seed = 1 + run % 8;
        uint32_t messages = count(&o, task);
        points += messages;
        for (uint32_t m = 1; m <= messages; m++)
            for (size_t i = 0; i < sizeof restart / sizeof *restart; i++) {
                o.incomplete = restart[i] == 0;
                kill_before(&o, task, m, restart[i]);
            }
    }
    print_message("%u kill points, three ways each\n", (unsigned)points);
    assert_true(points > 100);
}

/* The same before the first view is in force: all voters are needed then, so whoever dies comes back. */
static void every_kill_point_of_the_beginning(void **state)
{
    (void)state;
    world_options o = WORLD_OPTIONS_INIT;
    for (uint32_t task = 0; task < o.voters; task++)
        for (uint32_t m = 1; m <= 40; m++) {
            world *w = world_create(&o);
            world_start_all(w);
            world_kill_at(w, task, m, 50 * WORLD_MS);
            bool done = world_run(w, 20 * WORLD_SECOND);
            if (!done || world_wrong(w))
                fail_msg("task %u killed before message %u: %s", (unsigned)task, (unsigned)m,
                         done ? world_wrong(w) : "it hangs");
            world_destroy(w);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kill_point),
        cmocka_unit_test(every_kill_point_of_the_beginning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
