/* SPDX-License-Identifier: Apache-2.0 */
/* timeout: 120 */
/* Text as data and readers, as an argument of functions and predictors: a loop by hand on text ends in the weights of
 * fit under every strategy; layers of text as operations; functions of text in files. Runs whose memory is measured. */
#include "api/help_text.h"

#include "artel/pipeline.h"
#include "artel/predictor.h"
#include "artel/saved.h"
#include "base/context.h"

enum {
    ROWS = 14,
    BATCH = 4,
    CLASSES = 3
};

static const artel_string texts[ROWS] = {WORD("A good film"),
                                         WORD("bad, bad film!"),
                                         WORD("good"),
                                         WORD(""),
                                         WORD("the plot is good"),
                                         WORD("bad plot"),
                                         WORD("film"),
                                         WORD("GOOD good bad"),
                                         WORD("never seen"),
                                         WORD("plot film plot film"),
                                         WORD("b\xC3\xA4"
                                              "d film"),
                                         WORD("good plot"),
                                         WORD("is it bad"),
                                         WORD("a film, a plot")};

static artel_model *text_model(artel_context *ctx)
{
    artel_builder *b;
    artel_model *model;
    api_ok(ctx, artel_sequential_create(ctx, NULL, ARTEL_DTYPE_STRING, &(artel_shape){1, {1}}, &b));
    (void)artel_layer_add(b, "TextVectorization",
                          "{\"vocabulary\": [\"\", \"[UNK]\", \"film\", \"good\", \"bad\", \"plot\", \"a\"], "
                          "\"output_sequence_length\": 5}");
    (void)artel_layer_add(b, "Embedding", "{\"input_dim\": 7, \"output_dim\": 4}");
    (void)artel_layer_add(b, "GlobalAveragePooling1D", NULL);
    (void)artel_layer_add(b, "Dense", "{\"units\": 3, \"activation\": \"softmax\"}");
    api_ok(ctx, artel_sequential_finish(b, &model));
    api_ok(ctx, artel_model_compile(model, "adam", "sparse_categorical_crossentropy", NULL));
    api_ok(ctx, artel_model_initialise(model, 5));
    return model;
}

static const int32_t *labels(void)
{
    static int32_t y[ROWS];
    for (int i = 0; i < ROWS; i++) y[i] = i % CLASSES;
    return y;
}

static artel_data *text_data(artel_context *ctx)
{
    artel_data *data;
    const artel_data_array arrays[2] = {{NULL, ARTEL_DATA_ROLE_INPUT, ARTEL_DTYPE_STRING, {2, {ROWS, 1}}, texts},
                                        {NULL, ARTEL_DATA_ROLE_TARGET, ARTEL_DTYPE_INT32, {1, {ROWS}}, labels()}};
    api_ok(ctx, artel_data_from_memory(ctx, arrays, 2, &data));
    return data;
}

typedef struct loop {
    artel_model *model;
    artel_optimizer *optimizer;
} loop;

static artel_status trace_step(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    loop *l = user;
    artel_graph_call(g, l->model, in, 1, &out[1], 1);
    out[0] = artel_graph_reduce(g, ARTEL_REDUCTION_MEAN,
                                artel_graph_loss(g, "sparse_categorical_crossentropy", in[1], out[1]));
    artel_graph_minimise(g, l->optimizer, out[0]);
    return artel_graph_status(g);
}

