/* SPDX-License-Identifier: Apache-2.0 */
/* Files: whole or not at all, with every system call failing once; maps, limits, links, devices. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"

typedef struct place {
    artel_context *ctx;
    char root[64], path[96];
} place;

static int set_up(void **state)
{
    place *made = calloc(1, sizeof(*made));
    if (!made || artel_context_create(NULL, &made->ctx) < 0) return -1;
    snprintf(made->root, sizeof(made->root), "/tmp/artel-file-XXXXXX");
    if (!mkdtemp(made->root)) return -1;
    snprintf(made->path, sizeof(made->path), "%s/data.bin", made->root);
    *state = made;
    return 0;
}

static int tear_down(void **state)
{
    place *made = *state;
    artel__remove_tree(made->ctx, made->root);
    artel_context_destroy(made->ctx);
    free(made);
    return 0;
}

static void expect_content(place *made, const char *path, const char *text)
{
    char *content = NULL;
    size_t size = 0;
    assert_int_equal(artel__read_file(made->ctx, path, 1000000, &content, &size), ARTEL_OK);
    assert_int_equal(size, strlen(text));
    assert_string_equal(content, text);
    artel__free(made->ctx, content);
}

/* How many entries the directory has, dot files included. */
static size_t entries(const char *root)
{
    char command[200];
    size_t count = 0;
    snprintf(command, sizeof(command), "ls -A %s", root);
    FILE *list = popen(command, "r");
    assert_non_null(list);
    for (int c = 0; (c = fgetc(list)) != EOF;) count += c == '\n';
    pclose(list);
    return count;
}

static void test_write_and_read(void **state)
{
    place *made = *state;
    artel__mapping map;
    assert_int_equal(artel__write_file(made->ctx, made->path, "hello", 5), ARTEL_OK);
    expect_content(made, made->path, "hello");
    assert_int_equal(artel__map_file(made->ctx, made->path, &map), ARTEL_OK);
    assert_int_equal(map.size, 5);
    assert_memory_equal(map.bytes, "hello", 5);
    artel__unmap_file(&map);
    assert_null(map.bytes);
    assert_int_equal(artel__write_file(made->ctx, made->path, "", 0), ARTEL_OK);
    expect_content(made, made->path, "");
    assert_int_equal(artel__map_file(made->ctx, made->path, &map), ARTEL_OK);
    assert_int_equal(map.size, 0);
    assert_non_null(map.bytes); /* so that nobody adds to a missing address */
    artel__unmap_file(&map);
    assert_int_equal(entries(made->root), 1);
}

static void test_refusals(void **state)
{
    place *made = *state;
    char *content = NULL;
    artel__mapping map;
    artel__output output;
    assert_int_equal(artel__read_file(made->ctx, made->path, 100, &content, NULL), ARTEL_ERROR_NOT_FOUND);
    assert_string_equal(artel_context_error(made->ctx)->where, made->path);
    artel_context_clear(made->ctx);
    assert_int_equal(artel__map_file(made->ctx, made->root, &map), ARTEL_ERROR_INVALID); /* a directory */
    assert_int_equal(artel__output_open(made->ctx, made->root, &output), ARTEL_ERROR_INVALID);
    assert_int_equal(artel__output_open(made->ctx, "/nonexistent/x/y", &output), ARTEL_ERROR_NOT_FOUND);
    artel__write_file(made->ctx, made->path, "12345", 5);
    assert_int_equal(artel__read_file(made->ctx, made->path, 4, &content, NULL), ARTEL_ERROR_INVALID);
    assert_int_equal(artel__read_file(made->ctx, "/dev/zero", 100000, &content, NULL), ARTEL_ERROR_INVALID);
    assert_null(content);
    assert_int_equal(artel__read_file(made->ctx, "/proc/self/status", 100000, &content, NULL),
                     ARTEL_OK); /* says size 0 */
    assert_non_null(strstr(content, "VmHWM"));
    artel__free(made->ctx, content);
}

