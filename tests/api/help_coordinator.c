/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations of a coordinator's job. */
#include "help_coordinator.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#include "api/help_ball.h"

coordinator_job job;

static artel_status trace_count(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    artel_value minus = artel_graph_number(g, -1);
    if (user)
        out[0] = in[0];
    else
        out[0] = artel_graph_variable(g, job.counter);
    artel_graph_apply(g, job.counts, &minus, 1);
    return artel_graph_status(g);
}

static artel_status trace_judge(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    artel_value made;
    (void)user;
    artel_graph_call(g, job.model, in, 1, &made, 1);
    out[0] = made;
    out[1] = artel_graph_reduce(g, ARTEL_REDUCTION_MEAN,
                                artel_graph_loss(g, "sparse_categorical_crossentropy", in[1], made));
    return artel_graph_status(g);
}

static artel_status trace_write(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)user;
    artel_graph_assign(g, job.weights, in[0]);
    out[0] = artel_graph_variable(g, job.weights);
    return artel_graph_status(g);
}

/* The counter before and behind the batch that a worker has, and a table that each worker has for itself at the place
 * of the batch's number. */
static artel_status trace_caching(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    const float table[COORDINATOR_BATCHES] = {[1] = 5, [2] = 7};
    (void)user;
    const artel_shape shape = {1, {COORDINATOR_BATCHES}};
    out[0] = artel_graph_variable(g, job.counter);
    artel_value place = artel_graph_binary(g, "mod", in[0], artel_graph_number(g, 1000));
    place = artel_graph_op(g, "cast", &place, 1, "{\"dtype\": \"int32\"}");
    place = artel_graph_op(g, "one_hot", &place, 1, "{\"num_classes\": 30}"); /* COORDINATOR_BATCHES */
    place = artel_graph_binary(g, "multiply", place, artel_graph_constant(g, ARTEL_DTYPE_FLOAT32, &shape, table));
    out[1] = artel_graph_op(g, "sum", &place, 1, "{\"axis\": -1}");
    out[2] = artel_graph_variable(g, job.counter);
    return artel_graph_status(g);
}

artel_status coordinator_trace_step(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    coordinator_training *t = user;
    artel_variable *const *variable;
    artel_value made, wanted[8], gradient[8];
    int count;
    artel_graph_call(g, t->model, in, 1, &made, 1);
    out[0] = artel_graph_reduce(g, ARTEL_REDUCTION_MEAN,
                                artel_graph_loss(g, "sparse_categorical_crossentropy", in[1], made));
    if (artel_strategy_variables(t->strategy, t->model, false, &variable, &count) < 0) return artel_graph_status(g);
    for (int i = 0; i < count; i++) wanted[i] = artel_graph_variable(g, variable[i]);
    artel_graph_gradients(g, out[0], wanted, count, gradient);
    artel_graph_apply(g, t->optimizer, gradient, count);
    return artel_graph_status(g);
}

static artel_status open_few(void *user, int worker, void **state)
{
    int *next = calloc(2, sizeof *next);
    (void)user;
    if (!next) return ARTEL_ERROR_NO_MEMORY;
    next[1] = worker;
    *state = next;
    return ARTEL_OK;
}

/* Batches are worker * 1000 + their number. */
static artel_status next_few(void *user, void *state, artel_array *arrays, int count)
{
    static float value;
    int *next = state;
    (void)user;
    (void)count;
    const struct timespec pause = {.tv_nsec = 50000000};
    while (job.awaits && access(job.awaits, F_OK) != 0) nanosleep(&pause, NULL);
    if (next[0] == COORDINATOR_BATCHES) return ARTEL_AGAIN;
    value = (float)(next[1] * 1000 + next[0]++);
    arrays[0] = (artel_array){ARTEL_DTYPE_FLOAT32, {1, {1}}, &value};
    return ARTEL_OK;
}

static void close_few(void *user, void *state)
{
    (void)user;
    free(state);
}

