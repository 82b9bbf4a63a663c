/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks, cursors and kept states. Who wants a block that is not there takes a place for it (a new one while the budget
 * has room, else that of one nobody has read for a while: a clock with a hand) and a cursor (the one that stands least
 * before it, else one that goes on from the kept state before it), and unfolds without the mutex. Who finds another at
 * the same block, or a cursor on its way to a place a little before it, waits: to go the same way twice takes longer. A
 * thread that waits holds nothing, so that none waits for ever.
 */
#include "data/unfold.h"

#include <string.h>

#include "base/budget.h"
#include "data/source.h"
#include "data/unfold_impl.h"

enum {
    BLOCKS_PERCENT = 60, /* of the budget, with what others have taken */
    MARKS_PERCENT = 75
};

/* ---- life ---- */

artel_status artel__unfold_pool_create(artel_context *ctx, artel__unfold_pool **out)
{
    void *block;
    ARTEL_TRY(artel__calloc(ctx, 1, sizeof(artel__unfold_pool), "unfolding", &block));
    artel__unfold_pool *pool = block;
    pool->ctx = ctx;
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->changed, NULL);
    *out = pool;
    return ARTEL_OK;
}

static void drop_mark(artel__unfold *file, artel__inflater *mark)
{
    artel__inflater_end(mark);
    artel__free(file->pool->ctx, mark);
}

static void close_file(artel__unfold *file)
{
    artel_context *ctx = file->pool->ctx;
    for (size_t i = 0; i < file->mark_count; i++) drop_mark(file, file->mark[i]);
    artel__free(ctx, file->mark);
    artel__free(ctx, file->block);
    artel__free(ctx, file);
}

void artel__unfold_pool_destroy(artel__unfold_pool *pool)
{
    if (!pool) return;
    for (artel__unfold *file = pool->files, *next; file; file = next) {
        next = file->next;
        close_file(file);
    }
    for (size_t i = 0; i < pool->block_count; i++) artel__free(pool->ctx, pool->block[i]);
    artel__free(pool->ctx, pool->block);
    for (int i = 0; i < pool->cursor_count; i++) artel__inflater_end(&pool->cursor[i].inflater);
    artel__budget_give(pool->ctx, pool->charged);
    pthread_cond_destroy(&pool->changed);
    pthread_mutex_destroy(&pool->mutex);
    artel__free(pool->ctx, pool);
}

artel_status artel__unfold_add(artel__unfold_pool *pool, const char *path, const uint8_t *packed, size_t size,
                               artel__unfold **out)
{
    void *block;
    ARTEL_TRY(artel__calloc(pool->ctx, 1, sizeof(artel__unfold), path, &block));
    artel__unfold *file = block;
    *file = (artel__unfold){
        .pool = pool, .path = path, .packed = packed, .packed_size = size, .interval = INTERVAL, .next_mark = INTERVAL};
    file->next = pool->files;
    pool->files = file;
    *out = file;
    return ARTEL_OK;
}

uint64_t artel__unfold_most(const artel__unfold *file)
{
    return artel__unfold_limit(file->packed_size);
}

uint64_t artel__unfold_pool_bytes(const artel__unfold_pool *pool)
{
    return pool->charged;
}

/* ---- kept states; only in the first pass ---- */

static void thin_marks(artel__unfold *file)
{
    size_t kept = 0, dropped;
    for (size_t i = 0; i < file->mark_count; i++) {
        if (i % 2)
            file->mark[kept++] = file->mark[i]; /* those at multiples of the doubled interval */
        else
            drop_mark(file, file->mark[i]);
    }
    dropped = file->mark_count - kept;
    file->mark_count = kept;
    file->pool->mark_count -= dropped;
    file->pool->charged -= dropped * STATE_BYTES;
    artel__budget_give(file->pool->ctx, dropped * STATE_BYTES);
    file->interval *= 2;
    file->next_mark = (kept + 1) * file->interval;
}

