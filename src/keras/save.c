/* SPDX-License-Identifier: Apache-2.0 */
/* Saving models: the ending of the name says the format. Files appear whole or not at all, and equal models give equal
 * files. */
#include "keras/save.h"

#include <stdio.h>
#include <string.h>

#include "base/argument.h"
#include "base/json.h"
#include "base/zip.h"
#include "keras/load.h"
#include "keras/onnx.h"
#include "nn/optimizer.h"

/* -- records -- */

/* The learning rate that the optimizer's state holds, when it is a number there. */
static bool saved_rate(const artel_model *model, double *out)
{
    const artel__saved_optimizer *optimizer = &model->optimizer;
    int place =
        artel__optimizer_inner(json_object_get(model->compile_config, "optimizer")) ? ARTEL__KERAS_INNER_STATE + 1 : 1;
    if (optimizer->count <= place) return false;
    const artel__saved_array *array = &optimizer->array[place];
    bool wide = array->dtype == ARTEL_DTYPE_FLOAT64;
    if ((array->dtype != ARTEL_DTYPE_FLOAT32 && !wide) || array->shape.rank != 0) return false;
    float rate;
    memcpy(wide ? (void *)out : &rate, array->data, wide ? sizeof *out : sizeof rate);
    if (!wide) *out = rate;
    return true;
}

json_t *artel__keras_compile_record(const artel_model *model)
{
    double rate, old;
    if (!model->compile_config) return NULL;
    json_t *compile = artel__json_copy(model->compile_config);
    if (compile && model->optimizer.record && json_object_set(compile, "optimizer", model->optimizer.record) < 0) {
        json_decref(compile);
        return NULL;
    }
    json_t *optimizer = json_object_get(compile, "optimizer");
    json_t *inner = artel__optimizer_inner(optimizer), *config = json_object_get(inner ? inner : optimizer, "config");
    if (!compile || !artel__json_number(json_object_get(config, "learning_rate"), &old) || !saved_rate(model, &rate) ||
        rate == old)
        return compile;
    optimizer = artel__json_copy_deep(optimizer);
    if (!optimizer) {
        json_decref(compile);
        return NULL;
    }
    inner = artel__optimizer_inner(optimizer);
    config = json_object_get(inner ? inner : optimizer, "config");
    bool set = config && json_object_set_new(config, "learning_rate", artel__json_real(rate)) == 0 &&
               json_object_set(compile, "optimizer", optimizer) == 0;
    json_decref(optimizer);
    if (set) return compile;
    json_decref(compile);
    return NULL;
}

json_t *artel__keras_full_record(const artel_model *model)
{
    json_t *record = artel__json_copy(model->nn->record);
    if (!record || !model->compile_config) return record;
    json_t *compile = artel__keras_compile_record(model);
    if (compile && json_object_set(record, "compile_config", compile) == 0) {
        json_decref(compile);
        return record;
    }
    json_decref(compile);
    json_decref(record);
    return NULL;
}

const char *artel__keras_optimizer_name(const artel_model *model)
{
    json_t *optimizer = json_object_get(model->compile_config, "optimizer");
    const char *name = json_string_value(json_object_get(json_object_get(optimizer, "config"), "name"));
    if (!name) name = json_string_value(optimizer);
    return name && *name && !strchr(name, '/') ? name : "optimizer";
}

/* -- formats -- */

static artel_status dump_record(const artel_model *model, char **out)
{
    json_t *record = artel__keras_full_record(model);
    if (!record) return artel__fail_memory(model->ctx, "the model's record", 0);
    artel_status status = artel__json_dump_string(model->ctx, record, ARTEL__JSON_PYTHON, out);
    json_decref(record);
    return status;
}

static artel_status save_json(const artel_model *model, const char *path)
{
    char *text;
    ARTEL_TRY(dump_record(model, &text));
    artel_status status = artel__write_file(model->ctx, path, text, strlen(text));
    artel__free(model->ctx, text);
    return status;
}

