/* SPDX-License-Identifier: Apache-2.0 */
/* When a step of synchronous training is complete at a part, and when all parts may take it: synchronous steps of parts
 * that agree by themselves.
 *
 * sync. Trainers push the maximal fold nodes that they own (kernel/fold.h) of step t in generation g to the part's
 * head. Nodes that tile the tree are merged, and the root becomes the entry PREPARE(t) of the part's log; when every
 * holder has it, the head answers PREPARED. The clerk (the lowest trainer) says COMMIT(t) when all parts are prepared
 * and the trainers' barrier has been passed, or as soon as one part has applied t: then the clerk before it had said
 * COMMIT. So no part is ever more than one step from another, and no part leaves t - 1 before all hold t's gradient; a
 * trainer can always repeat t, since its content is a function of t.
 *
 * sync:K. Each worker pushes its whole share, kept by worker, and tells the clerk when all parts have it. The set of
 * the first K is what COMMIT takes at every part (TensorFlow's accumulators may take another set for each variable);
 * later ones are dropped and counted.
 *
 * Pure state, of bits and numbers; the blocks themselves are their driver's. Steps count from 1; 0 is the initial
 * state.
 */
#ifndef ARTEL_PS_COLLECT_H
#define ARTEL_PS_COLLECT_H

#include "base/context.h"
#include "kernel/fold.h"

enum {
    ARTEL__COLLECT_WORKERS = 512
};

typedef enum artel__collected {
    ARTEL__COLLECT_KEPT,             /* keep its block */
    ARTEL__COLLECT_COMPLETE,         /* keep its block: with it the nodes tile the tree */
    ARTEL__COLLECT_TWICE,            /* it is there already */
    ARTEL__COLLECT_RESTART,          /* of a newer generation: drop the blocks kept so far, then keep this one */
    ARTEL__COLLECT_RESTART_COMPLETE, /* the same, and it is the whole tree */
    ARTEL__COLLECT_PREPARED,         /* the step's gradient is in the log */
    ARTEL__COLLECT_APPLIED,          /* the step has been taken */
    ARTEL__COLLECT_OLD,              /* of a generation that is over */
    ARTEL__COLLECT_AHEAD,            /* of a step after the next one: the sender must wait */
    ARTEL__COLLECT_WRONG             /* no node of this tree, or one that overlaps another */
} artel__collected;

/* Of one part, at its head. `applied` and `prepared` follow the log at every holder; the rest begins anew with a view.
 */
typedef struct artel__collection {
    int32_t shards;                         /* V */
    uint64_t applied;                       /* steps taken */
    bool prepared;                          /* the gradient of step applied + 1 is in the log */
    bool proposed;                          /* complete: PREPARE is on its way */
    uint32_t generation;                    /* of the nodes kept */
    int32_t covered;                        /* shards of the nodes kept */
    uint64_t shard[ARTEL__MAX_SHARDS / 64]; /* bit: a node kept has it */
} artel__collection;

void artel__collection_init(artel__collection *c, int32_t shards, uint64_t applied);
artel__collected artel__collection_offer(artel__collection *c, uint64_t step, uint32_t generation,
                                         artel__fold_node node);
/* Entries of the log, as they are applied. False: an entry that cannot follow (it is ignored): the same step twice, or
 * a gap. */
bool artel__collection_prepare(artel__collection *c, uint64_t step);
bool artel__collection_commit(artel__collection *c, uint64_t step);
/* A view has changed: blocks that were kept are gone. */
void artel__collection_forget(artel__collection *c);

/* -- the clerk -- */

typedef struct artel__clerk {
    uint32_t parts;
    uint64_t step;  /* the one to be committed */
    uint8_t *state; /* [parts] of the caller's memory */
    uint32_t prepared, applied, heard;
    bool passed; /* the trainers' barrier */
} artel__clerk;

typedef enum artel__clerk_word {
    ARTEL__CLERK_WAIT,
    ARTEL__CLERK_COMMIT, /* to the parts that have not applied the step */
    ARTEL__CLERK_DONE    /* all have: artel__clerk_next */
} artel__clerk_word;

/* Begins with step `step`, `state` cleared. A new clerk asks all parts where they are. */
void artel__clerk_init(artel__clerk *c, uint8_t *state, uint32_t parts, uint64_t step);
/* A part says how many steps it has applied and whether the next one is prepared. False: it is behind or ahead of all
 * that can be: more than one step away. */
bool artel__clerk_hear(artel__clerk *c, uint32_t part, uint64_t applied, bool prepared);
/* All trainers have passed the barrier of the step. */
void artel__clerk_pass(artel__clerk *c, uint64_t step);
artel__clerk_word artel__clerk_decide(const artel__clerk *c);
bool artel__clerk_owes(const artel__clerk *c, uint32_t part); /* COMMIT to that part */
void artel__clerk_next(artel__clerk *c);

/* -- sync:K -- */

typedef struct artel__some {
    int32_t wanted; /* K */
    uint64_t step;  /* the one that is collected */
    int32_t come;
    uint64_t member[ARTEL__COLLECT_WORKERS / 64]; /* bit by worker: all parts have its push of this step */
    uint64_t dropped[ARTEL__COLLECT_WORKERS];     /* pushes that came too late, by worker */
} artel__some;

typedef enum artel__some_word {
    ARTEL__SOME_KEPT,
    ARTEL__SOME_FULL, /* with it there are K: COMMIT `member` to all parts, then artel__some_next */
    ARTEL__SOME_LATE, /* dropped and counted */
    ARTEL__SOME_TWICE,
    ARTEL__SOME_WRONG /* no such worker, or a step that has not begun */
} artel__some_word;

void artel__some_init(artel__some *s, int32_t wanted, uint64_t step);
artel__some_word artel__some_arrive(artel__some *s, uint64_t step, uint32_t worker);
/* A worker is lost. Its push counts where all parts have it; `living` fewer than K: fewer are waited for until there
 * are more again. Returns whether the step is full now. */
bool artel__some_shrink(artel__some *s, int32_t living);
void artel__some_next(artel__some *s);

#endif
