/* SPDX-License-Identifier: Apache-2.0 */
/* timeout: 120 */
/* artel/pipeline.h: stages and functions in C give what a file with the same stages gives, training on them gives the
 * bits of the same rows in memory, two numbers are the position, and what does not fit is told.
 */
#include "api/help_api.h"
#include "artel/pipeline.h"

static char folder[64], rows[128];

/* The rows of api_rows, negated. */
static int write_rows(void **state)
{
    (void)state;
    api_folder_make(folder);
    snprintf(rows, sizeof rows, "%s/rows.jsonl", folder);
    FILE *file = fopen(rows, "w");
    for (uint64_t r = 0; r < API_ROWS; r++) {
        float x[API_IMAGE];
        int32_t y;
        api_row(r, x, &y);
        fprintf(file, "{\"x\": [");
        for (int i = 0; i < API_IMAGE; i++) fprintf(file, "%s%.9g", i ? ", " : "", (double)-x[i]);
        fprintf(file, "], \"y\": %d}\n", (int)y);
    }
    return fclose(file);
}

static int remove_rows(void **state)
{
    (void)state;
    api_folder_remove(folder);
    return 0;
}

static artel_status multiply(void *user, int64_t index, const void *in, void *out, char *message)
{
    const float *from = in;
    float *to = out;
    (void)index;
    (void)message;
    for (int i = 0; i < API_IMAGE; i++) to[i] = from[i] * *(const float *)user;
    return ARTEL_OK;
}

static artel_status fail_at_five(void *user, int64_t index, const void *in, void *out, char *message)
{
    if (index != 5) return multiply(user, index, in, out, message);
    snprintf(message, 512, "five is too many");
    return ARTEL_ERROR_INVALID;
}

static artel_pipeline *begin(artel_context *ctx)
{
    char spec[160];
    artel_pipeline *p;
    snprintf(spec, sizeof spec, "jsonl:%s#label=y", rows);
    api_ok(ctx, artel_pipeline_create(ctx, spec, &p));
    return p;
}

static const float minus = -1, two = 2;

static void add_map(artel_context *ctx, artel_pipeline *p, artel_pipeline_map_fn *function, const float *factor)
{
    const artel_pipeline_function f = {.column = "x",
                                       .name = "multiply 1",
                                       .dtype = ARTEL_DTYPE_FLOAT32,
                                       .shape = {1, {API_IMAGE}},
                                       .function = function,
                                       .user = (void *)(uintptr_t)factor};
    api_ok(ctx, artel_pipeline_map(p, &f));
}

static artel_data *open_data(artel_context *ctx, artel_pipeline *p)
{
    artel_data *data;
    api_ok(ctx, artel_pipeline_open(p, &data));
    artel_pipeline_destroy(p);
    return data;
}

/* All x of a pass, packed. */
static int64_t read_pass(artel_context *ctx, artel_data *data, float *out, int64_t room)
{
    artel_reader *reader;
    int64_t count = 0;
    artel_status status;
    float x[API_IMAGE];
    api_ok(ctx, artel_reader_create(data, &reader));
    assert_int_equal(artel_reader_columns(reader), 2);
    assert_int_equal(artel_reader_bytes(reader, 0), sizeof x);
    void *buffers[2] = {x, NULL};
    while ((status = artel_reader_next(reader, buffers)) == ARTEL_OK && count < room)
        memcpy(out + API_IMAGE * count++, x, sizeof x);
    assert_int_equal(status, ARTEL_AGAIN);
    artel_reader_destroy(reader);
    return count;
}

static void trains_with_the_same_bits(void **state)
{
    artel_context *ctx = api_context();
    char want[65], got[65];
    (void)state;
    for (int replicas = 1; replicas <= 3; replicas += 2) {
        artel_pipeline *p = begin(ctx);
        add_map(ctx, p, multiply, &minus);
        artel_data *data = open_data(ctx, p);
        artel_model *model = api_mlp(ctx);
        artel_fit_options o = ARTEL_FIT_OPTIONS_INIT;
        o.epochs = 2;
        o.seed = 7;
        o.batch_size = 32;
        o.replicas = replicas;
        o.threads = replicas;
        o.strategy = replicas > 1 ? "mirrored" : "auto";
        api_ok(ctx, artel_model_fit(model, data, &o, NULL));
        api_ok(ctx, artel_model_digest(model, want));
        artel_model_destroy(model);
        artel_data *plain = api_rows(ctx, false);
        artel_model *again = api_mlp(ctx);
        api_ok(ctx, artel_model_fit(again, plain, &o, NULL));
        api_ok(ctx, artel_model_digest(again, got));
        assert_string_equal(got, want);
        artel_model_destroy(again);
        artel_data_destroy(plain);
        artel_data_destroy(data);
    }
    artel_context_destroy(ctx);
}

