/* SPDX-License-Identifier: Apache-2.0 */
/* A table of which closures move rows, and a model that reads and steps it. */
#include "help_promises.h"

#include <string.h>

#include "help_chief.h"

enum {
    TOKENS = 4,
    STEPS = 12
};

static const artel_argument listed[2] = {{"tokens", ARTEL_DTYPE_INT32, false, {1, {TOKENS}}},
                                         {"y", ARTEL_DTYPE_INT32, false, {0, {0}}}};
static coordinator_training far, alone;
static artel_function *judge, *far_other[2], *alone_other[2];

static artel_model *make_model(void)
{
    artel_builder *b;
    artel_model *made = NULL;
    check(artel_sequential_create(job.ctx, "words", ARTEL_DTYPE_INT32, &(artel_shape){1, {TOKENS}}, &b) == ARTEL_OK,
          "model");
    artel_layer_embedding(b, &(artel_embedding_options){.input_dim = COORDINATOR_WORDS, .output_dim = 8});
    artel_layer_flatten(b, NULL);
    artel_layer_dense(b, &(artel_dense_options){.units = COORDINATOR_CLASSES, .activation = "softmax"});
    check(artel_sequential_finish(b, &made) == ARTEL_OK, "model");
    return made;
}

static artel_function *make_function(artel_strategy *s, const char *name, artel_trace_fn *trace, void *user)
{
    artel_function_options f = ARTEL_FUNCTION_OPTIONS_INIT;
    artel_function *made = NULL;
    f.name = name;
    f.arguments = listed;
    f.argument_count = 2;
    f.output_count = 1;
    f.training = true;
    check(artel_function_create(s, &f, trace, user, &made) == ARTEL_OK, "%s", name);
    return made;
}

static artel_status trace_judge(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    const coordinator_training *t = user;
    artel_value made;
    artel_graph_call(g, t->model, in, 1, &made, 1);
    out[0] = artel_graph_reduce(g, ARTEL_REDUCTION_MEAN,
                                artel_graph_loss(g, "sparse_categorical_crossentropy", in[1], made));
    return artel_graph_status(g);
}

/* A step on all of the table, or on all but the table: its gradients are a hundredth of the variables. */
static artel_status trace_others(const coordinator_training *t, bool table, artel_graph *g, artel_value *out)
{
    artel_variable *const *variable;
    artel_value gradient[8];
    int count;
    if (artel_strategy_variables(t->strategy, t->model, false, &variable, &count) < 0) return ARTEL_ERROR_INVALID;
    for (int i = 0; i < count; i++) {
        gradient[i] = ARTEL_NO_VALUE;
        if ((i == 0) == table)
            gradient[i] =
                artel_graph_binary(g, "multiply", artel_graph_variable(g, variable[i]), artel_graph_number(g, 0.01));
    }
    out[0] = artel_graph_number(g, 0);
    artel_graph_apply(g, t->optimizer, gradient, count);
    return artel_graph_status(g);
}

static artel_status trace_table(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)in;
    return trace_others(user, true, g, out);
}

static artel_status trace_rest(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)in;
    return trace_others(user, false, g, out);
}

static void make_others(coordinator_training *t, artel_function *made[2])
{
    made[0] = make_function(t->strategy, "step of the table", trace_table, t);
    made[1] = make_function(t->strategy, "step of the rest", trace_rest, t);
}

void promise_declares_rows(const char *rule)
{
    far = (coordinator_training){.strategy = job.strategy, .model = make_model()};
    far.optimizer = coordinator_train_with(job.strategy, far.model, rule);
    far.step = make_function(job.strategy, "step of words", coordinator_trace_step, &far);
    judge = make_function(job.strategy, "judge of words", trace_judge, &far);
    make_others(&far, far_other);
}

void promise_forgets_rows(void)
{
    artel_model_destroy(far.model);
}

static float fetch(artel_function *f, const artel_array *in)
{
    artel_remote *r;
    chief_schedule(f, in, 2, NULL, &r);
    return chief_fetch_number(r);
}

