/* SPDX-License-Identifier: Apache-2.0 */
/* What exporters reckon of shapes: sizes for Reshape, and the zeros that recurrent nodes begin with, as many as there
 * are rows. Sizes are constants of whole numbers in which two stand for the batch and for what is open; zeros are names
 * that only a recurrent node reads.
 */
#include <string.h>

#include "keras/onnx_import.h"

typedef artel__onnx_import import;
typedef artel__onnx_operator operator;
typedef artel__onnx_numbers numbers;

enum {
    MOST = 64
};

/* A list of sizes, or one (rank 0). */
typedef struct sizes {
    int64_t value[MOST];
    int count, rank;
} sizes;

static bool take_sizes(const import *m, const operator* node, int k, sizes *out)
{
    const numbers *c = artel__onnx_fixed(m, node, k);
    if (!c || !c->i || c->shape.rank > 1 || c->count > MOST) return false;
    out->count = (int)c->count;
    out->rank = c->shape.rank;
    memcpy(out->value, c->i, (size_t)c->count * sizeof *c->i);
    return true;
}

static artel_status keep(import *m, const operator* node, const sizes *s)
{
    artel__onnx_file *f = &m->file;
    int64_t *values = artel__arena_alloc(m->arena, MOST, sizeof *values);
    if (!values) return ARTEL_ERROR_NO_MEMORY;
    memcpy(values, s->value, (size_t)s->count * sizeof *values);
    numbers *out = &f->tensor[f->tensors]; /* a place for each node is there */
    *out = (numbers){.name = node->output[0], .count = s->count, .i = values};
    if (s->rank) out->shape = (artel_shape){1, {s->count}};
    return artel__names_set(&f->by_name, node->output[0], f->tensors++);
}

/* -- sizes: each says whether it knows -- */

static bool shape_of(const import *m, const operator* node, sizes *out)
{
    const int *number = artel__names_find(&m->by_name, node->inputs ? node->input[0] : "");
    int64_t from = artel__onnx_int_of(node, "start", 0), to = artel__onnx_int_of(node, "end", INT32_MAX);
    if (!number) return false;
    const artel__onnx_held *x = &m->held[*number];
    int all = x->shape.rank + 1;
    from += from < 0 ? all : 0;
    to += to < 0 ? all : 0;
    *out = (sizes){.rank = 1};
    for (int i = 0; i < all; i++) {
        int axis = artel__onnx_row_axis(x, i);
        int64_t extent = axis < 0 ? ARTEL__ONNX_BATCH : x->shape.dim[axis] < 0 ? ARTEL__ONNX_OPEN : x->shape.dim[axis];
        if (i >= from && i < to) out->value[out->count++] = extent;
    }
    return out->count > 0;
}

static bool gather(const import *m, const operator* node, sizes *out)
{
    sizes from, at;
    if (!take_sizes(m, node, 0, &from) || !take_sizes(m, node, 1, &at) || from.rank != 1 ||
        artel__onnx_int_of(node, "axis", 0))
        return false;
    for (int i = 0; i < at.count; i++) {
        int64_t k = at.value[i] < 0 ? at.value[i] + from.count : at.value[i];
        if (k < 0 || k >= from.count) return false;
        out->value[i] = from.value[k];
    }
    out->count = at.count;
    out->rank = at.rank;
    return true;
}

static bool slice(const import *m, const operator* node, sizes *out)
{
    sizes from;
    int64_t start, end, axis = 0, step = 1;
    if (!take_sizes(m, node, 0, &from) || from.rank != 1 || artel__onnx_list_of(m, node, "starts", 1, &start, 1) != 1 ||
        artel__onnx_list_of(m, node, "ends", 2, &end, 1) != 1)
        return false;
    artel__onnx_list_of(m, node, "axes", 3, &axis, 1);
    artel__onnx_list_of(m, node, "steps", 4, &step, 1);
    if (axis != 0 || step != 1 || start < -MOST || end < -MOST) return false;
    if (start < 0) start = start + from.count < 0 ? 0 : start + from.count;
    if (end < 0) end += from.count;
    if (end > from.count) end = from.count;
    if (start >= end) return false;
    out->rank = 1;
    out->count = (int)(end - start);
    memcpy(out->value, from.value + start, (size_t)out->count * sizeof *out->value);
    return true;
}

