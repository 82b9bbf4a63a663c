/* SPDX-License-Identifier: Apache-2.0 */
/* A task of a job over parameter servers whose closures do next to nothing: v -= rate * (v * 0.5), for servers_null.py.
 *
 *   cc -O2 -Iinclude bench/null_step.c -o null_step -Lbuild -lartel -Wl,-rpath,$PWD/build
 *   artel launch --chief -n 3 --ps 2 --insecure-network --program ./null_step -- FLOATS CLOSURES
 *
 * The chief prints the seconds of the second half of 2 * CLOSURES closures. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <artel/artel.h>

typedef struct job {
    artel_variable *variable;
    artel_optimizer *optimizer;
} job;

static artel_status trace(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    job *j = user;
    artel_value value[2] = {artel_graph_variable(g, j->variable), artel_graph_number(g, 0.5)};
    artel_value gradient = artel_graph_op(g, "multiply", value, 2, NULL);
    (void)in;
    out[0] = artel_graph_number(g, 1);
    artel_graph_apply(g, j->optimizer, &gradient, 1);
    return artel_graph_status(g);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static artel_status run(artel_coordinator *c, artel_function *f, int count)
{
    artel_status status = ARTEL_OK;
    for (int i = 0; i < count && status == ARTEL_OK; i++)
        status = artel_coordinator_schedule(c, f, NULL, 0, NULL, NULL);
    return status == ARTEL_OK ? artel_coordinator_join(c) : status;
}

static artel_status coordinate(artel_strategy *s, artel_function *f, int count)
{
    artel_coordinator *c;
    artel_status status = artel_coordinator_open(s, NULL, &c);
    if (status < 0) return status;
    status = run(c, f, count);
    double before = now();
    if (status == ARTEL_OK) status = run(c, f, count);
    if (status == ARTEL_OK) printf("{\"seconds\": %.6f}\n", now() - before);
    artel_status closed = artel_coordinator_close(c);
    return status < 0 ? status : closed;
}

int main(int argc, char **argv)
{
    artel_context *ctx = NULL;
    artel_cluster *cluster = NULL;
    artel_strategy *strategy = NULL;
    artel_function *step = NULL;
    job j = {NULL, NULL};
    artel_cluster_options c = ARTEL_CLUSTER_OPTIONS_INIT;
    artel_strategy_options s = ARTEL_STRATEGY_OPTIONS_INIT;
    artel_variable_options v = ARTEL_VARIABLE_OPTIONS_INIT;
    artel_function_options f = ARTEL_FUNCTION_OPTIONS_INIT;
    long long floats = argc > 1 ? atoll(argv[1]) : 1;
    int closures = argc > 2 ? atoi(argv[2]) : 1000;
    artel_status status = artel_context_create(NULL, &ctx);
    c.parameter_servers = true;
    if (status == ARTEL_OK) status = artel_cluster_open(ctx, &c, &cluster);
    s.strategy = "parameter-server";
    s.cluster = cluster;
    s.threads = 1;
    if (status == ARTEL_OK) status = artel_strategy_create(ctx, &s, &strategy);
    v.name = "v";
    if (floats > 1) v.shape = (artel_shape){1, {floats}};
    if (status == ARTEL_OK) status = artel_variable_create(strategy, &v, &j.variable);
    if (status == ARTEL_OK)
        status = artel_optimizer_create(strategy, "sgd:learning_rate=0.05", &j.variable, 1, &j.optimizer);
    f.name = "step";
    f.output_count = 1;
    if (status == ARTEL_OK) status = artel_function_create(strategy, &f, trace, &j, &step);
    if (status == ARTEL_OK)
        status =
            artel_cluster_writes(cluster) ? coordinate(strategy, step, closures) : artel_coordinator_serve(strategy);
    if (status < 0 && ctx) fprintf(stderr, "%s: %s\n", artel_context_error(ctx)->where, artel_context_error(ctx)->what);
    artel_strategy_destroy(strategy);
    if (cluster) status = artel_cluster_finish(cluster, status);
    artel_cluster_close(cluster);
    artel_context_destroy(ctx);
    return status < 0;
}
