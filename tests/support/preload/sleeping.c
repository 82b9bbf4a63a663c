/* SPDX-License-Identifier: Apache-2.0 */
/* For LD_PRELOAD: the process stops (SIGSTOP) when it has first written a file whose path has SLEEP_AT in it, and is
 * about to have it synced: before the file appears under its own name. Whoever waits for that sees its state.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_int slept;

int fsync(int fd)
{
    const char *where = getenv("SLEEP_AT");
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    path[length > 0 ? length : 0] = '\0';
    if (where && strstr(path, where) && atomic_exchange(&slept, 1) == 0) kill(getpid(), SIGSTOP);
    return (int)syscall(SYS_fsync, fd);
}