static bool may_mark(artel__unfold_pool *pool)
{
    if (artel__budget_take(pool->ctx, STATE_BYTES, MARKS_PERCENT)) return true;
    if (pool->mark_count >= LEAST_MARKS) return false;
    artel__budget_force(pool->ctx, STATE_BYTES);
    return true;
}

static artel_status add_mark(artel__unfold *file, const artel__inflater *from)
{
    if (file->mark_count == file->mark_room) {
        size_t room = file->mark_room > 0 ? file->mark_room * 2 : 16;
        void *block = file->mark;
        ARTEL_TRY(artel__realloc(file->pool->ctx, room * sizeof *file->mark, file->path, &block));
        file->mark = block;
        file->mark_room = room;
    }
    void *block;
    ARTEL_TRY(artel__calloc(file->pool->ctx, 1, sizeof(artel__inflater), file->path, &block));
    file->mark[file->mark_count++] = block;
    ARTEL_TRY(artel__inflater_copy(file->pool->ctx, file->path, from, block));
    file->pool->mark_count++;
    file->next_mark += file->interval;
    return ARTEL_OK;
}

/* Keeps the state of a stream that stands where the next one is to be. */
static artel_status keep_mark(artel__unfold *file, const artel__inflater *from)
{
    while (file->next_mark == from->at) {
        if (!may_mark(file->pool)) {
            thin_marks(file);
            continue;
        }
        file->pool->charged += STATE_BYTES;
        ARTEL_TRY(add_mark(file, from)); /* what is charged for one that failed is given back with the pool */
    }
    return ARTEL_OK;
}

/* The last kept state at `place` or before; NULL: the beginning. */
static const artel__inflater *mark_before(const artel__unfold *file, uint64_t place)
{
    size_t low = 0, high = file->mark_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (file->mark[middle]->at <= place)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? file->mark[low - 1] : NULL;
}

/* ---- blocks; under the mutex ---- */

static void await(artel__unfold_pool *pool)
{
    pool->waiting++;
    pthread_cond_wait(&pool->changed, &pool->mutex);
    pool->waiting--;
}

static void tell(artel__unfold_pool *pool)
{
    if (pool->waiting > 0) pthread_cond_broadcast(&pool->changed);
}

static artel_status make_block_room(artel__unfold *file, uint64_t number)
{
    size_t room = file->block_room > 0 ? file->block_room : 64;
    if (number < file->block_room) return ARTEL_OK;
    while (room <= number) room *= 2;
    void *block = file->block;
    ARTEL_TRY(artel__realloc(file->pool->ctx, room * sizeof(unfold_block *), file->path, &block));
    file->block = block;
    memset(file->block + file->block_room, 0, (room - file->block_room) * sizeof(unfold_block *));
    file->block_room = room;
    return ARTEL_OK;
}

static artel_status add_block(artel__unfold_pool *pool, unfold_block **out)
{
    if (pool->block_count == pool->block_room) {
        size_t room = pool->block_room > 0 ? pool->block_room * 2 : 16;
        void *grown = pool->block;
        ARTEL_TRY(artel__realloc(pool->ctx, room * sizeof(unfold_block *), "unfolding", &grown));
        pool->block = grown;
        pool->block_room = room;
    }
    void *block;
    ARTEL_TRY(artel__alloc(pool->ctx, sizeof(unfold_block), "unfolding", &block));
    memset(block, 0, offsetof(unfold_block, bytes));
    pool->block[pool->block_count++] = *out = block;
    return ARTEL_OK;
}

/* A block that nobody reads, forgotten; NULL: there is none now. */
static unfold_block *evict(artel__unfold_pool *pool)
{
    for (size_t turn = 0; turn < 2 * pool->block_count; turn++) {
        unfold_block *b = pool->block[pool->hand++ % pool->block_count];
        if (b->pins > 0 || b->filling) continue;
        if (b->file && b->recent) {
            b->recent = false;
            continue;
        }
        if (b->file) b->file->block[b->number] = NULL;
        b->file = NULL;
        return b;
    }
    return NULL;
}

