/* SPDX-License-Identifier: Apache-2.0 */
/* Staleness of updates: how many updates a part has applied since what an update was computed from was read. Exact
 * below 256; longer ones count as the longest. */
#ifndef ARTEL_PS_STALENESS_H
#define ARTEL_PS_STALENESS_H

#include <stdint.h>

enum {
    ARTEL__STALENESS_EXACT = 256
};
typedef struct artel__staleness {
    uint64_t bin[ARTEL__STALENESS_EXACT + 1], count, most;
} artel__staleness;
void artel__staleness_add(artel__staleness *s, uint64_t updates);
/* The least value that `share` (0 to 1) of all are at or below; 0 when there is none. */
uint64_t artel__staleness_at(const artel__staleness *s, double share);

#endif
