/* SPDX-License-Identifier: Apache-2.0 */
/* timeout: 600 */
/* Sessions among threads: every placement gives the bits of artel_function_run() in one process. Public headers only.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "help_api.h"

#include "artel/hooks.h"
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
    const char *hidden_at, *bias_at, *out_at, *count_at; /* of variables; NULL: not said */
    atomic_int turn;                                     /* the step that is to be made */
    session_outcome got;
    atomic_int wrong;
    float count; /* as the last task has it in the end */
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
    if (j->bias_at) RIGHT(p->ctx, artel_variable_set_device(p->bias, j->bias_at));
    if (j->count_at) RIGHT(p->ctx, artel_variable_set_device(p->count, j->count_at));
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
    if (task == j->tasks - 1) RIGHT(p->ctx, artel_variable_read(p->count, &j->count, 1));
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

static void GS1_bits_of_every_placement(void **state)
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
        {3,
         {"/job:worker", "/job:worker", "/job:worker", ""},
         "/job:ps/task:0",
         "/job:ps/task:1",
         {"/job:worker/task:0", "/job:ps/task:0", "/job:ps/task:1"}},
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
        if (memcmp(&j->got, want, sizeof *want) != 0)
            fail_msg("placement %zu gives other bits: losses %a %a", i, j->got.loss[0], want->loss[0]);
        free(j);
    }
    free(want);
}

/* -- what is fetched, what is not -- */

static artel_status look(session_program *p, const int32_t *id, float *rows, float *unused, float *given_back)
{
    artel_array in[] = {{ARTEL_DTYPE_INT32, session_shape(1, 3, 0), (void *)(uintptr_t)id},
                        {ARTEL_DTYPE_FLOAT32, {.rank = 0}, unused}};
    artel_array out[] = {{.data = rows}, {.data = given_back}};
    return session_run(p, p->look, in, out, false);
}

/* What is not needed need not be fed; a wrong index fails on its task, changes nothing and is told; and the session
 * goes on. */
static void look_up(job *j, session_program *p, int task)
{
    const int32_t good[] = {4, 0, 2}, bad[] = {1, 9, 1};
    float rows[6], back = 0, seven = 7;
    (void)task;
    RIGHT(p->ctx, look(p, good, rows, NULL, NULL));
    HOLDS(look(p, good, rows, NULL, &back) == ARTEL_ERROR_INVALID &&
          strstr(artel_context_error(p->ctx)->what, "not fed"));
    HOLDS(look(p, bad, rows, NULL, NULL) == ARTEL_ERROR_INVALID &&
          strstr(artel_context_error(p->ctx)->what, "holds the index 9"));
    RIGHT(p->ctx, look(p, good, rows, &seven, &back));
    HOLDS(back == 7);
    HOLDS(rows[0] == session_number(4, 8) && rows[3] == session_number(4, 1) && rows[5] == session_number(4, 5));
}

/* A run that only reads leaves variables and counters alone. */
static void read_only(job *j, session_program *p, int task)
{
    session_outcome before, after;
    float x[SESSION_BATCH * SESSION_WIDE] = {0}, loss;
    int32_t y[SESSION_BATCH] = {0};
    artel_array in[] = {{ARTEL_DTYPE_FLOAT32, session_shape(2, 5, SESSION_WIDE), x},
                        {ARTEL_DTYPE_INT32, session_shape(1, 5, 0), y}};
    artel_array out[] = {{.data = &loss}, {.data = NULL}};
    (void)task;
    memset(&before, 0, sizeof before);
    memset(&after, 0, sizeof after);
    RIGHT(p->ctx, session_read(p, &before));
    RIGHT(p->ctx, session_run(p, p->step, in, out, true));
    RIGHT(p->ctx, session_read(p, &after));
    HOLDS(memcmp(&before, &after, sizeof before) == 0 && artel_strategy_runs(p->strategy) == 0);
    HOLDS(artel_optimizer_iterations(p->optimizer) == 0);
    RIGHT(p->ctx, session_run(p, p->step, in, out, false));
    RIGHT(p->ctx, session_read(p, &after));
    HOLDS(memcmp(before.out, after.out, sizeof before.out) != 0 && artel_optimizer_iterations(p->optimizer) == 1);
    session_program other = {.ctx = p->ctx,
                             .place = p->place}; /* a function of another strategy is refused before anything is sent */
    RIGHT(p->ctx, session_declare(&other));
    other.session = p->session;
    HOLDS(session_run(&other, other.step, in, out, false) == ARTEL_ERROR_INVALID);
    artel_strategy_destroy(other.strategy);
}

