/* SPDX-License-Identifier: Apache-2.0 */
/* timeout: 120 */
/* Arrays and operations at once: views and their elements, references, the cache and its bound, no heap call in steady
 * calls, the same bits for any number of threads and as a function's, failing allocations, and what is refused. */
#include "api/help_allocations.h"

#include "eager/eager_impl.h"

typedef struct scene {
    artel_context *ctx;
    artel_eager *e;
} scene;

static scene begin(int threads, int64_t most)
{
    scene s = {.ctx = api_context()};
    artel_eager_options o = ARTEL_EAGER_OPTIONS_INIT;
    o.threads = threads;
    o.most_functions = most;
    o.seed = 5;
    api_ok(s.ctx, artel_eager_create(s.ctx, &o, &s.e));
    return s;
}

static void end(scene *s)
{
    artel_eager_destroy(s->e);
    artel_context_destroy(s->ctx);
}

static artel_ndarray *counted(scene *s, artel_shape shape)
{
    float values[256];
    artel_ndarray *a;
    for (int i = 0; i < 256; i++) values[i] = (float)i;
    api_ok(s->ctx, artel_ndarray_create(s->e, ARTEL_DTYPE_FLOAT32, &shape, values, &a));
    return a;
}

static void expect(scene *s, const artel_ndarray *a, const artel_shape *shape, const float *values)
{
    artel_shape has;
    float got[256];
    api_ok(s->ctx, artel_ndarray_describe(a, NULL, &has, NULL));
    assert_int_equal(has.rank, shape->rank);
    for (int d = 0; d < has.rank; d++) assert_int_equal(has.dim[d], shape->dim[d]);
    int64_t count = artel_shape_count(&has);
    api_ok(s->ctx, artel_ndarray_read(a, ARTEL_DTYPE_FLOAT32, got, count));
    for (int64_t i = 0; i < count; i++) assert_true(got[i] == values[i]);
}

static void test_views(void **state)
{
    (void)state;
    scene s = begin(1, 1024);
    artel_ndarray *a = counted(&s, (artel_shape){2, {3, 4}}), *rows, *part, *turned, *one, *wide, *flat;
    api_ok(s.ctx, artel_ndarray_slice(a, 0, INT64_MAX, INT64_MIN, -2, &rows)); /* rows 2 and 0 */
    api_ok(s.ctx, artel_ndarray_slice(rows, 1, 1, -1, 1, &part));
    expect(&s, part, &(artel_shape){2, {2, 2}}, (const float[]){9, 10, 1, 2});
    assert_null(artel_ndarray_data(part));
    api_ok(s.ctx, artel_ndarray_transpose(part, NULL, &turned));
    expect(&s, turned, &(artel_shape){2, {2, 2}}, (const float[]){9, 1, 10, 2});
    api_ok(s.ctx, artel_ndarray_index(a, -1, 3, &one));
    expect(&s, one, &(artel_shape){1, {3}}, (const float[]){3, 7, 11});
    api_ok(s.ctx, artel_ndarray_broadcast(one, &(artel_shape){2, {2, 3}}, &wide));
    expect(&s, wide, &(artel_shape){2, {2, 3}}, (const float[]){3, 7, 11, 3, 7, 11});
    api_ok(s.ctx, artel_ndarray_reshape(turned, &(artel_shape){1, {-1}}, &flat)); /* a copy */
    api_ok(s.ctx, artel_ndarray_write(turned, ARTEL_DTYPE_INT32, (const int32_t[]){-1, -2, -3, -4}, 4));
    expect(&s, flat, &(artel_shape){1, {4}}, (const float[]){9, 1, 10, 2});
    artel_ndarray_release(a); /* the views keep the elements */
    expect(&s, rows, &(artel_shape){2, {2, 4}}, (const float[]){8, -1, -3, 11, 0, -2, -4, 3});
    artel_ndarray *views[] = {rows, part, turned, one, wide, flat};
    for (int i = 0; i < 6; i++) artel_ndarray_release(views[i]);
    end(&s);
}

