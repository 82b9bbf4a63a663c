/* SPDX-License-Identifier: Apache-2.0 */
/* Loading models and weights: the content of a file decides what it is, not its name. */
#include "keras/load.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/argument.h"
#include "base/foreign.h"
#include "base/json.h"
#include "keras/onnx_import.h"
#include "keras/policy.h"
#include "keras/tf_checkpoint.h"
#include "keras/translate.h"

static artel_status no_model(artel_context *ctx, const char *path, const uint8_t *bytes, size_t count)
{
    if (count) ARTEL_TRY(artel__check_foreign(ctx, path, bytes, count));
    return artel__fail(ctx, ARTEL_ERROR_CORRUPT, path, "give a .keras or .h5 file, or the text of model.to_json()",
                       count ? "this is no Keras model" : "the file is empty");
}

/* TensorFlow's checkpoints are several files, known by their names. */
static artel_status is_checkpoint(artel_context *ctx, const char *path, bool *out)
{
    artel__arena arena;
    const char *prefix;
    artel__arena_init(&arena, ctx);
    artel_status status = artel__tf_checkpoint_find(&arena, path, &prefix);
    *out = status == ARTEL_OK && prefix;
    artel__arena_fini(&arena);
    return status;
}

artel_status artel__keras_sniff(artel_context *ctx, const char *path, artel__keras_kind *out)
{
    artel__mapping file;
    bool checkpoint;
    ARTEL_TRY(is_checkpoint(ctx, path, &checkpoint));
    if (checkpoint || artel__is_directory(path)) {
        *out = checkpoint ? ARTEL__KERAS_TF_CHECKPOINT : ARTEL__KERAS_ARCHIVE;
        return ARTEL_OK;
    }
    ARTEL_TRY(artel__map_file(ctx, path, &file));
    const uint8_t *b = file.bytes;
    size_t n = file.size, text = 0;
    while (text < n && text < 64 && isspace(b[text])) text++;
    artel_status status = ARTEL_OK;
    if (n >= 4 && (memcmp(b, "PK\3\4", 4) == 0 || memcmp(b, "PK\5\6", 4) == 0))
        *out = ARTEL__KERAS_ARCHIVE;
    else if (n && artel__h5_is_h5(b, n))
        *out = ARTEL__KERAS_WEIGHTS;
    else if (n > 9 && b[8] == '{' && b[6] == 0 && b[7] == 0)
        *out = ARTEL__KERAS_SAFETENSORS;
    else if (text < n && b[text] == '{')
        *out = ARTEL__KERAS_JSON;
    else if (n && artel__onnx_is(b, n))
        *out = ARTEL__KERAS_ONNX;
    else if (n && artel__ends_with(path, ".keras"))
        *out = ARTEL__KERAS_ARCHIVE; /* damaged: let its reader say how */
    else if (artel__ends_with(path, ".onnx"))
        *out = ARTEL__KERAS_ONNX; /* likewise */
    else
        status = no_model(ctx, path, b, n);
    artel__unmap_file(&file);
    return status;
}

typedef struct made_with {
    const char *policy;  /* NULL, or the dtype policy that the model gets instead of its own */
    const char *version; /* of Keras, as the file says it beside the record; NULL: it does not */
} made_with;

/* A model from a record that may be of an older form; takes the record's compile settings out of it. */
static artel_status make_model(artel_context *ctx, const char *path, made_with with, json_t *record, artel_model **out)
{
    if (!json_is_object(record) || !json_object_get(record, "class_name"))
        return artel__fail(ctx, ARTEL_ERROR_CORRUPT, path, "give the text of model.to_json() or a file of model.save()",
                           "the JSON is not the record of a Keras model");
    ARTEL_TRY(artel__keras_translate_model(ctx, path, with.version, record));
    if (with.policy) ARTEL_TRY(artel__keras_set_policy(ctx, record, with.policy));
    json_t *compile = json_incref(json_object_get(record, "compile_config"));
    json_object_del(record, "compile_config");
    artel_status status = json_is_object(compile) ? artel__keras_translate_compile(ctx, path, compile) : ARTEL_OK;
    if (status == ARTEL_OK) status = artel__keras_from_record(ctx, path, record, out);
    if (status == ARTEL_OK && json_is_object(compile) && json_object_size(compile) > 0)
        (*out)->compile_config = json_incref(compile);
    if (status == ARTEL_OK) status = artel__keras_scale_loss(*out);
    json_decref(compile);
    return status;
}

