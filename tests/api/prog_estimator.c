/* SPDX-License-Identifier: Apache-2.0 */
/* An estimator over parameter servers whose chief dies with a server, behind a checkpoint: started again, the training
 * goes on from there, and each step counts once.
 *
 *   artel launch --chief -n 2 --ps 2 --restarts 9 --program prog_estimator -- FOLDER
 *
 * Each step adds 1 to variables of both servers: the loss is minus their sum, and the rate 1. */
#include <signal.h>
#include <string.h>

#include "help_chief.h"

enum {
    ROWS = 8,
    SAVED = 10, /* steps between checkpoints */
    LOST_AT = 20,
    STEPS = 40,
    COUNT = 300
};

static artel_variable *many, *one;
static artel_optimizer *optimizer;

static artel_status make_input(void *user, artel_context *ctx, artel_estimator_input *in)
{
    static const float x[ROWS] = {0};
    const artel_data_array array = {"x", ARTEL_DATA_ROLE_INPUT, ARTEL_DTYPE_FLOAT32, {1, {ROWS}}, x};
    (void)user;
    in->passes = 0;
    in->batch_size = ROWS;
    return artel_data_from_memory(ctx, &array, 1, &in->data);
}

static artel_status build(void *user, artel_strategy *strategy, artel_estimator_mode mode)
{
    artel_variable_options o = ARTEL_VARIABLE_OPTIONS_INIT;
    artel_variable *all[2];
    (void)user;
    (void)mode;
    o.name = "many";
    o.shape = (artel_shape){1, {COUNT}};
    artel_status status = artel_variable_create(strategy, &o, &many);
    o.name = "one";
    o.shape = (artel_shape){0, {0}};
    if (status == ARTEL_OK) status = artel_variable_create(strategy, &o, &one);
    all[0] = many;
    all[1] = one;
    return status == ARTEL_OK ? artel_optimizer_create(strategy, "sgd:learning_rate=1", all, 2, &optimizer) : status;
}

static artel_status add_up(void *user, artel_graph *g, const artel_estimator_batch *batch, artel_estimator_spec *spec)
{
    artel_value all = artel_graph_variable(g, many),
                zero = artel_graph_reduce(g, ARTEL_REDUCTION_MEAN, batch->features[0]);
    (void)user;
    artel_value sum =
        artel_graph_binary(g, "add", artel_graph_op(g, "sum", &all, 1, NULL), artel_graph_variable(g, one));
    spec->loss = artel_graph_binary(g, "subtract", zero, sum);
    spec->optimizer = optimizer;
    return artel_graph_status(g);
}

/* Once: a server has lost what it had, and there is no chief that knows of it. */
static artel_status lose(void *user, artel_estimator_moment *moment)
{
    char path[512];
    (void)user;
    chief_name_file(path, "lost", 0);
    FILE *before = fopen(path, "r");
    if (before) return fclose(before) == 0 ? ARTEL_OK : ARTEL_ERROR_IO;
    if (moment->step < LOST_AT) return ARTEL_OK;
    before = fopen(path, "w");
    check(before && fclose(before) == 0, "%s", path);
    chief_end("ps", 0);
    raise(SIGKILL);
    return ARTEL_OK;
}

static artel_status look(void *user, artel_estimator_moment *moment)
{
    float values[COUNT], number = -1;
    (void)user;
    check(artel_variable_read(many, values, COUNT) == ARTEL_OK && artel_variable_read(one, &number, 1) == ARTEL_OK,
          "read");
    check(number == STEPS && moment->step == STEPS, "%g steps count at step %lld", (double)number,
          (long long)moment->step);
    for (int i = 0; i < COUNT; i++) check(values[i] == STEPS, "element %d has %g steps", i, (double)values[i]);
    printf("each step counts once\n");
    return ARTEL_OK;
}

int main(int argc, char **argv)
{
    artel_context_options logged = ARTEL_CONTEXT_OPTIONS_INIT;
    artel_cluster_options place = ARTEL_CLUSTER_OPTIONS_INIT;
    artel_strategy_options strategy = ARTEL_STRATEGY_OPTIONS_INIT;
    artel_estimator_options options = ARTEL_ESTIMATOR_OPTIONS_INIT;
    artel_train_spec spec = ARTEL_TRAIN_SPEC_INIT;
    artel_estimator_hook hook = {.struct_size = sizeof hook, .saved = lose, .end = look};
    artel_estimator *e = NULL;
    char folder[512];
    logged.log = chief_say;
    if (argc < 2 || artel_context_create(&logged, &job.ctx) < 0) return 2;
    job.folder = argv[1];
    place.parameter_servers = true;
    check(artel_cluster_open(job.ctx, &place, &job.cluster) == ARTEL_OK, "cluster");
    chief_tell_process();
    strategy.strategy = "parameter-server";
    strategy.cluster = job.cluster;
    strategy.threads = 1;
    snprintf(folder, sizeof folder, "%s/model", job.folder);
    options.model_dir = folder;
    options.build = build;
    options.model = add_up;
    options.strategy = &strategy;
    options.save_checkpoints_steps = SAVED;
    spec.input = make_input;
    spec.max_steps = STEPS;
    spec.hooks = &hook;
    spec.hook_count = artel_cluster_writes(job.cluster);
    check(artel_estimator_create(job.ctx, &options, &e) == ARTEL_OK, "estimator");
    artel_status status = artel_estimator_train(e, &spec);
    check(status == ARTEL_OK, "train");
    artel_estimator_destroy(e);
    status = artel_cluster_finish(job.cluster, status);
    artel_cluster_close(job.cluster);
    artel_context_destroy(job.ctx);
    return status < 0;
}
