/* SPDX-License-Identifier: Apache-2.0 */
/* The digest of a model, from memory or from any file that holds its weights.
 *
 * Files that hold only weights do not know the order of layers, so arrays are taken in the byte order of their paths.
 * Floats of the model count as float32 and integers as int64, whatever they are in a file, as they are after loading: a
 * model and each of its files have the same digest.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/argument.h"
#include "base/hash.h"
#include "kernel/narrow.h"
#include "keras/load.h"
#include "keras/safetensors.h"

static int by_name(const void *a, const void *b)
{
    return strcmp(((const artel__keras_array *)a)->name, ((const artel__keras_array *)b)->name);
}

static void add_array(artel__sha256 *hash, const artel__keras_array *array)
{
    char shape[200];
    const char *type = artel_dtype_name(array->dtype);
    artel__shape_text(&array->shape, false, shape, sizeof shape);
    artel__sha256_update(hash, array->name, strlen(array->name));
    artel__sha256_update(hash, "\n", 1);
    artel__sha256_update(hash, type, strlen(type));
    artel__sha256_update(hash, "\n", 1);
    artel__sha256_update(hash, shape, strlen(shape));
    artel__sha256_update(hash, "\n", 1);
    artel__sha256_update(hash, array->data, (size_t)artel_shape_count(&array->shape) * artel_dtype_size(array->dtype));
}

static void hash_arrays(artel__keras_array *arrays, size_t count, char out[65])
{
    artel__sha256 hash;
    if (count) qsort(arrays, count, sizeof *arrays, by_name);
    artel__sha256_init(&hash);
    for (size_t i = 0; i < count; i++) add_array(&hash, &arrays[i]);
    artel__sha256_hex(&hash, out);
}

/* Arrays being collected. */
typedef struct gather {
    artel__arena *arena;
    artel__keras_array *array;
    size_t count, capacity;
    bool all;
} gather;

static artel_status gather_add(gather *g, const char *name, artel_dtype dtype, const artel_shape *shape,
                               const void *data)
{
    if (g->count == g->capacity) {
        size_t capacity = g->capacity ? g->capacity * 2 : 64;
        artel__keras_array *wider = artel__arena_alloc(g->arena, capacity, sizeof *wider);
        if (!wider) return ARTEL_ERROR_NO_MEMORY;
        if (g->count) memcpy(wider, g->array, g->count * sizeof *wider);
        g->array = wider;
        g->capacity = capacity;
    }
    g->array[g->count++] = (artel__keras_array){.name = name, .dtype = dtype, .shape = *shape, .data = data};
    return ARTEL_OK;
}

static bool belongs_to_optimizer(const char *name)
{
    return strncmp(name, "optimizer/", 10) == 0;
}

/* Whether float32 holds each of these doubles, which may lie at any address. */
static bool fits_float32(const void *data, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        double x;
        memcpy(&x, (const uint8_t *)data + (size_t)i * sizeof x, sizeof x);
        if (x == x && artel__round_to_float32(x) != x) return false;
    }
    return true;
}

/* An array of float64 counts as such where float32 does not hold it: the same numbers have the same digest in files of
 * either. */
static artel_dtype counted_as(const artel__keras_array *array, int64_t count)
{
    artel_dtype dtype = array->dtype;
    if (dtype == ARTEL_DTYPE_FLOAT64) return fits_float32(array->data, count) ? ARTEL_DTYPE_FLOAT32 : dtype;
    bool real = dtype == ARTEL_DTYPE_FLOAT16 || dtype == ARTEL_DTYPE_BFLOAT16 || dtype == ARTEL_DTYPE_FLOAT32;
    return real ? ARTEL_DTYPE_FLOAT32 : ARTEL_DTYPE_INT64;
}

/* The model's own arrays are converted, the optimizer's stay. */
static artel_status gather_convert(gather *g, const char *name, const artel__keras_array *array)
{
    bool state = belongs_to_optimizer(name);
    if (state && !g->all) return ARTEL_OK;
    int64_t count = artel_shape_count(&array->shape);
    artel_dtype dtype = state ? array->dtype : counted_as(array, count);
    size_t size = artel_dtype_size(array->dtype);
    if (dtype == array->dtype) return gather_add(g, name, dtype, &array->shape, array->data);
    void *aligned = artel__arena_alloc(g->arena, (size_t)count + 1, size);
    void *data = artel__arena_alloc(g->arena, (size_t)count + 1, artel_dtype_size(dtype));
    if (!aligned || !data) return ARTEL_ERROR_NO_MEMORY;
    if (count) memcpy(aligned, array->data, (size_t)count * size);
    artel__convert(array->dtype, aligned, dtype, data, count);
    return gather_add(g, name, dtype, &array->shape, data);
}

/* -- a model -- */

static artel_status gather_model(gather *g, const artel_model *model)
{
    artel__keras_variables list;
    ARTEL_TRY(artel__keras_variables_list(model->nn, g->arena, &list));
    for (int i = 0; i < list.count; i++) {
        const artel__variable *variable = artel__keras_variable_of(model, &list.item[i]);
        void *data = artel__keras_fetch(model, g->arena, &list.item[i]);
        if (!data) return ARTEL_ERROR_NO_MEMORY;
        artel__keras_array array = {.dtype = variable->dtype, .shape = variable->shape, .data = data};
        ARTEL_TRY(gather_convert(g, list.item[i].path, &array));
    }
    for (int i = 0; g->all && i < model->optimizer.count; i++) {
        const artel__saved_array *array = &model->optimizer.array[i];
        const char *name = artel__arena_printf(g->arena, "optimizer/vars/%d", i);
        if (!name) return ARTEL_ERROR_NO_MEMORY;
        ARTEL_TRY(gather_add(g, name, array->dtype, &array->shape, array->data));
    }
    return ARTEL_OK;
}

