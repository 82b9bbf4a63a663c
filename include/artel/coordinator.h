/* SPDX-License-Identifier: Apache-2.0 */
/* A loop written by hand over parameter servers: the chief schedules closures, workers run them, servers own the
 * variables.
 *
 * What tf.distribute.coordinator.ClusterCoordinator is to TensorFlow. Every task of a cluster with chief, worker and ps
 * tasks runs the same program: it makes a strategy "parameter-server" with the cluster, declares the same variables,
 * models, optimizers, data and functions, and then does what its role is:
 *
 *   chief:      artel_coordinator_open, schedule, schedule, ..., join, artel_variable_read, artel_coordinator_close
 *
 *   worker, ps: artel_coordinator_serve, until the coordinator closes
 *
 * A closure is one run of a function with given arguments. Whichever worker is free runs it: it reads the variables
 * that the function reads from their servers, computes, and sends what is to be written (a step of an optimizer, an
 * assignment) to the servers, which apply it. Nobody waits for anybody. A closure sees all that was written by closures
 * that were done before it was scheduled.
 *
 * A worker that is lost costs nothing: its closures run again elsewhere. So a closure runs at least once; its writes
 * reach each variable once all the same, for servers know what they have applied. A closure is not atomic: of one whose
 * worker dies some variables may be written before others.
 *
 * With ps_copies of the strategy each variable is at several servers, and one that is lost costs nothing either: a copy
 * goes on, and nothing is raised. What is said of a lost server below is of the last that has a variable.
 *
 * Threads: a coordinator belongs to the thread of its context; it has one of its own, which talks to the other tasks.
 */
#ifndef ARTEL_COORDINATOR_H
#define ARTEL_COORDINATOR_H

#include "artel/strategy.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct artel_coordinator artel_coordinator;
typedef struct artel_worker_data artel_worker_data;
typedef struct artel_remote artel_remote;

/* -- data of workers: declared by every task, before functions run -- */

/* Opened on each worker, with its index, before it takes work; a worker that was lost and has come back opens it again.
 * `*state` is handed to the others. */
typedef artel_status artel_worker_open_fn(void *user, int worker, void **state);
/* The next batch: sets dtype, shape and data of `count` arrays, which stay as they are until the next call.
 * ARTEL_AGAIN: there is no more, which is an error of the closure that wanted it. */
typedef artel_status artel_worker_next_fn(void *user, void *state, artel_array *arrays, int count);
typedef void artel_worker_close_fn(void *user, void *state);

typedef struct artel_worker_data_options {
    size_t struct_size;
    const char *name; /* for messages; copied */
    int arrays;       /* of a batch: the last arguments of a function that is scheduled with it */
    artel_worker_open_fn *open;
    artel_worker_next_fn *next;
    artel_worker_close_fn *close; /* NULL: nothing is to be closed */
    void *user;
} artel_worker_data_options;

#ifdef __cplusplus
static inline artel_worker_data_options artel_worker_data_options_init(void)
{
    artel_worker_data_options options = artel_worker_data_options();
    options.struct_size = sizeof options;
    return options;
}
#define ARTEL_WORKER_DATA_OPTIONS_INIT artel_worker_data_options_init()
#else
#define ARTEL_WORKER_DATA_OPTIONS_INIT                   \
    {                                                    \
        .struct_size = sizeof(artel_worker_data_options) \
    }
#endif

/* What create_per_worker_dataset is to TensorFlow. Lives as long as the strategy. Errors: ARTEL_ERROR_INVALID. */
ARTEL_API artel_status artel_worker_data_create(artel_strategy *strategy, const artel_worker_data_options *options,
                                                artel_worker_data **out);

/* -- workers and servers -- */

/* Does what this task is for until the coordinator closes. Errors: ARTEL_ERROR_INVALID (the chief; a program that
 * differs from the chief's), ARTEL_ERROR_RUN (the job has failed: who says why), ARTEL_ERROR_PREEMPTED. */
ARTEL_API artel_status artel_coordinator_serve(artel_strategy *strategy);

/* -- the chief -- */

typedef struct artel_coordinator_options {
    size_t struct_size;
    int in_flight;   /* closures that a worker has at a time, the next ones ready behind the one that it runs: 4 */
    int64_t queue;   /* closures that wait before artel_coordinator_schedule does: 262,144 */
    double patience; /* seconds that a lost server, or the last lost worker, is waited for: 3600 */
    double start_delay, start_delay_most; /* seconds from opening that worker i is given nothing: i times the first, and
                                             no more than the second if it is not 0. 0 and 0. As
                                             TF_COORDINATOR_SCHEDULE_START_DELAY and ..._MAX */
} artel_coordinator_options;

#ifdef __cplusplus
static inline artel_coordinator_options artel_coordinator_options_init(void)
{
    artel_coordinator_options options = artel_coordinator_options();
    options.struct_size = sizeof options;
    options.in_flight = 4;
    options.queue = 262144;
    options.patience = 3600;
    return options;
}
#define ARTEL_COORDINATOR_OPTIONS_INIT artel_coordinator_options_init()
#else
#define ARTEL_COORDINATOR_OPTIONS_INIT                                                                      \
    {                                                                                                       \
        .struct_size = sizeof(artel_coordinator_options), .in_flight = 4, .queue = 262144, .patience = 3600 \
    }
