/* SPDX-License-Identifier: Apache-2.0 */
/* A fit in progress: counters, logs and the hooks that callbacks and checkpoints use; shared in this room only.
 *
 * Everything that a continuation depends on lies here or in the session's variables: epoch and step, the accumulators
 * of the running epoch, the history, the learning rate set by callbacks, and each callback's state. Values in logs are
 * rounded to float32, as Keras' are.
 */
#ifndef ARTEL_TRAIN_FIT_IMPL_H
#define ARTEL_TRAIN_FIT_IMPL_H

#include <stdatomic.h>

#include "train/history.h"
#include "train/session.h"

/* Weighted means and metric sums of one pass over data. */
typedef struct artel__tally {
    double loss, weight; /* sum of loss * rows, sum of rows */
    double batches;
    double *output_loss; /* by output: sum of losses by batch, as Keras averages them without rows; by row when not
                            reduced, or eagerly */
    const artel__settings *settings;
    double *sums; /* metric accumulators */
    int outputs, sum_count;
} artel__tally;

/* What is known of the rows a run is trained on (content.h). */
typedef struct artel__fit_content {
    char data[32], validation[32]; /* hashed whole before the first step, in digits; "" if not */
    bool reads;                    /* hashed as they are read */
    bool whole;                    /* `sum` covers the running pass from its beginning on */
    bool has_known, restored;      /* `known`; from a checkpoint */
    uint64_t sum, known;           /* of the running pass; of a whole one */
    int64_t covered;               /* the cursor up to which `sum` goes */
    int64_t saving_steps;
} artel__fit_content;

/* The account of an epoch (audit.h). */
typedef struct artel__audit_account {
    int64_t unit; /* behind the epoch's end: another task was to say it, and has perhaps not come so far; 0: it has been
                     said */
    int64_t epoch, elements, pass_elements, rows, times;
    uint64_t digest, order;
    bool whole, over, once;
} artel__audit_account;

/* What has been counted of the elements trained on (audit.h); sums modulo 2^52. */
typedef struct artel__fit_audit {
    bool on;
    bool whole, pass_whole; /* counted from the beginning of the epoch, of the pass */
    int64_t elements, pass_elements;
    uint64_t digest, order, pass_digest;
    artel__audit_account last;
} artel__fit_audit;

/* Pipelines that workers have for themselves (divide.h). */
typedef struct artel__divide {
    int32_t pipelines; /* 0: there are none */
    bool off;          /* each goes through all of the data */
    int64_t *first;    /* [pipelines + 1]: of the rows of an epoch */
} artel__divide;

typedef struct artel__callback artel__callback;
typedef struct artel__checkpointer artel__checkpointer;

struct artel_history {
    artel_context *ctx;
    artel__arena arena;
    char **key;
    double **values;
    int keys;
    int64_t epochs, capacity;
};

/* What a task does in a job with parameter servers (servers.h). */
typedef enum artel__fit_role {
    ARTEL__ROLE_NONE, /* there are none */
    ARTEL__ROLE_COORDINATOR,
    ARTEL__ROLE_WORKER,
    ARTEL__ROLE_SERVER
} artel__fit_role;

typedef struct artel__fit artel__fit;

/* The rows trained on, and how an epoch is cut. */
typedef struct artel__fit_input {
    artel__feed *train;
    artel__feed *whole; /* behind a split */
    artel__batches batches;
    artel__deal deal;
    artel__divide divide;
    int64_t batch_size, steps_per_epoch;
    bool told_short; /* that epochs end with the data */
} artel__fit_input;

/* The rows that an epoch is judged by, and its pass over them. */
typedef struct artel__fit_validation {
    artel__feed *feed; /* NULL: there are none */
    artel__tally tally;
    uint64_t *order;
    artel__batch_cut cut;
    int64_t rows, end; /* of the feed; the place in the order where a pass ends */
    int64_t *epoch;    /* those that are named, from 1; NULL: every so-manyth */
    int epochs;
    int64_t row; /* of this epoch's pass: rows that have been evaluated */
    artel__log_list logs;
} artel__fit_validation;

/* Where the run is. Between two units of work the state is whole, and a function of their number. */
typedef struct artel__fit_at {
    int64_t epoch;         /* running, from 0 */
    int64_t step_in_epoch; /* finished in the running epoch */
    int64_t step;          /* finished in the whole run */
    int64_t iteration;     /* of the optimizer */
    int64_t unit;
    int64_t units;    /* of a pass of evaluation, which ends with the last; 0: of a training */
    bool epoch_begun; /* the running epoch's begin has been told */
    bool ended;       /* nothing is left to be done */
} artel__fit_at;

