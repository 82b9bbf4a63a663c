/* SPDX-License-Identifier: Apache-2.0 */
/* The connections of a generation: from members to numbered ranks, and from sockets to endpoints; and connections over
 * which state goes from memory to memory.
 *
 * Of two ranks the higher one dials; of two replicas of one process, too (through the process's own port). Such a
 * connection begins with 16 bytes, little-endian: the two ranks and the incarnation of the generation, whose counter is
 * in the greeting; after them it is the transport's. An accepted one whose generation this process has not reached yet
 * waits for it. Few are made at a time, so that no listener takes them for a crowd.
 */
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/threads.h"
#include "cluster/mesh_impl.h"

#define CONNECT_NS (5 * ARTEL__MESH_SECOND) /* a member that cannot be connected for so long is lost */
#define ANSWER_NS \
    (2 *          \
     ARTEL__MESH_SECOND) /* an address that does not answer for so long, a lost packet included, is asked for again */
#define LACK_NS (CONNECT_NS / 2) /* a task that cannot connect for so long says why, before the others give it up */
#define KEEP_NS (10 * ARTEL__MESH_SECOND) /* an accepted connection waits for its generation */

/* -- lists -- */

static artel__mesh_data *append(artel_cluster *mesh)
{
    if (mesh->data.count == mesh->data.room) {
        int room = mesh->data.room ? 2 * mesh->data.room : 16;
        void *block = mesh->data.list;
        if (artel__realloc(mesh->quiet, (size_t)room * sizeof *mesh->data.list, "mesh", &block) < 0) return NULL;
        mesh->data.list = block;
        mesh->data.room = room;
    }
    artel__mesh_data *d = &mesh->data.list[mesh->data.count++];
    *d = (artel__mesh_data){.since_ns = artel__now_ns()};
    return d;
}

bool artel__mesh_keep(artel_cluster *mesh, artel__connection *connection)
{
    if (mesh->data.count > 4 * ARTEL__MESH_MOST_RANKS * ARTEL__MESH_MOST_RANKS) return false;
    artel__mesh_data *d = append(mesh);
    if (!d) return false;
    d->connection = connection;
    d->accepted = true;
    artel__mesh_move_way(&d->way, ARTEL__MESH_OPENING);
    d->generation.counter = artel__connection_peer(connection)->generation;
    return true;
}

static void drop(artel__mesh_data *d)
{
    artel__connection_close(d->connection);
    d->connection = NULL;
    artel__mesh_move_way(&d->way, ARTEL__MESH_GONE);
}

void artel__mesh_drop_data(artel_cluster *mesh, bool accepted)
{
    for (int i = 0; i < mesh->data.count; i++) {
        if (accepted || !mesh->data.list[i].accepted) drop(&mesh->data.list[i]);
    }
}

/* Those that are done make room. By the mesh's thread. */
static void tidy(artel_cluster *mesh)
{
    int kept = 0;
    for (int i = 0; i < mesh->data.count; i++) {
        if (mesh->data.list[i].way != ARTEL__MESH_GONE) mesh->data.list[kept++] = mesh->data.list[i];
    }
    mesh->data.count = kept;
}

/* -- seats -- */

static void number_ranks(artel_cluster *mesh, const artel__generation *generation)
{
    mesh->generation.ranks = 0;
    for (int r = 0; r < mesh->peers; r++) mesh->peer[r].first = mesh->peer[r].replicas = 0;
    for (int pass = 0; pass < 2;
         pass++) { /* those who compute together come first: workers, where others coordinate and serve */
        for (uint32_t i = 0; i < generation->members; i++) {
            artel__mesh_peer *p = &mesh->peer[generation->member[i].task];
            if ((mesh->options.parameter_servers && p->task->type != ARTEL__TASK_WORKER) != (pass == 1)) continue;
            p->first = mesh->generation.ranks;
            p->replicas = (int)generation->member[i].replicas;
            mesh->generation.ranks += p->replicas;
        }
    }
}

/* A wait may poll for a moment before it sleeps when all that compute on this host have a core each. */
static int64_t spin_time(const artel_cluster *mesh)
{
    int here = artel__mesh_tasks_here(mesh) * mesh->peer[mesh->self].replicas;
    return artel__usable_cores() >= here ? INT64_C(20000) : 0;
}

void artel__mesh_table_fini(artel_cluster *mesh, artel__mesh_table *table)
{
    for (int i = 0; table->endpoint && i < table->count; i++) artel__net_close(table->endpoint[i]);
    artel__free(mesh->quiet, table->endpoint);
    artel__free(mesh->quiet, table->activity);
    *table = (artel__mesh_table){.endpoint = NULL};
}

