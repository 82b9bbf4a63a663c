/* SPDX-License-Identifier: Apache-2.0 */
/* Who writes what has a temporary name, and whether it lives.
 *
 * Several hosts may share a directory, so a mark holds the host's name beside the number of the process. Numbers come
 * again, in a container that is restarted nearly always: what bears this process' own number is an earlier one's when
 * it is older than this process. Processes of other hosts cannot be looked for; what they have not touched for an hour
 * they have left.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"

#define OLD_SECONDS 3600
#define DOUBT_SECONDS 1 /* about when files and processes began */

void artel__writer_mark(char out[ARTEL__WRITER_MARK])
{
    char host[65];
    if (gethostname(host, sizeof host - 1) != 0) host[0] = '\0';
    host[sizeof host - 1] = '\0';
    snprintf(out, ARTEL__WRITER_MARK, "%s.%ld", host, (long)getpid());
}

/* The number of the process when the mark is of this host; else 0. */
static int64_t process_here(const char *mark)
{
    char own[ARTEL__WRITER_MARK];
    const char *dot = strrchr(mark, '.');
    int64_t pid;
    artel__writer_mark(own);
    size_t host = dot ? (size_t)(dot - mark) + 1 : 0;
    bool here = dot && host == (size_t)(strrchr(own, '.') - own) + 1 && memcmp(own, mark, host) == 0;
    return here && artel__parse_int64(dot + 1, &pid) && pid > 0 ? pid : 0;
}

bool artel__writer_is_gone(const char *mark, const char *path)
{
    struct stat info;
    int64_t pid = process_here(mark);
    if (pid && pid != getpid()) return kill((pid_t)pid, 0) != 0 && errno == ESRCH;
    if (stat(path, &info) != 0) return false;
    double untouched = artel__wall_seconds() - (double)info.st_mtime, age = artel__process_age();
    return pid ? age > 0 && untouched > age + DOUBT_SECONDS : untouched > OLD_SECONDS;
}
