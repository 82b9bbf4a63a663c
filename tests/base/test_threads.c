/* SPDX-License-Identifier: Apache-2.0 */
/* The pool: every task once, whoever runs it; the floating-point state; no heap calls; many pools at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "base/failures.h"
#include "base/threads.h"
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

static int set_up(void **state)
{
    return artel_context_create(NULL, (artel_context **)state);
}

static int tear_down(void **state)
{
    artel_context_destroy(*state);
    return 0;
}

enum {
    MOST_TASKS = 3000
};

typedef struct tally {
    atomic_int count[MOST_TASKS];
    atomic_int bad_thread, bad_state;
    int threads;
} tally;

static bool in_compute_state(void)
{
#if defined(__x86_64__)
    return (_mm_getcsr() & ~0x3Fu) == 0x9FC0u;
#else
    return true;
#endif
}

static void count_tasks(void *user, int64_t begin, int64_t end, int thread)
{
    tally *seen = user;
    if (thread < 0 || thread >= seen->threads) atomic_fetch_add(&seen->bad_thread, 1);
    if (!in_compute_state()) atomic_fetch_add(&seen->bad_state, 1);
    for (int64_t i = begin; i < end; i++) atomic_fetch_add(&seen->count[i], 1);
}

static void check_run(artel__pool *pool, int64_t tasks, int64_t grain)
{
    tally seen = {.threads = artel__pool_threads(pool)};
    artel__pool_run(pool, tasks, grain, count_tasks, &seen);
    for (int64_t i = 0; i < MOST_TASKS; i++) assert_int_equal(atomic_load(&seen.count[i]), i < tasks ? 1 : 0);
    assert_int_equal(atomic_load(&seen.bad_thread), 0);
    assert_int_equal(atomic_load(&seen.bad_state), 0);
}

static void test_every_task_once(void **state)
{
    static const int threads[] = {1, 2, 3, 5, 16};
    static const int64_t tasks[] = {0, 1, 2, 3, 7, 64, 1000, MOST_TASKS};
    for (size_t t = 0; t < ARTEL__COUNT(threads); t++) {
        artel__pool *pool = NULL;
        assert_int_equal(artel__pool_create(*state, threads[t], &pool), ARTEL_OK);
        assert_int_equal(artel__pool_threads(pool), threads[t]);
        for (size_t i = 0; i < ARTEL__COUNT(tasks); i++) {
            for (int64_t grain = ARTEL__POOL_ALONE; grain < 6; grain++) check_run(pool, tasks[i], grain);
        }
        artel__pool_destroy(pool);
    }
    artel__pool_destroy(NULL);
}

static void add_one(void *user, int64_t begin, int64_t end, int thread)
{
    int64_t *values = user;
    (void)thread;
    for (int64_t i = begin; i < end; i++) values[i]++;
}

/* Many short jobs back to back: what one job writes (without atomics) the next one reads, on whichever thread. */
/* Begins of pieces that are no multiple of the grain. */
static void count_cuts(void *user, int64_t begin, int64_t end, int thread)
{
    (void)end, (void)thread;
    if (begin % 6 != 0) atomic_fetch_add((atomic_int *)user, 1);
}

static void test_neighbours_stay_together(void **state)
{
    static const int threads[] = {1, 2, 3, 5};
    for (size_t t = 0; t < ARTEL__COUNT(threads); t++) {
        artel__pool *pool = NULL;
        atomic_int cuts = 0;
        assert_int_equal(artel__pool_create(*state, threads[t], &pool), ARTEL_OK);
        for (int64_t lines = 40; lines < 60; lines++) artel__pool_run(pool, 6 * lines, 6, count_cuts, &cuts);
        assert_int_equal(atomic_load(&cuts), 0);
        artel__pool_destroy(pool);
    }
}

static void test_jobs_follow_each_other(void **state)
{
    enum {
        JOBS = 3000,
        TASKS = 24
    };
    artel__pool *pool = NULL;
    int64_t values[TASKS] = {0};
    assert_int_equal(artel__pool_create(*state, 3, &pool), ARTEL_OK);
    uint64_t calls = artel__heap_calls(*state);
    for (int i = 0; i < JOBS; i++) artel__pool_run(pool, TASKS, ARTEL__POOL_ALONE, add_one, values);
    assert_int_equal(artel__heap_calls(*state), calls); /* a steady step takes nothing from the heap */
    for (int i = 0; i < TASKS; i++) assert_int_equal(values[i], JOBS);
    artel__pool_destroy(pool);
}

typedef struct owner {
    artel_context *ctx;
    int64_t values[10];
    artel_status status;
} owner;

static void *run_own_pool(void *argument)
{
    owner *self = argument;
    artel__pool *pool = NULL;
    self->status = artel__pool_create(self->ctx, 4, &pool);
    for (int i = 0; i < 300 && self->status == ARTEL_OK; i++)
        artel__pool_run(pool, 10, ARTEL__POOL_ALONE, add_one, self->values);
    artel__pool_destroy(pool);
    return NULL;
}

