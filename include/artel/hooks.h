/* SPDX-License-Identifier: Apache-2.0 */
/* Hooks of a monitored session (artel_session_monitor): functions around each run of the client's, which may fetch and
 * feed more, and end the job (artel_session_request_stop). What tf.train.SessionRunHook and the hooks of tf.train are.
 *
 *   artel_hook_create, or a constructor of those below -> artel_monitor_options.hooks -> artel_session_monitor
 * A hook is one of the client (task 0); the others never call it. Whatever order the list has is that of every call:
 *   begin, once
 *   created, when a session is there: at first, and after each loss of a task
 *   before, run, after: each artel_session_run() of the unit function's; runs by hooks have no hooks around them
 *   saving, saved: around each checkpoint
 *   end: when all units are done or a stop was requested, behind the last checkpoint; not after a failure
 *
 * Threads: a hook belongs to the thread of the session. What is handed to it, functions and texts too, outlives it. */
#ifndef ARTEL_HOOKS_H
#define ARTEL_HOOKS_H

#include "artel/session.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A run and the hooks around it; while they are called. */
typedef struct artel_hook_run artel_hook_run;

/* A failure ends the job as one of a unit does. `unit`: the one that comes next. */
typedef artel_status artel_hook_begin_fn(void *user, artel_session *session);
typedef artel_status artel_hook_unit_fn(void *user, artel_session *session, int64_t unit);
typedef artel_status artel_hook_run_fn(void *user, artel_hook_run *run);

/* Any may be NULL. */
typedef struct artel_hook_functions {
    size_t struct_size;
    artel_hook_begin_fn *begin;
    artel_hook_unit_fn *created;
    artel_hook_run_fn *before, *after;
    artel_hook_unit_fn *saving, *saved, *end;
} artel_hook_functions;

/* Errors: ARTEL_ERROR_INVALID (no size), ARTEL_ERROR_NO_MEMORY. On failure *out is untouched. */
ARTEL_API artel_status artel_hook_create(artel_context *context, const artel_hook_functions *functions, void *user,
                                         artel_hook **out);
ARTEL_API void artel_hook_destroy(artel_hook *hook); /* NULL accepted */

/* -- of a run -- */

ARTEL_API artel_session *artel_hook_session(const artel_hook_run *run);   /* NULL for NULL, as the next one */
ARTEL_API artel_function *artel_hook_function(const artel_hook_run *run); /* that is run */
ARTEL_API int64_t artel_hook_unit(const artel_hook_run *run);             /* 0, 1, ...; -1 for NULL */
/* Before: the run fetches this output, too. Errors: ARTEL_ERROR_INVALID (no such output, the run is over). */
ARTEL_API artel_status artel_hook_fetch(artel_hook_run *run, int output);
/* Before: the argument has this value, whose memory stays until the run is over. Errors: ARTEL_ERROR_INVALID (no such
 * argument, one that the caller or another hook feeds, the run is over). */
ARTEL_API artel_status artel_hook_feed(artel_hook_run *run, int argument, const artel_array *value);
/* After: an output that somebody has fetched; borrowed until the hook returns. Errors: ARTEL_ERROR_INVALID (nobody has,
 * or the run is not over). */
ARTEL_API artel_status artel_hook_value(const artel_hook_run *run, int output, artel_array *value);
/* -- those of tf.train -- */

/* StopAtStepHook: ends before unit `last`, or, where `last` is 0, after `steps` units from where it began; one of them
 * is 0. TensorFlow's does one more when the checkpoint is there already, this one none. */
ARTEL_API artel_status artel_hook_stop_at_step(artel_context *context, int64_t steps, int64_t last, artel_hook **out);
/* FeedFnHook: before each run of the function `feed` writes the value of an argument, whose memory stays until the run
 * is over. */
typedef artel_status artel_hook_feed_fn(void *user, int64_t unit, artel_array *value);
ARTEL_API artel_status artel_hook_feeding(artel_function *function, int argument, artel_hook_feed_fn *feed, void *user,
                                          artel_hook **out);
/* NanTensorHook: a NaN in this output of float32 or float64 is ARTEL_ERROR_RUN, or with `stops` the end of the job. */
ARTEL_API artel_status artel_hook_nan(artel_function *function, int output, bool stops, artel_hook **out);
/* FinalOpsHook: at the end the function is run as `call` says (artel_session_run). */
ARTEL_API artel_status artel_hook_final(artel_function *function, const artel_session_call *call, artel_hook **out);

/* What is watched, and how often. Of the three rates at most one of the first two. */
typedef struct artel_hook_options {
    size_t struct_size;
    const int *outputs;       /* of the function; scalars, or arrays of which as much is shown as fits a line */
    const char *const *names; /* of these; NULL: their numbers */
    int count;
    int64_t every_steps;   /* runs of the function; 0: by time. With no rate at all 100 */
    double every_secs;     /* 0: by steps */
    bool at_end;           /* of logging, when the job ends, too, or alone: the values of the last run */
    const char *directory; /* for files, of summary, step_counter and profiler */
} artel_hook_options;

#ifdef __cplusplus
static inline artel_hook_options artel_hook_options_init(void)
{
    artel_hook_options options = artel_hook_options();
    options.struct_size = sizeof options;
    return options;
}
#define ARTEL_HOOK_OPTIONS_INIT artel_hook_options_init()
#else
#define ARTEL_HOOK_OPTIONS_INIT                   \
    {                                             \
        .struct_size = sizeof(artel_hook_options) \
    }
#endif

/* LoggingTensorHook: "loss = 0.25, accuracy = 1 (0.125 sec)" to the context's log, of the first run and from there on
 * at the rate. Errors: ARTEL_ERROR_INVALID (options, an output that is none), ARTEL_ERROR_NO_MEMORY, as of the next
 * two. */
ARTEL_API artel_status artel_hook_logging(artel_function *function, const artel_hook_options *options,
                                          artel_hook **out);
/* SummarySaverHook: a point for each scalar in the directory, by the number of the unit that it ends with. */
ARTEL_API artel_status artel_hook_summary(artel_function *function, const artel_hook_options *options,
                                          artel_hook **out);
/* StepCounterHook: "global_step/sec" to the log and, with a directory, for TensorBoard. It counts units and watches no
 * output. */
ARTEL_API artel_status artel_hook_step_counter(artel_context *context, const artel_hook_options *options,
                                               artel_hook **out);

/* ProfilerHook: directory/timeline-STEP.json of a run, STEP being the number of the unit that it ends with; not of the
 * first run. A timeline in Chrome's format, as fit's --profile writes it, of the nodes that the client computes: what
 * other tasks do is a gap. It watches no output. Errors: ARTEL_ERROR_INVALID (options, no directory); ARTEL_ERROR_IO
 * ends the job. */
ARTEL_API artel_status artel_hook_profiler(artel_context *context, const artel_hook_options *options, artel_hook **out);

#ifdef __cplusplus
}
#endif
#endif
