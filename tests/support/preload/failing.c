/* SPDX-License-Identifier: Apache-2.0 */
/* For LD_PRELOAD: one call to the system fails. FAULT=malloc:12 fails the twelfth allocation of the process, with
 * ENOMEM; likewise write, fsync, rename (ENOSPC), open (EMFILE), thread (EAGAIN), spawn, seal of a file in memory
 * (EBUSY), map (ENOMEM), folder (ENOSPC), handle: a pipe, an event, a socket or a file in memory (EMFILE), read (EIO).
 * Calls of all kinds are counted, and blocks that were not freed ("live"); at the end the counts are appended to the
 * file FAULT_COUNTS. A child that is a copy
 * is left alone, a program that it becomes is not: of a cluster every process fails at its own twelfth, or, with
 * FAULT_ONLY=TASK, the one whose ARTEL_TASK is that.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    MALLOC,
    WRITE,
    FSYNC,
    OPEN,
    RENAME,
    THREAD,
    SPAWN,
    SEAL,
    MAP,
    FOLDER,
    HANDLE,
    READ,
    KINDS
};
static const char *const names[KINDS] = {"malloc", "write", "fsync", "open",   "rename", "thread",
                                         "spawn",  "seal",  "map",   "folder", "handle", "read"};
static atomic_ulong count[KINDS];
static atomic_long live;
static unsigned long failing[KINDS];
static pid_t process;

/* glibc's own, which need no look-up. */
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
void __libc_free(void *);

static int fails(int kind, int error)
{
    if (!process || ++count[kind] != failing[kind] || getpid() != process) return 0;
    errno = error;
    return 1;
}

static void *original(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

__attribute__((constructor)) static void begin(void)
{
    const char *fault = getenv("FAULT"), *only = getenv("FAULT_ONLY"), *self = getenv("ARTEL_TASK");
    if (only && !(self && !strcmp(self, only))) fault = NULL;
    for (int kind = 0; fault && kind < KINDS; kind++) {
        size_t length = strlen(names[kind]);
        if (!strncmp(fault, names[kind], length) && fault[length] == ':')
            failing[kind] = strtoul(fault + length + 1, NULL, 10);
    }
    process = getpid();
}

__attribute__((destructor)) static void end(void)
{
    const char *path = getenv("FAULT_COUNTS");
    char line[320];
    int length = 0, (*real_open)(const char *, int, ...) = original("open");
    ssize_t (*real_write)(int, const void *, size_t) = original("write");
    if (!path || getpid() != process) return;
    for (int kind = 0; kind < KINDS; kind++)
        length += sprintf(line + length, "%s=%lu\n", names[kind], (unsigned long)count[kind]);
    length += sprintf(line + length, "live=%ld\n", (long)live);
    int fd = real_open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (fd >= 0 && real_write(fd, line, (size_t)length) > 0) close(fd);
}

static void *counted(void *block)
{
    live += block != NULL;
    return block;
}

void *malloc(size_t size)
{
    return fails(MALLOC, ENOMEM) ? NULL : counted(__libc_malloc(size));
}

void *calloc(size_t n, size_t size)
{
    return fails(MALLOC, ENOMEM) ? NULL : counted(__libc_calloc(n, size));
}

void *realloc(void *block, size_t size)
{
    if (fails(MALLOC, ENOMEM)) return NULL;
    void *made = __libc_realloc(block, size);
    live += (block == NULL && made != NULL) - (block != NULL && size == 0 && made == NULL);
    return made;
}

void free(void *block)
{
    live -= block != NULL;
    __libc_free(block);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return fails(MALLOC, ENOMEM) ? NULL : counted(__libc_memalign(alignment, size));
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
    if (fails(MALLOC, ENOMEM)) return ENOMEM;
    *out = counted(__libc_memalign(alignment, size));
    return *out ? 0 : ENOMEM;
}

ssize_t write(int fd, const void *bytes, size_t size)
{
    ssize_t (*real)(int, const void *, size_t) = original("write");
    return fd > 2 && fails(WRITE, ENOSPC) ? -1 : real(fd, bytes, size);
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at)
{
    ssize_t (*real)(int, const void *, size_t, off_t) = original("pwrite");
    return fails(WRITE, ENOSPC) ? -1 : real(fd, bytes, size, at);
}

ssize_t pwritev(int fd, const struct iovec *pieces, int n, off_t at)
{
    ssize_t (*real)(int, const struct iovec *, int, off_t) = original("pwritev");
    return fails(WRITE, ENOSPC) ? -1 : real(fd, pieces, n, at);
}

ssize_t read(int fd, void *bytes, size_t size)
{
    ssize_t (*real)(int, void *, size_t) = original("read");
    return fd > 2 && fails(READ, EIO) ? -1 : real(fd, bytes, size);
}

ssize_t pread(int fd, void *bytes, size_t size, off_t at)
{
    ssize_t (*real)(int, void *, size_t, off_t) = original("pread");
    return fails(READ, EIO) ? -1 : real(fd, bytes, size, at);
}

int fcntl(int fd, int command, ...)
{
    int (*real)(int, int, ...) = original("fcntl");
    va_list rest;
    va_start(rest, command);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    return command == F_ADD_SEALS && fails(SEAL, EBUSY) ? -1 : real(fd, command, argument);
}

int fsync(int fd)
{
    int (*real)(int) = original("fsync");
    return fails(FSYNC, ENOSPC) ? -1 : real(fd);
}

int fdatasync(int fd)
{
    int (*real)(int) = original("fdatasync");
    return fails(FSYNC, ENOSPC) ? -1 : real(fd);
}

void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    void *(*real)(void *, size_t, int, int, int, off_t) = original("mmap");
    return fails(MAP, ENOMEM) ? MAP_FAILED : real(at, size, protection, flags, fd, offset);
}