/* One pool for each replica, all of one context, with far more threads than cores. */
static void test_many_pools(void **state)
{
    enum {
        OWNERS = 8
    };
    owner owners[OWNERS] = {0};
    pthread_t threads[OWNERS];
    for (int i = 0; i < OWNERS; i++) {
        owners[i].ctx = *state;
        assert_int_equal(pthread_create(&threads[i], NULL, run_own_pool, &owners[i]), 0);
    }
    for (int i = 0; i < OWNERS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(owners[i].status, ARTEL_OK);
        for (int k = 0; k < 10; k++) assert_int_equal(owners[i].values[k], 300);
    }
}

static void test_callers_state_comes_back(void **state)
{
#if defined(__x86_64__)
    artel__pool *pool = NULL;
    unsigned before = _mm_getcsr(), foreign = 0x7F80u; /* rounds towards zero */
    assert_int_equal(artel__pool_create(*state, 2, &pool), ARTEL_OK);
    _mm_setcsr(foreign);
    tally seen = {.threads = 2};
    artel__pool_run(pool, 50, ARTEL__POOL_ALONE, count_tasks, &seen);
    unsigned after = _mm_getcsr();
    artel__pool_run(pool, 1, ARTEL__POOL_CALLER, count_tasks, &seen);
    unsigned last = _mm_getcsr();
    _mm_setcsr(before);
    assert_int_equal(after & ~0x3Fu, foreign);
    assert_int_equal(last & ~0x3Fu, foreign);
    assert_int_equal(atomic_load(&seen.bad_state), 0);
    uint32_t kept = artel__fp_enter();
    assert_true(in_compute_state());
    volatile float tiny = 1e-38f, half = 0.01f;
    assert_true(tiny * half == 0.0f); /* flushed */
    artel__fp_leave(kept);
    assert_true(tiny * half > 0.0f);
    artel__pool_destroy(pool);
#else
    (void)state;
#endif
}

typedef struct failing {
    artel_context *ctx;
    atomic_int arrived;
} failing;

/* Two tasks, each of a thread of its own, as none goes on alone. */
static void fail_together(void *user, int64_t begin, int64_t end, int thread)
{
    failing *f = user;
    (void)begin, (void)end;
    atomic_fetch_add(&f->arrived, 1);
    while (atomic_load(&f->arrived) < 2) sched_yield();
    artel__fail(f->ctx, ARTEL_ERROR_IO, "task", "", "thread %d failed", thread);
}

/* What a caller does not want to hear of the pool's threads do not say either, and say again to the next one. */
static void test_failures_are_the_callers(void **state)
{
    artel__pool *pool = NULL;
    assert_int_equal(artel__pool_create(*state, 2, &pool), ARTEL_OK);
    for (int round = 0; round < 4; round++) {
        failing f = {.ctx = *state};
        bool forget = round % 2 == 0, before = artel__failures_forget(forget);
        assert_false(before);
        artel__pool_run(pool, 2, ARTEL__POOL_ALONE, fail_together, &f);
        assert_int_equal(artel__failures_forget(before), forget);
        assert_int_equal(artel_context_error(*state)->status, forget ? ARTEL_OK : ARTEL_ERROR_IO);
        artel_context_clear(*state);
    }
    artel__pool_destroy(pool);
}

static void test_refused_sizes(void **state)
{
    artel__pool *pool = NULL;
    assert_int_equal(artel__pool_create(*state, 0, &pool), ARTEL_ERROR_INVALID);
    assert_int_equal(artel__pool_create(*state, 100000, &pool), ARTEL_ERROR_INVALID);
    artel_context_clear(*state);
    artel__fail_allocation_after(*state, 1);
    assert_int_equal(artel__pool_create(*state, 2, &pool), ARTEL_ERROR_NO_MEMORY);
    assert_null(pool);
}

static void *change_word(void *word)
{
    atomic_fetch_add((atomic_uint *)word, 1);
    return NULL;
}

/* A change is seen at once or soon; without one the wait ends. */
static void polling_ends(void **state)
{
    atomic_uint word = 7;
    pthread_t thread;
    (void)state;
    assert_true(artel__poll_change(&word, 6));
    assert_false(artel__poll_change(&word, 7));
    assert_int_equal(pthread_create(&thread, NULL, change_word, &word), 0);
    bool seen = false;
    while (!seen) seen = artel__poll_change(&word, 7);
    pthread_join(thread, NULL);
    assert_int_equal(word, 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(polling_ends),
        cmocka_unit_test_setup_teardown(test_every_task_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_neighbours_stay_together, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_jobs_follow_each_other, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_many_pools, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_callers_state_comes_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_failures_are_the_callers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_refused_sizes, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
