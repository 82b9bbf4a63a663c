/* SPDX-License-Identifier: Apache-2.0 */
/* What the functions of a row share: elements as numbers, scratch memory, UTF-8. See the header. */
#include "text/row_function.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

size_t artel__cell_size(artel_dtype dtype)
{
    return dtype == ARTEL_DTYPE_STRING ? sizeof(artel__string) : artel_dtype_size(dtype);
}

void *artel__row_scratch_take(artel__row_scratch *scratch, size_t size)
{
    if (size <= scratch->size && scratch->bytes) return scratch->bytes;
    size_t wider = size + size / 2 + 256;
    void *bytes;
    if (artel__alloc(scratch->ctx, wider, "text of a row", &bytes) < 0) return NULL;
    artel__free(scratch->ctx, scratch->bytes);
    scratch->bytes = bytes;
    scratch->size = wider;
    return bytes;
}

void artel__row_scratch_fini(artel__row_scratch *scratch)
{
    artel__free(scratch->ctx, scratch->bytes);
    *scratch = (artel__row_scratch){.ctx = scratch->ctx};
}

/* One element, wherever it lies, as another type. */
static void convert_one(const artel__cells *cells, int64_t i, artel_dtype to, void *out)
{
    size_t size = artel_dtype_size(cells->dtype);
    uint64_t aligned = 0;
    memcpy(&aligned, (const char *)cells->data + (size_t)i * size, size);
    artel__convert(cells->dtype, &aligned, to, out, 1);
}

int64_t artel__cell_integer(const artel__cells *cells, int64_t i)
{
    if (cells->dtype == ARTEL_DTYPE_INT64) return ((const int64_t *)cells->data)[i];
    if (cells->dtype == ARTEL_DTYPE_INT32) return ((const int32_t *)cells->data)[i];
    int64_t value;
    convert_one(cells, i, ARTEL_DTYPE_INT64, &value);
    return value;
}

double artel__cell_number(const artel__cells *cells, int64_t i)
{
    if (cells->dtype == ARTEL_DTYPE_FLOAT32) return (double)((const float *)cells->data)[i];
    double value;
    convert_one(cells, i, ARTEL_DTYPE_FLOAT64, &value);
    return value;
}

void artel__cell_quote(const artel__cells *cells, int64_t i, char *out, size_t size)
{
    char clean[128];
    if (cells->dtype != ARTEL_DTYPE_STRING) {
        snprintf(out, size, "%lld", (long long)artel__cell_integer(cells, i));
        return;
    }
    const artel__string *word = &((const artel__string *)cells->data)[i];
    size_t length = artel__clean(word->bytes, word->length < 60 ? word->length : 60, clean, sizeof clean - 1);
    clean[length] = '\0';
    snprintf(out, size, "'%s'", clean);
}

void artel__cell_set_integer(artel__cells *cells, int64_t i, int64_t value)
{
    if (cells->dtype == ARTEL_DTYPE_INT64)
        ((int64_t *)cells->data)[i] = value;
    else
        artel__convert(ARTEL_DTYPE_INT64, &value, cells->dtype,
                       (char *)cells->data + (size_t)i * artel_dtype_size(cells->dtype), 1);
}

void artel__cells_describe(artel__cells *cells, artel_dtype dtype, const artel_shape *shape)
{
    cells->dtype = dtype;
    cells->shape = *shape;
    cells->count = artel_shape_count(shape);
}
