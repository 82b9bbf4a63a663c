/* SPDX-License-Identifier: Apache-2.0 */
/* Large files of which the process is to hold little: parts read by place, and mapped pages given back. */
#ifndef ARTEL_BASE_PAGES_H
#define ARTEL_BASE_PAGES_H

#include <stdatomic.h>

#include "base/file.h"

/* Drops the pages of a mapping from this process. Other threads may be reading them: they fault them in again. */
void artel__forget_pages(const artel__mapping *mapping);

/* Bytes of memory that this process may fill, files that it reads counted in: of the machine, or of the control groups
 * it is in. */
uint64_t artel__memory_limit(void);
/* The control groups' part of it, for tests: of those named in the file `membership` (as /proc/self/cgroup) below the
 * directory `mount`; UINT64_MAX where there is none. */
uint64_t artel__cgroup_memory(const char *membership, const char *mount);

/* A mapping of which just those pages are read that are wanted: of a file that memory does not hold, what the system
 * would read around them is gone before it is of use, and takes the place of what is. */
typedef struct artel__pages {
    const artel__mapping *mapping;
    _Atomic uint64_t last, asked; /* where the last piece ended, and how far one after another has been asked for */
} artel__pages;

/* The mapping outlives it. */
void artel__pages_init(artel__pages *pages, const artel__mapping *mapping);
/* The piece that is read next: it is asked for as a whole, and some more where one piece follows another. Thread-safe.
 */
void artel__pages_want(artel__pages *pages, uint64_t offset, uint64_t size);

/* A file that parts are read of; -1: none. */
artel_status artel__open_parts(artel_context *ctx, const char *path, int *out);
void artel__close_parts(int file);
/* `size` bytes from `offset` on, fewer where the file ends. Thread-safe. */
artel_status artel__read_part(artel_context *ctx, const char *path, int file, uint64_t offset, void *out, size_t size,
                              size_t *got);

#endif
