/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of the view machine: its fields, and what its files offer one another.
 *
 *   holding.c          inputs, what a task promises, accepts and serves
 *   holding_ballot.c   the candidate: from a ballot to a view in force
 *   holding_chain.c    which chains follow from the promises; who makes copies
 *   holding_watch.c    who is heard; when this task proposes
 *   holding_act.c      what comes out: actions, lines for the user, messages
 *   holding_wire.c     messages and their bytes
 */
#ifndef ARTEL_CLUSTER_HOLDING_IMPL_H
#define ARTEL_CLUSTER_HOLDING_IMPL_H

#include "cluster/holding.h"

#include <string.h>

/* Values are part of the wire format: append only. */
typedef enum artel__holding_kind {
    ARTEL__HOLDING_BALLOT = 1,
    ARTEL__HOLDING_PROMISE = 2, /* view: accepted last; state */
    ARTEL__HOLDING_HIGHER = 3,  /* about: the ballot that is followed */
    ARTEL__HOLDING_VIEW = 4,    /* view */
    ARTEL__HOLDING_IS_LEVEL = 5,
    ARTEL__HOLDING_HOLD = 6,
    ARTEL__HOLDING_TELL = 7, /* view */
    ARTEL__HOLDING_WANT = 8, /* about: the view that the sender knows; subject: 1 + the task it complains of, or 0 */
    ARTEL__HOLDING_PING = 9,
    ARTEL__HOLDING_PONG = 10,
    ARTEL__HOLDING_KINDS
} artel__holding_kind;

enum {
    ARTEL__HOLDING_REMEMBERS = 1, /* of flags */
    ARTEL__HOLDING_HAS_VIEW = 2,
    ARTEL__HOLDING_HAS_STATE = 4,
    ARTEL__HOLDING_HEAD_BYTES = 52,
    ARTEL__HOLDING_VIEW_BYTES = 40
};

typedef struct artel__holding_message {
    uint8_t kind, flags;
    uint16_t task;     /* the sender */
    uint64_t from, to; /* incarnations */
    artel__generation_id about;
    artel__generation_id known; /* the newest view in force that the sender knows */
    uint32_t subject;
    artel__view *view; /* the caller's memory, both ways; NULL: none is written, and one that comes is an error */
    uint8_t *state;    /* [parts] artel__holding_state; the same */
} artel__holding_message;

size_t artel__holding_bound(uint32_t tasks, uint32_t parts);
/* Returns the bytes; `out` has room for artel__holding_bound. */
size_t artel__holding_encode(const artel__holding_message *message, uint32_t tasks, uint32_t parts, uint8_t *out);
/* NULL, or what is wrong (a constant text). Views that come are sound: tasks exist, no chain is longer than it may be
 * or names a task twice. */
const char *artel__holding_decode(const uint8_t *bytes, size_t count, uint32_t tasks, uint32_t parts,
                                  artel__holding_message *message);

typedef struct artel__holding_peer {
    bool linked;
    uint64_t incarnation; /* the last one heard of; 0: none */
    uint64_t gone;        /* an incarnation that is over for good */
    int64_t heard, pinged;
    int64_t shun_until; /* not waited for and not taken as a newcomer */
    int shuns;
    /* At the candidate. */
    bool promised, remembers, level;
    bool excluded; /* did not become level: another holder goes on */
    uint64_t life; /* incarnation that promised */
} artel__holding_peer;

typedef enum artel__ballot_phase {
    ARTEL__BALLOT_NONE,
    ARTEL__BALLOT_COLLECT,
    ARTEL__BALLOT_LEVEL
} artel__ballot_phase;

struct artel__holding {
    artel_context *ctx;
    artel__holding_config config;
    int64_t now, began;
    uint32_t votes; /* of all voters */
    uint64_t random, origin;
    uint32_t counter; /* the highest seen */
    artel__holding_peer *peer;

