/* SPDX-License-Identifier: Apache-2.0 */
/* timeout: 300 */
/* What a run reads and writes besides rows, under every strategy (as test_conformance.c, with its arguments), in exact
 * numbers: a strategy is nothing to what is computed beside it (ST1), each row is computed once (ST3), rows of all
 * replicas within a function and their gradients (ST5), values of all replicas and variables by reductions (ST7, VA1),
 * values as parameter servers have them, by other means than closures (VA7), averages and metrics in variables, and
 * going on from them (VA9). */
#include "api/help_conformance_rows.h"

#include <math.h>
#include <stdatomic.h>

#include "artel/eager.h"
#include "artel/extend.h"

enum {
    MOST_VARIABLES = 4,
    TABLE = 3 /* rows of a table */
};

typedef struct scene {
    rows_stage stage;
    artel_variable *variable[MOST_VARIABLES];
} scene;

static scene begin(const conformance_form *f, int variables, int64_t width, const float *initial)
{
    static const char *const names[MOST_VARIABLES] = {"a", "b", "c", "d"};
    scene s = {.stage = rows_begin(f)};
    artel_variable_options o = ARTEL_VARIABLE_OPTIONS_INIT;
    for (int i = 0; i < variables; i++) {
        o.name = names[i];
        o.initial = initial ? initial + i : NULL;
        if (width > 1) o.shape = (artel_shape){1, {width}};
        api_ok(s.stage.ctx, artel_variable_create(s.stage.strategy, &o, &s.variable[i]));
    }
    return s;
}

static artel_function *make(scene *s, const artel_argument *arguments, int count, int outputs, artel_trace_fn *trace)
{
    artel_function_options o = ARTEL_FUNCTION_OPTIONS_INIT;
    artel_function *f;
    o.arguments = arguments;
    o.argument_count = count;
    o.output_count = outputs;
    api_ok(s->stage.ctx, artel_function_create(s->stage.strategy, &o, trace, s, &f));
    return f;
}

/* The numbers of a batch: multiples of an eighth, whose sums are exact. */
static float number_of(int i)
{
    return (float)(i * 37 % 53) / 8 - 3;
}

static void fill_rows(void)
{
    for (int i = 0; i < BATCH * WIDTH; i++) rows_of[i] = number_of(i);
}

static float sum_of(int rows)
{
    float sum = 0;
    for (int i = 0; i < rows * WIDTH; i++) sum += number_of(i);
    return sum;
}

static void check(scene *s, int variable, const float *wanted, int count)
{
    float got[WIDTH];
    api_ok(s->stage.ctx, artel_variable_read(s->variable[variable], got, count));
    for (int i = 0; i < count; i++) {
        if (got[i] != wanted[i])
            fail_msg("%s: variable %d, element %d: %g, not %g", s->stage.on.form->strategy, variable, i, (double)got[i],
                     (double)wanted[i]);
    }
}

/* -- ST1: what is made from the context, and not from the strategy, is computed beside it, and counts for nothing -- */

static void ST1_beside_a_strategy(void **state)
{
    (void)state;
    for (int f = 0; f < conformance_count; f++) {
        scene s = begin(&conformance_forms[f], 1, 1, NULL);
        artel_eager *eager;
        artel_ndarray *x, *y;
        float got[WIDTH];
        fill_rows();
        api_ok(s.stage.ctx, artel_eager_create(s.stage.ctx, NULL, &eager));
        api_ok(s.stage.ctx, artel_ndarray_create(eager, ARTEL_DTYPE_FLOAT32, &(artel_shape){1, {WIDTH}}, rows_of, &x));
        api_ok(s.stage.ctx, artel_eager_binary(eager, "add", x, x, &y));
        api_ok(s.stage.ctx, artel_ndarray_read(y, ARTEL_DTYPE_FLOAT32, got, WIDTH));
        for (int i = 0; i < WIDTH; i++) assert_true(got[i] == 2 * rows_of[i]);
        assert_true(artel_strategy_runs(s.stage.strategy) == 0);
        artel_ndarray_release(x);
        artel_ndarray_release(y);
        artel_eager_destroy(eager);
        rows_end(&s.stage);
    }
}

/* -- ST3: each row is computed once, by one replica of one task -- */

static atomic_int computed;

