/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks of one process as peers.
 *
 * Each rank has a port: for every source two queues, of sends that nobody asked for yet and of receives that wait. Who
 * posts second finds the partner, links the two requests and tells the other rank. The receiver then reads the
 * sender's memory in place; its release makes the send done. Requests are the callers' memory and the queues run
 * through them, so nothing is allocated after the fabric is made.
 *
 * A port counts its events. A rank remembers the count when it begins to progress and sleeps only while it is
 * unchanged, so nothing is missed between looking and sleeping. Notifying costs one atomic addition unless the other
 * rank sleeps. Lock order: one port mutex at a time.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>

#include "base/clock.h"
#include "net/inproc.h"

/* A wait that may poll does so for this long before it sleeps: replicas of equal work arrive within this time of one
 * another, and sleeping and waking costs 5 to 50 us, just when the others are late already. After the first looks it
 * yields between looks, because the scheduler may have put both ranks on one core, where polling keeps away the one
 * that is waited for. */
#define SPIN_NS 300000
#define LOOKS_BEFORE_YIELD 100

typedef struct queue {
    artel__net_request *head, *tail;
} queue;

/* A multiple of a cache line, so that two ranks never poll the same one. */
typedef struct port {
    _Alignas(64) artel__endpoint base;
    artel__fabric *fabric;
    pthread_mutex_t mutex; /* guards the queues, the states of what is in them, and sleeping */
    pthread_cond_t wake;
    queue *sends, *receives; /* by source */
    _Atomic uint64_t events;
    _Atomic bool sleeping, cancelled, left;
    _Atomic int missed; /* 1 + a rank that has left although this one waits for it; 0: none */
    uint64_t seen;      /* the owner's */
    bool ready;         /* mutex and condition exist */
} port;

struct artel__fabric {
    artel_context *ctx;
    int ranks;
    bool spin;
    port *port;
    size_t port_bytes;
    queue *queues;
};

static port *port_of(artel__endpoint *endpoint)
{
    return (port *)endpoint;
}

/* -- queues -- */

static void append(queue *q, artel__net_request *request)
{
    request->next = NULL;
    if (q->tail)
        q->tail->next = request;
    else
        q->head = request;
    q->tail = request;
}

static void unlink_after(queue *q, artel__net_request *before, artel__net_request *request)
{
    if (before)
        before->next = request->next;
    else
        q->head = request->next;
    if (q->tail == request) q->tail = before;
}

/* Takes the first request with this header out of a queue. */
static artel__net_request *take_match(queue *q, const artel__frame *frame)
{
    artel__net_request *before = NULL;
    for (artel__net_request *at = q->head; at; before = at, at = at->next) {
        if (!artel__frame_match(&at->frame, frame)) continue;
        unlink_after(q, before, at);
        return at;
    }
    return NULL;
}

static void take_out(queue *q, artel__net_request *request)
{
    artel__net_request *before = NULL;
    for (artel__net_request *at = q->head; at; before = at, at = at->next) {
        if (at != request) continue;
        unlink_after(q, before, at);
        return;
    }
}

/* -- telling and waiting -- */

static void notify(port *to)
{
    atomic_fetch_add(&to->events, 1);
    if (!atomic_load(&to->sleeping)) return;
    pthread_mutex_lock(&to->mutex);
    pthread_cond_signal(&to->wake);
    pthread_mutex_unlock(&to->mutex);
}

static void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

static bool has_event(const port *self)
{
    return atomic_load_explicit(&self->events, memory_order_acquire) != self->seen;
}

static bool spin_until_event(const port *self)
{
    for (int i = 0; i < LOOKS_BEFORE_YIELD; i++) {
        if (has_event(self)) return true;
        relax();
    }
    int64_t until = artel__now_ns() + SPIN_NS;
    do {
        sched_yield();
        if (has_event(self)) return true;
    } while (artel__now_ns() < until);
    return false;
}

static void inproc_wait(artel__endpoint *endpoint)
{
    port *self = port_of(endpoint);
    if (self->fabric->spin && spin_until_event(self)) return;
    pthread_mutex_lock(&self->mutex);
    atomic_store(&self->sleeping, true);
    struct timespec until = artel__after_ns(ARTEL__LOOK_NS); /* then the caller looks at its context */
    while (atomic_load(&self->events) == self->seen) {
        if (pthread_cond_timedwait(&self->wake, &self->mutex, &until) == ETIMEDOUT) break;
    }
    atomic_store(&self->sleeping, false);
    pthread_mutex_unlock(&self->mutex);
}

static artel_status fail_left(artel__endpoint *endpoint, int rank)
{
    return artel__fail(endpoint->ctx, ARTEL_ERROR_RUN, "communicator",
                       "let all members finish before one destroys its own", "member %d has left it", rank);
}

