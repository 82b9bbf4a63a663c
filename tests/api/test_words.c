/* SPDX-License-Identifier: Apache-2.0 */
/* timeout: 60 */
/* Variables of strings: made, read, assigned, found again in checkpoints, refused by name where numbers are meant. Text
 * in the control flow of functions, traced and out of a file. */
#include "api/help_allocations.h"
#include "api/help_text.h"
#include "artel/control.h"
#include "artel/saved.h"
#include "artel/session.h"

enum {
    WORDS = 3
};

static artel_strategy *strategy_of(artel_context *ctx)
{
    artel_strategy *strategy;
    artel_strategy_options o = ARTEL_STRATEGY_OPTIONS_INIT;
    o.strategy = "mirrored";
    o.replicas = 2;
    o.batch_size = 4;
    api_ok(ctx, artel_strategy_create(ctx, &o, &strategy));
    return strategy;
}

static artel_status declare(artel_strategy *s, const char *name, int64_t count, const artel_string *initial,
                            artel_variable **out)
{
    artel_variable_options o = ARTEL_VARIABLE_OPTIONS_INIT;
    o.name = name;
    o.dtype = ARTEL_DTYPE_STRING;
    o.shape = (artel_shape){1, {count}};
    o.initial = initial;
    return artel_variable_create(s, &o, out);
}

static void holds(artel_context *ctx, artel_variable *v, const char *const *wanted)
{
    artel_string got[WORDS];
    api_ok(ctx, artel_variable_read_as(v, ARTEL_DTYPE_STRING, got, WORDS));
    for (int i = 0; i < WORDS; i++) {
        assert_int_equal(got[i].length, strlen(wanted[i]));
        assert_string_equal(got[i].bytes, wanted[i]);
    }
}

static const artel_string classes[WORDS] = {WORD("cat"), WORD(""), WORD("d\xC3\xB6g")},
                          others[WORDS] = {WORD("a \"b\"\\\n"), WORD("\xF0\x9F\x98\x80"), WORD("x")};
static const char *const class_text[WORDS] = {"cat", "", "d\xC3\xB6g"},
                         *const other_text[WORDS] = {"a \"b\"\\\n", "\xF0\x9F\x98\x80", "x"},
                         *const empty_text[WORDS] = {"", "", ""};

static void test_variables_of_strings(void **state)
{
    (void)state;
    scene s = begin();
    artel_strategy *strategy = strategy_of(s.ctx);
    artel_variable *v, *none, *found;
    artel_shape shape;
    artel_dtype dtype;
    api_ok(s.ctx, declare(strategy, "classes", WORDS, classes, &v));
    api_ok(s.ctx, declare(strategy, "empty", WORDS, NULL, &none));
    assert_string_equal(artel_variable_name(v), "classes");
    api_ok(s.ctx, artel_variable_shape(v, &shape));
    api_ok(s.ctx, artel_variable_dtype(v, &dtype));
    assert_true(shape.rank == 1 && shape.dim[0] == WORDS && dtype == ARTEL_DTYPE_STRING);
    api_ok(s.ctx, artel_strategy_variable(strategy, "empty", &found));
    assert_ptr_equal(found, none);
    holds(s.ctx, v, class_text);
    holds(s.ctx, none, empty_text);
    artel_string own[WORDS];
    api_ok(s.ctx, artel_variable_read_as(v, ARTEL_DTYPE_STRING, own, WORDS));
    api_ok(s.ctx, artel_variable_assign_as(v, ARTEL_DTYPE_STRING, own, WORDS)); /* of what it holds itself */
    holds(s.ctx, v, class_text);
    api_ok(s.ctx, artel_variable_assign_as(v, ARTEL_DTYPE_STRING, others, WORDS));
    holds(s.ctx, v, other_text);
    artel_strategy_destroy(strategy);
    end(&s);
}

static artel_status trace_assign(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    out[0] = in[0];
    artel_graph_assign(g, user, artel_graph_number(g, 1));
    return artel_graph_status(g);
}

