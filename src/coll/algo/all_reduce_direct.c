/* SPDX-License-Identifier: Apache-2.0 */
/* The direct exchange (and its one-round form, in which everyone merges everything).
 *
 * Post: cut the segments, list the messages (pattern/exchange.h), receive first, then lend every peer its slice of this
 * rank's nodes. When all nodes of the own slice are here, merge them into `out`, give them back, lend the result to
 * all. Results of others are copied as they arrive. Merging goes block by block through the whole program of the tree,
 * so what lies between leaf and root stays in the cache and each element of a peer's memory is read once. The operands
 * are lenders' memory and are never written, but for a rank's own first block where that is to be the root: the own
 * slice nobody else reads, and the result of another comes after its rank has read that slice of the block.
 */
#include <string.h>

#include "coll/algo/all_reduce.h"
#include "coll/program.h"

static artel__all_reduce *self_of(artel__coll_task *task)
{
    return (artel__all_reduce *)task;
}

static int32_t own_slice(const artel__all_reduce *t)
{
    return artel__coll_own_slice(t->algorithm, t->base.endpoint->rank);
}

/* -- what is sent -- */

static int32_t slices(const artel__all_reduce *t)
{
    return t->algorithm == ARTEL__COLL_DIRECT ? t->base.layout->ranks : 1;
}

static artel_status list(artel__all_reduce *t)
{
    artel_context *ctx = t->base.endpoint->ctx;
    const artel__coll_layout *layout = t->base.layout;
    int32_t rank = t->base.endpoint->rank, most = artel__coll_most_messages(layout, rank);
    ARTEL_TRY(artel__coll_reserve(ctx, &t->spans, (size_t)t->segments + (size_t)slices(t), sizeof(artel__coll_span)));
    ARTEL_TRY(artel__coll_reserve(ctx, &t->begin, (size_t)slices(t) + 1, sizeof(int32_t)));
    ARTEL_TRY(artel__coll_reserve(ctx, &t->messages, 2 * (size_t)most, sizeof(artel__coll_message)));
    artel__coll_cut(t->segment, t->segments, slices(t), t->spans.data, t->begin.data);
    t->lists.send = t->messages.data;
    t->lists.receive = t->lists.send + most;
    artel__coll_exchange exchange = {layout, t->algorithm, t->begin.data};
    artel__coll_list_messages(&exchange, rank, &t->lists);
    return ARTEL_OK;
}

/* Pieces of all spans: a row for each own node, one more for the result. */
static artel_status list_pieces(artel__all_reduce *t)
{
    const int32_t *begin = t->begin.data;
    int32_t spans = begin[slices(t)], nodes = artel__coll_owned(t->base.layout, t->base.endpoint->rank);
    ARTEL_TRY(artel__coll_reserve(t->base.endpoint->ctx, &t->pieces, ((size_t)nodes + 1) * (size_t)spans,
                                  sizeof(artel__net_piece)));
    const artel__coll_span *span = t->spans.data;
    artel__net_piece *piece = t->pieces.data;
    for (int32_t n = 0; n <= nodes; n++) {
        for (int32_t i = 0; i < spans; i++) {
            const artel__coll_segment *s = &t->segment[span[i].segment];
            const char *data =
                n < nodes ? artel__all_reduce_place(t, &span[i], n) : (const char *)s->out + span[i].first * s->element;
            *piece++ = (artel__net_piece){data, (size_t)(span[i].count * s->element)};
        }
    }
    return ARTEL_OK;
}

static void fill(const artel__all_reduce *t, const artel__coll_message *message, artel__net_request *request)
{
    *request = (artel__net_request){.peer = message->peer, .frame = t->base.frame, .overtakes = t->base.overtakes};
    request->frame.kind = message->node < 0 ? ARTEL__FRAME_RESULT : ARTEL__FRAME_NODES;
    request->frame.node = message->node < 0 ? 1 : artel__coll_node_number(t->base.layout, message->node);
    request->frame.slice = (uint32_t)message->slice;
}

static artel_status send_from(artel__all_reduce *t, int32_t first, int32_t count)
{
    const int32_t *begin = t->begin.data;
    const artel__coll_layout *layout = t->base.layout;
    int32_t rank = t->base.endpoint->rank, spans = begin[slices(t)],
            receives = t->lists.node_receives + t->lists.result_receives;
    for (int32_t i = first; i < first + count; i++) {
        const artel__coll_message *message = &t->lists.send[i];
        artel__net_request *request = &t->request[receives + i];
        int32_t row = message->node < 0 ? artel__coll_owned(layout, rank) : message->node - layout->first[rank];
        fill(t, message, request);
        request->piece = (const artel__net_piece *)t->pieces.data + (int64_t)row * spans + begin[message->slice];
        request->pieces = begin[message->slice + 1] - begin[message->slice];
        t->posted = receives + i + 1;
        ARTEL_TRY(artel__net_send(t->base.endpoint, request));
    }
    return ARTEL_OK;
}