static artel_status load_archive(artel_context *ctx, const char *path, const char *policy, artel_model **out)
{
    artel__keras_archive archive;
    artel_model *model = NULL;
    ARTEL_TRY(artel__keras_archive_open(ctx, path, true, &archive));
    const made_with with = {policy, json_string_value(json_object_get(archive.metadata, "keras_version"))};
    artel_status status = make_model(ctx, path, with, archive.config, &model);
    if (status == ARTEL_OK) status = artel__keras_load_tree(model, path, archive.weights.root, &model->optimizer);
    artel__keras_archive_close(&archive);
    if (status == ARTEL_OK)
        *out = model;
    else
        artel_model_destroy(model);
    return status;
}

/* JSON kept in an attribute of the root; *out is NULL when there is none. */
static artel_status read_attribute(artel_context *ctx, const char *path, const artel__h5_node *root, const char *name,
                                   json_t **out)
{
    const char *text = artel__h5_attribute_text(root, name);
    char where[512];
    *out = NULL;
    if (!text) return ARTEL_OK;
    snprintf(where, sizeof where, "%s: %s", path, name);
    return artel__json_load(ctx, where, text, strlen(text), out);
}

static artel_status load_legacy_optimizer(artel_model *model, const char *path, const artel__h5_node *root)
{
    const artel__h5_node *group = artel__h5_child(root, "optimizer_weights");
    size_t count;
    artel__arena arena;
    artel__arena_init(&arena, model->ctx);
    const char *const *names = artel__keras_names(&arena, group ? group : root, "weight_names", &count);
    artel_status status = names ? ARTEL_OK : ARTEL_ERROR_NO_MEMORY;
    for (size_t i = 0; group && i < count && status == ARTEL_OK; i++) {
        const artel__h5_node *node = artel__h5_find(group, names[i]);
        if (!node) {
            artel__log(model->ctx, ARTEL_LOG_WARNING,
                       "%s: the optimizer's variable %s is missing; training starts without its state", path, names[i]);
            artel__saved_optimizer_fini(model->ctx, &model->optimizer);
            break;
        }
        status = artel__keras_add_saved(model->ctx, &model->optimizer, path, node);
    }
    artel__arena_fini(&arena);
    return status;
}

static artel_status fill_legacy(artel_model *model, const char *path, const artel__h5_node *root)
{
    json_t *training;
    const artel__h5_node *weights = artel__h5_child(root, "model_weights");
    if (!weights)
        return artel__fail(model->ctx, ARTEL_ERROR_CORRUPT, path, "save the model again with Keras",
                           "the group model_weights is missing");
    ARTEL_TRY(artel__keras_load_layers(model, path, weights));
    ARTEL_TRY(read_attribute(model->ctx, path, root, "training_config", &training));
    if (!json_is_object(training)) {
        json_decref(training);
        return ARTEL_OK;
    }
    artel_status status = artel__keras_translate_training(model->ctx, path, training, &model->compile_config);
    json_decref(training);
    return status < 0 ? status : load_legacy_optimizer(model, path, root);
}

static artel_status load_h5(artel_context *ctx, const char *path, const char *policy, artel_model **out)
{
    artel__arena arena;
    artel__h5_file file = {.ctx = NULL};
    json_t *record = NULL;
    artel_model *model = NULL;
    artel__arena_init(&arena, ctx);
    artel_status status = artel__h5_read_file(&arena, path, &file);
    if (status == ARTEL_OK) status = read_attribute(ctx, path, file.root, "model_config", &record);
    if (status == ARTEL_OK && !record)
        status = artel__fail(ctx, ARTEL_ERROR_INVALID, path,
                             "give the model's .keras file or its JSON, and these as its weights",
                             "the file holds weights only, no architecture");
    if (status == ARTEL_OK) {
        const made_with with = {policy, artel__h5_attribute_text(file.root, "keras_version")};
        status = make_model(ctx, path, with, record, &model);
    }
    if (status == ARTEL_OK) status = fill_legacy(model, path, file.root);
    json_decref(record);
    artel__h5_close(&file);
    artel__arena_fini(&arena);
    if (status == ARTEL_OK)
        *out = model;
    else
        artel_model_destroy(model);
    return status;
}

static artel_status load_json(artel_context *ctx, const char *path, const char *policy, artel_model **out)
{
    json_t *record;
    ARTEL_TRY(artel__json_load_file(ctx, path, &record));
    artel_status status = make_model(ctx, path, (made_with){.policy = policy}, record, out);
    json_decref(record);
    return status;
}