void artel__mesh_table_cancel(const artel__mesh_table *table)
{
    for (int i = 0; table->endpoint && i < table->count; i++) artel__net_cancel(table->endpoint[i]);
}

static artel_status make_table(artel_cluster *mesh, artel__mesh_table *table)
{
    const artel__mesh_peer *self = &mesh->peer[mesh->self];
    void *block;
    artel__mesh_table_fini(mesh, table);
    ARTEL_TRY(artel__calloc(mesh->quiet, (size_t)self->replicas, sizeof *table->activity, "mesh", &block));
    table->activity = block;
    table->ranks = mesh->generation.ranks;
    for (int i = 0; i < self->replicas; i++) atomic_store(&table->activity[i].since_ns, artel__now_ns());
    table->count = self->replicas;
    if (mesh->generation.ranks == 1) return ARTEL_OK;
    ARTEL_TRY(artel__calloc(mesh->quiet, (size_t)self->replicas, sizeof *table->endpoint, "mesh", &block));
    table->endpoint = block;
    for (int i = 0; i < self->replicas; i++) {
        artel__far_options options = {.rank = self->first + i,
                                      .ranks = mesh->generation.ranks,
                                      .generation = mesh->generation.id.counter,
                                      .spin_ns = spin_time(mesh)};
        ARTEL_TRY(mesh->transport->create(mesh->ctx, &options, &table->endpoint[i]));
    }
    return ARTEL_OK;
}

/* One entry for each connection that this process dials. */
static artel_status list_dials(artel_cluster *mesh)
{
    const artel__mesh_peer *self = &mesh->peer[mesh->self];
    for (int i = 0; i < self->replicas; i++) {
        for (int to = 0; to < self->first + i; to++) {
            artel__mesh_data *d = append(mesh);
            if (!d) return ARTEL_ERROR_NO_MEMORY;
            d->from = (uint32_t)(self->first + i);
            d->to = (uint32_t)to;
            d->generation = mesh->generation.id;
        }
    }
    return ARTEL_OK;
}

artel_status artel__mesh_take_seats(artel_cluster *mesh, const artel__generation *generation)
{
    mesh->data.attached = 0;
    artel__mesh_drop_data(mesh, false);
    number_ranks(mesh, generation);
    artel_status status = make_table(mesh, &mesh->generation.next);
    if (status == ARTEL_OK) status = list_dials(mesh);
    return status;
}

/* -- what this process lacks -- */

void artel__mesh_fail_machine(artel_cluster *mesh, bool job, artel_status status)
{
    const artel_error *error = artel_context_error(mesh->ctx);
    char text[ARTEL__TEXT_MAX + 1];
    int title =
        snprintf(text, sizeof text, "failed%s: %.80s%s", artel__mesh_has_formed(mesh) ? "" : " before the job began",
                 error->where, error->where[0] ? ": " : "");
    snprintf(text + title, sizeof text - (size_t)title, "%.*s", ARTEL__TEXT_MAX - title, error->what);
    artel__membership_fail(mesh->machine, artel__now_ns(), job || !artel__mesh_has_formed(mesh), status, text);
}

/* Files or memory for a connection: what failed at first may go better in a moment. */
static void note_lack(artel_cluster *mesh, const char *what, int64_t now)
{
    if (!mesh->lack.since) mesh->lack.since = now;
    snprintf(mesh->lack.what, sizeof mesh->lack.what, "%.250s", what);
}

/* A task that others wait for and that cannot connect for so long leaves them. */
static void check_lack(artel_cluster *mesh, int64_t now)
{
    artel__mesh_due due = mesh->orders.due;
    bool awaited = due == ARTEL__MESH_SEATS || due == ARTEL__MESH_JOIN || due == ARTEL__MESH_FETCH;
    for (int r = 0; r < mesh->peers; r++) awaited = awaited || mesh->orders.serve[r];
    if (!awaited) return;
    int error = artel__listener_lack(mesh->listener);
    if (!error || !mesh->lack.deaf_since) mesh->lack.deaf_since = error ? now : 0;
    bool mute = mesh->lack.since && now - mesh->lack.since >= mesh->crowd * LACK_NS,
         deaf = mesh->lack.deaf_since && now - mesh->lack.deaf_since >= mesh->crowd * LACK_NS;
    if (!mute && !deaf) return;
    artel_status status = artel__fail(mesh->ctx, ARTEL_ERROR_IO, "cluster", "raise the limit on open files (ulimit -n)",
                                      "cannot connect to the others: %s", mute ? mesh->lack.what : strerror(error));
    artel__mesh_fail_machine(mesh, false, status);
}

