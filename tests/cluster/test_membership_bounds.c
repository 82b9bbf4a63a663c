/* SPDX-License-Identifier: Apache-2.0 */
/* one thread */
/* How long things take, in virtual time: a kill, a stopped process, a silent host, a one-way cut, to the next finished
 * step of the others; what a steady run sends; that it takes no memory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "help_simulator.h"

static sim *start(uint32_t tasks, uint64_t seed)
{
    sim_options o = SIM_OPTIONS_INIT;
    o.tasks = tasks;
    o.steps = 500;
    o.seed = seed;
    o.shards = 64;
    o.compute_ns = 20 * SIM_MS;
    sim *s = sim_create(&o);
    sim_start_all(s);
    sim_run(s, sim_now(s) + 300 * SIM_MS + (int64_t)(seed % 50) * SIM_MS, NULL, NULL);
    return s;
}

typedef struct goal {
    uint32_t tasks, victim;
    uint32_t members;
    uint64_t step;
} goal;

/* All but the victim have finished a step in a generation without it. */
static bool went_on(sim *s, void *user)
{
    const goal *g = user;
    for (uint32_t t = 0; t < g->tasks; t++) {
        sim_view v = sim_look(s, t);
        if (t != g->victim && (v.members != g->members || v.step <= g->step)) return false;
    }
    return true;
}

static int64_t time_to_go_on(sim *s, uint32_t tasks, uint32_t victim)
{
    goal g = {tasks, victim, tasks - 1, 0};
    for (uint32_t t = 0; t < tasks; t++)
        if (t != victim && sim_look(s, t).step > g.step) g.step = sim_look(s, t).step;
    int64_t begun = sim_now(s);
    int64_t end = sim_run(s, begun + 60 * SIM_SECOND, went_on, &g);
    assert_null(sim_wrong(s));
    assert_true(went_on(s, &g));
    return end - begun;
}

typedef enum way {
    WAY_KILL,
    WAY_STOP,
    WAY_POWER
} way;

static void measure(way w, int64_t bound)
{
    int64_t worst = 0;
    for (uint32_t tasks = 3; tasks <= 9; tasks += 3)
        for (uint32_t victim = 0; victim < tasks; victim++)
            for (uint64_t seed = 1; seed <= 4; seed++) {
                sim *s = start(tasks, seed * 17 + victim);
                if (w == WAY_STOP)
                    sim_pause(s, victim);
                else
                    sim_kill(s, victim, w == WAY_POWER);
                int64_t took = time_to_go_on(s, tasks, victim);
                if (took > worst) worst = took;
                sim_destroy(s);
            }
    printf("worst %d ms\n", (int)(worst / SIM_MS));
    assert_true(worst <= bound);
}

/* 0.5 s and two steps (of 30 ms at the most); what the protocol itself needs is far less. */
static void a_kill(void **state)
{
    (void)state;
    measure(WAY_KILL, 100 * SIM_MS);
}

static void a_stopped_process(void **state)
{
    (void)state;
    measure(WAY_STOP, 3 * SIM_SECOND);
}

static void a_silent_host(void **state)
{
    (void)state;
    measure(WAY_POWER, 3 * SIM_SECOND);
}

/* Cut in one direction only, between each pair: one of the two is left out, the rest go on. */
static void a_one_way_cut(void **state)
{
    (void)state;
    int64_t worst = 0;
    for (uint32_t a = 0; a < 4; a++)
        for (uint32_t b = 0; b < 4; b++) {
            if (a == b) continue;
            sim *s = start(4, a * 4 + b);
            sim_cut(s, a, b, true);
            int64_t took = 0, begun = sim_now(s);
            uint64_t step = sim_look(s, 0).step > sim_look(s, 1).step ? sim_look(s, 0).step : sim_look(s, 1).step;
            for (bool done = false; !done && took < 20 * SIM_SECOND;) {
                sim_run(s, sim_now(s) + 10 * SIM_MS, NULL, NULL);
                took = sim_now(s) - begun;
                uint32_t going = 0;
                for (uint32_t t = 0; t < 4; t++) going += sim_look(s, t).members == 3 && sim_look(s, t).step > step + 2;
                done = going == 3;
            }
            if (took > worst) worst = took;
            assert_null(sim_wrong(s));
            sim_cut(s, a, b, false);
            sim_run(s, sim_now(s) + 20 * SIM_SECOND, NULL, NULL);
            for (uint32_t t = 0; t < 4; t++)
                assert_true(sim_look(s, t).members == 4 || sim_look(s, t).status == ARTEL_OK);
            sim_destroy(s);
        }
    printf("worst %d ms\n", (int)(worst / SIM_MS));
    assert_true(worst <= 6 * SIM_SECOND);
}

/* A pair that stays cut does not keep disturbing the others. */
static void a_lasting_cut_disturbs_once(void **state)
{
    (void)state;
    sim *s = start(4, 5);
    sim_cut(s, 1, 2, true);
    sim_cut(s, 2, 1, true);
    sim_run(s, sim_now(s) + 6 * SIM_SECOND, NULL, NULL);
    uint32_t generation = sim_look(s, 0).generation;
    assert_true(generation > 1);
    sim_run(s, sim_now(s) + 3 * SIM_SECOND, NULL, NULL);
    assert_int_equal(sim_look(s, 0).generation, generation);
    assert_int_equal(sim_look(s, 0).members, 3);
    assert_true(sim_said(s, "to join it all must"));
    sim_destroy(s);
}

