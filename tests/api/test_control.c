/* SPDX-License-Identifier: Apache-2.0 */
/* timeout: 120 */
/* Choices, loops and scans, minima and maxima over the batch: what the same lines of C compute, to the bit, and their
 * slopes, under every strategy; conditions of each row; what does not fit is refused by name. */
#include "api/help_api.h"

#include <math.h>

#include "artel/control.h"

enum {
    ROWS = 11,
    STEPS = 37,
    MOST = 40
};

typedef struct form {
    const char *strategy;
    int replicas;
} form;

static const form forms[] = {{"one-device", 1}, {"mirrored", 3}, {"central-storage", 2}};
enum {
    FORMS = sizeof forms / sizeof *forms
};

typedef struct work {
    const artel_argument *arguments;
    int argument_count, output_count;
    artel_trace_fn *trace;
    const artel_array *in, *out;
} work;

static void run(const form *f, const work *w)
{
    artel_context *ctx = api_context();
    artel_strategy *s;
    artel_function *function;
    artel_strategy_options o = ARTEL_STRATEGY_OPTIONS_INIT;
    artel_function_options options = ARTEL_FUNCTION_OPTIONS_INIT;
    o.strategy = f->strategy;
    o.replicas = o.threads = f->replicas;
    o.batch_size = 16;
    api_ok(ctx, artel_strategy_create(ctx, &o, &s));
    options.arguments = w->arguments;
    options.argument_count = w->argument_count;
    options.output_count = w->output_count;
    api_ok(ctx, artel_function_create(s, &options, w->trace, NULL, &function));
    api_ok(ctx, artel_function_run(function, w->in, w->argument_count, w->out, w->output_count));
    artel_strategy_destroy(s);
    artel_context_destroy(ctx);
}

static artel_array rows_of(void *data)
{
    return (artel_array){ARTEL_DTYPE_FLOAT32, {1, {ROWS}}, data};
}

static float numbers[ROWS];

static void make_numbers(void)
{
    for (int i = 0; i < ROWS; i++) numbers[i] = (float)((i * 29 + 7) % ROWS) - 4.5f;
}

/* -- choices -- */

static artel_status negated(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)user;
    out[0] = artel_graph_unary(g, "negative", in[0]);
    out[1] = artel_graph_constant(g, ARTEL_DTYPE_INT32, &(artel_shape){0}, &(int32_t){-7});
    return artel_graph_status(g);
}

static artel_status squared(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)user;
    out[0] = artel_graph_unary(g, "square", in[0]);
    out[1] = artel_graph_constant(g, ARTEL_DTYPE_INT32, &(artel_shape){0}, &(int32_t){9});
    return artel_graph_status(g);
}

static artel_status trace_choice(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)user;
    artel_choice c = {.struct_size = sizeof c,
                      .condition = artel_graph_binary(g, "less", in[0], artel_graph_number(g, 0)),
                      .then = negated,
                      .otherwise = squared,
                      .inputs = in,
                      .output_count = 2};
    artel_graph_choose(g, &c, out);
    return artel_graph_gradients(g, out[0], in, 1, &out[2]);
}

static void test_choice(void **state)
{
    (void)state;
    const artel_argument x = {.name = "x"};
    make_numbers();
    for (int f = 0; f < FORMS; f++) {
        float y[ROWS], slope[ROWS];
        int32_t side[ROWS];
        const artel_array in = rows_of(numbers),
                          out[3] = {rows_of(y), {ARTEL_DTYPE_INT32, {1, {ROWS}}, side}, rows_of(slope)};
        run(&forms[f], &(work){&x, 1, 3, trace_choice, &in, out});
        for (int i = 0; i < ROWS; i++) {
            bool below = numbers[i] < 0;
            assert_true(y[i] == (below ? -numbers[i] : numbers[i] * numbers[i]));
            assert_true(slope[i] == (below ? -1 : 2 * numbers[i]));
            assert_int_equal(side[i], below ? -7 : 9);
        }
    }
}

/* -- loops: square roots by Newton's rule, each row until it is there -- */