static void train_by_hand(artel_context *ctx, const char *strategy, int replicas, char digest[65])
{
    loop l = {.model = text_model(ctx)};
    artel_strategy *s;
    artel_function *step;
    artel_strategy_options o = ARTEL_STRATEGY_OPTIONS_INIT;
    artel_function_options f = ARTEL_FUNCTION_OPTIONS_INIT;
    const artel_argument arguments[2] = {{"text", ARTEL_DTYPE_STRING, false, {1, {1}}},
                                         {"y", ARTEL_DTYPE_INT32, false, {0, {0}}}};
    o.strategy = strategy;
    o.replicas = replicas;
    o.batch_size = BATCH;
    f.arguments = arguments;
    f.argument_count = f.output_count = 2;
    f.training = true;
    api_ok(ctx, artel_strategy_create(ctx, &o, &s));
    api_ok(ctx, artel_optimizer_create_for_model(s, "adam", l.model, &l.optimizer));
    api_ok(ctx, artel_function_create(s, &f, trace_step, &l, &step));
    float loss, scores[BATCH * CLASSES];
    for (int i = 0, first = 0; i < 2 * ((ROWS + BATCH - 1) / BATCH); i++, first = (first + BATCH) % (ROWS + 2)) {
        int rows = ROWS - first < BATCH ? ROWS - first : BATCH;
        const artel_array in[2] = {{ARTEL_DTYPE_STRING, {2, {rows, 1}}, (void *)(uintptr_t)&texts[first]},
                                   {ARTEL_DTYPE_INT32, {1, {rows}}, (void *)(uintptr_t)&labels()[first]}};
        const artel_array out[2] = {{.dtype = ARTEL_DTYPE_FLOAT32, .data = &loss},
                                    {.dtype = ARTEL_DTYPE_FLOAT32, .data = scores}};
        api_ok(ctx, artel_function_run(step, in, 2, out, 2));
    }
    api_ok(ctx, artel_strategy_store(s, l.model));
    api_ok(ctx, artel_model_digest(l.model, digest));
    artel_strategy_destroy(s);
    artel_model_destroy(l.model);
}

static void test_loop_of_text(void **state)
{
    (void)state;
    artel_context *ctx = api_context();
    artel_model *model = text_model(ctx);
    artel_data *data = text_data(ctx);
    artel_fit_options o = ARTEL_FIT_OPTIONS_INIT;
    char truth[65], digest[65];
    o.epochs = 2;
    o.batch_size = BATCH;
    o.shuffle = false;
    api_ok(ctx, artel_model_fit(model, data, &o, NULL));
    api_ok(ctx, artel_model_digest(model, truth));
    train_by_hand(ctx, "one-device", 1, digest);
    assert_string_equal(digest, truth);
    train_by_hand(ctx, "mirrored", 3, digest);
    assert_string_equal(digest, truth);
    artel_data_destroy(data);
    artel_model_destroy(model);
    artel_context_destroy(ctx);
}

static void test_predictor_of_text(void **state)
{
    (void)state;
    artel_context *ctx = api_context();
    artel_model *model = text_model(ctx);
    artel_data *data = text_data(ctx);
    artel_predictions *all;
    artel_predictor *p;
    artel_predictor_options o = ARTEL_PREDICTOR_OPTIONS_INIT;
    artel_dtype dtype;
    artel_shape row;
    const float *wanted;
    float got[ROWS * CLASSES];
    double loss;
    api_ok(ctx, artel_model_predict(model, data, NULL, &all));
    api_ok(ctx, artel_predictions_get(all, 0, NULL, NULL, &wanted));
    o.most_rows = ROWS;
    o.loss = true;
    api_ok(ctx, artel_predictor_create(model, &o, &p));
    api_ok(ctx, artel_predictor_input(p, 0, &dtype, &row));
    assert_true(dtype == ARTEL_DTYPE_STRING && row.rank == 1 && row.dim[0] == 1);
    uint64_t calls = 0;
    for (int round = 0; round < 3; round++) {
        if (round == 1) calls = artel__heap_calls(ctx);
        api_ok(ctx, artel_predictor_run(p, (const void *[]){texts}, ROWS, (float *[]){got}));
        assert_memory_equal(got, wanted, sizeof got);
        api_ok(ctx, artel_predictor_loss(p, (const void *[]){texts}, (const void *[]){labels()}, ROWS, &loss, NULL));
        assert_true(loss > 0.5 && loss < 2);
    }
    assert_int_equal(artel__heap_calls(ctx), calls);
    const artel_string broken = WORD("\xC3(");
    assert_int_equal(artel_predictor_run(p, (const void *[]){&broken}, 1, (float *[]){got}), ARTEL_ERROR_INVALID);
    assert_non_null(strstr(artel_context_error(ctx)->what, "UTF-8"));
    api_ok(ctx, artel_predictor_run(p, (const void *[]){texts}, ROWS, (float *[]){got}));
    assert_memory_equal(got, wanted, sizeof got);
    artel_predictor_destroy(p);
    artel_predictions_destroy(all);
    artel_data_destroy(data);
    artel_model_destroy(model);
    artel_context_destroy(ctx);
}

