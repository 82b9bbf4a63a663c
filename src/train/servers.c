/* SPDX-License-Identifier: Apache-2.0 */
/* From one generation to the next, whatever a task's role. The protocol of the mesh is that of regroup.c, but for the
 * state: every task says that it holds step 0, so none is copied, and what there is to repair is repaired by the
 * coordinator. */
#include "train/servers.h"

#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/text.h"
#include "ps/majority.h"
#include "train/callbacks.h"

#define LOOK_NS 20000000L
#define SECOND INT64_C(1000000000)
#define REMIND_NS (5 * SECOND)

typedef struct serving {
    artel_status (*create)(artel__fit *fit, void **out);
    void (*destroy)(artel__fit *fit, void *user);
    artel_status (*run)(artel__service *service, void *user);
} serving;

static const serving roles[] = {
    [ARTEL__ROLE_COORDINATOR] = {artel__coordinator_create, artel__coordinator_destroy, artel__coordinate},
    [ARTEL__ROLE_WORKER] = {artel__worker_create, artel__worker_destroy, artel__work},
    [ARTEL__ROLE_SERVER] = {artel__server_create, artel__server_destroy, artel__serve},
};

/* -- generations -- */

static artel_status take_seat(artel__service *s, const artel__mesh_order *order)
{
    artel__fit *fit = s->fit;
    const artel__cluster *tasks = artel__mesh_tasks(s->cluster);
    s->seat = order->seat;
    s->chief = -1;
    s->servers = s->workers = 0;
    for (int r = 0; r < s->seat.ranks; r++) {
        int task = artel__mesh_task_of(s->cluster, r);
        s->task[r] = task;
        s->type[r] = tasks->task[task].type;
        if (s->type[r] == ARTEL__TASK_CHIEF) s->chief = r;
        if (s->type[r] == ARTEL__TASK_WORKER) s->workers++;
        if (s->type[r] == ARTEL__TASK_PS) s->server[s->servers++] = r;
    }
    s->endpoint = s->seat.ranks > 1 ? s->seat.endpoint[0] : NULL;
    fit->writes = fit->role == ARTEL__ROLE_COORDINATOR;
    fit->job.save_and_end = order->last;
    fit->job.saved = false;
    atomic_store(&fit->job.forsaken, order->last && s->servers < artel__majority_beside(tasks->count[ARTEL__TASK_PS]));
    if (fit->job.schedule_replicas == 0) fit->job.schedule_replicas = s->workers;
    ARTEL_TRY(artel__fit_apply_replicas(fit));
    ARTEL_TRY(artel__service_know_workers(s));
    artel__fit_tell_membership(fit, &s->seat);
    return ARTEL_OK;
}

static void say_unsaved(const artel__fit *fit)
{
    artel__log(fit->ctx, ARTEL_LOG_WARNING,
               "no checkpoint of step %lld is written: one as new is there, and no majority of the ps tasks is here",
               (long long)fit->at.step);
}

/* Another generation saves, or this task has been replaced; or it has been told to end, beside too few servers, and
 * others have come further. */
static artel_status leave_unsaved(artel__service *s)
{
    bool forsaken = atomic_load(&s->fit->job.forsaken) && !artel__mesh_stopping(s->cluster);
    if (!forsaken) artel__mesh_unsaved(s->cluster);
    if (!forsaken) return ARTEL_OK;
    say_unsaved(s->fit);
    artel__mesh_saved(s->cluster, 0);
    return ARTEL_OK;
}

/* Told to leave, while the others go on: they wait for a chief, which goes on from what is saved here. That is the last
 * whole state. The generation may end meanwhile; who has come further has saved that. */
static artel_status leave_saved(artel__service *s, void *user)
{
    artel__fit *fit = s->fit;
    artel__coordinator_go_back(fit, user);
    artel_status status = artel__checkpointer_catch_up(fit);
    if (status == ARTEL_AGAIN) {
        atomic_store(&fit->job.forsaken, true);
        status = artel__checkpointer_catch_up(fit);
    }
    if (status < 0) return status;
    if (!fit->options.checkpoint_dir)
        artel__log(fit->ctx, ARTEL_LOG_WARNING,
                   "the chief leaves, and nothing is saved without .checkpoint_dir: started again, it begins anew");
    else if (status == ARTEL_AGAIN)
        say_unsaved(fit);
    else
        artel__log(fit->ctx, ARTEL_LOG_NOTE, "the chief leaves after saving: started again, it goes on from step %lld",
                   (long long)fit->at.step);
    artel__mesh_drain(s->cluster);
    return ARTEL_OK;
}

