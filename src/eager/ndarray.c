/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays: memory, making, reading, writing. Structs come from a free list, so a small result costs no heap call. */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "eager/eager_impl.h"

/* -- memory -- */

static artel_status more(artel_eager *e)
{
    void *block;
    ARTEL_TRY(artel__alloc_aligned(e->ctx, sizeof(artel__chunk), "arrays", &block));
    artel__chunk *chunk = block;
    chunk->next = e->chunk;
    e->chunk = chunk;
    for (int i = 0; i < ARTEL__CHUNK; i++) {
        chunk->array[i].next = e->unused;
        e->unused = &chunk->array[i];
    }
    return ARTEL_OK;
}

static artel_status take(artel_eager *e, artel_ndarray **out)
{
    if (!e->unused) ARTEL_TRY(more(e));
    artel_ndarray *a = e->unused;
    e->unused = a->next;
    a->eager = e;
    a->references = 1;
    a->owner = NULL;
    a->bytes = 0;
    a->text = NULL;
    *out = a;
    return ARTEL_OK;
}

static void give_back(artel_ndarray *a)
{
    artel_eager *e = a->eager;
    if (a->bytes) artel__free_aligned(e->ctx, a->data, a->bytes);
    artel__free(e->ctx, a->text);
    a->text = NULL;
    a->bytes = 0;
    a->references = 0;
    a->next = e->unused;
    e->unused = a;
}

artel_ndarray *artel_ndarray_retain(artel_ndarray *a)
{
    if (a) a->references++;
    return a;
}

void artel_ndarray_release(artel_ndarray *a)
{
    if (!a || --a->references > 0) return;
    artel_ndarray *owner = a->owner;
    give_back(a);
    artel_ndarray_release(owner);
}

/* Bytes of the elements, as if empty axes had one: strides must be numbers, too. */
static bool fits(const artel_shape *shape)
{
    artel_shape full = *shape;
    for (int d = 0; d < full.rank && d < ARTEL_MAX_RANK; d++) full.dim[d] += full.dim[d] == 0;
    int64_t count = artel_shape_count(&full);
    return count >= 0 && count <= INT64_MAX / 64;
}

artel_status artel__ndarray_check(artel_eager *e, artel_dtype dtype, const artel_shape *shape)
{
    if (artel__cell_size(dtype) == 0)
        return artel__fail(e->ctx, ARTEL_ERROR_INVALID, "array", "see artel/tensor.h", "%d is no element type",
                           (int)dtype);
    if (!fits(shape))
        return artel__fail(e->ctx, ARTEL_ERROR_INVALID, "array", "use 0 to 8 axes, none negative",
                           "this shape is none");
    return ARTEL_OK;
}

/* Row-major strides; how many elements there are. */
static int64_t lay_out(artel_ndarray *a)
{
    int64_t count = 1, size = (int64_t)artel__cell_size(a->dtype);
    for (int d = a->shape.rank - 1; d >= 0; d--) {
        a->stride[d] = count * size;
        count *= a->shape.dim[d];
    }
    return count;
}

artel_status artel__ndarray_new(artel_eager *e, artel_dtype dtype, const artel_shape *shape, artel_ndarray **out)
{
    artel_ndarray *a;
    ARTEL_TRY(take(e, &a));
    a->dtype = dtype;
    a->shape = *shape;
    a->count = lay_out(a);
    a->dense = true;
    a->data = a->small;
    size_t bytes = (size_t)a->count * artel__cell_size(dtype);
    if (bytes > ARTEL__SMALL) {
        void *block;
        artel_status status = artel__alloc_aligned(e->ctx, bytes + 64, "array", &block);
        if (status < 0) {
            give_back(a);
            return status;
        }
        a->data = block;
        a->bytes = bytes + 64;
    }
    *out = a;
    return ARTEL_OK;
}

artel_status artel__ndarray_view(artel_ndarray *of, artel_ndarray **out)
{
    artel_ndarray *a;
    ARTEL_TRY(take(of->eager, &a));
    a->dtype = of->dtype;
    a->shape = of->shape;
    memcpy(a->stride, of->stride, sizeof a->stride);
    a->data = of->data;
    a->owner = artel_ndarray_retain(of->owner ? of->owner : of);
    *out = a;
    return ARTEL_OK;
}

