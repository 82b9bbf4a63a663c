/* SPDX-License-Identifier: Apache-2.0 */
/* The weights of a run's newest checkpoint, for whoever evaluates the run from beside it. */
#include <stdio.h>
#include <string.h>

#include "base/argument.h"
#include "train/checkpoint_file.h"

typedef struct reader {
    artel_model *model;
    artel__checkpoint_tensors tensors;
} reader;

static artel_status read_variable(void *user, const artel__model_variable *variable)
{
    reader *r = user;
    int index = variable->variable->index;
    const artel__variable *declared = &r->model->nn->variables->item[index];
    size_t bytes = (size_t)artel_shape_count(&declared->shape) * artel_dtype_size(declared->dtype);
    const void *plain;
    char *name;
    ARTEL_TRY(artel__checkpoint_name(r->model->ctx, "", variable->path, &name));
    artel_status status = artel__checkpoint_tensor(&r->tensors, name, bytes, &plain);
    artel__free(r->model->ctx, name);
    if (status == ARTEL_OK) artel__state_store(r->model->weights, index, plain);
    return status;
}

static artel_status read_weights(artel_model *model, const char *folder)
{
    reader r = {.model = model};
    ARTEL_TRY(artel__checkpoint_open(model->ctx, folder, &r.tensors));
    artel_status status = artel__model_visit(model->nn, read_variable, &r);
    artel__checkpoint_close(&r.tensors);
    return status;
}

/* Of a checkpoint that is known already: only whether it is the last one may have changed. */
static artel_status read_manifest(artel_context *ctx, const char *directory, int64_t step, json_t **out)
{
    char path[4300];
    snprintf(path, sizeof path, "%s/ckpt-%lld/manifest.json", directory, (long long)step);
    return artel__file_exists(path) ? artel__json_load_file(ctx, path, out) : ARTEL_OK; /* it is being replaced */
}

artel_status artel_model_read_checkpoint(artel_model *model, const char *directory, int64_t newer_than, artel_checkpoint_info *out)
{
    int64_t newest;
    char *folder = NULL;
    json_t *manifest = NULL;
    ARTEL_TRY(artel__enter(model ? model->ctx : NULL, __func__, "model directory out", model, directory, out));
    *out = (artel_checkpoint_info){.step = -1};
    ARTEL_TRY(artel__checkpoint_newest(model->ctx, directory, &newest));
    if (newest < 0) return ARTEL_OK;
    artel_status status = newest > newer_than ? artel__checkpoint_find(model->ctx, directory, &folder, &manifest)
                                              : read_manifest(model->ctx, directory, newest, &manifest);
    if (manifest) {
        out->step = json_integer_value(json_object_get(manifest, "step"));
        out->epoch = json_integer_value(json_object_get(manifest, "epoch"));
        out->finished = json_is_true(json_object_get(manifest, "finished"));
        if (out->step > newer_than) status = read_weights(model, folder);
    }
    json_decref(manifest);
    artel__free(model->ctx, folder);
    return status;
}
