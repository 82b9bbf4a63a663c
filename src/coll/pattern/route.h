/* SPDX-License-Identifier: Apache-2.0 */
/* Routes: an all-reduce as a list of hops, for algorithms in which sums pass through several ranks. Rank arithmetic: no
 * I/O, no arithmetic on values.
 *
 * A hop carries, of one slice, what some neighbouring ranks contribute: the maximal nodes inside the run of shards that
 * they own (pattern/layout.h), each merged as far as the tree goes there. So a rank in between merges siblings only,
 * and whatever the route, the root has the bits of the one tree. From its route every rank derives an itinerary of its
 * own: what it receives, merges and sends, in which order. A route in which somebody is to send what he has not, or
 * ends without the result, is refused before anything is sent.
 */
#ifndef ARTEL_COLL_ROUTE_H
#define ARTEL_COLL_ROUTE_H

#include "artel/communicator.h"
#include "base/context.h"
#include "coll/pattern/exchange.h"

/* Who owns which shards: rank r those from start[r] to start[r + 1] - 1; those from `present` on (0: shards) are
 * nobody's, and a node's right half without anybody leaves the left one. */
typedef struct artel__coll_tree {
    int32_t shards, present, ranks;
    const int32_t *start; /* [ranks + 1] */
} artel__coll_tree;

typedef struct artel__coll_hop {
    int32_t from, to, slice, number; /* number: its place in the list; with slice and peers it names the message */
    int32_t first, count;            /* ranks, in a circle; all: the result */
} artel__coll_hop;

struct artel_all_reduce_route {
    artel_context *ctx;
    int32_t ranks, slices, hops, room;
    artel__coll_hop *hop; /* by slice, in their order */
    artel_status status;
};

/* Asks an algorithm. Failures: ARTEL_ERROR_INVALID with its name (hops to nobody, slices out of range), its own. */
artel_status artel__coll_route_make(artel_context *ctx, const artel_all_reduce_definition *algorithm,
                                    const artel_all_reduce_group *group, artel_all_reduce_route *out);
void artel__coll_route_fini(artel_all_reduce_route *route);

typedef enum artel__coll_leg_kind {
    ARTEL__COLL_RECEIVE,
    ARTEL__COLL_MERGE,
    ARTEL__COLL_SEND
} artel__coll_leg_kind;

/* Where a node's block of a slice lies: place p >= 0 of the slice's room, own block b as -1 - b, or the result. */
enum {
    ARTEL__COLL_RESULT = INT32_MAX
};

typedef struct artel__coll_leg {
    artel__coll_leg_kind kind;
    int32_t peer, number;    /* RECEIVE, SEND */
    int32_t first, nodes;    /* their blocks: operand[first ..] */
    int32_t to, left, right; /* MERGE; `right` nobody's: not listed at all */
} artel__coll_leg;

/* What one rank does: legs by slice, slice s has those from begin[s] on; each may begin when those of its slice before
 * it are done. */
typedef struct artel__coll_itinerary {
    artel_context *ctx;
    int32_t rank, slices, legs, operands, receives, sends, own; /* own: blocks that the rank itself has */
    artel__coll_leg *leg;
    int32_t *operand, *begin, *places; /* [operands], [slices + 1], [slices] */
    int32_t leg_room, operand_room;
} artel__coll_itinerary;

artel_status artel__coll_itinerary_make(const artel_all_reduce_route *route, const artel__coll_tree *tree,
                                        const char *name, int32_t rank, artel__coll_itinerary *out);
void artel__coll_itinerary_fini(artel__coll_itinerary *itinerary);
/* Whether everybody has an itinerary. */
artel_status artel__coll_route_check(const artel_all_reduce_route *route, const artel__coll_tree *tree,
                                     const char *name);

/* What the rank sends. slice_bytes: of one block in each slice; NULL: 1 in each. */
artel__coll_load artel__coll_itinerary_load(const artel__coll_itinerary *itinerary, const int64_t *slice_bytes);

#endif