static artel_status infer_same(void *user, const artel_shape *in, int count, artel_shape *out)
{
    (void)user, (void)count;
    *out = in[0];
    return ARTEL_OK;
}

static void count_rows(void *user, int64_t rows, int64_t width, const float *const *in, float *out)
{
    (void)user;
    atomic_fetch_add(&computed, (int)rows);
    memcpy(out, in[0], (size_t)(rows * width) * sizeof *out);
}

static artel_status trace_counting(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    const artel_operation op = {.struct_size = sizeof op, .name = "count", .infer = infer_same, .compute = count_rows};
    (void)user;
    out[0] = artel_graph_custom(g, &op, in, 1);
    return artel_graph_status(g);
}

static void ST3_each_row_once(void **state)
{
    const artel_argument x = {.name = "x", .shape = {1, {WIDTH}}};
    (void)state;
    for (int f = 0; f < conformance_count && !conformance_forms[f].device; f++) {
        scene s = begin(&conformance_forms[f], 0, 1, NULL);
        float y[BATCH * WIDTH];
        artel_function *function = make(&s, &x, 1, 1, trace_counting);
        bool here = conformance_start(&s.stage.on);
        for (int rows = BATCH; rows > 0 && here; rows -= 5) {
            atomic_store(&computed, 0);
            rows_run(&s.stage, function, rows, (float *[]){y}, 1);
            assert_memory_equal(y, rows_of, sizeof(float) * (size_t)(rows * WIDTH));
            int here_of = atomic_load(&computed);
            if (s.stage.on.coordinator)
                assert_int_equal(here_of, 0); /* a worker's */
            else if (s.stage.on.form->together)
                assert_true(here_of <= (rows + conformance_tasks - 1) / conformance_tasks + 2 && /* in whole shards */
                            (here_of > 0 || rows < BATCH));
            else
                assert_int_equal(here_of, rows);
        }
        rows_end(&s.stage);
    }
}

/* -- ST5: all rows within a function. Row i has the loss c[i] x[i] . (sum of all x), so with S that sum and T the sum
 * of c[i] x[i] its gradient is c[i] S + T, as tf.distribute's all_gather() gives it; and that of the gradient's squares
 * is known as well -- */

static artel_status trace_gather(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)user;
    artel_value c = artel_graph_op(g, "cast", &in[1], 1, "{\"dtype\": \"float32\"}");
    artel_value positive = artel_graph_binary(g, "greater", in[1], artel_graph_number(g, 0));
    out[0] = artel_graph_gather(g, in[0]);
    out[1] = artel_graph_gather(g, in[1]);
    out[2] = artel_graph_gather(g, positive);
    artel_value all = artel_graph_unary(g, "transpose", out[0]);
    artel_value pairs = artel_graph_binary(g, "matmul", in[0], all);
    artel_value sum = artel_graph_op(g, "sum", &pairs, 1, "{\"axis\": 1}");
    artel_graph_gradients(g, artel_graph_binary(g, "multiply", c, sum), in, 1, &out[3]);
    artel_graph_gradients(g, artel_graph_unary(g, "square", out[3]), in, 1, &out[4]);
    artel_value pair = artel_graph_op(g, "stack", (artel_value[]){in[0], in[0]}, 2, "{\"axis\": 2}");
    out[6] = artel_graph_gather_along(g, pair, -1);
    out[7] = artel_graph_gather_along(g, in[0], 1);
    artel_graph_gradients(g, artel_graph_unary(g, "square", out[6]), in, 1, &out[8]);
    out[9] = artel_graph_gather_along(g, positive, 0);
    return artel_graph_gradients(g, artel_graph_unary(g, "square", out[0]), in, 1, &out[5]); /* shared: counts once */
}

typedef struct gathered {
    float all[BATCH * WIDTH], slope[BATCH * WIDTH], second[BATCH * WIDTH], square[BATCH * WIDTH];
    float last[WIDTH * BATCH * 2], line[BATCH * WIDTH], pairs[BATCH * WIDTH]; /* joined along axes of rows */
    int32_t place[BATCH];
    uint8_t positive[BATCH], again[BATCH];
} gathered;

static int32_t factor_of(int row)
{
    return row * 5 % 7 - 3;
}

