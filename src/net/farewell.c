/* SPDX-License-Identifier: Apache-2.0 */
/* A socket a listener, all at a time, until each has the bytes or the time is over. */
#include "net/farewell.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "base/clock.h"

typedef struct call {
    int socket; /* -1: none */
    bool told;
} call;

static void begin(call *c, const artel__net_address *to)
{
    c->socket = socket(to->socket.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (c->socket < 0 || connect(c->socket, (const struct sockaddr *)&to->socket, to->bytes) == 0 || errno == EINPROGRESS) return;
    close(c->socket);
    c->socket = -1;
}

/* The other side says nothing before it has read, so closing at once does not take the bytes away from it. */
static void move(call *c, const uint8_t bytes[ARTEL__HELLO_BYTES])
{
    int error = 0;
    socklen_t size = sizeof error;
    struct pollfd ready = {.fd = c->socket, .events = POLLOUT};
    if (poll(&ready, 1, 0) <= 0) return;
    bool open = getsockopt(c->socket, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
    c->told = open && send(c->socket, bytes, ARTEL__HELLO_BYTES, MSG_NOSIGNAL) == ARTEL__HELLO_BYTES;
    close(c->socket);
    c->socket = -1;
}

void artel__farewell(artel_context *ctx, const artel__net_address *to, int count, const artel__refusal *refusal, int64_t limit_ns)
{
    uint8_t bytes[ARTEL__HELLO_BYTES];
    void *block;
    int64_t until = artel__now_ns() + limit_ns;
    if (artel__calloc(ctx, (size_t)count, sizeof(call), "farewell", &block) < 0) return;
    call *c = block;
    for (int i = 0; i < count; i++) c[i].socket = -1;
    artel__refusal_encode(refusal, bytes);
    for (int told = 0; told < count && artel__now_ns() < until;) {
        told = 0;
        for (int i = 0; i < count; i++) {
            if (c[i].socket >= 0) move(&c[i], bytes);
            if (c[i].socket < 0 && !c[i].told) begin(&c[i], &to[i]);
            told += c[i].told;
        }
        if (told < count) poll(NULL, 0, 20);
    }
    for (int i = 0; i < count; i++) {
        if (c[i].socket >= 0) close(c[i].socket);
    }
    artel__free(ctx, c);
}
