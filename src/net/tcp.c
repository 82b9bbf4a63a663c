/* SPDX-License-Identifier: Apache-2.0 */
/* The TCP driver's interface, cancelling, and the making of endpoints. */
#include "net/tcp_impl.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

#define SETTLE_NS INT64_C(200000000)

enum {
    LOCAL_BUFFER = 208 << 10,
    WINDOW = 1 << 20
};

static artel__tcp *tcp_of(artel__endpoint *endpoint)
{
    return (artel__tcp *)endpoint;
}

static artel_status say_lost(artel__tcp *tcp, int rank)
{
    const artel__tcp_peer *p = &tcp->peer[rank];
    const char *task = p->connection ? artel__connection_peer(p->connection)->task : "a peer";
    artel__net_blame(&tcp->base, p->starved ? tcp->base.rank : rank,
                     p->starved ? ARTEL_ERROR_NO_MEMORY : ARTEL_ERROR_RUN);
    if (p->starved) /* no failure of the peer's: it is this rank that cannot go on */
        return artel__fail(tcp->base.ctx, ARTEL_ERROR_NO_MEMORY, "messages",
                           "use a smaller batch or model, or a machine with more memory",
                           "out of memory for a message of %s", task);
    return artel__fail(tcp->base.ctx, ARTEL_ERROR_RUN, task, "look at its log; start it again",
                       "the connection of rank %d with %s (rank %d%s%s) is lost: %s", tcp->base.rank, task, rank,
                       p->connection ? " at " : "", p->connection ? artel__connection_address(p->connection) : "",
                       p->connection ? p->why : "it was never connected");
}

/* -- cancelling -- */

static void wake_up(artel__tcp *tcp)
{
    uint64_t one = 1;
    while (write(tcp->wake, &one, sizeof one) < 0 && errno == EINTR) {
    }
}

static void tcp_wake(artel__endpoint *endpoint)
{
    wake_up(tcp_of(endpoint));
}

static void tcp_cancel(artel__endpoint *endpoint)
{
    artel__tcp *tcp = tcp_of(endpoint);
    pthread_mutex_lock(&tcp->mutex);
    tcp->cancelled_here = true;
    artel__tcp_raise_cancelled(tcp, tcp->own);
    bool tell = tcp->told <= tcp->own;
    if (tell) {
        tcp->told = tcp->own + 1;
        tcp->told_any = !tcp->posted;
        tcp->settle_until = artel__now_ns() + SETTLE_NS;
    }
    for (int r = 0; tell && r < endpoint->ranks; r++) {
        artel__tcp_peer *p = &tcp->peer[r];
        if (!p->connection || p->lost) continue;
        p->cancel_due = true;
        artel__tcp_pump_out(tcp, p);
    }
    pthread_mutex_unlock(&tcp->mutex);
    wake_up(tcp);
}

static void tcp_resume(artel__endpoint *endpoint)
{
    artel__tcp *tcp = tcp_of(endpoint);
    pthread_mutex_lock(&tcp->mutex);
    tcp->own++;
    tcp->cancelled_here = false;
    pthread_mutex_unlock(&tcp->mutex);
}

static void advance_generation(artel__tcp *tcp, uint32_t generation)
{
    if (generation <= (uint32_t)(tcp->own >> 32)) return;
    tcp->own = (uint64_t)generation << 32;
    if (!artel__tcp_is_cancelled(tcp)) atomic_store(&tcp->base.blame, 0);
    for (int r = 0; r < tcp->base.ranks; r++) artel__tcp_forget_old(tcp, &tcp->peer[r]);
}

void artel__tcp_set_generation(artel__endpoint *endpoint, uint32_t generation)
{
    artel__tcp *tcp = tcp_of(endpoint);
    pthread_mutex_lock(&tcp->mutex);
    if (generation > (uint32_t)(tcp->own >> 32)) tcp->cancelled_here = false;
    advance_generation(tcp, generation);
    tcp->posted = true;
    pthread_mutex_unlock(&tcp->mutex);
}

/* -- messages -- */

