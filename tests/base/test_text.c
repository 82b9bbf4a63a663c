/* SPDX-License-Identifier: Apache-2.0 */
/* Growing text, prefixes and suffixes, nearest names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/text.h"

static int set_up(void **state)
{
    return artel_context_create(NULL, (artel_context **)state);
}

static int tear_down(void **state)
{
    artel_context_destroy(*state);
    return 0;
}

static void test_growing(void **state)
{
    artel__text text;
    artel__text_init(&text, *state);
    assert_string_equal(text.data, "");
    artel__text_clear(&text);
    for (int i = 0; i < 1000; i++) {
        artel__text_append(&text, "ab");
        artel__text_printf(&text, "%03d", i);
        artel__text_append_bytes(&text, "\0z", 2);
    }
    assert_int_equal(text.length, 7000);
    assert_memory_equal(text.data + 7 * 123, "ab123\0z", 7);
    assert_int_equal(text.data[7000], 0);
    assert_int_equal(artel__text_status(&text), ARTEL_OK);
    artel__text_clear(&text);
    assert_string_equal(text.data, "");
    artel__text_printf(&text, "%s", "");
    artel__text_append(&text, "again");
    assert_string_equal(text.data, "again");
    artel__text_fini(&text);
    assert_string_equal(text.data, "");
}

static void test_failed_growth(void **state)
{
    artel__text text;
    artel__text_init(&text, *state);
    artel__text_append(&text, "kept");
    artel__fail_allocation_after(*state, 1);
    for (int i = 0; i < 100; i++) artel__text_append(&text, "0123456789");
    assert_int_equal(artel__text_status(&text), ARTEL_ERROR_NO_MEMORY);
    assert_memory_equal(text.data, "kept", 4);
    assert_int_equal(strlen(text.data), text.length);
    artel__text_fini(&text);
}

static void test_ends(void **state)
{
    (void)state;
    assert_true(artel__starts_with("npz:file", "npz:"));
    assert_true(artel__starts_with("npz", ""));
    assert_false(artel__starts_with("np", "npz"));
    assert_true(artel__ends_with("a.keras", ".keras"));
    assert_true(artel__ends_with("a", ""));
    assert_false(artel__ends_with("keras", ".keras"));
}

static void test_nearest_name(void **state)
{
    static const char *const names[] = {"adam", "adamw", "sgd", "rmsprop", "learning_rate", "momentum", NULL};
    (void)state;
    assert_string_equal(artel__nearest_name("adma", names), "adam");
    assert_string_equal(artel__nearest_name("Adam", names), "adam");
    assert_string_equal(artel__nearest_name("learning-rate", names), "learning_rate");
    assert_string_equal(artel__nearest_name("learnign_rat", names), "learning_rate");
    assert_string_equal(artel__nearest_name("learn", names), "learning_rate"); /* the beginning of it */
    assert_string_equal(artel__nearest_name("lr", names), "learning_rate");    /* its initials */
    assert_string_equal(artel__nearest_name("rmspop", names), "rmsprop");
    assert_null(artel__nearest_name("zzzzzz", names));
    static const char *const others[] = {"bce", "Rescaling", "Conv1D", "Conv2DTranspose", "Dense", NULL};
    assert_null(artel__nearest_name("Dice", others)); /* half of it is wrong */
    assert_null(artel__nearest_name("Resizing", others));
    assert_null(artel__nearest_name("Conv3D", others)); /* another thing */
    assert_null(artel__nearest_name("ConvLSTM2D", others));
    assert_string_equal(artel__nearest_name("Conv1", others), "Conv1D");
    assert_string_equal(artel__nearest_name("Convd", others), "Conv1D");
    assert_string_equal(artel__nearest_name("rescalling", others), "Rescaling");
    assert_null(artel__nearest_name("", names));
    assert_null(
        artel__nearest_name("an extremely long word that no name of any table can be near to, whatever it is", names));
}

static void escapes_json_strings(void **state)
{
    static const char *const cases[][2] = {
        {"plain", "\"plain\""},
        {"", "\"\""},
        {"a\"b\\c", "\"a\\\"b\\\\c\""},
        {"\n\r\t\x01\x7f", "\"\\n\\r\\t\\u0001\\u007f\""},
        {"gr\xc3\xb6\xc3\x9f"
         "e \xf0\x9f\x98\x80",
         "\"gr\xc3\xb6\xc3\x9f"
         "e \xf0\x9f\x98\x80\""},
        {"a\xff"
         "b",
         "\"a\xef\xbf\xbd"
         "b\""},
        {"\b\f", "\"\\u0008\\u000c\""},
        {"\xc3", "\"\xef\xbf\xbd\""},
        {"\xc0\xaf", "\"\xef\xbf\xbd\xef\xbf\xbd\""},                 /* overlong */
        {"\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""}, /* a surrogate */
    };
    artel__text text;
    artel__text_init(&text, *state);
    for (size_t i = 0; i < ARTEL__COUNT(cases); i++) {
        artel__text_clear(&text);
        artel__text_append_json(&text, cases[i][0]);
        assert_string_equal(text.data, cases[i][1]);
    }
    artel__text_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_growing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(escapes_json_strings, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_failed_growth, set_up, tear_down),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_nearest_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
