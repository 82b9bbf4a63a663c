/* SPDX-License-Identifier: Apache-2.0 */
/* What the caller's thread asks of the mesh and answers to it: passes, orders, progress, failures, the end.
 *
 * The caller is at rest (it holds a whole state and uses no endpoint), busy with an order, or training. A stop that
 * comes while it rests is answered here, one that comes while it is busy when it is done, one that comes while it
 * trains by artel__mesh_rest.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "cluster/mesh_impl.h"

static const char *advice_for(artel_status status, const char *text, bool own)
{
    if (strstr(text, "; give ")) return ""; /* it says what to do */
    if (strstr(text, "the job goes on with")) return "nothing is to be done about this one";
    if (strstr(text, "differs in arithmetic ("))
        return "compute with one kind of device everywhere, or give all .allow_mixed_arithmetic, where there is one";
    if (strstr(text, "what computes is another arithmetic")) /* train/computing.c */
        return "let workers compute on the device, and with the plug-in, of before, or give .fresh to begin anew";
    if (!own && artel__starts_with(text, "failed")) return "correct it there, and start the job again";
    switch (status) {
    case ARTEL_ERROR_INVALID: return "run the same command on every host";
    case ARTEL_ERROR_PREEMPTED: return "start the same command again to continue";
    case ARTEL_ERROR_CANCELLED: return "start the same command again";
    default: return "see the messages of all tasks; start the job again";
    }
}

/* The cause in the context, instead of what is there. */
static artel_status record_cause(artel_cluster *mesh)
{
    const artel__cause *c = &mesh->pass.cause;
    bool own = (int)c->task == mesh->self;
    const char *where = own ? "cluster" : mesh->peer[c->task].title, *text = c->text;
    size_t title = strlen(mesh->peer[c->task].title);
    if (strncmp(text, mesh->peer[c->task].title, title) == 0 && strncmp(text + title, ": ", 2) == 0) { /* said once */
        where = mesh->peer[c->task].title;
        text += title + 2;
    }
    artel__operation_begin(mesh->ctx);
    return artel__fail(mesh->ctx, c->status, where, advice_for(c->status, text, own), "%s", text);
}

/* -- passes -- */

static artel_status create_machine(artel_cluster *mesh, const artel__mesh_request *request)
{
    artel__membership_config config = ARTEL__MEMBERSHIP_CONFIG_INIT;
    const artel_cluster_options *o = &mesh->options;
    config.tasks = (uint32_t)mesh->peers;
    config.self = (uint32_t)mesh->self;
    config.name = mesh->title;
    config.incarnation = mesh->site.self.incarnation + mesh->pass.number;
    config.facts = mesh->pass.facts;
    config.links = (uint32_t)mesh->links.count;
    config.shards = (uint32_t)request->shards;
    config.replicas = (uint32_t)request->replicas;
    config.min_members = o->min_workers > 0 ? (uint32_t)o->min_workers : 1;
    config.start_members = o->min_workers > 0 ? (uint32_t)o->min_workers : (uint32_t)mesh->peers;
    config.save_on_preempt = o->save_on_preempt;
    config.hash_every = ARTEL__MESH_HASH_EVERY;
    config.suspect_after_ns = mesh->crowd * (int64_t)(o->suspect_after * 1e9);
    config.wait_for_cluster_ns = (int64_t)(o->wait_for_cluster * 1e9);
    if (request->patience_ns && request->patience_ns < config.wait_for_cluster_ns)
        config.wait_for_cluster_ns = request->patience_ns;
    config.collective_timeout_ns = (int64_t)(o->collective_timeout * 1e9);
    config.step = request->step;
    config.hash = request->hash;
    config.arithmetic = request->arithmetic;
    config.best = request->best;
    config.act = artel__mesh_act;
    config.user = mesh;
    return artel__membership_create(mesh->ctx, &config, &mesh->machine);
}