static void check_gathered(const gathered *got, int rows)
{
    float S[WIDTH] = {0}, T[WIDTH] = {0}, sum[WIDTH] = {0}, weighted[WIDTH] = {0};
    for (int i = 0; i < rows * WIDTH; i++) {
        S[i % WIDTH] += number_of(i);
        T[i % WIDTH] += number_of(i) * (float)factor_of(i / WIDTH);
    }
    for (int i = 0; i < rows * WIDTH; i++) {
        float c = (float)factor_of(i / WIDTH), slope = c * S[i % WIDTH] + T[i % WIDTH];
        assert_true(got->slope[i] == slope);
        sum[i % WIDTH] += slope;
        weighted[i % WIDTH] += c * slope;
    }
    for (int i = 0; i < BATCH * WIDTH; i++) assert_true(got->all[i] == (i < rows * WIDTH ? number_of(i) : 0));
    for (int i = 0; i < rows * WIDTH; i++) {
        assert_true(got->square[i] == 2 * number_of(i));
        assert_true(got->second[i] == 2 * (weighted[i % WIDTH] + (float)factor_of(i / WIDTH) * sum[i % WIDTH]));
    }
    for (int i = 0; i < WIDTH * BATCH * 2; i++) {
        int row = i % (BATCH * 2) / 2, column = i / (BATCH * 2);
        assert_true(got->last[i] == (row < rows ? number_of(row * WIDTH + column) : 0));
    }
    for (int i = 0; i < rows * WIDTH; i++) assert_true(got->pairs[i] == 4 * number_of(i));
    assert_memory_equal(got->line, got->all, sizeof got->line);
    assert_memory_equal(got->again, got->positive, sizeof got->again);
    for (int r = 0; r < BATCH; r++) {
        assert_int_equal(got->place[r], r < rows ? factor_of(r) : 0);
        assert_int_equal(got->positive[r], r < rows && factor_of(r) > 0);
    }
}

static artel_status trace_gather_shared(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)user, (void)in;
    out[0] = artel_graph_gather(g, artel_graph_number(g, 1));
    return artel_graph_status(g);
}

static artel_status trace_gather_shared_along(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)user, (void)in;
    out[0] = artel_graph_gather_along(g, artel_graph_number(g, 1), 0);
    return artel_graph_status(g);
}

static artel_status trace_gather_nowhere(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)user;
    out[0] = artel_graph_gather_along(g, in[0], 2);
    return artel_graph_status(g);
}

static void ST5_all_gather(void **state)
{
    const artel_argument arguments[2] = {{.name = "x", .shape = {1, {WIDTH}}},
                                         {"place", ARTEL_DTYPE_INT32, false, {0, {0}}}};
    (void)state;
    for (int f = 0; f < conformance_count; f++) {
        scene s = begin(&conformance_forms[f], 0, 1, NULL);
        rows_refused(&s.stage, trace_gather_shared, "no rows");
        rows_refused(&s.stage, trace_gather_shared_along, "no rows");
        rows_refused(&s.stage, trace_gather_nowhere, "no axis 2");
        artel_function *function = make(&s, arguments, 2, 10, trace_gather);
        bool here = conformance_start(&s.stage.on);
        fill_rows();
        for (int rows = BATCH; rows > 0 && here; rows -= 5) {
            gathered got;
            int32_t place[BATCH];
            for (int r = 0; r < BATCH; r++) place[r] = factor_of(r);
            const artel_array in[2] = {{ARTEL_DTYPE_FLOAT32, {2, {rows, WIDTH}}, rows_of},
                                       {ARTEL_DTYPE_INT32, {1, {rows}}, place}},
                              out[10] = {{.dtype = ARTEL_DTYPE_FLOAT32, .data = got.all},
                                         {.dtype = ARTEL_DTYPE_INT32, .data = got.place},
                                         {.dtype = ARTEL_DTYPE_BOOL, .data = got.positive},
                                         {.dtype = ARTEL_DTYPE_FLOAT32, .data = got.slope},
                                         {.dtype = ARTEL_DTYPE_FLOAT32, .data = got.second},
                                         {.dtype = ARTEL_DTYPE_FLOAT32, .data = got.square},
                                         {.dtype = ARTEL_DTYPE_FLOAT32, .data = got.last},
                                         {.dtype = ARTEL_DTYPE_FLOAT32, .data = got.line},
                                         {.dtype = ARTEL_DTYPE_FLOAT32, .data = got.pairs},
                                         {.dtype = ARTEL_DTYPE_BOOL, .data = got.again}};
            api_ok(s.stage.ctx, conformance_run(&s.stage.on, function, in, 2, out, 10));
            check_gathered(&got, rows);
        }
        rows_end(&s.stage);
    }
}

