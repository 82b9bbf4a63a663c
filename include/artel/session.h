/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs with their nodes placed on the tasks of a job, and sessions that run them: what tf.device, tf.train.Server and
 * tf.Session were to TensorFlow 1 (docs/session.md).
 *
 *   artel_graph_device while a function is traced, artel_variable_set_device -> artel_session_create ->
 *     a client   artel_session_run, run, ..., artel_session_close
 *     others     artel_session_serve, until the clients have closed
 * Every task runs the same program up to there: it declares the same variables and traces the same functions. A run
 * prunes a function to what is fetched, places its nodes, cuts it into parts of one task each with a send and a receive
 * wherever a value goes from one task to another, and has the tasks run their parts: variables lie at one task each,
 * weights and activations only where they are used. The bits are those of artel_function_run() in one process, wherever
 * the nodes are.
 *
 * Names of places are TensorFlow's: "/job:worker/task:1/device:CPU:0", each field or none; of nested scopes the inner
 * field goes before the outer one. A name that fits several tasks means the first one of them, in the order of the
 * communicator.
 *
 * Threads: a session belongs to the thread of its strategy. */
#ifndef ARTEL_SESSION_H
#define ARTEL_SESSION_H

#include "artel/strategy.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct artel_session artel_session;
typedef struct artel_device_setter artel_device_setter;

/* -- places -- */

/* What `inner` says within `outer`, in the one form in which equal names are equal; either may be "". Errors:
 * ARTEL_ERROR_INVALID (a name that is none, or `room` bytes are not enough: 192 always are). */
ARTEL_API artel_status artel_device_merge(artel_context *context, const char *outer, const char *inner, char *out,
                                          size_t room);

/* From here on what is added to the graph belongs to this place, within the places that are open already; "" changes
 * nothing, NULL means anywhere, whatever is open. What has no place is computed where most of the bytes that it reads
 * are; an optimizer's step where the variable is. Each call has its artel_graph_device_end(). Functions that are run
 * without a session take no notice, and those in files have no places. */
ARTEL_API artel_status artel_graph_device(artel_graph *graph, const char *device);
ARTEL_API void artel_graph_device_end(artel_graph *graph);

/* Where a variable lies; before sessions are made. Without a place it lies with the variables that are updated together
 * with it (what an optimizer keeps for it), else where it is read first by a node that has a place, else at the first
 * task. Errors: ARTEL_ERROR_INVALID. */
ARTEL_API artel_status artel_variable_set_device(artel_variable *variable, const char *device);
ARTEL_API const char *artel_variable_device(const artel_variable *variable); /* "": anywhere, and for NULL */

/* -- tf.train.replica_device_setter -- */

typedef enum artel_setter_balance {
    ARTEL_SETTER_ROUND_ROBIN = 0, /* one parameter server after another */
    ARTEL_SETTER_GREEDY =
        1 /* the one that has the fewest bytes so far (GreedyLoadBalancingStrategy with byte_size_load_fn) */
} artel_setter_balance;

typedef struct artel_device_setter_options {
    size_t struct_size;
    int ps_tasks;              /* 0: variables get the worker's place */
    const char *ps_device;     /* NULL: "/job:ps" */
    const char *worker_device; /* NULL: "/job:worker" */
    artel_setter_balance balance;
} artel_device_setter_options;

#ifdef __cplusplus
static inline artel_device_setter_options artel_device_setter_options_init(void)
{
    artel_device_setter_options options = artel_device_setter_options();
    options.struct_size = sizeof options;
    return options;
}
#define ARTEL_DEVICE_SETTER_OPTIONS_INIT artel_device_setter_options_init()
#else
#define ARTEL_DEVICE_SETTER_OPTIONS_INIT                   \
    {                                                      \
        .struct_size = sizeof(artel_device_setter_options) \
    }
#endif

/* Errors: ARTEL_ERROR_INVALID (options). On failure *out is untouched. */
ARTEL_API artel_status artel_device_setter_create(artel_context *context, const artel_device_setter_options *options,
                                                  artel_device_setter **out);
ARTEL_API void artel_device_setter_destroy(artel_device_setter *setter); /* NULL accepted */
/* Gives each variable, in this order, the next place. A field that a variable's own place says already stays. */
ARTEL_API artel_status artel_device_setter_place(artel_device_setter *setter, artel_variable *const *variables,
                                                 int count);
/* For artel_graph_device(): where everything else goes. */
ARTEL_API const char *artel_device_setter_worker(const artel_device_setter *setter);

/* -- sessions -- */

typedef struct artel_session_options {
    size_t struct_size;
    artel_communicator
        *communicator;        /* its members are the tasks; outlives the session. NULL: this process is all tasks */
    const char *const *tasks; /* their names by position, "/job:ps/task:0"; NULL: those of the cluster, of threads
                                 /job:worker/task:POSITION */
    int task_count;           /* 0 with `tasks` NULL; else the communicator's members */
    int clients;              /* the first so many tasks run graphs and close, the others serve; 1 */
    bool soft_placement;      /* what cannot be at the place that it names is put where it can be, instead of failing */
} artel_session_options;

#ifdef __cplusplus
static inline artel_session_options artel_session_options_init(void)
{
    artel_session_options options = artel_session_options();
    options.struct_size = sizeof options;
    options.clients = 1;
    return options;
}
#define ARTEL_SESSION_OPTIONS_INIT artel_session_options_init()
#else
#define ARTEL_SESSION_OPTIONS_INIT                                 \
    {                                                              \
        .struct_size = sizeof(artel_session_options), .clients = 1 \
    }
#endif

