/* SPDX-License-Identifier: Apache-2.0 */
/* The folders in a checkpoint directory: named, published, thinned out, swept.
 *
 * Several processes may be at work in one directory: a task that is started again while the job runs, one that was
 * taken for lost and still writes, a second one that has become the writer. So a temporary folder carries the host and
 * the number of its process, and only the dead's are swept; who finds its step there already puts that aside (both hold
 * the same bits); and what another process has removed is no failure.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "train/checkpoint_file.h"

#define TEMPORARY "tmp-ckpt-"

enum {
    TRIES = 20 /* to publish beside others who do */
};

void artel__checkpoint_temporary(const char *directory, int64_t step, char out[ARTEL__CHECKPOINT_PATH])
{
    char mark[ARTEL__WRITER_MARK];
    artel__writer_mark(mark);
    snprintf(out, ARTEL__CHECKPOINT_PATH, "%.4096s/" TEMPORARY "%lld.%s", directory, (long long)step, mark);
}

static void sync_directory(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    fsync(fd);
    close(fd);
}

/* At once for whoever looks: aside first. */
static artel_status remove_folder(artel_context *ctx, const char *directory, int64_t step)
{
    char folder[ARTEL__CHECKPOINT_PATH], aside[ARTEL__CHECKPOINT_PATH], mark[ARTEL__WRITER_MARK];
    artel__writer_mark(mark);
    snprintf(folder, sizeof folder, "%.4096s/ckpt-%lld", directory, (long long)step);
    snprintf(aside, sizeof aside, "%.4096s/" TEMPORARY "%lld-old.%s", directory, (long long)step, mark);
    ARTEL_TRY(artel__remove_tree(ctx, aside));
    if (rename(folder, aside) != 0) return errno == ENOENT ? ARTEL_OK : artel__fail_errno(ctx, folder, "remove");
    return artel__remove_tree(ctx, aside);
}

artel_status artel__checkpoint_publish(artel_context *ctx, const char *directory, const char *temporary, int64_t step)
{
    char folder[ARTEL__CHECKPOINT_PATH];
    snprintf(folder, sizeof folder, "%.4096s/ckpt-%lld", directory, (long long)step);
    sync_directory(temporary);
    for (int i = 0; i < TRIES; i++) {
        if (rename(temporary, folder) == 0) {
            sync_directory(directory);
            return ARTEL_OK;
        }
        if (errno != EEXIST && errno != ENOTEMPTY) break;
        ARTEL_TRY(remove_folder(ctx, directory, step));
    }
    return artel__fail_errno(ctx, folder, "rename");
}

/* The number of a folder ckpt-<step>, or -1. */
static int64_t folder_step(const char *name)
{
    int64_t step;
    return artel__starts_with(name, "ckpt-") && artel__parse_int64(name + 5, &step) && step >= 0 ? step : -1;
}

artel_status artel__checkpoint_steps(artel_context *ctx, const char *directory, int64_t **out, int *count)
{
    artel__paths names;
    void *steps;
    *count = 0;
    ARTEL_TRY(artel__list_directory(ctx, directory, &names));
    artel_status status = artel__calloc(ctx, names.count + 1, sizeof(int64_t), "checkpoint", &steps);
    for (size_t i = 0; i < names.count && status == ARTEL_OK; i++) {
        int64_t step = folder_step(names.items[i]);
        int at = *count;
        if (step < 0) continue;
        for (; at > 0 && ((int64_t *)steps)[at - 1] < step; at--) ((int64_t *)steps)[at] = ((int64_t *)steps)[at - 1];
        ((int64_t *)steps)[at] = step;
        ++*count;
    }
    artel__paths_fini(&names);
    if (status == ARTEL_OK) *out = steps;
    return status;
}

artel_status artel__checkpoint_thin(artel_context *ctx, const char *directory, int keep)
{
    int64_t *steps;
    int count;
    ARTEL_TRY(artel__checkpoint_steps(ctx, directory, &steps, &count));
    artel_status status = ARTEL_OK;
    for (int i = keep; i < count && status == ARTEL_OK; i++) status = remove_folder(ctx, directory, steps[i]);
    artel__free(ctx, steps);
    return status;
}

artel_status artel__checkpoint_sweep(artel_context *ctx, const char *directory)
{
    artel__paths names;
    ARTEL_TRY(artel__list_directory(ctx, directory, &names));
    artel_status status = ARTEL_OK;
    for (size_t i = 0; i < names.count && status == ARTEL_OK; i++) {
        char path[ARTEL__CHECKPOINT_PATH];
        const char *mark = artel__starts_with(names.items[i], TEMPORARY) ? strchr(names.items[i], '.') : NULL;
        snprintf(path, sizeof path, "%.4096s/%.255s", directory, names.items[i]);
        if (mark && artel__writer_is_gone(mark + 1, path)) status = artel__remove_tree(ctx, path);
    }
    artel__paths_fini(&names);
    return status;
}
