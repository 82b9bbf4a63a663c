/* SPDX-License-Identifier: Apache-2.0 */
/* Closures whose variables are cut over one to five servers have the bits of one process that has them whole: 20 steps
 * of every optimizer that the library has, of a matrix in panels, one in rows, vectors, a scalar, and a table of which
 * rows alone travel. And what of a variable is read as slices alone is fetched alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <artel/build.h>
#include "function/help_closures.h"
#include "kernel/optimize.h"
#include "support/optimizers.h"

enum {
    STEPS = 20,
    BATCH = 8,
    FEATURES = 320, /* of the matrix in panels: five blocks of 4,096 elements */
    UNITS = 64,
    WORDS = 61,
    TOKENS = 3,
    CLASSES = 4,
    MOST = FEATURES * UNITS,
    TABLE = 4, /* of the variables: behind those of the model */
    SCALE,
    VARIABLES
};

/* These, and with what is not so unless it is asked for. */
static const char *const more[] = {"adafactor",
                                   "muon",
                                   "adamw",
                                   "sgd:momentum=0.9",
                                   "sgd:momentum=0.9,nesterov=true",
                                   "sgd:weight_decay=0.01",
                                   "sgd:learning_rate=cosine_decay(initial=0.1,steps=15)",
                                   "rmsprop:centered=true,momentum=0.5",
                                   "adam:amsgrad=true",
                                   "adam:use_ema=true,ema_overwrite_frequency=7",
                                   "adam:clipvalue=0.01",
                                   "adam:clipnorm=0.1",
                                   "adam:global_clipnorm=0.1",
                                   "muon:clipnorm=0.1",
                                   "nadam:weight_decay=0.01",
                                   "ftrl:l1_regularization_strength=0.01,l2_regularization_strength=0.02",
                                   "adam:gradient_accumulation_steps=3",
                                   "adam:gradient_accumulation_steps=3,clipnorm=0.1",
                                   "adafactor:gradient_accumulation_steps=2,clipnorm=0.1,use_ema=true",
                                   "nadam:gradient_accumulation_steps=4,use_ema=true,weight_decay=0.01"};

/* Whether it does, of every variable: then none is cut. */
static bool reads_whole(const char *optimizer)
{
    bool norms = strstr(optimizer, "accumulation") && strstr(optimizer, "clipnorm");
    return strncmp(optimizer, "lamb", 4) == 0 || strncmp(optimizer, "adafactor", 9) == 0 || norms;
}

typedef struct training {
    closures far;
    artel_model *model, *words;
    artel_variable *all[VARIABLES]; /* of the model, then table and scale */
    artel_optimizer *optimizer;
    artel_function *step;
} training;

static void expect(const training *t, artel_status status, const char *what)
{
    if (status != ARTEL_OK) fail_msg("%s: %s", what, artel_context_error(t->far.ctx)->what);
}

/* The loss of classes whose scores are those of a network and, by the scale, the mean of some rows of the table.
 */
static artel_status trace_step(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    const training *t = user;
    artel_value wanted[VARIABLES], gradient[VARIABLES], made, words;
    for (int i = 0; i < VARIABLES; i++) wanted[i] = artel_graph_variable(g, t->all[i]);
    artel_graph_call(g, t->model, in, 1, &made, 1);
    artel_graph_call(g, t->words, in + 1, 1, &words, 1);
    words = artel_graph_op(g, "mean", &words, 1, "{\"axis\": 1}");
    words = artel_graph_binary(g, "multiply", words, wanted[SCALE]);
    made = artel_graph_binary(g, "add", made, words);
    made = artel_graph_op(g, "softmax", &made, 1, "{\"axis\": -1}");
    out[0] = artel_graph_reduce(g, ARTEL_REDUCTION_MEAN,
                                artel_graph_loss(g, "sparse_categorical_crossentropy", in[2], made));
    artel_graph_gradients(g, out[0], wanted, VARIABLES, gradient);
    artel_graph_apply(g, t->optimizer, gradient, VARIABLES);
    return artel_graph_status(g);
}

static artel_variable *declare(training *t, const char *name, const char *initializer, artel_shape shape)
{
    artel_variable_options o = ARTEL_VARIABLE_OPTIONS_INIT;
    artel_variable *made = NULL;
    o.name = name;
    o.shape = shape;
    o.initializer = initializer;
    expect(t, artel_variable_create(t->far.strategy, &o, &made), name);
    return made;
}

static artel_function *make(training *t, const char *name, const artel_argument *arguments, int count,
                            artel_trace_fn *trace)
{
    artel_function_options f = ARTEL_FUNCTION_OPTIONS_INIT;
    artel_function *made = NULL;
    f.name = name;
    f.arguments = arguments;
    f.argument_count = count;
    f.output_count = 1;
    f.training = true;
    expect(t, artel_function_create(t->far.strategy, &f, trace, t, &made), name);
    return made;
}