static size_t slice_length(const artel__all_reduce *t, int32_t slice)
{
    const int32_t *begin = t->begin.data;
    return artel__net_length((const artel__net_piece *)t->pieces.data + begin[slice], begin[slice + 1] - begin[slice]);
}

static int32_t slice_parts(const artel__all_reduce *t, int32_t slice)
{
    const int32_t *begin = t->begin.data;
    return begin[slice + 1] - begin[slice];
}

/* The places in `out`: the last row of the pieces. */
static const artel__net_piece *result_pieces(const artel__all_reduce *t, int32_t slice)
{
    const int32_t *begin = t->begin.data;
    int32_t nodes = artel__coll_owned(t->base.layout, t->base.endpoint->rank);
    return (const artel__net_piece *)t->pieces.data + (int64_t)nodes * begin[slices(t)] + begin[slice];
}

static artel_status receive_all(artel__all_reduce *t)
{
    for (int32_t i = 0; i < t->lists.node_receives + t->lists.result_receives; i++) {
        fill(t, &t->lists.receive[i], &t->request[i]);
        int32_t slice = t->lists.receive[i].slice;
        t->request[i].most = artel__coll_most(slice_length(t, slice));
        if (t->lists.receive[i].node < 0) {
            t->request[i].into = result_pieces(t, slice);
            t->request[i].intos = slice_parts(t, slice);
        }
        t->posted = i + 1;
        ARTEL_TRY(artel__net_receive(t->base.endpoint, &t->request[i]));
    }
    return ARTEL_OK;
}

/* Room for the merge stack: a block for each place but the first, which is `out`. */
static artel_status reserve_merge(artel__all_reduce *t)
{
    size_t block = 0;
    for (int32_t i = 0; i < t->segments; i++) {
        const artel__coll_segment *s = &t->segment[i];
        int64_t elements = s->whole || s->count < ARTEL__COLL_BLOCK ? s->count : ARTEL__COLL_BLOCK;
        if ((size_t)(elements * s->element) > block) block = (size_t)(elements * s->element);
    }
    block = (block + 63) / 64 * 64;
    ARTEL_TRY(
        artel__coll_reserve(t->base.endpoint->ctx, &t->operands, (size_t)t->base.layout->nodes, sizeof(const char *)));
    return artel__coll_reserve(t->base.endpoint->ctx, &t->stack, (size_t)t->base.layout->places, block);
}

static artel_status post(artel__coll_task *task)
{
    artel__all_reduce *t = self_of(task);
    t->posted = t->next_receive = t->next_send = 0;
    t->merged = false;
    ARTEL_TRY(artel__all_reduce_find_sources(t, artel__coll_owned(task->layout, task->endpoint->rank),
                                             t->algorithm != ARTEL__COLL_DIRECT));
    ARTEL_TRY(list(t));
    ARTEL_TRY(list_pieces(t));
    ARTEL_TRY(reserve_merge(t));
    const artel__coll_lists *l = &t->lists;
    t->results_left = l->result_receives;
    size_t requests =
        (size_t)l->node_receives + (size_t)l->result_receives + (size_t)l->node_sends + (size_t)l->result_sends;
    ARTEL_TRY(artel__coll_reserve(task->endpoint->ctx, &t->requests, requests, sizeof(artel__net_request)));
    t->request = t->requests.data;
    ARTEL_TRY(receive_all(t));
    return send_from(t, 0, l->node_sends);
}

/* -- merging -- */

static const char *operand_of(const void *user, int32_t node)
{
    const artel__all_reduce *t = user;
    return ((const char *const *)t->operands.data)[node];
}

/* Where each node's part `index` of the own slice lies: in this rank's memory or in a message. */
static void find_operands(const artel__all_reduce *t, const artel__coll_span *span, int32_t index, size_t offset)
{
    const artel__coll_layout *layout = t->base.layout;
    const char **operand = t->operands.data;
    int32_t rank = t->base.endpoint->rank, first = layout->first[rank], end = layout->first[rank + 1];
    for (int32_t n = 0; n < first; n++) operand[n] = artel__net_part(&t->request[n], index, offset);
    for (int32_t n = first; n < end; n++) operand[n] = artel__all_reduce_place(t, span, n - first);
    for (int32_t n = end; n < layout->nodes; n++)
        operand[n] = artel__net_part(&t->request[n - (end - first)], index, offset);
}

