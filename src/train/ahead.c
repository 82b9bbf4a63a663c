/* SPDX-License-Identifier: Apache-2.0 */
/* The next batch, while a device computes: its rows are fetched from memory into a second set of buffers and sent. Rows
 * that are read from files are fetched ahead by threads of their own (data/prefetch.h), and class weights are written
 * into what was fetched: neither is sent.
 */
#include <string.h>

#include "train/content.h"

artel_status artel__ahead_prepare(artel__replica *replica, artel__mode m, int64_t most_rows)
{
    artel__replica_mode *mode = &replica->mode[m];
    const artel__session_mode *shared = &replica->session->mode[m];
    if (!artel__execution_sends(mode->run) || mode->prefetch || shared->weighted) return ARTEL_OK;
    mode->next = artel__arena_alloc(&mode->arena, (size_t)mode->buffers + 1, sizeof *mode->next);
    mode->next_rows = artel__arena_alloc(&mode->arena, (size_t)most_rows + 1, sizeof *mode->next_rows);
    ARTEL_TRY(artel__arena_status(&mode->arena));
    for (int i = 0; i < mode->buffers; i++)
        ARTEL_TRY(artel__alloc_aligned(replica->session->ctx, mode->bytes[i], "batch", &mode->next[i]));
    return ARTEL_OK;
}

void artel__ahead_meanwhile(void *user)
{
    artel__replica *replica = user;
    artel__session *session = replica->session;
    artel__replica_mode *mode = &replica->mode[replica->computing];
    artel__fold_plan fold;
    int64_t start[ARTEL__MAX_SHARDS + 1];
    mode->next_count = 0;
    if (!mode->next || !replica->batch) return; /* a predictor has no batches */
    const artel__batch_rows *next = &replica->batch->ahead[0];
    if (next->count <= 0) return;
    artel__fold_plan_make(&fold, replica->fold.shards, replica->fold.first, replica->fold.count, next->count, start);
    memcpy(mode->next_rows, next->rows + fold.row, (size_t)fold.rows * sizeof *mode->next_rows);
    if (artel__feed_fetch(session->mode[replica->computing].feed, replica->pool, mode->next_rows, fold.rows,
                          mode->next) < 0)
        return;
    mode->next_count = fold.rows;
    artel__execution_send(mode->run, &fold, (const void *const *)mode->next);
}

bool artel__ahead_take(artel__replica *replica, artel__mode m, const artel__batch *batch)
{
    artel__replica_mode *mode = &replica->mode[m];
    const artel__fold_plan *fold = &replica->fold;
    void **buffer = mode->buffer;
    bool same = mode->next_count > 0 && mode->next_count == fold->rows &&
                memcmp(mode->next_rows, batch->rows + fold->row, (size_t)fold->rows * sizeof *mode->next_rows) == 0;
    mode->next_count = 0;
    if (!same) return false;
    mode->buffer = mode->next;
    mode->next = buffer;
    return true;
}
