/* SPDX-License-Identifier: Apache-2.0 */
/* timeout: 600 */
/* Saving and loading functions, sessions, clusters that are opened, and JSON that a call makes for itself, while the
 * first allocation fails, then the second, and so on: each time there is an error with a text and nothing is lost (the
 * contexts are destroyed, and leaks are what sanitizers look for), until all goes well. */
#include "help_api.h"

#include <stdlib.h>
#include <unistd.h>

#include <jansson.h>

#include "artel/cluster.h"
#include "artel/hooks.h"
#include "artel/saved.h"
#include "artel/trainer.h"
#include "artel/watch.h"
#include "base/context.h"
#include "help_session.h"
#include "keras/model.h"
#include "support/ports.h"

enum {
    MOST_ALLOCATIONS = 20000
};

typedef artel_status attempt_fn(session_program *p, const char *file);

static artel_status save(session_program *p, const char *file)
{
    return artel_functions_save(p->strategy, NULL, 0, file);
}

static artel_status load(session_program *p, const char *file)
{
    artel_strategy_options o = ARTEL_STRATEGY_OPTIONS_INIT;
    artel_strategy *strategy = NULL;
    o.threads = 1;
    artel_status status = artel_functions_load(p->ctx, file, &o, &strategy);
    artel_strategy_destroy(strategy);
    return status;
}

/* A session of two tasks in this process, from its making to a step and what it says of itself. */
static artel_status use_session(session_program *p, const char *file)
{
    static const char *const names[] = {"/job:worker/task:0", "/job:worker/task:1"};
    artel_session_options o = ARTEL_SESSION_OPTIONS_INIT;
    float loss;
    (void)file;
    o.tasks = names;
    o.task_count = 2;
    artel_status status = artel_session_create(p->strategy, &o, &p->session);
    if (status == ARTEL_OK) status = session_step(p, 0, &loss, NULL);
    if (status == ARTEL_OK && !artel_session_explain(p->session, p->step)[0]) status = ARTEL_ERROR_NO_MEMORY;
    artel_session_destroy(p->session);
    p->session = NULL;
    return status;
}

static artel_status one_step(void *user, int64_t unit)
{
    float loss;
    return session_step(user, (int)unit, &loss, NULL);
}

static artel_status make_hooks(session_program *p, artel_hook *hook[3])
{
    static const int outputs[] = {1};
    artel_hook_options o = ARTEL_HOOK_OPTIONS_INIT;
    o.outputs = outputs;
    o.count = 1;
    artel_status status = artel_hook_logging(p->step, &o, &hook[0]);
    if (status == ARTEL_OK) status = artel_hook_nan(p->step, 1, false, &hook[1]);
    return status == ARTEL_OK ? artel_hook_stop_at_step(p->ctx, 1, 0, &hook[2]) : status;
}

/* What a watch finds, and that it has ended. */
static artel_status look(session_program *p, const char *folder)
{
    artel_watch *watch = NULL;
    artel_watch_options o = ARTEL_WATCH_OPTIONS_INIT;
    o.max_checkpoints = 1;
    artel_status status = artel_watch_create(p->ctx, folder, &o, &watch);
    if (status == ARTEL_OK) status = artel_watch_next(watch);
    if (status == ARTEL_OK) assert_int_equal(artel_watch_next(watch), ARTEL_AGAIN);
    artel_watch_destroy(watch);
    return status;
}

/* A monitored session with hooks, and its checkpoint from beside it. */
static artel_status use_hooks(session_program *p, const char *file)
{
    static const char *const names[] = {"/job:worker/task:0", "/job:worker/task:1"};
    static int number;
    char folder[128];
    artel_hook *hook[3] = {NULL};
    artel_session_options o = ARTEL_SESSION_OPTIONS_INIT;
    artel_monitor_options m = ARTEL_MONITOR_OPTIONS_INIT;
    snprintf(folder, sizeof folder, "%s-%d", file, number++); /* a checkpoint that is there would leave nothing to do */
    o.tasks = names;
    o.task_count = 2;
    m.directory = folder;
    m.hooks = hook;
    m.hook_count = 3;
    artel_status status = artel_session_create(p->strategy, &o, &p->session);
    if (status == ARTEL_OK) status = make_hooks(p, hook);
    if (status == ARTEL_OK) status = artel_session_monitor(p->session, &m, 9, one_step, p);
    if (status == ARTEL_OK) status = look(p, folder);
    for (int i = 0; i < 3; i++) artel_hook_destroy(hook[i]);
    artel_session_destroy(p->session);
    p->session = NULL;
    return status;
}

static void declare(session_program *p)
{
    static const char *const place[] = {"/task:0", "/task:1", "/task:1", ""};
    *p = (session_program){.ctx = api_context(), .place = place};
    api_ok(p->ctx, session_declare(p));
}

/* With the n-th allocation failing; whether all went well. */
static bool goes_well(session_program *p, attempt_fn *attempt, const char *file, int64_t n)
{
    artel__fail_allocation_after(p->ctx, n);
    artel_status status = attempt(p, file);
    artel__fail_allocation_after(p->ctx, 0);
    if (status == ARTEL_OK) return true;
    const artel_error *error = artel_context_error(p->ctx);
    if (status != ARTEL_ERROR_NO_MEMORY)
        fail_msg("allocation %d: %s: %s: %s", (int)n, artel_status_name(status), error->where, error->what);
    assert_true(error->what[0]);
    return false;
}