/* What goes wrong with text in functions; memory that is too small. */
static artel_status trace_wrong(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)user;
    out[0] = artel_graph_unary(g, "exp", in[0]);
    return artel_graph_status(g);
}

static artel_status trace_numbers(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    return artel_graph_call(g, user, in, 1, out, 1);
}

static artel_status make(artel_strategy *s, artel_dtype dtype, bool shared, artel_trace_fn *trace, void *user,
                         artel_function **out)
{
    artel_function_options f = ARTEL_FUNCTION_OPTIONS_INIT;
    const artel_argument argument = {"text", dtype, shared, {1, {1}}};
    f.arguments = &argument;
    f.argument_count = f.output_count = 1;
    return artel_function_create(s, &f, trace, user, out);
}

static void test_refusals_of_functions(void **state)
{
    (void)state;
    scene s = begin();
    artel_strategy *strategy;
    artel_function *f;
    artel_model *model = text_model(s.ctx);
    artel_strategy_options o = ARTEL_STRATEGY_OPTIONS_INIT;
    float got[2 * CLASSES];
    o.batch_size = 2;
    api_ok(s.ctx, artel_strategy_create(s.ctx, &o, &strategy));
    api_ok(s.ctx, artel_strategy_add_model(strategy, model));
    api_refused(s.ctx, make(strategy, ARTEL_DTYPE_STRING, true, trace_numbers, model, &f), ARTEL_ERROR_UNSUPPORTED,
                "text");
    api_refused(s.ctx, make(strategy, ARTEL_DTYPE_STRING, false, trace_wrong, NULL, &f), ARTEL_ERROR_UNSUPPORTED,
                "text");
    api_refused(s.ctx, make(strategy, ARTEL_DTYPE_INT32, false, trace_numbers, model, &f), ARTEL_ERROR_INVALID,
                "takes text");
    api_ok(s.ctx, make(strategy, ARTEL_DTYPE_STRING, false, trace_numbers, model, &f));
    const artel_array out = {.dtype = ARTEL_DTYPE_FLOAT32, .data = got};
    artel_array in = {ARTEL_DTYPE_FLOAT32, {2, {2, 1}}, got};
    api_refused(s.ctx, artel_function_run(f, &in, 1, &out, 1), ARTEL_ERROR_INVALID, "text");
    artel_string broken[2] = {WORD("film"), WORD("\xC3(")};
    in = (artel_array){ARTEL_DTYPE_STRING, {2, {2, 1}}, broken};
    api_refused(s.ctx, artel_function_run(f, &in, 1, &out, 1), ARTEL_ERROR_INVALID, "row 1");
    broken[1] = (artel_string)WORD("good");
    api_ok(s.ctx, artel_function_run(f, &in, 1, &out, 1));
    artel_function_call call = ARTEL_FUNCTION_CALL_INIT;
    const size_t in_bytes = sizeof broken, out_bytes = sizeof got, few = sizeof got - 1, one = sizeof *broken;
    call.inputs = &in;
    call.outputs = &out;
    call.input_count = call.output_count = 1;
    api_refused(s.ctx, artel_function_run_checked(f, &call), ARTEL_ERROR_INVALID, "sizes");
    call.input_bytes = &in_bytes;
    call.output_bytes = &few;
    api_refused(s.ctx, artel_function_run_checked(f, &call), ARTEL_ERROR_INVALID, "output 0 has 23 bytes and takes 24");
    call.output_bytes = &out_bytes;
    call.input_bytes = &one;
    api_refused(s.ctx, artel_function_run_checked(f, &call), ARTEL_ERROR_INVALID, "input 0 has 16 bytes and takes 32");
    call.input_bytes = &in_bytes;
    api_ok(s.ctx, artel_function_run_checked(f, &call));
    artel_strategy_destroy(strategy);
    artel_model_destroy(model);
    end(&s);
}

