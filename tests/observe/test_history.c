/* SPDX-License-Identifier: Apache-2.0 */
/* History: lists, the JSON file, continuing, damaged text. */
#include "observe/help_observe.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "observe/history.h"

static void check_print(scratch *s, const artel__run_history *history, const char *expected)
{
    artel__text text;
    artel__text_init(&text, s->ctx);
    artel__run_history_print(history, &text);
    assert_string_equal(text.data, expected);
    artel__text_fini(&text);
}

static void collects_and_writes_lists(void **state)
{
    (void)state;
    scratch s;
    artel__run_history *history;
    const artel__log_value items[] = {{"loss", (double)0.1f}, {"val_loss", -INFINITY}};
    scratch_init(&s);
    assert_int_equal(artel__run_history_create(s.ctx, &history), ARTEL_OK);
    check_print(&s, history, "{}");
    for (int i = 0; i < 3; i++)
        assert_int_equal(artel__run_history_append(history, (artel__logs){i == 1 ? 2 : 1, items}), ARTEL_OK);
    assert_int_equal(artel__run_history_write(history, scratch_path(&s, "h.json")), ARTEL_OK);
    char *text = slurp(scratch_path(&s, "h.json"), NULL);
    assert_string_equal(
        text,
        "{\"loss\": [0.10000000149011612, 0.10000000149011612, 0.10000000149011612], \"val_loss\": [-Infinity]}\n");
    free(text);
    artel__run_history_destroy(history);
    scratch_fini(&s);
}

static void continues_what_was_written(void **state)
{
    (void)state;
    scratch s;
    artel__run_history *history;
    size_t count;
    scratch_init(&s);
    assert_int_equal(artel__run_history_create(s.ctx, &history), ARTEL_OK);
    assert_int_equal(artel__run_history_append(history, (artel__logs){1, (artel__log_value[]){{"old", 1}}}), ARTEL_OK);
    const char *text = " {\"loss\" : [1.5, NaN, Infinity,\n 2], \"b\\\"c\": [ ]} \n";
    assert_int_equal(artel__run_history_parse(history, "manifest", text), ARTEL_OK);
    assert_int_equal(artel__run_history_count(history), 2);
    assert_string_equal(artel__run_history_name(history, 1), "b\"c");
    const double *values = artel__run_history_values(history, 0, &count);
    assert_int_equal(count, 4);
    assert_true(values[0] == 1.5 && isnan(values[1]) && isinf(values[2]) && values[3] == 2);
    artel__run_history_truncate(history, 1);
    assert_int_equal(artel__run_history_append(history, (artel__logs){1, (artel__log_value[]){{"loss", 7}}}), ARTEL_OK);
    check_print(&s, history, "{\"loss\": [1.5, 7.0], \"b\\\"c\": []}");
    artel__run_history_destroy(history);
    scratch_fini(&s);
}

static void keeps_lists(void **state)
{
    (void)state;
    scratch s;
    artel__run_history *history;
    const char *text = "{\"f1\": [[0.5, 1.0], [NaN, 2.0]], \"loss\": [1.0, 2.0]}";
    scratch_init(&s);
    assert_int_equal(artel__run_history_create(s.ctx, &history), ARTEL_OK);
    assert_int_equal(artel__run_history_parse(history, "manifest", text), ARTEL_OK);
    assert_int_equal(artel__run_history_count(history), 3);
    check_print(&s, history, text);
    artel__run_history_destroy(history);
    scratch_fini(&s);
}

static void refuses_damaged_text(void **state)
{
    (void)state;
    static const char *const damaged[] = {
        "",       "[]",          "{\"a\": 1}",      "{\"a\": [1,]}",  "{\"a\": [\"x\"]}",
        "{\"a\"", "{\"a\": [1]", "{\"a\": [true]}", "{\"a\": [1]} x", "{\"a\": [[\"x\"]]}"};
    scratch s;
    artel__run_history *history;
    scratch_init(&s);
    assert_int_equal(artel__run_history_create(s.ctx, &history), ARTEL_OK);
    for (size_t i = 0; i < ARTEL__COUNT(damaged); i++) {
        artel_context_clear(s.ctx);
        assert_int_equal(artel__run_history_parse(history, "the manifest", damaged[i]), ARTEL_ERROR_CORRUPT);
        assert_non_null(strstr(artel_context_error(s.ctx)->where, "the manifest"));
        assert_int_equal(artel__run_history_count(history), 0);
    }
    artel__run_history_destroy(history);
    scratch_fini(&s);
}

static void lists_grow(void **state)
{
    (void)state;
    scratch s;
    artel__run_history *history;
    size_t count;
    scratch_init(&s);
    assert_int_equal(artel__run_history_create(s.ctx, &history), ARTEL_OK);
    for (int i = 0; i < 1000; i++) {
        char name[32];
        snprintf(name, sizeof name, "m%d", i % 50);
        assert_int_equal(artel__run_history_append(history, (artel__logs){1, (artel__log_value[]){{name, i}}}),
                         ARTEL_OK);
    }
    assert_int_equal(artel__run_history_count(history), 50);
    const double *values = artel__run_history_values(history, 49, &count);
    assert_true(count == 20 && values[19] == 999);
    artel__run_history_destroy(history);
    scratch_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(collects_and_writes_lists),
        cmocka_unit_test(continues_what_was_written),
        cmocka_unit_test(keeps_lists),
        cmocka_unit_test(refuses_damaged_text),
        cmocka_unit_test(lists_grow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
