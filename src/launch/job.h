/* SPDX-License-Identifier: Apache-2.0 */
/* What a launcher decides: who is started again, who is told to end, and what the job's exit code is.
 *
 * A state machine without processes: the caller tells it what happened, with the time, and carries out what it answers.
 *
 * How a task ended: *well* (code 0); it *died* (a signal, or a code from 129 to 192, which is how shells and artel pass
 * a signal on); or it *failed* (any other code: it found something wrong itself). A task that was told to end can only
 * fail; one that was dismissed because there is nothing left to do, not even that, but for codes 1 and 2 of who trains.
 *
 * The tasks of a job *together* (artel with --strategy multi-worker) work at one result, each able to go on without the
 * others; those of any other job work on their own, unless they turn out to wait for those that have ended well (join).
 *
 * A job together begins with all who train and, where parameter servers take part, with all of these; or with as many
 * as it needs, among them as many servers as a chief that has just been started must have beside it. When too few are
 * left, because some ended and are not started again, and nobody has begun, those who wait are told to end
 * (artel__launch_job_abandon): they would wait in vain.
 *
 * The exit code: after a signal to the launcher 130 (SIGINT) or 128 + signal, unless everything had ended before; after
 * SIGTERM a task's own failure goes first. Otherwise that of the task which failed first. Not counted are, in a job
 * together, failures of others than the evaluator after which a chief or worker ended well: they were survived. When
 * none failed, 0 if a chief or worker ended well, for then the dead were survived; else that of the task that died
 * first. Of a job that was abandoned it is that of the task that was missed.
 *
 * Restarts: a task that died or failed is started again while it has restarts left, at once if it lived for a second,
 * else after 0.1 s, doubled each time, up to 5 s. Codes 1 and 2 of artel itself are final, for the same command would
 * fail again. In a job together nobody but an evaluator is started again once a chief or worker has ended well: it is
 * done. Parameter servers are told to end when nobody trains any more, an evaluator then too, unless training ended
 * well: it has the last checkpoint to evaluate. In a job together who still trains 5 s after the last good end is told
 * to end, too: it came (again) when the others had finished, or is stopped, and would wait for them. It is not killed,
 * for it may be writing the results.
 *
 * Times are nanoseconds of any clock that only grows. Belongs to one thread.
 */
#ifndef ARTEL_LAUNCH_JOB_H
#define ARTEL_LAUNCH_JOB_H

#include "cluster/cluster.h"

typedef enum artel__launch_state {
    ARTEL__LAUNCH_DUE,     /* to be started at `when` */
    ARTEL__LAUNCH_RUNNING, /* since `when` */
    ARTEL__LAUNCH_ENDED    /* at `when` */
} artel__launch_state;

typedef struct artel__launch_member {
    artel__task_type type;
    artel__launch_state state;
    int64_t when;
    int restarts;     /* so far */
    int code, signal; /* of its last end; signal 0: it ended with `code` */
    bool told;        /* to end, before it ended */
    bool dismissed;   /* told because there is nothing left to do */
} artel__launch_member;

/* What the caller has to do to tasks that run. */
typedef enum artel__launch_order {
    ARTEL__LAUNCH_NOTHING,
    ARTEL__LAUNCH_TERMINATE, /* SIGTERM */
    ARTEL__LAUNCH_KILL,      /* SIGKILL */
    ARTEL__LAUNCH_LEAVE      /* stop waiting */
} artel__launch_order;

typedef struct artel__launch_job {
    artel__launch_member *member; /* the caller's */
    int members;
    int restarts;        /* allowed to each */
    bool together;       /* see above */
    bool verdicts;       /* codes 1 and 2 are final: see above */
    int needed;          /* members for a job together to begin; 0: all */
    int served_to_begin; /* ps tasks without which it does not begin; 0: it begins without any */
    int served_to_go_on; /* ps tasks without which it does not go on; 0: one, where it has some */
    int missed;          /* for whose end it was abandoned, or -1 */
    int stopped;         /* the signal that ends the job, or 0 */
    int signals;         /* how many came */
} artel__launch_job;

/* All members are due at once; `type` of each must be set. */
void artel__launch_job_init(artel__launch_job *job, int64_t now);

/* The member to start next (the caller then reports started or ended), or -1. *out_wait is the time until another
 * becomes due, in ns; -1 when none will. */
int artel__launch_job_next(const artel__launch_job *job, int64_t now, int64_t *out_wait);
void artel__launch_job_started(artel__launch_job *job, int i, int64_t now);
/* A process ended at `when`; `status` is that of wait(2). True when the member is due again. */
bool artel__launch_job_ended(artel__launch_job *job, int i, int status, int64_t when);

/* The launcher got a signal: the first asks for SIGTERM to all, the second for SIGKILL, the third to wait no more. */
artel__launch_order artel__launch_job_signal(artel__launch_job *job, int number);
/* Whether member i, which runs, has to be told to end because there is nothing left to do; marks it as told. Those that
 * serve may be killed if they do not. */
typedef enum artel__launch_dismissal {
    ARTEL__LAUNCH_STAYS,
    ARTEL__LAUNCH_ASKED,
    ARTEL__LAUNCH_HURRIED
} artel__launch_dismissal;
artel__launch_dismissal artel__launch_job_dismiss(artel__launch_job *job, int i, int64_t now);
/* In a job together with parameter servers nothing goes on without a chief, a worker and enough servers: the type of
 * which too few are left, or -1, when those that are missing have ended for good, and none of that type well. The
 * others are dismissed. */
int artel__launch_job_lost(const artel__launch_job *job);
/* The time, in ns, until those who train too long are dismissed; -1 when nobody will be. */
int64_t artel__launch_job_patience(const artel__launch_job *job, int64_t now);

/* The time, in ns, until those who train on after others have ended well may be looking for them in vain; -1: never.
 * For jobs that are not together as far as is known. */
int64_t artel__launch_job_doubt(const artel__launch_job *job, int64_t now);
/* They are looking for them: the job is one together, as it turns out. */
void artel__launch_job_join(artel__launch_job *job);

/* The first that ended for good, when too few are left for a job together to begin, should it not have begun yet; else
 * -1. */
int artel__launch_job_misses(const artel__launch_job *job);
/* It has not begun, for want of member i: all others are marked as told to end. */
void artel__launch_job_abandon(artel__launch_job *job, int i);

bool artel__launch_job_over(const artel__launch_job *job);
/* Of a job that is over. *out_member is the task that decided it, or -1. */
int artel__launch_job_code(const artel__launch_job *job, int *out_member);

#endif
