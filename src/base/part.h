/* SPDX-License-Identifier: Apache-2.0 */
/* Opening the parts: libraries libartel-<name>.so that stand on what the program does not link.
 *
 * The search is by absolute paths around the file this code was loaded from, never by LD_LIBRARY_PATH or the current
 * folder, so that data cannot bring a library of its own. ARTEL_PART_DIR, when set, is the only place looked at.
 */
#ifndef ARTEL_BASE_PART_H
#define ARTEL_BASE_PART_H

#include <limits.h>

#include "base/context.h"

typedef struct artel__part_request {
    const char *file; /* "libartel-image.so" */
    const char *
        symbol; /* a function without arguments that returns a constant table; its first member is a uint32_t version */
    uint32_t version;     /* which the table must have */
    const char *purpose;  /* what it does, after "the part that": "decodes images" */
    const char *packages; /* what it needs, for the advice: "libjpeg-dev and libpng-dev" */
} artel__part_request;

typedef struct artel__part {
    void *handle;
    const void *table; /* valid until the part is closed */
} artel__part;

/* The absolute path of a file that was installed or built with the program or library that artel is part of;
 * `access_mode` as for access(). False when it is not there, or others may have put it there. */
bool artel__find_companion(const char *name, int access_mode, char out[PATH_MAX]);

/* Looks in $ARTEL_PART_DIR when set, else as artel__find_companion does. Errors: ARTEL_ERROR_UNSUPPORTED when it is not
 * there or does not fit. Each open is closed once; the system counts. */
artel_status artel__part_open(artel_context *ctx, const artel__part_request *request, artel__part *out);
void artel__part_close(artel__part *part); /* a cleared one is accepted */

#endif
