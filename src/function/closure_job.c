/* SPDX-License-Identifier: Apache-2.0 */
/* From one generation to the next, whatever a task's role. Every task says that it holds step 0, so no state goes from
 * one to another; what there is to repair is repaired by the coordinator. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/hash.h"
#include "function/closure.h"

#define LOOK_NS 20000000L
#define SECOND INT64_C(1000000000)
#define REMIND_NS (5 * SECOND)

artel__lane artel__closure_lane(const artel__closure_job *j, int rank)
{
    return (artel__lane){.endpoint = j->endpoint, .peer = rank, .job = j->seat.job, .generation = j->seat.generation};
}

artel_status artel__closure_move(const artel__closure_job *j)
{
    return artel__lane_judge(artel__net_progress(j->endpoint));
}

artel_status artel__closure_wait(const artel__closure_job *j)
{
    artel__net_wait(j->endpoint);
    return artel__closure_move(j);
}

artel_status artel__closure_misfit(artel_context *ctx, const char *who)
{
    return artel__fail(ctx, ARTEL_ERROR_INVALID, "closures", "run the same program everywhere",
                       "what %s sent does not fit this program's functions and variables", who);
}

artel_function *artel__closure_function(const artel_strategy *s, uint32_t number)
{
    artel_function *f = s->function;
    while (f && (uint32_t)f->number != number) f = f->next;
    return f;
}

/* Of a whole batch. */
static size_t function_bytes(const artel_function *f)
{
    size_t bytes = 0, rows = (size_t)f->strategy->options.batch_size;
    for (int i = 0; i < f->arguments; i++) {
        const artel__function_argument *a = &f->argument[i];
        bytes += (size_t)artel_shape_count(&a->shape) * artel_dtype_size(a->dtype) * (a->shared ? 1 : rows) + 8;
    }
    for (int i = 0; i < f->outputs; i++) bytes += artel__output_bytes(f, i, (int64_t)rows) + 8;
    return bytes;
}

size_t artel__closure_most(const artel_strategy *s)
{
    size_t padding = (size_t)(s->variables.count + s->pieces) * 64, most = 0;
    for (const artel_function *f = s->function; f; f = f->next) {
        size_t bytes = function_bytes(f);
        if (bytes > most) most = bytes;
    }
    size_t bits = (ARTEL__CLOSURES_APART + ARTEL__CLOSURES_KNOWN) / 4 + 4096; /* of closures that a part has: twice
                                                                                 what is wanted (ps/applied.c) */
    return s->variables.bytes * (ARTEL__APPLY_SLOTS + 3) + padding + most + bits;
}

size_t artel__output_bytes(const artel_function *f, int i, int64_t rows)
{
    const artel__value *v = &f->graph.value[f->graph.kept[i]];
    return (size_t)artel_shape_count(&v->shape) * artel_dtype_size(v->dtype) *
           (size_t)(v->domain == ARTEL__DOMAIN_ROW ? rows : 1);
}

/* -- generations -- */

/* Who computes nothing says no more of devices than that they are there (cluster/membership_greet.c). */
static void name_arithmetic(const artel_strategy *s, char out[40])
{
    const char *class = s->devices ? s->devices->arithmetic : "";
    if (s->devices)
        snprintf(out, 40, "pjrt %016llx", (unsigned long long)artel__hash64(class, strlen(class)));
    else
        snprintf(out, 40, "%s", s->on_devices ? "pjrt" : artel__arithmetic_name(s->arithmetic));
}

static artel_status begin(artel_strategy *s)
{
    char facts[ARTEL__FACTS_MAX + 1], hex[65], arithmetic[40];
    ARTEL_TRY(artel__functions_hash(s, hex));
    name_arithmetic(s, arithmetic);
    int length =
        snprintf(facts, sizeof facts,
                 "version of artel=%s\npass=closures\nprogram=%.32s\nbatch size=%lld\nseed=%llu\narithmetic=%s\n"
                 "partitioner=%d:%lld:%lld\ncopies=%d\n",
                 ARTEL_VERSION, hex, (long long)s->options.batch_size, (unsigned long long)s->options.seed, arithmetic,
                 (int)s->partition.kind, (long long)s->partition.bytes, (long long)s->partition.shards, s->copies);
    if (length < 0 || (size_t)length >= sizeof facts) return ARTEL_ERROR_INTERNAL;
    artel__mesh_request request = {.facts = facts, .replicas = 1, .shards = ARTEL__MAX_SHARDS};
    return artel__mesh_begin(s->options.cluster, &request);
}

