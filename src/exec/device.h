/* SPDX-License-Identifier: Apache-2.0 */
/* What computes: the cores of this machine, or a device behind a plug-in, behind one interface.
 *
 *   device --compile--> executable --create--> execution: compute, read, apply, compute, ...
 * An executable is a sealed graph made ready for a largest batch; it is read-only and shared by the executions of all
 * replicas. An execution belongs to one thread at a time and has what a replica needs besides its variables. Where
 * values lie is the device's affair: nobody else holds a pointer to one, but for what `read` hands out.
 */
#ifndef ARTEL_EXEC_DEVICE_H
#define ARTEL_EXEC_DEVICE_H

#include <stdatomic.h>

#include "base/threads.h"
#include "exec/comm.h"
#include "exec/state.h"

typedef struct artel__executable artel__executable;
typedef struct artel__execution artel__execution;

typedef struct artel__plan_options {
    int64_t batch_size;   /* the most rows of a global batch */
    int32_t shards;       /* V */
    int32_t replicas;     /* 1: collectives are views and cost nothing */
    const int32_t *start; /* by replica, and behind the last: its first shard; NULL: as artel__replica_first_shard */
    artel__isa isa;
    bool common;      /* all replicas belong to this process, have one state and are joined (artel__execution_join) */
    bool lends;       /* replicas of other processes may read this one's sums where they lie */
    bool across;      /* other processes have replicas, too */
    bool device_sums; /* sums over the `here` replicas of this process may be the device's own, in its order */
    int32_t here;     /* of the replicas; 0: nobody asks */
    bool several;     /* the next step may be one of another executable: nothing is sent ahead of it */
    bool staged;      /* others may compute on another kind of device: sums are exchanged as devices do, by cores, too
                         (exec/cpu/staged.c), and programs are everyone's own */
} artel__plan_options;

enum {
    ARTEL__SENT_AHEAD = 2 /* batches */
};

/* Of one replica; all borrowed. */
typedef struct artel__execution_options {
    artel__state *state;
    artel__pool *pool;
    const artel__comm *comm; /* NULL: one replica */
    int index;               /* of this process's replica: where there are several devices alike, which of them */
    /* Called in compute when a device has all its work and nothing is left but to wait for it; NULL: nobody has
     * anything to do then. Cores do not call it. */
    void (*meanwhile)(void *user);
    void *meanwhile_user;
} artel__execution_options;

/* The first value of a step, in the order of the graph, that is not finite. */
typedef struct artel__nonfinite {
    int32_t node;
    const char *name; /* of the layer */
    const char *op;
    int64_t first_row, last_row; /* in the global batch; -1 when the value has no rows */
    double value;
} artel__nonfinite;

/* Where the time went: by node. Collectives that are exchanged together count for the first of them. */
typedef struct artel__node_time {
    int64_t ns, calls;
    int64_t begin_ns, longest_ns; /* of the longest call: artel__now_ns(), and how long it took */
} artel__node_time;

/* A call that began at `before` has ended. */
void artel__note_time(artel__node_time *time, int64_t before);

/* Folds and gathers that cross replicas together, once a step. */
typedef struct artel__exchange {
    int folds, gathers;
    int64_t bytes;   /* of one block of all folds */
    bool background; /* begun during the backward pass, and not waited for before its end */
    bool by_device;  /* what replicas of one process have is added up by the device itself */
} artel__exchange;

static inline void artel__exchange_add(artel__exchange *exchange, artel__collective kind, int64_t bytes)
{
    bool gather = kind == ARTEL__COLLECTIVE_GATHER;
    exchange->gathers += gather;
    exchange->folds += !gather;
    exchange->bytes += gather ? 0 : bytes;
}

/* What a kind of device fills in. `void *` are its own executables and executions. */
typedef struct artel__device_ops {
    artel_status (*compile)(artel_context *ctx, void *device, const artel__graph *graph,
                            const artel__plan_options *options, void **out);
    void (*release)(void *executable);
    const char *(*kernel)(const void *executable, int32_t node, int64_t rows, double *operations);
    void (*dump)(const void *executable, artel__text *out);
    bool (*exchange)(const void *executable, int index, artel__exchange *out);
    void (*summary)(const void *executable, artel__text *out); /* optional: nothing */
    bool (*programs)(const void *executable, char out[65]);    /* optional: false */
    /* Optional: the executable that has a replica's executions in this one's stead, and which of its own it is there.
     * Then nothing from here on is filled in. */
    artel__executable *(*part)(void *executable, int index, int *own_index);
    artel_status (*create)(void *executable, const artel__execution_options *options, void **out);
    void (*destroy)(void *execution);
    artel_status (*join)(void *const *executions, int count); /* optional: variables are never common */
    void (*stop_when)(void *execution, const atomic_bool *stop);
    artel_status (*compute)(void *execution, const artel__step *step, const void *const *inputs);
    void (*apply)(void *execution, const artel__step *step);
    /* Optional, as the next: inputs are read where they lie. */
    int (*sends)(const void *execution);
    bool (*send)(void *execution, const artel__fold_plan *fold, const void *const *inputs);
    const void *(*read)(const void *execution, int kept);
    const artel__fault *(*fault)(const void *execution);
    bool (*find_nonfinite)(void *execution, const artel__step *step, const void *const *inputs, artel__nonfinite *out);
    artel_status (*profile)(void *execution);
    const artel__node_time *(*times)(const void *execution);
} artel__device_ops;

