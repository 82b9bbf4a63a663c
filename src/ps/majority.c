/* SPDX-License-Identifier: Apache-2.0 */
/* Votes of a chief and of ps tasks. See the header. */
#include "ps/majority.h"

bool artel__majority_holds(int servers, uint64_t chief, const uint64_t *remembers, int present)
{
    int own = servers == 1 ? 0 : servers % 2 ? 2 : 1, needed = (servers + own) / 2 + 1, same = 0;
    for (int i = 0; i < present; i++) same += remembers[i] == chief;
    return present >= needed || own + same >= needed;
}
