/* SPDX-License-Identifier: Apache-2.0 */
/* The launcher's decisions; the rules are in job.h. */
#include "launch/job.h"

#include <signal.h>
#include <sys/wait.h>

#define MS ((int64_t)1000000)
#define LIVED (1000 * MS)
#define FIRST_DELAY (100 * MS)
#define LONGEST_DELAY (5000 * MS)
#define PATIENCE (5000 * MS) /* with those who train when others have ended well */

typedef enum outcome {
    WELL,
    DIED,
    FAILED,
    TOLD
} outcome;

static bool trains(const artel__launch_member *member)
{
    return member->type == ARTEL__TASK_CHIEF || member->type == ARTEL__TASK_WORKER;
}

static outcome outcome_of(const artel__launch_member *member)
{
    bool died = member->signal || (member->code > 128 && member->code <= 192);
    bool excused =
        member->dismissed && !(trains(member) && member->code <= 2); /* results may have failed to be written */
    if (!died && member->code && !excused) return FAILED;            /* even when told: it could not end in order */
    if (member->told) return TOLD;
    return died ? DIED : WELL;
}

static int exit_code(const artel__launch_member *member)
{
    return member->signal ? 128 + member->signal : member->code;
}

void artel__launch_job_init(artel__launch_job *job, int64_t now)
{
    for (int i = 0; i < job->members; i++)
        job->member[i] = (artel__launch_member){.type = job->member[i].type, .state = ARTEL__LAUNCH_DUE, .when = now};
    job->stopped = job->signals = 0;
    job->missed = -1;
}

int artel__launch_job_next(const artel__launch_job *job, int64_t now, int64_t *out_wait)
{
    *out_wait = -1;
    for (int i = 0; i < job->members; i++) {
        if (job->member[i].state != ARTEL__LAUNCH_DUE) continue;
        int64_t wait = job->member[i].when - now;
        if (wait <= 0) return i;
        if (*out_wait < 0 || wait < *out_wait) *out_wait = wait;
    }
    return -1;
}

void artel__launch_job_started(artel__launch_job *job, int i, int64_t now)
{
    job->member[i].state = ARTEL__LAUNCH_RUNNING;
    job->member[i].when = now;
    job->member[i].told = job->member[i].dismissed = false;
}

/* Members that a job waits for, of one type or of several. */
typedef struct awaited {
    int all, left; /* left: not ended for good */
    int first;     /* that ended for good, or -1 */
    bool well;     /* one of them has ended well */
} awaited;

enum {
    SERVE = 1u << ARTEL__TASK_PS,
    TRAIN = 1u << ARTEL__TASK_CHIEF | 1u << ARTEL__TASK_WORKER
};

/* Those whose type is in the set. */
static awaited count(const artel__launch_job *job, unsigned types)
{
    awaited a = {.first = -1};
    for (int i = 0; i < job->members; i++) {
        const artel__launch_member *member = &job->member[i];
        if (!(types >> member->type & 1u)) continue;
        a.all++;
        if (member->state != ARTEL__LAUNCH_ENDED) {
            a.left++;
            continue;
        }
        a.well = a.well || outcome_of(member) == WELL;
        if (a.first < 0 || member->when < job->member[a.first].when) a.first = i;
    }
    return a;
}

/* The last chief or worker that ended well, or NULL. */
static const artel__launch_member *last_well(const artel__launch_job *job)
{
    const artel__launch_member *last = NULL;
    for (int i = 0; i < job->members; i++) {
        const artel__launch_member *member = &job->member[i];
        if (!trains(member) || member->state != ARTEL__LAUNCH_ENDED || outcome_of(member) != WELL) continue;
        if (!last || member->when > last->when) last = member;
    }
    return last;
}

int artel__launch_job_lost(const artel__launch_job *job)
{
    static const artel__task_type needed[] = {ARTEL__TASK_CHIEF, ARTEL__TASK_WORKER, ARTEL__TASK_PS};
    bool served = count(job, SERVE).all > 0;
    for (size_t k = 0; job->together && served && k < ARTEL__COUNT(needed); k++) {
        awaited a = count(job, 1u << needed[k]);
        int least = needed[k] == ARTEL__TASK_PS && job->served_to_go_on ? job->served_to_go_on : 1;
        if (a.all > 0 && !a.well && a.left < least) return (int)needed[k];
    }
    return -1;
}

static bool may_restart(const artel__launch_job *job, const artel__launch_member *member)
{
    outcome how = outcome_of(member);
    if (job->stopped || member->restarts >= job->restarts || member->told || how == WELL) return false;
    if (job->verdicts && how == FAILED && member->code <= 2) return false;
    return !job->together || member->type == ARTEL__TASK_EVALUATOR || !last_well(job);
}

/* The job is done: those who were to be started again would find nobody. */
static void call_off(artel__launch_job *job)
{
    for (int i = 0; i < job->members; i++) {
        artel__launch_member *member = &job->member[i];
        if (trains(member) && member->state == ARTEL__LAUNCH_DUE) member->state = ARTEL__LAUNCH_ENDED;
    }
}

