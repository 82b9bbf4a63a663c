/* SPDX-License-Identifier: Apache-2.0 */
/* Views: other shapes and strides over the elements of an array, after NumPy's rules. */
#include <string.h>

#include "eager/eager_impl.h"

artel_status artel_ndarray_describe(const artel_ndarray *a, artel_dtype *dtype, artel_shape *shape, int64_t *strides)
{
    ARTEL_TRY(artel__enter(a ? a->eager->ctx : NULL, __func__, "array", a));
    if (dtype) *dtype = a->dtype;
    if (shape) *shape = a->shape;
    if (strides) memcpy(strides, a->stride, (size_t)a->shape.rank * sizeof *strides);
    return ARTEL_OK;
}

void *artel_ndarray_data(artel_ndarray *a)
{
    return a && a->dense ? a->data : NULL;
}

static artel_status check_axis(const artel_ndarray *a, int *axis)
{
    if (*axis < 0) *axis += a->shape.rank;
    if (*axis >= 0 && *axis < a->shape.rank) return ARTEL_OK;
    return artel__fail(a->eager->ctx, ARTEL_ERROR_INVALID, "array", "count axes from 0, or from the end by -1",
                       "the array has %d axes", a->shape.rank);
}

/* Where Python's slices begin and end along an axis, and how many positions lie there. */
static int64_t range_of(int64_t extent, int64_t step, int64_t *begin, int64_t end)
{
    int64_t low = step > 0 ? 0 : -1, high = step > 0 ? extent : extent - 1;
    int64_t edge[2] = {*begin, end};
    for (int i = 0; i < 2; i++) {
        if (edge[i] < 0) edge[i] = edge[i] < -extent ? low : edge[i] + extent;
        if (edge[i] < low) edge[i] = low;
        if (edge[i] > high) edge[i] = high;
    }
    *begin = edge[0];
    int64_t span = step > 0 ? edge[1] - edge[0] : edge[0] - edge[1];
    uint64_t stride = step > 0 ? (uint64_t)step : 0 - (uint64_t)step;
    return span <= 0 ? 0 : 1 + (int64_t)((uint64_t)(span - 1) / stride);
}

artel_status artel_ndarray_slice(artel_ndarray *a, int axis, int64_t begin, int64_t end, int64_t step,
                                 artel_ndarray **out)
{
    artel_ndarray *view;
    ARTEL_TRY(artel__enter(a ? a->eager->ctx : NULL, __func__, "array out", a, out));
    ARTEL_TRY(check_axis(a, &axis));
    if (step == 0)
        return artel__fail(a->eager->ctx, ARTEL_ERROR_INVALID, "array", "give a step above or below 0",
                           "the step is 0");
    int64_t count = range_of(a->shape.dim[axis], step, &begin, end);
    ARTEL_TRY(artel__ndarray_view(a, &view));
    view->shape.dim[axis] = count;
    if (count > 0) view->data += begin * a->stride[axis];
    view->stride[axis] = count > 1 ? step * a->stride[axis] : a->stride[axis];
    artel__ndarray_settle(view);
    *out = view;
    return ARTEL_OK;
}

static void drop_axis(artel_ndarray *view, int axis)
{
    view->shape.rank--;
    for (int d = axis; d < view->shape.rank; d++) {
        view->shape.dim[d] = view->shape.dim[d + 1];
        view->stride[d] = view->stride[d + 1];
    }
}

artel_status artel_ndarray_index(artel_ndarray *a, int axis, int64_t position, artel_ndarray **out)
{
    artel_ndarray *view;
    ARTEL_TRY(artel__enter(a ? a->eager->ctx : NULL, __func__, "array out", a, out));
    ARTEL_TRY(check_axis(a, &axis));
    int64_t extent = a->shape.dim[axis], at = position < 0 && position >= -extent ? position + extent : position;
    if (at < 0 || at >= extent)
        return artel__fail(a->eager->ctx, ARTEL_ERROR_INVALID, "array", "count positions from 0, or from the end by -1",
                           "position %lld of an axis of %lld", (long long)position, (long long)extent);
    ARTEL_TRY(artel__ndarray_view(a, &view));
    view->data += at * a->stride[axis];
    drop_axis(view, axis);
    artel__ndarray_settle(view);
    *out = view;
    return ARTEL_OK;
}

