/* SPDX-License-Identifier: Apache-2.0 */
/* The hooks of tf.train: what they watch are outputs of one function, whose runs they count. Source of when they act:
 * tensorflow/python/training/basic_session_run_hooks.py. */
#include <stdio.h>

#include "base/argument.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "estimator/hook.h"
#include "function/session/session.h"
#include "observe/tfevents.h"
#include "observe/trace.h"
#include "tensor/shape.h"

enum {
    MOST_OUTPUTS = 1000,
    LINE = 16 /* elements of an array that are shown */
};

/* -- when: SecondOrStepTimer -- */

typedef struct timer {
    int64_t every, last; /* steps; last -1: it was not due yet */
    double secs;
    int64_t last_ns;
} timer;

static bool is_due(const timer *t, int64_t step)
{
    if (t->last < 0) return true;
    if (step == t->last) return false;
    if (t->secs > 0) return (double)(artel__now_ns() - t->last_ns) * 1e-9 >= t->secs;
    return t->every > 0 && step >= t->last + t->every;
}

/* Seconds and steps since the last time; seconds -1: it is the first one. */
static double was_due(timer *t, int64_t step, int64_t *steps)
{
    int64_t now = artel__now_ns();
    double passed = t->last < 0 ? -1 : (double)(now - t->last_ns) * 1e-9;
    *steps = step - t->last;
    t->last = step;
    t->last_ns = now;
    return passed;
}

/* -- what: outputs of a function -- */

typedef struct watcher {
    artel_context *ctx;
    artel_function *function; /* NULL: of every run */
    artel_hook_options options;
    artel__text line; /* of the last run that was fetched */
    artel__tfevents *events;
    artel__trace *trace; /* of the run that is going on */
    timer timer;
    int64_t runs;
    bool due;
} watcher;

#define OPTION(field) offsetof(artel_hook_options, field)
static const artel__range ranges[] = {{".count", ARTEL__RANGE_INT, OPTION(count), 0, MOST_OUTPUTS, NULL},
                                      {".every_steps", ARTEL__RANGE_INT64, OPTION(every_steps), 0, 1e15, NULL},
                                      {".every_secs", ARTEL__RANGE_DOUBLE, OPTION(every_secs), 0, 1e9, NULL},
                                      {.name = NULL}};
static const artel__options_kind kind = {"hook options", "begin with ARTEL_HOOK_OPTIONS_INIT",
                                         sizeof(artel_hook_options), ranges};

static artel_status wrong(artel_context *ctx, const char *advice, const char *what)
{
    return artel__fail(ctx, ARTEL_ERROR_INVALID, "hook", advice, "%s", what);
}

static artel_status check_watched(artel_context *ctx, const artel_function *function, const artel_hook_options *o)
{
    if (o->every_steps && o->every_secs > 0) return wrong(ctx, "give one of them", "both .every_steps and .every_secs");
    if (!function) return ARTEL_OK;
    if (o->count < 1 || !o->outputs) return wrong(ctx, "list the outputs that are watched", "there are no .outputs");
    for (int i = 0; i < o->count; i++) {
        artel_dtype dtype;
        ARTEL_TRY(artel_function_output(function, o->outputs[i], &dtype, NULL, NULL));
        if (dtype == ARTEL_DTYPE_STRING) return wrong(ctx, "watch numbers", "an output is text");
        if (o->names && !o->names[i]) return wrong(ctx, "give each output a name, or none", "a name is NULL");
    }
    return ARTEL_OK;
}

static void close_watcher(void *user)
{
    watcher *w = user;
    artel__text_fini(&w->line);
    artel__tfevents_destroy(w->events);
    artel__trace_destroy(w->trace);
}

static artel_status make_watcher(artel_context *ctx, artel_function *function, const artel_hook_options *given,
                                 const artel_hook_functions *call, artel_hook **out)
{
    artel_hook *hook;
    artel_hook_options o = ARTEL_HOOK_OPTIONS_INIT;
    ARTEL_TRY(artel__take_options(ctx, &kind, given, &o));
    ARTEL_TRY(check_watched(ctx, function, &o));
    ARTEL_TRY(artel__hook_make(ctx, call, close_watcher, sizeof(watcher), &hook));
    watcher *w = hook->user;
    bool never = o.at_end && !o.every_steps && !(o.every_secs > 0);
    w->ctx = ctx;
    w->function = function;
    w->options = o;
    w->timer = (timer){.every = o.every_steps || o.every_secs > 0 || never ? o.every_steps : 100,
                       .last = never ? 0 : -1, /* never: there is no rate, and the first run is not due */
                       .secs = o.every_secs};
    artel__text_init(&w->line, ctx);
    *out = hook;
    return ARTEL_OK;
}

static artel_status begin(void *user, artel_session *session)
{
    watcher *w = user;
    (void)session;
    if (!w->options.directory || w->events) return ARTEL_OK;
    return artel__tfevents_create(w->ctx, w->options.directory, 0, &w->events);
}