static void make_batch(int step, int x[COORDINATOR_BATCH][TOKENS], int y[COORDINATOR_BATCH])
{
    for (int k = 0; k < COORDINATOR_BATCH; k++) {
        for (int d = 0; d < TOKENS; d++) x[k][d] = (step % 3 * 7919 + k % 5 * 104729 + d * d * 31) % COORDINATOR_WORDS;
        y[k] = (step + k) % COORDINATOR_CLASSES;
    }
}

/* Between steps: steps of other functions of the same optimizer; what is read goes back; losses of servers. */
static void interfere(int step, const artel_array *in, bool kills)
{
    static float table[COORDINATOR_WORDS * 8];
    artel_variable *const *variable;
    int count;
    float none;
    const artel_array out = {.dtype = ARTEL_DTYPE_FLOAT32, .data = &none};
    if (step == 4 || step == 6 || step == 7) {
        check(artel_function_run(alone_other[step == 4], in, 2, &out, 1) == ARTEL_OK, "run");
        fetch(far_other[step == 4], in);
    }
    if (step == 8) {
        check(artel_strategy_variables(far.strategy, far.model, false, &variable, &count) == ARTEL_OK &&
                  artel_variable_read(variable[0], table, COORDINATOR_WORDS * 8) == ARTEL_OK &&
                  artel_variable_assign(variable[0], table, COORDINATOR_WORDS * 8) == ARTEL_OK,
              "the table");
    }
    if (kills && (step == 5 || step == 10)) chief_await_servers();
    if (kills && (step == 5 || step == 10)) chief_end("ps", step == 10);
}

void promise_moves_rows(const char *rule, bool kills)
{
    int x[COORDINATOR_BATCH][TOKENS], y[COORDINATOR_BATCH];
    artel_strategy_options o = ARTEL_STRATEGY_OPTIONS_INIT;
    o.strategy = "one-device";
    o.batch_size = COORDINATOR_BATCH;
    o.seed = 3;
    o.device = chief_device();
    alone = (coordinator_training){.model = make_model()};
    check(artel_strategy_create(job.ctx, &o, &alone.strategy) == ARTEL_OK, "one-device");
    alone.optimizer = coordinator_train_with(alone.strategy, alone.model, rule);
    alone.step = make_function(alone.strategy, "step of words", coordinator_trace_step, &alone);
    make_others(&alone, alone_other);
    for (int i = 0; i < STEPS; i++) {
        const artel_array in[2] = {{ARTEL_DTYPE_INT32, {2, {COORDINATOR_BATCH, TOKENS}}, x},
                                   {ARTEL_DTYPE_INT32, {1, {COORDINATOR_BATCH}}, y}};
        float loss = 0;
        const artel_array out = {.dtype = ARTEL_DTYPE_FLOAT32, .data = &loss};
        make_batch(i, x, y);
        interfere(i, in, kills);
        check(artel_function_run(alone.step, in, 2, &out, 1) == ARTEL_OK, "run");
        float before = fetch(judge, in), trained = fetch(far.step, in);
        check(chief_agree(before, loss) && chief_agree(trained, loss), "step %d: losses %.9g and %.9g, not %.9g", i,
              (double)before, (double)trained, (double)loss);
    }
    x[0][0] = COORDINATOR_WORDS;
    artel_remote *r;
    const artel_array in[2] = {{ARTEL_DTYPE_INT32, {2, {COORDINATOR_BATCH, TOKENS}}, x},
                               {ARTEL_DTYPE_INT32, {1, {COORDINATOR_BATCH}}, y}};
    chief_schedule(far.step, in, 2, NULL, &r);
    check(artel_coordinator_join(job.coordinator) == ARTEL_ERROR_INVALID, "a token that is none");
    artel_remote_release(r);
    check(artel_strategy_store(job.strategy, far.model) == ARTEL_OK &&
              artel_strategy_store(alone.strategy, alone.model) == ARTEL_OK,
          "store");
    chief_check_model(far.model, alone.model, rule);
    artel_strategy_destroy(alone.strategy);
    artel_model_destroy(alone.model);
}
