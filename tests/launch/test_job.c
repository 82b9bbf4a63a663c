/* SPDX-License-Identifier: Apache-2.0 */
/* The launcher's decisions, as tables of what happens and what must come of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "launch/job.h"

#define MS ((int64_t)1000000)
#define MOST 8

typedef struct bench {
    artel__launch_member member[MOST];
    artel__launch_job job;
    int64_t now;
} bench;

/* "cwpe": one letter a task. */
static void set_up(bench *b, const char *tasks, int restarts, bool together)
{
    static const char letters[] = "cwpe";
    memset(b, 0, sizeof *b);
    b->job = (artel__launch_job){.member = b->member,
                                 .members = (int)strlen(tasks),
                                 .restarts = restarts,
                                 .together = together,
                                 .verdicts = together};
    for (int i = 0; i < b->job.members; i++)
        b->member[i].type = (artel__task_type)(strchr(letters, tasks[i]) - letters);
    artel__launch_job_init(&b->job, b->now);
}

static void start_due(bench *b)
{
    int64_t wait;
    for (int i; (i = artel__launch_job_next(&b->job, b->now, &wait)) >= 0;)
        artel__launch_job_started(&b->job, i, b->now);
}

static int wait_status(const char *how)
{
    return how[0] == 's' ? atoi(how + 1) : atoi(how) << 8;
}

/* Words: "TASK=CODE", "TASK=sSIGNAL": an end; "!SIGNAL": to the launcher; "+": dismiss whom it will; "?": nobody has
 * begun. Each takes 2 s, "..." 6. */
static void play(bench *b, const char *story)
{
    char copy[256], *rest = copy, *word;
    snprintf(copy, sizeof copy, "%s", story);
    start_due(b);
    while ((word = strsep(&rest, " "))) {
        if (!word[0]) continue; /* an empty story */
        b->now += 2000 * MS;
        if (word[0] == '!')
            artel__launch_job_signal(&b->job, atoi(word + 1));
        else if (word[0] == '.')
            b->now += 4000 * MS;
        else if (word[0] == '?' && artel__launch_job_misses(&b->job) >= 0)
            artel__launch_job_abandon(&b->job, artel__launch_job_misses(&b->job));
        else if (word[0] == '?')
            continue;
        else if (word[0] == '+')
            for (int i = 0; i < b->job.members; i++) artel__launch_job_dismiss(&b->job, i, b->now);
        else
            artel__launch_job_ended(&b->job, word[0] - '0', wait_status(word + 2), b->now);
        start_due(b);
    }
}

