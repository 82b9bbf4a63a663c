/* SPDX-License-Identifier: Apache-2.0 */
/* The mesh: the tasks of a cluster, connected; the inside of artel/cluster.h.
 *
 * It drives the membership machine (membership.h): one thread per process listens, dials, moves control connections,
 * and is the machine's clock. The training belongs to the caller's thread, which asks what to do whenever it is at
 * rest:
 *
 *   artel__mesh_begin     the machine of one pass (a fit, an evaluation) begins
 *   artel__mesh_await     the next order:
 *     COPY                take the state from another task, through `stream`; then artel__mesh_copied
 *     SERVE               give the state to another task, through `stream`; then artel__mesh_served
 *     START               train in the seat, until artel__mesh_stopping says otherwise or a collective fails; then
 * leave the seat, artel__mesh_rest with a whole state, and await again. When all is done: artel__mesh_finished SAVE all
 * hold the last state: write results where `writer`; then artel__mesh_saved DONE                all have ended in order
 *   artel__mesh_end       whatever happened: the machine ends
 *
 * A seat is this process's part of a generation: ranks and endpoints of its replicas. Every pair of replicas of a
 * generation has a data connection; the higher rank dials. Endpoints live until the START after the one that brought
 * them, or the end.
 *
 * A stop reaches the training by cancelling its endpoints, so a rank that waits for another wakes at once. Nothing is
 * ever waited for here without a bound or without somebody being named every five seconds (the machine does).
 */
#ifndef ARTEL_CLUSTER_MESH_H
#define ARTEL_CLUSTER_MESH_H

#include <stdatomic.h>

#include "artel/cluster.h"
#include "cluster/cluster.h"
#include "cluster/membership.h"
#include "net/transport.h"

/* What a replica is doing. Written by its thread, read by the mesh's. */
typedef struct artel__mesh_activity {
    _Atomic int phase; /* artel__member_phase */
    _Atomic int64_t since_ns;
    _Atomic int64_t busy_ns; /* spent in COMPUTE and APPLY, before since_ns */
} artel__mesh_activity;

static inline bool artel__mesh_is_work(artel__member_phase phase)
{
    return phase == ARTEL__MEMBER_COMPUTE || phase == ARTEL__MEMBER_APPLY;
}

static inline void artel__mesh_enter(artel__mesh_activity *activity, artel__member_phase phase, int64_t now)
{
    int64_t since = atomic_load_explicit(&activity->since_ns, memory_order_relaxed);
    bool worked =
        artel__mesh_is_work((artel__member_phase)atomic_load_explicit(&activity->phase, memory_order_relaxed));
    if (worked) atomic_fetch_add_explicit(&activity->busy_ns, now - since, memory_order_relaxed);
    atomic_store_explicit(&activity->since_ns, now, memory_order_relaxed);
    atomic_store_explicit(&activity->phase, (int)phase, memory_order_relaxed);
}

typedef struct artel__mesh_request {
    const char *facts; /* lines "name=value" that must be equal everywhere, but for "own=" (artel__mesh_own) and the
                          words that an "arithmetic=" has beyond those of another task, at most
                          ARTEL__FACTS_MAX bytes; copied */
    int replicas;      /* of this process, at least 1 */
    int32_t shards;    /* the most replicas that all may have together */
    uint64_t step;     /* of the state this process holds */
    uint64_t hash;     /* of its bits: equal steps must have equal hashes */
    uint32_t arithmetic, best; /* as in artel__membership_config */
    bool saves_first;    /* told to leave while the others go on, the caller is asked first (artel__mesh_leaving) */
    int64_t patience_ns; /* shorter than --wait-for-cluster: for others, when nothing is left to be done; 0: none */
} artel__mesh_request;

