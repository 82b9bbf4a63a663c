/* SPDX-License-Identifier: Apache-2.0 */
/* one thread */
/* Ends: finished, left, saved on preemption, failed; and the successor that writes when the writer dies.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "help_simulator.h"

static sim *make(uint32_t tasks, uint32_t steps, bool save)
{
    sim_options o = SIM_OPTIONS_INIT;
    o.tasks = tasks;
    o.steps = steps;
    o.save_on_preempt = save;
    o.save_ns = 50 * SIM_MS;
    sim *s = sim_create(&o);
    sim_start_all(s);
    sim_run(s, sim_now(s) + 150 * SIM_MS, NULL, NULL);
    return s;
}

static void run_to_end(sim *s)
{
    sim_run(s, sim_now(s) + 100 * SIM_SECOND, NULL, NULL);
    if (sim_wrong(s)) fail_msg("%s", sim_wrong(s));
}

static void check(const sim *s, uint32_t task, artel_status status, const char *text)
{
    sim_view v = sim_look(s, task);
    if (!v.ended || v.status != status || !strstr(v.text, text))
        fail_msg("worker %u: %d %d %s", (unsigned)task, v.ended, v.status, v.text);
}

/* END comes when all have saved, however long each takes; one of them writes what is shared. */
static void all_save_before_the_end(void **state)
{
    (void)state;
    sim *s = make(4, 20, false);
    run_to_end(s);
    for (uint32_t t = 0; t < 4; t++) {
        check(s, t, ARTEL_OK, "finished");
        assert_int_equal(sim_look(s, t).saves, 1);
    }
    assert_int_equal(sim_writes(s), 1);
    sim_destroy(s);
}

/* A leaver gives its state first if it is ahead; the others lose no step. The coordinator and several at once, too. */
static void members_leave_in_order(void **state)
{
    (void)state;
    for (uint32_t who = 1; who < 7; who++) {
        sim *s = make(3, 60, false);
        for (uint32_t t = 0; t < 3; t++)
            if (who >> t & 1) sim_drain(s, t);
        run_to_end(s);
        for (uint32_t t = 0; t < 3; t++)
            if (who >> t & 1)
                check(s, t, ARTEL_ERROR_PREEMPTED, "left the job in order");
            else
                check(s, t, ARTEL_OK, "finished");
        assert_false(sim_said(s, "connection lost"));
        assert_int_equal(sim_writes(s), 1);
        sim_destroy(s);
    }
}

static bool have_left(sim *s, void *user)
{
    uint32_t who = *(const uint32_t *)user;
    for (uint32_t t = 0; t < 5; t++)
        if (who >> t & 1 && !sim_look(s, t).ended) return false;
    return true;
}

/* Most of them, in one instant or nearly: those that stay know that nobody is cut off, and nobody waits for that. Some
 * are asked for another generation before they have heard that the last one has begun. */
static void most_leave_and_nobody_waits(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < 300; k++) {
        sim_options o = SIM_OPTIONS_INIT;
        uint32_t who = 1 + k % 30;
        o.tasks = 5;
        o.steps = 60;
        o.seed = 1 + k;
        o.suspect_ns = 30 * SIM_SECOND;
        sim *s = sim_create(&o);
        sim_start_all(s);
        sim_run(s, sim_now(s) + 150 * SIM_MS, NULL, NULL);
        int64_t began = sim_now(s);
        for (uint32_t t = 0; t < 5; t++) {
            if (!(who >> t & 1)) continue;
            sim_drain(s, t);
            sim_run(s, sim_now(s) + (int64_t)(k / 30) * SIM_MS / 4, NULL, NULL);
        }
        int64_t took = sim_run(s, began + 60 * SIM_SECOND, have_left, &who) - began;
        if (took > SIM_SECOND / 2)
            fail_msg("%u, seed %u: they have left after %lld ms", who, k + 1, (long long)(took / SIM_MS));
        run_to_end(s);
        for (uint32_t t = 0; t < 5; t++)
            if (who >> t & 1)
                check(s, t, ARTEL_ERROR_PREEMPTED, "left the job in order");
            else
                check(s, t, ARTEL_OK, "finished");
        sim_destroy(s);
    }
}