/* Numbers that one model makes of text, beside the text into another model whose layers would read them with it. */
static artel_model *hashing_model(artel_context *ctx, bool both)
{
    artel_builder *b;
    artel_model *model;
    artel_tensor in[2], out[2];
    api_ok(ctx, artel_functional_create(ctx, both ? "second" : "first", &b));
    api_ok(ctx, artel_input(b, "words", ARTEL_DTYPE_STRING, &(artel_shape){1, {1}}, &in[0]));
    if (both) api_ok(ctx, artel_input(b, "numbers", ARTEL_DTYPE_INT32, &(artel_shape){1, {1}}, &in[1]));
    for (int i = 0; i <= both; i++) api_ok(ctx, artel_apply(b, "Hashing", "{\"num_bins\": 9}", &in[i], 1, &out[i]));
    api_ok(ctx, artel_functional_finish(b, out, 1 + both, &model));
    return model;
}

static artel_status trace_two(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    artel_model *const *models = user;
    artel_value next[2] = {in[0]}, made[2];
    artel_graph_call(g, models[0], in, 1, &next[1], 1);
    artel_graph_call(g, models[1], next, 2, made, 2);
    out[0] = made[1];
    return artel_graph_status(g);
}

static artel_status trace_computed(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    artel_model *const *models = user;
    artel_value next[2] = {in[0]}, made[2];
    artel_graph_call(g, models[0], in, 1, &next[1], 1);
    next[1] = artel_graph_binary(g, "add", next[1], next[1]);
    artel_graph_call(g, models[1], next, 2, made, 2);
    out[0] = made[1];
    return artel_graph_status(g);
}

static void test_numbers_of_another_model(void **state)
{
    (void)state;
    scene s = begin();
    artel_strategy *strategy;
    artel_function *f;
    artel_model *models[2] = {hashing_model(s.ctx, false), hashing_model(s.ctx, true)};
    artel_strategy_options o = ARTEL_STRATEGY_OPTIONS_INIT;
    o.batch_size = 2;
    api_ok(s.ctx, artel_strategy_create(s.ctx, &o, &strategy));
    for (int i = 0; i < 2; i++) api_ok(s.ctx, artel_strategy_add_model(strategy, models[i]));
    api_refused(s.ctx, make(strategy, ARTEL_DTYPE_STRING, false, trace_computed, models, &f), ARTEL_ERROR_UNSUPPORTED,
                "which is computed");
    int32_t got[2];
    const artel_array in = {ARTEL_DTYPE_STRING, {2, {2, 1}}, (void *)(uintptr_t)texts};
    const artel_array out = {.dtype = ARTEL_DTYPE_INT32, .data = got};
    api_ok(s.ctx, make(strategy, ARTEL_DTYPE_STRING, false, trace_two, models, &f));
    api_ok(s.ctx, artel_function_run(f, &in, 1, &out, 1));
    assert_true(got[0] == 0 && got[1] == 1); /* of "1" and "0", as keras.layers.Hashing */
    artel_strategy_destroy(strategy);
    for (int i = 0; i < 2; i++) artel_model_destroy(models[i]);
    end(&s);
}

/* Layers of text as operations: what models of them give, under two strategies, and out of a file. */
static artel_status trace_layers(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)user;
    out[0] = artel_graph_op(g, "StringLookup", in, 1, "{\"vocabulary\": [\"film\", \"good\"]}");
    out[1] = artel_graph_op(g, "hashing", in, 1, "{\"num_bins\": 9}");
    out[2] = artel_graph_op(g, "TextVectorization", in, 1,
                            "{\"vocabulary\": [\"\", \"[UNK]\", \"film\", \"good\"], \"output_sequence_length\": 3}");
    return artel_graph_status(g);
}

