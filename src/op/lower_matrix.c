/* SPDX-License-Identifier: Apache-2.0 */
/* Small matrices as programs of devices: a loop over columns, all matrices at once. Solutions are Gauss and Jordan's,
 * with the first of the largest magnitudes as pivot, in the type of the matrices. */
#include "op/lower_matrix.h"

/* Matrices [rows][n][width] and what a turn of the loop looks at. */
typedef struct machine {
    artel__hlo *h;
    int64_t outer, n, width;
    artel__hlo_type all, column; /* [outer][n][width], [outer][n] */
    artel__hlo_value row;        /* INT32 [outer][n]: its index */
    artel__hlo_value turn, here; /* of a turn: its number; where the row is that */
} machine;

static artel__hlo_value over_rows(const machine *m, artel__hlo_value a)
{
    artel__hlo_type to = m->all;
    to.dtype = artel__hlo_type_of(m->h, a)->dtype;
    return artel__hlo_broadcast(m->h, a, &to, (const int[]){0, 1});
}

static artel__hlo_value over_columns(const machine *m, artel__hlo_value a)
{
    return artel__hlo_broadcast(m->h, a, &m->all, (const int[]){0, 2});
}

static artel__hlo_value spread(const machine *m, artel__hlo_value by_matrix)
{
    artel__hlo_type to = m->column;
    to.dtype = artel__hlo_type_of(m->h, by_matrix)->dtype;
    return artel__hlo_broadcast(m->h, by_matrix, &to, (const int[]){0});
}

static void begin_turn(machine *m, artel__hlo_value turn)
{
    m->turn = turn;
    artel__hlo_type to = *artel__hlo_type_of(m->h, m->row);
    m->here = artel__hlo_compare(m->h, "EQ", m->row, artel__hlo_broadcast(m->h, turn, &to, NULL));
}

static artel__hlo_value column_of(const machine *m, artel__hlo_value t)
{
    artel__hlo_type scalar = {.dtype = ARTEL_DTYPE_INT32};
    artel__hlo_value zero = artel__hlo_splat(m->h, 0, &scalar), first[] = {zero, zero, m->turn};
    return artel__hlo_reshape(m->h, artel__hlo_dynamic_slice(m->h, t, first, (const int64_t[]){m->outer, m->n, 1}),
                              &m->column);
}

/* The line of t at the rows marked, one a matrix. */
static artel__hlo_value line_at(const machine *m, artel__hlo_value t, artel__hlo_value mark)
{
    artel__hlo_value own = artel__hlo_select(m->h, over_rows(m, mark), t, artel__hlo_number(m->h, 0, t));
    return artel__hlo_reduce(m->h, "add", 0, own, 2);
}

static artel__hlo_value number_at(const machine *m, artel__hlo_value column, artel__hlo_value mark)
{
    return artel__hlo_reduce(m->h, "add", 0, artel__hlo_select(m->h, mark, column, artel__hlo_number(m->h, 0, column)),
                             2);
}

static artel__hlo_value is_behind(const machine *m, const char *how)
{
    artel__hlo_type to = *artel__hlo_type_of(m->h, m->row);
    return artel__hlo_compare(m->h, how, m->row, artel__hlo_broadcast(m->h, m->turn, &to, NULL));
}

/* Where the pivot of a column is: BOOL [outer][n]. */
static artel__hlo_value pivot_of(const machine *m, artel__hlo_value column)
{
    artel__hlo *h = m->h;
    artel__hlo_value size = artel__hlo_unary(h, "abs", column);
    size = artel__hlo_select(h, is_behind(m, "GE"), size, artel__hlo_number(h, -1, size));
    artel__hlo_value most = spread(m, artel__hlo_reduce(h, "maximum", -1, size, 2));
    artel__hlo_value at = artel__hlo_select(h, artel__hlo_compare(h, "EQ", size, most), m->row,
                                            artel__hlo_number(h, (double)m->n, m->row));
    return artel__hlo_compare(h, "EQ", m->row, spread(m, artel__hlo_reduce(h, "minimum", (double)m->n, at, 2)));
}

/* One column of t is made 0 outside its pivot (`below`: under it); the sign changes where lines are exchanged, and
 * takes the pivot. */
static void eliminate(const machine *m, artel__hlo_value t, artel__hlo_value product, bool below,
                      artel__hlo_value next[2])
{
    artel__hlo *h = m->h;
    artel__hlo_value pivot = pivot_of(m, column_of(m, t)), best = line_at(m, t, pivot), own = line_at(m, t, m->here);
    t = artel__hlo_select(h, over_rows(m, pivot), over_columns(m, own), t);
    t = artel__hlo_select(h, over_rows(m, m->here), over_columns(m, best), t);
    artel__hlo_value column = column_of(m, t), divisor = number_at(m, column, m->here);
    artel__hlo_value factor = artel__hlo_binary(h, "divide", column, spread(m, divisor)),
                     none = artel__hlo_number(h, 0, factor);
    artel__hlo_value idle =
        artel__hlo_binary(h, "or", below ? is_behind(m, "LE") : m->here, artel__hlo_compare(h, "EQ", column, none));
    artel__hlo_value part =
        artel__hlo_binary(h, "multiply", over_rows(m, artel__hlo_select(h, idle, none, factor)), over_columns(m, best));
    next[0] = artel__hlo_select(h, over_rows(m, idle), t, artel__hlo_binary(h, "subtract", t, part));
    artel__hlo_value both = artel__hlo_binary(h, "and", pivot, m->here);
    artel__hlo_value stays = artel__hlo_reduce(h, "maximum", 0, artel__hlo_convert(h, both, m->all.dtype), 2);
    artel__hlo_value sign =
        artel__hlo_binary(h, "subtract", artel__hlo_binary(h, "add", stays, stays), artel__hlo_number(h, 1, stays));
    next[1] = artel__hlo_binary(h, "multiply", product, artel__hlo_binary(h, "multiply", sign, divisor));
}

