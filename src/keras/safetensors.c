/* SPDX-License-Identifier: Apache-2.0 */
/* safetensors: an exchange format for weights. Names are the paths of the weights tree with dots
 * ("layers.dense.vars.0").
 *
 * A file is an 8-byte little-endian length, a JSON header of that length, then the data. The header is checked as its
 * authors ask: data ranges lie within the file, match dtype and shape, and cover it without holes and overlaps.
 * Format: github.com/huggingface/safetensors, README.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "keras/load.h"
#include "keras/safetensors.h"

#define HEADER_MAX ((uint64_t)100 << 20)

static const struct {
    const char *name;
    artel_dtype dtype;
} dtypes[] = {{"F32", ARTEL_DTYPE_FLOAT32},   {"F64", ARTEL_DTYPE_FLOAT64}, {"F16", ARTEL_DTYPE_FLOAT16},
              {"BF16", ARTEL_DTYPE_BFLOAT16}, {"I8", ARTEL_DTYPE_INT8},     {"I16", ARTEL_DTYPE_INT16},
              {"I32", ARTEL_DTYPE_INT32},     {"I64", ARTEL_DTYPE_INT64},   {"U8", ARTEL_DTYPE_UINT8},
              {"U16", ARTEL_DTYPE_UINT16},    {"U32", ARTEL_DTYPE_UINT32},  {"U64", ARTEL_DTYPE_UINT64},
              {"BOOL", ARTEL_DTYPE_BOOL}};

static const char *dtype_name(artel_dtype dtype)
{
    for (size_t i = 0; i < ARTEL__COUNT(dtypes); i++) {
        if (dtypes[i].dtype == dtype) return dtypes[i].name;
    }
    return "?";
}

static bool find_dtype(const char *name, artel_dtype *out)
{
    for (size_t i = 0; name && i < ARTEL__COUNT(dtypes); i++) {
        if (strcmp(dtypes[i].name, name) != 0) continue;
        *out = dtypes[i].dtype;
        return true;
    }
    return false;
}

static artel_status broken(artel_context *ctx, const char *path, const char *name, const char *what)
{
    return artel__fail(ctx, ARTEL_ERROR_CORRUPT, path, "write the file again", "%s%s%s", name, *name ? ": " : "", what);
}

static uint64_t read_length(const uint8_t *bytes)
{
    uint64_t length = 0;
    for (int i = 7; i >= 0; i--) length = length << 8 | bytes[i];
    return length;
}

static artel_status read_shape(artel_context *ctx, const char *path, const char *name, json_t *json, artel_shape *out)
{
    size_t i;
    json_t *item;
    if (!json_is_array(json) || json_array_size(json) > ARTEL_MAX_RANK)
        return broken(ctx, path, name, "its shape is not a list of at most 8 numbers");
    *out = (artel_shape){.rank = 0};
    json_array_foreach(json, i, item)
    {
        if (!json_is_integer(item) || json_integer_value(item) < 0)
            return broken(ctx, path, name, "its shape is not a list of numbers");
        out->dim[out->rank++] = json_integer_value(item);
    }
    return ARTEL_OK;
}

static artel_status read_entry(artel__safetensors *file, const char *path, const char *name, json_t *json,
                               artel__safetensor *out)
{
    artel_context *ctx = file->arena.ctx;
    json_t *range = json_object_get(json, "data_offsets");
    const char *type = json_string_value(json_object_get(json, "dtype"));
    if (!find_dtype(type, &out->array.dtype)) {
        char what[128];
        snprintf(what, sizeof what, "the dtype %s cannot be read", type ? type : "(none)");
        return broken(ctx, path, name, what);
    }
    ARTEL_TRY(read_shape(ctx, path, name, json_object_get(json, "shape"), &out->array.shape));
    if (json_array_size(range) != 2 || !json_is_integer(json_array_get(range, 0)) ||
        !json_is_integer(json_array_get(range, 1)))
        return broken(ctx, path, name, "data_offsets are not two numbers");
    int64_t begin = json_integer_value(json_array_get(range, 0)), end = json_integer_value(json_array_get(range, 1));
    int64_t count = artel_shape_count(&out->array.shape), size = (int64_t)artel_dtype_size(out->array.dtype);
    if (begin < 0 || end < begin || (uint64_t)end > file->size)
        return broken(ctx, path, name, "its data lie outside of the file");
    if (count < 0 || count > INT64_MAX / 8 || count * size != end - begin)
        return broken(ctx, path, name, "dtype and shape do not match the size of its data");
    out->array.name = artel__arena_strdup(&file->arena, name);
    out->array.data = file->data + begin;
    out->begin = begin;
    out->end = end;
    return artel__arena_status(&file->arena);
}

static int by_offset(const void *a, const void *b)
{
    const artel__safetensor *x = a, *y = b;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    return (x->end > y->end) - (x->end < y->end);
}

static artel_status read_entries(artel__safetensors *file, const char *path, json_t *header)
{
    const char *name;
    json_t *item;
    if (!json_is_object(header)) return broken(file->arena.ctx, path, "", "the header is not a JSON object");
    file->tensor = artel__arena_alloc(&file->arena, json_object_size(header) + 1, sizeof *file->tensor);
    if (!file->tensor) return ARTEL_ERROR_NO_MEMORY;
    json_object_foreach(header, name, item)
    {
        if (strcmp(name, "__metadata__") == 0) continue;
        ARTEL_TRY(read_entry(file, path, name, item, &file->tensor[file->count]));
        file->count++;
    }
    qsort(file->tensor, file->count, sizeof *file->tensor, by_offset);
    int64_t at = 0;
    for (size_t i = 0; i < file->count; i++) {
        if (file->tensor[i].begin != at)
            return broken(file->arena.ctx, path, file->tensor[i].array.name,
                          "its data overlap with or leave a hole before others");
        at = file->tensor[i].end;
    }
    return (uint64_t)at == file->size ? ARTEL_OK
                                      : broken(file->arena.ctx, path, "", "the data do not end where the file does");
}

artel_status artel__safetensors_open(artel_context *ctx, const char *path, artel__safetensors *out)
{
    artel__safetensors file = {.count = 0};
    json_t *header = NULL;
    ARTEL_TRY(artel__map_file(ctx, path, &file.mapping));
    artel__arena_init(&file.arena, ctx);
    uint64_t length = file.mapping.size >= 8 ? read_length(file.mapping.bytes) : 0;
    artel_status status = ARTEL_OK;
    if (file.mapping.size < 10 || length > HEADER_MAX || length > file.mapping.size - 8 || file.mapping.bytes[8] != '{')
        status = broken(ctx, path, "", "this is no safetensors file, or it is truncated");
    if (status == ARTEL_OK) {
        file.data = file.mapping.bytes + 8 + length;
        file.size = file.mapping.size - 8 - length;
        status = artel__json_load(ctx, path, (const char *)file.mapping.bytes + 8, (size_t)length, &header);
    }
    if (status == ARTEL_OK) status = read_entries(&file, path, header);
    json_decref(header);
    if (status < 0) {
        artel__safetensors_close(&file);
        return status;
    }
    *out = file;
    return ARTEL_OK;
}

void artel__safetensors_close(artel__safetensors *file)
{
    if (!file->arena.ctx) return;
    artel__arena_fini(&file->arena);
    if (file->mapping.bytes) artel__unmap_file(&file->mapping);
    *file = (artel__safetensors){.count = 0};
}

/* "layers/dense/vars/0" -> "layers.dense.vars.0". */
static char *dotted(artel__arena *arena, const char *path)
{
    char *name = artel__arena_strdup(arena, path);
    for (char *c = name; c && *c; c++) {
        if (*c == '/') *c = '.';
    }
    return name;
}

