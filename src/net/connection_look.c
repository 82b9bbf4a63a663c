/* SPDX-License-Identifier: Apache-2.0 */
/* What others see of a connection: its state, what it waits for, and who is at the other end. */
#include "net/connection_impl.h"

#include <poll.h>

#include "base/hash.h"

bool artel__connection_knocks(const artel__connection *c)
{
    return c->server && c->state == ARTEL__CONNECTION_SECURING && c->site->tls && !c->stream.secure &&
           artel__connection_first_is_here(c);
}

bool artel__connection_is_costly(const artel__connection *c)
{
    return c->server && c->stream.secure && c->state == ARTEL__CONNECTION_SECURING;
}

artel__connection_state artel__connection_get_state(const artel__connection *c)
{
    return c->state;
}

artel__net_fault artel__connection_fault(const artel__connection *c)
{
    return c->fault;
}

const char *artel__connection_why(const artel__connection *c)
{
    return c->why;
}

bool artel__connection_refused_there(const artel__connection *c)
{
    return c->refused_there;
}

int artel__connection_fd(const artel__connection *c)
{
    return c->stream.socket;
}

short artel__connection_events(const artel__connection *c)
{
    switch (c->state) {
    case ARTEL__CONNECTION_CONNECTING: return POLLOUT;
    case ARTEL__CONNECTION_SECURING: return (short)(POLLIN | (artel__net_stream_unsent(&c->stream) ? POLLOUT : 0));
    case ARTEL__CONNECTION_GREETING:
    case ARTEL__CONNECTION_REFUSING: {
        bool writing =
            (c->sent < ARTEL__HELLO_BYTES && (!c->server || c->greeted || c->state == ARTEL__CONNECTION_REFUSING)) ||
            artel__net_stream_unsent(&c->stream);
        return (short)(POLLIN | (writing ? POLLOUT : 0));
    }
    case ARTEL__CONNECTION_OPEN: return (short)(POLLIN | (artel__control_waits(c) ? POLLOUT : 0));
    case ARTEL__CONNECTION_LOST: break;
    }
    return 0;
}

int64_t artel__connection_deadline(const artel__connection *c)
{
    return c->deadline;
}

const artel__hello *artel__connection_peer(const artel__connection *c)
{
    return &c->peer;
}

const char *artel__connection_address(const artel__connection *c)
{
    return c->address;
}

bool artel__connection_is_secure(const artel__connection *c)
{
    return c->stream.secure != NULL;
}

artel__net_stream *artel__connection_stream(artel__connection *c)
{
    return &c->stream;
}

artel__net_stream *artel__connection_carrier(artel__connection *c)
{
    return &c->carrier;
}

artel__site *artel__connection_site(artel__connection *c)
{
    return c->site;
}

uint32_t artel__connection_mask(const artel__connection *c, bool sending)
{
    const uint8_t *from = sending ? c->nonce : c->peer.nonce, *to = sending ? c->peer.nonce : c->nonce;
    return artel__crc32c(artel__crc32c(0, from, 16), to, 16);
}
