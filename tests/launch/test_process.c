/* SPDX-License-Identifier: Apache-2.0 */
/* Processes as the kernel sees them: output, ends, groups, cores, and what is left when a launcher is gone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch/process.h"

#define LONG_MS 60000

static artel_context *ctx;

static int set_up(void **state)
{
    (void)state;
    return artel_context_create(NULL, &ctx);
}

static int tear_down(void **state)
{
    (void)state;
    artel_context_destroy(ctx);
    return 0;
}

static const char *const environment[] = {"A=1", "PATH=/usr/bin:/bin", NULL};

static artel__process start(const char *script, const artel__guard *guard, int core)
{
    const char *const words[] = {"/bin/sh", "-c", script, NULL};
    const artel__process_request request = {.where = "worker 0",
                                            .words = words,
                                            .environment = environment,
                                            .guard = guard,
                                            .core = &core,
                                            .cores = core >= 0};
    artel__process process;
    assert_int_equal(artel__process_start(ctx, &request, &process), ARTEL_OK);
    return process;
}

/* All that comes from a descriptor, until its end. */
static const char *read_all(int fd)
{
    static char text[4096];
    size_t length = 0;
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    for (;;) {
        assert_int_equal(poll(&ready, 1, LONG_MS), 1);
        ssize_t got = read(fd, text + length, sizeof text - 1 - length);
        if (got <= 0) break;
        length += (size_t)got;
    }
    text[length] = '\0';
    return text;
}

static void await(artel__process *process)
{
    struct pollfd ready = {.fd = process->watch, .events = POLLIN};
    while (!artel__process_ended(process)) poll(&ready, 1, process->watch >= 0 ? LONG_MS : 10);
}

static void test_output_and_ends(void **state)
{
    static const struct {
        const char *script, *out, *err;
        int status;
    } cases[] = {
        {"echo out $A; echo err >&2; exit 3", "out 1\n", "err\n", 3 << 8},
        {"read x || echo empty", "empty\n", "", 0},
        {"kill -9 $$", "", "", SIGKILL},
        {"kill -TERM $$", "", "", SIGTERM},
        {"exec >&- 2>&-; exit 255", "", "", 255 << 8},
    };
    (void)state;
    for (size_t k = 0; k < ARTEL__COUNT(cases); k++) {
        artel__process process = start(cases[k].script, NULL, -1);
        assert_string_equal(read_all(process.out), cases[k].out);
        assert_string_equal(read_all(process.err), cases[k].err);
        await(&process);
        assert_int_equal(process.status, cases[k].status);
        assert_true(artel__process_ended(&process)); /* and stays so */
        artel__process_reap(&process, NULL);
        assert_int_equal(process.pid, 0);
        artel__process_reap(&process, NULL);
    }
}

/* What a task left running dies with its group, and its output ends. */
static void test_group(void **state)
{
    (void)state;
    artel__process process = start("sleep 1000 & echo $!", NULL, -1);
    int out = dup(process.out);
    await(&process);
    artel__process_reap(&process, NULL);
    fcntl(out, F_SETFL, 0);
    pid_t left = (pid_t)atoi(read_all(out));
    assert_true(left > 0);
    close(out);
}

static void test_stopping(void **state)
{
    (void)state;
    artel__process process = start("trap 'echo told; exit 5' TERM; echo ready; while :; do sleep 0.01; done", NULL, -1);
    struct pollfd ready = {.fd = process.out, .events = POLLIN};
    assert_int_equal(poll(&ready, 1, LONG_MS), 1);
    assert_false(artel__process_ended(&process));
    artel__process_signal(&process, SIGTERM);
    await(&process);
    assert_string_equal(read_all(process.out), "ready\ntold\n");
    assert_int_equal(process.status, 5 << 8);
    artel__process_reap(&process, NULL);
}

