/* SPDX-License-Identifier: Apache-2.0 */
/* Constructors of the operations that gradients are made of.
 *
 * Nearly every gradient adds, multiplies, chooses and sums, and has a gradient of the same operations in its turn. So
 * these constructors lie beneath all of them: they know of an operation its definition and attributes alone, and who
 * writes a gradient, the files of these very operations included, calls downwards. Other constructors stand behind
 * their definitions.
 */
#include <math.h>
#include <string.h>

#include "kernel/narrow.h"
#include "op/elementwise.h"
#include "op/node_attributes.h"
#include "op/ops.h"
#include "op/reduce.h"
#include "op/reduce_attributes.h"

/* -- arithmetic -- */

artel__value_id artel__op_unary(artel__graph *graph, artel__unary function, const float parameter[3], artel__value_id x)
{
    artel__unary_attributes attributes = {.function = function};
    for (int i = 0; i < 3 && parameter; i++) attributes.exact[i] = (double)(attributes.parameter[i] = parameter[i]);
    return artel__graph_add(graph, &artel__op_unary_def, &attributes, &x, 1);
}

artel__value_id artel__op_unary_exact(artel__graph *graph, artel__unary function, const double parameter[3],
                                      artel__value_id x)
{
    artel__unary_attributes attributes = {.function = function};
    for (int i = 0; i < 3; i++) attributes.parameter[i] = (float)(attributes.exact[i] = parameter[i]);
    return artel__graph_add(graph, &artel__op_unary_def, &attributes, &x, 1);
}

artel__value_id artel__op_affine(artel__graph *graph, artel__value_id x, double scale, double offset)
{
    return artel__op_unary_exact(graph, ARTEL__UNARY_SCALE_SHIFT, (double[]){scale, offset, 0}, x);
}

artel__value_id artel__op_binary(artel__graph *graph, artel__binary function, artel__value_id a, artel__value_id b)
{
    artel__binary_attributes attributes = {.function = function};
    return artel__graph_add(graph, &artel__op_binary_def, &attributes, (artel__value_id[]){a, b}, 2);
}

artel__value_id artel__op_add(artel__graph *graph, artel__value_id a, artel__value_id b)
{
    return artel__op_binary(graph, ARTEL__BINARY_ADD, a, b);
}

/* -- choices and constants -- */

artel__value_id artel__op_constant(artel__graph *graph, artel_dtype dtype, const artel_shape *shape, const void *data)
{
    if (graph->status < 0) return ARTEL__NO_VALUE;
    size_t bytes = (size_t)artel_shape_count(shape) * artel_dtype_size(dtype);
    void *copy = artel__arena_alloc(graph->arena, 1, bytes + 1);
    if (!copy) {
        graph->status = ARTEL_ERROR_NO_MEMORY;
        return ARTEL__NO_VALUE;
    }
    memcpy(copy, data, bytes);
    for (int64_t i = 0; dtype == ARTEL_DTYPE_FLOAT32 && i < artel_shape_count(shape); i++)
        ((float *)copy)[i] = artel__narrow_one(graph->precision, ((float *)copy)[i]);
    artel__constant_attributes attributes = {dtype, *shape, copy, NULL};
    return artel__graph_add(graph, &artel__op_constant_def, &attributes, NULL, 0);
}

artel__value_id artel__op_constant_exact(artel__graph *graph, double number)
{
    artel_shape scalar = {.rank = 0};
    float rounded = artel__narrow_one(graph->precision, (float)number);
    struct {
        double exact;
        float rounded;
    } *copy = artel__arena_alloc(graph->arena, 1, sizeof *copy);
    if (graph->status < 0) return ARTEL__NO_VALUE;
    if (!copy) {
        graph->status = ARTEL_ERROR_NO_MEMORY;
        return ARTEL__NO_VALUE;
    }
    copy->exact = number;
    copy->rounded = rounded;
    artel__constant_attributes attributes = {ARTEL_DTYPE_FLOAT32, scalar, &copy->rounded, &copy->exact};
    return artel__graph_add(graph, &artel__op_constant_def, &attributes, NULL, 0);
}

