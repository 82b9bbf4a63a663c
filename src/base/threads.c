/* SPDX-License-Identifier: Apache-2.0 */
/* A pool of compute threads.
 *
 * A job is open while `epoch` is odd. A worker announces itself in `inside` before it looks whether the job is open,
 * and the caller closes the job before it waits for `inside` to become 0: with sequentially consistent atomics one of
 * the two sees the other, so the caller never leaves while a worker holds the job, and a worker that sleeps too long
 * is never waited for. Pieces are claimed from one counter; who computes a piece changes no bit. Idle workers poll
 * (a wake-up costs more than a small kernel) and then sleep on a futex; they do not poll while the pools of the
 * context have more threads than the process has cores.
 */
#include "base/threads.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/clock.h"
#include "base/context_impl.h"
#include "base/failures.h"

#define POLL_NS 200000 /* waits for the rest of a job are often longer than the 50 us that a sleeper starts late */
#define SHARE 2        /* a piece is 1 / (SHARE threads) of what is left */
#define BALANCE 8      /* a thread may have 1 / BALANCE more to do than another, if that keeps neighbours together */

typedef struct worker {
    artel__pool *pool;
    pthread_t thread;
    int index;
} worker;

struct artel__pool {
    artel_context *ctx;
    int threads, cores;
    int started; /* workers to join */
    /* The open job; written by the caller while nobody is inside. */
    artel__task_fn *run;
    void *user;
    bool forgets;                      /* the caller's failures */
    int64_t tasks, piece;              /* piece 0: a share of what is left */
    _Alignas(64) _Atomic int64_t next; /* the first task that is not claimed */
    _Alignas(64) atomic_uint epoch;    /* odd: a job is open */
    atomic_uint sleepers;
    atomic_bool stop;
    _Alignas(64) atomic_uint inside; /* workers that may be using the job */
    atomic_bool caller_sleeps;
    worker workers[];
};

static void relax(void)
{
#if defined(__x86_64__)
    _mm_pause();
#endif
}

static void futex_wait(atomic_uint *word, unsigned seen)
{
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
}

static void futex_wake(atomic_uint *word, int count)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

static bool may_poll(const artel__pool *pool)
{
    return atomic_load_explicit(&pool->ctx->pool_threads, memory_order_relaxed) <= pool->cores;
}

bool artel__poll_change(const atomic_uint *word, unsigned seen)
{
    int64_t give_up = artel__now_ns() + POLL_NS;
    for (int round = 1; atomic_load(word) == seen; round++) {
        if (round % 16 == 0 && artel__now_ns() > give_up) return false;
        relax();
    }
    return true;
}

/* Claims the next piece; false when none is left. */
static bool claim(artel__pool *pool, int64_t *begin, int64_t *end)
{
    int64_t piece = 0;
    *begin = atomic_load_explicit(&pool->next, memory_order_relaxed);
    do {
        int64_t left = pool->tasks - *begin;
        if (left <= 0) return false;
        piece = pool->piece > 0 ? pool->piece : left / ((int64_t)SHARE * pool->threads);
        if (piece > left) piece = left;
        if (piece < 1) piece = 1;
    } while (!atomic_compare_exchange_weak_explicit(&pool->next, begin, *begin + piece, memory_order_relaxed,
                                                    memory_order_relaxed));
    *end = *begin + piece;
    return true;
}

static void work(artel__pool *pool, int thread)
{
    int64_t begin, end;
    while (claim(pool, &begin, &end)) pool->run(pool->user, begin, end, thread);
}

/* Waits until `epoch` differs from `seen`; polls first. Returns the new value. */
static unsigned await_epoch(artel__pool *pool, unsigned seen)
{
    unsigned now = 0;
    int64_t give_up = may_poll(pool) ? artel__now_ns() + POLL_NS : 0;
    for (int round = 1; (now = atomic_load(&pool->epoch)) == seen; round++) {
        if (round % 16 == 0 || !give_up) {
            if (!give_up || artel__now_ns() > give_up) {
                atomic_fetch_add(&pool->sleepers, 1);
                futex_wait(&pool->epoch, seen);
                atomic_fetch_sub(&pool->sleepers, 1);
                continue;
            }
        }
        relax();
    }
    return now;
}

/* Leaves the job; the last one out wakes a caller that sleeps. */
static void leave(artel__pool *pool)
{
    if (atomic_fetch_sub(&pool->inside, 1) == 1 && atomic_load(&pool->caller_sleeps)) futex_wake(&pool->inside, 1);
}

