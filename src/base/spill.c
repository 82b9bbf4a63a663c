/* SPDX-License-Identifier: Apache-2.0 */
/* A file for each block, mapped shared. Blocks are few, so they stand in a list. */
#include "base/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/context_impl.h"

typedef struct spilled {
    void *block;
    size_t bytes;
} spilled;

struct artel__spill {
    pthread_mutex_t mutex; /* guards the list */
    spilled *item;
    int count, room;
    bool paused;
    char folder[4096];
};

/* Without a name where the file system can do that, else without one from here on. */
static int open_nameless(const char *folder)
{
    char path[4200];
    int file = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (file >= 0) return file;
    snprintf(path, sizeof path, "%.4095s/artel-spill-XXXXXX", folder);
    file = mkostemp(path, O_CLOEXEC);
    if (file >= 0) unlink(path);
    return file;
}

int artel__spill_open(artel_context *ctx, const char *folder)
{
    if (strlen(folder) >= sizeof ctx->spill->folder) return ENAMETOOLONG;
    int file = open_nameless(folder);
    if (file < 0) return errno;
    close(file);
    struct artel__spill *spill = calloc(1, sizeof *spill);
    if (!spill) return ENOMEM;
    pthread_mutex_init(&spill->mutex, NULL);
    strcpy(spill->folder, folder);
    ctx->spill = spill;
    return 0;
}

void artel__spill_close(artel_context *ctx)
{
    struct artel__spill *spill = ctx->spill;
    if (!spill) return;
    pthread_mutex_destroy(&spill->mutex);
    free(spill->item);
    free(spill);
    ctx->spill = NULL;
}

bool artel__spill_is_open(const artel_context *ctx)
{
    return ctx->spill != NULL;
}

int artel__spill_file(const artel_context *ctx)
{
    return open_nameless(ctx->spill->folder);
}

void artel__spill_pause(artel_context *ctx)
{
    if (ctx->spill) ctx->spill->paused = true;
}

void artel__spill_resume(artel_context *ctx)
{
    if (ctx->spill) ctx->spill->paused = false;
}

bool artel__spills(const artel_context *ctx, size_t bytes)
{
    return ctx->spill && bytes >= ARTEL__SPILL_LEAST && !ctx->spill->paused;
}

static void *map_file(const struct artel__spill *spill, size_t bytes)
{
    int file = open_nameless(spill->folder);
    if (file < 0) return NULL;
    void *block = MAP_FAILED;
    if (ftruncate(file, (off_t)bytes) == 0)
        block = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
    int error = errno;
    close(file);
    errno = error;
    return block == MAP_FAILED ? NULL : block;
}

/* Under the mutex. */
static bool keep(struct artel__spill *spill, void *block, size_t bytes)
{
    if (spill->count == spill->room) {
        int room = 2 * spill->room + 16;
        spilled *wider = realloc(spill->item, (size_t)room * sizeof *wider);
        if (!wider) return false;
        spill->item = wider;
        spill->room = room;
    }
    spill->item[spill->count++] = (spilled){block, bytes};
    return true;
}

void *artel__spill_take(artel_context *ctx, size_t bytes)
{
    struct artel__spill *spill = ctx->spill;
    void *block = map_file(spill, bytes);
    if (!block) return NULL;
    pthread_mutex_lock(&spill->mutex);
    bool kept = keep(spill, block, bytes);
    pthread_mutex_unlock(&spill->mutex);
    if (kept) return block;
    munmap(block, bytes);
    return NULL;
}

bool artel__spill_give(artel_context *ctx, void *block)
{
    struct artel__spill *spill = ctx ? ctx->spill : NULL;
    size_t bytes = 0;
    if (!spill || !block) return false;
    pthread_mutex_lock(&spill->mutex);
    for (int i = 0; i < spill->count && bytes == 0; i++) {
        if (spill->item[i].block != block) continue;
        bytes = spill->item[i].bytes;
        spill->item[i] = spill->item[--spill->count];
    }
    pthread_mutex_unlock(&spill->mutex);
    if (bytes) munmap(block, bytes);
    return bytes > 0;
}

size_t artel__spill_bytes(artel_context *ctx, const void *block)
{
    struct artel__spill *spill = ctx->spill;
    size_t bytes = 0;
    if (!spill || !block) return 0;
    pthread_mutex_lock(&spill->mutex);
    for (int i = 0; i < spill->count && bytes == 0; i++) {
        if (spill->item[i].block == block) bytes = spill->item[i].bytes;
    }
    pthread_mutex_unlock(&spill->mutex);
    return bytes;
}
