/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic of element types that graphs do not compute in: float64 and integers of all widths, two operands of one
 * type.
 *
 *   add, subtract, multiply, maximum, minimum      a result of the same type; integers wrap around, as NumPy's do
 *   divide                                         float64 only
 *   equal, not_equal, less, less_equal, greater, greater_equal    bool
 * Broadcasting is NumPy's. Elements are widened to float64, int64 or uint64, which hold all values of their types, so
 * every result is rounded or cut once.
 */
#include <string.h>

#include "eager/eager_impl.h"

typedef enum function {
    ADD,
    SUBTRACT,
    MULTIPLY,
    DIVIDE,
    MAXIMUM,
    MINIMUM,
    EQUAL, /* from here on the result is bool */
    NOT_EQUAL,
    LESS,
    LESS_EQUAL,
    GREATER,
    GREATER_EQUAL,
    FUNCTIONS
} function;

static const char *const names[FUNCTIONS] = {"add",     "subtract",   "multiply", "divide",
                                             "maximum", "minimum",    "equal",    "not_equal",
                                             "less",    "less_equal", "greater",  "greater_equal"};

enum {
    PIECE = 256
};

typedef union wide {
    double f[PIECE];
    int64_t i[PIECE];
    uint64_t u[PIECE];
} wide;

static bool compare(function f, int order, bool ordered)
{
    switch (f) {
    case EQUAL: return ordered && order == 0;
    case NOT_EQUAL: return !ordered || order != 0;
    case LESS: return ordered && order < 0;
    case LESS_EQUAL: return ordered && order <= 0;
    case GREATER: return ordered && order > 0;
    default: return ordered && order >= 0;
    }
}

static double real(function f, double a, double b)
{
    switch (f) {
    case ADD: return a + b;
    case SUBTRACT: return a - b;
    case MULTIPLY: return a * b;
    case DIVIDE: return a / b;
    case MAXIMUM: return a != a || a > b ? a : b;
    default: return a != a || a < b ? a : b;
    }
}

/* Sums, differences and products modulo 2^64 are those of either sign. */
static uint64_t whole(function f, uint64_t a, uint64_t b, bool less)
{
    switch (f) {
    case ADD: return a + b;
    case SUBTRACT: return a - b;
    case MULTIPLY: return a * b;
    case MAXIMUM: return less ? b : a;
    default: return less ? a : b;
    }
}

static artel_dtype wide_of(artel_dtype dtype)
{
    if (dtype <= ARTEL_DTYPE_BFLOAT16) return ARTEL_DTYPE_FLOAT64;
    return dtype <= ARTEL_DTYPE_INT64 ? ARTEL_DTYPE_INT64 : ARTEL_DTYPE_UINT64;
}

/* The low bytes of a number: on this machine they come first. */
static void cut(artel_dtype dtype, const uint64_t *from, char *to, int64_t count)
{
    size_t size = artel_dtype_size(dtype);
    for (int64_t i = 0; i < count; i++) memcpy(to + (size_t)i * size, &from[i], size);
}

/* `count` elements, at most PIECE; a and b hold them in wide form. */
static void compute(function f, artel_dtype dtype, const wide *a, const wide *b, char *out, int64_t count)
{
    artel_dtype form = wide_of(dtype);
    wide r;
    for (int64_t i = 0; i < count; i++) {
        bool floats = form == ARTEL_DTYPE_FLOAT64, sign = form == ARTEL_DTYPE_INT64;
        bool less = floats ? a->f[i] < b->f[i] : sign ? a->i[i] < b->i[i] : a->u[i] < b->u[i];
        bool more = floats ? a->f[i] > b->f[i] : sign ? a->i[i] > b->i[i] : a->u[i] > b->u[i];
        if (f >= EQUAL)
            out[i] = compare(f, more - less, !floats || (a->f[i] == a->f[i] && b->f[i] == b->f[i]));
        else if (floats)
            r.f[i] = real(f, a->f[i], b->f[i]);
        else
            r.u[i] = whole(f, a->u[i], b->u[i], less);
    }
    if (f >= EQUAL) return;
    if (form == ARTEL_DTYPE_FLOAT64)
        artel__convert(ARTEL_DTYPE_FLOAT64, r.f, dtype, out, count);
    else
        cut(dtype, r.u, out, count);
}

static void compute_all(function f, const artel_ndarray *a, const artel_ndarray *b, artel_ndarray *out)
{
    size_t size = artel_dtype_size(a->dtype), out_size = artel_dtype_size(out->dtype);
    wide x, y;
    for (int64_t at = 0; at < out->count; at += PIECE) {
        int64_t count = out->count - at < PIECE ? out->count - at : PIECE;
        artel__convert(a->dtype, a->data + (size_t)at * size, wide_of(a->dtype), &x, count);
        artel__convert(b->dtype, b->data + (size_t)at * size, wide_of(b->dtype), &y, count);
        compute(f, a->dtype, &x, &y, out->data + (size_t)at * out_size, count);
    }
}

/* A dense array of the elements as they are repeated. */
static artel_status spread(artel_ndarray *a, const artel_shape *shape, artel_ndarray **out)
{
    artel_ndarray *view;
    if (a->dense && artel__shape_equal(&a->shape, shape)) {
        *out = artel_ndarray_retain(a);
        return ARTEL_OK;
    }
    ARTEL_TRY(artel_ndarray_broadcast(a, shape, &view));
    artel_status status = artel_ndarray_cast(view, view->dtype, out);
    artel_ndarray_release(view);
    return status;
}

artel_status artel__eager_arithmetic(artel_eager *e, const char *name, artel_ndarray *const *inputs, int count,
                                     artel_ndarray **out)
{
    artel_shape shape;
    artel_ndarray *a = NULL, *b = NULL, *made = NULL;
    int f = 0;
    if (count != 2 || inputs[0]->dtype != inputs[1]->dtype) return ARTEL_AGAIN;
    while (f < FUNCTIONS && strcmp(names[f], name) != 0) f++;
    if (f == FUNCTIONS || (f == DIVIDE && inputs[0]->dtype != ARTEL_DTYPE_FLOAT64)) return ARTEL_AGAIN;
    if (!artel__shape_broadcast(&inputs[0]->shape, &inputs[1]->shape, &shape))
        return artel__fail(e->ctx, ARTEL_ERROR_INVALID, name, "axes are equal, or one of them is 1",
                           "the shapes do not broadcast");
    artel_status status = spread(inputs[0], &shape, &a);
    if (status == ARTEL_OK) status = spread(inputs[1], &shape, &b);
    if (status == ARTEL_OK) status = artel__ndarray_new(e, f >= EQUAL ? ARTEL_DTYPE_BOOL : a->dtype, &shape, &made);
    if (status == ARTEL_OK) {
        compute_all((function)f, a, b, made);
        *out = made;
    }
    artel_ndarray_release(a);
    artel_ndarray_release(b);
    return status;
}
