/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of estimators. A side is what one strategy needs: training has one, evaluation another one, which gets the
 * variables from checkpoints alone. So an evaluator beside the run and an evaluation in the midst of it are the same
 * code, and give the same numbers. */
#ifndef ARTEL_ESTIMATOR_ESTIMATOR_IMPL_H
#define ARTEL_ESTIMATOR_ESTIMATOR_IMPL_H

#include "artel/estimator.h"
#include "base/arena.h"
#include "base/argument.h"
#include "estimator/input.h"
#include "observe/tfevents.h"
#include "train/history.h"

enum {
    ARTEL__ESTIMATOR_VALUES = 1 + ARTEL_ESTIMATOR_METRICS, /* the loss, metrics; predictions */
    ARTEL__ESTIMATOR_PATH = 4300
};

struct artel_estimator {
    artel_context *ctx;
    artel_estimator_options options;
    artel_strategy_options strategy;
    artel_warm_start warm; /* its checkpoint is NULL: none */
};

typedef struct artel__estimator_side {
    artel_estimator *estimator;
    artel_estimator_mode mode;
    artel__arena arena;
    artel__input input;
    artel_strategy *strategy;
    artel_function *function;
    const char *name[ARTEL__ESTIMATOR_VALUES]; /* of what the function gives: "loss", metrics */
    bool rows[ARTEL__ESTIMATOR_VALUES];
    artel_dtype dtype[ARTEL__ESTIMATOR_VALUES]; /* of each: float32, float64; of predictions any */
    void *value[ARTEL__ESTIMATOR_VALUES];
    int values;
    artel__tfevents *events;    /* NULL: nobody wants points, or there was none yet */
    artel_estimator_hook *hook; /* whole; in the arena */
    int hooks;
    bool stop; /* a hook wants no further step */
} artel__estimator_side;

/* hooks.c: a program's list into the side's arena; and a moment. `which`: the offset of a function in the struct. */
artel_status artel__side_take_hooks(artel__estimator_side *side, const artel_estimator_hook *list, int count);
artel_status artel__side_hooks(artel__estimator_side *side, size_t which, int64_t step, double loss);
#define ARTEL__HOOKS(side, moment, step, loss) \
    artel__side_hooks(side, offsetof(artel_estimator_hook, moment), step, loss)
/* A list of structs that begin with their size, which may be shorter or longer than this library's, one after another;
 * `kind` says which, `out` has room. */
artel_status artel__take_list(artel_context *ctx, const artel__options_kind *kind, const void *list, int count,
                              void *out);

/* estimator.c: input, strategy and function of a mode. `cluster`: of the strategy; NULL: this process alone. */
artel_status artel__side_open(artel_estimator *estimator, artel_estimator_mode mode, artel_estimator_input_fn *input,
                              void *user, artel_cluster *cluster, artel__estimator_side *out);
void artel__side_close(artel__estimator_side *side);
/* Where a run writes what value `index` is, and one number of what it has written. */
artel_array artel__side_room(const artel__estimator_side *side, int index);
double artel__side_number(const artel__estimator_side *side, int index, int64_t row);
/* Points for TensorBoard, in a directory below the estimator's ("" for that itself). */
artel_status artel__side_point(artel__estimator_side *side, const char *folder, const char *tag, int64_t step,
                               double value);
void artel__estimator_event(const artel_estimator *estimator, const artel_event *event);

/* checkpoint.c */
typedef struct artel__estimator_save {
    int64_t step, epoch, max_steps;
    bool finished;
} artel__estimator_save;
artel_status artel__estimator_save_now(artel__estimator_side *side, const artel__estimator_save *save);
/* Takes up the newest checkpoint of a directory if it is newer than a step; step -1 in *out: there is none. `max_steps`
 * (or NULL): of the run that wrote it. */
artel_status artel__estimator_restore(artel__estimator_side *side, const char *directory, int64_t newer_than,
                                      artel_checkpoint_info *out, int64_t *max_steps);

/* warm.c: options as given, NULL accepted; and what the estimator's say, before the first step. Errors of both: as
 * artel_warm_start has them; the strategy stays as it was. */
artel_status artel__warm_start_take(artel_context *ctx, const artel_warm_start *given, artel_warm_start *out);
artel_status artel__side_warm_start(artel__estimator_side *side);

/* evaluate.c: what evaluates, over all checkpoints of a call. */
typedef struct artel__evaluator {
    artel__estimator_side side;
    const artel_eval_spec *spec;
    const char *directory;    /* of checkpoints */
    artel_exporter *exporter; /* spec->exporter_count of them, whole; in the side's arena */
    int64_t max_steps;        /* of training; 0: the run says when it is over */
    int64_t run_steps;        /* as the newest checkpoint has it */
    bool exports;
    artel_checkpoint_info found;
    int64_t evaluated;      /* the step; -1: none */
    artel_history *history; /* of the last evaluation */
} artel__evaluator;
artel_status artel__evaluator_open(artel_estimator *estimator, const artel_eval_spec *spec, int64_t max_steps,
                                   artel__evaluator *out);
void artel__evaluator_close(artel__evaluator *evaluator);
/* The newest checkpoint, if it was not evaluated. */
artel_status artel__evaluator_look(artel__evaluator *evaluator);
/* Beside a run, until that is over. */
artel_status artel__evaluator_follow(artel__evaluator *evaluator);
/* The last evaluation becomes the caller's. */
void artel__evaluator_give(artel__evaluator *evaluator, artel_history **out);

/* train.c. `evaluator`: looks at checkpoints in between, where it is not NULL. */
artel_status artel__estimator_train(artel_estimator *estimator, const artel_train_spec *spec,
                                    artel__evaluator *evaluator);

/* export.c: after an evaluation; `last`: training is over. */
artel_status artel__export(const artel__evaluator *evaluator, bool last);

#endif
