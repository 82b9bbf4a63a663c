/* SPDX-License-Identifier: Apache-2.0 */
/* Texts that do not lie in a mapped file as they are (quotes are doubled there, it is compressed, or they came over a
 * network): each different one once. Thread-safe.
 *
 * Who reads rows says how long he needs their texts: a keeper of his own, which ends with the rows, or, where he says
 * nothing, the table of the source that they came from. */
#ifndef ARTEL_DATA_TEXTS_H
#define ARTEL_DATA_TEXTS_H

#include <pthread.h>

#include "base/arena.h"
#include "text/row_function.h"

typedef struct artel__texts {
    pthread_mutex_t mutex; /* guards all of this; innermost */
    artel__arena arena;
    artel__string *slots; /* by hash; empty ones have no bytes */
    size_t count, room;   /* room: a power of two */
    size_t bytes, most;   /* most: 0: any number */
} artel__texts;

void artel__texts_init(artel__texts *texts, artel_context *ctx, size_t most);
void artel__texts_fini(artel__texts *texts);
/* Lets go of all texts where they are more than `most` bytes: for who reads row by row. No other thread uses them. */
void artel__texts_clear(artel__texts *texts, size_t most);
/* *out: the text, to live as long as the texts. Errors: UNSUPPORTED where there are too many. */
artel_status artel__texts_keep(artel__texts *texts, const char *where, const char *text, size_t length,
                               artel__string *out);

/* Where texts of the rows that this thread reads are kept from here on; NULL, as at first: as long as their source.
 * Gives the one before. Who keeps values for longer than its reader asks (a cache) sets NULL while they are made. */
artel__texts *artel__texts_set_keeper(artel__texts *keeper);
artel__texts *artel__texts_keeper(void);
/* artel__texts_keep in the keeper of this thread, or in the source's `own`. */
artel_status artel__texts_take(artel__texts *own, const char *where, const char *text, size_t length,
                               artel__string *out);

#endif
