/* SPDX-License-Identifier: Apache-2.0 */
/* timeout: 600 */
/* Saving and loading functions, sessions, and clusters that are opened, while the first allocation fails, then the
 * second, and so on: each time there is an error with a text and nothing is lost (the contexts are destroyed, and leaks
 * are what sanitizers look for), until all goes well. */
#include "help_api.h"

#include <stdlib.h>
#include <unistd.h>

#include "artel/cluster.h"
#include "artel/saved.h"
#include "base/context.h"
#include "help_session.h"
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
    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(saved), cmocka_unit_test(sessions), cmocka_unit_test(clusters)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
