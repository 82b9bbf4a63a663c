/* SPDX-License-Identifier: Apache-2.0 */
/* Rosters and staleness. */
#include "ps/clock.h"

#include <string.h>

#include "base/bytes.h"

enum {
    MEMBER_BYTES = 16
};

/* Its place, or where it would be put. */
static int find(const artel__roster *r, uint64_t client)
{
    int low = 0, high = r->members;
    while (low < high) {
        int middle = (low + high) / 2;
        if (r->member[middle].client < client)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_at(const artel__roster *r, int at, uint64_t client)
{
    return at < r->members && r->member[at].client == client;
}

static const char *join(artel__roster *r, uint64_t client, uint64_t clock)
{
    int at = find(r, client);
    if (is_at(r, at, client)) return NULL;
    if (r->members == ARTEL__LOG_CLIENTS) return "too many clients";
    memmove(&r->member[at + 1], &r->member[at], (size_t)(r->members - at) * sizeof *r->member);
    r->member[at].client = client;
    r->member[at].clock = clock;
    r->members++;
    return NULL;
}

const char *artel__roster_apply(artel__roster *r, const artel__log_entry *entry, const void *payload)
{
    int at = find(r, entry->client);
    bool known = is_at(r, at, entry->client);
    if (entry->kind == ARTEL__LOG_LEAVE) {
        if (!known) return NULL;
        r->members--;
        memmove(&r->member[at], &r->member[at + 1], (size_t)(r->members - at) * sizeof *r->member);
        return NULL;
    }
    if (entry->kind != ARTEL__LOG_CLOCK && entry->kind != ARTEL__LOG_JOIN) return NULL;
    if (entry->length != 8) return "a clock of another length";
    uint64_t clock = artel__bytes_get(payload, 8);
    if (entry->kind == ARTEL__LOG_JOIN) return join(r, entry->client, clock);
    if (known && clock > r->member[at].clock) r->member[at].clock = clock;
    return NULL;
}

bool artel__roster_allows(const artel__roster *r, uint64_t round, uint64_t bound, uint64_t *slowest)
{
    int found = -1;
    for (int i = 0; i < r->members; i++)
        if (found < 0 || r->member[i].clock < r->member[found].clock) found = i;
    if (found < 0 || round <= bound || r->member[found].clock >= round - bound) return true;
    if (slowest) *slowest = r->member[found].client;
    return false;
}

uint64_t artel__roster_least(const artel__roster *r)
{
    uint64_t least = r->members ? UINT64_MAX : 0;
    for (int i = 0; i < r->members; i++)
        if (r->member[i].clock < least) least = r->member[i].clock;
    return least;
}

/* -- copies -- */

size_t artel__roster_bytes(const artel__roster *r)
{
    return 8 + (size_t)r->members * MEMBER_BYTES;
}

void artel__roster_save(const artel__roster *r, uint8_t *out)
{
    uint8_t *at = artel__bytes_put(out, (uint64_t)r->members, 8);
    for (int i = 0; i < r->members; i++) {
        at = artel__bytes_put(at, r->member[i].client, 8);
        at = artel__bytes_put(at, r->member[i].clock, 8);
    }
}

const char *artel__roster_load(artel__roster *r, const uint8_t *bytes, size_t count)
{
    uint64_t members = count >= 8 ? artel__bytes_get(bytes, 8) : ARTEL__LOG_CLIENTS + 1;
    if (members > ARTEL__LOG_CLIENTS || count != 8 + members * MEMBER_BYTES) return "a roster of a wrong length";
    const uint8_t *at = bytes + 8;
    for (uint64_t i = 1; i < members; i++)
        if (artel__bytes_get(at + i * MEMBER_BYTES, 8) <= artel__bytes_get(at + (i - 1) * MEMBER_BYTES, 8))
            return "a roster out of order";
    r->members = (int)members;
    for (int i = 0; i < r->members; i++) {
        r->member[i].client = artel__bytes_take(&at, 8);
        r->member[i].clock = artel__bytes_take(&at, 8);
    }
    return NULL;
}
