/* SPDX-License-Identifier: Apache-2.0 */
/* timeout: 120 */
/* long form: 1800 */
/* one thread */
/* Random faults, several at once, from a seed: kills with and without reset, restarts, stopped processes, one-way cuts,
 * partitions, broken connections, doubled messages, slow networks. After the last one has healed every process ends
 * with the digest of the undisturbed run, each sample used once. test_membership_faults SEED    replays a failing seed
 * and prints what happens
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "help_simulator.h"

enum {
    FAULTS = 10
};

typedef enum fault_kind {
    FAULT_KILL,
    FAULT_POWER, /* killed without a reset */
    FAULT_PAUSE,
    FAULT_ONE_WAY,
    FAULT_PARTITION,
    FAULT_RESET,
    FAULT_LOST,  /* the data path complains, whether or not there is a reason */
    FAULT_DRAIN, /* in some runs: it is asked to leave, or that all save */
    FAULT_KINDS
} fault_kind;

typedef struct fault {
    fault_kind kind;
    int64_t from, until; /* it begins; it heals, or the process is started again */
    uint32_t a, b;
    uint64_t side; /* of a partition */
    bool begun, over;
} fault;

typedef struct plan {
    fault fault[FAULTS];
    uint32_t faults, tasks;
    bool drained;
} plan;

static int64_t between(sim *s, int64_t low, int64_t high)
{
    return low + (int64_t)(sim_random(s) % (uint64_t)(high - low + 1));
}

static void make_plan(sim *s, uint32_t tasks, plan *p)
{
    *p = (plan){.faults = (uint32_t)between(s, 1, FAULTS), .tasks = tasks};
    for (uint32_t i = 0; i < p->faults; i++) {
        fault *f = &p->fault[i];
        f->kind = (fault_kind)between(s, 0, FAULT_KINDS - 1);
        if (f->kind == FAULT_DRAIN && p->faults % 3) f->kind = FAULT_RESET;
        p->drained = p->drained || f->kind == FAULT_DRAIN;
        f->from = sim_now(s) + between(s, 0, 6000) * SIM_MS;
        f->until = f->from + between(s, 1, sim_random(s) % 2 ? 600 : 6000) * SIM_MS;
        f->a = (uint32_t)between(s, 0, tasks - 1);
        f->b = (f->a + (uint32_t)between(s, 1, tasks - 1)) % tasks;
        f->side = sim_random(s);
    }
}

static void cut_sides(sim *s, const plan *p, uint64_t side, bool cut)
{
    for (uint32_t a = 0; a < p->tasks; a++)
        for (uint32_t b = 0; b < p->tasks; b++)
            if ((side >> a & 1) != (side >> b & 1)) sim_cut(s, a, b, cut);
}

static void begin_fault(sim *s, const plan *p, const fault *f)
{
    switch (f->kind) {
    case FAULT_KILL: sim_kill(s, f->a, false); break;
    case FAULT_POWER: sim_kill(s, f->a, true); break;
    case FAULT_PAUSE: sim_pause(s, f->a); break;
    case FAULT_ONE_WAY: sim_cut(s, f->a, f->b, true); break;
    case FAULT_PARTITION: cut_sides(s, p, f->side, true); break;
    case FAULT_RESET: sim_reset(s, f->a, f->b); break;
    case FAULT_LOST:
        if (sim_look(s, f->a).alive) artel__membership_lost(sim_membership(s, f->a), sim_now(s), f->b);
        break;
    case FAULT_DRAIN: sim_drain(s, f->a); break;
    default: break;
    }
}

static void end_fault(sim *s, const plan *p, const fault *f)
{
    switch (f->kind) {
    case FAULT_KILL:
    case FAULT_POWER: sim_start(s, f->a); break;
    case FAULT_PAUSE: sim_resume(s, f->a); break;
    case FAULT_ONE_WAY: sim_cut(s, f->a, f->b, false); break;
    case FAULT_PARTITION: cut_sides(s, p, f->side, false); break;
    default: break;
    }
}

