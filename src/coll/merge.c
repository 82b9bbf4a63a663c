/* SPDX-License-Identifier: Apache-2.0 */
/* Sums and maxima of two blocks.
 *
 * Sums run at the speed of memory: vectors of the compiler's extension, of which every machine makes what it has. Each
 * element is one IEEE addition whatever the width, so the bits do not depend on it. Denormals are the caller's business
 * (artel__fp_enter).
 */
#include "coll/merge.h"

/* The types may lie anywhere, and over anything. */
typedef float lanes_float32 __attribute__((vector_size(32), aligned(4), may_alias));
typedef double lanes_float64 __attribute__((vector_size(32), aligned(8), may_alias));
typedef uint32_t lanes_int32 __attribute__((vector_size(32), aligned(4), may_alias));
typedef uint64_t lanes_int64 __attribute__((vector_size(32), aligned(8), may_alias));

static void sum_float32(void *out, const void *left, const void *right, int64_t count)
{
    float *o = out;
    const float *l = left, *r = right;
    int64_t i = 0;
    for (; i + 8 <= count; i += 8)
        *(lanes_float32 *)(o + i) = *(const lanes_float32 *)(l + i) + *(const lanes_float32 *)(r + i);
    for (; i < count; i++) o[i] = l[i] + r[i];
}

static void sum_float64(void *out, const void *left, const void *right, int64_t count)
{
    double *o = out;
    const double *l = left, *r = right;
    int64_t i = 0;
    for (; i + 4 <= count; i += 4)
        *(lanes_float64 *)(o + i) = *(const lanes_float64 *)(l + i) + *(const lanes_float64 *)(r + i);
    for (; i < count; i++) o[i] = l[i] + r[i];
}

static void sum_int32(void *out, const void *left, const void *right, int64_t count)
{
    uint32_t *o = out;
    const uint32_t *l = left, *r = right;
    int64_t i = 0;
    for (; i + 8 <= count; i += 8)
        *(lanes_int32 *)(o + i) = *(const lanes_int32 *)(l + i) + *(const lanes_int32 *)(r + i);
    for (; i < count; i++) o[i] = l[i] + r[i];
}

static void sum_int64(void *out, const void *left, const void *right, int64_t count)
{
    uint64_t *o = out;
    const uint64_t *l = left, *r = right;
    int64_t i = 0;
    for (; i + 4 <= count; i += 4)
        *(lanes_int64 *)(o + i) = *(const lanes_int64 *)(l + i) + *(const lanes_int64 *)(r + i);
    for (; i < count; i++) o[i] = l[i] + r[i];
}

static void max_float32(void *out, const void *left, const void *right, int64_t count)
{
    float *o = out;
    const float *l = left, *r = right;
    for (int64_t i = 0; i < count; i++)
        o[i] = l[i] == l[i] && (r[i] > l[i] || r[i] != r[i]) ? r[i] : l[i]; /* the leftmost NaN */
}

static void max_float64(void *out, const void *left, const void *right, int64_t count)
{
    double *o = out;
    const double *l = left, *r = right;
    for (int64_t i = 0; i < count; i++) o[i] = r[i] > l[i] ? r[i] : l[i];
}

static void max_int32(void *out, const void *left, const void *right, int64_t count)
{
    int32_t *o = out;
    const int32_t *l = left, *r = right;
    for (int64_t i = 0; i < count; i++) o[i] = r[i] > l[i] ? r[i] : l[i];
}

static void max_int64(void *out, const void *left, const void *right, int64_t count)
{
    int64_t *o = out;
    const int64_t *l = left, *r = right;
    for (int64_t i = 0; i < count; i++) o[i] = r[i] > l[i] ? r[i] : l[i];
}

typedef struct row {
    artel_dtype dtype;
    artel__coll_merge_fn *sum, *max;
} row;

static const row rows[] = {
    {ARTEL_DTYPE_FLOAT32, sum_float32, max_float32},
    {ARTEL_DTYPE_FLOAT64, sum_float64, max_float64},
    {ARTEL_DTYPE_INT32, sum_int32, max_int32},
    {ARTEL_DTYPE_INT64, sum_int64, max_int64},
};

static const row *find(artel_dtype dtype)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].dtype == dtype) return &rows[i];
    }
    return NULL;
}

artel__coll_merge_fn *artel__coll_sum(artel_dtype dtype)
{
    const row *found = find(dtype);
    return found ? found->sum : NULL;
}

artel__coll_merge_fn *artel__coll_max(artel_dtype dtype)
{
    const row *found = find(dtype);
    return found ? found->max : NULL;
}
