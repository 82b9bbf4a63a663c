/* SPDX-License-Identifier: Apache-2.0 */
/* Data files are mapped: one that somebody cuts off, or whose disk fails, while a run reads it shows as SIGBUS. What
 * the kernel knows about the place says which file it was, so that the run ends with a line in place of a bare signal.
 *
 * Everything here is called from the signal handler: only what POSIX allows there, no heap, no locks. Any other SIGBUS
 * is left to what it does by default.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

static char line[4400]; /* of /proc/self/maps; used by the one thread that holds `busy` */
static atomic_flag busy = ATOMIC_FLAG_INIT;

static const char *read_hex(const char *at, uintptr_t *out)
{
    static const char digits[] = "0123456789abcdef";
    *out = 0;
    for (const char *d; *at && (d = strchr(digits, *at)); at++) *out = *out * 16 + (uintptr_t)(d - digits);
    return at;
}

/* "START-END ... PATH": the path, when the address lies within. */
static const char *path_in_line(uintptr_t address)
{
    uintptr_t start, end;
    const char *at = read_hex(line, &start);
    if (*at != '-') return NULL;
    read_hex(at + 1, &end);
    return address >= start && address < end ? strchr(line, '/') : NULL;
}

static const char *find_path(uintptr_t address)
{
    char chunk[512];
    size_t length = 0;
    const char *path = NULL;
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    for (ssize_t n; fd >= 0 && !path && (n = read(fd, chunk, sizeof chunk)) > 0;) {
        for (ssize_t i = 0; i < n && !path; i++) {
            if (chunk[i] != '\n') {
                if (length < sizeof line - 1) line[length++] = chunk[i];
                continue;
            }
            line[length] = '\0';
            length = 0;
            path = path_in_line(address);
        }
    }
    if (fd >= 0) close(fd);
    return path;
}

static void say(const char *text)
{
    (void)!write(STDERR_FILENO, text, strlen(text));
}

static void on_bus(int number, siginfo_t *info, void *context)
{
    (void)context;
    while (atomic_flag_test_and_set(&busy)) pause(); /* another thread is about to end the process */
    const char *path = info->si_code == BUS_ADRERR ? find_path((uintptr_t)info->si_addr) : NULL;
    if (path) {
        say("artel: ");
        say(path);
        say(": it was cut off, or its disk failed, while it was read; leave data as it is while a run reads it\n");
        _exit(1);
    }
    signal(number, SIG_DFL);
    raise(number);
}

void artel__cli_watch_files(void)
{
    struct sigaction action = {.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO};
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, NULL);
}
