/* SPDX-License-Identifier: Apache-2.0 */
/* Training over parameter servers with a coordinator: points of a plane, inside a ring or not. The chief schedules
 * steps, which workers take with data of their own, and prints the loss of each epoch; then it has the workers judge
 * points that nobody has trained with.
 *
 *   artel launch -n 2 --ps 1 --restarts 3 --program build/examples/coordinator -- [EPOCHS [STEPS]]
 *
 * Workers may be killed at any time. A server that was killed has lost its variables: the chief goes back to what it
 * kept, and repeats the epoch. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <artel/artel.h>

enum {
    BATCH = 32,
    TESTS = 40 /* batches */
};

typedef struct ring {
    artel_context *ctx;
    artel_strategy *strategy;
    artel_model *model;
    artel_optimizer *optimizer;
    artel_function *step, *judge;
    artel_worker_data *points;
} ring;

/* -- points -- */

typedef struct source {
    unsigned long long next; /* a sequence of its own for each worker */
    float x[BATCH][2];
    int label[BATCH];
} source;

static double draw(unsigned long long *state)
{
    *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (double)(*state >> 11) / 9007199254740992.0;
}

static void make_points(unsigned long long *state, float x[][2], int *label)
{
    for (int i = 0; i < BATCH; i++) {
        x[i][0] = (float)(4 * draw(state) - 2);
        x[i][1] = (float)(4 * draw(state) - 2);
        double distance = sqrt(x[i][0] * x[i][0] + x[i][1] * x[i][1]);
        label[i] = distance > 0.7 && distance < 1.5;
    }
}

static artel_status open_points(void *user, int worker, void **state)
{
    source *made = calloc(1, sizeof *made);
    (void)user;
    if (!made) return ARTEL_ERROR_NO_MEMORY;
    made->next = 77 + 1000ULL * (unsigned)worker;
    *state = made;
    return ARTEL_OK;
}

static artel_status next_points(void *user, void *state, artel_array *arrays, int count)
{
    source *s = state;
    (void)user;
    (void)count;
    make_points(&s->next, s->x, s->label);
    arrays[0] = (artel_array){ARTEL_DTYPE_FLOAT32, {2, {BATCH, 2}}, s->x};
    arrays[1] = (artel_array){ARTEL_DTYPE_INT32, {1, {BATCH}}, s->label};
    return ARTEL_OK;
}

static void close_points(void *user, void *state)
{
    (void)user;
    free(state);
}

/* -- functions -- */

static artel_value loss_of(artel_graph *g, ring *r, const artel_value *in, artel_value *made)
{
    artel_graph_call(g, r->model, in, 1, made, 1);
    return artel_graph_reduce(g, ARTEL_REDUCTION_MEAN,
                              artel_graph_loss(g, "sparse_categorical_crossentropy", in[1], *made));
}

static artel_status trace_step(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    ring *r = user;
    artel_value made;
    out[0] = loss_of(g, r, in, &made);
    artel_graph_minimise(g, r->optimizer, out[0]);
    return artel_graph_status(g);
}

static artel_status trace_judge(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    artel_value made;
    loss_of(g, user, in, &made);
    out[0] = made;
    return artel_graph_status(g);
}

static artel_status make_functions(ring *r)
{
    const artel_argument arguments[2] = {{"points", ARTEL_DTYPE_FLOAT32, false, {1, {2}}},
                                         {"label", ARTEL_DTYPE_INT32, false, {0, {0}}}};
    artel_function_options o = ARTEL_FUNCTION_OPTIONS_INIT;
    o.arguments = arguments;
    o.argument_count = 2;
    o.output_count = 1;
    o.name = "judge";
    artel_status status = artel_function_create(r->strategy, &o, trace_judge, r, &r->judge);
    o.name = "step";
    o.training = true;
    return status < 0 ? status : artel_function_create(r->strategy, &o, trace_step, r, &r->step);
}

/* What every task does: declares the same things. */
static artel_status declare(ring *r)
{
    artel_builder *b;
    artel_worker_data_options points = ARTEL_WORKER_DATA_OPTIONS_INIT;
    points.name = "points";
    points.arrays = 2;
    points.open = open_points;
    points.next = next_points;
    points.close = close_points;
    artel_status status = artel_sequential_create(r->ctx, "ring", ARTEL_DTYPE_FLOAT32, &(artel_shape){1, {2}}, &b);
    if (status < 0) return status;
    artel_layer_dense(b, &(artel_dense_options){.units = 32, .activation = "relu"});
    artel_layer_dense(b, &(artel_dense_options){.units = 32, .activation = "relu"});
    artel_layer_dense(b, &(artel_dense_options){.units = 2, .activation = "softmax"});
    status = artel_sequential_finish(b, &r->model);
    if (status == ARTEL_OK)
        status = artel_optimizer_create_for_model(r->strategy, "adam:learning_rate=0.01", r->model, &r->optimizer);
    if (status == ARTEL_OK) status = artel_worker_data_create(r->strategy, &points, &r->points);
    return status < 0 ? status : make_functions(r);
}

/* -- the chief -- */

