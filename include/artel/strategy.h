/* SPDX-License-Identifier: Apache-2.0 */
/* Loops written by hand: functions that are traced once and run on all replicas of a strategy, and the variables they
 * share.
 *
 *   artel_strategy_create -> variables, models, optimizers -> artel_function_create (traces) -> artel_function_run,
 * run, ... What tf.distribute.Strategy, tf.function and tf.Variable are to TensorFlow. Every run takes a global batch,
 * divides its rows among the replicas by the library's virtual shards, computes, and then writes variables, on all
 * replicas or, after a failure, on none. The results have the same bits under every strategy and for every number of
 * replicas and threads; a loop that does what artel_model_fit() does gives the bits of artel_model_fit().
 *
 * Threads: a strategy and all that is made from it belong to one thread at a time. What is made from a strategy is
 * destroyed with it. */
#ifndef ARTEL_STRATEGY_H
#define ARTEL_STRATEGY_H

#include "artel/graph.h"
#include "artel/text.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct artel_strategy artel_strategy;
typedef struct artel_function artel_function;

typedef struct artel_strategy_options {
    size_t struct_size;
    const char
        *strategy; /* "auto" (NULL), "default", "one-device", "mirrored", "central-storage", ...: docs/strategies.md */
    int replicas, threads;  /* 0: decided */
    int64_t batch_size;     /* the most rows of a run (global batch); 32 */
    int64_t shards;         /* 0: a function of the batch size; part of the result */
    uint64_t seed;          /* of random operations, and of the weights of models that have none */
    artel_cluster *cluster; /* NULL, or of one task: this process alone; else functions run in artel_strategy_loop().
                               Outlives it. */
    const char *arithmetic; /* of products of two bfloat16 operands: "chain", "tiles"; NULL, "auto": alone tiles where
                               the machine has AMX, as in artel_model_fit(), else chain. Both are computed everywhere,
                               and give other last bits. */
    const char *all_reduce; /* as in artel_fit_options */
    /* As in artel_fit_options: where functions compute and variables lie between runs, opened now; NULL: the cores. But
     * "auto" kernels are "fixed", for functions come later. Not over parameter servers, and not for sessions. */
    const char *device, *plugin, *device_precision, *device_kernels, *device_launches, *device_reduce, *device_memory;
    const char *ps_partitioner;  /* of parameter-server, as in artel_fit_options: how variables are cut; NULL: "none" */
    int64_t ps_copies;           /* of parameter-server: servers that have each variable, at most 3; 0: 1 */
    bool allow_mixed_arithmetic; /* likewise: `device` may name processors beside devices, "cpu,cuda:0", a replica each;
                                    in one process. Behind each run that writes variables they are those of the first */
} artel_strategy_options;

#ifdef __cplusplus
static inline artel_strategy_options artel_strategy_options_init(void)
{
    artel_strategy_options options = artel_strategy_options();
    options.struct_size = sizeof options;
    options.batch_size = 32;
    return options;
}
#define ARTEL_STRATEGY_OPTIONS_INIT artel_strategy_options_init()
#else
#define ARTEL_STRATEGY_OPTIONS_INIT                                     \
    {                                                                   \
        .struct_size = sizeof(artel_strategy_options), .batch_size = 32 \
    }
#endif

/* `options` NULL: defaults. Of "parameter-server" functions are scheduled by a coordinator (artel/coordinator.h) and
 * not run. Errors: ARTEL_ERROR_INVALID (options), ARTEL_ERROR_NO_MEMORY; those of opening a device in
 * artel_model_fit(): ARTEL_ERROR_NOT_FOUND, ARTEL_ERROR_UNSUPPORTED. On failure *out is untouched. */
ARTEL_API artel_status artel_strategy_create(artel_context *context, const artel_strategy_options *options,
                                             artel_strategy **out);
/* With all that was made from it; not from within a call for it. NULL accepted. */
ARTEL_API void artel_strategy_destroy(artel_strategy *strategy);
/* As resolved: "one-device", "mirrored". Owned by the strategy; "" for NULL. */
ARTEL_API const char *artel_strategy_name(const artel_strategy *strategy);
ARTEL_API int artel_strategy_replicas(const artel_strategy *strategy); /* num_replicas_in_sync: of all tasks, too; those
                                                                          that are there, once they have met */
/* Runs that have been made of functions that write variables: the number in the counter of random operations. For going
 * on in another process, set it to what it was. Errors: ARTEL_ERROR_INVALID (negative, or beyond 2^53). */
ARTEL_API int64_t artel_strategy_runs(const artel_strategy *strategy);
ARTEL_API artel_status artel_strategy_set_runs(artel_strategy *strategy, int64_t runs);

/* -- loops among several tasks -- */

