/* SPDX-License-Identifier: Apache-2.0 */
/* one thread */
/* Forming and joining: the first generation, newcomers, returning processes, two halves that meet, too few, too many.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "help_simulator.h"

static sim *make(uint32_t tasks, uint32_t steps)
{
    sim_options o = SIM_OPTIONS_INIT;
    o.tasks = tasks;
    o.steps = steps;
    o.compute_ns = 20 * SIM_MS;
    return sim_create(&o);
}

static void run_for(sim *s, int64_t ns)
{
    sim_run(s, sim_now(s) + ns, NULL, NULL);
    if (sim_wrong(s)) fail_msg("%s", sim_wrong(s));
}

static void check_all(sim *s, uint32_t tasks, uint32_t members)
{
    for (uint32_t t = 0; t < tasks; t++) {
        assert_int_equal(sim_look(s, t).members, members);
        assert_int_equal(sim_look(s, t).generation, sim_look(s, 0).generation);
    }
}

static void check_finished(sim *s, uint32_t tasks)
{
    sim_run(s, sim_now(s) + 200 * SIM_SECOND, NULL, NULL);
    if (sim_wrong(s)) fail_msg("%s", sim_wrong(s));
    for (uint32_t t = 0; t < tasks; t++) {
        sim_view v = sim_look(s, t);
        assert_true(v.ended);
        assert_int_equal(v.status, ARTEL_OK);
    }
}

/* All are waited for, and those who miss are named every five seconds. */
static void the_first_generation_waits_for_all(void **state)
{
    (void)state;
    sim *s = make(4, 40);
    for (uint32_t t = 0; t < 3; t++) sim_start(s, t);
    run_for(s, 4 * SIM_SECOND);
    assert_int_equal(sim_look(s, 0).members, 0);
    assert_false(sim_said(s, "waiting for worker 3"));
    run_for(s, 4 * SIM_SECOND);
    assert_true(sim_said(s, "waiting for worker 3, 5 s"));
    sim_start(s, 3);
    run_for(s, 200 * SIM_MS);
    check_all(s, 4, 4);
    check_finished(s, 4);
    assert_int_equal(sim_writes(s), 1);
    sim_destroy(s);
}

/* A third of a second there and back is longer than silence is borne where answers come at once: who answers late is
 * waited for from then on. */
static void a_long_way(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        sim_options o = SIM_OPTIONS_INIT;
        o.delay_ns = 160 * SIM_MS;
        o.seed = seed;
        sim *s = sim_create(&o);
        sim_start_all(s);
        check_finished(s, 3);
        for (uint32_t t = 0; t < 3; t++) assert_true(sim_look(s, t).ended_at < 15 * SIM_SECOND);
        sim_destroy(s);
    }
}

/* All reach the one that coordinates before two of them reach each other, at first and when one comes back: however
 * long silence is to be borne, it is tried again soon. */
static void patience_is_not_slowness(void **state)
{
    (void)state;
    sim_options o = SIM_OPTIONS_INIT;
    o.tasks = o.min_members = 4;
    o.steps = 500;
    o.compute_ns = 20 * SIM_MS;
    o.suspect_ns = 600 * SIM_SECOND;
    sim *s = sim_create(&o);
    for (uint32_t t = 0; t < 4; t++) sim_start(s, t);
    for (int again = 0; again < 2; again++) {
        if (again) sim_kill(s, 2, false);
        if (again) sim_start(s, 2);
        sim_cut(s, 1, 2, true);
        sim_cut(s, 2, 1, true);
        run_for(s, SIM_SECOND);
        check_all(s, 4, 0);
        sim_heal(s);
        run_for(s, 3 * SIM_SECOND);
        check_all(s, 4, 4);
    }
    check_finished(s, 4);
    sim_destroy(s);
}

/* When the time is over, those who are there begin; who comes later joins. */
/* A job that is started again begins with whoever holds its checkpoint, though that one connects late with some. */
static void a_checkpoint_is_waited_for(void **state)
{
    (void)state;
    for (uint32_t holder = 0; holder < 3; holder++) {
        sim *s = make(3, 40);
        uint32_t other = (holder + 1) % 3;
        for (uint32_t t = 0; t < 3; t++) sim_start_from(s, t, t == holder ? 17 : 0);
        sim_cut(s, holder, other, true);
        sim_cut(s, other, holder, true);
        run_for(s, 3 * SIM_SECOND);
        for (uint32_t t = 0; t < 3; t++) assert_int_equal(sim_look(s, t).members, 0);
        sim_heal(s);
        run_for(s, 3 * SIM_SECOND);
        check_finished(s, 3);
        for (uint32_t t = 0; t < 3; t++) assert_int_equal(sim_look(s, t).generation, sim_look(s, 0).generation);
        assert_true(sim_look(s, holder).stepped_at > 3 * SIM_SECOND);
        sim_destroy(s);
    }
}

