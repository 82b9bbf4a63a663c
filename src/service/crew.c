/* SPDX-License-Identifier: Apache-2.0 */
/* Two queues under one mutex. An element that cannot be read is read once more under a lock of its own, so that what
 * the context records is that element's failure and no other's. */
#include "service/crew.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/failures.h"
#include "base/threads.h"
#include "data/data.h"
#include "data/stage.h"
#include "service/texts.h"

enum {
    MOST_THREADS = 256
};

struct artel__service_crew {
    artel_context *ctx;
    pthread_t thread[MOST_THREADS];
    int threads, wake;
    pthread_mutex_t mutex;   /* guards the queues and `quit`; innermost */
    pthread_mutex_t failing; /* the context's record of failure; above `mutex` */
    pthread_cond_t work;
    artel__service_job *first, *last, *done;
    bool quit;
    _Atomic uint64_t computed, found;
};

/* -- computing -- */

static artel_status compute_row(artel__service_crew *crew, const artel__service_store *store, uint64_t row,
                                uint8_t *out)
{
    if (artel__service_cache_find(store->cache, row, out)) {
        atomic_fetch_add(&crew->found, 1);
        return ARTEL_OK;
    }
    artel__stage_set_pass(row >> 44);
    artel_status status = artel__rows_fetch_all(&store->rows, (int64_t)artel__row_number(row), out);
    artel__stage_set_pass(0);
    atomic_fetch_add(&crew->computed, 1);
    if (status == ARTEL_OK) artel__service_cache_keep(store->cache, row, out);
    return status;
}

/* An answer of words instead of rows. */
static artel_status answer_words(artel__service_crew *crew, artel__service_job *job, artel_status why, const char *text,
                                 size_t length)
{
    artel__line_block_free(crew->ctx, job->answer);
    job->answer = NULL;
    ARTEL_TRY(artel__line_block_create(crew->ctx, ARTEL__LINE_FAILED, 16 + length, &job->answer));
    uint8_t *at = artel__bytes_put(artel__line_body(job->answer), job->call, 8);
    at = artel__bytes_put(at, (uint64_t)(int64_t)why, 8);
    memcpy(at, text, length);
    return why;
}

/* The answer that says why there is none. */
static artel_status explain(artel__service_crew *crew, artel__service_job *job, uint64_t row, uint8_t *scratch)
{
    char text[700];
    pthread_mutex_lock(&crew->failing);
    bool before = artel__failures_forget(false);
    artel__operation_begin(crew->ctx);
    artel_status status = compute_row(crew, job->store, row, scratch);
    const artel_error *error = artel_context_error(crew->ctx);
    int length = status < 0 ? snprintf(text, sizeof text, "%s: %s", error->where, error->what) : 0;
    artel__operation_begin(crew->ctx);
    artel__failures_forget(before);
    pthread_mutex_unlock(&crew->failing);
    if (status == ARTEL_OK) return ARTEL_OK;
    if (length > (int)sizeof text - 1) length = (int)sizeof text - 1;
    return answer_words(crew, job, status, text, (size_t)length);
}

/* All rows of a job; false when the answer says why not. */
static bool compute_rows(artel__service_crew *crew, artel__service_job *job, uint8_t *at)
{
    size_t bytes = job->store->dataset.row_bytes;
    bool good = true;
    memset(at, 0, (size_t)job->count * bytes); /* what lies between columns is nobody's memory */
    uint32_t state = artel__fp_enter();
    for (int64_t i = 0; i < job->count && good; i++, at += bytes)
        good = compute_row(crew, job->store, job->rows[i], at) == ARTEL_OK || explain(crew, job, job->rows[i], at) >= 0;
    artel__fp_leave(state);
    return good;
}

/* Rows that were computed, into an answer with their texts. */
static void answer_texts(artel__service_crew *crew, artel__service_job *job, const uint8_t *rows)
{
    static const char *const why = "the texts of a few elements take more than 1 GiB";
    const artel__service_dataset *dataset = &job->store->dataset;
    size_t bytes = (size_t)job->count * dataset->row_bytes,
           texts = artel__service_texts_bytes(dataset, rows, job->count);
    if (texts > ARTEL__SERVICE_TEXTS_MOST) {
        answer_words(crew, job, ARTEL_ERROR_UNSUPPORTED, why, strlen(why));
        return;
    }
    if (artel__line_block_create(crew->ctx, ARTEL__LINE_ROWS, 8 + bytes + texts, &job->answer) < 0) return;
    uint8_t *at = artel__bytes_put(artel__line_body(job->answer), job->call, 8);
    memcpy(at, rows, bytes);
    artel__service_texts_pack(dataset, at, job->count);
}

/* Rows with texts, which last until they are in the answer; what a cache keeps lasts as long as the data. False: as
 * compute_rows. */
static bool compute_texts(artel__service_crew *crew, artel__service_job *job)
{
    artel__texts texts;
    void *rows;
    if (artel__alloc(crew->ctx, (size_t)job->count * job->store->dataset.row_bytes, "rows", &rows) < 0) return false;
    artel__texts_init(&texts, crew->ctx, 0);
    artel__texts *before = artel__texts_set_keeper(job->store->cache ? NULL : &texts);
    bool good = compute_rows(crew, job, rows);
    if (good) answer_texts(crew, job, rows);
    artel__texts_set_keeper(before);
    artel__texts_fini(&texts);
    artel__free(crew->ctx, rows);
    return good;
}