static artel__tcp_peer *begin_post(artel__tcp *tcp, artel__net_request *request, bool sending)
{
    request->sending = sending;
    request->held = NULL;
    atomic_store_explicit(&request->state, ARTEL__NET_POSTED, memory_order_relaxed);
    tcp->posted = true;
    advance_generation(tcp, request->frame.generation);
    return &tcp->peer[request->peer];
}

/* Nothing leaves before the next progress or wait, so that what is posted together leaves together. */
static artel_status tcp_send(artel__endpoint *endpoint, artel__net_request *request)
{
    artel__tcp *tcp = tcp_of(endpoint);
    pthread_mutex_lock(&tcp->mutex);
    artel__tcp_peer *p = begin_post(tcp, request, true);
    artel_status status = p->lost ? say_lost(tcp, request->peer) : ARTEL_OK;
    if (status == ARTEL_OK)
        artel__tcp_queue_send(p, request);
    else
        atomic_store_explicit(&request->state, ARTEL__NET_IDLE, memory_order_relaxed);
    pthread_mutex_unlock(&tcp->mutex);
    return status;
}

/* What has arrived can still be had from a peer that is lost. */
static artel_status tcp_receive(artel__endpoint *endpoint, artel__net_request *request)
{
    artel__tcp *tcp = tcp_of(endpoint);
    pthread_mutex_lock(&tcp->mutex);
    artel__tcp_peer *p = begin_post(tcp, request, false);
    artel_status status = ARTEL_OK;
    if (!artel__tcp_ask(tcp, p, request) && p->lost) {
        artel__tcp_take_out(&p->receives, request);
        atomic_store_explicit(&request->state, ARTEL__NET_IDLE, memory_order_relaxed);
        status = say_lost(tcp, request->peer);
    }
    pthread_mutex_unlock(&tcp->mutex);
    return status;
}

/* -- leaving in order -- */

static bool has_requests(const artel__tcp *tcp)
{
    for (int r = 0; r < tcp->base.ranks; r++) {
        if (tcp->peer[r].receives.head || artel__tcp_is_sending(&tcp->peer[r])) return true;
    }
    return false;
}

static bool has_output(const artel__tcp *tcp)
{
    for (int r = 0; r < tcp->base.ranks; r++) {
        if (artel__tcp_has_output(&tcp->peer[r])) return true;
    }
    return false;
}

static void move_all(artel__tcp *tcp)
{
    for (int r = 0; r < tcp->base.ranks; r++) {
        artel__tcp_peer *p = &tcp->peer[r];
        if (p->writable && artel__tcp_has_output(p)) artel__tcp_pump_out(tcp, p);
        if (artel__tcp_has_input(p)) artel__tcp_pump_in(tcp, p);
    }
}

/* A rank that has cancelled and taken everything back will not progress again for a while; the word of it, and the end
 * of the chunk before it, may be waiting for a full socket. Others wait for it, so they read; this reads too, because
 * they may be leaving as well. */
static void settle(artel__tcp *tcp)
{
    while (has_output(tcp) && artel__now_ns() < tcp->settle_until) {
        artel__tcp_sleep(tcp, 5);
        move_all(tcp);
    }
    tcp->settle_until = 0;
}

/* False: of a message that was here, what has been read is void. */
static bool end_request(artel__tcp *tcp, artel__net_request *request)
{
    int state = atomic_load_explicit(&request->state, memory_order_acquire);
    if (state == ARTEL__NET_IDLE) return true;
    pthread_mutex_lock(&tcp->mutex);
    artel__tcp_peer *p = &tcp->peer[request->peer];
    bool intact = request->sending || state != ARTEL__NET_DONE || !artel__tcp_is_void(request->held);
    if (!request->sending)
        artel__tcp_unask(tcp, p, request);
    else if (state != ARTEL__NET_DONE)
        artel__tcp_take_back(tcp, p, request);
    atomic_store_explicit(&request->state, ARTEL__NET_IDLE, memory_order_relaxed);
    if (p->returns && p->writable && artel__tcp_has_output(p))
        artel__tcp_pump_out(tcp, p); /* this rank may have something else to do now */
    if (tcp->settle_until && !has_requests(tcp)) settle(tcp);
    pthread_mutex_unlock(&tcp->mutex);
    return intact;
}