typedef struct artel__device {
    const char *name; /* "cpu", "cuda:0" */
    const artel__device_ops *ops;
    void *self;
} artel__device;

extern const artel__device artel__cpu; /* the cores of this machine: exec/cpu */

/* Both are borrowed and must outlive the executable. */
artel_status artel__compile(artel_context *ctx, const artel__device *device, const artel__graph *graph,
                            const artel__plan_options *options, artel__executable **out);
void artel__executable_destroy(artel__executable *executable);
/* What computes a node ("view", "collective" where nothing does) and its floating-point operations for `rows` rows of a
 * replica; 0 when the operation does not count them. */
const char *artel__executable_kernel(const artel__executable *executable, int32_t node, int64_t rows,
                                     double *operations);
/* Stable text: what computes each node and why, and where values lie. */
void artel__executable_dump(const artel__executable *executable, artel__text *out);
/* The exchange of that number within a step; false: there are no more. */
bool artel__executable_exchange(const artel__executable *executable, int index, artel__exchange *out);
/* A line about a device's programs and what a step needs of its memory; nothing of cores. */
void artel__executable_summary(const artel__executable *executable, artel__text *out);
/* What its programs are, as 64 hex digits, where another process could have made others of the same graph, for they are
 * chosen by measuring; false: it could not, or they are not known yet, for they come from another process with the
 * first step. */
bool artel__executable_programs(const artel__executable *executable, char out[65]);

artel_status artel__execution_create(artel__executable *executable, const artel__execution_options *options,
                                     artel__execution **out);
void artel__execution_destroy(artel__execution *execution);
/* Of an executable with common variables: those of all replicas by rank. They share the APPLY phase out and read one
 * another's gradients in it; so all must have computed before one applies, and none computes again before all have
 * applied. */
artel_status artel__execution_join(artel__execution *const *executions, int count);

/* While `*stop` is true, computing ends early with ARTEL_ERROR_CANCELLED. Lent for the life of the execution; NULL:
 * never. */
void artel__execution_stop_when(artel__execution *execution, const atomic_bool *stop);

/* Forward and backward up to the last collective; no variable changes. `inputs` are the fed values in the graph's
 * order. May be repeated or abandoned. */
artel_status artel__execution_compute(artel__execution *execution, const artel__step *step, const void *const *inputs);
/* The APPLY nodes of the step just computed, or this replica's share of them: cannot fail. */
void artel__execution_apply(artel__execution *execution, const artel__step *step);
/* Of how many steps inputs are on their way to a device, or there, before they are computed with: at most
 * ARTEL__SENT_AHEAD, fewer where the device has no room; 0: inputs are read where they lie. */
int artel__execution_sends(const artel__execution *execution);
/* Begins to send the inputs of the next step, or of the one behind those that were sent, in `meanwhile`. They stay as
 * they are until the compute behind the one with them begins; compute with the very same list of inputs and as many
 * rows takes what was sent first, any other leaves out all that was. False: it was not taken, and its memory is free;
 * nobody hears of why, for it is put with its step, and may fail there. `fold` NULL, between steps: what was sent is
 * left out, and its memory is free. */
bool artel__execution_send(artel__execution *execution, const artel__fold_plan *fold, const void *const *inputs);
/* The n-th kept value of the last step, in this machine's memory until the next one is computed. */
const void *artel__execution_read(const artel__execution *execution, int n);
/* The fault that the last step has met; its node is -1 where there is none. */
const artel__fault *artel__execution_fault(const artel__execution *execution);
/* Repeats the computation of the step to find where a value that is not finite came from. False when there is none. */
bool artel__execution_find_nonfinite(artel__execution *execution, const artel__step *step, const void *const *inputs,
                                     artel__nonfinite *out);
/* Measures from now on; the figures since then, NULL when it was never called. */
artel_status artel__execution_profile(artel__execution *execution);
const artel__node_time *artel__execution_times(const artel__execution *execution);

#endif
