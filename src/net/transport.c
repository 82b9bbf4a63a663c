/* SPDX-License-Identifier: Apache-2.0 */
/* What all drivers have in common: checks at the border of the interface, and reading a message that came in pieces or
 * in one. Sending to oneself is refused here: collectives read their own memory.
 */
#include "net/transport.h"

static artel_status check(artel__endpoint *endpoint, artel__net_request *request)
{
    if (request->peer < 0 || request->peer >= endpoint->ranks || request->peer == endpoint->rank)
        return artel__fail(endpoint->ctx, ARTEL_ERROR_INTERNAL, endpoint->ops->name, "", "rank %d of %d has no peer %d",
                           endpoint->rank, endpoint->ranks, request->peer);
    return ARTEL_OK;
}

artel_status artel__net_send(artel__endpoint *endpoint, artel__net_request *request)
{
    ARTEL_TRY(check(endpoint, request));
    size_t length = artel__net_length(request->piece, request->pieces);
    if (length > ARTEL__FRAME_LONGEST)
        return artel__fail(endpoint->ctx, ARTEL_ERROR_INTERNAL, endpoint->ops->name, "", "a message of %zu bytes",
                           length);
    request->frame.length = length;
    return endpoint->ops->post_send(endpoint, request);
}

artel_status artel__net_receive(artel__endpoint *endpoint, artel__net_request *request)
{
    ARTEL_TRY(check(endpoint, request));
    return endpoint->ops->post_receive(endpoint, request);
}

artel_status artel__net_release(artel__endpoint *endpoint, artel__net_request *request)
{
    return endpoint->ops->release(endpoint, request);
}

void artel__net_withdraw(artel__endpoint *endpoint, artel__net_request *request)
{
    endpoint->ops->withdraw(endpoint, request);
}

void artel__net_close(artel__endpoint *endpoint)
{
    if (endpoint) endpoint->ops->close(endpoint);
}

const void *artel__net_part(const artel__net_request *request, int index, size_t offset)
{
    return request->pieces == 1 ? (const char *)request->piece[0].data + offset : request->piece[index].data;
}

size_t artel__net_length(const artel__net_piece *piece, int pieces)
{
    size_t length = 0;
    for (int i = 0; i < pieces; i++) length += artel__net_padded(piece[i].bytes);
    return length;
}