void artel__ndarray_settle(artel_ndarray *a)
{
    int64_t step = (int64_t)artel__cell_size(a->dtype);
    a->count = artel_shape_count(&a->shape);
    a->dense = true;
    for (int d = a->shape.rank - 1; d >= 0 && a->count > 0; d--) {
        if (a->shape.dim[d] != 1 && a->stride[d] != step) a->dense = false;
        step *= a->shape.dim[d];
    }
}

/* -- elements, wherever they lie -- */

/* Between a strided array and dense memory, axis by axis; the runs of the last axis are copied whole where they are
 * dense. */
static void move_axis(const artel_ndarray *a, int axis, char *strided, char **dense, bool out)
{
    size_t size = artel__cell_size(a->dtype);
    if (axis == a->shape.rank) {
        memcpy(out ? *dense : strided, out ? strided : *dense, size);
        *dense += size;
        return;
    }
    bool run = axis == a->shape.rank - 1 && a->stride[axis] == (int64_t)size;
    if (run) {
        size_t bytes = (size_t)a->shape.dim[axis] * size;
        memcpy(out ? *dense : strided, out ? strided : *dense, bytes);
        *dense += bytes;
        return;
    }
    for (int64_t i = 0; i < a->shape.dim[axis]; i++) move_axis(a, axis + 1, strided + i * a->stride[axis], dense, out);
}

void artel__ndarray_gather(const artel_ndarray *a, void *to)
{
    char *dense = to;
    if (a->dense)
        memcpy(to, a->data, (size_t)a->count * artel__cell_size(a->dtype));
    else if (a->count > 0)
        move_axis(a, 0, a->data, &dense, true);
}

static artel_status check_elements(const artel_ndarray *a, artel_dtype dtype, int64_t count)
{
    artel_context *ctx = a->eager->ctx;
    if (artel__cell_size(dtype) == 0)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, "array", "see artel/tensor.h", "%d is no element type",
                           (int)dtype);
    if (count == a->count) return ARTEL_OK;
    return artel__fail(ctx, ARTEL_ERROR_INVALID, "array", "give room for all of them", "%lld elements of %lld",
                       (long long)count, (long long)a->count);
}

artel_status artel_ndarray_read(const artel_ndarray *a, artel_dtype dtype, void *elements, int64_t count)
{
    artel_ndarray *copy;
    ARTEL_TRY(artel__enter(a ? a->eager->ctx : NULL, __func__, "array elements", a, elements));
    ARTEL_TRY(check_elements(a, dtype, count));
    if (dtype == a->dtype) {
        artel__ndarray_gather(a, elements);
        return ARTEL_OK;
    }
    if (a->dense) return artel__ndarray_convert(a->eager, a->dtype, a->data, dtype, elements, count);
    ARTEL_TRY(artel__ndarray_new(a->eager, a->dtype, &a->shape, &copy));
    artel__ndarray_gather(a, copy->data);
    artel_status status = artel__ndarray_convert(a->eager, a->dtype, copy->data, dtype, elements, count);
    artel_ndarray_release(copy);
    return status;
}

/* Strings into an array of strings: the owner gets a block with the bytes of all that it holds then. */
static artel_status write_strings(artel_ndarray *a, const void *elements)
{
    artel_ndarray *owner = a->owner ? a->owner : a, *copy;
    ARTEL_TRY(artel__ndarray_new(a->eager, a->dtype, &owner->shape, &copy));
    artel__ndarray_gather(owner, copy->data);
    char *dense = (char *)(uintptr_t)elements, *at = copy->data + (a->data - owner->data);
    if (a->count > 0) move_axis(a, 0, at, &dense, false);
    artel_status status = artel__ndarray_take_text(owner, (const artel_string *)(const void *)copy->data);
    artel_ndarray_release(copy);
    return status;
}

