/* SPDX-License-Identifier: Apache-2.0 */
/* The context: everything that is not a model, data or a file belongs to one.
 *
 * The library has no process globals: several contexts may live in one process, each with its own threads, error
 * record, log sink and cancellation flag. A context may be used from one thread at a time, artel_context_cancel()
 * excepted, which may be called from any thread and from a signal handler.
 */
#ifndef ARTEL_CONTEXT_H
#define ARTEL_CONTEXT_H

#include <stddef.h>
#include <stdint.h>

#include "artel/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct artel_context artel_context;

typedef enum artel_log_level {
    ARTEL_LOG_ERROR = 0,
    ARTEL_LOG_WARNING = 1,
    ARTEL_LOG_NOTE = 2,
    ARTEL_LOG_DEBUG = 3
} artel_log_level;

/* Receives one line of log without a newline. May be called from any thread of the context, one call at a time. */
typedef void artel_log_fn(void *user, artel_log_level level, const char *message);

typedef struct artel_context_options {
    size_t struct_size; /* sizeof(artel_context_options); set by ARTEL_CONTEXT_OPTIONS_INIT */
    artel_log_fn *log;  /* where notes and warnings go; NULL drops them */
    void *log_user;
    artel_log_level log_level; /* the least important level that is still passed on (default: notes) */
    const char *isa; /* "auto", "baseline", "avx2", "avx512", "avx512_bf16", "amx": cap of the instruction set; results
                        are the same bits */
} artel_context_options;

#define ARTEL_CONTEXT_OPTIONS_INIT                                        \
    {                                                                     \
        sizeof(artel_context_options), NULL, NULL, ARTEL_LOG_NOTE, "auto" \
    }

/* Creates a context; `options` may be NULL for the defaults. On failure *out is untouched; artel_context_error(NULL)
 * says why. Errors: ARTEL_ERROR_INVALID (unknown isa), ARTEL_ERROR_UNSUPPORTED (isa not on this machine),
 * ARTEL_ERROR_NO_MEMORY. */
ARTEL_API artel_status artel_context_create(const artel_context_options *options, artel_context **out);

/* Ends the context's threads and frees it; NULL is accepted. Everything made from it must have been destroyed before.
 */
ARTEL_API void artel_context_destroy(artel_context *context);

/* Asks whatever runs in the context to stop at the next step boundary with ARTEL_ERROR_CANCELLED, in good order.
 * Async-signal-safe, callable from any thread. */
ARTEL_API void artel_context_cancel(artel_context *context);

/* Asks a running fit to save a checkpoint at the next step boundary and end with ARTEL_ERROR_PREEMPTED; a loop by hand
 * (artel_strategy_loop) ends so between two units. Async-signal-safe, callable from any thread. */
ARTEL_API void artel_context_preempt(artel_context *context);

/* The failure of the last operation that failed, or a record with status ARTEL_OK. The first cause of an operation
 * wins; the text stays valid until the next failing call on this context (NULL: of this thread, without one). Never
 * NULL. */
ARTEL_API const artel_error *artel_context_error(const artel_context *context);

/* Forgets the failure and any cancellation, so that the context can be used again. */
ARTEL_API void artel_context_clear(artel_context *context);

#ifdef __cplusplus
}
#endif
#endif