/* The strategy has one replica and no cluster; its variables are final. Places the variables: those of this task are
 * the values of all from here on. Sends nothing. Errors: ARTEL_ERROR_INVALID (options, a place that no task has,
 * variables that must lie together and may not), ARTEL_ERROR_UNSUPPORTED (several replicas, a cluster). */
ARTEL_API artel_status artel_session_create(artel_strategy *strategy, const artel_session_options *options,
                                            artel_session **out);
ARTEL_API void artel_session_destroy(artel_session *session); /* NULL accepted; before its strategy and communicator */
/* This task, as others name it; "" for NULL. */
ARTEL_API const char *artel_session_task(const artel_session *session);
/* Which task has a variable; "" when an argument is NULL. */
ARTEL_API const char *artel_session_place_of(const artel_session *session, const artel_variable *variable);

typedef struct artel_session_call {
    size_t struct_size;
    const artel_array *
        feeds; /* by argument; one whose data is NULL is not fed, which fails when something that is fetched needs it */
    int feed_count;
    const artel_array
        *outputs; /* by output; one whose data is NULL is not fetched, nor is what only it needs computed */
    int output_count;
    bool read_only; /* assignments and optimizer steps are not made */
} artel_session_call;

#ifdef __cplusplus
static inline artel_session_call artel_session_call_init(void)
{
    artel_session_call call = artel_session_call();
    call.struct_size = sizeof call;
    return call;
}
#define ARTEL_SESSION_CALL_INIT artel_session_call_init()
#else
#define ARTEL_SESSION_CALL_INIT                   \
    {                                             \
        .struct_size = sizeof(artel_session_call) \
    }
#endif

/* One run by this task, a client. Every task that has something to do in it must be serving. Variables are written when
 * all tasks have computed, or nowhere. Several clients may run at a time (between-graph replication): each reads and
 * writes variables without waiting for the others. Errors: those of artel_function_run(); ARTEL_ERROR_RUN (a task is
 * lost, or does not answer in time): renew the communicator on all tasks (artel_session_monitor() does), and what was
 * written may be in some tasks only; ARTEL_ERROR_INVALID (programs that differ). */
ARTEL_API artel_status artel_session_run(artel_session *session, artel_function *function,
                                         const artel_session_call *call);
/* Does what clients want until all of them have closed; alone nothing. Errors: ARTEL_ERROR_RUN (a task is lost),
 * ARTEL_ERROR_CANCELLED: renew the communicator; ARTEL_ERROR_INVALID (a client). */
ARTEL_API artel_status artel_session_serve(artel_session *session);
/* Tells the serving tasks that this client wants nothing more, until they serve again. */
ARTEL_API artel_status artel_session_close(artel_session *session);
/* All variables, from the tasks that have them into this client's memory: artel_variable_read(), artel_strategy_save()
 * and artel_strategy_store() see them then. And the other way, after artel_variable_assign() or
 * artel_strategy_restore(). */
ARTEL_API artel_status artel_session_pull(artel_session *session);
ARTEL_API artel_status artel_session_push(artel_session *session);
/* Stable text: where each variable lies; where the nodes of a function with all its outputs are, its parts, and what is
 * sent. Owned by the session, until its next call; "" when an argument is NULL or the function cannot be placed. */
ARTEL_API const char *artel_session_explain(artel_session *session, artel_function *function);

/* -- tf.train.MonitoredTrainingSession -- */

typedef struct artel_hook artel_hook; /* artel/hooks.h */

typedef struct artel_monitor_options {
    size_t struct_size;
    const char *directory; /* of checkpoints, which the client writes and reads */
    int64_t save_every;    /* units; 0: by time. One is written before the first unit and after the last, too */
    int keep;              /* checkpoints; 5 */
    int retries;           /* losses of tasks without a checkpoint between them, after which it gives up; 10 */
    double save_secs; /* with save_every whichever comes first; 0: 600 where no units are given, else none by time */
    artel_hook *const *hooks; /* called by the client, in this order; outlive the call */
    int hook_count;
} artel_monitor_options;

#ifdef __cplusplus
static inline artel_monitor_options artel_monitor_options_init(void)
{
    artel_monitor_options options = artel_monitor_options();
    options.struct_size = sizeof options;
    options.keep = 5;
    options.retries = 10;
    return options;
}
#define ARTEL_MONITOR_OPTIONS_INIT artel_monitor_options_init()
#else
#define ARTEL_MONITOR_OPTIONS_INIT                                             \
    {                                                                          \
        .struct_size = sizeof(artel_monitor_options), .keep = 5, .retries = 10 \
    }
#endif

/* All tasks call it, with a communicator of a cluster whose min_workers is the number of its tasks. Task 0 is the
 * client: it restores the newest checkpoint, calls `unit` with the numbers from there to `units` - 1, and closes; the
 * others serve. When a task is lost all wait until it has come back, and the client goes on from the newest checkpoint:
 * so a unit is a function of the variables and its number. The bits are those of a job that lost nobody. Errors: those
 * of units and hooks; ARTEL_ERROR_INVALID (options, from a unit or a hook of the session); ARTEL_ERROR_RUN (it does not
 * come back; retries); those of checkpoints. */
ARTEL_API artel_status artel_session_monitor(artel_session *session, const artel_monitor_options *options,
                                             int64_t units, artel_unit_fn *unit, void *user);

/* From a unit or a hook of a monitored session: this unit is the last one, whatever `units` says; within it a further
 * run is ARTEL_ERROR_INVALID. The last checkpoint says how far it came, and the next job goes on from there. Errors:
 * ARTEL_ERROR_INVALID (the session is not monitored). */
ARTEL_API artel_status artel_session_request_stop(artel_session *session);

#ifdef __cplusplus
}
#endif
#endif
