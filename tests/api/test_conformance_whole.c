/* SPDX-License-Identifier: Apache-2.0 */
/* timeout: 300 */
/* Variables of whole numbers and truth values, under every strategy (as test_conformance.c, with its arguments): what
 * rows add, scatter and set, beyond what floats hold, and what is saved and goes on (VA1). */
#include "api/help_conformance_rows.h"

#include "artel/control.h"

enum {
    PLACES = 5,
    LOW_TYPES = 5
};

/* The first one is scattered to, the others get these each time. */
static const artel_dtype low_types[LOW_TYPES] = {ARTEL_DTYPE_INT8, ARTEL_DTYPE_UINT32, ARTEL_DTYPE_INT16,
                                                 ARTEL_DTYPE_UINT8, ARTEL_DTYPE_UINT16};
static const int32_t low_more[PLACES] = {200, -3, 70000, 33000, 1};

typedef struct counted {
    bool with_long;                         /* the last three lines, too */
    artel_variable *runs, *positive, *seen; /* int32; int32, the sum of what rows bring; bool [WIDTH] */
    artel_variable *steps, *total, *first;  /* int64; a sum of rows; the first one */
    artel_variable *at;                     /* int64 [PLACES], scattered to */
    artel_variable *low[LOW_TYPES], *sum8;  /* [PLACES] of fewer bits; int8, a sum */
} counted;

static artel_value with_long(artel_graph *g, const char *name, artel_value x, int64_t number)
{
    return artel_graph_binary(g, name, x, artel_graph_constant(g, ARTEL_DTYPE_INT64, &(artel_shape){0}, &number));
}

static artel_status is_below(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    out[0] = artel_graph_binary(g, "less", in[0], *(const artel_value *)user);
    return artel_graph_status(g);
}

static artel_status count_up(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)user;
    out[0] = with_long(g, "add", in[0], 1);
    return artel_graph_status(g);
}

/* int64: two more steps, counted beyond 2^53; large numbers of rows, and where they belong, added up and wrapping. */
static artel_status trace_long(const counted *c, artel_graph *g, const artel_value *in, artel_value *out)
{
    artel_value step = artel_graph_variable(g, c->steps), end = with_long(g, "add", step, 2);
    const artel_loop loop = {
        .struct_size = sizeof loop, .condition = is_below, .body = count_up, .user = &end, .state_count = 1, .most = 3};
    artel_graph_loop(g, &loop, &step);
    artel_graph_assign(g, c->steps, step);
    artel_graph_assign_add(g, c->total, in[0]);
    artel_graph_assign(g, c->first, in[0]);
    artel_graph_scatter_add(g, c->at, in[1], in[0]);
    artel_value low = with_long(g, "bitwise_and", in[0], INT32_MAX), low32;
    low32 = artel_graph_op(g, "cast", &low, 1, "{\"dtype\": \"int32\"}");
    artel_graph_scatter_sub(g, c->low[0], in[1], low32);
    artel_value more = artel_graph_constant(g, ARTEL_DTYPE_INT32, &(artel_shape){1, {PLACES}}, low_more);
    artel_value wide = artel_graph_op(g, "cast", &more, 1, "{\"dtype\": \"int64\"}");
    for (int i = 1; i < LOW_TYPES; i++) artel_graph_assign_add(g, c->low[i], i == 1 ? wide : more);
    artel_graph_assign_sub(g, c->sum8, low32);
    out[0] = artel_graph_reduce(g, ARTEL_REDUCTION_MAX, in[0]);
    return artel_graph_status(g);
}

/* How many numbers of each row are positive; which columns have had a number above 2. */
static artel_status trace_counted(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    const counted *c = user;
    static const int32_t one = 1;
    artel_value positive = artel_graph_binary(g, "greater", in[0], artel_graph_number(g, 0));
    positive = artel_graph_op(g, "cast", &positive, 1, "{\"dtype\": \"int32\"}");
    artel_value largest = artel_graph_reduce(g, ARTEL_REDUCTION_MAX, in[0]),
                above = artel_graph_binary(g, "greater", largest, artel_graph_number(g, 2));
    out[0] = artel_graph_variable(g, c->runs); /* before the run */
    artel_graph_assign_add(g, c->runs, artel_graph_constant(g, ARTEL_DTYPE_INT32, &(artel_shape){0}, &one));
    artel_graph_assign_add(g, c->positive, artel_graph_op(g, "sum", &positive, 1, "{\"axis\": 1}"));
    artel_graph_assign(g, c->seen, artel_graph_binary(g, "logical_or", artel_graph_variable(g, c->seen), above));
    return c->with_long ? trace_long(c, g, in + 1, out + 1) : artel_graph_status(g);
}

static const int64_t long_start = (INT64_C(1) << 53) + 1;

