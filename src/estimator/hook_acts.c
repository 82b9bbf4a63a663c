/* SPDX-License-Identifier: Apache-2.0 */
/* The hooks of tf.train that act: stop, feed, refuse NaN, run something at the end. */
#include <math.h>

#include "artel/saved.h"
#include "base/argument.h"
#include "estimator/hook.h"
#include "function/session/session.h"

/* -- StopAtStepHook -- */

typedef struct stopper {
    int64_t steps, last;
} stopper;

static artel_status stop_created(void *user, artel_session *session, int64_t unit)
{
    stopper *s = user;
    if (s->last == 0) s->last = unit + s->steps; /* of the first session alone */
    return unit >= s->last ? artel_session_request_stop(session) : ARTEL_OK;
}

static artel_status stop_after(void *user, artel_hook_run *run)
{
    const stopper *s = user;
    return artel_hook_unit(run) + 1 >= s->last ? artel_session_request_stop(artel_hook_session(run)) : ARTEL_OK;
}

static void nothing(void *user)
{
    (void)user;
}

artel_status artel_hook_stop_at_step(artel_context *ctx, int64_t steps, int64_t last, artel_hook **out)
{
    static const artel_hook_functions call = {.created = stop_created, .after = stop_after};
    artel_hook *hook;
    ARTEL_TRY(artel__enter(ctx, __func__, "context out", ctx, out));
    ARTEL_TRY(artel__need_count(ctx, "hook", steps, "steps"));
    ARTEL_TRY(artel__need_count(ctx, "hook", last, "units"));
    if ((steps == 0) == (last == 0))
        return artel__fail(ctx, ARTEL_ERROR_INVALID, "hook", "give one of them",
                           steps ? "both steps and last are given" : "neither steps nor last is given");
    ARTEL_TRY(artel__hook_make(ctx, &call, nothing, sizeof(stopper), &hook));
    *(stopper *)hook->user = (stopper){steps, last};
    *out = hook;
    return ARTEL_OK;
}

/* -- FeedFnHook -- */

typedef struct feeder {
    artel_function *function;
    int argument;
    artel_hook_feed_fn *feed;
    void *user;
} feeder;

static artel_status feed_before(void *user, artel_hook_run *run)
{
    const feeder *f = user;
    artel_array value = {.data = NULL};
    if (artel_hook_function(run) != f->function) return ARTEL_OK;
    ARTEL_TRY(f->feed(f->user, artel_hook_unit(run), &value));
    return artel_hook_feed(run, f->argument, &value);
}

artel_status artel_hook_feeding(artel_function *function, int argument, artel_hook_feed_fn *feed, void *user,
                                artel_hook **out)
{
    static const artel_hook_functions call = {.before = feed_before};
    artel_hook *hook;
    artel_argument known;
    artel_context *ctx = function ? artel__placed_function_context(function) : NULL;
    ARTEL_TRY(artel__enter(ctx, __func__, "function out", function, out));
    if (!feed)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, "hook", "give a function", "there is no function that feeds");
    ARTEL_TRY(artel_function_argument(function, argument, &known));
    ARTEL_TRY(artel__hook_make(ctx, &call, nothing, sizeof(feeder), &hook));
    *(feeder *)hook->user = (feeder){function, argument, feed, user};
    *out = hook;
    return ARTEL_OK;
}

/* -- NanTensorHook -- */

typedef struct guard {
    artel_context *ctx;
    artel_function *function;
    int output;
    bool stops;
} guard;

static artel_status fetch_guarded(void *user, artel_hook_run *run)
{
    const guard *g = user;
    return artel_hook_function(run) == g->function ? artel_hook_fetch(run, g->output) : ARTEL_OK;
}

static bool has_nan(const artel_array *a)
{
    bool found = false;
    for (int64_t i = 0; i < artel_shape_count(&a->shape); i++)
        found = found || (a->dtype == ARTEL_DTYPE_FLOAT64 ? isnan(((const double *)a->data)[i])
                                                          : isnan(((const float *)a->data)[i]));
    return found;
}

static artel_status guard_after(void *user, artel_hook_run *run)
{
    const guard *g = user;
    artel_array value;
    if (artel_hook_function(run) != g->function) return ARTEL_OK;
    ARTEL_TRY(artel_hook_value(run, g->output, &value));
    if (!has_nan(&value)) return ARTEL_OK;
    if (!g->stops)
        return artel__fail(g->ctx, ARTEL_ERROR_RUN, "hook", "lower the learning rate, or look at the data",
                           "output %d is not a number in unit %lld", g->output, (long long)artel_hook_unit(run));
    artel__log(g->ctx, ARTEL_LOG_WARNING, "output %d is not a number in unit %lld: the job ends", g->output,
               (long long)artel_hook_unit(run));
    return artel_session_request_stop(artel_hook_session(run));
}

artel_status artel_hook_nan(artel_function *function, int output, bool stops, artel_hook **out)
{
    static const artel_hook_functions call = {.before = fetch_guarded, .after = guard_after};
    artel_hook *hook;
    artel_dtype dtype;
    artel_context *ctx = function ? artel__placed_function_context(function) : NULL;
    ARTEL_TRY(artel__enter(ctx, __func__, "function out", function, out));
    ARTEL_TRY(artel_function_output(function, output, &dtype, NULL, NULL));
    if (dtype != ARTEL_DTYPE_FLOAT32 && dtype != ARTEL_DTYPE_FLOAT64)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, "hook", "watch an output of float32 or float64",
                           "output %d is %s, which has no NaN", output, artel_dtype_name(dtype));
    ARTEL_TRY(artel__hook_make(ctx, &call, nothing, sizeof(guard), &hook));
    *(guard *)hook->user = (guard){ctx, function, output, stops};
    *out = hook;
    return ARTEL_OK;
}

/* -- FinalOpsHook -- */

typedef struct finisher {
    artel_function *function;
    artel_session_call call;
} finisher;

static artel_status run_last(void *user, artel_session *session, int64_t unit)
{
    const finisher *f = user;
    (void)unit;
    return artel_session_run(session, f->function, &f->call);
}

artel_status artel_hook_final(artel_function *function, const artel_session_call *given, artel_hook **out)
{
    static const artel__range no_ranges[] = {{.name = NULL}};
    static const artel__options_kind kind = {"session call", "begin with ARTEL_SESSION_CALL_INIT",
                                             sizeof(artel_session_call), no_ranges};
    static const artel_hook_functions call = {.end = run_last};
    artel_hook *hook;
    artel_session_call chosen = ARTEL_SESSION_CALL_INIT;
    artel_context *ctx = function ? artel__placed_function_context(function) : NULL;
    ARTEL_TRY(artel__enter(ctx, __func__, "function call out", function, given, out));
    ARTEL_TRY(artel__take_options(ctx, &kind, given, &chosen));
    if (chosen.feed_count != artel_function_arguments(function) ||
        chosen.output_count != artel_function_outputs(function))
        return artel__fail(ctx, ARTEL_ERROR_INVALID, "hook", "list all of both; what is not wanted has no data",
                           "%d feeds and %d outputs; the function has %d and %d", chosen.feed_count,
                           chosen.output_count, artel_function_arguments(function), artel_function_outputs(function));
    ARTEL_TRY(artel__hook_make(ctx, &call, nothing, sizeof(finisher), &hook));
    *(finisher *)hook->user = (finisher){function, chosen};
    *out = hook;
    return ARTEL_OK;
}