#endif

/* Begins; the strategy's variables are final. One coordinator a strategy. Errors: ARTEL_ERROR_INVALID (another role,
 * options, another strategy), ARTEL_ERROR_UNSUPPORTED (an optimizer that servers do not have: docs/coordinator.md). */
ARTEL_API artel_status artel_coordinator_open(artel_strategy *strategy, const artel_coordinator_options *options,
                                              artel_coordinator **out);
/* What waits is dropped, what runs is waited for; workers and servers end. NULL accepted. Where the tasks have not met
 * yet they are waited for, so that all hear of it, as long as the cluster's wait_for_cluster says or until
 * artel_context_cancel. Returns the failure of the job, if there was one (nobody came, too); an error of a closure that
 * has not been raised is a warning in the log. */
ARTEL_API artel_status artel_coordinator_close(artel_coordinator *coordinator);

/* Puts a closure at the end of the queue: `inputs` are copied; with `data`, the function's last arguments are the next
 * batch of whichever worker runs it, and `inputs` the ones before. `remote` NULL: the outputs are not wanted. Returns
 * at once, unless the queue is full. Errors: ARTEL_ERROR_INVALID (arguments), and that of a closure before (see join).
 */
ARTEL_API artel_status artel_coordinator_schedule(artel_coordinator *coordinator, artel_function *function,
                                                  const artel_array *inputs, int input_count, artel_worker_data *data,
                                                  artel_remote **remote);
/* Waits until nothing waits and nothing runs. The first error of a closure is returned once, by whichever of schedule,
 * join and done comes first: the queue is dropped (ARTEL_ERROR_CANCELLED to who fetches), what runs already is waited
 * for, and then the coordinator is as new. A server that does not come back in time is such an error, and one that has
 * come back without its variables: ARTEL_ERROR_RUN, see go_back; the latter goes before errors of closures, which are
 * then a warning in the log, and whatever reads variables of servers returns it, too, if it comes first:
 * artel_variable_read, artel_strategy_store, artel_coordinator_keep, and in artel_estimator_train, whose coordinator is
 * its own, the writing of a checkpoint. */
ARTEL_API artel_status artel_coordinator_join(artel_coordinator *coordinator);
/* Whether nothing waits and nothing runs. `done` NULL: only an error is wanted. */
ARTEL_API artel_status artel_coordinator_done(artel_coordinator *coordinator, bool *done);

/* Waits for a closure and copies its outputs; of one whose `data` is NULL nothing. `rows` (NULL: not wanted): of
 * outputs that are rows. Errors: the closure's own; ARTEL_ERROR_CANCELLED (it was dropped); ARTEL_ERROR_INVALID (an
 * array of another element type, or count). */
ARTEL_API artel_status artel_remote_fetch(artel_remote *remote, const artel_array *outputs, int output_count,
                                          int64_t *rows);
ARTEL_API void artel_remote_release(artel_remote *remote); /* NULL accepted; the closure runs all the same */

/* All variables and what optimizers keep, as they are now at the servers, into the chief's memory; after a join they
 * are those of a moment. Whatever goes wrong, what was kept before stays, whole; so for a moment there is room for
 * both. Errors: that of a server that has lost its variables (see join). */
ARTEL_API artel_status artel_coordinator_keep(artel_coordinator *coordinator);
/* Gives all servers what was kept last, those too that have come back without anything. Errors: ARTEL_ERROR_INVALID
 * (nothing was kept). */
ARTEL_API artel_status artel_coordinator_go_back(artel_coordinator *coordinator);

/* Milliseconds of what happened `count` times. */
typedef struct artel_coordinator_times {
    int64_t count;
    double mean, half, ninety, most; /* half and 90 % took at most so long, to a tenth */
} artel_coordinator_times;

typedef struct artel_coordinator_metrics {
    size_t struct_size;              /* set by the caller: so much is written, by an older library less */
    int64_t queued, in_flight;       /* now */
    int64_t done, failed, cancelled; /* closures */
    int64_t again;                   /* closures that were given to another worker, since theirs was lost */
    int64_t resumed; /* updates that the servers had applied before this coordinator came: one before it was lost */
    int workers, servers;            /* now */
    artel_coordinator_times build;   /* planning a function on a worker, once each */
    artel_coordinator_times run;     /* a closure on a worker, reading and writing included */
    artel_coordinator_times fetch;   /* waiting in artel_remote_fetch */
    artel_coordinator_times recover; /* from losing a task until work goes on */
} artel_coordinator_metrics;
/* Errors: ARTEL_ERROR_INVALID (struct_size of `out` is not set). */
ARTEL_API artel_status artel_coordinator_look(artel_coordinator *coordinator, artel_coordinator_metrics *out);

#ifdef __cplusplus
}
#endif
#endif
