/* SPDX-License-Identifier: Apache-2.0 */
/* one thread */
/* What cannot heal: two processes with one index, other facts. At the beginning it ends all within five seconds, by
 * name; when the job has begun it ends the newcomer alone. And what may look like it: quick restarts, broken and
 * doubled connections.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "help_simulator.h"

static void check_ended(const sim *s, uint32_t task, const char *text)
{
    sim_view v = sim_look(s, task);
    if (!v.ended || v.status != ARTEL_ERROR_INVALID || !strstr(v.text, text))
        fail_msg("worker %u: %d %d %s", (unsigned)task, v.ended, v.status, v.text);
    assert_true(v.ended_at <= 6 * SIM_SECOND); /* they began at 1 s */
}

static void two_with_one_index(void **state)
{
    (void)state;
    for (uint32_t twin = 0; twin < 3; twin++) {
        sim_options o = SIM_OPTIONS_INIT;
        o.tasks = 4;
        sim *s = sim_create(&o);
        for (uint32_t t = 0; t < 3; t++) sim_start(s, t); /* the fourth is yet to come */
        uint32_t second = sim_start_twin(s, twin);
        sim_run(s, 10 * SIM_SECOND, NULL, NULL);
        assert_null(sim_wrong(s));
        for (uint32_t t = 0; t < 3; t++) check_ended(s, t, "two processes have that task index");
        check_ended(s, second, "two processes have that task index");
        sim_destroy(s);
    }
}

static void a_second_one_later(void **state)
{
    (void)state;
    for (uint32_t twin = 0; twin < 3; twin++) {
        sim_options o = SIM_OPTIONS_INIT;
        o.steps = 300;
        sim *s = sim_create(&o);
        sim_start_all(s);
        sim_run(s, 1500 * SIM_MS, NULL, NULL);
        uint32_t second = sim_start_twin(s, twin);
        sim_run(s, 100 * SIM_SECOND, NULL, NULL);
        assert_null(sim_wrong(s));
        check_ended(s, second, "two processes have that task index");
        for (uint32_t t = 0; t < 3; t++) assert_int_equal(sim_look(s, t).status, ARTEL_OK);
        assert_true(sim_said(s, "refused"));
        sim_destroy(s);
    }
}

static void other_facts_at_the_beginning(void **state)
{
    (void)state;
    for (uint32_t odd = 0; odd < 3; odd++) {
        sim_options o = SIM_OPTIONS_INIT;
        sim *s = sim_create(&o);
        for (uint32_t t = 0; t < 3; t++) sim_start_with(s, t, t == odd ? "version=1\nmodel=b" : NULL);
        sim_run(s, 10 * SIM_SECOND, NULL, NULL);
        for (uint32_t t = 0; t < 3; t++) check_ended(s, t, "differs in model (there ");
        sim_destroy(s);
    }
}

/* What a task says of itself alone is not compared, is known to all, and is cut where it is long; one that says nothing
 * of the kind differs from those that do. */
static void what_is_its_own(void **state)
{
    static const char *const facts[] = {"version=1\nown=a processor\nmodel=a", "version=1\nown=\nmodel=a",
                                        "version=1\nown=0123456789012345678901234567890123456789012345678\nmodel=a"};
    static const char *const told[] = {"a processor", "", "01234567890123456789012345678901234567890123456"};
    char own[ARTEL__OWN_MAX + 1];
    (void)state;
    sim_options o = SIM_OPTIONS_INIT;
    o.steps = 300;
    sim *s = sim_create(&o);
    for (uint32_t t = 0; t < 3; t++) sim_start_with(s, t, facts[t]);
    sim_run(s, 1500 * SIM_MS, NULL, NULL);
    for (uint32_t t = 0; t < 3; t++) {
        for (uint32_t of = 0; of < 4; of++) {
            artel__membership_own(sim_membership(s, t), of, own);
            assert_string_equal(own, of < 3 ? told[of] : "");
        }
    }
    sim_run(s, 100 * SIM_SECOND, NULL, NULL);
    assert_null(sim_wrong(s));
    for (uint32_t t = 0; t < 3; t++) assert_int_equal(sim_look(s, t).status, ARTEL_OK);
    sim_destroy(s);
    s = sim_create(&o);
    for (uint32_t t = 0; t < 3; t++) sim_start_with(s, t, t == 1 ? "version=1\nmodel=a" : facts[t]);
    sim_run(s, 10 * SIM_SECOND, NULL, NULL);
    assert_int_equal(sim_look(s, 0).status, ARTEL_ERROR_INVALID);
    sim_destroy(s);
}