/* Functions of joined pipelines stay with the stage that they were given to. */
static void joins_keep_functions(void **state)
{
    enum {
        MOST = 2 * API_ROWS
    };
    static float all[MOST * API_IMAGE], one[API_ROWS * API_IMAGE];
    artel_context *ctx = api_context();
    artel_pipeline *inputs[2] = {begin(ctx), begin(ctx)}, *joined;
    (void)state;
    add_map(ctx, inputs[0], multiply, &minus);
    add_map(ctx, inputs[1], multiply, &two);
    api_ok(ctx, artel_pipeline_join(ctx, "concatenate", inputs, 2, NULL, &joined));
    for (int i = 0; i < 2; i++) artel_pipeline_destroy(inputs[i]);
    artel_data *data = open_data(ctx, joined), *plain = open_data(ctx, begin(ctx));
    assert_int_equal(read_pass(ctx, data, all, MOST), MOST);
    assert_int_equal(read_pass(ctx, plain, one, API_ROWS), API_ROWS);
    for (int i = 0; i < API_ROWS * API_IMAGE; i++) {
        assert_true(all[i] == -one[i]);
        assert_true(all[API_ROWS * API_IMAGE + i] == 2 * one[i]);
    }
    artel_data_destroy(data);
    artel_data_destroy(plain);
    artel_context_destroy(ctx);
}

static void json_is_the_file(void **state)
{
    static float here[API_ROWS * API_IMAGE], there[API_ROWS * API_IMAGE];
    artel_context *ctx = api_context();
    artel_pipeline *p = begin(ctx), *again;
    (void)state;
    api_ok(ctx, artel_pipeline_add(p, "shuffle", "{\"seed\": 3}"));
    api_ok(ctx, artel_pipeline_add(p, "scale", "{\"column\": \"x\", \"multiply\": 0.5}"));
    api_ok(ctx, artel_pipeline_from_json(ctx, artel_pipeline_json(p), &again));
    artel_data *a = open_data(ctx, p), *b = open_data(ctx, again);
    assert_int_equal(read_pass(ctx, a, here, API_ROWS), API_ROWS);
    assert_int_equal(read_pass(ctx, b, there, API_ROWS), API_ROWS);
    assert_memory_equal(here, there, sizeof here);
    artel_data_destroy(a);
    artel_data_destroy(b);
    artel_context_destroy(ctx);
}

/* A reader that goes on where another one was reads on as that one, over the end of a pass; random stages draw anew in
 * each. */
static void IN7_position_is_two_numbers(void **state)
{
    enum {
        SIDE = 6,
        BEFORE = 40,
        READ = API_ROWS + 30
    };
    static float one[READ][SIDE * SIDE], other[SIDE * SIDE];
    artel_context *ctx = api_context();
    artel_pipeline *p = begin(ctx);
    artel_reader *reader, *again;
    int64_t pass, element;
    int differ = 0;
    (void)state;
    api_ok(ctx, artel_pipeline_add(p, "reshape", "{\"column\": \"x\", \"shape\": [8, 8, 1]}"));
    api_ok(ctx, artel_pipeline_add(p, "random_crop", "{\"column\": \"x\", \"height\": 6, \"width\": 6}"));
    artel_data *data = open_data(ctx, p);
    api_ok(ctx, artel_reader_create(data, &reader));
    for (int i = 0; i < READ; i++) {
        void *buffers[2] = {one[i], NULL};
        if (i == API_ROWS) assert_int_equal(artel_reader_next(reader, buffers), ARTEL_AGAIN);
        if (i == BEFORE) artel_reader_position(reader, &pass, &element);
        assert_int_equal(artel_reader_next(reader, buffers), ARTEL_OK);
    }
    assert_int_equal(pass, 0);
    assert_int_equal(element, BEFORE);
    for (int i = API_ROWS; i < READ; i++) differ += memcmp(one[i], one[i - API_ROWS], sizeof one[i]) != 0;
    assert_true(differ > 10);
    api_ok(ctx, artel_reader_create(data, &again));
    api_ok(ctx, artel_reader_seek(again, pass, element));
    for (int i = BEFORE; i < READ; i++) {
        void *buffers[2] = {other, NULL};
        if (i == API_ROWS) assert_int_equal(artel_reader_next(again, buffers), ARTEL_AGAIN);
        assert_int_equal(artel_reader_next(again, buffers), ARTEL_OK);
        assert_memory_equal(other, one[i], sizeof other);
    }
    assert_int_equal(artel_reader_seek(again, 0, API_ROWS + 1), ARTEL_ERROR_INVALID);
    artel_reader_destroy(reader);
    artel_reader_destroy(again);
    artel_data_destroy(data);
    artel_context_destroy(ctx);
}

