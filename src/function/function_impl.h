/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of strategies and functions, shared by the files of this room.
 *
 * A strategy is open once its first function runs: its variables are then final, every replica has a state, a pool and
 * a thread. What is made from a strategy lies in lists of its own and lives as long.
 */
#ifndef ARTEL_FUNCTION_FUNCTION_IMPL_H
#define ARTEL_FUNCTION_FUNCTION_IMPL_H

#include "artel/coordinator.h"
#include "artel/strategy.h"
#include "artel/values.h"
#include "base/argument.h"
#include "base/threads.h"
#include "function/device_name.h"
#include "exec/device.h"
#include "strategy/crew.h"
#include "keras/model.h"
#include "text/program_rows.h"
#include "nn/ahead.h"
#include "nn/loss.h"
#include "nn/optimizer.h"
#include "ps/part.h"
#include "comm/group.h"
#include "strategy/devices.h"

typedef struct artel__words artel__words;
typedef struct artel__texts artel__texts;
typedef struct artel__text_value artel__text_value;

/* What rows that are assigned become. */
typedef enum artel__aggregation {
    ARTEL__AGGREGATION_NONE, /* an error */
    ARTEL__AGGREGATION_SUM,
    ARTEL__AGGREGATION_MEAN,
    ARTEL__AGGREGATION_FIRST,
    ARTEL__AGGREGATIONS
} artel__aggregation;

/* When: whatever rows write goes to all replicas in the exchange of its run, so these differ in what is refused. */
typedef enum artel__synchronization {
    ARTEL__SYNCHRONIZATION_ON_WRITE,
    ARTEL__SYNCHRONIZATION_ON_READ,
    ARTEL__SYNCHRONIZATIONS
} artel__synchronization;

typedef struct artel__joining {
    artel__aggregation aggregation;
    artel__synchronization synchronization;
} artel__joining;

struct artel_variable {
    artel_strategy *strategy;
    int index;           /* in the strategy's table; -1: of strings */
    artel__words *words; /* of a variable of strings (words.c); else NULL */
    artel__constraint_config constraint;
    const void *initial; /* of a variable that was declared alone, until the strategy opens; NULL: zeros */
    artel__joining joining;
    artel__device_name device;
    const char *device_text; /* the same, as it is written; NULL: it says nothing */
    artel_variable *next;
};

/* A model whose weights were taken up. */
typedef struct artel__adopted {
    artel_model *model;
    int base;              /* of its variables in the strategy's table */
    artel_variable **item; /* all in Keras' order */
    artel_variable **trainable;
    int count, trainable_count;
    int number; /* in the order of their coming */
    bool owned; /* the model ends with the strategy (load.c) */
    struct artel__adopted *next;
} artel__adopted;

struct artel_optimizer {
    artel_strategy *strategy;
    artel__optimizer rule;
    artel__optimizer_slots slots;
    artel_variable **variable;
    int count;
    int64_t iterations; /* steps */
    double rate;        /* 0: the rule's own */
    int number;         /* in the order of their making */
    void *restored; /* its slots in the order of files, plain, of one that was loaded, until the strategy opens; NULL */
    artel_optimizer *next;
};

/* What a function does not write itself, for servers own the variables (elsewhere.c). */
typedef enum artel__update_kind {
    ARTEL__UPDATE_ASSIGN,
    ARTEL__UPDATE_ADD,
    ARTEL__UPDATE_GRADIENT, /* for an optimizer's step */
    ARTEL__UPDATE_STATISTIC /* a moving one, that layers write: what it was, and what it is */
} artel__update_kind;

typedef struct artel__update {
    artel__update_kind kind;
    int variable;                                    /* of the strategy */
    int item;                                        /* which one of the optimizer's variables; -1 */
    artel_value value, squares, norm, token, number; /* places, while the function is traced */
    int kept, kept_squares, kept_norm;               /* what the graph keeps; -1: none */
    bool clipped;                                    /* by value already */
    bool rows;                                       /* of a table: the value and squares are rows, which others have */
    int kept_token, kept_number;                     /* of these: which, and how many of */
    int64_t most;                                    /* there may be */
    float *before;                                   /* a statistic, on workers */
    float *arranged; /* on workers, of a device that keeps what is in panels here in the plain form; NULL: as kept */
} artel__update;