static void cholesky(const machine *m, artel__hlo_value t, artel__hlo_value made, artel__hlo_value next[2])
{
    artel__hlo *h = m->h;
    artel__hlo_value column = column_of(m, t), root = artel__hlo_unary(h, "sqrt", number_at(m, column, m->here));
    artel__hlo_value part = artel__hlo_binary(h, "divide", column, spread(m, root));
    part = artel__hlo_select(h, is_behind(m, "GE"), part, artel__hlo_number(h, 0, part));
    artel__hlo_value here = artel__hlo_broadcast(
        h, m->here, &(artel__hlo_type){.dtype = ARTEL_DTYPE_BOOL, .rank = 3, .dim = {m->outer, m->n, m->n}},
        (const int[]){0, 2});
    next[0] = artel__hlo_binary(h, "subtract", t,
                                artel__hlo_binary(h, "multiply", over_rows(m, part), over_columns(m, part)));
    next[1] = artel__hlo_select(h, here, over_rows(m, part), made);
}

/* Input k as [outer][n][columns]. */
static artel__hlo_value operand(artel__lower *lower, int k, int64_t outer, int64_t n, int64_t columns)
{
    artel_dtype dtype = artel__hlo_type_of(lower->hlo, lower->in[k])->dtype;
    artel__hlo_type all = {.dtype = dtype, .rank = 3, .dim = {outer, n, columns}};
    artel__hlo_type one = {.dtype = dtype, .rank = 2, .dim = {n, columns}};
    bool shared = artel__hlo_count(artel__hlo_type_of(lower->hlo, lower->in[k])) == n * columns;
    artel__hlo_value x = artel__hlo_reshape(lower->hlo, lower->in[k], shared ? &one : &all);
    return shared ? artel__hlo_broadcast(lower->hlo, x, &all, (const int[]){1, 2}) : x;
}

static artel__hlo_value identity(const machine *m)
{
    artel__hlo_type index = {.dtype = ARTEL_DTYPE_INT32, .rank = 3, .dim = {m->outer, m->n, m->n}};
    artel__hlo_value row = artel__hlo_iota(m->h, &index, 1), column = artel__hlo_iota(m->h, &index, 2);
    return artel__hlo_convert(m->h, artel__hlo_compare(m->h, "EQ", row, column), m->all.dtype);
}

/* The right side of t, each line by its pivot. */
static artel__hlo_value solved(const machine *m, artel__hlo_value t)
{
    artel__hlo *h = m->h;
    artel__hlo_value left = artel__hlo_slice_axis(h, t, 2, 0, m->n),
                     right = artel__hlo_slice_axis(h, t, 2, m->n, m->width);
    artel__hlo_value own = artel__hlo_binary(h, "multiply", left, identity(m));
    artel__hlo_type to = *artel__hlo_type_of(h, right);
    return artel__hlo_binary(h, "divide", right,
                             artel__hlo_broadcast(h, artel__hlo_reduce(h, "add", 0, own, 4), &to, (const int[]){0, 1}));
}

void artel__lower_matrix(artel__lower *lower, artel__matrix_function function)
{
    artel__hlo *h = lower->hlo;
    const artel_shape *a = &lower->graph->value[lower->node->input[0]].shape;
    artel__hlo_type to = artel__lower_out_type(lower, 0), scalar = {.dtype = ARTEL_DTYPE_INT32};
    int64_t n = a->dim[a->rank - 1], columns = function == ARTEL__MATRIX_INVERSE ? n
                                               : function == ARTEL__MATRIX_SOLVE ? to.dim[to.rank - 1]
                                                                                 : 0;
    int64_t results = function == ARTEL__MATRIX_DETERMINANT ? 1 : n * (columns ? columns : n);
    machine m = {.h = h, .outer = artel__hlo_count(&to) / results, .n = n, .width = n + columns};
    m.all = (artel__hlo_type){.dtype = to.dtype, .rank = 3, .dim = {m.outer, n, m.width}};
    m.column = (artel__hlo_type){.dtype = to.dtype, .rank = 2, .dim = {m.outer, n}};
    artel__hlo_type index = m.column, one = {.dtype = to.dtype, .rank = 1, .dim = {m.outer}};
    index.dtype = ARTEL_DTYPE_INT32;
    m.row = artel__hlo_iota(h, &index, 1);
    artel__hlo_value t = operand(lower, 0, m.outer, n, n), side[2] = {t, -1};
    if (function == ARTEL__MATRIX_SOLVE) side[1] = operand(lower, 1, m.outer, n, columns);
    if (function == ARTEL__MATRIX_INVERSE) side[1] = identity(&m);
    if (columns) t = artel__hlo_concatenate(h, side, 2, 2);
    bool factors = function == ARTEL__MATRIX_CHOLESKY;
    artel__hlo_value init[] = {t, factors ? artel__hlo_splat(h, 0, &m.all) : artel__hlo_splat(h, 1, &one)}, next[2];
    artel__hlo_loop loop;
    artel__hlo_loop_begin(h, artel__hlo_splat(h, (double)n, &scalar), init, 2, &loop);
    begin_turn(&m, loop.turn);
    if (factors)
        cholesky(&m, loop.carried[0], loop.carried[1], next);
    else
        eliminate(&m, loop.carried[0], loop.carried[1], function == ARTEL__MATRIX_DETERMINANT, next);
    artel__hlo_loop_end(h, &loop, next);
    lower->out[0] = artel__hlo_reshape(h, columns ? solved(&m, loop.carried[0]) : loop.carried[1], &to);
}
