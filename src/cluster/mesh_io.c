/* SPDX-License-Identifier: Apache-2.0 */
/* The thread of a mesh: one loop over the listener, the control connections and the data connections that are being
 * made; and the machine's clock.
 *
 * Nothing here blocks: names are looked up by another thread. A link has a number at the machine from the moment its
 * connection is open (dialled) or greeted (accepted) until it is closed. Messages are the machine's, but for addresses,
 * which this side handles; what a link says must come from the task that its certificate and greeting name.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cluster/mesh_impl.h"

#define MS INT64_C(1000000)
#define WAY_NS (5LL * ARTEL__MESH_SECOND) /* what is sent is acknowledged in less, by any kernel */

/* -- dialling -- */

static void give_up_dial(artel_cluster *mesh, int rank, artel__net_fault fault, const char *why)
{
    artel__mesh_peer *p = &mesh->peer[rank];
    char text[ARTEL__MESH_WHY];
    snprintf(text, sizeof text, "%.250s", why);
    memcpy(p->why, text, sizeof p->why);
    artel__connection_close(p->dialled);
    p->dialled = NULL;
    p->wanted = false;
    if (fault == ARTEL__FAULT_UNREACHABLE || fault == ARTEL__FAULT_NAME) artel__mesh_forget_address(p);
    artel__membership_dial_failed(mesh->machine, artel__now_ns(), (uint32_t)rank);
    if (artel__mesh_is_final(fault)) artel__mesh_refuse(mesh, text);
}

static void begin_dial(artel_cluster *mesh, int rank, int64_t now)
{
    artel__mesh_peer *p = &mesh->peer[rank];
    artel__connection_request request = {.purpose = ARTEL__NET_CONTROL, .task = p->name};
    if (!artel__mesh_locate(mesh, p)) {
        if (p->lookup != ARTEL__MESH_WANTED)
            give_up_dial(mesh, rank, ARTEL__FAULT_NONE, "there is no such host name (yet)");
        return;
    }
    request.to = p->resolved;
    p->dial_until = now + mesh->crowd * 5 * ARTEL__MESH_SECOND;
    if (artel__connection_open(&mesh->site, &request, &p->dialled) < 0) {
        p->dialled = NULL;
        give_up_dial(mesh, rank, ARTEL__FAULT_NONE, "no socket or memory for the connection");
    }
}

static int free_link(const artel_cluster *mesh)
{
    for (int i = 0; i < mesh->links.count; i++) {
        if (!mesh->links.link[i].connection) return i;
    }
    return -1;
}

/* Takes the connection. */
static void add_link(artel_cluster *mesh, artel__connection *connection, int rank, bool dialled)
{
    int i = free_link(mesh);
    if (i < 0 || !artel__mesh_is_running(mesh)) {
        artel__connection_close(connection);
        return;
    }
    mesh->links.link[i] = (artel__mesh_link){.connection = connection, .peer = rank};
    artel__mesh_move_known(&mesh->peer[rank].known, ARTEL__MESH_GREETED);
    mesh->peer[rank].why[0] = 0;
    if (!dialled) artel__mesh_check_address(&mesh->peer[rank], connection);
    artel__mesh_say_addresses(mesh, &mesh->links.link[i]);
    artel__membership_link_up(mesh->machine, artel__now_ns(), i, dialled ? rank : -1);
}

static void move_dial(artel_cluster *mesh, int rank, int64_t now)
{
    artel__mesh_peer *p = &mesh->peer[rank];
    if (!p->dialled) {
        if (p->wanted) begin_dial(mesh, rank, now);
        return;
    }
    artel__connection *c = p->dialled;
    artel__connection_state state = artel__connection_progress(c);
    bool early = state == ARTEL__CONNECTION_CONNECTING && now > p->dial_until - 4 * ARTEL__MESH_SECOND;
    if (state == ARTEL__CONNECTION_OPEN && p->wanted) {
        p->dialled = NULL;
        p->wanted = false;
        add_link(mesh, c, rank, true);
    } else if (state == ARTEL__CONNECTION_LOST)
        give_up_dial(mesh, rank, artel__connection_fault(c), artel__connection_why(c));
    else if (early || now > p->dial_until || !p->wanted)
        give_up_dial(mesh, rank, ARTEL__FAULT_UNREACHABLE, "no answer within a second");
}

static void dial_all(artel_cluster *mesh, int64_t now)
{
    for (int r = 0; r < mesh->peers && artel__mesh_is_running(mesh); r++) {
        if (r == mesh->self) continue;
        if (mesh->peer[r].wanted || mesh->peer[r].dialled)
            move_dial(mesh, r, now);
        else if (mesh->peer[r].known == ARTEL__MESH_UNMET)
            artel__mesh_locate(mesh, &mesh->peer[r]); /* so that it can be told from strangers when it comes */
    }
}

