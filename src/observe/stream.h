/* SPDX-License-Identifier: Apache-2.0 */
/* Files and descriptors that grow while a run goes on: event files, CSV logs, traces, JSON lines.
 *
 * Unlike artel__output (base/file.h), which appears whole or not at all, a stream is meant to be read while it is
 * written and to survive a crash as far as it got. Every byte the room sends out passes artel__stream_write.
 * A stream belongs to one thread.
 */
#ifndef ARTEL_OBSERVE_STREAM_H
#define ARTEL_OBSERVE_STREAM_H

#include "base/context.h"

typedef struct artel__stream {
    artel_context *ctx;
    char *path; /* for messages; on the heap */
    int fd;     /* -1 when closed */
    bool owned; /* close it */
    int64_t at; /* where the next byte goes; -1: wherever the file ends */
} artel__stream;

typedef enum artel__stream_mode {
    ARTEL__STREAM_NEW,       /* the file must not exist: ARTEL_AGAIN when it does */
    ARTEL__STREAM_OVERWRITE, /* emptied when it exists */
    ARTEL__STREAM_APPEND,    /* continued when it exists */
    ARTEL__STREAM_PLACE /* written over from its beginning, or from `at` on: what lies behind stays until it is cut */
} artel__stream_mode;

/* Opens a file for writing, mode 0666 less the umask. On failure *out is untouched. */
artel_status artel__stream_open(artel_context *ctx, const char *path, artel__stream_mode mode, artel__stream *out);

/* Writes to a descriptor that stays the caller's, such as standard output; `name` appears in messages. */
artel_status artel__stream_borrow(artel_context *ctx, int fd, const char *name, artel__stream *out);

/* Ends a file of ARTEL__STREAM_PLACE behind what was last written; does nothing to others. */
artel_status artel__stream_cut(artel__stream *stream);

/* Writes everything or fails with ARTEL_ERROR_IO; interrupted and would-block writes are taken up again. */
artel_status artel__stream_write(artel__stream *stream, const void *bytes, size_t count);

/* Closes an owned descriptor and frees the path; a second call, and a zeroed stream, are fine. */
artel_status artel__stream_close(artel__stream *stream);

#endif