/* The mutex is held. */
static artel_status begin_pass(artel_cluster *mesh, const artel__mesh_request *request)
{
    snprintf(mesh->pass.facts, sizeof mesh->pass.facts, "%s", request->facts);
    mesh->site.self.generation = ++mesh->pass.number; /* in greetings, but for those of data connections */
    for (int r = 0; r < mesh->peers; r++) {
        mesh->peer[r].replicas = 0;
        if (mesh->peer[r].known == ARTEL__MESH_GREETED) artel__mesh_move_known(&mesh->peer[r].known, ARTEL__MESH_MET);
    }
    artel__mesh_move_course(&mesh->pass.course, ARTEL__MESH_BEGUN);
    artel__mesh_move_due(&mesh->orders.due, ARTEL__MESH_NOTHING);
    artel__mesh_move_work(&mesh->training.work, ARTEL__MESH_RESTS);
    bool asked = mesh->pass.leave == ARTEL__MESH_ASKED || mesh->pass.leave == ARTEL__MESH_HEEDED;
    artel__mesh_move_leave(&mesh->pass.leave, asked ? ARTEL__MESH_ASKED : ARTEL__MESH_STAYS);
    mesh->pass.cause = (artel__cause){.status = ARTEL_OK};
    mesh->training.rest_step = request->step;
    mesh->training.rest_hash = request->hash;
    memset(mesh->pass.owed, 0, sizeof mesh->pass.owed);
    atomic_store(&mesh->training.stopping, false);
    artel__mesh_move_saving(&mesh->training.saving,
                            request->saves_first ? ARTEL__MESH_SAVES_FIRST : ARTEL__MESH_SAVES_NOTHING);
    atomic_store(&mesh->training.step, request->step);
    artel_status status = create_machine(mesh, request);
    if (status < 0) mesh->site.self.generation = --mesh->pass.number; /* it is not this one that the others are in */
    artel__mesh_wake(mesh);
    return status;
}

artel_status artel__mesh_begin(artel_cluster *mesh, const artel__mesh_request *request)
{
    if (request->replicas > ARTEL__MESH_MOST_RANKS || request->replicas > request->shards)
        return artel__fail(mesh->ctx, ARTEL_ERROR_INVALID, ".shards", "use fewer replicas or more shards",
                           "%d replicas of this task cannot share %d virtual shards", request->replicas,
                           (int)request->shards);
    pthread_mutex_lock(&mesh->mutex);
    bool busy = mesh->machine != NULL;
    artel_status status = busy ? ARTEL_ERROR_INVALID : begin_pass(mesh, request);
    pthread_mutex_unlock(&mesh->mutex);
    if (!busy) return status;
    return artel__fail(mesh->ctx, status, "cluster", "finish and destroy its communicator, or let its fit end, before",
                       "the cluster is at work: it does one thing at a time");
}

bool artel__mesh_ever_formed(artel_cluster *mesh)
{
    pthread_mutex_lock(&mesh->mutex);
    bool formed = artel__mesh_has_formed(mesh);
    pthread_mutex_unlock(&mesh->mutex);
    return formed;
}

/* What the machine has said at its end is given time to arrive: the others end their sides when they have heard it. And
 * whoever comes to connect in the next moment to a job that failed before it began hears what happened, so that all end
 * and not only those who were there. */
static void linger(artel_cluster *mesh)
{
    bool failed = mesh->pass.course == ARTEL__MESH_HOPELESS;
    int64_t until = artel__now_ns() + (failed ? 3 * ARTEL__MESH_SECOND / 2 : ARTEL__MESH_SECOND);
    while (artel__now_ns() < until) {
        bool all = failed, open = false;
        for (int r = 0; r < mesh->peers; r++)
            all = all && (r == mesh->self || mesh->peer[r].known == ARTEL__MESH_GREETED);
        for (int i = 0; i < mesh->links.count; i++) open = open || mesh->links.link[i].connection;
        if (all || (!failed && !open)) break;
        artel__mesh_wait(mesh, ARTEL__MESH_SECOND / 50);
    }
}

