/* SPDX-License-Identifier: Apache-2.0 */
/* The states of a connection up to its greeting, and its end. What others see of it: connection_look.c.
 *
 * Plain or encrypted is decided by this side; the first byte that arrives tells whether the other side thinks so too
 * (a TLS record begins with 20 to 23, a greeting with 'a'), so that both get a sentence instead of noise. A refusal is
 * written, the sending side shut, and the rest read away until the peer ends or a second has passed: closing at once
 * would let unread bytes destroy the refusal on its way.
 */
#include "net/connection_impl.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

#define HANDSHAKE_NS INT64_C(2000000000)
#define REFUSAL_NS INT64_C(1000000000)

/* -- the end -- */

static void describe(artel__connection *c, artel__net_fault fault, const char *reason)
{
    c->fault = fault;
    const char *task = c->peer.task[0] ? c->peer.task : c->task[0] ? c->task : "a stranger";
    snprintf(c->why, sizeof c->why, "%s at %s, connected with %s: %s: %s", task, c->address, c->site->self.task,
             artel__net_fault_name(fault), reason);
}

static void report(artel__connection *c, artel__net_fault fault, const char *reason)
{
    if (fault == ARTEL__FAULT_UNREACHABLE || fault == ARTEL__FAULT_LOST) return;
    artel__net_incident incident = {.fault = fault,
                                    .address = c->address,
                                    .task = c->peer.task,
                                    .reason = reason,
                                    .proven = c->site->tls ? c->proven : !c->foreign};
    artel__site_report(c->site, &incident);
}

void artel__connection_lose(artel__connection *c, artel__net_fault fault, const char *reason)
{
    if (c->state == ARTEL__CONNECTION_LOST) return;
    if (c->state != ARTEL__CONNECTION_REFUSING) {
        describe(c, fault, reason);
        report(c, fault, reason);
    }
    c->state = ARTEL__CONNECTION_LOST;
    c->deadline = INT64_MAX;
    shutdown(c->stream.socket, SHUT_RDWR);
}

void artel__connection_condemn(artel__connection *c, const char *reason)
{
    artel__connection_lose(c, ARTEL__FAULT_GARBAGE, reason);
}

/* Begins to tell the peer why not. */
static void refuse(artel__connection *c, artel__net_fault fault, const char *reason)
{
    describe(c, fault, reason);
    report(c, fault, reason);
    artel__refusal refusal = {.fault = fault};
    snprintf(refusal.reason, sizeof refusal.reason, "%s", reason);
    artel__refusal_encode(&refusal, c->out);
    c->sent = 0;
    c->state = ARTEL__CONNECTION_REFUSING;
    c->deadline = artel__now_ns() + REFUSAL_NS;
}

/* The peer has been told by TLS itself; the connection stays until that has arrived. */
static void linger(artel__connection *c, artel__net_fault fault, const char *reason)
{
    describe(c, fault, reason);
    report(c, fault, reason);
    c->sent = ARTEL__HELLO_BYTES;
    c->state = ARTEL__CONNECTION_REFUSING;
    c->deadline = artel__now_ns() + REFUSAL_NS;
    shutdown(c->stream.socket, SHUT_WR);
}

/* What the peer said of us is the fault, and no incident of ours. */
static void be_refused(artel__connection *c, const artel__refusal *refusal)
{
    describe(c, refusal->fault, refusal->reason);
    c->refused_there = true;
    c->state = ARTEL__CONNECTION_LOST;
    c->deadline = INT64_MAX;
    shutdown(c->stream.socket, SHUT_RDWR);
}

static void fail_stream(artel__connection *c, int64_t result, const char *text)
{
    bool open = c->state == ARTEL__CONNECTION_OPEN;
    if (result == ARTEL__NET_STREAM_DAMAGED)
        artel__connection_condemn(c, text);
    else if (result == ARTEL__NET_STREAM_END)
        artel__connection_lose(c, ARTEL__FAULT_LOST,
                               open ? "it ended the connection" : "it ended the connection before the greeting");
    else
        artel__connection_lose(c, ARTEL__FAULT_LOST, text);
}

/* -- greeting -- */