    artel__generation_id promised;
    int64_t promised_at;
    artel__view accepted, known, incoming;
    uint32_t accepted_from;
    bool held; /* accepted is in force */
    bool fenced, remembers;
    artel__generation_id start; /* the start that the parts here belong to */
    uint8_t *part;              /* [parts] artel__holding_state */
    uint8_t *pending;           /* [parts] to be levelled in the accepted view */
    uint32_t pendings;
    uint8_t *assigned; /* [parts] this task is to copy it, in the known view */
    bool want_copied;
    int64_t wanted_at; /* when that was said last */

    /* As candidate. */
    artel__ballot_phase phase;
    artel__generation_id ballot;
    int64_t since, asked, said;
    bool bootstrap;         /* needs all voters */
    artel__view best, next; /* accepted among the promises; made from them */
    uint8_t *states;        /* [tasks][parts] as promised */

    /* When to propose. */
    bool wanted;
    int64_t backoff_until, proposed_at, complained_at, complaint_wait;

    uint64_t *load; /* [tasks] scratch */
    uint8_t *out, *in_state;
    char line[512];
};

static inline bool artel__holding_takes_part(const artel__holding *h, uint32_t task)
{
    return h->config.votes[task] || h->config.server[task];
}

static inline bool artel__holding_lately(const artel__holding *h, uint32_t task)
{
    const artel__holding_peer *p = &h->peer[task];
    return task == h->config.self || (p->linked && h->now - p->heard < h->config.suspect_after_ns);
}

static inline bool artel__view_names(const artel__view *view, uint32_t task, uint64_t incarnation)
{
    return view->ballot.counter && view->member[task] == incarnation;
}

static inline void artel__view_copy(const artel__holding *h, artel__view *to, const artel__view *from)
{
    uint64_t *member = to->member;
    artel__chain *chain = to->chain;
    *to = *from;
    to->member = memcpy(member, from->member, h->config.tasks * sizeof *member);
    to->chain = memcpy(chain, from->chain, h->config.parts * sizeof *chain);
}

/* -- holding_act.c -- */
void artel__holding_act(artel__holding *h, const artel__holding_action *action);
void artel__holding_say(artel__holding *h, artel__holding_action_kind kind, uint32_t part, const char *format, ...)
    ARTEL__PRINTF(4, 5);
/* The sender and what it knows are filled in. Nothing happens without a link. */
void artel__holding_send(artel__holding *h, uint32_t task, artel__holding_message *message);
/* Tells the view in force, if there is one. */
void artel__holding_tell(artel__holding *h, uint32_t task);

/* -- holding.c -- */
/* Follows a ballot that is above all promised ones. */
void artel__holding_follow(artel__holding *h, artel__generation_id ballot);
void artel__holding_on_view(artel__holding *h, uint32_t from, const artel__view *view);
void artel__holding_on_hold(artel__holding *h, artel__generation_id ballot);

/* -- holding_ballot.c -- */
void artel__holding_propose(artel__holding *h);
void artel__holding_give_up(artel__holding *h);
/* The candidate looks again: time has passed, somebody has come or gone. */
void artel__holding_advance(artel__holding *h);
void artel__holding_on_promise(artel__holding *h, uint32_t from, const artel__holding_message *message);
void artel__holding_on_is_level(artel__holding *h, uint32_t from, artel__generation_id ballot);
void artel__holding_shun(artel__holding *h, uint32_t task);

/* -- holding_chain.c -- */
typedef enum artel__chain_result {
    ARTEL__CHAIN_MADE,
    ARTEL__CHAIN_WAIT, /* for a holder that may still live */
    ARTEL__CHAIN_LOST  /* a part has no holder any more; *part says which */
} artel__chain_result;
/* Chains of `next` from those of `best` and the promises; members are set already. */
artel__chain_result artel__holding_make_chains(artel__holding *h, uint32_t *part);
/* Chains of a first view. False: no server has promised. */
bool artel__holding_place_chains(artel__holding *h);
/* Marks what this task is to copy in the known view, and begins. */
void artel__holding_assign(artel__holding *h);

/* -- holding_watch.c -- */
void artel__holding_watch(artel__holding *h);
void artel__holding_on_want(artel__holding *h, uint32_t from, const artel__holding_message *message);
void artel__holding_want(artel__holding *h, uint32_t subject);
int64_t artel__holding_draw(artel__holding *h, int64_t below);

#endif