static artel_status finish(void *user, artel_session *session, int64_t unit)
{
    const watcher *w = user;
    (void)session;
    (void)unit;
    return w->events ? artel__tfevents_flush(w->events) : ARTEL_OK;
}

static bool is_mine(const watcher *w, const artel_hook_run *run)
{
    return !w->function || artel_hook_function(run) == w->function;
}

static artel_status fetch_all(const watcher *w, artel_hook_run *run)
{
    for (int i = 0; i < w->options.count; i++) ARTEL_TRY(artel_hook_fetch(run, w->options.outputs[i]));
    return ARTEL_OK;
}

static double number_at(const artel_array *a, int64_t i)
{
    double number;
    const char *bytes = a->data;
    artel__convert(a->dtype, bytes + (size_t)i * artel_dtype_size(a->dtype), ARTEL_DTYPE_FLOAT64, &number, 1);
    return number;
}

/* -- LoggingTensorHook -- */

static void show_array(artel__text *line, const artel_array *a)
{
    int64_t count = artel_shape_count(&a->shape);
    if (a->shape.rank > 0) artel__text_append(line, "[");
    for (int64_t i = 0; i < count && i < LINE; i++) artel__text_printf(line, "%s%.9g", i ? " " : "", number_at(a, i));
    if (count > LINE) artel__text_append(line, " ...");
    if (a->shape.rank > 0) artel__text_append(line, "]");
}

static artel_status before_logging(void *user, artel_hook_run *run)
{
    watcher *w = user;
    if (!is_mine(w, run)) return ARTEL_OK;
    w->due = is_due(&w->timer, w->runs);
    return w->due || w->options.at_end ? fetch_all(w, run) : ARTEL_OK;
}

static artel_status after_logging(void *user, artel_hook_run *run)
{
    watcher *w = user;
    artel_array value;
    int64_t steps;
    if (!is_mine(w, run)) return ARTEL_OK;
    int64_t now = w->runs++;
    if (!w->due && !w->options.at_end) return ARTEL_OK;
    artel__text_clear(&w->line);
    for (int i = 0; i < w->options.count; i++) {
        ARTEL_TRY(artel_hook_value(run, w->options.outputs[i], &value));
        if (w->options.names)
            artel__text_printf(&w->line, "%s%s = ", i ? ", " : "", w->options.names[i]);
        else
            artel__text_printf(&w->line, "%s%d = ", i ? ", " : "", w->options.outputs[i]);
        show_array(&w->line, &value);
    }
    ARTEL_TRY(artel__text_status(&w->line));
    if (!w->due) return ARTEL_OK;
    double passed = was_due(&w->timer, now, &steps);
    if (passed < 0)
        artel__log(w->ctx, ARTEL_LOG_NOTE, "%s", w->line.data);
    else
        artel__log(w->ctx, ARTEL_LOG_NOTE, "%s (%.3f sec)", w->line.data, passed);
    return ARTEL_OK;
}

static artel_status end_logging(void *user, artel_session *session, int64_t unit)
{
    const watcher *w = user;
    (void)session;
    (void)unit;
    if (w->options.at_end && w->line.length > 0) artel__log(w->ctx, ARTEL_LOG_NOTE, "%s", w->line.data);
    return ARTEL_OK;
}

artel_status artel_hook_logging(artel_function *function, const artel_hook_options *options, artel_hook **out)
{
    static const artel_hook_functions call = {.before = before_logging, .after = after_logging, .end = end_logging};
    artel_context *ctx = function ? artel__placed_function_context(function) : NULL;
    ARTEL_TRY(artel__enter(ctx, __func__, "function options out", function, options, out));
    return make_watcher(ctx, function, options, &call, out);
}

/* -- SummarySaverHook -- */

static artel_status before_summary(void *user, artel_hook_run *run)
{
    watcher *w = user;
    if (!is_mine(w, run)) return ARTEL_OK;
    w->due = is_due(&w->timer, artel_hook_unit(run) + 1);
    return w->due ? fetch_all(w, run) : ARTEL_OK;
}

static artel_status after_summary(void *user, artel_hook_run *run)
{
    watcher *w = user;
    artel_array value;
    int64_t steps, step = artel_hook_unit(run) + 1;
    char number[24];
    if (!is_mine(w, run) || !w->due) return ARTEL_OK;
    was_due(&w->timer, step, &steps);
    for (int i = 0; i < w->options.count; i++) {
        ARTEL_TRY(artel_hook_value(run, w->options.outputs[i], &value));
        if (artel_shape_count(&value.shape) != 1)
            return wrong(w->ctx, "watch scalars, means over rows",
                         "a summary is of one number, and the output has more");
        snprintf(number, sizeof number, "%d", w->options.outputs[i]);
        ARTEL_TRY(artel__tfevents_scalar(w->events, w->options.names ? w->options.names[i] : number, step,
                                         (float)number_at(&value, 0)));
    }
    return ARTEL_OK;
}