/* -- connecting -- */

static void attach(artel_cluster *mesh, artel__mesh_data *d)
{
    const artel__mesh_peer *self = &mesh->peer[mesh->self];
    uint32_t own = d->accepted ? d->to : d->from, other = d->accepted ? d->from : d->to;
    int owner = other < (uint32_t)mesh->generation.ranks ? artel__mesh_owner(mesh, (int)other) : -1;
    bool right = own - (uint32_t)self->first < (uint32_t)self->replicas && owner >= 0 &&
                 (!d->accepted || other > own) &&
                 strcmp(artel__connection_peer(d->connection)->task, mesh->peer[owner].name) == 0;
    if (!right) {
        drop(d);
        return;
    }
    right = artel__far_attach(mesh->generation.next.endpoint[own - (uint32_t)self->first], (int)other, d->connection) ==
            ARTEL_OK;
    d->connection = NULL;
    artel__mesh_move_way(&d->way, ARTEL__MESH_GONE);
    mesh->data.attached += right;
}

/* Moves the first 16 bytes; true when they are through. False with *lost set when they never will be. */
static bool move_preface(artel__mesh_data *d, bool *lost)
{
    artel__net_stream *stream = artel__connection_stream(d->connection);
    artel__net_why why = {""};
    if (!d->accepted) {
        artel__bytes_put(d->preface, d->from, 4);
        artel__bytes_put(d->preface + 4, d->to, 4);
        artel__bytes_put(d->preface + 8, d->generation.incarnation, 8);
    }
    while (d->moved < sizeof d->preface) {
        struct iovec piece = {d->preface + d->moved, sizeof d->preface - d->moved};
        int64_t n = d->accepted ? artel__net_stream_read(stream, &piece, 1, &why)
                                : artel__net_stream_write(stream, &piece, 1, &why);
        if (n < 0) {
            *lost = n != ARTEL__NET_STREAM_AGAIN;
            return false;
        }
        d->moved += (size_t)n;
    }
    if (!d->accepted) {
        int left = artel__net_stream_flush(stream, &why);
        *lost = left < 0 && left != ARTEL__NET_STREAM_AGAIN;
        return left == 0;
    }
    d->from = (uint32_t)artel__bytes_get(d->preface, 4);
    d->to = (uint32_t)artel__bytes_get(d->preface + 4, 4);
    d->generation.incarnation = artel__bytes_get(d->preface + 8, 8);
    return true;
}

static void wait_longer(artel__mesh_data *d, int64_t now)
{
    int64_t pause = d->pause_ns ? 2 * d->pause_ns : ARTEL__MESH_SECOND / 100;
    d->pause_ns = pause < ARTEL__MESH_SECOND / 2 ? pause : ARTEL__MESH_SECOND / 2;
    d->dial_at = now + d->pause_ns;
}

/* Whom a connection that is dialled goes to; -1: its generation is over. */
static int dialled_peer(const artel_cluster *mesh, const artel__mesh_data *d)
{
    return d->from == ARTEL__MESH_STATE ? mesh->orders.copy_from : artel__mesh_owner(mesh, (int)d->to);
}

static void dial(artel_cluster *mesh, artel__mesh_data *d, int64_t now)
{
    int owner = dialled_peer(mesh, d);
    artel__mesh_peer *p = &mesh->peer[owner];
    artel__connection_request request = {.purpose = ARTEL__NET_DATA, .task = p->name};
    if (owner != mesh->self && !artel__mesh_locate(mesh, p)) {
        wait_longer(d, now);
        return;
    }
    request.to = owner == mesh->self ? mesh->own : p->resolved;
    d->moved = 0;
    d->dialled_ns = now;
    mesh->site.self.generation = d->generation.counter;
    artel_status status = artel__connection_open(&mesh->site, &request, &d->connection);
    mesh->site.self.generation = mesh->pass.number;
    if (status == ARTEL_OK) {
        artel__mesh_move_way(&d->way, ARTEL__MESH_OPENING);
        mesh->lack.since = 0;
        return;
    }
    d->connection = NULL;
    note_lack(mesh, artel_context_error(mesh->ctx)->what, now);
    wait_longer(d, now);
}

