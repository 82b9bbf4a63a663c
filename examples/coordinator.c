/* SPDX-License-Identifier: Apache-2.0 */
/* Training over parameter servers with a coordinator: points of a plane, inside a ring or not.
 *
 *   artel launch --chief -n 3 --ps 1 --restarts 3 --program build/examples/coordinator -- [EPOCHS [STEPS]]
 *
 * The chief schedules the steps of an epoch, which workers take with data of their own, and has them judge points that
 * nobody has trained with. Workers may be killed at any time. A server that was killed has lost its variables: the
 * chief goes back to what it kept, and repeats the epoch. */
#include <artel/artel.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define BATCH 200

typedef struct ring {
    artel_context *ctx;
    artel_strategy *strategy;
    artel_model *model;
    artel_optimizer *optimizer;
    artel_function *step, *judge;
    artel_worker_data *points;
    double next; /* number of a point: each task has numbers of its own */
    float x[BATCH][2], accuracy;
    int label[BATCH];
} ring;

static artel_status open_points(void *user, int worker, void **state)
{
    ring *r = *state = user;
    r->next = 1e6 * (worker + 1);
    return ARTEL_OK;
}

static artel_status next_points(void *user, void *state, artel_array *arrays, int count)
{
    ring *r = user;
    (void)state, (void)count;
    for (int i = 0; i < BATCH; i++, r->next++) {
        r->x[i][0] = (float)(4 * fmod(r->next * 0.7548776662466927, 1) - 2);
        r->x[i][1] = (float)(4 * fmod(r->next * 0.5698402909980532, 1) - 2);
        r->label[i] = fabs(hypot(r->x[i][0], r->x[i][1]) - 1.1) < 0.4;
    }
    arrays[0] = (artel_array){ARTEL_DTYPE_FLOAT32, {2, {BATCH, 2}}, r->x};
    arrays[1] = (artel_array){ARTEL_DTYPE_INT32, {1, {BATCH}}, r->label};
    return ARTEL_OK;
}

/* The share of a batch that the model gets right. A step trains on it, too. */
static artel_status trace(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    ring *r = user;
    artel_value made, right;
    artel_graph_call(g, r->model, in, 1, &made, 1);
    right = artel_graph_binary(g, "equal", artel_graph_op(g, "argmax", &made, 1, "{\"axis\": -1}"), in[1]);
    right = artel_graph_op(g, "cast", &right, 1, "{\"dtype\": \"float32\"}");
    out[0] = artel_graph_reduce(g, ARTEL_REDUCTION_MEAN, right);
    artel_value loss = artel_graph_loss(g, "sparse_categorical_crossentropy", in[1], made);
    if (artel_graph_training(g))
        artel_graph_minimise(g, r->optimizer, artel_graph_reduce(g, ARTEL_REDUCTION_MEAN, loss));
    return artel_graph_status(g);
}

/* What every task does: declares the same things. */
static artel_status declare(ring *r)
{
    artel_builder *b;
    const artel_argument arguments[2] = {{"points", ARTEL_DTYPE_FLOAT32, false, {1, {2}}},
                                         {"label", ARTEL_DTYPE_INT32, false, {0, {0}}}};
    artel_function_options o = ARTEL_FUNCTION_OPTIONS_INIT;
    artel_worker_data_options points = ARTEL_WORKER_DATA_OPTIONS_INIT;
    artel_status status = artel_sequential_create(r->ctx, "ring", ARTEL_DTYPE_FLOAT32, &(artel_shape){1, {2}}, &b);
    if (status < 0) return status;
    for (int i = 0; i < 2; i++) artel_layer_dense(b, &(artel_dense_options){.units = 32, .activation = "relu"});
    artel_layer_dense(b, &(artel_dense_options){.units = 2, .activation = "softmax"});
    status = artel_sequential_finish(b, &r->model);
    if (status == ARTEL_OK)
        status = artel_optimizer_create_for_model(r->strategy, "adam:learning_rate=0.01", r->model, &r->optimizer);
    points.name = "points", points.arrays = 2, points.open = open_points, points.next = next_points, points.user = r;
    if (status == ARTEL_OK) status = artel_worker_data_create(r->strategy, &points, &r->points);
    o.name = "judge", o.arguments = arguments, o.argument_count = 2, o.output_count = 1;
    if (status == ARTEL_OK) status = artel_function_create(r->strategy, &o, trace, r, &r->judge);
    o.name = "step", o.training = true;
    return status < 0 ? status : artel_function_create(r->strategy, &o, trace, r, &r->step);
}

