/* SPDX-License-Identifier: Apache-2.0 */
/* The order of a pass is made when the pass is first looked into, and swapped in when it begins. */
#include "train/batches.h"

#include "base/rng.h"

static void make_order(artel__batches *b, int which, int64_t pass)
{
    if (b->pass_of[which] == pass || (!b->shuffle && b->pass_of[which] >= 0)) return;
    b->pass_of[which] = pass;
    if (b->shuffle) {
        artel__rng_permutation(b->seed, ARTEL__STREAM_SHUFFLE, (uint64_t)pass, (uint64_t)b->rows, b->order[which]);
        return;
    }
    for (int64_t i = 0; i < b->rows; i++) b->order[which][i] = (uint64_t)i;
}

artel_status artel__batches_init(artel__arena *arena, artel__batches *b, int64_t pass, bool peeks)
{
    b->peeks = peeks;
    for (int i = 0; i < (peeks && b->shuffle ? 2 : 1); i++) b->order[i] = artel__arena_alloc(arena, (size_t)b->rows + 1, sizeof **b->order);
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
    if (rest <= 0) return (artel__batch_rows){NULL, 0};
    return (artel__batch_rows){order + row, rest < batch_size ? rest : batch_size};
}

artel__batch_rows artel__batches_next(const artel__batches *b)
{
    return artel__rows_at(b->order[0], b->rows, b->cursor, b->batch_size);
}

artel__batch_rows artel__batches_peek(artel__batches *b, int place)
{
    int64_t left = (b->rows - b->cursor + b->batch_size - 1) / b->batch_size; /* of the running pass, the next one included */
    if (place + 1 < left) return artel__rows_at(b->order[0], b->rows, b->cursor + (place + 1) * b->batch_size, b->batch_size);
    if (b->shuffle && !b->peeks) return (artel__batch_rows){NULL, 0};
    if (b->shuffle) make_order(b, 1, b->pass + 1);
    return artel__rows_at(b->order[b->shuffle], b->rows, (place + 1 - left) * b->batch_size, b->batch_size);
}
