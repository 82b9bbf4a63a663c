/* SPDX-License-Identifier: Apache-2.0 */
/* The end of the helper when something is wrong: why, on the channel for messages. Memory is had or the helper ends. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "helper.h"

/* Appends libhdf5's description of the innermost failure. */
static herr_t describe(unsigned n, const H5E_error2_t *error, void *user)
{
    (void)n;
    snprintf(user, 256, "%s", error->desc ? error->desc : "");
    return 1;
}

void helper_fail(int kind, bool with_hdf5, const char *format, ...)
{
    char text[1024], reason[256] = "";
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text + 1, sizeof text - 1, format, args);
    va_end(args);
    text[0] = (char)kind;
    if (with_hdf5) H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, describe, reason);
    size_t used = length < 0 ? 1 : (size_t)length + 1 < sizeof text ? (size_t)length + 1 : sizeof text - 1;
    if (reason[0])
        used +=
            (size_t)snprintf(text + used, sizeof text - used, " (%s%s)", reason,
                             strstr(reason, "version") ? "; or it is of a newer format than this libhdf5 knows" : "");
    if (used >= sizeof text) used = sizeof text - 1;
    ssize_t sent = write(ARTEL__WIRE_MESSAGE, text, used);
    _exit(sent == (ssize_t)used ? 2 : 3);
}

void *helper_alloc(size_t count, size_t size)
{
    void *block = calloc(count > 0 ? count : 1, size > 0 ? size : 1);
    if (!block) helper_fail(HELPER_MEMORY, false, "no memory for %zu x %zu bytes", count, size);
    return block;
}
