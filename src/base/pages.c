/* SPDX-License-Identifier: Apache-2.0 */
/* Private mappings that nobody writes to lose nothing by MADV_DONTNEED; pread leaves nothing in the process at all. */
#include "base/pages.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

void artel__forget_pages(const artel__mapping *mapping)
{
    if (mapping->size == 0) return;
    madvise((void *)(uintptr_t)mapping->bytes, mapping->size, MADV_DONTNEED); /* advice: nothing depends on it */
}

artel_status artel__open_parts(artel_context *ctx, const char *path, int *out)
{
    *out = open(path, O_RDONLY | O_CLOEXEC);
    return *out >= 0 ? ARTEL_OK : artel__fail_errno(ctx, path, "open");
}

void artel__close_parts(int file)
{
    if (file >= 0) close(file);
}

artel_status artel__read_part(artel_context *ctx, const char *path, int file, uint64_t offset, void *out, size_t size, size_t *got)
{
    *got = 0;
    while (*got < size) {
        ssize_t n = pread(file, (uint8_t *)out + *got, size - *got, (off_t)(offset + *got));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return artel__fail_errno(ctx, path, "read");
        if (n == 0) break;
        *got += (size_t)n;
    }
    return ARTEL_OK;
}