static artel_status trace_twice(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    out[0] = in[0];
    for (int i = 0; i < 2; i++) artel_graph_assign(g, user, artel_graph_variable(g, user));
    return artel_graph_status(g);
}

static artel_status trace_add(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    out[0] = artel_graph_binary(g, "add", in[0], artel_graph_variable(g, user));
    return artel_graph_status(g);
}

/* What a function assigns takes effect when all of its run is well. */
static artel_status trace_join(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    artel_value both[2] = {artel_graph_variable(g, user), artel_graph_variable(g, user)};
    artel_value picked[2] = {both[0], in[0]};
    out[0] = artel_graph_op(g, "take", picked, 2, "{\"axis\": 0}");
    out[1] = both[0];
    artel_graph_assign(g, user, artel_graph_op(g, "string_join", both, 2, "{\"separator\": \"+\"}"));
    return artel_graph_status(g);
}

static void test_functions(void **state)
{
    (void)state;
    scene s = begin();
    artel_strategy *strategy = strategy_of(s.ctx);
    artel_variable *v;
    artel_function *f;
    artel_string picked[2], before[WORDS];
    int32_t place[2] = {2, 0};
    api_ok(s.ctx, declare(strategy, "classes", WORDS, classes, &v));
    const artel_argument argument = {"place", ARTEL_DTYPE_INT32, false, {0, {0}}};
    artel_function_options p = ARTEL_FUNCTION_OPTIONS_INIT;
    p.arguments = &argument;
    p.argument_count = 1;
    p.output_count = 2;
    api_ok(s.ctx, artel_function_create(strategy, &p, trace_join, v, &f));
    assert_non_null(strstr(artel_function_explain(f), "step string_join"));
    const artel_array in = {ARTEL_DTYPE_INT32, {1, {2}}, place};
    const artel_array out[2] = {{.dtype = ARTEL_DTYPE_STRING, .data = picked},
                                {.dtype = ARTEL_DTYPE_STRING, .data = before}};
    api_ok(s.ctx, artel_function_run(f, &in, 1, out, 2));
    assert_true(strcmp(picked[0].bytes, class_text[2]) == 0 && strcmp(picked[1].bytes, class_text[0]) == 0);
    for (int i = 0; i < WORDS; i++) assert_string_equal(before[i].bytes, class_text[i]); /* also once it is written */
    artel_string got[WORDS];
    char wanted[64];
    api_ok(s.ctx, artel_variable_read_as(v, ARTEL_DTYPE_STRING, got, WORDS));
    for (int i = 0; i < WORDS; i++) {
        snprintf(wanted, sizeof wanted, "%s+%s", class_text[i], class_text[i]);
        assert_string_equal(got[i].bytes, wanted);
    }
    place[1] = 3;
    api_refused(s.ctx, artel_function_run(f, &in, 1, out, 2), ARTEL_ERROR_INVALID, "the index 3");
    api_ok(s.ctx, artel_variable_read_as(v, ARTEL_DTYPE_STRING, got, WORDS));
    assert_string_equal(got[WORDS - 1].bytes, wanted);
    artel_strategy_destroy(strategy);
    end(&s);
}

