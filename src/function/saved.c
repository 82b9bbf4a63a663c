/* SPDX-License-Identifier: Apache-2.0 */
/* The archive that holds functions, and JSON that is put together and taken apart. */
#include <string.h>

#include "base/hash.h"
#include "base/zip.h"
#include "function/saved_impl.h"

enum {
    ALIGNMENT = 64
};
static const char text_name[] = "functions.json", values_name[] = "values.bin", digest_name[] = "digest";

void artel__saved_init(artel__saved *s, artel_context *ctx, const char *path)
{
    *s = (artel__saved){.ctx = ctx, .path = path};
    artel__arena_init(&s->arena, ctx);
    artel__text_init(&s->values, ctx);
}

void artel__saved_fini(artel__saved *s)
{
    artel__text_fini(&s->values);
    artel__arena_fini(&s->arena);
}

/* -- the archive -- */

static void digest_of(const void *text, size_t length, const void *values, size_t size, char hex[65])
{
    artel__sha256 hash;
    artel__sha256_init(&hash);
    artel__sha256_update(&hash, text, length);
    artel__sha256_update(&hash, values, size);
    artel__sha256_hex(&hash, hex);
}

artel_status artel__saved_write(artel__saved *s, const json_t *record)
{
    char hex[65];
    artel__zip_writer writer;
    artel__text text;
    artel__text_init(&text, s->ctx);
    artel_status status = artel__json_dump(record, ARTEL__JSON_PYTHON, &text);
    if (status == ARTEL_OK) status = artel__text_status(&text);
    if (status == ARTEL_OK) status = artel__text_status(&s->values);
    if (status == ARTEL_OK) status = artel__zip_create(s->ctx, s->path, &writer);
    if (status < 0) {
        artel__text_fini(&text);
        return status;
    }
    digest_of(text.data, text.length, s->values.data, s->values.length, hex);
    status = artel__zip_add(&writer, text_name, text.data, text.length);
    if (status == ARTEL_OK) status = artel__zip_add(&writer, values_name, s->values.data, s->values.length);
    if (status == ARTEL_OK) status = artel__zip_add(&writer, digest_name, hex, 64);
    if (status == ARTEL_OK)
        status = artel__zip_commit(&writer);
    else
        artel__zip_abandon(&writer);
    artel__text_fini(&text);
    return status;
}

static artel_status take_member(artel__saved *s, artel__zip *zip, const char *name, uint64_t limit,
                                artel__zip_content *out)
{
    const artel__zip_member *member = artel__zip_find(zip, name);
    if (member) return artel__zip_extract(zip, member, limit, out);
    return artel__fail(s->ctx, ARTEL_ERROR_CORRUPT, s->path, "give a file that artel_functions_save has written",
                       "it holds no functions: there is no %s in it", name);
}

static artel_status check_digest(const artel__saved *s, const artel__zip_content *part)
{
    char hex[65];
    digest_of(part[0].bytes, part[0].size, part[1].bytes, part[1].size, hex);
    if (part[2].size == 64 && memcmp(part[2].bytes, hex, 64) == 0) return ARTEL_OK;
    return artel__fail(s->ctx, ARTEL_ERROR_CORRUPT, s->path, "copy it again, or save the functions again",
                       "its digest does not fit: it is damaged, or was changed");
}

static artel_status take_parts(artel__saved *s, const artel__zip_content *part, json_t **out)
{
    ARTEL_TRY(check_digest(s, part));
    uint8_t *copy = artel__arena_alloc(&s->arena, 1, part[1].size + 1);
    if (!copy) return ARTEL_ERROR_NO_MEMORY;
    if (part[1].size) memcpy(copy, part[1].bytes, part[1].size);
    s->bytes = copy;
    s->size = part[1].size;
    s->text_size = part[0].size;
    return artel__json_load(s->ctx, s->path, (const char *)part[0].bytes, part[0].size, out);
}

artel_status artel__saved_read(artel__saved *s, json_t **out)
{
    artel__zip zip = {0};
    artel__zip_content part[3] = {{0}};
    artel_status status = artel__zip_open(s->ctx, s->path, &zip);
    if (status == ARTEL_OK) status = take_member(s, &zip, text_name, ARTEL__JSON_MAX_SIZE, &part[0]);
    if (status == ARTEL_OK) status = take_member(s, &zip, values_name, 0, &part[1]);
    if (status == ARTEL_OK) status = take_member(s, &zip, digest_name, 64, &part[2]);
    if (status == ARTEL_OK) status = take_parts(s, part, out);
    for (int i = 0; i < 3 && part[i].bytes; i++) artel__zip_release(&zip, &part[i]);
    artel__zip_close(&zip);
    return status;
}

/* -- putting together -- */

void artel__saved_set(artel__saved *s, json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, value) < 0) s->failed = true;
}

void artel__saved_add(artel__saved *s, json_t *list, json_t *value)
{
    if (json_array_append_new(list, value) < 0) s->failed = true;
}

json_t *artel__saved_dims(artel__saved *s, const artel_shape *shape)
{
    json_t *list = json_array();
    for (int d = 0; d < shape->rank; d++) artel__saved_add(s, list, json_integer(shape->dim[d]));
    return list;
}

/* Lengths as int64, then the bytes of all. */
static void put_strings(artel__saved *s, const artel_string *from, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        int64_t length = (int64_t)from[i].length;
        artel__text_append_bytes(&s->values, &length, sizeof length);
    }
    for (int64_t i = 0; i < count; i++) artel__text_append_bytes(&s->values, from[i].bytes, from[i].length);
}