static artel_status is_off(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)user;
    artel_value error = artel_graph_binary(g, "subtract", artel_graph_binary(g, "multiply", in[1], in[1]), in[0]);
    artel_value bound = artel_graph_binary(g, "multiply", in[0], artel_graph_number(g, 1e-5));
    out[0] = artel_graph_binary(g, "greater", artel_graph_unary(g, "absolute", error), bound);
    return artel_graph_status(g);
}

static artel_status improve(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)user;
    artel_value sum = artel_graph_binary(g, "add", in[1], artel_graph_binary(g, "divide", in[0], in[1]));
    out[0] = in[0];
    out[1] = artel_graph_binary(g, "multiply", sum, artel_graph_number(g, 0.5));
    out[2] = artel_graph_binary(g, "add", in[2], artel_graph_number(g, 1));
    return artel_graph_status(g);
}

static artel_status trace_roots(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)user;
    artel_value values[3] = {in[0], in[0], artel_graph_number(g, 0)};
    artel_graph_loop(
        g,
        &(artel_loop){
            .struct_size = sizeof(artel_loop), .condition = is_off, .body = improve, .state_count = 3, .most = MOST},
        values);
    out[0] = values[1];
    out[1] = values[2];
    return artel_graph_gradients(g, values[1], in, 1, &out[2]);
}

static void test_loop(void **state)
{
    (void)state;
    const artel_argument x = {.name = "x"};
    float number[ROWS], root[ROWS], rounds[ROWS], slope[ROWS];
    int different = 0;
    for (int i = 0; i < ROWS; i++) number[i] = ldexpf((float)(i + 2) / 3, 3 * i - 12);
    for (int f = 0; f < FORMS; f++) {
        const artel_array in = rows_of(number), out[3] = {rows_of(root), rows_of(rounds), rows_of(slope)};
        run(&forms[f], &(work){&x, 1, 3, trace_roots, &in, out});
        for (int i = 0; i < ROWS; i++) {
            float y = number[i];
            int round = 0;
            for (; round < MOST && fabsf(y * y - number[i]) > number[i] * 1e-5f; round++)
                y = (y + number[i] / y) * 0.5f;
            assert_true(root[i] == y && rounds[i] == (float)round);
            assert_true(fabsf(slope[i] - 0.5f / y) < 1e-3f / y);
            different += i > 0 && rounds[i] != rounds[0];
        }
    }
    assert_true(different > 0);
}

/* -- scans: h = tanh(a h + x), its states and their slopes -- */

static artel_status recur(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)user;
    artel_value sum =
        artel_graph_binary(g, "add", artel_graph_binary(g, "multiply", in[0], artel_graph_number(g, 0.7)), in[1]);
    out[0] = out[1] = artel_graph_unary(g, "tanh", sum);
    return artel_graph_status(g);
}

/* As a later version may have it. */
typedef struct later_scan {
    artel_scan known;
    long unknown;
} later_scan;

static size_t scan_size = sizeof(artel_scan); /* of the program's struct */
static long unknown;

static artel_status trace_scan(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    bool reverse = user != NULL;
    artel_value h = artel_graph_number(g, 0.25);
    later_scan scan = {{.struct_size = scan_size,
                        .body = recur,
                        .sequences = in,
                        .sequence_count = 1,
                        .state_count = 1,
                        .result_count = 1,
                        .axis = 1,
                        .reverse = reverse},
                       unknown};
    artel_graph_scan(g, &scan.known, &h, &out[0]);
    out[1] = h;
    return artel_graph_gradients(g, h, in, 1, &out[2]);
}

static artel_status trace_scan_back(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)user;
    return trace_scan((void *)forms, g, in, out);
}

static void check_scan(float x[ROWS][STEPS], float got[ROWS][STEPS], const float *last, float slope[ROWS][STEPS],
                       bool back)
{
    for (int i = 0; i < ROWS; i++) {
        double h = 0.25, down = 1;
        for (int n = 0; n < STEPS; n++) {
            int t = back ? STEPS - 1 - n : n;
            h = tanh(0.7f * h + x[i][t]);
            assert_true(fabs(got[i][t] - h) < 1e-5);
        }
        assert_true(fabs(last[i] - h) < 1e-5);
        for (int n = STEPS - 1; n >= 0; n--) {
            int t = back ? STEPS - 1 - n : n;
            down *= 1 - (double)got[i][t] * got[i][t];
            assert_true(fabs(slope[i][t] - down) < 1e-5);
            down *= 0.7f;
        }
    }
}