static void what_does_not_fit_is_told(void **state)
{
    artel_context *ctx = api_context();
    artel_pipeline *p = begin(ctx), *file;
    artel_data *data = NULL;
    artel_reader *reader;
    float x[API_IMAGE];
    void *buffers[2] = {x, NULL};
    (void)state;
    api_refused(ctx, artel_pipeline_add(p, "shuffle", "[1]"), ARTEL_ERROR_INVALID, "no JSON object");
    assert_true(artel_pipeline_add(p, "shuffle", "{") < 0);
    api_refused(ctx, artel_pipeline_map(p, &(artel_pipeline_function){.column = "x"}), ARTEL_ERROR_INVALID, "missing");
    add_map(ctx, p, fail_at_five, &two);
    api_ok(ctx, artel_pipeline_from_json(ctx, artel_pipeline_json(p), &file));
    api_refused(ctx, artel_pipeline_open(file, &data), ARTEL_ERROR_UNSUPPORTED, "no stage 'map'");
    artel_pipeline_destroy(file);
    data = open_data(ctx, p);
    api_ok(ctx, artel_reader_create(data, &reader));
    for (int i = 0; i < 5; i++) api_ok(ctx, artel_reader_next(reader, buffers));
    api_refused(ctx, artel_reader_next(reader, buffers), ARTEL_ERROR_INVALID, "five is too many");
    int64_t pass, element;
    artel_reader_position(reader, &pass, &element);
    assert_int_equal(element, 5);
    artel_reader_destroy(reader);
    artel_data_destroy(data);
    p = begin(ctx);
    api_ok(ctx, artel_pipeline_add(p, "shufle", NULL));
    api_refused(ctx, artel_pipeline_open(p, &data), ARTEL_ERROR_INVALID, "nearest is shuffle");
    artel_pipeline_destroy(p);
    api_refused(ctx, artel_pipeline_join(ctx, "zip", &(artel_pipeline *){NULL}, 1, NULL, &p), ARTEL_ERROR_INVALID,
                "is NULL");
    artel_context_destroy(ctx);
}

/* What is for the inputs of a model is not left out in silence where there is no model. */
static void scale_wants_a_model(void **state)
{
    artel_context *ctx = api_context();
    char spec[160];
    (void)state;
    for (int i = 0; i < 2; i++) {
        artel_pipeline *p;
        artel_data *data = NULL;
        artel_reader *reader = NULL;
        const char *word = i ? "shift" : "scale";
        snprintf(spec, sizeof spec, "jsonl:%s#label=y&%s=2", rows, word);
        api_ok(ctx, artel_data_open(ctx, spec, &data));
        api_refused(ctx, artel_reader_create(data, &reader), ARTEL_ERROR_UNSUPPORTED, word);
        artel_data_destroy(data);
        api_ok(ctx, artel_pipeline_create(ctx, spec, &p));
        api_refused(ctx, artel_pipeline_open(p, &data), ARTEL_ERROR_UNSUPPORTED, word);
        artel_pipeline_destroy(p);
    }
    artel_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trains_with_the_same_bits), cmocka_unit_test(joins_keep_functions),
        cmocka_unit_test(json_is_the_file),          cmocka_unit_test(IN7_position_is_two_numbers),
        cmocka_unit_test(what_does_not_fit_is_told), cmocka_unit_test(scale_wants_a_model)};
    return cmocka_run_group_tests(tests, write_rows, remove_rows);
}
