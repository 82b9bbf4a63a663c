/* SPDX-License-Identifier: Apache-2.0 */
/* From one generation to the next, whatever a task's role. The protocol of the mesh is that of regroup.c, but for the state: every
 * task says that it holds step 0, so none is copied, and what there is to repair is repaired by the coordinator. */
#include "train/servers.h"

#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/text.h"
#include "ps/part.h"
#include "train/callbacks.h"

#define LOOK_NS 20000000L
#define REMIND_NS INT64_C(5000000000)

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

artel_status artel__fit_find_role(artel__fit *fit)
{
    const artel_fit_options *o = &fit->options;
    if (!o->strategy || strcmp(o->strategy, "parameter-server") != 0 || o->dry_run) return ARTEL_OK;
    if (artel__mesh_is_single(o->cluster))
        return artel__fail(fit->ctx, ARTEL_ERROR_INVALID, ".strategy", "start it with artel launch -n 2 --ps 1, or set TF_CONFIG",
                           "parameter-server needs a cluster with a chief, workers and ps tasks, and this process is alone");
    int servers = artel__mesh_tasks(o->cluster)->count[ARTEL__TASK_PS];
    if (servers > ARTEL__MOST_SERVERS)
        return artel__fail(fit->ctx, ARTEL_ERROR_UNSUPPORTED, "parameter servers", "use fewer, with more memory each",
                           "%d ps tasks are more than the %d that a job may have", servers, ARTEL__MOST_SERVERS);
    const char *type = artel_cluster_role(o->cluster);
    fit->role = strcmp(type, "chief") == 0 ? ARTEL__ROLE_COORDINATOR : strcmp(type, "ps") == 0 ? ARTEL__ROLE_SERVER : ARTEL__ROLE_WORKER;
    return ARTEL_OK;
}

artel_status artel__fit_check_device(artel__fit *fit, artel__device_request *device)
{
    bool named;
    if (fit->role == ARTEL__ROLE_NONE) return ARTEL_OK;
    if (device->device && strcmp(device->device, "auto") == 0) device->device = "cpu";
    ARTEL_TRY(artel__devices_named(fit->ctx, device, &named));
    if (!named) return ARTEL_OK;
    return artel__fail(fit->ctx, ARTEL_ERROR_UNSUPPORTED, "device", "use multi-worker, or processors",
                       "workers of parameter-server compute on processors in this version");
}

/* What these modes cannot do, said before anything is begun. */
static artel_status check_optimizer(artel__fit *fit)
{
    const artel__optimizer *optimizer = &fit->settings.optimizer;
    const artel__variables *variables = fit->model->nn->variables;
    for (int i = 0; i < variables->count; i++) {
        if (artel__variable_narrow(&variables->item[i]))
            return artel__fail(fit->ctx, ARTEL_ERROR_UNSUPPORTED, variables->item[i].name, "use multi-worker, or a mixed policy",
                               "parameter servers do not keep variables of %s", artel_dtype_name(variables->item[i].dtype));
    }
    const char *what = optimizer->scales_loss ? "a LossScaleOptimizer" : optimizer->accumulation_steps > 1 ? "gradient accumulation" : NULL;
    if (!what) return ARTEL_OK;
    return artel__fail(fit->ctx, ARTEL_ERROR_UNSUPPORTED, optimizer->class_name, "use multi-worker, or leave it out",
                       "%s goes from batch to batch, and workers of parameter-server compute batches apart from one another", what);
}

/* The mean of some gradients has a norm that no worker knows. */
static artel_status check_some(const artel__service *s)
{
    const artel__optimizer *optimizer = &s->fit->settings.optimizer;
    int workers = artel__mesh_tasks(s->cluster)->count[ARTEL__TASK_WORKER];
    if (s->some == 0) return ARTEL_OK;
    if (s->some > workers)
        return artel__fail(s->fit->ctx, ARTEL_ERROR_INVALID, ".consistency", "start more workers, or wait for fewer",
                           "sync:%d waits for %d of %d workers", s->some, s->some, workers);
    if (optimizer->clipnorm <= 0 && optimizer->global_clipnorm <= 0) return ARTEL_OK;
    return artel__fail(s->fit->ctx, ARTEL_ERROR_UNSUPPORTED, ".consistency", "use sync, or clip by value", "sync:%d does not clip by norm",
                       s->some);
}

static artel_status read_copies(artel__service *s)
{
    int64_t copies = s->fit->options.ps_copies ? s->fit->options.ps_copies : 1;
    int servers = artel__mesh_tasks(s->cluster)->count[ARTEL__TASK_PS];
    if (copies < 1 || copies > ARTEL__MOST_COPIES)
        return artel__fail(s->fit->ctx, ARTEL_ERROR_INVALID, ".ps_copies", "use 1, 2 or 3", "%lld copies of a part are not supported",
                           (long long)copies);
    if (copies > servers)
        return artel__fail(s->fit->ctx, ARTEL_ERROR_INVALID, ".ps_copies", "start as many ps tasks, or leave it out",
                           "%lld copies of a part need as many ps tasks, and there is %d", (long long)copies, servers);
    s->copies = (int)copies;
    return ARTEL_OK;
}

