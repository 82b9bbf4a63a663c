/* SPDX-License-Identifier: Apache-2.0 */
/* The output of tasks on its way to the launcher's own: cut into lines, marked with the task, never mixed within a
 * line.
 *
 * A splitter collects what a pipe brings and hands on whole lines. An outlet is a buffer before a descriptor; it writes
 * only as much as a descriptor that is ready takes at once (see artel__outlet_write), so that a reader who does not
 * read stops the tasks' output and never the launcher. Each belongs to one thread.
 */
#ifndef ARTEL_LAUNCH_OUTPUT_H
#define ARTEL_LAUNCH_OUTPUT_H

#include "base/text.h"

#define ARTEL__LAUNCH_LINE_MAX ((size_t)1 << 20) /* a longer line is cut: each piece becomes a line */
#define ARTEL__OUTLET_FULL ((size_t)256 << 10)   /* from here on nothing more should be appended */

typedef struct artel__outlet {
    int fd;
    artel__text text;
    size_t written; /* of text */
    bool colour;    /* a terminal: prefixes in colour */
    bool broken;    /* the reader is gone or the disk full: what comes is dropped */
    bool closed;    /* the reader is gone */
} artel__outlet;

void artel__outlet_init(artel_context *ctx, int fd, bool colour, artel__outlet *out);
void artel__outlet_fini(artel__outlet *outlet);
bool artel__outlet_pending(const artel__outlet *outlet);
bool artel__outlet_full(const artel__outlet *outlet);
/* Writes once, at most PIPE_BUF bytes: a pipe that poll(2) calls ready takes them without waiting. */
void artel__outlet_write(artel__outlet *outlet);

/* Where the lines of one stream of a task go. */
typedef struct artel__launch_stream {
    const char *label, *name; /* "worker 1", "worker:1" */
    int colour;               /* a number that chooses among a few colours */
    bool json;          /* lines that are JSON objects go to `out` as they are, with "task": name if they lack it */
    artel__outlet *out; /* where others go: prefixed; with json to `rest` */
    artel__outlet *rest;
    artel__text held;     /* the beginning of a line */
    const char *greeting; /* a line that is not handed on, only noted; or NULL */
    bool greeted;
} artel__launch_stream;

void artel__launch_stream_init(artel__launch_stream *stream,
                               artel_context *ctx); /* the other fields are the caller's */
void artel__launch_stream_fini(artel__launch_stream *stream);
void artel__launch_stream_take(artel__launch_stream *stream, const char *bytes, size_t count);
/* The stream ended: what is held is a line, too. */
void artel__launch_stream_end(artel__launch_stream *stream);

#endif
