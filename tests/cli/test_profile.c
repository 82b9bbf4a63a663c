/* SPDX-License-Identifier: Apache-2.0 */
/* What artel fit --profile says of steps whose times are known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/profile.h"

#define SECOND INT64_C(1000000000)

typedef struct bench {
    artel_context *ctx;
    artel__profiler *profiler;
    char path[256];
    char *text; /* the table */
} bench;

static void open_bench(bench *b)
{
    const char *folder = getenv("TMPDIR");
    snprintf(b->path, sizeof b->path, "%s/artel-profile-XXXXXX", folder ? folder : "/tmp");
    int file = mkstemp(b->path);
    assert_true(file >= 0);
    close(file);
    assert_int_equal(ARTEL_OK, artel_context_create(NULL, &b->ctx));
    assert_int_equal(ARTEL_OK, artel__profiler_create(b->ctx, b->path, &b->profiler));
    artel__profiler_start(b->profiler, 1, 1);
}

static artel_profile_node node(const char *layer, int64_t begin, int64_t seconds)
{
    return (artel_profile_node){.layer = layer,
                                .operation = "product",
                                .kernel = "k",
                                .phase = "forward",
                                .ns = seconds * SECOND,
                                .begin_ns = begin * SECOND,
                                .longest_ns = seconds * SECOND};
}

/* Fills in the table, to be freed, and returns the timeline. */
static json_t *close_bench(bench *b)
{
    size_t length = 0;
    json_error_t error;
    FILE *out = open_memstream(&b->text, &length);
    artel__profiler_print(b->profiler, out);
    fclose(out);
    assert_int_equal(ARTEL_OK, artel__profiler_destroy(b->profiler));
    artel_context_destroy(b->ctx);
    json_t *trace = json_load_file(b->path, 0, &error);
    remove(b->path);
    if (!trace) fail_msg("the timeline: %s", error.text);
    return trace;
}

typedef struct step_times {
    double step, before, input, share, operations, between; /* ms */
} step_times;

static step_times times_in(const char *text)
{
    step_times t;
    const char *line = strstr(text, "a step from end to end");
    assert_non_null(line);
    int found = sscanf(
        line,
        "a step from end to end: %lf ms, of which before it (events, validation, other replicas) %lf ms, waiting for "
        "input %lf ms (%lf%%), operations %lf ms, between them %lf ms",
        &t.step, &t.before, &t.input, &t.share, &t.operations, &t.between);
    assert_int_equal(found, 6);
    return t;
}

/* A slow first step is in none of the sums: 1000 s, then three of 1 s of input, then 2 + 1 + 4 s, 2 s after one
 * another, which the profiler's own time of these milliseconds makes shorter. */
static void test_slow_first_step(void **state)
{
    (void)state;
    bench b;
    open_bench(&b);
    artel_profile_node first[] = {node("a", 100, 500), node("b", 600, 500)};
    artel__profiler_step(b.profiler, 1, first, 2);
    for (int i = 0; i < 3; i++) {
        artel_profile_node next[] = {node("", 1102 + 10 * i, 1), node("a", 1103 + 10 * i, 2),
                                     node("b", 1106 + 10 * i, 4)};
        next[0].operation = next[0].phase = "input";
        artel__profiler_step(b.profiler, 2 + i, next, 3);
    }
    json_decref(close_bench(&b));
    assert_non_null(strstr(b.text, "profile of 3 steps without the first"));
    step_times t = times_in(b.text);
    assert_float_equal(t.step, 10000, 900);
    assert_float_equal(t.before, 2000, 900);
    assert_float_equal(t.input, 1000, 0.001);
    assert_float_equal(t.share, 10, 1);
    assert_float_equal(t.operations, 6000, 0.001);
    assert_float_equal(t.between, 1000, 0.001);
    assert_float_equal(t.step, t.before + t.input + t.operations + t.between, 0.01);
    free(b.text);
}

