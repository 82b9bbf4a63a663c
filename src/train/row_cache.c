/* SPDX-License-Identifier: Apache-2.0 */
/* What row_cache.h promises. */
#include "train/row_cache.h"

#include <string.h>

static uint32_t bits_for(int64_t rows)
{
    uint32_t bits = 1;
    while (bits < 31 && (int64_t)1 << bits < 2 * rows) bits++;
    return bits;
}

/* Of all modes that are prepared: a batch of evaluation may be the larger one. */
static int64_t most_rows(const artel__session *session, int table)
{
    int64_t most = 1;
    for (int m = ARTEL__MODE_TRAIN_TOKENS; m <= ARTEL__MODE_EVALUATE_TOKENS; m++) {
        const artel__objective *o = artel__session_objective(session, (artel__mode)m);
        if (o && o->table[table].most > most) most = o->table[table].most;
    }
    return most;
}

static artel_status add_table(artel__arena *arena, artel__session *session, const artel__variables *variables, int i,
                              artel__row_cache *out)
{
    int trainable = artel__session_objective(session, ARTEL__MODE_TRAIN)->table[i].trainable;
    int64_t most = most_rows(session, i);
    out->variable[i] = artel__session_slots(session)->trainable[trainable];
    out->width[i] = variables->item[out->variable[i]].shape.dim[1];
    out->row[i] = artel__arena_alloc(arena, (size_t)(most * out->width[i]) + 1, sizeof **out->row);
    out->place[i] = artel__arena_alloc(arena, (size_t)1 << bits_for(most), sizeof **out->place);
    ARTEL_TRY(artel__arena_status(arena));
    out->place[i][0].token = out->place[i][1].token = -1;
    out->held[out->variable[i]] = (artel__held_rows){out->row[i], out->place[i], 1, 31}; /* none, and no table */
    return ARTEL_OK;
}

artel_status artel__row_cache_make(artel__arena *arena, artel__session *session, artel__row_cache *out)
{
    const artel__objective *o = artel__session_objective(session, ARTEL__MODE_TRAIN);
    const artel__variables *variables = artel__state_variables(artel__session_state(session));
    size_t count = (size_t)(o ? o->tables : 0) + 1;
    *out = (artel__row_cache){.tables = 0};
    if (!o || o->tables == 0) return ARTEL_OK;
    out->held = artel__arena_alloc(arena, (size_t)variables->count, sizeof *out->held);
    out->row = artel__arena_alloc(arena, count, sizeof *out->row);
    out->place = artel__arena_alloc(arena, count, sizeof *out->place);
    out->variable = artel__arena_alloc(arena, count, sizeof *out->variable);
    out->width = artel__arena_alloc(arena, count, sizeof *out->width);
    ARTEL_TRY(artel__arena_status(arena));
    memset(out->held, 0, (size_t)variables->count * sizeof *out->held);
    for (int i = 0; i < o->tables; i++) ARTEL_TRY(add_table(arena, session, variables, i, out));
    out->tables = o->tables;
    artel__session_hold_rows(session, out->held);
    return ARTEL_OK;
}

void artel__row_cache_drop(artel__row_cache *cache, artel__session *session)
{
    if (cache->tables) artel__session_hold_rows(session, NULL);
    *cache = (artel__row_cache){.tables = 0};
}

void artel__row_cache_begin(artel__row_cache *cache, artel__session *session, artel__mode tokens)
{
    const artel__objective *o = artel__session_objective(session, tokens);
    for (int i = 0; i < cache->tables; i++) {
        const int32_t *token = artel__session_kept_in(session, tokens, o->table[i].token);
        int32_t count = *(const int32_t *)artel__session_kept_in(session, tokens, o->table[i].count);
        uint32_t bits = bits_for(count), shift = 32 - bits, mask = ((uint32_t)1 << bits) - 1;
        artel__held_place *place = cache->place[i];
        memset(place, 0xff, ((size_t)mask + 1) * sizeof *place); /* all are free */
        for (int32_t k = 0; k < count; k++) {
            uint32_t at = artel__held_first(shift, token[k]);
            while (place[at].token >= 0) at = (at + 1) & mask;
            place[at] = (artel__held_place){token[k], k};
        }
        cache->held[cache->variable[i]] = (artel__held_rows){cache->row[i], place, mask, shift};
    }
}