static void test_exit_codes(void **state)
{
    static const struct {
        const char *tasks;
        int restarts;
        bool together;
        const char *story;
        int code, member;
    } cases[] = {
        {"w", 0, true, "0=0", 0, -1},
        {"w", 0, true, "0=2", 2, 0},
        {"w", 0, true, "0=s9", 137, 0},
        {"www", 0, true, "0=0 1=0 2=0", 0, -1},
        {"www", 0, true, "1=3 0=1 2=2", 3, 1},       /* the first failure */
        {"www", 0, true, "1=s9 0=1 2=2", 1, 0},      /* a death is none */
        {"www", 0, true, "1=s9 0=0 2=0", 0, -1},     /* survived */
        {"www", 0, true, "0=s9 1=s11 2=0", 0, -1},   /* by the last one */
        {"www", 0, true, "2=s11 1=s9 0=s9", 139, 2}, /* by nobody */
        {"www", 0, true, "1=143 0=0 2=0", 0, -1},    /* left in order */
        {"www", 0, true, "1=143 0=143 2=143", 143, 1},
        {"www", 0, true, "0=0 1=0 2=3", 3, 2},
        {"ww", 0, true, "1=2 0=0", 0, -1}, /* a failure, survived */
        {"ww", 0, false, "1=2 0=0", 2, 1}, /* nobody survives for another */
        {"wwp", 0, true, "2=2 1=2 0=0", 0, -1},
        {"wwe", 0, true, "2=2 0=0 1=0", 2, 2}, /* nobody evaluates in its place */
        {"www", 0, true, "1=3 0=0 2=4", 4, 2}, /* the one that was not survived */
        {"ww", 0, false, "1=255 0=0", 255, 1},
        {"ww", 1, true, "1=s9 1=0 0=0", 0, -1},
        {"ww", 1, true, "1=s9 1=s9 0=0", 0, -1},
        {"ww", 1, false, "1=s9 1=4 0=0", 4, 1},
        {"ww", 2, false, "1=3 1=3 1=0 0=0", 0, -1}, /* mended by restarts */
        {"ww", 0, true, "!2 0=143 1=s15", 130, -1},
        {"ww", 0, true, "!2 0=0 1=0", 130, -1},
        {"ww", 0, true, "!15 0=143 1=143", 143, -1},
        {"ww", 0, true, "!15 0=143 1=2", 2, 1},  /* could not save */
        {"ww", 0, true, "!15 0=42 1=42", 42, 0}, /* --preempt-exit-code */
        {"ww", 0, true, "!15 !15 0=s9 1=s9", 143, -1},
        {"ww", 0, true, "!1 0=143 1=143", 129, -1},
        {"ww", 0, true, "1=2 !15 0=143", 2, 1},
        {"wwp", 0, true, "0=0 1=0 + 2=s15", 0, -1},
        {"wwp", 0, true, "0=0 1=0 + 2=1", 0, -1}, /* dismissed: its end counts for nothing */
        {"wwp", 0, true, "2=1 0=2 1=2", 1, 2},
        {"cwp", 0, true, "0=1 + 1=143 2=s15", 1, 0}, /* nothing goes on without the chief */
        {"cwp", 0, true, "0=s9 + 1=143 2=s15", 137, 0},
        {"cwp", 1, true, "0=s9 + 0=0 1=0 + 2=s15", 0, -1}, /* it comes back */
        {"cwp", 0, true, "1=2 + 0=143 2=s15", 2, 1},       /* nor without a worker */
        {"cwwp", 0, true, "1=s9 + 2=143 + 0=143 3=s15", 137, 1},
        {"cwwp", 0, true, "1=2 + 0=0 2=0 + 3=s15", 0, -1}, /* one is left */
        {"cwp", 1, true, "1=s9 + 1=0 0=0 + 2=s15", 0, -1},
        {"cwp", 0, true, "1=0 + 0=0 + 2=s15", 0, -1},   /* the chief still writes */
        {"cwp", 0, true, "2=s9 + 0=143 1=143", 137, 2}, /* nor without a server */
        {"cwpp", 0, true, "2=s9 + 0=0 1=0 + 3=s15", 0, -1},
        {"cwe", 0, true, "0=0 1=0 + 2=0", 0, -1},
        {"cwe", 0, true, "0=0 1=0 + 2=1", 1, 2},
        {"cwe", 0, true, "0=3 1=3 + 2=s15", 3, 0},
        {"www", 0, true, "1=s9 ? 0=143 2=143", 137, 1}, /* never began */
        {"www", 0, true, "1=s9 ? 0=2 2=1", 137, 1},     /* what follows from it does not count */
        {"www", 0, true, "2=7 1=s9 ? 0=143", 7, 2},
        {"cwe", 0, true, "1=s9 ? 0=143 2=s15", 137, 1},
        {"wwe", 0, true, "2=s9 ? 0=0 1=0", 0, -1}, /* begins without an evaluator */
        {"www", 0, true, "1=s9 0=0 ? 2=0", 0, -1}, /* it had begun */
        {"www", 1, true, "1=s9 ? 0=0 1=0 2=0", 0, -1},
        {"ww", 0, false, "1=s9 ? 0=0", 0, -1},
        {"ww", 0, true, "1=s9 ? !2 0=143", 130, -1},
        {"ww", 9, true, "1=s9 0=0 ... + 1=143", 0,
         -1}, /* came when the job was done, and dismissed: its end counts for nothing */
        {"ww", 9, true, "1=s9 0=0 ... + 1=75", 0, -1}, /* with a --preempt-exit-code */
        {"ww", 9, true, "1=s9 0=0 ... + 1=2", 2, 1},   /* it was to write the results */
        {"ww", 9, true, "1=s9 0=0 + 1=2", 2, 1},       /* too early to be dismissed */
        {"ww", 9, false, "1=s9 0=0 ... + 1=2 1=2 1=0", 0, -1},
    };
    (void)state;
    for (size_t k = 0; k < ARTEL__COUNT(cases); k++) {
        bench b;
        int member;
        set_up(&b, cases[k].tasks, cases[k].restarts, cases[k].together);
        play(&b, cases[k].story);
        if (!artel__launch_job_over(&b.job)) fail_msg("%s: is not over", cases[k].story);
        int code = artel__launch_job_code(&b.job, &member);
        if (code != cases[k].code || member != cases[k].member)
            fail_msg("%s: %d by %d, expected %d by %d", cases[k].story, code, member, cases[k].code, cases[k].member);
    }
}

