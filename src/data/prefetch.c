/* SPDX-License-Identifier: Apache-2.0 */
/* The queue: sets in the order in which they will be wanted, the current one first. `claimed` and `finished` of a set count rows, all
 * under one mutex, which is taken once a piece. */
#include <pthread.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/failures.h"
#include "data/feed.h"
#include "data/prefetch.h"

enum {
    SETS = 1 + ARTEL__PREFETCH_AHEAD,
    PIECE_BYTES = 16384,     /* of rows that are claimed together: far more than the mutex costs */
    LARGE_BYTES = 128 << 20, /* a set from which on only one batch is fetched ahead */
    PADDING = 64,            /* behind the rows, for kernels that read whole vectors */
    THREADS = 2,             /* of a source that is far: each waits for a batch of its own */
    NICE = 19                /* of the thread: what computes goes first, for a step that waits lends its own threads */
};

typedef struct set {
    void **buffer; /* by array */
    uint64_t *rows;
    int64_t count;
    int64_t claimed, finished; /* rows */
    bool failed;
} set;

struct artel__prefetch {
    artel_context *ctx;
    const artel__feed *feed;
    artel__arena arena;
    int arrays;
    size_t *row_bytes; /* by array */
    int64_t most, piece;
    int sets;
    set storage[SETS];
    set *queue[SETS]; /* [0]: what the step reads */
    int queued;
    pthread_mutex_t mutex; /* guards the queue and the counts; innermost */
    pthread_cond_t work, done;
    pthread_t thread[THREADS];
    int started;
    bool quit;
};

bool artel__feed_reads_ahead(const artel__feed *feed)
{
    const artel__feed_core *core = feed->core;
    for (int b = 0; b < core->binding_count; b++) {
        const artel__binding *binding = &core->bindings[b];
        for (int s = 0; s < binding->segment_count; s++) {
            const artel__segment *segment = &binding->segments[s];
            if (!segment->base && segment->source && segment->source->format->reads_ahead) return true;
        }
    }
    return false;
}

/* -- filling -- */

typedef struct piece {
    set *set;
    int64_t first, count;
} piece;

/* The next rows of a set that nobody has; under the mutex. */
static bool claim(const artel__prefetch *p, set *s, piece *out)
{
    int64_t rest = s->count - s->claimed;
    if (rest <= 0) return false;
    *out = (piece){s, s->claimed, rest < p->piece ? rest : p->piece};
    s->claimed += out->count;
    return true;
}

static void fill(artel__prefetch *p, const piece *part)
{
    const set *s = part->set;
    artel_status status = artel__feed_fetch_piece(p->feed, s->rows, part->first, part->first + part->count, s->buffer);
    pthread_mutex_lock(&p->mutex);
    part->set->failed = part->set->failed || status < 0;
    part->set->finished += part->count;
    if (part->set->finished == part->set->claimed) pthread_cond_broadcast(&p->done);
    pthread_mutex_unlock(&p->mutex);
}

static bool claim_ahead(artel__prefetch *p, piece *out)
{
    for (int i = 0; i < p->queued; i++) {
        if (claim(p, p->queue[i], out)) return true;
    }
    return false;
}

static void *thread_main(void *user)
{
    artel__prefetch *p = user;
    piece next;
    artel__failures_forget(true);
    setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICE);
    pthread_mutex_lock(&p->mutex);
    while (!p->quit) {
        if (!claim_ahead(p, &next)) {
            pthread_cond_wait(&p->work, &p->mutex);
            continue;
        }
        pthread_mutex_unlock(&p->mutex);
        fill(p, &next);
        pthread_mutex_lock(&p->mutex);
    }
    pthread_mutex_unlock(&p->mutex);
    return NULL;
}

/* -- the queue -- */

static bool same_rows(const set *s, const uint64_t *rows, int64_t count)
{
    return s->count == count && memcmp(s->rows, rows, (size_t)count * sizeof *rows) == 0;
}

/* Nobody fills the sets from `from` on any more; under the mutex. */
static void drop_from(artel__prefetch *p, int from)
{
    for (int i = from; i < p->queued; i++) {
        set *s = p->queue[i];
        s->count = s->claimed; /* no more pieces */
        while (s->finished < s->claimed) pthread_cond_wait(&p->done, &p->mutex);
    }
    if (p->queued > from) p->queued = from;
}

/* A set that is not queued; there is one, for the queue is shorter than the sets. */
static set *unused(artel__prefetch *p)
{
    for (int i = 0; i < p->sets; i++) {
        bool used = false;
        for (int k = 0; k < p->queued; k++) used = used || p->queue[k] == &p->storage[i];
        if (!used) return &p->storage[i];
    }
    return NULL;
}

static set *append(artel__prefetch *p, const uint64_t *rows, int64_t count)
{
    set *s = unused(p);
    memcpy(s->rows, rows, (size_t)count * sizeof *rows);
    s->count = count;
    s->claimed = s->finished = 0;
    s->failed = false;
    p->queue[p->queued++] = s;
    return s;
}

void artel__prefetch_tell(artel__prefetch *p, int place, const uint64_t *rows, int64_t count)
{
    int at = place + 1;
    if (p->started == 0 || at >= p->sets || count > p->most) return;
    pthread_mutex_lock(&p->mutex);
    bool known = at < p->queued && same_rows(p->queue[at], rows, count);
    if (!known && at <= p->queued) {
        drop_from(p, at);
        append(p, rows, count);
        pthread_cond_broadcast(&p->work);
    }
    pthread_mutex_unlock(&p->mutex);
}

