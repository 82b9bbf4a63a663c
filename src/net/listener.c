/* SPDX-License-Identifier: Apache-2.0 */
/* Accepting. Slots of unfinished connections are in order of arrival; an epoll of its own watches them and the port. */
#include "net/listener.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

enum {
    ACCEPTS_A_CALL = 128,
    EVENTS_A_CALL = 64,
    PENDING = 256,
    PER_HOST = 64,
    COSTLY = 96,          /* handshakes of TLS that are under way, 50 KB each */
    COSTLY_PER_HOST = 32, /* of one host */
};

#define COSTLY_NS                                                                                                    \
    INT64_C(500000000) /* so long a handshake that others wait for may take; or a quarter of the site's time for one \
                        */

#define BIND_PATIENCE_NS INT64_C(1000000000) /* a port that somebody else has is tried so long */

#define LACK_NS INT64_C(20000000) /* the port rests so long when there are no files or memory for a connection */

typedef struct slot {
    artel__connection *connection;
    artel__net_address from;
    uint32_t watched; /* epoll events asked for */
    bool open;        /* waits to be taken */
    bool queues;      /* knocks, and waits until others are through */
    int64_t costly_until;
} slot;

struct artel__listener {
    artel__site *site;
    int socket, epoll, port, most_pending, most_per_host, count;
    int lack;                     /* errno of an accept that found no files or memory; 0: the last one did */
    int64_t rest_until, retry_at; /* retry_at: those that queue are looked at again; 0: none queues */
    slot *slot;                   /* [most_pending], the oldest first */
};

static void remove_slot(artel__listener *l, int i)
{
    memmove(l->slot + i, l->slot + i + 1, (size_t)(l->count - i - 1) * sizeof(slot));
    l->count--;
}

static void drop(artel__listener *l, int i)
{
    artel__connection *c = l->slot[i].connection;
    remove_slot(l, i);
    artel__connection_close(c); /* which takes it out of epoll */
}

static void watch(artel__listener *l, slot *s)
{
    short wanted = s->open || s->queues ? 0 : artel__connection_events(s->connection);
    uint32_t events = (wanted & POLLIN ? (uint32_t)EPOLLIN : 0) | (wanted & POLLOUT ? (uint32_t)EPOLLOUT : 0);
    if (events == s->watched) return;
    struct epoll_event event = {.events = events, .data.fd = artel__connection_fd(s->connection)};
    int change = events == 0       ? EPOLL_CTL_DEL
                 : s->watched == 0 ? EPOLL_CTL_ADD
                                   : EPOLL_CTL_MOD; /* asked for nothing, it tells of ends */
    if (epoll_ctl(l->epoll, change, event.data.fd, &event) == 0) s->watched = events;
}

static void report_crowd(artel__listener *l, const slot *s)
{
    artel__net_incident incident = {.fault = ARTEL__FAULT_CROWDED,
                                    .address = artel__connection_address(s->connection),
                                    .task = "",
                                    .reason = "too many unfinished connections; the oldest gave way"};
    artel__site_report(l->site, &incident);
}

/* Whether handshakes under way leave room for one more from this host. One that has had its time gives way, the oldest
 * first; among honest peers none has, and the next one is let on as soon as one is through. `victim` -1: none needs to.
 */
static bool has_room(const artel__listener *l, const artel__net_address *from, int64_t now, int *victim)
{
    int all = 0, same = 0, late = -1, late_same = -1;
    for (int i = l->count - 1; i >= 0; i--) {
        const slot *s = &l->slot[i];
        if (s->open || !artel__connection_is_costly(s->connection)) continue;
        bool here = artel__net_address_same_host(&s->from, from), old = now >= s->costly_until;
        all++;
        same += here;
        if (old) late = i;
        if (old && here) late_same = i;
    }
    *victim = same >= COSTLY_PER_HOST ? late_same : all >= COSTLY ? late : -1;
    return *victim >= 0 || (same < COSTLY_PER_HOST && all < COSTLY);
}

/* Lets one that knocks into its handshake; false when it has to queue. `i` may become less. */
static bool let_on(artel__listener *l, int *i)
{
    slot *s = &l->slot[*i];
    int64_t now = artel__now_ns();
    int victim;
    s->queues = !has_room(l, &s->from, now, &victim);
    if (s->queues) {
        l->retry_at = now + LACK_NS;
        return false;
    }
    s->costly_until = now + (l->site->handshake_ns ? l->site->handshake_ns / 4 : COSTLY_NS);
    if (victim < 0) return true;
    report_crowd(l, &l->slot[victim]);
    drop(l, victim);
    *i -= victim < *i;
    return true;
}