static bool concat(const import *m, const operator* node, sizes *out)
{
    *out = (sizes){.rank = 1};
    for (int k = 0; k < node->inputs; k++) {
        sizes one;
        if (!take_sizes(m, node, k, &one) || one.rank != 1 || out->count + one.count > MOST) return false;
        memcpy(out->value + out->count, one.value, (size_t)one.count * sizeof *one.value);
        out->count += one.count;
    }
    return true;
}

static bool squeeze(const import *m, const operator* node, sizes *out)
{
    if (!take_sizes(m, node, 0, out) || out->count != 1) return false;
    bool adds = strcmp(node->type, "Unsqueeze") == 0;
    if (out->rank == adds) return false; /* a table, or less than a number */
    out->rank = adds;
    return true;
}

static bool is_size(int64_t value)
{
    return value != ARTEL__ONNX_BATCH && value != ARTEL__ONNX_OPEN;
}

static int64_t product(int64_t a, int64_t b)
{
    int64_t out;
    if (a == 1) return b;
    if (b == 1) return a;
    return is_size(a) && is_size(b) && !__builtin_mul_overflow(a, b, &out) ? out : ARTEL__ONNX_OPEN;
}

static int64_t sum(int64_t a, int64_t b)
{
    int64_t out;
    if (a == 0) return b;
    if (b == 0) return a;
    return is_size(a) && is_size(b) && !__builtin_add_overflow(a, b, &out) ? out : ARTEL__ONNX_OPEN;
}

static bool reckon_two(const import *m, const operator* node, sizes *out)
{
    sizes a, b;
    if (node->inputs != 2 || !take_sizes(m, node, 0, &a) || !take_sizes(m, node, 1, &b)) return false;
    if (a.count != b.count && a.count != 1 && b.count != 1) return false;
    out->count = a.count > b.count ? a.count : b.count;
    out->rank = a.rank | b.rank;
    for (int i = 0; i < out->count; i++) {
        int64_t one = a.value[a.count == 1 ? 0 : i], other = b.value[b.count == 1 ? 0 : i];
        out->value[i] = node->type[0] == 'M' ? product(one, other) : sum(one, other);
    }
    return true;
}

static bool fill(const import *m, const operator* node, sizes *out)
{
    sizes shape;
    numbers value = {.i = NULL};
    artel__onnx_file file = m->file;
    if (node->attributes == 0 || !take_sizes(m, node, 0, &shape) || shape.count > 1 ||
        artel__onnx_constant_of(&file, node, &value) < 0)
        return false;
    int64_t count = shape.count ? shape.value[0] : 1;
    if (!value.i || value.count != 1 || count < 1 || count > MOST) return false;
    *out = (sizes){.count = (int)count, .rank = shape.count};
    for (int i = 0; i < out->count; i++) out->value[i] = value.i[0];
    return true;
}

static const struct {
    const char *type;
    bool (*reckon)(const import *m, const operator* node, sizes *out);
} functions[] = {{"Shape", shape_of}, {"Gather", gather},   {"Slice", slice},
                 {"Concat", concat},  {"Squeeze", squeeze}, {"Unsqueeze", squeeze},
                 {"Mul", reckon_two}, {"Add", reckon_two},  {"ConstantOfShape", fill}};

/* -- zeros -- */

bool artel__onnx_is_zero(const import *m, const operator* node, int k)
{
    if (k >= node->inputs || artel__names_find(&m->zeros, node->input[k])) return true;
    const numbers *c = artel__onnx_fixed(m, node, k);
    if (!*node->input[k]) return true;
    if (!c || !c->f) return false;
    for (int64_t i = 0; i < c->count; i++) {
        if (c->f[i] != 0) return false;
    }
    return true;
}

