/* SPDX-License-Identifier: Apache-2.0 */
/* Calls: frames, heads, and which request is in which state. What they mean is the caller's affair. */
#include "ps/lane.h"

#include <string.h>

#include "base/bytes.h"
#include "base/lend.h"
#include "base/spill.h"

enum {
    WORTH = 64 << 10 /* bytes of a room that is worth a descriptor */
};

void artel__slot_encode(const artel__lane_head *head, uint8_t out[ARTEL__LANE_HEAD])
{
    uint64_t rate;
    uint8_t *at = out;
    memcpy(&rate, &head->rate, sizeof rate);
    memset(out, 0, ARTEL__LANE_HEAD);
    at = artel__bytes_put(at, head->op, 1);
    at = artel__bytes_put(at, head->flags, 1);
    at = artel__bytes_put(at, 0, 2);
    at = artel__bytes_put(at, head->part, 4);
    const uint64_t words[] = {head->install, head->item, head->position, rate, head->a, head->b};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) at = artel__bytes_put(at, words[i], 8);
}

void artel__slot_decode(const uint8_t in[ARTEL__LANE_HEAD], artel__lane_head *out)
{
    const uint8_t *at = in;
    uint64_t words[6];
    *out = (artel__lane_head){.op = (uint8_t)artel__bytes_take(&at, 1)};
    out->flags = (uint8_t)artel__bytes_take(&at, 1);
    artel__bytes_take(&at, 2);
    out->part = (uint32_t)artel__bytes_take(&at, 4);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) words[i] = artel__bytes_take(&at, 8);
    out->install = words[0];
    out->item = words[1];
    out->position = words[2];
    memcpy(&out->rate, &words[3], sizeof out->rate);
    out->a = words[4];
    out->b = words[5];
}

static void drop_room(artel_context *ctx, artel__lane_slot *call)
{
    artel__free_lendable(ctx, call->values, call->value_bytes);
    call->values = NULL;
    call->value_bytes = 0;
}

static artel__frame frame_of(const artel__lane *lane, uint16_t kind, uint64_t number)
{
    return (artel__frame){.kind = kind, .job = lane->job, .generation = lane->generation, .step = number};
}

static artel_status post_send(artel__lane *lane, artel__lane_slot *call, uint16_t kind, const artel__lane_head *head,
                              const artel__net_piece *data, int count)
{
    artel_context *ctx = lane->endpoint->ctx;
    if (count + 1 > call->room) {
        void *wider = call->piece;
        ARTEL_TRY(artel__realloc(ctx, (size_t)(count + 1) * sizeof *call->piece, "call", &wider));
        call->piece = wider;
        call->room = count + 1;
    }
    bool roomy = count > 0 && call->values && data[0].data == call->values + ARTEL__LANE_HEAD;
    uint8_t *at = roomy ? call->values : call->head;
    artel__slot_encode(head, at);
    call->piece[0] = (artel__net_piece){at, ARTEL__LANE_HEAD};
    if (count) memcpy(call->piece + 1, data, (size_t)count * sizeof *data);
    call->send = (artel__net_request){
        .peer = lane->peer, .frame = frame_of(lane, kind, call->number), .piece = call->piece, .pieces = count + 1};
    return artel__net_send(lane->endpoint, &call->send);
}

static artel_status post_receive(artel__lane *lane, artel__lane_slot *call, uint16_t kind, size_t most)
{
    call->receive = (artel__net_request){
        .peer = lane->peer, .frame = frame_of(lane, kind, call->number), .most = most ? ARTEL__LANE_HEAD + most : 0};
    return artel__net_receive(lane->endpoint, &call->receive);
}

artel_status artel__lane_call(artel__lane *lane, artel__lane_slot *call, const artel__lane_head *head,
                              const artel__net_piece *data, int count, size_t most)
{
    call->number = lane->next++;
    ARTEL_TRY(post_receive(lane, call, ARTEL__FRAME_ANSWER, most));
    return post_send(lane, call, ARTEL__FRAME_CALL, head, data, count);
}

