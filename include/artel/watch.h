/* SPDX-License-Identifier: Apache-2.0 */
/* The checkpoints of a run, from beside it: one after another as they come, each once. What tf.train.
 * checkpoints_iterator() and evaluate_repeatedly() are to TensorFlow.
 *
 *   artel_watch_create -> artel_watch_evaluate, or artel_watch_next and a reading of one's own, until ARTEL_AGAIN
 * Each time it is the newest one: of checkpoints that come faster than they are asked for some are skipped.
 *
 * Threads: a watch belongs to one thread at a time, like its context. */
#ifndef ARTEL_WATCH_H
#define ARTEL_WATCH_H

#include "artel/fit.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct artel_watch artel_watch;

/* Whether no checkpoint will come any more: asked after each time-out, and before each wait for a further one. */
typedef bool artel_watch_over_fn(void *user);

typedef struct artel_watch_options {
    size_t struct_size;
    double start_delay_secs;      /* before the first look; 0 */
    double min_interval_secs;     /* from giving one to giving the next, at least; 0 */
    double timeout_secs;          /* how long one is waited for; -1: for ever. 0: there is one look */
    int64_t max_checkpoints;      /* ends after so many; 0: any number */
    bool ignore_end;              /* goes on when the run has said that it has finished, which ends the watch else */
    artel_watch_over_fn *is_over; /* NULL: a time-out ends the watch */
    void *user;                   /* of is_over */
} artel_watch_options;

#ifdef __cplusplus
static inline artel_watch_options artel_watch_options_init(void)
{
    artel_watch_options options = artel_watch_options();
    options.struct_size = sizeof options;
    options.timeout_secs = -1;
    return options;
}
#define ARTEL_WATCH_OPTIONS_INIT artel_watch_options_init()
#else
#define ARTEL_WATCH_OPTIONS_INIT                                       \
    {                                                                  \
        .struct_size = sizeof(artel_watch_options), .timeout_secs = -1 \
    }
#endif

/* `directory`: of a run of fit, of artel_strategy_save(), of an estimator; copied, and need not be there yet. `options`
 * NULL: defaults. Reads nothing. Errors: ARTEL_ERROR_INVALID (no name, options), ARTEL_ERROR_NO_MEMORY. On failure *out
 * is untouched. */
ARTEL_API artel_status artel_watch_create(artel_context *context, const char *directory,
                                          const artel_watch_options *options, artel_watch **out);
ARTEL_API void artel_watch_destroy(artel_watch *watch); /* NULL accepted */
/* Waits for the next one: ARTEL_OK, or ARTEL_AGAIN when none will come, from there on always. A directory or checkpoint
 * that is damaged counts as one that is not there. Errors: ARTEL_ERROR_CANCELLED (the context was cancelled or
 * preempted), ARTEL_ERROR_IO, ARTEL_ERROR_INVALID (no directory, but a file). */
ARTEL_API artel_status artel_watch_next(artel_watch *watch);
/* What was given last; step -1 before the first one. `folder` (or NULL): where it lies, for
 * artel_model_read_checkpoint() and artel_strategy_restore(), which find none when the run has removed it meanwhile;
 * owned by the watch, until its next call. */
ARTEL_API artel_status artel_watch_found(const artel_watch *watch, artel_checkpoint_info *out, const char **folder);
/* Waits for the next one, takes its weights into the model and evaluates that: artel_watch_next() and
 * artel_model_evaluate(), of a checkpoint that nobody can remove in between. `out` may be NULL. Errors: those of both,
 * and of artel_model_read_checkpoint(); the checkpoint counts as given then. */
ARTEL_API artel_status artel_watch_evaluate(artel_watch *watch, artel_model *model, artel_data *data,
                                            const artel_evaluate_options *options, artel_history **out);

#ifdef __cplusplus
}
#endif
#endif
