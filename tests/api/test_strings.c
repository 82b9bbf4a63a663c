/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays of strings: whose bytes they are, views, operations, conversions, refusals, failing allocations. */
#include "api/help_allocations.h"
#include "api/help_text.h"

#include "base/context.h"

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
    api_refused(s.ctx, artel_ndarray_cast(a, ARTEL_DTYPE_INT32, &b), ARTEL_ERROR_INVALID, "element 0");
    api_ok(s.ctx, artel_ndarray_slice(a, 0, 3, 4, 1, &b));
    api_refused(s.ctx, artel_ndarray_cast(b, ARTEL_DTYPE_BOOL, &c), ARTEL_ERROR_UNSUPPORTED, "bool");
    api_ok(s.ctx, artel_ndarray_cast(b, ARTEL_DTYPE_UINT64, &c));
    expect_numbers(&s, c, ARTEL_DTYPE_UINT64, 1, (const double[]){7});
    api_ok(s.ctx, artel_ndarray_create(s.e, ARTEL_DTYPE_INT64, &(artel_shape){0}, &large, &c));
    api_ok(s.ctx, artel_ndarray_cast(c, ARTEL_DTYPE_STRING, &b));
    expect(&s, b, "-9223372036854775808");
    api_refused(s.ctx, artel_ndarray_cast(b, ARTEL_DTYPE_INT32, &c), ARTEL_ERROR_INVALID, "int32");
    /* Into numbers, from the caller's strings: all or nothing. */
    api_ok(s.ctx, artel_ndarray_full(s.e, ARTEL_DTYPE_FLOAT32, &(artel_shape){1, {2}}, 3, &c));
    const artel_string half[] = {WORD("1"), WORD("one")};
    api_refused(s.ctx, artel_ndarray_write(c, ARTEL_DTYPE_STRING, half, 2), ARTEL_ERROR_INVALID, "one");
    expect_numbers(&s, c, ARTEL_DTYPE_FLOAT32, 2, (const double[]){3, 3});
    /* Bytes without a NUL behind them, at the end of their block; and none at all. */
    char *bare = malloc(3);
    assert_non_null(bare);
    memcpy(bare, "1x2", 3);
    const artel_string ends[] = {WORD("1"), {bare, 3}}, none[] = {WORD("1"), {NULL, 2}},
                       broken[] = {WORD("1"), WORD("\xFF")};
    api_refused(s.ctx, artel_ndarray_write(c, ARTEL_DTYPE_STRING, ends, 2), ARTEL_ERROR_INVALID,
                "element 1, \"1x2\", is");
    free(bare);
    api_refused(s.ctx, artel_ndarray_write(c, ARTEL_DTYPE_STRING, none, 2), ARTEL_ERROR_INVALID, "element 1 is NULL");
    api_refused(s.ctx, artel_ndarray_write(c, ARTEL_DTYPE_STRING, broken, 2), ARTEL_ERROR_INVALID,
                "byte 0 of element 1");
    expect_numbers(&s, c, ARTEL_DTYPE_FLOAT32, 2, (const double[]){3, 3});
    end(&s);
}

/* What the graph computes of strings, as strings. */
static artel_status trace_mixed(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    artel_value length = artel_graph_unary(g, "string_length", in[0]), join[2] = {in[0]};
    out[0] = artel_graph_binary(g, "multiply", length, length);
    join[1] = artel_graph_unary(g, "string_as_string", out[0]);
    out[1] = artel_graph_op(g, "string_join", join, 2, "{\"separator\": \":\"}");
    if (user) out[0] = artel_graph_unary(g, "negative", artel_graph_unary(g, "string_length", join[1]));
    return artel_graph_status(g);
}

