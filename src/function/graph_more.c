/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of keras.ops that are no layers of a Functional model, for what they do moves rows of the batch or needs
 * its extent: slices by place, shapes that are given whole, all elements in a row. Each is put together from movements,
 * so it has gradients of any order and every element type. Rows know those that leave the batch alone.
 */
#include "function/graph_more.h"

#include <string.h>

#include "op/shape_ops.h"

typedef struct call {
    artel_graph *g;
    const char *name;
    json_t *settings;
    const artel__value_id *in;
    int count;
    bool rows; /* the first entry of a shape or place is then the batch's */
} call;

static artel__value_id refuse(const call *c, const char *what)
{
    artel__graph_refuse(c->g, ARTEL_ERROR_INVALID, c->name, "see Keras' page of this function", "%s", what);
    return ARTEL__NO_VALUE;
}

static const artel_shape *shape_of(const call *c, int i)
{
    return &c->g->graph->value[c->in[i]].shape;
}

/* The whole numbers of a setting; how many there are without the batch's, or -1: they are none. `batch`: what that may
 * be. */
static int numbers_of(const call *c, const char *key, int64_t batch, int64_t *out)
{
    json_t *list = json_object_get(c->settings, key);
    int64_t first;
    int from = c->rows ? 1 : 0, count = (int)json_array_size(list) - from;
    if (!json_is_array(list) || count < 0 || count > ARTEL_MAX_RANK) return -1;
    if (c->rows && (!artel__json_integer(json_array_get(list, 0), &first) || first != batch)) return -1;
    for (int i = 0; i < count; i++) {
        if (!artel__json_integer(json_array_get(list, (size_t)(i + from)), &out[i])) return -1;
    }
    return count;
}

static artel__value_id slice(const call *c)
{
    artel_shape in = *shape_of(c, 0);
    int64_t begin[ARTEL_MAX_RANK], extent[ARTEL_MAX_RANK];
    artel__value_id x = c->in[0];
    if (numbers_of(c, "start_indices", 0, begin) != in.rank || numbers_of(c, "shape", -1, extent) != in.rank)
        return refuse(c, c->rows
                             ? "start_indices and shape are not a whole number for each axis, beginning with 0 and -1 "
                               "for the batch"
                             : "start_indices and shape are not a whole number for each axis");
    for (int i = 0; i < in.rank; i++) {
        if (begin[i] < 0 || begin[i] > in.dim[i] || extent[i] < -1 || extent[i] > in.dim[i] - begin[i])
            return refuse(c, "the slice is not inside the array");
        if (extent[i] == -1) extent[i] = in.dim[i] - begin[i];
        if (extent[i] < in.dim[i]) x = artel__op_slice(c->g->graph, x, i, begin[i], extent[i], 1);
    }
    return x;
}

static artel__value_id broadcast_to(const call *c)
{
    artel_shape in = *shape_of(c, 0), out;
    out.rank = numbers_of(c, "shape", -1, out.dim);
    if (out.rank < in.rank)
        return refuse(c, c->rows ? "shape is not a list of whole numbers, beginning with -1 for the batch"
                                 : "shape is not a list of as many whole numbers as there are axes, or more");
    if (artel_shape_count(&out) < 0) return refuse(c, "an extent is negative, or there are too many elements");
    for (int i = 0; i < in.rank; i++) {
        int64_t to = out.dim[out.rank - in.rank + i];
        if (in.dim[i] != to && in.dim[i] != 1) return refuse(c, "the array does not broadcast to this shape");
    }
    artel_shape whole = {.rank = out.rank};
    for (int i = 0; i < out.rank; i++) whole.dim[i] = i < out.rank - in.rank ? 1 : in.dim[i - out.rank + in.rank];
    artel__value_id x = artel__op_reshape(c->g->graph, c->in[0], &whole);
    for (int i = 0; i < out.rank; i++) {
        if (out.dim[i] == 0 && whole.dim[i] != 0) x = artel__op_slice(c->g->graph, x, i, 0, 0, 1);
        if (out.dim[i] > 1 && whole.dim[i] == 1) x = artel__op_repeat(c->g->graph, x, i, out.dim[i]);
    }
    return x;
}

