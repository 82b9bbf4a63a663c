/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of eight places, chosen by the element's number; locks are shared by sets. */
#include "service/cache.h"

#include <pthread.h>
#include <string.h>

enum {
    WAYS = 8,
    LOCKS = 64
};

typedef struct place {
    uint64_t row;  /* + 1; 0: free */
    uint64_t used; /* by the set's clock */
} place;

typedef struct set {
    place place[WAYS];
    uint64_t clock;
} set;

struct artel__service_cache {
    pthread_mutex_t mutex[LOCKS]; /* of the sets whose number has this remainder; innermost */
    set *set;
    uint8_t *values;
    size_t bytes, room;
    uint64_t sets;
};

artel_status artel__service_cache_create(artel_context *ctx, size_t bytes, uint64_t limit, artel__service_cache **out)
{
    uint64_t sets = limit / ((uint64_t)bytes * WAYS + sizeof(set));
    void *block, *table, *values;
    *out = NULL;
    if (sets == 0 || bytes == 0) return ARTEL_OK;
    ARTEL_TRY(artel__calloc(ctx, 1, sizeof(artel__service_cache), "cache", &block));
    artel_status status = artel__calloc(ctx, (size_t)sets, sizeof(set), "cache", &table);
    if (status < 0) goto undo_block;
    size_t room = (size_t)sets * WAYS * bytes;
    status = artel__alloc_aligned(ctx, room, "cache", &values);
    if (status < 0) goto undo_table;
    artel__service_cache *cache = block;
    *cache = (artel__service_cache){.set = table, .values = values, .bytes = bytes, .room = room, .sets = sets};
    for (int i = 0; i < LOCKS; i++) pthread_mutex_init(&cache->mutex[i], NULL);
    *out = cache;
    return ARTEL_OK;
undo_table:
    artel__free(ctx, table);
undo_block:
    artel__free(ctx, block);
    return status;
}

void artel__service_cache_destroy(artel_context *ctx, artel__service_cache *cache)
{
    if (!cache) return;
    for (int i = 0; i < LOCKS; i++) pthread_mutex_destroy(&cache->mutex[i]);
    artel__free_aligned(ctx, cache->values, cache->room);
    artel__free(ctx, cache->set);
    artel__free(ctx, cache);
}

static uint64_t set_of(const artel__service_cache *cache, uint64_t row)
{
    uint64_t x = row * 0x9e3779b97f4a7c15u;
    return (x ^ x >> 32) % cache->sets;
}

static uint8_t *value_at(const artel__service_cache *cache, uint64_t index, int way)
{
    return cache->values + ((size_t)index * WAYS + (size_t)way) * cache->bytes;
}

bool artel__service_cache_find(artel__service_cache *cache, uint64_t row, void *out)
{
    if (!cache) return false;
    uint64_t index = set_of(cache, row);
    set *s = &cache->set[index];
    bool found = false;
    pthread_mutex_lock(&cache->mutex[index % LOCKS]);
    for (int way = 0; way < WAYS && !found; way++) {
        found = s->place[way].row == row + 1;
        if (!found) continue;
        s->place[way].used = ++s->clock;
        memcpy(out, value_at(cache, index, way), cache->bytes);
    }
    pthread_mutex_unlock(&cache->mutex[index % LOCKS]);
    return found;
}

void artel__service_cache_keep(artel__service_cache *cache, uint64_t row, const void *bytes)
{
    if (!cache) return;
    uint64_t index = set_of(cache, row);
    set *s = &cache->set[index];
    int oldest = 0;
    pthread_mutex_lock(&cache->mutex[index % LOCKS]);
    for (int way = 1; way < WAYS; way++)
        if (s->place[way].used < s->place[oldest].used) oldest = way;
    s->place[oldest] = (place){row + 1, ++s->clock};
    memcpy(value_at(cache, index, oldest), bytes, cache->bytes);
    pthread_mutex_unlock(&cache->mutex[index % LOCKS]);
}