/* This process's part of a generation. */
typedef struct artel__mesh_seat {
    uint32_t generation;
    uint64_t job;
    int first, ranks;                 /* its replicas are ranks first .. first + replicas - 1 of `ranks` */
    uint32_t arithmetic, best;        /* as in artel__generation */
    bool writer;                      /* it is the lowest member: it writes what is written while the generation runs */
    artel__endpoint *const *endpoint; /* by replica of this process; the mesh's. NULL when `ranks` is 1 */
    artel__mesh_activity *activity;   /* by replica of this process; NULL: nobody watches */
    /* For events; lists live until the next START. */
    const char *const *member, *const *joined,
                                   *const *left; /* names of tasks; compared with this task's generation before */
    int members, joiners, leavers;
    bool begins;      /* the job's first one */
    int64_t pause_ns; /* at rest */
    char why[256];    /* "worker 1 (host:port): connection lost, last in phase exchange" */
} artel__mesh_seat;

/* Bytes to or from one other task, in order, checked. */
typedef struct artel__mesh_stream artel__mesh_stream;

typedef enum artel__mesh_order_kind {
    ARTEL__MESH_COPY,
    ARTEL__MESH_SERVE,
    ARTEL__MESH_START,
    ARTEL__MESH_SAVE,
    ARTEL__MESH_LEAVE, /* artel__mesh_leaving, between two seats */
    ARTEL__MESH_DONE
} artel__mesh_order_kind;

typedef struct artel__mesh_order {
    artel__mesh_order_kind kind;
    artel__mesh_stream *stream; /* COPY, SERVE; ends with copied or served */
    artel__mesh_seat seat;      /* START */
    uint64_t step;              /* COPY: the state wanted; START: the next step */
    bool last;                  /* START, SAVE: no more steps, all save this one and end preempted */
    bool writer;                /* SAVE */
} artel__mesh_order;

/* artel_cluster_open, with messages between replicas by the transport of this name (net/far.h); NULL: the first of its
 * list. All tasks name the same. */
artel_status artel__mesh_open(artel_context *ctx, const artel_cluster_options *options, const char *transport,
                              artel_cluster **out);

/* Whether it was made in this context, or is NULL; refused otherwise. */
artel_status artel__mesh_need_context(artel_context *ctx, const artel_cluster *mesh);
/* Whether there are other tasks to work with. NULL is a cluster of one. */
bool artel__mesh_is_single(const artel_cluster *mesh);
/* Tasks that share the cores of this one: those on its host, by their addresses; 1 where somebody has given it cores of
 * its own. */
int artel__mesh_tasks_here(const artel_cluster *mesh);
const artel__cluster *artel__mesh_tasks(const artel_cluster *mesh);
/* Which of these tasks has a rank of the running generation; -1: none. Its name for messages. */
int artel__mesh_task_of(artel_cluster *mesh, int rank);
/* The hosts of all ranks of the running generation, by their tasks' addresses: host[rank] is 0, 0, 1, ...; neighbours
 * on one host have one number. NULL: all are on one. */
void artel__mesh_hosts(artel_cluster *mesh, int ranks, int *host);
const char *artel__mesh_title(const artel_cluster *mesh, int task);
/* What a task says of itself in its facts, on the line "own=", shortened; "": nothing. */
void artel__mesh_own(artel_cluster *mesh, int task, char out[ARTEL__OWN_MAX + 1]);

/* A pass begins; the n-th one of a process belongs to the n-th ones of the others. ARTEL_ERROR_INVALID while another
 * one is going on. */
artel_status artel__mesh_begin(artel_cluster *mesh, const artel__mesh_request *request);
void artel__mesh_end(artel_cluster *mesh);
/* Whether the pass has ever had a generation. */
bool artel__mesh_ever_formed(artel_cluster *cluster);
/* How long tasks that are not there are waited for. */
int64_t artel__mesh_patience_ns(const artel_cluster *mesh);

/* Waits for the next order. The caller uses no endpoint of a seat any more. Failures: the cause, recorded in the
 * context and named (ARTEL_ERROR_INVALID: tasks do not do the same; ARTEL_ERROR_RUN: nobody came, others failed;
 * ARTEL_ERROR_PREEMPTED: this task has left, or all have saved and ended; ARTEL_ERROR_CANCELLED). */
