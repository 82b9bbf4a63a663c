/* SPDX-License-Identifier: Apache-2.0 */
/* Growing files: the three ways to open, full disks. */
#include "observe/help_observe.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "observe/stream.h"

static void write_text(scratch *s, artel__stream_mode mode, const char *text)
{
    artel__stream stream;
    assert_int_equal(artel__stream_open(s->ctx, scratch_path(s, "file"), mode, &stream), ARTEL_OK);
    assert_int_equal(artel__stream_write(&stream, text, strlen(text)), ARTEL_OK);
    assert_int_equal(artel__stream_close(&stream), ARTEL_OK);
    assert_int_equal(artel__stream_close(&stream), ARTEL_OK);
}

static void check_file(scratch *s, const char *expected)
{
    char *text = slurp(scratch_path(s, "file"), NULL);
    assert_string_equal(text, expected);
    free(text);
}

static void opens_in_three_ways(void **state)
{
    (void)state;
    scratch s;
    artel__stream stream;
    scratch_init(&s);
    write_text(&s, ARTEL__STREAM_NEW, "one");
    assert_int_equal(artel__stream_open(s.ctx, scratch_path(&s, "file"), ARTEL__STREAM_NEW, &stream), ARTEL_AGAIN);
    assert_int_equal(artel_context_error(s.ctx)->status, ARTEL_OK);
    write_text(&s, ARTEL__STREAM_APPEND, "two");
    check_file(&s, "onetwo");
    write_text(&s, ARTEL__STREAM_OVERWRITE, "three");
    check_file(&s, "three");
    scratch_fini(&s);
}

static void names_what_cannot_be_opened(void **state)
{
    (void)state;
    scratch s;
    artel__stream stream;
    scratch_init(&s);
    assert_true(artel__stream_open(s.ctx, scratch_path(&s, "no/file"), ARTEL__STREAM_APPEND, &stream) < 0);
    assert_non_null(strstr(artel_context_error(s.ctx)->where, "no/file"));
    scratch_fini(&s);
}

static void full_disk_is_an_error(void **state)
{
    (void)state;
    scratch s;
    artel__stream stream;
    int fd = open("/dev/full", O_WRONLY);
    if (fd < 0) skip();
    scratch_init(&s);
    assert_int_equal(artel__stream_borrow(s.ctx, fd, "the full one", &stream), ARTEL_OK);
    assert_int_equal(artel__stream_write(&stream, "x", 1), ARTEL_ERROR_IO);
    assert_string_equal(artel_context_error(s.ctx)->where, "the full one");
    assert_int_equal(artel__stream_close(&stream), ARTEL_OK);
    assert_int_equal(fcntl(fd, F_GETFD) >= 0, 1); /* borrowed: still open */
    close(fd);
    scratch_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opens_in_three_ways),
        cmocka_unit_test(names_what_cannot_be_opened),
        cmocka_unit_test(full_disk_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
