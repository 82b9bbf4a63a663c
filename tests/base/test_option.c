/* SPDX-License-Identifier: Apache-2.0 */
/* Options by table: defaults, every type, ranges, null, unknown names, failing memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/option.h"

static int set_up(void **state)
{
    return artel_context_create(NULL, (artel_context **)state);
}

static int tear_down(void **state)
{
    artel_context_destroy(*state);
    return 0;
}

static const char *const modes[] = {"same", "valid", "causal", NULL};

typedef struct config {
    bool bias;
    int64_t units;
    double rate;
    const char *name;
    int mode, padding;
    artel__ints kernel;
    artel__floats list;
    const char *record;
    double clip;
} config;

static const artel__option table[] = {
    {"use_bias", "whether to add a bias", ARTEL__OPTION_BOOL, offsetof(config, bias), "true", 0, 0, NULL},
    {"units", "outputs", ARTEL__OPTION_INT, offsetof(config, units), NULL, 1, 1e9, NULL},
    {"learning_rate", "step size", ARTEL__OPTION_FLOAT, offsetof(config, rate), "0.001", 0, 0, NULL},
    {"name", "name of the layer", ARTEL__OPTION_STRING, offsetof(config, name), "null", 0, 0, NULL},
    {"mode", "kind", ARTEL__OPTION_ENUM, offsetof(config, mode), "valid", 0, 0, modes},
    {"padding", "kind or none", ARTEL__OPTION_ENUM, offsetof(config, padding), "null", 0, 0, modes},
    {"kernel_size", "window", ARTEL__OPTION_INTS, offsetof(config, kernel), "[3, 3]", 1, 100, NULL},
    {"boundaries", "steps", ARTEL__OPTION_FLOATS, offsetof(config, list), "[]", 0, 0, NULL},
    {"initializer", "record", ARTEL__OPTION_JSON, offsetof(config, record), "{\"a\": 1}", 0, 0, NULL},
    {"clipnorm", "largest norm", ARTEL__OPTION_FLOAT, offsetof(config, clip), "null", 0, 0, NULL},
    {"trainable", "not used", ARTEL__OPTION_IGNORED, 0, "true", 0, 0, NULL},
    {0},
};

static artel_status set(artel__arena *arena, config *target, const char *name, const char *value)
{
    artel__operation_begin(arena->ctx);
    return artel__options_set(arena, table, target, "dense_1", name, value);
}

static void test_defaults(void **state)
{
    artel__arena arena;
    config target;
    artel__arena_init(&arena, *state);
    memset(&target, 0xAA, sizeof(target));
    assert_int_equal(artel__options_default(&arena, table, &target), ARTEL_OK);
    assert_true(target.bias);
    assert_int_equal(target.units, 0);
    assert_true(target.rate == 0.001);
    assert_null(target.name);
    assert_int_equal(target.mode, 1);
    assert_int_equal(target.padding, -1);
    assert_int_equal(target.kernel.count, 2);
    assert_int_equal(target.kernel.item[1], 3);
    assert_int_equal(target.list.count, 0);
    assert_string_equal(target.record, "{\"a\": 1}");
    assert_true(target.clip == 0);
    artel__arena_fini(&arena);
}

static void test_values(void **state)
{
    artel__arena arena;
    config target;
    artel__arena_init(&arena, *state);
    artel__options_default(&arena, table, &target);
    assert_int_equal(set(&arena, &target, "use_bias", "False"), ARTEL_OK);
    assert_false(target.bias);
    assert_int_equal(set(&arena, &target, "units", "64"), ARTEL_OK);
    assert_int_equal(target.units, 64);
    assert_int_equal(set(&arena, &target, "units", "128.0"), ARTEL_OK);
    assert_int_equal(target.units, 128);
    assert_int_equal(set(&arena, &target, "learning_rate", "1"), ARTEL_OK);
    assert_true(target.rate == 1.0);
    assert_int_equal(set(&arena, &target, "name", "\"na\\\"me \\u00e9\\ud83d\\ude00\\n\""), ARTEL_OK);
    assert_string_equal(target.name, "na\"me \xC3\xA9\xF0\x9F\x98\x80\n");
    assert_int_equal(set(&arena, &target, "name", "plain"), ARTEL_OK);
    assert_string_equal(target.name, "plain");
    assert_int_equal(set(&arena, &target, "name", "null"), ARTEL_OK);
    assert_null(target.name);
    assert_int_equal(set(&arena, &target, "mode", "\"causal\""), ARTEL_OK);
    assert_int_equal(target.mode, 2);
    assert_int_equal(set(&arena, &target, "kernel_size", "5"), ARTEL_OK);
    assert_int_equal(target.kernel.count, 1);
    assert_int_equal(target.kernel.item[0], 5);
    assert_int_equal(set(&arena, &target, "kernel_size", "(1, 7)"), ARTEL_OK);
    assert_int_equal(target.kernel.item[1], 7);
    assert_int_equal(set(&arena, &target, "boundaries", "1,2.5,1e3"), ARTEL_OK);
    assert_int_equal(target.list.count, 3);
    assert_true(target.list.item[2] == 1000.0);
    assert_int_equal(set(&arena, &target, "initializer", "null"), ARTEL_OK);
    assert_null(target.record);
    assert_int_equal(set(&arena, &target, "trainable", "whatever"), ARTEL_OK);
    assert_ptr_equal(artel__options_find(table, "mode"), &table[4]);
    assert_null(artel__options_find(table, "nothing"));
    artel__arena_fini(&arena);
}

static void test_refused_values(void **state)
{
    static const char *const wrong[][2] = {
        {"use_bias", "maybe"},
        {"units", "0"},
        {"units", "1.5"},
        {"units", "null"},
        {"learning_rate", "fast"},
        {"learning_rate", "nan"},
        {"learning_rate", "inf"},
        {"mode", "full"},
        {"mode", "null"},
        {"kernel_size", "[3, x]"},
        {"kernel_size", "[3, 3"},
        {"kernel_size", "0"},
        {"kernel_size", "1,2,3,4,5,6,7,8,9"},
        {"name", "\"open"},
        {"name", "\"\\q\""},
        {"name", "\"\\u0000\""},
        {"boundaries", "[1, two]"},
    };
    artel__arena arena;
    config target, before;
    artel__arena_init(&arena, *state);
    memset(&target, 0, sizeof(target));
    artel__options_default(&arena, table, &target);
    memcpy(&before, &target, sizeof(before));
    for (size_t i = 0; i < ARTEL__COUNT(wrong); i++) {
        assert_int_equal(set(&arena, &target, wrong[i][0], wrong[i][1]), ARTEL_ERROR_INVALID);
        assert_memory_equal(&target, &before, sizeof(before));
        assert_string_equal(artel_context_error(*state)->where, "dense_1");
        assert_non_null(strstr(artel_context_error(*state)->what, wrong[i][0]));
    }
    set(&arena, &target, "units", "0");
    assert_string_equal(artel_context_error(*state)->what,
                        "units does not fit (found 0, expected an integer from 1 to 1000000000)");
    set(&arena, &target, "mode", "valdi");
    assert_non_null(strstr(artel_context_error(*state)->what, "one of same, valid, causal; did you mean valid?"));
    artel__arena_fini(&arena);
}

static void test_unknown_name(void **state)
{
    artel__arena arena;
    config target;
    artel__arena_init(&arena, *state);
    assert_int_equal(set(&arena, &target, "lerning_rate", "1"), ARTEL_ERROR_INVALID);
    assert_string_equal(artel_context_error(*state)->advice, "did you mean learning_rate?");
    assert_string_equal(artel_context_error(*state)->what, "there is no option lerning_rate");
    artel__arena_fini(&arena);
}

static void test_no_memory(void **state)
{
    artel__arena arena;
    config target;
    artel__arena_init(&arena, *state);
    artel__fail_allocation_after(*state, 1);
    assert_int_equal(set(&arena, &target, "name", "text"), ARTEL_ERROR_NO_MEMORY);
    artel__arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_defaults, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_values, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_refused_values, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_unknown_name, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_memory, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