static artel_status load_all(artel_model *model, const char *path, artel__safetensors *file, artel__state *state)
{
    artel__keras_variables list;
    ARTEL_TRY(artel__keras_variables_list(model->nn, &file->arena, &list));
    for (int i = 0; i < list.count; i++) {
        const artel__keras_array *found = NULL;
        char *name = dotted(&file->arena, list.item[i].path);
        if (!name) return ARTEL_ERROR_NO_MEMORY;
        for (size_t k = 0; k < file->count && !found; k++) {
            if (strcmp(file->tensor[k].array.name, name) == 0) found = &file->tensor[k].array;
        }
        if (!found)
            return artel__fail(
                model->ctx, ARTEL_ERROR_INVALID, path, "these weights belong to another model: check the architecture",
                "%s (%s of layer \"%s\") is missing", name, list.item[i].variable->name, list.item[i].layer->name);
        ARTEL_TRY(artel__keras_put(model, state, path, &list.item[i], found));
    }
    return ARTEL_OK;
}

artel_status artel__safetensors_load(artel_model *model, const char *path)
{
    artel__safetensors file;
    artel__state *state = NULL;
    ARTEL_TRY(artel__safetensors_open(model->ctx, path, &file));
    artel_status status = artel__state_create(model->ctx, model->nn->variables, &state);
    if (status == ARTEL_OK) status = load_all(model, path, &file, state);
    if (status == ARTEL_OK)
        status = artel__keras_adopt(model, state);
    else
        artel__state_destroy(state);
    artel__safetensors_close(&file);
    return status;
}

