/* SPDX-License-Identifier: Apache-2.0 */
/* Training, evaluation and prediction.
 *
 * The result does not depend on the strategy: the same model, data, seed, global batch and shards give the same bits on
 * any number of replicas and threads. Events report what happens; they arrive on the calling thread, one at a time.
 * artel_context_cancel() and artel_context_preempt() end a run in good order at the next step.
 */
#ifndef ARTEL_FIT_H
#define ARTEL_FIT_H

#include <stdbool.h>

#include "artel/cluster.h"
#include "artel/data.h"
#include "artel/model.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct artel_metric_value {
    const char *name;
    double value;
} artel_metric_value;

typedef enum artel_event_kind {
    ARTEL_EVENT_START, /* everything is ready; the first step follows */
    ARTEL_EVENT_EPOCH_BEGIN,
    ARTEL_EVENT_STEP,       /* a step has been applied */
    ARTEL_EVENT_EPOCH_END,  /* metrics hold the epoch's History values, validation included */
    ARTEL_EVENT_EVALUATE,   /* an evaluation ended (validation inside fit too) */
    ARTEL_EVENT_CHECKPOINT, /* a checkpoint is whole on disk */
    ARTEL_EVENT_FAULT,      /* text says what was found: where, cause */
    ARTEL_EVENT_END,
    ARTEL_EVENT_MEMBERSHIP, /* in a cluster: who works together from here on; text says why */
    ARTEL_EVENT_STALENESS,  /* with parameter servers: how old the gradients of an epoch's updates were */
    ARTEL_EVENT_AUDIT       /* with audit_data: which elements an epoch had */
} artel_event_kind;

typedef struct artel_event {
    artel_event_kind kind;
    int64_t epoch, epochs;             /* epoch counts from 0 */
    int64_t step, steps_per_epoch;     /* step counts from 1 over the whole run; steps_per_epoch 0: not known */
    int64_t step_in_epoch;             /* from 1 */
    double loss;                       /* STEP: of this step alone */
    double learning_rate;              /* STEP, EPOCH_END */
    const artel_metric_value *metrics; /* STEP: running means of the epoch; EPOCH_END, EVALUATE: final ones */
    int metric_count;
    bool validation;  /* EVALUATE: inside fit; STEP: of the validation pass */
    const char *text; /* START: strategy; CHECKPOINT: path; FAULT: what; AUDIT: the digest of their order */
    int replicas, threads, shards;                                /* START */
    const char *arithmetic;                                       /* START: the arithmetic class */
    int64_t resumed_from;                                         /* START: the step continued from; 0 when fresh */
    int64_t examples;                                             /* END */
    double examples_per_second, step_ms, first_step_ms, start_ms; /* END; NaN what no step of this call has given */
    int64_t peak_rss_bytes;                                       /* END */
    const char *digest;                                           /* END; AUDIT: docs/data.md */
    const char *role;                                             /* START: "chief", "worker"; NULL outside a cluster */
    int task;                                                     /* START: its index */
    int rank;                                                     /* FAULT: whose */
    const char *host, *phase;                                     /* FAULT: of that task; NULL: this one */
    int64_t generation;                                           /* MEMBERSHIP: its number */
    const char *const *member, *const *joined,
                                   *const *left; /* MEMBERSHIP: names of tasks; compared with the generation before */
    int members, joiners, leavers;
    double pause_ms; /* MEMBERSHIP: this task was at rest for so long */
    bool writes;     /* MEMBERSHIP: this task shows and writes what one task does */
    int64_t updates; /* STALENESS: how many */
    int64_t staleness_median, staleness_90,
        staleness_most;          /* STALENESS: of half, 90 % and all of them at the most, counted in updates */
    int64_t rows, pass_examples; /* AUDIT: elements of the data; those the running pass has had. `examples`: of the
                                    epoch; `digest`: their numbers' */
    int each_once; /* AUDIT: 1: the pass is over and has had each element once; 0: it has not; -1: it is not over */
    int programs_compiled, programs_found; /* END: programs of devices, and those that were compiled already */
    const double *rates; /* EPOCH_END: the rate that each ReduceLROnPlateau and LearningRateScheduler has put into the
                            logs, in their order, for one reduces it for those behind it; `metrics` has the last */
    int rate_count;
} artel_event;

/* While a fit runs its model has the weights of the last EPOCH_END, or of before the first one: that is what functions
 * called in an event read and save. What they change of it is overwritten. */
typedef void artel_event_fn(void *user, const artel_event *event);
typedef void artel_plan_fn(void *user, const char *text);
typedef struct artel_history artel_history;

