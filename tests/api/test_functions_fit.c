/* SPDX-License-Identifier: Apache-2.0 */
/* timeout: 120 */
/* A loop written by hand gives the bits of fit under every strategy (ST1 to ST13): of pictures and numbers in fit's
 * order, of words, of 16-bit values. */
#include "api/help_forms.h"

#include "artel/trainer.h"

enum {
    BATCH = 32
};

static artel_array result(void *data)
{
    return (artel_array){.dtype = ARTEL_DTYPE_FLOAT32, .data = data};
}

typedef struct loop {
    artel_model *model;
    artel_optimizer *optimizer;
    artel_variable *const *variables;
    int count;
} loop;

static artel_status trace_step(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    loop *l = user;
    artel_value prediction, wanted[16], gradient[16];
    artel_graph_call(g, l->model, &in[0], 1, &prediction, 1);
    artel_value loss = artel_graph_reduce(g, ARTEL_REDUCTION_MEAN,
                                          artel_graph_loss(g, "sparse_categorical_crossentropy", in[1], prediction));
    for (int i = 0; i < l->count; i++) wanted[i] = artel_graph_variable(g, l->variables[i]);
    artel_graph_gradients(g, loss, wanted, l->count, gradient);
    artel_graph_apply(g, l->optimizer, gradient, l->count);
    out[0] = loss;
    return artel_graph_status(g);
}

static void end_loop(artel_context *ctx, artel_strategy *s, artel_model *model, char digest[65])
{
    api_ok(ctx, artel_strategy_store(s, model));
    api_ok(ctx, artel_model_digest(model, digest));
    artel_strategy_destroy(s);
    artel_model_destroy(model);
    artel_context_destroy(ctx);
}

static void order_of(bool images, uint64_t order[2][API_ROWS])
{
    artel_context *ctx = api_context();
    artel_model *model = images ? api_cnn(ctx) : api_mlp(ctx);
    artel_data *data = api_rows(ctx, images);
    artel_trainer_options o = ARTEL_TRAINER_OPTIONS_INIT;
    artel_trainer *t;
    o.seed = 11;
    api_ok(ctx, artel_trainer_create(model, data, &o, &t));
    for (int pass = 0; pass < 2; pass++) api_ok(ctx, artel_trainer_order(t, pass, order[pass], API_ROWS));
    artel_trainer_destroy(t);
    artel_data_destroy(data);
    artel_model_destroy(model);
    artel_context_destroy(ctx);
}

static void step_on(artel_context *ctx, artel_function *f, bool images, const uint64_t *rows, int64_t count,
                    float *loss)
{
    static float x[BATCH * API_IMAGE];
    static int32_t y[BATCH];
    for (int64_t i = 0; i < count; i++) api_row(rows[i], x + i * API_IMAGE, y + i);
    artel_array in[2] = {{ARTEL_DTYPE_FLOAT32, {2, {count, API_IMAGE}}, x}, {ARTEL_DTYPE_INT32, {1, {count}}, y}};
    if (images) in[0].shape = (artel_shape){4, {count, 8, 8, 1}};
    const artel_array out = {.dtype = ARTEL_DTYPE_FLOAT32, .data = loss};
    api_ok(ctx, artel_function_run(f, in, 2, &out, 1));
}