static void tcp_withdraw(artel__endpoint *endpoint, artel__net_request *request)
{
    end_request(tcp_of(endpoint), request);
}

static artel_status tcp_release(artel__endpoint *endpoint, artel__net_request *request)
{
    return !artel__net_done(request) || end_request(tcp_of(endpoint), request) ? ARTEL_OK : ARTEL_ERROR_CANCELLED;
}

/* -- progress -- */

/* A peer that is lost matters when something is still expected of it. */
static artel_status check_peers(artel__tcp *tcp)
{
    for (int r = 0; r < tcp->base.ranks; r++) {
        const artel__tcp_peer *p = &tcp->peer[r];
        if (p->lost && (p->receives.head || artel__tcp_is_sending(p))) return say_lost(tcp, r);
    }
    return ARTEL_OK;
}

static artel_status tcp_progress(artel__endpoint *endpoint)
{
    artel__tcp *tcp = tcp_of(endpoint);
    pthread_mutex_lock(&tcp->mutex);
    for (int r = 0; r < endpoint->ranks; r++) {
        if (artel__tcp_has_output(&tcp->peer[r])) artel__tcp_pump_out(tcp, &tcp->peer[r]);
    }
    bool ask = tcp->sockets > 0 ||
               ++tcp->skipped >= ARTEL__TCP_LOOKS; /* otherwise sockets only say who is gone: waits hear that as well */
    if (!tcp->polled && ask) artel__tcp_poll(tcp);
    tcp->polled = false;
    artel__tcp_look(tcp);
    for (int r = 0; r < endpoint->ranks; r++) {
        artel__tcp_peer *p = &tcp->peer[r];
        if (artel__tcp_has_input(p)) artel__tcp_pump_in(tcp, p);
        if (p->writable && artel__tcp_has_output(p)) artel__tcp_pump_out(tcp, p);
    }
    artel_status status = artel__tcp_is_cancelled(tcp) ? ARTEL_ERROR_CANCELLED : check_peers(tcp);
    tcp->looked = tcp->changes; /* the caller sees what is done when it returns */
    pthread_mutex_unlock(&tcp->mutex);
    return status;
}

/* -- making and ending -- */

static void close_peer(artel__tcp *tcp, artel__tcp_peer *p)
{
    if (p->connection) {
        if (artel__tcp_has_output(p)) artel__tcp_pump_out(tcp, p);
        epoll_ctl(tcp->epoll, EPOLL_CTL_DEL, p->stream->socket, NULL);
        if (p->stream->shared)
            epoll_ctl(tcp->epoll, EPOLL_CTL_DEL, artel__shared_fd(p->stream->shared),
                      NULL); /* the peer holds it, too */
        else
            tcp->sockets--;
        artel__connection_close(p->connection);
    }
    artel__tcp_drop_input(tcp, p, true);
    artel__tcp_drop_returns(tcp, p);
    artel__free(tcp->base.ctx, p->stage);
    artel__free(tcp->base.ctx, p->inbox);
    *p = (artel__tcp_peer){.lost = true};
}

static void tcp_close(artel__endpoint *endpoint)
{
    artel__tcp *tcp = tcp_of(endpoint);
    artel_context *ctx = endpoint->ctx;
    for (int r = 0; tcp->peer && r < endpoint->ranks; r++) close_peer(tcp, &tcp->peer[r]);
    artel__tcp_pool_fini(&tcp->pool);
    if (tcp->wake >= 0) close(tcp->wake);
    if (tcp->epoll >= 0) close(tcp->epoll);
    if (tcp->has_mutex) pthread_mutex_destroy(&tcp->mutex);
    artel__free(ctx, tcp->peer);
    artel__free(ctx, tcp);
}

static bool tcp_has_borrower(artel__endpoint *endpoint)
{
    artel__tcp *tcp = tcp_of(endpoint);
    bool some = false;
    pthread_mutex_lock(&tcp->mutex);
    for (int r = 0; r < endpoint->ranks; r++) some = some || (tcp->peer[r].connection && tcp->peer[r].stream->shared);
    pthread_mutex_unlock(&tcp->mutex);
    return some;
}