static void with_two(client_fn *client)
{
    static const char *const place[] = {"/task:0", "/task:1", "/task:1", "/task:1"};
    job *j = calloc(1, sizeof *j);
    j->tasks = 2;
    j->place = place;
    j->client = client;
    run_job(j);
    free(j);
}

static void fetches(void **state)
{
    (void)state;
    with_two(look_up);
    with_two(read_only);
}

/* -- several clients at a time, whose graphs write a variable that a third task has -- */

enum {
    ROUNDS = 200
};

static void add_up(job *j, session_program *p, int task)
{
    float one = 1;
    for (int i = 0; i < ROUNDS; i++) {
        artel_session_call call = ARTEL_SESSION_CALL_INIT;
        artel_array in = {ARTEL_DTYPE_FLOAT32, {.rank = 0}, &one};
        call.feeds = &in;
        call.feed_count = 1;
        RIGHT(p->ctx, artel_session_run(p->session, p->add[task], &call));
    }
}

/* Steps of one training in turns: with variables and the optimizer's count on servers, what one graph of all makes. */
static void step_in_turn(job *j, session_program *p, int task)
{
    for (int i = task; i < SESSION_STEPS; i += 2) {
        while (atomic_load(&j->turn) != i) sched_yield();
        RIGHT(p->ctx, artel_strategy_set_runs(p->strategy, i)); /* a client counts its own, of which dropout is */
        RIGHT(p->ctx, session_step(p, i, &j->got.loss[i], i == SESSION_STEPS - 1 ? j->got.logits : NULL));
        atomic_store(&j->turn, i + 1);
    }
    if (task > 0) return;
    while (atomic_load(&j->turn) != SESSION_STEPS) sched_yield();
    RIGHT(p->ctx, session_read(p, &j->got));
}

static void GS2_between_graphs_and_in_graph(void **state)
{
    static const char *const place[] = {"", "", "", ""}, *const names[] = {"/job:worker/task:0", "/job:worker/task:1",
                                                                           "/job:ps/task:0", "/job:ps/task:1"};
    session_outcome *want = malloc(sizeof *want);
    (void)state;
    reference(want);
    for (int clients = 1; clients < 3; clients++) {
        job *j = calloc(1, sizeof *j);
        j->tasks = 4;
        j->clients = clients;
        j->place = place;
        j->names = names;
        j->hidden_at = "/job:ps/task:0";
        j->bias_at = j->out_at = j->count_at = "/job:ps/task:1";
        j->client = clients == 1 ? train_all : step_in_turn;
        run_job(j);
        assert_memory_equal(j->got.loss, want->loss, sizeof want->loss);
        assert_memory_equal(j->got.logits, want->logits, sizeof want->logits);
        assert_memory_equal(j->got.hidden, want->hidden, sizeof want->hidden);
        assert_memory_equal(j->got.out, want->out, sizeof want->out);
        free(j);
    }
    free(want);
}

static void GS2_between_graphs(void **state)
{
    static const char *const place[] = {"", "", "", ""}, *const names[] = {"/job:worker/task:0", "/job:worker/task:1",
                                                                           "/job:ps/task:0"};
    job *j = calloc(1, sizeof *j);
    (void)state;
    j->tasks = 3;
    j->clients = 2;
    j->place = place;
    j->names = names;
    j->count_at = "/job:ps";
    j->client = add_up;
    run_job(j);
    assert_true(j->count == -2.0f * ROUNDS);
    free(j);
}

/* -- places that cannot be -- */

