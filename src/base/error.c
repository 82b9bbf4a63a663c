/* SPDX-License-Identifier: Apache-2.0 */
/* The error record.
 *
 * It belongs to the context and not to a thread, so that a failure noticed by any worker reaches the caller; the first
 * cause wins because later ones are mostly its consequences. A call that names no context, or fails to create one, has
 * its record kept for the thread: with the switch of failures.h all that outlives contexts.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/context_impl.h"
#include "base/failures.h"
#include "base/text.h"

static _Thread_local artel_error no_context; /* of this thread's last call without a context */
static _Thread_local bool forgets;           /* this thread's failures (failures.h) */

const artel_error *artel_context_error(const artel_context *context)
{
    return context ? &context->error : &no_context;
}

void artel__operation_begin(artel_context *ctx)
{
    artel_error *error = ctx ? &ctx->error : &no_context;
    if (ctx) pthread_mutex_lock(&ctx->error_mutex);
    error->status = ARTEL_OK;
    error->where[0] = error->what[0] = error->advice[0] = '\0';
    if (ctx) pthread_mutex_unlock(&ctx->error_mutex);
}

/* Copies what fits, cleaned: it quotes files, and what came by network. */
static void copy_text(char *target, size_t size, const char *source)
{
    artel__clean(source ? source : "", source ? strlen(source) : 0, target, size);
}

bool artel__failures_forget(bool forget)
{
    bool before = forgets;
    forgets = forget;
    return before;
}

bool artel__failures_forgotten(void)
{
    return forgets;
}

artel_status artel__fail(artel_context *ctx, artel_status status, const char *where, const char *advice,
                         const char *format, ...)
{
    va_list args;
    if (forgets) return status;
    artel_error *error = ctx ? &ctx->error : &no_context;
    if (ctx) pthread_mutex_lock(&ctx->error_mutex);
    if (error->status == ARTEL_OK) {
        char what[sizeof error->what];
        copy_text(error->where, sizeof(error->where), where);
        copy_text(error->advice, sizeof(error->advice), advice);
        va_start(args, format);
        vsnprintf(what, sizeof what, format, args);
        va_end(args);
        copy_text(error->what, sizeof error->what, what);
        error->status = status;
    }
    if (ctx) pthread_mutex_unlock(&ctx->error_mutex);
    return status;
}

static const char *errno_advice(int error)
{
    switch (error) {
    case ENOSPC:
    case EDQUOT: return "free some space or choose another place";
    case EACCES:
    case EPERM: return "check the permissions";
    case EROFS: return "choose a place that can be written to";
    case EFBIG: return "raise the limit on the size of files (ulimit -f) or choose another place";
    case EISDIR: return "name a file, not a directory";
    case ENOTDIR: return "check the path: a part of it is a file, not a directory";
    case EAGAIN: return ARTEL__ADVISE_THREADS;
    case EMFILE:
    case ENFILE: return "raise the limit on open files (ulimit -n)";
    case ENAMETOOLONG: return "choose a shorter name";
    case EADDRINUSE: return "end the process that listens there, or choose another port";
    case EADDRNOTAVAIL: return "give an address of this machine";
    case ELOOP: return "check the symbolic links of the path";
    case EPIPE: return "who was to read it has closed it before its end";
    case EBADF: return "it is not open: start the program with it open, or send it to a file";
    default: return "check the path and the disk";
    }
}

/* Whether the path or address is at fault: it would be refused another time, too, and on any disk. */
static bool is_refused_by_name(int error)
{
    static const int errors[] = {EACCES, EPERM, EROFS, EISDIR, ENOTDIR, ENAMETOOLONG, ELOOP};
    for (size_t i = 0; i < ARTEL__COUNT(errors); i++) {
        if (errors[i] == error) return true;
    }
    return false;
}

artel_status artel__fail_errno(artel_context *ctx, const char *where, const char *what)
{
    int error = errno;
    char buffer[128] = "";
    const char *reason = strerror_r(error, buffer, sizeof(buffer));
    if (error == ENOENT)
        return artel__fail(ctx, ARTEL_ERROR_NOT_FOUND, where, "check the path", "cannot %s: %s", what, reason);
    if (error == ENOMEM)
        return artel__fail(ctx, ARTEL_ERROR_NO_MEMORY, where,
                           "use a smaller batch or model, or a machine with more memory", "cannot %s: %s", what,
                           reason);
    return artel__fail(ctx, is_refused_by_name(error) ? ARTEL_ERROR_INVALID : ARTEL_ERROR_IO, where,
                       errno_advice(error), "cannot %s: %s", what, reason);
}

artel_status artel__fail_memory(artel_context *ctx, const char *where, size_t bytes)
{
    return artel__fail(ctx, ARTEL_ERROR_NO_MEMORY, where, "use a smaller batch or model, or a machine with more memory",
                       "%zu bytes of memory are not to be had", bytes);
}
