/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes that change shapes. In ONNX' order they are Keras' layers of the same meaning; where channels lie behind, a
 * Transpose is often nothing but the other way to look at a value.
 */
#include <stdio.h>
#include <string.h>

#include "keras/onnx_import.h"

typedef artel__onnx_import import;
typedef artel__onnx_operator operator;

static artel_status read_transpose(import *m, const operator* node)
{
    artel__onnx_held x;
    int64_t perm[ARTEL_MAX_RANK + 1];
    int place[ARTEL_MAX_RANK];
    ARTEL_TRY(artel__onnx_take_any(m, node, 0, &x));
    int rank = x.shape.rank, count = artel__onnx_ints_of(node, "perm", perm, rank + 1);
    bool plain = true, last = rank > 1, good = count == rank + 1 && perm[0] == 0 && !x.batch && !x.loose;
    artel_shape from = x.shape;
    for (int i = 0; good && i < rank; i++) good = perm[i + 1] >= 1 && perm[i + 1] <= rank;
    if (!good) return artel__onnx_view_transpose(m, node, &x);
    for (int i = 0; i < rank; i++) {
        place[i] = artel__onnx_axis_in(&x, (int)perm[i + 1] - 1);
        x.shape.dim[i] = from.dim[perm[i + 1] - 1];
        plain = plain && place[i] == i;
        last = last && place[i] == (i == 0 ? rank - 1 : i - 1);
    }
    if (!plain && !last) ARTEL_TRY(artel__onnx_permute(m, &x, place));
    x.last = last && !plain;
    return artel__onnx_give(m, node->output[0], &x);
}

/* As a row of these extents; at most one is -1. */
static artel_status put_reshape(import *m, const operator* node, artel__onnx_held *x, const artel_shape *to)
{
    char dims[160] = "";
    int64_t total = artel_shape_count(&x->shape), others = 1, open = -1;
    ARTEL_TRY(artel__onnx_to_plain(m, x));
    x->shape = *to;
    for (int i = 0; i < to->rank; i++) {
        if (to->dim[i] < 0 && open >= 0) return artel__onnx_import_refuse(m, node, "to a shape with several open axes");
        if (to->dim[i] < 0) open = i;
        if (to->dim[i] > 0 && __builtin_mul_overflow(others, to->dim[i], &others))
            return artel__onnx_import_refuse(m, node, "to this shape");
        snprintf(dims + strlen(dims), sizeof dims - strlen(dims), "%s%lld", i ? ", " : "", (long long)to->dim[i]);
    }
    if (open >= 0 && total > 0 && others > 0) x->shape.dim[open] = total / others;
    if (to->rank == 1 && open == 0)
        ARTEL_TRY(artel__onnx_over(m, x, "Flatten", NULL, "%s", ""));
    else
        ARTEL_TRY(artel__onnx_over(m, x, "Reshape", NULL, "\"target_shape\": [%s]", dims));
    return artel__onnx_give(m, node->output[0], x);
}

static artel_status read_flatten(import *m, const operator* node)
{
    artel__onnx_held x;
    ARTEL_TRY(artel__onnx_take_any(m, node, 0, &x));
    int64_t total = artel_shape_count(&x.shape);
    if (artel__onnx_int_of(node, "axis", 1) != 1) return artel__onnx_import_refuse(m, node, "from another axis than 1");
    if (x.loose && !x.batch && total > 0) {
        artel__onnx_see(&x, &(artel_shape){1, {total}});
        return artel__onnx_give(m, node->output[0], &x);
    }
    ARTEL_TRY(artel__onnx_take(m, node, 0, &x));
    return put_reshape(m, node, &x, &(artel_shape){1, {-1}});
}

static artel_status read_reshape(import *m, const operator* node)
{
    artel__onnx_held x;
    artel_shape to = {.rank = 0};
    int64_t known = 1, total;
    const artel__onnx_numbers *shape = artel__onnx_fixed(m, node, 1);
    ARTEL_TRY(artel__onnx_take_any(m, node, 0, &x));
    if (!shape || !shape->i || shape->count < 1 || shape->count > ARTEL_MAX_RANK ||
        artel__onnx_int_of(node, "allowzero", 0))
        return artel__onnx_import_refuse(m, node, "to a shape that is computed");
    if (x.batch || x.loose) return artel__onnx_view_reshape(m, node, &x, shape);
    total = artel_shape_count(&x.shape);
    for (int64_t i = 1; i < shape->count; i++) {
        int64_t extent = shape->i[i];
        if (extent == 0) extent = i <= x.shape.rank ? x.shape.dim[i - 1] : 0;
        if (extent == ARTEL__ONNX_OPEN) extent = -1;
        if (extent == 0 || extent < -1 || __builtin_mul_overflow(known, extent, &known))
            return artel__onnx_import_refuse(m, node, "to this shape");
        to.dim[to.rank++] = extent;
    }
    /* the batch: 0, -1, or 1 of a model that was exported for one row, where the rest says all */
    bool rest = known > 0 && (total < 0 || known == total);
    if (shape->i[0] != 0 && shape->i[0] != ARTEL__ONNX_BATCH && !rest && !(shape->i[0] == 1 && known < 0))
        return artel__onnx_import_refuse(m, node, "of the batch");
    return put_reshape(m, node, &x, &to);
}