/* All leave: all save the same step. */
static void the_last_ones_save(void **state)
{
    (void)state;
    sim *s = make(3, 200, false);
    for (uint32_t t = 0; t < 3; t++) sim_drain(s, t);
    run_to_end(s);
    for (uint32_t t = 0; t < 3; t++) {
        check(s, t, ARTEL_ERROR_PREEMPTED, "all saved");
        assert_int_equal(sim_look(s, t).step, sim_look(s, 0).step);
    }
    assert_int_equal(sim_writes(s), 1);
    sim_destroy(s);
}

static void all_save_on_preemption(void **state)
{
    (void)state;
    for (uint32_t who = 0; who < 3; who++) {
        sim *s = make(3, 200, true);
        sim_drain(s, who);
        run_to_end(s);
        for (uint32_t t = 0; t < 3; t++) {
            check(s, t, ARTEL_ERROR_PREEMPTED, "all saved");
            assert_int_equal(sim_look(s, t).step, sim_look(s, 0).step);
        }
        assert_in_range(sim_look(s, 0).step, 1, 199);
        sim_destroy(s);
    }
}

/* The writer is killed while it writes: its successor does it again. Somebody is killed while all save on preemption:
 * the same. */
static void a_successor_writes(void **state)
{
    (void)state;
    for (uint32_t victim = 0; victim < 3; victim++)
        for (int save = 0; save < 2; save++)
            for (int64_t at = 0; at < 80; at += 4) {
                sim *s = make(3, save ? 200 : 10, save);
                if (save) sim_drain(s, 1);
                sim_run(s, sim_now(s) + at * SIM_MS, NULL, NULL);
                bool ended = sim_look(s, victim).ended;
                if (!ended) sim_kill(s, victim, false);
                run_to_end(s);
                /* the wish to save may die with the one that had it */
                artel_status status = save ? ARTEL_ERROR_PREEMPTED : ARTEL_OK;
                if (victim == 1) status = sim_look(s, 0).status;
                assert_true(status == ARTEL_OK || status == ARTEL_ERROR_PREEMPTED);
                for (uint32_t t = 0; t < 3; t++)
                    if (t != victim || ended) check(s, t, status, "");
                assert_true(sim_writes(s) >= 1);
                sim_destroy(s);
            }
}

/* Who has asked that all save sleeps for so long that the others go on without it, at any point of the saving: it joins
 * them again, and all save and end. */
static void a_saver_that_slept_has_all_save(void **state)
{
    (void)state;
    for (uint32_t who = 0; who < 3; who++)
        for (int64_t at = 0; at < 120; at += 4) {
            sim *s = make(3, 500, true);
            sim_drain(s, who);
            sim_run(s, sim_now(s) + at * SIM_MS, NULL, NULL);
            bool ended = sim_look(s, who).ended;
            sim_pause(s, who);
            sim_run(s, sim_now(s) + 4 * SIM_SECOND, NULL, NULL);
            sim_resume(s, who);
            run_to_end(s);
            for (uint32_t t = 0; t < 3 && !ended; t++) check(s, t, ARTEL_ERROR_PREEMPTED, "all saved");
            assert_true(sim_writes(s) >= 1);
            sim_destroy(s);
        }
}

/* Two of four wait for a third one, which would be enough to go on, and are told to save: they do so without it. */
static void too_few_save_together(void **state)
{
    (void)state;
    for (uint32_t who = 0; who < 3; who++) {
        sim_options o = SIM_OPTIONS_INIT;
        o.tasks = 4;
        o.steps = 400;
        o.min_members = 3;
        o.save_on_preempt = true;
        o.wait_ns = 100 * SIM_SECOND;
        sim *s = sim_create(&o);
        sim_start_all(s);
        sim_run(s, sim_now(s) + 200 * SIM_MS, NULL, NULL);
        sim_kill(s, 2, false);
        sim_kill(s, 3, false);
        sim_run(s, sim_now(s) + 5 * SIM_SECOND, NULL, NULL);
        assert_false(sim_look(s, 0).ended || sim_look(s, 1).ended);
        for (uint32_t t = 0; t < 2; t++)
            if (t != who) sim_drain(s, t); /* one of them, or both */
        run_to_end(s);
        for (uint32_t t = 0; t < 2; t++) check(s, t, ARTEL_ERROR_PREEMPTED, "all saved");
        assert_int_equal(sim_writes(s), 1);
        sim_destroy(s);
    }
}

