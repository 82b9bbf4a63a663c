/* SPDX-License-Identifier: Apache-2.0 */
/* Names of teams that all their members find alike, without asking one another. */
#include "coll/team.h"

#include "base/bytes.h"
#include "base/hash.h"

static void add(artel__sha256 *hash, uint64_t value)
{
    uint8_t bytes[8];
    artel__bytes_put(bytes, value, 8);
    artel__sha256_update(hash, bytes, sizeof bytes);
}

uint64_t artel__team_id(const artel__team *parent, const int *position, int count, uint32_t n)
{
    uint8_t digest[32];
    artel__sha256 hash;
    artel__sha256_init(&hash);
    add(&hash, parent->id);
    add(&hash, n);
    for (int i = 0; i < count; i++) add(&hash, (uint64_t)position[i]);
    artel__sha256_final(&hash, digest);
    return artel__bytes_get(digest, 8);
}
