/* SPDX-License-Identifier: Apache-2.0 */
/* How a data connection comes to memory that both ends share (net/shared.h), as a part of its greeting: who connects
 * says which host it is on; who accepts, when it is on the same, hands over a segment and repeats the number; who
 * connects says so once more when it has taken it. Whoever cannot, or is told 0, stays with the socket; nothing else
 * changes.
 */
#include <string.h>
#include <unistd.h>

#include "net/connection_impl.h"

uint64_t artel__connection_host(const artel__connection *c)
{
    return c->purpose == ARTEL__NET_DATA && c->site->shares ? artel__shared_host() : 0;
}

static void find_proof(const artel__connection *c, uint8_t out[ARTEL__SHARED_PROOF])
{
    memcpy(out, c->server ? c->peer.nonce : c->nonce, 16);
    memcpy(out + 16, c->server ? c->nonce : c->peer.nonce, 16);
}

uint64_t artel__connection_answer_host(artel__connection *c)
{
    uint8_t proof[ARTEL__SHARED_PROOF];
    artel_context *ctx = c->site->ctx;
    uint64_t host = c->peer.host ? artel__connection_host(c) : 0;
    bool same = host && host == c->peer.host, shares;
    find_proof(c, proof);
    if (c->server)
        c->offered = shares = same && artel__shared_offer(ctx, proof, &c->carrier.shared);
    else {
        c->offered = c->peer.host != 0;
        shares = same && c->meeting >= 0 && artel__shared_take(ctx, c->meeting, proof, &c->carrier.shared);
    }
    return shares ? host : 0;
}

void artel__connection_begin_carrier(artel__connection *c)
{
    artel__shared *shared = c->carrier.shared;
    c->carrier = shared ? (artel__net_stream){.socket = c->stream.socket, .shared = shared} : c->stream;
    if (c->meeting >= 0) close(c->meeting);
    c->meeting = -1;
}

void artel__connection_forget_shared(artel__connection *c)
{
    artel__shared_destroy(c->carrier.shared);
    c->carrier.shared = NULL;
}
