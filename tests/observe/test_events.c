/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON lines of --json: golden text of every kind, detail, failures. */
#include "observe/help_observe.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "observe/events.h"

typedef struct sink {
    scratch s;
    int fd;
    artel__events *events;
} sink;

static void sink_init(sink *k, artel__events_detail detail)
{
    scratch_init(&k->s);
    k->fd = capture_open();
    assert_int_equal(artel__events_create(k->s.ctx, k->fd, detail, &k->events), ARTEL_OK);
}

static void sink_fini(sink *k, const char *expected)
{
    char *text = capture_text(k->fd);
    assert_string_equal(text, expected);
    free(text);
    assert_int_equal(artel__events_destroy(k->events), ARTEL_OK);
    close(k->fd);
    scratch_fini(&k->s);
}

static const artel__log_value items[] = {{"accuracy", 0.5}, {"loss", (double)0.1f}, {"val_loss", NAN}};
static const artel__logs logs = {3, items};

static void writes_the_kinds_of_a_run(void **state)
{
    (void)state;
    sink k;
    sink_init(&k, ARTEL__EVENTS_STEPS);
    const artel__event_start start = {"worker", NULL, 7, "mirrored", 2, 4, 8, "artel-1/avx2", NULL};
    const artel__event_end_of_run end = {10, 320, 1000.0, NAN, 2.5, 40, 1 << 20, "ab", 0, 0};
    const artel__logs metrics = {2, items};
    assert_int_equal(artel__events_start(k.events, &start), ARTEL_OK);
    assert_int_equal(artel__events_step(k.events, 0, 1, (double)0.1f), ARTEL_OK);
    assert_int_equal(artel__events_epoch(k.events, 0, logs), ARTEL_OK);
    assert_int_equal(artel__events_evaluate(k.events, -1, metrics), ARTEL_OK);
    assert_int_equal(artel__events_checkpoint(k.events, "dir/ckpt-10", 10), ARTEL_OK);
    assert_int_equal(artel__events_end(k.events, &end), ARTEL_OK);
    sink_fini(
        &k,
        "{\"event\": \"start\", \"role\": \"worker\", \"task\": null, \"pid\": 7, \"strategy\": \"mirrored\", "
        "\"replicas\": 2, "
        "\"threads\": 4, \"shards\": 8, \"arithmetic\": \"artel-1/avx2\", \"resumed_from\": null}\n"
        "{\"event\": \"step\", \"epoch\": 0, \"step\": 1, \"loss\": 0.10000000149011612}\n"
        "{\"event\": \"epoch\", \"epoch\": 0, \"accuracy\": 0.5, \"loss\": 0.10000000149011612, \"val_loss\": NaN}\n"
        "{\"event\": \"evaluate\", \"accuracy\": 0.5, \"loss\": 0.10000000149011612, "
        "\"metrics\": {\"accuracy\": 0.5, \"loss\": 0.10000000149011612}}\n"
        "{\"event\": \"checkpoint\", \"path\": \"dir/ckpt-10\", \"step\": 10}\n"
        "{\"event\": \"end\", \"steps\": 10, \"examples\": 320, \"examples_per_second\": 1000.0, \"step_ms\": null, "
        "\"first_step_ms\": 2.5, \"start_ms\": 40.0, \"peak_rss_bytes\": 1048576, \"digest\": \"ab\"}\n");
}

static void writes_the_kinds_of_a_cluster(void **state)
{
    (void)state;
    sink k;
    sink_init(&k, ARTEL__EVENTS_STEPS);
    static const char *const members[] = {"worker:0", "worker:2"}, *const left[] = {"worker:1"};
    const artel__event_membership membership = {3, members, NULL, left, 2, 0, 1, "heartbeat silent", 12.5};
    const artel__event_fault fault = {1, "host\"1\"", "reduce", "reset by peer"};
    assert_int_equal(artel__events_membership(k.events, &membership), ARTEL_OK);
    assert_int_equal(artel__events_fault(k.events, &fault), ARTEL_OK);
    sink_fini(
        &k, "{\"event\": \"membership\", \"generation\": 3, \"members\": [\"worker:0\", \"worker:2\"], \"joined\": [], "
            "\"left\": [\"worker:1\"], \"why\": \"heartbeat silent\", \"pause_ms\": 12.5}\n"
            "{\"event\": \"fault\", \"rank\": 1, \"host\": \"host\\\"1\\\"\", \"phase\": \"reduce\", \"cause\": "
            "\"reset by peer\"}\n");
}