/* Moves one on; false when it is gone. */
static bool move(artel__listener *l, int i)
{
    slot *s = &l->slot[i];
    if (s->open) return true;
    bool in_time = artel__now_ns() < artel__connection_deadline(s->connection);
    if (in_time && artel__connection_knocks(s->connection) && !let_on(l, &i)) {
        watch(l, s);
        return true;
    }
    s = &l->slot[i];
    artel__connection_state state = artel__connection_progress(s->connection);
    if (state == ARTEL__CONNECTION_LOST) {
        drop(l, i);
        return false;
    }
    if (state == ARTEL__CONNECTION_OPEN) {
        /* Out of this epoll: whoever takes it has its own. */
        s->open = true;
        watch(l, s);
        if (l->retry_at) l->retry_at = 1; /* at once: there is a place */
        return true;
    }
    watch(l, s);
    return true;
}

/* Makes room for one more from this host. Open ones are never dropped; false when nothing else is left. */
static bool make_room(artel__listener *l, const artel__net_address *from)
{
    int same = 0, oldest = -1, oldest_same = -1;
    for (int i = l->count - 1; i >= 0; i--) {
        if (l->slot[i].open) continue;
        oldest = i;
        if (!artel__net_address_same_host(&l->slot[i].from, from)) continue;
        same++;
        oldest_same = i;
    }
    int victim = same >= l->most_per_host ? oldest_same : l->count >= l->most_pending ? oldest : -2;
    if (victim == -2) return true;
    if (victim == -1) return false;
    report_crowd(l, &l->slot[victim]);
    drop(l, victim);
    return true;
}

static void watch_port(artel__listener *l, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.fd = l->socket};
    epoll_ctl(l->epoll, EPOLL_CTL_MOD, l->socket, &event);
}

/* Whoever waits at the port keeps it readable: it is not looked at for a moment. */
static bool rest(artel__listener *l, int error)
{
    bool lack = error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
    if (!lack) return error == EINTR || error == ECONNABORTED;
    l->lack = error;
    l->rest_until = artel__now_ns() + LACK_NS;
    watch_port(l, 0);
    return false;
}

