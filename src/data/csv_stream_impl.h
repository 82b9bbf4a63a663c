/* SPDX-License-Identifier: Apache-2.0 */
/* What opens a streamed table (csv_stream.c) and what reads its rows (csv_stream_rows.c) share. */
#ifndef ARTEL_DATA_CSV_STREAM_IMPL_H
#define ARTEL_DATA_CSV_STREAM_IMPL_H

#include <stdatomic.h>

#include "data/csv_head.h"
#include "data/csv_stream.h"
#include "data/texts.h"
#include "data/unfold.h"

enum {
    EVERY = 8, /* records from one kept offset to the next, as long as there is room */
    MEMO_LABELS = 16
};

#define MOST_OFFSETS ((size_t)4 << 20) /* 32 MiB: of a table with more than 33 million records fewer are kept */

#define FORGET_BYTES ((uint64_t)32 << 20)
#define MOST_TEXT_BYTES ((size_t)64 << 20) /* of texts that are kept */

typedef struct stream_file {
    const char *path;
    const artel__blob *blob; /* NULL: only its index is here */
    artel__unfold *unfold;   /* of a compressed file, which is read in parts alone; or NULL */
    int file;                /* for parts; -1: none */
    int64_t first;           /* record of the whole */
    size_t offset0;          /* in `offsets`: of its first record */
} stream_file;

/* What the arrays are, by `item`: the inputs side by side, the labels, or one column: ITEM_COLUMN + which of those that
 * stand alone. */
enum {
    ITEM_INPUTS,
    ITEM_LABELS,
    ITEM_COLUMN
};

/* Where a column goes. */
typedef struct target {
    int64_t item;  /* -1: left out */
    int64_t place; /* in a row of it */
    bool text;
    bool whole;
    bool has_default;
    double fallback;
} target;

/* The row that was converted last: where the next record begins, and its labels, which are asked for behind its inputs.
 * Who finds it in use goes without. */
typedef struct row_memo {
    atomic_flag busy;
    int64_t row; /* of the whole; -1: none */
    uint64_t next;
    bool labels; /* they are there */
    union {
        double number;
        int64_t integer;
    } label[MEMO_LABELS];
} row_memo;

typedef struct stream_state {
    stream_file *files;
    int file_count;
    int64_t rows;
    uint64_t *offsets;
    size_t offset_count, offset_room;
    int64_t every; /* records from one to the next, in each file */
    artel__csv_head head;
    target *targets;               /* by column; NULL until there is a record */
    int64_t inputs, labels, alone; /* columns side by side, and those that stand alone */
    char delimiter;
    artel__texts kept;        /* those that do not lie in a mapped file as they are */
    _Atomic uint64_t touched; /* bytes that have been mapped, about */
    _Atomic uint64_t last;    /* where the last row began, in its file; odd: it was read in a part */
    row_memo memo;
} stream_state;

/* Behind the end of the record at `at`; line ends within quotes do not count. */
const char *artel__csv_record_end(const char *at, const char *end);
const char *artel__csv_skip_empty(const char *at, const char *end);
/* So many bytes more of the mapping have been read; now and then its pages are given back. */
void artel__csv_touch(stream_state *state, const artel__blob *blob, uint64_t bytes);

/* The file that a row lies in. */
int artel__csv_stream_file_of(const artel__source *source, int64_t row);

/* Of the format. */
artel_status artel__csv_stream_fetch(const artel__source *source, int array, const artel_shape *row_shape, int64_t row,
                                     void *out);
artel_status artel__csv_stream_record(const artel__source *source, int64_t row, const artel__row_want *wants,
                                      int count);
artel_status artel__csv_stream_hash(const artel__source *source, int array, int64_t row, uint64_t *out);

#endif