static void late_ones_join(void **state)
{
    (void)state;
    sim *s = make(4, 200);
    sim_start(s, 1);
    sim_start(s, 3);
    run_for(s, 21 * SIM_SECOND);
    assert_int_equal(sim_look(s, 1).members, 2);
    sim_start(s, 0);
    sim_start(s, 2);
    run_for(s, SIM_SECOND);
    check_all(s, 4, 4);
    assert_true(sim_look(s, 0).step > 0);
    check_finished(s, 4);
    sim_destroy(s);
}

static void too_few_give_up(void **state)
{
    (void)state;
    sim_options o = SIM_OPTIONS_INIT;
    o.tasks = 4;
    o.min_members = 3;
    sim *s = sim_create(&o);
    sim_start(s, 0);
    sim_start(s, 2);
    run_for(s, 40 * SIM_SECOND);
    for (uint32_t t = 0; t < 4; t += 2) {
        assert_true(sim_look(s, t).ended);
        assert_int_equal(sim_look(s, t).status, ARTEL_ERROR_RUN);
        assert_non_null(strstr(sim_look(s, t).text, "(.wait_for_cluster); missing: worker "));
        assert_true(sim_look(s, t).ended_at < 30 * SIM_SECOND);
    }
    sim_destroy(s);
}

/* Fewer than min_members keep their state and wait. */
static void a_small_group_waits(void **state)
{
    (void)state;
    sim_options o = SIM_OPTIONS_INIT;
    o.tasks = 3;
    o.min_members = 2;
    o.steps = 100;
    sim *s = sim_create(&o);
    sim_start_all(s);
    run_for(s, 300 * SIM_MS);
    sim_kill(s, 0, false);
    sim_kill(s, 2, false);
    run_for(s, 3 * SIM_SECOND);
    uint64_t step = sim_look(s, 1).step;
    assert_true(step > 5);
    assert_int_equal(sim_look(s, 1).members, 0);
    sim_start(s, 2);
    run_for(s, 1500 * SIM_MS);
    assert_int_equal(sim_look(s, 1).members, 2);
    assert_true(sim_look(s, 2).step >= step); /* not from the start */
    sim_start(s, 0);
    check_finished(s, 3);
    sim_destroy(s);
}

/* Both halves of a partition go on with the same bits, and meet again without losing a step. */
static void two_halves_meet(void **state)
{
    (void)state;
    for (uint64_t side = 1; side < 15; side++) {
        sim *s = make(4, 400);
        sim_start_all(s);
        run_for(s, 500 * SIM_MS);
        for (uint32_t a = 0; a < 4; a++)
            for (uint32_t b = 0; b < 4; b++)
                if ((side >> a & 1) != (side >> b & 1)) sim_cut(s, a, b, true);
        run_for(s, 5 * SIM_SECOND);
        uint64_t highest = 0;
        for (uint32_t t = 0; t < 4; t++) {
            assert_in_range(sim_look(s, t).members, 1, 3);
            if (sim_look(s, t).step > highest) highest = sim_look(s, t).step;
        }
        sim_heal(s);
        run_for(s, 3 * SIM_SECOND);
        check_all(s, 4, 4);
        for (uint32_t t = 0; t < 4; t++) assert_true(sim_look(s, t).step + 1 >= highest);
        check_finished(s, 4);
        sim_destroy(s);
    }
}

/* A process that was stopped, the coordinator too, is refused when it wakes, begins a new incarnation and joins. */
static void a_process_that_wakes_joins_again(void **state)
{
    (void)state;
    for (uint32_t t = 0; t < 3; t++) {
        sim *s = make(3, 400);
        sim_start_all(s);
        run_for(s, 500 * SIM_MS);
        uint64_t before = artel__membership_incarnation(sim_membership(s, t));
        sim_pause(s, t);
        run_for(s, 5 * SIM_SECOND);
        assert_int_equal(sim_look(s, (t + 1) % 3).members, 2);
        sim_resume(s, t);
        run_for(s, 2 * SIM_SECOND);
        check_all(s, 3, 3);
        assert_true(artel__membership_incarnation(sim_membership(s, t)) != before);
        check_finished(s, 3);
        sim_destroy(s);
    }
}

