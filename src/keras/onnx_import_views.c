/* SPDX-License-Identifier: Apache-2.0 */
/* Values whose batch is not ONNX' first axis, or whose rows lie otherwise than ONNX sees them: what recurrent nodes
 * take and give, as [time][direction][batch][units]. A tensor has its batch in front, so that to move the batch costs
 * nothing; an axis of one place costs nothing either, nor do directions in front of units, which Bidirectional gives
 * one behind the other.
 */
#include <stdio.h>
#include <string.h>

#include "keras/build.h"
#include "keras/onnx_import.h"

typedef artel__onnx_import import;
typedef artel__onnx_operator operator;
typedef artel__onnx_held held;

void artel__onnx_see(held *x, const artel_shape *to)
{
    if (!x->loose) x->lies = x->shape;
    x->loose = true;
    x->shape = *to;
}

static artel_status put_shape(import *m, held *x, const artel_shape *to)
{
    char dims[ARTEL_MAX_RANK * 24] = "";
    int open = 0;
    for (int i = 0; i < to->rank; i++) {
        open += to->dim[i] < 0;
        snprintf(dims + strlen(dims), sizeof dims - strlen(dims), "%s%lld", i ? ", " : "", (long long)to->dim[i]);
    }
    if (open > 1)
        return artel__fail(m->arena->ctx, ARTEL_ERROR_UNSUPPORTED, m->file.path, "export it with a fixed length",
                           "ONNX import does not know rows of several open axes that lie otherwise");
    ARTEL_TRY(artel__onnx_over(m, x, "Reshape", NULL, "\"target_shape\": [%s]", dims));
    x->lies = *to;
    return ARTEL_OK;
}

artel_status artel__onnx_settle(import *m, held *x)
{
    bool same = !x->loose || artel__shape_equal(&x->lies, &x->shape);
    if (!same) ARTEL_TRY(put_shape(m, x, &x->shape));
    x->loose = false;
    return ARTEL_OK;
}

int artel__onnx_row_axis(const held *x, int64_t axis)
{
    int all = x->shape.rank + 1;
    if (axis < 0) axis += all;
    if (axis < 0 || axis >= all) return -2;
    return axis == x->batch ? -1 : (int)axis - (axis > x->batch);
}

/* -- order of axes -- */

artel_status artel__onnx_view_transpose(import *m, const operator* node, held *x)
{
    int64_t perm[ARTEL_MAX_RANK + 2];
    int axes[ARTEL_MAX_RANK + 1], all = x->shape.rank + 1, before = -1, batch = -1;
    artel_shape to = {.rank = 0};
    unsigned seen = 0;
    bool kept = true; /* the order of axes of more places than one */
    if (x->last) ARTEL_TRY(artel__onnx_to_plain(m, x));
    if (artel__onnx_ints_of(node, "perm", perm, all + 1) != all)
        return artel__onnx_import_refuse(m, node, "without an order of all axes");
    for (int i = 0; i < all; i++) {
        if (perm[i] < 0 || perm[i] >= all || (seen >> perm[i] & 1))
            return artel__onnx_import_refuse(m, node, "of axes that are none");
        seen |= 1u << perm[i];
        int axis = artel__onnx_row_axis(x, perm[i]);
        if (axis < 0) batch = i;
        if (axis < 0) continue;
        if (x->shape.dim[axis] != 1) kept = kept && axis > before;
        if (x->shape.dim[axis] != 1) before = axis;
        axes[to.rank] = axis;
        to.dim[to.rank++] = x->shape.dim[axis];
    }
    if (kept) {
        artel__onnx_see(x, &to);
    } else {
        ARTEL_TRY(artel__onnx_settle(m, x));
        ARTEL_TRY(artel__onnx_permute(m, x, axes));
        x->shape = to;
    }
    x->batch = batch;
    return artel__onnx_give(m, node->output[0], x);
}

/* -- shapes -- */

/* Numbers of the axes from `from` on; -1: one of them is open. */
static int64_t places(const int64_t *dim, int from, int to)
{
    int64_t count = 1;
    for (int i = from; i < to; i++) {
        if (dim[i] < 0 || __builtin_mul_overflow(count, dim[i], &count)) return -1;
    }
    return count;
}

static bool same_places(const int64_t *a, int from, int to, const int64_t *b, int start, int end)
{
    int64_t one = places(a, from, to), other = places(b, start, end);
    if (one >= 0 && other >= 0) return one == other;
    return to - from == end - start && memcmp(a + from, b + start, (size_t)(to - from) * sizeof *a) == 0;
}