/* -- ST7, VA1: a value that all have alike goes to every replica; variables take what was reduced, in any way -- */

static artel_status trace_shared(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    scene *s = user;
    out[0] = artel_graph_binary(g, "multiply", in[0], in[1]);
    out[1] = artel_graph_binary(g, "add", in[1], in[1]);
    artel_graph_assign(g, s->variable[0], artel_graph_reduce(g, ARTEL_REDUCTION_SUM, out[0]));
    artel_graph_assign(g, s->variable[1], in[1]);
    return artel_graph_status(g);
}

static void ST7_broadcast(void **state)
{
    const artel_argument arguments[2] = {
        {.name = "x", .shape = {1, {WIDTH}}},
        {.name = "w", .dtype = ARTEL_DTYPE_FLOAT32, .shared = true, .shape = {1, {WIDTH}}}};
    float w[WIDTH] = {1, -2, 0.5f};
    (void)state;
    for (int f = 0; f < conformance_count; f++) {
        scene s = begin(&conformance_forms[f], 2, WIDTH, NULL);
        artel_function *function = make(&s, arguments, 2, 2, trace_shared);
        float y[BATCH * WIDTH], twice[WIDTH], sum[WIDTH] = {0};
        const artel_array in[2] = {{ARTEL_DTYPE_FLOAT32, {2, {BATCH, WIDTH}}, rows_of},
                                   {ARTEL_DTYPE_FLOAT32, {1, {WIDTH}}, w}},
                          out[2] = {{.dtype = ARTEL_DTYPE_FLOAT32, .data = y},
                                    {.dtype = ARTEL_DTYPE_FLOAT32, .data = twice}};
        fill_rows();
        if (conformance_start(&s.stage.on)) {
            api_ok(s.stage.ctx, conformance_run(&s.stage.on, function, in, 2, out, 2));
            for (int i = 0; i < BATCH * WIDTH; i++) {
                assert_true(y[i] == number_of(i) * w[i % WIDTH]);
                sum[i % WIDTH] += y[i];
            }
            for (int c = 0; c < WIDTH; c++) assert_true(twice[c] == 2 * w[c]);
            check(&s, 0, sum, WIDTH);
            check(&s, 1, w, WIDTH);
        }
        rows_end(&s.stage);
    }
}

static artel_status trace_ways(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    static const artel_reduction way[] = {ARTEL_REDUCTION_SUM, ARTEL_REDUCTION_MEAN, ARTEL_REDUCTION_MIN,
                                          ARTEL_REDUCTION_MAX};
    scene *s = user;
    out[0] = in[0];
    for (int i = 0; i < MOST_VARIABLES; i++)
        artel_graph_assign(g, s->variable[i], artel_graph_reduce(g, way[i], in[0]));
    return artel_graph_status(g);
}

static void VA1_aggregations(void **state)
{
    const artel_argument x = {.name = "x", .shape = {1, {WIDTH}}};
    (void)state;
    for (int f = 0; f < conformance_count; f++) {
        scene s = begin(&conformance_forms[f], MOST_VARIABLES, WIDTH, NULL);
        artel_function *function = make(&s, &x, 1, 1, trace_ways);
        float y[BATCH * WIDTH], wanted[MOST_VARIABLES][WIDTH], more[WIDTH + 1] = {0};
        if (conformance_start(&s.stage.on)) {
            rows_run(&s.stage, function, BATCH, (float *[]){y}, 1);
            for (int c = 0; c < WIDTH; c++) {
                wanted[0][c] = 0;
                wanted[2][c] = wanted[3][c] = number_of(c);
                for (int r = 0; r < BATCH; r++) {
                    float v = number_of(r * WIDTH + c);
                    wanted[0][c] += v;
                    wanted[2][c] = fminf(wanted[2][c], v);
                    wanted[3][c] = fmaxf(wanted[3][c], v);
                }
                wanted[1][c] = wanted[0][c] / BATCH; /* of sixteen rows: exact */
            }
            for (int i = 0; i < MOST_VARIABLES; i++) check(&s, i, wanted[i], WIDTH);
            api_refused(s.stage.ctx, artel_variable_assign(s.variable[0], more, WIDTH + 1), ARTEL_ERROR_INVALID, "4");
            check(&s, 0, wanted[0], WIDTH); /* one value for all, and nothing else */
        }
        rows_end(&s.stage);
    }
}

