/* SPDX-License-Identifier: Apache-2.0 */
/* Who holds which part of the variables of parameter servers, in which order: views, agreed by a majority, as a state
 * machine.
 *
 * The machine is pure, as the membership machine is (membership.h): time, links, messages and the state of local copies
 * go in, actions come out through one function; no thread, socket or clock, and no memory is taken after its creation.
 * Parts are numbers to it. One machine belongs to one thread.
 *
 * Why votes here and not there. Two groups may go on with a synchronous run, since step s is a function of s. An update
 * of an asynchronous run is not, so of two owners of a part one must be unable to acknowledge. No clocks are compared
 * and nothing is leased: an acknowledgement needs every holder that the view names, and whoever has accepted a later
 * view appends and acknowledges nothing of an older one. Of each chain of a new view one holder at least was in the
 * chain before, and has accepted. So a deposed owner cannot acknowledge and need not know that it is deposed.
 *
 * A view, from trouble to work:
 *   BALLOT   candidate -> voters and holders: will you follow this ballot? Ballots are ordered by (counter,
 * incarnation). PROMISE  back: I follow no lower one; with the view that was accepted last, and what I hold. The task
 * goes on serving: what it acknowledges until it accepts is in its log, from which the next view's holders are
 * levelled. HIGHER   back: no, I follow that one. VIEW     candidate -> all that promised: the view made from the
 * promises. Accepting it ends the one before (FENCE). LEVEL    back: accepted, and all my parts are level with the
 * holders before me. HOLD     candidate -> members, on LEVEL from a majority of votes and from every holder named: the
 * view is in force. TELL     a view in force, to whoever asks or is not in it. WANT     to the lowest voter heard: make
 * a view; my copies are complete, or I complain of a task. PING, PONG  who is heard.
 *
 * Rules (tests/ps/test_holding*.c has a test for each, and for each of seven ways to break them):
 *   H1 a voter follows ballots upwards only; VIEW is accepted only for the ballot promised last, from a candidate that
 * has counted the promise of this incarnation. H2 only voters that remember count, both for promises and for LEVEL. A
 * restarted voter does not remember until HOLD of a view that names its incarnation. When all voters have promised and
 * those that remember are no majority, the job begins again from the newest checkpoint (FALL_BACK). A job's first view
 * is the same case; then, LEVEL of all voters is needed. H3 chains are made from the accepted view with the highest
 * ballot among the promises: of each chain those holders, in order, that promised with the same incarnation and are
 * LEVEL. Who was heard lately is waited for. If none is left and all holders are dead for good (restarted, or declared
 * so), the part is LOST and the job begins again from the checkpoint; else the candidate waits for them, also when
 * another part is lost: they may acknowledge alone. A view that begins the job needs LEVEL of all its members. H4 the
 * head of the next chain is its first survivor: it has every entry that any survivor has. H5 nothing is served before
 * HOLD, and nothing of an older view once a later one has been accepted. H6 a newcomer copies a part from its head
 * while that works; the copy does not count until a view names it and it is level. A holder that a view in force does
 * not name holds nothing from then on: its log may have an entry that nobody else has. H7 belongs to the log
 * (ps/log.h). H8 the lowest voter that is heard proposes, others later; whoever meets a higher ballot backs off for a
 * random time. After PacificA (Lin, Yang, Zhang, Zhou 2008), chain replication (van Renesse and Schneider 2004), and
 * the recovery of voters without disks of Viewstamped Replication Revisited (Liskov and Cowling 2012).
 */
#ifndef ARTEL_CLUSTER_HOLDING_H
#define ARTEL_CLUSTER_HOLDING_H

#include "base/context.h"
#include "cluster/message.h"

enum {
    ARTEL__HOLDING_MOST_TASKS = 256,
    ARTEL__HOLDING_MOST_PARTS = 4096,
    ARTEL__HOLDING_COPIES = 3,           /* holders of a part at the most */
    ARTEL__HOLDING_BYTES_MAX = 60 * 1024 /* of a message */
};