/* A table of which a function reads rows: the kept tokens, and how many they are. */
typedef struct artel__table_read {
    int variable, token, number;
} artel__table_read;

/* tables.c: what a worker must know before a run; with no table it is never run. */
typedef struct artel__tables {
    artel__graph graph;
    artel__executable *plan;
    artel__execution *run;
    artel__table_read *item;
    int *of; /* by what the function reads: its table; -1: it is read whole */
    int count;
} artel__tables;

/* Whether something as large as the variable goes with the value: what a rule reads of occurrences, or what a statistic
 * was. */
static inline bool artel__update_has_second(const artel__update *update)
{
    return update->kept_squares >= 0 || update->kind == ARTEL__UPDATE_STATISTIC;
}

/* A run of elements, in the order of memory, of a variable that servers own. */
typedef struct artel__owned_piece {
    int variable, part; /* part: what the server of this number owns */
    int64_t first, count;
    int64_t width; /* of whole rows: elements of one */
    bool whole;
} artel__owned_piece;

/* Elements [first, end) of a variable, in the order of memory. */
typedef struct artel__span {
    int64_t first, end;
} artel__span;

struct artel_worker_data {
    artel_strategy *strategy;
    artel_worker_data_options options;
    int number;
    void *state; /* of a worker that has opened it */
    bool opened;
    artel_worker_data *next;
};

struct artel_strategy {
    artel_context *ctx;
    artel__arena arena;
    artel_strategy_options options;
    artel__strategy_plan plan;
    artel__group *group;        /* NULL: one replica */
    artel__device_set *devices; /* NULL: the cores */
    artel__variables variables;
    artel_variable *variable;
    artel_variable *words; /* those of strings */
    artel__adopted *adopted;
    artel__adopted *text_layer; /* models of one layer of text, called as operations */
    artel_strategy *moves;      /* of functions that move strings, as numbers (text_moves.c); NULL: none yet */
    artel_optimizer *optimizer;
    artel_function *function;
    bool open, common;
    int first, ranks; /* of this process's first replica; of all tasks */
    artel__arithmetic arithmetic;
    artel__state **state; /* by replica; common ones are that of the first */
    artel__pool **pool;
    artel__crew *crew;
    int64_t runs;
    struct artel__loop *loop; /* in a cluster (cluster.c); NULL: this process is alone */
    int servers;              /* ps tasks, which own the variables; 0: replicas do */
    int copies;               /* servers that have each part */
    bool on_devices;          /* their workers compute on some */
    artel__partition_rule partition;
    artel__owned_piece *piece; /* once the strategy is open: of variable v those from first_piece[v] on, before
                                  first_piece[v + 1] */
    int *first_piece, pieces;
    artel_worker_data *data;
    int data_count;
    artel_coordinator *coordinator;
    artel_values *values;
};

/* What a value of the caller stands for. */
typedef struct artel__place {
    artel__value_id value;
    int64_t rows;      /* of the matrix, where it lies in panels */
    artel_shape shape; /* as the caller sees it; gradients of weights are matrices in the graph */
    artel__text_value
        *text; /* what it is outside of the graph (texts.h), which has it once it is read; NULL: nothing */
} artel__place;

/* Nodes whose first result is value `from` or a later one, up to the next entry, belong to this place (device.c). */
typedef struct artel__device_span {
    artel__value_id from;
    artel__device_name device;
} artel__device_span;

typedef struct artel__device_spans {
    artel__device_span *span;
    int count, room;
} artel__device_spans;

enum {
    ARTEL__MOST_DEVICES = 64 /* places open within one another */
};

/* What a call of a model has left beside its outputs (call_extras.c). */
typedef struct artel__call_extras {
    const artel__adopted *of;
    artel_value activity; /* rows; ARTEL_NO_VALUE: its layers add nothing */
    artel_value *output, *mask;
    int outputs;
    struct artel__call_extras *next;
} artel__call_extras;

