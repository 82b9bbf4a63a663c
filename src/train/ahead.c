/* SPDX-License-Identifier: Apache-2.0 */
/* The next batch, while a device computes: its rows are fetched from memory into a second set of buffers and sent. Rows
 * that are read from files are fetched by threads of their own (data/prefetch.h): what of the next batch they have by
 * then is sent from where it lies, and nobody waits for it. Which batches were sent ahead changes no bit.
 */
#include <string.h>

#include "base/failures.h"
#include "train/content.h"

artel_status artel__ahead_prepare(artel__replica *replica, artel__mode m, int64_t most_rows)
{
    artel__replica_mode *mode = &replica->mode[m];
    const artel__session *session = replica->session;
    int inputs = session->mode[m].objective->graph.inputs;
    if (!artel__execution_sends(mode->run) || session->deal) return ARTEL_OK;
    mode->next = artel__arena_alloc(&mode->arena, (size_t)inputs + 1, sizeof *mode->next);
    mode->next_rows = artel__arena_alloc(&mode->arena, (size_t)most_rows + 1, sizeof *mode->next_rows);
    ARTEL_TRY(artel__arena_status(&mode->arena));
    for (int i = 0; i < mode->buffers; i++) {
        if (mode->bytes[i]) ARTEL_TRY(artel__alloc_aligned(session->ctx, mode->bytes[i], "batch", &mode->next[i]));
    }
    return ARTEL_OK;
}

/* Whether the rows are in `next`. What fails here is fetched again with its step, and fails there. */
static bool fetch_next(artel__replica *replica, const uint64_t *rows, int64_t count)
{
    artel__mode m = replica->computing;
    artel__replica_mode *mode = &replica->mode[m];
    const artel__session_mode *shared = &replica->session->mode[m];
    bool before = artel__failures_forget(true);
    bool there = mode->prefetch ? artel__prefetch_peek(mode->prefetch, rows, count, mode->next)
                                : artel__feed_fetch(shared->feed, replica->pool, rows, count, mode->next) == ARTEL_OK;
    if (there && shared->weighted) there = artel__class_weight_apply(replica, m, mode->next, rows, count) == ARTEL_OK;
    artel__failures_forget(before);
    return there;
}

void artel__ahead_meanwhile(void *user)
{
    artel__replica *replica = user;
    artel__replica_mode *mode = &replica->mode[replica->computing];
    artel__fold_plan fold;
    int64_t start[ARTEL__MAX_SHARDS + 1];
    mode->next_count = 0;
    if (!mode->next || !replica->batch) return; /* a predictor has no batches */
    const artel__batch_rows *next = &replica->batch->ahead[0];
    if (next->count <= 0) return;
    artel__fold_plan_make(&fold, replica->fold.shards, replica->fold.first, replica->fold.count, next->count, start);
    memcpy(mode->next_rows, artel__replica_in_pass(mode, next->rows + fold.row, fold.rows, next->pass),
           (size_t)fold.rows * sizeof *mode->next_rows);
    if (!fetch_next(replica, mode->next_rows, fold.rows)) return;
    mode->next_count = fold.rows;
    artel__execution_send(mode->run, &fold, (const void *const *)mode->next);
}

bool artel__ahead_take(artel__replica *replica, artel__mode m, const artel__batch *batch)
{
    artel__replica_mode *mode = &replica->mode[m];
    const artel__fold_plan *fold = &replica->fold;
    void **buffer = mode->buffer;
    if (mode->next_count <= 0) return false;
    const uint64_t *rows = artel__replica_in_pass(mode, batch->rows + fold->row, fold->rows, batch->pass);
    bool same = mode->next_count == fold->rows && memcmp(mode->next_rows, rows, (size_t)fold->rows * sizeof *rows) == 0;
    mode->next_count = 0;
    if (!same) {
        artel__execution_send(mode->run, NULL, NULL); /* the reader's memory is used again */
        return false;
    }
    mode->buffer = mode->next;
    mode->next = buffer;
    return true;
}
