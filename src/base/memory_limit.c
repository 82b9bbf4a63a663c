/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory this process may fill, files that it reads counted in: what the machine has, or less in a control
 * group (base/pages.h).
 *
 * A limit is in force at every level of the tree of groups, so that the smallest one on the way to the root counts.
 * Version 2 keeps it in memory.max, version 1 in memory.limit_in_bytes below the controller `memory`; a number near
 * 2^63 is none.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/pages.h"

#define NO_LIMIT UINT64_MAX

static uint64_t lesser(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* That of one directory. */
static uint64_t directory_limit(const char *directory, const char *name)
{
    char path[4096 + 64], word[32];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "re");
    if (!file) return NO_LIMIT;
    int count = fscanf(file, "%31s", word);
    fclose(file);
    char *end = word;
    unsigned long long limit = count == 1 ? strtoull(word, &end, 10) : 0;
    return end == word || *end != '\0' || limit == 0 ? NO_LIMIT : limit;
}

/* The smallest from `group` (an absolute path below `base`) up to `base`. */
static uint64_t smallest_limit(const char *base, const char *group, const char *name)
{
    char directory[4096];
    size_t root = strlen(base);
    uint64_t least = NO_LIMIT;
    if (strcmp(group, "/") == 0) group = "";
    if (snprintf(directory, sizeof directory, "%s%s", base, group) >= (int)sizeof directory) return NO_LIMIT;
    for (;;) {
        least = lesser(least, directory_limit(directory, name));
        char *slash = strrchr(directory, '/');
        if (!slash || (size_t)(slash - directory) < root) return least;
        *slash = '\0';
    }
}

/* One line "number:controllers:path" of /proc/self/cgroup. */
static uint64_t line_limit(char *line, const char *mount)
{
    char base[4096];
    line[strcspn(line, "\n")] = '\0';
    char *controllers = strchr(line, ':');
    char *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group) return NO_LIMIT;
    *group++ = '\0';
    controllers++;
    if (*controllers == '\0') return smallest_limit(mount, group, "memory.max");
    if (strcmp(controllers, "memory") != 0) return NO_LIMIT;
    snprintf(base, sizeof base, "%s/memory", mount);
    return smallest_limit(base, group, "memory.limit_in_bytes");
}

uint64_t artel__cgroup_memory(const char *membership, const char *mount)
{
    char line[4096];
    uint64_t least = NO_LIMIT;
    FILE *file = fopen(membership, "re");
    if (!file) return NO_LIMIT;
    while (fgets(line, sizeof line, file)) least = lesser(least, line_limit(line, mount));
    fclose(file);
    return least;
}

uint64_t artel__memory_limit(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);
    uint64_t machine = pages > 0 && bytes > 0 ? (uint64_t)pages * (uint64_t)bytes : NO_LIMIT;
    return lesser(machine, artel__cgroup_memory("/proc/self/cgroup", "/sys/fs/cgroup"));
}
