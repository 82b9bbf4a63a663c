/* SPDX-License-Identifier: Apache-2.0 */
/* What the layer families share. See the header.
 *
 * Settings that are records of their own (initialisers, activations) stay in the layer's record and are read from it
 * when the layer is configured; everything else goes through the option table.
 */
#include "nn/layer_support.h"

#include <stdio.h>
#include <string.h>

#include "op/elementwise.h"
#include "op/node_attributes.h"
#include "op/reduce.h"
#include "op/shape_ops.h"

const char *const artel__channel_orders[] = {"channels_last", "channels_first", NULL};

json_t *artel__layer_setting(const artel__layer *layer, const char *key)
{
    json_t *value = json_object_get(json_object_get(layer->record, "config"), key);
    return json_is_null(value) ? NULL : value;
}

static void where_text(const artel__layer *layer, char *out, size_t size)
{
    snprintf(out, size, "layer \"%s\" (%s)", layer->name, layer->def->class_name);
}

artel_status artel__layer_activation(artel__layer *layer, const char *key, artel__activation_config *out)
{
    char where[256];
    where_text(layer, where, sizeof where);
    return artel__activation_read(layer->arena, where, artel__layer_setting(layer, key), out);
}

static artel_status read_initializer(artel__layer *layer, const char *where, json_t *json, const char *fallback,
                                     artel__initializer *out)
{
    json_t *name = json ? json_incref(json) : json_string(fallback);
    if (!name) return artel__fail_memory(layer->arena->ctx, where, 1);
    artel_status status = artel__initializer_read(layer->arena, where, name, out);
    json_decref(name);
    return status;
}

artel_status artel__layer_weight_parts(artel__layer *layer, const char *weight, const char *fallback,
                                       artel__weight_parts *out)
{
    char where[256], key[64];
    *out = (artel__weight_parts){.matrix_fans = false};
    where_text(layer, where, sizeof where);
    snprintf(key, sizeof key, "%s_initializer", weight);
    ARTEL_TRY(read_initializer(layer, where, artel__layer_setting(layer, key), fallback, &out->initializer));
    snprintf(key, sizeof key, "%s_regularizer", weight);
    ARTEL_TRY(artel__regularizer_read(layer->arena, where, artel__layer_setting(layer, key), &out->regularizer));
    snprintf(key, sizeof key, "%s_constraint", weight);
    return artel__constraint_read(layer->arena, where, artel__layer_setting(layer, key), &out->constraint);
}

artel_status artel__layer_declare(artel__layer *layer, const char *name, const artel_shape *shape, int64_t rows,
                                  bool trainable, const artel__weight_parts *parts)
{
    for (int i = 0; i < shape->rank; i++) {
        if (shape->dim[i] < 1)
            return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "check the sizes of the layers before it",
                                     "the weight \"%s\" would have no elements", name);
    }
    artel__weight weight = {.name = name,
                            .shape = *shape,
                            .rows = rows,
                            .trainable = trainable,
                            .initializer = &parts->initializer,
                            .regularizer = &parts->regularizer,
                            .constraint = &parts->constraint,
                            .matrix_fans = parts->matrix_fans};
    int index = artel__layer_add_weight(layer, &weight);
    return index < 0 ? (artel_status)index : ARTEL_OK;
}

artel_status artel__layer_inside(const artel__layer *layer, json_t **record)
{
    *record = artel__layer_setting(layer, "layer");
    if (json_is_object(*record)) return ARTEL_OK;
    return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "save the model again with Keras",
                             "the layer inside is missing");
}

artel_status artel__layer_check_input(const artel__layer *layer, const artel__call *call, int least, int most)
{
    if (call->inputs != 1)
        return artel__layer_fail(layer, ARTEL_ERROR_UNSUPPORTED, "call the layer with one tensor",
                                 "it is called with %d tensors, expected one", call->inputs);
    int rank = artel__call_shape(call, 0)->rank;
    if (rank >= least && rank <= most) return ARTEL_OK;
    return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "check the layer before it",
                             "its input has %d axes, expected %d%s", rank + 1, least + 1,
                             most > least ? " or more" : "");
}

artel_status artel__layer_spread(const artel__layer *layer, const char *key, artel__ints *list, int rank, int64_t least)
{
    if (list->count == 1) {
        for (int i = 1; i < rank; i++) list->item[i] = list->item[0];
        list->count = rank;
    }
    bool fits = list->count == rank;
    for (int i = 0; i < list->count && fits; i++) fits = list->item[i] >= least && list->item[i] <= INT32_MAX;
    if (fits) return ARTEL_OK;
    return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "save the model again with Keras",
                             "the setting \"%s\" is not an integer or %d integers from %lld on", key, rank,
                             (long long)least);
}