static artel_status follow(artel__service *s, void *user)
{
    artel__fit *fit = s->fit;
    artel_status status = ARTEL_OK;
    artel__mesh_order order;
    fit->job.seated = false;
    while (status == ARTEL_OK && !fit->job.seated && !fit->job.over) {
        ARTEL_TRY(artel__mesh_await(s->cluster, &order));
        switch (order.kind) {
        case ARTEL__MESH_COPY:
            artel__mesh_copied(s->cluster, false, 0);
            break; /* all say that they hold the same: not asked for */
        case ARTEL__MESH_SERVE: artel__mesh_served(s->cluster); break;
        case ARTEL__MESH_START:
            status = take_seat(s, &order);
            fit->job.seated = status == ARTEL_OK;
            break;
        case ARTEL__MESH_SAVE:
            if (fit->role == ARTEL__ROLE_COORDINATOR) status = fit->result.conclude(fit, order.last);
            artel__service_fail_job(s, status);
            fit->job.saved = status == ARTEL_OK && s->chief >= 0;
            if (status == ARTEL_OK) artel__mesh_saved(s->cluster, 0);
            if (status == ARTEL_AGAIN) status = leave_unsaved(s);
            break;
        case ARTEL__MESH_LEAVE: status = leave_saved(s, user); break;
        case ARTEL__MESH_DONE: fit->job.over = true; break;
        }
    }
    return status;
}

artel_status artel__service_await(const artel__service *s, const char *whom)
{
    const struct timespec pause = {.tv_nsec = LOOK_NS};
    artel__fit *fit = s->fit;
    int64_t patience = artel__mesh_patience_ns(s->cluster), said = 0;
    if (fit->job.missed_since == 0) fit->job.missed_since = artel__now_ns();
    while (!artel__mesh_stopping(s->cluster) && !artel__mesh_leaving(s->cluster)) {
        int64_t now = artel__now_ns();
        if (now - fit->job.missed_since >= patience)
            return artel__fail(fit->ctx, ARTEL_ERROR_RUN, "parameter servers",
                               "see whether the job has ended; else start it again",
                               "waited %lld s for %s (.wait_for_cluster), without which nothing goes on",
                               (long long)(patience / SECOND), whom);
        if (now - said >= REMIND_NS) {
            artel__log(fit->ctx, ARTEL_LOG_NOTE, "waiting for %s, without which nothing goes on", whom);
            said = now;
        }
        nanosleep(&pause, NULL);
    }
    return ARTEL_AGAIN;
}

void artel__service_is_whole(const artel__service *s)
{
    s->fit->job.missed_since = 0;
}

/* Without whom this task can do nothing: others hear from the chief what is to be done, or that all is over; and a
 * chief without servers has been replaced, perhaps. */
static const char *find_missing(const artel__service *s)
{
    if (s->chief < 0) return "the chief";
    if (s->fit->role != ARTEL__ROLE_COORDINATOR) return NULL;
    return s->servers == 0 ? "a ps task" : s->workers == 0 && !s->fit->at.ended ? "a worker" : NULL;
}

static artel_status run_seat(artel__service *s, const serving *way, void *user)
{
    const char *missing = find_missing(s);
    if (s->fit->job.save_and_end) return ARTEL_OK;
    if (missing) return artel__service_await(s, missing);
    if (s->fit->role != ARTEL__ROLE_COORDINATOR) artel__service_is_whole(s); /* it has a majority to find yet */
    return way->run(s, user);
}

static artel_status run(artel__service *s, const serving *way, void *user)
{
    artel__fit *fit = s->fit;
    while (!fit->job.over) {
        ARTEL_TRY(follow(s, user));
        if (fit->job.over) break;
        artel_status status = run_seat(s, way, user);
        if (status < 0) return status;
        if (status == ARTEL_OK && fit->job.save_and_end && fit->role == ARTEL__ROLE_COORDINATOR)
            artel__coordinator_go_back(fit, user);
        if (status == ARTEL_OK && !artel__mesh_stopping(s->cluster)) {
            artel__mesh_finished(s->cluster, 0, 0);
            continue;
        }
        bool leaves = artel__mesh_leaving(s->cluster);
        if (leaves) ARTEL_TRY(leave_saved(s, user));
        artel__operation_begin(fit->ctx); /* what a generation that is over has recorded is no failure of this run */
        artel__mesh_rest(s->cluster, 0, 0);
        if (!leaves && !artel__mesh_stopping(s->cluster)) artel__mesh_renew(s->cluster);
    }
    return ARTEL_OK;
}

artel_status artel__fit_run_servers(artel__fit *fit)
{
    artel__service service = {.fit = fit, .cluster = fit->options.cluster};
    const serving *way = &roles[fit->role];
    void *user = NULL;
    ARTEL_TRY(artel__service_read_options(&service));
    ARTEL_TRY(artel__fit_join(fit));
    artel__session_stop_when(fit->session, artel__mesh_stop_flag(service.cluster));
    artel_status status = way->create(fit, &user);
    if (status == ARTEL_OK) status = run(&service, way, user);
    way->destroy(fit, user);
    return status;
}