/* Which entry of a new shape is the batch. */
static int find_batch(const held *x, const artel__onnx_numbers *shape)
{
    for (int i = 0; i < (int)shape->count; i++) {
        if (shape->i[i] == ARTEL__ONNX_BATCH || (shape->i[i] == 0 && i == x->batch)) return i;
    }
    for (int i = 0; i < (int)shape->count; i++) {
        if (shape->i[i] == -1) return i;
    }
    return shape->i[0] == 1 ? 0 : -1; /* exported for one row */
}

/* An extent that is not told, of what the others leave. */
static void solve(const held *x, artel_shape *to, int from, int end, int start, int stop)
{
    int64_t all = places(x->shape.dim, from, end), known = 1;
    int open = -1;
    for (int i = start; i < stop; i++) {
        if (to->dim[i] < 0) open = open >= 0 ? ARTEL_MAX_RANK : i;
        if (to->dim[i] > 0 && __builtin_mul_overflow(known, to->dim[i], &known)) return;
    }
    if (open >= 0 && open < ARTEL_MAX_RANK && all > 0 && all % known == 0) to->dim[open] = all / known;
}

/* What is in front of the batch and what is behind it have to be kept each for itself. */
artel_status artel__onnx_view_reshape(import *m, const operator* node, held *x, const artel__onnx_numbers *shape)
{
    artel_shape to = {.rank = 0};
    int batch = find_batch(x, shape);
    if (batch < 0) return artel__onnx_import_refuse(m, node, "to a shape without the batch");
    for (int i = 0; i < (int)shape->count; i++) {
        int64_t extent = shape->i[i];
        int axis = artel__onnx_row_axis(x, i);
        if (i == batch) continue;
        if (extent == 0 && axis < 0)
            return artel__onnx_import_refuse(m, node, "to a shape that has the batch elsewhere");
        if (extent == 0) extent = x->shape.dim[axis];
        if (extent == ARTEL__ONNX_OPEN) extent = -1;
        if (extent == 0 || extent < -1 || extent > INT32_MAX)
            return artel__onnx_import_refuse(m, node, "to this shape");
        to.dim[to.rank++] = extent;
    }
    solve(x, &to, 0, x->batch, 0, batch);
    solve(x, &to, x->batch, x->shape.rank, batch, to.rank);
    if (!same_places(x->shape.dim, 0, x->batch, to.dim, 0, batch) ||
        !same_places(x->shape.dim, x->batch, x->shape.rank, to.dim, batch, to.rank))
        return artel__onnx_import_refuse(m, node, "of the batch with other axes");
    if (x->last) ARTEL_TRY(artel__onnx_to_plain(m, x));
    artel__onnx_see(x, &to);
    x->batch = batch;
    return artel__onnx_give(m, node->output[0], x);
}

/* -- parts -- */

artel_status artel__onnx_flip(import *m, held *x, int axis)
{
    char config[64];
    artel_tensor from;
    ARTEL_TRY(artel__onnx_settle(m, x));
    from = x->tensor;
    snprintf(config, sizeof config, "{\"name\": \"flip_%d\", \"axis\": %d}", m->layers++,
             artel__onnx_axis_in(x, axis) + 1);
    return artel__builder_operation(m->builder, "keras.src.ops.numpy", "Flip", config, from, &x->tensor);
}

/* The step that a recurrent layer gives beside its sequence. */
static bool take_final(held *x, int axis, int64_t from, int64_t count)
{
    const artel__onnx_final *f = x->final;
    bool known = f && f->of.call == x->tensor.call && f->of.output == x->tensor.output;
    if (!known || places(x->shape.dim, 1, x->shape.rank) != f->units || axis != 0 || count != 1 ||
        from != (f->step < 0 && x->shape.dim[0] > 0 ? x->shape.dim[0] - 1 : f->step))
        return false;
    x->tensor = f->tensor;
    x->lies = (artel_shape){1, {f->units}};
    x->loose = true;
    x->shape.dim[0] = 1;
    return true;
}

/* Cropping1D, along the axis in front of all others, which it is brought to and, where places are left to order, back.
 */