bool artel__layer_always(const artel__layer *layer, bool training)
{
    (void)layer, (void)training;
    return true;
}

void artel__call_return(artel__call *call, artel__value_id value)
{
    call->out[0] = (artel__tensor){value, ARTEL__NO_VALUE};
    call->outputs = 1;
}

artel__value_id artel__as_float(artel__graph *graph, artel__value_id x)
{
    if (graph->status < 0 || x < 0) return x;
    int32_t node = graph->value[x].node;
    bool constant = graph->real == ARTEL_DTYPE_FLOAT64 && node >= 0 && graph->node[node].op == &artel__op_constant_def;
    const artel__constant_attributes *a = constant ? graph->node[node].attributes : NULL;
    if (a && a->exact) return artel__op_constant(graph, ARTEL_DTYPE_FLOAT64, &a->shape, a->exact);
    return artel__op_cast(graph, x, graph->real);
}

artel__value_id artel__constant_numbers(artel__graph *graph, const artel_shape *shape, const double *number)
{
    int64_t count = artel_shape_count(shape);
    if (graph->status < 0 || !number) return ARTEL__NO_VALUE;
    if (graph->real == ARTEL_DTYPE_FLOAT64) return artel__op_constant(graph, ARTEL_DTYPE_FLOAT64, shape, number);
    float *rounded = artel__arena_alloc(graph->arena, (size_t)count + 1, sizeof *rounded);
    if (!rounded) {
        graph->status = ARTEL_ERROR_NO_MEMORY;
        return ARTEL__NO_VALUE;
    }
    for (int64_t i = 0; i < count; i++) rounded[i] = (float)number[i];
    return artel__op_constant(graph, ARTEL_DTYPE_FLOAT32, shape, rounded);
}

/* The extents of a nested list; false when it is ragged, too deep or too large. */
static bool list_shape(json_t *json, artel_shape *shape)
{
    *shape = (artel_shape){.rank = 0};
    while (json_is_array(json)) {
        if (shape->rank == ARTEL_MAX_RANK) return false;
        shape->dim[shape->rank++] = (int64_t)json_array_size(json);
        json = json_array_get(json, 0);
    }
    int64_t count = artel_shape_count(shape);
    return count >= 0 && count <= (int64_t)1 << 28;
}

static bool fill_list(json_t *json, const artel_shape *shape, int depth, double **at)
{
    if (depth == shape->rank) {
        double number;
        if (json_is_boolean(json))
            number = json_is_true(json);
        else if (!artel__json_number(json, &number))
            return false;
        *(*at)++ = number;
        return true;
    }
    if (!json_is_array(json) || (int64_t)json_array_size(json) != shape->dim[depth]) return false;
    for (size_t i = 0; i < json_array_size(json); i++) {
        if (!fill_list(json_array_get(json, i), shape, depth + 1, at)) return false;
    }
    return true;
}

bool artel__exact_numbers_json(artel__arena *arena, json_t *json, artel_shape *shape, const double **numbers)
{
    if (json_is_object(json)) json = json_object_get(json_object_get(json, "config"), "value");
    if (!json || !list_shape(json, shape)) return false;
    double *data = artel__arena_alloc(arena, (size_t)artel_shape_count(shape) + 1, sizeof *data), *at = data;
    *numbers = data;
    return data && fill_list(json, shape, 0, &at);
}

bool artel__numbers_json(artel__arena *arena, json_t *json, artel_shape *shape, const float **numbers)
{
    const double *exact;
    if (!artel__exact_numbers_json(arena, json, shape, &exact)) return false;
    int64_t count = artel_shape_count(shape);
    float *data = artel__arena_alloc(arena, (size_t)count + 1, sizeof *data);
    *numbers = data;
    for (int64_t i = 0; data && i < count; i++) data[i] = (float)exact[i];
    return data != NULL;
}

artel__value_id artel__constant_json(artel__graph *graph, json_t *json)
{
    artel_shape shape;
    const float *data;
    const double *exact;
    if (graph->real == ARTEL_DTYPE_FLOAT64)
        return artel__exact_numbers_json(graph->arena, json, &shape, &exact)
                   ? artel__op_constant(graph, ARTEL_DTYPE_FLOAT64, &shape, exact)
                   : ARTEL__NO_VALUE;
    if (!artel__numbers_json(graph->arena, json, &shape, &data)) return ARTEL__NO_VALUE;
    return artel__op_constant(graph, ARTEL_DTYPE_FLOAT32, &shape, data);
}

