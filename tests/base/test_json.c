/* SPDX-License-Identifier: Apache-2.0 */
/* JSON: Python's dialect in both directions, limits, messages. The expected texts come from Python's json module. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/json_written.h"

static int start(void **state)
{
    return artel_context_create(NULL, (artel_context **)state) < 0;
}

static int stop(void **state)
{
    artel_context_destroy(*state);
    return 0;
}

static json_t *load(artel_context *ctx, const char *text)
{
    json_t *value = NULL;
    artel_status status = artel__json_load(ctx, "test.json", text, strlen(text), &value);
    if (status < 0) print_message("%s\n", artel_context_error(ctx)->what);
    assert_int_equal(status, ARTEL_OK);
    return value;
}

/* Reads `text` and writes it again. */
static void assert_becomes(artel_context *ctx, const char *text, unsigned flags, const char *expected)
{
    json_t *value = load(ctx, text);
    char *out = NULL;
    assert_int_equal(artel__json_dump_string(ctx, value, flags, &out), ARTEL_OK);
    assert_string_equal(out, expected);
    artel__free(ctx, out);
    json_decref(value);
}

static void test_writes_like_python(void **state)
{
    artel_context *ctx = *state;
    const char *text = "{\"b\":[1,2.50,-0.0,1e5,1e16,1e-5,true,null],\"a\":{},\"c\":[],\"d\":0.0010000000474974513}";
    assert_becomes(ctx, text, ARTEL__JSON_PYTHON,
                   "{\"b\": [1, 2.5, -0.0, 100000.0, 1e+16, 1e-05, true, null], \"a\": {}, \"c\": [], \"d\": "
                   "0.0010000000474974513}");
    assert_becomes(ctx, text, ARTEL__JSON_COMPACT | ARTEL__JSON_SORTED,
                   "{\"a\":{},\"b\":[1,2.5,-0.0,100000.0,1e+16,1e-05,true,null],\"c\":[],\"d\":0.0010000000474974513}");
    assert_becomes(ctx, "{\"a\":[1,{\"b\":2}],\"c\":{}}", ARTEL__JSON_INDENT,
                   "{\n  \"a\": [\n    1,\n    {\n      \"b\": 2\n    }\n  ],\n  \"c\": {}\n}");
}

static void test_strings(void **state)
{
    artel_context *ctx = *state;
    const char *text = "\"q\\\" b\\\\ \\/ \\n\\r\\t\\b\\f \\u0001 gr\xc3\xb6\xc3\x9f"
                       "e \xf0\x9f\x98\x80 \x7f\"";
    assert_becomes(ctx, text, ARTEL__JSON_PYTHON,
                   "\"q\\\" b\\\\ / \\n\\r\\t\\b\\f \\u0001 gr\\u00f6\\u00dfe \\ud83d\\ude00 \\u007f\"");
    assert_becomes(ctx, text, ARTEL__JSON_UTF8,
                   "\"q\\\" b\\\\ / \\n\\r\\t\\b\\f \\u0001 gr\xc3\xb6\xc3\x9f"
                   "e \xf0\x9f\x98\x80 \x7f\"");
}

static void test_special_numbers(void **state)
{
    artel_context *ctx = *state;
    assert_becomes(ctx, "{\"a\": NaN, \"b\": [Infinity, -Infinity,-1], \"NaN\": \"a NaN \\\" Infinity\"}", 0,
                   "{\"a\": NaN, \"b\": [Infinity, -Infinity, -1], \"NaN\": \"a NaN \\\" Infinity\"}");
    assert_becomes(ctx, "[1e999, -1e999, 1e-999, 9223372036854775807, 9223372036854775808, -9223372036854775809]", 0,
                   "[Infinity, -Infinity, 0.0, 9223372036854775807, 9.223372036854776e+18, -9.223372036854776e+18]");
    json_t *value = load(ctx, "[NaN, -Infinity, 3, 2.5, true, \"3\", \"\\u0001x\"]");
    double number = 0;
    assert_true(artel__json_number(json_array_get(value, 0), &number) && isnan(number));
    assert_true(artel__json_number(json_array_get(value, 1), &number) && number < -DBL_MAX);
    assert_true(artel__json_number(json_array_get(value, 2), &number) && number == 3);
    assert_true(artel__json_number(json_array_get(value, 3), &number) && number == 2.5);
    for (size_t i = 4; i < 7; i++) assert_false(artel__json_number(json_array_get(value, i), &number));
    json_decref(value);
}

static void test_integers(void **state)
{
    json_t *value = load(*state, "[7, 7.0, 7.5, 1e30, NaN, true]");
    int64_t number = 0;
    assert_true(artel__json_integer(json_array_get(value, 0), &number) && number == 7);
    number = 0;
    assert_true(artel__json_integer(json_array_get(value, 1), &number) && number == 7);
    for (size_t i = 2; i < 6; i++) assert_false(artel__json_integer(json_array_get(value, i), &number));
    json_decref(value);
}

static void test_last_key_wins(void **state)
{
    assert_becomes(*state, "{\"a\": 1, \"b\": 2, \"a\": 3}", 0, "{\"a\": 3, \"b\": 2}");
}

