/* SPDX-License-Identifier: Apache-2.0 */
/* A session: one model being trained, evaluated or used for prediction on the replicas of this process, which are all
 * replicas or, in a cluster, a run of ranks among those of all tasks.
 *
 *   compile settings + model  ->  objective (three graphs: training, evaluation, prediction)
 *   objective + strategy      ->  session: a plan a graph and, for each replica, state, pool, runs and batch buffers
 * A step is compute on every replica (artel__session_compute), then apply; metric sums, the loss of the epoch and the
 * counters change only after it, in the same place. The caller's thread is replica 0; the others wait for work.
 */
#ifndef ARTEL_TRAIN_SESSION_H
#define ARTEL_TRAIN_SESSION_H

#include "artel/fit.h"
#include "cluster/mesh.h"
#include "data/data.h"
#include "device/select.h"
#include "exec/device.h"
#include "graph/recompute.h"
#include "kernel/held_rows.h"
#include "keras/model.h"
#include "nn/loss.h"
#include "nn/optimizer.h"
#include "train/batches.h"

/* Compile settings resolved against a model: one loss an output (or none), metrics, an optimizer. */
typedef struct artel__output_settings {
    artel__loss_config loss;
    bool has_loss;
    double loss_weight;
    artel__metric *metric; /* compiled metrics, then weighted ones */
    bool *weighted;
    int metrics;
} artel__output_settings;

typedef struct artel__settings {
    artel__output_settings *output;
    int outputs;
    artel__optimizer optimizer;
    bool has_optimizer;
    bool eagerly; /* Keras' run_eagerly: losses of several outputs are means by rows then */
} artel__settings;

/* Whose compile_config is read, and for what. */
typedef struct artel__settings_source {
    const artel_model *model;
    artel_data *data; /* its targets say what "crossentropy" means, unless predictions are one number
                         (artel__loss_needs_target); NULL: it is refused where they must */
    bool train;       /* with an optimizer */
    int replicas;     /* with the batch size resolves schedules; 0: not known yet */
    int64_t batch_size;
} artel__settings_source;
artel_status artel__settings_read(artel__arena *arena, const artel__settings_source *source, artel__settings *out);
/* The optimizer alone. */
artel_status artel__settings_read_optimizer(artel__arena *arena, const artel__settings_source *source,
                                            artel__settings *out);
/* Schedules in tables once more, for the replicas of `source`, which are known only now; nothing else changes. */
artel_status artel__settings_reschedule(artel__arena *arena, const artel__settings_source *source,
                                        artel__settings *settings);
/* What Keras warns of: categorical crossentropy, and softmax, of a single number. */
void artel__settings_warn(const artel_model *model, const artel__settings *settings);

/* -- objective: what a graph computes beside the model (objective.c) -- */

typedef enum artel__mode {
    ARTEL__MODE_TRAIN,
    ARTEL__MODE_EVALUATE,
    ARTEL__MODE_PREDICT,
    ARTEL__MODE_TRAIN_TOKENS, /* which rows of tables a batch of training, or of evaluation, reads
                                 (artel__objective.tables) */
    ARTEL__MODE_EVALUATE_TOKENS,
    ARTEL__MODE_COUNT
} artel__mode;

/* A metric of the compile settings in a graph. */
typedef struct artel__metric_slot {
    const char *name; /* as in History: prefixed by the output where there are several */
    const artel__metric *metric;
    int kept;          /* of its float64 sums in this graph */
    int first;         /* of its accumulators */
    int64_t positions; /* of a row, that it looks at */
} artel__metric_slot;

/* A table of an embedding of which only the rows that a batch names are known here, and get a gradient. */
typedef struct artel__objective_table {
    int trainable;    /* its number among the trainable variables */
    int token, count; /* kept: int32 tokens of the batch, ascending, and [1] how many */
    int64_t most;     /* of them */
} artel__objective_table;

typedef struct artel__objective {
    artel__arena arena;
    artel__graph graph;
    artel__metric_slot *slot;
    int slots, sums;       /* accumulators of all metrics */
    int *loss_kept;        /* by output: float64 [2], sum of weighted losses and sum of weights; -1: no loss */
    int *denominator_kept; /* by output: float64 [2], its second number is the denominator; -1: known, see elements */
    int64_t *elements;     /* by output: elements of the loss in a row */
    int penalty_kept;      /* float64 [1]; -1: none */
    int extra_kept;        /* float64 [2]: what layers add to the loss of all rows, and how many rows; -1: nothing */
    int gate_kept;         /* float64 [1], finite when the step is taken; -1: it always is */
    artel__recompute_report recompute; /* of the training graph, when asked for */
    bool recomputes;
    int *prediction_kept; /* by output, prediction graphs only */
    /* With `elsewhere`, by trainable variable, -1: none. */
    int *gradient_kept; /* regularised, of the form of the variable; of a table below: rows, in the order of its tokens
                         */
    int *squares_kept;  /* of an embedding's gradient, where the rule wants them; rows, too */
    int *norm_kept;     /* float64 [1]: the squared norm that clipping needs */
    bool *clipped;      /* by value, already */
    artel__objective_table
        *table; /* in the order of `trainable`; also in the modes of tokens, which compute nothing else */
    int tables;
} artel__objective;