static const artel__transport_ops tcp_ops = {
    .name = "tcp",
    .caps = ARTEL__NET_CHECKS,
    .post_send = tcp_send,
    .post_receive = tcp_receive,
    .progress = tcp_progress,
    .wait = artel__tcp_wait,
    .release = tcp_release,
    .withdraw = tcp_withdraw,
    .cancel = tcp_cancel,
    .resume = tcp_resume,
    .has_borrower = tcp_has_borrower,
    .close = tcp_close,
    .far = &artel__far_tcp,
};

static artel_status begin(artel__tcp *tcp)
{
    artel_context *ctx = tcp->base.ctx;
    void *block;
    tcp->epoll = epoll_create1(EPOLL_CLOEXEC);
    tcp->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (tcp->epoll < 0 || tcp->wake < 0) return artel__fail_errno(ctx, "tcp", "open");
    struct epoll_event event = {.events = EPOLLIN, .data.fd = ARTEL__TCP_WAKE};
    if (epoll_ctl(tcp->epoll, EPOLL_CTL_ADD, tcp->wake, &event) < 0) return artel__fail_errno(ctx, "tcp", "open");
    if (pthread_mutex_init(&tcp->mutex, NULL) != 0)
        return artel__fail(ctx, ARTEL_ERROR_NO_MEMORY, "tcp", "", "no mutex");
    tcp->has_mutex = true;
    ARTEL_TRY(artel__calloc(ctx, (size_t)tcp->base.ranks, sizeof(artel__tcp_peer), "tcp", &block));
    tcp->peer = block;
    for (int r = 0; r < tcp->base.ranks; r++) tcp->peer[r].lost = true;
    return ARTEL_OK;
}

artel_status artel__tcp_create(artel_context *ctx, const artel__far_options *options, artel__endpoint **out)
{
    void *block;
    ARTEL_TRY(artel__calloc(ctx, 1, sizeof(artel__tcp), "tcp", &block));
    artel__tcp *tcp = block;
    *tcp = (artel__tcp){
        .base = {.ops = &tcp_ops, .ctx = ctx, .rank = options->rank, .ranks = options->ranks}, .epoll = -1, .wake = -1};
    tcp->window = options->window ? options->window : WINDOW;
    tcp->spin_ns = options->spin_ns;
    artel__tcp_pool_init(&tcp->pool, ctx);
    artel_status status = begin(tcp);
    if (status < 0) {
        tcp_close(&tcp->base);
        return status;
    }
    if (options->generation) artel__tcp_set_generation(&tcp->base, options->generation);
    *out = &tcp->base;
    return ARTEL_OK;
}

/* Buffers, and two messages to begin with. */
static artel_status prepare(artel__tcp *tcp, artel__tcp_peer *p)
{
    artel_context *ctx = tcp->base.ctx;
    artel__tcp_message *first[2] = {NULL, NULL};
    void *block;
    ARTEL_TRY(artel__alloc(ctx, ARTEL__TCP_STAGE, "tcp", &block));
    p->stage = block;
    p->stage_bytes = ARTEL__TCP_STAGE;
    ARTEL_TRY(artel__alloc(ctx, ARTEL__TCP_INBOX, "tcp", &block));
    p->inbox = block;
    artel_status status = ARTEL_OK;
    for (int i = 0; i < 2 && status == ARTEL_OK; i++) status = artel__tcp_pool_take(&tcp->pool, 1, &first[i]);
    for (int i = 0; i < 2; i++) {
        if (first[i]) artel__tcp_pool_give(&tcp->pool, first[i]);
    }
    return status;
}

/* Between processes of one machine a long socket buffer only costs cache: what fits in it is written to memory and read
 * back. Measured with bench/coll_bench.c at 100 MB: a tenth less processor time than with the system's choice. Whether
 * they are. */
static bool fit_to_machine(int socket)
{
    artel__net_address here = {.bytes = sizeof here.socket}, there = {.bytes = sizeof there.socket};
    if (getsockname(socket, (struct sockaddr *)&here.socket, &here.bytes) < 0) return false;
    if (getpeername(socket, (struct sockaddr *)&there.socket, &there.bytes) < 0) return false;
    bool near = artel__net_address_same_host(&here, &there);
    if (near) setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &(int){LOCAL_BUFFER}, sizeof(int));
    return near;
}

