/* SPDX-License-Identifier: Apache-2.0 */
/* The relay: an all-reduce along a route (pattern/route.h), for any number of rounds.
 *
 * Post: cut the segments, find room for what comes and what is merged, post all receives. Then every slice goes its own
 * way: its legs are done in their order as far as messages are there. What has come is copied into the slice's room, or
 * the result into `out`, and given back at once, so no rank waits for another one's sends to be done (around a ring all
 * would). Merges write memory of their own and `out` alone: peers may still read this rank's blocks.
 */
#include <string.h>

#include "coll/algo/all_reduce.h"

/* Of a slice, while the task is posted. */
typedef struct stretch {
    int32_t leg;    /* the next one */
    size_t room;    /* where its places begin in t->stack */
    size_t bytes;   /* of one place */
    size_t message; /* of one block in a message: parts are padded */
} stretch;

/* Of a leg: its request and where its pieces begin. */
typedef struct passage {
    int32_t request;
    size_t piece;
} passage;

static artel__all_reduce *self_of(artel__coll_task *task)
{
    return (artel__all_reduce *)task;
}

static const artel__coll_span *spans_of(const artel__all_reduce *t, int32_t slice, int32_t *count)
{
    const int32_t *begin = t->begin.data;
    *count = begin[slice + 1] - begin[slice];
    return (const artel__coll_span *)t->spans.data + begin[slice];
}

static stretch *stretch_of(const artel__all_reduce *t, int32_t slice)
{
    return (stretch *)t->operands.data + slice;
}

static size_t span_bytes(const artel__all_reduce *t, const artel__coll_span *span)
{
    return (size_t)(span->count * t->segment[span->segment].element);
}

/* -- places -- */

static artel_status find_room(artel__all_reduce *t)
{
    const artel__coll_itinerary *it = t->itinerary;
    size_t room = 0;
    for (int32_t s = 0; s < it->slices; s++) {
        int32_t spans;
        const artel__coll_span *span = spans_of(t, s, &spans);
        stretch *way = stretch_of(t, s);
        *way = (stretch){.leg = it->begin[s], .room = room};
        for (int32_t i = 0; i < spans; i++) way->message += artel__net_padded(span_bytes(t, &span[i]));
        way->bytes = (way->message + 63) / 64 * 64;
        room += way->bytes * (size_t)it->places[s];
    }
    return artel__coll_reserve(t->base.endpoint->ctx, &t->stack, room, 1);
}

/* Where span `index` of an operand lies. */
static char *lies(const artel__all_reduce *t, int32_t slice, int32_t operand, int32_t index)
{
    int32_t spans;
    const artel__coll_span *span = spans_of(t, slice, &spans) + index;
    const artel__coll_segment *s = &t->segment[span->segment];
    if (operand == ARTEL__COLL_RESULT) return (char *)s->out + span->first * s->element;
    if (operand < 0) return (char *)(uintptr_t)artel__all_reduce_place(t, span, -1 - operand);
    char *at = (char *)t->stack.data + stretch_of(t, slice)->room + (size_t)operand * stretch_of(t, slice)->bytes;
    for (int32_t i = 0; i < index; i++) at += artel__net_padded(span_bytes(t, span - index + i));
    return at;
}

/* -- messages -- */

static bool is_empty(const artel__all_reduce *t, int32_t slice)
{
    int32_t spans;
    spans_of(t, slice, &spans);
    return spans == 0;
}

static size_t list_pieces(const artel__all_reduce *t, int32_t slice, const artel__coll_leg *leg, artel__net_piece *to)
{
    int32_t spans;
    size_t count = 0;
    const artel__coll_span *span = spans_of(t, slice, &spans);
    for (int32_t n = 0; n < leg->nodes; n++) {
        for (int32_t i = 0; i < spans; i++)
            to[count++] =
                (artel__net_piece){lies(t, slice, t->itinerary->operand[leg->first + n], i), span_bytes(t, &span[i])};
    }
    return count;
}

