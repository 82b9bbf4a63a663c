/* SPDX-License-Identifier: Apache-2.0 */
/* timeout: 120 */
/* Strings in memory: arrays of them (whose bytes they are, views, operations, conversions, refusals, failing
 * allocations), data and readers of them, and text as an argument of functions and predictors: a loop by hand on text
 * ends in the weights of fit under every strategy. Runs whose memory is measured. */
#include "api/help_api.h"

#include "artel/eager.h"
#include "artel/pipeline.h"
#include "artel/predictor.h"
#include "artel/saved.h"
#include "base/context.h"

#define WORD(text)             \
    {                          \
        text, sizeof(text) - 1 \
    }

typedef struct scene {
    artel_context *ctx;
    artel_eager *e;
} scene;

static scene begin(void)
{
    scene s = {.ctx = api_context()};
    api_ok(s.ctx, artel_eager_create(s.ctx, NULL, &s.e));
    return s;
}

static void end(scene *s)
{
    artel_eager_destroy(s->e);
    artel_context_destroy(s->ctx);
}

static artel_ndarray *words(scene *s, artel_shape shape, const artel_string *from)
{
    artel_ndarray *a;
    api_ok(s->ctx, artel_ndarray_create(s->e, ARTEL_DTYPE_STRING, &shape, from, &a));
    return a;
}

/* The elements, joined by commas. */
static void expect(scene *s, const artel_ndarray *a, const char *wanted)
{
    artel_shape shape;
    artel_dtype dtype;
    artel_string got[64];
    char text[512] = "";
    api_ok(s->ctx, artel_ndarray_describe(a, &dtype, &shape, NULL));
    assert_int_equal(dtype, ARTEL_DTYPE_STRING);
    int64_t count = artel_shape_count(&shape);
    api_ok(s->ctx, artel_ndarray_read(a, ARTEL_DTYPE_STRING, got, count));
    for (int64_t i = 0; i < count; i++) {
        assert_int_equal(got[i].bytes[got[i].length], 0);
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%.*s", i ? "," : "", (int)got[i].length,
                 got[i].bytes);
    }
    assert_string_equal(text, wanted);
}

static void expect_numbers(scene *s, const artel_ndarray *a, artel_dtype wanted, int count, const double *values)
{
    artel_dtype dtype;
    double got[64];
    api_ok(s->ctx, artel_ndarray_describe(a, &dtype, NULL, NULL));
    assert_int_equal(dtype, wanted);
    api_ok(s->ctx, artel_ndarray_read(a, ARTEL_DTYPE_FLOAT64, got, count));
    for (int i = 0; i < count; i++) assert_true(got[i] == values[i]);
}

static void refused(scene *s, artel_status status, artel_status wanted, const char *word)
{
    const artel_error *error = artel_context_error(s->ctx);
    assert_int_equal(status, wanted);
    if (!strstr(error->what, word) && !strstr(error->where, word))
        fail_msg("no %s in: %s: %s", word, error->where, error->what);
}

static const artel_string six[] = {WORD("pear"), WORD("\xC3\xA4pfel"), WORD(""),
                                   WORD("fig"),  WORD("apple"),        WORD("a\0b")};