/* The last step is done and the model holds the result: what it is to be written to. Called before fit returns; among
 * the tasks of a cluster in one, while all others still hold the result, and in another one if that is lost. A failure
 * fails the run. */
typedef artel_status artel_result_fn(void *user, artel_model *model, const artel_history *history);

/* A node of the training graph in one step of replica 0, in the order of the graph; first the operation "input" of the
 * phase "input": how long the step waited for its rows, whose kernel is "ahead" where they are fetched while the step
 * before computes, else "fetch". If they are, the operation "read" of the phase "ahead" follows: the processor time,
 * of all replicas of this process, that fetching has taken since the step before; it is no part of the step. */
typedef struct artel_profile_node {
    const char *layer, *operation, *kernel; /* the kernel's name, or "collective" */
    const char *phase;                      /* "input", "ahead", "forward", "backward", "apply" */
    int64_t ns;                             /* how long it took; 0 of collectives that went with an earlier one */
    int64_t begin_ns,
        longest_ns;    /* CLOCK_MONOTONIC: of a collective that is begun and later waited for, the longer one */
    double operations; /* floating-point operations; 0: not counted */
} artel_profile_node;
/* After each step; `nodes` are valid during the call. */
typedef void artel_profile_fn(void *user, int64_t step, const artel_profile_node *nodes, int count);

typedef struct artel_fit_options {
    size_t struct_size;
    int64_t epochs;          /* 1; counts from the beginning of training, initial_epoch included */
    int64_t initial_epoch;   /* 0 */
    int64_t batch_size;      /* 32: the GLOBAL batch */
    int64_t steps_per_epoch; /* an epoch ends with the data at the latest, as in Keras; 0: once through the data */
    int64_t shards;          /* 0: a function of the batch size */
    uint64_t seed;           /* 0 */
    bool shuffle;            /* true */
    const char *strategy; /* "auto", "one-device", "mirrored", "central-storage", "multi-worker", "parameter-server" */
    int replicas;         /* 0: the strategy decides */
    int threads;          /* 0: the cores this process may use */
    artel_data *validation_data;   /* or NULL */
    double validation_split;       /* 0: none; takes the last rows before shuffling */
    int64_t validation_steps;      /* 0: all */
    int64_t validation_batch_size; /* 0: batch_size */
    int64_t validation_frequency;  /* 1: every epoch */
    const char *class_weight;      /* JSON object from class to weight, or NULL */
    double learning_rate;          /* 0: what the optimizer has */
    const char *callbacks;         /* JSON list of Keras records, or NULL */
    const char *checkpoint_dir;    /* or NULL */
    const char *save_every;        /* "1epoch", "500steps" */
    int keep;                      /* 3 checkpoints */
    bool fresh;                    /* begin anew although the directory holds checkpoints */
    bool resume;                   /* say so when there is no checkpoint to continue from; continuing needs no option */
    bool stop_on_nan;              /* false */
    bool dry_run;                  /* plan, report the plan, end */
    artel_plan_fn *on_plan;        /* receives the graphs, plans and kernel choices as text, or NULL */
    artel_event_fn *on_event;      /* or NULL */
    void *event_user;              /* of all these functions */
    int batch_norm_groups;         /* 0 or 1: batch statistics of the global batch; G: of each of G groups of shards */
    artel_profile_fn *on_profile;  /* receives the time of each node after each step, or NULL */
    artel_cluster *cluster;        /* the tasks to train with, which must all call this; NULL: none */
    artel_result_fn *on_result;    /* writes the results, or NULL */
    double recompute; /* 0; P: save memory by computing activations again, for at most about P % more time; same bits */
    const char *check_data; /* "auto" (NULL), "start", "reading", "off": when the content of the data is compared,
                               docs/data.md */
    bool standard_step;     /* train a model of the user's own class as a Model is trained; without it such a model is
                               refused */
    const char
        *arithmetic; /* of products of two bfloat16 operands: "chain", "tiles"; NULL, "auto": tiles where every member
                        has AMX, or the checkpoint's. Both are computed everywhere, and give other last bits. */
    const char *consistency; /* of parameter-server: "async" (NULL), "bounded:S", "sync", "sync:K" */
    const char
        *ps_partitioner; /* of parameter-server: "none" (NULL), "fixed:N", "min:BYTES", "max:BYTES", "auto": min */
    const char *
        device; /* "cpu" (NULL): the cores; "auto", "gpu", "cuda:0", "gpu:0,gpu:1", "tpu", "cpu:xla": docs/devices.md */
    const char *plugin; /* the file of the device's PJRT plug-in; NULL: searched */
    const char
        *device_precision;      /* of float32 products on a device: "float32" (NULL), "tf32": its fastest, "bfloat16" */
    const char *device_kernels; /* "fixed": chosen by shapes alone; "measured": when programs are compiled, by one
                                   process for all; "auto" (NULL): measured on GPUs where the model has convolutions */
    const char *device_launches; /* "shard", "replica": what is launched at once; "auto" (NULL): by what a shard costs.
                                    Same bits */
    const char *auto_shard; /* "data", "auto" (NULL): every task has all data and reads its rows of it; "file": a task
                               need not have all files of records, lines, tables; "hint", "hint:N", "off", "off:N": each
                               of N workers (the tasks of the cluster) has a pipeline of its own, docs/data.md */
    bool audit_data;   /* false; true: account for the elements of each epoch, in notes and in events, docs/data.md */
    int64_t ps_copies; /* of parameter-server: servers that have each part, at most 3; 0: 2 where there are two ps
                          tasks; the loss of all but one loses no update */
    const char
        *all_reduce; /* how sums travel between replicas: "direct", "redundant", "ring", "hierarchical", one of the
                        context's own (artel/communicator.h); "auto" (NULL): decided for each by its size. Same bits;
                        but on several devices with device_reduce "fast" a name asks for artel's sums, not the plug-in's
                      */
    const char
        *device_reduce; /* "exact" (NULL): the same bits on any number of devices; "fast", "fastest": docs/devices.md */
    const char *ps_placement; /* of parameter-server: which ps task owns which piece: "bytes", each goes to the one with
                                 the fewest; "traffic" (NULL), so, and once as the first epoch's measured traffic says;
                                 "round-robin", in turn as TensorFlow's. Same bits */
    const char *ps_loss; /* of parameter-server: when nobody has a part any more: "checkpoint" (NULL), all go back to
                            the newest whole state, and the updates since are made again; "stop", the run ends with
                            ARTEL_ERROR_RUN */
    const char *embedding_updates; /* of parameter-server, for tables of which rows travel alone: "exact" (NULL), every
                                      step steps all rows, to the bits of one process; "lazy", a step steps the rows
                                      that its batch names, and leaves the others' momenta as they are: another result,
                                      docs/parameter-servers.md */
    const char *validation_epochs; /* "2,5,9": validate after these epochs, counted from 1, as a list of validation_freq
                                      in Keras; NULL: by validation_frequency */
    const char *device_memory; /* of a GPU's memory: "grow" (NULL), as it is needed; "grow:0.4", that part at the most;
                                  "0.9", that part at once. Same bits */
    bool allow_mixed_arithmetic; /* false; true: `device` may name processors beside devices ("cpu,cuda:0"), a replica
                                    each, and tasks of a cluster, which all say so, may compute with different kinds;
                                    products in float32; the result depends on who computes what in its last bits,
                                    docs/devices.md */
} artel_fit_options;

