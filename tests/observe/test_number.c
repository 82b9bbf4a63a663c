/* SPDX-License-Identifier: Apache-2.0 */
/* Floats as Python spells them, JSON strings, the numbers of the progress bar. */
#include "observe/help_observe.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "observe/number.h"

static void spells_floats_as_python(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0.0, "0.0"},
        {-0.0, "-0.0"},
        {1.0, "1.0"},
        {-2.5, "-2.5"},
        {0.1, "0.1"},
        {100000.0, "100000.0"},
        {1e15, "1000000000000000.0"},
        {9999999999999998.0, "9999999999999998.0"},
        {1e16, "1e+16"},
        {1.5e300, "1.5e+300"},
        {0.0001, "0.0001"},
        {0.00012345, "0.00012345"},
        {0.00001, "1e-05"},
        {1.2345e-7, "1.2345e-07"},
        {(double)0.3610169291496277f, "0.3610169291496277"},
        {(double)0.001f, "0.0010000000474974513"},
        {5e-324, "5e-324"},
        {DBL_MAX, "1.7976931348623157e+308"},
        {2.2250738585072011e-308, "2.225073858507201e-308"},
        {NAN, "nan"},
        {INFINITY, "inf"},
        {-INFINITY, "-inf"},
    };
    char buffer[ARTEL__PYTHON_FLOAT_SIZE];
    for (size_t i = 0; i < ARTEL__COUNT(cases); i++)
        assert_string_equal(artel__python_float(buffer, cases[i].value), cases[i].text);
}

static void floats_survive_the_way_through_text(void **state)
{
    (void)state;
    char buffer[ARTEL__PYTHON_FLOAT_SIZE];
    uint64_t bits = 12345;
    for (int i = 0; i < 20000; i++) {
        double value;
        bits = bits * 6364136223846793005u + 1442695040888963407u;
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value)) continue;
        assert_true(strtod(artel__python_float(buffer, value), NULL) == value);
    }
}

static void writes_json_numbers(void **state)
{
    (void)state;
    scratch s;
    artel__text text;
    scratch_init(&s);
    artel__text_init(&text, s.ctx);
    artel__put_json_float(&text, NAN);
    artel__put_json_float(&text, -INFINITY);
    artel__put_json_float(&text, 0.5);
    assert_string_equal(text.data, "NaN-Infinity0.5");
    artel__text_fini(&text);
    scratch_fini(&s);
}

static void shows_small_numbers_with_an_exponent(void **state)
{
    (void)state;
    char b[32];
    assert_string_equal(artel__progress_number(b, sizeof b, 0.77, true), "0.7700");
    assert_string_equal(artel__progress_number(b, sizeof b, 0.001, true), "1.0000e-03");
    assert_string_equal(artel__progress_number(b, sizeof b, 0.00100001, true), "0.0010");
    assert_string_equal(artel__progress_number(b, sizeof b, 0, true), "0.0000e+00");
    assert_string_equal(artel__progress_number(b, sizeof b, -2, true), "-2.0000");
    assert_string_equal(artel__progress_number(b, sizeof b, -2, false),
                        "-2.0000e+00"); /* Keras does so in its verbose 2 */
    assert_string_equal(artel__progress_number(b, sizeof b, NAN, true), "nan");
    assert_string_equal(artel__progress_number(b, sizeof b, INFINITY, false), "inf");
}

static void finds_logs_by_name(void **state)
{
    (void)state;
    static const artel__log_value items[] = {{"loss", 1}, {"val_loss", 2}};
    artel__logs logs = {2, items};
    assert_ptr_equal(artel__logs_find(logs, "val_loss"), &items[1]);
    assert_null(artel__logs_find(logs, "los"));
}

/* Elements of a list stand together, whatever their names are like. */
static void joins_elements(void **state)
{
    (void)state;
    static const artel__log_value items[] = {{"a", 1},    {"f[0]", 2}, {"f[1]", 3}, {"f[0]", 4},
                                             {"g[0]", 5}, {"g[2]", 6}, {"h[]", 7},  {"[0]", 8}};
    static const struct {
        const char *name;
        size_t count;
        bool list;
    } groups[] = {{"a", 1, false}, {"f", 2, true},    {"f", 1, true},   {"g", 1, true},
                  {"g", 1, true},  {"h[]", 1, false}, {"[0]", 1, false}};
    artel__log_group group = {.first = 0};
    size_t seen = 0;
    for (; artel__logs_next((artel__logs){ARTEL__COUNT(items), items}, &group); seen++) {
        assert_string_equal(group.name, groups[seen].name);
        assert_int_equal(group.count, groups[seen].count);
        assert_int_equal(group.list, groups[seen].list);
    }
    assert_int_equal(seen, ARTEL__COUNT(groups));
    assert_false(artel__logs_next((artel__logs){0, NULL}, &(artel__log_group){.first = 0}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spells_floats_as_python), cmocka_unit_test(floats_survive_the_way_through_text),
        cmocka_unit_test(writes_json_numbers),     cmocka_unit_test(shows_small_numbers_with_an_exponent),
        cmocka_unit_test(finds_logs_by_name),      cmocka_unit_test(joins_elements),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
