/* SPDX-License-Identifier: Apache-2.0 */
/* The order of a pass is made when the pass is first looked into, and swapped in when it begins. */
#include "train/batches.h"

#include <string.h>

#include "base/rng.h"

/* -- cutting -- */

artel_status artel__batch_cut_init(artel__arena *arena, const artel__feed *feed, int64_t batch_size,
                                   artel__batch_cut *out)
{
    const artel__data_buckets *buckets = artel__feed_buckets(feed);
    *out = (artel__batch_cut){.rows = artel__feed_count(feed), .batch_size = batch_size};
    if (!buckets) return ARTEL_OK;
    uint8_t *bucket = artel__arena_alloc(arena, (size_t)out->rows + 1, sizeof *bucket);
    int64_t *size = artel__arena_alloc(arena, (size_t)buckets->count, sizeof *size);
    ARTEL_TRY(artel__arena_status(arena));
    for (int64_t i = 0; i < out->rows; i++) bucket[i] = (uint8_t)artel__feed_bucket_of(feed, (uint64_t)i);
    for (int k = 0; k < buckets->count; k++) size[k] = buckets->batch_size ? buckets->batch_size[k] : batch_size;
    out->buckets = buckets->count;
    out->bucket = bucket;
    out->size = size;
    return ARTEL_OK;
}

artel__batch_rows artel__batch_at(const artel__batch_cut *cut, const uint64_t *order, int64_t row)
{
    int64_t rest = cut->rows - row, most = cut->batch_size, count = 1;
    if (rest <= 0) return (artel__batch_rows){.rows = NULL};
    int bucket = cut->buckets ? cut->bucket[order[row]] : 0;
    if (cut->buckets) most = cut->size[bucket];
    if (rest < most) most = rest;
    while (cut->buckets && count < most && cut->bucket[order[row + count]] == bucket) count++;
    return (artel__batch_rows){.rows = order + row, .count = cut->buckets ? count : most, .bucket = bucket};
}

int64_t artel__batch_behind(const artel__batch_cut *cut, const uint64_t *order, int64_t row, int64_t count)
{
    for (; cut->buckets && count > 0 && row < cut->rows; count--) row += artel__batch_at(cut, order, row).count;
    if (!cut->buckets && count <= (cut->rows - row) / cut->batch_size) return row + count * cut->batch_size;
    return cut->buckets && row < cut->rows ? row : cut->rows;
}

int64_t artel__batch_count(const artel__batch_cut *cut)
{
    int64_t rows[UINT8_MAX + 1] = {0}, count = 0;
    if (!cut->buckets) return (cut->rows + cut->batch_size - 1) / cut->batch_size;
    for (int64_t i = 0; i < cut->rows; i++) rows[cut->bucket[i]]++;
    for (int k = 0; k < cut->buckets; k++) count += (rows[k] + cut->size[k] - 1) / cut->size[k];
    return count;
}

static int64_t room_of(const artel__batch_cut *cut, int bucket)
{
    return cut->size[bucket] < cut->rows ? cut->size[bucket] : cut->rows;
}

static int64_t room_for(const artel__batch_cut *cut)
{
    int64_t room = 0;
    for (int k = 0; k < cut->buckets; k++) room += room_of(cut, k);
    return room;
}

/* Puts rows in the order of their batches. */
static void sort(const artel__batch_cut *cut, const uint64_t *drawn, uint64_t *room, uint64_t *out)
{
    int64_t first[UINT8_MAX + 1] = {0}, count[UINT8_MAX + 1] = {0};
    for (int k = 1; k < cut->buckets; k++) first[k] = first[k - 1] + room_of(cut, k - 1);
    for (int64_t i = 0; i < cut->rows; i++) {
        int k = cut->bucket[drawn[i]];
        room[first[k] + count[k]++] = drawn[i];
        if (count[k] < cut->size[k]) continue;
        memcpy(out, room + first[k], (size_t)count[k] * sizeof *out);
        out += count[k];
        count[k] = 0;
    }
    for (int k = 0; k < cut->buckets; out += count[k++]) memcpy(out, room + first[k], (size_t)count[k] * sizeof *out);
}

artel_status artel__batch_order(artel__arena *arena, const artel__batch_cut *cut, uint64_t **out)
{
    int64_t room = cut->buckets ? cut->rows + room_for(cut) : 0;
    uint64_t *order = artel__arena_alloc(arena, (size_t)(cut->rows + room) + 1, sizeof *order);
    if (!order) return ARTEL_ERROR_NO_MEMORY;
    uint64_t *numbers = cut->buckets ? order + cut->rows : order;
    for (int64_t i = 0; i < cut->rows; i++) numbers[i] = (uint64_t)i;
    if (cut->buckets) sort(cut, numbers, numbers + cut->rows, order);
    *out = order;
    return ARTEL_OK;
}

int64_t artel__batch_size_of(const artel_data *data, int64_t batch_size)
{
    const artel__data_buckets *buckets = artel__data_buckets_of(data);
    if (!buckets || !buckets->batch_size) return batch_size;
    int64_t most = 0;
    for (int k = 0; k < buckets->count; k++) most = buckets->batch_size[k] > most ? buckets->batch_size[k] : most;
    return most;
}

