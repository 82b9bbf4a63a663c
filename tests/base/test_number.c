/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as text: Python's repr, exact reading back, strict parsing, independence of the floating-point mode. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/text.h"
#include "base/threads.h"

static void test_python_repr(void **state)
{
    static const struct {
        double value;
        const char *text; /* from CPython 3.11 */
    } cases[] = {
        {0.0, "0.0"},
        {-0.0, "-0.0"},
        {1.0, "1.0"},
        {-2.5, "-2.5"},
        {0.1, "0.1"},
        {0.001, "0.001"},
        {1e-4, "0.0001"},
        {1e-5, "1e-05"},
        {1e-7, "1e-07"},
        {123456789.0, "123456789.0"},
        {1e15, "1000000000000000.0"},
        {1e16, "1e+16"},
        {1e22, "1e+22"},
        {1.5e300, "1.5e+300"},
        {5e-324, "5e-324"},
        {2.2250738585072014e-308, "2.2250738585072014e-308"},
        {1.7976931348623157e308, "1.7976931348623157e+308"},
        {0.30000000000000004, "0.30000000000000004"},
        {5.684341886080802e-14, "5.684341886080802e-14"}, /* 2^-44: the nearest 16 digits do not read back */
        {9007199254740993.0, "9007199254740992.0"},
        {123456.789, "123456.789"},
        {0.012345, "0.012345"},
        {1.0 / 3, "0.3333333333333333"},
    };
    char buffer[32];
    (void)state;
    for (size_t i = 0; i < ARTEL__COUNT(cases); i++)
        assert_string_equal(artel__format_double(buffer, sizeof(buffer), cases[i].value), cases[i].text);
    assert_string_equal(artel__format_double(buffer, sizeof(buffer), __builtin_nan("")), "nan");
    assert_string_equal(artel__format_double(buffer, sizeof(buffer), -__builtin_inf()), "-inf");
}

static void test_float32(void **state)
{
    static const struct {
        float value;
        const char *text;
    } cases[] = {{0.1f, "0.1"},
                 {1.0f, "1.0"},
                 {16777216.0f, "16777216.0"},
                 {3.4028235e38f, "3.4028235e+38"},
                 {1e-45f, "1e-45"},
                 {0.33333334f, "0.33333334"},
                 {1e-7f, "1e-07"},
                 {1.1754944e-38f, "1.1754944e-38"}};
    char buffer[32];
    (void)state;
    for (size_t i = 0; i < ARTEL__COUNT(cases); i++)
        assert_string_equal(artel__format_float(buffer, sizeof(buffer), cases[i].value), cases[i].text);
}

/* Random bits of both formats read back as themselves, in a caller's mode and in that of compute. */
static void read_back_all(uint32_t batch)
{
    artel__rng_key key = artel__rng_make_key(1, ARTEL__STREAM_INIT);
    char buffer[40];
    for (uint64_t i = 0; i < 20000; i++) {
        uint32_t word[4], back = 0;
        uint64_t bits = 0, wide = 0;
        double value = 0;
        float single = 0;
        artel__rng_block(key, batch, 0, 0, i, word);
        bits = (uint64_t)word[0] << 32 | word[1];
        if (i % 10 == 0) bits &= ~((uint64_t)0x7FF << 52); /* denormals */
        if ((bits >> 52 & 0x7FF) == 0x7FF) continue;
        memcpy(&value, &bits, 8);
        assert_true(artel__parse_double(artel__format_double(buffer, sizeof(buffer), value), &value));
        memcpy(&wide, &value, 8);
        assert_int_equal(wide, bits);
        if (i % 10 == 0) word[2] &= ~((uint32_t)0xFF << 23);
        if ((word[2] >> 23 & 0xFF) == 0xFF) continue;
        memcpy(&single, &word[2], 4);
        single = strtof(artel__format_float(buffer, sizeof(buffer), single), NULL);
        memcpy(&back, &single, 4);
        assert_int_equal(back, word[2]);
    }
}

static void test_reading_back(void **state)
{
    (void)state;
    read_back_all(0);
    uint32_t mode = artel__fp_enter(); /* denormals are zero: the text must not be */
    read_back_all(1);
    char buffer[32];
    assert_string_equal(artel__format_double(buffer, sizeof(buffer), 5e-324), "5e-324");
    artel__fp_leave(mode);
}

static void test_parse_int64(void **state)
{
    int64_t value = 0;
    (void)state;
    assert_true(artel__parse_int64("0", &value) && value == 0);
    assert_true(artel__parse_int64("-9223372036854775808", &value) && value == INT64_MIN);
    assert_true(artel__parse_int64("+9223372036854775807", &value) && value == INT64_MAX);
    static const char *const wrong[] = {"",
                                        "-",
                                        "+",
                                        " 1",
                                        "1 ",
                                        "9223372036854775808",
                                        "-9223372036854775809",
                                        "1.",
                                        "0x1",
                                        "1e3",
                                        "--1",
                                        "99999999999999999999999"};
    for (size_t i = 0; i < ARTEL__COUNT(wrong); i++) assert_false(artel__parse_int64(wrong[i], &value));
}

static void test_parse_double(void **state)
{
    double value = 0;
    (void)state;
    assert_true(artel__parse_double("1e-3", &value) && value == 1e-3);
    assert_true(artel__parse_double(".5", &value) && value == 0.5);
    assert_true(artel__parse_double("5.", &value) && value == 5.0);
    assert_true(artel__parse_double("-1.25E+2", &value) && value == -125.0);
    assert_true(artel__parse_double("123456789012345678901234567890", &value) &&
                value == 123456789012345678901234567890.0);
    assert_true(artel__parse_double("0.1000000000000000055511151231257827", &value) && value == 0.1);
    assert_true(artel__parse_double("1e-400", &value) && value == 0.0);
    assert_true(artel__parse_double("0e99999999999", &value) && value == 0.0);
    assert_true(artel__parse_double("-INF", &value) && value == -__builtin_inf());
    assert_true(artel__parse_double("nan", &value) && value != value);
    static const char *const wrong[] = {"",   ".",     "-",    "e5",  "1e",      "1e+",   " 1",
                                        "1 ", "1e400", "0x10", "1,5", "infinit", "1.2.3", "nanx"};
    for (size_t i = 0; i < ARTEL__COUNT(wrong); i++) assert_false(artel__parse_double(wrong[i], &value));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_python_repr), cmocka_unit_test(test_float32),      cmocka_unit_test(test_reading_back),
        cmocka_unit_test(test_parse_int64), cmocka_unit_test(test_parse_double),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
