/* SPDX-License-Identifier: Apache-2.0 */
/* Running `artel-hdf5`: memory files for the two directions, a process with a deadline, a message when it fails. */
#ifndef ARTEL_KERAS_H5_HELPER_H
#define ARTEL_KERAS_H5_HELPER_H

#include "base/context.h"
#include "base/file.h"

typedef struct artel__helper_job {
    const char *where;   /* the file concerned, for messages */
    const char *mode;    /* "read" or "write" */
    const char *program; /* NULL: looked up as keras/h5.h says */
    int input, output;   /* memory files */
    double seconds; /* of processor time, rounded up; twenty times as long on the clock, and the helper is killed */
} artel__helper_job;

/* The processor time that a file of this size may take: about 3 s for small ones. */
double artel__helper_seconds(uint64_t bytes);

/* Runs the helper to its end. Errors: CORRUPT or INVALID (what the helper said of the input; it crashed; out of time),
 * UNSUPPORTED (no helper, or of another version), NO_MEMORY, IO, CANCELLED. */
artel_status artel__helper_run(artel_context *ctx, const artel__helper_job *job);

/* An empty memory file whose descriptor is not inherited and not among 0..9. */
artel_status artel__memory_file(artel_context *ctx, const char *where, int *out);
/* The descriptor becomes one for reading alone; there is no other. */
artel_status artel__memory_guard(artel_context *ctx, const char *where, int *fd);
/* Appends; a descriptor's write that is complete or fails. */
artel_status artel__memory_write(artel_context *ctx, const char *where, int fd, const void *bytes, size_t count);
/* Maps the whole of it, read-only. An empty one gives {NULL, 0}. */
artel_status artel__memory_map(artel_context *ctx, const char *where, int fd, artel__mapping *out);

#endif