static void merge(artel__all_reduce *t)
{
    const int32_t *begin = t->begin.data;
    int32_t slice = own_slice(t);
    size_t offset = 0;
    for (int32_t i = begin[slice]; i < begin[slice + 1]; i++) {
        const artel__coll_span *span = (const artel__coll_span *)t->spans.data + i;
        const artel__coll_segment *s = &t->segment[span->segment];
        find_operands(t, span, i - begin[slice], offset);
        int64_t block = s->whole || span->count < ARTEL__COLL_BLOCK ? span->count : ARTEL__COLL_BLOCK;
        artel__coll_program program = {.layout = t->base.layout,
                                       .merge = s->merge,
                                       .operand = operand_of,
                                       .user = t,
                                       .element = s->element,
                                       .stack = t->stack.data,
                                       .place_bytes = ((size_t)(block * s->element) + 63) / 64 * 64,
                                       .out = (char *)s->out + span->first * s->element};
        for (int64_t at = 0; at < span->count; at += block)
            artel__coll_program_run(&program, at, span->count - at < block ? span->count - at : block);
        offset += artel__net_padded((size_t)(span->count * s->element));
    }
}

/* -- progress -- */

/* ARTEL_AGAIN until every node is here; then merges, gives them back and sends the result. */
static artel_status progress_nodes(artel__all_reduce *t)
{
    const int32_t *begin = t->begin.data;
    int32_t slice = own_slice(t), parts = begin[slice + 1] - begin[slice];
    size_t length = slice_length(t, slice);
    while (t->next_receive < t->lists.node_receives) {
        const artel__net_request *request = &t->request[t->next_receive];
        if (!artel__net_done(request)) return ARTEL_AGAIN;
        ARTEL_TRY(artel__coll_check(&t->base, request, parts, length));
        t->next_receive++;
    }
    merge(t);
    t->merged = true;
    for (int32_t i = 0; i < t->lists.node_receives; i++)
        ARTEL_TRY(artel__net_release(t->base.endpoint, &t->request[i]));
    return send_from(t, t->lists.node_sends, t->lists.result_sends);
}

static artel_status take_result(artel__all_reduce *t, artel__net_request *request, int32_t slice)
{
    const int32_t *begin = t->begin.data;
    ARTEL_TRY(artel__coll_check(&t->base, request, begin[slice + 1] - begin[slice], slice_length(t, slice)));
    size_t offset = 0;
    bool there = request->piece == request->into;
    for (int32_t i = begin[slice]; i < begin[slice + 1] && !there; i++) {
        const artel__coll_span *span = (const artel__coll_span *)t->spans.data + i;
        const artel__coll_segment *s = &t->segment[span->segment];
        size_t bytes = (size_t)(span->count * s->element);
        memcpy((char *)s->out + span->first * s->element, artel__net_part(request, i - begin[slice], offset), bytes);
        offset += artel__net_padded(bytes);
    }
    ARTEL_TRY(artel__net_release(t->base.endpoint, request));
    t->results_left--;
    return ARTEL_OK;
}

static artel_status progress_results(artel__all_reduce *t)
{
    for (int32_t i = 0; i < t->lists.result_receives && t->results_left > 0; i++) {
        artel__net_request *request = &t->request[t->lists.node_receives + i];
        if (artel__net_done(request))
            ARTEL_TRY(take_result(t, request, t->lists.receive[t->lists.node_receives + i].slice));
    }
    return t->results_left > 0 ? ARTEL_AGAIN : ARTEL_OK;
}

static artel_status progress_sends(artel__all_reduce *t)
{
    const artel__coll_lists *l = &t->lists;
    const artel__net_request *send = t->request + l->node_receives + l->result_receives;
    while (t->next_send < l->node_sends + l->result_sends && artel__net_done(&send[t->next_send])) t->next_send++;
    return t->next_send < l->node_sends + l->result_sends ? ARTEL_AGAIN : ARTEL_OK;
}

static artel_status progress(artel__coll_task *task)
{
    artel__all_reduce *t = self_of(task);
    artel_status merged = t->merged ? ARTEL_OK : progress_nodes(t);
    if (merged < 0) return merged;
    artel_status results = progress_results(t);
    if (results < 0) return results;
    if (merged == ARTEL_AGAIN || results == ARTEL_AGAIN) return ARTEL_AGAIN;
    return progress_sends(t);
}

/* Receives come first among the requests, as withdrawing wants it. */
static void finalize(artel__coll_task *task)
{
    artel__all_reduce *t = self_of(task);
    for (int32_t i = 0; i < t->posted; i++) artel__net_withdraw(task->endpoint, &t->request[i]);
    t->posted = 0;
}

const artel__coll_task_ops artel__all_reduce_exchange_ops = {"all-reduce", post, progress, finalize};

const artel__all_reduce_def artel__all_reduce_direct = {
    .name = "direct",
    .doc = "Each rank merges a slice of what all send it, and sends the result to all: two rounds.",
    .ops = &artel__all_reduce_exchange_ops,
    .exchange = ARTEL__COLL_DIRECT,
};

const artel__all_reduce_def artel__all_reduce_redundant = {
    .name = "redundant",
    .doc = "Everyone sends everything to everyone and merges it all: one round, for few bytes.",
    .ops = &artel__all_reduce_exchange_ops,
    .exchange = ARTEL__COLL_REDUNDANT,
};
