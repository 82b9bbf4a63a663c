/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes over a socket that does not block, plain or encrypted: one face for both. */
#ifndef ARTEL_NET_STREAM_H
#define ARTEL_NET_STREAM_H

#include "net/tls.h"

typedef struct artel__net_stream {
    int socket;
    const artel__tls_stream_part *part;
    artel__tls_stream *secure; /* NULL: plain */
} artel__net_stream;

/* Bytes moved, ARTEL__NET_STREAM_AGAIN, _END or _FAILED. Counts of pieces up to 64. */
int64_t artel__net_stream_read(artel__net_stream *stream, const struct iovec *to, int count, artel__net_why *why);
int64_t artel__net_stream_write(artel__net_stream *stream, const struct iovec *from, int count, artel__net_why *why);
/* 0 when every byte written has left this process. */
int artel__net_stream_flush(artel__net_stream *stream, artel__net_why *why);
bool artel__net_stream_unsent(const artel__net_stream *stream);

#endif
