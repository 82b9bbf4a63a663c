/* SPDX-License-Identifier: Apache-2.0 */
/* A training loop out of functions, under any strategy and on any number of tasks, of which some may be killed.
 *
 *     loop MODEL DATA OUT.keras [PASSES [STRATEGY [REPLICAS]]]
 *     artel launch -n 3 --restarts 2 --program build/examples/loop -- MODEL DATA OUT.keras 20
 *
 * The unit of work is a pass over the data: what a task that is lost has cost. Its state is the variables, which the
 * strategy keeps. The samples come in the order of `artel fit --seed 0`, and the step is that of fit with Adam and
 * sparse_categorical_crossentropy, so the result has the bits of that, whatever happened on the way. */
#include "rows.h"
#include <stdio.h>

typedef struct job {
    artel_strategy *strategy;
    artel_model *model;
    artel_optimizer *optimizer;
    artel_function *step;
    rows data;
} job;

static artel_status trace(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    job *j = user;
    artel_value made;
    artel_graph_call(g, j->model, in, 1, &made, 1);
    artel_value loss = artel_graph_loss(g, "sparse_categorical_crossentropy", in[1], made);
    out[0] = artel_graph_reduce(g, ARTEL_REDUCTION_MEAN, loss);
    artel_graph_minimise(g, j->optimizer, out[0]);
    return artel_graph_status(g);
}

static artel_status declare(job *j)
{
    artel_function_options o = ARTEL_FUNCTION_OPTIONS_INIT;
    const artel_argument arguments[2] = {{"x", ARTEL_DTYPE_FLOAT32, false, j->data.column[0].shape},
                                         {"y", ARTEL_DTYPE_INT32, false, {0, {0}}}};
    artel_status status = artel_optimizer_create_for_model(j->strategy, "adam", j->model, &j->optimizer);
    o.arguments = arguments;
    o.argument_count = 2;
    o.output_count = 1;
    o.training = true;
    return status < 0 ? status : artel_function_create(j->strategy, &o, trace, j, &j->step);
}

/* A unit: a function of its number and of the variables, so that it can be made again. */
static artel_status one_pass(void *user, int64_t pass)
{
    job *j = user;
    double sum = 0;
    float loss = 0;
    artel_array in[2];
    const artel_array out = {.dtype = ARTEL_DTYPE_FLOAT32, .data = &loss};
    artel_status status = rows_order(&j->data, pass);
    for (int64_t at = 0; at < j->data.count && status == ARTEL_OK; at += BATCH) {
        int64_t count = j->data.count - at < BATCH ? j->data.count - at : BATCH;
        rows_take(&j->data, j->data.order + at, count, in);
        status = artel_function_run(j->step, in, 2, &out, 1);
        sum += loss * (double)count;
    }
    if (status == ARTEL_OK && artel_strategy_writes(j->strategy))
        printf("pass %lld: loss %.6f\n", (long long)pass + 1, sum / (double)j->data.count);
    fflush(stdout);
    return status;
}

int main(int argc, char **argv)
{
    artel_context *ctx = NULL;
    artel_cluster *cluster = NULL;
    job j = {.model = NULL};
    artel_strategy_options o = ARTEL_STRATEGY_OPTIONS_INIT;
    if (argc < 4 || argc > 7)
        return fprintf(stderr, "usage: loop MODEL DATA OUT.keras [PASSES [STRATEGY [REPLICAS]]]\n"), 1;
    artel_status status = artel_context_create(NULL, &ctx);
    if (status == ARTEL_OK) status = artel_cluster_open(ctx, NULL, &cluster);
    o.cluster = cluster, o.strategy = argc > 5 ? argv[5] : NULL, o.replicas = argc > 6 ? atoi(argv[6]) : 0;
    if (status == ARTEL_OK) status = artel_strategy_create(ctx, &o, &j.strategy);
    if (status == ARTEL_OK) status = artel_model_load(ctx, argv[1], &j.model);
    if (status == ARTEL_OK) status = artel_model_compile(j.model, "adam", "sparse_categorical_crossentropy", NULL);
    if (status == ARTEL_OK) status = rows_open(&j.data, ctx, j.model, argv[2]);
    if (status == ARTEL_OK) status = declare(&j);
    if (status == ARTEL_OK) status = artel_strategy_loop(j.strategy, argc > 4 ? atoll(argv[4]) : 1, one_pass, &j);
    if (status == ARTEL_OK) status = artel_strategy_store(j.strategy, j.model);
    if (status == ARTEL_OK && artel_strategy_writes(j.strategy)) status = artel_model_save(j.model, argv[3]);
    if (status < 0) fprintf(stderr, "%s: %s\n", artel_context_error(ctx)->where, artel_context_error(ctx)->what);
    artel_strategy_destroy(j.strategy);
    rows_close(&j.data);
    artel_model_destroy(j.model);
    if (cluster) status = artel_cluster_finish(cluster, status);
    artel_cluster_close(cluster);
    artel_context_destroy(ctx);
    return artel_status_exit_code(status);
}
