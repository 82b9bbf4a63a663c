/* SPDX-License-Identifier: Apache-2.0 */
/* Data from the caller: arrays in memory, borrowed, or rows that a function delivers.
 *
 * Descriptions are copied. A callback is called under a mutex, because the caller was promised one call at a time;
 * the mutex guards nothing else. Arrays without a name are called x, y or sample_weight after their role.
 */
#include <pthread.h>
#include <string.h>

#include "base/argument.h"
#include "data/fingerprint.h"
#include "data/source.h"
#include "text/program_rows.h"

typedef struct callback_state {
    pthread_mutex_t mutex; /* held while `fetch` runs */
    artel_data_fetch_fn *fetch;
    void *user;
} callback_state;

static bool is_shape_of_samples(const artel_shape *shape)
{
    bool good = shape->rank >= 1 && shape->rank <= ARTEL_MAX_RANK;
    for (int i = 0; good && i < shape->rank; i++) good = shape->dim[i] >= 0;
    return good;
}

static artel_status describe_array(artel__source *source, const artel_data_array *from, int index,
                                   artel__source_array *to)
{
    static const char *const names[] = {NULL, "x", "y", "sample_weight"};
    const char *name = from->name;
    if (from->role < ARTEL_DATA_ROLE_AUTO || from->role > ARTEL_DATA_ROLE_WEIGHT) {
        return artel__fail(source->ctx, ARTEL_ERROR_INVALID, "data", "", "array %d has an unknown role %d", index,
                           (int)from->role);
    }
    if (name == NULL || name[0] == '\0') name = names[from->role];
    if (name == NULL)
        return artel__fail(source->ctx, ARTEL_ERROR_INVALID, "data", "give each array a name or a role",
                           "array %d has neither", index);
    bool text = from->dtype == ARTEL_DTYPE_STRING && source->format->load_text != NULL;
    if (artel_dtype_size(from->dtype) == 0 && !text) {
        return artel__fail(source->ctx, ARTEL_ERROR_UNSUPPORTED, name, "pass numbers",
                           "arrays of dtype %s cannot be passed%s", artel_dtype_name(from->dtype),
                           from->dtype == ARTEL_DTYPE_STRING ? " by a function" : "");
    }
    if (!is_shape_of_samples(&from->shape)) {
        return artel__fail(source->ctx, ARTEL_ERROR_INVALID, name, "the first extent counts the samples",
                           "the shape is not one of 1 to %d axes, with extents of 0 or more", ARTEL_MAX_RANK);
    }
    int64_t elements = artel_shape_count(&from->shape);
    if (elements < 0 || elements > INT64_MAX / 16) {
        return artel__fail(source->ctx, ARTEL_ERROR_INVALID, name, "look at the extents",
                           "the array has too many values: more than 2^59");
    }
    to->name = artel__arena_strdup(&source->arena, name);
    if (to->name == NULL) return ARTEL_ERROR_NO_MEMORY;
    to->role = from->role;
    to->dtype = from->dtype;
    to->count = from->shape.dim[0];
    to->row.rank = from->shape.rank - 1;
    memcpy(to->row.dim, from->shape.dim + 1, (size_t)to->row.rank * sizeof(int64_t));
    to->pixels = to->dtype == ARTEL_DTYPE_UINT8 && to->row.rank >= 2;
    artel__array_set_text(to);
    return ARTEL_OK;
}

static artel_status place_array(artel__source *source, const artel_data_array *from, artel__source_array *to)
{
    if (from->values == NULL && artel_shape_count(&from->shape) > 0) {
        return artel__fail(source->ctx, ARTEL_ERROR_INVALID, to->name, "point `values` at the numbers",
                           "the array has no values");
    }
    to->base = from->values;
    to->stride = (size_t)artel_shape_count(&to->row) * artel__cell_size(to->dtype);
    const artel_string *word = from->dtype == ARTEL_DTYPE_STRING ? from->values : NULL;
    for (int64_t i = 0; word != NULL && i < artel_shape_count(&from->shape); i++) {
        if (word[i].bytes == NULL && word[i].length > 0)
            return artel__fail(source->ctx, ARTEL_ERROR_INVALID, to->name, "give the bytes, or length 0",
                               "string %lld is NULL with %zu bytes", (long long)i, word[i].length);
    }
    return ARTEL_OK;
}

static artel_status memory_text(artel__source *source, int array, const artel__string **out)
{
    *out = (const artel__string *)(const void *)source->arrays[array].base;
    return ARTEL_OK;
}

