/* SPDX-License-Identifier: Apache-2.0 */
/* Calls between two tasks over an endpoint: one asks, the other answers; each direction of a pair is a lane.
 *
 * Calls of a lane are numbered from 0 in each generation, so both sides know the frame of the next message and post a
 * receive for it. Several calls may be under way; they are answered in any order. A message is a head of 64 bytes and
 * what the operation says, in pieces of the caller's memory that stay until the message has left. Whoever ends a
 * generation withdraws its calls: nothing is repeated here, and what was on its way may have arrived or not.
 *
 * Life of a call: of who asks, artel__lane_call, artel__slot_arrived, artel__lane_take, artel__lane_done; of who
 * answers, artel__lane_expect, artel__slot_arrived, artel__lane_take, artel__lane_answer, artel__slot_left.
 * artel__lane_withdraw ends it in any state; artel__slot_fini gives its memory back. All belong to the endpoint's
 * thread.
 */
#ifndef ARTEL_PS_LANE_H
#define ARTEL_PS_LANE_H

#include "net/transport.h"

enum {
    ARTEL__LANE_HEAD = 64
};

/* What an operation may say in a few words; unused fields are 0. */
typedef struct artel__lane_head {
    uint8_t op, flags;
    uint32_t part;
    uint64_t install, item, position; /* which state is meant; of what; the update it was read at */
    double rate;
    uint64_t a, b;
} artel__lane_head;

typedef struct artel__lane_slot {
    artel__net_request send, receive;
    artel__net_piece *piece; /* of what is sent; the first is the head */
    int room;
    uint64_t number; /* in its lane */
    uint8_t head[ARTEL__LANE_HEAD];
    uint8_t *values; /* of artel__slot_room: a head, and behind it what is said */
    size_t value_bytes;
    size_t length; /* of what has been taken, without the head */
} artel__lane_slot;

typedef struct artel__lane {
    artel__endpoint *endpoint;
    int peer;
    uint64_t job;
    uint32_t generation;
    uint64_t next; /* number of the next call */
} artel__lane;

/* Asks: `data` stays where it is until the answer has arrived, which may have `most` bytes behind its head (0: any
 * number). */
artel_status artel__lane_call(artel__lane *lane, artel__lane_slot *call, const artel__lane_head *head,
                              const artel__net_piece *data, int count, size_t most);
/* Waits for the peer's next call, of at most `most` bytes behind its head. */
artel_status artel__lane_expect(artel__lane *lane, artel__lane_slot *call, size_t most);
/* Whether what is waited for, an answer or a call, is there. */
bool artel__slot_arrived(const artel__lane_slot *call);
/* Its head. ARTEL_ERROR_INVALID, recorded: it is too short or too long. */
artel_status artel__lane_take(const artel__lane *lane, artel__lane_slot *call, artel__lane_head *out);
/* Part `index` of what is behind the head, `offset` bytes (each part padded to 8) from its beginning, of `bytes` bytes:
 * NULL when the message has none of that length there. Until done or answer. */
const void *artel__slot_data(const artel__lane_slot *call, int index, size_t offset, size_t bytes);
/* Where one reads in what has arrived; {0, 0} at first. The next part, of so many bytes; NULL: there is none of that
 * length. */
typedef struct artel__slot_at {
    int index;
    size_t offset;
} artel__slot_at;
const void *artel__slot_next(const artel__lane_slot *call, artel__slot_at *at, size_t bytes);
/* The answer has been read. */
artel_status artel__lane_done(artel__lane *lane, artel__lane_slot *call);
/* Answers; what was asked is not read any more. `data` stays until the call has left. */
artel_status artel__lane_answer(artel__lane *lane, artel__lane_slot *call, const artel__lane_head *head,
                                const artel__net_piece *data, int count);
bool artel__slot_left(const artel__lane_slot *call);
/* At least `bytes` bytes for what an answer says, kept from call to call; what was there is lost. A peer in another
 * process of this host may read it where it lies (a large one, in memory, as long as net/shared.h hands blocks over);
 * it has left when it has been read. Not while an answer is on its way: one that is withdrawn is freed by
 * artel__slot_fini and not written again, so whoever still reads it reads old bytes. */
artel_status artel__slot_room(const artel__lane *lane, artel__lane_slot *call, size_t bytes, uint8_t **out);

/* The room of a slot of which no answer is on its way goes to one that has none. */
void artel__slot_hand_room(artel__lane_slot *from, artel__lane_slot *to);

void artel__lane_withdraw(artel__lane *lane, artel__lane_slot *call);
void artel__slot_fini(artel_context *ctx, artel__lane_slot *call);

/* A lane's failure: ARTEL_AGAIN when a peer is lost or the generation is over. */
static inline artel_status artel__lane_judge(artel_status status)
{
    return status == ARTEL_ERROR_RUN || status == ARTEL_ERROR_CANCELLED ? ARTEL_AGAIN : status;
}

/* The head on the wire; exposed for its tests. */
void artel__slot_encode(const artel__lane_head *head, uint8_t out[ARTEL__LANE_HEAD]);
void artel__slot_decode(const uint8_t in[ARTEL__LANE_HEAD], artel__lane_head *out);

#endif