void artel__mesh_end(artel_cluster *mesh)
{
    if (artel__mesh_is_single(mesh)) return;
    pthread_mutex_lock(&mesh->mutex);
    if (artel__mesh_is_running(mesh))
        artel__membership_fail(mesh->machine, artel__now_ns(), false, ARTEL_ERROR_CANCELLED, "ended without a word");
    if (mesh->machine) artel__mesh_keep_report(mesh);
    if (mesh->machine) linger(mesh);
    artel__membership_destroy(mesh->machine);
    mesh->machine = NULL;
    for (int i = 0; i < mesh->links.count; i++) mesh->links.link[i].closing = mesh->links.link[i].connection != NULL;
    for (int r = 0; r < mesh->peers; r++) mesh->peer[r].wanted = false;
    artel__mesh_drop_data(mesh, true);
    artel__mesh_table_fini(mesh, &mesh->generation.now);
    artel__mesh_table_fini(mesh, &mesh->generation.next);
    artel__mesh_move_due(&mesh->orders.due, ARTEL__MESH_NOTHING);
    artel__mesh_wake(mesh);
    pthread_mutex_unlock(&mesh->mutex);
}

/* -- orders -- */

static bool give_stream(artel_cluster *mesh, bool accepted, artel__mesh_order *out)
{
    int peer;
    artel__connection *connection = artel__mesh_take_state(mesh, accepted, &peer);
    void *block;
    if (!connection) return false;
    if (artel__calloc(mesh->quiet, 1, sizeof *mesh->orders.stream, "state", &block) < 0) {
        artel__connection_close(connection);
        return false;
    }
    mesh->orders.stream = block;
    *mesh->orders.stream = (artel__mesh_stream){
        .mesh = mesh, .connection = connection, .peer = peer, .serial = atomic_load(&mesh->orders.serial)};
    *out = (artel__mesh_order){.kind = accepted ? ARTEL__MESH_SERVE : ARTEL__MESH_COPY,
                               .stream = mesh->orders.stream,
                               .step = mesh->orders.copy_step};
    artel__mesh_move_work(&mesh->training.work, ARTEL__MESH_BUSY);
    if (!accepted) artel__mesh_move_due(&mesh->orders.due, ARTEL__MESH_NOTHING);
    return true;
}

static void give_seat(artel_cluster *mesh, artel__mesh_order *out)
{
    artel__mesh_table_fini(mesh, &mesh->generation.now);
    mesh->generation.now = mesh->generation.next;
    mesh->generation.next = (artel__mesh_table){.endpoint = NULL};
    artel__mesh_move_due(&mesh->orders.due, ARTEL__MESH_NOTHING);
    artel__mesh_move_work(&mesh->training.work, ARTEL__MESH_TRAINS);
    atomic_store(&mesh->training.stopping, false);
    mesh->training.measured_ns = 0;
    if (atomic_load(&mesh->training.saving) == ARTEL__MESH_SAVES_LATER)
        artel__mesh_move_saving(&mesh->training.saving, ARTEL__MESH_SAVES_NOW);
    *out =
        (artel__mesh_order){.kind = ARTEL__MESH_START, .step = mesh->generation.start_step, .last = mesh->orders.last};
    artel__mesh_seat *seat = &out->seat;
    *seat = mesh->generation.seat;
    seat->generation = mesh->generation.id.counter;
    seat->job = mesh->site.self.job;
    seat->first = mesh->peer[mesh->self].first;
    seat->ranks = mesh->generation.ranks;
    seat->writer = mesh->generation.writes;
    seat->endpoint = mesh->generation.now.endpoint;
    seat->activity = mesh->generation.now.activity;
}

