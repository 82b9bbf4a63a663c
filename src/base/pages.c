/* SPDX-License-Identifier: Apache-2.0 */
/* Private mappings that nobody writes to lose nothing by MADV_DONTNEED; pread leaves nothing in the process at all. */
#include "base/pages.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#define AHEAD_BYTES ((uint64_t)4 << 20) /* asked for where pieces follow one another */

void artel__forget_pages(const artel__mapping *mapping)
{
    if (mapping->size == 0) return;
    madvise((void *)(uintptr_t)mapping->bytes, mapping->size, MADV_DONTNEED); /* advice: nothing depends on it */
}

void artel__pages_init(artel__pages *pages, const artel__mapping *mapping)
{
    pages->mapping = mapping;
    atomic_init(&pages->last, UINT64_MAX);
    atomic_init(&pages->asked, 0);
    madvise((void *)(uintptr_t)mapping->bytes, mapping->size, MADV_RANDOM);
}

/* The whole pages from `begin` to `end`. */
static void ask(const artel__mapping *mapping, uint64_t begin, uint64_t end)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    begin -= begin % page;
    if (end > mapping->size) end = mapping->size;
    if (begin < end) madvise((uint8_t *)(uintptr_t)mapping->bytes + begin, (size_t)(end - begin), MADV_WILLNEED);
}

void artel__pages_want(artel__pages *pages, uint64_t offset, uint64_t size)
{
    uint64_t end = offset + size, asked = atomic_load_explicit(&pages->asked, memory_order_relaxed);
    bool follows = atomic_exchange_explicit(&pages->last, end, memory_order_relaxed) == offset;
    if (follows && end + AHEAD_BYTES / 2 <= asked) return;
    uint64_t from = follows && asked > offset ? asked : offset, to = follows ? end + AHEAD_BYTES : end;
    ask(pages->mapping, from, to);
    atomic_store_explicit(&pages->asked, to, memory_order_relaxed);
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

artel_status artel__read_part(artel_context *ctx, const char *path, int file, uint64_t offset, void *out, size_t size,
                              size_t *got)
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