static void accept_all(artel_cluster *mesh)
{
    artel__listener_progress(mesh->listener);
    for (artel__connection *c = artel__listener_take(mesh->listener); c; c = artel__listener_take(mesh->listener)) {
        int rank = artel__mesh_find(mesh, artel__connection_peer(c)->task);
        if (artel__status_asks(c))
            artel__status_desk_take(&mesh->status.desk, c, artel__now_ns());
        else if (rank < 0 || !mesh->machine)
            artel__connection_close(c);
        else if (artel__connection_peer(c)->purpose == ARTEL__NET_CONTROL)
            add_link(mesh, c, rank, false);
        else if (!artel__mesh_keep(mesh, c))
            artel__connection_close(c);
    }
}

/* -- links -- */

static void hear_one(artel_cluster *mesh, int index, const void *bytes, size_t count)
{
    artel__mesh_link *link = &mesh->links.link[index];
    artel__member members[1];
    artel__message m = {.member = members, .member_capacity = 1};
    bool whole = artel__message_decode(bytes, count, &m) == NULL;
    if (whole && m.kind == ARTEL__MESSAGE_ADDRESS) {
        artel__mesh_hear_address(mesh, link, &m);
        return;
    }
    if (whole && m.kind == ARTEL__MESSAGE_HELLO && m.task != (uint32_t)link->peer) {
        artel__log(mesh->ctx, ARTEL_LOG_WARNING, "network: %s says that it is task %u; its connection is closed",
                   mesh->peer[link->peer].title, (unsigned)m.task);
        link->closing = true;
        artel__membership_link_down(mesh->machine, artel__now_ns(), index);
        return;
    }
    artel__membership_receive(mesh->machine, artel__now_ns(), index, bytes, count);
}

static void hear(artel_cluster *mesh, int index)
{
    artel__mesh_link *link = &mesh->links.link[index];
    const void *bytes;
    size_t count;
    while (artel__mesh_is_running(mesh) && !link->closing &&
           artel__connection_hear(link->connection, &bytes, &count) == ARTEL_OK)
        hear_one(mesh, index, bytes, count);
}

/* After the pass has ended, links stay until what was said has left and the other end has ended, too. */
static void move_link(artel_cluster *mesh, int index)
{
    artel__mesh_link *link = &mesh->links.link[index];
    if (!link->connection) return;
    bool lost = artel__connection_progress(link->connection) == ARTEL__CONNECTION_LOST;
    if (!link->closing) hear(mesh, index);
    bool said = artel__mesh_is_over(mesh) && !(artel__connection_events(link->connection) & POLLOUT) &&
                artel__connection_part(link->connection);
    if (!lost && !link->closing && !said) return;
    artel__connection_close(link->connection);
    link->connection = NULL;
    if (lost && !link->closing && artel__mesh_is_running(mesh))
        artel__membership_link_down(mesh->machine, artel__now_ns(), index);
    pthread_cond_broadcast(&mesh->changed);
}

/* -- the clock -- */

/* Once in a while, what share of the time since then the replicas have worked: 1 + thousandths; else 0. */
static uint32_t measure_busy(artel_cluster *mesh, int64_t now)
{
    const artel__mesh_table *t = &mesh->generation.now;
    int64_t busy = 0, window = now - mesh->training.measured_ns;
    if (window < ARTEL__MESH_SECOND) return 0;
    for (int i = 0; i < t->count; i++) {
        const artel__mesh_activity *a = &t->activity[i];
        bool works = artel__mesh_is_work((artel__member_phase)atomic_load(&a->phase));
        int64_t since = atomic_load(&a->since_ns);
        busy += atomic_load(&a->busy_ns) + (works && now > since ? now - since : 0);
    }
    int64_t worked = (busy - mesh->training.measured_busy_ns) / t->count, share = worked * 1000 / window;
    bool known = mesh->training.measured_ns > 0 && worked >= 0;
    mesh->training.measured_ns = now;
    mesh->training.measured_busy_ns = busy;
    return known ? 1 + (uint32_t)(share < 1000 ? share : 1000) : 0;
}

/* What the least advanced replica does, and for whom it waits. */
static void tell_progress(artel_cluster *mesh, int64_t now)
{
    const artel__mesh_table *t = &mesh->generation.now;
    artel__membership_progress progress = {.step = atomic_load(&mesh->training.step), .waiting_for = -1};
    int least = -1;
    if (!artel__mesh_is_training(mesh) || !t->activity) return;
    for (int i = 0; i < t->count; i++) {
        bool earlier = least < 0 || atomic_load(&t->activity[i].since_ns) < atomic_load(&t->activity[least].since_ns);
        if (earlier) least = i;
    }
    if (least < 0) return;
    progress.phase = (artel__member_phase)atomic_load(&t->activity[least].phase);
    progress.busy = measure_busy(mesh, now);
    if (progress.phase == ARTEL__MEMBER_EXCHANGE && t->endpoint) {
        int rank = artel__far_awaited(t->endpoint[least]);
        int owner = rank >= 0 ? artel__mesh_owner(mesh, rank) : -1;
        progress.waiting_for = owner == mesh->self ? -1 : owner;
    }
    artel__membership_progressed(mesh->machine, now, &progress);
}

/* A step that waits while what this side has sent arrives nowhere, though the other task lives: its connection is given
 * up, by name, and made anew in the next generation. */
