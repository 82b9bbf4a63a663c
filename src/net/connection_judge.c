/* SPDX-License-Identifier: Apache-2.0 */
/* What a connection thinks of its peer: of the first record that it sends, of whom it belongs to, of who it says it is.
 * Nothing is sent and nothing ended here; connection.c acts upon the answers.
 */
#include "net/connection_impl.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "net/owner.h"

bool artel__connection_may_be_plain(artel__connection *c, const artel__net_address *peer)
{
    artel__net_address own = {.bytes = sizeof own.socket};
    bool known = getsockname(c->stream.socket, (struct sockaddr *)&own.socket, &own.bytes) == 0;
    c->local = known && artel__net_address_is_loopback(&own) && artel__net_address_is_loopback(peer);
    return c->site->tls || c->site->insecure_network || c->local;
}

artel__net_fault artel__connection_judge_owner(artel__connection *c, char reason[ARTEL__HELLO_REASON])
{
    uid_t owner;
    if (!c->local || c->site->tls || c->site->insecure_network) return ARTEL__FAULT_NONE;
    c->foreign = true;
    if (!artel__net_owner(c->stream.socket, &owner)) {
        snprintf(reason, ARTEL__HELLO_REASON, "no process holds its other end any more, as far as the kernel says");
        return ARTEL__FAULT_LOST;
    }
    c->foreign = !artel__net_owner_is_trusted(owner);
    if (!c->foreign) return ARTEL__FAULT_NONE;
    snprintf(reason, ARTEL__HELLO_REASON,
             "it is of another user of this machine (%u); with certificates (.cert_dir) others can be told apart",
             (unsigned)owner);
    return ARTEL__FAULT_PLAINTEXT;
}

/* The first bytes of TLS: the head of a record and of the message in it, which must be whole. */
static bool is_short_hello(const uint8_t *head, ssize_t count)
{
    size_t record = (size_t)head[3] << 8 | head[4];
    if (count < ARTEL__CONNECTION_FIRST + 4 || record + ARTEL__CONNECTION_FIRST > ARTEL__CONNECTION_RECORD)
        return false;
    size_t message = (size_t)head[6] << 16 | (size_t)head[7] << 8 | head[8];
    return head[0] == 22 && head[5] == 1 && message + 4 <= record;
}

bool artel__connection_begins_well(const artel__connection *c)
{
    uint8_t head[ARTEL__CONNECTION_FIRST + 4];
    ssize_t n = recv(c->stream.socket, head, sizeof head, MSG_PEEK | MSG_DONTWAIT);
    return n <= 0 || head[0] < 20 || head[0] > 23 ||
           is_short_hello(head, n); /* of the others, whoever reads will notice */
}

/* Whether the peer's certificate is that of the task it says it is: it carries the task's name, or that of the task's
 * own host. */
static bool is_certified(artel__connection *c, char *names, size_t size)
{
    const artel__tls_stream_part *part = c->stream.part;
    if (part->peer_is(c->stream.secure, c->peer.task, names, size)) return true;
    const char *host = c->site->host_of ? c->site->host_of(c->site->user, c->peer.task) : NULL;
    return host && part->peer_is(c->stream.secure, host, names, size);
}

artel__net_fault artel__connection_judge_peer(artel__connection *c, char reason[ARTEL__HELLO_REASON])
{
    char names[128];
    artel__net_why why;
    if (c->stream.secure && c->stream.part->doubts(c->stream.secure, &why)) {
        snprintf(reason, ARTEL__HELLO_REASON, "%.190s", why.text);
        return ARTEL__FAULT_CERTIFICATE;
    }
    if (c->stream.secure && !is_certified(c, names, sizeof names)) {
        snprintf(reason, ARTEL__HELLO_REASON, "it calls itself %.50s, its certificate is for %.100s", c->peer.task,
                 names[0] ? names : "nobody");
        return ARTEL__FAULT_NAME;
    }
    if (!c->server && c->task[0] && strcmp(c->peer.task, c->task) != 0) {
        snprintf(reason, ARTEL__HELLO_REASON, "%.50s answers where %.50s was expected", c->peer.task, c->task);
        return ARTEL__FAULT_NAME;
    }
    artel__net_fault fault = artel__hello_check(&c->site->self, &c->peer, reason);
    if (fault != ARTEL__FAULT_NONE || !c->site->admit) return fault;
    return c->site->admit(c->site->user, &c->peer, reason);
}