/* One unit of work, number 0, 1, ...: any number of runs. Its failure ends the loop, unless the unit was interrupted
 * because a task was lost or has come: then everything that it has written is taken back, and it is called again. So it
 * may change nothing but variables, and must be a function of these and of its number. */
typedef artel_status artel_unit_fn(void *user, int64_t unit);

/* Calls `unit` for every number from artel_strategy_units() to `units` - 1. Alone: nothing else. In a cluster every
 * task makes this call with the same arguments, and each run with the same inputs, of which a task reads its own rows.
 * Tasks may be killed and come back: the others go on within about a second, a task that comes gets variables and
 * counters from one that has them and takes part from the next unit on. The bits are those of one process. At the end
 * all tasks hold the last state; one of them says so: artel_strategy_writes(). Errors: those of units; those of an
 * artel_model_fit() in a cluster; ARTEL_ERROR_PREEMPTED (asked to end: the state is whole). */
ARTEL_API artel_status artel_strategy_loop(artel_strategy *strategy, int64_t units, artel_unit_fn *unit, void *user);
ARTEL_API int64_t artel_strategy_units(const artel_strategy *strategy); /* units done */
/* For going on in another process: units that lie behind it. Errors: ARTEL_ERROR_INVALID (negative, beyond 2^53, or in
 * a unit). */
ARTEL_API artel_status artel_strategy_set_units(artel_strategy *strategy, int64_t units);
/* Writes DIRECTORY/ckpt-STEP, whole or not at all: all variables, what optimizers keep, and counters (units, runs,
 * steps of optimizers); then removes all but the `keep` newest (0: none). Between two runs, or as a unit begins; in a
 * cluster by the task that artel_strategy_writes(); over parameter servers by the chief after a join, and without what
 * optimizers keep. Weights lie as in checkpoints of fit. */
ARTEL_API artel_status artel_strategy_save(artel_strategy *strategy, const char *directory, int64_t step, int keep);
/* Takes up the newest whole one, or the directory is one ("run1/ckpt-500"); *step -1: there is none. Before a loop;
 * variables, models and optimizers are declared, and become final. Errors: ARTEL_ERROR_INVALID (a run of fit's),
 * ARTEL_ERROR_CORRUPT (other variables or optimizers, counters that are none: the strategy stays as it was),
 * ARTEL_ERROR_IO. */
ARTEL_API artel_status artel_strategy_restore(artel_strategy *strategy, const char *directory, int64_t *step);
/* Whether this task is the one to write results; true alone. */
ARTEL_API bool artel_strategy_writes(const artel_strategy *strategy);

/* -- variables: declared before the first run; later ARTEL_ERROR_INVALID -- */

typedef struct artel_variable_options {
    size_t struct_size;
    const char *name; /* unique in the strategy, dots and slashes being the same; at most 1000 bytes of UTF-8; copied */
    artel_dtype dtype;   /* float32, float64, int8 to int64, uint8 to uint32, bool; string: outside of graphs
                            (docs/functions.md) */
    artel_shape shape;   /* a scalar unless set */
    const void *initial; /* elements in row-major order (artel_string), copied; NULL: what `initializer` says, or "" */
    /* One of Keras' by name, with settings ("random_uniform:maxval=0.1") or as a record, copied; of the strategy's seed
     * and the number of the variable; NULL: zeros. Drawn in float32; not of whole numbers and bool. */
    const char *initializer;
    /* How rows that a function assigns become the value, as tf.VariableAggregation has it for replicas: "sum" and
     * "mean" over all rows of the global batch, "only_first_replica" its first row, which is the first replica's; NULL,
     * "none": rows are refused by name (artel_graph_assign). A shared value is assigned as it is. */
    const char *aggregation;
    /* As tf.VariableSynchronization: NULL, "auto", "on_write"; "on_read", of an aggregation: what rows write is theirs
     * until it is read, as their sum, their mean, that of the first (docs/tf-distribute.md). "none" is refused by name.
     */
    const char *synchronization;
} artel_variable_options;

#ifdef __cplusplus
static inline artel_variable_options artel_variable_options_init(void)
{
    artel_variable_options options = artel_variable_options();
    options.struct_size = sizeof options;
    return options;
}
#define ARTEL_VARIABLE_OPTIONS_INIT artel_variable_options_init()
#else
#define ARTEL_VARIABLE_OPTIONS_INIT                   \
    {                                                 \
        .struct_size = sizeof(artel_variable_options) \
    }
#endif