/* While a function is traced. Values of the caller are places: passes may rename what lies behind them. */
struct artel_graph {
    artel_context *ctx;
    artel_strategy
        *strategy; /* NULL: a layer, a loss, an operation of a program is called into a graph of the library's */
    artel__graph *graph;
    struct artel__tape *tape; /* of what is asked of it (tape.h); NULL: nobody listens */
    artel__texts *texts;      /* of a function; NULL: parts of models have none */
    artel__place *place;
    int places, capacity;
    artel__call_extras *extras; /* of models that were called, the last call first */
    artel_optimizer **applied;
    int applies;
    artel_optimizer *scaling; /* that of these whose steps are taken where its gradients are finite; NULL: all are */
    bool *assigned;           /* by variable of the strategy */
    artel__update *update;
    int updates, update_room;
    artel__device_spans devices;
    artel__device_name device[ARTEL__MOST_DEVICES]; /* those that are open */
    int device_depth;
    int bodies; /* functions of control flow that are being traced, one in another */
};

/* One replica's part of a function. */
typedef struct artel__function_replica {
    artel__execution *run;
    void **buffer; /* by argument: where the step reads */
    size_t *bytes;
    artel__fold_plan fold;
    int64_t *start;
    artel__step *step; /* of optimizers beside the first */
    void **
        gathered; /* by result, of replicas beside the first among several tasks: what it gets of all rows; else NULL */
    size_t *gathered_bytes;
    artel_status status;
    bool faulted;
    bool applied; /* all ranks came through: the run counts */
} artel__function_replica;

typedef struct artel__function_argument {
    const char *name;
    artel_dtype dtype;
    bool shared;
    artel_shape shape;
} artel__function_argument;

/* What a function gives back: kept by the graph, or outside of it. */
typedef struct artel__function_output {
    int kept; /* -1: outside */
    artel__text_value *text;
} artel__function_output;

/* What replicas hand out of the graph. */
typedef struct artel__function_result {
    int kept;
    int output;              /* of the function; -1: none */
    artel__text_value *text; /* that is made of it; NULL: none */
} artel__function_result;

struct artel_function {
    artel_strategy *strategy;
    artel__arena arena;
    artel__graph graph;
    struct artel__tape *tape; /* for saving it (tape.h) */
    const char *name;
    artel__device_spans devices;
    bool training, writes;
    artel__function_argument *argument; /* behind them, what of texts is fed */
    int arguments, rows_arguments, outputs;
    int fed; /* inputs of the graph */
    artel__function_output *output;
    artel__function_result *result;
    int results;
    artel__texts *texts;
    artel_optimizer **applied; /* those that step in a run, as nodes number them (artel__node.optimizer) */
    int applies;
    artel_optimizer
        *scaling; /* that of these whose step is taken where the kept value `gate` is finite; NULL: all are */
    int gate;
    artel__executable *plan;
    artel__function_replica *replica; /* made with the plan, in `place`: for the ranks of the moment */
    artel__arena place;
    artel__text text;  /* of artel_function_explain */
    int number;        /* in the order of their making */
    int64_t first_row; /* what messages call the first row of a run */
    artel__update *update;
    int updates;
    int *read, reads;  /* variables that a run reads */
    artel__span *span; /* by read: what of it */
    artel__tables tables;
    artel_function *next;
};

/* The optimizer that a run steps; NULL: it steps none. Of functions that servers or sessions run, which have one at
 * most. */
static inline artel_optimizer *artel__function_optimizer(const artel_function *f)
{
    return f->applies > 0 ? f->applied[0] : NULL;
}

/* The variable of that name, but for dots and slashes; NULL: there is none. */
const char *artel__strategy_named(const artel_strategy *strategy, const char *name);
/* metric.c: the sums of a batch, shared; `inputs`: target, prediction, weight. */
artel_value artel__graph_metric(artel_graph *graph, const char *metric, const artel_shape *prediction,
                                const artel_value *inputs);
/* A model whose weights it holds; NULL: it does not. */
artel__adopted *artel__strategy_find(const artel_strategy *strategy, const artel_model *model);

/* words.c: variables of strings, whose options are checked as those of others are; the end of all of them. Elements are
 * borrowed until they are assigned anew. */
