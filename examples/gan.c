/* SPDX-License-Identifier: Apache-2.0 */
/* A loop that fit has not: two models that train against each other, with an optimizer each.
 *
 *     gan [ROUNDS [REPLICAS]]
 *     artel launch -n 3 --restarts 2 --program build/examples/gan 500
 *
 * The generator learns to put points on a ring of radius 2. A round is a unit of two runs: a step of the discriminator
 * on true and made points, then one of the generator. On any number of replicas or tasks, with tasks lost on the way,
 * the last line is the same.
 */
#include <artel/artel.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    BATCH = 64,
    NOISE = 4
};

typedef struct gan {
    artel_strategy *strategy;
    artel_model *generator, *discriminator;
    artel_optimizer *steps_generator, *steps_discriminator;
    artel_function *judge, *forge; /* a step of the discriminator, of the generator */
    float ring[BATCH][2];
    float loss[2];
} gan;

static artel_status dense_net(artel_context *ctx, const char *name, int64_t inputs, int64_t outputs, artel_model **out)
{
    artel_builder *b;
    artel_status status = artel_sequential_create(ctx, name, ARTEL_DTYPE_FLOAT32, &(artel_shape){1, {inputs}}, &b);
    if (status < 0) return status;
    artel_layer_dense(b, &(artel_dense_options){.units = 24, .activation = "tanh"});
    artel_layer_dense(b, &(artel_dense_options){.units = 24, .activation = "tanh"});
    artel_layer_dense(b, &(artel_dense_options){.units = outputs});
    return artel_sequential_finish(b, out);
}

/* The mean over the batch of -log sigmoid(sign * logit). */
static artel_value cross_entropy(artel_graph *g, artel_value logit, double sign)
{
    artel_value signed_logit = artel_graph_binary(g, "multiply", logit, artel_graph_number(g, sign));
    artel_value loss = artel_graph_unary(g, "negative", artel_graph_unary(g, "log_sigmoid", signed_logit));
    return artel_graph_reduce(g, ARTEL_REDUCTION_MEAN, artel_graph_op(g, "sum", &loss, 1, "{\"axis\": -1}"));
}

static artel_value made_points(artel_graph *g, gan *n, artel_value like)
{
    artel_value points, noise = artel_graph_normal(g, like, &(artel_shape){1, {NOISE}}, 1);
    artel_graph_call(g, n->generator, &noise, 1, &points, 1);
    return points;
}

static artel_status trace_judge(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    gan *n = user;
    artel_value made = made_points(g, n, in[0]), real, fake;
    artel_graph_call(g, n->discriminator, &in[0], 1, &real, 1);
    artel_graph_call(g, n->discriminator, &made, 1, &fake, 1);
    artel_value of_fake = cross_entropy(g, fake, -1), of_real = cross_entropy(g, real, 1);
    out[0] = artel_graph_binary(g, "add", of_real, of_fake);
    artel_graph_minimise(g, n->steps_discriminator, out[0]);
    return artel_graph_status(g);
}

static artel_status trace_forge(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    gan *n = user;
    artel_value made = made_points(g, n, in[0]), fake;
    artel_graph_call(g, n->discriminator, &made, 1, &fake, 1);
    out[0] = cross_entropy(g, fake, 1);
    artel_graph_minimise(g, n->steps_generator, out[0]);
    return artel_graph_status(g);
}

/* A round: points of the ring that are a function of its number, so that it can be played again. */
static artel_status play(void *user, int64_t round)
{
    gan *n = user;
    for (int i = 0; i < BATCH; i++) {
        double angle = (double)((round * BATCH + i) % 997) * 6.283185307179586 / 997;
        n->ring[i][0] = (float)(2 * cos(angle));
        n->ring[i][1] = (float)(2 * sin(angle));
    }
    const artel_array ring = {ARTEL_DTYPE_FLOAT32, {2, {BATCH, 2}}, n->ring};
    const artel_array first = {.dtype = ARTEL_DTYPE_FLOAT32, .data = &n->loss[0]},
                      second = {.dtype = ARTEL_DTYPE_FLOAT32, .data = &n->loss[1]};
    artel_status status = artel_function_run(n->judge, &ring, 1, &first, 1);
    return status < 0 ? status : artel_function_run(n->forge, &ring, 1, &second, 1);
}

static artel_status train(gan *n, int64_t rounds)
{
    const artel_argument points = {"points", ARTEL_DTYPE_FLOAT32, false, {1, {2}}};
    artel_function_options o = ARTEL_FUNCTION_OPTIONS_INIT;
    o.arguments = &points;
    o.argument_count = o.output_count = 1;
    o.training = true;
    const char *adam = "adam:learning_rate=0.003,beta_1=0.5";
    artel_status status = artel_optimizer_create_for_model(n->strategy, adam, n->generator, &n->steps_generator);
    if (status == ARTEL_OK)
        status = artel_optimizer_create_for_model(n->strategy, adam, n->discriminator, &n->steps_discriminator);
    o.name = "judge";
    if (status == ARTEL_OK) status = artel_function_create(n->strategy, &o, trace_judge, n, &n->judge);
    o.name = "forge";
    if (status == ARTEL_OK) status = artel_function_create(n->strategy, &o, trace_forge, n, &n->forge);
    if (status == ARTEL_OK) status = artel_strategy_loop(n->strategy, rounds, play, n);
    return status < 0 ? status : artel_strategy_store(n->strategy, n->generator);
}

int main(int argc, char **argv)
{
    artel_context *ctx = NULL;
    artel_cluster *cluster = NULL;
    gan n = {.strategy = NULL};
    char digest[65];
    artel_strategy_options o = ARTEL_STRATEGY_OPTIONS_INIT;
    artel_status status = artel_context_create(NULL, &ctx);
    if (status == ARTEL_OK) status = artel_cluster_open(ctx, NULL, &cluster);
    o.batch_size = BATCH;
    o.replicas = argc > 2 ? atoi(argv[2]) : 0;
    o.strategy = o.replicas > 1 ? "mirrored" : NULL;
    o.cluster = cluster;
    if (status == ARTEL_OK) status = artel_strategy_create(ctx, &o, &n.strategy);
    if (status == ARTEL_OK) status = dense_net(ctx, "generator", NOISE, 2, &n.generator);
    if (status == ARTEL_OK) status = dense_net(ctx, "discriminator", 2, 1, &n.discriminator);
    if (status == ARTEL_OK) status = train(&n, argc > 1 ? atoll(argv[1]) : 500);
    if (status == ARTEL_OK) status = artel_model_digest(n.generator, digest);
    if (status == ARTEL_OK && artel_strategy_writes(n.strategy))
        printf("discriminator %.4f, generator %.4f\n%s\n", n.loss[0], n.loss[1], digest);
    if (status < 0) fprintf(stderr, "%s: %s\n", artel_context_error(ctx)->where, artel_context_error(ctx)->what);
    artel_strategy_destroy(n.strategy);
    artel_model_destroy(n.generator);
    artel_model_destroy(n.discriminator);
    if (cluster) status = artel_cluster_finish(cluster, status);
    artel_cluster_close(cluster);
    artel_context_destroy(ctx);
    return status < 0;
}
