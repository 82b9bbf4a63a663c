/* SPDX-License-Identifier: Apache-2.0 */
/* What the membership machine orders, marked and queued for whom it concerns: links for the mesh's thread, orders for
 * the caller's. A machine must not be called by its own action; what it is owed at once, settle answers afterwards.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "cluster/mesh_impl.h"

/* -- links -- */

static void open_link(artel_cluster *mesh, uint32_t task)
{
    mesh->peer[task].wanted = true;
    artel__mesh_wake(mesh);
}

static void close_link(artel_cluster *mesh, int link)
{
    mesh->links.link[link].closing = true;
    artel__mesh_wake(mesh);
}

static void send_bytes(artel_cluster *mesh, const artel__action *action)
{
    artel__mesh_link *link = &mesh->links.link[action->link];
    if (!link->connection || link->closing) return;
    artel__connection_say(link->connection, action->bytes, action->count);
    artel__mesh_wake(mesh);
}

/* -- orders -- */

/* Orders that have not been handed out end with a new one; a stream that has been is broken off. */
static void forget_orders(artel_cluster *mesh, artel__mesh_due due)
{
    artel__mesh_move_due(&mesh->orders.due, due);
    mesh->lack.since = mesh->lack.deaf_since = 0;
    memset(mesh->orders.serve, 0, (size_t)mesh->peers);
    atomic_fetch_add(&mesh->orders.serial, 1);
}

static void stop_training(artel_cluster *mesh)
{
    forget_orders(mesh, ARTEL__MESH_STOP);
    atomic_store(&mesh->training.stopping, true);
    artel__mesh_table_cancel(&mesh->generation.now);
    artel__mesh_drop_data(mesh, false);
    artel__mesh_table_fini(mesh, &mesh->generation.next);
}

static void copy_state(artel_cluster *mesh, const artel__action *action)
{
    forget_orders(mesh, ARTEL__MESH_FETCH);
    mesh->orders.copy_from = (int)action->task;
    mesh->orders.copy_step = action->step;
    artel__mesh_dial_state(mesh);
}

/* Why there is a new generation; of who was lost, also what it did when it was last heard of. */
static void explain(artel_cluster *mesh, const artel__generation *g)
{
    artel__mesh_seat *seat = &mesh->generation.seat;
    bool about_one = g->reason != ARTEL__REASON_START && (int)g->subject < mesh->peers, lost = false;
    const char *title = about_one ? mesh->peer[g->subject].title : "";
    for (int i = 0; i < seat->leavers; i++) lost = lost || (seat->left[i] == title && g->reason != ARTEL__REASON_LEFT);
    artel__member_phase phase = lost ? artel__membership_peer(mesh->machine, g->subject).phase : ARTEL__MEMBER_IDLE;
    snprintf(seat->why, sizeof seat->why, "%s%s%s%s%s", title, about_one ? ": " : "", artel__reason_text(g->reason),
             phase ? ", last in phase " : "", phase ? artel__member_phase_name(phase) : "");
}

/* Before ranks are numbered anew: `replicas` still tells who was in the generation before. */
static void describe(artel_cluster *mesh, const artel__generation *g)
{
    artel__mesh_seat *seat = &mesh->generation.seat;
    const char **member = mesh->named, **joined = member + mesh->peers, **left = joined + mesh->peers;
    *seat = (artel__mesh_seat){.arithmetic = g->arithmetic,
                               .best = g->best,
                               .member = member,
                               .joined = joined,
                               .left = left,
                               .pause_ns = g->pause_ns};
    seat->begins = g->reason == ARTEL__REASON_START;
    for (int r = 0, next = 0; r < mesh->peers; r++) {
        bool now = next < (int)g->members && (int)g->member[next].task == r, was = mesh->peer[r].replicas > 0;
        next += now;
        if (now) member[seat->members++] = mesh->peer[r].title;
        if (now && !was) joined[seat->joiners++] = mesh->peer[r].title;
        if (was && !now) left[seat->leavers++] = mesh->peer[r].title;
    }
    explain(mesh, g);
}

