/* SPDX-License-Identifier: Apache-2.0 */
/* Every rank lends its rows to everyone, one message a peer with a piece for each segment; nothing is computed. Ranks
 * without rows take part with empty pieces, so that the number of messages does not depend on the batch.
 */
#include <string.h>

#include "coll/algo/all_gather.h"

static artel__all_gather *self_of(artel__coll_task *task)
{
    return (artel__all_gather *)task;
}

static size_t row_bytes(const artel__coll_segment *segment)
{
    return (size_t)(segment->count * segment->element);
}

static size_t rows_of(const artel__all_gather *t, int32_t rank)
{
    return (size_t)(artel__coll_first_row(t->base.layout, t->batch, rank + 1) -
                    artel__coll_first_row(t->base.layout, t->batch, rank));
}

static char *target(const artel__all_gather *t, const artel__coll_segment *segment, int32_t rank)
{
    return (char *)segment->out + (size_t)artel__coll_first_row(t->base.layout, t->batch, rank) * row_bytes(segment);
}

static void copy_own(artel__all_gather *t)
{
    int32_t rank = t->base.endpoint->rank;
    for (int32_t i = 0; i < t->segments; i++) {
        size_t bytes = rows_of(t, rank) * row_bytes(&t->segment[i]);
        if (bytes) memcpy(target(t, &t->segment[i], rank), t->segment[i].in, bytes);
    }
}

static void fill(const artel__all_gather *t, int32_t step, int32_t node, artel__net_request *request)
{
    int32_t ranks = t->base.endpoint->ranks;
    *request = (artel__net_request){
        .peer = (t->base.endpoint->rank + step) % ranks, .frame = t->base.frame, .overtakes = t->base.overtakes};
    request->frame.kind = ARTEL__FRAME_ROWS;
    request->frame.slice = (uint32_t)(node < 0 ? request->peer : node);
}

/* Of the message with the rows of a rank. */
static size_t length_from(const artel__all_gather *t, int32_t rank)
{
    size_t length = 0, rows = rows_of(t, rank);
    for (int32_t i = 0; i < t->segments; i++) length += artel__net_padded(rows * row_bytes(&t->segment[i]));
    return length;
}

static artel_status post_messages(artel__all_gather *t)
{
    int32_t ranks = t->base.endpoint->ranks, rank = t->base.endpoint->rank;
    for (int32_t step = 1; step < ranks; step++) {
        artel__net_request *request = &t->request[t->posted++];
        fill(t, step, -1, request);
        request->most = artel__coll_most(length_from(t, request->peer));
        ARTEL_TRY(artel__net_receive(t->base.endpoint, request));
    }
    for (int32_t step = 1; step < ranks; step++) {
        artel__net_request *request = &t->request[t->posted++];
        fill(t, step, rank, request);
        request->piece = t->pieces.data;
        request->pieces = t->segments;
        ARTEL_TRY(artel__net_send(t->base.endpoint, request));
    }
    return ARTEL_OK;
}

static artel_status post(artel__coll_task *task)
{
    artel__all_gather *t = self_of(task);
    artel_context *ctx = task->endpoint->ctx;
    size_t peers = (size_t)task->endpoint->ranks - 1;
    t->posted = 0;
    t->receives_left = (int32_t)peers;
    ARTEL_TRY(artel__coll_reserve(ctx, &t->pieces, (size_t)t->segments, sizeof(artel__net_piece)));
    ARTEL_TRY(artel__coll_reserve(ctx, &t->requests, 2 * peers, sizeof(artel__net_request)));
    t->request = t->requests.data;
    artel__net_piece *piece = t->pieces.data;
    for (int32_t i = 0; i < t->segments; i++) {
        size_t bytes = rows_of(t, task->endpoint->rank) * row_bytes(&t->segment[i]);
        piece[i] = (artel__net_piece){t->segment[i].in, bytes};
    }
    ARTEL_TRY(post_messages(t));
    copy_own(t);
    return ARTEL_OK;
}

static artel_status take_rows(artel__all_gather *t, artel__net_request *request)
{
    size_t offset = 0, rows = rows_of(t, request->peer);
    ARTEL_TRY(artel__coll_check(&t->base, request, t->segments, length_from(t, request->peer)));
    for (int32_t i = 0; i < t->segments; i++) {
        size_t bytes = rows * row_bytes(&t->segment[i]);
        if (bytes) memcpy(target(t, &t->segment[i], request->peer), artel__net_part(request, i, offset), bytes);
        offset += artel__net_padded(bytes);
    }
    ARTEL_TRY(artel__net_release(t->base.endpoint, request));
    t->receives_left--;
    return ARTEL_OK;
}

static artel_status progress(artel__coll_task *task)
{
    artel__all_gather *t = self_of(task);
    int32_t peers = task->endpoint->ranks - 1;
    for (int32_t i = 0; i < peers && t->receives_left > 0; i++) {
        if (artel__net_done(&t->request[i])) ARTEL_TRY(take_rows(t, &t->request[i]));
    }
    if (t->receives_left > 0) return ARTEL_AGAIN;
    for (int32_t i = peers; i < 2 * peers; i++) {
        if (!artel__net_done(&t->request[i])) return ARTEL_AGAIN;
    }
    return ARTEL_OK;
}

static void finalize(artel__coll_task *task)
{
    artel__all_gather *t = self_of(task);
    for (int32_t i = 0; i < t->posted; i++) artel__net_withdraw(task->endpoint, &t->request[i]);
    t->posted = 0;
}

static const artel__coll_task_ops all_gather_ops = {"all-gather", post, progress, finalize};

void artel__all_gather_init(artel__all_gather *task, artel__endpoint *endpoint, const artel__coll_layout *layout)
{
    *task = (artel__all_gather){.base = {.ops = &all_gather_ops, .endpoint = endpoint, .layout = layout}};
}

void artel__all_gather_fini(artel__all_gather *task)
{
    if (!task->base.ops) return;
    artel__coll_buffer_fini(task->base.endpoint->ctx, &task->pieces);
    artel__coll_buffer_fini(task->base.endpoint->ctx, &task->requests);
}
