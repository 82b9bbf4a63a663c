/* SPDX-License-Identifier: Apache-2.0 */
/* What raw operations ask for: values, settings by name or place, axes, and constants, which are inline in
 * call->arguments. */
#include "nn/layer_ops.h"

#include <math.h>
#include <string.h>

#include "op/elementwise.h"
#include "op/reduce.h"
#include "op/shape_ops.h"

json_t *artel__raw_argument(const artel__call *call, int n)
{
    return json_array_get(json_object_get(call->arguments, "args"), (size_t)n);
}

artel_status artel__raw_refuse(const artel__layer *layer, const char *what)
{
    return artel__layer_fail(layer, ARTEL_ERROR_UNSUPPORTED, "see docs/layers.md for the operations and their forms",
                             "this operation of keras.src.ops is not supported with %s", what);
}

artel_status artel__raw_operand(const artel__layer *layer, const artel__call *call, json_t *argument,
                                artel__value_id *out)
{
    if (!call->arguments && call->inputs > 0) {
        *out = call->in[0].value;
        return ARTEL_OK;
    }
    *out = artel__call_tensor(call, argument).value;
    if (*out < 0) *out = artel__constant_json(call->graph, argument);
    if (*out >= 0) return ARTEL_OK;
    return artel__raw_refuse(layer, argument ? "this argument" : "an argument missing");
}

artel_status artel__raw_tensor(const artel__layer *layer, const artel__call *call, artel__value_id *out)
{
    ARTEL_TRY(artel__raw_operand(layer, call, artel__raw_argument(call, 0), out));
    bool fits = call->shared || call->graph->value[*out].domain == ARTEL__DOMAIN_ROW;
    return fits ? ARTEL_OK : artel__raw_refuse(layer, "a constant as its first argument");
}

json_t *artel__raw_setting(const artel__layer *layer, const artel__call *call, const char *key, int position)
{
    json_t *value = artel__layer_setting(layer, key);
    if (!value) value = artel__call_argument(call, key);
    if (!value && position > 0) value = artel__raw_argument(call, position);
    return json_is_null(value) ? NULL : value;
}

artel_status artel__raw_row(const artel__layer *layer, const artel__call *call, artel__value_id *x, artel_shape *shape)
{
    ARTEL_TRY(artel__raw_tensor(layer, call, x));
    ARTEL_TRY(call->graph->status);
    *shape = call->graph->value[*x].shape;
    return ARTEL_OK;
}

bool artel__raw_integer(const artel__layer *layer, const artel__call *call, const char *key, int position,
                        int64_t fallback, int64_t *out)
{
    json_t *given = artel__raw_setting(layer, call, key, position);
    *out = fallback;
    return !given || artel__json_integer(given, out);
}

bool artel__raw_integers(const artel__layer *layer, const artel__call *call, const char *key, int count, int64_t least,
                         int64_t fallback, int64_t *out)
{
    json_t *given = artel__raw_setting(layer, call, key, 0);
    if (json_is_array(given) && (int)json_array_size(given) != count) return false;
    for (int i = 0; i < count; i++) {
        out[i] = fallback;
        if (given && !artel__json_integer(json_is_array(given) ? json_array_get(given, (size_t)i) : given, &out[i]))
            return false;
        if (given && (out[i] < least || out[i] > INT32_MAX)) return false;
    }
    return true;
}

const char *artel__raw_name(const artel__layer *layer, const artel__call *call, const char *key, const char *fallback)
{
    const char *name = json_string_value(artel__raw_setting(layer, call, key, 0));
    return name ? name : fallback;
}

artel_status artel__raw_along(const artel__layer *layer, const artel__call *call, int64_t fallback, artel__value_id *x,
                              int *axis)
{
    ARTEL_TRY(artel__raw_float(layer, call, x));
    ARTEL_TRY(call->graph->status);
    return artel__raw_axis(layer, call, "axis", fallback, call->graph->value[*x].shape.rank, axis);
}

bool artel__raw_constant(const artel__call *call, json_t *json, artel_shape *shape, const float **numbers)
{
    return artel__numbers_json(call->graph->arena, json, shape, numbers);
}

double artel__raw_number(const artel__layer *layer, const artel__call *call, const char *key, double fallback)
{
    double number = fallback;
    artel__json_number(artel__raw_setting(layer, call, key, 0), &number);
    return number;
}

