/* SPDX-License-Identifier: Apache-2.0 */
/* Plain sockets; the encrypted form is the part's, the shared one that of shared.c. */
#include "net/stream.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

static int judge(artel__net_why *why)
{
    if (errno == EAGAIN || errno == EWOULDBLOCK) return ARTEL__NET_STREAM_AGAIN;
    snprintf(why->text, sizeof why->text, "%s", strerror(errno));
    return ARTEL__NET_STREAM_FAILED;
}

int64_t artel__net_stream_read(artel__net_stream *stream, const struct iovec *to, int count, artel__net_why *why)
{
    if (stream->shared) return artel__shared_read(stream->shared, to, count, why);
    if (stream->secure) return stream->part->read(stream->secure, to, count, why);
    ssize_t n;
    do n = readv(stream->socket, to, count);
    while (n < 0 && errno == EINTR);
    if (n > 0) return n;
    return n == 0 ? ARTEL__NET_STREAM_END : judge(why);
}

int64_t artel__net_stream_write(artel__net_stream *stream, const struct iovec *from, int count, artel__net_why *why)
{
    if (stream->shared) return artel__shared_write(stream->shared, from, count, why);
    if (stream->secure) return stream->part->write(stream->secure, from, count, why);
    struct msghdr message = {.msg_iov = (struct iovec *)(uintptr_t)from, .msg_iovlen = (size_t)count};
    ssize_t n;
    do n = sendmsg(stream->socket, &message, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return n >= 0 ? n : judge(why);
}

int artel__net_stream_flush(artel__net_stream *stream, artel__net_why *why)
{
    return stream->secure ? stream->part->flush(stream->secure, why) : 0;
}

bool artel__net_stream_unsent(const artel__net_stream *stream)
{
    return stream->secure && stream->part->unsent(stream->secure) > 0;
}