typedef artel_status build_fn(const artel_model *model, artel__arena *arena, artel__h5_node **out);

static artel_status make_h5(const artel_model *model, const char *path, build_fn *build, artel__mapping *out)
{
    artel__arena arena;
    artel__h5_node *root;
    artel__arena_init(&arena, model->ctx);
    artel_status status = build(model, &arena, &root);
    if (status == ARTEL_OK) status = artel__arena_status(&arena);
    if (status == ARTEL_ERROR_NO_MEMORY) artel__fail_memory(model->ctx, path, 0);
    if (status == ARTEL_OK) status = artel__h5_write(model->ctx, path, root, out);
    artel__arena_fini(&arena);
    return status;
}

static artel_status save_h5(const artel_model *model, const char *path, build_fn *build)
{
    artel__mapping bytes;
    ARTEL_TRY(make_h5(model, path, build, &bytes));
    artel_status status = artel__write_file(model->ctx, path, bytes.bytes, bytes.size);
    artel__h5_release(&bytes);
    return status;
}

static artel_status write_archive(artel__zip_writer *zip, const char *config, const artel__mapping *weights)
{
    static const char metadata[] =
        "{\"keras_version\": \"" ARTEL__KERAS_VERSION "\", \"date_saved\": \"" ARTEL__KERAS_DATE "\"}";
    ARTEL_TRY(artel__zip_add(zip, "metadata.json", metadata, sizeof metadata - 1));
    ARTEL_TRY(artel__zip_add(zip, "config.json", config, strlen(config)));
    return artel__zip_add(zip, "model.weights.h5", weights->bytes, weights->size);
}

static artel_status save_archive(const artel_model *model, const char *path)
{
    char *config;
    artel__mapping weights;
    artel__zip_writer zip;
    ARTEL_TRY(dump_record(model, &config));
    artel_status status = make_h5(model, path, artel__keras_build_tree, &weights);
    if (status < 0) goto undo_config;
    status = artel__zip_create(model->ctx, path, &zip);
    if (status < 0) goto undo_weights;
    status = write_archive(&zip, config, &weights);
    if (status == ARTEL_OK)
        status = artel__zip_commit(&zip);
    else
        artel__zip_abandon(&zip);
undo_weights:
    artel__h5_release(&weights);
undo_config:
    artel__free(model->ctx, config);
    return status;
}

static artel_status save_as(const artel_model *model, const char *path)
{
    if (artel__ends_with(path, ".keras")) return save_archive(model, path);
    if (artel__ends_with(path, ".weights.h5")) return save_h5(model, path, artel__keras_build_tree);
    if (artel__ends_with(path, ".h5") || artel__ends_with(path, ".hdf5"))
        return save_h5(model, path, artel__keras_build_legacy);
    if (artel__ends_with(path, ".safetensors")) return artel__safetensors_save(model, path);
    if (artel__ends_with(path, ".onnx")) return artel__onnx_save(model, path);
    return artel__fail(model->ctx, ARTEL_ERROR_INVALID, path,
                       "end the name in .keras, .weights.h5, .h5, .json, .safetensors or .onnx",
                       "the ending does not say a format");
}

/* A model that nobody has used yet is saved with the weights of seed 0. */
static artel_status save_fresh(const artel_model *model, const char *path)
{
    artel_model fresh = *model;
    ARTEL_TRY(artel__state_create(model->ctx, model->nn->variables, &fresh.weights));
    artel_status status = artel__keras_initialise(&fresh, 0);
    if (status == ARTEL_OK) status = save_as(&fresh, path);
    artel__state_destroy(fresh.weights);
    return status;
}

artel_status artel__keras_save(const artel_model *model, const char *path)
{
    if (artel__ends_with(path, ".json")) return save_json(model, path);
    return model->initialised ? save_as(model, path) : save_fresh(model, path);
}

artel_status artel_model_save(const artel_model *model, const char *path)
{
    ARTEL_TRY(artel__enter(model ? model->ctx : NULL, __func__, "model path", model, path));
    return artel__keras_save(model, path);
}
