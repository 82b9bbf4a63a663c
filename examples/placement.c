/* SPDX-License-Identifier: Apache-2.0 */
/* One graph on two tasks: the first layer lives on one of them, the second one on the other, and only activations and
 * their gradients go between them.
 *
 *   placement                                        alone: this process is both tasks
 *   artel launch -n 2 --program placement            as two tasks
 *   artel launch -n 2 --program placement -- 1 0     the layers change places
 * prints the same losses, to the bit. */
#include <stdio.h>
#include <stdlib.h>

#include "artel/artel.h"

enum {
    ROWS = 64,
    STEPS = 200
};

typedef struct program {
    artel_strategy *strategy;
    artel_variable *variable[4];
    artel_optimizer *optimizer;
    char place[2][64];
} program;

/* Between -1 and 1, the same in every task. */
static float number(uint32_t i)
{
    i = (i ^ 61) * 0x9e3779b1u;
    i = (i ^ i >> 15) * 0x85ebca6bu;
    return (float)(i >> 9) / 4194304.0f - 1.0f;
}

static artel_status declare(program *p)
{
    static const struct {
        const char *name;
        artel_shape shape;
    } layers[4] = {{"first/kernel", {2, {2, 32}}},
                   {"first/bias", {1, {32}}},
                   {"second/kernel", {2, {32, 1}}},
                   {"second/bias", {1, {1}}}};
    artel_status status = ARTEL_OK;
    for (int v = 0; v < 4 && status == ARTEL_OK; v++) {
        artel_variable_options o = ARTEL_VARIABLE_OPTIONS_INIT;
        o.name = layers[v].name;
        o.shape = layers[v].shape;
        o.initializer = v % 2 ? "zeros" : "glorot_uniform";
        status = artel_variable_create(p->strategy, &o, &p->variable[v]);
        if (status == ARTEL_OK) status = artel_variable_set_device(p->variable[v], p->place[v / 2]);
    }
    if (status < 0) return status;
    return artel_optimizer_create(p->strategy, "adam:learning_rate=0.05", p->variable, 4, &p->optimizer);
}

static artel_value dense(artel_graph *g, program *p, int layer, artel_value x)
{
    artel_value kernel = artel_graph_variable(g, p->variable[2 * layer]),
                bias = artel_graph_variable(g, p->variable[2 * layer + 1]);
    return artel_graph_binary(g, "add", artel_graph_binary(g, "matmul", x, kernel), bias);
}

/* Do both coordinates of a point have one sign? Nothing says where gradients and steps are computed: beside what they
 * belong to. */
static artel_status step(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    program *p = user;
    artel_graph_device(g, p->place[0]);
    artel_value hidden = artel_graph_unary(g, "tanh", dense(g, p, 0, in[0]));
    artel_graph_device_end(g);
    artel_graph_device(g, p->place[1]);
    artel_value score = dense(g, p, 1, hidden);
    artel_value each = artel_graph_loss(g, "binary_crossentropy:from_logits=true", in[1], score);
    out[0] = artel_graph_reduce(g, ARTEL_REDUCTION_MEAN, each);
    artel_graph_device_end(g);
    artel_graph_minimise(g, p->optimizer, out[0]);
    return artel_graph_status(g);
}

static artel_status train(artel_session *session, artel_function *f)
{
    float x[ROWS][2], y[ROWS], loss = 0;
    const artel_array feeds[] = {{ARTEL_DTYPE_FLOAT32, {2, {ROWS, 2}}, x}, {ARTEL_DTYPE_FLOAT32, {2, {ROWS, 1}}, y}};
    const artel_array outputs[] = {{.data = &loss}};
    artel_session_call call = ARTEL_SESSION_CALL_INIT;
    call.feeds = feeds;
    call.feed_count = 2;
    call.outputs = outputs;
    call.output_count = 1;
    artel_status status = ARTEL_OK;
    for (uint32_t s = 0; s < STEPS && status == ARTEL_OK; s++) {
        for (uint32_t r = 0; r < ROWS; r++) {
            for (uint32_t k = 0; k < 2; k++) x[r][k] = number(s * 2 * ROWS + 2 * r + k);
            y[r] = x[r][0] * x[r][1] > 0;
        }
        status = artel_session_run(session, f, &call);
        if (s % 50 == 49) printf("step %u: loss %a = %.4f\n", (unsigned)s + 1, (double)loss, (double)loss);
    }
    return status < 0 ? status : artel_session_close(session);
}

static artel_status work(artel_context *context, artel_communicator *communicator, program *p)
{
    static const char *const both[] = {"/job:worker/task:0", "/job:worker/task:1"};
    const artel_argument arguments[] = {{"x", ARTEL_DTYPE_FLOAT32, false, {1, {2}}},
                                        {"y", ARTEL_DTYPE_FLOAT32, false, {1, {1}}}};
    artel_strategy_options o = ARTEL_STRATEGY_OPTIONS_INIT;
    artel_function_options f = ARTEL_FUNCTION_OPTIONS_INIT;
    artel_session_options s = ARTEL_SESSION_OPTIONS_INIT;
    artel_function *function;
    artel_session *session = NULL;
    o.strategy = "one-device";
    o.batch_size = ROWS;
    f.arguments = arguments;
    f.argument_count = 2;
    f.output_count = 1;
    s.communicator = communicator;
    s.tasks = both;
    s.task_count = 2;
    artel_status status = artel_strategy_create(context, &o, &p->strategy);
    if (status == ARTEL_OK) status = declare(p);
    if (status == ARTEL_OK) status = artel_function_create(p->strategy, &f, step, p, &function);
    if (status == ARTEL_OK) status = artel_session_create(p->strategy, &s, &session);
    bool first = artel_communicator_position(communicator) == 0;
    if (status == ARTEL_OK) status = first ? train(session, function) : artel_session_serve(session);
    if (status == ARTEL_OK) status = artel_communicator_finish(communicator);
    artel_session_destroy(session);
    return status;
}

int main(int argc, char **argv)
{
    program p = {.strategy = NULL};
    artel_context *context = NULL;
    artel_cluster *cluster = NULL;
    artel_communicator *communicator = NULL;
    for (int i = 0; i < 2; i++)
        snprintf(p.place[i], sizeof p.place[i], "/job:worker/task:%d", argc > 2 ? atoi(argv[1 + i]) : i);
    artel_status status = artel_context_create(NULL, &context);
    if (status == ARTEL_OK) status = artel_cluster_open(context, NULL, &cluster);
    if (status == ARTEL_OK) status = artel_communicator_open(context, cluster, &communicator);
    if (status == ARTEL_OK) status = work(context, communicator, &p);
    if (status < 0)
        fprintf(stderr, "%s: %s\n", artel_context_error(context)->where, artel_context_error(context)->what);
    artel_strategy_destroy(p.strategy);
    artel_communicator_destroy(communicator);
    artel_cluster_close(cluster);
    artel_context_destroy(context);
    return status < 0;
}