/* Reading ahead is no part of a step, and is held against what the cores have in one: of 7 s without waiting. */
static void test_reading_ahead(void **state)
{
    static const struct {
        int64_t seconds;
        const char *says;
    } row[] = {{1, ": it fits beside computing\n"}, {1000000, ": it does not fit beside computing"}};
    (void)state;
    for (size_t r = 0; r < sizeof row / sizeof row[0]; r++) {
        bench b;
        open_bench(&b);
        for (int i = 0; i < 3; i++) {
            artel_profile_node nodes[] = {node("", 102 + 10 * i, 1), node("", 102 + 10 * i, row[r].seconds),
                                          node("a", 103 + 10 * i, 6)};
            nodes[0].operation = nodes[0].phase = "input";
            nodes[1].operation = "read";
            nodes[1].phase = "ahead";
            nodes[1].longest_ns = 0;
            artel__profiler_step(b.profiler, 1 + i, nodes, 3);
        }
        json_t *trace = close_bench(&b);
        char *timeline = json_dumps(trace, 0);
        assert_null(strstr(timeline, "\"read\""));
        free(timeline);
        json_decref(trace);
        step_times t = times_in(b.text);
        assert_float_equal(t.operations, 6000, 0.001);
        assert_float_equal(t.input, 1000, 0.001);
        char said[64];
        snprintf(said, sizeof said, "reading ahead: %lld000.000 ms of a core a step", (long long)row[r].seconds);
        assert_non_null(strstr(b.text, said));
        assert_non_null(strstr(b.text, row[r].says));
        free(b.text);
    }
}

/* Whether less than half of a step is said to be before it, where the profiler itself is all there is. */
static bool leaves_out_its_own(void)
{
    enum {
        NODES = 2000,
        STEPS = 10
    };
    static artel_profile_node nodes[NODES];
    static char name[NODES][32];
    bench b;
    open_bench(&b);
    int64_t start = 0;
    for (int s = 0; s < STEPS; s++) {
        int64_t now = artel__now_ns();
        if (s == 1) start = now;
        for (int i = 0; i < NODES; i++) {
            snprintf(name[i], sizeof name[i], "layer_%d", i);
            nodes[i] = node(name[i], 0, 0);
            nodes[i].begin_ns = now;
            nodes[i].ns = nodes[i].longest_ns = 1;
        }
        artel__profiler_step(b.profiler, 1 + s, nodes, NODES);
    }
    double wall = (double)(artel__now_ns() - start) * 1e-6 / (STEPS - 1);
    json_decref(close_bench(&b));
    bool less = times_in(b.text).before <= wall / 2;
    free(b.text);
    return less;
}

/* What the profiler itself takes is not said to be the training's. Another process may take the core between two steps:
 * once in many tries none does. */
static void test_own_time(void **state)
{
    (void)state;
    int tries = 0;
    while (!leaves_out_its_own()) assert_in_range(++tries, 1, 100);
}

/* A name with what JSON and terminals take for something else, and one that is long. */
static void test_names(void **state)
{
    (void)state;
    static const char long_name[] = "\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9"
                                    "0123456789012345678901234567890123456789012345678901234567890123456789"
                                    "0123456789012345678901234567890123456789012345678901234567890123456789"
                                    "0123456789012345678901234567890123456789012345678901234567890123456789";
    bench b;
    open_bench(&b);
    for (int i = 0; i < 2; i++) {
        artel_profile_node nodes[] = {node("a\t\"b\\\n", 1 + 10 * i, 2), node(long_name, 4 + 10 * i, 1),
                                      node("\xC3\xA9", 6 + 10 * i, 1)};
        artel__profiler_step(b.profiler, 1 + i, nodes, 3);
    }
    json_t *trace = close_bench(&b);
    json_t *of_op = json_object_get(json_array_get(trace, 3), "args"),
           *of_long = json_object_get(json_array_get(trace, 4), "args");
    assert_string_equal(json_string_value(json_object_get(of_op, "layer")), "a\t\"b\\\n");
    assert_string_equal(json_string_value(json_object_get(of_op, "phase")), "forward");
    assert_string_equal(json_string_value(json_object_get(of_long, "layer")), long_name);
    assert_non_null(strstr(b.text, "a?\"b\\?                                              1   2000.000   50.0%"));
    assert_non_null(
        strstr(b.text, "\n\xC3\xA9                                                   1   1000.000   25.0%"));
    assert_non_null(strstr(b.text, "90123456789012345678901234567890123      1   1000.000   25.0%"));
    json_decref(trace);
    free(b.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slow_first_step),
        cmocka_unit_test(test_reading_ahead),
        cmocka_unit_test(test_own_time),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
