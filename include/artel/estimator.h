/* SPDX-License-Identifier: Apache-2.0 */
/* Training and evaluating a model function, as tf.estimator.train_and_evaluate() did it.
 *
 * An estimator knows how a model is made (two functions of the program's own) and where it lives (a directory of
 * checkpoints). Inputs, how long to train, when to evaluate and what to export are said in each call. The same program
 * runs alone, under any strategy of artel/strategy.h, and as the tasks of a cluster: the chief (without one: worker 0)
 * writes checkpoints, the evaluator evaluates them. A run that was stopped, or killed, goes on from its newest
 * checkpoint, with the bits of one that was not: the batch of a step is a function of the step's number.
 *
 * Threads: an estimator belongs to one thread at a time, like its context. What is handed to it, texts too, outlives
 * it. */
#ifndef ARTEL_ESTIMATOR_H
#define ARTEL_ESTIMATOR_H

#include "artel/cluster.h"
#include "artel/fit.h"
#include "artel/strategy.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct artel_estimator artel_estimator;

typedef enum artel_estimator_mode {
    ARTEL_ESTIMATOR_TRAIN = 0,
    ARTEL_ESTIMATOR_EVALUATE = 1,
    ARTEL_ESTIMATOR_PREDICT = 2
} artel_estimator_mode;

#define ARTEL_ESTIMATOR_METRICS 16 /* the most of a model function, and the most predictions */

/* -- the model -- */

/* Declares variables, models and optimizers in a strategy (artel/strategy.h), the same ones each time. Called before
 * the model function for each strategy that is made: one to train, one to evaluate, one to predict. Models are made
 * before, once; weights come from the checkpoint. */
typedef artel_status artel_estimator_build_fn(void *user, artel_strategy *strategy, artel_estimator_mode mode);

/* What a model function is given. Columns of the data are features, or labels: by role, or by name ("y", "y_...",
 * "label", "labels", "target", "targets"); one named "sample_weight", or of that role, is the weight. Floats are
 * float32 here, integers int32. */
typedef struct artel_estimator_batch {
    artel_estimator_mode mode;
    artel_strategy *strategy;
    const artel_value *features, *labels; /* rows */
    const char *const *feature_names, *const *label_names;
    int feature_count, label_count;
    artel_value weight; /* ARTEL_NO_VALUE: there is none */
} artel_estimator_batch;

typedef struct artel_estimator_metric {
    const char *name;  /* stays until the estimator is destroyed */
    artel_value value; /* one number a row: the metric is their mean; or shared: the mean of the batches, by rows */
} artel_estimator_metric;

typedef struct artel_estimator_prediction {
    const char *name;  /* stays until the estimator is destroyed */
    artel_value value; /* rows, of any shape and element type */
} artel_estimator_prediction;

/* What it makes, what EstimatorSpec is; all is none at first. */
typedef struct artel_estimator_spec {
    artel_value loss; /* one number a row, whose mean is the loss; or a shared scalar */
    artel_optimizer
        *optimizer; /* in training: takes a step against the loss; NULL: the model function writes variables itself */
    artel_estimator_metric metrics[ARTEL_ESTIMATOR_METRICS]; /* in evaluation, beside "loss" */
    int metric_count;
    artel_estimator_prediction predictions[ARTEL_ESTIMATOR_METRICS]; /* in prediction, which has no loss */
    int prediction_count;
} artel_estimator_spec;

/* Traced (artel/graph.h) for each mode. */
typedef artel_status artel_estimator_model_fn(void *user, artel_graph *graph, const artel_estimator_batch *batch,
                                              artel_estimator_spec *spec);

/* A variable that has another name in a checkpoint. */
typedef struct artel_renamed {
    const char *name;   /* artel_variable_name() */
    const char *before; /* there: a name as the file has it ("layers/dense/vars/0"), or that of a variable of the
                           program's own */
} artel_renamed;

/* What tf.estimator.WarmStartSettings is: variables begin as the checkpoint of another run has them, of an estimator,
 * of artel_strategy_save() or of fit. */
typedef struct artel_warm_start {
    size_t struct_size;
    const char *checkpoint; /* "run/ckpt-500", or a directory, of which the newest one */
    const char *variables;  /* which ones: a regular expression in RE2's syntax, found at the beginning of their names;
                               NULL: all */
    bool all;               /* those that are not trained, too (moving statistics) */
    const artel_renamed *renamed;
    int renamed_count;
} artel_warm_start;

