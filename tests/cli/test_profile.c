/* SPDX-License-Identifier: Apache-2.0 */
/* What artel fit --profile says of steps whose times are known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/profile.h"

enum {
    MS = 1000000
};

typedef struct bench {
    artel_context *ctx;
    artel__profiler *profiler;
    char path[256];
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

static artel_profile_node node(const char *layer, int64_t begin_ms, int64_t ms)
{
    return (artel_profile_node){
        .layer = layer, .operation = "product", .kernel = "k", .phase = "forward", .begin_ns = begin_ms * MS, .ns = ms * MS};
}

/* The table; to be freed. */
static char *close_bench(bench *b)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    artel__profiler_print(b->profiler, out);
    fclose(out);
    assert_int_equal(ARTEL_OK, artel__profiler_destroy(b->profiler));
    artel_context_destroy(b->ctx);
    remove(b->path);
    return text;
}

/* A slow first step is in none of the sums: 1 s, then three of 2 + 1 + 4 ms, 3 ms after one another. */
static void test_slow_first_step(void **state)
{
    (void)state;
    bench b;
    open_bench(&b);
    artel_profile_node first[] = {node("a", 100, 500), node("b", 600, 500)};
    artel__profiler_step(b.profiler, 1, first, 2);
    for (int i = 0; i < 3; i++) {
        artel_profile_node next[] = {node("a", 1103 + 10 * i, 2), node("b", 1106 + 10 * i, 4)};
        artel__profiler_step(b.profiler, 2 + i, next, 2);
    }
    char *text = close_bench(&b);
    assert_non_null(strstr(text, "profile of 3 steps without the first"));
    assert_non_null(strstr(text, "end to end: 10.000 ms, of which before it (data, events, validation, other replicas) 3.000 ms, "
                                 "operations 6.000 ms, between them 1.000 ms\n"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slow_first_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
