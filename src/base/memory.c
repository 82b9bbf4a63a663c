/* SPDX-License-Identifier: Apache-2.0 */
/* Heap memory through the context: counted, and failing on request.
 *
 * Tests assert that a steady step makes no heap call, and fail every allocation once, so all memory of the library
 * comes from here (or from arenas, which come from here). Large buffers are mapped instead of taken from the heap:
 * the kernel hands them out cleared, without touching pages that are never used, and aligned for huge pages. A buffer
 * whose end fills more than half of a huge page gets the whole of it: that page costs a sixth of the small ones in its
 * place.
 */
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/context_impl.h"
#include "base/spill.h"

#define HUGE_PAGE ((size_t)2 << 20)
#define PAGE ((size_t)4096)
#define LINE ((size_t)64)
#define MAP_LEAST ((size_t)1 << 20) /* a block of more than this is mapped */

bool artel__countdown(atomic_uint_fast64_t *countdown)
{
    if (atomic_load_explicit(countdown, memory_order_relaxed) == 0) return false;
    return atomic_fetch_sub(countdown, 1) == 1;
}

/* Counts a heap call; true when it has to fail. */
static bool heap_refuses(artel_context *ctx)
{
    atomic_fetch_add_explicit(&ctx->heap_calls, 1, memory_order_relaxed);
    return artel__countdown(&ctx->heap_countdown);
}

uint64_t artel__heap_calls(const artel_context *ctx)
{
    return atomic_load(&ctx->heap_calls);
}

void artel__fail_allocation_after(artel_context *ctx, uint64_t n)
{
    atomic_store(&ctx->heap_countdown, n);
}

artel_status artel__alloc(artel_context *ctx, size_t bytes, const char *where, void **out)
{
    bool refused = bytes > PTRDIFF_MAX || heap_refuses(ctx);
    void *block = refused                     ? NULL
                  : artel__spills(ctx, bytes) ? artel__spill_take(ctx, bytes)
                                              : malloc(bytes ? bytes : 1);
    if (!block) {
        artel__fail_memory(ctx, where, bytes);
        return ARTEL_ERROR_NO_MEMORY;
    }
    *out = block;
    return ARTEL_OK;
}

artel_status artel__calloc(artel_context *ctx, size_t count, size_t size, const char *where, void **out)
{
    size_t bytes = 0;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > PTRDIFF_MAX)
        return artel__fail_memory(ctx, where, SIZE_MAX);
    void *block = heap_refuses(ctx)           ? NULL
                  : artel__spills(ctx, bytes) ? artel__spill_take(ctx, bytes)
                                              : calloc(1, bytes ? bytes : 1);
    if (!block) return artel__fail_memory(ctx, where, bytes);
    *out = block;
    return ARTEL_OK;
}

/* From memory to a file, from a file to a larger one, or back. */
static void *move_block(artel_context *ctx, void *block, size_t bytes)
{
    size_t spilled = artel__spill_bytes(ctx, block), had = spilled || !block ? spilled : malloc_usable_size(block);
    void *grown = artel__spills(ctx, bytes) ? artel__spill_take(ctx, bytes) : malloc(bytes ? bytes : 1);
    if (!grown) return NULL;
    if (had) memcpy(grown, block, had < bytes ? had : bytes);
    artel__free(ctx, block);
    return grown;
}

artel_status artel__realloc(artel_context *ctx, size_t bytes, const char *where, void **block)
{
    bool refused = bytes > PTRDIFF_MAX || heap_refuses(ctx);
    bool moves = !refused && (artel__spills(ctx, bytes) || artel__spill_bytes(ctx, *block) > 0);
    void *grown = refused ? NULL : moves ? move_block(ctx, *block, bytes) : realloc(*block, bytes ? bytes : 1);
    if (!grown) return artel__fail_memory(ctx, where, bytes);
    *block = grown;
    return ARTEL_OK;
}

void artel__free(artel_context *ctx, void *block)
{
    if (!artel__spill_give(ctx, block)) free(block);
}

static size_t round_up(size_t bytes, size_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

/* What a block of that size takes when it is mapped. */
static size_t mapped_bytes(size_t bytes)
{
    return bytes % HUGE_PAGE > HUGE_PAGE / 2 ? round_up(bytes, HUGE_PAGE) : round_up(bytes, PAGE);
}

/* A cleared mapping that starts on a huge page; the slack on both sides is given back. */
static void *map_huge(size_t bytes)
{
    size_t whole = bytes + HUGE_PAGE;
    uint8_t *map = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) return NULL;
    size_t skip = (HUGE_PAGE - (uintptr_t)map % HUGE_PAGE) % HUGE_PAGE;
    if (skip) munmap(map, skip);
    munmap(map + skip + bytes, whole - skip - bytes);
    madvise(map + skip, bytes, MADV_HUGEPAGE); /* advice only: small pages are correct too */
    return map + skip;
}

artel_status artel__alloc_aligned(artel_context *ctx, size_t bytes, const char *where, void **out)
{
    void *block = NULL;
    if (bytes > PTRDIFF_MAX - 2 * HUGE_PAGE || heap_refuses(ctx)) return artel__fail_memory(ctx, where, bytes);
    if (artel__spills(ctx, bytes)) {
        block = artel__spill_take(ctx, bytes);
    } else if (bytes > MAP_LEAST) {
        block = map_huge(mapped_bytes(bytes));
    } else {
        size_t rounded = round_up(bytes ? bytes : 1, LINE);
        block = aligned_alloc(LINE, rounded);
        if (block) memset(block, 0, rounded);
    }
    if (!block) return artel__fail_memory(ctx, where, bytes);
    *out = block;
    return ARTEL_OK;
}

void artel__free_aligned(artel_context *ctx, void *block, size_t bytes)
{
    if (!block || artel__spill_give(ctx, block)) return;
    if (bytes > MAP_LEAST)
        munmap(block, mapped_bytes(bytes));
    else
        free(block);
}

artel_status artel__strdup(artel_context *ctx, const char *text, char **out)
{
    void *copy = NULL;
    size_t length = strlen(text);
    ARTEL_TRY(artel__alloc(ctx, length + 1, "text", &copy));
    *out = memcpy(copy, text, length + 1);
    return ARTEL_OK;
}