static void test_scan(void **state)
{
    (void)state;
    const artel_argument x = {.name = "x", .shape = {1, {STEPS}}};
    static float value[ROWS][STEPS], got[ROWS][STEPS], slope[ROWS][STEPS], first[2][ROWS][STEPS], last[ROWS];
    for (int i = 0; i < ROWS * STEPS; i++) value[i / STEPS][i % STEPS] = (float)(i * 31 % 19) / 19 - 0.5f;
    for (int f = 0; f < 2 * FORMS; f++) {
        bool back = f % 2;
        const artel_array in = {ARTEL_DTYPE_FLOAT32, {2, {ROWS, STEPS}}, value};
        const artel_array out[3] = {{ARTEL_DTYPE_FLOAT32, {0}, got}, rows_of(last), {ARTEL_DTYPE_FLOAT32, {0}, slope}};
        run(&forms[f / 2], &(work){&x, 1, 3, back ? trace_scan_back : trace_scan, &in, out});
        check_scan(value, got, last, slope, back);
        if (f < 2) memcpy(first[f], slope, sizeof slope);
        assert_memory_equal(first[f % 2], slope, sizeof slope);
    }
}

/* Programs that were compiled with a shorter struct, or a longer one: what the shorter one lacks is 0, and what this
 * library lacks must be. */
static void test_scan_sizes(void **state)
{
    (void)state;
    const artel_argument x = {.name = "x", .shape = {1, {STEPS}}};
    static float value[ROWS][STEPS], got[ROWS][STEPS], slope[ROWS][STEPS], last[ROWS];
    for (int i = 0; i < ROWS * STEPS; i++) value[i / STEPS][i % STEPS] = (float)(i * 31 % 19) / 19 - 0.5f;
    for (int later = 0; later < 2; later++) {
        const artel_array in = {ARTEL_DTYPE_FLOAT32, {2, {ROWS, STEPS}}, value};
        const artel_array out[3] = {{ARTEL_DTYPE_FLOAT32, {0}, got}, rows_of(last), {ARTEL_DTYPE_FLOAT32, {0}, slope}};
        scan_size = later ? sizeof(later_scan) : offsetof(artel_scan, reverse);
        run(&forms[0], &(work){&x, 1, 3, trace_scan_back, &in, out});
        check_scan(value, got, last, slope, later);
    }
    scan_size = sizeof(artel_scan);
}

/* -- minima and maxima of the batch, two of which are equal, with their slopes -- */

static artel_status trace_extremes(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)user;
    out[0] = artel_graph_reduce(g, ARTEL_REDUCTION_MAX, in[0]);
    out[1] = artel_graph_reduce(g, ARTEL_REDUCTION_MIN, in[0]);
    return artel_graph_gradients(g, artel_graph_unary(g, "square", out[0]), in, 1, &out[2]);
}

static void test_extremes(void **state)
{
    (void)state;
    const artel_argument x = {.name = "x"};
    float value[ROWS], slope[ROWS], most, least;
    for (int nan = 0; nan < 2; nan++) {
        for (int i = 0; i < ROWS; i++) value[i] = i == 2 || i == 9 ? 3 : -(float)i;
        if (nan) value[7] = NAN;
        for (int f = 0; f < FORMS; f++) {
            const artel_array in = rows_of(value), out[3] = {rows_of(&most), rows_of(&least), rows_of(slope)};
            run(&forms[f], &(work){&x, 1, 3, trace_extremes, &in, out});
            if (nan) {
                assert_true(isnan(most) && isnan(least));
                continue;
            }
            if (most != 3 || least != -10) fail_msg("%s: %g and %g", forms[f].strategy, (double)most, (double)least);
            for (int i = 0; i < ROWS; i++) assert_true(slope[i] == (i == 2 || i == 9 ? 3 : 0)); /* 2 * 3 / 2 */
        }
    }
}

/* -- refusals -- */