/* A mirrored variable: every replica has the same bits, for only what all of them have computed is ever written.
 * Errors: ARTEL_ERROR_INVALID (a name that exists, a shape, an initializer that is none, or beside values,
 * a string that is no UTF-8, an aggregation or a synchronization that is none or of strings, "on_read" without an
 * aggregation, a mean of whole numbers or bool, a sum of bool), ARTEL_ERROR_UNSUPPORTED (an element type other than
 * float32, float64, whole numbers but uint64, bool and string; any but float32 over parameter servers; strings there,
 * or with a byte of 0). Of strings no optimizer takes a variable, and no device (ARTEL_ERROR_UNSUPPORTED); of
 * whole numbers and bool no optimizer does (ARTEL_ERROR_INVALID). */
ARTEL_API artel_status artel_variable_create(artel_strategy *strategy, const artel_variable_options *options,
                                             artel_variable **out);
ARTEL_API const char *artel_variable_name(const artel_variable *variable); /* "dense/kernel"; "" for NULL */
ARTEL_API artel_status artel_variable_shape(const artel_variable *variable, artel_shape *shape);
ARTEL_API artel_status artel_variable_dtype(const artel_variable *variable, artel_dtype *dtype);
/* All elements in row-major order; `count` must be their number. A variable of float64 is rounded on its way. Reading
 * and assigning are for the time between two runs. */
ARTEL_API artel_status artel_variable_read(artel_variable *variable, float *values, int64_t count);
ARTEL_API artel_status artel_variable_assign(artel_variable *variable, const float *values, int64_t count);
/* The same with elements of any numeric type, converted as NumPy does: of float64 without rounding. Of a variable of
 * strings with ARTEL_DTYPE_STRING alone: artel_string, copied when they are assigned, borrowed when they are read, each
 * with a NUL behind its bytes, until they are assigned again or the strategy ends. */
ARTEL_API artel_status artel_variable_read_as(artel_variable *variable, artel_dtype dtype, void *values, int64_t count);
ARTEL_API artel_status artel_variable_assign_as(artel_variable *variable, artel_dtype dtype, const void *values,
                                                int64_t count);

/* Takes up the weights of a model, as they are now: functions may call it (artel_graph_call). The model outlives the
 * strategy. Its weights are changed by artel_strategy_store() alone. */
ARTEL_API artel_status artel_strategy_add_model(artel_strategy *strategy, artel_model *model);
/* The trainable variables of a model that was added, in Keras' order, or with `all` every one. The list belongs to the
 * strategy. */
ARTEL_API artel_status artel_strategy_variables(artel_strategy *strategy, const artel_model *model, bool all,
                                                artel_variable *const **variables, int *count);
/* Puts the weights of the moment into the model. */
ARTEL_API artel_status artel_strategy_store(artel_strategy *strategy, artel_model *model);

/* An optimizer of Keras by name or record, for these variables; its slots are variables of the strategy. None of them
 * is "on_read" (ARTEL_ERROR_INVALID). */
ARTEL_API artel_status artel_optimizer_create(artel_strategy *strategy, const char *optimizer,
                                              artel_variable *const *variables, int count, artel_optimizer **out);
/* The same for the trainable variables of a model, which the strategy takes up if it does not hold it yet. */
ARTEL_API artel_status artel_optimizer_create_for_model(artel_strategy *strategy, const char *optimizer,
                                                        artel_model *model, artel_optimizer **out);
ARTEL_API int64_t artel_optimizer_iterations(const artel_optimizer *optimizer); /* steps taken */
/* For going on: the number of steps that lie behind it. Errors: ARTEL_ERROR_INVALID (negative, or beyond 2^53). */
ARTEL_API artel_status artel_optimizer_set_iterations(artel_optimizer *optimizer, int64_t iterations);
/* The rate of the steps from here on, in the place of the optimizer's own and its schedule; 0: those again. */
ARTEL_API artel_status artel_optimizer_set_rate(artel_optimizer *optimizer, double learning_rate);

/* -- metrics -- */

/* A metric of Keras by name or record ("accuracy", "auc:num_thresholds=50", "Mean"), a metric of the program's
 * (artel_context_add_metric), as keras.metrics.Metric is an object: artel_graph_update_metric() takes a batch in, on
 * all replicas; its accumulators are a variable of the strategy, so that tasks that are lost, checkpoints and other
 * numbers of replicas change nothing. prediction: the shape of a row of predictions; NULL: one number. "accuracy" and
 * "crossentropy" go by it and by the target. Errors: ARTEL_ERROR_INVALID (the shape, settings), ARTEL_ERROR_UNSUPPORTED
 * (no metric of that name; over parameter servers), ARTEL_ERROR_INVALID behind the first run. */
ARTEL_API artel_status artel_metric_create(artel_strategy *strategy, const char *metric, const artel_shape *prediction,
                                           artel_metric **out);
ARTEL_API const char *artel_metric_name(const artel_metric *metric); /* "accuracy"; "" for NULL */
/* What it says of all rows since it was made or reset, as keras.metrics.Metric.result(): writes at most `most` values
 * and returns how many there are (one; of a metric by class, one a class), or a negative status. Between two runs. */