/* Two of four wait for a third one. */
static sim *make_two_of_four(uint64_t seed, int64_t rest)
{
    sim_options o = SIM_OPTIONS_INIT;
    o.tasks = 4;
    o.steps = 400;
    o.min_members = 3;
    o.seed = seed;
    o.wait_ns = 100 * SIM_SECOND;
    sim *s = sim_create(&o);
    sim_start_all(s);
    sim_run(s, sim_now(s) + 200 * SIM_MS, NULL, NULL);
    sim_kill(s, 2, false);
    sim_kill(s, 3, false);
    sim_run(s, sim_now(s) + rest, NULL, NULL);
    return s;
}

/* They are told to leave in one instant, or nearly: neither relies on the other, which does not stay; the state is
 * saved, and both end. */
static void of_two_that_leave_at_once_one_saves(void **state)
{
    (void)state;
    static const int64_t rest[] = {20 * SIM_MS, 300 * SIM_MS, 5 * SIM_SECOND};
    for (uint32_t k = 0; k < 6; k++)
        for (int64_t apart = 0; apart < 2000; apart += 50) {
            sim *s = make_two_of_four(1 + k, rest[k / 2]);
            int64_t at = sim_now(s);
            sim_drain(s, k % 2);
            sim_run(s, at + apart * 1000, NULL, NULL);
            sim_drain(s, 1 - k % 2);
            run_to_end(s);
            for (uint32_t t = 0; t < 2; t++) {
                check(s, t, ARTEL_ERROR_PREEMPTED, "");
                assert_true(sim_look(s, t).ended_at - at < 8 * SIM_SECOND);
            }
            assert_true(sim_writes(s) >= 1);
            sim_destroy(s);
        }
}

/* One alone is told: it leaves unsaved, for the other one has the state; that one saves when it is told to leave. */
static void who_leaves_has_an_heir(void **state)
{
    (void)state;
    for (uint32_t who = 0; who < 2; who++) {
        sim *s = make_two_of_four(7, 5 * SIM_SECOND);
        sim_drain(s, who);
        sim_run(s, sim_now(s) + 2 * SIM_SECOND, NULL, NULL);
        check(s, who, ARTEL_ERROR_PREEMPTED, "asked to leave while it was not a member");
        assert_false(sim_look(s, 1 - who).ended);
        assert_int_equal(sim_writes(s), 0);
        sim_drain(s, 1 - who);
        run_to_end(s);
        check(s, 1 - who, ARTEL_ERROR_PREEMPTED, "all saved");
        assert_int_equal(sim_writes(s), 1);
        sim_destroy(s);
    }
}

/* A failure of the job is on every rank within 5 s, with the first cause: the earliest by step, phase, task. */
static void a_failure_is_known_to_all(void **state)
{
    (void)state;
    sim *s = make(4, 200, false);
    int64_t at = sim_now(s);
    sim_fail(s, 2, true, "worker 2: loss is NaN");
    sim_run(s, at + SIM_MS, NULL, NULL);
    sim_fail(s, 1, true, "worker 1: loss is NaN");
    run_to_end(s);
    uint32_t first = sim_look(s, 1).step < sim_look(s, 2).step ? 1 : 2;
    if (sim_look(s, 1).step == sim_look(s, 2).step) first = sim_look(s, 0).cause_task;
    for (uint32_t t = 0; t < 4; t++) {
        check(s, t, ARTEL_ERROR_RUN, first == 1 ? "worker 1: loss is NaN" : "worker 2: loss is NaN");
        assert_int_equal(sim_look(s, t).cause_task, first);
        assert_true(sim_look(s, t).ended_at - at < 5 * SIM_SECOND);
    }
    sim_destroy(s);
}