artel_status artel__words_create(artel_strategy *strategy, const artel_variable_options *options, artel_variable **out);
void artel__words_end(artel_strategy *strategy);
const char *artel__words_name(const artel__words *words);
const artel_shape *artel__words_shape(const artel__words *words);
artel_status artel__words_read(const artel_variable *variable, artel_dtype dtype, artel_string *out, int64_t count);
artel_status artel__words_assign(artel_variable *variable, artel_dtype dtype, const artel_string *from, int64_t count);
/* The elements that it has; a block of those that it shall have, and the moment from which it has them, when the
 * caller gets the old block. */
artel_string *artel__words_elements(const artel_variable *variable);
artel_status artel__words_prepare(const artel_variable *variable, const artel_string *from, void **block);
void *artel__words_swap(artel_variable *variable, void *block);
/* Its place among the strategy's variables of strings, in the order of their making. */
int artel__words_number(const artel_variable *variable);
/* All of them as they travel between tasks: with a hash of what goes before; *out is the caller's, NULL where there is
 * none; all are taken, or none. */
uint64_t artel__words_hash(const artel_strategy *strategy, uint64_t hash);
artel_status artel__words_image(const artel_strategy *strategy, void **out, size_t *bytes);
artel_status artel__words_take_image(artel_strategy *strategy, const void *image, size_t bytes);
/* UNSUPPORTED where it holds strings: "optimizers" take numbers. */
artel_status artel__words_refuse(const artel_variable *variable, const char *what);

/* aggregation.c: how rows become the value of a variable, by the options; their names, NULL where it is what variables
 * are unless they say so. */
artel_status artel__joining_read(artel_context *ctx, const artel_variable_options *options, artel__joining *out);
const char *artel__joining_aggregation(const artel__joining *joining);
const char *artel__joining_synchronization(const artel__joining *joining);

/* scope.c: which strategy is current: while a function is traced it is the function's (`frame` is the caller's, until
 * untrace); one that ends is left everywhere. */
typedef enum artel__scope_kind {
    ARTEL__SCOPE_ENTERED,
    ARTEL__SCOPE_SET,
    ARTEL__SCOPE_TRACED
} artel__scope_kind;
typedef struct artel__scope_frame {
    artel_strategy *strategy;
    artel__scope_kind kind;
    struct artel__scope_frame *outer;
} artel__scope_frame;
artel_status artel__scope_trace(artel_strategy *strategy, artel__scope_frame *frame);
void artel__scope_untrace(artel__scope_frame *frame);
void artel__scope_forget(const artel_strategy *strategy);

/* replicas.c: who computes: shards, replicas and devices of its options, the group that connects them. */
artel_status artel__strategy_resolve(artel_strategy *strategy);
/* By replica, and behind the last, its first shard, where they are not even; else NULL. */
const int32_t *artel__strategy_runs(const artel_strategy *strategy);
/* The first shard of a replica of this process, or of the one behind the last. */
int32_t artel__strategy_first_shard(const artel_strategy *strategy, int replica);
/* open.c: opens a strategy: variables are final from here on, and what declares something fails. */
artel_status artel__strategy_open(artel_strategy *strategy);
artel_status artel__strategy_may_declare(artel_strategy *strategy, const char *what);
/* What devices hold: of the first replica, for whoever reads variables; of all replicas, for whoever writes some of
 * them. Errors: RUN (a device is lost, and what it held). */
artel_status artel__strategy_bring(const artel_strategy *strategy);
artel_status artel__strategy_bring_all(const artel_strategy *strategy);

/* plan.c: plan and runs, which the first run makes; gives them up, and the next run makes them anew; gives up the whole
 * function. */
artel_status artel__function_open(artel_function *function);
void artel__function_unplace(artel_function *function);
void artel__function_destroy(artel_function *function);

/* elsewhere.c: variables that servers own. Of the strategy's options and cluster; of an optimizer that is made; while a
 * function is traced, what it would write; what it reads, once it is sealed; who owns which variable, once all are
 * declared. */