static bool accept_one(artel__listener *l)
{
    artel__net_address from = {.bytes = sizeof from.socket};
    int fd = accept4(l->socket, (struct sockaddr *)&from.socket, &from.bytes, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return rest(l, errno);
    l->lack = 0;
    if (!make_room(l, &from)) {
        close(fd);
        return true;
    }
    slot *s = &l->slot[l->count];
    if (artel__connection_accept(l->site, fd, &from, &s->connection) < 0) return true;
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    s->from = from;
    s->watched = EPOLLIN;
    s->open = s->queues = false;
    if (epoll_ctl(l->epoll, EPOLL_CTL_ADD, fd, &event) < 0) {
        artel__connection_close(s->connection);
        return true;
    }
    l->count++;
    if (artel__connection_get_state(s->connection) != ARTEL__CONNECTION_SECURING) move(l, l->count - 1);
    return true;
}

static int find(const artel__listener *l, int fd)
{
    for (int i = 0; i < l->count; i++) {
        if (artel__connection_fd(l->slot[i].connection) == fd) return i;
    }
    return -1;
}

void artel__listener_progress(artel__listener *l)
{
    struct epoll_event events[EVENTS_A_CALL];
    int n = epoll_wait(l->epoll, events, EVENTS_A_CALL, 0);
    /* Those that wait first: a flood of new ones must not push them out before they were looked at. */
    bool port = false;
    for (int k = 0; k < n; k++) {
        int i = events[k].data.fd == l->socket ? -1 : find(l, events[k].data.fd);
        port = port || events[k].data.fd == l->socket;
        if (i >= 0) move(l, i);
    }
    int64_t now = artel__now_ns();
    if (l->rest_until && now >= l->rest_until) {
        l->rest_until = 0;
        watch_port(l, EPOLLIN);
    }
    bool retry = l->retry_at && now >= l->retry_at;
    if (retry) l->retry_at = 0;
    for (int i = 0; i < l->count;) {
        bool due = (retry && l->slot[i].queues) || now >= artel__connection_deadline(l->slot[i].connection);
        if (l->slot[i].open || !due || move(l, i)) i++;
    }
    for (int i = 0; i < l->count && !l->retry_at; i++)
        if (l->slot[i].queues) l->retry_at = now + LACK_NS;
    for (int k = 0; port && k < ACCEPTS_A_CALL && accept_one(l);) k++;
}

artel__connection *artel__listener_take(artel__listener *l)
{
    for (int i = 0; i < l->count; i++) {
        if (!l->slot[i].open) continue;
        artel__connection *c = l->slot[i].connection;
        remove_slot(l, i);
        return c;
    }
    return NULL;
}

int64_t artel__listener_deadline(const artel__listener *l)
{
    int64_t first = l->rest_until ? l->rest_until : INT64_MAX;
    if (l->retry_at && l->retry_at < first) first = l->retry_at;
    for (int i = 0; i < l->count; i++) {
        int64_t at = l->slot[i].open ? INT64_MAX : artel__connection_deadline(l->slot[i].connection);
        if (at < first) first = at;
    }
    return first;
}

int artel__listener_pending(const artel__listener *l)
{
    int count = 0;
    for (int i = 0; i < l->count; i++) count += !l->slot[i].open;
    return count;
}

int artel__listener_lack(const artel__listener *l)
{
    return l->lack;
}

int artel__listener_fd(const artel__listener *l)
{
    return l->epoll;
}

int artel__listener_port(const artel__listener *l)
{
    return l->port;
}

/* A task that was killed a moment ago may have had a child that was about to run another program (the HDF5 helper);
 * until it does the child holds the port, and whoever starts the task again would not get it. */
static int bind_patiently(int fd, const artel__net_address *address)
{
    int64_t end = artel__now_ns() + BIND_PATIENCE_NS;
    while (bind(fd, (const struct sockaddr *)&address->socket, address->bytes) < 0) {
        struct timespec some = {0, 20000000};
        if (errno != EADDRINUSE || artel__now_ns() > end) return -1;
        nanosleep(&some, NULL);
    }
    return 0;
}

static artel_status begin(artel__listener *l, const artel__net_address *address)
{
    char text[ARTEL__NET_ADDRESS_TEXT];
    artel__net_address_text(address, text);
    artel_context *ctx = l->site->ctx;
    l->epoll = epoll_create1(EPOLL_CLOEXEC);
    l->socket = socket(address->socket.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (l->epoll < 0 || l->socket < 0) return artel__fail_errno(ctx, text, "listen");
    setsockopt(l->socket, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    setsockopt(l->socket, SOL_SOCKET, SO_RCVLOWAT, &(int){ARTEL__CONNECTION_FIRST},
               sizeof(int)); /* for those it accepts */
    if (bind_patiently(l->socket, address) < 0) return artel__fail_errno(ctx, text, "bind");
    if (listen(l->socket, 1024) < 0) return artel__fail_errno(ctx, text, "listen");
    artel__net_address own = {.bytes = sizeof own.socket};
    if (getsockname(l->socket, (struct sockaddr *)&own.socket, &own.bytes) < 0)
        return artel__fail_errno(ctx, text, "listen");
    l->port = artel__net_address_port(&own);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = l->socket};
    if (epoll_ctl(l->epoll, EPOLL_CTL_ADD, l->socket, &event) < 0) return artel__fail_errno(ctx, text, "listen");
    return ARTEL_OK;
}

artel_status artel__listener_create(artel__site *site, const artel__listener_options *options, artel__listener **out)
{
    void *block;
    ARTEL_TRY(artel__calloc(site->ctx, 1, sizeof(artel__listener), "listener", &block));
    artel__listener *l = block;
    *l = (artel__listener){.site = site, .socket = -1, .epoll = -1};
    l->most_pending = options->most_pending ? options->most_pending : PENDING;
    l->most_per_host = options->most_per_host ? options->most_per_host : PER_HOST;
    artel_status status = artel__calloc(site->ctx, (size_t)l->most_pending, sizeof(slot), "listener", &block);
    if (status == ARTEL_OK) {
        l->slot = block;
        status = begin(l, &options->address);
    }
    if (status < 0) {
        artel__listener_destroy(l);
        return status;
    }
    *out = l;
    return ARTEL_OK;
}

void artel__listener_destroy(artel__listener *l)
{
    if (!l) return;
    while (l->count) drop(l, l->count - 1);
    if (l->socket >= 0) close(l->socket);
    if (l->epoll >= 0) close(l->epoll);
    artel__free(l->site->ctx, l->slot);
    artel__free(l->site->ctx, l);
}