static void test_views_and_writing(void **state)
{
    (void)state;
    scene s = begin();
    char bytes[] = "xyz";
    artel_string own[6];
    memcpy(own, six, sizeof own);
    own[0] = (artel_string){bytes, 3};
    artel_ndarray *a = words(&s, (artel_shape){2, {2, 3}}, own), *turned, *column, *flat, *all, *empty;
    memset(bytes, 'q', 3); /* the bytes were copied */
    expect(&s, a, "xyz,\xC3\xA4pfel,,fig,apple,a");
    api_ok(s.ctx, artel_ndarray_transpose(a, NULL, &turned));
    expect(&s, turned, "xyz,fig,\xC3\xA4pfel,apple,,a");
    api_ok(s.ctx, artel_ndarray_slice(a, 1, 0, INT64_MAX, 2, &column));
    api_ok(s.ctx, artel_ndarray_reshape(turned, &(artel_shape){1, {-1}}, &flat)); /* a copy with bytes of its own */
    /* Written through a view, from strings of the array itself: all views see it, the copy does not. */
    artel_string back[4];
    api_ok(s.ctx, artel_ndarray_read(column, ARTEL_DTYPE_STRING, back, 4));
    artel_string swapped[4] = {back[3], WORD("long enough to need a block of its own, whatever was there"), back[0],
                               back[2]};
    api_ok(s.ctx, artel_ndarray_write(column, ARTEL_DTYPE_STRING, swapped, 4));
    expect(&s, a, "a,\xC3\xA4pfel,long enough to need a block of its own, whatever was there,xyz,apple,fig");
    expect(&s, flat, "xyz,fig,\xC3\xA4pfel,apple,,a");
    assert_null(artel_ndarray_data(turned));
    artel_string whole[6]; /* with the NUL inside */
    api_ok(s.ctx, artel_ndarray_read(a, ARTEL_DTYPE_STRING, whole, 6));
    assert_int_equal(whole[0].length, 3);
    assert_memory_equal(whole[0].bytes, "a\0b", 4);
    api_ok(s.ctx, artel_ndarray_broadcast(column, &(artel_shape){3, {2, 2, 2}}, &all));
    expect(&s, all,
           "a,long enough to need a block of its own, whatever was there,xyz,fig,a,"
           "long enough to need a block of its own, whatever was there,xyz,fig");
    artel_ndarray_release(a); /* the views keep elements and bytes */
    expect(&s, column, "a,long enough to need a block of its own, whatever was there,xyz,fig");
    empty = words(&s, (artel_shape){1, {2}}, NULL);
    expect(&s, empty, ",");
    artel_ndarray *left[] = {turned, column, flat, all, empty};
    for (int i = 0; i < 5; i++) artel_ndarray_release(left[i]);
    end(&s);
}

static void test_operations(void **state)
{
    (void)state;
    scene s = begin();
    artel_ndarray *a = words(&s, (artel_shape){1, {6}}, six), *fig = words(&s, (artel_shape){0}, &six[3]), *out,
                  *parts[4];
    artel_ndarray *const both[2] = {a, fig};
    api_ok(s.ctx, artel_eager_op(s.e, "equal", both, 2, NULL, &out));
    expect_numbers(&s, out, ARTEL_DTYPE_BOOL, 6, (const double[]){0, 0, 0, 1, 0, 0});
    artel_ndarray *const chosen[3] = {out, fig, a};
    api_ok(s.ctx, artel_eager_op(s.e, "where", chosen, 3, NULL, &out));
    expect(&s, out, "pear,\xC3\xA4pfel,,fig,apple,a");
    api_ok(s.ctx, artel_eager_binary(s.e, "less", a, fig, &out));
    expect_numbers(&s, out, ARTEL_DTYPE_BOOL, 6, (const double[]){0, 0, 1, 0, 1, 1});
    api_ok(s.ctx, artel_eager_unary(s.e, "sort", a, &out));
    expect(&s, out, ",a,apple,fig,pear,\xC3\xA4pfel");
    artel_ndarray *const twice[2] = {a, a};
    api_ok(s.ctx, artel_eager_op(s.e, "Concatenate", twice, 2, "{\"axis\": 0}", &out));
    assert_int_equal(artel_eager_op_all(s.e, "split", &out, 1, "{\"indices_or_sections\": 4, \"axis\": 0}", parts, 2),
                     4);
    expect(&s, parts[1], "fig,apple,a");
    api_ok(s.ctx, artel_eager_op(s.e, "string_length", &a, 1, "{\"unit\": \"UTF8_CHAR\"}", &out));
    expect_numbers(&s, out, ARTEL_DTYPE_INT32, 6, (const double[]){4, 5, 0, 3, 5, 3});
    api_ok(s.ctx, artel_eager_unary(s.e, "string_upper", a, &out));
    expect(&s, out, "PEAR,\xC3\xA4PFEL,,FIG,APPLE,A");
    end(&s);
}

