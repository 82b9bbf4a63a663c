/* SPDX-License-Identifier: Apache-2.0 */
/* Updates kept by share, and their mean: gradients, sizes of occurrences and differences of averages by the share of
 * rows; squares of occurrences, which belong to gradients that are so much smaller in the mean, by its square; the gate
 * is finite where all are. Norms are not here: those of the mean are made of it. */
#include "train/some.h"

#include <string.h>

void artel__some_stage_drop(artel__some_stage *s)
{
    for (int i = 0; i < s->count; i++) artel__free(s->ctx, s->item[i].bytes);
    s->count = 0;
}

void artel__some_stage_fini(artel__some_stage *s)
{
    artel__some_stage_drop(s);
    artel__free(s->ctx, s->item);
    s->item = NULL;
    s->room = 0;
}

static void *place_aside(void *user, const artel__entry *entry)
{
    uint8_t **at = user, *place = *at;
    *at += artel__net_padded(entry->bytes);
    return place;
}

static artel_status make_room(artel__some_stage *s)
{
    void *wider = s->item;
    if (s->count < s->room) return ARTEL_OK;
    ARTEL_TRY(artel__realloc(s->ctx, (size_t)(2 * s->room + 4) * sizeof *s->item, "parameter server", &wider));
    s->item = wider;
    s->room = 2 * s->room + 4;
    return ARTEL_OK;
}

artel_status artel__some_stage_take(artel__some_stage *s, const artel__entry *entry, int count,
                                    const artel__lane_slot *slot, uint64_t step, int share, int64_t rows)
{
    void *block;
    int place = 0;
    if (step != s->step) artel__some_stage_drop(s);
    s->step = step;
    while (place < s->count && s->item[place].share < share) place++;
    if (rows < 1 || (place < s->count && s->item[place].share == share)) return ARTEL_ERROR_INVALID;
    ARTEL_TRY(make_room(s));
    ARTEL_TRY(artel__alloc(s->ctx, artel__entries_bytes(entry, count) + 8, "parameter server", &block));
    uint8_t *at = block;
    if (!artel__entries_take(entry, count, slot, NULL, place_aside, &at)) {
        artel__free(s->ctx, block);
        return ARTEL_ERROR_INVALID;
    }
    memmove(s->item + place + 1, s->item + place, (size_t)(s->count - place) * sizeof *s->item);
    s->item[place] = (artel__some_update){share, rows, block};
    s->count++;
    return ARTEL_OK;
}

static void add(float *to, const float *from, size_t count, float weight, bool first)
{
    for (size_t k = 0; k < count; k++) to[k] = first ? weight * from[k] : to[k] + weight * from[k];
}

static double sum_gates(const artel__some_stage *s, size_t offset)
{
    double sum = 0;
    for (int i = 0; i < s->count; i++) sum += *(const double *)(const void *)(s->item[i].bytes + offset);
    return sum;
}

void artel__some_stage_mean(const artel__some_stage *s, const artel__entry *entry, int count,
                            artel__entry_place_fn *place, void *user)
{
    int64_t rows = 0;
    size_t offset = 0;
    for (int i = 0; i < s->count; i++) rows += s->item[i].rows;
    for (int e = 0; e < count; e++) {
        float *to = place(user, &entry[e]);
        if (entry[e].kind == ARTEL__ENTRY_GATE) {
            *(double *)(void *)to = sum_gates(s, offset);
            offset += artel__net_padded(entry[e].bytes);
            continue;
        }
        for (int i = 0; i < s->count; i++) {
            float share = (float)((double)s->item[i].rows / (double)rows);
            float weight = entry[e].kind == ARTEL__ENTRY_SQUARES ? share * share : share;
            const float *from = (const float *)(const void *)(s->item[i].bytes + offset);
            add(to, from, entry[e].bytes / sizeof(float), weight, i == 0);
        }
        offset += artel__net_padded(entry[e].bytes);
    }
}