static int64_t write_some(artel__connection *c, const void *bytes, size_t count)
{
    artel__net_why why = {""};
    struct iovec piece = {(void *)(uintptr_t)bytes, count};
    int64_t n = artel__net_stream_write(&c->stream, &piece, 1, &why);
    if (n < 0 && n != ARTEL__NET_STREAM_AGAIN) fail_stream(c, n, why.text);
    return n;
}

/* True when the greeting or refusal in `out` has left. */
static bool write_out(artel__connection *c)
{
    while (c->sent < ARTEL__HELLO_BYTES) {
        int64_t n = write_some(c, c->out + c->sent, ARTEL__HELLO_BYTES - c->sent);
        if (n < 0) return false;
        c->sent += (size_t)n;
    }
    artel__net_why why = {""};
    int flushed = artel__net_stream_flush(&c->stream, &why);
    if (flushed < 0 && flushed != ARTEL__NET_STREAM_AGAIN) fail_stream(c, flushed, why.text);
    return flushed == 0;
}

static bool read_in(artel__connection *c)
{
    while (c->received < ARTEL__HELLO_BYTES) {
        artel__net_why why = {""};
        struct iovec piece = {c->in + c->received, ARTEL__HELLO_BYTES - c->received};
        int64_t n = artel__net_stream_read(&c->stream, &piece, 1, &why);
        if (n == ARTEL__NET_STREAM_AGAIN) return false;
        if (n < 0) {
            bool told = n == ARTEL__NET_STREAM_FAILED && c->stream.secure && strncmp(why.text, "TLS: ", 5) == 0;
            c->refused_there = told;
            if (told)
                artel__connection_lose(c, ARTEL__FAULT_CERTIFICATE, why.text);
            else
                fail_stream(c, n, why.text);
            return false;
        }
        c->received += (size_t)n;
    }
    return true;
}

/* Whether the other end, on this machine, may be spoken to; else the connection ends. */
static bool is_own(artel__connection *c)
{
    char reason[ARTEL__HELLO_REASON];
    artel__net_fault fault = artel__connection_judge_owner(c, reason);
    if (fault == ARTEL__FAULT_LOST) artel__connection_lose(c, fault, reason);
    if (fault == ARTEL__FAULT_PLAINTEXT) refuse(c, fault, reason);
    return fault == ARTEL__FAULT_NONE;
}

static bool make_nonce(artel__connection *c)
{
    return getrandom(c->nonce, sizeof c->nonce, GRND_NONBLOCK) == (ssize_t)sizeof c->nonce;
}

static void make_hello(artel__connection *c, artel__net_purpose purpose, const char *to, uint64_t host)
{
    artel__hello hello = c->site->self;
    hello.purpose = purpose;
    hello.host = host;
    snprintf(hello.to, sizeof hello.to, "%s", to);
    memcpy(hello.nonce, c->nonce, sizeof hello.nonce);
    artel__hello_encode(&hello, c->out);
    c->sent = 0;
}

static void open_up(artel__connection *c)
{
    artel__connection_begin_carrier(c);
    c->state = ARTEL__CONNECTION_OPEN;
    c->deadline = INT64_MAX;
}

/* The accepting end hears whether the memory was taken. */
static bool hear_answer(artel__connection *c)
{
    artel__hello hello;
    artel__refusal refusal;
    bool refused;
    if (!read_in(c)) return false;
    artel__net_fault fault = artel__hello_decode(c->in, &hello, &refusal, &refused);
    if (fault != ARTEL__FAULT_NONE) {
        if (refused)
            be_refused(c, &refusal);
        else
            refuse(c, fault, refusal.reason);
        return false;
    }
    if (hello.host != c->peer.host) artel__connection_forget_shared(c);
    c->confirmed = true;
    return true;
}

static void take_greeting(artel__connection *c)
{
    artel__hello hello;
    artel__refusal refusal;
    bool refused;
    artel__net_fault fault = artel__hello_decode(c->in, &hello, &refusal, &refused);
    if (refused) {
        be_refused(c, &refusal);
        return;
    }
    if (!c->server && !is_own(c)) return;
    if (fault == ARTEL__FAULT_NONE) {
        c->peer = hello;
        if (c->server) c->purpose = hello.purpose;
        fault = artel__connection_judge_peer(c, refusal.reason);
    }
    if (fault != ARTEL__FAULT_NONE) {
        refuse(c, fault, refusal.reason);
        return;
    }
    c->greeted = true;
    c->received = 0;
    uint64_t host = artel__connection_answer_host(c);
    if (c->server || c->offered) make_hello(c, c->purpose, c->peer.task, host);
}

