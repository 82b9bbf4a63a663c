/* SPDX-License-Identifier: Apache-2.0 */
/* Whole launches with shell scripts as tasks: output, exit codes, restarts, signals, readers that do not read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch/launch.h"

static artel_context *ctx;

static int set_up(void **state)
{
    (void)state;
    signal(SIGPIPE, SIG_IGN);
    return artel_context_create(NULL, &ctx);
}

static int tear_down(void **state)
{
    (void)state;
    artel_context_destroy(ctx);
    return 0;
}

static const char *const environment[] = {"PATH=/usr/bin:/bin", NULL};

typedef struct result {
    int code;
    artel_status status;
    char out[8192], err[8192];
} result;

static void read_back(int fd, char *to, size_t size)
{
    ssize_t got = pread(fd, to, size - 1, 0);
    to[got > 0 ? got : 0] = '\0';
    close(fd);
}

static int temporary(void)
{
    char path[] = "/tmp/artel-test-XXXXXX";
    int fd = mkstemp(path);
    unlink(path);
    return fd;
}

static char left_alone[] = "as options.user: the launcher is made to leave before its tasks";

/* Runs a script as every task; standard output goes to a file unless `options.out` says otherwise. */
static result launch(const artel__launch_wish *wish, artel__launch_run_options options, const char *script)
{
    const char *const words[] = {"/bin/sh", "-c", script, NULL};
    static result r;
    artel__launch l;
    artel__launch_wish wanted = *wish;
    int out = temporary(), err = temporary();
    wanted.environment = environment;
    wanted.cores = 1;
    memset(&r, 0, sizeof r);
    if (options.out <= 0) options.out = out;
    options.err = err;
    assert_int_equal(artel__launch_open(ctx, &wanted, &l), ARTEL_OK);
    assert_int_equal(artel__launch_prepare(&l), ARTEL_OK);
    assert_int_equal(artel__launch_set_program(&l, words), ARTEL_OK);
    r.status = artel__launch_run(&l, &options, &r.code);
    artel__launch_close(&l);
    while (options.user == left_alone && waitpid(-1, NULL, 0) > 0) continue; /* killed, and not waited for */
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);                        /* nothing is left */
    read_back(out, r.out, sizeof r.out);
    read_back(err, r.err, sizeof r.err);
    return r;
}

#define IS(who) "[ $ARTEL_TASK = " who " ]"
#define AFTER_IT                                                                                                       \
    "until [ -s $f ] && ! kill -0 $(cat $f) 2>/dev/null; do sleep 0.01; done; " /* the one that is named in $f is over \
                                                                                 */

static void test_codes(void **state)
{
    static const struct {
        const char *script;
        int restarts, code;
        const char *says; /* in the notes, or NULL */
    } cases[] = {
        {"exit 0", 0, 0, NULL},
        {"exit 3", 0, 3, "the job failed: worker "},
        {"f=/tmp/artel-codes-$PPID; " IS("worker:1") " && echo $$ >$f && exit 4; " AFTER_IT "rm $f; exit 5", 0, 4,
         "worker 1 ended with exit code 4"},
        {IS("worker:1") " && kill -9 $$; exit 0", 0, 0, "worker 1 was ended by signal 9 (SIGKILL)"},
        {"kill -9 $$", 0, 137, "the job failed"},
        {IS("worker:1") " && exit 7; exit 0", 2, 7, "it is started again (2 of 2)"},
    };
    (void)state;
    for (size_t k = 0; k < ARTEL__COUNT(cases); k++) {
        result r = launch(&(artel__launch_wish){.workers = 2},
                          (artel__launch_run_options){.control = -1, .restarts = cases[k].restarts}, cases[k].script);
        assert_int_equal(r.status, ARTEL_OK);
        if (r.code != cases[k].code || (cases[k].says ? !strstr(r.err, cases[k].says) : r.err[0]))
            fail_msg("%s: code %d, expected %d; %s", cases[k].script, r.code, cases[k].code, r.err);
    }
}