static void add_long(const rows_stage *s, counted *c)
{
    artel_variable_options v = ARTEL_VARIABLE_OPTIONS_INIT;
    v.name = "steps";
    v.dtype = ARTEL_DTYPE_INT64;
    v.initial = &long_start;
    api_ok(s->ctx, artel_variable_create(s->strategy, &v, &c->steps));
    v.initial = NULL;
    v.name = "total";
    v.aggregation = "sum";
    api_ok(s->ctx, artel_variable_create(s->strategy, &v, &c->total));
    v.name = "first";
    v.aggregation = "only_first_replica";
    api_ok(s->ctx, artel_variable_create(s->strategy, &v, &c->first));
    v.aggregation = NULL;
    v.name = "at";
    v.shape = (artel_shape){1, {PLACES}};
    api_ok(s->ctx, artel_variable_create(s->strategy, &v, &c->at));
    for (int i = 0; i < LOW_TYPES; i++) {
        v.dtype = low_types[i];
        v.name = artel_dtype_name(v.dtype);
        api_ok(s->ctx, artel_variable_create(s->strategy, &v, &c->low[i]));
    }
    v.shape.rank = 0;
    v.dtype = ARTEL_DTYPE_INT8;
    v.aggregation = "sum";
    v.name = "sum8";
    api_ok(s->ctx, artel_variable_create(s->strategy, &v, &c->sum8));
}

static artel_status add_counted(const rows_stage *s, counted *c)
{
    static const int32_t start = 1 << 30;
    artel_variable_options v = ARTEL_VARIABLE_OPTIONS_INIT;
    v.name = "runs";
    v.dtype = ARTEL_DTYPE_INT32;
    v.initial = &start;
    artel_status status = artel_variable_create(s->strategy, &v, &c->runs);
    if (status < 0) return status;
    v.initial = NULL;
    v.name = "mean";
    v.aggregation = "mean";
    assert_int_equal(artel_variable_create(s->strategy, &v, &c->positive), ARTEL_ERROR_INVALID);
    v.name = "positive";
    v.aggregation = "sum";
    api_ok(s->ctx, artel_variable_create(s->strategy, &v, &c->positive));
    v.aggregation = NULL;
    v.name = "seen";
    v.dtype = ARTEL_DTYPE_BOOL;
    v.shape = (artel_shape){1, {WIDTH}};
    return artel_variable_create(s->strategy, &v, &c->seen);
}

/* Of each row of a run: what is added, and at which place. */
static int64_t number_of(int i)
{
    return (int64_t)(((uint64_t)i * 0x9E3779B97F4A7C15u) ^ 1);
}

typedef struct totals {
    uint64_t all, at[PLACES];
    uint32_t at32[PLACES];
    int64_t most;
} totals;

static void run_long(totals *t, int64_t *number, int64_t *place, int rows, int times)
{
    t->most = number_of(0);
    for (int i = 0; i < rows; i++) {
        number[i] = number_of(i);
        place[i] = i * 7 % PLACES;
        t->all += (uint64_t)number[i] * (uint64_t)times;
        t->at[place[i]] += (uint64_t)number[i] * (uint64_t)times;
        t->at32[place[i]] -= (uint32_t)(number[i] & INT32_MAX) * (uint32_t)times;
        if (number[i] > t->most) t->most = number[i];
    }
}

static void check_long(const rows_stage *s, const counted *c, const totals *t, int runs)
{
    int64_t read[PLACES];
    api_ok(s->ctx, artel_variable_read_as(c->steps, ARTEL_DTYPE_INT64, read, 1));
    assert_true(read[0] == long_start + 2 * runs);
    api_ok(s->ctx, artel_variable_read_as(c->total, ARTEL_DTYPE_INT64, read, 1));
    assert_true((uint64_t)read[0] == t->all);
    api_ok(s->ctx, artel_variable_read_as(c->first, ARTEL_DTYPE_INT64, read, 1));
    assert_true(read[0] == number_of(0));
    api_ok(s->ctx, artel_variable_read_as(c->at, ARTEL_DTYPE_INT64, read, PLACES));
    assert_memory_equal(read, t->at, sizeof read);
    for (int i = 0; i < LOW_TYPES; i++) { /* the low bits of what is added up */
        uint32_t low[PLACES] = {0};
        size_t size = artel_dtype_size(low_types[i]);
        api_ok(s->ctx, artel_variable_read_as(c->low[i], low_types[i], low, PLACES));
        for (int k = 0; k < PLACES; k++) {
            uint32_t wanted = i < 1 ? t->at32[k] : (uint32_t)low_more[k] * (uint32_t)runs;
            assert_memory_equal((const char *)low + size * (size_t)k, &wanted, size); /* the low bytes come first */
        }
    }
    int8_t sum = 0;
    uint32_t all = 0;
    for (int k = 0; k < PLACES; k++) all += t->at32[k];
    api_ok(s->ctx, artel_variable_read_as(c->sum8, ARTEL_DTYPE_INT8, &sum, 1));
    assert_true((uint8_t)sum == (uint8_t)all);
}

