/* SPDX-License-Identifier: Apache-2.0 */
/* A part of the variables at several servers: one, the head, takes updates and sends each on to the others, the copies.
 *
 * No answer about the part leaves the head before the copies have all that it speaks of: what it answers is put aside
 * as it is then (held), and the head goes on meanwhile. So whatever was acknowledged or read is at all of them. Who is
 * head and who has copies is said anew in each generation, by whoever may (artel__holding_head and the next two decide
 * nothing but by what servers say that they have); when a generation ends nothing is under way any more.
 *
 * Life of an update at the head: artel__chain_may_tell, artel__chain_tell, artel__chain_reply; then in rounds
 * artel__chain_hear, and artel__chain_may_leave for each call that is held. All belong to the endpoint's thread.
 */
#ifndef ARTEL_PS_CHAIN_H
#define ARTEL_PS_CHAIN_H

#include "ps/lane.h"

enum {
    ARTEL__CHAIN_HOLDERS = 3, /* servers that have a part, at most */
    ARTEL__CHAIN_AHEAD = 4    /* updates of a part on their way to its copies */
};

typedef struct artel__chain_forward { /* what copies are told at once */
    artel__lane_slot call[ARTEL__CHAIN_HOLDERS - 1];
    int rank[ARTEL__CHAIN_HOLDERS - 1];
    int calls;
} artel__chain_forward;

typedef struct artel__chain {
    bool head;
    int copies, copy[ARTEL__CHAIN_HOLDERS - 1]; /* ranks of the servers that have one */
    artel__chain_forward forward[ARTEL__CHAIN_AHEAD];
    uint64_t sent, heard; /* forwards; answered by all */
} artel__chain;

typedef struct artel__chain_call { /* a call of a client */
    artel__lane_slot call;
    artel__lane_head reply; /* of a held one: with these pieces, when copies of the part have so many forwards */
    artel__net_piece *piece;
    int pieces, room;
    artel__chain *of;
    uint64_t until;
    enum {
        ARTEL__CALL_IDLE,
        ARTEL__CALL_EXPECTED,
        ARTEL__CALL_HELD,
        ARTEL__CALL_LEAVING
    } state;
} artel__chain_call;

typedef struct artel__chain_client { /* by rank, of a generation */
    artel__lane from, to;            /* calls of the client, and to it */
    artel__chain_call *slot;
    int slots;
    int ahead; /* forwards on their way to it */
} artel__chain_client;

/* Room for so many calls at a time. Ends what is under way with it, in any state. */
artel_status artel__chain_client_open(artel_context *ctx, artel__chain_client *client, const artel__lane *lane,
                                      int slots);
void artel__chain_client_close(artel_context *ctx, artel__chain_client *client);

/* -- telling copies -- */

/* Whether one more update may be sent to the copies, of which none has `most` calls of this server under way. */
bool artel__chain_may_tell(const artel__chain *chain, const artel__chain_client *client, int most);
/* Tells servers something; what is answered from here on waits until all of them have it. ARTEL_AGAIN: the generation
 * is over, as of the next. */
artel_status artel__chain_tell(artel__chain *chain, artel__chain_client *client, const int *rank, int ranks,
                               const artel__lane_head *head, const artel__net_piece *piece, int count);
/* Takes the answers of copies, in the order of what they were told. Errors: ARTEL_ERROR_INVALID (a copy refuses). */
artel_status artel__chain_hear(artel__chain *chain, artel__chain_client *client, bool *did);
static inline bool artel__chain_waits(const artel__chain *chain)
{
    return chain->heard < chain->sent;
}
/* A copy without whose answer a head gives none; -1: there is none. */
int artel__chain_awaited(const artel__chain *chain);
/* Nothing is under way any more; and the memory of it. */
void artel__chain_withdraw(artel__chain *chain, artel__chain_client *client);
void artel__chain_fini(artel_context *ctx, artel__chain *chain);

/* -- answers -- */

artel_status artel__chain_answer(artel__chain_client *client, artel__chain_call *at, const artel__lane_head *head,
                                 const artel__net_piece *piece, int count);
/* Puts an answer aside until copies have all that has been sent them. Pieces stay until then. */
artel_status artel__chain_hold(artel_context *ctx, artel__chain *chain, artel__chain_call *at,
                               const artel__lane_head *head, const artel__net_piece *piece, int count);
/* Whether a held answer may leave. */
static inline bool artel__chain_may_leave(const artel__chain_call *at)
{
    return at->state == ARTEL__CALL_HELD && at->of->heard >= at->until;
}
/* Room for what an answer says. A client's calls take turns in many slots and few of them are answered at a time, so
 * the room goes from slot to slot: else each would come to have one, of the size of all variables. */
artel_status artel__chain_room(artel__chain_client *client, artel__chain_call *at, size_t bytes, uint8_t **out);

/* -- who holds a part: pure -- */

/* A part at a server. */
typedef struct artel__holding {
    bool has; /* what counts */
    uint64_t position;
} artel__holding;

/* The holder with the most updates; of equal ones the head of before (-1: it is not here). -1: nobody has it. */
int artel__holding_head(const artel__holding *at, int servers, int before);
/* Who has a copy, or is to have one, but for those chosen already: a holder, else the server with the least. -1:
 * nobody. */
int artel__holding_copy(const artel__holding *at, const uint64_t *load, int servers, const int *chosen, int count);

#endif
