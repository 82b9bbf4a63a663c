/* SPDX-License-Identifier: Apache-2.0 */
/* Running `artel-hdf5`; see h5_helper.h.
 *
 * posix_spawn, because it does not copy the page tables of a process that may be large. The helper gets three
 * descriptors, the default signals, its own process group (Ctrl-C is for the program) and four environment variables.
 * Its death shows as the end of the message pipe; a program that reaps all children (or ignores SIGCHLD) may steal the
 * exit status, so the answer itself says whether it is complete.
 */
#include "keras/h5_helper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/part.h"
#include "base/spill.h"
#include "keras/h5_wire.h"

#define PROGRAM "artel-hdf5"
#define PATIENCE 20 /* a busy machine may give it no more than this part of a processor */
#define SLICE_MS 50
#define DAMAGED "the file is damaged or incomplete; copy or download it again, or save it again"

typedef struct process {
    artel_context *ctx;
    const artel__helper_job *job;
    pid_t pid;
    int pipe; /* the reading end */
    int64_t deadline;
    char message[768];
    size_t length;
    bool ended, known; /* reaped; with the exit status */
    int status;
} process;

double artel__helper_seconds(uint64_t bytes)
{
    return 3.0 + (double)bytes / (32u << 20);
}

static artel_status away_from_standard(artel_context *ctx, const char *where, int *fd)
{
    if (*fd >= 10) return ARTEL_OK;
    int moved = fcntl(*fd, F_DUPFD_CLOEXEC, 10);
    if (moved < 0 && errno == EINVAL) errno = EMFILE; /* so few are allowed */
    if (moved < 0) return artel__fail_errno(ctx, where, "duplicate a descriptor of");
    close(*fd);
    *fd = moved;
    return ARTEL_OK;
}

artel_status artel__memory_file(artel_context *ctx, const char *where, int *out)
{
    int fd = artel__spill_is_open(ctx) ? artel__spill_file(ctx)
                                       : memfd_create("artel-hdf5", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) return artel__fail_errno(ctx, where, "make a copy in memory");
    artel_status status = away_from_standard(ctx, where, &fd);
    if (status < 0)
        close(fd);
    else
        *out = fd;
    return status;
}

artel_status artel__memory_guard(artel_context *ctx, const char *where, int *fd)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", *fd);
    int reading = open(path, O_RDONLY | O_CLOEXEC);
    if (reading < 0) return artel__fail_errno(ctx, where, "open the copy of");
    close(*fd);
    *fd = reading;
    return away_from_standard(ctx, where, fd);
}

artel_status artel__memory_write(artel_context *ctx, const char *where, int fd, const void *bytes, size_t count)
{
    const char *p = bytes;
    while (count > 0) {
        ssize_t done = write(fd, p, count < ((size_t)1 << 30) ? count : (size_t)1 << 30);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return artel__fail_errno(ctx, where, "make a copy in memory");
        p += done;
        count -= (size_t)done;
    }
    return ARTEL_OK;
}

artel_status artel__memory_map(artel_context *ctx, const char *where, int fd, artel__mapping *out)
{
    struct stat info;
    if (fstat(fd, &info) != 0) return artel__fail_errno(ctx, where, "examine the copy in memory");
    *out = (artel__mapping){0};
    if (info.st_size == 0) return ARTEL_OK;
    void *at = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (at == MAP_FAILED) return artel__fail_memory(ctx, where, (size_t)info.st_size);
    *out = (artel__mapping){.bytes = at, .size = (size_t)info.st_size};
    return ARTEL_OK;
}

