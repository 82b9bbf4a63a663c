/* SPDX-License-Identifier: Apache-2.0 */
/* A training loop of one's own, under any strategy, on cores or devices, on one task or on several.
 *
 *     custom_loop MODEL DATA OUT.keras [PASSES [STRATEGY [REPLICAS [KEEP [FOLDER [DEVICE]]]]]]
 *     artel launch -n 3 --restarts 2 --program build/examples/custom_loop -- MODEL DATA OUT.keras 20 auto 0 0.5
 *
 * With KEEP 1 (the default) the samples come in the order of `artel fit --seed 0`, and the result has the bits of that
 * with Adam and sparse_categorical_crossentropy. With KEEP 0.5 each pass after the first trains on the harder half of
 * the samples only, by the loss that the model has for each of them: what no option of fit can say. Strategy, replicas
 * and tasks, of which some may be killed, change no bit of either; a DEVICE has bits of its own.
 *
 * SIGTERM ends the loop behind the running pass, with exit code 143. With a FOLDER ("-": none) all tasks end, one saves
 * their state there, and the same command goes on from it; without one a task leaves the others. */
#include "rows.h"
#include <signal.h>
#include <stdio.h>

typedef struct job {
    artel_strategy *strategy;
    artel_model *model;
    artel_optimizer *optimizer;
    artel_function *step, *judge;
    rows data;
    float *loss; /* of each sample, in the order of the pass */
    double keep;
} job;

static artel_context *ctx;

static void be_told(int signal)
{
    (void)signal;
    artel_context_preempt(ctx);
}

/* First the function that judges, the loss of each sample; then the one that makes a step. */
static artel_status trace(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    job *j = user;
    artel_value made;
    artel_graph_call(g, j->model, in, 1, &made, 1);
    out[0] = artel_graph_loss(g, "sparse_categorical_crossentropy", in[1], made);
    if (!j->judge) return artel_graph_status(g);
    out[0] = artel_graph_reduce(g, ARTEL_REDUCTION_MEAN, out[0]);
    artel_graph_minimise(g, j->optimizer, out[0]);
    return artel_graph_status(g);
}

static artel_status declare(job *j)
{
    artel_function_options o = ARTEL_FUNCTION_OPTIONS_INIT;
    const artel_argument arguments[2] = {{"x", ARTEL_DTYPE_FLOAT32, false, j->data.column[0].shape},
                                         {"y", ARTEL_DTYPE_INT32, false, {0, {0}}}};
    j->loss = malloc((size_t)j->data.count * sizeof *j->loss);
    if (!j->loss) return ARTEL_ERROR_NO_MEMORY;
    o.arguments = arguments;
    o.argument_count = 2;
    o.output_count = 1;
    artel_status status = artel_optimizer_create_for_model(j->strategy, "adam", j->model, &j->optimizer);
    if (status == ARTEL_OK) status = artel_function_create(j->strategy, &o, trace, j, &j->judge);
    o.training = true;
    return status < 0 ? status : artel_function_create(j->strategy, &o, trace, j, &j->step);
}

/* Leaves the harder share of the samples in the order of the pass. */
static artel_status choose(job *j, int64_t *count)
{
    artel_status status = ARTEL_OK;
    artel_array in[2];
    for (int64_t at = 0; at < *count && status == ARTEL_OK; at += BATCH) {
        const artel_array out = {.dtype = ARTEL_DTYPE_FLOAT32, .data = j->loss + at};
        rows_take(&j->data, j->data.order + at, *count - at < BATCH ? *count - at : BATCH, in);
        status = artel_function_run(j->judge, in, 2, &out, 1);
    }
    if (status < 0) return status;
    *count = (int64_t)(j->keep * (double)*count);
    return rows_keep(&j->data, j->loss, *count);
}

