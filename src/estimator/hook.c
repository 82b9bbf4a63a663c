/* SPDX-License-Identifier: Apache-2.0 */
/* Runs with hooks around them: what the caller fetches and feeds, what hooks add, one run, and each sees its values. */
#include "estimator/hook.h"

#include <string.h>

#include "artel/saved.h"
#include "base/argument.h"
#include "function/session/session.h"

struct artel_hook_run {
    artel__hooks *hooks;
    artel_function *function;
    artel_array *feed, *output; /* the caller's, and what hooks have added */
    int feeds, outputs;
    bool *wanted, *mine; /* by output: a hook fetches it; its memory is ours */
    bool over;
};

/* -- hooks -- */

static const artel__range no_ranges[] = {{.name = NULL}};
static const artel__options_kind functions_kind = {"hook", "set struct_size", sizeof(artel_hook_functions), no_ranges};

artel_status artel__hook_make(artel_context *ctx, const artel_hook_functions *call, void (*fini)(void *user),
                              size_t bytes, artel_hook **out)
{
    void *hook, *user = NULL;
    ARTEL_TRY(artel__calloc(ctx, 1, sizeof(artel_hook), "hook", &hook));
    artel_status status = bytes ? artel__calloc(ctx, 1, bytes, "hook", &user) : ARTEL_OK;
    if (status < 0) {
        artel__free(ctx, hook);
        return status;
    }
    *out = hook;
    **out = (artel_hook){ctx, *call, user, fini};
    return ARTEL_OK;
}

artel_status artel_hook_create(artel_context *ctx, const artel_hook_functions *functions, void *user, artel_hook **out)
{
    artel_hook *hook;
    artel_hook_functions call = {.struct_size = sizeof call};
    ARTEL_TRY(artel__enter(ctx, __func__, "context functions out", ctx, functions, out));
    ARTEL_TRY(artel__take_options(ctx, &functions_kind, functions, &call));
    ARTEL_TRY(artel__hook_make(ctx, &call, NULL, 0, &hook));
    hook->user = user;
    *out = hook;
    return ARTEL_OK;
}

void artel_hook_destroy(artel_hook *hook)
{
    if (!hook) return;
    if (hook->fini) {
        hook->fini(hook->user);
        artel__free(hook->ctx, hook->user);
    }
    artel__free(hook->ctx, hook);
}

/* What a hook of the program's has recorded itself goes first. */
static artel_status tell(const artel__hooks *hooks, int hook, artel_status status)
{
    if (status >= 0) return ARTEL_OK;
    return artel__fail(hooks->ctx, status, "hook", "see what it has found", "hook %d has failed", hook);
}

static artel_status call_one(const artel_hook *h, artel__hook_moment moment, artel_session *s, int64_t unit)
{
    artel_hook_unit_fn *const timed[] = {
        [ARTEL__HOOK_BEGIN] = NULL,
        [ARTEL__HOOK_CREATED] = h->call.created,
        [ARTEL__HOOK_SAVING] = h->call.saving,
        [ARTEL__HOOK_SAVED] = h->call.saved,
        [ARTEL__HOOK_END] = h->call.end,
    };
    if (moment == ARTEL__HOOK_BEGIN) return h->call.begin ? h->call.begin(h->user, s) : ARTEL_OK;
    return timed[moment] ? timed[moment](h->user, s, unit) : ARTEL_OK;
}

artel_status artel__hooks_call(artel__hooks *hooks, artel__hook_moment moment, int64_t unit)
{
    artel_status status = ARTEL_OK;
    artel__placed_surround(hooks->session, NULL, hooks);
    for (int i = 0; i < hooks->count && status >= 0; i++)
        status = tell(hooks, i, call_one(hooks->hook[i], moment, hooks->session, unit));
    artel__placed_surround(hooks->session, artel__hooks_around, hooks);
    return status;
}

/* -- what a hook asks of a run -- */

artel_session *artel_hook_session(const artel_hook_run *run)
{
    return run ? run->hooks->session : NULL;
}

artel_function *artel_hook_function(const artel_hook_run *run)
{
    return run ? run->function : NULL;
}

int64_t artel_hook_unit(const artel_hook_run *run)
{
    return run ? run->hooks->unit : -1;
}

static artel_status refuse(const artel_hook_run *run, const char *advice, const char *what, int number)
{
    return artel__fail(run->hooks->ctx, ARTEL_ERROR_INVALID, "hook", advice, "%s %d", what, number);
}

static artel_status need_before(const artel_hook_run *run)
{
    if (!run->over) return ARTEL_OK;
    return artel__fail(run->hooks->ctx, ARTEL_ERROR_INVALID, "hook", "do it in .before", "the run is over");
}

artel_status artel_hook_fetch(artel_hook_run *run, int output)
{
    ARTEL_TRY(artel__need(run ? run->hooks->ctx : NULL, __func__, "run", run));
    ARTEL_TRY(need_before(run));
    if (output < 0 || output >= run->outputs)
        return refuse(run, "name an output of the function that is run", "there is no output", output);
    run->wanted[output] = true;
    return ARTEL_OK;
}