static bool play(sim *s, void *user)
{
    plan *p = user;
    for (uint32_t i = 0; i < p->faults; i++) {
        fault *f = &p->fault[i];
        if (!f->begun && sim_now(s) >= f->from) {
            f->begun = true;
            begin_fault(s, p, f);
        }
        if (f->begun && !f->over && sim_now(s) >= f->until) {
            f->over = true;
            end_fault(s, p, f);
        }
    }
    return false;
}

/* NULL or what is wrong. A process that was started again when the others had ended may find too few; who was asked to
 * leave has left, or all have saved. */
static const char *judge(const sim *s, uint32_t tasks, bool drained)
{
    static char text[400];
    if (sim_wrong(s)) return sim_wrong(s);
    uint32_t finished = 0;
    for (uint32_t t = 0; t < tasks; t++) finished += sim_look(s, t).ended && sim_look(s, t).status == ARTEL_OK;
    for (uint32_t t = 0; t < tasks; t++) {
        sim_view v = sim_look(s, t);
        if (!v.alive || (v.ended && v.status == ARTEL_OK)) continue;
        if (v.ended && v.status == ARTEL_ERROR_RUN && (sim_writes(s) || drained)) continue;
        if (v.ended && v.status == ARTEL_ERROR_PREEMPTED && drained) continue;
        snprintf(text, sizeof text, "worker %u of %u: %s, step %d, %s (%u finished)", (unsigned)t, (unsigned)tasks,
                 v.ended ? "ended" : "hangs", (int)v.step, v.text, (unsigned)finished);
        return text;
    }
    return sim_writes(s) || drained ? NULL : "nothing was written";
}

static bool run_seed(uint64_t seed, bool trace)
{
    sim_options o = SIM_OPTIONS_INIT;
    uint64_t r = seed * 0x9e3779b97f4a7c15u;
    o.seed = seed;
    o.trace = trace;
    o.tasks = 2 + (uint32_t)(r >> 8) % 5;
    o.steps = 30 + (uint32_t)(r >> 16) % 70;
    o.compute_ns = (r >> 24) % 3 ? 50 * SIM_MS : 5 * SIM_MS;
    o.delay_ns = (r >> 28) % 4 ? SIM_MS / 5 : 10 * SIM_MS;
    o.copy_ns = (r >> 32) % 2 ? 5 * SIM_MS : 400 * SIM_MS;
    o.save_ns = (r >> 34) % 2 ? 5 * SIM_MS : 300 * SIM_MS;
    o.twice = (r >> 36) % 2;
    o.copy_destroys = (r >> 38) % 2;
    o.copy_outruns = (r >> 52) % 4 == 0;
    o.save_on_preempt = (r >> 44) % 2;
    o.min_members = 1 + ((r >> 40) % 4 == 0);
    sim *s = sim_create(&o);
    for (uint32_t t = 0; t < o.tasks; t++) sim_set_arithmetic(s, t, 1 + (uint32_t)((r >> (46 + t)) % 2), 0);
    plan p;
    make_plan(s, o.tasks, &p);
    sim_start_all(s);
    for (int64_t until = sim_now(s); until < 14 * SIM_SECOND; until += 5 * SIM_MS) {
        sim_run(s, until, NULL, NULL);
        play(s, &p);
    }
    sim_heal(s);
    sim_run(s, 200 * SIM_SECOND, NULL, NULL);
    const char *wrong = judge(s, o.tasks, p.drained);
    if (wrong) fprintf(stderr, "seed %llu: %s\n", (unsigned long long)seed, wrong);
    sim_destroy(s);
    return !wrong;
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void many_seeds(void **state)
{
    (void)state;
    bool all = getenv("ARTEL_LONG") != NULL;
    uint64_t seeds = all ? 200000 : 500, seed = 1;
    int failed = 0;
    double budget = all ? 240 : 20; /* seconds of processor time */
    for (double begun = seconds(); seed <= seeds && failed < 10 && seconds() - begun < budget; seed++)
        failed += !run_seed(seed, false);
    printf("%llu seeds\n", (unsigned long long)(seed - 1));
    assert_int_equal(failed, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(many_seeds)};
    if (argc > 1) return !run_seed(strtoull(argv[1], NULL, 10), true);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