#ifdef __cplusplus
/* C++ has designated initialisers from C++20 on. */
static inline artel_fit_options artel_fit_options_init(void)
{
    artel_fit_options options = artel_fit_options();
    options.struct_size = sizeof options;
    options.epochs = 1;
    options.batch_size = 32;
    options.shuffle = true;
    options.strategy = "auto";
    options.validation_frequency = 1;
    options.save_every = "1epoch";
    options.keep = 3;
    return options;
}
#define ARTEL_FIT_OPTIONS_INIT artel_fit_options_init()
#else
#define ARTEL_FIT_OPTIONS_INIT                                                                                        \
    {                                                                                                                 \
        .struct_size = sizeof(artel_fit_options), .epochs = 1, .batch_size = 32, .shuffle = true, .strategy = "auto", \
        .validation_frequency = 1, .save_every = "1epoch", .keep = 3                                                  \
    }
#endif

/* What Keras' History holds: for each key one value an epoch. A metric that gives a list has a key for each element:
 * "f1_score[0]". */
ARTEL_API int artel_history_keys(const artel_history *history);
ARTEL_API const char *artel_history_key(const artel_history *history, int index);
/* The values of a key ("loss", "val_accuracy"), one an epoch; NULL when there is no such key. Borrowed. */
ARTEL_API const double *artel_history_values(const artel_history *history, const char *key, int64_t *out_epochs);
/* Whether an entry stands for "no value in this epoch" (validation every few epochs); a NaN that was computed is not.
 */
ARTEL_API bool artel_history_absent(double value);
ARTEL_API void artel_history_destroy(artel_history *history);

/* Trains. `options` NULL: defaults. `out` may be NULL. After a failure the model holds the weights of the last whole
 * step. Errors: ARTEL_ERROR_INVALID (no compile settings, data that does not fit, bad options), ARTEL_ERROR_RUN,
 * ARTEL_ERROR_CANCELLED, ARTEL_ERROR_PREEMPTED. */
