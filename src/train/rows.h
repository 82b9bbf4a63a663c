/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of tables in messages between workers and servers: what travels depends on the tokens of a batch, not on the
 * table.
 *
 * Behind the entries of a part (part.h) a message lists for each piece of a table at that server, in the order of
 * pieces:
 *
 *   int32 counts, one a piece; then for each piece that has some: int32 tokens, ascending; and, of an update, float32
 * rows and, where the rule wants them, squares
 *
 * An answer to tokens has the rows of each piece in the same order. Tokens are numbers of rows of the whole table.
 */
#ifndef ARTEL_TRAIN_ROWS_H
#define ARTEL_TRAIN_ROWS_H

#include "train/part.h"

/* A piece of a table at one server. */
typedef struct artel__row_piece {
    int piece;            /* of the division */
    int table;            /* of the objective */
    int64_t first, rows;  /* of the table */
    int64_t width, most;  /* elements of a row; rows of an update */
    bool squares;         /* the rule wants them */
    int32_t count;        /* of the message in work */
    int32_t from;         /* worker: which token of the table's is its first */
    const int32_t *token; /* its tokens */
    const float *row, *square;
} artel__row_piece;

typedef struct artel__row_list {
    artel__row_piece *item;
    int32_t *counts; /* as they travel */
    int count;
} artel__row_list;

/* The pieces at `server`, in `arena`. */
artel_status artel__row_list_make(artel__arena *arena, const artel__division *division, int server,
                                  artel__row_list *out);
/* Bytes of an answer to the tokens of the message in work. */
size_t artel__row_list_answer_bytes(const artel__row_list *list);

/* Worker: what of the tokens, and rows, that `mode` has kept in the session's last step lies at the server. `rows`:
 * with the gradient. */
void artel__row_list_look(artel__row_list *list, const artel__division *division, artel__session *session,
                          artel__mode mode, bool rows);
/* The pieces of a message of what the list holds; returns how many. */
int artel__row_list_write(artel__row_list *list, bool rows, artel__net_piece *out);
/* Server: takes it. False: it does not fit. Tokens alone may be more than an update has: of a batch of evaluation. */
bool artel__row_list_read(artel__row_list *list, const artel__lane_slot *slot, artel__entries_at *at, bool rows);

#endif