#ifdef __cplusplus
static inline artel_warm_start artel_warm_start_init(void)
{
    artel_warm_start warm = artel_warm_start();
    warm.struct_size = sizeof warm;
    return warm;
}
#define ARTEL_WARM_START_INIT artel_warm_start_init()
#else
#define ARTEL_WARM_START_INIT                   \
    {                                           \
        .struct_size = sizeof(artel_warm_start) \
    }
#endif

typedef struct artel_estimator_options {
    size_t struct_size;
    const char
        *model_dir; /* checkpoints, exports, logs for TensorBoard; of a cluster: one directory that all tasks see */
    artel_estimator_build_fn *build; /* NULL: nothing is to be declared */
    artel_estimator_model_fn *model;
    void *user; /* of both */
    const artel_strategy_options
        *strategy;                  /* NULL: defaults; with the cluster. Its batch_size is ignored: inputs say it */
    int64_t save_checkpoints_steps; /* 0: by time */
    double save_checkpoints_secs;   /* 600; where no steps are given. 0: at the beginning and the end only */
    int64_t keep_checkpoint_max;    /* 5 */
    int64_t save_summary_steps;     /* 100: the loss for TensorBoard; 0: none */
    artel_event_fn *on_event;       /* STEP, CHECKPOINT, EVALUATE; or NULL */
    void *event_user;
    const artel_warm_start *warm_start; /* how a training begins that finds no checkpoint in model_dir; or NULL */
} artel_estimator_options;

#ifdef __cplusplus
static inline artel_estimator_options artel_estimator_options_init(void)
{
    artel_estimator_options options = artel_estimator_options();
    options.struct_size = sizeof options;
    options.save_checkpoints_secs = 600;
    options.keep_checkpoint_max = 5;
    options.save_summary_steps = 100;
    return options;
}
#define ARTEL_ESTIMATOR_OPTIONS_INIT artel_estimator_options_init()
#else
#define ARTEL_ESTIMATOR_OPTIONS_INIT                                                                            \
    {                                                                                                           \
        .struct_size = sizeof(artel_estimator_options), .save_checkpoints_secs = 600, .keep_checkpoint_max = 5, \
        .save_summary_steps = 100                                                                               \
    }
#endif

/* Errors: ARTEL_ERROR_INVALID (no directory, no model function, a number), ARTEL_ERROR_NO_MEMORY. On failure *out is
 * untouched. */
ARTEL_API artel_status artel_estimator_create(artel_context *context, const artel_estimator_options *options,
                                              artel_estimator **out);
ARTEL_API void artel_estimator_destroy(artel_estimator *estimator); /* NULL accepted */
/* The step of the newest checkpoint in the directory; -1: there is none. */
ARTEL_API artel_status artel_estimator_latest_checkpoint(const artel_estimator *estimator, int64_t *step);

/* -- input -- */

/* What an input function gives. Rows come in the data's order; a pipeline (artel/pipeline.h) shuffles. */
typedef struct artel_estimator_input {
    size_t struct_size; /* the library's: how much of this it reads */
    artel_data *data;   /* the estimator destroys it */
    int64_t batch_size; /* of all replicas together; the last batch of a pass may be smaller; 32 */
    int64_t passes;     /* over the data; 1. 0: for ever */
    artel_dtype floats; /* what columns of floating-point numbers are to the model function: float32, float64 */
    bool text;          /* columns of text are features, too, for models that take them; false: they are left out */
} artel_estimator_input;

/* Called when training or evaluation begins; *input holds the defaults. */
typedef artel_status artel_estimator_input_fn(void *user, artel_context *context, artel_estimator_input *input);

/* -- hooks -- */

/* A moment of training or evaluation, lent to a hook. Variables of the strategy may be read (artel_variable_read), and
 * between two steps of a training alone assigned, too. */
typedef struct artel_estimator_moment {
    artel_estimator *estimator;
    artel_strategy *strategy;
    artel_estimator_mode mode;
    int64_t step; /* training: steps that are done; evaluation: of the checkpoint */
    double loss;  /* of the step that is done (after); of the whole evaluation (end); else NaN */
    bool stop;    /* set it after a step or a batch, or at the beginning: what goes on ends in order, as if max_steps
                     or the input had ended here */
} artel_estimator_moment;

