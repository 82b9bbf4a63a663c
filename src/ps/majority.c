/* SPDX-License-Identifier: Apache-2.0 */
/* Votes of a chief and of ps tasks. See the header. */
#include "ps/majority.h"

/* Of the chief, and of all that are needed. */
static int votes_of_chief(int servers)
{
    return servers == 1 ? 0 : servers % 2 ? 2 : 1;
}

static int votes_needed(int servers)
{
    return (servers + votes_of_chief(servers)) / 2 + 1;
}

int artel__majority_beside(int servers)
{
    return votes_needed(servers) - votes_of_chief(servers);
}

int artel__majority_fresh(int servers)
{
    return votes_needed(servers);
}

bool artel__majority_holds(int servers, uint64_t chief, const uint64_t *remembers, int present)
{
    int own = votes_of_chief(servers), needed = votes_needed(servers), same = 0;
    for (int i = 0; i < present; i++) same += remembers[i] == chief;
    return present >= needed || own + same >= needed;
}