static void test_who_is_missed(void **state)
{
    static const struct {
        const char *tasks;
        int needed;
        const char *story;
        int missed;
        int served; /* ps tasks without which it does not begin */
    } cases[] = {
        {"www", 0, "", -1, 0},           {"www", 0, "1=s9", 1, 0},        {"www", 3, "1=s9", 1, 0},
        {"www", 2, "1=s9", -1, 0},       {"www", 2, "2=s9 1=3", 2, 0},    {"wwp", 0, "2=1", -1, 0},
        {"w", 0, "0=s9", -1, 0},         {"www", 0, "!15 1=143", -1, 0},  {"ww", 0, "1=0", -1, 0},
        {"www", 0, "1=s9 ? 0=2", -1, 0},                                /* once */
        {"cwpp", 0, "3=s9", 3, 2},       {"cwpp", 0, "1=2 3=s9", 3, 2}, /* the server: --min-workers would not help */
        {"cwpp", 3, "1=2", -1, 2},                                      /* three are left */
        {"cwpp", 3, "3=2", 3, 2},        {"cwpppp", 4, "3=s9", -1, 3},    {"cwpppp", 4, "3=s9 1=1", -1, 3},
        {"cwpppp", 5, "3=s9 1=1", 3, 3}, {"cwpppp", 5, "1=1 3=s9", 1, 3}, /* who ended first */
        {"cwpppp", 0, "1=1", 1, 3},
    };
    (void)state;
    for (size_t k = 0; k < ARTEL__COUNT(cases); k++) {
        bench b;
        set_up(&b, cases[k].tasks, 0, true);
        b.job.needed = cases[k].needed;
        b.job.served_to_begin = cases[k].served;
        play(&b, cases[k].story);
        int missed = artel__launch_job_misses(&b.job);
        if (missed != cases[k].missed)
            fail_msg("%s: %d is missed, expected %d", cases[k].story, missed, cases[k].missed);
    }
}

/* Of five servers two are enough beside a chief that they know. */
static void test_too_few_servers(void **state)
{
    bench b;
    (void)state;
    set_up(&b, "cwppppp", 0, true);
    b.job.served_to_go_on = 2;
    play(&b, "2=s9 3=2 4=s9");
    assert_int_equal(artel__launch_job_lost(&b.job), -1);
    play(&b, "5=s9");
    assert_int_equal(artel__launch_job_lost(&b.job), ARTEL__TASK_PS);
    set_up(&b, "cwppppp", 0, true);
    b.job.served_to_go_on = 2;
    play(&b, "2=0 3=0 4=0 5=0"); /* the job is done */
    assert_int_equal(artel__launch_job_lost(&b.job), -1);
    set_up(&b, "cwpp", 0, true); /* no number given: one */
    play(&b, "2=s9");
    assert_int_equal(artel__launch_job_lost(&b.job), -1);
    play(&b, "3=s9");
    assert_int_equal(artel__launch_job_lost(&b.job), ARTEL__TASK_PS);
}

