/* SPDX-License-Identifier: Apache-2.0 */
/* A run among other tasks: from one generation to the next.
 *
 * Between two units of work (fit->at.unit counts them: steps, batches of validation, ends of epochs, the end of
 * training) the state is whole and a function of that number alone. So whoever was interrupted rests with the last
 * whole unit, follows the mesh's orders (gives its state, takes another one's), and goes on in the next seat. A run is
 * over when the mesh says that all have ended in order: until then whoever is asked still gives the state.
 */
#include <stdio.h>
#include <string.h>

#include "train/audit.h"
#include "train/callbacks.h"
#include "train/content.h"
#include "train/deal.h"
#include "train/fit_impl.h"

/* Those that left beside the one that `why` begins with: "; also worker 2 (...)". */
static void list_others(const artel__mesh_seat *seat, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (int i = 0; i < seat->leavers; i++) {
        size_t length = strlen(seat->left[i]);
        if (strncmp(seat->why, seat->left[i], length) == 0 && seat->why[length] == ':') continue;
        int n = snprintf(out + used, size - used, "%s%s", used ? ", " : "; also ", seat->left[i]);
        if ((size_t)n >= size - used) break; /* the last one is cut */
        used += (size_t)n;
    }
}

void artel__fit_tell_membership(artel__fit *fit, const artel__mesh_seat *seat)
{
    artel_event event = {.kind = ARTEL_EVENT_MEMBERSHIP,
                         .text = seat->why,
                         .generation = seat->generation,
                         .member = seat->member,
                         .joined = seat->joined,
                         .left = seat->left,
                         .members = seat->members,
                         .joiners = seat->joiners,
                         .leavers = seat->leavers,
                         .pause_ms = (double)seat->pause_ns * 1e-6,
                         .writes = seat->writer};
    char others[512];
    list_others(seat, others, sizeof others);
    if (!seat->begins)
        artel__log(fit->ctx, ARTEL_LOG_NOTE,
                   "generation %u: %d member%s from step %lld, %d joined, %d left (%s%s); paused %.0f ms",
                   (unsigned)seat->generation, seat->members, seat->members == 1 ? "" : "s", (long long)fit->at.step,
                   seat->joiners, seat->leavers, seat->why, others, (double)seat->pause_ns * 1e-6);
    if (fit->at.units) return; /* a pass of evaluation or prediction */
    artel__fit_say_start(fit);
    artel__fit_event(fit, &event);
}

static artel_status take_seat(artel__fit *fit, const artel__mesh_order *order)
{
    bool first = !fit->job.seated_before;
    fit->job.seated_before = true;
    artel__content_seated(fit);
    artel__deal_unseat(fit);
    fit->writes = order->seat.writer;
    fit->job.save_and_end = order->last;
    fit->job.saved = false;
    if (order->step != (uint64_t)fit->at.unit)
        return artel__fail(fit->ctx, ARTEL_ERROR_INTERNAL, "cluster", "please report this",
                           "asked to go on from %llu, at %lld", (unsigned long long)order->step,
                           (long long)fit->at.unit);
    ARTEL_TRY(artel__session_seat(fit->session, &order->seat));
    if (first && fit->job.schedule_replicas == 0) fit->job.schedule_replicas = artel__session_ranks(fit->session);
    ARTEL_TRY(artel__fit_apply_replicas(fit));
    artel__fit_tell_membership(fit, &order->seat);
    if (first) ARTEL_TRY(artel__fit_report_plan(fit));
    artel__audit_take_over(fit);
    return artel__callbacks_take_over(fit);
}

static artel_status copy(artel__fit *fit, const artel__mesh_order *order)
{
    artel_cluster *cluster = artel__fit_cluster(fit);
    bool tells = fit->job.seated_before && fit->writes;
    int64_t epoch = fit->at.epoch;
    artel_status status = artel__fit_take_state(fit, order->stream);
    bool whole = status == ARTEL_OK && (uint64_t)fit->at.unit == order->step;
    if (status == ARTEL_OK) /* what was held before is gone, also when it is not the state that was wanted */
        artel__log(fit->ctx, ARTEL_LOG_NOTE, "continuing from step %lld, with the state of another task",
                   (long long)fit->at.step);
    artel__mesh_copied(cluster, whole, artel__session_hash(fit->session));
    if (whole && tells && fit->at.epoch > epoch) status = artel__fit_tell_passed_epoch(fit);
    return status == ARTEL_ERROR_RUN ? ARTEL_OK : status;
}