static void open_training(training *t, int servers, const char *optimizer)
{
    static const artel_argument arguments[3] = {{"x", ARTEL_DTYPE_FLOAT32, false, {1, {FEATURES}}},
                                                {"tokens", ARTEL_DTYPE_INT32, false, {1, {TOKENS}}},
                                                {"y", ARTEL_DTYPE_INT32, false, {0, {0}}}};
    artel_builder *b;
    artel_variable *const *variables;
    int count = 0;
    char cut[16] = "none";
    if (servers > 1) snprintf(cut, sizeof cut, "fixed:%d", servers);
    closures_open(&t->far, servers, cut);
    expect(t, artel_sequential_create(t->far.ctx, "net", ARTEL_DTYPE_FLOAT32, &(artel_shape){1, {FEATURES}}, &b),
           "model");
    artel_layer_dense(b, &(artel_dense_options){.units = UNITS, .activation = "relu"});
    artel_layer_dense(b, &(artel_dense_options){.units = CLASSES});
    expect(t, artel_sequential_finish(b, &t->model), "model");
    expect(t, artel_strategy_add_model(t->far.strategy, t->model), "model");
    expect(t, artel_strategy_variables(t->far.strategy, t->model, false, &variables, &count), "variables");
    assert_int_equal(count, TABLE);
    memcpy(t->all, variables, (size_t)count * sizeof *variables);
    t->words = closures_add_table(&t->far, WORDS, CLASSES, TOKENS, &t->all[TABLE]);
    t->all[SCALE] = declare(t, "scale", "ones", (artel_shape){0, {0}});
    expect(t, artel_optimizer_create(t->far.strategy, optimizer, t->all, VARIABLES, &t->optimizer), optimizer);
    t->step = make(t, "step", arguments, 3, trace_step);
    closures_begin(&t->far);
}

static void close_training(training *t)
{
    closures_close(&t->far);
    artel_model_destroy(t->model);
    artel_model_destroy(t->words);
    artel_context_destroy(t->far.ctx);
}

/* Any numbers; some tokens in every batch, most in few. */
static float do_step(training *t, int step)
{
    static float x[BATCH][FEATURES];
    static int32_t tokens[BATCH][TOKENS], y[BATCH];
    float loss = -1;
    for (int k = 0; k < BATCH; k++) {
        for (int d = 0; d < FEATURES; d++) x[k][d] = (float)((step * 7 + k * 3 + d * 5 + d * d % 13) % 23) / 23 - 0.5f;
        for (int d = 0; d < TOKENS; d++) tokens[k][d] = d == 0 ? k % 3 : (step * 17 + k * 29 + d * d * 31) % WORDS;
        y[k] = (step + k) % CLASSES;
    }
    const artel_array in[3] = {{ARTEL_DTYPE_FLOAT32, {2, {BATCH, FEATURES}}, x},
                               {ARTEL_DTYPE_INT32, {2, {BATCH, TOKENS}}, tokens},
                               {ARTEL_DTYPE_INT32, {1, {BATCH}}, y}};
    const artel_array out = {.dtype = ARTEL_DTYPE_FLOAT32, .shape = {0, {0}}, .data = &loss};
    closures_run(&t->far, t->step, in, &out, BATCH);
    return loss;
}

/* Pieces beside the first of each variable. */
static int cuts_of(const training *t)
{
    const artel_strategy *s = t->far.strategy;
    return s->pieces - s->variables.count;
}

static void fetch(training *t, int variable, float out[MOST])
{
    assert_in_range(t->far.strategy->variables.item[t->all[variable]->index].count, 1, MOST);
    closures_fetch(&t->far, t->all[variable], out);
}

static void compare_with(const char *optimizer)
{
    static training whole, cut;
    static float begun[MOST], wanted[VARIABLES][MOST], found[MOST], loss[STEPS];
    open_training(&whole, 0, optimizer);
    fetch(&whole, 0, begun);
    for (int i = 0; i < STEPS; i++) loss[i] = do_step(&whole, i);
    for (int v = 0; v < VARIABLES; v++) fetch(&whole, v, wanted[v]);
    assert_memory_not_equal(begun, wanted[0], sizeof begun);
    for (int parts = 1; parts <= CLOSURES_PARTS; parts++) {
        open_training(&cut, parts, optimizer);
        int least = strncmp(optimizer, "muon", 4) == 0 ? parts : 3 * (parts - 1); /* Muon reads matrices whole */
        if (reads_whole(optimizer) || parts == 1)
            assert_int_equal(cuts_of(&cut), 0);
        else
            assert_true(cuts_of(&cut) >= least);
        for (int i = 0; i < STEPS; i++) {
            float made = do_step(&cut, i);
            if (memcmp(&made, &loss[i], sizeof made) != 0)
                fail_msg("%s over %d servers: step %d: loss %.9g, not %.9g", optimizer, parts, i, (double)made,
                         (double)loss[i]);
        }
        for (int v = 0; v < VARIABLES; v++) {
            size_t bytes = (size_t)cut.far.strategy->variables.item[cut.all[v]->index].count * sizeof(float);
            fetch(&cut, v, found);
            if (memcmp(found, wanted[v], bytes) != 0)
                fail_msg("%s over %d servers: %s has other bits", optimizer, parts, artel_variable_name(cut.all[v]));
        }
        close_training(&cut);
    }
    close_training(&whole);
}