/* What the model wants to be fed in a mode, from its inputs and settings. Lives in `arena`. */
artel_status artel__objective_wants(artel__arena *arena, const artel__model *nn, const artel__settings *settings,
                                    artel__mode mode, artel__data_wants *out);
/* Of sample weights, which all outputs may share: FLOAT64 where a prediction is that. */
artel_dtype artel__objective_weight_dtype(const artel__model *nn);

/* Builds and seals the graph of a mode for the arrays of a feed: fed inputs are the feed's arrays in order. `weighted`:
 * a sample weight is fed last although the feed has none (class weights). `slots` NULL except for training. */
typedef struct artel__objective_request {
    artel__model *nn;
    const artel__settings *settings;
    const artel__variables *variables;
    const artel__feed *feed;
    artel__mode mode;
    bool weighted;
    const artel__optimizer_slots *slots;
    int bucket;                         /* of the feed's, to which rows are cut; -1: they are whole */
    int64_t batch_size;                 /* the most rows of a global batch */
    int batch_groups;                   /* as in artel__session_options */
    artel__recompute_options recompute; /* of the training graph; extra_time 0: none */
    bool elsewhere;                     /* as in artel__session_options */
    bool whole;                         /* likewise */
    const artel__objective *training;   /* modes of tokens: whose tables */
} artel__objective_request;
artel_status artel__objective_create(artel_context *ctx, const artel__objective_request *request,
                                     artel__objective **out);
void artel__objective_destroy(artel__objective *objective);

/* -- session (session.c, session_step.c) -- */

typedef struct artel__session artel__session;

typedef struct artel__session_options {
    artel_model *model;
    const artel__settings *settings;
    const char *strategy;
    int replicas, threads; /* 0: decided */
    int64_t batch_size;
    int32_t shards; /* 0: default of the batch size */
    uint64_t seed;
    bool train;                 /* declare optimizer slots and take up saved optimizer state */
    const double *class_weight; /* by class number, or NULL: replaces a sample weight */
    int classes;
    bool stop_on_nan;       /* a loss that is not finite fails the step */
    double recompute;       /* the share of a step's time that may be spent on computing activations again; 0: none */
    const char *all_reduce; /* how sums travel; NULL, "auto": decided */
    int batch_groups;       /* groups of shards with batch statistics of their own; 0 or 1: the global batch */
    artel_cluster *cluster; /* NULL, or a cluster of one: none */
    const char *arithmetic; /* of products of two bfloat16 operands: "chain", "tiles"; NULL, "auto": decided */
    artel__device_request device; /* what computes; nothing named: the cores of this machine */
    /* Variables that belong to servers (part.h). */
    bool elsewhere; /* a step ends with the gradients, which the objective keeps; what the optimizer does is done
                       elsewhere */
    bool whole;     /* the gradients of tables are kept whole, not as rows */
    bool cache;     /* no slots of the optimizer here */
    bool unplaced;  /* graphs are built, and no plans or runs: no step can be made */
    bool alone;     /* the tasks of the cluster do not step together: this process has all shards */
} artel__session_options;

artel_status artel__session_create(artel_context *ctx, const artel__session_options *options, artel__session **out);
void artel__session_destroy(artel__session *session);

/* In a cluster: gives this process's replicas their ranks in a generation, hence their shards, and connects them to the
 * others. For each generation, between two steps: plans and runs of prepared modes are made anew, variables stay.
 * Sessions of one process have their seats from the start. */
artel_status artel__session_seat(artel__session *session, const artel__mesh_seat *seat);
/* Gives its seat up: no endpoint is used any more, variables stay. Until it is seated again no step can be made. */
void artel__session_unseat(artel__session *session);
/* Whether the last step failed because its generation is over or not all came through it, and not for anything found
 * here. Nothing has changed; the step can be made again in another seat. */
