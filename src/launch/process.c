/* SPDX-License-Identifier: Apache-2.0 */
/* Starting, watching and ending the processes of a launcher; see process.h.
 *
 * fork and not posix_spawn: PR_SET_PDEATHSIG has to be set in the child. A child writes its number to the guard's pipe
 * before it runs anything, so that no group is unknown to it; the launcher writes the negative when the group is no
 * more. Such a record is 4 bytes, and pipes do not tear them. The guard has all signals blocked and ends with the pipe.
 */
#include "launch/process.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"

#define CORE_SETS 8 /* of CPU_SETSIZE cores each */

static void close_if_open(int *fd)
{
    if (*fd >= 0) close(*fd);
    *fd = -1;
}

static void write_record(int fd, pid_t record)
{
    ssize_t done;
    do {
        done = write(fd, &record, sizeof record);
    } while (done < 0 && errno == EINTR); /* a guard that is gone is no reason to stop */
}

/* Descriptors of pipes stay above 2, where the child's standard ones are put. */
static bool make_pipe(int ends[2])
{
    if (pipe2(ends, O_CLOEXEC) != 0) {
        ends[0] = ends[1] = -1;
        return false;
    }
    for (int i = 0; i < 2; i++) {
        if (ends[i] > 2) continue;
        int moved = fcntl(ends[i], F_DUPFD_CLOEXEC, 3);
        if (moved < 0) return false;
        close(ends[i]);
        ends[i] = moved;
    }
    return true;
}

/* -- the guard -- */

/* Groups that live, by the records read so far. */
typedef struct groups {
    pid_t *item;
    size_t count, capacity;
} groups;

static void note_record(artel_context *ctx, groups *known, pid_t record)
{
    if (record < 0) {
        for (size_t i = 0; i < known->count; i++)
            if (known->item[i] == -record) known->item[i--] = known->item[--known->count];
        return;
    }
    if (known->count == known->capacity) {
        size_t capacity = known->capacity ? 2 * known->capacity : 256;
        if (artel__realloc(ctx, capacity * sizeof *known->item, "guard", (void **)&known->item) < 0) return;
        known->capacity = capacity;
    }
    known->item[known->count++] = record;
}

/* A new folder in the first place that allows it, or "". */
static void make_folder(const char *const *place, char path[ARTEL__GUARD_FOLDER])
{
    for (; place && *place; place++) {
        int needed = snprintf(path, ARTEL__GUARD_FOLDER, "%s/artel-launch-XXXXXX", *place);
        if (needed > 0 && needed < ARTEL__GUARD_FOLDER && mkdtemp(path)) return;
    }
    path[0] = '\0';
}

/* The guard makes the folder itself: there is no moment at which nobody would remove it. */
static void run_guard(artel_context *ctx, int pipe, int answer, const char *const *places)
{
    groups known = {0};
    char folder[ARTEL__GUARD_FOLDER] = "";
    pid_t record;
    ssize_t got;
    int null = open("/dev/null", O_RDWR);
    make_folder(places, folder);
    got = write(answer, folder, sizeof folder);
    for (int fd = 0; fd < 3 && null >= 0; fd++) dup2(null, fd);
    if (dup2(pipe, 3) == 3) syscall(SYS_close_range, 4u, ~0u, 0u);
    prctl(PR_SET_NAME, "artel-guard");
    while (got > 0 || (got < 0 && errno == EINTR)) {
        got = read(3, &record, sizeof record);
        if (got == (ssize_t)sizeof record) note_record(ctx, &known, record);
    }
    for (size_t i = 0; i < known.count; i++) kill(-known.item[i], SIGKILL);
    if (folder[0]) artel__remove_tree(ctx, folder);
    _exit(0);
}

/* In the launcher: forks the guard with all signals blocked, so that it can be killed and nothing else. */
static pid_t fork_guard(artel_context *ctx, const int ends[2], const int answer[2], const char *const *places)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t pid = fork();
    int error = errno;
    if (pid == 0) {
        setpgid(0, 0);
        close(ends[1]);
        close(answer[0]);
        run_guard(ctx, ends[0], answer[1], places);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return pid;
}

