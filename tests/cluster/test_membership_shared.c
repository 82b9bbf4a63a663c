/* SPDX-License-Identifier: Apache-2.0 */
/* one thread */
/* Barriers and the key-value store: all or nobody passes, who is missing is named, entries outlive the coordinator.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "help_simulator.h"

static sim *make(uint32_t tasks)
{
    sim_options o = SIM_OPTIONS_INIT;
    o.tasks = tasks;
    o.steps = 500;
    o.compute_ns = 50 * SIM_MS;
    sim *s = sim_create(&o);
    sim_start_all(s);
    sim_run(s, sim_now(s) + 200 * SIM_MS, NULL, NULL);
    return s;
}

static void run_for(sim *s, int64_t ns)
{
    sim_run(s, sim_now(s) + ns, NULL, NULL);
    if (sim_wrong(s)) fail_msg("%s", sim_wrong(s));
}

static void enter(sim *s, uint32_t task)
{
    assert_true(artel__membership_enter(sim_membership(s, task), sim_now(s), "files"));
}

static void all_pass_together(void **state)
{
    (void)state;
    sim *s = make(3);
    for (uint32_t round = 1; round <= 5; round++) {
        for (uint32_t i = 0; i < 3; i++) {
            uint32_t t = (i + round) % 3;
            for (uint32_t k = 0; k < 3; k++) assert_int_equal(sim_released(s, k), round - 1);
            enter(s, t);
            run_for(s, 10 * SIM_MS);
        }
        for (uint32_t k = 0; k < 3; k++) assert_int_equal(sim_released(s, k), round);
    }
    sim_destroy(s);
}

static void who_is_missing_is_named(void **state)
{
    (void)state;
    sim *s = make(3);
    enter(s, 0);
    enter(s, 2);
    run_for(s, 6 * SIM_SECOND);
    assert_true(sim_said(s, "barrier files: waiting for worker 1, 5 s"));
    for (uint32_t t = 0; t < 3; t++) { /* who waits can name the missing, whether it coordinates or not */
        char names[64];
        artel__membership_missing(sim_membership(s, t), "files", names, sizeof names);
        assert_string_equal(names, t == 1 ? "" : "worker 1");
        assert_int_equal(artel__membership_waits(sim_membership(s, t), "files"), t != 1);
    }
    assert_int_equal(sim_released(s, 0), 0);
    enter(s, 1);
    run_for(s, 10 * SIM_MS);
    for (uint32_t t = 0; t < 3; t++) assert_int_equal(sim_released(s, t), 1);
    sim_destroy(s);
}

/* The coordinator, or one who is waited for, is killed; one that comes back does not hold the old barrier up. */
static void a_barrier_outlives_members(void **state)
{
    (void)state;
    for (uint32_t victim = 0; victim < 4; victim++) {
        sim *s = make(4);
        for (uint32_t t = 0; t < 4; t++) enter(s, t);
        run_for(s, 20 * SIM_MS);
        for (uint32_t t = 0; t < 4; t++)
            if (t != 2) enter(s, t);
        run_for(s, 20 * SIM_MS);
        sim_kill(s, victim, false);
        run_for(s, 300 * SIM_MS);
        sim_start(s, victim);
        run_for(s, 3 * SIM_SECOND);
        assert_int_equal(sim_look(s, 0).members, 4);
        if (victim != 2) {
            enter(s, 2);
            run_for(s, 10 * SIM_MS);
            enter(s, victim); /* it joined after the first and before the second */
        }
        run_for(s, 10 * SIM_MS);
        for (uint32_t t = 0; t < 4; t++)
            if (t != victim) assert_int_equal(sim_released(s, t), victim == 2 && t == 2 ? 1 : 2);
        sim_destroy(s);
    }
}

static void put(sim *s, uint32_t task, const char *key, const char *value, bool overwrite)
{
    assert_true(artel__membership_put(sim_membership(s, task), sim_now(s),
                                      &(artel__membership_entry){key, value, strlen(value), overwrite}));
}