int artel__bit_count(uint32_t bits)
{
    int count = 0;
    for (; bits; bits &= bits - 1) count++;
    return count;
}

artel__value_id artel__axes_last(artel__graph *graph, artel__value_id x, uint32_t axes, int *permutation)
{
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    int rank = graph->value[x].shape.rank, n = 0;
    bool same = true;
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < rank; i++) {
            if (((axes >> i) & 1u) == (uint32_t)pass) permutation[n++] = i;
        }
    }
    for (int i = 0; i < rank; i++) same = same && permutation[i] == i;
    return same ? x : artel__op_transpose(graph, x, permutation);
}

artel__value_id artel__axes_back(artel__graph *graph, artel__value_id x, const int *permutation)
{
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    int inverse[ARTEL_MAX_RANK], rank = graph->value[x].shape.rank;
    bool same = true;
    for (int i = 0; i < rank; i++) {
        inverse[permutation[i]] = i;
        same = same && permutation[i] == i;
    }
    return same ? x : artel__op_transpose(graph, x, inverse);
}

artel__value_id artel__channels_last(artel__graph *graph, artel__value_id x, int data_format)
{
    int permutation[ARTEL_MAX_RANK];
    return data_format == 1 ? artel__axes_last(graph, x, 1u, permutation) : x;
}

artel__value_id artel__channels_back(artel__graph *graph, artel__value_id x, int data_format)
{
    if (data_format != 1 || graph->status < 0 || x < 0) return x;
    int permutation[ARTEL_MAX_RANK], rank = graph->value[x].shape.rank;
    for (int i = 0; i < rank; i++) permutation[i] = i ? i - 1 : rank - 1;
    return rank > 1 ? artel__op_transpose(graph, x, permutation) : x;
}

artel_status artel__layer_axes(const artel__layer *layer, json_t *axis, int fallback, int rank, uint32_t *out)
{
    *out = 0;
    size_t count = json_is_array(axis) ? json_array_size(axis) : 1;
    for (size_t i = 0; i < count; i++) {
        json_t *item = json_is_array(axis) ? json_array_get(axis, i) : axis;
        int64_t number = fallback;
        int row = !item || artel__json_integer(item, &number) ? artel__row_axis(number, rank) : -1;
        if (row < 0)
            return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "name axes of the input, the batch (0) excepted",
                                     "the axis %lld does not exist in an input of %d axes", (long long)number,
                                     rank + 1);
        if (*out >> row & 1u)
            return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "name each axis once", "the axis %lld is named twice",
                                     (long long)number);
        *out |= 1u << row;
    }
    return ARTEL_OK;
}

/* An axis of extent 1 before the last `behind` axes. */
static artel__value_id open_axis(artel__graph *graph, artel__value_id x, int behind)
{
    const artel_shape *in = &graph->value[x].shape;
    artel_shape out = {.rank = in->rank + 1};
    for (int i = 0; i < out.rank; i++) {
        int at = in->rank - behind;
        out.dim[i] = i < at ? in->dim[i] : i == at ? 1 : in->dim[i - 1];
    }
    return artel__op_reshape(graph, x, &out);
}

artel__value_id artel__row_products(artel__graph *graph, artel__value_id x, artel__value_id y)
{
    if (graph->status < 0 || x < 0 || y < 0) return ARTEL__NO_VALUE;
    const artel_shape *a = &graph->value[x].shape, *b = &graph->value[y].shape;
    int64_t products = artel_shape_count(a) > 0 && a->rank > 1 ? b->dim[b->rank - 2] : 0;
    bool fits = a->rank >= 2 && b->rank >= 2 && a->rank < ARTEL_MAX_RANK && b->rank < ARTEL_MAX_RANK &&
                a->dim[a->rank - 1] == b->dim[b->rank - 1] &&
                (products == 0 || artel_shape_count(a) <= ((int64_t)1 << 26) / products);
    if (!fits) {
        graph->status =
            artel__fail(artel__graph_context(graph), ARTEL_ERROR_UNSUPPORTED, graph->scope,
                        "use smaller matrices that fit one another", "this product of two tensors is not supported");
        return ARTEL__NO_VALUE;
    }
    artel__value_id right = open_axis(graph, y, 2),
                    product = artel__op_binary(graph, ARTEL__BINARY_MUL, open_axis(graph, x, 1), right);
    if (graph->status < 0) return ARTEL__NO_VALUE;
    return artel__op_reduce(graph, ARTEL__REDUCE_SUM, product, 1u << (graph->value[product].shape.rank - 1), false);
}