static void builds_free_events(void **state)
{
    (void)state;
    sink k;
    sink_init(&k, ARTEL__EVENTS_STEPS);
    artel__event_begin(k.events, "dropped");
    artel__event_begin(k.events, "plan");
    artel__event_object_begin(k.events, "a");
    artel__event_object_end(k.events);
    artel__event_list_begin(k.events, "b");
    artel__event_int(k.events, NULL, 1);
    artel__event_object_begin(k.events, NULL);
    artel__event_bool(k.events, "c", true);
    artel__event_object_end(k.events);
    artel__event_json(k.events, NULL, "[]");
    artel__event_list_end(k.events);
    artel__event_int(k.events, "d", -1);
    assert_int_equal(artel__event_end(k.events), ARTEL_OK);
    sink_fini(&k, "{\"event\": \"plan\", \"a\": {}, \"b\": [1, {\"c\": true}, []], \"d\": -1}\n");
}

static void epochs_detail_leaves_steps_out(void **state)
{
    (void)state;
    sink k;
    sink_init(&k, ARTEL__EVENTS_EPOCHS);
    assert_int_equal(artel__events_step(k.events, 0, 1, 1), ARTEL_OK);
    assert_int_equal(artel__events_epoch(k.events, 0, (artel__logs){1, items}), ARTEL_OK);
    sink_fini(&k, "{\"event\": \"epoch\", \"epoch\": 0, \"accuracy\": 0.5}\n");
}

static void a_null_sink_takes_everything(void **state)
{
    (void)state;
    assert_int_equal(artel__events_epoch(NULL, 0, logs), ARTEL_OK);
    assert_int_equal(artel__events_start(NULL, &(artel__event_start){0}), ARTEL_OK);
    assert_int_equal(artel__events_destroy(NULL), ARTEL_OK);
}

static void a_failed_write_stays_known(void **state)
{
    (void)state;
    scratch s;
    artel__events *events;
    int fd = open("/dev/full", O_WRONLY);
    if (fd < 0) skip();
    scratch_init(&s);
    assert_int_equal(artel__events_create(s.ctx, fd, ARTEL__EVENTS_STEPS, &events), ARTEL_OK);
    assert_int_equal(artel__events_checkpoint(events, "p", 1), ARTEL_ERROR_IO);
    assert_int_equal(artel__events_checkpoint(events, "p", 2), ARTEL_ERROR_IO);
    assert_int_equal(artel__events_destroy(events), ARTEL_ERROR_IO);
    close(fd);
    scratch_fini(&s);
}

static void each_event_is_one_write(void **state)
{
    (void)state;
    scratch s;
    artel__events *events;
    int ends[2];
    char buffer[4096];
    scratch_init(&s);
    assert_int_equal(pipe2(ends, O_DIRECT), 0); /* packets: a read returns what one write wrote */
    assert_int_equal(artel__events_create(s.ctx, ends[1], ARTEL__EVENTS_STEPS, &events), ARTEL_OK);
    for (int i = 1; i <= 2; i++) {
        assert_int_equal(artel__events_step(events, 0, i, 0.5), ARTEL_OK);
        ssize_t n = read(ends[0], buffer, sizeof buffer);
        assert_true(n > 0 && buffer[0] == '{' && buffer[n - 1] == '\n');
    }
    assert_int_equal(artel__events_destroy(events), ARTEL_OK);
    close(ends[0]);
    close(ends[1]);
    scratch_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_the_kinds_of_a_run),    cmocka_unit_test(writes_the_kinds_of_a_cluster),
        cmocka_unit_test(builds_free_events),           cmocka_unit_test(epochs_detail_leaves_steps_out),
        cmocka_unit_test(a_null_sink_takes_everything), cmocka_unit_test(a_failed_write_stays_known),
        cmocka_unit_test(each_event_is_one_write),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
