/* SPDX-License-Identifier: Apache-2.0 */
/* The weights of a run's newest checkpoint, for whoever evaluates the run from beside it. */
#include "base/argument.h"
#include "keras/model.h"
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
    const void *plain;
    char *name;
    ARTEL_TRY(artel__checkpoint_name(r->model->ctx, "", variable->path, &name));
    artel_status status = artel__checkpoint_variable(&r->tensors, name, declared, &plain);
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

artel_status artel_model_read_checkpoint(artel_model *model, const char *directory, int64_t newer_than,
                                         artel_checkpoint_info *out)
{
    char *folder = NULL;
    json_t *manifest = NULL;
    ARTEL_TRY(artel__enter(model ? model->ctx : NULL, __func__, "model directory out", model, directory, out));
    artel_status status = artel__checkpoint_newer(model->ctx, directory, newer_than, out, &folder, &manifest);
    if (status == ARTEL_OK && out->step > newer_than) status = read_weights(model, folder);
    json_decref(manifest);
    artel__free(model->ctx, folder);
    return status;
}