static artel_status run_epoch(ring *r, artel_coordinator *c, int steps, double *loss)
{
    artel_remote *remote[1024] = {NULL};
    artel_status status = ARTEL_OK;
    *loss = 0;
    for (int i = 0; i < steps && status == ARTEL_OK; i++)
        status = artel_coordinator_schedule(c, r->step, NULL, 0, r->points, &remote[i]);
    if (status == ARTEL_OK) status = artel_coordinator_join(c);
    for (int i = 0; i < steps; i++) {
        float one = 0;
        const artel_array out = {.dtype = ARTEL_DTYPE_FLOAT32, .data = &one};
        if (status == ARTEL_OK) status = artel_remote_fetch(remote[i], &out, 1, NULL);
        *loss += one / steps;
        artel_remote_release(remote[i]);
    }
    return status;
}

static artel_status judge(ring *r, artel_coordinator *c, double *accuracy)
{
    static float made[BATCH][2], x[TESTS][BATCH][2];
    static int label[TESTS][BATCH];
    artel_remote *remote[TESTS] = {NULL};
    unsigned long long state = 5;
    artel_status status = ARTEL_OK;
    int right = 0;
    for (int i = 0; i < TESTS && status == ARTEL_OK; i++) {
        make_points(&state, x[i], label[i]);
        const artel_array in[2] = {{ARTEL_DTYPE_FLOAT32, {2, {BATCH, 2}}, x[i]},
                                   {ARTEL_DTYPE_INT32, {1, {BATCH}}, label[i]}};
        status = artel_coordinator_schedule(c, r->judge, in, 2, NULL, &remote[i]);
    }
    for (int i = 0; i < TESTS; i++) {
        const artel_array out = {.dtype = ARTEL_DTYPE_FLOAT32, .data = made};
        if (status == ARTEL_OK) status = artel_remote_fetch(remote[i], &out, 1, NULL);
        for (int k = 0; k < BATCH && status == ARTEL_OK; k++) right += (made[k][1] > made[k][0]) == label[i][k];
        artel_remote_release(remote[i]);
    }
    *accuracy = (double)right / (TESTS * BATCH);
    return status;
}

static artel_status coordinate(ring *r, int epochs, int steps)
{
    artel_coordinator *c;
    artel_coordinator_metrics m = {.struct_size = sizeof m};
    double loss, accuracy = 0;
    artel_status status = artel_coordinator_open(r->strategy, NULL, &c);
    if (status < 0) return status;
    status = artel_coordinator_keep(c);
    for (int epoch = 0; epoch < epochs && status == ARTEL_OK; epoch++) {
        status = run_epoch(r, c, steps, &loss);
        if (status == ARTEL_ERROR_RUN) {
            printf("epoch %d again: %s\n", epoch, artel_context_error(r->ctx)->what);
            status = artel_coordinator_go_back(c);
            epoch--;
            continue;
        }
        printf("epoch %d: loss %.4f\n", epoch, loss);
        fflush(stdout);
        if (status == ARTEL_OK) status = artel_coordinator_keep(c);
    }
    if (status == ARTEL_OK) status = judge(r, c, &accuracy);
    if (status == ARTEL_OK) status = artel_strategy_store(r->strategy, r->model);
    if (status == ARTEL_OK) status = artel_coordinator_look(c, &m);
    if (status == ARTEL_OK)
        printf("%lld closures, %lld of them again; half took %.2f ms\naccuracy %.3f\n", (long long)m.done,
               (long long)m.again, m.run.half, accuracy);
    artel_status closed = artel_coordinator_close(c);
    return status < 0 ? status : closed;
}

int main(int argc, char **argv)
{
    artel_cluster *cluster = NULL;
    artel_cluster_options co = ARTEL_CLUSTER_OPTIONS_INIT;
    artel_strategy_options so = ARTEL_STRATEGY_OPTIONS_INIT;
    ring r = {.ctx = NULL};
    int epochs = argc > 1 ? atoi(argv[1]) : 10, steps = argc > 2 ? atoi(argv[2]) : 100;
    artel_status status = artel_context_create(NULL, &r.ctx);
    co.parameter_servers = true;
    if (status == ARTEL_OK) status = artel_cluster_open(r.ctx, &co, &cluster);
    so.strategy = "parameter-server";
    so.batch_size = BATCH;
    so.cluster = cluster;
    if (status == ARTEL_OK) status = artel_strategy_create(r.ctx, &so, &r.strategy);
    if (status == ARTEL_OK) status = declare(&r);
    if (status == ARTEL_OK)
        status = artel_cluster_writes(cluster) ? coordinate(&r, epochs, steps < 1024 ? steps : 1024)
                                               : artel_coordinator_serve(r.strategy);
    if (status < 0) fprintf(stderr, "%s: %s\n", artel_context_error(r.ctx)->where, artel_context_error(r.ctx)->what);
    artel_strategy_destroy(r.strategy);
    artel_model_destroy(r.model);
    if (cluster) status = artel_cluster_finish(cluster, status);
    artel_cluster_close(cluster);
    artel_context_destroy(r.ctx);
    return status < 0;
}
