/* SPDX-License-Identifier: Apache-2.0 */
/* Texts that do not lie in a mapped file as they are (quotes are doubled there, or it is compressed), kept as long as
 * their source: each different one once. Thread-safe. */
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
/* *out: the text, to live as long as the texts. Errors: UNSUPPORTED where there are too many. */
artel_status artel__texts_keep(artel__texts *texts, const char *where, const char *text, size_t length,
                               artel__string *out);

#endif
