/* SPDX-License-Identifier: Apache-2.0 */
/* Chrome traces: valid JSON when closed, readable when not, from many threads. */
#include "observe/help_observe.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "observe/trace.h"

static void writes_every_kind(void **state)
{
    (void)state;
    scratch s;
    artel__trace *trace;
    scratch_init(&s);
    assert_int_equal(artel__trace_create(s.ctx, scratch_path(&s, "t.json"), 3, "worker:3", &trace), ARTEL_OK);
    artel__trace_thread(trace, 1, "replica 1");
    artel__trace_span(trace, &(artel__trace_span_record){1, "op", "dense \"a\"", 1500, 4001, "{\"rows\": 8}"});
    artel__trace_instant(trace, 1, "save", 2000000);
    artel__trace_counter(trace, "loss", 5, 0.5);
    artel__trace_counter(trace, "loss", 6, NAN);
    artel__trace_flow(trace, ARTEL__TRACE_FLOW_BEGIN, 1, 77, 1600);
    artel__trace_flow(trace, ARTEL__TRACE_FLOW_END, 2, 77, 1700);
    assert_int_equal(artel__trace_destroy(trace), ARTEL_OK);
    char *text = slurp(scratch_path(&s, "t.json"), NULL);
    assert_string_equal(
        text,
        "[\n{\"ph\": \"M\", \"pid\": 3, \"tid\": 0, \"name\": \"process_name\", \"args\": {\"name\": \"worker:3\"}},\n"
        "{\"ph\": \"M\", \"pid\": 3, \"tid\": 1, \"name\": \"thread_name\", \"args\": {\"name\": \"replica 1\"}},\n"
        "{\"ph\": \"X\", \"pid\": 3, \"tid\": 1, \"name\": \"dense \\\"a\\\"\", \"cat\": \"op\", \"ts\": 1.500, "
        "\"dur\": 2.501, "
        "\"args\": {\"rows\": 8}},\n"
        "{\"ph\": \"i\", \"pid\": 3, \"tid\": 1, \"name\": \"save\", \"ts\": 2000.000, \"s\": \"t\"},\n"
        "{\"ph\": \"C\", \"pid\": 3, \"tid\": 0, \"name\": \"loss\", \"ts\": 0.005, \"args\": {\"value\": 0.5}},\n"
        "{\"ph\": \"C\", \"pid\": 3, \"tid\": 0, \"name\": \"loss\", \"ts\": 0.006, \"args\": {\"value\": 0.0}},\n"
        "{\"ph\": \"s\", \"pid\": 3, \"tid\": 1, \"name\": \"message\", \"ts\": 1.600, \"cat\": \"flow\", \"id\": "
        "77},\n"
        "{\"ph\": \"f\", \"pid\": 3, \"tid\": 2, \"name\": \"message\", \"ts\": 1.700, \"cat\": \"flow\", \"id\": 77, "
        "\"bp\": \"e\"}\n]\n");
    free(text);
    scratch_fini(&s);
}

enum {
    THREADS = 4,
    SPANS = 2000
};

static void *many_spans(void *trace)
{
    for (int i = 0; i < SPANS; i++) artel__trace_span(trace, &(artel__trace_span_record){i, "op", "x", i, i + 1, NULL});
    return NULL;
}

static void takes_many_threads(void **state)
{
    (void)state;
    scratch s;
    artel__trace *trace;
    pthread_t threads[THREADS];
    json_t *root;
    scratch_init(&s);
    assert_int_equal(artel__trace_create(s.ctx, scratch_path(&s, "t.json"), 0, "p", &trace), ARTEL_OK);
    for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, many_spans, trace), 0);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    assert_int_equal(artel__trace_destroy(trace), ARTEL_OK);
    assert_int_equal(artel__json_load_file(s.ctx, scratch_path(&s, "t.json"), &root), ARTEL_OK);
    assert_int_equal(json_array_size(root), 1 + THREADS * SPANS);
    json_decref(root);
    scratch_fini(&s);
}

static void an_open_trace_lacks_only_its_bracket(void **state)
{
    (void)state;
    scratch s;
    artel__trace *trace;
    json_t *root;
    size_t size;
    scratch_init(&s);
    assert_int_equal(artel__trace_create(s.ctx, scratch_path(&s, "t.json"), 0, "p", &trace), ARTEL_OK);
    many_spans(trace);
    artel__trace_flush(trace);
    char *text = slurp(scratch_path(&s, "t.json"), &size);
    text = realloc(text, size + 2);
    assert_non_null(text);
    strcpy(text + size, "]");
    assert_int_equal(artel__json_load(s.ctx, "t.json", text, size + 1, &root), ARTEL_OK);
    assert_int_equal(json_array_size(root), 1 + SPANS);
    json_decref(root);
    free(text);
    assert_int_equal(artel__trace_destroy(trace), ARTEL_OK);
    scratch_fini(&s);
}

static void a_null_trace_takes_everything(void **state)
{
    (void)state;
    many_spans(NULL);
    artel__trace_thread(NULL, 0, "");
    artel__trace_instant(NULL, 0, "", 0);
    artel__trace_counter(NULL, "", 0, 0);
    artel__trace_flow(NULL, ARTEL__TRACE_FLOW_STEP, 0, 0, 0);
    artel__trace_flush(NULL);
    assert_int_equal(artel__trace_destroy(NULL), ARTEL_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_every_kind),
        cmocka_unit_test(takes_many_threads),
        cmocka_unit_test(an_open_trace_lacks_only_its_bracket),
        cmocka_unit_test(a_null_trace_takes_everything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