artel_status artel_ndarray_write(artel_ndarray *a, artel_dtype dtype, const void *elements, int64_t count)
{
    artel_ndarray *copy;
    ARTEL_TRY(artel__enter(a ? a->eager->ctx : NULL, __func__, "array elements", a, elements));
    ARTEL_TRY(check_elements(a, dtype, count));
    if (dtype == a->dtype && dtype == ARTEL_DTYPE_STRING) return write_strings(a, elements);
    if (dtype == ARTEL_DTYPE_BOOL && a->dtype == dtype) dtype = ARTEL_DTYPE_UINT8; /* any byte that is not 0 is 1 */
    if (a->dense && dtype == a->dtype) { /* they may be another view's of the same array */
        memmove(a->data, elements, (size_t)count * artel__cell_size(dtype));
        return ARTEL_OK;
    }
    if (a->dense && dtype != ARTEL_DTYPE_STRING)
        return artel__ndarray_convert(a->eager, dtype, elements, a->dtype, a->data, count);
    ARTEL_TRY(artel__ndarray_new(a->eager, a->dtype, &a->shape, &copy));
    artel_status status = artel__ndarray_convert(a->eager, dtype, elements, a->dtype, copy->data, count);
    char *dense = copy->data;
    if (count > 0 && status == ARTEL_OK) move_axis(a, 0, a->data, &dense, false);
    artel_ndarray_release(copy);
    return status;
}

/* Strings of their own, of whatever the elements are. */
static artel_status cast_to_strings(const artel_ndarray *a, artel_ndarray **out)
{
    artel_ndarray *dense, *made = NULL;
    ARTEL_TRY(artel__ndarray_new(a->eager, a->dtype, &a->shape, &dense));
    artel__ndarray_gather(a, dense->data);
    if (a->dtype == ARTEL_DTYPE_STRING) {
        artel_status status = artel__ndarray_new(a->eager, a->dtype, &a->shape, &made);
        if (status == ARTEL_OK)
            status = artel__ndarray_take_text(made, (const artel_string *)(const void *)dense->data);
        artel_ndarray_release(dense);
        if (status == ARTEL_OK)
            *out = made;
        else
            artel_ndarray_release(made);
        return status;
    }
    artel_status status = artel__ndarray_print(a->eager, a->dtype, dense->data, &a->shape, out);
    artel_ndarray_release(dense);
    return status;
}

artel_status artel_ndarray_cast(const artel_ndarray *a, artel_dtype dtype, artel_ndarray **out)
{
    artel_ndarray *made;
    ARTEL_TRY(artel__enter(a ? a->eager->ctx : NULL, __func__, "array out", a, out));
    ARTEL_TRY(artel__ndarray_check(a->eager, dtype, &a->shape));
    if (dtype == ARTEL_DTYPE_STRING) return cast_to_strings(a, out);
    ARTEL_TRY(artel__ndarray_new(a->eager, dtype, &a->shape, &made));
    artel_status status = artel_ndarray_read(a, dtype, made->data, made->count);
    if (status < 0)
        artel_ndarray_release(made);
    else
        *out = made;
    return status;
}

/* -- making -- */

artel_status artel_ndarray_create(artel_eager *e, artel_dtype dtype, const artel_shape *shape, const void *elements,
                                  artel_ndarray **out)
{
    artel_ndarray *a;
    ARTEL_TRY(artel__enter(e ? e->ctx : NULL, __func__, "eager shape out", e, shape, out));
    ARTEL_TRY(artel__ndarray_check(e, dtype, shape));
    ARTEL_TRY(artel__ndarray_new(e, dtype, shape, &a));
    size_t bytes = (size_t)a->count * artel__cell_size(dtype);
    if (dtype == ARTEL_DTYPE_STRING) {
        artel_status status = artel__ndarray_take_text(a, elements);
        if (status < 0) {
            artel_ndarray_release(a);
            return status;
        }
    } else if (!elements) {
        memset(a->data, 0, bytes);
    } else if (dtype == ARTEL_DTYPE_BOOL) {
        artel__convert(ARTEL_DTYPE_UINT8, elements, dtype, a->data, a->count); /* any byte that is not 0 is 1 */
    } else {
        memcpy(a->data, elements, bytes);
    }
    *out = a;
    return ARTEL_OK;
}

