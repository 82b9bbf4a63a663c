/* SPDX-License-Identifier: Apache-2.0 */
/* The boundary between net and libartel-tls.so for encrypted streams.
 *
 * TLS 1.3 only, AES-128-GCM first, X25519 or P-256; both sides show a certificate of the cluster's authority; sessions
 * are not resumed. A stream works on a socket that does not block and belongs to one thread; an identity may be used by
 * any number of streams and threads. The part knows nothing of artel but this header: failures are a line of text.
 */
#ifndef ARTEL_NET_PART_TLS_STREAM_H
#define ARTEL_NET_PART_TLS_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#define ARTEL__TLS_STREAM_VERSION 4u
#define ARTEL__TLS_STREAM_SYMBOL "artel_part_tls_stream"

/* What a call answers instead of a count of bytes. */
enum {
    ARTEL__NET_STREAM_AGAIN = -1,   /* nothing can be moved until the socket is ready */
    ARTEL__NET_STREAM_END = -2,     /* the peer has ended the stream */
    ARTEL__NET_STREAM_FAILED = -3,  /* the reason is in `why` */
    ARTEL__NET_STREAM_DAMAGED = -4, /* the same; what came was changed, repeated or put in by somebody on the way */
    ARTEL__NET_STREAM_BROKEN = -5 /* the same; the socket has failed, and says nothing about who is at its other end */
};

typedef struct artel__net_why {
    char text[256];
} artel__net_why;

/* PEM files of the authority, of this task's certificate, and of its key. */
typedef struct artel__tls_files {
    const char *authority, *certificate, *key;
} artel__tls_files;

typedef struct artel__tls_identity artel__tls_identity;
typedef struct artel__tls_stream artel__tls_stream;

typedef struct artel__tls_stream_part {
    uint32_t version;
    /* 0 or ARTEL__NET_STREAM_FAILED. */
    int (*identity_create)(const artel__tls_files *files, artel__tls_identity **out, artel__net_why *why);
    void (*identity_destroy)(artel__tls_identity *identity);
    /* When its certificate ends, in seconds of the wall clock; files that have been renewed are read again, as by each
     * new stream. Any thread. */
    int64_t (*identity_ends)(artel__tls_identity *identity);
    /* Does not own the socket. */
    int (*create)(artel__tls_identity *identity, int socket, bool server, artel__tls_stream **out, artel__net_why *why);
    void (*destroy)(artel__tls_stream *stream);
    /* 0: done. The peer has then shown a certificate of the authority and that it has its key; only its dates may not
     * hold (doubts). */
    int (*handshake)(artel__tls_stream *stream, artel__net_why *why);
    /* True when the peer's certificate carries `name` among its DNS names; otherwise `names` lists what it carries. */
    bool (*peer_is)(artel__tls_stream *stream, const char *name, char *names, size_t size);
    /* After the handshake: whether the dates of the peer's certificate do not hold; then `why` says how. */
    bool (*doubts)(const artel__tls_stream *stream, artel__net_why *why);
    /* Bytes moved, or one of the above. A write that took bytes may keep them encrypted in memory; `unsent` counts
     * those, and the next write or flush sends them first. */
    int64_t (*read)(artel__tls_stream *stream, const struct iovec *to, int count, artel__net_why *why);
    int64_t (*write)(artel__tls_stream *stream, const struct iovec *from, int count, artel__net_why *why);
    int (*flush)(artel__tls_stream *stream, artel__net_why *why); /* 0: nothing is unsent */
    size_t (*unsent)(const artel__tls_stream *stream);
} artel__tls_stream_part;

#endif