static void test_functions(void **state)
{
    (void)state;
    scene s = begin();
    artel_ndarray *a = words(&s, (artel_shape){1, {6}}, six), *out[2], *part;
    artel_eager_function *f, *back;
    api_ok(s.ctx, artel_eager_function_create(s.e, "mixed", trace_mixed, NULL, 2, &f));
    api_ok(s.ctx, artel_eager_call(f, &a, 1, out, 2));
    expect_numbers(&s, out[0], ARTEL_DTYPE_INT32, 6, (const double[]){16, 36, 0, 9, 25, 9});
    api_ok(s.ctx, artel_eager_op(s.e, "flip", &a, 1, NULL, &part));
    artel_ndarray *again[2];
    api_ok(s.ctx, artel_eager_call(f, &part, 1, again, 2));
    expect(&s, out[1], "pear:16,\xC3\xA4pfel:36,:0,fig:9,apple:25,a"); /* the second call has left it alone */
    expect(&s, again[1], "a,apple:25,fig:9,:0,\xC3\xA4pfel:36,pear:16");
    api_ok(s.ctx, artel_eager_function_create(s.e, "back", trace_mixed, &s, 2, &back));
    api_ok(s.ctx, artel_eager_call(back, &a, 1, out, 2)); /* numbers of text go back into the graph */
    expect_numbers(&s, out[0], ARTEL_DTYPE_INT32, 6, (const double[]){-2, -2, -1, -1, -2, -1});
    expect(&s, out[1], "pear:16,\xC3\xA4pfel:36,:0,fig:9,apple:25,a");
    end(&s);
}

