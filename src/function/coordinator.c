/* SPDX-License-Identifier: Apache-2.0 */
/* A coordinator as its caller sees it: scheduling, waiting, errors that are raised once; and variables of the servers.
 */
#include "function/coordinator_impl.h"

#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "net/far.h"

#define SECOND INT64_C(1000000000)
#define REMIND_NS (5 * SECOND)

#define OPTION(field) offsetof(artel_coordinator_options, field)
static const artel__range ranges[] = {
    {".in_flight", ARTEL__RANGE_INT, OPTION(in_flight), 1, ARTEL__MOST_IN_FLIGHT, NULL},
    {".queue", ARTEL__RANGE_INT64, OPTION(queue), 1, 1e9, NULL},
    {".patience", ARTEL__RANGE_DOUBLE, OPTION(patience), 0, 1e9, NULL},
    {".start_delay", ARTEL__RANGE_DOUBLE, OPTION(start_delay), 0, 1e9, NULL},
    {".start_delay_most", ARTEL__RANGE_DOUBLE, OPTION(start_delay_most), 0, 1e9, NULL},
    {.name = NULL}};
static const artel__options_kind options_kind = {"coordinator options", "begin with ARTEL_COORDINATOR_OPTIONS_INIT",
                                                 sizeof(artel_coordinator_options), ranges};

static void wake(artel_coordinator *c)
{
    if (c->endpoint) artel__far_wake(c->endpoint);
}

/* -- waiting; with the mutex held -- */

static artel_status report(artel_coordinator *c, const artel_error *error)
{
    return artel__fail(c->ctx, error->status, error->where, error->advice, "%s", error->what);
}

/* Why nothing has changed for so long, though all that is needed for it is here (whom the job lacks is said by
 * coordinate.c, and while tasks have not met, by the cluster). Who computes for too long is ended by
 * .collective_timeout. */
static void say_why(artel_coordinator *c)
{
    int64_t now = artel__now_ns();
    const artel__closure *x = c->running.first;
    if (!c->endpoint || c->metrics.workers == 0 || !c->whole || now - c->heard_ns < REMIND_NS ||
        now - c->said_ns < REMIND_NS)
        return;
    c->said_ns = now;
    if (c->command != ARTEL__COMMAND_NONE)
        artel__log(c->ctx, ARTEL_LOG_NOTE, "waiting for an answer of the ps tasks");
    else if (x)
        artel__log(c->ctx, ARTEL_LOG_NOTE, "waiting for closure %llu, %s, which worker %d has had for %lld s",
                   (unsigned long long)x->number, x->function->name, x->worker,
                   (long long)((now - x->dealt_ns) / SECOND));
    else
        artel__log(c->ctx, ARTEL_LOG_NOTE, "waiting for a worker to take one of %lld closures",
                   (long long)c->waiting.count);
}

/* Sleeps until something has changed, a moment at the most. Whoever waits does not wait for a job that has failed. */
static artel_status sleep_on(artel_coordinator *c)
{
    struct timespec until = artel__after_ns(ARTEL__LOOK_NS);
    if (c->fatal.status < 0) return report(c, &c->fatal);
    if (c->ended)
        return artel__fail(c->ctx, ARTEL_ERROR_RUN, "coordinator", "start the job again", "the job has ended");
    if (artel__cancelled(c->ctx))
        return artel__fail(c->ctx, ARTEL_ERROR_CANCELLED, "coordinator", "call artel_context_clear to go on",
                           "waiting was cancelled");
    say_why(c);
    pthread_cond_timedwait(&c->changed, &c->mutex, &until);
    return ARTEL_OK;
}

/* An error of a closure, once, when nothing runs any more. */
static artel_status raise_once(artel_coordinator *c)
{
    if (c->fatal.status < 0) return report(c, &c->fatal);
    if (!c->failed) return ARTEL_OK;
    while (c->running.first) ARTEL_TRY(sleep_on(c));
    c->failed = c->lost = false;
    return report(c, &c->error);
}

static artel_status enter(artel_coordinator *c, const char *function)
{
    ARTEL_TRY(artel__enter(c ? c->ctx : NULL, function, "coordinator", c));
    pthread_mutex_lock(&c->mutex);
    return ARTEL_OK;
}

static artel_status leave(artel_coordinator *c, artel_status status)
{
    pthread_mutex_unlock(&c->mutex);
    return status;
}

/* -- life -- */

