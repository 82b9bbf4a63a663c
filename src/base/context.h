/* SPDX-License-Identifier: Apache-2.0 */
/* The context as the library sees it: failing, logging, allocating, cancelling.
 *
 * Every function that can fail takes the context first. Whoever detects a failure calls artel__fail() once and
 * returns its result; everyone above passes the status up with ARTEL_TRY or through an undo ladder.
 */
#ifndef ARTEL_BASE_CONTEXT_H
#define ARTEL_BASE_CONTEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "artel/context.h"

#define ARTEL__PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

/* Passes a failure up; only where nothing is owned yet. */
#define ARTEL_TRY(expr)                        \
    do {                                       \
        artel_status try_status = (expr);      \
        if (try_status < 0) return try_status; \
    } while (0)

#define ARTEL__COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Records a failure unless one is recorded already (the first cause wins) and returns `status`.
 * `where` names the file, option, layer or array; `advice` says what to do ("" when nothing can be advised);
 * the format says what was found and what was expected. Thread-safe. */
artel_status artel__fail(artel_context *ctx, artel_status status, const char *where, const char *advice,
                         const char *format, ...) ARTEL__PRINTF(5, 6);

/* The same for a failed system call: `what` is the action ("open", "write"); errno is read first thing.
 * ENOENT gives ARTEL_ERROR_NOT_FOUND, ENOMEM ARTEL_ERROR_NO_MEMORY, what would be refused another time too (permission,
 * a read-only place, a file in a directory's stead) ARTEL_ERROR_INVALID, everything else ARTEL_ERROR_IO. */
artel_status artel__fail_errno(artel_context *ctx, const char *where, const char *what);

/* What helps where a process or a thread could not be started (EAGAIN). */
#define ARTEL__ADVISE_THREADS "raise the limit on processes and threads (ulimit -u, pids.max of the control group)"

/* Fails with ARTEL_ERROR_NO_MEMORY for `bytes` bytes wanted by `where`. */
artel_status artel__fail_memory(artel_context *ctx, const char *where, size_t bytes);

/* Writes a line to the context's log sink. Thread-safe. One of ARTEL_LOG_DEBUG that nobody wants is not formatted. */
void artel__log(artel_context *ctx, artel_log_level level, const char *format, ...) ARTEL__PRINTF(3, 4);

/* The least important level that is passed on from here on. To be called before other threads log. */
void artel__log_limit(artel_context *ctx, artel_log_level least);

/* From now on the last `lines` lines that are written (above ARTEL_LOG_DEBUG, sink or not) are remembered, the first
 * bytes of each; again: nothing changes. To be called before other threads log. They are told oldest first, with the
 * time since then. */
artel_status artel__log_keep(artel_context *ctx, int lines);
typedef void artel__log_line_fn(void *user, artel_log_level level, int64_t age_ns, const char *text);
void artel__log_kept(artel_context *ctx, artel__log_line_fn *tell, void *user);

/* Forgets the failure record at the start of a public call, so that "the first cause wins" speaks of one operation.
 * Cancellation stays. Called by public functions that can fail, not by anything below them. */
void artel__operation_begin(artel_context *ctx);

/* What the running operation has been asked to do; polled at step boundaries and by long loops. */
bool artel__cancelled(const artel_context *ctx);
bool artel__preempted(const artel_context *ctx);
/* Whoever sleeps until others have done something looks so often whether it is cancelled: a signal handler can wake
 * nobody. */
#define ARTEL__LOOK_NS 50000000

/* The instruction sets for which kernels exist, worst first. Bits are the same in all of them. */
typedef enum artel__isa {
    ARTEL__ISA_BASELINE,
    ARTEL__ISA_AVX2,
    ARTEL__ISA_AVX512,
    ARTEL__ISA_AVX512_BF16,
    ARTEL__ISA_AMX, /* all of AVX-512 and the tiles of AMX with bfloat16 */
    ARTEL__ISA_COUNT
} artel__isa;

/* In which order the terms of a product of two bfloat16 operands are added: part of what a run is, not of the machine
 * (kernel/tiles.h). Products of float32 are chains in both. */
typedef enum artel__arithmetic {
    ARTEL__ARITHMETIC_CHAIN, /* one chain of fused multiply-adds in the order of the reduction index */
    ARTEL__ARITHMETIC_TILES  /* blocks of 32 terms, as AMX adds them */
} artel__arithmetic;

/* The best set of this machine. */
artel__isa artel__isa_of_machine(void);
/* That of a name, or the best one for NULL, "" and "auto". A failure is recorded for the thread. */
artel_status artel__isa_choose(const char *name, artel__isa *out);
/* The set this context computes with: the best of the machine, capped by the context's options. */
artel__isa artel__context_isa(const artel_context *ctx);
const char *artel__isa_name(artel__isa isa);
/* "chain", "tiles". */
const char *artel__arithmetic_name(artel__arithmetic arithmetic);

/* Heap memory through the context, so that tests can count it and make it fail. Contents of artel__alloc are
 * undefined, artel__calloc clears. Failures are recorded with `where`. Free with artel__free (NULL accepted).
 * Sizes that overflow fail like missing memory. Thread-safe. */
artel_status artel__alloc(artel_context *ctx, size_t bytes, const char *where, void **out);
artel_status artel__calloc(artel_context *ctx, size_t count, size_t size, const char *where, void **out);
/* Grows *block to `bytes`; on failure *block is untouched. */
artel_status artel__realloc(artel_context *ctx, size_t bytes, const char *where, void **block);
void artel__free(artel_context *ctx, void *block);

/* Large buffers, 64-byte aligned (above 1 MiB: 2 MiB aligned, advised as huge pages and not touched), cleared.
 * Free with artel__free_aligned, with the same size. */
artel_status artel__alloc_aligned(artel_context *ctx, size_t bytes, const char *where, void **out);
void artel__free_aligned(artel_context *ctx, void *block, size_t bytes);

/* How many heap calls the context has made: the figure behind "no allocation in a steady step". */
uint64_t artel__heap_calls(const artel_context *ctx);

/* Test seam: the n-th next allocation fails (0: none). */
void artel__fail_allocation_after(artel_context *ctx, uint64_t n);

/* Test seams of base/file.c: the n-th next system call on files fails with `error` (n 0: none); every write takes at
 * most `bytes` at once (0: unlimited), as on a slow pipe. */
void artel__fail_file_after(artel_context *ctx, uint64_t n, int error);
void artel__limit_write(artel_context *ctx, size_t bytes);

/* A copy of a string on the context's heap. */
artel_status artel__strdup(artel_context *ctx, const char *text, char **out);

#endif