static void refuse(const char *const *place, const char *hidden, bool soft, const char *word)
{
    static const char *const names[] = {"/job:worker/task:0", "/job:worker/task:1"};
    session_program p = {.ctx = api_context(), .place = place};
    artel_session_options o = ARTEL_SESSION_OPTIONS_INIT;
    api_ok(p.ctx, session_declare(&p));
    if (hidden) api_ok(p.ctx, artel_variable_set_device(p.hidden, hidden));
    o.tasks = names;
    o.task_count = 2;
    o.soft_placement = soft;
    artel_status status = artel_session_create(p.strategy, &o, &p.session);
    float loss;
    if (status == ARTEL_OK) status = session_step(&p, 0, &loss, NULL);
    assert_int_equal(status, word ? ARTEL_ERROR_INVALID : ARTEL_OK);
    if (word && !strstr(artel_context_error(p.ctx)->what, word))
        fail_msg("\"%s\" does not say \"%s\"", artel_context_error(p.ctx)->what, word);
    artel_session_destroy(p.session);
    artel_strategy_destroy(p.strategy);
    artel_context_destroy(p.ctx);
}

static void refusals(void **state)
{
    (void)state;
    refuse((const char *const[]){"/task:5", "", "", ""}, NULL, false, "no such task");
    refuse((const char *const[]){"/task:5", "", "", ""}, NULL, true, NULL);
    refuse((const char *const[]){"/device:GPU:0", "", "", ""}, NULL, false, "CPU:0");
    refuse((const char *const[]){"/device:GPU:0", "", "", ""}, NULL, true, NULL);
    refuse((const char *const[]){"", "", "", ""}, "/job:ps/task:0", false, "no such task");
    refuse((const char *const[]){"", "", "", ""}, "/job:worker/replica:0/task:1/cpu:0", false, NULL);
}

static artel_status trace_badly(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    const char *how = user;
    (void)in;
    out[0] = artel_graph_number(g, 1);
    if (strcmp(how, "open") == 0) artel_graph_device(g, "/task:0");
    if (strcmp(how, "end") == 0) artel_graph_device_end(g);
    if (strcmp(how, "name") == 0) artel_graph_device(g, "/nowhere:1");
    for (int i = 0; i < 100 && strcmp(how, "deep") == 0; i++) artel_graph_device(g, "/task:0");
    return ARTEL_OK;
}

static void scopes(void **state)
{
    static const char *const how[] = {"open", "end", "name", "deep"}, *const word[] = {"still open", "no place is open",
                                                                                       "nowhere", "more than 64"};
    artel_context *ctx = api_context();
    artel_strategy *s = NULL;
    artel_function *f;
    (void)state;
    api_ok(ctx, artel_strategy_create(ctx, NULL, &s));
    for (size_t i = 0; i < 4; i++) {
        artel_function_options o = ARTEL_FUNCTION_OPTIONS_INIT;
        o.output_count = 1;
        assert_int_equal(artel_function_create(s, &o, trace_badly, (void *)(uintptr_t)how[i], &f), ARTEL_ERROR_INVALID);
        assert_non_null(strstr(artel_context_error(ctx)->what, word[i]));
    }
    artel_strategy_destroy(s);
    artel_context_destroy(ctx);
}

/* -- two sessions whose variables have one name are apart, as containers are; a new strategy begins anew -- */

static void begin_here(session_program *p)
{
    static const char *const nowhere[] = {"", "", "", ""};
    artel_session_options o = ARTEL_SESSION_OPTIONS_INIT;
    p->place = nowhere;
    api_ok(p->ctx, session_declare(p));
    api_ok(p->ctx, artel_session_create(p->strategy, &o, &p->session));
}

static void end_here(session_program *p)
{
    artel_session_destroy(p->session);
    artel_strategy_destroy(p->strategy);
    p->session = NULL;
    p->strategy = NULL;
}

