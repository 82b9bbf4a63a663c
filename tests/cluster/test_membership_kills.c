/* SPDX-License-Identifier: Apache-2.0 */
/* timeout: 120 */
/* one thread */
/* Every rank, the coordinator too, is killed in every phase of every step of a 40-step run at 3 workers, and before
 * every single input that it gets (so also in the middle of forming, copying and ending): all others end with the
 * digest of the undisturbed run, each sample used once; with and without a restart.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "help_simulator.h"

/* Every process that lives has ended well; NULL or what is wrong. */
static const char *judge(const sim *s, uint32_t tasks)
{
    static char text[400];
    if (sim_wrong(s)) return sim_wrong(s);
    uint32_t living = 0;
    for (uint32_t t = 0; t < tasks; t++) {
        sim_view v = sim_look(s, t);
        if (!v.alive) continue;
        living++;
        if (v.ended && v.status == ARTEL_OK) continue;
        snprintf(text, sizeof text, "worker %u: %s, step %d, %s", (unsigned)t, v.ended ? "ended" : "hangs", (int)v.step,
                 v.text);
        return text;
    }
    if (!living) return "nobody lives";
    return sim_writes(s) ? NULL : "nothing was written";
}

static void run(const sim_options *options, uint32_t rank, uint64_t step, int phase, uint32_t input, int64_t restart)
{
    sim *s = sim_create(options);
    if (phase >= 0)
        sim_kill_at(s, rank, step, (artel__member_phase)phase, restart);
    else
        sim_kill_at_input(s, rank, input, restart);
    sim_start_all(s);
    sim_run(s, 120 * SIM_SECOND, NULL, NULL);
    const char *wrong = judge(s, options->tasks);
    if (wrong)
        fail_msg("rank %u, step %u, phase %d, input %u, restart %d ms: %s", (unsigned)rank, (unsigned)step, phase,
                 (unsigned)input, (int)(restart / SIM_MS), wrong);
    sim_destroy(s);
}

static void every_phase_of_every_step(void **state)
{
    (void)state;
    sim_options options = SIM_OPTIONS_INIT;
    static const artel__member_phase phase[] = {ARTEL__MEMBER_COMPUTE, ARTEL__MEMBER_EXCHANGE, ARTEL__MEMBER_APPLY,
                                                ARTEL__MEMBER_IDLE};
    for (uint32_t rank = 0; rank < options.tasks; rank++)
        for (uint64_t step = 0; step <= options.steps; step++)
            for (size_t i = 0; i < sizeof phase / sizeof *phase; i++)
                for (int restart = 0; restart < 2; restart++) {
                    options.seed = step * 16 + i;
                    run(&options, rank, step, (int)phase[i], 0, restart ? 60 * SIM_MS : 0);
                }
}

/* Inputs of an undisturbed run, counted. */
static uint32_t count_inputs(const sim_options *options, uint32_t rank)
{
    sim *s = sim_create(options);
    sim_start_all(s);
    sim_run(s, 120 * SIM_SECOND, NULL, NULL);
    uint32_t inputs = sim_look(s, rank).inputs;
    assert_null(judge(s, options->tasks));
    sim_destroy(s);
    return inputs;
}

static void before_every_input(void **state)
{
    (void)state;
    sim_options options = SIM_OPTIONS_INIT;
    options.steps = 8;
    for (uint64_t seed = 1; seed <= 2; seed++) {
        options.seed = seed;
        for (uint32_t rank = 0; rank < options.tasks; rank++) {
            uint32_t inputs = count_inputs(&options, rank);
            for (uint32_t input = 1; input <= inputs; input++) {
                run(&options, rank, 0, -1, input, 0);
                run(&options, rank, 0, -1, input, 40 * SIM_MS);
            }
        }
    }
}

/* A second kill before every input of the recovery from a first one. */
typedef struct second {
    uint32_t first, rank, input;
    bool killed;
} second;

static bool watch(sim *s, void *user)
{
    second *w = user;
    if (!w->killed && sim_look(s, w->first).step >= 4) {
        sim_kill(s, w->first, false);
        w->killed = true;
        sim_kill_at_input(s, w->rank, sim_look(s, w->rank).inputs + w->input, 50 * SIM_MS);
    }
    return false;
}

static void during_every_input_of_a_recovery(void **state)
{
    (void)state;
    sim_options options = SIM_OPTIONS_INIT;
    options.tasks = 4;
    options.steps = 8;
    for (uint32_t first = 0; first < 4; first++)
        for (uint32_t rank = 0; rank < 4; rank++)
            for (uint32_t input = 1; input <= 60 && rank != first; input++) {
                second w = {.first = first, .rank = rank, .input = input};
                options.seed = first * 1000 + rank * 100 + input;
                sim *s = sim_create(&options);
                sim_start_all(s);
                sim_run(s, 120 * SIM_SECOND, watch, &w);
                const char *wrong = judge(s, options.tasks);
                if (wrong)
                    fail_msg("first %u, then rank %u at input %u: %s", (unsigned)first, (unsigned)rank, (unsigned)input,
                             wrong);
                sim_destroy(s);
            }
}

/* Two processes die within one step, and each time the same task misses their data first: nothing is held against those
 * that are started instead. (Parameter servers' jobs count no steps at all.) */
static void another_process_is_not_to_blame(void **state)
{
    (void)state;
    sim_options options = SIM_OPTIONS_INIT;
    options.tasks = 4;
    options.steps = 3;
    options.compute_ns = 60 * SIM_SECOND;
    sim *s = sim_create(&options);
    sim_start_all(s);
    sim_run(s, 2 * SIM_SECOND, NULL, NULL);
    for (uint32_t victim = 2; victim < 4; victim++) {
        assert_int_equal(sim_look(s, victim).members, 4);
        artel__membership_lost(sim_membership(s, 0), sim_now(s), victim);
        sim_kill(s, victim, false);
        sim_run(s, sim_now(s) + 100 * SIM_MS, NULL, NULL);
        sim_start(s, victim);
        sim_run(s, sim_now(s) + 4 * SIM_SECOND, NULL, NULL);
        for (uint32_t t = 0; t < 4; t++) assert_int_equal(sim_look(s, t).members, 4);
        assert_int_equal(sim_look(s, 0).step, 0);
    }
    sim_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_phase_of_every_step),
        cmocka_unit_test(before_every_input),
        cmocka_unit_test(during_every_input_of_a_recovery),
        cmocka_unit_test(another_process_is_not_to_blame),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