artel_status artel__onnx_cut(import *m, const operator* node, held *x, int axis, int64_t from, int64_t count)
{
    int64_t extent = x->shape.dim[axis], rest = 1;
    int there[ARTEL_MAX_RANK], back[ARTEL_MAX_RANK], rank = x->shape.rank;
    if (count == extent || take_final(x, axis, from, count)) return ARTEL_OK;
    if (extent < 0) return artel__onnx_import_refuse(m, node, "places of an axis of open length");
    if (from < 0 || count < 1 || from > extent - count)
        return artel__onnx_import_refuse(m, node, "places that are none");
    ARTEL_TRY(artel__onnx_to_plain(m, x));
    artel_shape shape = x->shape, turned = {.rank = rank};
    for (int i = 0; i < rank; i++) {
        there[i] = i == 0 ? axis : i - (i <= axis);
        back[there[i]] = i;
        turned.dim[i] = i == 0 ? count : shape.dim[there[i]];
        if (i > 0)
            rest = rest < 0 || turned.dim[i] < 0 || __builtin_mul_overflow(rest, turned.dim[i], &rest) ? -1 : rest;
    }
    if (axis > 0) ARTEL_TRY(artel__onnx_permute(m, x, there));
    x->shape = (artel_shape){2, {extent, rest}};
    if (rank != 2) ARTEL_TRY(put_shape(m, x, &x->shape));
    ARTEL_TRY(artel__onnx_over(m, x, "Cropping1D", NULL, "\"cropping\": [%lld, %lld]", (long long)from,
                               (long long)(extent - from - count)));
    x->shape.dim[0] = count;
    artel__onnx_see(x, &turned);
    shape.dim[axis] = count;
    if (axis > 0 && count > 1) {
        ARTEL_TRY(artel__onnx_settle(m, x));
        ARTEL_TRY(artel__onnx_permute(m, x, back));
    }
    if (axis > 0 && count > 1)
        x->shape = shape;
    else
        artel__onnx_see(x, &shape);
    return ARTEL_OK;
}

/* Gather of one place: a number drops the axis, a list of one keeps it. */
artel_status artel__onnx_select(import *m, const operator* node, const artel__onnx_numbers *index)
{
    held x;
    ARTEL_TRY(artel__onnx_take_any(m, node, 0, &x));
    int axis = artel__onnx_row_axis(&x, artel__onnx_int_of(node, "axis", 0));
    if (!index->i || index->count != 1 || index->shape.rank > 1 || axis < 0)
        return artel__onnx_import_refuse(m, node, "other than rows of a constant table, or one place of an axis");
    int64_t extent = x.shape.dim[axis], from = index->i[0] < 0 && extent > 0 ? index->i[0] + extent : index->i[0];
    bool whole = extent == 1 && from == 0;
    if (!whole && extent == 1) return artel__onnx_import_refuse(m, node, "places that are none");
    ARTEL_TRY(artel__onnx_cut(m, node, &x, axis, from, 1));
    artel_shape to = x.shape;
    if (index->shape.rank == 0) {
        if (x.last) ARTEL_TRY(artel__onnx_to_plain(m, &x));
        memmove(to.dim + axis, to.dim + axis + 1, (size_t)(to.rank - axis - 1) * sizeof *to.dim);
        to.rank--;
        artel__onnx_see(&x, &to);
        x.batch -= x.batch > axis;
    }
    return artel__onnx_give(m, node->output[0], &x);
}

/* The part [start, end) of an axis, of which any may count from the end. */
static artel_status slice_axis(import *m, const operator* node, held *x, int axis, int64_t start, int64_t end,
                               int64_t step)
{
    int64_t extent = x->shape.dim[axis];
    if (step == -1 && start == -1 && end < -INT32_MAX && end != ARTEL__ONNX_BATCH && end != ARTEL__ONNX_OPEN)
        return artel__onnx_flip(m, x, axis);
    if (step != 1) return artel__onnx_import_refuse(m, node, "of this step");
    if (extent < 0) {
        if (start == 0 && end >= INT32_MAX) return ARTEL_OK;
        bool final = start == -1 && end >= INT32_MAX;
        return artel__onnx_cut(m, node, x, axis, start, final || (start == 0 && end == 1) ? 1 : 0);
    }
    if (start < 0) start = start < -extent ? 0 : start + extent;
    if (end < 0) end = end < -extent ? 0 : end + extent;
    if (end > extent) end = extent;
    if (start >= end) return artel__onnx_import_refuse(m, node, "of no places");
    return artel__onnx_cut(m, node, x, axis, start, end - start);
}

