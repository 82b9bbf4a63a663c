/* SPDX-License-Identifier: Apache-2.0 */
/* timeout: 240 */
/* Sessions among threads: every placement gives the bits of artel_function_run() in one process. Public headers only. */
#include <pthread.h>
#include <stdatomic.h>

#include "help_api.h"

#include "artel/session.h"
#include "artel/strategy.h"

enum {
    MOST_TASKS = 4,
    BATCH = 24,
    WIDE = 16,
    CLASSES = 3,
    STEPS = 6
};

/* What every task declares: a classifier of two layers with dropout, adam, and a table whose indices may be wrong. */
typedef struct program {
    artel_context *ctx;
    artel_strategy *strategy;
    artel_variable *hidden, *bias, *out, *table;
    artel_optimizer *optimizer;
    artel_function *step, *look;
    artel_session *session;
    const char *const *place; /* of: first layer, second layer, loss, table; "": anywhere */
} program;

typedef struct outcome {
    float loss[STEPS], logits[BATCH * CLASSES], hidden[WIDE * WIDE], out[WIDE * CLASSES], looked[BATCH * 2];
} outcome;

static artel_shape shape1(int64_t a)
{
    return (artel_shape){.rank = 1, .dim = {a}};
}

static artel_shape shape2(int64_t a, int64_t b)
{
    return (artel_shape){.rank = 2, .dim = {a, b}};
}

static float number(unsigned seed, unsigned i)
{
    unsigned x = seed * 2654435761u + i * 40503u;
    x ^= x >> 13;
    x *= 1274126177u;
    return (float)(x >> 8 & 0xffff) / 65536.0f - 0.5f;
}

static artel_variable *variable(program *p, const char *name, artel_shape shape, unsigned seed)
{
    artel_variable_options o = ARTEL_VARIABLE_OPTIONS_INIT;
    float values[WIDE * WIDE];
    artel_variable *made = NULL;
    for (unsigned i = 0; i < (unsigned)artel_shape_count(&shape); i++) values[i] = number(seed, i);
    o.name = name;
    o.shape = shape;
    o.initial = values;
    artel_variable_create(p->strategy, &o, &made);
    return made;
}

/* Outputs: the mean loss, the logits. */
static artel_status trace_step(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    program *p = user;
    artel_graph_device(g, p->place[0]);
    artel_value weights = artel_graph_variable(g, p->hidden), bias = artel_graph_variable(g, p->bias);
    artel_value product = artel_graph_binary(g, "matmul", in[0], weights);
    artel_value sum = artel_graph_binary(g, "add", product, bias);
    artel_value hidden = artel_graph_dropout(g, artel_graph_unary(g, "relu", sum), 0.25);
    artel_graph_device_end(g);
    artel_graph_device(g, p->place[1]);
    artel_value last = artel_graph_variable(g, p->out);
    out[1] = artel_graph_binary(g, "matmul", hidden, last);
    artel_graph_device_end(g);
    artel_graph_device(g, p->place[2]);
    artel_value each = artel_graph_loss(g, "sparse_categorical_crossentropy:from_logits=true", in[1], out[1]);
    out[0] = artel_graph_reduce(g, ARTEL_REDUCTION_MEAN, each);
    artel_graph_minimise(g, p->optimizer, out[0]);
    artel_graph_device_end(g);
    return artel_graph_status(g);
}

/* Rows of a table, and the argument itself. */
static artel_status trace_look(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    program *p = user;
    artel_graph_device(g, p->place[3]);
    artel_value table = artel_graph_variable(g, p->table);
    out[0] = artel_graph_op(g, "take", (artel_value[]){table, in[0]}, 2, "{\"axis\": 0}");
    artel_graph_device_end(g);
    out[1] = in[1];
    return artel_graph_status(g);
}