/* One thread of the caller's pool: pieces until there is none. */
static void help(void *user, int64_t begin, int64_t end, int thread)
{
    artel__prefetch *p = user;
    set *s = p->queue[0]; /* only the caller, who waits, changes the queue */
    (void)begin, (void)end, (void)thread;
    artel__failures_forget(true);
    for (;;) {
        piece next;
        pthread_mutex_lock(&p->mutex);
        bool found = claim(p, s, &next);
        pthread_mutex_unlock(&p->mutex);
        if (!found) break;
        fill(p, &next);
    }
    artel__failures_forget(false);
}

static bool is_claimed(artel__prefetch *p, const set *s)
{
    pthread_mutex_lock(&p->mutex);
    bool claimed = s->claimed == s->count;
    pthread_mutex_unlock(&p->mutex);
    return claimed;
}

static void await(artel__prefetch *p, const set *s)
{
    pthread_mutex_lock(&p->mutex);
    while (s->finished < s->count) pthread_cond_wait(&p->done, &p->mutex);
    pthread_mutex_unlock(&p->mutex);
}

artel_status artel__prefetch_take(artel__prefetch *p, artel__pool *pool, const uint64_t *rows, int64_t count, void **buffers)
{
    pthread_mutex_lock(&p->mutex);
    if (p->queued > 0) { /* the last step's */
        memmove(p->queue, p->queue + 1, (size_t)(p->queued - 1) * sizeof *p->queue);
        p->queued--;
    }
    if (p->queued == 0 || !same_rows(p->queue[0], rows, count)) {
        drop_from(p, 0);
        append(p, rows, count);
    }
    set *s = p->queue[0];
    pthread_mutex_unlock(&p->mutex);
    for (int i = 0; i < p->arrays; i++) buffers[i] = s->buffer[i];
    if (!is_claimed(p, s)) artel__pool_run(pool, artel__pool_threads(pool), ARTEL__POOL_ALONE, help, p);
    await(p, s);
    return s->failed ? artel__feed_fetch(p->feed, pool, rows, count, s->buffer) : ARTEL_OK;
}

/* -- life -- */

static artel_status make_set(artel__prefetch *p, set *s)
{
    s->rows = artel__arena_alloc(&p->arena, (size_t)p->most, sizeof *s->rows);
    s->buffer = artel__arena_alloc(&p->arena, (size_t)p->arrays + 1, sizeof *s->buffer);
    ARTEL_TRY(artel__arena_status(&p->arena));
    for (int i = 0; i < p->arrays; i++)
        ARTEL_TRY(artel__alloc_aligned(p->ctx, p->row_bytes[i] * (size_t)p->most + PADDING, "batch", &s->buffer[i]));
    return ARTEL_OK;
}

static artel_status open_prefetch(artel__prefetch *p)
{
    const artel__feed_array *array = artel__feed_arrays(p->feed, &p->arrays);
    size_t bytes = 0;
    p->row_bytes = artel__arena_alloc(&p->arena, (size_t)p->arrays + 1, sizeof *p->row_bytes);
    ARTEL_TRY(artel__arena_status(&p->arena));
    for (int i = 0; i < p->arrays; i++) bytes += p->row_bytes[i] = array[i].row_bytes;
    p->piece = bytes < PIECE_BYTES ? (int64_t)(PIECE_BYTES / (bytes + 1)) + 1 : 1;
    bool far = p->feed->core->data->sources[0].far;
    if (far || p->feed->core->data->sources[0].format->fetch_rows != NULL) p->piece = p->most; /* one question for all of them */
    p->sets = bytes * (size_t)p->most < LARGE_BYTES ? SETS : 2;
    for (int i = 0; i < p->sets; i++) ARTEL_TRY(make_set(p, &p->storage[i]));
    while (p->started < (far ? THREADS : 1) && pthread_create(&p->thread[p->started], NULL, thread_main, p) == 0) p->started++;
    return ARTEL_OK;
}

artel_status artel__prefetch_create(artel_context *ctx, const artel__feed *feed, int64_t most, artel__prefetch **out)
{
    void *block;
    ARTEL_TRY(artel__calloc(ctx, 1, sizeof(artel__prefetch), "batch", &block));
    artel__prefetch *p = block;
    p->ctx = ctx;
    p->feed = feed;
    p->most = most > 0 ? most : 1;
    artel__arena_init(&p->arena, ctx);
    pthread_mutex_init(&p->mutex, NULL);
    pthread_cond_init(&p->work, NULL);
    pthread_cond_init(&p->done, NULL);
    artel_status status = open_prefetch(p);
    if (status < 0) {
        artel__prefetch_destroy(p);
        return status;
    }
    *out = p;
    return ARTEL_OK;
}

void artel__prefetch_destroy(artel__prefetch *p)
{
    if (!p) return;
    artel_context *ctx = p->ctx;
    pthread_mutex_lock(&p->mutex);
    p->quit = true;
    pthread_cond_broadcast(&p->work);
    pthread_mutex_unlock(&p->mutex);
    while (p->started > 0) pthread_join(p->thread[--p->started], NULL);
    for (int s = 0; s < p->sets; s++) {
        for (int i = 0; p->storage[s].buffer && i < p->arrays; i++) {
            if (p->storage[s].buffer[i]) artel__free_aligned(ctx, p->storage[s].buffer[i], p->row_bytes[i] * (size_t)p->most + PADDING);
        }
    }
    pthread_cond_destroy(&p->done);
    pthread_cond_destroy(&p->work);
    pthread_mutex_destroy(&p->mutex);
    artel__arena_fini(&p->arena);
    artel__free(ctx, p);
}