/* A place in the list of requests and one among the pieces for every message. */
static artel_status list_messages(artel__all_reduce *t)
{
    const artel__coll_itinerary *it = t->itinerary;
    artel_context *ctx = t->base.endpoint->ctx;
    ARTEL_TRY(artel__coll_reserve(ctx, &t->messages, (size_t)it->legs, sizeof(passage)));
    passage *way = t->messages.data;
    size_t pieces = 0;
    int32_t receives = 0, sends = it->receives, spans;
    for (int32_t s = 0; s < it->slices; s++) {
        spans_of(t, s, &spans);
        for (int32_t i = it->begin[s]; i < it->begin[s + 1]; i++) {
            if (it->leg[i].kind == ARTEL__COLL_MERGE) continue;
            way[i] = (passage){it->leg[i].kind == ARTEL__COLL_RECEIVE ? receives++ : sends++, pieces};
            pieces += (size_t)it->leg[i].nodes * (size_t)spans;
        }
    }
    ARTEL_TRY(artel__coll_reserve(ctx, &t->pieces, pieces, sizeof(artel__net_piece)));
    ARTEL_TRY(artel__coll_reserve(ctx, &t->requests, (size_t)sends, sizeof(artel__net_request)));
    t->request = t->requests.data;
    memset(t->requests.data, 0, (size_t)sends * sizeof(artel__net_request));
    t->posted = sends;
    for (int32_t s = 0; s < it->slices; s++) {
        for (int32_t i = it->begin[s]; i < it->begin[s + 1]; i++) {
            if (it->leg[i].kind != ARTEL__COLL_MERGE)
                list_pieces(t, s, &it->leg[i], (artel__net_piece *)t->pieces.data + way[i].piece);
        }
    }
    return ARTEL_OK;
}

static artel__net_request *prepare(artel__all_reduce *t, int32_t slice, int32_t index)
{
    const artel__coll_leg *leg = &t->itinerary->leg[index];
    artel__net_request *request = &t->request[((const passage *)t->messages.data)[index].request];
    *request = (artel__net_request){.peer = t->peer_rank ? t->peer_rank[leg->peer] : leg->peer,
                                    .frame = t->base.frame,
                                    .overtakes = t->base.overtakes};
    bool whole = t->itinerary->operand[leg->first] == ARTEL__COLL_RESULT;
    request->frame.kind = whole ? ARTEL__FRAME_RESULT : ARTEL__FRAME_NODES;
    request->frame.node = (uint32_t)leg->number;
    request->frame.slice = (uint32_t)slice;
    return request;
}

static int pieces_of(const artel__all_reduce *t, int32_t slice, const artel__coll_leg *leg)
{
    int32_t spans;
    spans_of(t, slice, &spans);
    return leg->nodes * spans;
}

static artel__net_piece *first_piece(const artel__all_reduce *t, int32_t index)
{
    return (artel__net_piece *)t->pieces.data + ((const passage *)t->messages.data)[index].piece;
}

static artel_status receive_all(artel__all_reduce *t)
{
    const artel__coll_itinerary *it = t->itinerary;
    for (int32_t s = 0; s < it->slices; s++) {
        for (int32_t i = it->begin[s]; i < it->begin[s + 1] && !is_empty(t, s); i++) {
            if (it->leg[i].kind != ARTEL__COLL_RECEIVE) continue;
            artel__net_request *request = prepare(t, s, i);
            request->most = artel__coll_most((size_t)it->leg[i].nodes * stretch_of(t, s)->message);
            request->into = first_piece(t, i);
            request->intos = pieces_of(t, s, &it->leg[i]);
            ARTEL_TRY(artel__net_receive(t->base.endpoint, request));
        }
    }
    return ARTEL_OK;
}

static artel_status post(artel__coll_task *task)
{
    artel__all_reduce *t = self_of(task);
    const artel__coll_itinerary *it = t->itinerary;
    artel_context *ctx = task->endpoint->ctx;
    size_t slices = (size_t)it->slices;
    t->posted = t->next_send = 0;
    ARTEL_TRY(artel__all_reduce_find_sources(t, it->own, true));
    ARTEL_TRY(artel__coll_reserve(ctx, &t->spans, (size_t)t->segments + slices, sizeof(artel__coll_span)));
    ARTEL_TRY(artel__coll_reserve(ctx, &t->begin, slices + 1, sizeof(int32_t)));
    ARTEL_TRY(artel__coll_reserve(ctx, &t->operands, slices, sizeof(stretch)));
    artel__coll_cut(t->segment, t->segments, it->slices, t->spans.data, t->begin.data);
    ARTEL_TRY(find_room(t));
    ARTEL_TRY(list_messages(t));
    return receive_all(t);
}