static void test_refusals(void **state)
{
    (void)state;
    scene s = begin();
    artel_ndarray *a = words(&s, (artel_shape){1, {6}}, six), *n, *out;
    artel_string broken[] = {WORD("fine"), WORD("\xC3(")};
    static const char *const names[] = {"sum", "exp", "cumsum", "argmax", "one_hot", "pad", "isnan", "mean"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        api_refused(s.ctx, artel_eager_unary(s.e, names[i], a, &out), ARTEL_ERROR_UNSUPPORTED, names[i]);
    api_refused(s.ctx, artel_eager_binary(s.e, "add", a, a, &out), ARTEL_ERROR_UNSUPPORTED, "add");
    api_ok(s.ctx, artel_ndarray_full(s.e, ARTEL_DTYPE_INT32, &(artel_shape){1, {6}}, 1, &n));
    api_refused(s.ctx, artel_eager_binary(s.e, "equal", a, n, &out), ARTEL_ERROR_INVALID, "operand 1 is numbers");
    api_refused(s.ctx, artel_eager_binary(s.e, "take", a, a, &out), ARTEL_ERROR_INVALID, "operand 1 is strings");
    api_refused(s.ctx, artel_ndarray_create(s.e, ARTEL_DTYPE_STRING, &(artel_shape){1, {2}}, broken, &out),
                ARTEL_ERROR_INVALID, "element 1");
    broken[1] = (artel_string){NULL, 2};
    api_refused(s.ctx, artel_ndarray_create(s.e, ARTEL_DTYPE_STRING, &(artel_shape){1, {2}}, broken, &out),
                ARTEL_ERROR_INVALID, "element 1");
    api_refused(s.ctx, artel_ndarray_full(s.e, ARTEL_DTYPE_STRING, &(artel_shape){1, {2}}, 1, &out),
                ARTEL_ERROR_INVALID, "string");
    api_refused(s.ctx, artel_ndarray_write(a, ARTEL_DTYPE_INT32, (const int32_t[6]){0}, 6), ARTEL_ERROR_INVALID,
                "strings");
    artel_string room[6];
    api_refused(s.ctx, artel_ndarray_read(n, ARTEL_DTYPE_STRING, room, 6), ARTEL_ERROR_INVALID, "strings");
    api_refused(s.ctx, artel_eager_op(s.e, "string_to_hash_bucket_fast", &a, 1, NULL, &out), ARTEL_ERROR_INVALID,
                "num_buckets");
    api_refused(s.ctx, artel_eager_op(s.e, "string_length", &a, 1, "{\"unit\": \"WORD\"}", &out), ARTEL_ERROR_INVALID,
                "unit");
    api_refused(s.ctx, artel_eager_op(s.e, "string_length", &a, 1, "[1]", &out), ARTEL_ERROR_INVALID, "no object");
    api_refused(s.ctx, artel_eager_op(s.e, "string_lower", &a, 1, "{\"unit\": \"BYTE\"}", &out), ARTEL_ERROR_INVALID,
                "unit");
    api_refused(s.ctx, artel_eager_op(s.e, "string_to_number", &a, 1, "{\"out_type\": \"word\"}", &out),
                ARTEL_ERROR_INVALID, "out_type");
    api_refused(s.ctx, artel_eager_binary(s.e, "string_strip", a, a, &out), ARTEL_ERROR_INVALID, "string_strip");
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
    if (status == ARTEL_OK) status = artel_eager_unary(e, "string_upper", c, &c);
    if (status == ARTEL_OK) status = artel_eager_unary(e, "string_strip", c, &a);
    if (status == ARTEL_OK) status = artel_eager_unary(e, "string_length", a, &n);
    if (status == ARTEL_OK)
        status = artel_eager_op(e, "string_join", (artel_ndarray *[]){a, c}, 2, "{\"separator\": \", \"}", &b);
    if (status == ARTEL_OK)
        status = artel_eager_op(e, "string_ngrams", &b, 1, "{\"ngram_width\": [1, 2], \"pad_values\": \"_\"}", &c);
    if (status == ARTEL_OK)
        status = artel_eager_op(e, "string_regex_replace", &c, 1,
                                "{\"pattern\": \"(?i)(t|[^a-z]{3,})+?|x\", \"rewrite\": \"<\\\\1>\"}", &a);
    if (status == ARTEL_OK) status = artel_eager_op(e, "string_regex_full_match", &a, 1, "{\"pattern\": \".*\"}", &n);
    if (status == ARTEL_OK) status = artel_eager_op(e, "string_unicode_decode", &a, 1, NULL, &n);
    if (status == ARTEL_OK) status = artel_eager_op(e, "string_unicode_encode", &n, 1, NULL, &c);
    if (status == ARTEL_OK) status = artel_eager_op(e, "string_unicode_split", &b, 1, NULL, &c);
    if (status == ARTEL_OK) status = artel_eager_op(e, "string_substr", &b, 1, "{\"pos\": 1, \"len\": 3}", &c);
    if (status == ARTEL_OK) status = artel_eager_op(e, "string_reduce_join", &b, 1, "{\"separator\": \" \"}", &c);
    if (status == ARTEL_OK) status = artel_eager_op(e, "string_split", &c, 1, "{\"sep\": \",\"}", &a);
    if (status == ARTEL_OK) status = artel_ndarray_create(e, ARTEL_DTYPE_STRING, &(artel_shape){1, {6}}, six, &b);
    if (status == ARTEL_OK) status = artel_eager_binary(e, "string_lookup", a, b, &c);
    artel_eager_destroy(e);
    return status;
}

/* The next match is not looked for. */
static void test_cancelled_patterns(void **state)
{
    (void)state;
    scene s = begin();
    artel_ndarray *a = words(&s, (artel_shape){1, {6}}, six), *out;
    const char *settings = "{\"pattern\": \"[aeiou]\", \"rewrite\": \"-\"}";
    artel_context_cancel(s.ctx);
    api_refused(s.ctx, artel_eager_op(s.e, "string_regex_replace", &a, 1, settings, &out), ARTEL_ERROR_CANCELLED,
                "cancelled");
    artel_context_cancel(s.ctx);
    api_refused(s.ctx, artel_eager_op(s.e, "string_regex_full_match", &a, 1, "{\"pattern\": \"a\"}", &out),
                ARTEL_ERROR_CANCELLED, "cancelled");
    artel_context_clear(s.ctx);
    api_ok(s.ctx, artel_eager_op(s.e, "string_regex_replace", &a, 1, settings, &out));
    expect(&s, out, "p--r,\xC3\xA4pf-l,,f-g,-ppl-,-");
    end(&s);
}

static void test_failing_allocations(void **state)
{
    (void)state;
    api_fail_each_allocation(work, 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_views_and_writing),
                                       cmocka_unit_test(test_operations),
                                       cmocka_unit_test(test_numbers),
                                       cmocka_unit_test(test_functions),
                                       cmocka_unit_test(test_refusals),
                                       cmocka_unit_test(test_cancelled_patterns),
                                       cmocka_unit_test(test_failing_allocations)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
