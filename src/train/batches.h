/* SPDX-License-Identifier: Apache-2.0 */
/* Which rows each batch of a training has: the order of samples, and the place in it.
 *
 * The order is a pure function of (seed, pass over the data, number of rows), so pass and cursor are all that a
 * checkpoint needs.
 *
 * Where workers have pipelines of their own a batch of B takes B/N rows of each, one more from some of them, another
 * one in each batch: as tf.data's batch_sizes_for_worker divides batches. Of a pipeline that has ended the others take
 * the places, so that each row comes once a pass.
 */
#ifndef ARTEL_TRAIN_BATCHES_H
#define ARTEL_TRAIN_BATCHES_H

#include "base/arena.h"
#include "data/prefetch.h"

/* A row that one rank has and another one computes (deal.h). */
typedef struct artel__row_move {
    int64_t at; /* its place in the batch */
    int32_t from, to;
} artel__row_move;

typedef struct artel__batch_rows {
    const uint64_t *rows;
    int64_t count;
    int64_t pass; /* over the data */
    const artel__row_move
        *move; /* by place; a rank's own rows that come from elsewhere stand behind those that it has */
    int64_t moves;
} artel__batch_rows;

typedef struct artel__batches {
    int64_t rows, batch_size;
    uint64_t seed;
    bool shuffle;
    int64_t pass;   /* passes begun before the running one */
    int64_t cursor; /* rows consumed of the running pass */
    uint64_t *order[2];
    int64_t pass_of[2];   /* whose order that is; -1: nobody's */
    int32_t pipelines;    /* of workers (divide.h); 0: none, any row may stand anywhere */
    const int64_t *first; /* [pipelines + 1]: worker i's rows are [first[i], first[i + 1]) */
    int64_t repeated;     /* rows of the data that each pipeline has all of; 0: each has its own */
    uint64_t *drawn;      /* room for the pipelines' orders */
    bool peeks;           /* the next pass can be looked into: there is room for its order */
} artel__batches;

/* rows, batch_size, seed and shuffle are set; begins at the first row of `pass`. `peeks`: artel__batches_peek will be
 * asked. */
artel_status artel__batches_init(artel__arena *arena, artel__batches *batches, int64_t pass, bool peeks);
/* Another place: of a checkpoint, or another task's. */
void artel__batches_restore(artel__batches *batches, int64_t pass, int64_t cursor);
/* The running pass is over; begins the next. */
void artel__batches_begin_pass(artel__batches *batches);
/* The next batch of the running pass, which may be short; the cursor stays. No rows: the pass is over. */
artel__batch_rows artel__batches_next(const artel__batches *batches);
/* The `place`-th batch after the next one (0: the one behind it), in the next pass where the running one ends before.
 * No rows: not known. */
artel__batch_rows artel__batches_peek(artel__batches *batches, int place);
/* The same for `rows` rows in their own order from `row` on. */
artel__batch_rows artel__rows_at(const uint64_t *order, int64_t rows, int64_t row, int64_t batch_size);

#endif
