/* SPDX-License-Identifier: Apache-2.0 */
/* Which rows each batch of a training has: the order of samples, and the place in it.
 *
 * The order is a pure function of (seed, pass over the data, number of rows), so pass and cursor are all that a
 * checkpoint needs.
 *
 * Where workers have pipelines of their own a batch of B takes B/N rows of each, one more from some of them, another
 * one in each batch: as tf.data's batch_sizes_for_worker divides batches. Of a pipeline that has ended the others take
 * the places, so that each row comes once a pass.
 *
 * Where batches are of rows of like length (artel__data_buckets) the rows of the order go into their buckets one after
 * another; a bucket that is full is a batch, and what is left at the end are batches by bucket: tf.data's
 * bucket_by_sequence_length. The order is then that of the batches, so that a place in it is a cursor as ever.
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
    int bucket;   /* 0 where there are none */
    const artel__row_move
        *move; /* by place; a rank's own rows that come from elsewhere stand behind those that it has */
    int64_t moves;
} artel__batch_rows;

/* How an order is cut into batches. */
typedef struct artel__batch_cut {
    int64_t rows, batch_size; /* the largest one of buckets */
    int buckets;              /* 0: batches are of any rows */
    const uint8_t *bucket;    /* by row */
    const int64_t *size;      /* by bucket: rows of a batch */
} artel__batch_cut;

typedef struct artel__batches {
    int64_t rows, batch_size;
    artel__batch_cut cut; /* its rows and batch size are set by artel__batches_init */
    uint64_t seed;
    bool shuffle;
    int64_t pass;   /* passes begun before the running one */
    int64_t cursor; /* rows consumed of the running pass */
    uint64_t *order[2];
    int64_t pass_of[2];   /* whose order that is; -1: nobody's */
    int32_t pipelines;    /* of workers (divide.h); 0: none, any row may stand anywhere */
    const int64_t *first; /* [pipelines + 1]: worker i's rows are [first[i], first[i + 1]) */
    int64_t repeated;     /* rows of the data that each pipeline has all of; 0: each has its own */
    uint64_t *drawn;      /* room for the pipelines' orders, or for rows and their buckets */
    bool peeks;           /* the next pass can be looked into: there is room for its order */
} artel__batches;

/* Of a feed and the batch size of the run, which buckets may have their own of. */
artel_status artel__batch_cut_init(artel__arena *arena, const artel__feed *feed, int64_t batch_size,
                                   artel__batch_cut *out);
/* The batch that begins at a place of the order. No rows: there is none. */
artel__batch_rows artel__batch_at(const artel__batch_cut *cut, const uint64_t *order, int64_t row);
/* The place behind `count` batches, and how many batches there are in all. */
int64_t artel__batch_behind(const artel__batch_cut *cut, const uint64_t *order, int64_t row, int64_t count);
int64_t artel__batch_count(const artel__batch_cut *cut);
/* All rows, as they are numbered or by their buckets. */
artel_status artel__batch_order(artel__arena *arena, const artel__batch_cut *cut, uint64_t **out);
/* That of a run, or the largest one that the data's buckets name. */
int64_t artel__batch_size_of(const artel_data *data, int64_t batch_size);

/* rows, batch_size, buckets of the cut, seed and shuffle are set; begins at the first row of `pass`. `peeks`:
 * artel__batches_peek will be asked. */
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

#endif