static void check_counted(rows_stage *s, const char *folder, bool again, bool with_long)
{
    counted c = {.with_long = with_long};
    totals t = {.all = 0};
    int64_t number[BATCH], place[BATCH], most = 0;
    artel_function *f;
    artel_optimizer *optimizer;
    int32_t before, wanted = 0, read;
    uint8_t seen[WIDTH], sees[WIDTH] = {0};
    int64_t step = -1;
    const artel_argument arguments[3] = {{.name = "x", .shape = {1, {WIDTH}}},
                                         {.name = "number", .dtype = ARTEL_DTYPE_INT64},
                                         {.name = "place", .dtype = ARTEL_DTYPE_INT64}};
    artel_function_options o = ARTEL_FUNCTION_OPTIONS_INIT;
    artel_status status = add_counted(s, &c);
    if (conformance_has_servers(s->on.form)) {
        assert_int_equal(status, ARTEL_ERROR_UNSUPPORTED);
        return;
    }
    api_ok(s->ctx, status);
    add_long(s, &c);
    assert_int_equal(artel_optimizer_create(s->strategy, "sgd", &c.runs, 1, &optimizer), ARTEL_ERROR_INVALID);
    assert_int_equal(artel_optimizer_create(s->strategy, "sgd", &c.steps, 1, &optimizer), ARTEL_ERROR_INVALID);
    o.arguments = arguments;
    o.argument_count = 3;
    o.output_count = 1 + c.with_long;
    api_ok(s->ctx, artel_function_create(s->strategy, &o, trace_counted, &c, &f));
    if (again) api_ok(s->ctx, artel_strategy_restore(s->strategy, folder, &step));
    assert_int_equal(step, again ? 7 : -1);
    for (int run = 0; run < 2; run++) {
        const artel_array in[3] = {{ARTEL_DTYPE_FLOAT32, {2, {BATCH - run, WIDTH}}, rows_of},
                                   {ARTEL_DTYPE_INT64, {1, {BATCH - run}}, number},
                                   {ARTEL_DTYPE_INT64, {1, {BATCH - run}}, place}},
                          out[2] = {{.dtype = ARTEL_DTYPE_INT32, .data = &before},
                                    {.dtype = ARTEL_DTYPE_INT64, .data = &most}};
        for (int i = 0; i < BATCH * WIDTH; i++) rows_of[i] = (float)(i * 37 % 53) / 8 - 3;
        run_long(&t, number, place, BATCH - run, 1 + again);
        api_ok(s->ctx, conformance_run(&s->on, f, in, 3, out, o.output_count));
        assert_int_equal(before, (1 << 30) + run + (again ? 2 : 0));
        assert_true(!c.with_long || most == t.most);
        for (int i = 0; i < (BATCH - run) * WIDTH; i++) {
            wanted += (rows_of[i] > 0) << again; /* twice where it goes on from there */
            sees[i % WIDTH] |= rows_of[i] > 2;
        }
    }
    api_ok(s->ctx, artel_variable_read_as(c.positive, ARTEL_DTYPE_INT32, &read, 1));
    assert_int_equal(read, wanted);
    api_ok(s->ctx, artel_variable_read_as(c.seen, ARTEL_DTYPE_BOOL, seen, WIDTH));
    assert_memory_equal(seen, sees, WIDTH);
    if (c.with_long) check_long(s, &c, &t, again ? 4 : 2);
    if (!again && folder && artel_strategy_writes(s->strategy))
        api_ok(s->ctx, artel_strategy_save(s->strategy, folder, 7, 1));
}

/* Saved by each form, and gone on from by the form itself: alone, for tasks share no folder here. */
static void VA1_whole_numbers(void **state)
{
    (void)state;
    for (int f = 0; f < conformance_count; f++) {
        char folder[64];
        bool alone = !conformance_forms[f].together;
        if (alone) api_folder_make(folder);
        for (int again = 0; again <= alone; again++) {
            rows_stage s = rows_begin(&conformance_forms[f]);
            check_counted(&s, alone ? folder : NULL, again, !again || conformance_leads(f));
            rows_end(&s);
        }
        if (alone) api_folder_remove(folder);
    }
}

int main(int argc, char **argv)
{
    conformance_open(argc, argv);
    const struct CMUnitTest rows[] = {cmocka_unit_test(VA1_whole_numbers)};
    return conformance_close(cmocka_run_group_tests(rows, NULL, NULL));
}