bool artel__session_interrupted(const artel__session *session);
/* Whether the last failure would be the same for whoever computes that step. */
bool artel__session_is_common_fault(const artel__session *session);
/* The class of arithmetic of the devices that compute: part of what a run is. NULL: processors. */
const char *artel__session_device_class(const artel__session *session);
/* Of the programs of training, where kernels were measured: what they are (artel__executable_programs). False: kernels
 * are not measured, or the programs come with the first step. */
bool artel__session_programs(const artel__session *session, char out[65]);
/* A line about the programs of a mode and what a step needs of a device's memory, of each length where batches are of
 * like length; nothing of processors. */
void artel__session_summary(const artel__session *session, artel__mode mode, artel__text *out);
/* How many programs of devices were compiled, and found compiled, up to now. False: there are no devices. */
bool artel__session_program_counts(const artel__session *session, int *compiled, int *found);
/* A number for the variables: equal in all tasks after the same steps. */
uint64_t artel__session_hash(const artel__session *session);
/* The cluster, or NULL when this process trains alone. */
artel_cluster *artel__session_cluster(const artel__session *session);

/* Makes graph, plan and runs of a mode for a feed (borrowed). Batches of this mode hold at most `batch_size` rows.
 * Where batches are of like length (artel__feed_buckets), and perhaps of sizes of their own, there are as many of each,
 * with the variables in common; a step takes those of its batch, and what is asked about a mode behind it is about
 * these. Errors: UNSUPPORTED, INVALID where the model does not take rows of any length. */
artel_status artel__session_prepare(artel__session *session, artel__mode mode, const artel__feed *feed,
                                    int64_t batch_size);

/* One batch on all replicas. For TRAIN the result is applied unless something failed; then nothing has changed. */
typedef struct artel__batch {
    const uint64_t *rows; /* of the feed, in batch order */
    int64_t count;
    int64_t pass;                /* over the data: what random stages of pipelines draw by */
    int bucket;                  /* of the feed's; 0 where it has none */
    const artel__row_move *move; /* as in artel__batch_rows */
    int64_t moves;
    uint64_t ordinal;  /* batches consumed before this one */
    int64_t position;  /* rows of the epoch before it */
    int64_t iteration; /* optimizer steps before */
    double learning_rate;
    bool compares; /* among tasks: what has been read so far is compared; the same on all */
    artel__batch_rows
        ahead[ARTEL__PREFETCH_AHEAD]; /* the batches after it, as far as they are known; only read ahead */
} artel__batch;
artel_status artel__session_step(artel__session *session, artel__mode mode, const artel__batch *batch);

/* Which rank has which files of the data (deal.h), of training and of validation. */
typedef struct artel__deal_mode {
    const artel__feed *feed;
    int parts;
    bool whole; /* all ranks hold all parts: rows stay where they are */
    uint64_t *rows[1 + ARTEL__PREFETCH_AHEAD];
    artel__row_move *move[1 + ARTEL__PREFETCH_AHEAD];
    uint64_t *left; /* scratch: rows that found no room */
} artel__deal_mode;

typedef struct artel__deal {
    bool shared;  /* what is held is known, in this seat */
    double *held; /* [ranks][words]; on the heap */
    int64_t sent; /* rows of training that were sent, so far */
    artel__deal_mode mode[ARTEL__MODE_COUNT];
} artel__deal;

/* On all replicas of all tasks, in a seat: what they hold, into session->deal->held. */
artel_status artel__session_share(artel__session *session);

/* Hashing of the rows that are read (content.h): whether it is done, from the next seat or preparation on; after a step
 * of training, the sum over the rows it covers. False: none yet, later ones cover this step, too. */
void artel__session_read_content(artel__session *session, bool reads);
bool artel__session_content(const artel__session *session, uint64_t *sum);

/* Optimizer steps that the model had behind it when the session took it up. */
int64_t artel__session_iteration(const artel__session *session);

/* After a step of training: whether the optimizer took it; not when a LossScaleOptimizer met a gradient that is not
 * finite. */
bool artel__session_took_step(const artel__session *session);

/* After a step: what was found about the first loss that was not finite (one line; "" when nothing), reported once. */
const char *artel__session_take_fault(artel__session *session);

/* After a step: the total loss of the batch (penalties included), by output (or NULL), and the metric sums added to
 * `sums`. */
double artel__session_loss(const artel__session *session, artel__mode mode, double *by_output);
void artel__session_add_sums(const artel__session *session, artel__mode mode, double *sums);
/* PREDICT: rows of an output are handed out in order of the batch: copies count * elements numbers of `dtype`. */
void artel__session_predictions(const artel__session *session, int output, artel_dtype dtype, void *values);
/* The same, each row to the place that it has in the feed; `scratch` has room for those of the batch. */
void artel__session_scatter(const artel__session *session, int output, artel_dtype dtype, const artel__batch *batch,
                            void *scratch, void *values);
