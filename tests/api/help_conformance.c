/* SPDX-License-Identifier: Apache-2.0 */
/* Strategies by the form of a run. */
#include "help_conformance.h"

#include <time.h>
#include <unistd.h>

#define XLA "cpu:xla"

static const conformance_form alone[] = {{"default", "one-device", 0, 1, NULL, false},
                                         {"one-device", "one-device", 1, 2, NULL, false},
                                         {"mirrored", "mirrored", 2, 2, NULL, false},
                                         {"mirrored", "mirrored", 3, 3, NULL, false},
                                         {"mirrored", "mirrored", 8, 2, NULL, false},
                                         {"central-storage", "central-storage", 3, 3, NULL, false},
                                         {"one-device", "one-device", 0, 1, XLA, false},
                                         {"mirrored", "mirrored", 2, 2, XLA, false},
                                         {"central-storage", "central-storage", 3, 3, XLA, false}};
static const conformance_form together[] = {{"default", "one-device", 0, 1, NULL, false},
                                            {"multi-worker", "multi-worker", 1, 1, NULL, true},
                                            {"auto", "multi-worker", 2, 2, NULL, true},
                                            {"default", "one-device", 0, 1, XLA, false},
                                            {"multi-worker", "multi-worker", 1, 1, XLA, true}};
static const conformance_form servers[] = {{"default", "one-device", 0, 1, NULL, false},
                                           {"parameter-server", "parameter-server", 0, 1, NULL, true}};

const conformance_form *conformance_forms = alone;
int conformance_count = (int)(sizeof alone / sizeof *alone);
artel_cluster *conformance_cluster;
int conformance_tasks = 1;
static artel_context *shared_context; /* of the cluster */

static const char *served; /* the file that says that the server has tried all rows */

#define USE(list) (conformance_forms = (list), conformance_count = (int)(sizeof(list) / sizeof *(list)))

/* -- a run -- */

static void open_cluster(bool has_servers)
{
    artel_cluster_options o = ARTEL_CLUSTER_OPTIONS_INIT;
    o.wait_for_cluster = o.collective_timeout = 120;
    o.parameter_servers = has_servers;
    shared_context = api_context();
    api_ok(shared_context, artel_cluster_open(shared_context, &o, &conformance_cluster));
}

/* Of the forms on a device, where it has no plug-in, nothing can be tried; among more than two tasks, for all share
 * this machine's cores, nothing is. */
static void leave_devices_out(void)
{
    artel_context *ctx = api_context();
    artel_strategy *s = NULL;
    artel_strategy_options o = ARTEL_STRATEGY_OPTIONS_INIT;
    o.device = XLA;
    artel_status status = conformance_tasks > 2 ? ARTEL_ERROR_NOT_FOUND : artel_strategy_create(ctx, &o, &s);
    if (status != ARTEL_ERROR_NOT_FOUND) api_ok(ctx, status);
    artel_strategy_destroy(s);
    artel_context_destroy(ctx);
    int cores = 0;
    while (cores < conformance_count && !conformance_forms[cores].device) cores++;
    if (status == ARTEL_ERROR_NOT_FOUND) conformance_count = cores;
}

void conformance_open(int argc, char **argv)
{
    bool has_servers = argc > 1 && strcmp(argv[1], "servers") == 0;
    setenv("TF_CPP_MIN_LOG_LEVEL", "3", 0);
    if (has_servers)
        USE(servers);
    else if (argc > 1)
        USE(together);
    if (has_servers && argc > 2) served = argv[2];
    if (!has_servers && argc > 1) conformance_tasks = atoi(argv[1]);
    if (!has_servers) leave_devices_out();
    if (argc == 1) return;
    open_cluster(has_servers);
}

/* A launch ends its server with the last of the other tasks, even in the midst of a row: the chief goes once a file
 * says that the server is through. */
static void wait_for_server(void)
{
    const struct timespec pause = {.tv_nsec = 10000000};
    if (strcmp(artel_cluster_role(conformance_cluster), "ps") == 0) {
        fflush(stdout);
        FILE *said = fopen(served, "w");
        assert_non_null(said);
        fclose(said);
    } else if (artel_cluster_writes(conformance_cluster)) {
        for (int i = 0; i < 12000 && access(served, F_OK) != 0; i++) nanosleep(&pause, NULL);
    }
}

int conformance_close(int failures)
{
    if (!conformance_cluster) return failures;
    if (served && !failures) wait_for_server();
    artel_status status = artel_cluster_finish(conformance_cluster, failures ? ARTEL_ERROR_RUN : ARTEL_OK);
    artel_cluster_close(conformance_cluster);
    artel_context_destroy(shared_context);
    return failures || status < 0;
}

/* -- forms -- */

bool conformance_leads(int form)
{
    return form == 0 || (conformance_forms[form].device && !conformance_forms[form - 1].device);
}

bool conformance_has_servers(const conformance_form *form)
{
    return strcmp(form->resolved, "parameter-server") == 0;
}

conformance_stage conformance_begin(const conformance_form *form, int batch)
{
    conformance_stage s = {.ctx = form->together ? shared_context : api_context(), .form = form};
    artel_strategy_options o = ARTEL_STRATEGY_OPTIONS_INIT;
    o.strategy = form->strategy;
    o.replicas = form->replicas;
    o.threads = form->threads;
    o.device = form->device;
    o.batch_size = batch;
    o.shards = CONFORMANCE_SHARDS;
    o.seed = 21;
    o.cluster = form->together ? conformance_cluster : NULL;
    api_ok(s.ctx, artel_strategy_create(s.ctx, &o, &s.strategy));
    return s;
}

void conformance_end(conformance_stage *s)
{
    if (s->coordinator) api_ok(s->ctx, artel_coordinator_close(s->coordinator));
    artel_strategy_destroy(s->strategy);
    artel_model_destroy(s->model);
    if (!s->form->together) artel_context_destroy(s->ctx);
}

bool conformance_start(conformance_stage *s)
{
    if (!conformance_has_servers(s->form)) return true;
    if (artel_cluster_writes(conformance_cluster)) {
        api_ok(s->ctx, artel_coordinator_open(s->strategy, NULL, &s->coordinator));
        return true;
    }
    api_ok(s->ctx, artel_coordinator_serve(s->strategy));
    return false;
}

typedef struct call {
    artel_function *function;
    const artel_array *in, *out;
    int inputs, outputs;
} call;

static artel_status run_unit(void *user, int64_t unit)
{
    const call *c = user;
    (void)unit;
    return artel_function_run(c->function, c->in, c->inputs, c->out, c->outputs);
}

artel_status conformance_run(conformance_stage *s, artel_function *f, const artel_array *in, int inputs,
                             const artel_array *out, int outputs)
{
    call c = {f, in, out, inputs, outputs};
    artel_remote *remote;
    if (!s->coordinator && s->form->together)
        return artel_strategy_loop(s->strategy, artel_strategy_units(s->strategy) + 1, run_unit, &c);
    if (!s->coordinator) return run_unit(&c, 0);
    artel_status status = artel_coordinator_schedule(s->coordinator, f, in, inputs, NULL, &remote);
    if (status < 0) return status;
    status = artel_remote_fetch(remote, out, outputs, NULL);
    artel_remote_release(remote);
    return status;
}
