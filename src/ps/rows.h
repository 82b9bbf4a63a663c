/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of tables in messages between workers and servers: what travels depends on the tokens of a batch, not on the
 * table.
 *
 * A message lists for each piece of a table at that server, in the order of pieces:
 *
 *   int32 counts, one a piece; then for each piece that has some: int32 tokens, ascending; and, of an update, float32
 * rows and, where the rule wants them, squares
 *
 * An answer to tokens has the rows of each piece in the same order. Tokens are numbers of rows of the whole table. They
 * ascend and pieces are runs of rows, so each server's share is a run of what the step has made: nothing is copied by
 * who sends.
 */
#ifndef ARTEL_PS_ROWS_H
#define ARTEL_PS_ROWS_H

#include "ps/lane.h"

/* A piece of a table at one server. */
typedef struct artel__row_piece {
    int piece;            /* of the caller's pieces */
    int table;            /* of the caller's tables */
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

/* Bytes of an answer to the tokens of the message in work. */
size_t artel__row_list_answer_bytes(const artel__row_list *list);
/* Worker: those of `count` ascending tokens that lie in the piece; and, unless they are NULL, the rows and squares of
 * all tokens, of which the piece's are a run. */
void artel__row_piece_look(artel__row_piece *piece, const int32_t *token, int32_t count, const float *rows,
                           const float *squares);
/* The pieces of a message of what the list holds; returns how many. */
int artel__row_list_write(artel__row_list *list, bool rows, artel__net_piece *out);
/* Server: takes it. False: it does not fit. Tokens alone may be more than an update has: of a batch of evaluation. */
bool artel__row_list_read(artel__row_list *list, const artel__lane_slot *slot, artel__slot_at *at, bool rows);
/* The piece's tokens as rows of it. Where a peer lends its memory they can have changed since they were looked at:
 * false. */
bool artel__row_piece_tokens(const artel__row_piece *piece, int32_t *to);
/* Copies those rows of a piece's values to where an answer is put. Rows lie anywhere in a table that fits no cache:
 * they are asked for before their turn. */
void artel__row_piece_copy(const artel__row_piece *piece, const float *values, const int32_t *row, void *to);

#endif