static void test_restarts(void **state)
{
    static const struct {
        const char *story; /* all but the last end */
        int restarts;
        bool together;
        const char *last;
        bool again;
    } cases[] = {
        {"", 0, true, "s9", false},     {"", 1, true, "s9", true},
        {"1=s9", 1, true, "s9", false}, {"", 1, true, "143", true},
        {"", 1, true, "1", false}, /* its codes are final */
        {"", 1, true, "2", false},      {"", 1, true, "42", true},
        {"", 1, false, "1", true},                                     /* a program on its own: they are not */
        {"", 1, true, "0", false},      {"0=0", 1, true, "s9", false}, /* the job is done */
        {"0=0", 1, false, "s9", true},  {"!15", 1, true, "s9", false},
        {"!2", 1, false, "7", false},
    };
    (void)state;
    for (size_t k = 0; k < ARTEL__COUNT(cases); k++) {
        bench b;
        set_up(&b, "ww", cases[k].restarts, cases[k].together);
        start_due(&b);
        if (cases[k].story[0]) play(&b, cases[k].story);
        b.now += 2000 * MS;
        bool again = artel__launch_job_ended(&b.job, 1, wait_status(cases[k].last), b.now);
        if (again != cases[k].again) fail_msg("%s, then %s: again %d", cases[k].story, cases[k].last, again);
        assert_int_equal(b.member[1].state, again ? ARTEL__LAUNCH_DUE : ARTEL__LAUNCH_ENDED);
    }
}

/* At once after a life of a second; else after 100 ms, 200 ms, ... 5 s. */
static void test_delays(void **state)
{
    static const int expected[] = {100, 200, 400, 800, 1600, 3200, 5000, 5000};
    bench b;
    int64_t wait;
    (void)state;
    set_up(&b, "w", 100, false);
    for (size_t k = 0; k < ARTEL__COUNT(expected); k++) {
        start_due(&b);
        b.now += 10 * MS;
        assert_true(artel__launch_job_ended(&b.job, 0, SIGKILL, b.now));
        assert_int_equal(artel__launch_job_next(&b.job, b.now, &wait), -1);
        assert_int_equal(wait, expected[k] * MS);
        b.now += wait;
        assert_int_equal(artel__launch_job_next(&b.job, b.now, &wait), 0);
    }
    start_due(&b);
    b.now += 1000 * MS;
    assert_true(artel__launch_job_ended(&b.job, 0, SIGKILL, b.now));
    assert_int_equal(artel__launch_job_next(&b.job, b.now, &wait), 0);
}

static void test_signals(void **state)
{
    bench b;
    (void)state;
    set_up(&b, "ww", 3, true);
    start_due(&b);
    b.now += 10 * MS;
    assert_true(artel__launch_job_ended(&b.job, 1, SIGKILL, b.now)); /* waits for its restart */
    assert_int_equal(artel__launch_job_signal(&b.job, SIGINT), ARTEL__LAUNCH_TERMINATE);
    assert_int_equal(b.member[1].state, ARTEL__LAUNCH_ENDED); /* and gets none */
    assert_false(artel__launch_job_over(&b.job));
    assert_int_equal(artel__launch_job_signal(&b.job, SIGTERM), ARTEL__LAUNCH_KILL);
    assert_int_equal(artel__launch_job_signal(&b.job, SIGTERM), ARTEL__LAUNCH_LEAVE);
    assert_int_equal(b.job.stopped, SIGINT);
}

static void test_dismissal(void **state)
{
    bench b;
    (void)state;
    set_up(&b, "cpe", 1, true);
    start_due(&b);
    for (int i = 0; i < 3; i++) assert_int_equal(ARTEL__LAUNCH_STAYS, artel__launch_job_dismiss(&b.job, i, b.now));
    artel__launch_job_ended(&b.job, 0, SIGKILL, b.now); /* due again: training goes on */
    assert_int_equal(ARTEL__LAUNCH_STAYS, artel__launch_job_dismiss(&b.job, 1, b.now));
    b.now += 5000 * MS;
    start_due(&b);
    artel__launch_job_ended(&b.job, 0, 0, b.now);
    assert_int_equal(ARTEL__LAUNCH_HURRIED, artel__launch_job_dismiss(&b.job, 1, b.now));
    assert_int_equal(ARTEL__LAUNCH_STAYS, artel__launch_job_dismiss(&b.job, 1, b.now)); /* once */
    assert_int_equal(ARTEL__LAUNCH_STAYS,
                     artel__launch_job_dismiss(&b.job, 2, b.now));   /* it has a checkpoint to evaluate */
    assert_true(artel__launch_job_ended(&b.job, 2, SIGKILL, b.now)); /* and is started again for it */
    assert_false(artel__launch_job_ended(&b.job, 1, SIGTERM, b.now));
}