static void test_output(void **state)
{
    (void)state;
    result r = launch(&(artel__launch_wish){.workers = 1}, (artel__launch_run_options){.control = -1},
                      "printf 'a\\nb'; printf c; echo e >&2; printf '\\nlast'");
    assert_string_equal(r.out, "[worker 0] a\n[worker 0] bc\n[worker 0] last\n");
    assert_string_equal(r.err, "[worker 0] e\n");
    r = launch(&(artel__launch_wish){.workers = 1}, (artel__launch_run_options){.control = -1, .json = true},
               "echo '{\"event\": \"x\"}'; echo plain");
    assert_string_equal(r.out, "{\"event\": \"x\", \"task\": \"worker:0\"}\n");
    assert_string_equal(r.err, "[worker 0] plain\n");
    r = launch(&(artel__launch_wish){.workers = 2}, (artel__launch_run_options){.control = -1},
               "exec >&- 2>&-; sleep 0.1; exit 6");
    assert_int_equal(r.code, 6);
}

/* Those that only serve are told to end, and what they left, too. */
static void test_services(void **state)
{
    (void)state;
    char folder[] = "/tmp/artel-services-XXXXXX", script[300], file[64]; /* they say there that they would hear */
    assert_non_null(mkdtemp(folder));
    snprintf(script, sizeof script,
             "cd %s; case $ARTEL_TASK in ps*) trap 'echo told; exit 1' TERM; : >$ARTEL_TASK; while :; do sleep 0.01; "
             "done;; esac; "
             "until [ -e ps:0 ] && [ -e ps:1 ]; do sleep 0.01; done",
             folder);
    result r = launch(&(artel__launch_wish){.workers = 1, .ps = 2}, (artel__launch_run_options){.control = -1}, script);
    for (int i = 0; i < 2; i++) {
        snprintf(file, sizeof file, "%s/ps:%d", folder, i);
        unlink(file);
    }
    rmdir(folder);
    assert_int_equal(r.code, 0);
    assert_non_null(strstr(r.out, "[ps 0] told\n"));
    assert_non_null(strstr(r.out, "[ps 1] told\n"));
}

/* A signal as soon as a line of the task has been seen. */
typedef struct interrupter {
    int from, to; /* out of the launch, control */
    int full;     /* the launch's end of `from` */
    int times;
    unsigned char number;
    char seen[256];
} interrupter;

static void *interrupt(void *user)
{
    interrupter *i = user;
    size_t length = 0;
    for (int k = 0; k < i->times; k++) {
        while (length < sizeof i->seen - 1 && !memchr(i->seen, '0' + k, length)) {
            ssize_t got = read(i->from, i->seen + length, sizeof i->seen - 1 - length);
            if (got <= 0) return NULL;
            length += (size_t)got;
        }
        if (write(i->to, &i->number, 1) != 1) return NULL;
    }
    return NULL;
}

static result interrupted(const char *script, unsigned char number, int times)
{
    int out[2], control[2];
    pthread_t thread;
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    assert_int_equal(pipe2(control, O_CLOEXEC), 0);
    interrupter i = {.from = out[0], .to = control[1], .times = times, .number = number};
    assert_int_equal(pthread_create(&thread, NULL, interrupt, &i), 0);
    result r = launch(&(artel__launch_wish){.workers = 1},
                      (artel__launch_run_options){.control = control[0], .out = out[1], .restarts = 5}, script);
    close(out[1]);
    pthread_join(thread, NULL);
    close(out[0]);
    close(control[0]);
    close(control[1]);
    return r;
}

#define ENDLESS "while :; do sleep 0.01; done"

/* The prefix, "[worker 0] ", holds a 0: the first signal comes after the first line, the second after one with a 1. */
static void test_signals(void **state)
{
    (void)state;
    assert_int_equal(interrupted("trap 'exit 143' TERM; echo; " ENDLESS, SIGINT, 1).code, 130);
    assert_int_equal(interrupted("trap 'exit 143' TERM; echo; " ENDLESS, SIGTERM, 1).code, 143);
    assert_int_equal(interrupted("trap 'exit 2' TERM; echo; " ENDLESS, SIGTERM, 1).code, 2);
    result r = interrupted("trap 'echo 1' TERM; echo; " ENDLESS, SIGINT, 2); /* does not end by SIGTERM */
    assert_int_equal(r.code, 130);
    assert_non_null(strstr(r.err, "SIGINT"));
}