/* -- orders -- */

/* Worker i's rows in its own order, each pipeline behind the other. */
static void draw_pipelines(artel__batches *b, int64_t pass)
{
    for (int i = 0; i < b->pipelines; i++) {
        int64_t first = b->first[i], count = b->first[i + 1] - first, from = b->repeated ? 0 : first;
        uint64_t *drawn = b->drawn + first, own = (uint64_t)pass | (uint64_t)(i + 1) << 40;
        if (b->shuffle) artel__rng_permutation(b->seed, ARTEL__STREAM_SHUFFLE, own, (uint64_t)count, drawn);
        for (int64_t k = 0; k < count; k++) drawn[k] = (b->shuffle ? drawn[k] : (uint64_t)k) + (uint64_t)from;
    }
}

static int64_t take(artel__batches *b, int64_t *next, int i, int64_t most, uint64_t *out)
{
    int64_t left = b->first[i + 1] - next[i], count = most < left ? most : left;
    if (count > 0) memcpy(out, b->drawn + next[i], (size_t)count * sizeof *out);
    next[i] += count;
    return count;
}

/* `next` stands behind the drawn rows: where each pipeline is. */
static void deal_pipelines(artel__batches *b, uint64_t *out)
{
    int64_t *next = (int64_t *)(b->drawn + b->rows), n = b->pipelines;
    memcpy(next, b->first, (size_t)n * sizeof *next);
    for (int64_t at = 0, step = 0; at < b->rows; step++) {
        int64_t size = b->rows - at < b->batch_size ? b->rows - at : b->batch_size, end = at + size;
        for (int i = 0; i < n; i++) at += take(b, next, i, size / n + ((i + step) % n < size % n), out + at);
        for (int i = 0; i < n && at < end; i++) at += take(b, next, i, end - at, out + at);
    }
}

static void draw(const artel__batches *b, int64_t pass, uint64_t *out)
{
    if (b->shuffle)
        artel__rng_permutation(b->seed, ARTEL__STREAM_SHUFFLE, (uint64_t)pass, (uint64_t)b->rows, out);
    else
        for (int64_t i = 0; i < b->rows; i++) out[i] = (uint64_t)i;
}

static void make_order(artel__batches *b, int which, int64_t pass)
{
    if (b->pass_of[which] == pass || (!b->shuffle && b->pass_of[which] >= 0)) return;
    b->pass_of[which] = pass;
    if (b->pipelines > 0) {
        draw_pipelines(b, pass);
        deal_pipelines(b, b->order[which]);
        return;
    }
    draw(b, pass, b->cut.buckets ? b->drawn : b->order[which]);
    if (b->cut.buckets) sort(&b->cut, b->drawn, b->drawn + b->rows, b->order[which]);
}

artel_status artel__batches_init(artel__arena *arena, artel__batches *b, int64_t pass, bool peeks)
{
    b->peeks = peeks;
    b->cut.rows = b->rows;
    b->cut.batch_size = b->batch_size;
    for (int i = 0; i < (peeks && b->shuffle ? 2 : 1); i++)
        b->order[i] = artel__arena_alloc(arena, (size_t)b->rows + 1, sizeof **b->order);
    int64_t more = b->pipelines > 0 ? b->pipelines : room_for(&b->cut);
    if (more > 0) b->drawn = artel__arena_alloc(arena, (size_t)(b->rows + more), sizeof *b->drawn);
    ARTEL_TRY(artel__arena_status(arena));
    b->pass_of[0] = b->pass_of[1] = -1;
    artel__batches_restore(b, pass, 0);
    return ARTEL_OK;
}

void artel__batches_restore(artel__batches *b, int64_t pass, int64_t cursor)
{
    b->pass = pass;
    b->cursor = cursor;
    make_order(b, 0, pass);
}

void artel__batches_begin_pass(artel__batches *b)
{
    if (b->peeks && b->pass_of[1] == b->pass + 1) {
        uint64_t *order = b->order[0];
        b->order[0] = b->order[1];
        b->order[1] = order;
        b->pass_of[0] = b->pass_of[1];
        b->pass_of[1] = -1;
    }
    artel__batches_restore(b, b->pass + 1, 0);
}

artel__batch_rows artel__batches_next(const artel__batches *b)
{
    artel__batch_rows next = artel__batch_at(&b->cut, b->order[0], b->cursor);
    next.pass = b->pass;
    return next;
}

artel__batch_rows artel__batches_peek(artel__batches *b, int place)
{
    int64_t row = b->cursor, pass = b->pass;
    const uint64_t *order = b->order[0];
    for (int i = 0; i <= place; i++) {
        row += artel__batch_at(&b->cut, order, row).count;
        if (row < b->rows || pass > b->pass) continue;
        if (b->shuffle && !b->peeks) return (artel__batch_rows){.rows = NULL};
        row = 0;
        pass++;
        if (b->shuffle) make_order(b, 1, pass);
        order = b->order[b->shuffle];
    }
    artel__batch_rows rows = artel__batch_at(&b->cut, order, row);
    rows.pass = pass;
    return rows;
}