bool artel__launch_job_ended(artel__launch_job *job, int i, int status, int64_t when)
{
    artel__launch_member *member = &job->member[i];
    int64_t lived = when - member->when;
    member->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    member->code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    member->state = ARTEL__LAUNCH_ENDED;
    member->when = when;
    if (job->together && trains(member) && outcome_of(member) == WELL) call_off(job);
    if (!may_restart(job, member)) return false;
    int64_t delay = 0;
    if (lived < LIVED) {
        delay = FIRST_DELAY;
        for (int k = 0; k < member->restarts && delay < LONGEST_DELAY; k++) delay *= 2;
        if (delay > LONGEST_DELAY) delay = LONGEST_DELAY;
    }
    member->state = ARTEL__LAUNCH_DUE;
    member->when = when + delay;
    member->restarts++;
    return true;
}

static void tell_all(artel__launch_job *job)
{
    for (int i = 0; i < job->members; i++) {
        artel__launch_member *member = &job->member[i];
        if (member->state == ARTEL__LAUNCH_ENDED) continue;
        member->told = true;
        if (member->state == ARTEL__LAUNCH_DUE) member->state = ARTEL__LAUNCH_ENDED;
    }
}

artel__launch_order artel__launch_job_signal(artel__launch_job *job, int number)
{
    bool scheduler = number == SIGUSR1 || number == SIGUSR2; /* which will say SIGTERM later */
    if (job->signals++ == 0) job->stopped = scheduler ? SIGTERM : number;
    tell_all(job);
    return job->signals == 1 ? ARTEL__LAUNCH_TERMINATE : job->signals == 2 ? ARTEL__LAUNCH_KILL : ARTEL__LAUNCH_LEAVE;
}

/* As below, were the job one together. */
static int64_t patience(const artel__launch_job *job, int64_t now)
{
    const artel__launch_member *well = last_well(job);
    bool any = false;
    for (int i = 0; i < job->members; i++) {
        const artel__launch_member *member = &job->member[i];
        any = any || (trains(member) && member->state == ARTEL__LAUNCH_RUNNING && !member->told);
    }
    if (!well || !any) return -1;
    return now - well->when >= PATIENCE ? 0 : PATIENCE - (now - well->when);
}

int64_t artel__launch_job_patience(const artel__launch_job *job, int64_t now)
{
    return job->together ? patience(job, now) : -1;
}

int64_t artel__launch_job_doubt(const artel__launch_job *job, int64_t now)
{
    return job->together ? -1 : patience(job, now);
}

void artel__launch_job_join(artel__launch_job *job)
{
    job->together = true;
}

artel__launch_dismissal artel__launch_job_dismiss(artel__launch_job *job, int i, int64_t now)
{
    artel__launch_member *member = &job->member[i];
    if (member->state != ARTEL__LAUNCH_RUNNING || member->told) return ARTEL__LAUNCH_STAYS;
    bool needed = trains(member) ? artel__launch_job_patience(job, now) != 0 : count(job, TRAIN).left > 0;
    if (needed && artel__launch_job_lost(job) < 0) return ARTEL__LAUNCH_STAYS;
    if (member->type == ARTEL__TASK_EVALUATOR && last_well(job)) return ARTEL__LAUNCH_STAYS;
    member->told = member->dismissed = true;
    return trains(member) ? ARTEL__LAUNCH_ASKED : ARTEL__LAUNCH_HURRIED;
}

/* Of two members, either of which may be -1, the one that ended first. */
static int earlier(const artel__launch_job *job, int a, int b)
{
    if (a < 0 || b < 0) return a < 0 ? b : a;
    return job->member[b].when < job->member[a].when ? b : a;
}

int artel__launch_job_misses(const artel__launch_job *job)
{
    if (!job->together || job->stopped || job->missed >= 0 || last_well(job)) return -1;
    awaited training = count(job, TRAIN), serving = {.first = -1};
    if (job->served_to_begin) serving = count(job, SERVE);
    if (training.left == 0) return -1;
    if (serving.left < job->served_to_begin) return serving.first;
    int needed = job->needed ? job->needed : training.all + serving.all;
    if (training.left + serving.left >= needed) return -1;
    return earlier(job, training.first, serving.first);
}

void artel__launch_job_abandon(artel__launch_job *job, int i)
{
    job->missed = i;
    tell_all(job);
}

bool artel__launch_job_over(const artel__launch_job *job)
{
    for (int i = 0; i < job->members; i++)
        if (job->member[i].state != ARTEL__LAUNCH_ENDED) return false;
    return true;
}

static bool survived(const artel__launch_job *job, const artel__launch_member *member)
{
    const artel__launch_member *well = job->together ? last_well(job) : NULL;
    return well && member->type != ARTEL__TASK_EVALUATOR && well->when > member->when;
}

/* The first member that ended that way and was not survived, or -1. */
static int first_of(const artel__launch_job *job, outcome how)
{
    int first = -1;
    for (int i = 0; i < job->members; i++) {
        const artel__launch_member *member = &job->member[i];
        if (member->state != ARTEL__LAUNCH_ENDED || outcome_of(member) != how || survived(job, member)) continue;
        if (first < 0 || member->when < job->member[first].when) first = i;
    }
    return first;
}

int artel__launch_job_code(const artel__launch_job *job, int *out_member)
{
    int failed = first_of(job, FAILED);
    *out_member = -1;
    if (job->stopped && (job->stopped != SIGTERM || failed < 0)) return 128 + job->stopped;
    if (job->missed < 0 && failed < 0 && last_well(job)) return 0;
    *out_member = job->missed >= 0 ? job->missed : failed >= 0 ? failed : first_of(job, DIED);
    return *out_member >= 0 ? exit_code(&job->member[*out_member]) : 0;
}