static artel_status watch(artel__tcp *tcp, const artel__net_stream *stream, int rank)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.fd = rank};
    if (epoll_ctl(tcp->epoll, EPOLL_CTL_ADD, stream->socket, &event) < 0)
        return artel__fail_errno(tcp->base.ctx, "tcp", "watch");
    if (!stream->shared) return ARTEL_OK;
    event = (struct epoll_event){.events = EPOLLIN | EPOLLET, .data.fd = ARTEL__TCP_ROUSED};
    if (epoll_ctl(tcp->epoll, EPOLL_CTL_ADD, artel__shared_fd(stream->shared), &event) == 0) return ARTEL_OK;
    epoll_ctl(tcp->epoll, EPOLL_CTL_DEL, stream->socket, NULL);
    return artel__fail_errno(tcp->base.ctx, "tcp", "watch");
}

static artel_status adopt(artel__tcp *tcp, int rank, artel__connection *connection)
{
    artel__tcp_peer *p = &tcp->peer[rank];
    artel_context *ctx = tcp->base.ctx;
    if (p->connection && !p->lost)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, "tcp", "", "rank %d is connected already", rank);
    bool usable = artel__connection_get_state(connection) == ARTEL__CONNECTION_OPEN &&
                  artel__connection_peer(connection)->purpose == ARTEL__NET_DATA;
    if (!usable) return artel__fail(ctx, ARTEL_ERROR_INVALID, "tcp", "", "rank %d: not an open data connection", rank);
    if (artel__tcp_is_sending(p) || p->receives.head)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, "tcp", "", "rank %d has posted requests", rank);
    close_peer(tcp, p);
    ARTEL_TRY(prepare(tcp, p));
    p->stream = artel__connection_carrier(connection);
    p->deep = !p->stream->shared && !fit_to_machine(p->stream->socket);
    ARTEL_TRY(watch(tcp, p->stream, rank));
    tcp->sockets += !p->stream->shared;
    p->connection = connection;
    p->out_mask = artel__connection_mask(connection, true);
    p->in_mask = artel__connection_mask(connection, false);
    p->sums = !artel__connection_is_secure(connection) && !p->stream->shared;
    p->readable = p->writable = true;
    p->lost = false;
    return ARTEL_OK;
}

artel_status artel__tcp_attach(artel__endpoint *endpoint, int peer, artel__connection *connection)
{
    artel__tcp *tcp = tcp_of(endpoint);
    bool right = peer >= 0 && peer < endpoint->ranks && peer != endpoint->rank;
    pthread_mutex_lock(&tcp->mutex);
    artel_status status = right ? adopt(tcp, peer, connection)
                                : artel__fail(endpoint->ctx, ARTEL_ERROR_INVALID, "tcp", "", "rank %d has no peer %d",
                                              endpoint->rank, peer);
    tcp->changes++;
    pthread_mutex_unlock(&tcp->mutex);
    if (status < 0) artel__connection_close(connection);
    return status;
}

static artel_status check_remap(artel__tcp *tcp, int ranks, const int *old_rank)
{
    artel_context *ctx = tcp->base.ctx;
    for (int r = 0; r < tcp->base.ranks; r++) {
        const artel__tcp_peer *p = &tcp->peer[r];
        if (p->receives.head || artel__tcp_is_sending(p) || (p->into && p->into->request) || p->longer)
            return artel__fail(ctx, ARTEL_ERROR_INVALID, "tcp", "", "rank %d has posted requests", r);
    }
    for (int r = 0; r < ranks; r++) {
        bool fits = old_rank[r] < tcp->base.ranks;
        for (int k = 0; fits && k < r; k++) fits = old_rank[r] < 0 || old_rank[k] != old_rank[r];
        if (!fits)
            return artel__fail(ctx, ARTEL_ERROR_INVALID, "tcp", "", "no rank %d to become rank %d", old_rank[r], r);
    }
    return ARTEL_OK;
}