/* -- progress -- */

static artel_status take(artel__all_reduce *t, int32_t slice, int32_t index)
{
    const artel__coll_leg *leg = &t->itinerary->leg[index];
    artel__net_request *request = &t->request[((const passage *)t->messages.data)[index].request];
    if (!artel__net_done(request)) return ARTEL_AGAIN;
    int pieces = pieces_of(t, slice, leg);
    ARTEL_TRY(artel__coll_check(&t->base, request, pieces, (size_t)leg->nodes * stretch_of(t, slice)->message));
    const artel__net_piece *into = first_piece(t, index);
    size_t offset = 0;
    for (int i = 0; i < pieces && request->piece != request->into; i++) {
        memcpy((void *)(uintptr_t)into[i].data, artel__net_part(request, i, offset), into[i].bytes);
        offset += artel__net_padded(into[i].bytes);
    }
    return artel__net_release(t->base.endpoint, request);
}

static void merge(artel__all_reduce *t, int32_t slice, const artel__coll_leg *leg)
{
    int32_t spans;
    const artel__coll_span *span = spans_of(t, slice, &spans);
    for (int32_t i = 0; i < spans; i++)
        t->segment[span[i].segment].merge(lies(t, slice, leg->to, i), lies(t, slice, leg->left, i),
                                          lies(t, slice, leg->right, i), span[i].count);
}

static artel_status give(artel__all_reduce *t, int32_t slice, int32_t index)
{
    artel__net_request *request = prepare(t, slice, index);
    request->piece = first_piece(t, index);
    request->pieces = pieces_of(t, slice, &t->itinerary->leg[index]);
    return artel__net_send(t->base.endpoint, request);
}

static artel_status do_leg(artel__all_reduce *t, int32_t slice, int32_t index)
{
    const artel__coll_leg *leg = &t->itinerary->leg[index];
    if (leg->kind == ARTEL__COLL_RECEIVE) return take(t, slice, index);
    if (leg->kind == ARTEL__COLL_SEND) return give(t, slice, index);
    merge(t, slice, leg);
    return ARTEL_OK;
}

static artel_status progress_slice(artel__all_reduce *t, int32_t slice)
{
    stretch *way = stretch_of(t, slice);
    while (way->leg < t->itinerary->begin[slice + 1] && !is_empty(t, slice)) {
        artel_status status = do_leg(t, slice, way->leg);
        if (status != ARTEL_OK) return status;
        way->leg++;
    }
    return ARTEL_OK;
}

static artel_status progress(artel__coll_task *task)
{
    artel__all_reduce *t = self_of(task);
    artel_status all = ARTEL_OK;
    for (int32_t s = 0; s < t->itinerary->slices; s++) {
        artel_status status = progress_slice(t, s);
        if (status < 0) return status;
        if (status == ARTEL_AGAIN) all = ARTEL_AGAIN;
    }
    if (all == ARTEL_AGAIN) return all;
    const artel__net_request *send = t->request + t->itinerary->receives;
    for (; t->next_send < t->itinerary->sends; t->next_send++) {
        /* What is empty was never posted. */
        if (send[t->next_send].sending && !artel__net_done(&send[t->next_send])) return ARTEL_AGAIN;
    }
    return ARTEL_OK;
}

/* Receives come first among the requests, as withdrawing wants it. */
static void finalize(artel__coll_task *task)
{
    artel__all_reduce *t = self_of(task);
    for (int32_t i = 0; i < t->posted; i++) artel__net_withdraw(task->endpoint, &t->request[i]);
    t->posted = 0;
}

const artel__coll_task_ops artel__all_reduce_relay_ops = {"all-reduce", post, progress, finalize};