/* The shape with its one -1 filled in; false: it does not hold so many elements. */
static bool complete(const artel_shape *wanted, int64_t count, artel_shape *shape)
{
    int open = -1;
    int64_t known = 1;
    if (wanted->rank < 0 || wanted->rank > ARTEL_MAX_RANK) return false;
    *shape = *wanted;
    for (int d = 0; d < shape->rank; d++) {
        if (shape->dim[d] == -1 && open < 0) {
            open = d;
            continue;
        }
        if (shape->dim[d] < 0 || __builtin_mul_overflow(known, shape->dim[d], &known)) return false;
    }
    if (open >= 0 && (known == 0 || count % known)) return false;
    if (open >= 0) shape->dim[open] = count / known;
    return artel_shape_count(shape) == count;
}

artel_status artel_ndarray_reshape(artel_ndarray *a, const artel_shape *shape, artel_ndarray **out)
{
    artel_ndarray *view, *dense = NULL;
    artel_shape full;
    char text[128];
    ARTEL_TRY(artel__enter(a ? a->eager->ctx : NULL, __func__, "array shape out", a, shape, out));
    if (!complete(shape, a->count, &full))
        return artel__fail(a->eager->ctx, ARTEL_ERROR_INVALID, "array", "give as many elements, with at most one -1",
                           "%lld elements of %s do not have this shape", (long long)a->count,
                           artel__shape_text(&a->shape, false, text, sizeof text));
    ARTEL_TRY(artel__ndarray_check(a->eager, a->dtype, &full));
    if (!a->dense) {
        ARTEL_TRY(artel_ndarray_cast(a, a->dtype, &dense));
        a = dense;
    }
    artel_status status = artel__ndarray_view(a, &view);
    artel_ndarray_release(dense); /* the view holds it */
    ARTEL_TRY(status);
    view->shape = full;
    int64_t stride = (int64_t)artel__cell_size(view->dtype);
    for (int d = full.rank - 1; d >= 0; d--) {
        view->stride[d] = stride;
        stride *= full.dim[d];
    }
    artel__ndarray_settle(view);
    *out = view;
    return ARTEL_OK;
}

artel_status artel_ndarray_transpose(artel_ndarray *a, const int *axes, artel_ndarray **out)
{
    artel_ndarray *view;
    int from[ARTEL_MAX_RANK];
    uint32_t seen = 0;
    ARTEL_TRY(artel__enter(a ? a->eager->ctx : NULL, __func__, "array out", a, out));
    for (int d = 0; d < a->shape.rank; d++) {
        from[d] = axes ? axes[d] : a->shape.rank - 1 - d;
        if (from[d] < 0 || from[d] >= a->shape.rank || (seen >> from[d] & 1))
            return artel__fail(a->eager->ctx, ARTEL_ERROR_INVALID, "array", "name each axis once",
                               "axis %d is named twice or is none", from[d]);
        seen |= 1u << from[d];
    }
    ARTEL_TRY(artel__ndarray_view(a, &view));
    for (int d = 0; d < a->shape.rank; d++) {
        view->shape.dim[d] = a->shape.dim[from[d]];
        view->stride[d] = a->stride[from[d]];
    }
    artel__ndarray_settle(view);
    *out = view;
    return ARTEL_OK;
}

artel_status artel_ndarray_broadcast(artel_ndarray *a, const artel_shape *shape, artel_ndarray **out)
{
    artel_ndarray *view;
    artel_shape joined;
    char has[128];
    ARTEL_TRY(artel__enter(a ? a->eager->ctx : NULL, __func__, "array shape out", a, shape, out));
    ARTEL_TRY(artel__ndarray_check(a->eager, a->dtype, shape));
    if (!artel__shape_broadcast(&a->shape, shape, &joined) || !artel__shape_equal(&joined, shape))
        return artel__fail(a->eager->ctx, ARTEL_ERROR_INVALID, "array",
                           "only axes of extent 1, and new ones in front, are repeated",
                           "%s does not broadcast to this shape", artel__shape_text(&a->shape, false, has, sizeof has));
    ARTEL_TRY(artel__ndarray_view(a, &view));
    int ahead = shape->rank - a->shape.rank;
    for (int d = shape->rank - 1; d >= 0; d--) {
        bool repeats = d < ahead || (a->shape.dim[d - ahead] == 1 && shape->dim[d] != 1);
        view->stride[d] = repeats ? 0 : a->stride[d - ahead];
    }
    view->shape = *shape;
    artel__ndarray_settle(view);
    *out = view;
    return ARTEL_OK;
}
