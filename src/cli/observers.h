/* SPDX-License-Identifier: Apache-2.0 */
/* What a run shows: JSON events, progress, TensorBoard, CSV, all fed by the events of artel/fit.h. */
#ifndef ARTEL_CLI_OBSERVERS_H
#define ARTEL_CLI_OBSERVERS_H

#include "artel/cluster.h"
#include "cli/cli.h"
#include "cli/profile.h"
#include "observe/csv_log.h"
#include "observe/events.h"
#include "observe/progress.h"
#include "observe/tensorboard.h"

typedef struct artel__observer_options {
    const char *json; /* NULL: none; "all" or "epochs" */
    int64_t verbose;  /* -1: 1 on a terminal, 2 otherwise; with JSON 0 */
    const char *log_dir, *csv_log, *profile;
    artel__tensorboard_options board; /* the log directory's */
    char csv_separator;               /* 0: ',' */
    bool csv_append;
    bool csv_by_place; /* a CSVLogger in a list of callbacks: `csv_rates` of them that tell the rate stand in front of
                          it */
    int csv_rates;
    bool quiet;                   /* another task of the cluster shows the run */
    const artel_cluster *cluster; /* whose tasks stand below the progress bar; NULL: none */
} artel__observer_options;

typedef struct artel__observers {
    artel_context *ctx;
    artel_model *model;
    artel__observer_options options;
    artel__events *events;
    artel__progress *progress;
    artel__tensorboard *board;
    artel__csv_log *csv;
    artel__profiler *profiler;
    artel__csv_log_options csv_options;
    bool started;        /* a start event came */
    bool keras_progress; /* evaluation of its own: no epochs */
    bool results_apart;  /* what an evaluation has found is written by another function */
    bool follows;        /* evaluations are of checkpoints of a run, whose step they tell */
    bool quiet;          /* another task of the cluster shows the run: only start and faults are told here */
    int64_t epoch_started_ns, epoch_first_step, step_ns; /* the latter: when the batch before ended */
    int64_t rows_ns, rows_step;                          /* when the rows of the cluster were shown last */
    artel_cluster_task *task;                            /* room for them */
    artel__log_value *values;                            /* room for converted logs */
    int capacity;
    artel_error failed; /* the first failed write, kept here: what the run does afterwards begins records of its own */
} artel__observers;

/* Takes CSVLogger and TensorBoard records, which write files, out of a list of callbacks (JSON) and into `options`; the
 * rest is for the library, or NULL when nothing is left. Strings live in the arena. */
artel_status artel__observers_take_callbacks(artel__arena *arena, const char *callbacks,
                                             artel__observer_options *options, const char **rest);

/* All members may be absent. Observers must be closed also after a failure of open. */
artel_status artel__observers_open(artel_context *ctx, artel_model *model, const artel__observer_options *options,
                                   artel__observers *out);
/* Closes everything; the first failed write becomes the answer. */
artel_status artel__observers_close(artel__observers *observers);
/* An artel_event_fn. */
void artel__observers_event(void *user, const artel_event *event);
/* An artel_profile_fn. */
void artel__observers_profile(void *user, int64_t step, const artel_profile_node *nodes, int count);

#endif