/* Axes of one place that go or come. Where the batch moves, or nothing else lies as ONNX says, that is no layer. */
static artel_status read_squeeze(import *m, const operator* node)
{
    artel__onnx_held x;
    artel_shape to = {.rank = 0};
    int64_t axes[ARTEL_MAX_RANK];
    unsigned seen = 0;
    int batch = 0;
    bool adds = strcmp(node->type, "Unsqueeze") == 0;
    ARTEL_TRY(artel__onnx_take_any(m, node, 0, &x));
    int count = artel__onnx_list_of(m, node, "axes", 1, axes, ARTEL_MAX_RANK);
    int all = x.shape.rank + 1 + (adds ? count : 0);
    if (count < 1 || all > ARTEL_MAX_RANK) return artel__onnx_import_refuse(m, node, "axes that are not given");
    for (int i = 0; i < count; i++) {
        int64_t axis = axes[i] < 0 ? axes[i] + all : axes[i];
        if (axis < 0 || axis >= all || (seen >> axis & 1) || (!adds && axis == x.batch))
            return artel__onnx_import_refuse(m, node, "of the batch, or of an axis twice");
        seen |= 1u << axis;
    }
    for (int i = 0, k = 0, kept = 0; i < all; i++) { /* k: which axis of x this is */
        bool here = seen >> i & 1;
        if (here && adds) to.dim[to.rank++] = 1;
        if (here && adds) continue;
        int64_t extent = k == x.batch ? -1 : x.shape.dim[k - (k > x.batch)];
        if (here && extent != 1) return artel__onnx_import_refuse(m, node, "of an axis of more places than one");
        if (!here && k == x.batch) batch = adds ? i : kept;
        if (!here && k != x.batch) to.dim[to.rank++] = extent;
        kept += !here;
        k++;
    }
    if (!batch && !x.batch && !x.loose) return put_reshape(m, node, &x, &to);
    if (x.last) ARTEL_TRY(artel__onnx_to_plain(m, &x));
    artel__onnx_see(&x, &to);
    x.batch = batch;
    return artel__onnx_give(m, node->output[0], &x);
}

static artel_status read_concat(import *m, const operator* node)
{
    artel__onnx_held x, first = {.last = false};
    char config[48];
    bool mixed = false, viewed = false;
    int64_t extent = 0, axis = artel__onnx_int_of(node, "axis", 0);
    artel_tensor *all = artel__arena_alloc(m->arena, (size_t)node->inputs + 1, sizeof *all);
    if (!all) return ARTEL_ERROR_NO_MEMORY;
    for (int k = 0; k < node->inputs; k++) {
        ARTEL_TRY(artel__onnx_take_any(m, node, k, &x));
        if (k == 0) first = x;
        mixed = mixed || x.last != first.last;
        viewed = viewed || x.batch || x.loose;
    }
    if (viewed) return artel__onnx_view_concat(m, node);
    if (axis < 0) axis += first.shape.rank + 1;
    if (node->inputs < 2 || axis < 1 || axis > first.shape.rank)
        return artel__onnx_import_refuse(m, node, "along the batch, or of one value");
    bool positive = true;
    for (int k = 0; k < node->inputs; k++) {
        ARTEL_TRY(artel__onnx_take(m, node, k, &x));
        if (x.shape.rank != first.shape.rank) return artel__onnx_import_refuse(m, node, "of different ranks");
        if (mixed) ARTEL_TRY(artel__onnx_to_last(m, &x));
        all[k] = x.tensor;
        positive = positive && x.positive;
        int64_t part = x.shape.dim[axis - 1];
        extent = extent < 0 || part < 0 ? -1 : extent + part;
    }
    x.shape.dim[axis - 1] = extent;
    x.positive = positive;
    snprintf(config, sizeof config, "\"axis\": %d", artel__onnx_axis_in(&x, (int)axis - 1) + 1);
    ARTEL_TRY(artel__onnx_layer(m, "Concatenate", all, node->inputs, config, &x.tensor, NULL));
    return artel__onnx_give(m, node->output[0], &x);
}

const artel__onnx_import_row artel__onnx_imports_shapes[] = {
    {"Transpose", read_transpose},
    {"Flatten", read_flatten},
    {"Reshape", read_reshape},
    {"Squeeze", read_squeeze},
    {"Unsqueeze", read_squeeze},
    {"Concat", read_concat},
    {NULL, NULL},
};
