/* SPDX-License-Identifier: Apache-2.0 */
/* Time and memory of this process, from the kernel.
 *
 * The start of the process is known to /proc only in clock ticks (10 ms as a rule), rounded down. artel__process_age()
 * takes the middle of the tick, so that it is right on average and wrong by 5 ms at most; it serves the figure "exec to
 * the end of the first step", which no clock inside the program can see.
 */
#include "base/clock.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int64_t read_clock(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t artel__now_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

int64_t artel__thread_time_ns(void)
{
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

int64_t artel__process_time_ns(void)
{
    return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

double artel__wall_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Reads a small file of /proc at once; false when it cannot be read. */
static bool read_proc(const char *path, char *buffer, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    ssize_t length = read(fd, buffer, size - 1);
    close(fd);
    if (length <= 0) return false;
    buffer[length] = '\0';
    return true;
}

/* Field 22 of /proc/self/stat, see proc(5): the start in ticks since boot. The name (field 2) may hold anything. */
static bool start_ticks(unsigned long long *out)
{
    char line[2048];
    if (!read_proc("/proc/self/stat", line, sizeof(line))) return false;
    char *at = strrchr(line, ')');
    for (int field = 2; at && field < 22; field++) at = strchr(at + 1, ' ');
    if (!at) return false;
    *out = strtoull(at + 1, NULL, 10);
    return true;
}

double artel__process_age(void)
{
    unsigned long long start = 0;
    struct timespec now;
    long ticks = sysconf(_SC_CLK_TCK);
    if (ticks <= 0 || !start_ticks(&start) || clock_gettime(CLOCK_BOOTTIME, &now) != 0) return 0;
    double age = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec - ((double)start + 0.5) / (double)ticks;
    return age > 0 ? age : 0;
}

/* VmHWM and not getrusage(): ru_maxrss survives exec, so a child would report what its large parent once used. */
int64_t artel__peak_rss_bytes(void)
{
    char text[4096];
    if (!read_proc("/proc/self/status", text, sizeof(text))) return 0;
    const char *line = strstr(text, "\nVmHWM:");
    return line ? (int64_t)strtoull(line + strlen("\nVmHWM:"), NULL, 10) * 1024 : 0;
}

int artel__cond_init(pthread_cond_t *condition)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    int error = pthread_cond_init(condition, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return error;
}

struct timespec artel__after_ns(int64_t ns)
{
    int64_t at = artel__now_ns() + ns;
    return (struct timespec){.tv_sec = at / 1000000000, .tv_nsec = at % 1000000000};
}