static bool compute_job(artel__service_crew *crew, artel__service_job *job)
{
    size_t bytes = (size_t)job->count * job->store->dataset.row_bytes;
    if (artel__service_has_texts(&job->store->dataset)) return compute_texts(crew, job);
    if (artel__line_block_create(crew->ctx, ARTEL__LINE_ROWS, 8 + bytes, &job->answer) < 0) return false;
    return compute_rows(crew, job, artel__bytes_put(artel__line_body(job->answer), job->call, 8));
}

static void compute(artel__service_crew *crew, artel__service_job *job)
{
    int64_t begin = artel__now_ns();
    if (!compute_job(crew, job)) return; /* how fast rows fail does not say how fast they are made */
    atomic_fetch_add(&job->store->busy_ns, (uint64_t)(artel__now_ns() - begin));
    atomic_fetch_add(&job->store->done, (uint64_t)job->count);
}

static void *thread_main(void *user)
{
    artel__service_crew *crew = user;
    artel__failures_forget(true);
    pthread_mutex_lock(&crew->mutex);
    for (;;) {
        artel__service_job *job = crew->first;
        if (!job && crew->quit) break;
        if (!job) {
            pthread_cond_wait(&crew->work, &crew->mutex);
            continue;
        }
        crew->first = job->next;
        if (!crew->first) crew->last = NULL;
        pthread_mutex_unlock(&crew->mutex);
        compute(crew, job);
        pthread_mutex_lock(&crew->mutex);
        job->next = crew->done;
        crew->done = job;
        uint64_t one = 1;
        while (write(crew->wake, &one, sizeof one) < 0 && errno == EINTR) continue;
    }
    pthread_mutex_unlock(&crew->mutex);
    return NULL;
}

/* -- queues -- */

void artel__service_crew_give(artel__service_crew *crew, artel__service_job *job)
{
    job->next = NULL;
    pthread_mutex_lock(&crew->mutex);
    if (crew->last)
        crew->last->next = job;
    else
        crew->first = job;
    crew->last = job;
    pthread_cond_signal(&crew->work);
    pthread_mutex_unlock(&crew->mutex);
}

artel__service_job *artel__service_crew_take(artel__service_crew *crew)
{
    uint64_t ignored;
    pthread_mutex_lock(&crew->mutex);
    artel__service_job *job = crew->done;
    if (job) crew->done = job->next;
    pthread_mutex_unlock(&crew->mutex);
    if (!job && read(crew->wake, &ignored, sizeof ignored) > 0) { /* something may have come since */
        pthread_mutex_lock(&crew->mutex);
        job = crew->done;
        if (job) crew->done = job->next;
        pthread_mutex_unlock(&crew->mutex);
    }
    return job;
}

int artel__service_crew_threads(const artel__service_crew *crew)
{
    return crew->threads;
}

int artel__service_crew_fd(const artel__service_crew *crew)
{
    return crew->wake;
}

void artel__service_crew_counts(artel__service_crew *crew, uint64_t *computed, uint64_t *found)
{
    *computed = atomic_load(&crew->computed);
    *found = atomic_load(&crew->found);
}

/* -- life -- */

artel_status artel__service_crew_create(artel_context *ctx, int threads, artel__service_crew **out)
{
    void *block;
    ARTEL_TRY(artel__calloc(ctx, 1, sizeof(artel__service_crew), "worker", &block));
    artel__service_crew *crew = block;
    crew->ctx = ctx;
    pthread_mutex_init(&crew->mutex, NULL);
    pthread_mutex_init(&crew->failing, NULL);
    pthread_cond_init(&crew->work, NULL);
    crew->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    artel_status status = crew->wake < 0 ? artel__fail_errno(ctx, "worker", "make a descriptor for") : ARTEL_OK;
    while (status == ARTEL_OK && crew->threads < threads && crew->threads < MOST_THREADS) {
        if (pthread_create(&crew->thread[crew->threads], NULL, thread_main, crew) != 0) break;
        crew->threads++;
    }
    if (status == ARTEL_OK && crew->threads == 0)
        status = artel__fail(ctx, ARTEL_ERROR_RUN, "worker", "", "no thread can be started");
    if (status == ARTEL_OK)
        *out = crew;
    else
        artel__service_crew_destroy(crew);
    return status;
}

static void free_jobs(artel__service_crew *crew, artel__service_job *job)
{
    while (job) {
        artel__service_job *next = job->next;
        artel__line_block_free(crew->ctx, job->answer);
        artel__free(crew->ctx, job);
        job = next;
    }
}

void artel__service_crew_destroy(artel__service_crew *crew)
{
    if (!crew) return;
    pthread_mutex_lock(&crew->mutex);
    crew->quit = true;
    free_jobs(crew, crew->first);
    crew->first = crew->last = NULL;
    pthread_cond_broadcast(&crew->work);
    pthread_mutex_unlock(&crew->mutex);
    for (int i = 0; i < crew->threads; i++) pthread_join(crew->thread[i], NULL);
    free_jobs(crew, crew->done);
    if (crew->wake >= 0) close(crew->wake);
    pthread_cond_destroy(&crew->work);
    pthread_mutex_destroy(&crew->mutex);
    pthread_mutex_destroy(&crew->failing);
    artel__free(crew->ctx, crew);
}