static artel_status find_program(artel_context *ctx, const artel__helper_job *job, char path[PATH_MAX])
{
    const char *named = job->program ? job->program : getenv("ARTEL_HDF5_HELPER");
    if (named && named[0]) {
        snprintf(path, PATH_MAX, "%s", named);
        if (access(path, X_OK) == 0) return ARTEL_OK;
        return artel__fail(ctx, ARTEL_ERROR_UNSUPPORTED, job->where,
                           "let ARTEL_HDF5_HELPER name the program artel-hdf5, or unset it",
                           "HDF5 files are read by a helper program, and %s cannot be run", path);
    }
    if (artel__find_companion(PROGRAM, X_OK, path)) return ARTEL_OK;
    return artel__fail(ctx, ARTEL_ERROR_UNSUPPORTED, job->where,
                       "build it (it needs libhdf5-dev), install artel as a whole, or set ARTEL_HDF5_HELPER",
                       "HDF5 files are read and written by the helper program " PROGRAM ", which is not beside artel");
}

/* The few variables the helper may see: "NAME=" entries of ours that exist. */
static void pick_environment(char **target, size_t room)
{
    static const char *const names[] = {"LD_LIBRARY_PATH=", "ASAN_OPTIONS=", "UBSAN_OPTIONS=", "LSAN_OPTIONS="};
    size_t count = 0;
    for (char **entry = environ; entry && *entry; entry++)
        for (size_t i = 0; i < ARTEL__COUNT(names); i++)
            if (strncmp(*entry, names[i], strlen(names[i])) == 0 && count + 1 < room) target[count++] = *entry;
    target[count] = NULL;
}

static int add_actions(posix_spawn_file_actions_t *actions, const artel__helper_job *job, int message)
{
    int error = 0;
    for (int fd = 0; fd < 3 && error == 0; fd++)
        error = posix_spawn_file_actions_addopen(actions, fd, "/dev/null", O_RDWR, 0);
    if (error == 0) error = posix_spawn_file_actions_adddup2(actions, job->input, ARTEL__WIRE_INPUT);
    if (error == 0) error = posix_spawn_file_actions_adddup2(actions, job->output, ARTEL__WIRE_OUTPUT);
    if (error == 0) error = posix_spawn_file_actions_adddup2(actions, message, ARTEL__WIRE_MESSAGE);
    return error;
}

