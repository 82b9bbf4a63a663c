/* SPDX-License-Identifier: Apache-2.0 */
/* Regular expressions: matches and groups as RE2 finds them (tests/oracle/test_eager_strings.py compares many more with
 * it), refusals by their place, patterns that would take others for ever, failing allocations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "artel/context.h"
#include "text/pattern.h"

static artel__pattern *read_pattern(artel_context *ctx, const char *text)
{
    artel__pattern *p;
    if (artel__pattern_create(ctx, "pattern", text, strlen(text), &p) < 0)
        fail_msg("%s: %s", text, artel_context_error(ctx)->what);
    return p;
}

static const struct {
    const char *pattern, *text, *groups; /* of the first match: "begin-end" of each, "-" without one; NULL: no match */
} found[] = {{"a|ab", "xab", "1-2"},
             {"(a|ab)(c|bcd)(d*)", "abcd", "0-4 0-1 1-4 4-4"},
             {"(a+?)(a*)", "aaa", "0-3 0-1 1-3"},
             {"(x)?b", "ab", "1-2 -"},
             {"(\xC3\xA9|e)+$", "e\xC3\xA9\xC3\xA9", "0-5 3-5"},
             {"\\bfoo\\b", "afoo foo", "5-8"},
             {"(?m)^b$", "a\nb\nc", "2-3"},
             {"^b$", "a\nb\nc", NULL},
             {".", "\n", NULL},
             {"(?s).", "\n", "0-1"},
             {"(a*)*", "b", "0-0 0-0"},
             {"(?i)k", "\xE2\x84\xAA", "0-3"},
             {"[^[:^alpha:]b]{2}", "abca", "2-4"},
             {"\\Q\\\\E", "a\\", "1-2"}, /* between \Q and \E a backslash is a character */
             {"\\Q\\\\\\E", "\\a\\\\", "2-4"},
             {"\\Qa\\\\b\\E", "a\\b a\\\\b", "4-8"},
             {"\\Qab\\E+", "aabbab", "1-4"},
             {"a(?i)*b", "aab", "0-3"}, /* the last atom, which flags and empty quotes are not */
             {"a\\Q\\E+", "baa", "1-3"},
             {"(a|b)*(?s)??", "ab", "0-0 -"},
             {"a{2}(?s){2}", "aaaaa", "0-4"}};

static void test_matches(void **state)
{
    (void)state;
    artel_context *ctx;
    assert_int_equal(artel_context_create(NULL, &ctx), ARTEL_OK);
    for (size_t i = 0; i < sizeof found / sizeof *found; i++) {
        artel__pattern *p = read_pattern(ctx, found[i].pattern);
        artel__match match;
        char text[128] = "";
        bool is = artel__pattern_find(p, found[i].text, strlen(found[i].text), 0, &match);
        for (int g = 0; is && g <= artel__pattern_groups(p); g++) {
            size_t used = strlen(text);
            if (match.end[g] == SIZE_MAX)
                snprintf(text + used, sizeof text - used, " -");
            else
                snprintf(text + used, sizeof text - used, "%s%zu-%zu", g ? " " : "", match.begin[g], match.end[g]);
        }
        assert_int_equal(is, found[i].groups != NULL);
        if (is) assert_string_equal(text, found[i].groups);
        artel__pattern_destroy(ctx, p);
    }
    artel_context_destroy(ctx);
}

