/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints of strategies: folders as those of fit (train/checkpoint.c), of everything that a strategy holds; an
 * estimator writes them, and loops by hand. With a single model its weights have the names that fit gives them, so
 * whoever reads weights of a run reads these, too. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "estimator/estimator_impl.h"
#include "exec/state.h"
#include "function/snapshot.h"
#include "train/checkpoint_file.h"

enum {
    FORMAT = 2 /* of the manifest: fit's */
};

/* -- writing -- */

typedef struct lister {
    artel_context *ctx;
    artel__checkpoint_image *image;
} lister;

static artel_status list_entry(void *user, const char *name, int variable)
{
    lister *l = user;
    char *dotted;
    void *wider = l->image->entry;
    ARTEL_TRY(artel__realloc(l->ctx, (size_t)(l->image->entries + 1) * sizeof *l->image->entry, "checkpoint", &wider));
    l->image->entry = wider;
    ARTEL_TRY(artel__checkpoint_name(l->ctx, "", name, &dotted));
    l->image->entry[l->image->entries++] = (artel__checkpoint_entry){dotted, variable, 0};
    return ARTEL_OK;
}

static artel_status make_manifest(artel_strategy *strategy, const artel__estimator_save *save, char **out)
{
    json_t *counters, *words;
    artel_context *ctx = artel__snapshot_context(strategy);
    ARTEL_TRY(artel__snapshot_words(strategy, &words));
    artel_status status = artel__snapshot_counters(strategy, &counters);
    if (status < 0) {
        json_decref(words);
        return status;
    }
    json_t *manifest =
        json_pack("{s:i, s:{s:s}, s:I, s:I, s:I, s:b, s:o}", "format", FORMAT, "identity", "kind", "strategy", "step",
                  (json_int_t)save->step, "epoch", (json_int_t)save->epoch, "max_steps", (json_int_t)save->max_steps,
                  "finished", save->finished, "counters", counters);
    bool has = json_object_size(words) > 0; /* else it is as ever */
    if (!manifest || (has && json_object_set(manifest, "strings", words) != 0)) {
        json_decref(words);
        json_decref(manifest);
        return artel__fail_memory(ctx, "checkpoint", 0);
    }
    json_decref(words);
    status = artel__json_dump_string(ctx, manifest, ARTEL__JSON_PYTHON, out);
    json_decref(manifest);
    return status;
}

static artel_status take_image(artel_strategy *strategy, const artel__estimator_save *save,
                               artel__checkpoint_image *image)
{
    void *bytes;
    lister l = {artel__snapshot_context(strategy), image};
    ARTEL_TRY(artel__snapshot_visit(strategy, list_entry, &l));
    ARTEL_TRY(artel__snapshot_pull(strategy));
    image->step = save->step;
    image->variables = *artel__snapshot_table(strategy);
    image->size = artel__image_bytes(&image->variables, artel__all_of(&image->variables));
    ARTEL_TRY(artel__alloc(l.ctx, image->size + 1, "checkpoint", &bytes));
    image->bytes = bytes;
    artel__snapshot_image(strategy, image->bytes);
    return make_manifest(strategy, save, &image->manifest);
}

static artel_status write_checkpoint(artel_strategy *strategy, const char *directory, int keep,
                                     const artel__estimator_save *save)
{
    artel__checkpoint_image image = {.step = 0};
    artel_context *ctx = artel__snapshot_context(strategy);
    artel_status status = artel__make_directory(ctx, directory);
    if (status == ARTEL_OK) status = artel__checkpoint_sweep(ctx, directory);
    if (status == ARTEL_OK) status = take_image(strategy, save, &image);
    if (status == ARTEL_OK) status = artel__checkpoint_write(ctx, directory, &image, keep);
    artel__checkpoint_image_fini(ctx, &image);
    return status;
}

artel_status artel__estimator_save_now(artel__estimator_side *side, const artel__estimator_save *save)
{
    char path[ARTEL__CHECKPOINT_PATH];
    const artel_estimator_options *o = &side->estimator->options;
    ARTEL_TRY(write_checkpoint(side->strategy, o->model_dir, (int)o->keep_checkpoint_max, save));
    snprintf(path, sizeof path, "%s/ckpt-%lld", o->model_dir, (long long)save->step);
    artel__estimator_event(
        side->estimator,
        &(artel_event){.kind = ARTEL_EVENT_CHECKPOINT, .step = save->step, .epoch = save->epoch, .text = path});
    return ARTEL_OK;
}

/* -- taking up -- */

typedef struct taker {
    artel_strategy *strategy;
    bool values_only; /* neither what optimizers keep nor counters */
    bool stores;      /* else it is only seen whether all fits */
    artel__checkpoint_tensors tensors;
} taker;

