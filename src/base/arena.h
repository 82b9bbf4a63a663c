/* SPDX-License-Identifier: Apache-2.0 */
/* Memory by lifetime: an arena hands out blocks that are freed all at once.
 *
 * Graphs, plans and parsed files live in arenas. Not thread-safe. Blocks are 16-byte aligned and cleared.
 */
#ifndef ARTEL_BASE_ARENA_H
#define ARTEL_BASE_ARENA_H

#include "base/context.h"

typedef struct artel__arena_chunk artel__arena_chunk;

typedef struct artel__arena {
    artel_context *ctx;
    artel__arena_chunk *chunks; /* newest first */
    size_t used, size;          /* of the newest chunk */
    bool exhausted;             /* an allocation failed; every later one returns NULL */
} artel__arena;

void artel__arena_init(artel__arena *arena, artel_context *ctx);
void artel__arena_fini(artel__arena *arena);

/* A cleared block; NULL on failure, which is recorded in the context. */
void *artel__arena_alloc(artel__arena *arena, size_t count, size_t size);
char *artel__arena_strdup(artel__arena *arena, const char *text);
char *artel__arena_printf(artel__arena *arena, const char *format, ...) ARTEL__PRINTF(2, 3);

/* ARTEL_OK, or ARTEL_ERROR_NO_MEMORY when any allocation from the arena has failed. */
artel_status artel__arena_status(const artel__arena *arena);

#endif