/* -- VA1: rows that are assigned become what the variable says; one that says nothing refuses them, and one that says
 * what there is not is refused itself -- */

static artel_status trace_aggregated(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    scene *s = user;
    out[0] = in[0];
    for (int i = 0; i < 3; i++) artel_graph_assign(g, s->variable[i], in[0]);
    return artel_graph_status(g);
}

static artel_status trace_unsaid(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    out[0] = in[0];
    artel_graph_assign(g, ((rows_stage *)user)->variable, in[0]);
    return artel_graph_status(g);
}

static void declare_aggregated(scene *s)
{
    static const char *const ways[] = {"sum", "mean", "only_first_replica", "none", "first"};
    artel_variable_options o = ARTEL_VARIABLE_OPTIONS_INIT;
    artel_variable *none;
    o.shape = (artel_shape){1, {WIDTH}};
    for (int i = 0; i < 5; i++) {
        o.name = o.aggregation = ways[i];
        artel_status status = artel_variable_create(s->stage.strategy, &o, i < 3 ? &s->variable[i] : &none);
        if (i < 4)
            api_ok(s->stage.ctx, status);
        else
            api_refused(s->stage.ctx, status, ARTEL_ERROR_INVALID, "first");
    }
    s->stage.variable = none;
    rows_refused(&s->stage, trace_unsaid, "rows");
    assert_non_null(strstr(artel_context_error(s->stage.ctx)->advice, "aggregation"));
}

static void VA1_rows_are_assigned(void **state)
{
    const artel_argument x = {.name = "x", .shape = {1, {WIDTH}}};
    (void)state;
    for (int f = 0; f < conformance_count; f++) {
        scene s = begin(&conformance_forms[f], 0, 1, NULL);
        float y[BATCH * WIDTH], sum[WIDTH] = {0}, mean[WIDTH], first[WIDTH];
        declare_aggregated(&s);
        artel_function *function = make(&s, &x, 1, 1, trace_aggregated);
        if (conformance_start(&s.stage.on)) {
            rows_run(&s.stage, function, 8, (float *[]){y}, 1);
            for (int i = 0; i < 8 * WIDTH; i++) sum[i % WIDTH] += number_of(i);
            for (int c = 0; c < WIDTH; c++) {
                mean[c] = sum[c] / 8;
                first[c] = number_of(c);
            }
            check(&s, 0, sum, WIDTH);
            check(&s, 1, mean, WIDTH);
            check(&s, 2, first, WIDTH);
        }
        rows_end(&s.stage);
    }
}

/* -- VA7: a variable is read once a run, whoever writes it meanwhile; sums are written by all; a table is where rows
 * are -- */

static artel_status trace_server_values(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    static const float table[TABLE * WIDTH] = {1, 2, 3, 0.5f, 0.25f, 0.125f, -1, -2, -4};
    scene *s = user;
    const artel_value rows = artel_graph_constant(g, ARTEL_DTYPE_FLOAT32, &(artel_shape){2, {TABLE, WIDTH}}, table);
    artel_value per_row = artel_graph_op(g, "sum", &in[0], 1, "{\"axis\": 1}");
    out[0] = artel_graph_variable(g, s->variable[0]);
    artel_graph_assign(g, s->variable[0],
                       artel_graph_binary(g, "add", out[0], artel_graph_reduce(g, ARTEL_REDUCTION_SUM, per_row)));
    out[1] = artel_graph_variable(g, s->variable[0]); /* behind the write, in the same run */
    artel_value place = artel_graph_op(g, "one_hot", &in[1], 1, "{\"num_classes\": 3}");
    out[2] = artel_graph_binary(g, "matmul", place, rows);
    return artel_graph_status(g);
}

