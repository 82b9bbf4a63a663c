/* SPDX-License-Identifier: Apache-2.0 */
/* Small matrices of float64 in programs of devices, all of a shard at once: a grid is [outer][lines][columns], a list
 * [outer][count], a number [outer]. Written with the functions of graph/hlo.h. */
#ifndef ARTEL_OP_LOWER_GRID_H
#define ARTEL_OP_LOWER_GRID_H

#include "graph/lower.h"

artel__hlo_type artel__grid_type(int64_t outer, int64_t lines, int64_t columns);
artel__hlo_type artel__list_type(int64_t outer, int64_t count);
/* Input k of a lowering as a grid or a list (`columns` -1) of float64; zeros where it is absent. */
artel__hlo_value artel__grid_input(artel__lower *lower, int k, int64_t outer, int64_t lines, int64_t columns);
/* The grid, list or number as output k, in its dtype. */
void artel__grid_output(artel__lower *lower, int k, artel__hlo_value x);
artel__hlo_value artel__grid_zeros(artel__hlo *h, int64_t outer, int64_t lines, int64_t columns);
/* Products of the one or its transpose with the other or its transpose. */
artel__hlo_value artel__grid_product(artel__hlo *h, artel__hlo_value a, bool turned_a, artel__hlo_value b,
                                     bool turned_b);
artel__hlo_value artel__grid_turned(artel__hlo *h, artel__hlo_value a);
artel__hlo_value artel__grid_add(artel__hlo *h, artel__hlo_value a, artel__hlo_value b);
artel__hlo_value artel__grid_subtract(artel__hlo *h, artel__hlo_value a, artel__hlo_value b);
artel__hlo_value artel__grid_multiply(artel__hlo *h, artel__hlo_value a, artel__hlo_value b);
/* A list by line, or by column, or a number, in every place of something like `like`; any dtype. */
artel__hlo_value artel__grid_by_line(artel__hlo *h, artel__hlo_value list, artel__hlo_value like);
artel__hlo_value artel__grid_by_column(artel__hlo *h, artel__hlo_value list, artel__hlo_value like);
artel__hlo_value artel__grid_spread(artel__hlo *h, artel__hlo_value number, artel__hlo_value like);
/* INT32 of the same shape: the index on an axis, 1 being the lines of a grid and the places of a list. */
artel__hlo_value artel__grid_index(artel__hlo *h, artel__hlo_value like, int axis);
/* BOOL: how line and column compare, "EQ" the diagonal, "GT" what is below it. */
artel__hlo_value artel__grid_place(artel__hlo *h, artel__hlo_value like, const char *how);
/* BOOL: how the index on an axis compares with a scalar INT32. */
artel__hlo_value artel__grid_where(artel__hlo *h, artel__hlo_value like, int axis, const char *how,
                                   artel__hlo_value scalar);
/* x where the condition holds, else `number`. */
artel__hlo_value artel__grid_only(artel__hlo *h, artel__hlo_value condition, artel__hlo_value x, double number);
artel__hlo_value artel__grid_sum(artel__hlo *h, artel__hlo_value x, int axis);
/* A list: the diagonal of a square grid; a column of it, a line of it, by a scalar INT32. */
artel__hlo_value artel__grid_diagonal(artel__hlo *h, artel__hlo_value x);
artel__hlo_value artel__grid_column(artel__hlo *h, artel__hlo_value x, artel__hlo_value which);
artel__hlo_value artel__grid_line(artel__hlo *h, artel__hlo_value x, artel__hlo_value which);
artel__hlo_value artel__grid_identity(artel__hlo *h, int64_t outer, int64_t n);

#endif