static void start_training(artel_cluster *mesh, const artel__action *action)
{
    forget_orders(mesh, ARTEL__MESH_SEATS);
    mesh->generation.id = action->generation->id;
    mesh->generation.start_step = action->step;
    mesh->generation.start_ns = artel__now_ns();
    mesh->orders.last = action->purpose == ARTEL__PURPOSE_SAVE;
    artel__mesh_move_course(&mesh->pass.course, ARTEL__MESH_FORMED);
    mesh->generation.writes = action->generation->rank == 0;
    describe(mesh, action->generation);
    if (artel__mesh_take_seats(mesh, action->generation) == ARTEL_OK)
        artel__mesh_move_due(&mesh->orders.due, ARTEL__MESH_JOIN); /* else the thread tries again */
    artel__mesh_wake(mesh);
}

static void save_results(artel_cluster *mesh, const artel__action *action)
{
    artel__mesh_move_due(&mesh->orders.due, ARTEL__MESH_KEEP);
    mesh->generation.writes = action->writer;
}

static void end_pass(artel_cluster *mesh, const artel__action *action)
{
    bool formed = artel__mesh_has_formed(mesh);
    forget_orders(mesh, ARTEL__MESH_NOTHING);
    mesh->pass.cause = *action->cause;
    if (mesh->say) mesh->say(action->cause->text, mesh->pass.cause.text, sizeof mesh->pass.cause.text);
    /* Who was told to leave, or has waited too long, leaves nothing broken behind: others may still begin. */
    artel_status status = action->cause->status;
    bool asked = status == ARTEL_ERROR_PREEMPTED || status == ARTEL_ERROR_CANCELLED;
    bool broken = status < 0 && !asked && (action->whole || status == ARTEL_ERROR_INVALID);
    artel__mesh_move_course(&mesh->pass.course, formed   ? ARTEL__MESH_ENDED
                                                : broken ? ARTEL__MESH_HOPELESS
                                                         : ARTEL__MESH_UNFORMED);
    atomic_store(&mesh->training.stopping, true);
    artel__mesh_table_cancel(&mesh->generation.now);
    artel__mesh_wake(mesh);
}

/* -- words -- */

/* Why those who are missing could not be reached, behind the machine's line that they are. */
static void say_why(artel_cluster *mesh)
{
    int said = 0;
    for (int r = 0; r < mesh->peers && said < 3; r++) {
        const artel__mesh_peer *p = &mesh->peer[r];
        if (r == mesh->self || p->known != ARTEL__MESH_UNMET || !p->why[0]) continue;
        artel__log(mesh->ctx, ARTEL_LOG_NOTE, "%s: %s", p->title, p->why);
        said++;
    }
}

static void report(artel_cluster *mesh, const artel__action *action)
{
    bool joining = artel__membership_state_of(mesh->machine) == ARTEL__MEMBERSHIP_JOINING;
    artel__log(mesh->ctx, ARTEL_LOG_NOTE, "%s", action->text);
    if (joining && action->reason == ARTEL__REASON_NONE) say_why(mesh);
}

void artel__mesh_act(void *user, const artel__action *action)
{
    artel_cluster *mesh = user;
    switch (action->kind) {
    case ARTEL__ACTION_OPEN: open_link(mesh, action->task); break;
    case ARTEL__ACTION_CLOSE: close_link(mesh, action->link); break;
    case ARTEL__ACTION_SEND: send_bytes(mesh, action); break;
    case ARTEL__ACTION_STOP: stop_training(mesh); break;
    case ARTEL__ACTION_COPY: copy_state(mesh, action); break;
    case ARTEL__ACTION_SERVE: mesh->orders.serve[action->task] = 1; break;
    case ARTEL__ACTION_START: start_training(mesh, action); break;
    case ARTEL__ACTION_SAVE: save_results(mesh, action); break;
    case ARTEL__ACTION_REPORT: report(mesh, action); break;
    case ARTEL__ACTION_END: end_pass(mesh, action); break;
    case ARTEL__ACTION_RELEASED: /* whoever waits looks (mesh_shared.c) */
    case ARTEL__ACTION_KEY:
    case ARTEL__ACTIONS: break;
    }
}
