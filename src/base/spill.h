/* SPDX-License-Identifier: Apache-2.0 */
/* Large blocks in files instead of memory.
 *
 * A context with a folder for it has its blocks of 16 MiB and more in files of that folder,
 * which have no name and vanish with the process. They are used as memory is; the kernel keeps what is in use and
 * writes the rest back, so a process can have blocks larger than the memory that it may take. Pages that nobody has
 * touched take no room at all: neither memory nor disk. It needs that much free space; a full disk ends the process,
 * for nobody can be told that a page has no place.
 *
 * For base/memory.c, which everybody allocates by. Thread-safe.
 */
#ifndef ARTEL_BASE_SPILL_H
#define ARTEL_BASE_SPILL_H

#include "base/context.h"

#define ARTEL__SPILL_LEAST ((size_t)16 << 20)

/* Once, before other threads allocate. 0, or the errno of what the folder refuses. */
int artel__spill_open(artel_context *ctx, const char *folder);
/* Between the two all that is allocated is memory again: what this process owns and works on. By one thread, while
 * others rest. */
void artel__spill_pause(artel_context *ctx);
void artel__spill_resume(artel_context *ctx);
void artel__spill_close(artel_context *ctx);
/* Whether blocks go to files; a file for who writes one himself, -1: it cannot be made (errno). */
bool artel__spill_is_open(const artel_context *ctx);
int artel__spill_file(const artel_context *ctx);
/* Whether a block of that size goes to a file. */
bool artel__spills(const artel_context *ctx, size_t bytes);
/* A cleared block on pages of its own; NULL: there is none to be had. */
void *artel__spill_take(artel_context *ctx, size_t bytes);
/* Gives a block back. False: it is none of these. */
bool artel__spill_give(artel_context *ctx, void *block);
/* Bytes of a block; 0: it is none of these. */
size_t artel__spill_bytes(artel_context *ctx, const void *block);

#endif