/* Whether there is an order; the mutex is held. */
static bool next_order(artel_cluster *mesh, artel__mesh_order *out)
{
    if (give_stream(mesh, true, out)) return true;
    if (mesh->orders.due == ARTEL__MESH_FETCH && give_stream(mesh, false, out)) return true;
    if (mesh->orders.due == ARTEL__MESH_READY) {
        give_seat(mesh, out);
        return true;
    }
    if (mesh->orders.due != ARTEL__MESH_KEEP) {
        *out = (artel__mesh_order){.kind = ARTEL__MESH_LEAVE};
        return artel__mesh_leaving(mesh);
    }
    *out = (artel__mesh_order){.kind = ARTEL__MESH_SAVE, .writer = mesh->generation.writes, .last = mesh->orders.last};
    artel__mesh_move_due(&mesh->orders.due, ARTEL__MESH_NOTHING);
    artel__mesh_move_work(&mesh->training.work, ARTEL__MESH_BUSY);
    return true;
}

artel_status artel__mesh_await(artel_cluster *mesh, artel__mesh_order *out)
{
    artel_status status = ARTEL_OK;
    pthread_mutex_lock(&mesh->mutex);
    for (;;) {
        artel__mesh_settle(mesh);
        if (artel__mesh_is_over(mesh)) {
            if (mesh->pass.cause.status < 0) status = record_cause(mesh);
            *out = (artel__mesh_order){.kind = ARTEL__MESH_DONE};
            break;
        }
        if (next_order(mesh, out)) break;
        artel__mesh_wait(mesh, ARTEL__MESH_SECOND / 10);
    }
    pthread_mutex_unlock(&mesh->mutex);
    return status;
}

/* -- answers -- */

static void complain(artel_cluster *mesh)
{
    const artel__mesh_table *t = &mesh->generation.now;
    for (int i = 0; i < t->count; i++) {
        for (int r = 0; t->endpoint && r < t->ranks; r++) {
            int owner = artel__mesh_owner(mesh, r);
            if (owner < 0 || owner == mesh->self || !artel__far_is_lost(t->endpoint[i], r)) continue;
            artel__membership_lost(mesh->machine, artel__now_ns(), (uint32_t)owner);
        }
    }
}

/* Who is busy stays so: what it is busy with ends by an answer of its own. */
static void come_to_rest(artel_cluster *mesh, uint64_t step, uint64_t hash)
{
    if (mesh->training.work == ARTEL__MESH_TRAINS) artel__mesh_move_work(&mesh->training.work, ARTEL__MESH_RESTS);
    mesh->training.rest_step = step;
    mesh->training.rest_hash = hash;
    atomic_store(&mesh->training.step, step);
}

static void end_business(artel_cluster *mesh)
{
    if (mesh->training.work == ARTEL__MESH_BUSY) artel__mesh_move_work(&mesh->training.work, ARTEL__MESH_RESTS);
}

void artel__mesh_rest(artel_cluster *mesh, uint64_t step, uint64_t hash)
{
    pthread_mutex_lock(&mesh->mutex);
    if (artel__mesh_is_running(mesh) && mesh->orders.due != ARTEL__MESH_STOP) complain(mesh);
    come_to_rest(mesh, step, hash);
    artel__mesh_settle(mesh);
    pthread_mutex_unlock(&mesh->mutex);
}

void artel__mesh_renew(artel_cluster *mesh)
{
    pthread_mutex_lock(&mesh->mutex);
    /* Once stopped, it is about the next generation already. */
    if (artel__mesh_is_running(mesh) && !atomic_load(&mesh->training.stopping))
        artel__membership_renew(mesh->machine, artel__now_ns());
    artel__mesh_settle(mesh);
    pthread_mutex_unlock(&mesh->mutex);
}

static void end_stream(artel_cluster *mesh)
{
    artel__connection_close(mesh->orders.stream->connection);
    artel__free(mesh->quiet, mesh->orders.stream);
    mesh->orders.stream = NULL;
    end_business(mesh);
}