/* Every kind of step: before the graph and behind it, moved, chosen, gathered, looked up, assigned. */
static artel_status trace_steps(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    const artel_string sign = WORD("!");
    artel_value join[2] = {in[0], artel_graph_constant(g, ARTEL_DTYPE_STRING, &(artel_shape){0, {0}}, &sign)}, pair[2];
    artel_value lower = artel_graph_unary(g, "string_lower", artel_graph_op(g, "string_join", join, 2, NULL));
    artel_value place = artel_graph_op(g, "StringLookup", &lower, 1, "{\"vocabulary\": [\"a!\", \"b!\"]}");
    out[0] = artel_graph_binary(g, "multiply", place, place);
    out[1] = artel_graph_op(g, "string_as_string", &out[0], 1, NULL);
    pair[0] = lower;
    pair[1] = out[1];
    out[2] = artel_graph_op(g, "stack", pair, 2, "{\"axis\": 1}");
    artel_value both[3] = {artel_graph_binary(g, "equal", in[0], lower), lower, out[1]};
    out[3] = artel_graph_gather(g, artel_graph_op(g, "where", both, 3, NULL));
    out[4] = artel_graph_op(g, "StringLookup", &out[0], 1, "{\"vocabulary\": [\"a\", \"b\"], \"invert\": true}");
    out[5] = artel_graph_gather_along(g, out[2], 1);
    out[6] = artel_graph_gather_along(
        g, artel_graph_op(g, "stack", (artel_value[]){out[2], out[2]}, 2, "{\"axis\": 1}"), -1);
    artel_value words = artel_graph_variable(g, user);
    artel_graph_assign(g, user, artel_graph_unary(g, "string_upper", words));
    return artel_graph_status(g);
}

static artel_status work(artel_context *ctx)
{
    artel_strategy *strategy = NULL;
    artel_variable *v;
    artel_function *f;
    int32_t squares[2];
    artel_string texts[2][2] = {{WORD("A"), WORD("b")}}, strings[5][4 * WORDS];
    artel_strategy_options o = ARTEL_STRATEGY_OPTIONS_INIT;
    const artel_argument argument = {"x", ARTEL_DTYPE_STRING, false, {0, {0}}};
    artel_function_options p = ARTEL_FUNCTION_OPTIONS_INIT;
    p.arguments = &argument;
    p.argument_count = 1;
    p.output_count = 7;
    o.strategy = "mirrored";
    o.replicas = 2;
    o.batch_size = 2;
    o.threads = 2;
    const artel_array in = {ARTEL_DTYPE_STRING, {1, {2}}, texts[0]};
    const artel_array out[7] = {
        {.dtype = ARTEL_DTYPE_INT32, .data = squares},     {.dtype = ARTEL_DTYPE_STRING, .data = texts[1]},
        {.dtype = ARTEL_DTYPE_STRING, .data = strings[0]}, {.dtype = ARTEL_DTYPE_STRING, .data = strings[1]},
        {.dtype = ARTEL_DTYPE_STRING, .data = strings[2]}, {.dtype = ARTEL_DTYPE_STRING, .data = strings[3]},
        {.dtype = ARTEL_DTYPE_STRING, .data = strings[4]}};
    artel_status status = artel_strategy_create(ctx, &o, &strategy);
    if (status == ARTEL_OK) status = declare(strategy, "classes", WORDS, classes, &v);
    if (status == ARTEL_OK) status = artel_function_create(strategy, &p, trace_steps, v, &f);
    for (int i = 0; i < 2 && status == ARTEL_OK; i++) status = artel_function_run(f, &in, 1, out, 7);
    if (status == ARTEL_OK) {
        assert_true(squares[0] == 1 && squares[1] == 4);
        assert_string_equal(strings[0][2].bytes, "b!");
        assert_string_equal(strings[0][3].bytes, "4");
        assert_string_equal(strings[1][1].bytes, "4");
        assert_string_equal(strings[2][0].bytes, "a");
        assert_string_equal(strings[2][1].bytes, "[UNK]");
        for (int i = 0; i < 4; i++) { /* of two copies of two rows of two strings */
            assert_string_equal(strings[3][i].bytes, strings[0][i].bytes);
            for (int copy = 0; copy < 2; copy++)
                assert_string_equal(strings[4][copy * 4 + i].bytes, strings[0][i].bytes);
        }
    }
    artel_strategy_destroy(strategy);
    return status;
}

static void test_failing_allocations(void **state)
{
    (void)state;
    api_fail_each_allocation(work, 100);
}