/* Each attempt on a strategy of its own: one that could not be opened stays closed. */
static void try_all(attempt_fn *attempt, const char *file)
{
    session_program p;
    int64_t n = 1;
    declare(&p);
    while (!goes_well(&p, attempt, file, n)) {
        assert_in_range(++n, 1, MOST_ALLOCATIONS);
        artel_strategy_destroy(p.strategy);
        artel_context_destroy(p.ctx);
        declare(&p);
    }
    assert_true(n > 10);
    artel_strategy_destroy(p.strategy);
    artel_context_destroy(p.ctx);
}

static void saved(void **state)
{
    char folder[64], file[96];
    (void)state;
    api_folder_make(folder);
    snprintf(file, sizeof file, "%s/functions", folder);
    try_all(save, file);
    try_all(load, file);
    api_folder_remove(folder);
}

static void sessions(void **state)
{
    char folder[64], file[96];
    (void)state;
    api_folder_make(folder);
    snprintf(file, sizeof file, "%s/run", folder);
    try_all(use_hooks, file);
    api_folder_remove(folder);
    try_all(use_session, "");
}

/* Whatever was made until then is closed, and nothing that was not. */
static void clusters(void **state)
{
    char config[256];
    int held[2], port[2];
    int64_t n = 1;
    bool well = false;
    (void)state;
    for (int i = 0; i < 2; i++) port[i] = support_port_hold(&held[i]);
    snprintf(config, sizeof config,
             "{\"cluster\": {\"worker\": [\"127.0.0.1:%d\", \"127.0.0.1:%d\"]}, \"task\": {\"type\": \"worker\", "
             "\"index\": 0}}",
             port[0], port[1]);
    assert_int_equal(setenv("TF_CONFIG", config, 1), 0);
    for (; !well; n++) {
        artel_context *ctx;
        artel_cluster *cluster = NULL;
        artel_cluster_options options = ARTEL_CLUSTER_OPTIONS_INIT;
        assert_int_equal(artel_context_create(NULL, &ctx), ARTEL_OK);
        artel__fail_allocation_after(ctx, n);
        artel_status status = artel_cluster_open(ctx, &options, &cluster);
        artel__fail_allocation_after(ctx, 0);
        if (status != ARTEL_OK && (status != ARTEL_ERROR_NO_MEMORY || !artel_context_error(ctx)->what[0]))
            fail_msg("allocation %d: %s: %s", (int)n, artel_status_name(status), artel_context_error(ctx)->what);
        well = status == ARTEL_OK;
        artel_cluster_close(cluster);
        artel_context_destroy(ctx);
        assert_in_range(n, 1, MOST_ALLOCATIONS);
    }
    assert_true(n >= 12);
    for (int i = 0; i < 2; i++) close(held[i]);
    unsetenv("TF_CONFIG");
}

/* -- what JSON takes, which no context counts -- */

static int64_t json_left; /* allocations until one fails; 0: none does */

static void *json_take(size_t bytes)
{
    return json_left && --json_left == 0 ? NULL : malloc(bytes);
}

/* A call on a fresh context, whose n-th allocation of JSON fails. */
typedef artel_status json_fn(artel_context *ctx, int64_t n);

static artel_status trace_loss(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    json_left = *(const int64_t *)user;
    out[0] = artel_graph_loss(g, "crossentropy", in[0], in[1]);
    json_left = 0;
    return artel_graph_status(g);
}

static artel_status loss_by_shape(artel_context *ctx, int64_t n)
{
    const artel_argument rows[2] = {{.name = "y", .shape = {1, {3}}}, {.name = "p", .shape = {1, {3}}}};
    artel_strategy_options own = ARTEL_STRATEGY_OPTIONS_INIT;
    artel_function_options o = ARTEL_FUNCTION_OPTIONS_INIT;
    artel_strategy *s;
    artel_function *f;
    own.batch_size = 8;
    o.arguments = rows;
    o.argument_count = 2;
    o.output_count = 1;
    api_ok(ctx, artel_strategy_create(ctx, &own, &s));
    artel_status status = artel_function_create(s, &o, trace_loss, &n, &f);
    artel_strategy_destroy(s);
    return status;
}

static artel_status default_optimizer(artel_context *ctx, int64_t n)
{
    artel_model *model = api_mlp(ctx);
    artel_data *data = api_rows(ctx, false);
    artel_trainer *trainer = NULL;
    json_object_del(model->compile_config, "optimizer"); /* as in files of programs that name none */
    json_left = n;
    artel_status status = artel_trainer_create(model, data, NULL, &trainer);
    json_left = 0;
    artel_trainer_destroy(trainer);
    artel_data_destroy(data);
    artel_model_destroy(model);
    return status;
}

static void json(void **state)
{
    static json_fn *const calls[] = {loss_by_shape, default_optimizer};
    json_malloc_t take;
    json_free_t give;
    (void)state;
    json_get_alloc_funcs(&take, &give);
    json_set_alloc_funcs(json_take, give);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        artel_status status = ARTEL_ERROR_NO_MEMORY;
        int64_t n = 1;
        for (; status != ARTEL_OK; n++) {
            artel_context *ctx = api_context();
            status = calls[i](ctx, n);
            const artel_error *error = artel_context_error(ctx);
            if (status != ARTEL_OK && (status != ARTEL_ERROR_NO_MEMORY || !error->what[0]))
                fail_msg("call %zu, allocation %d: %s: %s: %s", i, (int)n, artel_status_name(status), error->where,
                         error->what);
            artel_context_destroy(ctx);
            assert_in_range(n, 1, MOST_ALLOCATIONS);
        }
        assert_true(n > 2);
    }
    json_set_alloc_funcs(take, give);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(saved), cmocka_unit_test(sessions), cmocka_unit_test(clusters),
                                       cmocka_unit_test(json)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
