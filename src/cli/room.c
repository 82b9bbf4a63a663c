/* SPDX-License-Identifier: Apache-2.0 */
/* Room on disks: what a run will write, as far as it is known before it begins.
 *
 * Weights and the optimizer's slots are counted by variable; what files have around them is little and not counted, so
 * a warning is never wrong, and one that is missing promises nothing. Nothing is refused: room may be made meanwhile.
 */
#include <sys/statvfs.h>

#include "base/file.h"
#include "base/text.h"
#include "cli/cli.h"
#include "keras/model.h"
#include "nn/optimizer.h"
#include "train/session.h"

typedef struct room {
    const artel__optimizer *optimizer;
    const artel__variables *variables;
    uint64_t weights, slots; /* bytes */
} room;

static artel_status add_room(void *user, const artel__model_variable *variable)
{
    room *r = user;
    const artel__variable *of = &r->variables->item[variable->variable->index];
    r->weights += artel__variable_bytes(of);
    if (variable->trainable) r->slots += artel__optimizer_slot_bytes(r->optimizer, of);
    return ARTEL_OK;
}

/* Warns if less is free where `path`, which `option` names, will be written. `what`: "the weights take". */
static void compare(artel__invocation *call, const char *option, const char *path, const char *what, uint64_t bytes)
{
    char buffer[4096];
    struct statvfs disk;
    const char *folder = artel__folder_of(path, buffer, sizeof buffer);
    if (!folder || statvfs(folder, &disk) != 0) return;
    uint64_t here = (uint64_t)disk.f_bavail * disk.f_frsize;
    if (here < bytes)
        artel__log(call->ctx, ARTEL_LOG_WARNING, "%s: %.1f MB are free where %s will be written, and %s %.1f MB", path,
                   (double)here / 1e6, option, what, (double)bytes / 1e6);
}

static void compare_output(artel__invocation *call, const char *path, const room *r)
{
    bool whole =
        artel__ends_with(path, ".keras") || (artel__ends_with(path, ".h5") && !artel__ends_with(path, ".weights.h5"));
    compare(call, "--output", path, whole ? "weights and optimizer state take" : "the weights take",
            r->weights + (whole ? r->slots : 0));
}

/* While a checkpoint is written those that are kept are still there; of a folder that exists they may be already. */
static artel_status compare_checkpoints(artel__invocation *call, const artel__fit_files *files, const room *r)
{
    int64_t most = files->keep + 1 < files->epochs ? files->keep + 1 : files->epochs;
    if (files->keep <= 0 || most < 1 || artel__is_directory(files->checkpoint_dir)) most = 1;
    const char *what = "a checkpoint takes";
    if (most > 1)
        what = artel__arena_printf(&call->arena, "%d checkpoints (--keep %d, and one being written) take", (int)most,
                                   (int)files->keep);
    if (!what) return ARTEL_ERROR_NO_MEMORY;
    compare(call, "--checkpoint-dir", files->checkpoint_dir, what, (r->weights + r->slots) * (uint64_t)most);
    return ARTEL_OK;
}

/* A full disk is better found now than behind the last epoch; what it has in the end nobody knows. */
artel_status artel__cli_check_fit_room(artel__invocation *call, artel_model *model, const artel__fit_files *files)
{
    artel__settings settings = {0};
    const artel__settings_source source = {.model = model, .train = true, .batch_size = files->batch_size};
    if (artel__settings_read_optimizer(&call->arena, &source, &settings) < 0) {
        artel__operation_begin(call->ctx); /* fit will say it in its turn */
        return ARTEL_OK;
    }
    room r = {.optimizer = &settings.optimizer, .variables = model->nn->variables};
    artel_status status = artel__model_visit(model->nn, add_room, &r);
    json_decref(settings.optimizer.record);
    if (status < 0) return status;
    if (files->output) compare_output(call, files->output, &r);
    return files->checkpoint_dir ? compare_checkpoints(call, files, &r) : ARTEL_OK;
}