#define ARTEL__HOLDING_TICK_NS 20000000LL /* tick at least this often */

/* Negative, 0 or positive as a is before, equal to or after b. */
static inline int artel__ballot_compare(artel__generation_id a, artel__generation_id b)
{
    if (a.counter != b.counter) return a.counter < b.counter ? -1 : 1;
    return a.incarnation < b.incarnation ? -1 : a.incarnation > b.incarnation;
}

/* A number for messages about a view. Counting views would not do: two candidates may make different ones after the
 * same view. */
static inline uint64_t artel__ballot_epoch(artel__generation_id ballot)
{
    return (uint64_t)ballot.counter << 32 | (uint32_t)(ballot.incarnation ^ ballot.incarnation >> 32);
}

/* The holders of a part, head first. */
typedef struct artel__chain {
    uint16_t task[ARTEL__HOLDING_COPIES];
    uint8_t holders; /* 1 to 3 in a view in force */
} artel__chain;

/* The task's place in the chain; -1: it is not in it. */
static inline int artel__chain_find(const artel__chain *chain, uint32_t task)
{
    for (int i = 0; i < chain->holders; i++)
        if (chain->task[i] == task) return i;
    return -1;
}

typedef struct artel__view {
    artel__generation_id ballot; /* orders views; counter 0: none */
    uint64_t epoch;              /* the same in one number (artel__ballot_epoch): no two views share it */
    artel__generation_id
        start; /* ballot of the view that began from a checkpoint: what was acknowledged under another start is void */
    uint64_t origin;      /* that checkpoint, in the driver's words */
    uint32_t coordinator; /* task: the lowest voter among the members */
    uint64_t *member;     /* [tasks] incarnation; 0: not a member */
    artel__chain *chain;  /* [parts] */
} artel__view;

typedef enum artel__holding_state {
    ARTEL__HOLDING_NONE,
    ARTEL__HOLDING_COPY, /* a copy of the start in force that no view names */
    ARTEL__HOLDING_LEVEL
} artel__holding_state;

typedef enum artel__holding_action_kind {
    ARTEL__HOLDING_SEND,      /* `bytes` to `task`, which has a link; lent for the call */
    ARTEL__HOLDING_FENCE,     /* the view served so far is over: nothing of it is appended, applied, answered or
                                 acknowledged from now on */
    ARTEL__HOLDING_ACCEPT,    /* `view` is accepted, not in force: level each part whose chain names this task
                                 with the holder before it, then artel__holding_level. `fresh`: begin all parts
                                 anew from the view's origin */
    ARTEL__HOLDING_SERVE,     /* `view` is in force and names this task: heads serve */
    ARTEL__HOLDING_DROP,      /* what is held of `part` is void */
    ARTEL__HOLDING_COPY_FROM, /* copy `part` from its head `task` of `view`, then artel__holding_copied; a later one
                                 replaces it */
    ARTEL__HOLDING_LEARN,     /* `view` is in force elsewhere: for clients, and for those it does not name */
    ARTEL__HOLDING_LOST,      /* at the candidate: all holders of `part` are gone for good */
    ARTEL__HOLDING_FALL_BACK, /* at the candidate: the job begins (again) from the checkpoint; `text` says why */
    ARTEL__HOLDING_REPORT,    /* a line for the user in `text` */
} artel__holding_action_kind;

typedef struct artel__holding_action {
    artel__holding_action_kind kind;
    uint32_t task, part;
    const uint8_t *bytes;
    size_t count;
    const artel__view *view;
    bool fresh;
    const char *text;
} artel__holding_action;

/* Performs an action. Must not call the machine it comes from; pointers are lent for the call. */
typedef void artel__holding_act_fn(void *user, const artel__holding_action *action);