/* UNSUPPORTED where an output has another shape in batches of another length, so that rows make no array. */
artel_status artel__session_check_outputs(const artel__session *session);

const artel__objective *artel__session_objective(const artel__session *session, artel__mode mode);
int artel__session_nodes(const artel__session *session, artel__mode mode); /* the most of a graph of the mode */
const artel__executable *artel__session_plan(const artel__session *session, artel__mode mode);
/* The variables of replica 0 (all replicas hold the same bits). Model variables come first, with the indices of
 * nn->variables. */
artel__state *artel__session_state(artel__session *session);
const artel__optimizer_slots *artel__session_slots(const artel__session *session);
bool artel__session_is_cache(const artel__session *session); /* of variables that belong to servers */
const artel__model *artel__session_network(const artel__session *session);
const artel__optimizer *artel__session_optimizer(const artel__session *session);
/* After a step of training, or of another mode: what replica 0 has kept under that number. */
void *artel__session_kept(artel__session *session, int n);
void *artel__session_kept_in(artel__session *session, artel__mode mode, int n);
/* The gradient of a trainable variable that the objective has kept, in the layout of the variable's memory. */
float *artel__session_gradient(artel__session *session, int trainable);
/* By variable: rows that embeddings read in place of tables (kernel/held_rows.h), as they are when a step is made.
 * Lent; NULL: tables are whole, in the state. */
void artel__session_hold_rows(artel__session *session, const artel__held_rows *held);
/* While *stop is true, a step ends at its next node with ARTEL_ERROR_CANCELLED. Lent; for modes that are prepared
 * already. */
void artel__session_stop_when(artel__session *session, const atomic_bool *stop);
/* Copies replica 0's variables to all others, after they were changed from outside (restore, callbacks). */
void artel__session_broadcast(artel__session *session);
/* What Keras' fit does when the last epoch is over: with use_ema the averages become the weights. */
void artel__session_finalize(artel__session *session);
/* Moving averages, if the optimizer keeps them, change places with the variables; become what these are. */
void artel__session_swap_averages(artel__session *session);
void artel__session_take_averages(artel__session *session);
/* Puts weights and optimizer state back into the model. */
artel_status artel__session_export(artel__session *session, artel_model *model, int64_t iteration,
                                   double learning_rate);

/* Gives back the memory of steps, before results are written: variables remain, and no step may follow before the next
 * seat. */
void artel__session_release(artel__session *session);

/* The arithmetic of products of two bfloat16 operands (arithmetic.c). Whether there are any, in the modes that were
 * prepared. */
bool artel__session_has_products(const artel__session *session);
/* "auto", "chain", "tiles": what was asked for. */
const char *artel__session_asked_arithmetic(const artel__session *session);
/* False: not decided yet, for the tasks of the cluster agree when they form. */
bool artel__session_products_of(const artel__session *session, artel__arithmetic *out);
/* What this machine is made for: 1 + artel__arithmetic; 0: there are no such products. */
uint32_t artel__session_best_arithmetic(const artel__session *session);
/* That of a checkpoint whose state is taken up. Between two steps. */
artel_status artel__session_continue_in(artel__session *session, artel__arithmetic arithmetic);

/* Facts for events and dumps. */
const char *artel__session_strategy(const artel__session *session);
int artel__session_replicas(const artel__session *session); /* of this process */
int artel__session_ranks(const artel__session *session);    /* of all tasks */
int artel__session_threads(const artel__session *session);
int32_t artel__session_shards(const artel__session *session);
const char *artel__session_all_reduce(const artel__session *session); /* as resolved */
const char *artel__session_arithmetic(const artel__session *session); /* the class, and why, in words */
void artel__session_explain(const artel__session *session, artel__text *out);
/* Per node of the training graph: time since artel__session_profile was called last (replica 0), and how many rows that
 * replica had in the last step. NULL: it was not, or there is another plan since then, because ranks have come or gone.
 */
const artel__node_time *artel__session_times(const artel__session *session, int64_t *rows);
artel_status artel__session_profile(artel__session *session);
/* How long replica 0 waited for the rows of the last step (and when it began to), zeros if that was not measured; and
 * whether they were fetched ahead. */
int64_t artel__session_input_time(const artel__session *session, int64_t *begin_ns, bool *ahead);
/* Processor time of fetching rows ahead, of all replicas of this process, in ns since this was asked last. */
int64_t artel__session_reading_time(artel__session *session);

#endif