static artel_status read_options(artel__service *s)
{
    const artel_fit_options *o = &s->fit->options;
    const char *text = o->consistency ? o->consistency : "async";
    int64_t some = 0;
    s->staleness = -1;
    s->sync = strcmp(text, "sync") == 0;
    bool good = s->sync || strcmp(text, "async") == 0;
    if (artel__starts_with(text, "bounded:"))
        good = artel__parse_int64(text + 8, &s->staleness) && s->staleness >= 0 && s->staleness < 1 << 20;
    if (artel__starts_with(text, "sync:")) good = artel__parse_int64(text + 5, &some) && some >= 1 && some <= ARTEL__MOST_SOME;
    if (!good)
        return artel__fail(s->fit->ctx, ARTEL_ERROR_INVALID, ".consistency",
                           "use async, bounded:2, sync, or sync:3 for the first 3 workers",
                           "\"%.40s\" is not a consistency of this version", text);
    s->some = (int)some;
    ARTEL_TRY(check_optimizer(s->fit));
    ARTEL_TRY(check_some(s));
    ARTEL_TRY(read_copies(s));
    artel__partition_rule rule;
    s->partitioner = o->ps_partitioner ? o->ps_partitioner : "none";
    return artel__partition_read(s->fit->ctx, s->partitioner, 1, &rule);
}

/* -- messages -- */

artel__lane artel__service_lane(const artel__service *s, int rank)
{
    return (artel__lane){.endpoint = s->endpoint, .peer = rank, .job = s->seat.job, .generation = s->seat.generation};
}

artel_status artel__service_move(const artel__service *s)
{
    return artel__service_judge(artel__net_progress(s->endpoint));
}

artel_status artel__service_wait(const artel__service *s)
{
    artel__net_wait(s->endpoint);
    return artel__service_move(s);
}

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
    fit->save_and_end = order->last;
    if (fit->schedule_replicas == 0) fit->schedule_replicas = s->workers;
    ARTEL_TRY(artel__fit_apply_replicas(fit));
    artel__fit_tell_membership(fit, &s->seat);
    return ARTEL_OK;
}

static artel_status follow(artel__service *s)
{
    artel__fit *fit = s->fit;
    artel_status status = ARTEL_OK;
    artel__mesh_order order;
    fit->seated = false;
    while (status == ARTEL_OK && !fit->seated && !fit->over) {
        ARTEL_TRY(artel__mesh_await(s->cluster, &order));
        switch (order.kind) {
        case ARTEL__MESH_COPY: artel__mesh_copied(s->cluster, false, 0); break; /* all say that they hold the same: not asked for */
        case ARTEL__MESH_SERVE: artel__mesh_served(s->cluster); break;
        case ARTEL__MESH_START:
            status = take_seat(s, &order);
            fit->seated = status == ARTEL_OK;
            break;
        case ARTEL__MESH_SAVE:
            if (fit->role == ARTEL__ROLE_COORDINATOR) status = fit->conclude(fit, order.last);
            if (status == ARTEL_OK) artel__mesh_saved(s->cluster, 0);
            break;
        case ARTEL__MESH_DONE: fit->over = true; break;
        }
    }
    return status;
}

/* Who is missing, so that nobody can go on; waits for the next generation. */
static void await_others(artel__service *s, const char *whom)
{
    const struct timespec pause = {.tv_nsec = LOOK_NS};
    int64_t said = 0;
    while (!artel__mesh_stopping(s->cluster)) {
        if (artel__now_ns() - said >= REMIND_NS) {
            artel__log(s->fit->ctx, ARTEL_LOG_NOTE, "waiting for %s, without which nothing goes on", whom);
            said = artel__now_ns();
        }
        nanosleep(&pause, NULL);
    }
}

/* Without whom this task can do nothing: others hear from the chief what is to be done, or that all is over. */
static const char *find_missing(const artel__service *s)
{
    if (s->chief < 0) return "the chief";
    if (s->fit->role != ARTEL__ROLE_COORDINATOR || s->fit->ended) return NULL;
    return s->servers == 0 ? "a ps task" : s->workers == 0 ? "a worker" : NULL;
}

static artel_status run_seat(artel__service *s, const serving *way, void *user)
{
    const char *missing = find_missing(s);
    if (s->fit->save_and_end) return ARTEL_OK;
    if (missing) {
        await_others(s, missing);
        return ARTEL_AGAIN;
    }
    return way->run(s, user);
}

static artel_status run(artel__service *s, const serving *way, void *user)
{
    artel__fit *fit = s->fit;
    while (!fit->over) {
        ARTEL_TRY(follow(s));
        if (fit->over) break;
        artel_status status = run_seat(s, way, user);
        if (status < 0) return status;
        if (status == ARTEL_OK && fit->save_and_end && fit->role == ARTEL__ROLE_COORDINATOR) artel__coordinator_go_back(fit, user);
        if (status == ARTEL_OK && !artel__mesh_stopping(s->cluster)) {
            artel__mesh_finished(s->cluster, 0, 0);
            continue;
        }
        artel__operation_begin(fit->ctx); /* what a generation that is over has recorded is no failure of this run */
        artel__mesh_rest(s->cluster, 0, 0);
        if (!artel__mesh_stopping(s->cluster)) artel__mesh_renew(s->cluster);
    }
    return ARTEL_OK;
}

artel_status artel__fit_run_servers(artel__fit *fit)
{
    artel__service service = {.fit = fit, .cluster = fit->options.cluster};
    const serving *way = &roles[fit->role];
    void *user = NULL;
    ARTEL_TRY(read_options(&service));
    ARTEL_TRY(artel__fit_join(fit));
    artel__session_stop_when(fit->session, artel__mesh_stop_flag(service.cluster));
    artel_status status = way->create(fit, &user);
    if (status == ARTEL_OK) status = run(&service, way, user);
    way->destroy(fit, user);
    return status;
}