/* A short stop costs nothing but its time. */
static void a_short_stop_is_no_loss(void **state)
{
    (void)state;
    sim *s = make(3, 200);
    sim_start_all(s);
    run_for(s, 500 * SIM_MS);
    sim_pause(s, 0);
    run_for(s, 1300 * SIM_MS);
    sim_resume(s, 0);
    run_for(s, 500 * SIM_MS);
    check_all(s, 3, 3);
    assert_int_equal(sim_look(s, 0).generation, 1);
    check_finished(s, 3);
    sim_destroy(s);
}

/* All are stopped and wake together, as when a machine sleeps: nobody suspects anybody. */
static void all_sleep(void **state)
{
    (void)state;
    sim *s = make(3, 200);
    sim_start_all(s);
    run_for(s, 500 * SIM_MS);
    for (uint32_t t = 0; t < 3; t++) sim_pause(s, t);
    run_for(s, 100 * SIM_SECOND);
    for (uint32_t t = 0; t < 3; t++) sim_resume(s, t);
    run_for(s, SIM_SECOND);
    check_all(s, 3, 3);
    assert_int_equal(sim_look(s, 0).generation, 1);
    check_finished(s, 3);
    sim_destroy(s);
}

/* A newcomer that cannot copy from one donor copies from the next; from none: the others go on without it. */
static void copies_that_fail(void **state)
{
    (void)state;
    for (uint32_t broken = 1; broken < 4; broken++) {
        sim *s = make(3, 300);
        sim_start_all(s);
        run_for(s, 500 * SIM_MS);
        for (uint32_t donor = 0; donor < 2; donor++)
            if (broken >> donor & 1) sim_break_copy(s, 2, donor);
        sim_kill(s, 2, false);
        run_for(s, 500 * SIM_MS);
        sim_start(s, 2);
        run_for(s, 2 * SIM_SECOND);
        if (broken != 3)
            assert_int_equal(sim_look(s, 0).members, 3);
        else
            assert_true(sim_said(s, "worker 2 is left out"));
        run_for(s, 20 * SIM_SECOND);
        for (uint32_t t = 0; t < 2; t++) assert_int_equal(sim_look(s, t).status, ARTEL_OK);
        assert_true(sim_look(s, 0).ended && sim_look(s, 0).ended_at < 14 * SIM_SECOND);
        sim_destroy(s);
    }
}

/* A member that has applied a step more than the others is the donor; if it is killed at that moment the step is done
 * again. */
static void one_ahead(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 60; seed++) {
        sim_options o = SIM_OPTIONS_INIT;
        o.seed = seed;
        o.delay_ns = 20 * SIM_MS; /* so that members apply far apart */
        sim *s = sim_create(&o);
        sim_kill_at(s, (uint32_t)seed % 3, 3 + seed % 30, ARTEL__MEMBER_IDLE, 0);
        sim_start_all(s);
        check_finished(s, 0);
        for (uint32_t t = 0; t < 3; t++)
            if (sim_look(s, t).alive) assert_int_equal(sim_look(s, t).chain, sim_expected(s));
        sim_destroy(s);
    }
}

static void more_replicas_than_shards(void **state)
{
    (void)state;
    sim_options o = SIM_OPTIONS_INIT;
    o.tasks = 3;
    o.shards = 4;
    o.replicas = 2;
    sim *s = sim_create(&o);
    sim_start_all(s);
    run_for(s, 30 * SIM_SECOND);
    bool named = false;
    for (uint32_t t = 0; t < 3; t++) {
        assert_true(sim_look(s, t).ended);
        assert_true(sim_look(s, t).status < 0);
        named = named || strstr(sim_look(s, t).text, ".shards");
    }
    assert_true(named);
    sim_destroy(s);
}

/* Who comes when all is done is told so, while somebody is there to tell it. */
static void a_joiner_at_the_end(void **state)
{
    (void)state;
    for (int64_t at = 0; at < 40; at++) {
        sim_options o = SIM_OPTIONS_INIT;
        o.steps = 20;
        o.save_ns = 300 * SIM_MS;
        o.wait_ns = 5 * SIM_SECOND;
        sim *s = sim_create(&o);
        sim_start_all(s);
        run_for(s, 100 * SIM_MS);
        sim_kill(s, 2, false);
        run_for(s, at * 20 * SIM_MS);
        sim_start(s, 2);
        check_finished(s, 3);
        sim_destroy(s);
    }
}