/* A unit: a function of its number and of the variables, so that it can be made again. */
static artel_status one_pass(void *user, int64_t pass)
{
    job *j = user;
    artel_array in[2];
    int64_t count = j->data.count, steps = 0;
    double sum = 0;
    float loss = 0;
    const artel_array out = {.dtype = ARTEL_DTYPE_FLOAT32, .data = &loss};
    artel_status status = rows_order(&j->data, pass);
    if (status == ARTEL_OK && pass > 0 && j->keep < 1) status = choose(j, &count);
    for (int64_t at = 0; at < count && status == ARTEL_OK; at += BATCH, steps++) {
        rows_take(&j->data, j->data.order + at, count - at < BATCH ? count - at : BATCH, in);
        status = artel_function_run(j->step, in, 2, &out, 1);
        sum += loss;
    }
    if (status == ARTEL_OK && artel_strategy_writes(j->strategy))
        printf("pass %lld: %lld steps of %d replicas, loss %.6f\n", (long long)pass + 1, (long long)steps,
               artel_strategy_replicas(j->strategy), steps ? sum / (double)steps : 0);
    fflush(stdout);
    return status;
}

static artel_status train(job *j, const char *folder, int64_t passes)
{
    int64_t saved;
    artel_status status = folder ? artel_strategy_restore(j->strategy, folder, &saved) : ARTEL_OK;
    if (status == ARTEL_OK) status = artel_strategy_loop(j->strategy, passes, one_pass, j);
    if (status == ARTEL_ERROR_PREEMPTED && folder && artel_strategy_writes(j->strategy)) {
        artel_status written = artel_strategy_save(j->strategy, folder, artel_strategy_units(j->strategy), 1);
        if (written < 0) return written;
        fprintf(stderr, "saved behind pass %lld\n", (long long)artel_strategy_units(j->strategy));
    }
    return status == ARTEL_OK ? artel_strategy_store(j->strategy, j->model) : status;
}

int main(int argc, char **argv)
{
    const char *folder = argc > 8 && strcmp(argv[8], "-") ? argv[8] : NULL;
    artel_cluster *cluster = NULL;
    job j = {.keep = argc > 7 ? atof(argv[7]) : 1};
    artel_cluster_options c = ARTEL_CLUSTER_OPTIONS_INIT;
    artel_strategy_options o = ARTEL_STRATEGY_OPTIONS_INIT;
    if (argc < 4 || argc > 10)
        return fprintf(stderr, "usage: custom_loop MODEL DATA OUT.keras [PASSES [STRATEGY [REPLICAS [KEEP ...\n"), 1;
    artel_status status = artel_context_create(NULL, &ctx);
    if (status == ARTEL_OK) signal(SIGTERM, be_told);
    c.save_on_preempt = folder != NULL;
    if (status == ARTEL_OK) status = artel_cluster_open(ctx, &c, &cluster);
    o.cluster = cluster, o.strategy = argc > 5 ? argv[5] : NULL, o.replicas = argc > 6 ? atoi(argv[6]) : 0;
    o.device = argc > 9 ? argv[9] : NULL;
    if (o.device) o.shards = 8, o.device_launches = "shard"; /* so that more devices can share, by the same programs */
    if (status == ARTEL_OK) status = artel_strategy_create(ctx, &o, &j.strategy);
    if (status == ARTEL_OK) status = artel_model_load(ctx, argv[1], &j.model);
    if (status == ARTEL_OK) status = artel_model_compile(j.model, "adam", "sparse_categorical_crossentropy", NULL);
    if (status == ARTEL_OK) status = rows_open(&j.data, ctx, j.model, argv[2]);
    if (status == ARTEL_OK) status = declare(&j);
    if (status == ARTEL_OK) status = train(&j, folder, argc > 4 ? atoll(argv[4]) : 1);
    if (status == ARTEL_OK && artel_strategy_writes(j.strategy)) status = artel_model_save(j.model, argv[3]);
    const artel_error *error = artel_context_error(ctx);
    if (status < 0 && error->what[0]) fprintf(stderr, "%s: %s; %s\n", error->where, error->what, error->advice);
    free(j.loss);
    artel_strategy_destroy(j.strategy);
    rows_close(&j.data);
    artel_model_destroy(j.model);
    if (cluster) status = artel_cluster_finish(cluster, status);
    artel_cluster_close(cluster);
    signal(SIGTERM, SIG_DFL); /* the handler speaks to the context */
    artel_context_destroy(ctx);
    return artel_status_exit_code(status);
}
