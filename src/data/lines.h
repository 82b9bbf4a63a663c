/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of text files: where each begins, over any number of files, gzipped or not. Empty lines do not count. */
#ifndef ARTEL_DATA_LINES_H
#define ARTEL_DATA_LINES_H

#include "data/source.h"

typedef struct artel__lines_file {
    const char *path;
    const artel__blob *blob; /* NULL: only its index is here, and of its lines the first, `head` */
    const char *head;
    size_t head_bytes;
    artel__unfold *unfold; /* of a compressed file; or NULL */
    int64_t first;         /* number of its first line */
    int64_t place;         /* of that line among the offsets */
} artel__lines_file;

typedef struct artel__lines {
    artel__lines_file *files;
    int file_count;
    uint64_t *offsets; /* in their files, of those that are here; on the heap */
    int64_t offset_count;
    int64_t count;
} artel__lines;

typedef struct artel__line {
    const char *text; /* without its end; no NUL behind it */
    size_t length;
    const char *path;
    int64_t number;  /* in its file, counted from 0, empty lines left out */
    uint64_t offset; /* in its file */
} artel__line;

/* Whether a line is to be kept; false leaves it out. */
typedef artel_status artel__line_check_fn(void *user, const artel__line *line, bool *keep);

/* Opens all files of the source's target and finds their lines; `check` may be NULL. */
artel_status artel__lines_open(artel__source *source, artel__line_check_fn *check, void *user, artel__lines *out);
void artel__lines_close(artel_context *ctx, artel__lines *lines);
/* Line `row` of all: in its file, or of a compressed one in the room until that is used again. Thread-safe. Errors:
 * NOT_FOUND (its file is not here). */
artel_status artel__lines_at(const artel__source *source, const artel__lines *lines, int64_t row,
                             artel__unfold_room *room, artel__line *out);
/* The file that a line lies in; a file as a piece. */
int artel__lines_file_of(const artel__lines *lines, int64_t row);
artel__data_piece artel__lines_piece(const artel__lines *lines, int file);

#endif