static artel_function *make(const char *name, const artel_argument *arguments, int count, int outputs,
                            artel_trace_fn *trace, void *user)
{
    artel_function *f = NULL;
    artel_function_options o = ARTEL_FUNCTION_OPTIONS_INIT;
    o.name = name;
    o.arguments = arguments;
    o.argument_count = count;
    o.output_count = outputs;
    o.training = strcmp(name, "step") == 0;
    check(artel_function_create(job.strategy, &o, trace, user, &f) == ARTEL_OK, "%s", name);
    return f;
}

const artel_argument coordinator_labelled[2] = {{"x", ARTEL_DTYPE_FLOAT32, false, {1, {3}}},
                                                {"y", ARTEL_DTYPE_INT32, false, {0, {0}}}};

artel_model *coordinator_model(void)
{
    artel_builder *b;
    artel_model *made = NULL;
    check(artel_sequential_create(job.ctx, "net", ARTEL_DTYPE_FLOAT32, &(artel_shape){1, {3}}, &b) == ARTEL_OK,
          "model");
    artel_layer_dense(b, &(artel_dense_options){.units = 70, .activation = "relu"});
    artel_layer_dropout(b, &(artel_dropout_options){.rate = 0.2});
    artel_layer_dense(b, &(artel_dense_options){.units = COORDINATOR_CLASSES, .activation = "softmax"});
    check(artel_sequential_finish(b, &made) == ARTEL_OK, "model");
    return made;
}

artel_optimizer *coordinator_train_with(artel_strategy *s, artel_model *of, const char *rule)
{
    artel_variable *const *variables;
    artel_optimizer *made = NULL;
    int count;
    check(artel_strategy_add_model(s, of) == ARTEL_OK, "model");
    check(artel_strategy_variables(s, of, false, &variables, &count) == ARTEL_OK, "variables");
    check(artel_optimizer_create(s, rule, variables, count, &made) == ARTEL_OK, "%s", rule);
    return made;
}

static coordinator_training here;

void coordinator_declare(const char *rule)
{
    static const artel_argument one = {"batch", ARTEL_DTYPE_FLOAT32, false, {0, {0}}},
                                shared = {"w", ARTEL_DTYPE_FLOAT32, true, {2, {5, 40}}};
    artel_variable_options v = ARTEL_VARIABLE_OPTIONS_INIT;
    artel_worker_data_options d = ARTEL_WORKER_DATA_OPTIONS_INIT;
    v.name = "counter";
    check(artel_variable_create(job.strategy, &v, &job.counter) == ARTEL_OK, "counter");
    v.name = "weights";
    v.shape = (artel_shape){2, {5, 40}};
    check(artel_variable_create(job.strategy, &v, &job.weights) == ARTEL_OK, "weights");
    check(artel_optimizer_create(job.strategy, "sgd:learning_rate=1", &job.counter, 1, &job.counts) == ARTEL_OK, "sgd");
    check(artel_context_add_optimizer(job.ctx, &ball) == ARTEL_OK, "HeavyBall");
    job.model = coordinator_model();
    job.trains = coordinator_train_with(job.strategy, job.model, rule);
    d.name = "few";
    d.arrays = 1;
    d.open = open_few;
    d.next = next_few;
    d.close = close_few;
    check(artel_worker_data_create(job.strategy, &d, &job.few) == ARTEL_OK, "data");
    job.count_up = make("count", NULL, 0, 1, trace_count, NULL);
    job.count_batch = make("count batch", &one, 1, 1, trace_count, &here);
    job.caching = make("caching", &one, 1, 3, trace_caching, NULL);
    job.judge = make("judge", coordinator_labelled, 2, 2, trace_judge, NULL);
    job.put = make("write", &shared, 1, 1, trace_write, NULL);
    here = (coordinator_training){job.strategy, job.model, job.trains, NULL};
    job.step = make("step", coordinator_labelled, 2, 1, coordinator_trace_step, &here);
}