void artel__saved_put(artel__saved *s, json_t *object, artel_dtype dtype, const artel_shape *shape,
                      const void *elements)
{
    artel__text_pad(&s->values, 0, ALIGNMENT);
    artel__saved_set(s, object, "dtype", json_string(artel_dtype_name(dtype)));
    artel__saved_set(s, object, "shape", artel__saved_dims(s, shape));
    artel__saved_set(s, object, "at", json_integer((json_int_t)s->values.length));
    if (dtype == ARTEL_DTYPE_STRING)
        put_strings(s, elements, artel_shape_count(shape));
    else
        artel__text_append_bytes(&s->values, elements, (size_t)artel_shape_count(shape) * artel_dtype_size(dtype));
}

/* -- taking apart -- */

artel_status artel__saved_damaged(const artel__saved *s, const char *key, const char *what)
{
    return artel__fail(s->ctx, ARTEL_ERROR_CORRUPT, s->path, "save the functions again", "\"%.40s\": %s", key, what);
}

artel_status artel__saved_integer(const artel__saved *s, const json_t *object, const char *key, int64_t least,
                                  int64_t most, int64_t *out)
{
    int64_t number;
    if (!artel__json_integer(json_object_get(object, key), &number) || number < least || number > most)
        return artel__saved_damaged(s, key, "no number, or one out of range");
    *out = number;
    return ARTEL_OK;
}

artel_status artel__saved_real(const artel__saved *s, const json_t *object, const char *key, double *out)
{
    return artel__json_number(json_object_get(object, key), out) ? ARTEL_OK : artel__saved_damaged(s, key, "no number");
}

artel_status artel__saved_string(const artel__saved *s, const json_t *object, const char *key, const char **out)
{
    const char *text = json_string_value(json_object_get(object, key));
    if (!text) return artel__saved_damaged(s, key, "no text");
    *out = text;
    return ARTEL_OK;
}

artel_status artel__saved_flag(const artel__saved *s, const json_t *object, const char *key, bool *out)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_boolean(value)) return artel__saved_damaged(s, key, "neither true nor false");
    *out = json_is_true(value);
    return ARTEL_OK;
}

artel_status artel__saved_list(const artel__saved *s, const json_t *object, const char *key, const json_t **out)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_array(value)) return artel__saved_damaged(s, key, "no list");
    *out = value;
    return ARTEL_OK;
}

artel_status artel__saved_shape(const artel__saved *s, const json_t *object, artel_shape *out)
{
    const json_t *list = NULL;
    artel_shape shape = {.rank = 0};
    ARTEL_TRY(artel__saved_list(s, object, "shape", &list));
    if (json_array_size(list) > ARTEL_MAX_RANK) return artel__saved_damaged(s, "shape", "more than 8 axes");
    for (size_t d = 0; d < json_array_size(list); d++) {
        if (!artel__json_integer(json_array_get(list, d), &shape.dim[shape.rank++]))
            return artel__saved_damaged(s, "shape", "no numbers");
    }
    if (artel_shape_count(&shape) < 0) return artel__saved_damaged(s, "shape", "no shape");
    *out = shape;
    return ARTEL_OK;
}

static artel_status get_strings(artel__saved *s, int64_t at, int64_t count, const void **out)
{
    uint64_t left = s->size - (uint64_t)at;
    if ((uint64_t)count > left / sizeof(int64_t)) return artel__saved_damaged(s, "at", "more strings than there are");
    const char *bytes = (const char *)s->bytes + at + count * (int64_t)sizeof(int64_t);
    artel_string *made = artel__arena_alloc(&s->arena, (size_t)count + 1, sizeof *made);
    if (!made) return ARTEL_ERROR_NO_MEMORY;
    left -= (uint64_t)count * sizeof(int64_t);
    for (int64_t i = 0; i < count; i++) {
        int64_t length;
        memcpy(&length, s->bytes + at + i * (int64_t)sizeof length, sizeof length);
        if (length < 0 || (uint64_t)length > left) return artel__saved_damaged(s, "at", "strings longer than the file");
        made[i] = (artel_string){bytes, (size_t)length};
        bytes += length;
        left -= (uint64_t)length;
    }
    *out = made;
    return ARTEL_OK;
}

artel_status artel__saved_get(artel__saved *s, const json_t *object, artel_dtype *dtype, artel_shape *shape,
                              const void **out)
{
    const char *name = NULL;
    int64_t at = 0;
    ARTEL_TRY(artel__saved_string(s, object, "dtype", &name));
    if (artel_dtype_parse(name, dtype) < 0) return artel__saved_damaged(s, "dtype", "no element type");
    ARTEL_TRY(artel__saved_shape(s, object, shape));
    ARTEL_TRY(artel__saved_integer(s, object, "at", 0, (int64_t)s->size, &at));
    if (*dtype == ARTEL_DTYPE_STRING && at % ALIGNMENT == 0) return get_strings(s, at, artel_shape_count(shape), out);
    uint64_t left = artel_dtype_size(*dtype) ? (s->size - (uint64_t)at) / artel_dtype_size(*dtype) : 0;
    if (at % ALIGNMENT != 0 || (uint64_t)artel_shape_count(shape) > left)
        return artel__saved_damaged(s, "at", "more elements than there are in the file");
    for (int64_t i = 0; *dtype == ARTEL_DTYPE_BOOL && i < artel_shape_count(shape); i++) {
        if (s->bytes[at + i] > 1) return artel__saved_damaged(s, "at", "a bool that is neither 0 nor 1");
    }
    *out = s->bytes + at;
    return ARTEL_OK;
}
