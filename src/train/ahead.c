/* SPDX-License-Identifier: Apache-2.0 */
/* The next two batches, while a device computes: their rows are fetched from memory into sets of buffers of their own
 * and sent. Rows that are read from files are fetched by threads of their own (data/prefetch.h): what of those batches
 * they have by then is sent from where it lies, and nobody waits for it. Which batches were sent ahead changes no bit.
 */
#include <string.h>

#include "base/failures.h"
#include "train/content.h"

static artel_status make_room(artel__replica *replica, artel__replica_mode *mode, int inputs, int64_t most_rows)
{
    artel_context *ctx = replica->session->ctx;
    artel__next_batch *next = &mode->next[mode->most_nexts];
    next->buffer = artel__arena_alloc(&mode->arena, (size_t)inputs + 1, sizeof *next->buffer);
    next->rows = artel__arena_alloc(&mode->arena, (size_t)most_rows + 1, sizeof *next->rows);
    ARTEL_TRY(artel__arena_status(&mode->arena));
    mode->most_nexts++;
    for (int i = 0; i < mode->buffers; i++) {
        if (mode->bytes[i]) ARTEL_TRY(artel__alloc_aligned(ctx, mode->bytes[i], "batch", &next->buffer[i]));
    }
    return ARTEL_OK;
}

artel_status artel__ahead_prepare(artel__replica *replica, artel__mode m, int64_t most_rows)
{
    artel__replica_mode *mode = &replica->mode[m];
    const artel__session *session = replica->session;
    int inputs = session->mode[m].objective->graph.inputs, sends = artel__execution_sends(mode->run);
    for (int k = 0; k < sends && !session->deal; k++) ARTEL_TRY(make_room(replica, mode, inputs, most_rows));
    return ARTEL_OK;
}

/* The rows of this replica in the batch that comes `place` behind the current one; NULL: there is none. Until the next
 * call. */
static const uint64_t *rows_ahead(artel__replica *replica, const artel__batch *batch, int place, artel__fold_plan *fold,
                                  int64_t *start)
{
    const artel__batch_rows *next = &batch->ahead[place];
    if (next->count <= 0) return NULL;
    artel__fold_plan_make(fold, replica->fold.shards, replica->fold.first, replica->fold.count, next->count, start);
    return artel__replica_in_pass(&replica->mode[replica->computing], next->rows + fold->row, fold->rows, next->pass);
}

static bool is_of(const artel__next_batch *next, const uint64_t *rows, int64_t count)
{
    return next->count == count && memcmp(next->rows, rows, (size_t)count * sizeof *rows) == 0;
}

/* Whether the rows are in its buffers. What fails here is fetched again with its step, and fails there. */
static bool fetch_next(artel__replica *replica, int place, const artel__next_batch *next)
{
    artel__mode m = replica->computing;
    artel__replica_mode *mode = &replica->mode[m];
    const artel__session_mode *shared = &replica->session->mode[m];
    const uint64_t *rows = next->rows;
    int64_t count = next->count;
    bool before = artel__failures_forget(true);
    bool there = mode->prefetch ? artel__prefetch_peek(mode->prefetch, place, rows, count, next->buffer)
                                : artel__feed_fetch(shared->feed, replica->pool, rows, count, next->buffer) == ARTEL_OK;
    if (there && shared->weighted) there = artel__class_weight_apply(replica, m, next->buffer, rows, count) == ARTEL_OK;
    artel__failures_forget(before);
    return there;
}

void artel__ahead_meanwhile(void *user)
{
    artel__replica *replica = user;
    artel__replica_mode *mode = &replica->mode[replica->computing];
    artel__fold_plan fold;
    int64_t start[ARTEL__MAX_SHARDS + 1];
    if (!replica->batch) return; /* a predictor has no batches */
    while (mode->nexts < mode->most_nexts) {
        artel__next_batch *next = &mode->next[mode->nexts];
        const uint64_t *rows = rows_ahead(replica, replica->batch, mode->nexts, &fold, start);
        if (!rows || fold.rows == 0) return;
        next->count = fold.rows;
        memcpy(next->rows, rows, (size_t)fold.rows * sizeof *rows);
        if (!fetch_next(replica, mode->nexts, next)) return;
        if (!artel__execution_send(mode->run, &fold, (const void *const *)next->buffer)) return;
        mode->nexts++;
    }
}

void artel__ahead_drop(artel__replica *replica, artel__mode m)
{
    artel__replica_mode *mode = &replica->mode[m];
    if (mode->most_nexts == 0) return;
    bool before = artel__failures_forget(true);
    artel__execution_send(mode->run, NULL, NULL); /* the reader's memory is used again */
    artel__failures_forget(before);
    mode->nexts = 0;
}

/* The first set of buffers changes places with that of the step; the others move up. */
static void take_first(artel__replica_mode *mode)
{
    artel__next_batch first = mode->next[0];
    void **buffer = mode->buffer;
    mode->buffer = first.buffer;
    mode->nexts--;
    for (int k = 0; k + 1 < mode->most_nexts; k++) mode->next[k] = mode->next[k + 1];
    mode->next[mode->most_nexts - 1] = (artel__next_batch){.buffer = buffer, .rows = first.rows};
}

bool artel__ahead_take(artel__replica *replica, artel__mode m, const artel__batch *batch)
{
    artel__replica_mode *mode = &replica->mode[m];
    const artel__fold_plan *fold = &replica->fold;
    artel__fold_plan ahead;
    int64_t start[ARTEL__MAX_SHARDS + 1];
    if (mode->nexts == 0) return false;
    const uint64_t *rows = artel__replica_in_pass(mode, batch->rows + fold->row, fold->rows, batch->pass);
    bool same = is_of(&mode->next[0], rows, fold->rows);
    for (int k = 1; k < mode->nexts && same; k++) { /* if not, the reader is about to be told of others */
        rows = rows_ahead(replica, batch, k - 1, &ahead, start);
        same = rows && is_of(&mode->next[k], rows, ahead.rows);
    }
    if (same)
        take_first(mode);
    else
        artel__ahead_drop(replica, m);
    return same;
}
