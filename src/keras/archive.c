/* SPDX-License-Identifier: Apache-2.0 */
/* `.keras`: a zip archive, or a directory with the same names: metadata.json, config.json, model.weights.h5.
 *
 * Of metadata.json only the version of Keras is looked at; vocabularies among the assets go into the record (assets.c);
 * others are passed over.
 */
#include <stdio.h>

#include "base/file.h"
#include "base/json_parse.h"
#include "base/zip.h"
#include "keras/assets.h"
#include "keras/load.h"

static artel_status missing(artel_context *ctx, const char *path, const char *name)
{
    if (artel__is_directory(path))
        return artel__fail(ctx, ARTEL_ERROR_CORRUPT, path,
                           "name the model's file; checkpoints of a run are named by .checkpoint_dir",
                           "%s is missing; this directory is no unpacked .keras file", name);
    return artel__fail(ctx, ARTEL_ERROR_CORRUPT, path,
                       artel__ends_with(path, ".npz") ? "name a .keras, .weights.h5, .h5 or .safetensors file"
                                                      : "save the model again with Keras",
                       "%s is missing; this is no .keras file", name);
}

static artel_status read_config(artel__zip *zip, const char *path, json_t **out)
{
    const artel__zip_member *member = artel__zip_find(zip, "config.json");
    artel__zip_content content;
    if (!member && artel__zip_find(zip, "saved_model.pb"))
        return artel__fail(zip->ctx, ARTEL_ERROR_UNSUPPORTED, path,
                           "load it in Keras 2 and save the model as .h5 or .keras",
                           "this is a SavedModel of TensorFlow, which artel does not read");
    if (!member) return missing(zip->ctx, path, "config.json");
    ARTEL_TRY(artel__zip_extract(zip, member, ARTEL__JSON_MAX_SIZE, &content));
    char where[512];
    snprintf(where, sizeof where, "%s: config.json", path);
    artel_status status = artel__json_load(zip->ctx, where, (const char *)content.bytes, content.size, out);
    artel__zip_release(zip, &content);
    return status;
}

/* Keras does not read it; what is no JSON says nothing. */
static artel_status read_metadata(artel__zip *zip, const char *path, json_t **out)
{
    const artel__zip_member *member = artel__zip_find(zip, "metadata.json");
    artel__zip_content content;
    if (!member) return ARTEL_OK;
    ARTEL_TRY(artel__zip_extract(zip, member, ARTEL__JSON_MAX_SIZE, &content));
    artel__json_answer answer = artel__json_parse((const char *)content.bytes, content.size, false, out);
    artel__zip_release(zip, &content);
    return answer == ARTEL__JSON_NO_MEMORY ? artel__fail_memory(zip->ctx, path, 0) : ARTEL_OK;
}

static artel_status read_weights(artel__zip *zip, const char *path, artel__keras_archive *archive)
{
    const artel__zip_member *member = artel__zip_find(zip, "model.weights.h5");
    artel__zip_content content;
    if (!member && artel__zip_find(zip, "model.weights.npz"))
        return artel__fail(zip->ctx, ARTEL_ERROR_UNSUPPORTED, path,
                           "save it with weights_format=\"h5\", Keras' default",
                           "the weights are in model.weights.npz, which holds pickled Python objects");
    if (!member) return missing(zip->ctx, path, "model.weights.h5");
    ARTEL_TRY(artel__zip_extract(zip, member, 0, &content));
    artel_status status = artel__h5_read(&archive->arena, path, content.bytes, content.size, &archive->weights);
    artel__zip_release(zip, &content);
    return status;
}

artel_status artel__keras_archive_open(artel_context *ctx, const char *path, bool with_config,
                                       artel__keras_archive *out)
{
    artel__zip zip = {0};
    artel__keras_archive archive = {.config = NULL};
    artel__arena_init(&archive.arena, ctx);
    artel_status status = artel__zip_open(ctx, path, &zip);
    if (status == ARTEL_OK && with_config) status = read_config(&zip, path, &archive.config);
    if (status == ARTEL_OK && with_config) status = read_metadata(&zip, path, &archive.metadata);
    if (status == ARTEL_OK) status = read_weights(&zip, path, &archive);
    if (status == ARTEL_OK && with_config)
        status = artel__keras_attach_assets(&zip, path, archive.config, archive.weights.root);
    artel__zip_close(&zip);
    if (status < 0) {
        artel__keras_archive_close(&archive);
        return status;
    }
    *out = archive;
    return ARTEL_OK;
}

void artel__keras_archive_close(artel__keras_archive *archive)
{
    if (!archive->arena.ctx) return;
    json_decref(archive->config);
    json_decref(archive->metadata);
    artel__h5_close(&archive->weights);
    artel__arena_fini(&archive->arena);
    *archive = (artel__keras_archive){.config = NULL};
}