int mkdir(const char *path, mode_t mode)
{
    int (*real)(const char *, mode_t) = original("mkdir");
    return fails(FOLDER, ENOSPC) ? -1 : real(path, mode);
}

int pipe2(int ends[2], int flags)
{
    int (*real)(int[2], int) = original("pipe2");
    return fails(HANDLE, EMFILE) ? -1 : real(ends, flags);
}

int eventfd(unsigned int value, int flags)
{
    int (*real)(unsigned int, int) = original("eventfd");
    return fails(HANDLE, EMFILE) ? -1 : real(value, flags);
}

int epoll_create1(int flags)
{
    int (*real)(int) = original("epoll_create1");
    return fails(HANDLE, EMFILE) ? -1 : real(flags);
}

int memfd_create(const char *name, unsigned int flags)
{
    int (*real)(const char *, unsigned int) = original("memfd_create");
    return fails(HANDLE, EMFILE) ? -1 : real(name, flags);
}

int socket(int domain, int type, int protocol)
{
    int (*real)(int, int, int) = original("socket");
    return fails(HANDLE, EMFILE) ? -1 : real(domain, type, protocol);
}

int accept4(int fd, struct sockaddr *address, socklen_t *size, int flags)
{
    int (*real)(int, struct sockaddr *, socklen_t *, int) = original("accept4");
    return fails(HANDLE, EMFILE) ? -1 : real(fd, address, size, flags);
}

int open(const char *path, int flags, ...)
{
    int (*real)(const char *, int, ...) = original("open");
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return fails(OPEN, EMFILE) ? -1 : real(path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...)
{
    int (*real)(int, const char *, int, ...) = original("openat");
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return fails(OPEN, EMFILE) ? -1 : real(folder, path, flags, mode);
}

int rename(const char *from, const char *to)
{
    int (*real)(const char *, const char *) = original("rename");
    return fails(RENAME, ENOSPC) ? -1 : real(from, to);
}

int renameat(int from_folder, const char *from, int to_folder, const char *to)
{
    int (*real)(int, const char *, int, const char *) = original("renameat");
    return fails(RENAME, ENOSPC) ? -1 : real(from_folder, from, to_folder, to);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument)
{
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = original("pthread_create");
    return fails(THREAD, EAGAIN) ? EAGAIN : real(thread, attributes, run, argument);
}

int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                const posix_spawnattr_t *attributes, char *const words[], char *const environment[])
{
    int (*real)(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *, char *const[],
                char *const[]) = original("posix_spawn");
    return fails(SPAWN, EAGAIN) ? EAGAIN : real(pid, path, actions, attributes, words, environment);
}

pid_t fork(void)
{
    pid_t (*real)(void) = original("fork");
    return fails(SPAWN, EAGAIN) ? -1 : real();
}