static artel_status inproc_progress(artel__endpoint *endpoint)
{
    port *self = port_of(endpoint);
    self->seen = atomic_load(&self->events);
    int missed = atomic_load(&self->missed);
    if (missed) return fail_left(endpoint, missed - 1);
    return atomic_load(&self->cancelled) ? ARTEL_ERROR_CANCELLED : ARTEL_OK;
}

/* -- messages -- */

/* Both are out of their queues; the mutex of the receiver's port is held. */
static void join(artel__net_request *send, artel__net_request *receive)
{
    send->partner = receive;
    receive->partner = send;
    receive->frame = send->frame;
    receive->piece = send->piece;
    receive->pieces = send->pieces;
    atomic_store_explicit(&send->state, ARTEL__NET_TAKEN, memory_order_relaxed);
    atomic_store_explicit(&receive->state, ARTEL__NET_DONE, memory_order_release);
}

static artel_status inproc_send(artel__endpoint *endpoint, artel__net_request *request)
{
    port *to = &port_of(endpoint)->fabric->port[request->peer];
    pthread_mutex_lock(&to->mutex);
    request->sending = true;
    atomic_store_explicit(&request->state, ARTEL__NET_POSTED, memory_order_relaxed);
    artel__net_request *receive = take_match(&to->receives[endpoint->rank], &request->frame);
    if (receive)
        join(request, receive);
    else
        append(&to->sends[endpoint->rank], request);
    pthread_mutex_unlock(&to->mutex);
    if (receive) notify(to);
    return ARTEL_OK;
}

static artel_status inproc_receive(artel__endpoint *endpoint, artel__net_request *request)
{
    port *self = port_of(endpoint);
    pthread_mutex_lock(&self->mutex);
    request->sending = false;
    atomic_store_explicit(&request->state, ARTEL__NET_POSTED, memory_order_relaxed);
    artel__net_request *send = take_match(&self->sends[request->peer], &request->frame);
    if (send)
        join(send, request);
    else
        append(&self->receives[request->peer], request);
    bool left =
        !send && request->frame.kind == ARTEL__FRAME_BARRIER && atomic_load(&self->fabric->port[request->peer].left);
    pthread_mutex_unlock(&self->mutex);
    if (left) atomic_store(&self->missed, 1 + request->peer);
    if (send) atomic_fetch_add(&self->events, 1);
    return ARTEL_OK;
}

/* The send belongs to its rank again from the store on, and may be gone. */
static artel_status inproc_release(artel__endpoint *endpoint, artel__net_request *request)
{
    if (!artel__net_done(request)) return ARTEL_OK;
    port *source = &port_of(endpoint)->fabric->port[request->peer];
    atomic_store_explicit(&request->state, ARTEL__NET_IDLE, memory_order_relaxed);
    atomic_store_explicit(&request->partner->state, ARTEL__NET_DONE, memory_order_release);
    notify(source);
    return ARTEL_OK;
}

/* A receiver that reads ends soon: it merges a slice, or is withdrawing itself. */
static void wait_until_read(port *self, artel__net_request *request)
{
    for (;;) {
        self->seen = atomic_load(&self->events);
        if (artel__net_done(request)) return;
        inproc_wait(&self->base);
    }
}

static void withdraw_receive(port *self, artel__net_request *request)
{
    pthread_mutex_lock(&self->mutex);
    if (atomic_load_explicit(&request->state, memory_order_relaxed) == ARTEL__NET_POSTED) {
        take_out(&self->receives[request->peer], request);
        atomic_store_explicit(&request->state, ARTEL__NET_IDLE, memory_order_relaxed);
    }
    pthread_mutex_unlock(&self->mutex);
    inproc_release(&self->base, request);
}

static void withdraw_send(port *self, artel__net_request *request)
{
    port *to = &self->fabric->port[request->peer];
    pthread_mutex_lock(&to->mutex);
    int state = atomic_load_explicit(&request->state, memory_order_acquire);
    if (state == ARTEL__NET_POSTED) take_out(&to->sends[self->base.rank], request);
    pthread_mutex_unlock(&to->mutex);
    if (state == ARTEL__NET_TAKEN) wait_until_read(self, request);
    atomic_store_explicit(&request->state, ARTEL__NET_IDLE, memory_order_relaxed);
}

static void inproc_withdraw(artel__endpoint *endpoint, artel__net_request *request)
{
    if (request->sending)
        withdraw_send(port_of(endpoint), request);
    else
        withdraw_receive(port_of(endpoint), request);
}