/* Where nobody answers nobody is any more, perhaps: the name is looked up again. */
static void lose(artel_cluster *mesh, artel__mesh_data *d, bool unanswered, int64_t now)
{
    int to = d->accepted ? -1 : dialled_peer(mesh, d);
    artel__net_fault fault = artel__connection_fault(d->connection);
    bool elsewhere = unanswered || fault == ARTEL__FAULT_UNREACHABLE || fault == ARTEL__FAULT_NAME;
    if (to >= 0 && to != mesh->self && elsewhere) artel__mesh_forget_address(&mesh->peer[to]);
    artel__connection_close(d->connection);
    d->connection = NULL;
    artel__mesh_move_way(&d->way, d->accepted ? ARTEL__MESH_GONE : ARTEL__MESH_TO_DIAL);
    wait_longer(d, now);
}

/* Whether the connection belongs to the generation that is being connected. */
static bool is_due(const artel_cluster *mesh, const artel__mesh_data *d)
{
    artel__mesh_due due = mesh->orders.due;
    return d->from != ARTEL__MESH_STATE && (due == ARTEL__MESH_JOIN || due == ARTEL__MESH_READY) &&
           mesh->generation.next.endpoint && artel__generation_same(d->generation, mesh->generation.id);
}

/* A donor that cannot be reached for so long. */
static void give_up_state(artel_cluster *mesh, artel__mesh_data *d, int64_t now)
{
    drop(d);
    if (mesh->orders.due == ARTEL__MESH_FETCH) artel__mesh_move_due(&mesh->orders.due, ARTEL__MESH_NOTHING);
    artel__membership_lost(mesh->machine, now, (uint32_t)mesh->orders.copy_from);
}

static void move(artel_cluster *mesh, artel__mesh_data *d, int64_t now)
{
    bool lost = false;
    artel__connection_state state = artel__connection_get_state(d->connection);
    if (state != ARTEL__CONNECTION_OPEN) state = artel__connection_progress(d->connection);
    if (state == ARTEL__CONNECTION_OPEN && d->way == ARTEL__MESH_OPENING && move_preface(d, &lost))
        artel__mesh_move_way(&d->way, ARTEL__MESH_PREFACED);
    bool old = d->accepted && now - d->since_ns > mesh->crowd * KEEP_NS;
    bool unanswered = state == ARTEL__CONNECTION_CONNECTING && now - d->dialled_ns > mesh->crowd * ANSWER_NS;
    if (lost || old || unanswered || state == ARTEL__CONNECTION_LOST)
        lose(mesh, d, unanswered, now);
    else if (d->way == ARTEL__MESH_PREFACED && is_due(mesh, d))
        attach(mesh, d);
}

/* Who is not connected after so long is not reachable, whatever its heartbeats say. */
static void check_missing(artel_cluster *mesh, int64_t now)
{
    if (now - mesh->generation.start_ns < mesh->crowd * CONNECT_NS) return;
    mesh->generation.start_ns = now;
    for (int rank = 0; rank < mesh->generation.ranks; rank++) {
        int owner = artel__mesh_owner(mesh, rank);
        if (owner == mesh->self || artel__far_is_attached(mesh->generation.next.endpoint[0], rank)) continue;
        artel__log(mesh->ctx, ARTEL_LOG_WARNING, "%s cannot be connected for data", mesh->peer[owner].title);
        artel__membership_lost(mesh->machine, now, (uint32_t)owner);
        return;
    }
}

static void check_seated(artel_cluster *mesh, int64_t now)
{
    if (mesh->orders.due != ARTEL__MESH_JOIN) return;
    if (mesh->data.attached == mesh->generation.next.count * (mesh->generation.ranks - 1)) {
        artel__mesh_move_due(&mesh->orders.due, ARTEL__MESH_READY);
        pthread_cond_broadcast(&mesh->changed);
    } else {
        check_missing(mesh, now);
    }
}

/* While the generation is in doubt there are no seats to take: it goes on, or is stopped. */
static void retry_seats(artel_cluster *mesh, int64_t now)
{
    const artel__generation *generation = artel__membership_generation(mesh->machine);
    if (!generation) return;
    if (artel__mesh_take_seats(mesh, generation) < 0) {
        note_lack(mesh, artel_context_error(mesh->ctx)->what, now);
        return;
    }
    artel__mesh_move_due(&mesh->orders.due, ARTEL__MESH_JOIN);
    mesh->lack.since = 0;
}