static void take_seat(artel__closure_job *j, const artel__mesh_order *order)
{
    const artel__cluster *tasks = artel__mesh_tasks(j->cluster);
    j->seat = order->seat;
    j->chief = -1;
    j->servers = j->workers = 0;
    for (int i = 0; i < ARTEL__MOST_MEMBERS; i++) j->server[i] = -1;
    for (int r = 0; r < j->seat.ranks; r++) {
        const artel__task *task = &tasks->task[artel__mesh_task_of(j->cluster, r)];
        j->type[r] = task->type;
        j->index[r] = (int)task->index;
        if (task->type == ARTEL__TASK_CHIEF) j->chief = r;
        if (task->type == ARTEL__TASK_WORKER) j->workers++;
        if (task->type != ARTEL__TASK_PS) continue;
        j->server[task->index] = r;
        j->servers++;
    }
    j->endpoint = j->seat.ranks > 1 ? j->seat.endpoint[0] : NULL;
    j->last = order->last;
    if (!j->seat.begins)
        artel__log(j->ctx, ARTEL_LOG_NOTE, "generation %u: %d member%s, %d joined, %d left (%s)",
                   (unsigned)j->seat.generation, j->seat.members, j->seat.members == 1 ? "" : "s", j->seat.joiners,
                   j->seat.leavers, j->seat.why);
}

/* *over: all have ended. */
static artel_status follow(artel__closure_job *j, bool *over)
{
    artel__mesh_order order;
    for (bool seated = false; !seated && !*over;) {
        ARTEL_TRY(artel__mesh_await(j->cluster, &order));
        switch (order.kind) {
        case ARTEL__MESH_COPY:
            artel__mesh_copied(j->cluster, false, 0);
            break; /* all say that they hold the same: not asked for */
        case ARTEL__MESH_SERVE: artel__mesh_served(j->cluster); break;
        case ARTEL__MESH_START:
            take_seat(j, &order);
            seated = true;
            break;
        case ARTEL__MESH_SAVE: artel__mesh_saved(j->cluster, 0); break;
        case ARTEL__MESH_LEAVE: break; /* of who saves first */
        case ARTEL__MESH_DONE: *over = true; break;
        }
    }
    return ARTEL_OK;
}

/* Nobody goes on without the chief: it is waited for, through all generations, as long as tasks are that are not there.
 */
static artel_status await_chief(artel__closure_job *j)
{
    const struct timespec pause = {.tv_nsec = LOOK_NS};
    int64_t patience = artel__mesh_patience_ns(j->cluster), said = 0;
    if (j->chiefless_ns == 0) j->chiefless_ns = artel__now_ns();
    for (; !artel__mesh_stopping(j->cluster); nanosleep(&pause, NULL)) {
        int64_t now = artel__now_ns();
        if (now - j->chiefless_ns >= patience)
            return artel__fail(j->ctx, ARTEL_ERROR_RUN, "closures",
                               "see whether the job has ended; else start it again",
                               "waited %lld s for the chief (.wait_for_cluster), without which nothing goes on",
                               (long long)(patience / SECOND));
        if (now - said < REMIND_NS) continue;
        artel__log(j->ctx, ARTEL_LOG_NOTE, "waiting for the chief, without which nothing goes on");
        said = now;
    }
    return ARTEL_AGAIN;
}

static artel_status run_seat(artel__closure_job *j, artel__closure_role_fn *role, void *user)
{
    if (j->last) return ARTEL_OK;
    if (j->chief < 0) return await_chief(j);
    j->chiefless_ns = 0;
    return role(j, user);
}

static artel_status run(artel__closure_job *j, artel__closure_role_fn *role, void *user)
{
    for (bool over = false; !over;) {
        ARTEL_TRY(follow(j, &over));
        if (over) break;
        artel_status status = run_seat(j, role, user);
        if (status < 0) return status;
        if (!j->aside)
            artel__operation_begin(j->ctx); /* what a generation that is over has recorded is no failure of this job */
        if (status == ARTEL_OK && !artel__mesh_stopping(j->cluster)) {
            artel__mesh_finished(j->cluster, 0, 0);
            continue;
        }
        artel__mesh_rest(j->cluster, 0, 0);
        if (!artel__mesh_stopping(j->cluster)) artel__mesh_renew(j->cluster);
    }
    if (!j->last) return ARTEL_OK;
    return artel__fail(j->ctx, ARTEL_ERROR_PREEMPTED, "closures", "start the job again", "the job was asked to end");
}

artel_status artel__closure_run(artel_strategy *s, bool aside, artel__closure_role_fn *role, void *user)
{
    artel__closure_job j = {.strategy = s, .ctx = s->ctx, .cluster = s->options.cluster, .aside = aside};
    artel_status status = begin(s);
    if (status < 0) {
        artel__mesh_unbegun(j.cluster, status);
        return status;
    }
    status = run(&j, role, user);
    if (status < 0 && status != ARTEL_ERROR_PREEMPTED) artel__mesh_fail(j.cluster, false, status);
    artel__mesh_end(j.cluster);
    return status;
}
