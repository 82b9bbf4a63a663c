/* SPDX-License-Identifier: Apache-2.0 */
/* A small control task: a motor learns to hold a pendulum upright, by gradients through its simulation.
 *
 *     control [STRATEGY [REPLICAS]]
 *
 * Each row is a pendulum that begins somewhere else. A policy, a small network, sees angle and speed and chooses the
 * torque; the simulation is part of the function, written out by C's own loop, and the cost of the whole course is
 * differentiated. In the end other pendulums show what was learnt.
 */
#include <artel/artel.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    ROWS = 64,
    TIME = 40, /* steps of a twentieth of a second */
    ROUNDS = 60
};

typedef struct task {
    artel_strategy *strategy;
    artel_model *policy;
    artel_optimizer *optimizer;
} task;

static artel_value op(artel_graph *g, const char *name, artel_value a, artel_value b)
{
    return artel_graph_binary(g, name, a, b);
}

static artel_value times(artel_graph *g, artel_value a, double factor)
{
    return op(g, "multiply", a, artel_graph_number(g, factor));
}

static artel_value torque(artel_graph *g, task *t, artel_value angle, artel_value speed)
{
    artel_value seen[3] = {artel_graph_unary(g, "sin", angle), artel_graph_unary(g, "cos", angle), speed}, both, wanted;
    both = artel_graph_op(g, "stack", seen, 3, "{\"axis\": -1}");
    artel_graph_call(g, t->policy, &both, 1, &wanted, 1);
    wanted = artel_graph_op(g, "sum", &wanted, 1, "{\"axis\": -1}");
    return times(g, artel_graph_unary(g, "tanh", wanted), 12); /* more than gravity, but not much */
}

/* The course of a pendulum: out[0] its mean cost, out[1] the angle in the end. */
static artel_status course(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    task *t = user;
    artel_value angle = in[0], speed = in[1], cost = artel_graph_number(g, 0);
    for (int i = 0; i < TIME; i++) {
        artel_value gravity = times(g, artel_graph_unary(g, "sin", angle), 9.81),
                    push = op(g, "add", torque(g, t, angle, speed), gravity);
        artel_value gained = times(g, push, 0.05);
        speed = op(g, "add", times(g, speed, 0.995), gained);
        angle = op(g, "add", angle, times(g, speed, 0.05));
        artel_value lean = op(g, "subtract", artel_graph_number(g, 1), artel_graph_unary(g, "cos", angle));
        cost = op(g, "add", cost, op(g, "add", lean, times(g, artel_graph_unary(g, "square", speed), 0.01)));
    }
    out[0] = artel_graph_reduce(g, ARTEL_REDUCTION_MEAN, times(g, cost, 1.0 / TIME));
    out[1] = angle;
    if (artel_graph_training(g)) artel_graph_minimise(g, t->optimizer, out[0]);
    return artel_graph_status(g);
}

static artel_model *make_policy(artel_context *ctx)
{
    artel_builder *b;
    artel_model *model = NULL;
    if (artel_sequential_create(ctx, "policy", ARTEL_DTYPE_FLOAT32, &(artel_shape){1, {3}}, &b) < 0) return NULL;
    artel_layer_dense(b, &(artel_dense_options){.units = 16, .activation = "tanh"});
    artel_layer_dense(b, &(artel_dense_options){.units = 1});
    return artel_sequential_finish(b, &model) == ARTEL_OK ? model : NULL;
}

/* Pendulums of a round: up to 0.9 to each side, moving. */
static void place(int round, float *angle, float *speed)
{
    for (int i = 0; i < ROWS; i++) {
        angle[i] = (float)((round * 29 + i * 37) % 181 - 90) / 100;
        speed[i] = (float)((round * 17 + i * 59) % 101 - 50) / 50;
    }
}

static artel_status learn(task *t)
{
    static float angle[ROWS], speed[ROWS], last[ROWS];
    const artel_argument arguments[2] = {{.name = "angle"}, {.name = "speed"}};
    const artel_array in[2] = {{ARTEL_DTYPE_FLOAT32, {1, {ROWS}}, angle}, {ARTEL_DTYPE_FLOAT32, {1, {ROWS}}, speed}};
    artel_function *function[2] = {NULL, NULL}; /* to train, to look */
    artel_function_options f = ARTEL_FUNCTION_OPTIONS_INIT;
    float cost = 0;
    int fallen = 0;
    const artel_array out[2] = {{.data = &cost}, {.data = last}};
    artel_status status =
        artel_optimizer_create_for_model(t->strategy, "adam:learning_rate=0.02", t->policy, &t->optimizer);
    f.arguments = arguments;
    f.argument_count = f.output_count = 2;
    for (int i = 0; i < 2 && status == ARTEL_OK; i++) {
        f.training = i == 0;
        status = artel_function_create(t->strategy, &f, course, t, &function[i]);
    }
    for (int round = 0; round <= ROUNDS && status == ARTEL_OK; round++) {
        place(round, angle, speed);
        status = artel_function_run(function[round == 0 || round == ROUNDS], in, 2, out, 2);
        if (status == ARTEL_OK && round % 20 == 0) printf("round %d: cost %a (%.3f)\n", round, cost, cost);
    }
    for (int i = 0; i < ROWS; i++) fallen += !(fabsf(last[i]) < 0.3f);
    if (status == ARTEL_OK) printf("%d of %d have fallen\n", fallen, ROWS);
    return status;
}

int main(int argc, char **argv)
{
    artel_context *ctx = NULL;
    task t = {.strategy = NULL};
    artel_strategy_options options = ARTEL_STRATEGY_OPTIONS_INIT;
    options.strategy = argc > 1 ? argv[1] : NULL;
    options.replicas = argc > 2 ? atoi(argv[2]) : 0;
    options.batch_size = ROWS;
    artel_status status = artel_context_create(NULL, &ctx);
    if (status == ARTEL_OK) status = artel_strategy_create(ctx, &options, &t.strategy);
    if (status == ARTEL_OK) t.policy = make_policy(ctx);
    if (status == ARTEL_OK) status = t.policy ? learn(&t) : artel_context_error(ctx)->status;
    if (status < 0) fprintf(stderr, "%s: %s\n", artel_context_error(ctx)->where, artel_context_error(ctx)->what);
    artel_strategy_destroy(t.strategy);
    artel_model_destroy(t.policy);
    artel_context_destroy(ctx);
    return status < 0;
}