/* SAVE: all hold the last state. */
static artel_status save(artel__fit *fit, const artel__mesh_order *order)
{
    artel_status status = ARTEL_OK;
    fit->writes = order->writer;
    if (fit->result.conclude) status = fit->result.conclude(fit, order->last);
    fit->job.saved = status == ARTEL_OK;
    if (status == ARTEL_OK)
        artel__mesh_saved(artel__fit_cluster(fit), order->writer ? artel__session_hash(fit->session) : 0);
    return status;
}

artel_status artel__fit_follow(artel__fit *fit)
{
    artel_cluster *cluster = artel__fit_cluster(fit);
    artel_status status = ARTEL_OK;
    artel__mesh_order order;
    artel__session_unseat(fit->session);
    fit->job.seated = false;
    while (status == ARTEL_OK && !fit->job.seated && !fit->job.over) {
        ARTEL_TRY(artel__mesh_await(cluster, &order));
        switch (order.kind) {
        case ARTEL__MESH_COPY: status = copy(fit, &order); break;
        case ARTEL__MESH_SERVE:
            artel__fit_send_state(fit, order.stream); /* who asked will notice, and ask again or be lost */
            artel__mesh_served(cluster);
            break;
        case ARTEL__MESH_START:
            status = take_seat(fit, &order);
            fit->job.seated = status == ARTEL_OK;
            break;
        case ARTEL__MESH_SAVE: status = save(fit, &order); break;
        case ARTEL__MESH_LEAVE: break; /* of who saves first */
        case ARTEL__MESH_DONE: fit->job.over = true; break;
        }
    }
    return status;
}

static void rest(artel__fit *fit)
{
    artel__session_unseat(fit->session);
    artel__operation_begin(fit->ctx); /* what a generation that is over has recorded is no failure of this run */
    artel__mesh_rest(artel__fit_cluster(fit), (uint64_t)fit->at.unit, artel__session_hash(fit->session));
}

/* Checkpoints are taken of units that have been counted: a position with another one's state would be a lie to all
 * others. */
static artel_status work_alone(artel__fit *fit, artel__fit_unit_fn *unit)
{
    ARTEL_TRY(unit(fit));
    fit->at.unit++;
    return artel__checkpointer_unit(fit);
}

/* One unit, told to the others. */
static artel_status work(artel__fit *fit, artel__fit_unit_fn *unit)
{
    ARTEL_TRY(work_alone(fit, unit));
    bool hashed = artel__mesh_hashes(artel__fit_cluster(fit), (uint64_t)fit->at.unit);
    artel__mesh_stepped(artel__fit_cluster(fit), (uint64_t)fit->at.unit,
                        hashed ? artel__session_hash(fit->session) : 0);
    return ARTEL_OK;
}

artel_status artel__fit_run(artel__fit *fit, artel__fit_unit_fn *unit)
{
    artel_cluster *cluster = artel__fit_cluster(fit);
    while (!cluster && !fit->at.ended) ARTEL_TRY(work_alone(fit, unit));
    while (cluster && !fit->job.over) {
        if (!fit->job.seated) ARTEL_TRY(artel__fit_follow(fit));
        if (fit->job.over) break;
        artel_status status = ARTEL_OK;
        while (status == ARTEL_OK && !fit->at.ended && !fit->job.save_and_end && !artel__mesh_stopping(cluster))
            status = work(fit, unit);
        if (status < 0 && !artel__session_interrupted(fit->session)) return status;
        fit->job.seated = false;
        if (status == ARTEL_OK && (fit->at.ended || fit->job.save_and_end) && !artel__mesh_stopping(cluster)) {
            artel__session_unseat(fit->session);
            artel__mesh_finished(cluster, (uint64_t)fit->at.unit, artel__session_hash(fit->session));
        } else
            rest(fit);
    }
    return ARTEL_OK;
}

artel_status artel__fit_end(artel__fit *fit, artel_status status)
{
    artel_cluster *cluster = fit->session ? artel__fit_cluster(fit) : fit->options.cluster;
    if (fit->options.dry_run || artel__mesh_is_single(cluster)) return status;
    bool told = fit->job.saved || fit->role == ARTEL__ROLE_WORKER || fit->role == ARTEL__ROLE_SERVER;
    if (status == ARTEL_ERROR_PREEMPTED && fit->job.save_and_end && told) status = artel__fit_preempted(fit);
    if (fit->session) artel__session_unseat(fit->session);
    if (status < 0 && fit->job.begun)
        artel__mesh_fail(cluster, fit->session && artel__session_is_common_fault(fit->session), status);
    if (fit->job.begun) artel__mesh_end(cluster);
    return status;
}