static void every_optimizer_has_the_bits_of_one_process(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof support_rules / sizeof *support_rules; i++)
        compare_with(support_class_of(support_rules[i]));
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) compare_with(more[i]);
    assert_int_equal(SUPPORT_MATRIX_OPTIMIZERS, 2);
    assert_int_equal(sizeof support_rules / sizeof *support_rules, ARTEL__RULE_COUNT);
}

/* -- slices -- */

enum {
    TALL = 100, /* rows of four elements, of which each of five servers has twenty */
    ROW = 4 * sizeof(float)
};

static artel_value slice(artel_graph *g, artel_value of, int first, int rows)
{
    char text[96];
    snprintf(text, sizeof text, "{\"start_indices\": [%d, 0], \"shape\": [%d, 4]}", first, rows);
    return artel_graph_op(g, "slice", &of, 1, text);
}

static artel_value sum_of(artel_graph *g, artel_value all)
{
    return artel_graph_op(g, "sum", &all, 1, NULL);
}

/* Rows 15 to 24 and 31: of servers 0 and 1. */
static artel_status trace_some(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    const training *t = user;
    artel_value all = artel_graph_variable(g, t->all[0]);
    (void)in;
    out[0] = artel_graph_binary(g, "add", sum_of(g, slice(g, all, 15, 10)), sum_of(g, slice(g, all, 31, 1)));
    return artel_graph_status(g);
}

/* The same rows, and their mean of all. */
static artel_status trace_all(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    const training *t = user;
    artel_value all = artel_graph_variable(g, t->all[0]);
    (void)in;
    out[0] = artel_graph_binary(g, "add", sum_of(g, slice(g, all, 15, 10)), sum_of(g, all));
    return artel_graph_status(g);
}

/* Steps rows 40 to 43 by a gradient of ones. */
static artel_status trace_train(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    const training *t = user;
    artel_value all = artel_graph_variable(g, t->all[0]), gradient;
    (void)in;
    out[0] = sum_of(g, slice(g, all, 40, 4));
    artel_graph_gradients(g, out[0], &all, 1, &gradient);
    artel_graph_apply(g, t->optimizer, &gradient, 1);
    return artel_graph_status(g);
}

/* Backwards along the rows, then half of the columns. */
static artel_status trace_turned(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    const training *t = user;
    artel_value all = artel_graph_variable(g, t->all[0]);
    (void)in;
    artel_value turned = artel_graph_op(g, "flipud", &all, 1, NULL);
    out[0] = sum_of(g, turned);
    return artel_graph_status(g);
}

static float call(training *t, artel_function *f)
{
    float made = -1;
    const artel_array out = {.dtype = ARTEL_DTYPE_FLOAT32, .data = &made};
    closures_run(&t->far, f, NULL, &out, 1);
    return made;
}

/* Nothing else is fetched, and nobody else is asked; what is read otherwise, too, is fetched whole. Numbers are those
 * of one process. */
static void slices_fetch_what_they_read(void **state)
{
    enum {
        SOME,
        ALL,
        TRAIN,
        TURNED,
        FUNCTIONS
    };
    static const struct {
        artel_trace_fn *trace;
        size_t read;
    } row[FUNCTIONS] = {
        {trace_some, 17 * ROW}, {trace_all, TALL * ROW}, {trace_train, 4 * ROW}, {trace_turned, TALL * ROW}};
    static training t[2];
    artel_function *f[2][FUNCTIONS];
    (void)state;
    for (int k = 0; k < 2; k++) {
        closures_open(&t[k].far, k ? 5 : 0, "fixed:5");
        t[k].all[0] = declare(&t[k], "tall", "glorot_uniform", (artel_shape){2, {TALL, 4}});
        expect(&t[k], artel_optimizer_create(t[k].far.strategy, "adam", t[k].all, 1, &t[k].optimizer), "adam");
        for (int i = 0; i < FUNCTIONS; i++)
            f[k][i] = make(&t[k], (const char *[]){"some", "all", "train", "turned"}[i], NULL, 0, row[i].trace);
        closures_begin(&t[k].far);
    }
    for (int times = 0; times < 3; times++) {
        for (int i = 0; i < FUNCTIONS; i++) {
            size_t before = t[1].far.read;
            float alone = call(&t[0], f[0][i]), far = call(&t[1], f[1][i]);
            assert_memory_equal(&alone, &far, sizeof far);
            assert_int_equal(t[1].far.read - before, row[i].read);
        }
    }
    int asked = 0;
    for (int part = 0; part < 5; part++) {
        artel__span span;
        int at = 0;
        asked += artel__closure_read(f[1][SOME], 0, part, &at, &span) != NULL;
    }
    assert_int_equal(asked, 2);
    for (int k = 0; k < 2; k++) {
        closures_close(&t[k].far);
        artel_context_destroy(t[k].far.ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_optimizer_has_the_bits_of_one_process),
        cmocka_unit_test(slices_fetch_what_they_read),
    };
    return cmocka_run_group_tests_name("parts", tests, NULL, NULL);
}