void artel__mesh_copied(artel_cluster *mesh, bool whole, uint64_t hash)
{
    pthread_mutex_lock(&mesh->mutex);
    int donor = mesh->orders.stream->peer;
    bool wanted = mesh->orders.stream->serial == atomic_load(&mesh->orders.serial);
    end_stream(mesh);
    if (whole) {
        mesh->training.rest_step = mesh->orders.copy_step;
        mesh->training.rest_hash = hash;
        atomic_store(&mesh->training.step, mesh->training.rest_step);
    }
    if (wanted && whole && mesh->machine) artel__membership_copied(mesh->machine, artel__now_ns(), hash);
    if (wanted && !whole && mesh->machine) artel__membership_lost(mesh->machine, artel__now_ns(), (uint32_t)donor);
    artel__mesh_settle(mesh);
    pthread_mutex_unlock(&mesh->mutex);
}

void artel__mesh_served(artel_cluster *mesh)
{
    pthread_mutex_lock(&mesh->mutex);
    end_stream(mesh);
    artel__mesh_settle(mesh);
    pthread_mutex_unlock(&mesh->mutex);
}

void artel__mesh_finished(artel_cluster *mesh, uint64_t step, uint64_t hash)
{
    pthread_mutex_lock(&mesh->mutex);
    if (artel__mesh_leaving(mesh)) artel__mesh_move_saving(&mesh->training.saving, ARTEL__MESH_SAVES_LATER);
    come_to_rest(mesh, step, hash);
    if (mesh->machine) artel__membership_finished(mesh->machine, artel__now_ns(), step, hash);
    artel__mesh_settle(mesh);
    pthread_mutex_unlock(&mesh->mutex);
}

void artel__mesh_saved(artel_cluster *mesh, uint64_t digest)
{
    pthread_mutex_lock(&mesh->mutex);
    end_business(mesh);
    if (mesh->machine && mesh->orders.due != ARTEL__MESH_STOP)
        artel__membership_saved(mesh->machine, artel__now_ns(), digest);
    artel__mesh_settle(mesh);
    pthread_mutex_unlock(&mesh->mutex);
}

void artel__mesh_unsaved(artel_cluster *mesh)
{
    pthread_mutex_lock(&mesh->mutex);
    end_business(mesh);
    artel__mesh_settle(mesh);
    pthread_mutex_unlock(&mesh->mutex);
}

/* Those of the type that have said so, and *open more that may say it yet. */
static int count_still(const artel_cluster *mesh, artel__task_type type, uint64_t asked, int *open)
{
    int still = 0;
    *open = 0;
    for (int r = 0; r < mesh->peers; r++) {
        if (r == mesh->self || mesh->peer[r].task->type != type) continue;
        artel__membership_answer answer = artel__membership_answered(mesh->machine, (uint32_t)r, asked);
        still += answer == ARTEL__MEMBERSHIP_STILL;
        *open += answer == ARTEL__MEMBERSHIP_ASKED;
    }
    return still;
}

artel_status artel__mesh_confirm(artel_cluster *mesh, artel__task_type type, int needed)
{
    artel_status status = ARTEL_AGAIN;
    int open = needed;
    pthread_mutex_lock(&mesh->mutex);
    uint64_t asked = mesh->machine ? artel__membership_ask(mesh->machine, artel__now_ns()) : 0;
    artel__mesh_settle(mesh);
    while (artel__mesh_is_running(mesh)) {
        int still = count_still(mesh, type, asked, &open);
        if (still >= needed) status = ARTEL_OK;
        if (status == ARTEL_OK || still + open < needed) break;
        artel__mesh_wait(mesh, ARTEL__MESH_SECOND / 10); /* the mesh's thread says when something has been heard */
    }
    pthread_mutex_unlock(&mesh->mutex);
    return status;
}

bool artel__mesh_hashes(const artel_cluster *mesh, uint64_t step)
{
    (void)mesh;
    return step % ARTEL__MESH_HASH_EVERY == 0;
}

void artel__mesh_tell(artel_cluster *mesh, const char *json)
{
    size_t length = json ? strlen(json) : 0;
    if (length >= sizeof mesh->status.told) length = 0;
    pthread_mutex_lock(&mesh->mutex);
    if (length) memcpy(mesh->status.told, json, length);
    mesh->status.told[length] = 0;
    pthread_mutex_unlock(&mesh->mutex);
}