static void train_by_hand(bool images, const api_form *f, char digest[65])
{
    uint64_t order[2][API_ROWS];
    artel_context *ctx = api_context();
    artel_strategy *s = api_strategy(ctx, f, BATCH);
    loop l = {.model = images ? api_cnn(ctx) : api_mlp(ctx)};
    artel_function *step;
    float loss = -1;
    order_of(images, order);
    api_ok(ctx, artel_strategy_add_model(s, l.model));
    api_ok(ctx, artel_strategy_variables(s, l.model, false, &l.variables, &l.count));
    api_ok(ctx, artel_optimizer_create(s, images ? "sgd:learning_rate=0.05,momentum=0.9" : "adam", l.variables, l.count,
                                       &l.optimizer));
    const artel_argument arguments[2] = {
        {"x", ARTEL_DTYPE_FLOAT32, false, images ? (artel_shape){3, {8, 8, 1}} : (artel_shape){1, {API_IMAGE}}},
        {"y", ARTEL_DTYPE_INT32, false, {0}}};
    artel_function_options o = ARTEL_FUNCTION_OPTIONS_INIT;
    o.arguments = arguments;
    o.argument_count = 2;
    o.output_count = 1;
    o.training = true;
    api_ok(ctx, artel_function_create(s, &o, trace_step, &l, &step));
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t at = 0; at < API_ROWS; at += BATCH) {
            step_on(ctx, step, images, order[pass] + at, API_ROWS - at < BATCH ? API_ROWS - at : BATCH, &loss);
            assert_true(loss > 0);
        }
    }
    assert_int_equal(artel_optimizer_iterations(l.optimizer), 6);
    assert_int_equal(artel_strategy_runs(s), 6);
    assert_int_equal(artel_strategy_replicas(s), f->replicas ? f->replicas : 1);
    end_loop(ctx, s, l.model, digest);
}

static void KE3_bits_of_fit(void **state)
{
    (void)state;
    for (int images = 0; images < 2; images++) {
        char truth[65], digest[65];
        artel_context *ctx = api_context();
        api_train(ctx, &(api_run){.images = images, .epochs = 2}, truth);
        artel_context_destroy(ctx);
        for (int i = 0; i < API_FORMS; i++) {
            train_by_hand(images, &api_forms[i], digest);
            assert_string_equal(digest, truth);
        }
    }
}

/* -- other models: integers in, rows of a table, time, 16-bit values -- */

static const char words[] = "{\"class_name\": \"Sequential\", \"config\": {\"name\": \"words\", \"layers\": "
                            "[{\"class_name\": \"InputLayer\", \"config\": "
                            "{\"batch_shape\": [null, 9], \"dtype\": \"int32\", \"name\": \"in\"}}, {\"class_name\": "
                            "\"Embedding\", \"config\": {\"name\": \"e\", "
                            "\"input_dim\": 50, \"output_dim\": 12}}, {\"class_name\": \"LSTM\", \"config\": "
                            "{\"name\": \"l\", \"units\": 10, \"dropout\": 0.2, "
                            "\"dtype\": \"%s\"}}, {\"class_name\": \"Dense\", \"config\": {\"name\": \"d\", \"units\": "
                            "16, \"activation\": \"relu\", \"dtype\": "
                            "\"%s\"}}, {\"class_name\": \"Dense\", \"config\": {\"name\": \"o\", \"units\": 3, "
                            "\"activation\": \"softmax\"}}]}}";

enum {
    WORDS = 9,
    TEXTS = 48,
    SOME = 16 /* texts of a batch */
};

typedef struct way {
    const char *policy, *optimizer;
} way;

static artel_model *word_model(artel_context *ctx, const way *how)
{
    char folder[64], path[96];
    artel_model *model = NULL;
    api_folder_make(folder);
    snprintf(path, sizeof path, "%s/m.json", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, words, how->policy, how->policy);
    fclose(file);
    api_ok(ctx, artel_model_load(ctx, path, &model));
    api_ok(ctx, artel_model_compile(model, how->optimizer, "sparse_categorical_crossentropy", NULL));
    api_folder_remove(folder);
    return model;
}