static artel_status wider(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)user;
    out[0] = artel_graph_op(g, "expand_dims", in, 1, "{\"axis\": -1}");
    out[1] = in[0];
    return artel_graph_status(g);
}

static artel_status trace_no_condition(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)user;
    return artel_graph_choose(g,
                              &(artel_choice){.struct_size = sizeof(artel_choice),
                                              .condition = in[0],
                                              .then = negated,
                                              .otherwise = squared,
                                              .inputs = in,
                                              .output_count = 2},
                              out);
}

static artel_status trace_shapes(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)user;
    artel_value below = artel_graph_binary(g, "less", in[0], artel_graph_number(g, 0));
    return artel_graph_choose(g,
                              &(artel_choice){.struct_size = sizeof(artel_choice),
                                              .condition = below,
                                              .then = negated,
                                              .otherwise = wider,
                                              .inputs = in,
                                              .output_count = 1},
                              out);
}

static artel_status trace_axis(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)user;
    artel_value h = artel_graph_number(g, 0);
    return artel_graph_scan(g,
                            &(artel_scan){.struct_size = sizeof(artel_scan),
                                          .body = recur,
                                          .sequences = in,
                                          .sequence_count = 1,
                                          .state_count = 1,
                                          .result_count = 1,
                                          .axis = 1},
                            &h, out);
}

static artel_status trace_unsized_choice(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)user;
    artel_value below = artel_graph_binary(g, "less", in[0], artel_graph_number(g, 0));
    return artel_graph_choose(
        g, &(artel_choice){.condition = below, .then = negated, .otherwise = squared, .inputs = in, .output_count = 2},
        out);
}

static artel_status trace_unsized_loop(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)user;
    out[0] = out[1] = in[0];
    return artel_graph_loop(g, &(artel_loop){.condition = squared, .body = squared, .state_count = 2, .most = 2}, out);
}

static artel_status trace_unsized_scan(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    scan_size = 0;
    artel_status status = trace_scan(user, g, in, out);
    scan_size = sizeof(artel_scan);
    return status;
}

/* A field of a later version that is set. */
static artel_status trace_later_scan(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    scan_size = sizeof(later_scan);
    unknown = -1;
    artel_status status = trace_scan(user, g, in, out);
    scan_size = sizeof(artel_scan);
    unknown = 0;
    return status;
}

/* Writes a variable: one of numbers by the first function, of strings by the second. */
static artel_status writes_number(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    artel_graph_assign_add(g, ((artel_variable **)user)[0], artel_graph_number(g, 1));
    out[0] = in[0];
    return artel_graph_status(g);
}

static artel_status writes_string(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    artel_variable *words = ((artel_variable **)user)[1];
    artel_graph_assign(g, words, artel_graph_variable(g, words));
    out[0] = artel_graph_binary(g, "less", in[0], in[0]);
    return artel_graph_status(g);
}

static artel_status trace_writing_side(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    return artel_graph_choose(g,
                              &(artel_choice){.struct_size = sizeof(artel_choice),
                                              .condition = artel_graph_binary(g, "less", in[0], in[0]),
                                              .then = negated,
                                              .otherwise = writes_number,
                                              .user = user,
                                              .inputs = in,
                                              .output_count = 1},
                              out);
}

static artel_status trace_writing_condition(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    out[0] = in[0];
    return artel_graph_loop(g,
                            &(artel_loop){.struct_size = sizeof(artel_loop),
                                          .condition = writes_string,
                                          .body = squared,
                                          .user = user,
                                          .state_count = 1,
                                          .most = 2},
                            out);
}