static void hash_text(const artel__source_array *array, artel__sha256 *hash)
{
    const artel__string *word = (const artel__string *)(const void *)array->base;
    for (int64_t i = 0; i < array->count * artel_shape_count(&array->row); i++) {
        artel__hash_integer(hash, word[i].length);
        if (word[i].length) artel__sha256_update(hash, word[i].bytes, word[i].length);
    }
}

static artel_status memory_fingerprint(const artel__source *source, artel__sha256 *hash)
{
    for (int i = 0; i < source->array_count; i++) {
        const artel__source_array *array = &source->arrays[i];
        if (array->dtype == ARTEL_DTYPE_STRING) {
            hash_text(array, hash);
            continue;
        }
        artel__hash_ends(hash, array->base, array->stride * (size_t)array->count);
    }
    return ARTEL_OK;
}

const artel__data_format artel__data_memory = {
    .name = "memory", .syntax = "memory", .options = "", .load_text = memory_text, .fingerprint = memory_fingerprint};

artel_status artel_data_from_memory(artel_context *context, const artel_data_array *arrays, int array_count,
                                    artel_data **out)
{
    artel_data *data;
    ARTEL_TRY(artel__enter(context, __func__, "context arrays out", context, arrays, out));
    ARTEL_TRY(artel__data_create_single(context, &artel__data_memory, &data));
    artel__source *source = &data->sources[0];
    artel_status status = artel__source_add_arrays(source, array_count);
    for (int i = 0; i < array_count && status == ARTEL_OK; i++) {
        status = describe_array(source, &arrays[i], i, &source->arrays[i]);
        if (status == ARTEL_OK) status = place_array(source, &arrays[i], &source->arrays[i]);
    }
    if (status < 0) {
        artel_data_destroy(data);
        return status;
    }
    *out = data;
    return ARTEL_OK;
}

static artel_status callback_fetch(const artel__source *source, const uint64_t *rows, int64_t count,
                                   void *const *buffers)
{
    callback_state *state = source->state;
    char message[512] = "";
    pthread_mutex_lock(&state->mutex);
    artel_status status = state->fetch(state->user, rows, count, buffers, message);
    pthread_mutex_unlock(&state->mutex);
    if (status >= 0) return ARTEL_OK;
    message[sizeof message - 1] = '\0';
    return artel__fail(source->ctx, status, "data callback", "", "the function that delivers the data failed (%s)%s%s",
                       artel_status_name(status), message[0] != '\0' ? ": " : "", message);
}

static artel_status callback_fingerprint(const artel__source *source, artel__sha256 *hash)
{
    artel__hash_integer(hash, (uint64_t)source->array_count);
    return ARTEL_OK; /* names, shapes and the count are hashed with every source; values cannot be known */
}

static void callback_close(artel__source *source)
{
    pthread_mutex_destroy(&((callback_state *)source->state)->mutex);
}

const artel__data_format artel__data_callback = {
    .name = "callback",
    .syntax = "callback",
    .options = "",
    .fetch_rows = callback_fetch,
    .fingerprint = callback_fingerprint,
    .close = callback_close,
};

static artel_status fill_callback(artel__source *source, const artel_data_callback *callback)
{
    if (callback->fetch == NULL || callback->count < 1) {
        return artel__fail(source->ctx, ARTEL_ERROR_INVALID, "data callback", "pass a function and a positive count",
                           "%s", callback->fetch == NULL ? "the function is missing" : "there are no samples");
    }
    callback_state *state = artel__arena_alloc(&source->arena, 1, sizeof *state);
    if (state == NULL) return ARTEL_ERROR_NO_MEMORY;
    pthread_mutex_init(&state->mutex, NULL);
    state->fetch = callback->fetch;
    state->user = callback->user;
    source->state = state;
    ARTEL_TRY(artel__source_add_arrays(source, callback->array_count));
    for (int i = 0; i < callback->array_count; i++) {
        artel_data_array description = callback->arrays[i];
        description.shape.dim[0] = callback->count;
        ARTEL_TRY(describe_array(source, &description, i, &source->arrays[i]));
    }
    return ARTEL_OK;
}

artel_status artel_data_from_callback(artel_context *context, const artel_data_callback *callback, artel_data **out)
{
    artel_data *data;
    ARTEL_TRY(artel__enter(context, __func__, "context callback out", context, callback, out));
    ARTEL_TRY(artel__need(context, __func__, "callback->arrays", callback->arrays));
    ARTEL_TRY(artel__data_create_single(context, &artel__data_callback, &data));
    artel_status status = fill_callback(&data->sources[0], callback);
    if (status < 0) {
        artel_data_destroy(data);
        return status;
    }
    *out = data;
    return ARTEL_OK;
}