static void test_cache(void **state)
{
    (void)state;
    scene s = begin(1, 3);
    for (int round = 0; round < 2; round++) {
        for (int n = 1; n <= 5; n++) {
            artel_ndarray *a = counted(&s, (artel_shape){1, {n}}), *b;
            api_ok(s.ctx, artel_eager_unary(s.e, "square", a, &b));
            expect(&s, b, &(artel_shape){1, {n}}, (const float[]){0, 1, 4, 9, 16});
            artel_ndarray_release(a);
            artel_ndarray_release(b);
        }
    }
    assert_int_equal(artel_eager_functions(s.e), 3);
    end(&s);
}

/* What functions on so many rows of a batch need ends with them, also where none could be traced. */
static void test_cache_of_rows(void **state)
{
    (void)state;
    scene s = begin(2, 3);
    artel_ndarray *kernel = counted(&s, (artel_shape){3, {2, 2, 1}}), *wrong = counted(&s, (artel_shape){3, {2, 3, 1}}),
                  *out;
    for (int n = 1; n <= 8; n++) { /* 2: as many as the kernel has positions */
        int batches = 0;
        float made[24];
        artel_ndarray *rows = counted(&s, (artel_shape){3, {n, 4, 2}});
        artel_ndarray *const good[2] = {rows, kernel}, *const bad[2] = {rows, wrong};
        api_ok(s.ctx, artel_eager_op(s.e, "conv", good, 2, NULL, &out));
        for (int i = 0; i < 3 * n; i++) made[i] = (float)(6 * (i / 3 * 8 + i % 3 * 2) + 14);
        expect(&s, out, &(artel_shape){3, {n, 3, 1}}, made);
        artel_ndarray_release(out);
        assert_true(artel_eager_op(s.e, "conv", bad, 2, NULL, &out) < 0);
        for (const artel__batch *b = s.e->batch; b; b = b->next) batches++;
        assert_int_equal(batches, n < 3 ? n : 3);
        artel_ndarray_release(rows);
    }
    end(&s);
}

static artel_status trace_slope(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)user;
    artel_value y = artel_graph_unary(g, "sum", artel_graph_binary(g, "multiply", in[0], in[1]));
    artel_graph_gradients(g, y, in, 2, out);
    out[2] = artel_graph_unary(g, "tanh", in[0]);
    return artel_graph_status(g);
}

static void test_functions_and_steady_calls(void **state)
{
    (void)state;
    scene s = begin(1, 1024);
    artel_eager_function *slope;
    artel_ndarray *a = counted(&s, (artel_shape){1, {4}}), *b, *c, *out[3];
    uint64_t calls = 0;
    api_ok(s.ctx, artel_eager_function_create(s.e, "slope", trace_slope, NULL, 3, &slope));
    api_ok(s.ctx, artel_ndarray_full(s.e, ARTEL_DTYPE_FLOAT32, &(artel_shape){1, {4}}, 2.5, &b));
    for (int i = 0; i < 10; i++) {
        if (i == 2) calls = artel__heap_calls(s.ctx);
        artel_ndarray *const in[2] = {a, b};
        api_ok(s.ctx, artel_eager_call(slope, in, 2, out, 3));
        expect(&s, out[0], &(artel_shape){1, {4}}, (const float[]){2.5f, 2.5f, 2.5f, 2.5f});
        expect(&s, out[1], &(artel_shape){1, {4}}, (const float[]){0, 1, 2, 3});
        api_ok(s.ctx, artel_eager_binary(s.e, "add", out[0], out[1], &c));
        expect(&s, c, &(artel_shape){1, {4}}, (const float[]){2.5f, 3.5f, 4.5f, 5.5f});
        for (int k = 0; k < 3; k++) artel_ndarray_release(out[k]);
        artel_ndarray_release(c);
    }
    assert_int_equal(artel__heap_calls(s.ctx), calls);
    artel_ndarray_release(a);
    artel_ndarray_release(b);
    end(&s);
}