static void test_refusals(void **state)
{
    (void)state;
    static const struct {
        artel_trace_fn *trace;
        const char *word;
        artel_status status; /* ARTEL_OK: ARTEL_ERROR_INVALID */
    } wrong[] = {{trace_no_condition, "bool scalar", ARTEL_OK},
                 {trace_shapes, "on the other", ARTEL_OK},
                 {trace_axis, "axis", ARTEL_OK},
                 {trace_unsized_choice, "struct_size is not set", ARTEL_OK},
                 {trace_unsized_loop, "struct_size is not set", ARTEL_OK},
                 {trace_unsized_scan, "struct_size is not set", ARTEL_OK},
                 {trace_later_scan, "older library", ARTEL_ERROR_UNSUPPORTED},
                 {trace_writing_side, "writes a variable", ARTEL_ERROR_UNSUPPORTED},
                 {trace_writing_condition, "writes a variable", ARTEL_ERROR_UNSUPPORTED}};
    artel_context *ctx = api_context();
    artel_strategy *s;
    artel_function *f;
    artel_variable *variable[2];
    artel_function_options o = ARTEL_FUNCTION_OPTIONS_INIT;
    const artel_argument x = {.name = "x"};
    o.arguments = &x;
    o.argument_count = 1;
    o.output_count = 2;
    api_ok(ctx, artel_strategy_create(ctx, NULL, &s));
    for (int i = 0; i < 2; i++) {
        artel_variable_options v = ARTEL_VARIABLE_OPTIONS_INIT;
        v.name = i ? "words" : "number";
        v.dtype = i ? ARTEL_DTYPE_STRING : ARTEL_DTYPE_FLOAT32;
        api_ok(ctx, artel_variable_create(s, &v, &variable[i]));
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(artel_function_create(s, &o, wrong[i].trace, variable, &f),
                         wrong[i].status ? wrong[i].status : ARTEL_ERROR_INVALID);
        if (!strstr(artel_context_error(ctx)->what, wrong[i].word)) fail_msg("%s", artel_context_error(ctx)->what);
    }
    artel_strategy_destroy(s);
    artel_context_destroy(ctx);
}

/* -- whole numbers, beyond 2^24 -- */

enum {
    BIG = 16777217
};

static artel_value whole(artel_graph *g, int32_t number)
{
    return artel_graph_constant(g, ARTEL_DTYPE_INT32, &(artel_shape){0}, &number);
}

static artel_status is_small(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)user;
    out[0] = artel_graph_binary(g, "less", in[0], whole(g, 4 * BIG));
    return artel_graph_status(g);
}

static artel_status grow(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)user;
    out[0] = artel_graph_binary(g, "add", in[0], whole(g, BIG));
    return artel_graph_status(g);
}

static artel_status trace_whole(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)user;
    const int32_t table[3] = {-BIG, 7, BIG};
    const artel_value both[2] = {artel_graph_constant(g, ARTEL_DTYPE_INT32, &(artel_shape){1, {3}}, table), in[1]};
    artel_loop l = {.struct_size = sizeof l, .condition = is_small, .body = grow, .state_count = 1, .most = 9};
    out[0] = in[0];
    artel_graph_loop(g, &l, out);
    out[1] = artel_graph_op(g, "take", both, 2, "{\"axis\": 0}");
    out[2] = artel_graph_binary(g, "multiply", in[1], whole(g, BIG));
    return artel_graph_status(g);
}

static void test_whole(void **state)
{
    (void)state;
    const artel_argument arguments[2] = {{"x", ARTEL_DTYPE_INT32, false, {0}}, {"i", ARTEL_DTYPE_INT32, false, {0}}};
    for (int f = 0; f < FORMS; f++) {
        int32_t x[ROWS], place[ROWS], y[3][ROWS];
        for (int i = 0; i < ROWS; i++) x[i] = i, place[i] = i % 3;
        artel_array in[2] = {rows_of(x), rows_of(place)}, out[3] = {rows_of(y[0]), rows_of(y[1]), rows_of(y[2])};
        for (int i = 0; i < 3; i++) in[i % 2].dtype = out[i].dtype = ARTEL_DTYPE_INT32;
        run(&forms[f], &(work){arguments, 2, 3, trace_whole, in, out});
        for (int i = 0; i < ROWS; i++) {
            assert_int_equal(y[0][i], 4 * BIG + i);
            assert_int_equal(y[1][i], place[i] == 1 ? 7 : (place[i] - 1) * BIG);
            assert_int_equal(y[2][i], place[i] * BIG);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_choice),   cmocka_unit_test(test_loop),
                                       cmocka_unit_test(test_scan),     cmocka_unit_test(test_scan_sizes),
                                       cmocka_unit_test(test_extremes), cmocka_unit_test(test_whole),
                                       cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