static artel_status check_role(artel_strategy *s, const char *role)
{
    if (s->servers == 0)
        return artel__fail(s->ctx, ARTEL_ERROR_INVALID, s->plan.name,
                           "make the strategy \"parameter-server\" with a cluster",
                           "closures are for variables that parameter servers own");
    if (strcmp(artel_cluster_role(s->options.cluster), role) == 0) return ARTEL_OK;
    return artel__fail(s->ctx, ARTEL_ERROR_INVALID, "coordinator",
                       "open it on the chief, and call artel_coordinator_serve on workers and ps tasks",
                       "this task is %s %d", artel_cluster_role(s->options.cluster),
                       artel_cluster_index(s->options.cluster));
}

static artel_status make_lists(artel_coordinator *c)
{
    size_t servers = (size_t)c->strategy->servers;
    void *block;
    ARTEL_TRY(artel__calloc(c->ctx, servers, sizeof *c->kept, "coordinator", &block));
    c->kept = block;
    ARTEL_TRY(artel__calloc(c->ctx, servers, sizeof *c->taken, "coordinator", &block));
    c->taken = block;
    ARTEL_TRY(artel__calloc(c->ctx, servers, sizeof *c->part, "coordinator", &block));
    c->part = block;
    ARTEL_TRY(artel__calloc(c->ctx, servers, sizeof *c->heads, "coordinator", &block));
    c->heads = block;
    while (c->session == 0) {
        if (getrandom(&c->session, sizeof c->session, 0) != sizeof c->session)
            return artel__fail_errno(c->ctx, "coordinator", "get a random number");
    }
    return ARTEL_OK;
}

static void destroy(artel_coordinator *c)
{
    artel_context *ctx = c->ctx;
    for (artel_remote *r = c->remote; r; r = r->next) r->coordinator = NULL;
    for (int i = 0; c->kept && i < c->strategy->servers; i++) artel__free(ctx, c->kept[i].image);
    for (int i = 0; c->taken && i < c->strategy->servers; i++) artel__free(ctx, c->taken[i].image);
    artel__free(ctx, c->kept);
    artel__free(ctx, c->counters);
    artel__free(ctx, c->taken);
    artel__free(ctx, c->part);
    artel__free(ctx, c->heads);
    pthread_cond_destroy(&c->changed);
    pthread_mutex_destroy(&c->mutex);
    artel__free(ctx, c);
}

artel_status artel_coordinator_open(artel_strategy *s, const artel_coordinator_options *options,
                                    artel_coordinator **out)
{
    artel_coordinator_options chosen = ARTEL_COORDINATOR_OPTIONS_INIT;
    void *block;
    ARTEL_TRY(artel__enter(s ? s->ctx : NULL, __func__, "strategy out", s, out));
    ARTEL_TRY(artel__take_options(s->ctx, &options_kind, options, &chosen));
    ARTEL_TRY(check_role(s, "chief"));
    if (s->coordinator)
        return artel__fail(s->ctx, ARTEL_ERROR_INVALID, "coordinator", "close the other one first",
                           "the strategy has a coordinator");
    ARTEL_TRY(artel__strategy_open(s));
    ARTEL_TRY(artel__calloc(s->ctx, 1, sizeof(artel_coordinator), "coordinator", &block));
    artel_coordinator *c = block;
    c->strategy = s;
    c->ctx = s->ctx;
    c->options = chosen;
    c->opened_ns = artel__now_ns();
    pthread_mutex_init(&c->mutex, NULL);
    artel__cond_init(&c->changed);
    artel_status status = make_lists(c);
    if (status == ARTEL_OK) c->started = pthread_create(&c->thread, NULL, artel__closure_coordinate, c) == 0;
    if (status == ARTEL_OK && !c->started)
        status = artel__fail(s->ctx, ARTEL_ERROR_NO_MEMORY, "coordinator", ARTEL__ADVISE_THREADS,
                             "its thread could not be started");
    if (status < 0) {
        destroy(c);
        return status;
    }
    s->coordinator = c;
    *out = c;
    return ARTEL_OK;
}

artel_status artel_coordinator_close(artel_coordinator *c)
{
    if (!c) return ARTEL_OK;
    artel_context *ctx = c->ctx;
    artel__operation_begin(ctx);
    pthread_mutex_lock(&c->mutex);
    c->closing = true;
    artel__coordinator_drop(c);
    wake(c);
    pthread_mutex_unlock(&c->mutex);
    pthread_join(c->thread, NULL);
    artel_status status = c->fatal.status < 0 ? report(c, &c->fatal) : ARTEL_OK;
    if (c->failed) /* nobody has joined since */
        artel__log(c->ctx, ARTEL_LOG_WARNING, "the coordinator is closed with an error that was not raised: %s: %s",
                   c->error.where, c->error.what);
    c->strategy->coordinator = NULL;
    destroy(c);
    return status;
}