static int spawn(const char *path, const artel__helper_job *job, int message, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    int error = posix_spawn_file_actions_init(&actions);
    if (error != 0) return error;
    error = posix_spawnattr_init(&attributes);
    if (error != 0) goto undo_actions;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    error = add_actions(&actions, job, message);
    if (error != 0) goto undo_attributes;
    char seconds[32], program[] = PROGRAM, version[] = ARTEL__WIRE_VERSION, mode[16], *variables[8];
    snprintf(seconds, sizeof seconds, "%u", (unsigned)(job->seconds + 1));
    snprintf(mode, sizeof mode, "%s", job->mode);
    pick_environment(variables, ARTEL__COUNT(variables));
    char *arguments[] = {program, mode, version, seconds, NULL};
    error = posix_spawn(pid, path, &actions, &attributes, arguments, variables);
undo_attributes:
    posix_spawnattr_destroy(&attributes);
undo_actions:
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

static void reap(process *p, bool wait)
{
    pid_t got;
    do got = waitpid(p->pid, &p->status, wait ? 0 : WNOHANG);
    while (got < 0 && errno == EINTR);
    p->ended = got != 0;
    p->known = got == p->pid;
}

/* Takes what the helper says; false at the end of the pipe. */
static bool receive(process *p, int timeout_ms)
{
    struct pollfd wait = {.fd = p->pipe, .events = POLLIN};
    if (poll(&wait, 1, timeout_ms) <= 0) return true;
    char spill[256];
    bool full = p->length >= sizeof p->message - 1;
    ssize_t got =
        read(p->pipe, full ? spill : p->message + p->length, full ? sizeof spill : sizeof p->message - 1 - p->length);
    if (got > 0 && !full) p->length += (size_t)got;
    return got > 0 || (got < 0 && errno == EINTR);
}

/* Waits for the end; false when time is up or the context is cancelled. The process is asked after in every slice,
 * because the pipe may stay open in a child that the program forked meanwhile. */
static bool await(process *p)
{
    bool open = true;
    for (;;) {
        if (open)
            open = receive(p, SLICE_MS);
        else
            usleep(50);
        reap(p, false);
        if (p->ended) break;
        if (artel__now_ns() > p->deadline || artel__cancelled(p->ctx)) return false;
    }
    for (int i = 0; i < 4 && open; i++) open = receive(p, 0);
    return true;
}

/* The helper may have been taken over by the file: what it says is shown, but as plain text of limited length. */
static void clean_message(process *p)
{
    p->message[p->length] = '\0';
    for (size_t i = 0; i < p->length; i++) {
        unsigned char c = (unsigned char)p->message[i];
        if (c < 0x20 || c == 0x7f) p->message[i] = '?';
    }
}

static artel_status fail_with_message(const process *p)
{
    const artel__helper_job *job = p->job;
    switch (p->message[0]) {
    case 'U':
        return artel__fail(p->ctx, ARTEL_ERROR_UNSUPPORTED, job->where, "install artel as a whole", "%s",
                           p->message + 1);
    case 'M':
        return artel__fail(p->ctx, ARTEL_ERROR_NO_MEMORY, job->where, "", "the HDF5 helper has %s", p->message + 1);
    case 'I': return artel__fail(p->ctx, ARTEL_ERROR_INVALID, job->where, "", "%s", p->message + 1);
    default: return artel__fail(p->ctx, ARTEL_ERROR_CORRUPT, job->where, DAMAGED, "%s", p->message + 1);
    }
}

static artel_status judge(const process *p)
{
    if (p->length > 1) return fail_with_message(p);
    if (!p->known || (WIFEXITED(p->status) && WEXITSTATUS(p->status) == 0)) return ARTEL_OK;
    if (WIFSIGNALED(p->status) && (WTERMSIG(p->status) == SIGXCPU || WTERMSIG(p->status) == SIGKILL))
        return artel__fail(p->ctx, ARTEL_ERROR_CORRUPT, p->job->where, DAMAGED,
                           "the HDF5 helper used up its processor time");
    return artel__fail(p->ctx, ARTEL_ERROR_CORRUPT, p->job->where, DAMAGED,
                       "the HDF5 library crashed on this file (%s %d)", WIFSIGNALED(p->status) ? "signal" : "exit code",
                       WIFSIGNALED(p->status) ? WTERMSIG(p->status) : WEXITSTATUS(p->status));
}

static artel_status supervise(process *p)
{
    bool finished = await(p);
    if (!finished) {
        kill(p->pid, SIGKILL);
        reap(p, true);
    }
    clean_message(p);
    if (finished) return judge(p);
    if (artel__cancelled(p->ctx)) return artel__fail(p->ctx, ARTEL_ERROR_CANCELLED, p->job->where, "", "cancelled");
    return artel__fail(p->ctx, ARTEL_ERROR_CORRUPT, p->job->where, DAMAGED,
                       "the HDF5 library did not finish this file in %.1f s", p->job->seconds * PATIENCE);
}

artel_status artel__helper_run(artel_context *ctx, const artel__helper_job *job)
{
    char path[PATH_MAX];
    ARTEL_TRY(find_program(ctx, job, path));
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return artel__fail_errno(ctx, job->where, "create a pipe for");
    process p = {.ctx = ctx,
                 .job = job,
                 .pipe = ends[0],
                 .deadline = artel__now_ns() + (int64_t)(job->seconds * PATIENCE * 1e9)};
    artel_status status = away_from_standard(ctx, job->where, &ends[1]);
    if (status >= 0) {
        int error = spawn(path, job, ends[1], &p.pid);
        if (error != 0)
            status =
                artel__fail(ctx, ARTEL_ERROR_UNSUPPORTED, job->where,
                            error == EAGAIN ? ARTEL__ADVISE_THREADS : "set ARTEL_HDF5_HELPER to the program artel-hdf5",
                            "the helper program %s cannot be started: %s", path, strerror(error));
    }
    close(ends[1]);
    if (status >= 0) status = supervise(&p);
    close(ends[0]);
    return status;
}