static void test_abandoning_keeps_the_old_file(void **state)
{
    place *made = *state;
    artel__output output;
    artel__write_file(made->ctx, made->path, "old", 3);
    assert_int_equal(artel__output_open(made->ctx, made->path, &output), ARTEL_OK);
    assert_int_equal(artel__output_write(&output, "new content", 11), ARTEL_OK);
    assert_int_equal(output.written, 11);
    expect_content(made, made->path, "old");
    artel__output_abandon(&output);
    artel__output_abandon(&output);
    expect_content(made, made->path, "old");
    assert_int_equal(entries(made->root), 1);
    assert_int_equal(artel__output_open(made->ctx, made->path, &output), ARTEL_OK);
    artel__output_write(&output, "new", 3);
    assert_int_equal(artel__output_commit(&output), ARTEL_OK);
    artel__output_abandon(&output); /* after a commit: nothing */
    expect_content(made, made->path, "new");
}

static artel_status answer(void *user)
{
    return *(artel_status *)user;
}

/* Who is asked before a file appears has the last word; the file that was there stays. */
static void test_who_is_asked(void **state)
{
    place *made = *state;
    artel_status say = ARTEL_AGAIN;
    artel__write_file(made->ctx, made->path, "old", 3);
    artel__outputs_ask(made->ctx, answer, &say);
    assert_int_equal(artel__write_file(made->ctx, made->path, "new", 3), ARTEL_AGAIN);
    expect_content(made, made->path, "old");
    assert_int_equal(entries(made->root), 1);
    say = ARTEL_OK;
    assert_int_equal(artel__write_file(made->ctx, made->path, "new", 3), ARTEL_OK);
    expect_content(made, made->path, "new");
    artel__outputs_ask(made->ctx, NULL, NULL);
}

/* Whichever call meets the full disk, the old file is there and nothing else is. */
static void test_every_call_fails_once(void **state)
{
    place *made = *state;
    artel_status status = ARTEL_ERROR_IO;
    uint64_t n = 0;
    artel__write_file(made->ctx, made->path, "old", 3);
    for (n = 1; status < 0; n++) {
        artel_context_clear(made->ctx);
        artel__fail_file_after(made->ctx, n, ENOSPC);
        status = artel__write_file(made->ctx, made->path, "replaced", 8);
        artel__fail_file_after(made->ctx, 0, 0);
        assert_int_equal(entries(made->root), 1);
        if (status == ARTEL_OK) break;
        assert_int_equal(status, ARTEL_ERROR_IO);
        assert_string_equal(artel_context_error(made->ctx)->where, made->path);
        assert_non_null(strstr(artel_context_error(made->ctx)->what, "No space left"));
        expect_content(made, made->path, "old");
    }
    assert_int_equal(n, 6); /* create, write, sync, close, rename */
    expect_content(made, made->path, "replaced");
    for (n = 1, status = ARTEL_ERROR_IO; status < 0; n++) {
        char *content = NULL;
        artel_context_clear(made->ctx);
        artel__fail_file_after(made->ctx, n, EIO);
        status = artel__read_file(made->ctx, made->path, 100, &content, NULL);
        artel__fail_file_after(made->ctx, 0, 0);
        artel__free(made->ctx, content);
    }
    assert_true(n > 4);
}

static void test_short_writes(void **state)
{
    place *made = *state;
    char text[1001];
    for (int i = 0; i < 1000; i++) text[i] = (char)('a' + i % 26);
    text[1000] = '\0';
    artel__limit_write(made->ctx, 7);
    assert_int_equal(artel__write_file(made->ctx, made->path, text, 1000), ARTEL_OK);
    artel__limit_write(made->ctx, 0);
    expect_content(made, made->path, text);
}

