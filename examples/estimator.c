/* SPDX-License-Identifier: Apache-2.0 */
/* A model function, trained and evaluated as tf.estimator.train_and_evaluate() did it.
 *
 *     estimator DIR [MAX_STEPS [STRATEGY [REPLICAS]]]
 *     artel launch -n 2 --evaluator --program build/examples/estimator -- DIR 400 multi-worker
 *     artel launch -n 3 --chief --ps 1 --evaluator --program build/examples/estimator -- DIR 400 parameter-server
 *
 * Points of the plane lie in a ring or outside of it. Alone the program trains, and evaluates each checkpoint of DIR;
 * as a task of a cluster it does what its role is. DIR/export/best and DIR/export/final hold models for Keras. Started
 * again it goes on where it was.
 */
#include <artel/artel.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROWS = 960,
    HELD_OUT = 320
};

typedef struct ring {
    artel_model *model;
    artel_optimizer *optimizer;
    float x[ROWS + HELD_OUT][2];
    int32_t label[ROWS + HELD_OUT];
} ring;

static void make_points(ring *r)
{
    for (int i = 0; i < ROWS + HELD_OUT; i++) {
        float *x = r->x[i];
        x[0] = (float)(i * 619 % 1280) / 320 - 2; /* spread evenly over the square */
        x[1] = (float)(i * 37 % 101) / 25 - 2;
        r->label[i] = x[0] * x[0] + x[1] * x[1] > 0.5f && x[0] * x[0] + x[1] * x[1] < 2.25f;
    }
}

static artel_status points(artel_context *ctx, ring *r, int first, int count, artel_data **out)
{
    const artel_data_array arrays[2] = {
        {"points", ARTEL_DATA_ROLE_INPUT, ARTEL_DTYPE_FLOAT32, {2, {count, 2}}, r->x[first]},
        {"label", ARTEL_DATA_ROLE_TARGET, ARTEL_DTYPE_INT32, {1, {count}}, &r->label[first]}};
    return artel_data_from_memory(ctx, arrays, 2, out);
}

static artel_status training_input(void *user, artel_context *ctx, artel_estimator_input *in)
{
    in->passes = 0; /* for ever: max_steps ends it */
    return points(ctx, user, 0, ROWS, &in->data);
}

static artel_status evaluation_input(void *user, artel_context *ctx, artel_estimator_input *in)
{
    return points(ctx, user, ROWS, HELD_OUT, &in->data);
}

static artel_status build(void *user, artel_strategy *strategy, artel_estimator_mode mode)
{
    ring *r = user;
    if (mode == ARTEL_ESTIMATOR_EVALUATE) return artel_strategy_add_model(strategy, r->model);
    return artel_optimizer_create_for_model(strategy, "adam:learning_rate=0.02", r->model, &r->optimizer);
}

static artel_status model_function(void *user, artel_graph *g, const artel_estimator_batch *batch,
                                   artel_estimator_spec *spec)
{
    ring *r = user;
    artel_value logits, likeliest;
    artel_graph_call(g, r->model, batch->features, 1, &logits, 1);
    spec->loss = artel_graph_loss(g, "sparse_categorical_crossentropy:from_logits=true", batch->labels[0], logits);
    likeliest = artel_graph_op(g, "argmax", &logits, 1, "{\"axis\": -1}");
    spec->metrics[spec->metric_count++] =
        (artel_estimator_metric){"accuracy", artel_graph_binary(g, "equal", likeliest, batch->labels[0])};
    spec->optimizer = r->optimizer;
    return artel_graph_status(g);
}

static artel_status make_model(artel_context *ctx, artel_model **out)
{
    artel_builder *b;
    artel_status status = artel_sequential_create(ctx, "ring", ARTEL_DTYPE_FLOAT32, &(artel_shape){1, {2}}, &b);
    if (status < 0) return status;
    for (int i = 0; i < 2; i++) artel_layer_dense(b, &(artel_dense_options){.units = 16, .activation = "relu"});
    artel_layer_dense(b, &(artel_dense_options){.units = 2});
    return artel_sequential_finish(b, out);
}

static void show(void *user, const artel_event *event)
{
    (void)user;
    if (event->kind == ARTEL_EVENT_EVALUATE)
        printf("step %lld: loss %.9g, accuracy %.4f\n", (long long)event->step, event->loss, event->metrics[1].value);
}

/* What is trained, for how long, and what is evaluated and exported beside it. */
static artel_status run(artel_estimator *estimator, ring *r, int64_t max_steps)
{
    artel_exporter exporters[2] = {ARTEL_EXPORTER_INIT, ARTEL_EXPORTER_INIT};
    artel_train_spec train = ARTEL_TRAIN_SPEC_INIT;
    artel_eval_spec eval = ARTEL_EVAL_SPEC_INIT;
    train.input = training_input;
    train.user = eval.user = r;
    train.max_steps = max_steps;
    exporters[0].kind = ARTEL_EXPORTER_BEST;
    exporters[0].metric = "accuracy";
    exporters[0].greatest = true;
    exporters[1].kind = ARTEL_EXPORTER_FINAL;
    eval.input = evaluation_input;
    eval.steps = 0;
    eval.exporters = exporters;
    eval.exporter_count = 2;
    eval.start_delay_secs = eval.throttle_secs = 0;
    return artel_train_and_evaluate(estimator, &train, &eval, NULL);
}

int main(int argc, char **argv)
{
    static ring r;
    artel_context *ctx = NULL;
    artel_cluster *cluster = NULL;
    artel_estimator *estimator = NULL;
    artel_strategy_options strategy = ARTEL_STRATEGY_OPTIONS_INIT;
    artel_estimator_options options = ARTEL_ESTIMATOR_OPTIONS_INIT;
    artel_cluster_options place = ARTEL_CLUSTER_OPTIONS_INIT;
    artel_status status = artel_context_create(NULL, &ctx);
    place.parameter_servers = argc > 3 && strcmp(argv[3], "parameter-server") == 0;
    if (status == ARTEL_OK) status = artel_cluster_open(ctx, &place, &cluster);
    strategy.strategy = argc > 3 ? argv[3] : NULL;
    strategy.replicas = argc > 4 ? atoi(argv[4]) : 0;
    strategy.cluster = cluster;
    options.model_dir = argc > 1 ? argv[1] : "estimator";
    options.build = build;
    options.model = model_function;
    options.user = &r;
    options.strategy = &strategy;
    options.save_checkpoints_steps = 50;
    options.on_event = show;
    make_points(&r);
    if (status == ARTEL_OK) status = make_model(ctx, &r.model);
    if (status == ARTEL_OK) status = artel_estimator_create(ctx, &options, &estimator);
    if (status == ARTEL_OK) status = run(estimator, &r, argc > 2 ? atoll(argv[2]) : 200);
    if (status < 0) fprintf(stderr, "%s: %s\n", artel_context_error(ctx)->where, artel_context_error(ctx)->what);
    artel_estimator_destroy(estimator);
    artel_model_destroy(r.model);
    if (cluster) status = artel_cluster_finish(cluster, status);
    artel_cluster_close(cluster);
    artel_context_destroy(ctx);
    return status < 0;
}
