/* SPDX-License-Identifier: Apache-2.0 */
/* Events and waiting in the TCP driver.
 *
 * Sockets are watched edge-triggered, so that watching costs no system call after the first: a peer is readable or
 * writable from an event on until a read or write says otherwise. A wait first moves what can be moved; it sleeps only
 * when nothing has changed since the last progress and nothing can be moved.
 */
#include "net/tcp_impl.h"

#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sched.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

enum {
    EVENTS = 64
};

/* How long a wait polls for peers of this host that run on other cores: about what two workers of equal load are apart
 * in a step. A core that has gone to sleep wakes up late and with cold caches. */
#define SPIN_APART_NS INT64_C(200000)

/* -- events -- */

static void drain_wake(artel__tcp *tcp)
{
    uint64_t count;
    while (read(tcp->wake, &count, sizeof count) < 0 && errno == EINTR) {
    }
}

static void note_event(artel__tcp *tcp, const struct epoll_event *event)
{
    int rank = (int)event->data.fd;
    if (rank == ARTEL__TCP_WAKE) {
        drain_wake(tcp);
        tcp->changes++;
        return;
    }
    if (rank == ARTEL__TCP_ROUSED) return; /* artel__tcp_look sees what it was */
    artel__tcp_peer *p = &tcp->peer[rank];
    if (event->events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) p->ending = true;
    if (p->stream->shared) { /* the socket only tells that it ends; what is in the memory comes before that */
        p->readable = p->readable || p->ending;
        return;
    }
    if (event->events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) p->readable = true;
    if (event->events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) p->writable = true;
    /* A reset is final; what waits in the socket is gone. */
    if ((event->events & EPOLLERR) && p->reading == ARTEL__TCP_WAITING)
        artel__tcp_fail_peer(tcp, p, "the connection was reset");
}

bool artel__tcp_look(artel__tcp *tcp)
{
    bool some = false;
    for (int r = 0; r < tcp->base.ranks; r++) {
        artel__tcp_peer *p = &tcp->peer[r];
        if (p->lost || !p->stream->shared) continue;
        p->readable = p->readable || artel__shared_has_bytes(p->stream->shared);
        p->writable = p->writable || artel__shared_has_room(p->stream->shared);
        some = some || artel__tcp_has_input(p) || (p->writable && artel__tcp_has_output(p));
    }
    return some;
}

static void say_asleep(artel__tcp *tcp, bool asleep)
{
    for (int r = 0; r < tcp->base.ranks; r++) {
        artel__tcp_peer *p = &tcp->peer[r];
        if (!p->connection || !p->stream->shared) continue;
        if (asleep)
            artel__shared_sleep(p->stream->shared, artel__tcp_has_output(p));
        else
            artel__shared_wake(p->stream->shared);
    }
}

int artel__tcp_sleep(artel__tcp *tcp, int milliseconds)
{
    struct epoll_event events[EVENTS];
    say_asleep(tcp, true);
    bool some = artel__tcp_look(tcp);
    pthread_mutex_unlock(&tcp->mutex);
    int n = epoll_wait(tcp->epoll, events, EVENTS, some ? 0 : milliseconds);
    pthread_mutex_lock(&tcp->mutex);
    say_asleep(tcp, false);
    for (int i = 0; i < n; i++) note_event(tcp, &events[i]);
    artel__tcp_look(tcp);
    return n;
}

int artel__tcp_poll(artel__tcp *tcp)
{
    struct epoll_event events[EVENTS];
    int n = epoll_wait(tcp->epoll, events, EVENTS, 0);
    for (int i = 0; i < n; i++) note_event(tcp, &events[i]);
    tcp->skipped = 0;
    return n;
}

/* Moves what is to leave; true when there is something to look at, or to move on with. */
static bool has_work(artel__tcp *tcp)
{
    bool work = false;
    for (int r = 0; r < tcp->base.ranks; r++) {
        artel__tcp_peer *p = &tcp->peer[r];
        if (p->writable && artel__tcp_has_output(p)) artel__tcp_pump_out(tcp, p);
        work = work || artel__tcp_has_input(p);
    }
    return work || tcp->changes != tcp->looked || artel__tcp_is_cancelled(tcp);
}

static void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

static bool poll_once(artel__tcp *tcp, bool sockets)
{
    pthread_mutex_lock(&tcp->mutex);
    bool events = sockets && artel__tcp_poll(tcp) > 0;
    tcp->polled = tcp->polled || events;
    bool some = artel__tcp_look(tcp) || events;
    pthread_mutex_unlock(&tcp->mutex);
    return some;
}

/* Whether every other rank is of this host and on another core than this thread. A rank that shares this core, because
 * there are more ranks than cores or the system has it so, would have to wait for the one that polls for it. */
static bool all_apart(artel__tcp *tcp)
{
    int core = sched_getcpu();
    bool apart = core >= 0;
    for (int r = 0; r < tcp->base.ranks && core >= 0; r++) {
        const artel__tcp_peer *p = &tcp->peer[r];
        if (r == tcp->base.rank) continue;
        bool shares = p->connection && p->stream->shared;
        if (shares) artel__shared_say_core(p->stream->shared, core);
        apart = apart && shares && artel__shared_is_apart(p->stream->shared, core);
    }
    return apart;
}

static int64_t spin_time(artel__tcp *tcp)
{
    bool apart = all_apart(tcp);
    return apart && tcp->spin_ns < SPIN_APART_NS ? SPIN_APART_NS : tcp->spin_ns;
}

static bool spin(artel__tcp *tcp, int64_t time)
{
    int64_t until = artel__now_ns() + time;
    for (int i = 0;; i++) {
        bool sockets = tcp->sockets > 0 || i % ARTEL__TCP_LOOKS == ARTEL__TCP_LOOKS - 1;
        if (poll_once(tcp, sockets)) return true;
        if (sockets && artel__now_ns() >= until) return false;
        if (!sockets) relax();
    }
}

void artel__tcp_wait(artel__endpoint *endpoint)
{
    artel__tcp *tcp = (artel__tcp *)endpoint;
    pthread_mutex_lock(&tcp->mutex);
    bool work = has_work(tcp);
    int64_t polls = work ? 0 : spin_time(tcp);
    pthread_mutex_unlock(&tcp->mutex);
    if (work || (polls > 0 && spin(tcp, polls))) return;
    pthread_mutex_lock(&tcp->mutex);
    tcp->polled =
        artel__tcp_sleep(tcp, ARTEL__LOOK_NS / 1000000) > 0; /* then the caller looks at its clock and context */
    pthread_mutex_unlock(&tcp->mutex);
}

/* -- the way -- */

static bool is_unheard(int socket, int64_t limit_ns)
{
    struct tcp_info info;
    socklen_t size = sizeof info;
    memset(&info, 0, sizeof info);
    if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) < 0) return false;
    return info.tcpi_unacked > 0 && info.tcpi_retransmits > 1 && info.tcpi_last_ack_recv * INT64_C(1000000) >= limit_ns;
}

int artel__tcp_unheard(artel__endpoint *endpoint, int64_t limit_ns)
{
    artel__tcp *tcp = (artel__tcp *)(void *)endpoint;
    int found = -1;
    pthread_mutex_lock(&tcp->mutex);
    for (int r = 0; r < endpoint->ranks && found < 0; r++) {
        const artel__tcp_peer *p = &tcp->peer[r];
        if (r == endpoint->rank || !p->connection || p->lost) continue;
        if (is_unheard(artel__connection_fd(p->connection), limit_ns)) found = r;
    }
    pthread_mutex_unlock(&tcp->mutex);
    return found;
}
