/* SPDX-License-Identifier: Apache-2.0 */
/* A pool of compute threads: parallel loops over tasks whose results do not depend on who runs them.
 *
 * A pool belongs to one replica of one context. artel__pool_run returns when every task is done; tasks must not wait
 * for one another and must not run the pool they run in. One thread at a time may run a pool. The calling thread
 * works too, so a pool of n threads starts n - 1. Idle workers poll for a fraction of a millisecond and then sleep.
 * Every thread enters compute with the pinned floating-point state (artel__fp_enter), and forgets failures where the
 * caller does (failures.h).
 */
#ifndef ARTEL_BASE_THREADS_H
#define ARTEL_BASE_THREADS_H

#include <stdatomic.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "base/context.h"

typedef struct artel__pool artel__pool;

/* Runs tasks [begin, end). `thread` is 0 .. threads - 1, for per-thread scratch. */
typedef void artel__task_fn(void *user, int64_t begin, int64_t end, int thread);

artel_status artel__pool_create(artel_context *ctx, int threads, artel__pool **out);
void artel__pool_destroy(artel__pool *pool);
int artel__pool_threads(const artel__pool *pool);

enum {
    ARTEL__POOL_CALLER = 0, /* a grain: everything on the caller, when waking others cannot pay */
    ARTEL__POOL_ALONE =
        -1 /* a grain: tasks have nothing to do with one another; pieces become smaller towards the end */
};

/* `tasks` tasks in contiguous pieces. A `grain` above 0 says that tasks share work with their neighbours: one piece a
 * thread, cut at multiples of it when that stays balanced. */
void artel__pool_run(artel__pool *pool, int64_t tasks, int64_t grain, artel__task_fn *run, void *user);

/* Waits for `word` to differ from `seen`, as long as idle workers poll; false when it still does not. For threads with
 * a core each. */
bool artel__poll_change(const atomic_uint *word, unsigned seen);

/* The floating-point state of compute: round to nearest, denormals are zero on input and output, exceptions masked.
 * Returns the former state for artel__fp_leave. Inline: with calls around them the two writes of the register took an
 * eager operation twice as long wherever the linker had put them badly. */
#if defined(__x86_64__)
/* Nearest (0), FTZ (15), DAZ (6), all six exceptions masked (7..12). */
#define ARTEL__COMPUTE_MXCSR 0x9FC0u

static inline uint32_t artel__fp_enter(void)
{
    uint32_t state = _mm_getcsr();
    if ((state & ~0x3Fu) != ARTEL__COMPUTE_MXCSR) _mm_setcsr(ARTEL__COMPUTE_MXCSR);
    return state;
}

static inline void artel__fp_leave(uint32_t state)
{
    if (state != _mm_getcsr()) _mm_setcsr(state);
}
#else
static inline uint32_t artel__fp_enter(void)
{
    return 0;
}

static inline void artel__fp_leave(uint32_t state)
{
    (void)state;
}
#endif

/* Cores this process may use: the affinity mask capped by the cgroup's cpu.max, at least 1. */
int artel__usable_cores(void);

/* The cgroup part of it, for tests: the CPU quota in cores (rounded up) of the groups named in the file `membership`
 * (as /proc/self/cgroup) below the directory `mount`; 0 when there is no quota. */
int artel__cgroup_cores(const char *membership, const char *mount);

#endif
