/* SPDX-License-Identifier: Apache-2.0 */
/* artel/watch.h: the loop of train/watch.h for programs, which ask for one checkpoint after another. */
#include "artel/watch.h"

#include <stdio.h>
#include <string.h>

#include "base/argument.h"
#include "data/data.h"
#include "keras/model.h"
#include "train/checkpoint_file.h"
#include "train/options.h"
#include "train/watch.h"

#define OPTION(field) offsetof(artel_watch_options, field)
static const artel__range ranges[] = {
    {".start_delay_secs", ARTEL__RANGE_DOUBLE, OPTION(start_delay_secs), 0, 1e9, NULL},
    {".min_interval_secs", ARTEL__RANGE_DOUBLE, OPTION(min_interval_secs), 0, 1e9, NULL},
    {".timeout_secs", ARTEL__RANGE_DOUBLE, OPTION(timeout_secs), -1, 1e9, "give seconds, or -1 to wait for ever"},
    {".max_checkpoints", ARTEL__RANGE_INT64, OPTION(max_checkpoints), 0, 1e15, NULL},
    {.name = NULL}};
static const artel__options_kind kind = {"watch options", "begin with ARTEL_WATCH_OPTIONS_INIT",
                                         sizeof(artel_watch_options), ranges};

struct artel_watch {
    artel_context *ctx;
    artel_watch_options options;
    artel__watch loop;
    artel_model *model; /* that takes up what is found, while artel_watch_evaluate() waits */
    char *directory;
    char folder[ARTEL__CHECKPOINT_PATH];
};

static artel_status read_newer(void *user, int64_t newer_than, artel_checkpoint_info *out)
{
    const artel_watch *w = user;
    char *folder = NULL;
    json_t *manifest = NULL;
    if (w->model) return artel_model_read_checkpoint(w->model, w->directory, newer_than, out);
    artel_status status = artel__checkpoint_newer(w->ctx, w->directory, newer_than, out, &folder, &manifest);
    json_decref(manifest);
    artel__free(w->ctx, folder);
    return status;
}

static bool never(void *user, const artel_checkpoint_info *found)
{
    (void)user;
    (void)found;
    return false;
}

static bool is_done(void *user)
{
    const artel_watch *w = user;
    return w->options.is_over(w->options.user);
}

static artel__watch loop_of(artel_watch *w)
{
    const artel_watch_options *o = &w->options;
    return (artel__watch){.ctx = w->ctx,
                          .directory = w->directory,
                          .read = read_newer,
                          .is_over = o->ignore_end ? never : NULL,
                          .is_done = o->is_over ? is_done : NULL,
                          .user = w,
                          .start_delay = o->start_delay_secs,
                          .throttle = o->min_interval_secs,
                          .timeout = o->timeout_secs,
                          .most = o->max_checkpoints,
                          .found = {.step = -1}};
}

artel_status artel_watch_create(artel_context *ctx, const char *directory, const artel_watch_options *options,
                                artel_watch **out)
{
    artel_watch_options chosen = ARTEL_WATCH_OPTIONS_INIT;
    void *made;
    ARTEL_TRY(artel__enter(ctx, __func__, "context directory out", ctx, directory, out));
    ARTEL_TRY(artel__take_options(ctx, &kind, options, &chosen));
    if (chosen.timeout_secs < 0 && chosen.timeout_secs != -1)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, ".timeout_secs", "give seconds, or -1 to wait for ever",
                           "%g seconds", chosen.timeout_secs);
    if (!directory[0] || strlen(directory) > 4000)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, "watch", "name the directory of a run's checkpoints",
                           "the directory has no name, or one that is too long");
    ARTEL_TRY(artel__calloc(ctx, 1, sizeof(artel_watch), "watch", &made));
    artel_watch *w = made;
    w->ctx = ctx;
    w->options = chosen;
    artel_status status = artel__strdup(ctx, directory, &w->directory);
    if (status < 0) {
        artel__free(ctx, w);
        return status;
    }
    w->loop = loop_of(w);
    *out = w;
    return ARTEL_OK;
}

void artel_watch_destroy(artel_watch *w)
{
    if (!w) return;
    artel__free(w->ctx, w->directory);
    artel__free(w->ctx, w);
}

artel_status artel_watch_next(artel_watch *w)
{
    ARTEL_TRY(artel__enter(w ? w->ctx : NULL, __func__, "watch", w));
    int64_t before = w->loop.found.step;
    artel_status status = artel__watch_next(&w->loop);
    if (w->loop.found.step != before)
        snprintf(w->folder, sizeof w->folder, "%s/ckpt-%lld", w->directory, (long long)w->loop.found.step);
    return status;
}

artel_status artel_watch_found(const artel_watch *w, artel_checkpoint_info *out, const char **folder)
{
    ARTEL_TRY(artel__enter(w ? w->ctx : NULL, __func__, "watch out", w, out));
    *out = w->loop.found;
    if (folder) *folder = w->folder;
    return ARTEL_OK;
}

artel_status artel_watch_evaluate(artel_watch *w, artel_model *model, artel_data *data,
                                  const artel_evaluate_options *options, artel_history **out)
{
    artel_evaluate_options chosen = ARTEL_EVALUATE_OPTIONS_INIT;
    ARTEL_TRY(artel__enter(w ? w->ctx : NULL, __func__, "watch model data", w, model, data));
    ARTEL_TRY(artel__need_context(w->ctx, model->ctx, "the model"));
    ARTEL_TRY(artel__need_context(w->ctx, artel__data_context(data), "the data"));
    ARTEL_TRY(artel__take_options(w->ctx, &artel__evaluate_kind, options, &chosen)); /* not when it has waited */
    w->model = model;
    artel_status status = artel_watch_next(w);
    w->model = NULL;
    return status == ARTEL_OK ? artel_model_evaluate(model, data, options, out) : status;
}
