/* SPDX-License-Identifier: Apache-2.0 */
/* The queue: sets in the order in which they will be wanted, the current one first. `claimed` and `finished` of a set
 * count rows, all under one mutex, which is taken once a piece. Which sets there are, and how many, is the owner's
 * alone. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/budget.h"
#include "base/clock.h"
#include "base/failures.h"
#include "data/feed.h"
#include "data/prefetch.h"

enum {
    SETS = 1 + ARTEL__PREFETCH_AHEAD,
    PIECE_BYTES = 16384,     /* of rows that are claimed together: far more than the mutex costs */
    LARGE_BYTES = 128 << 20, /* a set from which on only one batch is fetched ahead */
    PADDING = 64,            /* behind the rows, for kernels that read whole vectors */
    USUAL_AHEAD = 2,         /* batches, where there is room */
    MOST_THREADS = 4,
    FAR_THREADS = 2,        /* of a source that is far, at first: each waits for a batch of its own */
    THREAD_BYTES = 1 << 20, /* about what one takes that decodes */
    CALM = 256,             /* steps without waiting after which less does */
    NICE = 19               /* of the thread: what computes goes first, for a step that waits lends its own threads */
};

typedef struct set {
    void **buffer; /* by array */
    uint64_t *rows;
    int64_t count;
    int64_t claimed, finished; /* rows */
    bool failed;
    bool made; /* it has buffers */
} set;

typedef struct reader {
    artel__prefetch *prefetch;
    pthread_t thread;
    int index;
} reader;

struct artel__prefetch {
    artel_context *ctx;
    const artel__feed *feed;
    artel__arena arena;
    int arrays;
    size_t *row_bytes; /* by array */
    int64_t most, piece;
    size_t set_bytes;
    int ahead, least_ahead, most_ahead; /* batches: now, where it is calm, at most */
    int least_threads, calm;            /* calm: steps since one has waited */
    uint64_t charged;                   /* of the budget */
    set storage[SETS];
    set *queue[SETS]; /* [0]: what the step reads */
    int queued;
    pthread_mutex_t mutex; /* guards the queue and the counts; innermost */
    pthread_cond_t work, done;
    reader reader[MOST_THREADS];
    int started;
    int active; /* threads that read; under the mutex */
    bool quit;
    bool counts;             /* under the mutex, as the next */
    int64_t spent;           /* ns of processor time */
    artel__pace *pace;       /* of the source; NULL: it does not ask for it */
    uint32_t paced;          /* the turn that this reader is counted in; 0: in none; else 1 more */
    int64_t taken, taken_ns; /* rows of the last batch, and when they were there; 0: there was none */
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
    bool timed;
} piece;

/* The next rows of a set that nobody has; under the mutex. */
static bool claim(const artel__prefetch *p, set *s, piece *out)
{
    int64_t rest = s->count - s->claimed;
    if (rest <= 0) return false;
    *out = (piece){s, s->claimed, rest < p->piece ? rest : p->piece, p->counts};
    s->claimed += out->count;
    return true;
}

