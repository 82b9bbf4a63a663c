/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of a context, for the few files of base/ that implement it; everybody else sees artel_context opaque.
 *
 * Flags and counters are lock-free atomics: cancelling must work from a signal handler, counting must not serialise
 * threads. The error record and the log sink have a mutex each; neither is taken while the other is held.
 */
#ifndef ARTEL_BASE_CONTEXT_IMPL_H
#define ARTEL_BASE_CONTEXT_IMPL_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/attachment.h"

struct artel_context {
    artel__isa isa;
    artel_log_fn *log;
    void *log_user;
    artel_log_level log_level;
    pthread_mutex_t log_mutex;    /* one call of the sink at a time; guards the kept lines */
    struct artel__log_line *line; /* the last `lines` of `told`; NULL: none are kept */
    int lines;
    uint64_t told;
    pthread_mutex_t error_mutex; /* guards `error` while it is being filled */
    artel_error error;
    atomic_int cancelled, preempted;
    atomic_uint_fast64_t heap_calls;
    atomic_uint_fast64_t heap_countdown; /* allocations until one fails on purpose; 0: never */
    atomic_uint_fast64_t file_countdown; /* the same for system calls on files */
    atomic_int file_error;               /* the errno of that call */
    artel_status (*gate)(void *user);    /* base/file.h; NULL: nobody is asked */
    void *gate_user;
    atomic_size_t write_limit;          /* most bytes one write takes; 0: unlimited */
    atomic_int pool_threads;            /* of all pools: idle workers poll only while every thread can have a core */
    struct artel__extension *extension; /* base/extension.h */
    struct artel__attachment {
        void *block;
        artel__attachment_end *end;
    } attached;                     /* base/attachment.h */
    pthread_mutex_t lendable_mutex; /* guards the blocks of base/lend.c and the last id */
    struct artel__lendable_block *lendable;
    uint64_t lendable_ids;
    _Atomic uint64_t lendable_frees;
    struct artel__spill *spill;                 /* base/spill.h; NULL: all blocks are memory */
    _Atomic uint64_t budget_limit, budget_used; /* base/budget.h */
    _Atomic bool budget_set;
};

/* True when a countdown of the test seams has just run out. */
bool artel__countdown(atomic_uint_fast64_t *countdown);

#endif