/* Their sockets are watched under their new numbers, which also asks anew what is readable. */
static void move_peers(artel__tcp *tcp, artel__tcp_peer *to, int ranks, const int *old_rank)
{
    for (int r = 0; r < ranks; r++) {
        artel__tcp_peer *from = old_rank[r] >= 0 ? &tcp->peer[old_rank[r]] : NULL;
        to[r] = (artel__tcp_peer){.lost = true};
        if (!from || !from->connection) continue;
        to[r] = *from;
        *from = (artel__tcp_peer){.lost = true};
        struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.fd = r};
        if (epoll_ctl(tcp->epoll, EPOLL_CTL_MOD, to[r].stream->socket, &event) < 0)
            artel__tcp_fail_peer(tcp, &to[r], "it cannot be watched");
    }
}

artel_status artel__tcp_remap(artel__endpoint *endpoint, int rank, int ranks, const int *old_rank)
{
    artel__tcp *tcp = tcp_of(endpoint);
    void *block = NULL;
    pthread_mutex_lock(&tcp->mutex);
    artel_status status = check_remap(tcp, ranks, old_rank);
    if (status == ARTEL_OK)
        status = artel__calloc(endpoint->ctx, (size_t)ranks, sizeof(artel__tcp_peer), "tcp", &block);
    if (status == ARTEL_OK) {
        move_peers(tcp, block, ranks, old_rank);
        for (int r = 0; r < endpoint->ranks; r++) close_peer(tcp, &tcp->peer[r]);
        artel__free(endpoint->ctx, tcp->peer);
        tcp->peer = block;
        endpoint->rank = rank;
        endpoint->ranks = ranks;
        close_peer(tcp, &tcp->peer[rank]);
    }
    pthread_mutex_unlock(&tcp->mutex);
    return status;
}

void artel__tcp_lose(artel__endpoint *endpoint, int peer, const char *reason)
{
    artel__tcp *tcp = tcp_of(endpoint);
    pthread_mutex_lock(&tcp->mutex);
    artel__tcp_fail_peer(tcp, &tcp->peer[peer], reason);
    pthread_mutex_unlock(&tcp->mutex);
    wake_up(tcp);
}

static bool tcp_is_attached(artel__endpoint *endpoint, int peer)
{
    artel__tcp *tcp = tcp_of(endpoint);
    pthread_mutex_lock(&tcp->mutex);
    bool attached = peer == endpoint->rank || tcp->peer[peer].connection;
    pthread_mutex_unlock(&tcp->mutex);
    return attached;
}

bool artel__tcp_is_lost(artel__endpoint *endpoint, int peer)
{
    artel__tcp *tcp = tcp_of(endpoint);
    pthread_mutex_lock(&tcp->mutex);
    bool lost = peer != endpoint->rank && tcp->peer[peer].lost;
    pthread_mutex_unlock(&tcp->mutex);
    return lost;
}

static int tcp_awaited(artel__endpoint *endpoint)
{
    artel__tcp *tcp = tcp_of(endpoint);
    int found = -1, count = 0;
    pthread_mutex_lock(&tcp->mutex);
    for (int r = 0; r < endpoint->ranks; r++) {
        if (r == endpoint->rank || !tcp->peer[r].receives.head) continue;
        found = r;
        count++;
    }
    pthread_mutex_unlock(&tcp->mutex);
    return count == 1 ? found : -1;
}

size_t artel__tcp_held_bytes(artel__endpoint *endpoint)
{
    artel__tcp *tcp = tcp_of(endpoint);
    size_t bytes = 0;
    pthread_mutex_lock(&tcp->mutex);
    for (int r = 0; r < endpoint->ranks; r++) bytes += tcp->peer[r].held_bytes;
    pthread_mutex_unlock(&tcp->mutex);
    return bytes;
}

const artel__far_transport artel__far_tcp = {
    .name = "tcp",
    .doc = "TCP, plain or encrypted; memory where two tasks share a host.",
    .create = artel__tcp_create,
    .attach = artel__tcp_attach,
    .is_attached = tcp_is_attached,
    .is_lost = artel__tcp_is_lost,
    .lose = artel__tcp_lose,
    .wake = tcp_wake,
    .awaited = tcp_awaited,
    .unheard = artel__tcp_unheard,
};