/* Who computes nothing says the first words of the arithmetic of those who do, and differs from none of them; they
 * differ from one another, and half a word is another one. */
static void first_words_of_an_arithmetic(void **state)
{
    static const struct {
        const char *arithmetic[3];
        bool equal;
    } table[] = {{{"pjrt", "pjrt cpu 12", "pjrt cpu 12"}, true},
                 {{"pjrt", "pjrt cpu 12", "pjrt cpu 13"}, false},
                 {{"pjrt c", "pjrt cpu 12", "pjrt c"}, false},
                 {{"pjrt", "artel-1", "pjrt"}, false}};
    char facts[3][64];
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        sim_options o = SIM_OPTIONS_INIT;
        sim *s = sim_create(&o);
        for (uint32_t t = 0; t < 3; t++) {
            snprintf(facts[t], sizeof facts[t], "version=1\narithmetic=%s\nmodel=a", table[i].arithmetic[t]);
            sim_start_with(s, t, facts[t]);
        }
        sim_run(s, 10 * SIM_SECOND, NULL, NULL);
        for (uint32_t t = 0; t < 3; t++) {
            if (table[i].equal)
                assert_int_equal(sim_look(s, t).status, ARTEL_OK);
            else
                check_ended(s, t, "differs in arithmetic (there ");
        }
        sim_destroy(s);
    }
}

/* A task that cannot begin comes without facts, to say why: that is what all end with, also when it comes late. (One
 * that others dial they find a second later, when it is the mesh that still answers.) */
static void failed_before_it_began(void **state)
{
    (void)state;
    for (uint32_t odd = 0; odd < 4; odd++) {
        sim_options o = SIM_OPTIONS_INIT;
        sim *s = sim_create(&o);
        uint32_t bad = odd < 3 ? odd : 2;
        for (uint32_t t = 0; t < 3; t++)
            if (t != bad) sim_start(s, t);
        if (odd == 3) sim_run(s, 4 * SIM_SECOND, NULL, NULL);
        sim_start_with(s, bad, "");
        sim_fail(s, bad, true, "failed before the job began: no data");
        int64_t began = sim_now(s);
        sim_run(s, 10 * SIM_SECOND, NULL, NULL);
        for (uint32_t t = 0; t < 3; t++) {
            sim_view v = sim_look(s, t);
            if (!v.ended || v.status != ARTEL_ERROR_RUN || v.cause_task != bad || v.ended_at > began + SIM_SECOND)
                fail_msg("%u, worker %u: %d %d %s", (unsigned)odd, (unsigned)t, v.ended, v.status, v.text);
            assert_non_null(strstr(v.text, "failed before the job began: no data"));
        }
        sim_destroy(s);
    }
}

static void other_facts_later(void **state)
{
    (void)state;
    sim_options o = SIM_OPTIONS_INIT;
    o.steps = 200;
    sim *s = sim_create(&o);
    sim_start_all(s);
    sim_run(s, 1500 * SIM_MS, NULL, NULL);
    sim_kill(s, 1, false);
    sim_run(s, 1600 * SIM_MS, NULL, NULL);
    sim_start_with(s, 1, "version=2\nmodel=a");
    sim_run(s, 100 * SIM_SECOND, NULL, NULL);
    check_ended(s, 1, "differs in version");
    assert_int_equal(sim_look(s, 0).status, ARTEL_OK);
    assert_int_equal(sim_look(s, 2).status, ARTEL_OK);
    sim_destroy(s);
}

/* Killed with or without a reset and started again at once: the new process takes the place of the old one. */
static void a_quick_restart_is_no_duplicate(void **state)
{
    (void)state;
    for (uint32_t t = 0; t < 3; t++)
        for (int64_t after = 0; after < 60; after += 3)
            for (int silent = 0; silent < 2; silent++) {
                sim_options o = SIM_OPTIONS_INIT;
                o.steps = 200;
                o.seed = (uint64_t)after;
                sim *s = sim_create(&o);
                sim_start_all(s);
                sim_run(s, SIM_SECOND + after * SIM_MS, NULL,
                        NULL); /* also before and while the first generation forms */
                sim_kill(s, t, silent);
                sim_start(s, t);
                sim_run(s, 100 * SIM_SECOND, NULL, NULL);
                assert_null(sim_wrong(s));
                for (uint32_t i = 0; i < 3; i++) assert_int_equal(sim_look(s, i).status, ARTEL_OK);
                sim_destroy(s);
            }
}