/* A place for a block: *out is NULL where one has to wait for it. */
static artel_status find_place(artel__unfold_pool *pool, unfold_block **out)
{
    bool more = artel__budget_take(pool->ctx, sizeof(unfold_block), BLOCKS_PERCENT);
    if (!more && pool->block_count >= LEAST_BLOCKS) {
        *out = evict(pool);
        return ARTEL_OK;
    }
    if (!more) artel__budget_force(pool->ctx, sizeof(unfold_block));
    pool->charged += sizeof(unfold_block);
    return add_block(pool, out);
}

/* ---- cursors; under the mutex ---- */

/* The cursor that goes to `place` the shortest way: an idle one; NULL: one is to be waited for. */
static unfold_cursor *find_cursor(artel__unfold *file, uint64_t place)
{
    artel__unfold_pool *pool = file->pool;
    const artel__inflater *mark = mark_before(file, place);
    uint64_t from = mark ? mark->at : 0;
    unfold_cursor *best = NULL, *oldest = NULL;
    for (int i = 0; i < pool->cursor_count; i++) {
        unfold_cursor *c = &pool->cursor[i];
        uint64_t at = c->busy ? c->to : c->inflater.at;
        bool near = c->file == file && at <= place && at >= from;
        if (c->busy && near) return NULL;
        if (c->busy) continue;
        if (near && !c->lost && (!best || at > best->inflater.at)) best = c;
        if (!oldest || c->used < oldest->used) oldest = c;
    }
    if (best) return best;
    if (pool->cursor_count < CURSORS) {
        artel__budget_force(pool->ctx, STATE_BYTES);
        pool->charged += STATE_BYTES;
        oldest = &pool->cursor[pool->cursor_count++];
    }
    if (oldest) oldest->lost = true; /* wherever it stood: it begins at the kept state */
    return oldest;
}

/* ---- unfolding; without the mutex, by the thread that has the cursor and the block ---- */

static artel_status place_cursor(artel__unfold *file, unfold_cursor *c, uint64_t place)
{
    artel_context *ctx = file->pool->ctx;
    const artel__inflater *mark = mark_before(file, place);
    if (!c->lost) return ARTEL_OK;
    artel__inflater_end(&c->inflater);
    ARTEL_TRY(mark ? artel__inflater_copy(ctx, file->path, mark, &c->inflater)
                   : artel__inflater_start(ctx, file->path, &c->inflater));
    c->lost = false;
    return ARTEL_OK;
}

/* The content ends where the stream stands. */
static artel_status note_end(artel__unfold *file, const artel__inflater *f, int code)
{
    if (code == Z_MEM_ERROR) return artel__fail_memory(file->pool->ctx, file->path, STATE_BYTES);
    pthread_mutex_lock(&file->pool->mutex);
    if (!file->complete) {
        file->size = f->at;
        file->damage = code == Z_STREAM_END ? 0 : code;
        file->damage_in = f->in;
        file->complete = true;
    }
    pthread_mutex_unlock(&file->pool->mutex);
    return ARTEL_OK;
}

/* What goes before the block is unfolded into its room, too. */
static artel_status fill(artel__unfold *file, unfold_cursor *c, unfold_block *b)
{
    uint64_t place = b->number * BLOCK;
    ARTEL_TRY(place_cursor(file, c, place));
    for (;;) {
        artel__inflater *f = &c->inflater;
        bool last = f->at == place;
        ARTEL_TRY(artel__data_go_on(file->pool->ctx, file->path));
        int code = artel__inflater_read(file, f, b->bytes, BLOCK, &b->size);
        if (!file->complete && f->at > artel__unfold_limit(file->packed_size)) code = Z_VERSION_ERROR;
        if (code != Z_OK) {
            if (!last) b->size = 0;
            c->lost = true; /* a stream that has ended leads nowhere */
            return note_end(file, f, code);
        }
        if (!file->complete) ARTEL_TRY(keep_mark(file, f));
        if (last) return ARTEL_OK;
    }
}