artel_status artel__elsewhere_begin(artel_strategy *strategy, artel_cluster *cluster);
artel_status artel__elsewhere_check(artel_strategy *strategy, const artel__optimizer *optimizer);
void artel__elsewhere_assign(artel_graph *graph, const artel_variable *variable, artel__value_id value);
void artel__elsewhere_add(artel_graph *graph, const artel_variable *variable, artel__value_id value);
artel_status artel__elsewhere_apply(artel_graph *graph, artel_optimizer *optimizer, artel__value_id *gradient);
void artel__elsewhere_keep(artel_function *function, artel_graph *graph);
artel_status artel__elsewhere_finish(artel_function *function);
artel_status artel__elsewhere_place(artel_strategy *strategy);
/* tables.c: the tables of a function, once it knows what it reads and is sealed; memory to look them up with, made by
 * who needs it and given up with the function. run.c: looks up what a run of these arguments reads of them. */
artel_status artel__tables_find(artel_function *function);
artel_status artel__spans_find(artel_function *function); /* spans.c: what of each variable, then */
artel_status artel__tables_open(artel_function *function);
void artel__tables_close(artel_function *function);
artel_status artel__function_look(artel_function *function, const artel_array *in, int64_t rows);
/* coordinator.c: a variable of the servers, into or out of the state that lies here. */
artel_status artel__elsewhere_read(artel_strategy *strategy, int variable);
artel_status artel__elsewhere_write(artel_strategy *strategy, int variable);

/* run.c: arguments as they must be, *rows of them; and a run, whose number counts for random operations. */
artel_status artel__function_check(const artel_function *function, const artel_array *in, int inputs, int64_t *rows);
/* The same of one argument, and of how many rows there are; *rows -1: not known yet. */
artel_status artel__function_check_one(const artel_function *function, int argument, const artel_array *given,
                                       int64_t *rows);
artel_status artel__function_check_rows(const artel_function *function, int64_t rows);
artel_status artel__function_execute(artel_function *function, const artel_array *in, const artel_array *out,
                                     int64_t rows);

/* graph_text.c, text_moves.c: an operation on strings, or one that makes strings: how many results it has, or a
 * negative status; 0: it is none. */
int artel__texts_op(artel_graph *graph, const char *name, const char *class_name, const artel_value *inputs, int count,
                    const char *attributes, artel_value *outputs, int most);
/* What values, variables and control flow of a graph ask of its text: a place whose value the graph is to read, false
 * after a failure; constants and variables; all rows of strings as one shared value, with empty ones up to batch_size;
 * a where the condition, a bool scalar of the graph, holds, else b. */
typedef struct artel__graph_texts {
    bool (*feed)(artel_graph *graph, artel__place *place);
    artel_value (*constant)(artel_graph *graph, const artel_shape *shape, const artel_string *elements);
    artel_value (*variable)(artel_graph *graph, const artel_variable *variable);
    void (*assign)(artel_graph *graph, artel_variable *variable, artel_value value);
    artel_value (*gather)(artel_graph *graph, artel_value rows);
    artel_value (*choose)(artel_graph *graph, artel__value_id condition, artel_value a, artel_value b);
} artel__graph_texts;
extern const artel__graph_texts artel__graph_text; /* graph_text.c */
/* gradient.c: a model on rows, its variables those from `adopted->base` on. call_extras.c: what that has left beside
 * its outputs; a failure is the graph's. */
artel_status artel__graph_call_model(artel_graph *graph, const artel__adopted *adopted, const artel_value *inputs,
                                     artel_value *outputs);
void artel__extras_note(artel_graph *graph, const artel__adopted *of, const artel_value *outputs,
                        const artel__tensor *made);
/* gradient.c: whether a variable may be written here; false marks the graph. */
bool artel__graph_may_write(artel_graph *graph, const char *variable);
/* texts.c: text outside of the graph (texts.h). While a function is traced: an argument of strings; a place whose value
 * the graph is to read, false after a failure; whether a model takes text; an argument of text as its input; all that
 * is computed ahead of its graph, in `ahead`, which the graph then has; an output. Once it is traced. */
artel_value artel__texts_argument(artel_graph *graph, int argument, artel__value_id input, const char *name);
bool artel__texts_takes(const artel__model *model);
artel__value_id artel__texts_input(artel_graph *graph, artel_value value, const char *name);
artel_status artel__texts_begin(artel_graph *graph, const artel__model *model, const artel_value *inputs,
                                const artel__tensor *in, artel__ahead *ahead);