/* Rows of a batch by themselves, large arrays, a reduction: alike for 1 and 3 threads. */
static void test_threads(void **state)
{
    (void)state;
    float *got[2][3];
    const int64_t counts[3] = {40000, 200, 4 * 6 * 6 * 3};
    for (int t = 0; t < 2; t++) {
        scene s = begin(t ? 3 : 1, 1024);
        artel_ndarray *a, *w, *image, *kernel, *out[3];
        api_ok(s.ctx, artel_ndarray_uniform(s.e, &(artel_shape){2, {200, 200}}, -1, 1, &a));
        api_ok(s.ctx, artel_ndarray_normal(s.e, &(artel_shape){2, {200, 200}}, 1, 2, &w));
        api_ok(s.ctx, artel_ndarray_normal(s.e, &(artel_shape){4, {4, 8, 8, 2}}, 0, 1, &image));
        api_ok(s.ctx, artel_ndarray_normal(s.e, &(artel_shape){4, {3, 3, 2, 3}}, 0, 1, &kernel));
        api_ok(s.ctx, artel_eager_binary(s.e, "matmul", a, w, &out[0]));
        api_ok(s.ctx, artel_eager_op(s.e, "mean", &out[0], 1, "{\"axis\": 1}", &out[1]));
        artel_ndarray *const both[2] = {image, kernel};
        api_ok(s.ctx, artel_eager_op(s.e, "conv", both, 2, NULL, &out[2]));
        for (int i = 0; i < 3; i++) {
            got[t][i] = malloc((size_t)counts[i] * sizeof(float));
            api_ok(s.ctx, artel_ndarray_read(out[i], ARTEL_DTYPE_FLOAT32, got[t][i], counts[i]));
        }
        end(&s);
    }
    for (int i = 0; i < 3; i++) {
        assert_memory_equal(got[0][i], got[1][i], (size_t)counts[i] * sizeof(float));
        free(got[0][i]);
        free(got[1][i]);
    }
}

/* Elements from the same array, bytes of a bool, and random numbers where nothing lies between the ends. */
static void test_elements(void **state)
{
    (void)state;
    scene s = begin(1, 1024);
    artel_ndarray *a = counted(&s, (artel_shape){1, {6}}), *behind, *flags, *narrow;
    api_ok(s.ctx, artel_ndarray_slice(a, 0, 1, INT64_MAX, 1, &behind));
    api_ok(s.ctx, artel_ndarray_write(behind, ARTEL_DTYPE_FLOAT32, artel_ndarray_data(a), 5));
    expect(&s, a, &(artel_shape){1, {6}}, (const float[]){0, 0, 1, 2, 3, 4});
    api_ok(s.ctx, artel_ndarray_create(s.e, ARTEL_DTYPE_BOOL, &(artel_shape){1, {3}}, NULL, &flags));
    api_ok(s.ctx, artel_ndarray_write(flags, ARTEL_DTYPE_BOOL, (const uint8_t[]){2, 0, 255}, 3));
    expect(&s, flags, &(artel_shape){1, {3}}, (const float[]){1, 0, 1});
    api_ok(s.ctx, artel_ndarray_uniform(s.e, &(artel_shape){1, {4}}, 1, 1 + 0x1p-23, &narrow));
    expect(&s, narrow, &(artel_shape){1, {4}}, (const float[]){1, 1, 1, 1});
    api_ok(s.ctx, artel_ndarray_uniform(s.e, &(artel_shape){1, {4}}, 1, 1 + 0x1p-23, &narrow));
    expect(&s, narrow, &(artel_shape){1, {4}}, (const float[]){1, 1, 1, 1});
    assert_int_equal(artel_ndarray_uniform(s.e, &(artel_shape){1, {4}}, -3e38, 3e38, &narrow), ARTEL_ERROR_INVALID);
    end(&s);
}

/* What one program does, until no allocation fails any more. */
static artel_status work(artel_context *ctx)
{
    artel_eager *e;
    artel_ndarray *a, *b = NULL, *c = NULL, *d = NULL, *parts[4] = {NULL};
    ARTEL_TRY(artel_eager_create(ctx, NULL, &e));
    artel_status status = artel_ndarray_uniform(e, &(artel_shape){2, {40, 8}}, 0, 1, &a);
    if (status == ARTEL_OK) status = artel_ndarray_transpose(a, NULL, &b);
    if (status == ARTEL_OK) status = artel_ndarray_cast(b, ARTEL_DTYPE_FLOAT16, &c);
    if (status == ARTEL_OK) status = artel_eager_unary(e, "exp", c, &d);
    artel_ndarray *const both[2] = {a, b};
    if (status == ARTEL_OK) status = artel_eager_op(e, "matmul", both, 2, NULL, &d);
    if (status == ARTEL_OK) {
        int made = artel_eager_op_all(e, "split", &a, 1, "{\"indices_or_sections\": 4, \"axis\": 1}", parts, 4);
        status = made < 0 ? (artel_status)made : ARTEL_OK;
        if (status == ARTEL_OK) assert_int_equal(made, 4);
    }
    artel_eager_destroy(e);
    return status;
}