static void check_key(sim *s, uint32_t tasks, const char *key, const char *value)
{
    for (uint32_t t = 0; t < tasks; t++) {
        size_t count = 0;
        const uint8_t *found =
            sim_look(s, t).alive ? artel__membership_get(sim_membership(s, t), key, &count) : (const uint8_t *)value;
        if (!sim_look(s, t).alive) continue;
        if (!value) {
            assert_null(found);
            continue;
        }
        assert_non_null(found);
        assert_int_equal(count, strlen(value));
        assert_memory_equal(found, value, count);
    }
}

static void entries_are_everywhere(void **state)
{
    (void)state;
    sim *s = make(3);
    put(s, 2, "a", "one", false);
    run_for(s, 10 * SIM_MS);
    check_key(s, 3, "a", "one");
    put(s, 1, "a", "two", false); /* what is there stays */
    run_for(s, 10 * SIM_MS);
    check_key(s, 3, "a", "one");
    put(s, 0, "a", "three", true);
    run_for(s, 10 * SIM_MS);
    check_key(s, 3, "a", "three");
    put(s, 1, "a", "", true);
    run_for(s, 10 * SIM_MS);
    check_key(s, 3, "a", NULL);
    put(s, 1, "b", "x", false); /* two at once: one of them, the same for all */
    put(s, 2, "b", "y", false);
    run_for(s, 10 * SIM_MS);
    size_t count;
    char first = (char)*artel__membership_get(sim_membership(s, 0), "b", &count);
    check_key(s, 3, "b", first == 'x' ? "x" : "y");
    sim_destroy(s);
}

/* Coordinators die one after another, also with a write on its way; newcomers are given all. */
static void entries_outlive_coordinators(void **state)
{
    (void)state;
    for (int64_t after = 0; after < 20; after++) {
        sim *s = make(4);
        put(s, 3, "a", "1", false);
        run_for(s, 10 * SIM_MS);
        put(s, 3, "b", "2", false);
        run_for(s, after * SIM_MS / 20);
        sim_kill(s, 0, false);
        run_for(s, SIM_SECOND);
        check_key(s, 4, "a", "1");
        check_key(s, 4, "b", "2");
        sim_kill(s, 1, false);
        sim_start(s, 0);
        run_for(s, 3 * SIM_SECOND);
        assert_int_equal(sim_look(s, 0).members, 3);
        check_key(s, 4, "a", "1");
        check_key(s, 4, "b", "2");
        sim_destroy(s);
    }
}

static void limits(void **state)
{
    (void)state;
    sim *s = make(2);
    artel__membership *m = sim_membership(s, 1);
    static const char big[ARTEL__VALUE_MAX + 1] = "";
    char name[16];
    assert_false(artel__membership_put(m, sim_now(s), &(artel__membership_entry){"k", big, sizeof big, true}));
    assert_false(artel__membership_put(m, sim_now(s), &(artel__membership_entry){"", "v", 1, true}));
    for (int i = 0; i < ARTEL__MAX_KEYS; i++) {
        snprintf(name, sizeof name, "key%d", i);
        put(s, 1, name, "v", true);
    }
    run_for(s, 10 * SIM_MS);
    assert_false(artel__membership_put(m, sim_now(s), &(artel__membership_entry){"one more", "v", 1, true}));
    put(s, 1, "key7", "", true);
    run_for(s, 10 * SIM_MS);
    put(s, 1, "one more", "v", true);
    run_for(s, 10 * SIM_MS);
    check_key(s, 2, "one more", "v");
    for (int i = 0; i < ARTEL__MAX_BARRIERS; i++) {
        snprintf(name, sizeof name, "bar%d", i);
        assert_true(artel__membership_enter(m, sim_now(s), name));
    }
    assert_false(artel__membership_enter(m, sim_now(s), "one more"));
    sim_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_pass_together),
        cmocka_unit_test(who_is_missing_is_named),
        cmocka_unit_test(a_barrier_outlives_members),
        cmocka_unit_test(entries_are_everywhere),
        cmocka_unit_test(entries_outlive_coordinators),
        cmocka_unit_test(limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