static void check_way(artel_cluster *mesh, int64_t now)
{
    const artel__mesh_table *t = &mesh->generation.now;
    if (!artel__mesh_is_training(mesh) || !t->endpoint || now - mesh->training.way_ns < ARTEL__MESH_SECOND) return;
    mesh->training.way_ns = now;
    for (int i = 0; i < t->count; i++) {
        bool waits = atomic_load(&t->activity[i].phase) == ARTEL__MEMBER_EXCHANGE &&
                     now - atomic_load(&t->activity[i].since_ns) > WAY_NS;
        int rank = waits ? artel__far_unheard(t->endpoint[i], WAY_NS) : -1,
            owner = rank >= 0 ? artel__mesh_owner(mesh, rank) : -1;
        if (owner < 0) continue;
        artel__log(mesh->ctx, ARTEL_LOG_WARNING,
                   "%s lives, but nothing sent to it is acknowledged for %lld s: long packets do not pass (MTU), or a "
                   "firewall has forgotten "
                   "the connection, which is made anew",
                   mesh->peer[owner].title, WAY_NS / ARTEL__MESH_SECOND);
        artel__far_lose(t->endpoint[i], rank, "nothing sent is acknowledged");
    }
}

static void check_requests(artel_cluster *mesh, int64_t now)
{
    bool asked = mesh->pass.leave == ARTEL__MESH_ASKED;
    bool wanted = asked || (mesh->pass.leave == ARTEL__MESH_STAYS && artel__preempted(mesh->ctx));
    if (artel__cancelled(mesh->ctx))
        artel__membership_fail(mesh->machine, now, false, ARTEL_ERROR_CANCELLED, "stopped on request");
    else if (wanted) {
        artel__mesh_move_leave(&mesh->pass.leave, asked ? ARTEL__MESH_HEEDED : ARTEL__MESH_NOTICED);
        if (atomic_load(&mesh->training.saving) != ARTEL__MESH_SAVES_NOTHING && !mesh->options.save_on_preempt)
            artel__mesh_move_saving(&mesh->training.saving, ARTEL__MESH_SAVES_NOW);
        else
            artel__membership_drain(mesh->machine, now);
    }
}

static void tick(artel_cluster *mesh, int64_t now)
{
    if (!artel__mesh_is_running(mesh)) return;
    check_requests(mesh, now);
    tell_progress(mesh, now);
    check_way(mesh, now);
    artel__membership_tick(mesh->machine, now);
    artel__mesh_check_incident(mesh);
    dial_all(mesh, now);
    artel__mesh_move_data(mesh, now);
    artel__mesh_settle(mesh);
}

/* -- the loop -- */

static int add(artel_cluster *mesh, int count, int fd, short events)
{
    if (count < mesh->links.room) mesh->links.poll[count++] = (struct pollfd){.fd = fd, .events = events};
    return count;
}

static int collect(artel_cluster *mesh)
{
    int count = add(mesh, 0, mesh->threads.wake, POLLIN);
    count = add(mesh, count, artel__listener_fd(mesh->listener), POLLIN);
    for (int r = 0; r < mesh->peers; r++) {
        const artel__connection *c = mesh->peer[r].dialled;
        if (c) count = add(mesh, count, artel__connection_fd(c), artel__connection_events(c));
    }
    for (int i = 0; i < mesh->links.count; i++) {
        const artel__connection *c = mesh->links.link[i].connection;
        if (c) count = add(mesh, count, artel__connection_fd(c), artel__connection_events(c));
    }
    for (int i = 0; i < mesh->data.count; i++) {
        const artel__mesh_data *d = &mesh->data.list[i];
        if (d->way != ARTEL__MESH_OPENING) continue;
        bool open = artel__connection_get_state(d->connection) == ARTEL__CONNECTION_OPEN;
        count = add(mesh, count, artel__connection_fd(d->connection),
                    open ? POLLIN : artel__connection_events(d->connection));
    }
    return count;
}

static bool is_connecting(const artel_cluster *mesh)
{
    artel__mesh_due due = mesh->orders.due;
    return due == ARTEL__MESH_FETCH || due == ARTEL__MESH_SEATS || due == ARTEL__MESH_JOIN || due == ARTEL__MESH_READY;
}

void *artel__mesh_main(void *user)
{
    artel_cluster *mesh = user;
    pthread_mutex_lock(&mesh->mutex);
    while (mesh->threads.life != ARTEL__MESH_CLOSING) {
        tick(mesh, artel__now_ns());
        artel__mesh_watch_certificate(mesh, artel__now_ns());
        int count = collect(mesh), pause_ms = is_connecting(mesh) ? 2 : 20;
        pthread_mutex_unlock(&mesh->mutex);
        poll(mesh->links.poll, (nfds_t)count, pause_ms);
        uint64_t woken;
        while (read(mesh->threads.wake, &woken, sizeof woken) < 0 && errno == EINTR) {
        }
        pthread_mutex_lock(&mesh->mutex);
        accept_all(mesh);
        for (int i = 0; i < mesh->links.count; i++) move_link(mesh, i);
        artel__mesh_answer(mesh, artel__now_ns());
    }
    pthread_mutex_unlock(&mesh->mutex);
    return NULL;
}