static artel_status load_as(artel_context *ctx, const char *path, const char *policy, artel_model **out)
{
    artel__keras_kind kind;
    ARTEL_TRY(artel__keras_sniff(ctx, path, &kind));
    if (kind == ARTEL__KERAS_ARCHIVE) return load_archive(ctx, path, policy, out);
    if (kind == ARTEL__KERAS_JSON) return load_json(ctx, path, policy, out);
    if (kind == ARTEL__KERAS_WEIGHTS) return load_h5(ctx, path, policy, out);
    if (kind == ARTEL__KERAS_ONNX && policy)
        return artel__fail(ctx, ARTEL_ERROR_UNSUPPORTED, path, "convert it to a .keras file first",
                           "an ONNX model is read as it is, without another dtype policy");
    if (kind == ARTEL__KERAS_ONNX) return artel__keras_load_onnx(ctx, path, out);
    return artel__fail(ctx, ARTEL_ERROR_INVALID, path,
                       "give the model's .keras file or its JSON, and these as its weights",
                       "the file holds weights only, no architecture");
}

artel_status artel__keras_load(artel_context *ctx, const char *path, artel_model **out)
{
    return load_as(ctx, path, NULL, out);
}

/* -- weights alone -- */

artel_status artel__keras_load_tree_weights(artel_model *model, const char *path, const artel__h5_node *root)
{
    artel__saved_optimizer saved = {.count = 0};
    artel_status status = artel__keras_load_tree(model, path, root, &saved);
    if (status == ARTEL_OK && saved.count > 0) {
        artel__saved_optimizer_fini(model->ctx, &model->optimizer);
        model->optimizer = saved;
    } else {
        artel__saved_optimizer_fini(model->ctx, &saved);
    }
    return status;
}

static artel_status load_h5_weights(artel_model *model, const char *path)
{
    artel__arena arena;
    artel__h5_file file = {.ctx = NULL};
    artel__arena_init(&arena, model->ctx);
    artel_status status = artel__h5_read_file(&arena, path, &file);
    if (status == ARTEL_OK && artel__keras_is_legacy(file.root)) {
        const artel__h5_node *group = artel__h5_child(file.root, "model_weights");
        status = artel__keras_load_layers(model, path, group ? group : file.root);
    } else if (status == ARTEL_OK) {
        status = artel__keras_load_tree_weights(model, path, file.root);
    }
    artel__h5_close(&file);
    artel__arena_fini(&arena);
    return status;
}

static artel_status load_archive_weights(artel_model *model, const char *path)
{
    artel__keras_archive archive;
    ARTEL_TRY(artel__keras_archive_open(model->ctx, path, false, &archive));
    artel_status status = artel__keras_load_tree(model, path, archive.weights.root, NULL);
    artel__keras_archive_close(&archive);
    return status;
}

artel_status artel__keras_load_weights(artel_model *model, const char *path)
{
    artel__keras_kind kind;
    ARTEL_TRY(artel__keras_sniff(model->ctx, path, &kind));
    switch (kind) {
    case ARTEL__KERAS_ARCHIVE: return load_archive_weights(model, path);
    case ARTEL__KERAS_SAFETENSORS: return artel__safetensors_load(model, path);
    case ARTEL__KERAS_WEIGHTS: return load_h5_weights(model, path);
    case ARTEL__KERAS_TF_CHECKPOINT: return artel__tf_checkpoint_load(model, path);
    case ARTEL__KERAS_ONNX:
        return artel__fail(model->ctx, ARTEL_ERROR_UNSUPPORTED, path, "convert it to a .keras file",
                           "weights are not taken out of an ONNX model");
    default: return artel__keras_load_shards(model, path);
    }
}

artel_status artel_model_load(artel_context *context, const char *path, artel_model **out)
{
    ARTEL_TRY(artel__enter(context, __func__, "context path out", context, path, out));
    return artel__keras_load(context, path, out);
}

artel_status artel_model_load_with_policy(artel_context *context, const char *path, const char *policy,
                                          artel_model **out)
{
    artel_model *model = NULL;
    ARTEL_TRY(artel__enter(context, __func__, "context path policy out", context, path, policy, out));
    artel_status status = load_as(context, path, policy, &model);
    if (status == ARTEL_OK) status = artel__keras_unscale_loss(model);
    if (status == ARTEL_OK) status = artel__keras_scale_loss(model);
    if (status < 0) {
        artel_model_destroy(model);
        return status;
    }
    *out = model;
    return ARTEL_OK;
}

artel_status artel_model_load_weights(artel_model *model, const char *path)
{
    ARTEL_TRY(artel__enter(model ? model->ctx : NULL, __func__, "model path", model, path));
    return artel__keras_load_weights(model, path);
}