int64_t artel__raw_own_axis(const artel__call *call, int64_t axis)
{
    return call->shared && axis >= 0 ? axis + 1 : axis;
}

artel_status artel__raw_axis(const artel__layer *layer, const artel__call *call, const char *key, int64_t fallback,
                             int rank, int *out)
{
    int64_t axis = artel__raw_own_axis(call, fallback);
    json_t *given = artel__raw_setting(layer, call, key, 0);
    *out = given && !artel__json_integer(given, &axis) ? -1 : artel__row_axis(axis, rank);
    return *out < 0 ? artel__raw_refuse(layer, "this axis") : ARTEL_OK;
}

static artel_status read_axes(const artel__layer *layer, const artel__call *call, int rank, bool twice, uint32_t *out)
{
    json_t *axis = artel__raw_setting(layer, call, "axis", 0);
    *out = 0;
    if (!axis) return artel__raw_refuse(layer, "axis=None, which mixes the rows of the batch");
    for (size_t i = 0; i < (json_is_array(axis) ? json_array_size(axis) : 1); i++) {
        int64_t number;
        json_t *item = json_is_array(axis) ? json_array_get(axis, i) : axis;
        int row = artel__json_integer(item, &number) ? artel__row_axis(number, rank) : -1;
        if (row < 0)
            return artel__raw_refuse(layer, call->shared ? "this axis" : "this axis; the batch cannot be reduced");
        if (!twice && *out >> row & 1u) return artel__raw_refuse(layer, "an axis that is given twice");
        *out |= 1u << row;
    }
    return ARTEL_OK;
}

artel_status artel__raw_axes(const artel__layer *layer, const artel__call *call, int rank, uint32_t *out)
{
    return read_axes(layer, call, rank, false, out);
}

artel_status artel__raw_axes_repeated(const artel__layer *layer, const artel__call *call, int rank, uint32_t *out)
{
    return read_axes(layer, call, rank, true, out);
}

bool artel__raw_keeps_axes(const artel__layer *layer, const artel__call *call)
{
    return json_is_true(artel__raw_setting(layer, call, "keepdims", 0));
}

artel_status artel__raw_float(const artel__layer *layer, const artel__call *call, artel__value_id *x)
{
    ARTEL_TRY(artel__raw_tensor(layer, call, x));
    *x = artel__as_float(call->graph, *x);
    return ARTEL_OK;
}

/* A constant written with a batch axis loses it; then the two broadcast as rows. */
artel_status artel__raw_align(const artel__layer *layer, artel__graph *graph, artel__value_id *a,
                              const artel__value_id *b)
{
    if (graph->status < 0) return graph->status;
    const artel__value *constant = &graph->value[*a], *row = &graph->value[*b];
    bool beside_rows = constant->domain == ARTEL__DOMAIN_GLOBAL && row->domain != ARTEL__DOMAIN_GLOBAL;
    if (!beside_rows || constant->shape.rank <= row->shape.rank) return ARTEL_OK;
    if (constant->shape.rank != row->shape.rank + 1 || constant->shape.dim[0] != 1)
        return artel__raw_refuse(layer, "a constant of this shape");
    artel_shape shape = {.rank = constant->shape.rank - 1};
    for (int i = 0; i < shape.rank; i++) shape.dim[i] = constant->shape.dim[i + 1];
    *a = artel__op_reshape(graph, *a, &shape);
    return ARTEL_OK;
}

artel_status artel__raw_operands(const artel__layer *layer, const artel__call *call, artel__value_id *a,
                                 artel__value_id *b)
{
    ARTEL_TRY(artel__raw_operand(layer, call, artel__raw_argument(call, 0), a));
    ARTEL_TRY(artel__raw_operand(layer, call, artel__raw_argument(call, 1), b));
    ARTEL_TRY(artel__raw_align(layer, call->graph, a, b));
    return artel__raw_align(layer, call->graph, b, a);
}

artel_status artel__raw_reduction(const artel__layer *layer, const artel__call *call, artel__value_id *x,
                                  uint32_t *axes)
{
    ARTEL_TRY(artel__raw_float(layer, call, x));
    if (call->graph->status < 0) return call->graph->status;
    if (artel__raw_setting(layer, call, "initial", 0)) return artel__raw_refuse(layer, "initial");
    return artel__raw_axes(layer, call, call->graph->value[*x].shape.rank, axes);
}