artel_status artel_ndarray_full(artel_eager *e, artel_dtype dtype, const artel_shape *shape, double number,
                                artel_ndarray **out)
{
    artel_ndarray *a;
    ARTEL_TRY(artel__enter(e ? e->ctx : NULL, __func__, "eager shape out", e, shape, out));
    ARTEL_TRY(artel__ndarray_check(e, dtype, shape));
    if (dtype == ARTEL_DTYPE_STRING)
        return artel__fail(e->ctx, ARTEL_ERROR_INVALID, "array", "make it with artel_ndarray_create",
                           "a number is no string");
    ARTEL_TRY(artel__ndarray_new(e, dtype, shape, &a));
    size_t size = artel__cell_size(dtype);
    if (a->count > 0) artel__convert(ARTEL_DTYPE_FLOAT64, &number, dtype, a->data, 1);
    for (int64_t i = 1; i < a->count; i++) memcpy(a->data + (size_t)i * size, a->data, size);
    *out = a;
    return ARTEL_OK;
}

/* Block `n` of a random array: the counter's batch is the number of the draw. */
static void draw_block(const artel_eager *e, uint64_t n, uint32_t word[4])
{
    artel__rng_block(artel__rng_make_key(e->options.seed, ARTEL__STREAM_DROPOUT), e->draws, 0, 0, n, word);
}

static artel_status new_draw(artel_eager *e, const artel_shape *shape, bool in_order, artel_ndarray **out)
{
    if (!in_order)
        return artel__fail(e->ctx, ARTEL_ERROR_INVALID, "random array",
                           "give finite numbers, low below high, deviations of at least 0",
                           "these numbers are none or not in order");
    ARTEL_TRY(artel__ndarray_check(e, ARTEL_DTYPE_FLOAT32, shape));
    return artel__ndarray_new(e, ARTEL_DTYPE_FLOAT32, shape, out);
}

artel_status artel_ndarray_uniform(artel_eager *e, const artel_shape *shape, double low, double high,
                                   artel_ndarray **out)
{
    artel_ndarray *a;
    uint32_t word[4];
    ARTEL_TRY(artel__enter(e ? e->ctx : NULL, __func__, "eager shape out", e, shape, out));
    ARTEL_TRY(new_draw(
        e, shape, isfinite((float)low) && isfinite((float)high) && isfinite((float)(high - low)) && low <= high, &a));
    float *to = (float *)(void *)a->data, from = (float)low, span = (float)(high - low), end = (float)high;
    for (int64_t i = 0; i < a->count; i++) {
        if (i % 4 == 0) draw_block(e, (uint64_t)i / 4, word);
        to[i] = from + span * artel__rng_uniform(word[i % 4]);
        if (to[i] >= end && from < end) to[i] = nextafterf(end, from); /* rounded up to what is excluded */
    }
    e->draws++;
    *out = a;
    return ARTEL_OK;
}

artel_status artel_ndarray_normal(artel_eager *e, const artel_shape *shape, double mean, double deviation,
                                  artel_ndarray **out)
{
    artel_ndarray *a;
    uint32_t word[4];
    float pair[2];
    ARTEL_TRY(artel__enter(e ? e->ctx : NULL, __func__, "eager shape out", e, shape, out));
    ARTEL_TRY(new_draw(e, shape, isfinite((float)mean) && isfinite((float)deviation) && deviation >= 0, &a));
    float *to = (float *)(void *)a->data;
    uint32_t caller = artel__fp_enter();
    for (int64_t i = 0; i < a->count; i++) {
        if (i % 4 == 0) draw_block(e, (uint64_t)i / 4, word);
        if (i % 2 == 0) artel__rng_normal_pair(word[i % 4], word[i % 4 + 1], pair);
        to[i] = (float)mean + (float)deviation * pair[i % 2];
    }
    artel__fp_leave(caller);
    e->draws++;
    *out = a;
    return ARTEL_OK;
}