static void fit_words(const way *how, const int32_t *x, const int32_t *y, char digest[65])
{
    artel_context *ctx = api_context();
    artel_model *model = word_model(ctx, how);
    artel_data *data;
    const artel_data_array arrays[2] = {
        {.name = "x",
         .role = ARTEL_DATA_ROLE_INPUT,
         .dtype = ARTEL_DTYPE_INT32,
         .shape = {2, {TEXTS, WORDS}},
         .values = x},
        {.name = "y", .role = ARTEL_DATA_ROLE_TARGET, .dtype = ARTEL_DTYPE_INT32, .shape = {1, {TEXTS}}, .values = y}};
    artel_fit_options o = ARTEL_FIT_OPTIONS_INIT;
    o.batch_size = SOME;
    o.seed = 11;
    o.shuffle = false;
    api_ok(ctx, artel_data_from_memory(ctx, arrays, 2, &data));
    api_ok(ctx, artel_model_fit(model, data, &o, NULL));
    api_ok(ctx, artel_model_digest(model, digest));
    artel_data_destroy(data);
    artel_model_destroy(model);
    artel_context_destroy(ctx);
}

/* An index out of range is named, and nothing has changed. */
static void step_on_wrong_word(artel_context *ctx, artel_function *step, int32_t *y)
{
    int32_t wrong[WORDS] = {3, 4, 50};
    float loss;
    const artel_array in[2] = {{ARTEL_DTYPE_INT32, {2, {1, WORDS}}, wrong}, {ARTEL_DTYPE_INT32, {1, {1}}, y}};
    const artel_array out = result(&loss);
    assert_int_equal(artel_function_run(step, in, 2, &out, 1), ARTEL_ERROR_INVALID);
    assert_non_null(strstr(artel_context_error(ctx)->what, "50"));
}

static void loop_words(const api_form *f, const way *how, int32_t *x, int32_t *y, char digest[65])
{
    artel_context *ctx = api_context();
    artel_strategy *s = api_strategy(ctx, f, SOME);
    loop l = {.model = word_model(ctx, how)};
    artel_function *step;
    float loss;
    api_ok(ctx, artel_strategy_add_model(s, l.model));
    api_ok(ctx, artel_strategy_variables(s, l.model, false, &l.variables, &l.count));
    api_ok(ctx, artel_optimizer_create(s, how->optimizer, l.variables, l.count, &l.optimizer));
    const artel_argument arguments[2] = {{"x", ARTEL_DTYPE_INT32, false, {1, {WORDS}}},
                                         {"y", ARTEL_DTYPE_INT32, false, {0}}};
    artel_function_options o = ARTEL_FUNCTION_OPTIONS_INIT;
    o.arguments = arguments;
    o.argument_count = 2;
    o.output_count = 1;
    o.training = true;
    api_ok(ctx, artel_function_create(s, &o, trace_step, &l, &step));
    for (int at = 0; at < TEXTS; at += SOME) {
        const artel_array in[2] = {{ARTEL_DTYPE_INT32, {2, {SOME, WORDS}}, x + at * WORDS},
                                   {ARTEL_DTYPE_INT32, {1, {SOME}}, y + at}};
        const artel_array out = result(&loss);
        api_ok(ctx, artel_function_run(step, in, 2, &out, 1));
    }
    step_on_wrong_word(ctx, step, y);
    assert_int_equal(artel_strategy_runs(s), 3);
    end_loop(ctx, s, l.model, digest);
}

static void KE3_bits_of_other_fits(void **state)
{
    (void)state;
    static const way ways[] = {{"float32", "rmsprop:learning_rate=0.01"},
                               {"mixed_bfloat16", "rmsprop:learning_rate=0.01"},
                               {"float32", "ScheduleFreeAdamW:learning_rate=0.01"}}; /* a slot begins at the weights */
    static int32_t x[TEXTS * WORDS], y[TEXTS];
    for (int i = 0; i < TEXTS * WORDS; i++) x[i] = (i * i + 3 * i) % 50;
    for (int i = 0; i < TEXTS; i++) y[i] = i % 3;
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
        char truth[65], digest[65];
        fit_words(&ways[w], x, y, truth);
        for (int i = 0; i < API_FORMS; i++) {
            loop_words(&api_forms[i], &ways[w], x, y, digest);
            assert_string_equal(digest, truth);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(KE3_bits_of_fit), cmocka_unit_test(KE3_bits_of_other_fits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
