/* SPDX-License-Identifier: Apache-2.0 */
/* Freezing of layers by their names: as `layer.trainable = False` before compile(). */
#include <fnmatch.h>

#include "artel/model.h"
#include "base/argument.h"
#include "keras/model.h"
#include "nn/model.h"

enum {
    DEEPEST = 64 /* models in models */
};

/* And all that is in it, as Keras' setter does: a normalisation inside of a frozen model uses its moving statistics. */
static artel_status freeze_layer(artel_context *ctx, artel__layer *layer, int depth)
{
    json_t *config = json_object_get(layer->record, "config");
    layer->trainable = false;
    if (config && json_object_set_new(config, "trainable", json_false()) < 0)
        return artel__fail_memory(ctx, layer->name, 64);
    for (int i = 0; i < layer->child_count && depth < DEEPEST; i++)
        ARTEL_TRY(freeze_layer(ctx, layer->child[i].layer, depth + 1));
    for (int i = 0; layer->model && i < layer->model->layers && depth < DEEPEST; i++)
        ARTEL_TRY(freeze_layer(ctx, layer->model->layer[i], depth + 1));
    return ARTEL_OK;
}

static artel_status freeze(artel_context *ctx, const artel__model *model, const char *pattern, int depth, int *found)
{
    for (int i = 0; i < model->layers; i++) {
        artel__layer *layer = model->layer[i];
        if (fnmatch(pattern, layer->name, 0) == 0) {
            ARTEL_TRY(freeze_layer(ctx, layer, depth));
            ++*found;
        } else if (layer->model && depth < DEEPEST) {
            ARTEL_TRY(freeze(ctx, layer->model, pattern, depth + 1, found));
        }
    }
    return ARTEL_OK;
}

artel_status artel_model_freeze(artel_model *model, const char *pattern)
{
    int found = 0;
    ARTEL_TRY(artel__enter(model ? model->ctx : NULL, __func__, "model pattern", model, pattern));
    ARTEL_TRY(freeze(model->ctx, model->nn, pattern, 0, &found));
    if (found == 0)
        return artel__fail(model->ctx, ARTEL_ERROR_INVALID, pattern, "see the names with: artel summary MODEL",
                           "no layer of the model has such a name");
    artel__saved_optimizer_fini(model->ctx, &model->optimizer);
    return ARTEL_OK;
}