ARTEL_API artel_status artel_model_fit(artel_model *model, artel_data *data, const artel_fit_options *options,
                                       artel_history **out);

typedef struct artel_checkpoint_info {
    int64_t step, epoch; /* whole steps and epochs that are in it; step -1: there is no checkpoint */
    bool finished;       /* the run has ended: none will follow, unless it is continued with more epochs */
} artel_checkpoint_info;

/* Looks for the newest whole checkpoint in the directory of a run (artel_fit_options.checkpoint_dir), which may be
 * going on in another process, and takes its weights into the model if it is newer than step `newer_than` (-1: any). Or
 * the directory is a checkpoint itself ("run1/ckpt-500"). One that is not there (yet) holds none. Errors:
 * ARTEL_ERROR_CORRUPT (of another model; the weights are then undefined), ARTEL_ERROR_IO, ARTEL_ERROR_NOT_FOUND
 * (removed meanwhile by the run: look again). */
ARTEL_API artel_status artel_model_read_checkpoint(artel_model *model, const char *directory, int64_t newer_than,
                                                   artel_checkpoint_info *out);

/* Predictions in input order: one array of float32 for each output, rows outermost. */
typedef struct artel_predictions artel_predictions;

/* Writes the result of a pass: the metrics of an evaluation (a History of one epoch) or the predictions; the other one
 * is NULL. With a cluster one task is asked, while all others still hold the result, too: when it is lost, another one
 * is asked again, and when it fails (ARTEL_ERROR_...), no task ends as if nothing had happened. */
typedef artel_status artel_pass_result_fn(void *user, const artel_history *metrics,
                                          const artel_predictions *predictions);

typedef struct artel_evaluate_options {
    size_t struct_size;
    int64_t batch_size; /* 32 */
    int64_t steps;      /* 0: all */
    int64_t shards;     /* 0: a function of the batch size */
    const char *strategy;
    int replicas, threads;
    artel_event_fn *on_event;
    void *event_user;
    artel_cluster *cluster;          /* as in artel_fit_options; the result is the same in all of them */
    artel_pass_result_fn *on_result; /* with event_user; or NULL */
    const char *arithmetic;          /* as in artel_fit_options */
    const char *device, *plugin, *device_precision, *device_kernels, *device_launches; /* likewise */
    const char *all_reduce;                                                            /* likewise */
    const char *device_reduce, *device_memory;                                         /* likewise */
    bool allow_mixed_arithmetic;                                                       /* likewise */
} artel_evaluate_options;

#ifdef __cplusplus
/* C++ has designated initialisers from C++20 on. */
static inline artel_evaluate_options artel_evaluate_options_init(void)
{
    artel_evaluate_options options = artel_evaluate_options();
    options.struct_size = sizeof options;
    options.batch_size = 32;
    options.strategy = "auto";
    return options;
}
#define ARTEL_EVALUATE_OPTIONS_INIT artel_evaluate_options_init()
#else
#define ARTEL_EVALUATE_OPTIONS_INIT                                                         \
    {                                                                                       \
        .struct_size = sizeof(artel_evaluate_options), .batch_size = 32, .strategy = "auto" \
    }
#endif

/* Loss and metrics over the data: the values of Keras' evaluate(return_dict=True), as a History of one epoch. */
ARTEL_API artel_status artel_model_evaluate(artel_model *model, artel_data *data, const artel_evaluate_options *options,
                                            artel_history **out);

/* The model's outputs. */
ARTEL_API artel_status artel_model_predict(artel_model *model, artel_data *data, const artel_evaluate_options *options,
                                           artel_predictions **out);
ARTEL_API int artel_predictions_count(const artel_predictions *predictions);
/* Name, shape with the rows in front, and values of an output; borrowed. */
ARTEL_API artel_status artel_predictions_get(const artel_predictions *predictions, int index, const char **name,
                                             artel_shape *shape, const float **values);
/* The same values of an output that the model computes in float64, not rounded; NULL for every other output. Borrowed.
 */
ARTEL_API artel_status artel_predictions_get_float64(const artel_predictions *predictions, int index,
                                                     const double **values);
/* The same values in the type that the model computes them in: integers, bool and float64 without loss, float16 where
 * its policy says so, else float32. Borrowed. */
ARTEL_API artel_status artel_predictions_get_native(const artel_predictions *predictions, int index, artel_dtype *dtype,
                                                    const void **values);
ARTEL_API void artel_predictions_destroy(artel_predictions *predictions);

#ifdef __cplusplus
}
#endif
#endif