typedef struct artel__fit_logs {
    artel__log_list epoch; /* of the running epoch's end */
    artel__log_list step;  /* of the last step */
    const char **name;     /* every name that has stood in a list of logs, once */
    int names;
} artel__fit_logs;

typedef struct artel__fit_callbacks {
    artel__callback *list;
    int count;
    double *told;           /* room for rates */
    bool stop;              /* one asked to end after this epoch */
    bool drops_checkpoints; /* once the fit is closed: the run has ended, and one wants it so */
} artel__fit_callbacks;

/* How fast it goes; none of it is part of the state. */
typedef struct artel__fit_pace {
    int64_t started_ns, first_step_ns, examples;
    double *step_ms; /* of up to step_room steps, for the median */
    int64_t steps_timed, step_room;
    artel_profile_node *profile; /* room for all nodes; NULL unless asked for */
    bool told;                   /* the start event has been sent */
} artel__fit_pace;

/* Among other tasks (regroup.c). */
typedef struct artel__fit_job {
    bool begun, seated, seated_before, over, save_and_end;
    bool saved;             /* by whoever saves, in this seat */
    int64_t missed_since;   /* somebody is not here without whom this task does nothing (servers.c); 0: all are */
    atomic_bool forsaken;   /* save_and_end, beside too few servers for a majority (confirm.c); the thread that writes
                               checkpoints looks, too */
    int schedule_replicas;  /* that a schedule counts: those that the job began with; 0: not known yet */
    int applied_replicas;   /* that the schedule has been told */
    bool on_devices, mixed; /* workers compute on devices; on whatever each has (computing.c) */
    const char *workers;    /* what they compute with, as was said before; NULL: not known */
    bool workers_of_checkpoint; /* by that which was taken up */
} artel__fit_job;

/* What a pass makes beside logs: predictions. */
typedef struct artel__fit_result {
    void *extra; /* what belongs to the state beside variables */
    size_t extra_bytes;
    artel_status (*conclude)(artel__fit *fit,
                             bool preempted); /* writes results where fit->writes; again in another task if one dies */
} artel__fit_result;

struct artel__fit {
    artel_context *ctx;
    artel__arena arena;
    artel_model *model;
    artel_fit_options options;
    artel__fit_role role;
    artel__settings settings;
    artel__session *session;
    artel__fit_input input;
    artel__fit_validation validation;
    artel__fit_at at;
    int64_t resumed_from;
    double learning_rate; /* set by callbacks or options; the schedule counts when negative */
    artel__tally tally;
    artel__fit_logs logs;
    artel_history *history;
    artel__fit_callbacks callbacks;
    artel__checkpointer *checkpointer;
    artel__fit_content content;
    artel__fit_audit audit;
    artel__fit_job job;
    bool writes; /* this task writes checkpoints and what callbacks save */
    artel__fit_result result;
    artel__fit_pace pace;
};

/* logs.c */
void artel__tally_clear(artel__tally *tally);
artel_status artel__tally_init(artel__arena *arena, const artel__settings *settings, const artel__objective *objective,
                               artel__tally *out);
void artel__tally_add(artel__tally *tally, const artel__session *session, artel__mode mode, int64_t rows);
/* The same in two halves, for batches that another task computes: the loss, by output, the metric sums;
 * artel__tally_values of them. */
void artel__tally_read(const artel__tally *tally, const artel__session *session, artel__mode mode, double *values);
void artel__tally_add_values(artel__tally *tally, const double *values, int64_t rows);
static inline int artel__tally_values(const artel__tally *tally)
{
    return 1 + tally->outputs + tally->sum_count;
}
/* Appends the pass's values in Keras' order (sorted by name), each name with `prefix` in front. */
artel_status artel__tally_logs(artel__fit *fit, const artel__tally *tally, const artel__objective *objective,
                               const char *prefix, artel__log_list *out);
artel_status artel__logs_set(artel__fit *fit, artel__log_list *logs, const char *name, double value);
bool artel__logs_has(const artel__log_list *logs, const char *name);
/* NAN when absent. */
double artel__logs_get(const artel__log_list *logs, const char *name);

/* callbacks.c: the callbacks of Keras that change or end a run, or write files. Read from options.callbacks,
 * which may set other options (those of checkpoints); begun when the run has its losses and metrics. Their state can be
 * saved to and restored from JSON for checkpoints. */