typedef struct artel__holding_config {
    uint32_t tasks, self, parts;
    const char *const *name; /* of each task, for reports; lent for the life of the machine */
    uint64_t incarnation;    /* not 0, different in each life of a process */
    uint32_t counter; /* this life follows no ballot at or below it. When all voters have lost their memory it alone
                         tells new views from those that clients remember: quarters of seconds of the wall clock since
                         2025 will do */
    const uint8_t
        *votes; /* [tasks] 0: no voter. Of an even number of voters the lowest has two (artel__holding_vote) */
    const uint8_t *server;    /* [tasks] 1: may hold parts */
    const uint16_t *first;    /* [parts] the task that heads the part in a first view: the plan's placement */
    const uint64_t *load;     /* [parts] for placing copies; NULL: all 1 */
    int copies;               /* of each part where there are enough servers, 1 to 3 */
    int64_t suspect_after_ns; /* silent for so long: not waited for */
    int64_t lost_after_ns; /* an unreachable holder of the last copy counts as dead for good after so long; 0: never */
    artel__holding_act_fn *act;
    void *user;
} artel__holding_config;

/* Voters of a job: `chief`, all servers, then the lowest other tasks that may vote until there are three; the lowest of
 * an even number has two votes. `role` by task: 0 takes no part, 1 may vote, 2 server, 3 chief. Fills votes[tasks]. */
void artel__holding_vote(const uint8_t *role, uint32_t tasks, uint8_t *votes);

typedef struct artel__holding artel__holding;

/* All memory is taken here. ARTEL_ERROR_INVALID: values out of range, or views that would not fit a message. */
artel_status artel__holding_create(artel_context *ctx, const artel__holding_config *config, artel__holding **out);
void artel__holding_destroy(artel__holding *holding); /* NULL accepted */

/* -- inputs; `now` in ns, of a monotonic clock -- */

void artel__holding_tick(artel__holding *h, int64_t now);
/* A connection to that life of the task is there, or has been replaced by another one: what was on its way is lost. */
void artel__holding_link_up(artel__holding *h, int64_t now, uint32_t task, uint64_t incarnation);
void artel__holding_link_down(artel__holding *h, int64_t now, uint32_t task);
/* Any bytes, of the task at the other end of the link. Messages that are damaged, or for another life of this task, are
 * dropped. */
void artel__holding_receive(artel__holding *h, int64_t now, uint32_t from, const uint8_t *bytes, size_t count);
/* The answer to ACCEPT for one part: it is level with the holder before it. `ballot`: of that view; of another one:
 * nothing happens. */
void artel__holding_level(artel__holding *h, int64_t now, artel__generation_id ballot, uint32_t part);
/* The answer to COPY_FROM: the copy is complete; `ballot` of its view. */
void artel__holding_copied(artel__holding *h, int64_t now, artel__generation_id ballot, uint32_t part);
/* A copy of the part has been broken off, and what was held of it is written over. */
void artel__holding_broken(artel__holding *h, int64_t now, uint32_t part);
/* The data path says that `task` does not answer, though there may be a link. */
void artel__holding_complain(artel__holding *h, int64_t now, uint32_t task);
/* Somebody who knows (launcher, user) says that the task's present life is over for good. */
void artel__holding_gone(artel__holding *h, int64_t now, uint32_t task);
/* The newest checkpoint that this task knows; used when it makes a first view. */
void artel__holding_set_origin(artel__holding *h, uint64_t origin);

/* -- what it knows -- */

/* The view in force that this task serves; NULL: none, or it has accepted a later one. */
const artel__view *artel__holding_serving(const artel__holding *h);
/* The newest view known to be or to have been in force; NULL: none. */
const artel__view *artel__holding_known(const artel__holding *h);
artel__holding_state artel__holding_part(const artel__holding *h, uint32_t part);
bool artel__holding_remembers(const artel__holding *h);
/* This task is the coordinator of the view in force. */
bool artel__holding_coordinates(const artel__holding *h);
/* Parts with fewer than the wanted copies in the known view. */
uint32_t artel__holding_short(const artel__holding *h);

#endif