static void fill(artel__prefetch *p, const piece *part)
{
    const set *s = part->set;
    int64_t begin = part->timed ? artel__thread_time_ns() : 0;
    artel_status status = artel__feed_fetch_piece(p->feed, s->rows, part->first, part->first + part->count, s->buffer);
    int64_t spent = part->timed ? artel__thread_time_ns() - begin : 0;
    pthread_mutex_lock(&p->mutex);
    p->spent += spent;
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
    const reader *self = user;
    artel__prefetch *p = self->prefetch;
    piece next;
    artel__failures_forget(true);
    setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICE);
    pthread_mutex_lock(&p->mutex);
    while (!p->quit) {
        if (self->index >= p->active || !claim_ahead(p, &next)) {
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

/* A set that is made and not queued, or (`made` false) one that is not made. Of the first there is one where the queue
 * is shorter than 1 + ahead. */
static set *unused(artel__prefetch *p, bool made)
{
    for (int i = 0; i < SETS; i++) {
        bool used = p->storage[i].made != made;
        for (int k = 0; k < p->queued; k++) used = used || p->queue[k] == &p->storage[i];
        if (!used) return &p->storage[i];
    }
    return NULL;
}

static set *append(artel__prefetch *p, const uint64_t *rows, int64_t count)
{
    set *s = unused(p, true);
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
    if (p->started == 0 || at > p->ahead || count > p->most) return;
    pthread_mutex_lock(&p->mutex);
    bool known = at < p->queued && same_rows(p->queue[at], rows, count);
    if (!known && at <= p->queued) {
        drop_from(p, at);
        append(p, rows, count);
        pthread_cond_broadcast(&p->work);
    }
    pthread_mutex_unlock(&p->mutex);
}

bool artel__prefetch_peek(artel__prefetch *p, int place, const uint64_t *rows, int64_t count, void **buffers)
{
    pthread_mutex_lock(&p->mutex);
    const set *s = p->queued > place + 1 ? p->queue[place + 1] : NULL;
    bool whole = s && s->finished == s->count && !s->failed && same_rows(s, rows, count);
    pthread_mutex_unlock(&p->mutex);
    for (int i = 0; whole && i < p->arrays; i++) buffers[i] = s->buffer[i];
    return whole;
}

/* One thread of the caller's pool: pieces until there is none. */
static void help(void *user, int64_t begin, int64_t end, int thread)
{
    artel__prefetch *p = user;
    set *s = p->queue[0]; /* only the caller, who waits, changes the queue */
    (void)begin, (void)end, (void)thread;
    for (;;) {
        piece next;
        pthread_mutex_lock(&p->mutex);
        bool found = claim(p, s, &next);
        pthread_mutex_unlock(&p->mutex);
        if (!found) break;
        fill(p, &next);
    }
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

/* -- how much is read ahead -- */

static void free_set(artel__prefetch *p, set *s)
{
    for (int i = 0; s->buffer && i < p->arrays; i++) {
        if (s->buffer[i]) artel__free_aligned(p->ctx, s->buffer[i], p->row_bytes[i] * (size_t)p->most + PADDING);
        s->buffer[i] = NULL;
    }
    s->made = false;
}

static artel_status make_set(artel__prefetch *p, set *s)
{
    if (!s->buffer) {
        s->rows = artel__arena_alloc(&p->arena, (size_t)p->most, sizeof *s->rows);
        s->buffer = artel__arena_alloc(&p->arena, (size_t)p->arrays + 1, sizeof *s->buffer);
        ARTEL_TRY(artel__arena_status(&p->arena));
    }
    for (int i = 0; i < p->arrays; i++)
        ARTEL_TRY(artel__alloc_aligned(p->ctx, p->row_bytes[i] * (size_t)p->most + PADDING, "batch", &s->buffer[i]));
    s->made = true;
    return ARTEL_OK;
}

static bool charge(artel__prefetch *p, size_t bytes)
{
    if (!artel__budget_take(p->ctx, bytes, 100)) return false;
    p->charged += bytes;
    return true;
}

static void give_back(artel__prefetch *p, size_t bytes)
{
    artel__budget_give(p->ctx, bytes);
    p->charged -= bytes;
}

/* One batch more, where there is room; without memory there is none. */
static bool reach_further(artel__prefetch *p)
{
    if (p->ahead >= p->most_ahead || !charge(p, p->set_bytes)) return false;
    set *s = unused(p, false);
    bool before = artel__failures_forget(true);
    artel_status status = make_set(p, s);
    artel__failures_forget(before);
    if (status < 0) {
        free_set(p, s);
        give_back(p, p->set_bytes);
        return false;
    }
    p->ahead++;
    return true;
}

static void set_active(artel__prefetch *p, int active)
{
    pthread_mutex_lock(&p->mutex);
    p->active = active;
    pthread_cond_broadcast(&p->work);
    pthread_mutex_unlock(&p->mutex);
}

static bool start_thread(artel__prefetch *p)
{
    reader *r = &p->reader[p->started];
    *r = (reader){.prefetch = p, .index = p->started};
    if (pthread_create(&r->thread, NULL, thread_main, r) != 0) return false;
    p->started++;
    return true;
}

static void add_thread(artel__prefetch *p)
{
    if (p->active >= MOST_THREADS || !charge(p, THREAD_BYTES)) return;
    if (p->active < p->started || start_thread(p))
        set_active(p, p->active + 1);
    else
        give_back(p, THREAD_BYTES);
}

void artel__prefetch_follow(artel__prefetch *p, bool waited)
{
    if (waited) {
        p->calm = 0;
        if (!reach_further(p)) add_thread(p);
        return;
    }
    if (++p->calm < CALM) return;
    p->calm = 0;
    if (p->active > p->least_threads) {
        set_active(p, p->active - 1);
        give_back(p, THREAD_BYTES);
    }
    if (p->ahead <= p->least_ahead) return;
    pthread_mutex_lock(&p->mutex);
    drop_from(p, p->ahead); /* nothing is queued there where take calls: the step before this one has left */
    pthread_mutex_unlock(&p->mutex);
    p->ahead--;
    free_set(p, unused(p, true));
    give_back(p, p->set_bytes);
}

void artel__prefetch_reach(const artel__prefetch *p, int *batches, int *threads)
{
    *batches = p->ahead;
    *threads = p->active;
}

void artel__prefetch_count(artel__prefetch *p)
{
    pthread_mutex_lock(&p->mutex);
    p->counts = true;
    pthread_mutex_unlock(&p->mutex);
}

int64_t artel__prefetch_spent(artel__prefetch *p)
{
    pthread_mutex_lock(&p->mutex);
    int64_t spent = p->spent;
    p->spent = 0;
    pthread_mutex_unlock(&p->mutex);
    return spent;
}

/* What has passed since the last batch was there is what is done with a batch. */
static void say_pace(artel__prefetch *p)
{
    if (p->taken == 0) return;
    uint32_t turn = atomic_load(&p->pace->turn) + 1;
    if (p->paced != turn) atomic_fetch_add(&p->pace->at_work, 1); /* first: whoever sees its rows sees a reader, too */
    p->paced = turn;
    atomic_fetch_add(&p->pace->rows, p->taken);
    atomic_fetch_add(&p->pace->ns, artel__now_ns() - p->taken_ns);
}

artel_status artel__prefetch_take(artel__prefetch *p, artel__pool *pool, const uint64_t *rows, int64_t count,
                                  void **buffers)
{
    if (p->pace) say_pace(p);
    pthread_mutex_lock(&p->mutex);
    if (p->queued > 0) { /* the last step's */
        memmove(p->queue, p->queue + 1, (size_t)(p->queued - 1) * sizeof *p->queue);
        p->queued--;
    }
    bool told = p->queued > 0 && same_rows(p->queue[0], rows, count);
    if (!told) {
        drop_from(p, 0);
        append(p, rows, count);
    }
    set *s = p->queue[0];
    bool waits = s->finished < s->count;
    pthread_mutex_unlock(&p->mutex);
    for (int i = 0; i < p->arrays; i++) buffers[i] = s->buffer[i];
    bool before = artel__failures_forget(true); /* what fails is fetched again below */
    if (!is_claimed(p, s)) artel__pool_run(pool, artel__pool_threads(pool), ARTEL__POOL_ALONE, help, p);
    artel__failures_forget(before);
    await(p, s);
    if (told) artel__prefetch_follow(p, waits);
    if (p->pace) {
        p->taken = count;
        p->taken_ns = artel__now_ns();
    }
    return s->failed ? artel__feed_fetch(p->feed, pool, rows, count, s->buffer) : ARTEL_OK;
}

/* -- life -- */

static artel_status open_prefetch(artel__prefetch *p)
{
    const artel__feed_array *array = artel__feed_arrays(p->feed, &p->arrays);
    size_t bytes = 0;
    p->row_bytes = artel__arena_alloc(&p->arena, (size_t)p->arrays + 1, sizeof *p->row_bytes);
    ARTEL_TRY(artel__arena_status(&p->arena));
    for (int i = 0; i < p->arrays; i++) bytes += p->row_bytes[i] = array[i].row_bytes;
    p->piece = bytes < PIECE_BYTES ? (int64_t)(PIECE_BYTES / (bytes + 1)) + 1 : 1;
    const artel__source *source = &p->feed->core->data->sources[0];
    bool far = source->far;
    if (far || source->format->fetch_rows != NULL) p->piece = p->most; /* one question for all of them */
    if (source->format->pace != NULL) {
        p->pace = source->format->pace(source);
        atomic_fetch_add(&p->pace->readers, 1);
    }
    p->set_bytes = bytes * (size_t)p->most + PADDING * (size_t)p->arrays;
    p->ahead = 1;
    p->most_ahead = p->set_bytes < LARGE_BYTES ? ARTEL__PREFETCH_AHEAD : 1;
    for (int i = 0; i < 2; i++) ARTEL_TRY(make_set(p, &p->storage[i]));
    while (p->ahead < USUAL_AHEAD && reach_further(p)) {
    }
    p->least_ahead = p->ahead;
    p->least_threads = far ? FAR_THREADS : 1;
    while (p->started < p->least_threads && start_thread(p)) {
    }
    set_active(p, p->started);
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
    while (p->started > 0) pthread_join(p->reader[--p->started].thread, NULL);
    for (int i = 0; i < SETS; i++) free_set(p, &p->storage[i]);
    artel__budget_give(ctx, p->charged);
    if (p->pace) atomic_fetch_sub(&p->pace->readers, 1);
    pthread_cond_destroy(&p->done);
    pthread_cond_destroy(&p->work);
    pthread_mutex_destroy(&p->mutex);
    artel__arena_fini(&p->arena);
    artel__free(ctx, p);
}