static void VA7_values(void **state)
{
    const artel_argument arguments[2] = {{.name = "x", .shape = {1, {WIDTH}}},
                                         {"place", ARTEL_DTYPE_INT32, false, {0, {0}}}};
    static const float table[TABLE][WIDTH] = {{1, 2, 3}, {0.5f, 0.25f, 0.125f}, {-1, -2, -4}}, start = 2;
    (void)state;
    for (int f = 0; f < conformance_count; f++) {
        scene s = begin(&conformance_forms[f], 1, 1, &start);
        artel_function *function = make(&s, arguments, 2, 3, trace_server_values);
        float before, cached, found[BATCH * WIDTH], wanted = start;
        int32_t place[BATCH];
        const artel_array in[2] = {{ARTEL_DTYPE_FLOAT32, {2, {BATCH, WIDTH}}, rows_of},
                                   {ARTEL_DTYPE_INT32, {1, {BATCH}}, place}},
                          out[3] = {{.dtype = ARTEL_DTYPE_FLOAT32, .data = &before},
                                    {.dtype = ARTEL_DTYPE_FLOAT32, .data = &cached},
                                    {.dtype = ARTEL_DTYPE_FLOAT32, .data = found}};
        fill_rows();
        for (int i = 0; i < BATCH; i++) place[i] = i * 5 % TABLE;
        bool here = conformance_start(&s.stage.on);
        for (int round = 0; round < 3 && here; round++) {
            api_ok(s.stage.ctx, conformance_run(&s.stage.on, function, in, 2, out, 3));
            assert_true(before == wanted && cached == wanted);
            for (int i = 0; i < BATCH * WIDTH; i++) assert_true(found[i] == table[place[i / WIDTH]][i % WIDTH]);
            wanted += sum_of(BATCH);
            check(&s, 0, &wanted, 1);
        }
        rows_end(&s.stage);
    }
}

/* Tables of words are looked up on the task that has the rows; to workers of parameter servers no text is sent. */
static artel_status trace_words(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)user;
    artel_value zero = artel_graph_number(g, 0);
    out[0] = artel_graph_op(g, "StringLookup", in, 1, "{\"vocabulary\": [\"film\", \"good\"]}");
    out[1] = artel_graph_binary(g, "add", out[0], zero); /* so that the graph computes it */
    out[1] = artel_graph_op(g, "cast", &out[1], 1, "{\"dtype\": \"int32\"}");
    out[1] = artel_graph_op(g, "StringLookup", &out[1], 1, "{\"vocabulary\": [\"film\", \"good\"], \"invert\": true}");
    artel_value again = artel_graph_unary(g, "string_length", out[1]); /* back into the graph, and once more */
    again = artel_graph_op(g, "string_as_string", (artel_value[]){artel_graph_binary(g, "multiply", again, again)}, 1,
                           NULL);
    out[2] = artel_graph_binary(g, "add", artel_graph_unary(g, "string_length", again), out[0]);
    return artel_graph_status(g);
}

static void VA7_tables_of_words(void **state)
{
    static const char *const words[] = {"good", "film", "plot"};
    static const char *const back[] = {"good", "film", "[UNK]"};
    static const int32_t number[] = {2, 1, 0};
    const artel_argument text = {"text", ARTEL_DTYPE_STRING, false, {1, {1}}};
    (void)state;
    for (int f = 0; f < conformance_count; f++) {
        scene s = begin(&conformance_forms[f], 0, 1, NULL);
        artel_string given[BATCH], again[BATCH];
        int32_t found[BATCH], sum[BATCH];
        artel_function_options o = ARTEL_FUNCTION_OPTIONS_INIT;
        artel_function *function;
        o.arguments = &text;
        o.argument_count = 1;
        o.output_count = 3;
        for (int i = 0; i < BATCH; i++) given[i] = (artel_string){words[i * 2 % 3], 4};
        const artel_array in = {ARTEL_DTYPE_STRING, {2, {BATCH, 1}}, given};
        const artel_array out[3] = {{.dtype = ARTEL_DTYPE_INT32, .data = found},
                                    {.dtype = ARTEL_DTYPE_STRING, .data = again},
                                    {.dtype = ARTEL_DTYPE_INT32, .data = sum}};
        artel_status status = artel_function_create(s.stage.strategy, &o, trace_words, &s, &function);
        if (conformance_has_servers(s.stage.on.form))
            api_refused(s.stage.ctx, status, ARTEL_ERROR_UNSUPPORTED, "parameter servers");
        else {
            api_ok(s.stage.ctx, status);
            api_ok(s.stage.ctx, conformance_run(&s.stage.on, function, &in, 1, out, 3));
            for (int i = 0; i < BATCH; i++) {
                assert_int_equal(sum[i], 2 + number[i * 2 % 3]); /* "16", "25" */
                assert_int_equal(found[i], number[i * 2 % 3]);
                assert_string_equal(again[i].bytes, back[i * 2 % 3]);
            }
        }
        rows_end(&s.stage);
    }
}

