/* SPDX-License-Identifier: Apache-2.0 */
/* A place in a cluster: which task of which job this process is, and its connections to the other tasks.
 *
 * Open it once, early (the others wait for it from then on); hand it to any number of fit, evaluate and predict calls,
 * which every task must make in the same order with the same model, data and options; finish it when the results are
 * written. The result is the same bits as on one machine. A cluster belongs to one context and one thread at a time; it
 * has a thread of its own, which listens, connects, and notices who is lost.
 */
#ifndef ARTEL_CLUSTER_H
#define ARTEL_CLUSTER_H

#include <stdbool.h>
#include <stdint.h>

#include "artel/context.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct artel_cluster artel_cluster;

/* NULL, and 0 of workers, port and min_workers, mean: as the environment says (docs/cluster.md). */
typedef struct artel_cluster_options {
    size_t struct_size;
    const char *resolver;   /* "auto", "file", "tf-config", "kubernetes", "torchrun", "mpi", "slurm", "none" */
    const char *file;       /* a static description */
    const char *task;       /* this task: "worker:1" */
    const char *rendezvous; /* HOST:PORT of rank 0 */
    const char *service;    /* headless service of an indexed Job */
    int workers;            /* completions of an indexed Job */
    int port;               /* to listen on, where the description names no port of this task or another is wanted */
    const char *bind;       /* address to listen on; NULL: loopback when this task's address is, else all */
    const char *cert_dir; /* this task's certificate: tls.crt, tls.key, ca.crt, there or in a folder of the task's name;
                             NULL: ARTEL_CERT_DIR, which a launcher sets */
    bool insecure_network;     /* plaintext off loopback, too; false: ARTEL_INSECURE_NETWORK */
    bool no_shared_memory;     /* tasks of one host and user exchange through sockets, too, as across hosts */
    double wait_for_cluster;   /* seconds to wait for tasks that are not up: 600 */
    double collective_timeout; /* seconds that a local part of a step may take, then this task fails: 600 */
    double suspect_after;      /* seconds of silence after which a task is taken for lost, and the others go on: 2 */
    int min_workers;           /* fewer tasks than this wait for more; 0: all begin together, then any number goes on */
    bool save_on_preempt;      /* a task that is asked to stop makes all save and end, instead of leaving alone */
    const char *post_mortem;   /* a folder: if the job ends badly after it began, artel_cluster_finish writes there what
                                  this task   knew, as artel-post-mortem-worker-1.json; NULL: nothing is written */
    bool parameter_servers;    /* ps tasks are members, too: for fits with the strategy parameter-server
                                  (docs/parameter-servers.md) */
} artel_cluster_options;

#ifdef __cplusplus
/* C++ has designated initialisers from C++20 on. */
static inline artel_cluster_options artel_cluster_options_init(void)
{
    artel_cluster_options options = artel_cluster_options();
    options.struct_size = sizeof options;
    options.wait_for_cluster = 600;
    options.collective_timeout = 600;
    options.suspect_after = 2;
    return options;
}
#define ARTEL_CLUSTER_OPTIONS_INIT artel_cluster_options_init()
#else
#define ARTEL_CLUSTER_OPTIONS_INIT                                                                        \
    {                                                                                                     \
        .struct_size = sizeof(artel_cluster_options), .wait_for_cluster = 600, .collective_timeout = 600, \
        .suspect_after = 2                                                                                \
    }
#endif

/* Finds out who is who and begins to connect. `options` NULL: defaults. A cluster of one opens no port.
 * Errors: ARTEL_ERROR_INVALID (a description or certificate that is wrong, a parameter server), ARTEL_ERROR_IO (the
 * port is taken), ARTEL_ERROR_NOT_FOUND, ARTEL_ERROR_CORRUPT, ARTEL_ERROR_UNSUPPORTED. */
ARTEL_API artel_status artel_cluster_open(artel_context *ctx, const artel_cluster_options *options,
                                          artel_cluster **out);
