/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of data without a model: what `artel data` reads, and what stages of a pipeline stand on.
 *
 * Columns are the arrays of the data (those after `#a,b` where the specification names them), each row in the array's
 * own dtype. Images that have no size of their own are as large as #size says, else 64x64 with three channels. Texts
 * are artel__string, whose bytes live as long as the data.
 */
#ifndef ARTEL_DATA_ROWS_H
#define ARTEL_DATA_ROWS_H

#include "data/source.h"

typedef struct artel__rows_column {
    const char *name;
    artel_data_role role;
    artel_dtype dtype;
    artel_shape row; /* all extents known */
    int64_t elements;
    size_t bytes;                        /* of one row */
    bool resized;                        /* the extents are ours: the data leaves them open */
    bool open;                           /* nor does the specification say how high and wide images are */
    bool pixels;                         /* of images */
    bool has_encoded;                    /* images and records: artel__rows_encoded() gives their bytes */
    const artel__string *const *strings; /* of texts that are there at once: those of each source; else NULL */
    int array;                           /* in the sources */
    size_t at;                           /* in a row of all columns */
} artel__rows_column;

typedef struct artel__rows {
    artel_data *data;
    artel__rows_column *columns;
    int column_count;
    int64_t count;
    size_t row_bytes; /* of all columns */
    bool has_records; /* artel__rows_encoded() gives whole records */
} artel__rows;

/* Loads what needs loading; columns lie in the arena, the data is borrowed. Arrays that nothing can read, and without
 * `texts` those of text, are left out with a note. Errors: INVALID when columns differ in length, or none is left. */
artel_status artel__rows_open(artel_data *data, artel__arena *arena, bool texts, artel__rows *out);
/* One row of one column. Thread-safe. */
artel_status artel__rows_fetch(const artel__rows *rows, int column, int64_t row, void *out);
/* One row of some columns, each at its own place. Thread-safe. */
artel_status artel__rows_fetch_some(const artel__rows *rows, const int *columns, int count, int64_t row,
                                    void *const *out);
/* One row of all columns, each at its place. Thread-safe. */
artel_status artel__rows_fetch_all(const artel__rows *rows, int64_t row, void *out);
/* That this thread fetches rows row[0 .. count) next, or, with NULL, `first` and those behind it: data of another
 * machine brings as many together as is said, at least 1. Thread-safe. */
int64_t artel__rows_expect(const artel__rows *rows, const int64_t *row, int64_t first, int64_t count);
/* Appends the bytes of a row as its file holds them: of an image, or (column -1) of a whole record. Thread-safe. */
artel_status artel__rows_encoded(const artel__rows *rows, int column, int64_t row, artel__text *out);
/* The source that a row lies in; *row becomes its number there. */
const artel__source *artel__rows_source(const artel__rows *rows, int64_t *row);

#endif
