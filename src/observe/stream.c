/* SPDX-License-Identifier: Apache-2.0 */
/* Growing files: open, write all, close.
 *
 * Nothing is buffered here: whoever writes many small records collects them in an artel__text and decides when a
 * reader shall see them. O_APPEND makes every write land at the end even if somebody else truncated the file.
 *
 * Where two processes may write the same bytes of one file (both halves of a cluster that fell apart continue its log),
 * appending would leave them there twice. Each then writes at the place where they belong (ARTEL__STREAM_PLACE), and a
 * file that somebody else truncated is continued at its end, not behind a hole.
 */
#include "observe/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

static int open_flags(artel__stream_mode mode)
{
    switch (mode) {
    case ARTEL__STREAM_NEW: return O_APPEND | O_EXCL;
    case ARTEL__STREAM_OVERWRITE: return O_APPEND | O_TRUNC;
    case ARTEL__STREAM_APPEND: return O_APPEND;
    case ARTEL__STREAM_PLACE: return 0;
    }
    return 0;
}

/* The size of a regular file; -1 for what has no places (a pipe, a terminal). */
static int64_t regular_size(int fd)
{
    struct stat info;
    return fstat(fd, &info) == 0 && S_ISREG(info.st_mode) ? (int64_t)info.st_size : -1;
}

artel_status artel__stream_open(artel_context *ctx, const char *path, artel__stream_mode mode, artel__stream *out)
{
    ARTEL_TRY(artel__check_target(ctx, path));
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | open_flags(mode), 0666);
    if (fd < 0 && errno == EEXIST && mode == ARTEL__STREAM_NEW) return ARTEL_AGAIN;
    if (fd < 0) return artel__fail_errno(ctx, path, "open for writing");
    artel__stream stream = {ctx, NULL, fd, true, mode == ARTEL__STREAM_PLACE && regular_size(fd) >= 0 ? 0 : -1};
    artel_status status = artel__strdup(ctx, path, &stream.path);
    if (status < 0) {
        close(fd);
        return status;
    }
    *out = stream;
    return ARTEL_OK;
}

artel_status artel__stream_borrow(artel_context *ctx, int fd, const char *name, artel__stream *out)
{
    artel__stream stream = {ctx, NULL, fd, false, -1};
    ARTEL_TRY(artel__strdup(ctx, name, &stream.path));
    *out = stream;
    return ARTEL_OK;
}

artel_status artel__stream_write(artel__stream *stream, const void *bytes, size_t count)
{
    const char *next = bytes;
    if (stream->at >= 0 && regular_size(stream->fd) < stream->at) stream->at = regular_size(stream->fd);
    while (count > 0) {
        ssize_t n =
            stream->at < 0 ? write(stream->fd, next, count) : pwrite(stream->fd, next, count, (off_t)stream->at);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            struct pollfd ready = {.fd = stream->fd, .events = POLLOUT};
            (void)poll(&ready, 1, 1000);
            continue;
        }
        if (n < 0) return artel__fail_errno(stream->ctx, stream->path, "write");
        next += n;
        count -= (size_t)n;
        if (stream->at >= 0) stream->at += n;
    }
    return ARTEL_OK;
}

artel_status artel__stream_cut(artel__stream *stream)
{
    if (stream->at < 0 || regular_size(stream->fd) <= stream->at) return ARTEL_OK;
    return ftruncate(stream->fd, (off_t)stream->at) == 0 ? ARTEL_OK
                                                         : artel__fail_errno(stream->ctx, stream->path, "truncate");
}

artel_status artel__stream_close(artel__stream *stream)
{
    if (!stream->ctx) return ARTEL_OK;
    artel_status status = ARTEL_OK;
    if (stream->owned && stream->fd >= 0 && close(stream->fd) != 0)
        status = artel__fail_errno(stream->ctx, stream->path, "close");
    artel__free(stream->ctx, stream->path);
    *stream = (artel__stream){.fd = -1};
    return status;
}
