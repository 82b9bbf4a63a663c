/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives: operations in which several threads of a process, or all tasks of a cluster, or some of them, take part.
 *
 * A communicator is one member's place among them. Its members have positions 0 .. members - 1. All members make the
 * same calls in the same order; calls block until this member's part is done. The same inputs give the same bits on any
 * transport.
 *
 * A call that fails fails on every member, with a name: members that called different things are told who called what.
 * After a failure of one, all communicators of the same origin answer the same at once, until all members renew. Each
 * communicator belongs to its context, and to the thread of that; artel_communicator_cancel() may come from any.
 *
 * What each of them sends, and how fast it is: docs/collectives.md. */
#ifndef ARTEL_COMMUNICATOR_H
#define ARTEL_COMMUNICATOR_H

#include "artel/cluster.h"
#include "artel/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How values of several members become one. Element by element, along the one tree over the members' positions: its
 * inner nodes are the aligned power-of-two intervals, a node's value is left (+) right, a half without members leaves
 * the other one. So the bits depend on the members and their order alone, never on an algorithm, a transport or timing.
 *
 *   SUM, MEAN   float32 and float64 as they are; float16 and bfloat16 are summed as float32 and rounded once, at the
 * end; a result of zero is +0. Integers wrap around (two's complement). MEAN divides the sum by the number of members,
 * before rounding; of integers towards zero. PRODUCT     the same with products. MIN, MAX    one of the members'
 * values: of equal ones the leftmost. A NaN wins, the leftmost one.
 *
 * Subnormal float32, float64 and bfloat16 numbers count as zero, as everywhere in this library. */
typedef enum artel_reduction {
    ARTEL_REDUCTION_SUM = 0,
    ARTEL_REDUCTION_MEAN = 1,
    ARTEL_REDUCTION_MIN = 2,
    ARTEL_REDUCTION_MAX = 3,
    ARTEL_REDUCTION_PRODUCT = 4
} artel_reduction;

/* One collective. What is not named by a function is not looked at. Memory may overlap: `out` may be `in`. */
typedef struct artel_collective {
    artel_dtype dtype;
    artel_reduction reduction;
    int root;      /* position of a member */
    int64_t count; /* elements, from 0 */
    const int64_t
        *counts; /* scatters, gathers: by position, instead of `count`: elements of each member's block, equal on all
                    members (all-to-all: those that this member sends to each); NULL: `count` for each */
    const int64_t *receive_counts; /* all-to-all with counts: those that this member receives from each */
    const int *destination;        /* permute: by position, where its block goes; a permutation, equal on all members */
    const void *in;                /* this and `out`: aligned as C wants it for the type */
    void *out;
} artel_collective;

typedef struct artel_communicator artel_communicator;

/* -- making -- */

/* Members that are threads of this process: `members` contexts, all different, give as many communicators; hand each,
 * with its context, to its thread. */
ARTEL_API artel_status artel_communicator_create(artel_context *const *contexts, int members, artel_communicator **out);

/* Members that are the tasks of a cluster that train, in their order (position 0 is the chief, without one worker 0).
 * Waits for them as a fit does (docs/cluster.md). `cluster` NULL, or of one task: one member. Until it has been
 * finished the cluster takes no other work. Belongs to the cluster's context. Errors: ARTEL_ERROR_INVALID (a cluster
 * of another context), and those of an artel_model_fit() that begins. */
ARTEL_API artel_status artel_communicator_open(artel_context *ctx, artel_cluster *cluster, artel_communicator **out);

/* Some members of `parent`, in any order, each at most once: `position[i]` becomes member i. Called by those members
 * and no others (ARTEL_ERROR_INVALID), which all give the same list; sends nothing. Communicators that share members do
 * not mix messages, though their calls must not be made in an order in which members wait for one another in a circle.
 */
ARTEL_API artel_status artel_communicator_subset(artel_communicator *parent, const int *position, int count,
                                                 artel_communicator **out);

/* Ends this member's part; NULL accepted. Subsets before their parent. Members that still wait for this one, or call it
 * later, are told that it has left (ARTEL_ERROR_RUN); tasks of a cluster see it as lost, unless all have finished. */
ARTEL_API void artel_communicator_destroy(artel_communicator *communicator);

ARTEL_API int artel_communicator_position(const artel_communicator *communicator);
ARTEL_API int artel_communicator_members(const artel_communicator *communicator);

/* -- the collectives -- */

/* Failures of all: ARTEL_ERROR_INVALID (members differ, or one asked for what cannot be: that one gets the reason, the
 * others its position), ARTEL_ERROR_UNSUPPORTED (no such reduction of this type), ARTEL_ERROR_RUN (a member is lost or
 * has left, without memory, or sent another length, or does not come in time), ARTEL_ERROR_NO_MEMORY,
 * ARTEL_ERROR_CANCELLED (artel_context_cancel() of one of them, too). Outputs are then undefined. A member whose part
 * was done before hears of it in its next call. */

/* Nobody returns before all have called. */
ARTEL_API artel_status artel_communicator_barrier(artel_communicator *communicator);
/* `count` elements from `in` of `root` into `out` of all; root's own `out` may be NULL. */
ARTEL_API artel_status artel_communicator_broadcast(artel_communicator *communicator, const artel_collective *call);
/* `count` elements of each, combined, into `out` of `root`. */
ARTEL_API artel_status artel_communicator_reduce(artel_communicator *communicator, const artel_collective *call);
/* The same into `out` of all. */
ARTEL_API artel_status artel_communicator_all_reduce(artel_communicator *communicator, const artel_collective *call);
/* `in` has a block for every member; member i gets the combination of all blocks i. */
ARTEL_API artel_status artel_communicator_reduce_scatter(artel_communicator *communicator,
                                                         const artel_collective *call);
/* The blocks of all, one behind the other in order of position, into `out` of `root`. */
ARTEL_API artel_status artel_communicator_gather(artel_communicator *communicator, const artel_collective *call);
/* The same into `out` of all. */
ARTEL_API artel_status artel_communicator_all_gather(artel_communicator *communicator, const artel_collective *call);
/* Block i of `in` goes to member i; `out` gets a block from every member. */
ARTEL_API artel_status artel_communicator_all_to_all(artel_communicator *communicator, const artel_collective *call);
/* The `count` elements of member i go to member destination[i]. */
ARTEL_API artel_status artel_communicator_permute(artel_communicator *communicator, const artel_collective *call);

/* Several all-reduces, of any types together. Small ones of equal type and reduction travel in packs, so many cost
 * about as much as their bytes. The bits are those of one after the other, each of what was there before: `out` of one
 * may be its own `in`, but not that of another one. All members give the same list. */
ARTEL_API artel_status artel_communicator_all_reduce_many(artel_communicator *communicator,
                                                          const artel_collective *calls, int count);

/* Rows with ids, such as the gradient of an embedding (TensorFlow's IndexedSlices): row i, of `width` elements, belongs
 * to id[i]. Ids come in any order and may repeat; their rows are then added. */
typedef struct artel_sparse {
    artel_dtype dtype;
    artel_reduction reduction; /* SUM, or MEAN over the members (not over the rows that are there) */
    int64_t width, count;      /* elements of a row, rows: each member may have another count, 0 too */
    const int64_t *id;
    const void *row;
} artel_sparse;

/* The rows of all members, each id once, ids ascending, on every member. Rows have the bits that an all-reduce of dense
 * arrays, zero elsewhere, gives them. What `out` points to belongs to the communicator, until its next sparse call.
 * Bytes sent by each: n - 1 times its own rows and ids. */
ARTEL_API artel_status artel_communicator_all_reduce_sparse(artel_communicator *communicator, const artel_sparse *in,
                                                            artel_sparse *out);

/* -- all-reduces of one's own -- */

/* How sums travel is a choice that changes no bit: "direct", "redundant", "ring", "hierarchical" (docs/strategies.md),
 * or what a program adds: a route, a list of who sends what to whom. The library does the rest: it merges along the one
 * tree what a member has before it is sent on, and refuses a route by which somebody would not end with the result. */
typedef struct artel_all_reduce_route artel_all_reduce_route;

typedef struct artel_all_reduce_group {
    int members;
    const int *host; /* by member: 0, 0, 1, ...: neighbouring members of one host have the same number */
} artel_all_reduce_group;

/* Into how many slices the elements are cut, 1 to members; each travels by itself. */
typedef int artel_all_reduce_slices_fn(void *user, const artel_all_reduce_group *group);
/* Lists every message of all members, by artel_all_reduce_send(); each after those that bring its sender what it
 * carries. A function of the group alone: all members get the same list. */
typedef artel_status artel_all_reduce_list_fn(void *user, const artel_all_reduce_group *group,
                                              artel_all_reduce_route *route);

typedef struct artel_all_reduce_definition {
    size_t struct_size;
    const char *name;
    artel_all_reduce_slices_fn *slices; /* NULL: a slice for each member */
    artel_all_reduce_list_fn *list;
    void *user; /* outlives the context */
} artel_all_reduce_definition;

/* From there on the name may be used wherever an all-reduce is chosen: `all_reduce` of the options of fit and
 * strategies, and below. Errors: ARTEL_ERROR_INVALID (no name, no list, a name that is taken). The definition is
 * copied. */
ARTEL_API artel_status artel_context_add_all_reduce(artel_context *context,
                                                    const artel_all_reduce_definition *definition);
/* In list: `from` sends `to` what the `count` members from `first` on (in a circle) contribute to a slice; count =
 * members: the result. Errors: ARTEL_ERROR_INVALID, remembered by the route. */
ARTEL_API artel_status artel_all_reduce_send(artel_all_reduce_route *route, int from, int to, int slice, int first,
                                             int count);
/* The all-reduces of this communicator from now on, by name; NULL, "auto": by size. All members say the same. Errors:
 * ARTEL_ERROR_INVALID (no such name, a route that does not give every member the result). */
ARTEL_API artel_status artel_communicator_set_all_reduce(artel_communicator *communicator, const char *name);

/* -- failing well -- */

/* Ends the call that a member is in, or its next one, on this and all other members, with ARTEL_ERROR_CANCELLED. Any
 * thread; not from a signal handler. */
ARTEL_API void artel_communicator_cancel(artel_communicator *communicator);

/* How long a call waits for the other members before it fails with ARTEL_ERROR_RUN, on all of them, naming the one it
 * waits for; in seconds, 0: for ever. Of all communicators of the same origin; 600 unless set. Every five seconds of
 * waiting a note says for whom (a member that waits itself may be named by those whom it keeps waiting; who waits for
 * nobody is named by its neighbours). Errors: ARTEL_ERROR_INVALID for a negative time or a NaN. */
ARTEL_API artel_status artel_communicator_set_timeout(artel_communicator *communicator, double seconds);

/* After a failure: begins anew, with an artel_communicator_create()d or opened communicator (not a subset: destroy
 * those before). All members call it; threads wait for one another. Of a cluster: with the tasks that are left and
 * those that have come back, at least `min_workers`; position and members may have changed. */
ARTEL_API artel_status artel_communicator_renew(artel_communicator *communicator);

/* The end in order of an opened one: returns when all members have called it, so that nobody sees another one as lost
 * because it was done first. Afterwards only destroy. Of threads it is a barrier. */
ARTEL_API artel_status artel_communicator_finish(artel_communicator *communicator);

#ifdef __cplusplus
}
#endif
#endif