/* A failure of one task only: the others are told its cause and go on. */
static void a_full_disk_ends_one(void **state)
{
    (void)state;
    sim *s = make(3, 60, false);
    sim_fail(s, 0, false, "failed: disk full"); /* as a driver says it: the others say it once */
    run_to_end(s);
    check(s, 0, ARTEL_ERROR_RUN, "disk full");
    check(s, 1, ARTEL_OK, "finished");
    check(s, 2, ARTEL_OK, "finished");
    assert_true(sim_said(s, "worker 0 has failed: disk full"));
    sim_destroy(s);
}

static void check_told(sim *s, uint32_t victim)
{
    char text[64];
    snprintf(text, sizeof text, "worker %u has failed: disk full", (unsigned)victim);
    run_to_end(s);
    check(s, victim, ARTEL_ERROR_RUN, "disk full");
    for (uint32_t t = 0; t < 4; t++) {
        uint32_t said = sim_said_by(s, t, text);
        if (t != victim) check(s, t, ARTEL_OK, "finished");
        if (said != (t != victim))
            fail_msg("worker %u says %u times that worker %u has failed", (unsigned)t, (unsigned)said,
                     (unsigned)victim);
    }
    sim_destroy(s);
}

/* Its last words are lost on the way to some, and arrive at others: all the same, each of the rest says once why it has
 * failed. */
static void the_cause_reaches_those_it_was_lost_to(void **state)
{
    (void)state;
    for (uint32_t victim = 0; victim < 4; victim++)
        for (uint32_t deaf = 0; deaf < 16; deaf++) {
            if ((deaf | 1u << victim) == 15) continue; /* somebody has to hear it */
            sim *s = make(4, 60, false);
            sim_fail(s, victim, false, "disk full");
            for (uint32_t t = 0; t < 4; t++)
                if (deaf >> t & 1) sim_lose_words(s, victim, t);
            check_told(s, victim);
        }
}

/* They come after the next generation has begun. */
static void late_words_are_not_said_again(void **state)
{
    (void)state;
    for (uint32_t victim = 0; victim < 4; victim++)
        for (uint32_t late = 0; late < 4; late++) {
            sim *s = make(4, 60, false);
            sim_cut(s, victim, late, true);
            sim_fail(s, victim, false, "disk full");
            sim_run(s, sim_now(s) + 100 * SIM_MS, NULL, NULL);
            sim_cut(s, victim, late, false);
            check_told(s, victim);
        }
}

/* Other weights at an equal step: the job ends, and the culprit is named. */
static void unequal_weights_end_the_job(void **state)
{
    (void)state;
    for (uint32_t culprit = 0; culprit < 3; culprit++)
        for (int by_report = 0; by_report < 2; by_report++) {
            sim *s = make(4, 400, false);
            sim_corrupt(s, culprit);
            if (by_report) sim_kill(s, 3, false);
            sim_run(s, sim_now(s) + 20 * SIM_SECOND, NULL, NULL);
            for (uint32_t t = 0; t < 3; t++) {
                check(s, t, ARTEL_ERROR_INTERNAL, "its weights differ from those of worker");
                assert_int_equal(sim_look(s, t).cause_task, culprit);
            }
            sim_destroy(s);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_save_before_the_end),
        cmocka_unit_test(members_leave_in_order),
        cmocka_unit_test(most_leave_and_nobody_waits),
        cmocka_unit_test(the_last_ones_save),
        cmocka_unit_test(all_save_on_preemption),
        cmocka_unit_test(a_successor_writes),
        cmocka_unit_test(a_saver_that_slept_has_all_save),
        cmocka_unit_test(too_few_save_together),
        cmocka_unit_test(of_two_that_leave_at_once_one_saves),
        cmocka_unit_test(who_leaves_has_an_heir),
        cmocka_unit_test(a_failure_is_known_to_all),
        cmocka_unit_test(a_full_disk_ends_one),
        cmocka_unit_test(unequal_weights_end_the_job),
        cmocka_unit_test(the_cause_reaches_those_it_was_lost_to),
        cmocka_unit_test(late_words_are_not_said_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