/* Nodes that only order, repeat or leave out numbers of their first input; Concat those of all. Constants stay
 * constants where a weight may come of them: behind Identity and Cast, and as a table of rows.
 */
static bool makes_zeros(const import *m, const operator* node)
{
    static const char *const types[] = {"Expand", "Slice",   "Split", "Squeeze",  "Unsqueeze", "Transpose",
                                        "Gather", "Reshape", "Tile",  "Identity", "Cast",      "Concat"};
    if (strcmp(node->type, "ConstantOfShape") == 0) {
        numbers value;
        artel__onnx_file file = m->file;
        if (node->attributes == 0) return true;
        return artel__onnx_constant_of(&file, node, &value) == ARTEL_OK && value.f && value.count == 1 &&
               value.f[0] == 0;
    }
    bool known = false;
    for (size_t i = 0; i < ARTEL__COUNT(types); i++) known = known || strcmp(types[i], node->type) == 0;
    if (!known || node->inputs < 1 || !*node->input[0]) return false;
    bool weight = strcmp(node->type, "Identity") == 0 || strcmp(node->type, "Cast") == 0 ||
                  (strcmp(node->type, "Gather") == 0 && !artel__onnx_fixed(m, node, 1));
    if (weight && artel__onnx_fixed(m, node, 0)) return false;
    int most = strcmp(node->type, "Concat") == 0 ? node->inputs : 1;
    for (int k = 0; k < most; k++) {
        if (!artel__onnx_is_zero(m, node, k)) return false;
    }
    return true;
}

artel_status artel__onnx_reckon(import *m, const operator* node, bool *done)
{
    sizes out = {.count = 0};
    for (size_t i = 0; i < ARTEL__COUNT(functions); i++) {
        if (strcmp(functions[i].type, node->type) != 0 || !functions[i].reckon(m, node, &out)) continue;
        *done = true;
        return keep(m, node, &out);
    }
    if (!makes_zeros(m, node)) return ARTEL_OK;
    *done = true;
    for (int k = 0; k < node->outputs; k++) ARTEL_TRY(artel__names_set(&m->zeros, node->output[k], 1));
    return ARTEL_OK;
}

/* Shape of what is computed, and of nothing else, is reckoned. */
static artel_status refuse(import *m, const operator* node)
{
    return artel__onnx_import_refuse(m, node, "other than zeros, and sizes reckoned of shapes");
}

const artel__onnx_import_row artel__onnx_imports_sizes[] = {
    {"Shape", refuse}, {"ConstantOfShape", refuse}, {"Expand", refuse}, {"Tile", refuse}, {NULL, NULL}};

/* -- where inputs have the batch -- */

/* Nodes through which the batch stays the axis that it is. */
static bool passes(const operator* node)
{
    static const char *const types[] = {"Identity",          "Dropout", "Cast",   "Relu", "Tanh",
                                        "Sigmoid",           "Gather",  "MatMul", "Add",  "LeakyRelu",
                                        "LayerNormalization"};
    for (size_t i = 0; i < ARTEL__COUNT(types); i++) {
        if (strcmp(types[i], node->type) == 0) return true;
    }
    return false;
}

/* From the back to the front: a recurrent node wants [time][batch][...], and states as [direction][batch][units]. */
artel_status artel__onnx_find_batches(import *m)
{
    for (int i = m->file.nodes - 1; i >= 0; i--) {
        const operator* node = & m->file.node[i];
        bool recurrent =
            strcmp(node->type, "LSTM") == 0 || strcmp(node->type, "GRU") == 0 || strcmp(node->type, "RNN") == 0;
        bool wanted = recurrent && artel__onnx_int_of(node, "layout", 0) == 0;
        bool passed = !recurrent && passes(node) && artel__names_find(&m->behind, node->output[0]);
        for (int k = 0; k < node->inputs; k++) {
            bool here = (wanted && (k == 0 || k == 5 || k == 6)) || passed;
            if (here && *node->input[k]) ARTEL_TRY(artel__names_set(&m->behind, node->input[k], 1));
        }
    }
    return ARTEL_OK;
}