static artel__value_id ravel(const call *c)
{
    artel_shape flat = {.rank = 1, .dim = {artel_shape_count(shape_of(c, 0))}};
    return artel__op_reshape(c->g->graph, c->in[0], &flat);
}

static artel__value_id flipud(const call *c)
{
    int64_t length = shape_of(c, 0)->rank > 0 ? shape_of(c, 0)->dim[0] : 0;
    if (length == 0) return shape_of(c, 0)->rank > 0 ? c->in[0] : refuse(c, "there is no axis");
    return artel__op_slice(c->g->graph, c->in[0], 0, length - 1, length, -1);
}

static artel__value_id vstack(const call *c)
{
    artel__value_id part[ARTEL__MORE_INPUTS];
    for (int i = 0; i < c->count; i++) {
        artel_shape shape = *shape_of(c, i), line = {.rank = 2, .dim = {1, shape.rank == 1 ? shape.dim[0] : 1}};
        if (c->g->graph->value[c->in[i]].dtype != c->g->graph->value[c->in[0]].dtype)
            return refuse(c, "the arrays have several element types");
        part[i] = shape.rank < 2 ? artel__op_reshape(c->g->graph, c->in[i], &line) : c->in[i];
    }
    return artel__op_concat(c->g->graph, part, c->count, 0);
}

typedef struct function {
    const char *class_name;
    artel__value_id (*make)(const call *c);
    const char *settings[3];
    int most_inputs;
    bool of_rows;
} function;

static const function functions[] = {{"BroadcastTo", broadcast_to, {"shape"}, 1, true},
                                     {"Flipud", flipud, {NULL}, 1, false},
                                     {"Ravel", ravel, {NULL}, 1, false},
                                     {"Slice", slice, {"start_indices", "shape"}, 1, true},
                                     {"Vstack", vstack, {NULL}, ARTEL__MORE_INPUTS, false}};

static const function *find(const char *class_name)
{
    for (size_t i = 0; i < ARTEL__COUNT(functions); i++) {
        if (strcmp(functions[i].class_name, class_name) == 0) return &functions[i];
    }
    return NULL;
}

bool artel__graph_has_more(const char *class_name)
{
    return find(class_name) != NULL;
}

static bool settings_known(const call *c, const function *f)
{
    const char *key;
    json_t *value;
    json_object_foreach(c->settings, key, value)
    {
        int i = 0;
        while (f->settings[i] && strcmp(f->settings[i], key) != 0) i++;
        if (f->settings[i]) continue;
        artel__graph_refuse(c->g, ARTEL_ERROR_INVALID, c->name, "see docs/layers.md for operations and settings",
                            "the setting '%.64s' has no meaning here", key);
        return false;
    }
    return true;
}

int artel__graph_more(artel_graph *g, const char *class_name, json_t *settings, const artel_value *inputs, int count,
                      artel_value *output)
{
    const function *f = find(class_name);
    artel__value_id in[ARTEL__MORE_INPUTS];
    call c = {g, class_name, settings, in, count, false};
    if (count > f->most_inputs) {
        artel__graph_refuse(g, ARTEL_ERROR_INVALID, class_name, "give one", "there are %d inputs", count);
        return g->graph->status;
    }
    for (int i = 0; i < count; i++) {
        in[i] = artel__graph_take(g, inputs[i]);
        if (g->graph->status < 0) return g->graph->status;
        c.rows = c.rows || g->graph->value[in[i]].domain == ARTEL__DOMAIN_ROW;
    }
    if (c.rows && !f->of_rows)
        artel__graph_refuse(g, ARTEL_ERROR_UNSUPPORTED, class_name, "use it on shared values, or an operation by row",
                            "this operation mixes the rows of the batch");
    else if (settings_known(&c, f))
        *output = artel__graph_give(g, f->make(&c));
    return g->graph->status < 0 ? g->graph->status : 1;
}
