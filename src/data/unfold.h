/* SPDX-License-Identifier: Apache-2.0 */
/* The content of a gzip or zlib file at any place, in bounded memory: unfolded by blocks, of which the budget says how
 * many are kept.
 *
 * Deflate has no places to begin at, so the state of inflate is kept at intervals while the content is gone through for
 * the first time; what lies between two of them is unfolded from the one before. The states kept are bounded, too:
 * where there are too many, every other one of the file is dropped and the interval doubles. A read that follows
 * another goes on where that ended. All files of a source share blocks and streams (a pool).
 *
 * A gzip file may have several members, one after another, as gzip reads them; what follows the last and is none is
 * passed over, as gzip does. Checksums are verified whenever a stream comes to the end of a member.
 *
 * Threads: the first pass over the content, up to its end, is one thread's; then any number may read. Errors name file
 * and byte: CORRUPT for content that is damaged, cut off, or larger than a file of that size may unfold to; it is the
 * same each time.
 */
#ifndef ARTEL_DATA_UNFOLD_H
#define ARTEL_DATA_UNFOLD_H

#include "base/context.h"

typedef struct artel__unfold_pool artel__unfold_pool;
typedef struct artel__unfold artel__unfold;

artel_status artel__unfold_pool_create(artel_context *ctx, artel__unfold_pool **out);
/* And the files in it; NULL accepted. */
void artel__unfold_pool_destroy(artel__unfold_pool *pool);

/* A file of the pool, of whose mapped bytes the content is to be had; path and bytes are borrowed. Nothing is read yet.
 */
artel_status artel__unfold_add(artel__unfold_pool *pool, const char *path, const uint8_t *packed, size_t size,
                               artel__unfold **out);
/* Bytes of the content from `at` on; *got is less than `size` only where the content ends. */
artel_status artel__unfold_read(artel__unfold *file, uint64_t at, void *out, size_t size, size_t *got);
/* Room for what is read, on the heap; starts cleared, and is used for any number of reads. */
typedef struct artel__unfold_room {
    void *bytes;
    size_t size;
} artel__unfold_room;

void artel__unfold_room_fini(artel_context *ctx, artel__unfold_room *room);
/* The same into room->bytes. */
artel_status artel__unfold_into(artel__unfold *file, uint64_t at, size_t size, artel__unfold_room *room, size_t *got);
/* The size of the content, which is gone through for that where it has not been. */
artel_status artel__unfold_size(artel__unfold *file, uint64_t *out);

/* The largest size that it may have. */
uint64_t artel__unfold_most(const artel__unfold *file);

/* Bytes that the pool holds, for tests. */
uint64_t artel__unfold_pool_bytes(const artel__unfold_pool *pool);

/* The largest content that a compressed file of this size may have. */
uint64_t artel__unfold_limit(uint64_t packed);

/* The content from its beginning to its end, once: in the state of one stream, beside all pools; nothing is kept. Path
 * and bytes are borrowed. One thread's. */
typedef struct artel__unfold_pass artel__unfold_pass;

artel_status artel__unfold_pass_create(artel_context *ctx, const char *path, const uint8_t *packed, size_t size,
                                       artel__unfold_pass **out);
/* NULL accepted. */
void artel__unfold_pass_destroy(artel__unfold_pass *pass);
/* The next bytes; *got is less than `size` only where the content ends. Errors as above. */
artel_status artel__unfold_pass_read(artel__unfold_pass *pass, void *out, size_t size, size_t *got);

#endif
