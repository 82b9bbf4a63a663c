/* SPDX-License-Identifier: Apache-2.0 */
/* Element types and shapes.
 *
 * Names are those of NumPy and Keras. Counting checks for overflow, because extents come from files that may lie.
 */
#include "tensor/shape.h"

#include <stdio.h>
#include <string.h>

#include "base/argument.h"

static const struct {
    const char *name;
    size_t size;
} dtypes[] = {
    [ARTEL_DTYPE_FLOAT32] = {"float32", 4}, [ARTEL_DTYPE_FLOAT64] = {"float64", 8},
    [ARTEL_DTYPE_FLOAT16] = {"float16", 2}, [ARTEL_DTYPE_BFLOAT16] = {"bfloat16", 2},
    [ARTEL_DTYPE_INT8] = {"int8", 1},       [ARTEL_DTYPE_INT16] = {"int16", 2},
    [ARTEL_DTYPE_INT32] = {"int32", 4},     [ARTEL_DTYPE_INT64] = {"int64", 8},
    [ARTEL_DTYPE_UINT8] = {"uint8", 1},     [ARTEL_DTYPE_UINT16] = {"uint16", 2},
    [ARTEL_DTYPE_UINT32] = {"uint32", 4},   [ARTEL_DTYPE_UINT64] = {"uint64", 8},
    [ARTEL_DTYPE_BOOL] = {"bool", 1},       [ARTEL_DTYPE_STRING] = {"string", 0},
};

size_t artel_dtype_size(artel_dtype dtype)
{
    return (size_t)dtype < ARTEL__COUNT(dtypes) ? dtypes[dtype].size : 0;
}

const char *artel_dtype_name(artel_dtype dtype)
{
    return (size_t)dtype < ARTEL__COUNT(dtypes) ? dtypes[dtype].name : "?";
}

artel_status artel_dtype_parse(const char *name, artel_dtype *out)
{
    ARTEL_TRY(artel__enter(NULL, __func__, "name out", name, out));
    for (size_t i = 0; i < ARTEL__COUNT(dtypes); i++) {
        if (strcmp(name, dtypes[i].name) != 0) continue;
        *out = (artel_dtype)i;
        return ARTEL_OK;
    }
    return artel__fail(NULL, ARTEL_ERROR_NOT_FOUND, __func__, "give a name such as float32, int64 or bool",
                       "there is no element type \"%.60s\"", name);
}

int64_t artel_shape_count(const artel_shape *shape)
{
    int64_t count = 1;
    bool empty = false;
    if (!shape || shape->rank < 0 || shape->rank > ARTEL_MAX_RANK) return -1;
    for (int i = 0; i < shape->rank; i++) {
        if (shape->dim[i] < 0) return -1;
        if (shape->dim[i] == 0)
            empty = true;
        else if (__builtin_mul_overflow(count, shape->dim[i], &count))
            return -1;
    }
    return empty ? 0 : count;
}

artel_shape artel__shape(int rank, ...)
{
    artel_shape shape = {.rank = rank < 0 ? 0 : rank > ARTEL_MAX_RANK ? ARTEL_MAX_RANK : rank};
    va_list args;
    va_start(args, rank);
    for (int i = 0; i < shape.rank; i++) shape.dim[i] = va_arg(args, int64_t);
    va_end(args);
    return shape;
}

bool artel__shape_equal(const artel_shape *a, const artel_shape *b)
{
    if (a->rank != b->rank) return false;
    for (int i = 0; i < a->rank; i++)
        if (a->dim[i] != b->dim[i]) return false;
    return true;
}

char *artel__shape_text(const artel_shape *shape, bool batch, char *buffer, size_t size)
{
    size_t at = 0;
    int printed = 0, total = shape->rank + (batch ? 1 : 0);
    at += (size_t)snprintf(buffer, size, "(");
    for (int i = batch ? -1 : 0; i < shape->rank && at < size; i++) {
        const char *comma = printed++ ? ", " : "";
        if (i < 0 || shape->dim[i] < 0)
            at += (size_t)snprintf(buffer + at, size - at, "%sNone", comma);
        else
            at += (size_t)snprintf(buffer + at, size - at, "%s%lld", comma, (long long)shape->dim[i]);
    }
    if (at < size) snprintf(buffer + at, size - at, "%s", total == 1 ? ",)" : ")");
    return buffer;
}

bool artel__shape_broadcast(const artel_shape *a, const artel_shape *b, artel_shape *out)
{
    artel_shape shape = {.rank = a->rank > b->rank ? a->rank : b->rank};
    for (int i = 1; i <= shape.rank; i++) {
        int64_t x = i <= a->rank ? a->dim[a->rank - i] : 1;
        int64_t y = i <= b->rank ? b->dim[b->rank - i] : 1;
        if (x != y && x != 1 && y != 1) return false;
        shape.dim[shape.rank - i] = x == 1 ? y : x;
    }
    *out = shape;
    return true;
}

int64_t artel__shape_product(const artel_shape *shape, int from, int to)
{
    int64_t product = 1;
    for (int i = from; i < to; i++) product *= shape->dim[i];
    return product;
}