/* A failure ends the call. */
typedef artel_status artel_estimator_hook_fn(void *user, artel_estimator_moment *moment);

/* What tf.estimator takes as hooks and saving_listeners. Any may be NULL. In a cluster every task that trains calls
 * its own. Over parameter servers `before` is not called, for steps are made elsewhere, and `after` comes in the order
 * of steps, when their losses are heard. */
typedef struct artel_estimator_hook {
    size_t struct_size;                      /* of all in a list the same */
    artel_estimator_hook_fn *begin, *end;    /* of a training or an evaluation; end: not after a failure */
    artel_estimator_hook_fn *before, *after; /* of each step, or each batch that is evaluated */
    artel_estimator_hook_fn *saving, *saved; /* of each checkpoint, by the task that writes it */
    void *user;
} artel_estimator_hook;

/* -- training and evaluating -- */

typedef struct artel_train_spec {
    size_t struct_size;
    artel_estimator_input_fn *input;
    void *user;
    int64_t max_steps; /* of the whole training, those of earlier calls included; 0: until the input ends */
    int64_t steps;     /* artel_estimator_train(): of this call; not with max_steps */
    const artel_estimator_hook *hooks; /* called in this order */
    int hook_count;
} artel_train_spec;

typedef enum artel_exporter_kind {
    ARTEL_EXPORTER_LATEST = 0, /* after each evaluation */
    ARTEL_EXPORTER_BEST = 1,   /* after an evaluation that is better than all before, those of earlier calls included */
    ARTEL_EXPORTER_FINAL = 2   /* when training is over */
} artel_exporter_kind;

/* Writes what is wanted of a strategy's variables (artel_strategy_variable) into a directory, which appears whole or
 * not at all. It is the strategy of evaluation, with the checkpoint's variables. */
typedef artel_status artel_export_fn(void *user, artel_strategy *strategy, const char *directory);

/* Whether `now` is better than the best evaluation so far (its metrics alone, as they were kept): compare_fn of
 * BestExporter. */
typedef bool artel_exporter_better_fn(void *user, const artel_history *best, const artel_history *now);

typedef struct artel_exporter {
    size_t struct_size; /* of all in a list the same */
    artel_exporter_kind kind;
    const char *name;                 /* writes to MODEL_DIR/export/NAME/STEP; NULL: "latest", "best", "final" */
    const char *metric;               /* of BEST; NULL: "loss" */
    bool greatest;                    /* of BEST: the greatest value is the best one, not the least */
    int keep;                         /* exports; the oldest are removed. 0: 5, and all of FINAL */
    artel_export_fn *write;           /* NULL: each model that the strategy holds, as NAME.keras */
    void *user;                       /* of both functions */
    artel_exporter_better_fn *better; /* of BEST, instead of metric and greatest; or NULL. The first is always best */
} artel_exporter;

#ifdef __cplusplus
static inline artel_exporter artel_exporter_init(void)
{
    artel_exporter exporter = artel_exporter();
    exporter.struct_size = sizeof exporter;
    return exporter;
}
#define ARTEL_EXPORTER_INIT artel_exporter_init()
#else
#define ARTEL_EXPORTER_INIT                   \
    {                                         \
        .struct_size = sizeof(artel_exporter) \
    }
#endif

typedef struct artel_eval_spec {
    size_t struct_size;
    artel_estimator_input_fn *input;
    void *user;
    int64_t steps;    /* batches; 100. 0: until the input ends */
    const char *name; /* of several evaluations; logs go to MODEL_DIR/eval_NAME. NULL: eval */
    const artel_exporter *exporters;
    int exporter_count;
    double start_delay_secs; /* 120: an evaluator begins so much later */
    double throttle_secs; /* 600: from the beginning of an evaluation to that of the next, at least; that after training
                             always is */
    const artel_estimator_hook *hooks; /* called in this order */
    int hook_count;
    const char *checkpoint; /* artel_estimator_evaluate(): this one ("run/ckpt-500"), or the newest of another
                               directory; NULL: the newest of model_dir */
} artel_eval_spec;