static void test_numbers(void **state)
{
    (void)state;
    scene s = begin();
    const artel_string digits[] = {WORD(" 1.5 "), WORD("-2e-3"), WORD("nan"), WORD("7")};
    artel_ndarray *a = words(&s, (artel_shape){1, {4}}, digits), *b, *c;
    float got[4];
    int64_t large = INT64_MIN;
    api_ok(s.ctx, artel_ndarray_read(a, ARTEL_DTYPE_FLOAT32, got, 4));
    assert_true(got[0] == 1.5f && got[1] == -0.002f && got[2] != got[2] && got[3] == 7);
    refused(&s, artel_ndarray_cast(a, ARTEL_DTYPE_INT32, &b), ARTEL_ERROR_INVALID, "element 0");
    api_ok(s.ctx, artel_ndarray_slice(a, 0, 3, 4, 1, &b));
    refused(&s, artel_ndarray_cast(b, ARTEL_DTYPE_BOOL, &c), ARTEL_ERROR_UNSUPPORTED, "bool");
    api_ok(s.ctx, artel_ndarray_cast(b, ARTEL_DTYPE_UINT64, &c));
    expect_numbers(&s, c, ARTEL_DTYPE_UINT64, 1, (const double[]){7});
    api_ok(s.ctx, artel_ndarray_create(s.e, ARTEL_DTYPE_INT64, &(artel_shape){0}, &large, &c));
    api_ok(s.ctx, artel_ndarray_cast(c, ARTEL_DTYPE_STRING, &b));
    expect(&s, b, "-9223372036854775808");
    refused(&s, artel_ndarray_cast(b, ARTEL_DTYPE_INT32, &c), ARTEL_ERROR_INVALID, "int32");
    /* Into numbers, from the caller's strings: all or nothing. */
    api_ok(s.ctx, artel_ndarray_full(s.e, ARTEL_DTYPE_FLOAT32, &(artel_shape){1, {2}}, 3, &c));
    const artel_string half[] = {WORD("1"), WORD("one")};
    refused(&s, artel_ndarray_write(c, ARTEL_DTYPE_STRING, half, 2), ARTEL_ERROR_INVALID, "one");
    expect_numbers(&s, c, ARTEL_DTYPE_FLOAT32, 2, (const double[]){3, 3});
    /* Bytes without a NUL behind them, at the end of their block; and none at all. */
    char *bare = malloc(3);
    assert_non_null(bare);
    memcpy(bare, "1x2", 3);
    const artel_string ends[] = {WORD("1"), {bare, 3}}, none[] = {WORD("1"), {NULL, 2}},
                       broken[] = {WORD("1"), WORD("\xFF")};
    refused(&s, artel_ndarray_write(c, ARTEL_DTYPE_STRING, ends, 2), ARTEL_ERROR_INVALID, "element 1, \"1x2\", is");
    free(bare);
    refused(&s, artel_ndarray_write(c, ARTEL_DTYPE_STRING, none, 2), ARTEL_ERROR_INVALID, "element 1 is NULL");
    refused(&s, artel_ndarray_write(c, ARTEL_DTYPE_STRING, broken, 2), ARTEL_ERROR_INVALID, "byte 0 of element 1");
    expect_numbers(&s, c, ARTEL_DTYPE_FLOAT32, 2, (const double[]){3, 3});
    end(&s);
}

static artel_status trace_copy(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)user;
    out[0] = in[0];
    return artel_graph_status(g);
}

