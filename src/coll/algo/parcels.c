/* SPDX-License-Identifier: Apache-2.0 */
/* One message a parcel. Receives are posted before sends, so that what comes early finds its place. */
#include <string.h>

#include "coll/algo/parcels.h"

static artel__parcels *self_of(artel__coll_task *task)
{
    return (artel__parcels *)task;
}

static artel_status post_one(artel__parcels *t, int32_t i)
{
    const artel__coll_parcel *parcel = &t->parcel[i];
    artel__net_piece *piece = (artel__net_piece *)t->pieces.data + i;
    artel__net_request *request = &t->request[t->posted++];
    int32_t from = parcel->sends ? t->base.endpoint->rank : parcel->peer;
    *piece = (artel__net_piece){parcel->data, parcel->bytes};
    *request = (artel__net_request){.peer = parcel->peer, .frame = t->base.frame, .overtakes = t->base.overtakes};
    request->frame.kind = ARTEL__FRAME_ROWS;
    request->frame.slice = (uint32_t)from;
    request->most = parcel->sends ? 0 : artel__coll_most(artel__net_padded(parcel->bytes));
    if (!parcel->sends) return artel__net_receive(t->base.endpoint, request);
    request->piece = piece;
    request->pieces = 1;
    return artel__net_send(t->base.endpoint, request);
}

/* Requests keep the order in which they were posted: receives, then sends. */
static artel_status post(artel__coll_task *task)
{
    artel__parcels *t = self_of(task);
    artel_context *ctx = task->endpoint->ctx;
    t->posted = t->receives = t->receives_left = 0;
    ARTEL_TRY(artel__coll_reserve(ctx, &t->pieces, (size_t)t->count, sizeof(artel__net_piece)));
    ARTEL_TRY(artel__coll_reserve(ctx, &t->requests, (size_t)t->count, sizeof(artel__net_request)));
    t->request = t->requests.data;
    for (int32_t i = 0; i < t->count; i++) {
        if (t->parcel[i].sends) continue;
        ARTEL_TRY(post_one(t, i));
        t->receives_left = ++t->receives;
    }
    for (int32_t i = 0; i < t->count; i++) {
        if (t->parcel[i].sends) ARTEL_TRY(post_one(t, i));
    }
    return ARTEL_OK;
}

static artel_status take(artel__parcels *t, const artel__coll_parcel *parcel, artel__net_request *request)
{
    ARTEL_TRY(artel__coll_check(&t->base, request, 1, artel__net_padded(parcel->bytes)));
    memcpy(parcel->data, artel__net_part(request, 0, 0), parcel->bytes);
    ARTEL_TRY(artel__net_release(t->base.endpoint, request));
    t->receives_left--;
    return ARTEL_OK;
}

static artel_status progress(artel__coll_task *task)
{
    artel__parcels *t = self_of(task);
    int32_t at = 0;
    for (int32_t i = 0; i < t->count && t->receives_left > 0; i++) {
        if (t->parcel[i].sends) continue;
        artel__net_request *request = &t->request[at++];
        if (artel__net_done(request)) ARTEL_TRY(take(t, &t->parcel[i], request));
    }
    if (t->receives_left > 0) return ARTEL_AGAIN;
    for (int32_t i = t->receives; i < t->posted; i++) {
        if (!artel__net_done(&t->request[i])) return ARTEL_AGAIN;
    }
    return ARTEL_OK;
}

static void finalize(artel__coll_task *task)
{
    artel__parcels *t = self_of(task);
    for (int32_t i = 0; i < t->posted; i++) artel__net_withdraw(task->endpoint, &t->request[i]);
    t->posted = 0;
}

static const artel__coll_task_ops parcels_ops = {"parcels", post, progress, finalize};

void artel__parcels_init(artel__parcels *task, artel__endpoint *endpoint, const artel__coll_layout *layout)
{
    *task = (artel__parcels){.base = {.ops = &parcels_ops, .endpoint = endpoint, .layout = layout}};
}

void artel__parcels_fini(artel__parcels *task)
{
    if (!task->base.ops) return;
    artel__coll_buffer_fini(task->base.endpoint->ctx, &task->pieces);
    artel__coll_buffer_fini(task->base.endpoint->ctx, &task->requests);
}