#ifdef __cplusplus
static inline artel_train_spec artel_train_spec_init(void)
{
    artel_train_spec spec = artel_train_spec();
    spec.struct_size = sizeof spec;
    return spec;
}
static inline artel_eval_spec artel_eval_spec_init(void)
{
    artel_eval_spec spec = artel_eval_spec();
    spec.struct_size = sizeof spec;
    spec.steps = 100;
    spec.start_delay_secs = 120;
    spec.throttle_secs = 600;
    return spec;
}
#define ARTEL_TRAIN_SPEC_INIT artel_train_spec_init()
#define ARTEL_EVAL_SPEC_INIT artel_eval_spec_init()
#else
#define ARTEL_TRAIN_SPEC_INIT                   \
    {                                           \
        .struct_size = sizeof(artel_train_spec) \
    }
#define ARTEL_EVAL_SPEC_INIT                                                                                \
    {                                                                                                       \
        .struct_size = sizeof(artel_eval_spec), .steps = 100, .start_delay_secs = 120, .throttle_secs = 600 \
    }
#endif

/* Trains from the newest checkpoint on, or, where there is none, from the warm start; all tasks of a cluster but the
 * evaluator call it. A checkpoint is written when training begins anew, at the interval of the options, when it ends,
 * and when the process is asked to end (ARTEL_ERROR_PREEMPTED). Errors: ARTEL_ERROR_UNSUPPORTED (a hook wants to stop
 * one of several tasks that train together: they end together, by max_steps); ARTEL_ERROR_INVALID (specs, a checkpoint
 * of another program), ARTEL_ERROR_RUN (the loss is not a number), those of the functions, of artel_strategy_loop(),
 * and over parameter servers of artel_coordinator_schedule() and artel_coordinator_serve(). */
ARTEL_API artel_status artel_estimator_train(artel_estimator *estimator, const artel_train_spec *spec);
/* Evaluates the newest checkpoint, or the one that the spec names, in this process alone; exports nothing. `out`:
 * "loss", the metrics and "global_step", as a history of one epoch. Errors: ARTEL_ERROR_NOT_FOUND (no checkpoint), as
 * above. */
ARTEL_API artel_status artel_estimator_evaluate(artel_estimator *estimator, const artel_eval_spec *spec,
                                                artel_history **out);
/* A batch of predictions; `stop` is for the function to set: it wants no more. */
typedef struct artel_predicted_batch {
    int64_t step;             /* of the checkpoint */
    int64_t first, rows;      /* how many came before; how many these are */
    const char *const *names; /* as the model function has named them */
    const artel_array *arrays;
    int count;
    bool stop;
} artel_predicted_batch;

/* Lent until it returns. A failure ends the call. */
typedef artel_status artel_predict_fn(void *user, artel_predicted_batch *predictions);

typedef struct artel_predict_spec {
    size_t struct_size;
    artel_estimator_input_fn *input;
    artel_predict_fn *predict;
    void *user;                        /* of both */
    const char *checkpoint;            /* as artel_eval_spec has it */
    const artel_estimator_hook *hooks; /* begin, before and after each batch, end */
    int hook_count;
} artel_predict_spec;

#ifdef __cplusplus
static inline artel_predict_spec artel_predict_spec_init(void)
{
    artel_predict_spec spec = artel_predict_spec();
    spec.struct_size = sizeof spec;
    return spec;
}
#define ARTEL_PREDICT_SPEC_INIT artel_predict_spec_init()
#else
#define ARTEL_PREDICT_SPEC_INIT                   \
    {                                             \
        .struct_size = sizeof(artel_predict_spec) \
    }
#endif

/* What Estimator.predict() is: the model function's predictions of all rows of the input, in their order, by the newest
 * checkpoint or the one that the spec names, in this process alone. Errors: ARTEL_ERROR_NOT_FOUND (no checkpoint),
 * ARTEL_ERROR_INVALID (no predictions, shared ones), ARTEL_ERROR_CANCELLED, those of the functions. */
ARTEL_API artel_status artel_estimator_predict(artel_estimator *estimator, const artel_predict_spec *spec);
/* Alone: trains, and evaluates checkpoints in between and after the end. In a cluster: chief and workers train, and the
 * evaluator evaluates each checkpoint that it finds until training is over. `out` (or NULL): the last evaluation; NULL
 * where this task made none. */
ARTEL_API artel_status artel_train_and_evaluate(artel_estimator *estimator, const artel_train_spec *train,
                                                const artel_eval_spec *eval, artel_history **out);

#ifdef __cplusplus
}
#endif
#endif
