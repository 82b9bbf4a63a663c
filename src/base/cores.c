/* SPDX-License-Identifier: Apache-2.0 */
/* How many cores this process may use.
 *
 * The affinity mask says which cores exist for it; a container's CPU quota says how much of them it gets. A quota is
 * in force at every level of the cgroup tree, so the smallest one on the way to the root counts. Version 2 keeps
 * "quota period" in cpu.max, version 1 in two files below the cpu controller. A part of a core counts as a core.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/threads.h"

#define MOST_CORES 8192

static int affinity_cores(void)
{
    int cores = 0;
    size_t size = CPU_ALLOC_SIZE(MOST_CORES);
    cpu_set_t *set = CPU_ALLOC(MOST_CORES);
    if (set && sched_getaffinity(0, size, set) == 0) cores = CPU_COUNT_S(size, set);
    CPU_FREE(set);
    return cores > 0 ? cores : 1;
}

/* The numbers of a small file; "max" reads as -1. Returns how many were read. */
static int read_numbers(const char *path, long long out[2])
{
    char word[2][32];
    FILE *file = fopen(path, "re");
    if (!file) return 0;
    int count = fscanf(file, "%31s %31s", word[0], word[1]);
    fclose(file);
    for (int i = 0; i < count; i++) out[i] = strcmp(word[i], "max") == 0 ? -1 : strtoll(word[i], NULL, 10);
    return count < 0 ? 0 : count;
}

static int quota_cores(long long quota, long long period)
{
    if (quota <= 0 || period <= 0) return 0;
    long long cores = quota / period + (quota % period != 0);
    return cores > MOST_CORES ? MOST_CORES : (int)cores;
}

/* The quota of one directory, 0 when it sets none. */
static int directory_cores(const char *directory, bool unified)
{
    char path[4096 + 64];
    long long number[2] = {0, 0}, period[2] = {0, 0};
    if (unified) {
        snprintf(path, sizeof(path), "%s/cpu.max", directory);
        return read_numbers(path, number) == 2 ? quota_cores(number[0], number[1]) : 0;
    }
    snprintf(path, sizeof(path), "%s/cpu.cfs_quota_us", directory);
    if (read_numbers(path, number) < 1) return 0;
    snprintf(path, sizeof(path), "%s/cpu.cfs_period_us", directory);
    return read_numbers(path, period) < 1 ? 0 : quota_cores(number[0], period[0]);
}

/* The smallest quota from `group` (an absolute path below `base`) up to `base`; 0 when there is none. */
static int smallest_quota(const char *base, const char *group, bool unified)
{
    char directory[4096];
    int least = 0;
    size_t root = strlen(base);
    if (strcmp(group, "/") == 0) group = ""; /* the root itself, not to be asked twice */
    if (snprintf(directory, sizeof(directory), "%s%s", base, group) >= (int)sizeof(directory)) return 0;
    for (;;) {
        int cores = directory_cores(directory, unified);
        if (cores && (!least || cores < least)) least = cores;
        char *slash = strrchr(directory, '/');
        if (!slash || (size_t)(slash - directory) < root) return least;
        *slash = '\0';
    }
}

/* True when a comma-separated list of controllers has "cpu". */
static bool names_cpu(const char *list)
{
    for (const char *at = list; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, "cpu", 3) == 0 && (at[3] == ',' || at[3] == '\0')) return true;
    }
    return false;
}

/* One line "number:controllers:path" of /proc/self/cgroup. */
static int line_cores(char *line, const char *mount)
{
    char base[4096];
    line[strcspn(line, "\n")] = '\0';
    char *controllers = strchr(line, ':');
    char *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group) return 0;
    *group++ = '\0';
    controllers++;
    if (*controllers && !names_cpu(controllers)) return 0;
    if (*controllers == '\0') return smallest_quota(mount, group, true);
    snprintf(base, sizeof(base), "%s/%s", mount, controllers);
    int cores = smallest_quota(base, group, false);
    if (cores || strcmp(controllers, "cpu") == 0) return cores;
    snprintf(base, sizeof(base), "%s/cpu", mount);
    return smallest_quota(base, group, false);
}

int artel__cgroup_cores(const char *membership, const char *mount)
{
    char line[4096];
    int least = 0;
    FILE *file = fopen(membership, "re");
    if (!file) return 0;
    while (fgets(line, sizeof(line), file)) {
        int cores = line_cores(line, mount);
        if (cores && (!least || cores < least)) least = cores;
    }
    fclose(file);
    return least;
}

int artel__usable_cores(void)
{
    int cores = affinity_cores(), quota = artel__cgroup_cores("/proc/self/cgroup", "/sys/fs/cgroup");
    return quota && quota < cores ? quota : cores;
}
