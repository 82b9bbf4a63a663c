/* SPDX-License-Identifier: Apache-2.0 */
/* Large files of which the process is to hold little: parts read by place, and mapped pages given back. */
#ifndef ARTEL_BASE_PAGES_H
#define ARTEL_BASE_PAGES_H

#include "base/file.h"

/* Drops the pages of a mapping from this process. Other threads may be reading them: they fault them in again. */
void artel__forget_pages(const artel__mapping *mapping);

/* A file that parts are read of; -1: none. */
artel_status artel__open_parts(artel_context *ctx, const char *path, int *out);
void artel__close_parts(int file);
/* `size` bytes from `offset` on, fewer where the file ends. Thread-safe. */
artel_status artel__read_part(artel_context *ctx, const char *path, int file, uint64_t offset, void *out, size_t size, size_t *got);

#endif