static void test_failing_allocations(void **state)
{
    (void)state;
    api_fail_each_allocation(work, 50);
}

static void test_refusals(void **state)
{
    (void)state;
    scene s = begin(1, 16), other = begin(1, 16);
    artel_ndarray *a = counted(&s, (artel_shape){2, {3, 4}}), *b = counted(&s, (artel_shape){1, {5}}), *out, *wide,
                  *far;
    api_refused(s.ctx, artel_eager_binary(s.e, "add", a, b, &out), ARTEL_ERROR_INVALID, "broadcast");
    api_refused(s.ctx, artel_eager_unary(s.e, "squre", a, &out), ARTEL_ERROR_UNSUPPORTED, "quare");
    api_refused(s.ctx, artel_eager_op(s.e, "softmax", &a, 1, "{\"axes\": 1}", &out), ARTEL_ERROR_INVALID, "'axes'");
    api_refused(s.ctx, artel_eager_op(s.e, "sum", &a, 1, "{\"axis\": 1, \"keepdim\": true}", &out), ARTEL_ERROR_INVALID,
                "'keepdim'");
    api_ok(s.ctx, artel_ndarray_cast(a, ARTEL_DTYPE_FLOAT64, &wide));
    api_refused(s.ctx, artel_eager_unary(s.e, "bitwise_not", wide, &out), ARTEL_ERROR_UNSUPPORTED, "float64");
    api_ok(s.ctx, artel_eager_unary(s.e, "tanh", wide, &out));
    api_ok(s.ctx, artel_eager_binary(s.e, "divide", wide, wide, &out));
    api_refused(s.ctx, artel_ndarray_reshape(a, &(artel_shape){2, {5, -1}}, &out), ARTEL_ERROR_INVALID, "12");
    api_refused(s.ctx, artel_ndarray_broadcast(a, &(artel_shape){2, {4, 4}}, &out), ARTEL_ERROR_INVALID, "broadcast");
    api_refused(s.ctx, artel_ndarray_slice(a, 0, 0, 1, 0, &out), ARTEL_ERROR_INVALID, "step");
    api_refused(s.ctx, artel_ndarray_index(a, 0, 3, &out), ARTEL_ERROR_INVALID, "position 3");
    api_refused(s.ctx, artel_ndarray_transpose(a, (const int[]){1, 1}, &out), ARTEL_ERROR_INVALID, "twice");
    api_refused(s.ctx, artel_ndarray_create(s.e, (artel_dtype)99, &(artel_shape){0}, NULL, &out), ARTEL_ERROR_INVALID,
                "99");
    api_refused(s.ctx, artel_ndarray_read(a, ARTEL_DTYPE_FLOAT32, &out, 1), ARTEL_ERROR_INVALID, "12");
    far = counted(&other, (artel_shape){2, {3, 4}});
    api_refused(s.ctx, artel_eager_binary(s.e, "add", a, far, &out), ARTEL_ERROR_INVALID, "another");
    /* An index beyond the table is found by the run, whatever way it takes; the next call is well. */
    artel_ndarray *table = counted(&s, (artel_shape){2, {4, 2}}), *index;
    for (int round = 0; round < 3; round++) {
        int32_t at = round == 1 ? 9 : 2;
        api_ok(s.ctx, artel_ndarray_create(s.e, ARTEL_DTYPE_INT32, &(artel_shape){1, {1}}, &at, &index));
        artel_ndarray *const both[2] = {table, index};
        artel_status status = artel_eager_op(s.e, "take", both, 2, "{\"axis\": 0}", &out);
        if (round == 1)
            api_refused(s.ctx, status, ARTEL_ERROR_INVALID, "9");
        else
            api_ok(s.ctx, status), expect(&s, out, &(artel_shape){2, {1, 2}}, (const float[]){4, 5});
    }
    end(&other);
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_views),    cmocka_unit_test(test_cache),
        cmocka_unit_test(test_threads),  cmocka_unit_test(test_functions_and_steady_calls),
        cmocka_unit_test(test_refusals), cmocka_unit_test(test_failing_allocations),
        cmocka_unit_test(test_elements), cmocka_unit_test(test_cache_of_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
