/* SPDX-License-Identifier: Apache-2.0 */
/* What this task answers to questions from outside the job (status.h): the machine's view of all tasks. */
#include <string.h>

#include "cluster/mesh_impl.h"

static artel__status_task view_of(const artel_cluster *mesh, int rank)
{
    const artel__mesh_peer *p = &mesh->peer[rank];
    artel__status_task t = {.name = p->name,
                            .address = p->address,
                            .why = p->why,
                            .self = rank == mesh->self,
                            .step = atomic_load(&mesh->training.step),
                            .busy = -1};
    if (!mesh->machine) {
        t.linked = t.self;
        return t;
    }
    artel__peer_view v = artel__membership_peer(mesh->machine, (uint32_t)rank);
    t.linked = v.linked;
    t.member = v.member;
    t.heard_ns = v.heard_ns;
    t.replicas = p->replicas;
    if (!v.linked || (v.step == 0 && v.phase == ARTEL__MEMBER_IDLE)) return t; /* nothing heard so far */
    t.step = v.step;
    t.phase = artel__member_phase_name(v.phase);
    t.phase_ns = v.phase_ns;
    if (v.busy) t.busy = (v.busy - 1) * 1e-3;
    return t;
}

/* The word for where it is; `running` when it trains, or has ended well. */
static const char *state_of(const artel_cluster *mesh, bool *running)
{
    bool failed = artel__mesh_is_over(mesh) && mesh->pass.cause.status < 0;
    *running = artel__mesh_is_over(mesh) && !failed;
    if (failed) return "failed";
    if (artel__mesh_is_over(mesh)) return "ended";
    if (!mesh->machine) return "loading";
    artel__membership_state state = artel__membership_state_of(mesh->machine);
    *running = state == ARTEL__MEMBERSHIP_RUNNING || state == ARTEL__MEMBERSHIP_LEAVING;
    return artel__membership_state_name(state);
}

static void look(void *user, artel__status *out)
{
    artel_cluster *mesh = user;
    for (int r = 0; r < mesh->peers; r++) mesh->status.view[r] = view_of(mesh, r);
    *out = (artel__status){.job = mesh->site.self.job,
                           .generation = mesh->generation.id.counter,
                           .step = mesh->status.view[mesh->self].step,
                           .leaving = artel__mesh_is_leaving(mesh),
                           .task = mesh->status.view,
                           .tasks = mesh->peers,
                           .servers = mesh->status.told[0] ? mesh->status.told : NULL,
                           .self = mesh->self};
    out->state = state_of(mesh, &out->running);
    if (artel__mesh_is_over(mesh) && mesh->pass.cause.status < 0) out->cause = mesh->pass.cause.text;
}

static void drain(void *user)
{
    artel_cluster *mesh = user;
    /* check_requests does the rest, now or in the next pass */
    artel__mesh_move_leave(&mesh->pass.leave, artel__mesh_is_leaving(mesh) ? ARTEL__MESH_HEEDED : ARTEL__MESH_ASKED);
}

artel_status artel__mesh_describe(artel_cluster *mesh, artel__text *out)
{
    const artel__status_source source = {look, drain, mesh};
    return artel__status_answer(&source, "status", strlen("status"), out);
}

void artel__mesh_answer(artel_cluster *mesh, int64_t now)
{
    const artel__status_source source = {look, drain, mesh};
    artel__status_desk_progress(&mesh->status.desk, &source, now);
}