static void test_refusals(void **state)
{
    (void)state;
    scene s = begin();
    artel_strategy *strategy = strategy_of(s.ctx);
    artel_variable *v, *other;
    artel_function *f;
    artel_optimizer *optimizer;
    artel_device_setter *setter;
    artel_string word = WORD("\xC3(");
    float number = 0;
    api_ok(s.ctx, declare(strategy, "a/classes", WORDS, classes, &v));
    api_refused(s.ctx, declare(strategy, "a.classes", 1, NULL, &other), ARTEL_ERROR_INVALID, "but for dots");
    api_refused(s.ctx, declare(strategy, "b", 1, &word, &other), ARTEL_ERROR_INVALID, "UTF-8");
    word = (artel_string){"a\0b", 3};
    api_refused(s.ctx, declare(strategy, "b", 1, &word, &other), ARTEL_ERROR_UNSUPPORTED, "a byte of 0");
    word = (artel_string){NULL, 3};
    api_refused(s.ctx, declare(strategy, "b", 1, &word, &other), ARTEL_ERROR_INVALID, "element 0 has none");
    api_refused(s.ctx, declare(strategy, "b", 0, NULL, &other), ARTEL_ERROR_INVALID, "no elements");
    api_refused(s.ctx, declare(strategy, "b", INT64_C(1) << 60, NULL, &other), ARTEL_ERROR_NO_MEMORY, "b");
    artel_variable_options o = ARTEL_VARIABLE_OPTIONS_INIT;
    o.name = "b";
    o.dtype = ARTEL_DTYPE_STRING;
    o.initializer = "zeros";
    api_refused(s.ctx, artel_variable_create(strategy, &o, &other), ARTEL_ERROR_INVALID, "nothing draws strings");
    api_refused(s.ctx, artel_variable_read(v, &number, 1), ARTEL_ERROR_INVALID, "1 elements of 3");
    api_refused(s.ctx, artel_variable_read_as(v, ARTEL_DTYPE_INT32, &number, WORDS), ARTEL_ERROR_INVALID,
                "holds strings");
    api_refused(s.ctx, artel_variable_assign(v, &number, WORDS), ARTEL_ERROR_INVALID, "holds strings");
    artel_string bad[WORDS] = {WORD("x"), WORD("y"), WORD("\xC3(")};
    api_refused(s.ctx, artel_variable_assign_as(v, ARTEL_DTYPE_STRING, bad, WORDS), ARTEL_ERROR_INVALID, "element 2");
    holds(s.ctx, v, class_text);
    api_refused(s.ctx, artel_optimizer_create(strategy, "sgd", &v, 1, &optimizer), ARTEL_ERROR_UNSUPPORTED,
                "a/classes");
    api_refused(s.ctx, artel_variable_set_device(v, "/job:ps/task:0"), ARTEL_ERROR_UNSUPPORTED, "a/classes");
    artel_device_setter_options d = ARTEL_DEVICE_SETTER_OPTIONS_INIT;
    api_ok(s.ctx, artel_device_setter_create(s.ctx, &d, &setter));
    api_refused(s.ctx, artel_device_setter_place(setter, &v, 1), ARTEL_ERROR_UNSUPPORTED, "a/classes");
    artel_device_setter_destroy(setter);
    const artel_argument argument = {"x", ARTEL_DTYPE_FLOAT32, false, {0, {0}}};
    artel_function_options p = ARTEL_FUNCTION_OPTIONS_INIT;
    p.arguments = &argument;
    p.argument_count = p.output_count = 1;
    api_refused(s.ctx, artel_function_create(strategy, &p, trace_assign, v, &f), ARTEL_ERROR_INVALID, "of numbers");
    api_refused(s.ctx, artel_function_create(strategy, &p, trace_twice, v, &f), ARTEL_ERROR_INVALID, "twice");
    api_refused(s.ctx, artel_function_create(strategy, &p, trace_add, v, &f), ARTEL_ERROR_UNSUPPORTED, "is text");
    artel_strategy_destroy(strategy);
    end(&s);
}

