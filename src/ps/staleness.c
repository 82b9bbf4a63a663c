/* SPDX-License-Identifier: Apache-2.0 */
/* A histogram of small numbers. */
#include "ps/staleness.h"

void artel__staleness_add(artel__staleness *s, uint64_t updates)
{
    s->bin[updates < ARTEL__STALENESS_EXACT ? updates : ARTEL__STALENESS_EXACT]++;
    s->count++;
    if (updates > s->most) s->most = updates;
}

uint64_t artel__staleness_at(const artel__staleness *s, double share)
{
    uint64_t seen = 0;
    for (uint64_t i = 0; i < ARTEL__STALENESS_EXACT; i++) {
        seen += s->bin[i];
        if (s->bin[i] && (double)seen >= share * (double)s->count) return i;
    }
    return s->most;
}