static void greet(artel__connection *c)
{
    if (!c->server && !write_out(c)) return;
    if (!c->greeted && read_in(c)) take_greeting(c);
    if (c->state != ARTEL__CONNECTION_GREETING || !c->greeted) return;
    if ((c->server || c->offered) && !write_out(c)) return;
    if (c->server && c->offered && !c->confirmed && !hear_answer(c)) return;
    open_up(c);
}

static void tell_refusal(artel__connection *c)
{
    if (c->sent < ARTEL__HELLO_BYTES) {
        if (!write_out(c)) return;
        shutdown(c->stream.socket, SHUT_WR);
    }
    uint8_t away[4096];
    ssize_t n;
    do n = recv(c->stream.socket, away, sizeof away, MSG_DONTWAIT);
    while (n > 0 && artel__now_ns() < c->deadline);
    if (n == 0 || (n < 0 && errno != EAGAIN)) artel__connection_lose(c, c->fault, "");
}

/* -- connecting and encrypting -- */

enum {
    NOTHING_YET = -1,
    NOTHING_EVER = -2
};

/* The first byte from the peer. */
static int peek(const artel__connection *c)
{
    uint8_t first;
    ssize_t n = recv(c->stream.socket, &first, 1, MSG_PEEK | MSG_DONTWAIT);
    return n == 1 ? first : n < 0 && errno == EAGAIN ? NOTHING_YET : NOTHING_EVER;
}

bool artel__connection_first_is_here(const artel__connection *c)
{
    uint8_t head[ARTEL__CONNECTION_FIRST];
    int fd = c->stream.socket, here = 0, wanted = ARTEL__CONNECTION_FIRST;
    ssize_t n = recv(fd, head, sizeof head, MSG_PEEK | MSG_DONTWAIT);
    if (n <= 0) return n == 0 || errno != EAGAIN;
    bool record = n == sizeof head && head[0] >= 20 && head[0] <= 23;
    if (record) wanted += head[3] << 8 | head[4];
    if (wanted > ARTEL__CONNECTION_RECORD || ioctl(fd, FIONREAD, &here) < 0 || here >= wanted) return true;
    if (record) setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &wanted, sizeof wanted);
    struct pollfd ended = {.fd = fd, .events = POLLRDHUP};
    return poll(&ended, 1, 0) > 0;
}