static artel_status take_entry(void *user, const char *name, int variable)
{
    taker *t = user;
    char *dotted;
    const void *plain;
    artel_context *ctx = artel__snapshot_context(t->strategy);
    const artel__variable *v = &artel__snapshot_table(t->strategy)->item[variable];
    if (t->values_only && artel__starts_with(name, "optimizer.")) return ARTEL_OK;
    ARTEL_TRY(artel__checkpoint_name(ctx, "", name, &dotted));
    artel_status status = artel__checkpoint_variable(&t->tensors, dotted, v, &plain);
    artel__free(ctx, dotted);
    if (status == ARTEL_OK && t->stores) artel__snapshot_store(t->strategy, variable, plain);
    return status;
}

/* What does not fit leaves the strategy as it was. */
static artel_status take_up(artel_strategy *strategy, bool values_only, const char *folder, json_t *manifest)
{
    taker t = {.strategy = strategy, .values_only = values_only};
    artel_context *ctx = artel__snapshot_context(strategy);
    const json_t *counters = json_object_get(manifest, "counters");
    if (!counters)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, folder, "give each run a directory of its own",
                           "the checkpoint is not that of a strategy");
    const json_t *words = json_object_get(manifest, "strings");
    ARTEL_TRY(artel__snapshot_take_words(strategy, folder, words, false));
    ARTEL_TRY(artel__checkpoint_open(ctx, folder, &t.tensors));
    artel_status status = artel__snapshot_visit(strategy, take_entry, &t);
    if (status == ARTEL_OK) status = artel__snapshot_begin_store(strategy);
    if (status == ARTEL_OK && !values_only) status = artel__snapshot_take_counters(strategy, folder, counters);
    t.stores = true;
    if (status == ARTEL_OK) status = artel__snapshot_take_words(strategy, folder, words, true);
    if (status == ARTEL_OK) status = artel__snapshot_visit(strategy, take_entry, &t);
    artel__checkpoint_close(&t.tensors);
    return status;
}

artel_status artel__estimator_restore(artel__estimator_side *side, const char *directory, int64_t newer_than,
                                      artel_checkpoint_info *out, int64_t *max_steps)
{
    char *folder = NULL;
    json_t *manifest = NULL;
    artel_context *ctx = side->estimator->ctx;
    artel_status status = artel__checkpoint_newer(ctx, directory, newer_than, out, &folder, &manifest);
    if (manifest && max_steps) *max_steps = json_integer_value(json_object_get(manifest, "max_steps"));
    if (status == ARTEL_OK && out->step > newer_than)
        status = take_up(side->strategy, side->mode != ARTEL_ESTIMATOR_TRAIN, folder, manifest);
    json_decref(manifest);
    artel__free(ctx, folder);
    return status;
}

/* -- for loops by hand -- */

static artel_status check_directory(artel_context *ctx, const char *directory)
{
    if (directory[0] && strlen(directory) <= 4000) return ARTEL_OK;
    return artel__fail(ctx, ARTEL_ERROR_INVALID, "checkpoint", "name a directory",
                       "the directory has no name, or one that is too long");
}

artel_status artel_strategy_save(artel_strategy *strategy, const char *directory, int64_t step, int keep)
{
    artel_context *ctx = strategy ? artel__snapshot_context(strategy) : NULL;
    ARTEL_TRY(artel__enter(ctx, __func__, "strategy directory", strategy, directory));
    ARTEL_TRY(check_directory(ctx, directory));
    if (step < 0 || keep < 0)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, "checkpoint", "count from 0", "step %lld, %d checkpoints to keep",
                           (long long)step, keep);
    return write_checkpoint(strategy, directory, keep ? keep : INT32_MAX, &(artel__estimator_save){.step = step});
}

artel_status artel_strategy_restore(artel_strategy *strategy, const char *directory, int64_t *step)
{
    char *folder = NULL;
    json_t *manifest = NULL;
    artel_checkpoint_info found;
    artel_context *ctx = strategy ? artel__snapshot_context(strategy) : NULL;
    ARTEL_TRY(artel__enter(ctx, __func__, "strategy directory step", strategy, directory, step));
    ARTEL_TRY(check_directory(ctx, directory));
    artel_status status = artel__checkpoint_newer(ctx, directory, -1, &found, &folder, &manifest);
    if (status == ARTEL_OK && found.step >= 0) status = take_up(strategy, false, folder, manifest);
    if (status == ARTEL_OK && found.step >= 0) status = artel__snapshot_push(strategy);
    json_decref(manifest);
    artel__free(ctx, folder);
    if (status == ARTEL_OK) *step = found.step;
    return status;
}