artel_status artel__keras_digest(const artel_model *model, bool all, char out[65])
{
    artel__arena arena;
    artel__arena_init(&arena, model->ctx);
    gather g = {.arena = &arena, .all = all};
    artel_status status = ARTEL_OK;
    if (!model->initialised)
        status = artel__fail(model->ctx, ARTEL_ERROR_INVALID, model->source, "train it, or give it weights first",
                             "the model has an architecture and no weights, hence no digest");
    if (status == ARTEL_OK) status = gather_model(&g, model);
    if (status == ARTEL_OK) hash_arrays(g.array, g.count, out);
    artel__arena_fini(&arena);
    return status;
}

artel_status artel_model_digest(const artel_model *model, char out[65])
{
    ARTEL_TRY(artel__enter(model ? model->ctx : NULL, __func__, "model out", model, out));
    return artel__keras_digest(model, false, out);
}

/* -- a file -- */

/* Datasets of the groups `vars`; random states, which older versions of Keras saved, are no weights, and neither are
 * constants. */
static artel_status gather_tree(gather *g, const artel__h5_node *node, const char *path)
{
    bool vars = strcmp(node->name, "vars") == 0;
    for (const artel__h5_node *child = node->first; child; child = child->next) {
        if (strncmp(child->name, "seed_generator", 14) == 0 || (vars && strcmp(child->name, "idf_weights") == 0))
            continue;
        const char *name = artel__arena_printf(g->arena, "%s%s%s", path, *path ? "/" : "", child->name);
        if (!name) return ARTEL_ERROR_NO_MEMORY;
        if (!child->is_dataset) ARTEL_TRY(gather_tree(g, child, name));
        if (!child->is_dataset || !vars || !child->readable || child->dtype == ARTEL_DTYPE_STRING) continue;
        artel__keras_array array = {.dtype = child->dtype, .shape = child->shape, .data = child->data};
        ARTEL_TRY(gather_convert(g, name, &array));
    }
    return ARTEL_OK;
}

static artel_status digest_archive(gather *g, const char *path, char out[65])
{
    artel__keras_archive archive;
    ARTEL_TRY(artel__keras_archive_open(g->arena->ctx, path, false, &archive));
    artel_status status = gather_tree(g, archive.weights.root, "");
    if (status == ARTEL_OK) hash_arrays(g->array, g->count, out);
    artel__keras_archive_close(&archive);
    return status;
}

/* Legacy files name variables their own way: only the model knows which is which. */
static artel_status digest_h5(gather *g, const char *path, char out[65])
{
    artel_context *ctx = g->arena->ctx;
    artel__h5_file file = {.ctx = NULL};
    artel_model *model = NULL;
    artel_status status = artel__h5_read_file(g->arena, path, &file);
    bool legacy = status == ARTEL_OK && artel__keras_is_legacy(file.root);
    if (status == ARTEL_OK && !legacy) status = gather_tree(g, file.root, "");
    if (status == ARTEL_OK && !legacy) hash_arrays(g->array, g->count, out);
    artel__h5_close(&file);
    if (legacy) status = artel__keras_load(ctx, path, &model);
    if (legacy && status == ARTEL_OK) status = artel__keras_digest(model, g->all, out);
    artel_model_destroy(model);
    return status;
}

static artel_status digest_safetensors(gather *g, const char *path, char out[65])
{
    artel__safetensors file;
    ARTEL_TRY(artel__safetensors_open(g->arena->ctx, path, &file));
    artel_status status = ARTEL_OK;
    for (size_t i = 0; i < file.count && status == ARTEL_OK; i++) {
        char *name = artel__arena_strdup(g->arena, file.tensor[i].array.name);
        for (char *c = name; c && *c; c++) {
            if (*c == '.') *c = '/';
        }
        status = name ? gather_convert(g, name, &file.tensor[i].array) : ARTEL_ERROR_NO_MEMORY;
    }
    if (status == ARTEL_OK) hash_arrays(g->array, g->count, out);
    artel__safetensors_close(&file);
    return status;
}

artel_status artel__keras_digest_file(artel_context *ctx, const char *path, bool all, char out[65])
{
    artel__keras_kind kind;
    artel__arena arena;
    ARTEL_TRY(artel__keras_sniff(ctx, path, &kind));
    artel__arena_init(&arena, ctx);
    gather g = {.arena = &arena, .all = all};
    artel_status status;
    switch (kind) {
    case ARTEL__KERAS_ARCHIVE: status = digest_archive(&g, path, out); break;
    case ARTEL__KERAS_SAFETENSORS: status = digest_safetensors(&g, path, out); break;
    case ARTEL__KERAS_JSON:
        status = artel__fail(ctx, ARTEL_ERROR_INVALID, path, "give a file with weights",
                             "the file holds an architecture and no weights");
        break;
    case ARTEL__KERAS_ONNX:
        status = artel__fail(ctx, ARTEL_ERROR_UNSUPPORTED, path, "convert it to .keras",
                             "weights of an ONNX model have no names in Keras");
        break;
    case ARTEL__KERAS_TF_CHECKPOINT:
        status = artel__fail(ctx, ARTEL_ERROR_UNSUPPORTED, path, "convert it to .keras with the model's architecture",
                             "a TensorFlow checkpoint does not say what is the model's in it");
        break;
    default: status = digest_h5(&g, path, out); break;
    }
    artel__arena_fini(&arena);
    return status;
}