void artel__mesh_move_data(artel_cluster *mesh, int64_t now)
{
    int open = 0;
    if (mesh->orders.due == ARTEL__MESH_SEATS) retry_seats(mesh, now);
    for (int i = 0; i < mesh->data.count; i++) {
        artel__mesh_data *d = &mesh->data.list[i];
        bool state = d->from == ARTEL__MESH_STATE && !d->accepted && d->way != ARTEL__MESH_GONE;
        if (state && now - d->since_ns > mesh->crowd * CONNECT_NS) give_up_state(mesh, d, now);
        if (d->way == ARTEL__MESH_TO_DIAL && open < ARTEL__MESH_DIALS && now >= d->dial_at) dial(mesh, d, now);
        if (d->way != ARTEL__MESH_OPENING && d->way != ARTEL__MESH_PREFACED) continue;
        move(mesh, d, now);
        open += d->way == ARTEL__MESH_OPENING && !d->accepted;
    }
    tidy(mesh);
    check_seated(mesh, now);
    check_lack(mesh, now);
}

/* -- state -- */

void artel__mesh_dial_state(artel_cluster *mesh)
{
    artel__mesh_drop_data(mesh, false);
    artel__mesh_data *d = append(mesh);
    if (!d) return; /* the proposal runs out of time, and is made again */
    d->from = ARTEL__MESH_STATE;
    d->generation.counter = mesh->generation.id.counter;
    artel__mesh_wake(mesh);
}

artel__connection *artel__mesh_take_state(artel_cluster *mesh, bool accepted, int *peer)
{
    for (int i = 0; i < mesh->data.count; i++) {
        artel__mesh_data *d = &mesh->data.list[i];
        if (d->way != ARTEL__MESH_PREFACED || d->accepted != accepted || d->from != ARTEL__MESH_STATE) continue;
        int rank = artel__mesh_find(mesh, artel__connection_peer(d->connection)->task);
        if (accepted && (rank < 0 || !mesh->orders.serve[rank])) continue;
        artel__connection *connection = d->connection;
        *peer = rank;
        d->connection = NULL;
        artel__mesh_move_way(&d->way, ARTEL__MESH_GONE);
        return connection;
    }
    return NULL;
}

/* -- streams -- */

/* Waits for the socket, briefly; false when the stream is over. */
static bool wait_socket(artel__mesh_stream *stream, short events, int64_t *quiet_since)
{
    artel_cluster *mesh = stream->mesh;
    struct pollfd fd = {.fd = artel__connection_fd(stream->connection), .events = events};
    int ready = poll(&fd, 1, 20);
    if (atomic_load(&mesh->orders.serial) != stream->serial) return false;
    if (ready > 0) *quiet_since = artel__now_ns();
    return artel__now_ns() - *quiet_since < (int64_t)(5e9 * mesh->options.suspect_after);
}

static artel_status broken(artel__mesh_stream *stream)
{
    return artel__fail(stream->mesh->quiet, ARTEL_ERROR_RUN, stream->mesh->peer[stream->peer].title, "",
                       "the copy of state broke off");
}

artel_status artel__mesh_send(artel__mesh_stream *stream, const void *bytes, size_t count)
{
    artel__net_stream *net = artel__connection_stream(stream->connection);
    artel__net_why why = {""};
    int64_t quiet = artel__now_ns();
    size_t sent = 0;
    stream->crc = artel__crc32c(stream->crc, bytes, count);
    while (sent < count || artel__net_stream_unsent(net)) {
        struct iovec piece = {(char *)(uintptr_t)bytes + sent,
                              count - sent < ((size_t)1 << 20) ? count - sent : (size_t)1 << 20};
        int64_t n = sent < count ? artel__net_stream_write(net, &piece, 1, &why) : artel__net_stream_flush(net, &why);
        if (n < 0 && n != ARTEL__NET_STREAM_AGAIN) return broken(stream);
        if (n > 0) sent += (size_t)n;
        if (n < 0 && !wait_socket(stream, POLLOUT, &quiet)) return broken(stream);
    }
    return ARTEL_OK;
}

artel_status artel__mesh_receive(artel__mesh_stream *stream, void *bytes, size_t count)
{
    artel__net_stream *net = artel__connection_stream(stream->connection);
    artel__net_why why = {""};
    int64_t quiet = artel__now_ns();
    size_t got = 0;
    while (got < count) {
        struct iovec piece = {(char *)bytes + got, count - got};
        int64_t n = artel__net_stream_read(net, &piece, 1, &why);
        if (n < 0 && n != ARTEL__NET_STREAM_AGAIN) return broken(stream);
        if (n > 0) got += (size_t)n;
        if (n < 0 && !wait_socket(stream, POLLIN, &quiet)) return broken(stream);
    }
    stream->crc = artel__crc32c(stream->crc, bytes, count);
    return ARTEL_OK;
}
