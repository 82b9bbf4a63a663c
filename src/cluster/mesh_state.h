/* SPDX-License-Identifier: Apache-2.0 */
/* The states of a mesh, and which may follow which.
 *
 * Each kind has an enum and a table of moves (mesh_state.c). A state is changed by artel__mesh_move_... alone, which
 * asserts in debug builds that the table has the move (moves.h); tests/cluster/test_moves.c has the tables once more.
 */
#ifndef ARTEL_CLUSTER_MESH_STATE_H
#define ARTEL_CLUSTER_MESH_STATE_H

#include <stdatomic.h>

#include "cluster/moves.h"

/* Of a mesh as an object: what it has begun, so that closing ends just that. */
typedef enum artel__mesh_life {
    ARTEL__MESH_BARE,    /* no locks, no threads; so it stays in a cluster of one */
    ARTEL__MESH_LOCKED,  /* mutex and conditions are there */
    ARTEL__MESH_MOVING,  /* its thread runs */
    ARTEL__MESH_NAMING,  /* the thread that looks up names does, too */
    ARTEL__MESH_CLOSING, /* both are to end */
    ARTEL__MESH_LIVES
} artel__mesh_life;

/* Of a pass. Whether its machine is there is said by the pointer: an ended one stays while its last words leave. */
typedef enum artel__mesh_course {
    ARTEL__MESH_NO_PASS,  /* there has been none */
    ARTEL__MESH_BEGUN,    /* no generation yet */
    ARTEL__MESH_FORMED,   /* has had one */
    ARTEL__MESH_ENDED,    /* over, after generations */
    ARTEL__MESH_UNFORMED, /* over, before any */
    ARTEL__MESH_HOPELESS, /* the same, for something that does not heal: whoever comes is told */
    ARTEL__MESH_COURSES
} artel__mesh_course;

/* Whether this task is to leave in order. Somebody from outside may ask for it (`artel drain`), also between passes; a
 * signal or the caller is noticed within one. */
typedef enum artel__mesh_leave {
    ARTEL__MESH_STAYS,
    ARTEL__MESH_ASKED,   /* from outside; the machine does not know yet */
    ARTEL__MESH_NOTICED, /* of this pass; the machine knows, or, where the caller saves first, that one */
    ARTEL__MESH_HEEDED,  /* from outside; likewise */
    ARTEL__MESH_LEAVES
} artel__mesh_leave;

/* Whether the caller saves what it has before this task leaves. Changed under the mutex, read by any thread. */
typedef enum artel__mesh_saving {
    ARTEL__MESH_SAVES_NOTHING,
    ARTEL__MESH_SAVES_FIRST, /* when it is told to leave */
    ARTEL__MESH_SAVES_NOW,   /* it has been told */
    ARTEL__MESH_SAVES_LATER, /* the same, in a generation that ends */
    ARTEL__MESH_SAVINGS
} artel__mesh_saving;

/* What the caller's thread is about. */
typedef enum artel__mesh_work {
    ARTEL__MESH_RESTS, /* it holds a whole state and uses no endpoint */
    ARTEL__MESH_BUSY,  /* the same, and it copies, serves or saves */
    ARTEL__MESH_TRAINS,
    ARTEL__MESH_WORKS
} artel__mesh_work;

/* What the machine has ordered and the caller has not been handed. Orders to serve are a list of their own. */
typedef enum artel__mesh_due {
    ARTEL__MESH_NOTHING,
    ARTEL__MESH_STOP,  /* to be answered when the caller rests */
    ARTEL__MESH_FETCH, /* COPY: the connection to the donor is being made */
    ARTEL__MESH_SEATS, /* START: endpoints could not be made yet, which is tried again */
    ARTEL__MESH_JOIN,  /* START: they are being connected */
    ARTEL__MESH_READY, /* START: they are */
    ARTEL__MESH_KEEP,  /* SAVE */
    ARTEL__MESH_DUES
} artel__mesh_due;

/* Of a connection on its way into an endpoint, or to a stream. */
typedef enum artel__mesh_way {
    ARTEL__MESH_TO_DIAL,
    ARTEL__MESH_OPENING,  /* connecting, greeting, or its preface is under way */
    ARTEL__MESH_PREFACED, /* waits until it is wanted */
    ARTEL__MESH_GONE,     /* handed over or closed: the entry makes room */
    ARTEL__MESH_WAYS
} artel__mesh_way;

/* Of another task, in this pass and before. */
typedef enum artel__mesh_known {
    ARTEL__MESH_UNMET,
    ARTEL__MESH_GREETED, /* in this pass */
    ARTEL__MESH_MET,     /* in an earlier one */
    ARTEL__MESH_KNOWNS
} artel__mesh_known;

extern const artel__moves artel__mesh_lives, artel__mesh_courses, artel__mesh_leaves, artel__mesh_works,
    artel__mesh_dues, artel__mesh_ways, artel__mesh_knowns, artel__mesh_savings;

void artel__mesh_move_life(artel__mesh_life *at, artel__mesh_life to);
void artel__mesh_move_course(artel__mesh_course *at, artel__mesh_course to);
void artel__mesh_move_leave(artel__mesh_leave *at, artel__mesh_leave to);
void artel__mesh_move_work(artel__mesh_work *at, artel__mesh_work to);
void artel__mesh_move_due(artel__mesh_due *at, artel__mesh_due to);
void artel__mesh_move_way(artel__mesh_way *at, artel__mesh_way to);
void artel__mesh_move_known(artel__mesh_known *at, artel__mesh_known to);
void artel__mesh_move_saving(atomic_int *at, artel__mesh_saving to);

#endif