/* Leaves at once; NULL is accepted. Tasks that still need this one see it as lost. */
ARTEL_API void artel_cluster_close(artel_cluster *cluster);

/* To be called when the program ends, however it does. A negative `status`, whose cause is the context's record, is
 * told to those who wait for this task, and they end with it and the task's name: also where it failed before the
 * first thing that all do together (a fit, a loop, a communicator), or between two. What has begun together ends
 * together by itself, so a success leaves nothing to be said. Returns `status`. */
ARTEL_API artel_status artel_cluster_finish(artel_cluster *cluster, artel_status status);

/* A task that trains, as this one sees it. */
typedef struct artel_cluster_task {
    const char *name;  /* "worker 1 (host:port)"; the cluster's, until it is closed */
    const char *phase; /* of a step: "compute", "exchange", "apply", "copy", "save", "idle"; "": nothing is known */
    double phase_time; /* seconds in that phase */
    double silence;    /* seconds since it was heard last; 0 for this task */
    double busy;       /* share of the last second in which it worked and did not wait for others; -1: not known */
    int64_t position;  /* steps, batches of validation and ends of epochs that it has been through */
    int replicas;      /* 0: not a member of the running generation */
    bool self, connected;
} artel_cluster_task;

/* How the job is: fills at most `most` tasks, in their order, and returns how many there are. 0 for a cluster of one,
 * and between passes. Any thread; cheap enough to be called several times a second. */
ARTEL_API int artel_cluster_look(const artel_cluster *cluster, artel_cluster_task *tasks, int most);

/* -- words among tasks --
 *
 * While a job runs, that is in the events of a fit, an evaluation or a prediction, and while a communicator of the
 * cluster is open, its tasks can tell one another short things by key, and wait for one another by name. Keys and
 * barriers are held by every member, in one order for all, so they outlive any of them; they end with the fit,
 * evaluation, prediction or communicator. Called by the thread of the cluster's context. A task that is alone has its
 * own keys, and passes every barrier. */

/* Sets a key (1 to 255 bytes of text) to a value (up to 1000 bytes; 0 bytes delete it) for all tasks. At most 64 keys.
 * Does not wait for the others. `overwrite` false: a value that is there stays, so of several tasks that put the same
 * key one wins, and all get that. Errors: ARTEL_ERROR_INVALID (no job runs, too long, too many). */
ARTEL_API artel_status artel_cluster_put(artel_cluster *cluster, const char *key, const void *value, size_t bytes,
                                         bool overwrite);
/* Copies the first `room` bytes of a key's value; *out_bytes is its whole length. If there is none, waits for it, for
 * `seconds` at the most. Errors: ARTEL_ERROR_NOT_FOUND (no value came), ARTEL_ERROR_RUN (the members change while it
 * waits; call it again in a later event, or after artel_communicator_renew()), ARTEL_ERROR_INVALID. */
ARTEL_API artel_status artel_cluster_get(artel_cluster *cluster, const char *key, double seconds, void *value,
                                         size_t room, size_t *out_bytes);
/* Waits until all members have come to the barrier of that name as often as this task has, for `seconds` at the most.
 * At most 16 names. Who joins the job later counts as having passed what the others have passed. Errors:
 * ARTEL_ERROR_RUN (the time is over: the missing are named; or the members change while it waits): the next call of
 * that name goes on waiting for the same; ARTEL_ERROR_INVALID. */
ARTEL_API artel_status artel_cluster_barrier(artel_cluster *cluster, const char *name, double seconds);

/* "chief", "worker", "evaluator", and the index within this type. */
ARTEL_API const char *artel_cluster_role(const artel_cluster *cluster);
ARTEL_API int artel_cluster_index(const artel_cluster *cluster);
/* Tasks that train. */
ARTEL_API int artel_cluster_size(const artel_cluster *cluster);
/* Whether this task writes results: the chief, without one worker 0; one that trains alone always does. */
ARTEL_API bool artel_cluster_writes(const artel_cluster *cluster);

#ifdef __cplusplus
}
#endif
#endif
