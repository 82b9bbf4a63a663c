/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks in a list: a context has as many as it has runs that lend. */
#include "base/lend.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/context_impl.h"

/* Linux 5.1; before it a borrower could write, which no artel does. */
#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

struct artel__lendable_block {
    artel__lendable block;
    struct artel__lendable_block *next;
};

int artel__sealed_file(size_t bytes)
{
    int fd = memfd_create("artel", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) return -1;
    if (ftruncate(fd, (off_t)bytes) == 0 && fallocate(fd, 0, 0, (off_t)bytes) == 0 &&
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0)
        return fd;
    close(fd);
    return -1;
}

bool artel__is_sealed_file(int fd, size_t *out_bytes)
{
    struct stat file;
    if (fstat(fd, &file) < 0 || !S_ISREG(file.st_mode) || file.st_size <= 0 ||
        !(fcntl(fd, F_GET_SEALS) & F_SEAL_SHRINK))
        return false;
    *out_bytes = (size_t)file.st_size;
    return true;
}

/* The block's own mapping is there before nobody may map it for writing any more. */
static void *map_file(int fd, size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) return NULL;
    fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE);
    fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL);
    return memory;
}

static void *make_block(artel_context *ctx, struct artel__lendable_block *entry, size_t bytes)
{
    int fd = artel__sealed_file(bytes);
    void *memory = fd >= 0 ? map_file(fd, bytes) : NULL;
    if (!memory) {
        if (fd >= 0) close(fd);
        return NULL;
    }
    entry->block = (artel__lendable){.fd = fd, .memory = memory, .bytes = bytes};
    pthread_mutex_lock(&ctx->lendable_mutex);
    entry->block.id = ++ctx->lendable_ids;
    entry->next = ctx->lendable;
    ctx->lendable = entry;
    pthread_mutex_unlock(&ctx->lendable_mutex);
    return memory;
}

artel_status artel__alloc_lendable(artel_context *ctx, size_t bytes, const char *where, void **out)
{
    void *entry;
    if (bytes == 0 || bytes > PTRDIFF_MAX) return artel__alloc_aligned(ctx, bytes, where, out);
    ARTEL_TRY(artel__calloc(ctx, 1, sizeof(struct artel__lendable_block), where, &entry));
    *out = make_block(ctx, entry, bytes);
    if (*out) return ARTEL_OK;
    artel__free(ctx, entry);
    return artel__alloc_aligned(ctx, bytes, where, out);
}

/* The entry of a block that begins there, taken out of the list. */
static struct artel__lendable_block *take_out(artel_context *ctx, const void *block)
{
    struct artel__lendable_block *found = NULL;
    pthread_mutex_lock(&ctx->lendable_mutex);
    struct artel__lendable_block **at = &ctx->lendable;
    while (*at && (*at)->block.memory != block) at = &(*at)->next;
    if (*at) {
        found = *at;
        *at = found->next;
        atomic_fetch_add(&ctx->lendable_frees, 1);
    }
    pthread_mutex_unlock(&ctx->lendable_mutex);
    return found;
}

void artel__free_lendable(artel_context *ctx, void *block, size_t bytes)
{
    if (!block) return;
    struct artel__lendable_block *entry = take_out(ctx, block);
    if (!entry) {
        artel__free_aligned(ctx, block, bytes);
        return;
    }
    munmap(block, bytes);
    close(entry->block.fd);
    artel__free(ctx, entry);
}

bool artel__find_lendable(artel_context *ctx, const void *at, size_t bytes, artel__lendable *out)
{
    bool found = false;
    pthread_mutex_lock(&ctx->lendable_mutex);
    for (const struct artel__lendable_block *entry = ctx->lendable; entry && !found; entry = entry->next) {
        found = artel__lendable_holds(&entry->block, at, bytes);
        if (found) *out = entry->block;
    }
    pthread_mutex_unlock(&ctx->lendable_mutex);
    return found;
}

uint64_t artel__lendable_frees(artel_context *ctx)
{
    return atomic_load(&ctx->lendable_frees);
}

bool artel__is_lendable(artel_context *ctx, uint64_t id)
{
    bool found = false;
    pthread_mutex_lock(&ctx->lendable_mutex);
    for (const struct artel__lendable_block *entry = ctx->lendable; entry && !found; entry = entry->next)
        found = entry->block.id == id;
    pthread_mutex_unlock(&ctx->lendable_mutex);
    return found;
}
