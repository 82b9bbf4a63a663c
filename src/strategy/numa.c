/* SPDX-License-Identifier: Apache-2.0 */
/* Counting NUMA nodes.
 *
 * Linux lists the cores of each node in /sys/devices/system/node/node<N>/cpulist as "0-3,8,10-11". A node counts when
 * this process may run on one of its cores. Where there is no such folder the machine is one node.
 */
#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/plan.h"

#define MOST_CORES 8192

static bool any_between(const int *cores, int count, long first, long last)
{
    for (int i = 0; i < count; i++) {
        if (cores[i] >= first && cores[i] <= last) return true;
    }
    return false;
}

/* True when a list such as "0-3,8" names one of the cores. */
static bool list_has(const char *list, const int *cores, int count)
{
    for (const char *at = list;;) {
        char *end;
        long first = strtol(at, &end, 10), last = first;
        if (end == at) return false;
        if (*end == '-') last = strtol(end + 1, &end, 10);
        if (any_between(cores, count, first, last)) return true;
        if (*end != ',') return false;
        at = end + 1;
    }
}

static bool node_has(const char *directory, const char *name, const int *cores, int count)
{
    char path[4096], list[4096];
    if (snprintf(path, sizeof path, "%s/%s/cpulist", directory, name) >= (int)sizeof path) return false;
    FILE *file = fopen(path, "re");
    if (!file) return false;
    bool read = fgets(list, sizeof list, file) != NULL;
    fclose(file);
    return read && list_has(list, cores, count);
}

static bool is_node(const char *name)
{
    return strncmp(name, "node", 4) == 0 && name[4] && strspn(name + 4, "0123456789") == strlen(name + 4);
}

int artel__numa_nodes_in(const char *directory, const int *cores, int count)
{
    int nodes = 0;
    DIR *folder = opendir(directory);
    if (!folder) return 1;
    for (const struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        if (is_node(entry->d_name) && node_has(directory, entry->d_name, cores, count)) nodes++;
    }
    closedir(folder);
    return nodes > 0 ? nodes : 1;
}

int artel__numa_nodes(void)
{
    int cores[MOST_CORES], count = 0;
    size_t size = CPU_ALLOC_SIZE(MOST_CORES);
    cpu_set_t *set = CPU_ALLOC(MOST_CORES);
    if (set && sched_getaffinity(0, size, set) == 0) {
        for (int i = 0; i < MOST_CORES; i++) {
            if (CPU_ISSET_S((size_t)i, size, set)) cores[count++] = i;
        }
    }
    CPU_FREE(set);
    return artel__numa_nodes_in("/sys/devices/system/node", cores, count);
}