/* Fills a place with a block; comes back with the mutex, as it was called. */
static artel_status fill_place(artel__unfold *file, uint64_t number, unfold_cursor *c, unfold_block *b)
{
    artel__unfold_pool *pool = file->pool;
    b->file = c->file = file;
    b->number = number;
    b->filling = c->busy = true;
    c->to = (number + 1) * BLOCK;
    c->used = ++pool->clock;
    file->block[number] = b;
    pthread_mutex_unlock(&pool->mutex);
    artel_status status = fill(file, c, b);
    pthread_mutex_lock(&pool->mutex);
    b->filling = c->busy = false;
    if (status < 0) {
        file->block[number] = NULL;
        b->file = NULL;
        c->lost = true;
    }
    tell(pool);
    return status;
}

/* A block, which stays until its pin is taken away; under the mutex. */
static artel_status pin_block(artel__unfold *file, uint64_t number, unfold_block **out)
{
    artel__unfold_pool *pool = file->pool;
    ARTEL_TRY(make_block_room(file, number));
    for (;;) {
        unfold_block *b = file->block[number];
        if (b && !b->filling) {
            b->pins++;
            b->recent = true;
            *out = b;
            return ARTEL_OK;
        }
        unfold_cursor *c = b ? NULL : find_cursor(file, number * BLOCK);
        unfold_block *place = NULL;
        if (c) ARTEL_TRY(find_place(pool, &place));
        if (place)
            ARTEL_TRY(fill_place(file, number, c, place));
        else
            await(pool);
    }
}

artel_status artel__unfold_read(artel__unfold *file, uint64_t at, void *out, size_t size, size_t *got)
{
    artel__unfold_pool *pool = file->pool;
    artel_status status = ARTEL_OK;
    size_t have = 0;
    bool ended = false;
    uint64_t whole;
    if (!file->complete && at > artel__unfold_most(file))
        ARTEL_TRY(artel__unfold_size(file, &whole)); /* blocks have no such numbers */
    pthread_mutex_lock(&pool->mutex);
    while (have < size && !ended) {
        unfold_block *b;
        ended = file->complete && at + have >= file->size;
        if (ended) break;
        status = pin_block(file, (at + have) / BLOCK, &b);
        if (status < 0) break;
        size_t skip = (size_t)((at + have) % BLOCK), there = b->size > skip ? b->size - skip : 0;
        size_t piece = there < size - have ? there : size - have;
        ended = piece < size - have && b->size < BLOCK;
        pthread_mutex_unlock(&pool->mutex);
        memcpy((uint8_t *)out + have, b->bytes + skip, piece);
        have += piece;
        pthread_mutex_lock(&pool->mutex);
        if (--b->pins == 0) tell(pool);
    }
    bool damage = ended && file->damage != 0;
    pthread_mutex_unlock(&pool->mutex);
    *got = have;
    if (status < 0) return status;
    return damage ? artel__unfold_damaged(pool->ctx, file) : ARTEL_OK;
}

void artel__unfold_room_fini(artel_context *ctx, artel__unfold_room *room)
{
    artel__free(ctx, room->bytes);
}

artel_status artel__unfold_into(artel__unfold *file, uint64_t at, size_t size, artel__unfold_room *room, size_t *got)
{
    if (size > room->size) {
        ARTEL_TRY(artel__realloc(file->pool->ctx, size, file->path, &room->bytes));
        room->size = size;
    }
    return artel__unfold_read(file, at, room->bytes, size, got);
}

artel_status artel__unfold_size(artel__unfold *file, uint64_t *out)
{
    uint64_t at = (uint64_t)file->mark_count * file->interval;
    size_t got = 1;
    while (!file->complete && got > 0) {
        uint8_t one;
        artel_status status = artel__unfold_read(file, at, &one, 1, &got);
        if (status < 0 && !file->complete) return status;
        at += BLOCK;
        if (status < 0) artel__operation_begin(file->pool->ctx); /* where it is damaged it ends */
    }
    *out = file->size;
    return ARTEL_OK;
}