static artel_status trace_no_layer(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    const artel_value twice[2] = {in[0], in[0]};
    const char *name = user;
    out[0] = artel_graph_op(g, name, twice, *name == 'H' ? 2 : 1, *name == 'D' ? "{\"units\": 2}" : NULL);
    return artel_graph_status(g);
}

static void run_layers(artel_context *ctx, artel_function *f, int32_t got[BATCH * 5])
{
    const artel_array in = {ARTEL_DTYPE_STRING, {2, {BATCH, 1}}, (void *)(uintptr_t)texts};
    const artel_array out[3] = {{.dtype = ARTEL_DTYPE_INT32, .data = got},
                                {.dtype = ARTEL_DTYPE_INT32, .data = got + BATCH},
                                {.dtype = ARTEL_DTYPE_INT32, .data = got + 2 * BATCH}};
    api_ok(ctx, artel_function_run(f, &in, 1, out, 3));
}

static void test_layers_as_operations(void **state)
{
    (void)state;
    static const int32_t lookup[BATCH] = {0, 0, 2, 0}, words[BATCH * 3] = {1, 3, 2, 1, 1, 2, 3, 0, 0, 0, 0, 0},
                         hashed[BATCH] = {1, 0, 6, 5}; /* keras.layers.Hashing(9), which is TensorFlow's */
    scene s = begin();
    char folder[64], path[96];
    int32_t truth[BATCH * 5], got[BATCH * 5];
    artel_function_options f = ARTEL_FUNCTION_OPTIONS_INIT;
    const artel_argument argument = {"text", ARTEL_DTYPE_STRING, false, {1, {1}}};
    f.arguments = &argument;
    f.argument_count = 1;
    api_folder_make(folder);
    snprintf(path, sizeof path, "%s/text.artel", folder);
    for (int round = 0; round < 3; round++) { /* alone, three replicas, three replicas from a file */
        artel_strategy *strategy;
        artel_function *made;
        artel_strategy_options o = ARTEL_STRATEGY_OPTIONS_INIT;
        o.batch_size = BATCH;
        o.strategy = round ? "mirrored" : "one-device";
        o.replicas = round ? 3 : 1;
        f.output_count = 3;
        if (round < 2) {
            api_ok(s.ctx, artel_strategy_create(s.ctx, &o, &strategy));
            api_ok(s.ctx, artel_function_create(strategy, &f, trace_layers, NULL, &made));
        } else {
            api_ok(s.ctx, artel_functions_load(s.ctx, path, &o, &strategy));
            api_ok(s.ctx, artel_strategy_function(strategy, "function", &made));
        }
        run_layers(s.ctx, made, round ? got : truth);
        if (round) assert_memory_equal(got, truth, sizeof truth);
        if (round == 1) api_ok(s.ctx, artel_functions_save(strategy, &made, 1, path));
        f.output_count = 1;
        static const char *const wrong[][2] = {
            {"Dense", "holds strings"}, {"exp", "numbers"}, {"HashedCrossing", "num_bins"}};
        for (int i = 0; i < 3 && round == 0; i++) {
            artel_status status =
                artel_function_create(strategy, &f, trace_no_layer, (void *)(uintptr_t)wrong[i][0], &made);
            if (status == ARTEL_OK) fail_msg("%s is taken", wrong[i][0]);
            if (!strstr(artel_context_error(s.ctx)->what, wrong[i][1]))
                fail_msg("%s: %s", wrong[i][0], artel_context_error(s.ctx)->what);
        }
        artel_strategy_destroy(strategy);
    }
    assert_memory_equal(truth, lookup, sizeof lookup);
    assert_memory_equal(truth + BATCH, hashed, sizeof hashed);
    assert_memory_equal(truth + 2 * BATCH, words, sizeof words);
    api_folder_remove(folder);
    end(&s);
}