static void test_refusals(void **state)
{
    (void)state;
    char path[4096], file[] = "/tmp/artel-test-XXXXXX";
    int fd = mkstemp(file);
    close(fd);
    assert_int_equal(artel__process_find(ctx, "sh", "/nowhere::/bin", path, sizeof path), ARTEL_OK);
    assert_string_equal(path, "/bin/sh");
    assert_int_equal(artel__process_find(ctx, "/bin/sh", NULL, path, sizeof path), ARTEL_OK);
    assert_int_equal(artel__process_find(ctx, "no-such-program", "/usr/bin:/bin", path, sizeof path),
                     ARTEL_ERROR_NOT_FOUND);
    artel_context_clear(ctx);
    assert_int_equal(artel__process_find(ctx, "/bin", NULL, path, sizeof path), ARTEL_ERROR_NOT_FOUND);
    artel_context_clear(ctx);
    assert_int_equal(artel__process_find(ctx, file, NULL, path, sizeof path), ARTEL_ERROR_INVALID);
    artel_context_clear(ctx);

    const char *const words[] = {"/nowhere/program", NULL};
    const artel__process_request request = {.where = "worker 0", .words = words, .environment = environment};
    artel__process process;
    assert_int_equal(artel__process_start(ctx, &request, &process), ARTEL_ERROR_NOT_FOUND);
    assert_string_equal(artel_context_error(ctx)->where, "/nowhere/program");
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
    artel_context_clear(ctx);
    unlink(file);
}

static void test_cores(void **state)
{
    (void)state;
    cpu_set_t set;
    int core = 0;
    char expected[32];
    assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &set)) core = i;
    artel__process process =
        start("while read a b; do case $a in Cpus_allowed_list:) echo $b;; esac; done </proc/self/status", NULL, core);
    snprintf(expected, sizeof expected, "%d\n", core);
    assert_string_equal(read_all(process.out), expected);
    await(&process);
    artel__process_reap(&process, NULL);
}

/* A launcher that is killed: its tasks, their children and the folder go with it. A pipe that all of them hold says
 * when. */
static void test_orphans(void **state)
{
    (void)state;
    static const char *const places[] = {"/nowhere", "/tmp", NULL};
    char folder[ARTEL__GUARD_FOLDER];
    int ends[2];
    assert_int_equal(pipe(ends), 0); /* inherited by the tasks, not by the guard */
    pid_t launcher = fork();
    if (launcher == 0) {
        artel__guard guard;
        char file[ARTEL__GUARD_FOLDER + 8];
        if (artel__guard_create(ctx, places, &guard) < 0) _exit(1);
        snprintf(file, sizeof file, "%s/key", guard.folder);
        close(open(file, O_CREAT | O_WRONLY, 0600));
        for (int i = 0; i < 3; i++) {
            artel__process process = start("sleep 1000 & sleep 1000", &guard, -1);
            (void)process;
        }
        if (write(ends[1], guard.folder, sizeof guard.folder) < 0) _exit(1);
        for (;;) pause();
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], folder, sizeof folder), sizeof folder);
    assert_true(strncmp(folder, "/tmp/artel-launch-", 18) == 0 && access(folder, F_OK) == 0);
    kill(launcher, SIGKILL);
    assert_int_equal(waitpid(launcher, NULL, 0), launcher);
    assert_string_equal(read_all(ends[0]), ""); /* nobody holds the writing end any more */
    close(ends[0]);
    for (int i = 0; i < 6000 && access(folder, F_OK) == 0; i++) poll(NULL, 0, 10);
    assert_int_equal(access(folder, F_OK), -1);
}

static void test_guard_ends(void **state)
{
    static const char *const nowhere[] = {"/nowhere", NULL}, *const somewhere[] = {"/nowhere", "/tmp", NULL};
    (void)state;
    artel__guard guard, none = {.fd = -1};
    assert_int_equal(artel__guard_create(ctx, NULL, &guard), ARTEL_OK);
    artel__process process = start("sleep 1000", &guard, -1);
    artel__process_reap(&process, &guard);
    artel__guard_destroy(&guard);
    artel__guard_destroy(&guard);
    artel__guard_destroy(&none);
    assert_int_equal(artel__guard_create(ctx, nowhere, &guard), ARTEL_ERROR_IO);
    artel_context_clear(ctx);
    struct stat info;
    assert_int_equal(artel__guard_create(ctx, somewhere, &guard), ARTEL_OK);
    assert_int_equal(stat(guard.folder, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0700);
    artel__guard_destroy(&guard);
    assert_int_equal(access(guard.folder, F_OK), -1);
    errno = 0;
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_output_and_ends), cmocka_unit_test(test_group), cmocka_unit_test(test_stopping),
        cmocka_unit_test(test_refusals),        cmocka_unit_test(test_cores), cmocka_unit_test(test_orphans),
        cmocka_unit_test(test_guard_ends),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