static artel_strategy *declared(artel_context *ctx, int64_t count, artel_variable **words, artel_variable **number)
{
    artel_strategy *strategy = strategy_of(ctx);
    artel_variable_options o = ARTEL_VARIABLE_OPTIONS_INIT;
    o.name = "count";
    api_ok(ctx, artel_variable_create(strategy, &o, number));
    api_ok(ctx, declare(strategy, "classes", count, NULL, words));
    return strategy;
}

static void test_checkpoints(void **state)
{
    (void)state;
    scene s = begin();
    artel_variable *words, *number;
    char folder[64];
    float value = 7;
    int64_t step;
    api_folder_make(folder);
    artel_strategy *strategy = declared(s.ctx, WORDS, &words, &number);
    api_ok(s.ctx, artel_variable_assign_as(words, ARTEL_DTYPE_STRING, others, WORDS));
    api_ok(s.ctx, artel_variable_assign(number, &value, 1));
    api_ok(s.ctx, artel_strategy_save(strategy, folder, 5, 0));
    artel_strategy_destroy(strategy);
    strategy = declared(s.ctx, WORDS, &words, &number);
    api_ok(s.ctx, artel_strategy_restore(strategy, folder, &step));
    assert_int_equal(step, 5);
    holds(s.ctx, words, other_text);
    api_ok(s.ctx, artel_variable_read(number, &value, 1));
    assert_true(value == 7);
    artel_strategy_destroy(strategy);
    strategy = declared(s.ctx, 1, &words, &number); /* another shape: nothing is taken */
    api_refused(s.ctx, artel_strategy_restore(strategy, folder, &step), ARTEL_ERROR_CORRUPT, "classes of strings");
    api_ok(s.ctx, artel_variable_read(number, &value, 1));
    assert_true(value == 0);
    artel_strategy_destroy(strategy);
    api_folder_remove(folder);
    end(&s);
}

/* -- control flow -- */

enum {
    ROWS = 4,
    TOKENS = 4
};

static const artel_string rows[ROWS] = {WORD("a good film"), WORD("film"), WORD("bad"), WORD("good")};

#define FIRST "{\"vocabulary\": [\"film\", \"good\"]}"
#define SECOND "{\"vocabulary\": [\"bad\", \"good\", \"film\"]}"
#define TEXT_SETTINGS "{\"vocabulary\": [\"\", \"[UNK]\", \"film\", \"good\"], \"output_sequence_length\": 4}"

static artel_status trace_second(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)user;
    out[0] = artel_graph_op(g, "StringLookup", in, 1, SECOND);
    return artel_graph_status(g);
}

static artel_status trace_first(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)user;
    out[0] = artel_graph_op(g, "StringLookup", in, 1, FIRST);
    return artel_graph_status(g);
}

static artel_status trace_below(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    const int32_t five = 5;
    (void)user;
    const artel_value limit = artel_graph_constant(g, ARTEL_DTYPE_INT32, &(artel_shape){.rank = 0}, &five);
    const artel_value flat = artel_graph_op(g, "reshape", in, 1, "{\"newshape\": [-1]}");
    out[0] = artel_graph_binary(g, "less", flat, limit);
    return artel_graph_status(g);
}

static artel_status trace_more(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    const artel_value *text = user;
    out[0] = artel_graph_binary(g, "add", in[0], artel_graph_op(g, "StringLookup", text, 1, SECOND));
    return artel_graph_status(g);
}

static artel_status trace_sum(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    const int32_t ten = 10;
    (void)user;
    const artel_value base = artel_graph_constant(g, ARTEL_DTYPE_INT32, &(artel_shape){.rank = 0}, &ten);
    const artel_value shifted = artel_graph_binary(g, "multiply", in[0], base);
    out[0] = artel_graph_binary(g, "add", shifted, in[1]);
    return artel_graph_status(g);
}

