/* SPDX-License-Identifier: Apache-2.0 */
/* timeout: 240 */
/* Sessions among threads: every placement gives the bits of artel_function_run() in one process. Public headers only. */
#include <pthread.h>
#include <stdatomic.h>

#include "help_api.h"

#include "help_session.h"

enum {
    MOST_TASKS = 4
};

static void reference(session_outcome *o)
{
    static const char *const nowhere[] = {"", "", "", ""};
    session_program p = {.ctx = api_context(), .place = nowhere};
    memset(o, 0, sizeof *o);
    api_ok(p.ctx, session_declare(&p));
    api_ok(p.ctx, session_train(&p, o));
    artel_strategy_destroy(p.strategy);
    artel_context_destroy(p.ctx);
}

/* -- tasks as threads -- */

typedef struct job job;
typedef void client_fn(job *j, session_program *p, int task);
struct job {
    int tasks, clients;
    const char *const *place, *const *names;
    client_fn *client;
    artel_context *ctx[MOST_TASKS];
    artel_communicator *communicator[MOST_TASKS];
    artel_variable *no;
    bool soft;
    const char *hidden_at, *out_at; /* of variables; NULL: not said */
    session_outcome got;
    atomic_int wrong;
    double sum;
};

static void right(job *j, const artel_context *ctx, artel_status status, int line)
{
    if (status >= 0) return;
    const artel_error *e = artel_context_error(ctx);
    fprintf(stderr, "line %d: %s: %s; %s\n", line, e->where, e->what, e->advice);
    atomic_fetch_add(&j->wrong, 1);
}
#define RIGHT(ctx, status) right(j, ctx, status, __LINE__)
#define HOLDS(condition) RIGHT(p->ctx, (condition) ? ARTEL_OK : ARTEL_ERROR_RUN)

static void work(job *j, int task)
{
    session_program all = {.ctx = j->ctx[task], .place = j->place}, *p = &all;
    artel_session_options o = ARTEL_SESSION_OPTIONS_INIT;
    RIGHT(p->ctx, session_declare(p));
    if (j->hidden_at) RIGHT(p->ctx, artel_variable_set_device(p->hidden, j->hidden_at));
    if (j->out_at) RIGHT(p->ctx, artel_variable_set_device(p->out, j->out_at));
    o.communicator = j->communicator[task];
    o.tasks = j->names;
    o.task_count = j->names ? j->tasks : 0;
    o.clients = j->clients;
    o.soft_placement = j->soft;
    RIGHT(p->ctx, artel_session_create(p->strategy, &o, &p->session));
    if (p->session && task < j->clients) {
        j->client(j, p, task);
        RIGHT(p->ctx, artel_session_close(p->session));
    } else if (p->session)
        RIGHT(p->ctx, artel_session_serve(p->session));
    RIGHT(p->ctx, artel_communicator_finish(j->communicator[task]));
    artel_session_destroy(p->session);
    artel_strategy_destroy(p->strategy);
}

typedef struct place_of {
    job *job;
    int task;
} place_of;

static void *begin(void *user)
{
    const place_of *at = user;
    work(at->job, at->task);
    return NULL;
}

static void run_job(job *j)
{
    pthread_t thread[MOST_TASKS];
    place_of at[MOST_TASKS];
    if (!j->clients) j->clients = 1;
    for (int t = 0; t < j->tasks; t++) j->ctx[t] = api_context();
    api_ok(j->ctx[0], artel_communicator_create(j->ctx, j->tasks, j->communicator));
    for (int t = 0; t < j->tasks; t++) {
        at[t] = (place_of){j, t};
        assert_int_equal(pthread_create(&thread[t], NULL, begin, &at[t]), 0);
    }
    for (int t = 0; t < j->tasks; t++) pthread_join(thread[t], NULL);
    for (int t = 0; t < j->tasks; t++) artel_communicator_destroy(j->communicator[t]);
    for (int t = 0; t < j->tasks; t++) artel_context_destroy(j->ctx[t]);
    assert_int_equal(atomic_load(&j->wrong), 0);
}

static void train_all(job *j, session_program *p, int task)
{
    (void)task;
    RIGHT(p->ctx, session_train(p, &j->got));
}

/* -- tests -- */

static void bits_of_every_placement(void **state)
{
    static const struct {
        int tasks;
        const char *place[4], *hidden, *out;
        const char *names[MOST_TASKS];
    } rows[] = {
        {1, {"", "", "", ""}, NULL, NULL, {NULL}},
        {2, {"/job:worker/task:0", "/job:worker/task:1", "/job:worker/task:1", ""}, NULL, NULL, {NULL}},
        {2, {"/task:1", "/task:0", "/task:1", "/task:1"}, NULL, NULL, {NULL}},
        {2, {"/task:1", "/task:1", "/task:1", ""}, "/task:0", "/task:0", {NULL}},
        {2, {"", "", "", ""}, "/task:1", "/task:0", {NULL}},
        {3, {"/job:worker/task:0", "/job:worker/task:1", "/job:worker/task:2/cpu:0", ""}, NULL, NULL, {NULL}},
        {3, {"/job:worker", "/job:worker", "/job:worker", ""}, "/job:ps/task:0", "/job:ps/task:1", {"/job:worker/task:0", "/job:ps/task:0", "/job:ps/task:1"}},
        {4, {"/task:3", "/task:2", "/task:1", "/task:0"}, "/task:0", "/task:3", {NULL}},
    };
    session_outcome *want = malloc(sizeof *want);
    (void)state;
    reference(want);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        job *j = calloc(1, sizeof *j);
        j->tasks = rows[i].tasks;
        j->place = rows[i].place;
        j->names = rows[i].names[0] ? rows[i].names : NULL;
        j->hidden_at = rows[i].hidden;
        j->out_at = rows[i].out;
        j->client = train_all;
        run_job(j);
        if (memcmp(&j->got, want, sizeof *want) != 0) fail_msg("placement %zu gives other bits: losses %a %a", i, j->got.loss[0], want->loss[0]);
        free(j);
    }
    free(want);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bits_of_every_placement),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