/* Several artels that each work alone: none is hurried, called off or excused by another's end, yet their verdicts are
 * final. */
static void test_each_alone(void **state)
{
    bench b;
    int member;
    (void)state;
    set_up(&b, "www", 9, false);
    b.job.verdicts = true;
    start_due(&b);
    assert_true(artel__launch_job_ended(&b.job, 1, SIGKILL, b.now));
    assert_false(artel__launch_job_ended(&b.job, 2, 2 << 8, b.now));
    b.now += 1000 * MS;
    start_due(&b);
    artel__launch_job_ended(&b.job, 0, 0, b.now);
    assert_int_equal(artel__launch_job_patience(&b.job, b.now), -1);
    b.now += 60000 * MS;
    assert_int_equal(ARTEL__LAUNCH_STAYS, artel__launch_job_dismiss(&b.job, 1, b.now));
    assert_true(artel__launch_job_ended(&b.job, 1, SIGKILL, b.now));
    b.now += 60000 * MS;
    start_due(&b);
    artel__launch_job_ended(&b.job, 1, 0, b.now);
    assert_int_equal(artel__launch_job_code(&b.job, &member), 2);
    assert_int_equal(member, 2);
}

/* Who trains, or is to be started again, when the others have finished. */
static void test_latecomers(void **state)
{
    bench b;
    (void)state;
    set_up(&b, "cww", 9, true);
    start_due(&b);
    assert_int_equal(artel__launch_job_patience(&b.job, b.now), -1);
    b.now += 10 * MS;
    assert_true(artel__launch_job_ended(&b.job, 1, SIGKILL, b.now));
    artel__launch_job_ended(&b.job, 0, 0, b.now);
    assert_int_equal(b.member[1].state, ARTEL__LAUNCH_ENDED); /* before it was started again */
    assert_int_equal(artel__launch_job_patience(&b.job, b.now), 5000 * MS);
    assert_int_equal(ARTEL__LAUNCH_STAYS, artel__launch_job_dismiss(&b.job, 2, b.now));
    b.now += 5000 * MS;
    assert_int_equal(artel__launch_job_patience(&b.job, b.now), 0);
    assert_int_equal(ARTEL__LAUNCH_ASKED, artel__launch_job_dismiss(&b.job, 2, b.now));
    assert_int_equal(artel__launch_job_patience(&b.job, b.now), -1);
    assert_false(artel__launch_job_ended(&b.job, 2, SIGKILL, b.now));
}

/* Programs of which one turns out to be a member of a cluster whose others have finished. */
static void test_unknown_company(void **state)
{
    bench b;
    int member;
    (void)state;
    set_up(&b, "ww", 9, false);
    start_due(&b);
    assert_int_equal(artel__launch_job_doubt(&b.job, b.now), -1);
    artel__launch_job_ended(&b.job, 0, 0, b.now);
    assert_int_equal(artel__launch_job_doubt(&b.job, b.now), 5000 * MS);
    assert_true(artel__launch_job_ended(&b.job, 1, SIGKILL, b.now));
    assert_int_equal(artel__launch_job_doubt(&b.job, b.now), -1); /* nobody runs */
    b.now += 5000 * MS;
    start_due(&b);
    assert_int_equal(artel__launch_job_doubt(&b.job, b.now), 0);
    assert_int_equal(ARTEL__LAUNCH_STAYS, artel__launch_job_dismiss(&b.job, 1, b.now));
    artel__launch_job_join(&b.job);
    assert_int_equal(artel__launch_job_doubt(&b.job, b.now), -1);
    assert_int_equal(ARTEL__LAUNCH_ASKED, artel__launch_job_dismiss(&b.job, 1, b.now));
    assert_false(artel__launch_job_ended(&b.job, 1, SIGTERM, b.now));
    assert_int_equal(artel__launch_job_code(&b.job, &member), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exit_codes),      cmocka_unit_test(test_who_is_missed),
        cmocka_unit_test(test_too_few_servers), cmocka_unit_test(test_restarts),
        cmocka_unit_test(test_delays),          cmocka_unit_test(test_signals),
        cmocka_unit_test(test_dismissal),       cmocka_unit_test(test_latecomers),
        cmocka_unit_test(test_each_alone),      cmocka_unit_test(test_unknown_company),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