/* A look-up in each branch, one in a loop, and a scan of tokens. */
static artel_status trace_flow(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    const int32_t two = 2;
    artel_value text = in[0];
    (void)user;
    const artel_value first = artel_graph_op(g, "StringLookup", in, 1, FIRST);
    const artel_value flat = artel_graph_op(g, "reshape", &first, 1, "{\"newshape\": [-1]}");
    const artel_value limit = artel_graph_constant(g, ARTEL_DTYPE_INT32, &(artel_shape){.rank = 0}, &two);
    const artel_choice choice = {.struct_size = sizeof choice,
                                 .condition = artel_graph_binary(g, "equal", flat, limit),
                                 .then = trace_second,
                                 .otherwise = trace_first,
                                 .inputs = in,
                                 .output_count = 1};
    artel_graph_choose(g, &choice, &out[0]);
    const artel_loop loop = {.struct_size = sizeof loop,
                             .condition = trace_below,
                             .body = trace_more,
                             .user = &text,
                             .state_count = 1,
                             .most = 4};
    out[1] = first;
    artel_graph_loop(g, &loop, &out[1]);
    const artel_value tokens = artel_graph_op(g, "TextVectorization", in, 1, TEXT_SETTINGS);
    const artel_scan scan = {.struct_size = sizeof scan,
                             .body = trace_sum,
                             .sequences = &tokens,
                             .sequence_count = 1,
                             .state_count = 1,
                             .axis = 1};
    out[2] = artel_graph_op(g, "multiply", (artel_value[]){flat, flat}, 2, NULL);
    artel_graph_scan(g, &scan, &out[2], NULL);
    return artel_graph_status(g);
}

static artel_status make(artel_strategy *strategy, artel_trace_fn *trace, int outputs, artel_function **out)
{
    const artel_argument argument = {"text", ARTEL_DTYPE_STRING, false, {1, {1}}};
    artel_function_options p = ARTEL_FUNCTION_OPTIONS_INIT;
    p.name = "flow";
    p.arguments = &argument;
    p.argument_count = 1;
    p.output_count = outputs;
    return artel_function_create(strategy, &p, trace, NULL, out);
}

static void run_flow(artel_context *ctx, artel_function *f)
{
    /* As tf.where, tf.while_loop and tf.scan with keras.layers.StringLookup and TextVectorization have them. */
    static const int32_t chosen[ROWS] = {0, 1, 0, 2}, looped[ROWS] = {0, 7, 4, 6},
                         scanned[ROWS] = {1320, 12000, 1000, 43000};
    int32_t got[3][ROWS];
    const artel_array in = {ARTEL_DTYPE_STRING, {2, {ROWS, 1}}, (void *)(uintptr_t)rows};
    artel_array out[3];
    for (int i = 0; i < 3; i++) out[i] = (artel_array){.dtype = ARTEL_DTYPE_INT32, .data = got[i]};
    api_ok(ctx, artel_function_run(f, &in, 1, out, 3));
    assert_memory_equal(got[0], chosen, sizeof chosen);
    assert_memory_equal(got[1], looped, sizeof looped);
    assert_memory_equal(got[2], scanned, sizeof scanned);
}

static void test_control_flow_of_text(void **state)
{
    (void)state;
    scene s = begin();
    artel_function *f;
    char folder[64], path[96];
    api_folder_make(folder);
    snprintf(path, sizeof path, "%s/flow.artel", folder);
    artel_strategy *strategy = strategy_of(s.ctx);
    api_ok(s.ctx, make(strategy, trace_flow, 3, &f));
    run_flow(s.ctx, f);
    api_ok(s.ctx, artel_functions_save(strategy, &f, 1, path));
    artel_strategy_destroy(strategy);
    api_ok(s.ctx, artel_functions_load(s.ctx, path, NULL, &strategy));
    api_ok(s.ctx, artel_strategy_function(strategy, "flow", &f));
    run_flow(s.ctx, f);
    artel_strategy_destroy(strategy);
    api_folder_remove(folder);
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_variables_of_strings), cmocka_unit_test(test_functions),
        cmocka_unit_test(test_failing_allocations),  cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_checkpoints),          cmocka_unit_test(test_control_flow_of_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
