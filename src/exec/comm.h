/* SPDX-License-Identifier: Apache-2.0 */
/* The collective interface of a run: what exec asks of whoever connects the replicas.
 *
 * Implemented in the room comm over coll and net; a run of one replica has none. All replicas call the same
 * collectives in the same order. Calls block; they return early with the status of the failure when the group is
 * cancelled, and then the step is abandoned.
 */
#ifndef ARTEL_EXEC_COMM_H
#define ARTEL_EXEC_COMM_H

#include "graph/op_exec.h"

/* One value of a collective: `in` holds this replica's node blocks (or rows), `out` receives the result. */
typedef struct artel__comm_segment {
    artel__collective kind;
    artel_dtype dtype;
    int64_t count; /* elements of one block (of one row for GATHER) */
    const void *in;
    void *out;
} artel__comm_segment;

/* Elements [first, first + count) of a sum over all ranks, for whoever can read their memory. */
typedef struct artel__comm_sum {
    const void *const *in; /* by rank: its node blocks, of `stride` float32 each; only read */
    int64_t stride, first, count;
    float *out; /* where element 0 would lie; may be the rank's own `in`, if no other rank asks for these elements */
} artel__comm_sum;

/* Bytes to another rank, or from one. */
typedef struct artel__comm_parcel {
    int peer;
    bool sends;
    void *data;
    size_t bytes; /* at least 1; both sides know it */
} artel__comm_parcel;

typedef struct artel__comm_ops {
    /* Finishes several folds at once; `collective` numbers the call within the step. */
    artel_status (*all_reduce)(void *comm, const artel__step *step, int32_t collective,
                               const artel__comm_segment *segments, int count);
    /* The same in two halves, for a rank that has something else to do meanwhile: post returns at once, await waits.
     * One at a time. */
    artel_status (*post)(void *comm, const artel__step *step, int32_t collective, const artel__comm_segment *segments,
                         int count);
    artel_status (*await)(void *comm);
    /* The same for sums, in the background: begin returns at once; progress moves what can be moved without waiting, of
     * what was posted, too; finish waits for all that has been begun. When one of these five fails, or with abandon,
     * all are over, and nothing is borrowed any more. */
    artel_status (*begin)(void *comm, const artel__step *step, int32_t collective, const artel__comm_segment *segments,
                          int count);
    artel_status (*progress)(void *comm);
    artel_status (*finish)(void *comm);
    void (*abandon)(void *comm);
    /* What some ranks send to others, who expect it: at most one parcel from a rank to another. Whoever has none need
     * not call. */
    artel_status (*exchange)(void *comm, const artel__step *step, int32_t collective, const artel__comm_parcel *parcel,
                             int count);
    /* Waits until every replica has come here; `ok` false spreads a local failure. Returns a failure if any failed. */
    artel_status (*barrier)(void *comm, bool ok);
    /* Adds up what all ranks have left in memory before a barrier. Any thread; neither waits nor fails. Only called
     * where all ranks belong to this process (artel__run_join). */
    void (*sum)(void *comm, const artel__comm_sum *sum);
} artel__comm_ops;

typedef struct artel__comm {
    const artel__comm_ops *ops;
    void *self;
    int rank, size;
} artel__comm;

#endif