/* A hook that writes files has a place for them. */
static artel_status named_directory(artel_context *ctx, const watcher *w, artel_hook *made, artel_hook **out)
{
    if (w->options.directory && w->options.directory[0]) return *out = made, ARTEL_OK;
    artel_hook_destroy(made);
    return wrong(ctx, "name a directory", "there is no .directory for what the hook writes");
}

artel_status artel_hook_summary(artel_function *function, const artel_hook_options *options, artel_hook **out)
{
    static const artel_hook_functions call = {
        .begin = begin, .before = before_summary, .after = after_summary, .end = finish};
    artel_hook *made;
    artel_context *ctx = function ? artel__placed_function_context(function) : NULL;
    ARTEL_TRY(artel__enter(ctx, __func__, "function options out", function, options, out));
    ARTEL_TRY(make_watcher(ctx, function, options, &call, &made));
    const watcher *w = made->user;
    return named_directory(ctx, w, made, out);
}

/* -- StepCounterHook -- */

static artel_status count_step(void *user, artel_hook_run *run)
{
    watcher *w = user;
    int64_t steps, step = artel_hook_unit(run) + 1;
    if (!is_due(&w->timer, step)) return ARTEL_OK;
    double passed = was_due(&w->timer, step, &steps), rate = passed > 0 ? (double)steps / passed : 0;
    if (passed < 0) return ARTEL_OK;
    artel__log(w->ctx, ARTEL_LOG_NOTE, "global_step/sec: %g", rate);
    return w->events ? artel__tfevents_scalar(w->events, "global_step/sec", step, (float)rate) : ARTEL_OK;
}

artel_status artel_hook_step_counter(artel_context *ctx, const artel_hook_options *options, artel_hook **out)
{
    static const artel_hook_functions call = {.begin = begin, .after = count_step, .end = finish};
    ARTEL_TRY(artel__enter(ctx, __func__, "context options out", ctx, options, out));
    return make_watcher(ctx, NULL, options, &call, out);
}

/* -- ProfilerHook -- */

static void note_time(void *user, const artel__placed_time *time)
{
    watcher *w = user;
    const char *const member[][2] = {{"layer", time->layer}, {"kernel", time->kernel}, {"phase", time->phase}};
    artel__text_clear(&w->line);
    for (size_t i = 0; i < ARTEL__COUNT(member); i++) {
        artel__text_printf(&w->line, "%s\"%s\": ", i ? ", " : "{", member[i][0]);
        artel__text_append_json(&w->line, member[i][1]);
    }
    artel__text_append(&w->line, "}");
    artel__trace_span(w->trace,
                      &(artel__trace_span_record){.category = "op",
                                                  .name = time->operation,
                                                  .begin_ns = time->begin_ns,
                                                  .end_ns = time->begin_ns + time->longest_ns,
                                                  .arguments = artel__text_status(&w->line) < 0 ? NULL : w->line.data});
}

/* The first run only starts the clock: what it does for the first time is no measure of the others. */
static artel_status before_profile(void *user, artel_hook_run *run)
{
    char path[4300];
    watcher *w = user;
    int64_t step = artel_hook_unit(run) + 1;
    if (w->timer.last < 0) w->timer.last = step - 1, w->timer.last_ns = artel__now_ns();
    w->due = w->runs++ > 0 && is_due(&w->timer, step);
    if (!w->due) return ARTEL_OK;
    artel__trace_destroy(w->trace); /* of a run that has failed, and whose unit goes on */
    w->trace = NULL;
    ARTEL_TRY(artel__make_directory(w->ctx, w->options.directory));
    snprintf(path, sizeof path, "%.4200s/timeline-%lld.json", w->options.directory, (long long)step);
    ARTEL_TRY(artel__trace_create(w->ctx, path, 0, "artel session", &w->trace));
    artel__trace_thread(w->trace, 0, "client");
    artel__placed_watch(artel_hook_session(run), note_time, w);
    return ARTEL_OK;
}

static artel_status after_profile(void *user, artel_hook_run *run)
{
    watcher *w = user;
    int64_t steps;
    if (!w->due) return ARTEL_OK;
    was_due(&w->timer, artel_hook_unit(run) + 1, &steps);
    artel__placed_watch(artel_hook_session(run), NULL, NULL);
    artel_status status = artel__trace_destroy(w->trace);
    w->trace = NULL;
    return status;
}

/* A run that was lost has no times. */
static artel_status forget_profile(void *user, artel_session *session, int64_t unit)
{
    watcher *w = user;
    (void)unit;
    artel__placed_watch(session, NULL, NULL);
    artel_status status = artel__trace_destroy(w->trace);
    w->trace = NULL;
    return status;
}

artel_status artel_hook_profiler(artel_context *ctx, const artel_hook_options *options, artel_hook **out)
{
    static const artel_hook_functions call = {
        .created = forget_profile, .before = before_profile, .after = after_profile};
    artel_hook *made;
    ARTEL_TRY(artel__enter(ctx, __func__, "context options out", ctx, options, out));
    ARTEL_TRY(make_watcher(ctx, NULL, options, &call, &made));
    return named_directory(ctx, made->user, made, out);
}