void artel__mesh_stepped(artel_cluster *mesh, uint64_t step, uint64_t hash)
{
    atomic_store_explicit(&mesh->training.step, step, memory_order_relaxed);
    if (!hash) return;
    artel__membership_progress progress = {
        .step = step, .hash = hash, .phase = ARTEL__MEMBER_COMPUTE, .waiting_for = -1};
    pthread_mutex_lock(&mesh->mutex);
    if (mesh->machine && artel__mesh_is_training(mesh))
        artel__membership_progressed(mesh->machine, artel__now_ns(), &progress);
    artel__mesh_settle(mesh);
    pthread_mutex_unlock(&mesh->mutex);
}

void artel__mesh_drain(artel_cluster *mesh)
{
    if (artel__mesh_is_single(mesh)) return;
    pthread_mutex_lock(&mesh->mutex);
    if (!artel__mesh_is_leaving(mesh))
        artel__mesh_move_leave(&mesh->pass.leave,
                               mesh->pass.leave == ARTEL__MESH_ASKED ? ARTEL__MESH_HEEDED : ARTEL__MESH_NOTICED);
    artel__mesh_move_saving(&mesh->training.saving, ARTEL__MESH_SAVES_NOTHING);
    if (mesh->machine) artel__membership_drain(mesh->machine, artel__now_ns());
    artel__mesh_settle(mesh);
    pthread_mutex_unlock(&mesh->mutex);
}

/* -- failures and the end -- */

void artel__mesh_fail(artel_cluster *mesh, bool job, artel_status status)
{
    if (artel__mesh_is_single(mesh)) return;
    pthread_mutex_lock(&mesh->mutex);
    if (artel__mesh_is_running(mesh)) {
        artel__mesh_fail_machine(mesh, job, status);
        artel__mesh_wake(mesh);
        while (!artel__mesh_is_over(mesh))
            artel__mesh_wait(mesh, ARTEL__MESH_SECOND / 10); /* a moment, for other causes */
    }
    pthread_mutex_unlock(&mesh->mutex);
}

int artel__mesh_culprit(artel_cluster *mesh, const char **host, const char **phase)
{
    int rank = -1;
    *host = *phase = "";
    if (artel__mesh_is_single(mesh)) return rank;
    pthread_mutex_lock(&mesh->mutex);
    if (artel__mesh_is_over(mesh) && mesh->pass.cause.status < 0 && (int)mesh->pass.cause.task < mesh->peers) {
        rank = (int)mesh->pass.cause.task;
        *host = mesh->peer[rank].address;
        *phase = artel__member_phase_name(mesh->pass.cause.phase);
    }
    pthread_mutex_unlock(&mesh->mutex);
    return rank;
}

void artel__mesh_unbegun(artel_cluster *mesh, artel_status status)
{
    artel__mesh_request nothing = {.facts = "", .replicas = 1, .shards = 1};
    if (artel__mesh_is_single(mesh)) return;
    pthread_mutex_lock(&mesh->mutex);
    bool begun = !mesh->machine && begin_pass(mesh, &nothing) == ARTEL_OK;
    if (begun) artel__mesh_fail_machine(mesh, true, status); /* at once: nothing shall be formed with this task */
    pthread_mutex_unlock(&mesh->mutex);
    if (!begun) return;
    artel__mesh_fail(mesh, true, status);
    artel__mesh_end(mesh);
}

/* A task that fails before a pass, or between two, says so to those who wait for it in theirs. One whose last pass has
 * failed has said it. */
artel_status artel_cluster_finish(artel_cluster *mesh, artel_status status)
{
    if (artel__mesh_is_single(mesh) || status >= 0) return status;
    artel__mesh_write_report(mesh, status);
    if (mesh->pass.number == 0 || mesh->pass.cause.status >= 0) artel__mesh_unbegun(mesh, status);
    return status;
}