/* The chief: steps, whose outputs nobody wants; then points that go with their closure, and its answer. */
static artel_status one_epoch(ring *r, artel_coordinator *c, int steps)
{
    artel_remote *answer = NULL;
    artel_array points[2];
    const artel_array out = {.dtype = ARTEL_DTYPE_FLOAT32, .data = &r->accuracy};
    r->next = 0;
    artel_status status = next_points(r, NULL, points, 2);
    for (int i = 0; i < steps && status == ARTEL_OK; i++)
        status = artel_coordinator_schedule(c, r->step, NULL, 0, r->points, NULL);
    if (status == ARTEL_OK) status = artel_coordinator_join(c);
    if (status == ARTEL_OK) status = artel_coordinator_schedule(c, r->judge, points, 2, NULL, &answer);
    if (status == ARTEL_OK) status = artel_remote_fetch(answer, &out, 1, NULL);
    artel_remote_release(answer);
    if (status == ARTEL_ERROR_CANCELLED) status = artel_coordinator_join(c); /* dropped: who joins hears why */
    return status;
}

static artel_status coordinate(ring *r, int epochs, int steps)
{
    artel_coordinator *c;
    artel_coordinator_metrics m = {.struct_size = sizeof m};
    artel_status status = artel_coordinator_open(r->strategy, NULL, &c);
    if (status < 0) return status;
    status = artel_coordinator_keep(c);
    for (int epoch = 0; epoch < epochs && status == ARTEL_OK; fflush(stdout)) {
        status = one_epoch(r, c, steps);
        if (status == ARTEL_OK) status = artel_coordinator_keep(c);
        if (status == ARTEL_OK) printf("epoch %d: accuracy %.3f\n", epoch++, (double)r->accuracy);
        if (status != ARTEL_ERROR_RUN) continue;
        printf("epoch %d again: %s\n", epoch, artel_context_error(r->ctx)->what); /* a server was lost */
        status = artel_coordinator_go_back(c);
    }
    if (status < 0) fprintf(stderr, "%s\n", artel_context_error(r->ctx)->what); /* which the calls below forget */
    if (artel_coordinator_look(c, &m) == ARTEL_OK) printf("%d closures, %d again\n", (int)m.done, (int)m.again);
    artel_status closed = artel_coordinator_close(c);
    return status < 0 ? status : closed;
}

int main(int argc, char **argv)
{
    artel_cluster *cluster = NULL;
    artel_cluster_options co = ARTEL_CLUSTER_OPTIONS_INIT;
    artel_strategy_options so = ARTEL_STRATEGY_OPTIONS_INIT;
    ring r = {.next = 0};
    artel_status status = artel_context_create(NULL, &r.ctx);
    co.parameter_servers = true;
    if (status == ARTEL_OK) status = artel_cluster_open(r.ctx, &co, &cluster);
    so.strategy = "parameter-server", so.batch_size = BATCH, so.cluster = cluster;
    if (status == ARTEL_OK) status = artel_strategy_create(r.ctx, &so, &r.strategy);
    if (status == ARTEL_OK) status = declare(&r);
    if (status == ARTEL_OK)
        status = artel_cluster_writes(cluster)
                     ? coordinate(&r, argc > 1 ? atoi(argv[1]) : 10, argc > 2 ? atoi(argv[2]) : 100)
                     : artel_coordinator_serve(r.strategy);
    const artel_error *why = artel_context_error(r.ctx);
    if (status < 0 && *why->what) fprintf(stderr, "%s: %s\n", why->where, why->what);
    artel_strategy_destroy(r.strategy);
    artel_model_destroy(r.model);
    if (cluster) status = artel_cluster_finish(cluster, status);
    artel_cluster_close(cluster);
    artel_context_destroy(r.ctx);
    return status < 0;
}