static void test_refusals(void **state)
{
    (void)state;
    scene s = begin();
    artel_ndarray *a = words(&s, (artel_shape){1, {6}}, six), *n, *out;
    artel_eager_function *f;
    artel_string broken[] = {WORD("fine"), WORD("\xC3(")};
    static const char *const names[] = {"sum", "exp", "cumsum", "argmax", "one_hot", "pad", "isnan", "mean"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        refused(&s, artel_eager_unary(s.e, names[i], a, &out), ARTEL_ERROR_UNSUPPORTED, names[i]);
    refused(&s, artel_eager_binary(s.e, "add", a, a, &out), ARTEL_ERROR_UNSUPPORTED, "add");
    api_ok(s.ctx, artel_ndarray_full(s.e, ARTEL_DTYPE_INT32, &(artel_shape){1, {6}}, 1, &n));
    refused(&s, artel_eager_binary(s.e, "equal", a, n, &out), ARTEL_ERROR_INVALID, "operand 1 is numbers");
    refused(&s, artel_eager_binary(s.e, "take", a, a, &out), ARTEL_ERROR_INVALID, "operand 1 is strings");
    refused(&s, artel_ndarray_create(s.e, ARTEL_DTYPE_STRING, &(artel_shape){1, {2}}, broken, &out),
            ARTEL_ERROR_INVALID, "element 1");
    broken[1] = (artel_string){NULL, 2};
    refused(&s, artel_ndarray_create(s.e, ARTEL_DTYPE_STRING, &(artel_shape){1, {2}}, broken, &out),
            ARTEL_ERROR_INVALID, "element 1");
    refused(&s, artel_ndarray_full(s.e, ARTEL_DTYPE_STRING, &(artel_shape){1, {2}}, 1, &out), ARTEL_ERROR_INVALID,
            "string");
    refused(&s, artel_ndarray_write(a, ARTEL_DTYPE_INT32, (const int32_t[6]){0}, 6), ARTEL_ERROR_INVALID, "strings");
    artel_string room[6];
    refused(&s, artel_ndarray_read(n, ARTEL_DTYPE_STRING, room, 6), ARTEL_ERROR_INVALID, "strings");
    refused(&s, artel_eager_op(s.e, "string_to_hash_bucket_fast", &a, 1, NULL, &out), ARTEL_ERROR_INVALID,
            "num_buckets");
    refused(&s, artel_eager_op(s.e, "string_length", &a, 1, "{\"unit\": \"WORD\"}", &out), ARTEL_ERROR_INVALID, "unit");
    api_ok(s.ctx, artel_eager_function_create(s.e, "copy", trace_copy, NULL, 1, &f));
    refused(&s, artel_eager_call(f, &a, 1, &out, 1), ARTEL_ERROR_UNSUPPORTED, "string");
    expect(&s, a, "pear,\xC3\xA4pfel,,fig,apple,a");
    end(&s);
}

static artel_status work(artel_context *ctx)
{
    artel_eager *e;
    artel_ndarray *a = NULL, *b = NULL, *c = NULL, *n = NULL;
    ARTEL_TRY(artel_eager_create(ctx, NULL, &e));
    artel_status status = artel_ndarray_create(e, ARTEL_DTYPE_STRING, &(artel_shape){2, {2, 3}}, six, &a);
    if (status == ARTEL_OK) status = artel_ndarray_transpose(a, NULL, &b);
    if (status == ARTEL_OK) status = artel_ndarray_write(b, ARTEL_DTYPE_STRING, six, 6);
    if (status == ARTEL_OK) status = artel_eager_unary(e, "sort", b, &c);
    if (status == ARTEL_OK) status = artel_eager_binary(e, "equal", c, c, &n);
    if (status == ARTEL_OK) status = artel_ndarray_cast(n, ARTEL_DTYPE_STRING, &c);
    if (status == ARTEL_OK) status = artel_eager_unary(e, "string_strip", c, &a);
    if (status == ARTEL_OK)
        status = artel_eager_op(e, "string_join", (artel_ndarray *[]){a, c}, 2, "{\"separator\": \", \"}", &b);
    if (status == ARTEL_OK) status = artel_eager_op(e, "string_reduce_join", &b, 1, "{\"separator\": \" \"}", &c);
    if (status == ARTEL_OK) status = artel_eager_op(e, "string_split", &c, 1, "{\"sep\": \",\"}", &a);
    if (status == ARTEL_OK) status = artel_ndarray_create(e, ARTEL_DTYPE_STRING, &(artel_shape){1, {6}}, six, &b);
    if (status == ARTEL_OK) status = artel_eager_binary(e, "string_lookup", a, b, &c);
    artel_eager_destroy(e);
    return status;
}

static void test_failing_allocations(void **state)
{
    (void)state;
    artel_context *ctx = api_context();
    uint64_t n = 0;
    api_ok(ctx, work(ctx));
    for (artel_status status = ARTEL_ERROR_NO_MEMORY; status < 0;) {
        artel__fail_allocation_after(ctx, ++n);
        status = work(ctx);
        artel__fail_allocation_after(ctx, 0);
        if (status < 0) assert_int_equal(status, ARTEL_ERROR_NO_MEMORY);
    }
    assert_true(n > 20);
    artel_context_destroy(ctx);
}

/* -- models that take text -- */

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
    refused(&s, make(strategy, ARTEL_DTYPE_STRING, true, trace_numbers, model, &f), ARTEL_ERROR_UNSUPPORTED, "text");
    refused(&s, make(strategy, ARTEL_DTYPE_STRING, false, trace_wrong, NULL, &f), ARTEL_ERROR_UNSUPPORTED, "text");
    refused(&s, make(strategy, ARTEL_DTYPE_STRING, false, trace_copy, NULL, &f), ARTEL_ERROR_UNSUPPORTED, "text");
    refused(&s, make(strategy, ARTEL_DTYPE_INT32, false, trace_numbers, model, &f), ARTEL_ERROR_INVALID, "takes text");
    api_ok(s.ctx, make(strategy, ARTEL_DTYPE_STRING, false, trace_numbers, model, &f));
    const artel_array out = {.dtype = ARTEL_DTYPE_FLOAT32, .data = got};
    artel_array in = {ARTEL_DTYPE_FLOAT32, {2, {2, 1}}, got};
    refused(&s, artel_function_run(f, &in, 1, &out, 1), ARTEL_ERROR_INVALID, "text");
    artel_string broken[2] = {WORD("film"), WORD("\xC3(")};
    in = (artel_array){ARTEL_DTYPE_STRING, {2, {2, 1}}, broken};
    refused(&s, artel_function_run(f, &in, 1, &out, 1), ARTEL_ERROR_INVALID, "row 1");
    broken[1] = (artel_string)WORD("good");
    api_ok(s.ctx, artel_function_run(f, &in, 1, &out, 1));
    artel_function_call call = ARTEL_FUNCTION_CALL_INIT;
    const size_t in_bytes = sizeof broken, out_bytes = sizeof got, few = sizeof got - 1, one = sizeof *broken;
    call.inputs = &in;
    call.outputs = &out;
    call.input_count = call.output_count = 1;
    refused(&s, artel_function_run_checked(f, &call), ARTEL_ERROR_INVALID, "sizes");
    call.input_bytes = &in_bytes;
    call.output_bytes = &few;
    refused(&s, artel_function_run_checked(f, &call), ARTEL_ERROR_INVALID, "output 0 has 23 bytes and takes 24");
    call.output_bytes = &out_bytes;
    call.input_bytes = &one;
    refused(&s, artel_function_run_checked(f, &call), ARTEL_ERROR_INVALID, "input 0 has 16 bytes and takes 32");
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
    refused(&s, make(strategy, ARTEL_DTYPE_STRING, false, trace_two, models, &f), ARTEL_ERROR_UNSUPPORTED,
            "which is computed");
    artel_strategy_destroy(strategy);
    for (int i = 0; i < 2; i++) artel_model_destroy(models[i]);
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
    artel_ndarray *a = words(&s, (artel_shape){1, {2}}, word);
    artel_data_destroy(data);
    expect(&s, a, "A good film,bad, bad film!");
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_views_and_writing),
                                       cmocka_unit_test(test_operations),
                                       cmocka_unit_test(test_numbers),
                                       cmocka_unit_test(test_refusals),
                                       cmocka_unit_test(test_failing_allocations),
                                       cmocka_unit_test(test_loop_of_text),
                                       cmocka_unit_test(test_predictor_of_text),
                                       cmocka_unit_test(test_refusals_of_functions),
                                       cmocka_unit_test(test_numbers_of_another_model),
                                       cmocka_unit_test(test_saved),
                                       cmocka_unit_test(test_reading)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
