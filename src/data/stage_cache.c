/* SPDX-License-Identifier: Apache-2.0 */
/* cache: values are kept in memory when they are first made; what was made once is copied from then on.
 *
 * A value is made outside of any lock, so two threads may make the same one; both make the same bytes, and the first to claim its
 * place writes it. The room is taken at the start, in pages that are not touched before they are written.
 */
#include <stdatomic.h>
#include <string.h>

#include "data/stage.h"

typedef struct cache_options {
    int64_t limit;
} cache_options;

static const artel__option table[] = {
    {"limit", "bytes that it may take", ARTEL__OPTION_INT, offsetof(cache_options, limit), "1073741824", 1, 9e18, NULL},
    {.name = NULL},
};

enum {
    ABSENT,
    CLAIMED,
    PRESENT
};

typedef struct cache_state {
    void **values;          /* by column */
    size_t *sizes;          /* of those blocks */
    _Atomic uint8_t *flags; /* by column and element */
} cache_state;

static artel_status cache_open(artel__stage *stage)
{
    const cache_options *o = stage->options;
    size_t columns = (size_t)stage->column_count;
    double total = 0; /* with a flag for each value */
    for (int c = 0; c < stage->column_count; c++) total += ((double)stage->columns[c].bytes + 1) * (double)stage->count;
    if (stage->count < 0) return artel__stage_wrong(stage, "cache before repeat", "what has no end cannot be cached");
    if (total > (double)o->limit)
        return artel__stage_wrong(stage, "raise \"limit\", or cache before elements grow", "%.0f bytes are to be kept (limit %lld)", total,
                                  (long long)o->limit);
    cache_state *state = artel__arena_alloc(stage->arena, 1, sizeof *state);
    if (state == NULL) return ARTEL_ERROR_NO_MEMORY;
    state->values = artel__arena_alloc(stage->arena, columns + 1, sizeof *state->values);
    state->sizes = artel__arena_alloc(stage->arena, columns + 1, sizeof *state->sizes);
    ARTEL_TRY(artel__arena_status(stage->arena));
    stage->state = state;
    for (size_t c = 0; c < columns; c++) {
        size_t bytes = stage->columns[c].bytes * (size_t)stage->count + 1;
        ARTEL_TRY(artel__alloc_aligned(stage->ctx, bytes, stage->where, &state->values[c]));
        state->sizes[c] = bytes;
    }
    void *flags;
    ARTEL_TRY(artel__calloc(stage->ctx, columns * (size_t)stage->count + 1, 1, stage->where, &flags));
    state->flags = flags;
    return ARTEL_OK;
}

static artel_status cache_at(const artel__stage *stage, int column, int64_t index, void *out)
{
    const cache_state *state = stage->state;
    size_t bytes = stage->columns[column].bytes;
    _Atomic uint8_t *flag = &state->flags[(size_t)column * (size_t)stage->count + (size_t)index];
    uint8_t *place = (uint8_t *)state->values[column] + bytes * (size_t)index;
    if (atomic_load_explicit(flag, memory_order_acquire) == PRESENT) {
        if (bytes > 0) memcpy(out, place, bytes);
        return ARTEL_OK;
    }
    ARTEL_TRY(artel__stage_at(stage->inputs[0], column, index, out));
    uint8_t expected = ABSENT;
    if (!atomic_compare_exchange_strong(flag, &expected, CLAIMED)) return ARTEL_OK;
    if (bytes > 0) memcpy(place, out, bytes);
    atomic_store_explicit(flag, PRESENT, memory_order_release);
    return ARTEL_OK;
}

static artel_status cache_hash(const artel__stage *stage, int column, int64_t index, uint64_t *out)
{
    return artel__stage_hash(stage->inputs[0], column, index, out);
}

static void cache_close(artel__stage *stage)
{
    cache_state *state = stage->state;
    for (int c = 0; c < stage->column_count; c++) {
        if (state->values[c] != NULL) artel__free_aligned(stage->ctx, state->values[c], state->sizes[c]);
    }
    artel__free(stage->ctx, (void *)state->flags);
}

const artel__stage_ops artel__stage_cache = {.name = "cache",
                                             .options = table,
                                             .options_size = sizeof(cache_options),
                                             .open = cache_open,
                                             .at = cache_at,
                                             .hash = cache_hash,
                                             .close = cache_close};