static void GS4_containers(void **state)
{
    session_outcome *first = calloc(4, sizeof *first), *apart = first + 1, *moved = first + 2, *anew = first + 3;
    session_program one = {.ctx = api_context()}, two = {.ctx = one.ctx};
    float loss;
    (void)state;
    begin_here(&one);
    begin_here(&two);
    api_ok(one.ctx, session_read(&one, first));
    api_ok(one.ctx, session_step(&one, 0, &loss, NULL));
    api_ok(one.ctx, session_read(&one, moved));
    api_ok(two.ctx, session_read(&two, apart));
    assert_memory_equal(first, apart, sizeof *first);
    assert_memory_not_equal(first->out, moved->out, sizeof first->out);
    assert_int_equal(artel_optimizer_iterations(two.optimizer), 0);
    end_here(&one);
    begin_here(&one);
    api_ok(one.ctx, session_read(&one, anew));
    assert_memory_equal(first, anew, sizeof *first);
    end_here(&one);
    end_here(&two);
    artel_context_destroy(one.ctx);
    free(first);
}

/* -- hooks around the runs of one process; test_session.py has them beside TensorFlow's -- */

static artel_status fetch_logits(void *user, artel_hook_run *run)
{
    artel_array none;
    (void)user;
    assert_int_equal(artel_hook_value(run, 1, &none), ARTEL_ERROR_INVALID);
    assert_int_equal(artel_hook_fetch(run, 2), ARTEL_ERROR_INVALID);
    assert_int_equal(artel_hook_feed(run, 0, &none), ARTEL_ERROR_INVALID); /* the unit feeds it */
    return artel_hook_fetch(run, 1);
}

static artel_status see_logits(void *user, artel_hook_run *run)
{
    artel_array value, none = {.data = NULL};
    float *seen = user;
    assert_int_equal(artel_hook_fetch(run, 1), ARTEL_ERROR_INVALID);
    assert_int_equal(artel_hook_feed(run, 0, &none), ARTEL_ERROR_INVALID);
    artel_status status = artel_hook_value(run, 1, &value);
    assert_int_equal(value.shape.rank, 2);
    assert_int_equal(value.shape.dim[1], SESSION_CLASSES);
    if (status == ARTEL_OK) memcpy(seen, value.data, (size_t)artel_shape_count(&value.shape) * sizeof *seen);
    return status;
}

static artel_status one_step(void *user, int64_t unit)
{
    float loss;
    return session_step(user, (int)unit, &loss, NULL);
}

static void GS3_hooks(void **state)
{
    static const artel_hook_functions functions = {
        .struct_size = sizeof functions, .before = fetch_logits, .after = see_logits};
    static const int outputs[] = {0, 1};
    session_outcome *want = calloc(1, sizeof *want);
    session_program p = {.ctx = api_context()};
    float seen[SESSION_BATCH * SESSION_CLASSES] = {0};
    char folder[64], logs[80];
    artel_hook *hook[4] = {NULL};
    artel_hook_options o = ARTEL_HOOK_OPTIONS_INIT;
    artel_monitor_options m = ARTEL_MONITOR_OPTIONS_INIT;
    (void)state;
    reference(want);
    begin_here(&p);
    api_folder_make(folder);
    snprintf(logs, sizeof logs, "%s/logs", folder);
    api_ok(p.ctx, artel_hook_create(p.ctx, &functions, seen, &hook[0]));
    api_ok(p.ctx, artel_hook_stop_at_step(p.ctx, 0, SESSION_STEPS, &hook[1]));
    o.every_steps = 2;
    o.directory = logs;
    api_ok(p.ctx, artel_hook_step_counter(p.ctx, &o, &hook[2]));
    o.outputs = outputs;
    o.count = 2;
    o.directory = NULL;
    api_ok(p.ctx, artel_hook_logging(p.step, &o, &hook[3]));
    m.directory = folder;
    m.hooks = hook;
    m.hook_count = 4;
    api_refused(p.ctx, artel_session_request_stop(p.session), ARTEL_ERROR_INVALID, "not monitored");
    api_ok(p.ctx, artel_session_monitor(p.session, &m, 1000, one_step, &p));
    assert_int_equal(artel_strategy_units(p.strategy), SESSION_STEPS);
    assert_memory_equal(seen, want->logits, SESSION_CLASSES * sizeof *seen); /* hooks change no bit */
    for (int i = 0; i < 4; i++) artel_hook_destroy(hook[i]);
    api_refused(p.ctx, artel_hook_summary(p.step, &o, &hook[0]), ARTEL_ERROR_INVALID, "directory");
    api_refused(p.ctx, artel_hook_nan(p.look, 2, false, &hook[0]), ARTEL_ERROR_INVALID, "output");
    api_refused(p.ctx, artel_hook_stop_at_step(p.ctx, 3, 4, &hook[0]), ARTEL_ERROR_INVALID, "both");
    end_here(&p);
    artel_context_destroy(p.ctx);
    api_folder_remove(folder);
    free(want);
}

