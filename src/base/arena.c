/* SPDX-License-Identifier: Apache-2.0 */
/* Arenas: chunks of cleared memory from which blocks are cut in order.
 *
 * Chunks grow with the arena (16 KiB to 1 MiB), so that a small file costs little and a large graph few heap calls.
 * A block too large for the rest of a chunk that is still mostly free gets a chunk of its own behind the newest one,
 * which stays in use. Blocks are never moved, so pointers into an arena stay valid until it ends.
 */
#include "base/arena.h"

#include <stdio.h>
#include <string.h>

#define FIRST_CHUNK ((size_t)16 << 10)
#define LAST_CHUNK ((size_t)1 << 20)

struct artel__arena_chunk {
    artel__arena_chunk *next;
    size_t size;
    _Alignas(16) unsigned char bytes[];
};

void artel__arena_init(artel__arena *arena, artel_context *ctx)
{
    *arena = (artel__arena){.ctx = ctx};
}

void artel__arena_fini(artel__arena *arena)
{
    artel__arena_chunk *next = NULL;
    for (artel__arena_chunk *chunk = arena->chunks; chunk; chunk = next) {
        next = chunk->next;
        artel__free(arena->ctx, chunk);
    }
    *arena = (artel__arena){.ctx = arena->ctx};
}

static artel__arena_chunk *add_chunk(artel__arena *arena, size_t size)
{
    void *block = NULL;
    if (artel__calloc(arena->ctx, 1, sizeof(artel__arena_chunk) + size, "arena", &block) < 0) {
        arena->exhausted = true;
        return NULL;
    }
    artel__arena_chunk *chunk = block;
    chunk->size = size;
    return chunk;
}

/* A chunk of its own for one large block; the newest chunk stays the newest. */
static void *alloc_large(artel__arena *arena, size_t bytes)
{
    artel__arena_chunk *chunk = add_chunk(arena, bytes);
    if (!chunk) return NULL;
    if (arena->chunks) {
        chunk->next = arena->chunks->next;
        arena->chunks->next = chunk;
    } else {
        arena->chunks = chunk;
        arena->used = arena->size = bytes;
    }
    return chunk->bytes;
}

static bool start_chunk(artel__arena *arena)
{
    size_t size = arena->size * 2;
    size = size < FIRST_CHUNK ? FIRST_CHUNK : size > LAST_CHUNK ? LAST_CHUNK : size;
    artel__arena_chunk *chunk = add_chunk(arena, size);
    if (!chunk) return false;
    chunk->next = arena->chunks;
    arena->chunks = chunk;
    arena->used = 0;
    arena->size = size;
    return true;
}

void *artel__arena_alloc(artel__arena *arena, size_t count, size_t size)
{
    size_t bytes = 0;
    if (arena->exhausted) { /* it was said when it happened; whoever comes later is told, too */
        artel__fail_memory(arena->ctx, "arena", count * size);
        return NULL;
    }
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > PTRDIFF_MAX - 64) {
        arena->exhausted = true;
        artel__fail_memory(arena->ctx, "arena", SIZE_MAX);
        return NULL;
    }
    bytes = bytes ? (bytes + 15) & ~(size_t)15 : 16;
    if (bytes > arena->size - arena->used) {
        if (bytes > FIRST_CHUNK / 4) return alloc_large(arena, bytes);
        if (!start_chunk(arena)) return NULL;
    }
    void *block = arena->chunks->bytes + arena->used;
    arena->used += bytes;
    return block;
}

char *artel__arena_strdup(artel__arena *arena, const char *text)
{
    size_t length = strlen(text);
    char *copy = artel__arena_alloc(arena, length + 1, 1);
    return copy ? memcpy(copy, text, length + 1) : NULL;
}

char *artel__arena_printf(artel__arena *arena, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length < 0) return artel__arena_strdup(arena, "");
    char *text = artel__arena_alloc(arena, (size_t)length + 1, 1);
    if (!text) return NULL;
    va_start(args, format);
    vsnprintf(text, (size_t)length + 1, format, args);
    va_end(args);
    return text;
}

artel_status artel__arena_status(const artel__arena *arena)
{
    return arena->exhausted ? ARTEL_ERROR_NO_MEMORY : ARTEL_OK;
}
