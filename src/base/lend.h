/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that other processes of this host can be handed: a block is a sealed file without a name, mapped here for
 * writing; whoever is handed its descriptor can map it for reading, can neither write to it nor shorten it, and keeps
 * it as long as it is mapped there, whatever becomes of this process.
 *
 * Blocks are known to their context by address, so that whoever is to send something can find out whether it lies in
 * one. Pages are small ones (the system gives no large ones to such files unless it is told to), so this is for what is
 * to be lent and nothing else.
 *
 * Threads: any.
 */
#ifndef ARTEL_BASE_LEND_H
#define ARTEL_BASE_LEND_H

#include "base/context.h"

typedef struct artel__lendable {
    uint64_t id; /* never the same one twice in a context; not 0 */
    int fd;      /* the block's, valid as long as the block */
    const uint8_t *memory;
    size_t bytes;
} artel__lendable;

/* A file without a name that nobody can shorten or lengthen, its pages taken: later there would be nobody to tell that
 * there are none. -1: the system has none. */
int artel__sealed_file(size_t bytes);
/* Whether a descriptor that somebody else has made is of such a file, and so can be mapped without fear. */
bool artel__is_sealed_file(int fd, size_t *out_bytes);

/* Cleared, on whole pages, which are taken at once. Where the system has no such files it is memory as of
 * artel__alloc_aligned, which is never found. Free with artel__free_lendable, with the same size. */
artel_status artel__alloc_lendable(artel_context *ctx, size_t bytes, const char *where, void **out);
void artel__free_lendable(artel_context *ctx, void *block, size_t bytes); /* NULL accepted */

/* Whether these bytes lie in it. */
static inline bool artel__lendable_holds(const artel__lendable *block, const void *at, size_t bytes)
{
    uintptr_t from = (uintptr_t)at - (uintptr_t)block->memory;
    return from < block->bytes && bytes <= block->bytes - from;
}

/* The block in which `bytes` bytes from `at` on lie; false: in none. */
bool artel__find_lendable(artel_context *ctx, const void *at, size_t bytes, artel__lendable *out);
/* Whether the block of that id has not been freed. */
bool artel__is_lendable(artel_context *ctx, uint64_t id);
/* How many blocks have been freed: where it has not changed, none has gone. */
uint64_t artel__lendable_frees(artel_context *ctx);

#endif