artel_status artel__callbacks_read(artel__fit *fit);
artel_status artel__callbacks_begin(artel__fit *fit);
void artel__callbacks_destroy(artel__fit *fit);
artel_status artel__callbacks_epoch_begin(artel__fit *fit);
artel_status artel__callbacks_batch_end(artel__fit *fit, double loss);
/* For who has results of steps before the variables: whether batch_end of a step reads these, or may end training. */
bool artel__callbacks_read_at(const artel__fit *fit, int64_t step);
bool artel__callbacks_may_end(const artel__fit *fit);
void artel__callbacks_around_test(artel__fit *fit, bool begins);
artel_status artel__callbacks_epoch_end(artel__fit *fit);
/* The rates that callbacks have put into the logs of the last epoch, in their order; borrowed until the next call. */
const double *artel__callbacks_told(const artel__fit *fit, int *out_count);
artel_status artel__callbacks_train_end(artel__fit *fit);
/* This task writes from here on: files that the last one may not have finished are written again. */
artel_status artel__callbacks_take_over(artel__fit *fit);
artel_status artel__callbacks_save(const artel__fit *fit, json_t *out);
artel_status artel__callbacks_restore(artel__fit *fit, json_t *in);

/* checkpoint.c: folders ckpt-<step> in options.checkpoint_dir. */
artel_status
artel__checkpointer_create(artel__fit *fit); /* finds and restores the newest whole checkpoint; checks identity */
void artel__checkpointer_destroy(artel__fit *fit);
artel_status artel__checkpointer_unit(
    artel__fit *fit); /* after a unit has been counted: writes when one is due, in the background */
/* On preemption: writes and waits. Here and below ARTEL_AGAIN: others may have gone on with another chief
 * (confirm.c), so nothing is there. */
artel_status artel__checkpointer_now(artel__fit *fit);
artel_status artel__checkpointer_catch_up(artel__fit *fit); /* the same, where this step is not written yet */
artel_status artel__checkpointer_finish(artel__fit *fit);   /* at the end of the run: waits, marks it finished */
artel_status artel__checkpointer_again(artel__fit *fit);    /* in a new generation: what could not be published */
/* Of the chief of parameter servers: ARTEL_OK when a majority of them has just said that it is in this generation, so
 * that what it has of this step may appear. Any thread. The other one is an artel__gate_fn for what the fit has now, of
 * its own thread. */
artel_status artel__fit_confirm_step(const artel__fit *fit, int64_t step);
artel_status artel__fit_confirm(void *fit);
/* Everything but variables and kept weights that a continuation depends on, as a checkpoint's manifest has it; and
 * back, `where` for messages. Weights that callbacks keep are allocated, and filled by the caller. */
artel_status artel__fit_position(artel__fit *fit, json_t **out);
artel_status artel__fit_take_position(artel__fit *fit, const char *where, json_t *manifest);
int64_t artel__checkpointer_steps(const artel__fit *fit); /* between two, when that is so many steps; else 0 */
bool artel__checkpointer_finished(const artel__fit *fit); /* the run was already complete when it was taken up */

/* The most rows that a batch of the feed can have: memory is taken for these, not for a --batch-size beyond the data.
 */
static inline int64_t artel__batch_room(const artel__feed *feed, int64_t batch_size)
{
    int64_t rows = artel__feed_count(feed);
    return rows > 0 && rows < batch_size ? rows : batch_size;
}

/* fit_open.c: refuses a class of the user's own, for what it does in train_step, compute_loss or call is code, and in
 * no file; says so when the standard step was asked for. */
artel_status artel__check_class(artel_model *model, bool standard_step);

/* class_weight.c: options.class_weight by class number, in the fit's arena. */
artel_status artel__class_weight_read(artel__fit *fit, const double **out, int *count);

/* profile.c: times of nodes for options.on_profile. */
void artel__fit_profile_step(artel__fit *fit);

/* join.c: makes sure that all tasks of the cluster do the same run, and joins them. Nothing to do outside a cluster. */
artel_status artel__fit_join(artel__fit *fit);
/* What must be equal everywhere in a pass of evaluation or prediction. */
artel_status artel__pass_join(artel__fit *fit, artel__mode mode, const artel__feed *feed, int64_t steps);

/* regroup.c: units one after another until fit->at.ended, alone or among other tasks: an interrupted one is repeated in
 * the next generation. */