artel_status artel__lane_expect(artel__lane *lane, artel__lane_slot *call, size_t most)
{
    call->number = lane->next++;
    return post_receive(lane, call, ARTEL__FRAME_CALL, most);
}

bool artel__slot_arrived(const artel__lane_slot *call)
{
    return artel__net_done(&call->receive);
}

artel_status artel__lane_take(const artel__lane *lane, artel__lane_slot *call, artel__lane_head *out)
{
    const artel__net_request *r = &call->receive;
    bool longer = r->most && r->frame.length > r->most; /* drivers that lend do not mind */
    if (longer || r->pieces < 1 || r->piece[0].bytes < ARTEL__LANE_HEAD)
        return artel__fail(lane->endpoint->ctx, ARTEL_ERROR_INVALID, "parameter servers",
                           "run the same artel, model and options everywhere",
                           "rank %d sent a message of %llu bytes, which is none that was expected", r->peer,
                           (unsigned long long)r->frame.length);
    artel__slot_decode(r->piece[0].data, out);
    call->length = (size_t)r->frame.length - ARTEL__LANE_HEAD;
    return ARTEL_OK;
}

const void *artel__slot_data(const artel__lane_slot *call, int index, size_t offset, size_t bytes)
{
    const artel__net_request *r = &call->receive;
    bool whole = r->pieces == 1; /* else each part lies where its sender had it */
    bool fits = whole ? offset <= call->length && bytes <= call->length - offset
                      : index + 1 < r->pieces && r->piece[index + 1].bytes == bytes;
    return fits ? artel__net_part(r, index + 1, ARTEL__LANE_HEAD + offset) : NULL;
}

const void *artel__slot_next(const artel__lane_slot *call, artel__slot_at *at, size_t bytes)
{
    const void *data = artel__slot_data(call, at->index++, at->offset, bytes);
    at->offset += artel__net_padded(bytes);
    return data;
}

artel_status artel__lane_done(artel__lane *lane, artel__lane_slot *call)
{
    artel_status status = artel__net_release(lane->endpoint, &call->receive);
    artel__net_withdraw(lane->endpoint, &call->send); /* the answer says that it has been read */
    return status;
}

artel_status artel__lane_answer(artel__lane *lane, artel__lane_slot *call, const artel__lane_head *head,
                                const artel__net_piece *data, int count)
{
    if (artel__net_done(&call->receive)) ARTEL_TRY(artel__net_release(lane->endpoint, &call->receive));
    return post_send(lane, call, ARTEL__FRAME_ANSWER, head, data, count);
}

bool artel__slot_left(const artel__lane_slot *call)
{
    return artel__net_done(&call->send);
}

artel_status artel__slot_room(const artel__lane *lane, artel__lane_slot *call, size_t bytes, uint8_t **out)
{
    artel_context *ctx = lane->endpoint->ctx;
    if (ARTEL__LANE_HEAD + bytes > call->value_bytes) {
        size_t more = ARTEL__LANE_HEAD + bytes + call->value_bytes / 2; /* rows are of any number */
        bool lend = more >= WORTH && !artel__spills(ctx, more) && artel__net_has_borrower(lane->endpoint);
        void *block;
        drop_room(ctx, call);
        ARTEL_TRY((lend ? artel__alloc_lendable : artel__alloc_aligned)(ctx, more, "parameter server", &block));
        call->values = block;
        call->value_bytes = more;
    }
    *out = call->values + ARTEL__LANE_HEAD;
    return ARTEL_OK;
}

void artel__slot_hand_room(artel__lane_slot *from, artel__lane_slot *to)
{
    to->values = from->values;
    to->value_bytes = from->value_bytes;
    from->values = NULL;
    from->value_bytes = 0;
}

void artel__lane_withdraw(artel__lane *lane, artel__lane_slot *call)
{
    artel__net_withdraw(lane->endpoint, &call->receive);
    artel__net_withdraw(lane->endpoint, &call->send);
}

void artel__slot_fini(artel_context *ctx, artel__lane_slot *call)
{
    drop_room(ctx, call);
    artel__free(ctx, call->piece);
    *call = (artel__lane_slot){.room = 0};
}