artel_status artel_coordinator_serve(artel_strategy *s)
{
    ARTEL_TRY(artel__enter(s ? s->ctx : NULL, __func__, "strategy", s));
    const char *role = s->servers ? artel_cluster_role(s->options.cluster) : "";
    bool owns = strcmp(role, "ps") == 0;
    ARTEL_TRY(check_role(s, owns ? "ps" : "worker"));
    ARTEL_TRY(artel__strategy_open(s));
    return owns ? artel__closure_own(s, artel_cluster_index(s->options.cluster)) : artel__closure_work(s);
}

/* -- closures -- */

static artel_status check_closure(artel_coordinator *c, artel_function *f, int inputs, const artel_worker_data *data)
{
    int own = data ? data->options.arrays : 0;
    if (f->strategy != c->strategy || (data && data->strategy != c->strategy))
        return artel__fail(c->ctx, ARTEL_ERROR_INVALID, f->name, "use functions and data of the coordinator's strategy",
                           "the function or the data is another strategy's");
    if (inputs >= 0 && inputs == f->arguments - own) return ARTEL_OK;
    return artel__fail(c->ctx, ARTEL_ERROR_INVALID, f->name, "give what was declared",
                       "%d inputs and %d of the worker's data; it has %d arguments", inputs, own, f->arguments);
}

static size_t input_bytes(const artel_function *f, int i, int64_t rows)
{
    const artel__function_argument *a = &f->argument[i];
    return (size_t)artel_shape_count(&a->shape) * (size_t)(a->shared ? 1 : rows) * artel_dtype_size(a->dtype);
}

static artel_status make_closure(artel_coordinator *c, artel_function *f, const artel_array *in, int inputs,
                                 artel__closure **out)
{
    void *block;
    int64_t rows;
    ARTEL_TRY(artel__function_check(f, in, inputs, &rows));
    size_t pieces = (size_t)inputs + 2;
    size_t bytes = (sizeof(artel__closure) + pieces * sizeof(artel__net_piece) + 15) / 16 * 16, first = bytes;
    for (int i = 0; i < inputs; i++) bytes += artel__net_padded(input_bytes(f, i, rows));
    ARTEL_TRY(artel__alloc(c->ctx, bytes + 8, "closure", &block));
    artel__closure *x = block;
    *x = (artel__closure){
        .function = f, .rows = rows, .piece = (artel__net_piece *)(x + 1), .pieces = inputs + 2, .rate = -1};
    char *at = (char *)block + first;
    for (int i = 0; i < inputs; i++) {
        const artel__function_argument *a = &f->argument[i];
        size_t one = input_bytes(f, i, rows);
        artel__convert(in[i].dtype, in[i].data, a->dtype, at, (int64_t)(one / artel_dtype_size(a->dtype)));
        x->piece[i] = (artel__net_piece){at, one};
        at += artel__net_padded(one);
    }
    x->run = (uint64_t)c->strategy->runs;
    x->piece[inputs] = (artel__net_piece){&x->run, sizeof x->run};
    x->piece[inputs + 1] = (artel__net_piece){c->heads, artel__closure_heads(c->strategy)};
    const artel_optimizer *o = artel__function_optimizer(f);
    if (o && o->rate > 0) x->rate = o->rate;
    *out = x;
    return ARTEL_OK;
}

static artel_status make_remote(artel_coordinator *c, const artel_function *f, artel_remote **out)
{
    void *block;
    ARTEL_TRY(artel__calloc(c->ctx, 1, sizeof(artel_remote), "closure", &block));
    artel_remote *r = block;
    *r = (artel_remote){.ctx = c->ctx, .coordinator = c, .function = f};
    *out = r;
    return ARTEL_OK;
}

/* With the mutex held. */
static artel_status await_room(artel_coordinator *c)
{
    ARTEL_TRY(raise_once(c));
    while (c->waiting.count >= c->options.queue) {
        ARTEL_TRY(sleep_on(c));
        ARTEL_TRY(raise_once(c));
    }
    return c->ended ? sleep_on(c) : ARTEL_OK;
}

