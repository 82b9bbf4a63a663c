/* SPDX-License-Identifier: Apache-2.0 */
/* What a dispatcher must know after its death: a file of lines, each "crc32c of the rest in 8 hex digits, blank, a JSON
 * object".
 *
 * A line is on the disk before anybody hears what it says. The last line may be cut off by a crash and is then dropped;
 * damage before it is an error, for what follows stands on it. One process writes a journal at a time, which a lock on
 * the file ensures.
 */
#ifndef ARTEL_SERVICE_JOURNAL_H
#define ARTEL_SERVICE_JOURNAL_H

#include "base/json.h"

typedef struct artel__journal {
    artel_context *ctx;
    int fd; /* -1: none is kept */
    char *path;
} artel__journal;

/* Tells each entry, oldest first; borrowed. A failure ends the opening. */
typedef artel_status artel__journal_fn(void *user, const json_t *entry);

/* `path` NULL: a journal that forgets. Errors: CORRUPT, IO, INVALID (another process has it), and those of `tell`. */
artel_status artel__journal_open(artel_context *ctx, const char *path, artel__journal_fn *tell, void *user,
                                 artel__journal *out);
/* Takes the reference; NULL fails as want of memory does. */
artel_status artel__journal_add(artel__journal *journal, json_t *entry);
void artel__journal_close(artel__journal *journal);

#endif