/* What a person has written: each key once, at every depth, and named with its line. */
static void test_written(void **state)
{
    artel_context *ctx = *state;
    static const char *const doubled[] = {"{\"a\": 1, \"a\": 1}", "{\"b\": [{\"a\": NaN, \"c\": {}, \"a\": 2}]}",
                                          "{\"a\": 1, \"\\u0061\": 2}"};
    json_t *value = NULL;
    for (size_t i = 0; i < ARTEL__COUNT(doubled); i++) {
        artel__operation_begin(ctx);
        assert_int_equal(artel__json_load_written(ctx, "test.json", doubled[i], strlen(doubled[i]), &value),
                         ARTEL_ERROR_INVALID);
        assert_non_null(strstr(artel_context_error(ctx)->what, "a key occurs twice"));
        assert_non_null(strstr(artel_context_error(ctx)->what, "line 1"));
    }
    const char *once = "{\"a\": {\"a\": [{\"a\": 1}, {\"a\": 2}]}}";
    assert_int_equal(artel__json_load_written(ctx, "test.json", once, strlen(once), &value), ARTEL_OK);
    json_decref(value);
}

static void test_real_values(void **state)
{
    (void)state;
    const double numbers[] = {NAN, INFINITY, -INFINITY, 0.1, -0.0, 5e-324};
    for (size_t i = 0; i < ARTEL__COUNT(numbers); i++) {
        json_t *value = artel__json_real(numbers[i]);
        double back = 1;
        assert_non_null(value);
        assert_true(artel__json_number(value, &back));
        assert_true(isnan(numbers[i]) ? isnan(back) : memcmp(&back, &numbers[i], sizeof back) == 0);
        json_decref(value);
    }
}

static void assert_refused(artel_context *ctx, const char *text, size_t size, const char *part)
{
    json_t *value = NULL;
    artel_context_clear(ctx);
    assert_int_equal(artel__json_load(ctx, "bad.json", text, size, &value), ARTEL_ERROR_CORRUPT);
    assert_null(value);
    assert_string_equal(artel_context_error(ctx)->where, "bad.json");
    assert_non_null(strstr(artel_context_error(ctx)->what, part));
}

static void test_refusals(void **state)
{
    static const char *const texts[] = {"",      "{",        "[1,",      "[1 2]",       "\"abc",   "\"abc\\",
                                        "nan",   "-",        "[1,]",     "{\"a\" 1}",   "1 2",     "[NaNN]",
                                        "-Inf",  "[1e999e]", "\"\xff\"", "{\"a\": 00}", "Infinit", "\"a\\u0000b\"",
                                        "[1NaN]"};
    for (size_t i = 0; i < ARTEL__COUNT(texts); i++)
        assert_refused(*state, texts[i], strlen(texts[i]), "not valid JSON");
    assert_refused(*state, "{\n\"a\": NaN,\n\"b\": ?}", 20, "line 3");
    assert_refused(*state, "[1]\0", 4, "not valid JSON");
}

static void test_depth(void **state)
{
    char text[4 * ARTEL__JSON_MAX_DEPTH];
    memset(text, '[', sizeof text);
    assert_refused(*state, text, ARTEL__JSON_MAX_DEPTH + 1, "nested");
    memset(text + ARTEL__JSON_MAX_DEPTH, ']', ARTEL__JSON_MAX_DEPTH);
    text[2 * ARTEL__JSON_MAX_DEPTH] = '\0';
    assert_becomes(*state, text, 0, text);
}

/* Every prefix of a text ends in a value or a message, and nothing is read beyond its end. */
static void test_prefixes(void **state)
{
    static const char text[] =
        "{\"a\": [NaN, -Infinity, 1e400, 12345678901234567890, \"x\\\"\\u00e9\"], \"b\": -1.5e-3}";
    for (size_t size = 0; size < sizeof text - 1; size++) {
        void *copy = NULL;
        json_t *value = NULL;
        assert_int_equal(artel__alloc(*state, size + 1, "test", &copy), ARTEL_OK);
        memcpy(copy, text, size);
        artel_context_clear(*state);
        assert_int_equal(artel__json_load(*state, "prefix", copy, size, &value), ARTEL_ERROR_CORRUPT);
        artel__free(*state, copy);
    }
}

/* Each allocation fails once: an answer, no leak, and in the end success. */
static void test_no_memory(void **state)
{
    artel_context *ctx = *state;
    static const char text[] = "{\"a\": [NaN, 1e400], \"b\": {\"c\": 1}}";
    artel_status status = ARTEL_ERROR_NO_MEMORY;
    for (uint64_t n = 1; status == ARTEL_ERROR_NO_MEMORY; n++) {
        json_t *value = NULL;
        char *out = NULL;
        artel_context_clear(ctx);
        artel__fail_allocation_after(ctx, n);
        status = artel__json_load(ctx, "test.json", text, sizeof text - 1, &value);
        if (status >= 0) status = artel__json_dump_string(ctx, value, ARTEL__JSON_SORTED, &out);
        artel__fail_allocation_after(ctx, 0);
        json_decref(value);
        artel__free(ctx, out);
        assert_true(n < 100);
    }
    assert_int_equal(status, ARTEL_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_writes_like_python, start, stop),
        cmocka_unit_test_setup_teardown(test_strings, start, stop),
        cmocka_unit_test_setup_teardown(test_special_numbers, start, stop),
        cmocka_unit_test_setup_teardown(test_integers, start, stop),
        cmocka_unit_test_setup_teardown(test_last_key_wins, start, stop),
        cmocka_unit_test_setup_teardown(test_written, start, stop),
        cmocka_unit_test_setup_teardown(test_real_values, start, stop),
        cmocka_unit_test_setup_teardown(test_refusals, start, stop),
        cmocka_unit_test_setup_teardown(test_depth, start, stop),
        cmocka_unit_test_setup_teardown(test_prefixes, start, stop),
        cmocka_unit_test_setup_teardown(test_no_memory, start, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