static void put(artel_coordinator *c, artel__closure *x, artel_remote *r)
{
    x->number = c->next_number++;
    x->remote = r;
    artel__closure_append(&c->waiting, x);
    if (!r) return;
    r->next = c->remote;
    if (c->remote) c->remote->before = r;
    c->remote = r;
}

artel_status artel_coordinator_schedule(artel_coordinator *c, artel_function *f, const artel_array *inputs,
                                        int input_count, artel_worker_data *data, artel_remote **remote)
{
    artel__closure *x;
    artel_remote *r = NULL;
    ARTEL_TRY(artel__enter(c ? c->ctx : NULL, __func__, "coordinator function", c, f));
    ARTEL_TRY(check_closure(c, f, input_count, data));
    if (input_count > 0 && !inputs) return artel__need(c->ctx, __func__, "inputs", inputs);
    ARTEL_TRY(make_closure(c, f, inputs, input_count, &x));
    x->data = data;
    artel_status status = remote ? make_remote(c, f, &r) : ARTEL_OK;
    pthread_mutex_lock(&c->mutex);
    if (status == ARTEL_OK) status = await_room(c);
    if (status == ARTEL_OK) {
        put(c, x, r);
        wake(c);
    }
    pthread_mutex_unlock(&c->mutex);
    if (status < 0) {
        artel__free(c->ctx, x);
        artel__free(c->ctx, r);
        return status;
    }
    if (f->updates > 0) f->strategy->runs++;
    if (f->applies > 0) f->applied[0]->iterations++;
    if (remote) *remote = r;
    return ARTEL_OK;
}

artel_status artel_coordinator_join(artel_coordinator *c)
{
    ARTEL_TRY(enter(c, __func__));
    artel_status status = ARTEL_OK;
    while (status == ARTEL_OK && !c->failed && (c->waiting.first || c->running.first)) status = sleep_on(c);
    return leave(c, status == ARTEL_OK ? raise_once(c) : status);
}

artel_status artel_coordinator_done(artel_coordinator *c, bool *done)
{
    ARTEL_TRY(enter(c, __func__));
    artel_status status = raise_once(c);
    if (done) *done = !c->waiting.first && !c->running.first;
    return leave(c, status);
}

/* -- remotes -- */

static artel_status copy_outputs(const artel_remote *r, const artel_array *outputs)
{
    const artel_function *f = r->function;
    const uint8_t *at = r->values;
    for (int i = 0; i < f->outputs; i++) {
        size_t bytes = artel__output_bytes(f, i, r->rows);
        artel_dtype dtype = f->graph.value[f->graph.kept[i]].dtype;
        if (outputs[i].data && outputs[i].dtype != dtype)
            return artel__fail(r->ctx, ARTEL_ERROR_INVALID, f->name, "give outputs their own element type",
                               "output %d is %s, the array %s", i, artel_dtype_name(dtype),
                               artel_dtype_name(outputs[i].dtype));
        if (outputs[i].data) memcpy(outputs[i].data, at, bytes);
        at += artel__net_padded(bytes);
    }
    return ARTEL_OK;
}

static artel_status await_remote(artel_remote *r)
{
    artel_coordinator *c = r->coordinator;
    artel_status status = ARTEL_OK;
    if (!c) return ARTEL_OK;
    int64_t before = artel__now_ns();
    pthread_mutex_lock(&c->mutex);
    while (status == ARTEL_OK && r->state != ARTEL__CLOSURE_DONE && r->state != ARTEL__CLOSURE_DROPPED)
        status = sleep_on(c);
    if (status == ARTEL_OK) artel__times_add(&c->fetch, artel__now_ns() - before);
    pthread_mutex_unlock(&c->mutex);
    return status;
}

artel_status artel_remote_fetch(artel_remote *r, const artel_array *outputs, int output_count, int64_t *rows)
{
    ARTEL_TRY(artel__enter(r ? r->ctx : NULL, __func__, "remote", r));
    if (output_count != 0 && (output_count != r->function->outputs || !outputs))
        return artel__fail(r->ctx, ARTEL_ERROR_INVALID, r->function->name, "give an array for each, or none",
                           "%d outputs; it has %d", output_count, r->function->outputs);
    ARTEL_TRY(await_remote(r));
    if (r->error.status < 0)
        return artel__fail(r->ctx, r->error.status, r->error.where, r->error.advice, "%s", r->error.what);
    if (rows) *rows = r->rows;
    return output_count ? copy_outputs(r, outputs) : ARTEL_OK;
}