bool artel__texts_output(artel_graph *graph, artel_value value, artel__function_output *out);
artel_status artel__texts_finish(artel_function *function, artel_graph *graph);
/* Whether it computes with text; whether rows meet in it. texts_dump.c: what it does, as text. */
bool artel__texts_any(const artel_function *function);
bool artel__texts_cross(const artel_function *function);
void artel__texts_dump(const artel_function *function, artel__text *out);
/* texts_run.c: memory for its runs; what a run feeds, before the replicas begin; what it makes of what they have
 * computed, for them to compute again (passes 1, 2, ..., texts.h) and before anything is written; outputs and
 * variables, once all is well; the end. */
artel_status artel__texts_open(artel_function *function);
void artel__texts_close(artel_function *function);
artel_status artel__texts_run(artel_function *function, const artel_array *in, int64_t rows);
bool artel__texts_follow(const artel_function *function); /* whether there is such a part */
int artel__texts_passes(const artel_function *function);  /* texts.c */
artel_status artel__texts_run_pass(artel_function *function, int pass, int64_t rows);
artel_status artel__texts_run_late(artel_function *function, int64_t rows);
void artel__texts_hand_out(artel_function *function, const artel_array *out, int64_t rows);
void artel__texts_end(artel_function *function);
/* The elements of a fed input behind the arguments. */
const void *artel__texts_fed(const artel_function *function, int input);
/* Where the copy of a result of the graph goes, of which text is made. */
void *artel__text_target(const artel__text_value *value);
int artel__text_late(const artel__text_value *value); /* behind which pass it is known */
/* What an output is; its shape is that of a row where it has rows. */
void artel__function_describe(const artel_function *function, int output, artel_dtype *dtype, artel_shape *shape,
                              bool *rows);

/* cluster.c. What all tasks must have in common; runs of functions and steps of optimizers, whose number is final once
 * the strategy is open. */
artel_status artel__functions_hash(const artel_strategy *strategy, char hex[65]);
int artel__counters_count(const artel_strategy *strategy);
void artel__counters_read(const artel_strategy *strategy, int64_t *out);
void artel__counters_write(artel_strategy *strategy, const int64_t *from);
/* Among other tasks: whether functions may run now (in a unit, in a seat); that a run was interrupted by what is no
 * failure of this task; that it counts. `begin` takes the cluster of the options; all do nothing where there is none.
 */
artel_status artel__loop_begin(artel_strategy *strategy, artel_cluster *cluster);
artel_status artel__loop_may_run(const artel_strategy *strategy);
void artel__loop_interrupted(artel_strategy *strategy);
void artel__loop_ran(artel_strategy *strategy);
artel__mesh_activity *artel__loop_activity(const artel_strategy *strategy, int index);
void artel__loop_end(artel_strategy *strategy);

/* device.c. Where a node shall be, as the program says; what it says nothing about is empty. Whether every place that
 * was opened has ended. */
artel__device_name artel__function_device(const artel_function *function, int node);
artel_status artel__devices_finish(artel_graph *graph);

/* A graph of the library's as one that is traced, for the length of a call. */
void artel__graph_wrap(artel_graph *out, artel__graph *graph);
/* A place, or ARTEL_NO_VALUE after a failure. */
artel_value artel__graph_put(artel_graph *graph, const artel__place *place);
/* A place for a value, or ARTEL_NO_VALUE after a failure. */
artel_value artel__graph_give(artel_graph *graph, artel__value_id value);
/* The same for a value that lies as a variable of this form does, or like it. */
artel_value artel__graph_give_weights(artel_graph *graph, artel__value_id value, int64_t rows,
                                      const artel_shape *shape);
/* What lies behind a place, plain: weights in panels are copied. ARTEL__NO_VALUE after a failure, with which the graph
 * is marked. */
artel__value_id artel__graph_take(artel_graph *graph, artel_value value);
/* The place itself, for who takes panels, too; NULL after a failure. */
const artel__place *artel__graph_place(artel_graph *graph, artel_value value);
/* Marks the graph as failed. */
artel_value artel__graph_refuse(artel_graph *graph, artel_status status, const char *where, const char *advice,
                                const char *format, ...) ARTEL__PRINTF(5, 6);

#endif