/* A function of text in a file, run on by another strategy. */
static void test_saved(void **state)
{
    (void)state;
    char folder[64], path[96];
    float truth[BATCH * CLASSES], got[BATCH * CLASSES];
    artel_context *ctx = api_context();
    artel_strategy *strategy;
    artel_function *f;
    artel_argument argument;
    artel_model *model = text_model(ctx);
    artel_strategy_options o = ARTEL_STRATEGY_OPTIONS_INIT;
    api_folder_make(folder);
    snprintf(path, sizeof path, "%s/text.artel", folder);
    o.batch_size = BATCH;
    api_ok(ctx, artel_strategy_create(ctx, &o, &strategy));
    api_ok(ctx, artel_strategy_add_model(strategy, model));
    api_ok(ctx, make(strategy, ARTEL_DTYPE_STRING, false, trace_numbers, model, &f));
    const artel_array in = {ARTEL_DTYPE_STRING, {2, {BATCH, 1}}, (void *)(uintptr_t)texts};
    artel_array out = {.dtype = ARTEL_DTYPE_FLOAT32, .data = truth};
    api_ok(ctx, artel_function_run(f, &in, 1, &out, 1));
    api_ok(ctx, artel_functions_save(strategy, &f, 1, path));
    artel_strategy_destroy(strategy);
    artel_model_destroy(model);
    o.strategy = "mirrored";
    o.replicas = 3;
    api_ok(ctx, artel_functions_load(ctx, path, &o, &strategy));
    api_ok(ctx, artel_strategy_function(strategy, "function", &f));
    api_ok(ctx, artel_function_argument(f, 0, &argument));
    assert_int_equal(argument.dtype, ARTEL_DTYPE_STRING);
    out.data = got;
    api_ok(ctx, artel_function_run(f, &in, 1, &out, 1));
    assert_memory_equal(got, truth, sizeof truth);
    artel_strategy_destroy(strategy);
    artel_context_destroy(ctx);
    api_folder_remove(folder);
}

/* Elements of data, one by one, into an array. */
static void test_reading(void **state)
{
    (void)state;
    scene s = begin();
    artel_data *data = text_data(s.ctx);
    artel_reader *reader;
    artel_data_array column;
    artel_string word[ROWS];
    api_ok(s.ctx, artel_reader_create(data, &reader));
    assert_int_equal(artel_reader_columns(reader), 1); /* text is left out */
    artel_reader_destroy(reader);
    api_ok(s.ctx, artel_reader_create_with_text(data, &reader));
    assert_int_equal(artel_reader_columns(reader), 2);
    api_ok(s.ctx, artel_reader_describe(reader, 0, &column));
    assert_int_equal(column.dtype, ARTEL_DTYPE_STRING);
    assert_int_equal(artel_reader_bytes(reader, 0), sizeof(artel_string));
    for (int i = 0; i < ROWS; i++) assert_int_equal(artel_reader_next(reader, (void *[]){&word[i], NULL}), ARTEL_OK);
    artel_reader_destroy(reader);
    artel_ndarray *a;
    api_ok(s.ctx, artel_ndarray_create(s.e, ARTEL_DTYPE_STRING, &(artel_shape){1, {ROWS}}, word, &a));
    artel_data_destroy(data);
    artel_string back[ROWS]; /* the array's own */
    api_ok(s.ctx, artel_ndarray_read(a, ARTEL_DTYPE_STRING, back, ROWS));
    for (int i = 0; i < ROWS; i++) {
        assert_int_equal(back[i].length, texts[i].length);
        assert_memory_equal(back[i].bytes, texts[i].bytes, texts[i].length);
    }
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_loop_of_text),
                                       cmocka_unit_test(test_predictor_of_text),
                                       cmocka_unit_test(test_refusals_of_functions),
                                       cmocka_unit_test(test_numbers_of_another_model),
                                       cmocka_unit_test(test_layers_as_operations),
                                       cmocka_unit_test(test_saved),
                                       cmocka_unit_test(test_reading)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
