/* SPDX-License-Identifier: Apache-2.0 */
/* The table of variables: where each lives in a replica's state block and in which layout.
 *
 * Every variable starts at a multiple of 64 bytes, so that kernels may use aligned vectors, and weights of products
 * are kept as panels, so that no step packs them.
 */
#include <string.h>

#include "graph/graph.h"
#include "kernel/product.h"

size_t artel__variable_bytes(const artel__variable *variable)
{
    return (size_t)artel_shape_count(&variable->shape) * artel_dtype_size(variable->dtype);
}

void artel__variables_init(artel__variables *variables, artel__arena *arena)
{
    *variables = (artel__variables){.arena = arena};
}

static artel_status grow(artel__variables *variables)
{
    if (variables->count < variables->capacity) return ARTEL_OK;
    int capacity = variables->capacity ? variables->capacity * 2 : 64;
    artel__variable *item = artel__arena_alloc(variables->arena, (size_t)capacity, sizeof *item);
    if (!item) return ARTEL_ERROR_NO_MEMORY;
    if (variables->count) memcpy(item, variables->item, (size_t)variables->count * sizeof *item);
    variables->item = item;
    variables->capacity = capacity;
    return ARTEL_OK;
}

int artel__variables_add(artel__variables *variables, const char *name, artel__variable_kind kind, artel_dtype dtype,
                         const artel_shape *shape, int64_t rows)
{
    artel_context *ctx = variables->arena->ctx;
    int64_t plain = artel_shape_count(shape);
    if (plain < 0 || plain > ARTEL__MOST_ELEMENTS || variables->bytes > SIZE_MAX / 4)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, name, "check the sizes in the model",
                           "the variable's shape is not possible");
    artel_status status = grow(variables);
    if (status < 0) return status;
    artel__variable *variable = &variables->item[variables->count];
    variable->name = artel__arena_strdup(variables->arena, name);
    if (!variable->name) return ARTEL_ERROR_NO_MEMORY;
    variable->kind = kind;
    variable->dtype = dtype;
    variable->shape = *shape;
    bool panels = rows > 0 && dtype != ARTEL_DTYPE_FLOAT64;
    variable->layout = panels ? ARTEL__LAYOUT_PANELS : ARTEL__LAYOUT_PLAIN;
    variable->rows = rows;
    variable->columns = rows > 0 ? plain / rows : 0;
    variable->count = panels ? artel__panels_floats(rows, variable->columns) : plain;
    variable->offset = variables->bytes;
    variables->bytes += ((size_t)variable->count * artel_dtype_size(artel__variable_held(variable)) + 63) / 64 * 64;
    return variables->count++;
}

int64_t artel__variable_unit(const artel__variable *v)
{
    int64_t rows = v->shape.rank > 0 ? v->shape.dim[0] : 1;
    return v->layout == ARTEL__LAYOUT_PLAIN && rows > 0 ? v->count / rows : 4096;
}