enum {
    CHAIN = 1 + ARTEL__ARITHMETIC_CHAIN,
    TILES = 1 + ARTEL__ARITHMETIC_TILES
};

static void check_arithmetic(sim *s, uint32_t tasks, uint32_t arithmetic)
{
    check_all(s, tasks, tasks);
    for (uint32_t t = 0; t < tasks; t++) assert_int_equal(sim_look(s, t).arithmetic, arithmetic);
}

/* It is decided when the job begins, by the machines that are there or by the checkpoint, and whoever joins later
 * computes in it. */
static void arithmetic_is_decided_once(void **state)
{
    (void)state;
    static const struct {
        uint32_t best[3], joiner, held, arithmetic;
    } row[] = {{{TILES, TILES, TILES}, CHAIN, 0, TILES},
               {{TILES, TILES, TILES}, TILES, 0, TILES},
               {{TILES, CHAIN, TILES}, TILES, 0, CHAIN},
               {{CHAIN, CHAIN, CHAIN}, CHAIN, TILES, TILES},
               {{TILES, TILES, TILES}, TILES, CHAIN, CHAIN}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        sim *s = make(3, 400);
        for (uint32_t t = 0; t < 3; t++) sim_set_arithmetic(s, t, row[i].best[t], t == 2 ? row[i].held : 0);
        for (uint32_t t = 0; t < 3; t++) sim_start_from(s, t, t == 2 && row[i].held ? 9 : 0);
        run_for(s, 500 * SIM_MS);
        check_arithmetic(s, 3, row[i].arithmetic);
        for (uint32_t t = 0; t < 3; t++) { /* one after another is replaced */
            sim_kill(s, t, false);
            sim_set_arithmetic(s, t, row[i].joiner, 0);
            run_for(s, 500 * SIM_MS);
            sim_start(s, t);
            run_for(s, SIM_SECOND);
            check_arithmetic(s, 3, row[i].arithmetic);
        }
        check_finished(s, 3);
        sim_destroy(s);
    }
}

/* A newcomer has all of the state when its donors die, before the generation with it has begun: it goes on as they did.
 */
static void arithmetic_comes_with_the_state(void **state)
{
    (void)state;
    for (uint32_t outruns = 0; outruns < 2; outruns++) {
        sim_options o = SIM_OPTIONS_INIT;
        o.steps = 400;
        o.compute_ns = 20 * SIM_MS;
        o.copy_ns = SIM_SECOND;
        o.wait_ns = 5 * SIM_SECOND;
        o.copy_outruns = outruns;
        sim *s = sim_create(&o);
        for (uint32_t t = 0; t < 3; t++) sim_set_arithmetic(s, t, TILES, 0);
        sim_start_all(s);
        run_for(s, 200 * SIM_MS);
        sim_kill(s, 2, false);
        run_for(s, 100 * SIM_MS);
        sim_set_arithmetic(s, 2, CHAIN, 0);
        sim_start(s, 2);
        run_for(s, 500 * SIM_MS);
        assert_int_equal(sim_look(s, 2).step, 0);
        sim_kill(s, 0, false);
        sim_kill(s, 1, false);
        run_for(s, 8 * SIM_SECOND);
        assert_int_equal(sim_look(s, 2).members, 1);
        assert_int_equal(sim_look(s, 2).arithmetic, outruns ? TILES : CHAIN);
        run_for(s, 25 * SIM_SECOND);
        assert_true(sim_look(s, 2).ended);
        assert_int_equal(sim_look(s, 2).status, ARTEL_OK);
        sim_destroy(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_generation_waits_for_all),
        cmocka_unit_test(a_long_way),
        cmocka_unit_test(patience_is_not_slowness),
        cmocka_unit_test(a_checkpoint_is_waited_for),
        cmocka_unit_test(late_ones_join),
        cmocka_unit_test(too_few_give_up),
        cmocka_unit_test(a_small_group_waits),
        cmocka_unit_test(two_halves_meet),
        cmocka_unit_test(a_process_that_wakes_joins_again),
        cmocka_unit_test(a_short_stop_is_no_loss),
        cmocka_unit_test(all_sleep),
        cmocka_unit_test(copies_that_fail),
        cmocka_unit_test(one_ahead),
        cmocka_unit_test(more_replicas_than_shards),
        cmocka_unit_test(a_joiner_at_the_end),
        cmocka_unit_test(arithmetic_is_decided_once),
        cmocka_unit_test(arithmetic_comes_with_the_state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