typedef artel_status artel__fit_unit_fn(artel__fit *fit);
artel_status artel__fit_run(artel__fit *fit, artel__fit_unit_fn *unit);
/* Follows the mesh's orders until it is seated (fit->job.seated) or all is over. */
artel_status artel__fit_follow(artel__fit *fit);
/* The events of a new seat. */
void artel__fit_tell_membership(artel__fit *fit, const artel__mesh_seat *seat);
/* Leaves the other tasks; tells them of a failure. Returns the status. */
artel_status artel__fit_end(artel__fit *fit, artel_status status);

/* copy_state.c: the state to and from another task's memory. A copy that fails has changed nothing. */
artel_status artel__fit_send_state(artel__fit *fit, artel__mesh_stream *stream);
artel_status artel__fit_take_state(artel__fit *fit, artel__mesh_stream *stream);

/* service.c: what this task does, in fit->role. */
artel_status artel__fit_find_role(artel__fit *fit);
artel_status artel__fit_read_row_updates(artel__fit *fit); /* .embedding_updates, into the settings of its optimizer */
/* computing.c: of a task with a role, what it computes with, in its session's options: of a worker what is asked for,
 * of all others processors. What all of them are to be told of it; NULL: the workers compute on processors. */
artel_status artel__fit_check_device(artel__fit *fit, artel__session_options *options);
const char *artel__fit_workers_class(const artel__fit *fit);
/* A checkpoint is taken up of which this was said. Errors: NO_MEMORY. */
artel_status artel__fit_continue_workers(artel__fit *fit, const char *made_by);
/* servers.c: all of it. */
artel_status artel__fit_run_servers(artel__fit *fit);

/* Whom this task works with, or NULL: those who step together, or who serve. */
static inline artel_cluster *artel__fit_cluster(const artel__fit *fit)
{
    artel_cluster *cluster = fit->session ? artel__session_cluster(fit->session) : NULL;
    return cluster || fit->role == ARTEL__ROLE_NONE ? cluster : fit->options.cluster;
}

/* fit.c: whether data and cluster (NULL: none) were made in this context, the model's; refused by name otherwise. */
artel_status artel__fit_need_context(artel_context *ctx, const artel_data *data, const artel_cluster *cluster);
/* fit_open.c: everything that a run needs, from its options; close also after a failure. */
artel_status artel__fit_open(artel__fit *fit, artel_data *data);
void artel__fit_close(artel__fit *fit);
artel_status artel__fit_apply_replicas(artel__fit *fit); /* to a schedule that counts them */

/* The rows of a batch of validation. */
static inline int64_t artel__fit_validation_batch(const artel__fit *fit)
{
    return fit->options.validation_batch_size ? fit->options.validation_batch_size : fit->options.batch_size;
}

/* unit.c: the next unit of work, of a task that goes through all of them. */
artel_status artel__fit_unit(artel__fit *fit);
/* Its pieces, for who coordinates others. */
artel_status artel__fit_epoch_begin(artel__fit *fit);
void artel__fit_time_step(artel__fit *fit, int64_t before);                 /* one that began then has just been done */
artel_status artel__fit_stepped(artel__fit *fit, double loss, double rate); /* counted; tells events and callbacks */
artel_status artel__fit_tell_step(artel__fit *fit, double loss, double rate); /* events alone */
bool artel__fit_ran_out(artel__fit *fit);
bool artel__fit_validates(const artel__fit *fit);
/* The first epoch behind `epoch`, counted from 1, that validation belongs to; INT64_MAX: none. */
int64_t artel__fit_next_judged(const artel__fit *fit, int64_t epoch);
artel_status artel__fit_epoch_end(artel__fit *fit);
artel_status artel__fit_training_end(artel__fit *fit);
artel_status artel__fit_preempted(artel__fit *fit); /* records that the run ends on request, and what became of it */

/* fit_tell.c */
void artel__fit_event(const artel__fit *fit, artel_event *event);
/* The end of the epoch that fit->logs.epoch are of. */
void artel__fit_tell_epoch(const artel__fit *fit);
/* The same of the epoch before, by its history: for a task that writes and has copied the position of one that had come
 * over that end before it, so it has told nobody. */
artel_status artel__fit_tell_passed_epoch(artel__fit *fit);
void artel__fit_say_start(artel__fit *fit); /* the start event, once */
artel_status artel__fit_report_fault(artel__fit *fit);
artel_status artel__fit_report_plan(artel__fit *fit); /* to on_plan; in a cluster there is none before the first seat */
/* The learning rate of the next step. */
double artel__fit_rate(const artel__fit *fit);
/* A rate as the optimizer holds it: a float32, or of a model with variables of float64 the number itself. */
double artel__fit_as_rate(const artel__fit *fit, double rate);

#endif