static void *worker_main(void *argument)
{
    worker *self = argument;
    artel__pool *pool = self->pool;
    unsigned seen = 0;
    artel__fp_enter();
    while (!atomic_load(&pool->stop)) {
        seen = await_epoch(pool, seen);
        if (seen % 2 == 0) continue;
        atomic_fetch_add(&pool->inside, 1);
        seen = atomic_load(&pool->epoch); /* perhaps the next job already */
        if (seen % 2 == 1 && !atomic_load(&pool->stop)) {
            artel__failures_forget(pool->forgets);
            work(pool, self->index);
        }
        leave(pool);
    }
    return NULL;
}

/* Waits until no worker holds the closed job. */
static void await_workers(artel__pool *pool)
{
    unsigned inside = 0;
    int64_t give_up = may_poll(pool) ? artel__now_ns() + POLL_NS : 0;
    for (int round = 1; atomic_load(&pool->inside) != 0; round++) {
        if (give_up && (round % 16 != 0 || artel__now_ns() <= give_up)) {
            relax();
            continue;
        }
        atomic_store(&pool->caller_sleeps, true);
        if ((inside = atomic_load(&pool->inside)) != 0) futex_wait(&pool->inside, inside);
        atomic_store(&pool->caller_sleeps, false);
    }
}

static int64_t even_piece(int64_t tasks, int64_t grain, int threads)
{
    int64_t even = (tasks + threads - 1) / threads, whole = (even + grain - 1) / grain * grain;
    return (whole - even) * BALANCE <= even ? whole : even;
}

void artel__pool_run(artel__pool *pool, int64_t tasks, int64_t grain, artel__task_fn *run, void *user)
{
    if (tasks <= 0) return;
    uint32_t state = artel__fp_enter();
    if (grain == ARTEL__POOL_CALLER || tasks == 1 || pool->threads == 1) {
        run(user, 0, tasks, 0);
        artel__fp_leave(state);
        return;
    }
    pool->run = run;
    pool->user = user;
    pool->forgets = artel__failures_forgotten();
    pool->tasks = tasks;
    pool->piece = grain > 0 ? even_piece(tasks, grain, pool->threads) : 0;
    atomic_store(&pool->next, (int64_t)0);
    atomic_fetch_add(&pool->epoch, 1); /* opens */
    if (atomic_load(&pool->sleepers) > 0) futex_wake(&pool->epoch, tasks - 1 < INT_MAX ? (int)(tasks - 1) : INT_MAX);
    work(pool, 0);
    atomic_fetch_add(&pool->epoch, 1); /* closes */
    await_workers(pool);
    artel__fp_leave(state);
}

/* Signals are left to the program's own threads: workers are started with all of them blocked. */
static int start_worker(worker *self)
{
    char name[16];
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&self->thread, NULL, worker_main, self);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error) return error;
    snprintf(name, sizeof(name), "artel-%d", self->index);
    pthread_setname_np(self->thread, name);
    return 0;
}

artel_status artel__pool_create(artel_context *ctx, int threads, artel__pool **out)
{
    void *block = NULL;
    if (threads < 1 || threads > 4096)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, "threads", "use 1 to 4096", "%d threads are asked for", threads);
    size_t bytes = sizeof(artel__pool) + (size_t)(threads - 1) * sizeof(worker);
    ARTEL_TRY(artel__alloc_aligned(ctx, bytes, "thread pool", &block));
    artel__pool *pool = block;
    pool->ctx = ctx;
    pool->threads = threads;
    pool->cores = artel__usable_cores();
    atomic_fetch_add(&ctx->pool_threads, threads);
    for (; pool->started < threads - 1; pool->started++) {
        worker *self = &pool->workers[pool->started];
        self->pool = pool;
        self->index = pool->started + 1;
        int error = start_worker(self);
        if (!error) continue;
        errno = error;
        artel_status status = artel__fail_errno(ctx, "threads", "start a compute thread");
        artel__pool_destroy(pool);
        return status;
    }
    *out = pool;
    return ARTEL_OK;
}

void artel__pool_destroy(artel__pool *pool)
{
    if (!pool) return;
    atomic_store(&pool->stop, true);
    atomic_fetch_add(&pool->epoch, 2); /* a change that opens nothing */
    futex_wake(&pool->epoch, INT_MAX);
    for (int i = 0; i < pool->started; i++) pthread_join(pool->workers[i].thread, NULL);
    atomic_fetch_sub(&pool->ctx->pool_threads, pool->threads);
    artel__free_aligned(pool->ctx, pool, sizeof(artel__pool) + (size_t)(pool->threads - 1) * sizeof(worker));
}

int artel__pool_threads(const artel__pool *pool)
{
    return pool->threads;
}
