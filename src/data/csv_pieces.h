/* SPDX-License-Identifier: Apache-2.0 */
/* A compressed table from its beginning to its end, piece by piece, each of whole records. */
#ifndef ARTEL_DATA_CSV_PIECES_H
#define ARTEL_DATA_CSV_PIECES_H

#include "data/unfold.h"

typedef struct artel__csv_pieces {
    artel_context *ctx;
    const char *path;
    artel__unfold *unfold;    /* one of the two: blocks that are kept for later, */
    artel__unfold_pass *pass; /* or what is only read once */
    char *bytes;
    size_t room, have, given; /* bytes there are, and those that have been handed out */
    uint64_t at;              /* of bytes[0] in the content */
    bool begun;               /* records have been handed out: no comments stand in front of the next */
    bool ended;
} artel__csv_pieces;

/* A piece of the content; `text` until the next one is asked for. */
typedef struct artel__csv_piece {
    const char *text;
    size_t size;
    uint64_t at;
} artel__csv_piece;

/* To begin with ctx, path and one of the sources are set, all else is cleared. */
void artel__csv_pieces_fini(artel__csv_pieces *pieces);
/* The next piece: records with their ends, and empty lines; `size` 0 at the end. Errors: CORRUPT for a record longer
 * than 256 MiB and for damage; UNSUPPORTED for what is no text to begin with. */
artel_status artel__csv_pieces_next(artel__csv_pieces *pieces, artel__csv_piece *out);

/* Behind the lines that begin with # and empty ones, in front of the first record of a file. */
const char *artel__csv_behind_comments(const char *at, const char *end);

#endif
