/* SPDX-License-Identifier: Apache-2.0 */
/* The order of a pass is made when the pass is first looked into, and swapped in when it begins. */
#include "train/batches.h"

#include <string.h>

#include "base/rng.h"

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

static void make_order(artel__batches *b, int which, int64_t pass)
{
    if (b->pass_of[which] == pass || (!b->shuffle && b->pass_of[which] >= 0)) return;
    b->pass_of[which] = pass;
    if (b->pipelines > 0) {
        draw_pipelines(b, pass);
        deal_pipelines(b, b->order[which]);
        return;
    }
    if (b->shuffle) {
        artel__rng_permutation(b->seed, ARTEL__STREAM_SHUFFLE, (uint64_t)pass, (uint64_t)b->rows, b->order[which]);
        return;
    }
    for (int64_t i = 0; i < b->rows; i++) b->order[which][i] = (uint64_t)i;
}

artel_status artel__batches_init(artel__arena *arena, artel__batches *b, int64_t pass, bool peeks)
{
    b->peeks = peeks;
    for (int i = 0; i < (peeks && b->shuffle ? 2 : 1); i++)
        b->order[i] = artel__arena_alloc(arena, (size_t)b->rows + 1, sizeof **b->order);
    if (b->pipelines > 0)
        b->drawn = artel__arena_alloc(arena, (size_t)b->rows + (size_t)b->pipelines, sizeof *b->drawn);
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

artel__batch_rows artel__rows_at(const uint64_t *order, int64_t rows, int64_t row, int64_t batch_size)
{
    int64_t rest = rows - row;
    if (rest <= 0) return (artel__batch_rows){.rows = NULL};
    return (artel__batch_rows){.rows = order + row, .count = rest < batch_size ? rest : batch_size};
}

artel__batch_rows artel__batches_next(const artel__batches *b)
{
    artel__batch_rows next = artel__rows_at(b->order[0], b->rows, b->cursor, b->batch_size);
    next.pass = b->pass;
    return next;
}

static artel__batch_rows peek(artel__batches *b, int place, int64_t *pass)
{
    *pass = b->pass;
    int64_t left =
        (b->rows - b->cursor + b->batch_size - 1) / b->batch_size; /* of the running pass, the next one included */
    if (place + 1 < left)
        return artel__rows_at(b->order[0], b->rows, b->cursor + (place + 1) * b->batch_size, b->batch_size);
    *pass = b->pass + 1;
    if (b->shuffle && !b->peeks) return (artel__batch_rows){.rows = NULL};
    if (b->shuffle) make_order(b, 1, b->pass + 1);
    return artel__rows_at(b->order[b->shuffle], b->rows, (place + 1 - left) * b->batch_size, b->batch_size);
}

artel__batch_rows artel__batches_peek(artel__batches *b, int place)
{
    int64_t pass;
    artel__batch_rows rows = peek(b, place, &pass);
    rows.pass = pass;
    return rows;
}