/* -- VA9: a moving average and a metric's total and count are variables; who goes on from them is no other -- */

static artel_status trace_metrics(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    scene *s = user;
    artel_value half = artel_graph_number(g, 0.5), zero = artel_graph_number(g, 0);
    artel_value above = artel_graph_binary(g, "greater", in[0], zero),
                one = artel_graph_op(g, "ones_like", in, 1, NULL);
    above = artel_graph_op(g, "cast", &above, 1, "{\"dtype\": \"float32\"}");
    artel_value each[3] = {in[0], above, one}, old[3];
    for (int i = 0; i < 3; i++) {
        each[i] = artel_graph_op(g, "sum", &each[i], 1, "{\"axis\": 1}");
        each[i] = artel_graph_reduce(g, ARTEL_REDUCTION_SUM, each[i]);
        old[i] = artel_graph_variable(g, s->variable[i]);
        artel_value kept = i ? old[i] : artel_graph_binary(g, "multiply", old[i], half),
                    more = i ? each[i] : artel_graph_binary(g, "multiply", each[i], half);
        artel_graph_assign(g, s->variable[i], artel_graph_binary(g, "add", kept, more));
    }
    out[0] = each[0];
    return artel_graph_status(g);
}

/* Batches of so many rows; the variables before and behind them. False: this task only serves. */
static bool go_on(const conformance_form *f, const int *rows, int runs, float values[3])
{
    const artel_argument x = {.name = "x", .shape = {1, {WIDTH}}};
    scene s = begin(f, 3, 1, values);
    artel_function *function = make(&s, &x, 1, 1, trace_metrics);
    float sum;
    bool here = conformance_start(&s.stage.on);
    for (int i = 0; i < runs && here; i++) {
        rows_run(&s.stage, function, rows[i], (float *[]){&sum}, 1);
        assert_true(sum == sum_of(rows[i]));
    }
    for (int i = 0; i < 3 && here; i++) api_ok(s.stage.ctx, artel_variable_read(s.variable[i], &values[i], 1));
    rows_end(&s.stage);
    return here;
}

static void VA9_averages_metrics_warm_start(void **state)
{
    static const int rows[4] = {BATCH, 11, 6, 1};
    float wanted[3] = {1, 0, 0};
    (void)state;
    for (int i = 0; i < 4; i++) {
        wanted[0] = wanted[0] / 2 + sum_of(rows[i]) / 2;
        for (int k = 0; k < rows[i] * WIDTH; k++) wanted[1] += number_of(k) > 0;
        wanted[2] += (float)(rows[i] * WIDTH);
    }
    for (int f = 0; f < conformance_count; f++) {
        float whole[3] = {1, 0, 0}, part[3] = {1, 0, 0};
        if (!go_on(&conformance_forms[f], rows, 4, whole)) { /* its runs are the chief's */
            go_on(&conformance_forms[f], rows, 2, part);
            continue;
        }
        assert_memory_equal(whole, wanted, sizeof wanted);
        assert_true(go_on(&conformance_forms[f], rows, 2, part));
        if (go_on(&conformance_forms[conformance_count - 1 - f], rows + 2, 2, part))
            assert_memory_equal(part, wanted, sizeof wanted);
    }
}

int main(int argc, char **argv)
{
    conformance_open(argc, argv);
    const struct CMUnitTest rows[] = {cmocka_unit_test(ST1_beside_a_strategy),
                                      cmocka_unit_test(ST3_each_row_once),
                                      cmocka_unit_test(ST5_all_gather),
                                      cmocka_unit_test(ST7_broadcast),
                                      cmocka_unit_test(VA1_aggregations),
                                      cmocka_unit_test(VA1_rows_are_assigned),
                                      cmocka_unit_test(VA7_values),
                                      cmocka_unit_test(VA7_tables_of_words),
                                      cmocka_unit_test(VA9_averages_metrics_warm_start)};
    return conformance_close(cmocka_run_group_tests(rows, NULL, NULL));
}
