/* SPDX-License-Identifier: Apache-2.0 */
/* cache: values are kept in memory, or in a file, when they are first made; what was made once is copied from then on.
 * snapshot: the same in a file whose name says what it was made from, so that other runs of the same pipeline read it.
 *
 * A value is made outside of any lock, so two threads may make the same one; both make the same bytes, and the first to
 * claim its place writes it. The room in memory is taken at the start, in pages that are not touched before they are
 * written.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/budget.h"
#include "base/file.h"
#include "base/slots.h"
#include "data/stage.h"
#include "data/texts.h"

typedef struct cache_options {
    int64_t limit;
    const char *file;
} cache_options;

static const artel__option table[] = {
    {"limit", "bytes that it may take", ARTEL__OPTION_INT, offsetof(cache_options, limit), "1073741824", 1, 9e18, NULL},
    {"file", "where to keep them; left out: in memory", ARTEL__OPTION_STRING, offsetof(cache_options, file), "null", 0,
     0, NULL},
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
    artel__slots slots;     /* of a file, whose places are elements; else no context */
    uint64_t *at;           /* of each column in its place */
    uint64_t charged;       /* of the budget */
} cache_state;

/* ---- in a file ---- */

/* The values of other data, or of another artel's stages of that name, are others: `made` is part of the key. */
static artel_status open_slots(artel__stage *stage, cache_state *state, const char *path)
{
    static const char made[] = "artel stages 1";
    uint8_t key[32];
    uint64_t stride = 0;
    artel__sha256 hash;
    state->at = artel__arena_alloc(stage->arena, (size_t)stage->column_count + 1, sizeof *state->at);
    ARTEL_TRY(artel__arena_status(stage->arena));
    artel__sha256_init(&hash);
    artel__sha256_update(&hash, made, sizeof made);
    artel__sha256_update(&hash, stage->inputs[0]->print, sizeof stage->print);
    artel__sha256_final(&hash, key);
    for (int c = 0; c < stage->column_count; c++) {
        state->at[c] = stride;
        stride += artel__slots_room(stage->columns[c].bytes);
    }
    return artel__slots_open(stage->ctx, path, key, (uint64_t)stage->count, stride, &state->slots);
}

static artel_status kept_open(artel__stage *stage, const char *path)
{
    cache_state *state = artel__arena_alloc(stage->arena, 1, sizeof *state);
    if (state == NULL) return ARTEL_ERROR_NO_MEMORY;
    for (int c = 0; c < stage->column_count; c++)
        if (stage->columns[c].dtype == ARTEL_DTYPE_STRING)
            return artel__stage_wrong(stage, "keep it in memory (cache without \"file\"), or select other columns",
                                      "column '%s' holds text, which is not kept in a file", stage->columns[c].name);
    stage->state = state;
    artel__stage_freeze(stage, -1); /* which pass a value is made in must not matter */
    return open_slots(stage, state, path);
}

static bool kept_read(const artel__stage *stage, const artel__stage_want *want, int64_t index)
{
    cache_state *state = stage->state;
    size_t bytes = stage->columns[want->column].bytes;
    return artel__slots_read(&state->slots, (uint64_t)index, state->at[want->column], want->out, bytes);
}

static void kept_write(const artel__stage *stage, const artel__stage_want *want, int64_t index)
{
    cache_state *state = stage->state;
    size_t bytes = stage->columns[want->column].bytes;
    artel__slots_write(&state->slots, (uint64_t)index, state->at[want->column], want->out, bytes);
}

/* ---- in memory ---- */

/* Whether the budget has room; it is asked only where somebody has set it, for `limit` says what may be taken
 * otherwise. */
static bool charge(artel__stage *stage, cache_state *state, uint64_t bytes)
{
    if (artel__budget_is_set(stage->ctx) && !artel__budget_take(stage->ctx, bytes, 100)) {
        artel__log(stage->ctx, ARTEL_LOG_NOTE,
                   "%s: nothing is kept: %llu bytes are more than is left of the memory for data; values are made anew",
                   stage->where, (unsigned long long)bytes);
        return false;
    }
    if (!artel__budget_is_set(stage->ctx)) artel__budget_force(stage->ctx, bytes);
    state->charged = bytes;
    return true;
}