/* -- names, and parameter servers by turns -- */

static void GS6_GS7_GS8_setters(void **state)
{
    session_program p = {.ctx = api_context(), .place = (const char *const[]){"", "", "", ""}};
    artel_device_setter_options o = ARTEL_DEVICE_SETTER_OPTIONS_INIT;
    artel_device_setter *d = NULL;
    (void)state;
    api_ok(p.ctx, session_declare(&p));
    artel_variable *all[] = {p.hidden, p.bias, p.out, p.table}; /* 1024, 64, 192, 40 bytes */
    static const char *const want[2][4] = {{"/job:ps/task:0", "/job:ps/task:1", "/job:ps/task:0", "/job:ps/task:1"},
                                           {"/job:ps/task:0", "/job:ps/task:1", "/job:ps/task:1", "/job:ps/task:1"}};
    for (int balance = 0; balance < 2; balance++) {
        o.ps_tasks = 2;
        o.worker_device = "/job:worker/task:3";
        o.balance = (artel_setter_balance)balance;
        api_ok(p.ctx, artel_device_setter_create(p.ctx, &o, &d));
        for (int i = 0; i < 4; i++) api_ok(p.ctx, artel_variable_set_device(all[i], ""));
        api_ok(p.ctx, artel_device_setter_place(d, all, 4));
        for (int i = 0; i < 4; i++) assert_string_equal(artel_variable_device(all[i]), want[balance][i]);
        assert_string_equal(artel_device_setter_worker(d), "/job:worker/task:3");
        artel_device_setter_destroy(d);
    }
    artel_strategy_destroy(p.strategy);
    artel_context_destroy(p.ctx);
}

/* What a plan says: two layers on two tasks, their activations and the gradient between them. */
static void explained(void **state)
{
    static const char *const names[] = {"/job:worker/task:0", "/job:worker/task:1"};
    session_program p = {.ctx = api_context(), .place = (const char *const[]){"/task:0", "/task:1", "/task:1", ""}};
    artel_session_options o = ARTEL_SESSION_OPTIONS_INIT;
    (void)state;
    api_ok(p.ctx, session_declare(&p));
    o.tasks = names;
    o.task_count = 2;
    api_ok(p.ctx, artel_session_create(p.strategy, &o, &p.session));
    assert_string_equal(artel_session_task(p.session), "/job:worker/task:0");
    assert_string_equal(artel_session_place_of(p.session, p.hidden), "/job:worker/task:0");
    assert_string_equal(artel_session_place_of(p.session, p.out), "/job:worker/task:1");
    const char *text = artel_session_explain(p.session, p.step);
    assert_non_null(strstr(text, "variable hidden: /job:worker/task:0\n"));
    assert_non_null(strstr(text, "variable out: /job:worker/task:1\n"));
    assert_non_null(strstr(text, "# step\n"));
    assert_null(strstr(text, "send")); /* one process */
    artel_session_destroy(p.session);
    artel_strategy_destroy(p.strategy);
    artel_context_destroy(p.ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(GS1_bits_of_every_placement),
        cmocka_unit_test(fetches),
        cmocka_unit_test(GS2_between_graphs),
        cmocka_unit_test(GS2_between_graphs_and_in_graph),
        cmocka_unit_test(refusals),
        cmocka_unit_test(scopes),
        cmocka_unit_test(GS3_hooks),
        cmocka_unit_test(GS4_containers),
        cmocka_unit_test(GS6_GS7_GS8_setters),
        cmocka_unit_test(explained),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