static const struct {
    const char *pattern, *at;
    artel_status status;
} wrong[] = {{"a(b", "byte 1: a parenthesis", ARTEL_ERROR_INVALID},
             {"a)b", "byte 1: no parenthesis", ARTEL_ERROR_INVALID},
             {"a|*", "byte 2: there is nothing to repeat", ARTEL_ERROR_INVALID},
             {"a|(?i)*", "byte 6: there is nothing to repeat", ARTEL_ERROR_INVALID},
             {"(\\Q\\E*)", "byte 5: there is nothing to repeat", ARTEL_ERROR_INVALID},
             {"a**", "byte 2: it is repeated twice", ARTEL_ERROR_INVALID},
             {"a(?i)**", "byte 6: it is repeated twice", ARTEL_ERROR_INVALID},
             {"a{600}(?i)*{2}", "byte 11: it is repeated twice", ARTEL_ERROR_INVALID},
             {"a{600}(?i)*(?s){2}", "byte 15: repetitions in one another", ARTEL_ERROR_INVALID},
             {"a{1001}", "byte 1: nothing is repeated", ARTEL_ERROR_INVALID},
             {"((a{50}){50})", "byte 8: repetitions in one another", ARTEL_ERROR_INVALID},
             {"[b-a]", "byte 1: a range", ARTEL_ERROR_INVALID},
             {"[a", "byte 0: a bracket", ARTEL_ERROR_INVALID},
             {"\\", "byte 0: a backslash", ARTEL_ERROR_INVALID},
             {"\\2", "byte 0: there is no such escape", ARTEL_ERROR_INVALID},
             {"(?=a)", "byte 0: no group begins", ARTEL_ERROR_INVALID},
             {"x\\pL", "byte 1: there are no classes", ARTEL_ERROR_UNSUPPORTED},
             {"x[\\PL]", "byte 2: there are no classes", ARTEL_ERROR_UNSUPPORTED},
             {"\\C", "byte 0: there are no single bytes", ARTEL_ERROR_UNSUPPORTED},
             {"(?i)\xC3\xA9", "byte 4: (?i) knows", ARTEL_ERROR_UNSUPPORTED}};

static void test_refusals(void **state)
{
    (void)state;
    artel_context *ctx;
    artel__pattern *p;
    assert_int_equal(artel_context_create(NULL, &ctx), ARTEL_OK);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const char *text = wrong[i].pattern;
        artel__operation_begin(ctx);
        assert_int_equal(artel__pattern_create(ctx, "pattern", text, strlen(text), &p), wrong[i].status);
        if (!strstr(artel_context_error(ctx)->what, wrong[i].at))
            fail_msg("%s: %s", text, artel_context_error(ctx)->what);
    }
    char deep[4000]; /* more parentheses in one another than there may be; and too many copies */
    memset(deep, '(', sizeof deep);
    artel__operation_begin(ctx);
    assert_int_equal(artel__pattern_create(ctx, "pattern", deep, sizeof deep, &p), ARTEL_ERROR_INVALID);
    artel__operation_begin(ctx);
    for (size_t i = 0; i < sizeof deep; i++) deep[i] = "a{999}"[i % 6];
    assert_int_equal(artel__pattern_create(ctx, "pattern", deep, sizeof deep / 6 * 6, &p), ARTEL_ERROR_INVALID);
    assert_non_null(strstr(artel_context_error(ctx)->what, "too large"));
    artel_context_destroy(ctx);
}

/* What takes a machine that tries one way after the other 2^100 steps takes this one 100 for each step. */
static void test_hostile_patterns(void **state)
{
    (void)state;
    artel_context *ctx;
    char text[100];
    memset(text, 'a', sizeof text);
    assert_int_equal(artel_context_create(NULL, &ctx), ARTEL_OK);
    static const char *const hostile[] = {"(a*)*b", "(a|aa)+b", "(a|a?)+b", "(a?){100}a{100}b"};
    for (int i = 0; i < 4; i++) {
        artel__pattern *p = read_pattern(ctx, hostile[i]);
        artel__match match;
        assert_false(artel__pattern_find(p, text, sizeof text, 0, &match));
        assert_false(artel__pattern_matches(p, text, sizeof text));
        artel__pattern_destroy(ctx, p);
    }
    artel_context_destroy(ctx);
}

static void test_failing_allocations(void **state)
{
    (void)state;
    static const char pattern[] = "(?i)([^a-z]{2,30}|\\D+?)+|(?P<name>[[:word:]]|\\Qa.b\\E){17}";
    artel_context *ctx;
    artel__pattern *p;
    uint64_t n = 0;
    assert_int_equal(artel_context_create(NULL, &ctx), ARTEL_OK);
    for (artel_status status = ARTEL_ERROR_NO_MEMORY; status < 0;) {
        artel__fail_allocation_after(ctx, ++n);
        status = artel__pattern_create(ctx, "pattern", pattern, sizeof pattern - 1, &p);
        artel__fail_allocation_after(ctx, 0);
        if (status < 0) assert_int_equal(status, ARTEL_ERROR_NO_MEMORY);
    }
    assert_true(n > 5);
    artel__pattern_destroy(ctx, p);
    artel_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_matches), cmocka_unit_test(test_refusals),
                                       cmocka_unit_test(test_hostile_patterns),
                                       cmocka_unit_test(test_failing_allocations)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