static void inproc_cancel(artel__endpoint *endpoint)
{
    artel__fabric *fabric = port_of(endpoint)->fabric;
    artel_status status;
    int rank = artel__net_blamed(endpoint, &status);
    for (int r = 0; r < fabric->ranks; r++) {
        artel__net_blame(&fabric->port[r].base, rank, status);
        atomic_store(&fabric->port[r].cancelled, true);
        notify(&fabric->port[r]);
    }
}

static void inproc_resume(artel__endpoint *endpoint)
{
    atomic_store(&port_of(endpoint)->cancelled, false);
}

static void miss(port *self, int rank)
{
    atomic_store(&self->missed, 1 + rank);
    notify(self);
}

/* What it sent in calls that it has been through has been read, so a barrier message that another one still waits for
 * never comes. Data may still be waited for that it never sent, because all agreed not to go on: the agreement says
 * that better. */
void artel__fabric_leave(artel__fabric *fabric, int rank)
{
    atomic_store(&fabric->port[rank].left, true);
    for (int r = 0; r < fabric->ranks; r++) {
        port *other = &fabric->port[r];
        bool waits = false;
        pthread_mutex_lock(&other->mutex);
        for (const artel__net_request *at = other->receives[rank].head; at; at = at->next)
            waits = waits || at->frame.kind == ARTEL__FRAME_BARRIER;
        pthread_mutex_unlock(&other->mutex);
        if (waits) miss(other, rank);
    }
}

static void inproc_close(artel__endpoint *endpoint)
{
    (void)endpoint;
}

static const artel__transport_ops inproc_ops = {
    .name = "inproc",
    .caps = ARTEL__NET_LENDS,
    .post_send = inproc_send,
    .post_receive = inproc_receive,
    .progress = inproc_progress,
    .wait = inproc_wait,
    .release = inproc_release,
    .withdraw = inproc_withdraw,
    .cancel = inproc_cancel,
    .resume = inproc_resume,
    .close = inproc_close,
};

/* -- making -- */

static artel_status open_port(artel__fabric *fabric, int rank)
{
    port *self = &fabric->port[rank];
    self->base = (artel__endpoint){.ops = &inproc_ops, .ctx = fabric->ctx, .rank = rank, .ranks = fabric->ranks};
    self->fabric = fabric;
    self->sends = fabric->queues + (size_t)rank * 2 * (size_t)fabric->ranks;
    self->receives = self->sends + fabric->ranks;
    if (pthread_mutex_init(&self->mutex, NULL) != 0)
        return artel__fail(fabric->ctx, ARTEL_ERROR_NO_MEMORY, "inproc", "", "no mutex for rank %d", rank);
    if (artel__cond_init(&self->wake) != 0) {
        pthread_mutex_destroy(&self->mutex);
        return artel__fail(fabric->ctx, ARTEL_ERROR_NO_MEMORY, "inproc", "", "no condition variable for rank %d", rank);
    }
    self->ready = true;
    return ARTEL_OK;
}

static artel_status open_ports(artel__fabric *fabric)
{
    void *block;
    size_t ranks = (size_t)fabric->ranks;
    ARTEL_TRY(artel__calloc(fabric->ctx, ranks * ranks, 2 * sizeof(queue), "inproc", &block));
    fabric->queues = block;
    fabric->port_bytes = ranks * sizeof(port);
    ARTEL_TRY(artel__alloc_aligned(fabric->ctx, fabric->port_bytes, "inproc", &block));
    fabric->port = block;
    for (int r = 0; r < fabric->ranks; r++) ARTEL_TRY(open_port(fabric, r));
    return ARTEL_OK;
}

artel_status artel__fabric_create(artel_context *ctx, int ranks, bool spin, artel__fabric **out)
{
    void *block;
    ARTEL_TRY(artel__calloc(ctx, 1, sizeof(artel__fabric), "inproc", &block));
    artel__fabric *fabric = block;
    *fabric = (artel__fabric){.ctx = ctx, .ranks = ranks, .spin = spin};
    artel_status status = open_ports(fabric);
    if (status < 0) {
        artel__fabric_destroy(fabric);
        return status;
    }
    *out = fabric;
    return ARTEL_OK;
}

void artel__fabric_destroy(artel__fabric *fabric)
{
    if (!fabric) return;
    for (int r = 0; fabric->port && r < fabric->ranks; r++) {
        if (!fabric->port[r].ready) continue;
        pthread_cond_destroy(&fabric->port[r].wake);
        pthread_mutex_destroy(&fabric->port[r].mutex);
    }
    if (fabric->port) artel__free_aligned(fabric->ctx, fabric->port, fabric->port_bytes);
    artel__free(fabric->ctx, fabric->queues);
    artel__free(fabric->ctx, fabric);
}

artel__endpoint *artel__fabric_endpoint(artel__fabric *fabric, int rank)
{
    return &fabric->port[rank].base;
}