/* -- writing -- */

static artel_status add_entry(artel__text *header, const char *name, const artel__variable *variable, uint64_t begin,
                              uint64_t end)
{
    artel__text_append(header, header->length > 1 ? "," : "");
    artel__text_append_json(header, name);
    artel__text_printf(header, ":{\"dtype\":\"%s\",\"shape\":[", dtype_name(variable->dtype));
    for (int d = 0; d < variable->shape.rank; d++)
        artel__text_printf(header, "%s%lld", d ? "," : "", (long long)variable->shape.dim[d]);
    artel__text_printf(header, "],\"data_offsets\":[%llu,%llu]}", (unsigned long long)begin, (unsigned long long)end);
    return artel__text_status(header);
}

static uint64_t variable_bytes(const artel__variable *variable)
{
    return (uint64_t)artel_shape_count(&variable->shape) * artel_dtype_size(variable->dtype);
}

static artel_status write_header(const artel_model *model, artel__arena *arena, const artel__keras_variables *list,
                                 artel__output *output)
{
    artel__text header;
    uint64_t at = 0;
    uint8_t length[8];
    artel__text_init(&header, model->ctx);
    artel__text_append(&header, "{");
    artel_status status = ARTEL_OK;
    for (int i = 0; i < list->count && status == ARTEL_OK; i++) {
        const artel__variable *variable = artel__keras_variable_of(model, &list->item[i]);
        char *name = dotted(arena, list->item[i].path);
        status = name ? add_entry(&header, name, variable, at, at + variable_bytes(variable)) : ARTEL_ERROR_NO_MEMORY;
        at += variable_bytes(variable);
    }
    artel__text_append(&header, "}");
    artel__text_pad(&header, 0, 8);
    for (int i = 0; i < 8; i++) length[i] = (uint8_t)((uint64_t)header.length >> (8 * i));
    if (status == ARTEL_OK) status = artel__text_status(&header);
    if (status == ARTEL_OK) status = artel__output_write(output, length, sizeof length);
    if (status == ARTEL_OK) status = artel__output_write(output, header.data, header.length);
    artel__text_fini(&header);
    return status;
}

artel_status artel__safetensors_save(const artel_model *model, const char *path)
{
    artel__arena arena;
    artel__keras_variables list;
    artel__output output;
    artel__arena_init(&arena, model->ctx);
    artel_status status = artel__keras_variables_list(model->nn, &arena, &list);
    if (status == ARTEL_OK) status = artel__output_open(model->ctx, path, &output);
    if (status < 0) {
        artel__arena_fini(&arena);
        return status;
    }
    status = write_header(model, &arena, &list, &output);
    for (int i = 0; i < list.count && status == ARTEL_OK; i++) {
        void *plain = artel__keras_fetch(model, &arena, &list.item[i]);
        status =
            plain ? artel__output_write(&output, plain, variable_bytes(artel__keras_variable_of(model, &list.item[i])))
                  : ARTEL_ERROR_NO_MEMORY;
    }
    if (status == ARTEL_OK)
        status = artel__output_commit(&output);
    else
        artel__output_abandon(&output);
    artel__arena_fini(&arena);
    return status;
}
