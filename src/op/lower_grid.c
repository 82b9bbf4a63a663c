/* SPDX-License-Identifier: Apache-2.0 */
/* Small matrices in programs of devices. See op/lower_grid.h. */
#include "op/lower_grid.h"

artel__hlo_type artel__grid_type(int64_t outer, int64_t lines, int64_t columns)
{
    return (artel__hlo_type){.dtype = ARTEL_DTYPE_FLOAT64, .rank = 3, .dim = {outer, lines, columns}};
}

artel__hlo_type artel__list_type(int64_t outer, int64_t count)
{
    return (artel__hlo_type){.dtype = ARTEL_DTYPE_FLOAT64, .rank = 2, .dim = {outer, count}};
}

artel__hlo_value artel__grid_input(artel__lower *lower, int k, int64_t outer, int64_t lines, int64_t columns)
{
    artel__hlo *h = lower->hlo;
    artel__hlo_type to = columns < 0 ? artel__list_type(outer, lines) : artel__grid_type(outer, lines, columns);
    if (k >= lower->node->inputs || lower->in[k] < 0) return artel__hlo_splat(h, 0, &to);
    artel__hlo_type own = to;
    own.dtype = artel__hlo_type_of(h, lower->in[k])->dtype;
    return artel__hlo_convert(h, artel__hlo_reshape(h, lower->in[k], &own), ARTEL_DTYPE_FLOAT64);
}

void artel__grid_output(artel__lower *lower, int k, artel__hlo_value x)
{
    artel__hlo_type to = artel__lower_out_type(lower, k);
    lower->out[k] = artel__hlo_reshape(lower->hlo, artel__hlo_convert(lower->hlo, x, to.dtype), &to);
}

artel__hlo_value artel__grid_zeros(artel__hlo *h, int64_t outer, int64_t lines, int64_t columns)
{
    artel__hlo_type type = artel__grid_type(outer, lines, columns);
    return artel__hlo_splat(h, 0, &type);
}

artel__hlo_value artel__grid_product(artel__hlo *h, artel__hlo_value a, bool turned_a, artel__hlo_value b,
                                     bool turned_b)
{
    artel__hlo_dims dims = {
        .batch = 1, .contracted = 1, .contracted_a = {turned_a ? 1 : 2}, .contracted_b = {turned_b ? 2 : 1}};
    return artel__hlo_dot_general(h, a, b, &dims);
}

artel__hlo_value artel__grid_turned(artel__hlo *h, artel__hlo_value a)
{
    return artel__hlo_transpose(h, a, (const int[]){0, 2, 1});
}

artel__hlo_value artel__grid_add(artel__hlo *h, artel__hlo_value a, artel__hlo_value b)
{
    return artel__hlo_binary(h, "add", a, b);
}

artel__hlo_value artel__grid_subtract(artel__hlo *h, artel__hlo_value a, artel__hlo_value b)
{
    return artel__hlo_binary(h, "subtract", a, b);
}

artel__hlo_value artel__grid_multiply(artel__hlo *h, artel__hlo_value a, artel__hlo_value b)
{
    return artel__hlo_binary(h, "multiply", a, b);
}

static artel__hlo_value broadcast(artel__hlo *h, artel__hlo_value x, artel__hlo_value like, const int *axes)
{
    artel__hlo_type to = *artel__hlo_type_of(h, like);
    to.dtype = artel__hlo_type_of(h, x)->dtype;
    return artel__hlo_broadcast(h, x, &to, axes);
}

artel__hlo_value artel__grid_by_line(artel__hlo *h, artel__hlo_value list, artel__hlo_value like)
{
    return broadcast(h, list, like, (const int[]){0, 1});
}

artel__hlo_value artel__grid_by_column(artel__hlo *h, artel__hlo_value list, artel__hlo_value like)
{
    return broadcast(h, list, like, (const int[]){0, 2});
}

artel__hlo_value artel__grid_spread(artel__hlo *h, artel__hlo_value number, artel__hlo_value like)
{
    return broadcast(h, number, like, (const int[]){0});
}

artel__hlo_value artel__grid_index(artel__hlo *h, artel__hlo_value like, int axis)
{
    artel__hlo_type type = *artel__hlo_type_of(h, like);
    type.dtype = ARTEL_DTYPE_INT32;
    return artel__hlo_iota(h, &type, axis);
}

artel__hlo_value artel__grid_place(artel__hlo *h, artel__hlo_value like, const char *how)
{
    return artel__hlo_compare(h, how, artel__grid_index(h, like, 1), artel__grid_index(h, like, 2));
}

artel__hlo_value artel__grid_where(artel__hlo *h, artel__hlo_value like, int axis, const char *how,
                                   artel__hlo_value scalar)
{
    artel__hlo_value index = artel__grid_index(h, like, axis);
    return artel__hlo_compare(h, how, index, broadcast(h, scalar, index, NULL));
}

artel__hlo_value artel__grid_only(artel__hlo *h, artel__hlo_value condition, artel__hlo_value x, double number)
{
    return artel__hlo_select(h, condition, x, artel__hlo_number(h, number, x));
}

artel__hlo_value artel__grid_sum(artel__hlo *h, artel__hlo_value x, int axis)
{
    return artel__hlo_reduce(h, "add", 0, x, 1u << axis);
}

artel__hlo_value artel__grid_diagonal(artel__hlo *h, artel__hlo_value x)
{
    return artel__grid_sum(h, artel__grid_only(h, artel__grid_place(h, x, "EQ"), x, 0), 2);
}

/* One place of an axis of a grid, as a list. */
static artel__hlo_value cut(artel__hlo *h, artel__hlo_value x, int axis, artel__hlo_value which)
{
    const artel__hlo_type type = *artel__hlo_type_of(h, x);
    int64_t size[] = {type.dim[0], axis == 1 ? 1 : type.dim[1], axis == 2 ? 1 : type.dim[2]};
    artel__hlo_type list = artel__list_type(size[0], size[1] * size[2]);
    artel__hlo_value zero = artel__hlo_number(h, 0, which),
                     first[] = {zero, axis == 1 ? which : zero, axis == 2 ? which : zero};
    return artel__hlo_reshape(h, artel__hlo_dynamic_slice(h, x, first, size), &list);
}

artel__hlo_value artel__grid_column(artel__hlo *h, artel__hlo_value x, artel__hlo_value which)
{
    return cut(h, x, 2, which);
}

artel__hlo_value artel__grid_line(artel__hlo *h, artel__hlo_value x, artel__hlo_value which)
{
    return cut(h, x, 1, which);
}

artel__hlo_value artel__grid_identity(artel__hlo *h, int64_t outer, int64_t n)
{
    artel__hlo_value zeros = artel__grid_zeros(h, outer, n, n);
    return artel__hlo_convert(h, artel__grid_place(h, zeros, "EQ"), ARTEL_DTYPE_FLOAT64);
}