artel__value_id artel__op_scalar(artel__graph *graph, double number)
{
    artel_shape scalar = {.rank = 0};
    float value = (float)number;
    bool wide = graph->real == ARTEL_DTYPE_FLOAT64;
    return artel__op_constant(graph, graph->real, &scalar, wide ? (const void *)&number : (const void *)&value);
}

artel__value_id artel__op_fill_like(artel__graph *graph, artel__value_id like, double number)
{
    artel__fill_attributes attributes = {(float)number, number};
    return artel__graph_add(graph, &artel__op_fill_def, &attributes, &like, 1);
}

artel__value_id artel__op_compare(artel__graph *graph, artel__comparison function, artel__value_id a, artel__value_id b)
{
    artel__function_attributes attributes = {(int)function};
    return artel__graph_add(graph, &artel__op_compare_def, &attributes, (artel__value_id[]){a, b}, 2);
}

artel__value_id artel__op_compare_scalar(artel__graph *graph, artel__comparison function, artel__value_id a, double b)
{
    if (graph->status < 0 || a < 0) return ARTEL__NO_VALUE;
    artel_shape scalar = {.rank = 0};
    float f = (float)b;
    int32_t i = (int32_t)fmin(fmax(b, INT32_MIN), INT32_MAX);
    artel_dtype dtype = graph->value[a].dtype;
    bool real = dtype == ARTEL_DTYPE_FLOAT32, wide = dtype == ARTEL_DTYPE_FLOAT64;
    const void *element = real ? (const void *)&f : wide ? (const void *)&b : (const void *)&i;
    artel__value_id number = artel__op_constant(graph, real || wide ? dtype : ARTEL_DTYPE_INT32, &scalar, element);
    return artel__op_compare(graph, function, a, number);
}

artel__value_id artel__op_where(artel__graph *graph, artel__value_id condition, artel__value_id a, artel__value_id b)
{
    return artel__graph_add(graph, &artel__op_select_def, NULL, (artel__value_id[]){condition, a, b}, 3);
}

/* -- sums -- */

artel__value_id artel__op_reduce(artel__graph *graph, artel__reduction function, artel__value_id x, uint32_t axes,
                                 bool keep)
{
    artel__reduce_attributes attributes = {function, axes, keep};
    return artel__graph_add(graph, &artel__op_reduce_def, &attributes, &x, 1);
}

artel__value_id artel__op_fold_sum(artel__graph *graph, artel__value_id x)
{
    return artel__graph_add(graph, &artel__op_fold_sum_def, NULL, &x, 1);
}

artel__value_id artel__op_all_reduce(artel__graph *graph, artel__value_id nodes)
{
    return artel__graph_add(graph, &artel__op_all_reduce_def, NULL, &nodes, 1);
}

artel__value_id artel__op_sum_to(artel__graph *graph, artel__value_id x, artel__value_id like)
{
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    artel__value from = graph->value[x], to = graph->value[like];
    if (from.layout == ARTEL__LAYOUT_PANELS) return x;
    uint32_t axes = 0;
    int ahead = from.shape.rank - to.shape.rank;
    for (int i = 0; i < from.shape.rank; i++) {
        if (i < ahead || (to.shape.dim[i - ahead] == 1 && from.shape.dim[i] != 1)) axes |= 1u << i;
    }
    if (axes) x = artel__op_reduce(graph, ARTEL__REDUCE_SUM, x, axes, false);
    if (axes || ahead) x = artel__op_reshape(graph, x, &to.shape);
    if (from.domain == ARTEL__DOMAIN_ROW && to.domain == ARTEL__DOMAIN_GLOBAL)
        x = artel__op_all_reduce(graph, artel__op_fold_sum(graph, x));
    return x;
}