ARTEL_API int artel_metric_result(artel_metric *metric, double *values, int most);
/* As reset_state(): no rows. Between two runs; in a cluster in every task. */
ARTEL_API artel_status artel_metric_reset(artel_metric *metric);

/* -- functions -- */

/* Adds to `graph` what is to be computed. inputs[i] is argument i; writes outputs[0 .. declared - 1], rows or shared.
 * Its failure, or the graph's, is that of artel_function_create(). */
typedef artel_status artel_trace_fn(void *user, artel_graph *graph, const artel_value *inputs, artel_value *outputs);

typedef struct artel_argument {
    const char *name;  /* for messages; NULL: its number */
    artel_dtype dtype; /* as the function computes with it: float32, float64, int32, int64, bool; string */
    bool shared;       /* the same on all replicas; else rows */
    artel_shape shape; /* of one row, or of the whole shared value */
} artel_argument;

typedef struct artel_function_options {
    size_t struct_size;
    const char *name; /* for messages and dumps; NULL: "function" */
    const artel_argument *arguments;
    int argument_count, output_count;
    bool training; /* layers behave as in training */
} artel_function_options;

#ifdef __cplusplus
static inline artel_function_options artel_function_options_init(void)
{
    artel_function_options options = artel_function_options();
    options.struct_size = sizeof options;
    return options;
}
#define ARTEL_FUNCTION_OPTIONS_INIT artel_function_options_init()
#else
#define ARTEL_FUNCTION_OPTIONS_INIT                   \
    {                                                 \
        .struct_size = sizeof(artel_function_options) \
    }
#endif

/* Traces `trace` now, once. Errors: those of the operations, with the operation's name; ARTEL_ERROR_INVALID (an output
 * that was not written). */
ARTEL_API artel_status artel_function_create(artel_strategy *strategy, const artel_function_options *options,
                                             artel_trace_fn *trace, void *user, artel_function **out);
/* What output `index` is: ARTEL_ERROR_INVALID when there is no such output. Any of the pointers may be NULL. */
ARTEL_API artel_status artel_function_output(const artel_function *function, int index, artel_dtype *dtype,
                                             artel_shape *shape, bool *rows);

/* Memory of the caller's. */
typedef struct artel_array {
    artel_dtype dtype; /* of `data`: any numeric one, converted as NumPy does; string for text; an output's own */
    artel_shape shape; /* the batch first where it is rows; of an output: ignored */
    void *data;        /* only read of an input; an output's may be NULL: not wanted */
} artel_array;

/* One run: inputs in, outputs written, then variables. All rows inputs have the same number of rows, 1 to the
 * strategy's batch_size; a function without any runs on one row. Outputs of rows receive the whole batch, in order;
 * those of strings are artel_string, borrowed until the function runs again or ends, each with a NUL behind its bytes,
 * but for those of an argument or a variable, which are as long as that is as it was. A steady run makes no heap call,
 * except on a device and for strings. Errors: ARTEL_ERROR_INVALID (a shape, rows that differ, an index out of range
 * inside, what an operation on strings cannot take, with its row or element), ARTEL_ERROR_CANCELLED; on a device
 * ARTEL_ERROR_UNSUPPORTED (operations that it does not compute, all by name: docs/devices.md); no variable has changed.
 * ARTEL_ERROR_RUN: the device is lost, and what it held. */
ARTEL_API artel_status artel_function_run(artel_function *function, const artel_array *inputs, int input_count,
                                          const artel_array *outputs, int output_count);

/* A run whose memory is measured: bytes that lie behind each `data`. */
typedef struct artel_function_call {
    size_t struct_size;
    const artel_array *inputs, *outputs;
    const size_t *input_bytes, *output_bytes; /* as many; an output that is not wanted needs none */
    int input_count, output_count;
} artel_function_call;

#ifdef __cplusplus
static inline artel_function_call artel_function_call_init(void)
{
    artel_function_call call = artel_function_call();
    call.struct_size = sizeof call;
    return call;
}
#define ARTEL_FUNCTION_CALL_INIT artel_function_call_init()
#else
#define ARTEL_FUNCTION_CALL_INIT                   \
    {                                              \
        .struct_size = sizeof(artel_function_call) \
    }
#endif

/* artel_function_run() that reads and writes no byte beyond what is there. Errors: its own; ARTEL_ERROR_INVALID where
 * memory is smaller than its array (strings: than their elements), with both sizes, before anything is computed. */
ARTEL_API artel_status artel_function_run_checked(artel_function *function, const artel_function_call *call);
/* Stable text: graph and plan. Owned by the function, until its next call; "" for NULL. The first run makes the plan.
 */
ARTEL_API const char *artel_function_explain(artel_function *function);

#ifdef __cplusplus
}
#endif
#endif