artel_status artel__guard_create(artel_context *ctx, const char *const *places, artel__guard *out)
{
    int ends[2] = {-1, -1}, answer[2] = {-1, -1};
    artel__guard guard = {.fd = -1};
    artel_status status = ARTEL_OK;
    if (!make_pipe(ends) || !make_pipe(answer))
        status = artel__fail_errno(ctx, "launch", "make a pipe");
    else if ((guard.pid = fork_guard(ctx, ends, answer, places)) < 0)
        status = artel__fail_errno(ctx, "launch", "start a process");
    close_if_open(&ends[0]);
    close_if_open(&answer[1]);
    guard.fd = ends[1];
    if (status == ARTEL_OK) {
        ssize_t got;
        do {
            got = read(answer[0], guard.folder, sizeof guard.folder);
        } while (got < 0 && errno == EINTR);
        bool made = got == (ssize_t)sizeof guard.folder && (!places || guard.folder[0]);
        if (!made)
            status = artel__fail(ctx, ARTEL_ERROR_IO, "launch", "let TMPDIR name a folder that can be written to",
                                 "no folder could be made");
    }
    close_if_open(&answer[0]);
    if (status == ARTEL_OK) {
        *out = guard;
        return status;
    }
    artel__guard_destroy(&guard);
    close_if_open(&guard.fd);
    return status;
}

void artel__guard_destroy(artel__guard *guard)
{
    if (guard->pid <= 0) return;
    close_if_open(&guard->fd);
    while (waitpid(guard->pid, NULL, 0) < 0 && errno == EINTR) continue;
    guard->pid = 0;
}

/* -- starting -- */

typedef struct pipes {
    int out[2], err[2], problem[2]; /* reading end, writing end */
} pipes;

static void close_pipes(pipes *p)
{
    int *ends[] = {p->out, p->err, p->problem};
    for (size_t i = 0; i < ARTEL__COUNT(ends); i++) {
        close_if_open(&ends[i][0]);
        close_if_open(&ends[i][1]);
    }
}

static void pin(const artel__process_request *request)
{
    cpu_set_t set[CORE_SETS];
    memset(set, 0, sizeof set);
    for (int i = 0; i < request->cores; i++)
        if (request->core[i] >= 0) CPU_SET_S((size_t)request->core[i], sizeof set, set);
    sched_setaffinity(0, sizeof set, set);
}

/* In the child: nothing here takes memory or a lock. */
static void become(const artel__process_request *request, const pipes *p, pid_t launcher)
{
    sigset_t none;
    setpgid(0, 0);
    write_record(request->guard ? request->guard->fd : -1, getpid());
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != launcher) _exit(127);
    int input = request->input > 0 ? request->input : open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (input < 0 || dup2(input, 0) < 0) goto failed;
    if (!request->same_output && (dup2(p->out[1], 1) < 0 || dup2(p->err[1], 2) < 0)) goto failed;
    if (input == 0) fcntl(0, F_SETFD, 0);
    if (request->cores > 0) pin(request);
    if (request->in_child) request->in_child(request->user);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execvpe(request->words[0], (char *const *)request->words, (char *const *)request->environment);
failed:;
    int error = errno;
    while (write(p->problem[1], &error, sizeof error) < 0 && errno == EINTR) continue;
    _exit(127);
}

/* Waits until the program runs; the errno of what failed, or 0. */
static int read_problem(int fd)
{
    int error = 0;
    ssize_t got;
    do {
        got = read(fd, &error, sizeof error);
    } while (got < 0 && errno == EINTR);
    return got == (ssize_t)sizeof error ? error : 0;
}