/* A pair that never reaches each other, though both reach all others: it is named soon, and the time for the first
 * generation ends for all. */
static void a_pair_that_never_meets(void **state)
{
    (void)state;
    for (uint32_t a = 0; a < 4; a++)
        for (uint32_t b = a + 1; b < 4; b++) {
            sim_options o = SIM_OPTIONS_INIT;
            o.tasks = o.start_members = 4;
            o.seed = 10 * a + b;
            o.wait_ns = 12 * SIM_SECOND;
            sim *s = sim_create(&o);
            sim_cut(s, a, b, true);
            sim_cut(s, b, a, true);
            sim_start_all(s);
            sim_run(s, sim_now(s) + 8 * SIM_SECOND, NULL, NULL);
            const char *words =
                a > 0 ? "do not reach each other" : "missing: "; /* who coordinates knows of its own links */
            assert_true(sim_said(s, a > 0 ? words : "waiting for "));
            for (uint32_t t = 0; t < 4; t++) assert_false(sim_look(s, t).ended);
            sim_run(s, sim_now(s) + 15 * SIM_SECOND, NULL, NULL);
            int named = 0;
            for (uint32_t t = 0; t < 4; t++) {
                sim_view v = sim_look(s, t);
                assert_true(v.ended && v.status == ARTEL_ERROR_RUN);
                named += strstr(v.text, words) != NULL;
            }
            assert_true(named > 0);
            sim_destroy(s);
        }
}

/* The two lowest are parted: the others ask the lowest before they follow the second, and stay with it. */
static void the_lowest_that_lives_stays(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 10; seed++) {
        sim *s = start(5, seed);
        sim_cut(s, 0, 1, true);
        if (seed % 3 == 2)
            sim_run(s, sim_now(s) + 700 * SIM_MS, NULL, NULL); /* the second notices it long before the lowest */
        if (seed % 3) sim_cut(s, 1, 0, true);
        sim_run(s, sim_now(s) + 5 * SIM_SECOND, NULL, NULL);
        for (uint32_t t = 0; t < 5; t++) assert_int_equal(sim_look(s, t).members, t == 1 ? 0 : 4);
        assert_int_equal(sim_look(s, 0).generation, sim_look(s, 4).generation);
        sim_destroy(s);
    }
}

static void heartbeats_are_linear(void **state)
{
    (void)state;
    static const uint32_t size[] = {2, 8, 32, 64};
    for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
        sim *s = start(size[i], 3);
        uint64_t sent = sim_sent(s);
        sim_run(s, sim_now(s) + 4 * SIM_SECOND, NULL, NULL);
        double rate = (double)(sim_sent(s) - sent) / 4;
        printf("%u tasks: %.1f control messages a second\n", (unsigned)size[i], rate);
        assert_true(sim_look(s, 0).members == size[i]);
        assert_true(rate <= 2.1 * 2 * (size[i] - 1)); /* two heartbeats a second, each way */
        sim_destroy(s);
    }
}

/* From creation on the machine takes no memory, through deaths and joins. */
static void no_memory_is_taken(void **state)
{
    (void)state;
    sim *s = start(3, 8);
    uint64_t calls = sim_heap_calls(s);
    for (int i = 0; i < 3; i++) {
        sim_pause(s, (uint32_t)i);
        sim_run(s, sim_now(s) + 3 * SIM_SECOND, NULL, NULL);
        sim_resume(s, (uint32_t)i);
        sim_run(s, sim_now(s) + 2 * SIM_SECOND, NULL, NULL);
    }
    assert_int_equal(sim_heap_calls(s), calls);
    assert_true(sim_look(s, 0).generation >= 6);
    sim_destroy(s);
}

/* A member that is killed every second and comes back at once is let in ever more rarely. */
static void a_flapping_task_is_damped(void **state)
{
    (void)state;
    sim_options o = SIM_OPTIONS_INIT;
    o.steps = 512;
    o.compute_ns = 100 * SIM_MS;
    sim *s = sim_create(&o);
    sim_start_all(s);
    sim_run(s, 2 * SIM_SECOND, NULL, NULL);
    uint32_t joins = 0;
    for (int i = 0; i < 300; i++) {
        sim_run(s, sim_now(s) + 100 * SIM_MS, NULL, NULL);
        if (sim_look(s, 1).members != 3) continue;
        joins++;
        sim_kill(s, 1, false);
        sim_start(s, 1);
    }
    printf("%u joins in 30 s\n", (unsigned)joins);
    assert_true(joins >= 3 && joins <= 7);
    sim_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kill),
        cmocka_unit_test(a_stopped_process),
        cmocka_unit_test(a_silent_host),
        cmocka_unit_test(a_one_way_cut),
        cmocka_unit_test(a_pair_that_never_meets),
        cmocka_unit_test(a_lasting_cut_disturbs_once),
        cmocka_unit_test(the_lowest_that_lives_stays),
        cmocka_unit_test(heartbeats_are_linear),
        cmocka_unit_test(no_memory_is_taken),
        cmocka_unit_test(a_flapping_task_is_damped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