static artel_status read_slice(import *m, const operator* node)
{
    static const char *const name[] = {"starts", "ends", "axes", "steps"};
    held x;
    int64_t value[4][ARTEL_MAX_RANK + 1];
    int count[4], most = ARTEL_MAX_RANK + 1;
    ARTEL_TRY(artel__onnx_take_any(m, node, 0, &x));
    for (int k = 0; k < 4; k++) {
        if (k + 1 < node->inputs && *node->input[k + 1] &&
            (!artel__onnx_fixed(m, node, k + 1) || !artel__onnx_fixed(m, node, k + 1)->i))
            return artel__onnx_import_refuse(m, node, "places that are computed");
        count[k] = artel__onnx_list_of(m, node, name[k], k + 1, value[k], most);
    }
    if (count[0] < 1 || count[0] > x.shape.rank + 1 || count[1] != count[0] ||
        (count[2] >= 0 && count[2] != count[0]) || (count[3] >= 0 && count[3] != count[0]))
        return artel__onnx_import_refuse(m, node, "places that do not go together");
    for (int i = 0; i < count[0]; i++) {
        int axis = artel__onnx_row_axis(&x, count[2] < 0 ? i : value[2][i]);
        int64_t start = value[0][i], end = value[1][i], step = count[3] < 0 ? 1 : value[3][i];
        bool whole = start == 0 && step == 1 && (end >= INT32_MAX || end == ARTEL__ONNX_BATCH);
        if (axis == -1 && whole) continue;
        if (axis < 0) return artel__onnx_import_refuse(m, node, "of the batch");
        ARTEL_TRY(slice_axis(m, node, &x, axis, start, end, step));
    }
    return artel__onnx_give(m, node->output[0], &x);
}

static artel_status read_split(import *m, const operator* node)
{
    held x;
    int64_t part[64], from = 0;
    ARTEL_TRY(artel__onnx_take_any(m, node, 0, &x));
    int axis = artel__onnx_row_axis(&x, artel__onnx_int_of(node, "axis", 0)), parts = node->outputs;
    if (axis < 0 || x.shape.dim[axis] < 0 || parts > 64)
        return artel__onnx_import_refuse(m, node, "of the batch, or of an open axis");
    int64_t extent = x.shape.dim[axis], each = (extent + parts - 1) / parts;
    if (node->inputs > 1 && *node->input[1] && !artel__onnx_fixed(m, node, 1))
        return artel__onnx_import_refuse(m, node, "places that are computed");
    int given = artel__onnx_list_of(m, node, "split", 1, part, 64);
    if (given >= 0 && given != parts) return artel__onnx_import_refuse(m, node, "places that do not go together");
    for (int i = 0; i < parts; i++) {
        held one = x;
        int64_t count = given >= 0 ? part[i] : i + 1 < parts ? each : extent - from;
        if (count < 1 || count > extent - from) return artel__onnx_import_refuse(m, node, "places that are none");
        ARTEL_TRY(artel__onnx_cut(m, node, &one, axis, from, count));
        ARTEL_TRY(artel__onnx_give(m, node->output[i], &one));
        from += count;
    }
    return ARTEL_OK;
}

/* -- joined -- */

/* Rows that are joined in front of all that is longer than one place lie one behind the other as they are. */
artel_status artel__onnx_view_concat(import *m, const operator* node)
{
    held x, first;
    char config[48];
    int64_t extent = 0, flat = 0;
    artel_tensor *all = artel__arena_alloc(m->arena, (size_t)node->inputs + 1, sizeof *all);
    if (!all) return ARTEL_ERROR_NO_MEMORY;
    ARTEL_TRY(artel__onnx_take_any(m, node, 0, &first));
    int axis = artel__onnx_row_axis(&first, artel__onnx_int_of(node, "axis", 0));
    if (axis < 0) return artel__onnx_import_refuse(m, node, "along the batch");
    bool lines = places(first.shape.dim, 0, axis) == 1;
    for (int k = 0; k < node->inputs; k++) {
        ARTEL_TRY(artel__onnx_take_any(m, node, k, &x));
        if (x.shape.rank != first.shape.rank || x.batch != first.batch)
            return artel__onnx_import_refuse(m, node, "of values with other axes");
        lines = lines && x.loose && x.lies.rank == 1 && x.lies.dim[0] > 0;
    }
    first.positive = true;
    for (int k = 0; k < node->inputs; k++) {
        ARTEL_TRY(artel__onnx_take_any(m, node, k, &x));
        int64_t part = x.shape.dim[axis];
        extent = extent < 0 || part < 0 ? -1 : extent + part;
        if (lines) flat += x.lies.dim[0];
        if (!lines) ARTEL_TRY(artel__onnx_to_plain(m, &x));
        all[k] = x.tensor;
        first.positive = first.positive && x.positive;
    }
    first.shape.dim[axis] = extent;
    first.last = false;
    first.loose = lines;
    first.lies = (artel_shape){1, {flat}};
    snprintf(config, sizeof config, "\"axis\": %d", lines ? 1 : axis + 1);
    if (node->inputs == 1)
        first.tensor = all[0];
    else
        ARTEL_TRY(artel__onnx_layer(m, "Concatenate", all, node->inputs, config, &first.tensor, NULL));
    return artel__onnx_give(m, node->output[0], &first);
}

const artel__onnx_import_row artel__onnx_imports_views[] = {{"Slice", read_slice}, {"Split", read_split}, {NULL, NULL}};
