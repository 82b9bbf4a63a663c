/* SPDX-License-Identifier: Apache-2.0 */
/* At a worker: the rows of tables that the item in work reads, in place of the tables.
 *
 * A table may be larger than any task. Rows that were put where they lie in it would touch another page each, so an
 * item would cost more the larger the table is; here they lie side by side in the order of their tokens, and the next
 * item's take their place. The session's embeddings read them there (kernel/held_rows.h); a device gets them, and no
 * table (device/home_rows.c).
 */
#ifndef ARTEL_TRAIN_ROW_CACHE_H
#define ARTEL_TRAIN_ROW_CACHE_H

#include "kernel/held_rows.h"
#include "train/session.h"

typedef struct artel__row_cache {
    artel__held_rows *held; /* by variable; lent to the session */
    float **row;            /* by table of the objective: room for the most that a batch of any mode has */
    artel__held_place **place;
    int *variable;
    int64_t *width;
    int tables;
} artel__row_cache;

/* In `arena`, which lives until artel__row_cache_drop. Nothing without tables. */
artel_status artel__row_cache_make(artel__arena *arena, artel__session *session, artel__row_cache *out);
void artel__row_cache_drop(artel__row_cache *cache, artel__session *session);
/* The rows are those of the tokens that this mode of tokens has found last; each is to be put in its place. */
void artel__row_cache_begin(artel__row_cache *cache, artel__session *session, artel__mode tokens);

#endif