/* What a stranger that says nothing, or half a word, need not cost. */
static bool begin_serving(artel__connection *c)
{
    if (!artel__connection_first_is_here(c)) return false;
    setsockopt(c->stream.socket, SOL_SOCKET, SO_RCVLOWAT, &(int){1}, sizeof(int));
    setsockopt(c->stream.socket, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    if (!is_own(c)) return false;
    c->begun = make_nonce(c);
    if (!c->begun) artel__connection_lose(c, ARTEL__FAULT_LOST, "the system has no random numbers yet");
    return c->begun;
}

/* False when the two ends do not agree about encryption. */
static bool check_first_byte(artel__connection *c)
{
    if (c->looked) return true;
    int first = peek(c);
    if (first == NOTHING_YET) return true;
    c->looked = true;
    if (first == NOTHING_EVER) return true; /* whoever reads will notice */
    bool secure = first >= 20 && first <= 23;
    if (secure == (c->site->tls != NULL)) return true;
    bool greeting = first == (ARTEL__HELLO_MAGIC & 0xff);
    if (!secure && !greeting) return true; /* TLS will say what it thinks of it */
    if (c->stream.secure) c->stream.part->destroy(c->stream.secure);
    c->stream.secure = NULL; /* the peer is told in the form it understands */
    refuse(c, ARTEL__FAULT_PLAINTEXT,
           secure ? "it speaks TLS, this task has no certificate"
                  : "it does not encrypt, this task demands a certificate");
    return false;
}

/* Who accepts takes memory and keys for encryption only when the first record is here: strangers that say less cost a
 * socket and a small block. False when there is nothing to go on with. */
static bool begin_encryption(artel__connection *c)
{
    artel__net_why why = {""};
    artel__tls *tls = c->site->tls;
    if (c->stream.secure) return true;
    if (c->server && !artel__connection_begins_well(c)) {
        artel__connection_condemn(c, "it begins TLS with another message, or a longer one, than artel does");
        return false;
    }
    c->stream.part = tls->part;
    if (tls->part->create(tls->identity, c->stream.socket, c->server, &c->stream.secure, &why) >= 0) return true;
    artel__connection_lose(c, ARTEL__FAULT_LOST, why.text);
    return false;
}

static void secure(artel__connection *c)
{
    artel__net_why why = {""};
    if (c->server && !c->begun && !begin_serving(c)) return;
    if (!check_first_byte(c)) return;
    if (!c->site->tls) {
        c->state = ARTEL__CONNECTION_GREETING;
        greet(c);
        return;
    }
    if (!begin_encryption(c)) return;
    int result = c->stream.part->handshake(c->stream.secure, &why);
    if (result == ARTEL__NET_STREAM_AGAIN) return;
    if (result == ARTEL__NET_STREAM_FAILED) {
        linger(c, ARTEL__FAULT_CERTIFICATE, why.text);
        return;
    }
    if (result < 0) {
        fail_stream(c, result, why.text);
        return;
    }
    c->proven = true;
    if (!c->server &&
        c->stream.part->doubts(c->stream.secure, &why)) { /* nothing is said to it; who accepts hears its name first */
        refuse(c, ARTEL__FAULT_CERTIFICATE, why.text);
        return;
    }
    c->state = ARTEL__CONNECTION_GREETING;
    greet(c);
}

static void begin_stream(artel__connection *c, const artel__net_address *peer)
{
    c->state = ARTEL__CONNECTION_SECURING;
    if (!artel__connection_may_be_plain(c, peer)) {
        refuse(c, ARTEL__FAULT_PLAINTEXT,
               "beyond this machine a certificate is needed (.cert_dir), or .insecure_network on both sides");
        return;
    }
    if (c->server) return;
    setsockopt(c->stream.socket, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    secure(c);
}

static void finish_connecting(artel__connection *c)
{
    int error = 0;
    socklen_t size = sizeof error;
    struct pollfd ready = {.fd = c->stream.socket, .events = POLLOUT};
    if (poll(&ready, 1, 0) == 0) return;
    if (getsockopt(c->stream.socket, SOL_SOCKET, SO_ERROR, &error, &size) < 0) error = errno;
    if (error) {
        artel__connection_lose(c, ARTEL__FAULT_UNREACHABLE, strerror(error));
        return;
    }
    artel__net_address to = {.bytes = sizeof to.socket};
    if (getpeername(c->stream.socket, (struct sockaddr *)&to.socket, &to.bytes) < 0) {
        artel__connection_lose(c, ARTEL__FAULT_UNREACHABLE, strerror(errno));
        return;
    }
    begin_stream(c, &to);
}

artel__connection_state artel__connection_progress(artel__connection *c)
{
    switch (c->state) {
    case ARTEL__CONNECTION_CONNECTING: finish_connecting(c); break;
    case ARTEL__CONNECTION_SECURING: secure(c); break;
    case ARTEL__CONNECTION_GREETING:
        if (check_first_byte(c)) greet(c);
        break;
    case ARTEL__CONNECTION_REFUSING: tell_refusal(c); break;
    case ARTEL__CONNECTION_OPEN:
        if (c->purpose == ARTEL__NET_CONTROL) artel__control_progress(c);
        break;
    case ARTEL__CONNECTION_LOST: break;
    }
    if (c->deadline != INT64_MAX && artel__now_ns() >= c->deadline)
        artel__connection_lose(c,
                               c->state == ARTEL__CONNECTION_CONNECTING ? ARTEL__FAULT_UNREACHABLE : ARTEL__FAULT_SLOW,
                               "no greeting in time");
    return c->state;
}

/* -- making -- */

/* A way that died without a word (a firewall that forgot the connection, a host that is gone) is noticed by the kernel,
 * also where this side only listens; and one that firewalls forget when it is idle is kept alive. TCP_USER_TIMEOUT is
 * not set: it would end connections to a task that computes for long before it reads on, and make an idle one that is
 * dead be noticed later; bytes that are not acknowledged are looked for instead (tcp_wait.c). */
static void watch_way(int socket)
{
    static const struct {
        int option, value;
    } set[] = {{TCP_KEEPIDLE, 10}, {TCP_KEEPINTVL, 5}, {TCP_KEEPCNT, 3}};
    setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &(int){1}, sizeof(int));
    for (size_t i = 0; i < ARTEL__COUNT(set); i++)
        setsockopt(socket, IPPROTO_TCP, set[i].option, &set[i].value, sizeof(int));
}

static artel_status create(artel__site *site, int socket, const artel__net_address *peer, artel__connection **out)
{
    void *block;
    ARTEL_TRY(artel__calloc(site->ctx, 1, sizeof(artel__connection), "connection", &block));
    artel__connection *c = block;
    c->site = site;
    c->stream.socket = socket;
    watch_way(socket);
    c->meeting = -1;
    c->deadline = artel__now_ns() + (site->handshake_ns ? site->handshake_ns : HANDSHAKE_NS);
    artel__net_address_text(peer, c->address);
    *out = c;
    return ARTEL_OK;
}

artel_status artel__connection_open(artel__site *site, const artel__connection_request *request,
                                    artel__connection **out)
{
    int fd = socket(request->to.socket.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return artel__fail_errno(site->ctx, request->task, "connect");
    artel__connection *c = NULL;
    artel_status status = create(site, fd, &request->to, &c);
    if (status < 0) {
        close(fd);
        return status;
    }
    if (!make_nonce(c)) {
        artel__connection_close(c);
        return artel__fail(site->ctx, ARTEL_ERROR_IO, "connection", "", "the system has no random numbers yet");
    }
    c->purpose = request->purpose;
    snprintf(c->task, sizeof c->task, "%s", request->task);
    uint64_t host = artel__connection_host(c);
    if (host) c->meeting = artel__shared_listen(c->nonce);
    make_hello(c, request->purpose, request->task, c->meeting >= 0 ? host : 0);
    c->state = ARTEL__CONNECTION_CONNECTING;
    if (connect(fd, (const struct sockaddr *)&request->to.socket, request->to.bytes) == 0)
        begin_stream(c, &request->to);
    else if (errno != EINPROGRESS)
        artel__connection_lose(c, ARTEL__FAULT_UNREACHABLE, strerror(errno));
    *out = c;
    return ARTEL_OK;
}

artel_status artel__connection_accept(artel__site *site, int socket, const artel__net_address *from,
                                      artel__connection **out)
{
    artel__connection *c = NULL;
    artel_status status = create(site, socket, from, &c);
    if (status < 0) {
        close(socket);
        return status;
    }
    c->server = true;
    *out = c;
    begin_stream(c, from);
    return ARTEL_OK;
}

void artel__connection_close(artel__connection *c)
{
    if (!c) return;
    if (c->state == ARTEL__CONNECTION_OPEN && c->purpose == ARTEL__NET_CONTROL) artel__control_progress(c);
    if (c->stream.secure) c->stream.part->destroy(c->stream.secure);
    if (c->meeting >= 0) close(c->meeting);
    artel__connection_forget_shared(c);
    /* Nothing was said that a reset could destroy. */
    bool unheard = c->server && !c->begun && c->state == ARTEL__CONNECTION_SECURING;
    if (unheard)
        setsockopt(c->stream.socket, SOL_SOCKET, SO_LINGER, &(struct linger){.l_onoff = 1}, sizeof(struct linger));
    /* Bytes that arrived and are not read would turn the end into a reset, which destroys what the peer has not read.
     */
    uint8_t away[4096];
    if (!unheard) shutdown(c->stream.socket, SHUT_WR);
    for (int i = 0; !unheard && i < 256 && recv(c->stream.socket, away, sizeof away, MSG_DONTWAIT) > 0;) i++;
    close(c->stream.socket);
    artel__free(c->site->ctx, c->control);
    artel__free(c->site->ctx, c);
}