artel_status artel__mesh_await(artel_cluster *mesh, artel__mesh_order *out);

/* Whether the generation is over: the training should come to rest at the next point where its state is whole. Any
 * thread. */
bool artel__mesh_stopping(const artel_cluster *mesh);
const atomic_bool *artel__mesh_stop_flag(const artel_cluster *mesh); /* the same, to be looked at within a step */
/* The training is at rest and holds a whole state of `step` steps. Where a collective failed, the peers that its
 * endpoints have lost are reported. */
void artel__mesh_rest(artel_cluster *mesh, uint64_t step, uint64_t hash);
/* At rest after a collective that failed: the next generation begins even if nobody is lost. */
void artel__mesh_renew(artel_cluster *mesh);
void artel__mesh_copied(artel_cluster *mesh, bool whole, uint64_t hash); /* not whole: the state is as before */
void artel__mesh_served(artel_cluster *mesh);
void artel__mesh_finished(artel_cluster *mesh, uint64_t step, uint64_t hash);
void artel__mesh_saved(artel_cluster *mesh, uint64_t digest);
void artel__mesh_unsaved(artel_cluster *mesh); /* it could not be: the generation is over, and will be stopped */
/* Asks all tasks of a type whether they still are members of this task's generation. ARTEL_OK when so many have said so
 * since; ARTEL_AGAIN when so many will not: it is over, or this task has slept and others go on without it. Any thread.
 */
artel_status artel__mesh_confirm(artel_cluster *mesh, artel__task_type type, int needed);
/* `step` steps have been applied. Where artel__mesh_hashes says so `hash` is that of the state, and compared with the
 * others'. */
void artel__mesh_stepped(artel_cluster *mesh, uint64_t step, uint64_t hash);
bool artel__mesh_hashes(const artel_cluster *mesh, uint64_t step);
/* A JSON object that this task's answer to `artel status` has as "servers" from now on; longer ones, and NULL, are
 * none. */
enum {
    ARTEL__MESH_TOLD = 16384
};
void artel__mesh_tell(artel_cluster *mesh, const char *json);
/* A caller that saves first has been told to leave: it saves, and calls artel__mesh_drain. Until then it is a member as
 * before. Any thread. */
bool artel__mesh_leaving(const artel_cluster *mesh);
/* Asks to leave in order, or (--on-preempt save) that all save and end: what a SIGTERM does. */
void artel__mesh_drain(artel_cluster *mesh);

/* Moves all bytes, or fails: ARTEL_ERROR_RUN when the other side is lost, slow, or this generation is over. */
artel_status artel__mesh_send(artel__mesh_stream *stream, const void *bytes, size_t count);
artel_status artel__mesh_receive(artel__mesh_stream *stream, void *bytes, size_t count);

/* This task fails, with the context's record. `job`: it would be the same for whoever computed it, and all end;
 * otherwise, and where the job has begun, this task ends and the others go on. Nothing happens when the pass has ended
 * already. */
void artel__mesh_fail(artel_cluster *mesh, bool job, artel_status status);

/* Instead of a pass: this task cannot begin the next one, for what the context's record says. Those who wait for it
 * there end with that cause; a job that runs without it goes on. */
void artel__mesh_unbegun(artel_cluster *mesh, artel_status status);

/* A program that has words of its own for what messages name says them here, too: in the post-mortem file and to
 * whoever asks for the cause. `say` fills and returns `out`. */
typedef const char *artel__mesh_say_fn(const char *text, char *out, size_t size);
void artel__mesh_say(artel_cluster *mesh, artel__mesh_say_fn *say);
/* Who the cause of the pass's end speaks of: its rank (-1: no cause), address and phase. For events. */
int artel__mesh_culprit(artel_cluster *mesh, const char **host, const char **phase);

#endif