/* Before anything is started: nothing is. */
static void test_early_signal(void **state)
{
    int control[2];
    (void)state;
    assert_int_equal(pipe2(control, O_CLOEXEC), 0);
    assert_int_equal(write(control[1], "\017", 1), 1); /* SIGTERM */
    result r = launch(&(artel__launch_wish){.workers = 3}, (artel__launch_run_options){.control = control[0]},
                      "echo; " ENDLESS);
    assert_int_equal(r.code, 143);
    close(control[0]);
    close(control[1]);
}

/* Signals, once the pipe that nobody reads is full. That is when its writing end says so: a pipe counts pages, and
 * pieces of half a page fill it with half of its bytes. */
static void *wait_for_full(void *user)
{
    interrupter *i = user;
    struct pollfd end = {.fd = i->full, .events = POLLOUT};
    int held = 0, before;
    do { /* until no more comes */
        before = held;
        poll(NULL, 0, 20);
        if (ioctl(i->from, FIONREAD, &held) != 0) return NULL;
    } while (poll(&end, 1, 0) != 0 || held != before);
    for (int k = 0; k < i->times; k++)
        if (write(i->to, &i->number, 1) != 1) return NULL;
    return NULL;
}

/* A reader that reads nothing, then goes: the tasks wait, signals are heard, and in the end it shows. */
static void test_readers(void **state)
{
    int out[2], control[2];
    pthread_t thread;
    (void)state;
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    assert_int_equal(pipe2(control, O_CLOEXEC), 0);
    interrupter i = {.from = out[0], .to = control[1], .full = out[1], .times = 3, .number = SIGINT};
    assert_int_equal(pthread_create(&thread, NULL, wait_for_full, &i), 0);
    result r = launch(&(artel__launch_wish){.workers = 2},
                      (artel__launch_run_options){.control = control[0], .out = out[1], .user = left_alone},
                      "trap '' TERM; while :; do echo 0123456789012345678901234567890123456789; done");
    assert_int_equal(r.code, 130);
    pthread_join(thread, NULL);
    close(out[0]);
    r = launch(&(artel__launch_wish){.workers = 2}, (artel__launch_run_options){.control = -1, .out = out[1]},
               "echo lost");
    assert_int_equal(r.code, 2);
    close(out[1]);
    close(control[0]);
    close(control[1]);
}

static void test_bad_program(void **state)
{
    const char *const words[] = {"/nowhere/program", NULL};
    artel__launch l;
    int code = -1;
    (void)state;
    assert_int_equal(
        artel__launch_open(ctx, &(artel__launch_wish){.workers = 3, .cores = 1, .environment = environment}, &l),
        ARTEL_OK);
    assert_int_equal(artel__launch_prepare(&l), ARTEL_OK);
    assert_int_equal(artel__launch_set_program(&l, words), ARTEL_OK);
    assert_int_equal(artel__launch_run(&l, &(artel__launch_run_options){.control = -1, .out = 1, .err = 2}, &code),
                     ARTEL_ERROR_NOT_FOUND);
    assert_int_equal(code, -1);
    artel__launch_close(&l);
    artel_context_clear(ctx);
}

/* Each allocation of a run fails once: it ends, with an error, or without some of its output. */
static void test_memory(void **state)
{
    const char *const words[] = {"/bin/sh", "-c", "printf a; sleep 0.01; echo b; echo c >&2", NULL};
    const artel__launch_wish wish = {.workers = 2, .cores = 1, .environment = environment};
    (void)state;
    for (uint64_t n = 1; n < 40; n++) {
        artel__launch l;
        int out = temporary(), code = 0;
        assert_int_equal(artel__launch_open(ctx, &wish, &l), ARTEL_OK);
        assert_int_equal(artel__launch_set_program(&l, words), ARTEL_OK);
        artel__fail_allocation_after(ctx, n);
        artel_status status =
            artel__launch_run(&l, &(artel__launch_run_options){.control = -1, .out = out, .err = out}, &code);
        artel__fail_allocation_after(ctx, 0);
        assert_true(status == ARTEL_OK ? code == 0 || code == 2 : status == ARTEL_ERROR_NO_MEMORY);
        artel__launch_close(&l);
        artel_context_clear(ctx);
        assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
        close(out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_codes),       cmocka_unit_test(test_output),       cmocka_unit_test(test_services),
        cmocka_unit_test(test_signals),     cmocka_unit_test(test_early_signal), cmocka_unit_test(test_readers),
        cmocka_unit_test(test_bad_program), cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
