/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes over a socket that does not block, plain or encrypted, or through memory shared with the peer: one face for
 * all. */
#ifndef ARTEL_NET_STREAM_H
#define ARTEL_NET_STREAM_H

#include "net/shared.h"

typedef struct artel__net_stream {
    int socket;
    const artel__tls_stream_part *part;
    artel__tls_stream *secure; /* NULL: plain */
    artel__shared *shared;     /* NULL: over the socket; else the socket only tells when the peer is gone */
} artel__net_stream;

/* Bytes moved, ARTEL__NET_STREAM_AGAIN, _END or _FAILED. Counts of pieces up to 64. */
int64_t artel__net_stream_read(artel__net_stream *stream, const struct iovec *to, int count, artel__net_why *why);
int64_t artel__net_stream_write(artel__net_stream *stream, const struct iovec *from, int count, artel__net_why *why);
/* 0 when every byte written has left this process. */
int artel__net_stream_flush(artel__net_stream *stream, artel__net_why *why);
bool artel__net_stream_unsent(const artel__net_stream *stream);

#endif