static void leave(place *made, const char *name, bool old)
{
    char path[400];
    struct timespec times[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    snprintf(path, sizeof(path), "%s/%s", made->root, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
    if (old) assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* Temporary names of this file whose writers are dead go; those of the living and of other files stay. */
static void test_what_the_killed_left_is_swept(void **state)
{
    place *made = *state;
    char host[65] = "";
    gethostname(host, sizeof(host) - 1);
    pid_t gone = fork();
    if (gone == 0) _exit(0);
    waitpid(gone, NULL, 0);
    const struct {
        const char *base, *host;
        long pid;
        bool old, stays;
    } cases[] = {
        {"data.bin", host, gone, false, false},         {"data.bin", host, getppid(), true, true}, /* lives */
        {"data.bin", host, getpid(), true, false},      /* of an earlier process with this number */
        {"data.bin", host, getpid(), false, true},      /* another thread's */
        {"data.bin", "far.example", gone, false, true}, /* who knows */
        {"data.bin", "old.example", 1, true, false},    /* for an hour, nobody has written there */
        {"other.bin", host, gone, true, true},          /* not asked for */
        {"data.bin.part", host, gone, false, true},
    };
    for (size_t i = 0; i < ARTEL__COUNT(cases); i++) {
        char name[300], path[400];
        size_t before = entries(made->root);
        snprintf(name, sizeof(name), ".%s.%s.%ld-0.tmp", cases[i].base, cases[i].host, cases[i].pid);
        snprintf(path, sizeof(path), "%s/%s", made->root, name);
        leave(made, name, cases[i].old);
        assert_int_equal(artel__write_file(made->ctx, made->path, "new", 3), ARTEL_OK);
        if (artel__file_exists(path) != cases[i].stays) fail_msg("%s", name);
        unlink(path);
        assert_int_equal(entries(made->root), before + (i == 0));
    }
}

static void test_long_names(void **state)
{
    place *made = *state;
    char path[400];
    for (int length = 100; length <= 255; length += 31) {
        snprintf(path, sizeof(path), "%s/%0*d", made->root, length, length);
        assert_int_equal(artel__write_file(made->ctx, path, "long", 4), ARTEL_OK);
        expect_content(made, path, "long");
    }
}

static void test_links_and_modes_survive(void **state)
{
    place *made = *state;
    char link[96];
    struct stat info;
    snprintf(link, sizeof(link), "%s/link", made->root);
    artel__write_file(made->ctx, made->path, "old", 3);
    assert_int_equal(chmod(made->path, 0640), 0);
    assert_int_equal(symlink("data.bin", link), 0);
    assert_int_equal(artel__write_file(made->ctx, link, "through", 7), ARTEL_OK);
    expect_content(made, made->path, "through");
    assert_int_equal(lstat(link, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_int_equal(stat(made->path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0640);
}

static void test_devices_are_written_directly(void **state)
{
    place *made = *state;
    struct stat info;
    assert_int_equal(artel__write_file(made->ctx, "/dev/null", "x", 1), ARTEL_OK);
    assert_int_equal(stat("/dev/null", &info), 0);
    assert_true(S_ISCHR(info.st_mode));
    assert_int_equal(artel__write_file(made->ctx, "/dev/full", "x", 1), ARTEL_ERROR_IO);
    assert_non_null(strstr(artel_context_error(made->ctx)->advice, "space"));
}

static void test_allocations_fail(void **state)
{
    place *made = *state;
    artel__write_file(made->ctx, made->path, "old", 3);
    for (uint64_t n = 1; n < 4; n++) {
        char *content = NULL;
        artel_context_clear(made->ctx);
        artel__fail_allocation_after(made->ctx, n);
        artel_status status = artel__write_file(made->ctx, made->path, "new", 3);
        artel__fail_allocation_after(made->ctx, 0);
        assert_true(status == ARTEL_OK || status == ARTEL_ERROR_NO_MEMORY);
        assert_int_equal(entries(made->root), 1);
        artel_context_clear(made->ctx);
        artel__fail_allocation_after(made->ctx, n);
        status = artel__read_file(made->ctx, made->path, 100, &content, NULL);
        artel__fail_allocation_after(made->ctx, 0);
        assert_int_equal(status, n == 1 ? ARTEL_ERROR_NO_MEMORY : ARTEL_OK);
        artel__free(made->ctx, content);
    }
}

/* A secret is its owner's alone, also where a readable file was. */
static void test_private_files(void **state)
{
    place *made = *state;
    struct stat about;
    assert_int_equal(artel__write_file(made->ctx, made->path, "open", 4), ARTEL_OK);
    assert_int_equal(chmod(made->path, 0644), 0);
    assert_int_equal(artel__write_private_file(made->ctx, made->path, "secret", 6), ARTEL_OK);
    assert_int_equal(stat(made->path, &about), 0);
    assert_int_equal(about.st_mode & 07777, 0600);
    assert_int_equal(about.st_size, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_write_and_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_private_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_refusals, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_abandoning_keeps_the_old_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_who_is_asked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_every_call_fails_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_short_writes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_the_killed_left_is_swept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_long_names, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_links_and_modes_survive, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_devices_are_written_directly, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_allocations_fail, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