static artel_status declare(program *p)
{
    artel_strategy_options o = ARTEL_STRATEGY_OPTIONS_INIT;
    o.strategy = "one-device";
    o.batch_size = BATCH;
    o.threads = 1;
    o.seed = 7;
    artel_status status = artel_strategy_create(p->ctx, &o, &p->strategy);
    if (status < 0) return status;
    p->hidden = variable(p, "hidden", shape2(WIDE, WIDE), 1);
    p->bias = variable(p, "bias", shape1(WIDE), 2);
    p->out = variable(p, "out", shape2(WIDE, CLASSES), 3);
    p->table = variable(p, "table", shape2(5, 2), 4);
    status = artel_optimizer_create(p->strategy, "adam:learning_rate=0.01", (artel_variable *[]){p->hidden, p->bias, p->out}, 3, &p->optimizer);
    if (status < 0) return status;
    artel_function_options f = ARTEL_FUNCTION_OPTIONS_INIT;
    const artel_argument step[] = {{"x", ARTEL_DTYPE_FLOAT32, false, shape1(WIDE)}, {"y", ARTEL_DTYPE_INT32, false, {.rank = 0}}};
    f.name = "step";
    f.arguments = step;
    f.argument_count = 2;
    f.output_count = 2;
    f.training = true;
    status = artel_function_create(p->strategy, &f, trace_step, p, &p->step);
    if (status < 0) return status;
    const artel_argument look[] = {{"id", ARTEL_DTYPE_INT32, false, {.rank = 0}}, {"unused", ARTEL_DTYPE_FLOAT32, true, {.rank = 0}}};
    f.name = "look";
    f.arguments = look;
    return artel_function_create(p->strategy, &f, trace_look, p, &p->look);
}

static void fill(int step, float *x, int32_t *y)
{
    for (unsigned i = 0; i < BATCH * WIDE; i++) x[i] = number(100 + (unsigned)step, i);
    for (int i = 0; i < BATCH; i++) y[i] = (i + step) % CLASSES;
}

/* By a session, or, where there is none, by the functions themselves. */
static artel_status run(program *p, artel_function *f, const artel_array *in, const artel_array *out, bool read_only)
{
    artel_session_call call = ARTEL_SESSION_CALL_INIT;
    if (!p->session) return artel_function_run(f, in, 2, out, 2);
    call.feeds = in;
    call.outputs = out;
    call.feed_count = call.output_count = 2;
    call.read_only = read_only;
    return artel_session_run(p->session, f, &call);
}

static artel_status train(program *p, outcome *o)
{
    float x[BATCH * WIDE];
    int32_t y[BATCH];
    artel_status status = ARTEL_OK;
    for (int i = 0; i < STEPS && status == ARTEL_OK; i++) {
        int64_t rows = i == 2 ? 7 : BATCH; /* a short batch, too */
        artel_array in[] = {{ARTEL_DTYPE_FLOAT32, shape2(rows, WIDE), x}, {ARTEL_DTYPE_INT32, shape1(rows), y}};
        artel_array out[] = {{.data = &o->loss[i]}, {.data = i == STEPS - 1 ? o->logits : NULL}};
        fill(i, x, y);
        status = run(p, p->step, in, out, false);
    }
    if (p->session && status == ARTEL_OK) status = artel_session_pull(p->session);
    if (status == ARTEL_OK) status = artel_variable_read(p->hidden, o->hidden, WIDE * WIDE);
    if (status == ARTEL_OK) status = artel_variable_read(p->out, o->out, WIDE * CLASSES);
    return status;
}

static void reference(outcome *o)
{
    static const char *const nowhere[] = {"", "", "", ""};
    program p = {.ctx = api_context(), .place = nowhere};
    memset(o, 0, sizeof *o);
    api_ok(p.ctx, declare(&p));
    api_ok(p.ctx, train(&p, o));
    artel_strategy_destroy(p.strategy);
    artel_context_destroy(p.ctx);
}

/* -- tasks as threads -- */

typedef struct job job;
typedef void client_fn(job *j, program *p, int task);
struct job {
    int tasks, clients;
    const char *const *place, *const *names;
    client_fn *client;
    artel_context *ctx[MOST_TASKS];
    artel_communicator *communicator[MOST_TASKS];
    artel_variable *no;
    bool soft;
    const char *hidden_at, *out_at; /* of variables; NULL: not said */
    outcome got;
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
    program all = {.ctx = j->ctx[task], .place = j->place}, *p = &all;
    artel_session_options o = ARTEL_SESSION_OPTIONS_INIT;
    RIGHT(p->ctx, declare(p));
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

static void train_all(job *j, program *p, int task)
{
    (void)task;
    RIGHT(p->ctx, train(p, &j->got));
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
    outcome *want = malloc(sizeof *want);
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