void artel_remote_release(artel_remote *r)
{
    if (!r) return;
    artel_coordinator *c = r->coordinator;
    if (c) pthread_mutex_lock(&c->mutex);
    if (c && r->state != ARTEL__CLOSURE_DONE && r->state != ARTEL__CLOSURE_DROPPED)
        r->released = true;
    else
        artel__remote_forget(r);
    if (c) pthread_mutex_unlock(&c->mutex);
}

/* -- variables and metrics -- */

/* Gives the thread something to do, and waits until it is done. With the mutex held. */
static artel_status command(artel_coordinator *c, artel__command_kind kind, int variable)
{
    artel_status status = ARTEL_OK;
    if (c->lost && artel__command_reads(kind)) return raise_once(c);
    c->order++;
    c->command = kind;
    c->variable = variable;
    c->heard_ns = artel__now_ns();
    c->vain.status = ARTEL_OK;
    wake(c);
    while (status == ARTEL_OK && c->command != ARTEL__COMMAND_NONE) status = sleep_on(c);
    c->command = ARTEL__COMMAND_NONE; /* nobody waits for it any more */
    c->order++;
    if (status == ARTEL_OK && c->lost && artel__command_reads(kind)) return raise_once(c);
    return status == ARTEL_OK && c->vain.status < 0 ? report(c, &c->vain) : status;
}

static artel_status about_variable(artel_strategy *s, artel__command_kind kind, int variable)
{
    artel_coordinator *c = s->coordinator;
    if (!c)
        return artel__fail(s->ctx, ARTEL_ERROR_INVALID, s->variables.item[variable].name,
                           "open a coordinator on the chief first",
                           "this variable is a parameter server's, and nobody here speaks with it");
    pthread_mutex_lock(&c->mutex);
    return leave(c, command(c, kind, variable));
}

artel_status artel__elsewhere_read(artel_strategy *s, int variable)
{
    return about_variable(s, ARTEL__COMMAND_READ, variable);
}

artel_status artel__elsewhere_write(artel_strategy *s, int variable)
{
    return about_variable(s, ARTEL__COMMAND_WRITE, variable);
}

/* Counters go with what was kept, so that what is scheduled again draws the same numbers. */
static artel_status make_counters(artel_coordinator *c)
{
    void *block;
    if (c->counters) return ARTEL_OK;
    ARTEL_TRY(
        artel__calloc(c->ctx, (size_t)artel__counters_count(c->strategy), sizeof *c->counters, "coordinator", &block));
    c->counters = block;
    return ARTEL_OK;
}

artel_status artel_coordinator_keep(artel_coordinator *c)
{
    ARTEL_TRY(enter(c, __func__));
    artel_status status = make_counters(c);
    if (status == ARTEL_OK) status = command(c, ARTEL__COMMAND_KEEP, -1);
    if (status == ARTEL_OK) artel__counters_read(c->strategy, c->counters);
    return leave(c, status);
}

artel_status artel_coordinator_go_back(artel_coordinator *c)
{
    ARTEL_TRY(enter(c, __func__));
    if (!c->keeps)
        return leave(c, artel__fail(c->ctx, ARTEL_ERROR_INVALID, "coordinator", "call artel_coordinator_keep before",
                                    "nothing was kept"));
    artel_status status = command(c, ARTEL__COMMAND_GO_BACK, -1);
    if (status == ARTEL_OK) artel__counters_write(c->strategy, c->counters);
    return leave(c, status);
}

artel_status artel_coordinator_look(artel_coordinator *c, artel_coordinator_metrics *out)
{
    ARTEL_TRY(artel__enter(c ? c->ctx : NULL, __func__, "coordinator out", c, out));
    size_t size = out->struct_size < sizeof *out ? out->struct_size : sizeof *out;
    if (size < sizeof size)
        return artel__fail(c->ctx, ARTEL_ERROR_INVALID, "coordinator metrics",
                           "set struct_size to the size of the struct", "struct_size is not set");
    pthread_mutex_lock(&c->mutex);
    artel_coordinator_metrics now = c->metrics;
    now.struct_size = out->struct_size;
    now.queued = c->waiting.count;
    now.in_flight = c->running.count;
    now.build = artel__times_read(&c->build);
    now.run = artel__times_read(&c->run);
    now.fetch = artel__times_read(&c->fetch);
    now.recover = artel__times_read(&c->recover);
    memcpy(out, &now, size);
    return leave(c, ARTEL_OK);
}