static artel_status cache_open(artel__stage *stage)
{
    const cache_options *o = stage->options;
    size_t columns = (size_t)stage->column_count;
    double total = 0; /* with a flag for each value */
    for (int c = 0; c < stage->column_count; c++) total += ((double)stage->columns[c].bytes + 1) * (double)stage->count;
    if (stage->count < 0) return artel__stage_wrong(stage, "cache before repeat", "what has no end cannot be cached");
    if (o->file != NULL) return kept_open(stage, o->file);
    if (total > (double)o->limit)
        return artel__stage_wrong(stage, "raise \"limit\", cache before elements grow, or in a \"file\"",
                                  "%.0f bytes are to be kept (limit %lld)", total, (long long)o->limit);
    cache_state *state = artel__arena_alloc(stage->arena, 1, sizeof *state);
    if (state == NULL) return ARTEL_ERROR_NO_MEMORY;
    state->values = artel__arena_alloc(stage->arena, columns + 1, sizeof *state->values);
    state->sizes = artel__arena_alloc(stage->arena, columns + 1, sizeof *state->sizes);
    ARTEL_TRY(artel__arena_status(stage->arena));
    stage->state = state;
    artel__stage_freeze(stage, -1); /* which pass a value is made in must not matter */
    if (!charge(stage, state, (uint64_t)total)) return ARTEL_OK;
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

static _Atomic uint8_t *flag_of(const artel__stage *stage, int column, int64_t index)
{
    const cache_state *state = stage->state;
    return &state->flags[(size_t)column * (size_t)stage->count + (size_t)index];
}

static uint8_t *place_of(const artel__stage *stage, int column, int64_t index)
{
    const cache_state *state = stage->state;
    return (uint8_t *)state->values[column] + stage->columns[column].bytes * (size_t)index;
}

static bool memory_read(const artel__stage *stage, const artel__stage_want *want, int64_t index)
{
    size_t bytes = stage->columns[want->column].bytes;
    if (atomic_load_explicit(flag_of(stage, want->column, index), memory_order_acquire) != PRESENT) return false;
    if (bytes > 0) memcpy(want->out, place_of(stage, want->column, index), bytes);
    return true;
}

static void memory_write(const artel__stage *stage, const artel__stage_want *want, int64_t index)
{
    _Atomic uint8_t *flag = flag_of(stage, want->column, index);
    size_t bytes = stage->columns[want->column].bytes;
    uint8_t expected = ABSENT;
    if (!atomic_compare_exchange_strong(flag, &expected, CLAIMED)) return;
    if (bytes > 0) memcpy(place_of(stage, want->column, index), want->out, bytes);
    atomic_store_explicit(flag, PRESENT, memory_order_release);
}

/* ---- elements ---- */

/* Values of the input; where they stay in memory, their texts live as long as their source. */
static artel_status make_values(const artel__stage *stage, const artel__stage_want *wants, int count, int64_t index)
{
    const cache_state *state = stage->state;
    if (state->flags == NULL) return artel__stage_at_some(stage->inputs[0], wants, count, index);
    artel__texts *before = artel__texts_set_keeper(NULL);
    artel_status status = artel__stage_at_some(stage->inputs[0], wants, count, index);
    artel__texts_set_keeper(before);
    return status;
}

static artel_status cache_at_some(const artel__stage *stage, const artel__stage_want *wants, int count, int64_t index)
{
    const cache_state *state = stage->state;
    bool in_file = state->slots.ctx != NULL, kept = in_file || state->flags != NULL;
    artel__stage_want absent[ARTEL__STAGE_TOGETHER];
    int some = 0;
    for (int i = 0; i < count; i++) {
        if (kept && (in_file ? kept_read(stage, &wants[i], index) : memory_read(stage, &wants[i], index))) continue;
        absent[some++] = wants[i];
    }
    if (some == 0) return ARTEL_OK;
    ARTEL_TRY(make_values(stage, absent, some, index));
    for (int i = 0; i < some && kept; i++) (in_file ? kept_write : memory_write)(stage, &absent[i], index);
    return ARTEL_OK;
}

/* By its first column, as those of an element are mostly asked for together. */
static bool cache_keeps(const artel__stage *stage, int64_t index)
{
    const cache_state *state = stage->state;
    if (state->slots.ctx != NULL) return artel__slots_written(&state->slots, (uint64_t)index, state->at[0]);
    return state->flags != NULL && atomic_load_explicit(&state->flags[index], memory_order_acquire) == PRESENT;
}

static artel_status cache_hash(const artel__stage *stage, int column, int64_t index, uint64_t *out)
{
    return artel__stage_hash(stage->inputs[0], column, index, out);
}

static void cache_close(artel__stage *stage)
{
    cache_state *state = stage->state;
    for (int c = 0; state->values != NULL && c < stage->column_count; c++) {
        if (state->values[c] != NULL) artel__free_aligned(stage->ctx, state->values[c], state->sizes[c]);
    }
    artel__free(stage->ctx, (void *)state->flags);
    artel__slots_close(&state->slots);
    artel__budget_give(stage->ctx, state->charged);
}

const artel__stage_ops artel__stage_cache = {.name = "cache",
                                             .options = table,
                                             .options_size = sizeof(cache_options),
                                             .open = cache_open,
                                             .at = artel__stage_at_one,
                                             .at_some = cache_at_some,
                                             .hash = cache_hash,
                                             .same_number = true,
                                             .keeps = cache_keeps,
                                             .close = cache_close};

/* ---- snapshot ---- */

typedef struct snapshot_options {
    const char *folder;
} snapshot_options;

static const artel__option snapshot_table[] = {
    {"folder", "where files of snapshots are", ARTEL__OPTION_STRING, offsetof(snapshot_options, folder), NULL, 0, 0,
     NULL},
    {.name = NULL},
};

static artel_status snapshot_open(artel__stage *stage)
{
    const snapshot_options *o = stage->options;
    char name[33];
    if (stage->count < 0) return artel__stage_wrong(stage, "snapshot before repeat", "what has no end cannot be kept");
    for (int i = 0; i < 16; i++) snprintf(name + 2 * i, 3, "%02x", stage->inputs[0]->print[i]);
    ARTEL_TRY(artel__make_directory(stage->ctx, o->folder));
    const char *path = artel__arena_printf(stage->arena, "%s/%s.snapshot", o->folder, name);
    ARTEL_TRY(artel__arena_status(stage->arena));
    return kept_open(stage, path);
}

const artel__stage_ops artel__stage_snapshot = {.name = "snapshot",
                                                .options = snapshot_table,
                                                .options_size = sizeof(snapshot_options),
                                                .open = snapshot_open,
                                                .at = artel__stage_at_one,
                                                .at_some = cache_at_some,
                                                .hash = cache_hash,
                                                .same_number = true,
                                                .keeps = cache_keeps,
                                                .close = cache_close};