/* A process that wakes finds several connections of one task, of a process that has died and of its successor, and
 * reads them in any order. */
static void a_process_that_wakes_reads_in_any_order(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        sim_options o = SIM_OPTIONS_INIT;
        o.tasks = 4;
        o.seed = seed;
        sim *s = sim_create(&o);
        for (uint32_t t = 0; t < 3; t++) sim_start(s, t);
        sim_run(s, 1500 * SIM_MS, NULL, NULL);
        sim_pause(s, 1);
        sim_reset(s, 1, 2);
        sim_run(s, 1700 * SIM_MS, NULL, NULL);
        sim_kill(s, 2, seed % 2);
        sim_start(s, 2);
        sim_run(s, 1800 * SIM_MS, NULL, NULL);
        sim_resume(s, 1);
        sim_run(s, 1900 * SIM_MS, NULL, NULL);
        sim_start(s, 3);
        sim_run(s, 100 * SIM_SECOND, NULL, NULL);
        assert_false(sim_said(s, "two processes"));
        assert_null(sim_wrong(s));
        for (uint32_t i = 0; i < 4; i++) assert_true(sim_look(s, i).ended && sim_look(s, i).status == ARTEL_OK);
        sim_destroy(s);
    }
}

/* Connections that break all the time, for three seconds: the job ends right. */
static void broken_connections(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        sim_options o = SIM_OPTIONS_INIT;
        o.steps = 100;
        o.seed = seed;
        o.twice = true;
        sim *s = sim_create(&o);
        sim_start_all(s);
        for (int i = 0; i < 300; i++) {
            sim_run(s, sim_now(s) + 10 * SIM_MS, NULL, NULL);
            if (sim_random(s) % 8 == 0) sim_reset(s, (uint32_t)(sim_random(s) % 3), (uint32_t)(sim_random(s) % 3));
        }
        sim_run(s, 100 * SIM_SECOND, NULL, NULL);
        if (sim_wrong(s)) fail_msg("seed %d: %s", (int)seed, sim_wrong(s));
        for (uint32_t i = 0; i < 3; i++) assert_int_equal(sim_look(s, i).status, ARTEL_OK);
        sim_destroy(s);
    }
}

/* Connections on which nothing is said are closed, so that their numbers do not run out. */
static void silent_strangers(void **state)
{
    (void)state;
    sim_options o = SIM_OPTIONS_INIT;
    o.steps = 300;
    sim *s = sim_create(&o);
    sim_start_all(s);
    sim_run(s, 1500 * SIM_MS, NULL, NULL);
    for (uint32_t t = 0; t < 3; t++) sim_stranger(s, t, 4);
    for (uint32_t t = 0; t < 3; t++) assert_true(sim_stranger_linked(s, t));
    sim_run(s, 4 * SIM_SECOND, NULL, NULL);
    for (uint32_t t = 0; t < 3; t++) assert_false(sim_stranger_linked(s, t));
    sim_run(s, 100 * SIM_SECOND, NULL, NULL);
    assert_null(sim_wrong(s));
    for (uint32_t i = 0; i < 3; i++) assert_int_equal(sim_look(s, i).status, ARTEL_OK);
    sim_destroy(s);
}

/* A stranger's bytes close their connection and nothing else. */
static void garbage(void **state)
{
    (void)state;
    sim_options o = SIM_OPTIONS_INIT;
    o.steps = 100;
    sim *s = sim_create(&o);
    sim_start_all(s);
    for (int i = 0; i < 2000; i++) {
        sim_run(s, sim_now(s) + SIM_MS / 2, NULL, NULL);
        sim_stranger(s, (uint32_t)i % 3, i % 4);
    }
    sim_run(s, 100 * SIM_SECOND, NULL, NULL);
    assert_null(sim_wrong(s));
    for (uint32_t i = 0; i < 3; i++) assert_int_equal(sim_look(s, i).status, ARTEL_OK);
    assert_false(sim_said(s, "new generation"));
    sim_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_with_one_index),
        cmocka_unit_test(a_second_one_later),
        cmocka_unit_test(other_facts_at_the_beginning),
        cmocka_unit_test(what_is_its_own),
        cmocka_unit_test(first_words_of_an_arithmetic),
        cmocka_unit_test(failed_before_it_began),
        cmocka_unit_test(other_facts_later),
        cmocka_unit_test(a_quick_restart_is_no_duplicate),
        cmocka_unit_test(broken_connections),
        cmocka_unit_test(a_process_that_wakes_reads_in_any_order),
        cmocka_unit_test(silent_strangers),
        cmocka_unit_test(garbage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
