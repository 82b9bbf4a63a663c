/* SPDX-License-Identifier: Apache-2.0 */
/* Lines out of pieces of any size: the naive model is strtok on the whole; JSON objects; colours; cut lines; outlets.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "launch/output.h"

typedef struct bench {
    artel_context *ctx;
    artel__outlet out, err;
    artel__launch_stream stream;
} bench;

static void set_up(bench *b, bool json, bool colour)
{
    assert_int_equal(artel_context_create(NULL, &b->ctx), ARTEL_OK);
    artel__outlet_init(b->ctx, -1, colour, &b->out);
    artel__outlet_init(b->ctx, -1, false, &b->err);
    b->stream = (artel__launch_stream){
        .label = "ps 7", .name = "ps:7", .colour = 1, .json = json, .out = &b->out, .rest = &b->err};
    artel__launch_stream_init(&b->stream, b->ctx);
}

static void tear_down(bench *b)
{
    artel__launch_stream_fini(&b->stream);
    artel__outlet_fini(&b->out);
    artel__outlet_fini(&b->err);
    artel_context_destroy(b->ctx);
}

static void feed(bench *b, const char *bytes, size_t count, size_t piece)
{
    for (size_t at = 0; at < count; at += piece)
        artel__launch_stream_take(&b->stream, bytes + at, count - at < piece ? count - at : piece);
    artel__launch_stream_end(&b->stream);
}

static void test_lines(void **state)
{
    static const char in[] = "one\n\ntwo\r\nthree\0three\nlast",
                      expected[] = "[ps 7] one\n[ps 7] \n[ps 7] two\r\n[ps 7] three\0three\n[ps 7] last\n";
    (void)state;
    for (size_t piece = 1; piece <= sizeof in; piece++) {
        bench b;
        set_up(&b, false, false);
        feed(&b, in, sizeof in - 1, piece);
        assert_int_equal(b.out.text.length, sizeof expected - 1);
        assert_memory_equal(b.out.text.data, expected, sizeof expected - 1);
        assert_int_equal(b.err.text.length, 0);
        artel__launch_stream_end(&b.stream); /* nothing is held */
        assert_int_equal(b.out.text.length, sizeof expected - 1);
        tear_down(&b);
    }
}

static void test_json(void **state)
{
    static const struct {
        const char *in, *out, *err;
    } cases[] = {
        {"{\"a\": 1}\n", "{\"a\": 1, \"task\": \"ps:7\"}\n", ""},
        {"  {\"a\":[1.50,{}]}  \r\n", "{\"a\":[1.50,{}], \"task\": \"ps:7\"}\n", ""},
        {"{}\n", "{\"task\": \"ps:7\"}\n", ""},
        {"{ }", "{ \"task\": \"ps:7\"}\n", ""},
        {"{\"task\": \"x\", \"v\": 1}\n", "{\"task\": \"x\", \"v\": 1}\n", ""},
        {"{\"v\": NaN, \"task\": null}\n", "{\"v\": NaN, \"task\": \"ps:7\"}\n", ""},
        {"{\"loss\": NaN}\n", "{\"loss\": NaN, \"task\": \"ps:7\"}\n", ""},
        {"{\"a\": \"\xc3\xa4}{\"}\n", "{\"a\": \"\xc3\xa4}{\", \"task\": \"ps:7\"}\n", ""},
        {"[1]\n", "", "[ps 7] [1]\n"},
        {"{bad}\n{\"a\": 1}\n", "{\"a\": 1, \"task\": \"ps:7\"}\n", "[ps 7] {bad}\n"},
        {"{\"a\": 1} x\n", "", "[ps 7] {\"a\": 1} x\n"},
        {"plain\n\n", "", "[ps 7] plain\n[ps 7] \n"},
        {"{\"a\":\n1}\n", "", "[ps 7] {\"a\":\n[ps 7] 1}\n"},
    };
    (void)state;
    for (size_t k = 0; k < ARTEL__COUNT(cases); k++) {
        for (size_t piece = 1; piece < 9; piece += 7) {
            bench b;
            set_up(&b, true, false);
            feed(&b, cases[k].in, strlen(cases[k].in), piece);
            assert_string_equal(b.out.text.data, cases[k].out);
            assert_string_equal(b.err.text.data, cases[k].err);
            assert_int_equal(artel_context_error(b.ctx)->status, ARTEL_OK);
            tear_down(&b);
        }
    }
}