artel_status artel_hook_feed(artel_hook_run *run, int argument, const artel_array *value)
{
    ARTEL_TRY(artel__need(run ? run->hooks->ctx : NULL, __func__, "run value", run, value));
    ARTEL_TRY(need_before(run));
    if (argument < 0 || argument >= run->feeds)
        return refuse(run, "name an argument of the function that is run", "there is no argument", argument);
    if (run->feed[argument].data)
        return refuse(run, "let one of them feed it", "the caller, or another hook, feeds argument", argument);
    if (artel_dtype_size(value->dtype) == 0 && value->dtype != ARTEL_DTYPE_STRING)
        return refuse(run, "name an element type", "there is no element type", (int)value->dtype);
    run->feed[argument] = *value;
    return ARTEL_OK;
}

artel_status artel_hook_value(const artel_hook_run *run, int output, artel_array *value)
{
    ARTEL_TRY(artel__need(run ? run->hooks->ctx : NULL, __func__, "run value", run, value));
    if (!run->over || output < 0 || output >= run->outputs || !run->output[output].data)
        return refuse(run, "fetch it in .before, and read it in .after", "there is no value of output", output);
    *value = run->output[output];
    return ARTEL_OK;
}

/* -- a run -- */

static void forget(artel_hook_run *run)
{
    artel_context *ctx = run->hooks->ctx;
    for (int i = 0; run->mine && i < run->outputs; i++) {
        if (run->mine[i]) artel__free(ctx, run->output[i].data);
    }
    artel__free(ctx, run->feed);
    artel__free(ctx, run->output);
    artel__free(ctx, run->wanted);
    artel__free(ctx, run->mine);
}

static artel_status prepare(artel_hook_run *run, const artel_session_call *call)
{
    void *feed, *output, *wanted, *mine;
    artel_context *ctx = run->hooks->ctx;
    ARTEL_TRY(artel__calloc(ctx, (size_t)run->feeds + 1, sizeof *run->feed, "hook", &feed));
    run->feed = feed;
    ARTEL_TRY(artel__calloc(ctx, (size_t)run->outputs + 1, sizeof *run->output, "hook", &output));
    run->output = output;
    ARTEL_TRY(artel__calloc(ctx, (size_t)run->outputs + 1, sizeof *run->wanted, "hook", &wanted));
    run->wanted = wanted;
    ARTEL_TRY(artel__calloc(ctx, (size_t)run->outputs + 1, sizeof *run->mine, "hook", &mine));
    run->mine = mine;
    if (run->feeds) memcpy(feed, call->feeds, (size_t)run->feeds * sizeof *run->feed);
    if (run->outputs) memcpy(output, call->outputs, (size_t)run->outputs * sizeof *run->output);
    return ARTEL_OK;
}

static int64_t rows_of(const artel_hook_run *run)
{
    artel_argument argument;
    for (int i = 0; i < run->feeds; i++) {
        const artel_array *feed = &run->feed[i];
        if (!feed->data || artel_function_argument(run->function, i, &argument) < 0 || argument.shared) continue;
        return feed->shape.rank > 0 && feed->shape.dim[0] > 0 ? feed->shape.dim[0] : 1;
    }
    return 1;
}

/* Shapes of all that is fetched, and memory of what hooks alone do. */
static artel_status make_room(artel_hook_run *run)
{
    int64_t rows = rows_of(run);
    for (int i = 0; i < run->outputs; i++) {
        artel_array *o = &run->output[i];
        void *data = o->data;
        bool by_row;
        artel_shape shape;
        if (!data && !run->wanted[i]) continue;
        ARTEL_TRY(artel_function_output(run->function, i, &o->dtype, &shape, &by_row));
        o->shape = shape;
        if (by_row) {
            o->shape.rank++;
            o->shape.dim[0] = rows;
            memcpy(o->shape.dim + 1, shape.dim, (size_t)shape.rank * sizeof *shape.dim);
        }
        if (data) continue;
        size_t bytes = (size_t)artel_shape_count(&o->shape) * artel_dtype_size(o->dtype);
        ARTEL_TRY(artel__calloc(run->hooks->ctx, 1, bytes + 1, "hook", &data));
        o->data = data;
        run->mine[i] = true;
    }
    return ARTEL_OK;
}

static artel_status call_around(artel_hook_run *run)
{
    artel_status status = ARTEL_OK;
    for (int i = 0; i < run->hooks->count && status >= 0; i++) {
        const artel_hook *h = run->hooks->hook[i];
        artel_hook_run_fn *call = run->over ? h->call.after : h->call.before;
        if (call) status = tell(run->hooks, i, call(h->user, run));
    }
    return status;
}

static artel_status run_with_hooks(artel_hook_run *run, const artel_session_call *call)
{
    artel_session_call more = *call;
    ARTEL_TRY(prepare(run, call));
    ARTEL_TRY(call_around(run));
    ARTEL_TRY(make_room(run));
    more.feeds = run->feed;
    more.outputs = run->output;
    ARTEL_TRY(artel_session_run(run->hooks->session, run->function, &more));
    run->over = true;
    return call_around(run);
}

artel_status artel__hooks_around(void *user, artel_function *function, const artel_session_call *call)
{
    artel__hooks *hooks = user;
    artel_hook_run run = {
        .hooks = hooks, .function = function, .feeds = call->feed_count, .outputs = call->output_count};
    if (hooks->stopped)
        return artel__fail(hooks->ctx, ARTEL_ERROR_INVALID, "session", "return from the unit",
                           "a run after a stop was requested");
    artel__placed_surround(hooks->session, NULL, hooks);
    artel_status status =
        hooks->count > 0 ? run_with_hooks(&run, call) : artel_session_run(hooks->session, function, call);
    artel__placed_surround(hooks->session, artel__hooks_around, hooks);
    forget(&run);
    return status;
}