artel_status artel__process_start(artel_context *ctx, const artel__process_request *request, artel__process *out)
{
    pipes p = {{-1, -1}, {-1, -1}, {-1, -1}};
    artel_status status;
    pid_t launcher = getpid();
    if ((!request->same_output && (!make_pipe(p.out) || !make_pipe(p.err))) || !make_pipe(p.problem)) {
        status = artel__fail_errno(ctx, request->where, "make a pipe");
        goto undo_pipes;
    }
    pid_t pid = fork();
    if (pid == 0) become(request, &p, launcher);
    if (pid < 0) {
        status = artel__fail_errno(ctx, request->where, "start a process");
        goto undo_pipes;
    }
    close_if_open(&p.problem[1]);
    int error = read_problem(p.problem[0]);
    if (error) {
        artel__process none = {.pid = pid, .watch = -1, .out = -1, .err = -1};
        artel__process_reap(&none, request->guard);
        errno = error;
        status = artel__fail_errno(ctx, request->words[0], "start");
        goto undo_pipes;
    }
    for (int i = 0; i < 2 && !request->same_output; i++) fcntl(i ? p.err[0] : p.out[0], F_SETFL, O_NONBLOCK);
    *out = (artel__process){.pid = pid,
                            .watch = (int)syscall(SYS_pidfd_open, pid, 0u),
                            /* close-on-exec by itself */ .out = p.out[0],
                            .err = p.err[0]};
    p.out[0] = p.err[0] = -1;
    status = ARTEL_OK;
undo_pipes:
    close_pipes(&p);
    return status;
}

/* -- watching and ending -- */

bool artel__process_ended(artel__process *process)
{
    siginfo_t info = {0};
    if (process->ended || process->pid <= 0) return process->ended;
    if (waitid(P_PID, (id_t)process->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0) {
        if (errno == EINTR) return false;
        info.si_pid = process->pid; /* reaped by somebody else: taken for killed */
        info.si_code = CLD_KILLED;
        info.si_status = SIGKILL;
    }
    if (info.si_pid == 0) return false;
    process->ended = true;
    process->status = info.si_code == CLD_EXITED ? (info.si_status & 0xff) << 8 : info.si_status & 0x7f;
    return true;
}

int artel__process_code(const artel__process *process)
{
    return WIFSIGNALED(process->status) ? 128 + WTERMSIG(process->status) : WEXITSTATUS(process->status);
}

void artel__process_signal(const artel__process *process, int number)
{
    if (process->pid > 0) kill(-process->pid, number);
}

void artel__process_leave(artel__process *process)
{
    if (process->pid > 0) {
        kill(-process->pid, SIGKILL);
        kill(process->pid, SIGKILL); /* should it have left the group */
    }
    close_if_open(&process->watch);
    close_if_open(&process->out);
    close_if_open(&process->err);
    process->pid = 0;
}

void artel__process_reap(artel__process *process, const artel__guard *guard)
{
    pid_t pid = process->pid;
    artel__process_leave(process);
    if (pid <= 0) return;
    if (guard) write_record(guard->fd, -pid);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) continue;
}

const char *artel__environment_find(const char *const *environment, const char *name)
{
    size_t length = strlen(name);
    for (; environment && *environment; environment++)
        if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=') return *environment + length + 1;
    return NULL;
}

artel_status artel__process_find(artel_context *ctx, const char *name, const char *search, char *out, size_t size)
{
    struct stat info;
    bool there = false;
    const char *at = strchr(name, '/') ? "" : search ? search : "/usr/local/bin:/usr/bin:/bin";
    for (bool plain = *at == '\0';; plain = false) {
        size_t length = strcspn(at, ":");
        int needed = snprintf(out, size, "%.*s%s%s", (int)length, at, plain ? "" : length ? "/" : "./", name);
        if (needed > 0 && (size_t)needed < size && stat(out, &info) == 0 && !S_ISDIR(info.st_mode)) {
            if (access(out, X_OK) == 0) return ARTEL_OK;
            there = true;
        }
        if (at[length] == '\0') break;
        at += length + 1;
    }
    if (there)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, name, "make it executable: chmod +x",
                           "is a file that may not be executed");
    return artel__fail(ctx, ARTEL_ERROR_NOT_FOUND, name, "name a program by its path or by a name found in PATH",
                       "there is no such program");
}