static void test_colour(void **state)
{
    bench b;
    (void)state;
    set_up(&b, false, true);
    feed(&b, "x\n", 2, 2);
    assert_string_equal(b.out.text.data, "\033[33m[ps 7]\033[0m x\n");
    tear_down(&b);
}

/* A line that never ends is cut; no byte is lost. */
static void test_long_line(void **state)
{
    static char piece[50000];
    bench b;
    size_t total = 2 * ARTEL__LAUNCH_LINE_MAX + 10, given = 0, lines = 0, kept = 0;
    (void)state;
    memset(piece, 'x', sizeof piece);
    set_up(&b, false, false);
    for (size_t count; given < total; given += count) {
        count = total - given < sizeof piece ? total - given : sizeof piece;
        artel__launch_stream_take(&b.stream, piece, count);
        assert_true(b.stream.held.length <= ARTEL__LAUNCH_LINE_MAX);
    }
    artel__launch_stream_end(&b.stream);
    for (size_t i = 0; i < b.out.text.length; i++) {
        lines += b.out.text.data[i] == '\n';
        kept += b.out.text.data[i] == 'x';
    }
    assert_int_equal(lines, 3);
    assert_int_equal(kept, total);
    /* exactly as long as may be: one line */
    artel__text_clear(&b.out.text);
    artel__launch_stream_take(&b.stream, piece, 1);
    for (given = 1; given < ARTEL__LAUNCH_LINE_MAX; given++) artel__launch_stream_take(&b.stream, piece, 1);
    artel__launch_stream_take(&b.stream, "\n", 1);
    assert_int_equal(b.out.text.length, strlen("[ps 7] \n") + ARTEL__LAUNCH_LINE_MAX);
    tear_down(&b);
}

static void test_outlet(void **state)
{
    bench b;
    int ends[2];
    static char got[1 << 20];
    size_t length = 0;
    (void)state;
    set_up(&b, false, false);
    assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
    b.out.fd = ends[1];
    assert_false(artel__outlet_pending(&b.out));
    for (int i = 0; !artel__outlet_full(&b.out); i++) {
        char line[32];
        int count = snprintf(line, sizeof line, "line %d\n", i);
        artel__launch_stream_take(&b.stream, line, (size_t)count);
    }
    artel__text copy;
    artel__text_init(&copy, b.ctx);
    artel__text_append_bytes(&copy, b.out.text.data, b.out.text.length);
    while (artel__outlet_pending(&b.out)) { /* a pipe that is full takes nothing, and nothing is lost */
        for (int k = 0; k < 100; k++) artel__outlet_write(&b.out);
        for (ssize_t n; (n = read(ends[0], got + length, sizeof got - length)) > 0;) length += (size_t)n;
    }
    assert_int_equal(length, copy.length);
    assert_memory_equal(got, copy.data, length);
    assert_int_equal(b.out.text.length, 0);
    artel__text_fini(&copy);

    signal(SIGPIPE, SIG_IGN);
    close(ends[0]);
    feed(&b, "gone\n", 5, 5);
    artel__outlet_write(&b.out);
    assert_true(b.out.broken);
    assert_false(artel__outlet_pending(&b.out));
    feed(&b, "dropped\n", 8, 8);
    assert_int_equal(b.out.text.length, 0);
    close(ends[1]);
    tear_down(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),     cmocka_unit_test(test_json),   cmocka_unit_test(test_colour),
        cmocka_unit_test(test_long_line), cmocka_unit_test(test_outlet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
