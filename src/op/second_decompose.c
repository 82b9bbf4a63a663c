/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of the gradients of factors of small matrices, by second_anew.c.
 *
 * The gradient of a matrix is written anew of its factors and of what comes back to these, as kernel/decompose.h has
 * it: products, solutions and reciprocals of differences, in float64, which have gradients of every order. What comes
 * back to the factors goes on to the matrix by the gradient of the factors itself. All is of three axes here: the
 * matrices one behind another, lines, columns.
 */
#include "op/formula.h"
#include "op/matrix.h"
#include "op/reduce.h"
#include "op/second.h"
#include "op/shape_ops.h"
#include "op/wide_product.h"

typedef artel__value_id value;

static value as_matrices(artel__graph *graph, value x, int64_t lead, int64_t m, int64_t n)
{
    artel_shape shape = artel__shape(3, lead, m, n);
    return artel__op_reshape(graph, x, &shape);
}

static int64_t extent(const artel__graph *graph, value x, int axis)
{
    return graph->status < 0 || x < 0 ? 1 : graph->value[x].shape.dim[axis];
}

static value turned(artel__graph *graph, value x)
{
    return artel__op_transpose(graph, x, (int[]){0, 2, 1});
}

/* x y^T, x y, x^T y */
static value by_turned(artel__graph *graph, value x, value y)
{
    return artel__op_wide_product(graph, x, y);
}

static value by(artel__graph *graph, value x, value y)
{
    return by_turned(graph, x, turned(graph, y));
}

static value turned_by(artel__graph *graph, value x, value y)
{
    value left = turned(graph, x), right = turned(graph, y);
    return by_turned(graph, left, right);
}

static value columns_of(artel__graph *graph, value x, int64_t first, int64_t count)
{
    return artel__op_slice(graph, x, 2, first, count, 1);
}

/* x - x^T */
static value skew(artel__graph *graph, value x)
{
    return difference(graph, x, turned(graph, x));
}

/* x where the place is chosen by (line, column), else 0. */
static value chosen(artel__graph *graph, value x, bool (*choose)(int64_t line, int64_t column))
{
    int64_t n = extent(graph, x, 2);
    uint8_t *mask = artel__arena_alloc(graph->arena, (size_t)(n * n) + 1, sizeof *mask);
    if (!mask) {
        graph->status = ARTEL_ERROR_NO_MEMORY;
        return ARTEL__NO_VALUE;
    }
    for (int64_t i = 0; i < n * n; i++) mask[i] = choose(i / n, i % n);
    artel_shape shape = artel__shape(2, n, n);
    value here = artel__op_constant(graph, ARTEL_DTYPE_BOOL, &shape, mask);
    return where(graph, here, x, ARTEL__NO_VALUE);
}

static bool is_under(int64_t line, int64_t column)
{
    return line > column;
}

static bool is_apart(int64_t line, int64_t column)
{
    return line != column;
}

static bool is_diagonal(int64_t line, int64_t column)
{
    return line == column;
}

static value safe_reciprocal(artel__graph *graph, value x)
{
    return binary(graph, ARTEL__BINARY_DIV, x, artel__op_affine(graph, square(graph, x), 1, 1e-20));
}

/* Of numbers e [lead][1][n]: 1 / (e_j - e_i) in line i, column j, and 0 on the diagonal. */
static value inverse_gaps(artel__graph *graph, value e)
{
    value gap = difference(graph, e, turned(graph, e));
    return chosen(graph, safe_reciprocal(graph, gap), is_apart);
}

/* -- QR -- */

/* x r^-T */
static value divided(artel__graph *graph, value x, value r)
{
    return turned(graph, artel__op_matrix(graph, ARTEL__MATRIX_SOLVE, r, turned(graph, x)));
}

/* q (dr + low r^-T) + (dq - q s) r^-T, s = q^T dq, where low is what is under the diagonal of the skew part of s + r
 * dr^T. */
static value square_factors(artel__graph *graph, value q, value r, value dq, value dr)
{
    value s = turned_by(graph, q, dq), both = artel__op_add(graph, s, by_turned(graph, r, dr));
    value low = chosen(graph, skew(graph, both), is_under);
    value along = by(graph, q, artel__op_add(graph, dr, divided(graph, low, r)));
    value across = divided(graph, difference(graph, dq, by(graph, q, s)), r);
    return artel__op_add(graph, across, along);
}

static value factors(artel__graph *graph, value a, const value *y, const value *dy)
{
    int64_t m = extent(graph, a, 1), n = extent(graph, a, 2);
    if (m >= n) return square_factors(graph, y[0], y[1], dy[0], dy[1]);
    value dv = columns_of(graph, dy[1], m, n - m); /* a = (x, y), r = (u, v): y = q v */
    value dq = artel__op_add(graph, dy[0], by_turned(graph, columns_of(graph, a, m, n - m), dv));
    value r = columns_of(graph, y[1], 0, m), dr = columns_of(graph, dy[1], 0, m);
    value left = square_factors(graph, y[0], r, dq, dr), right = by(graph, y[0], dv);
    return artel__op_concat(graph, (value[]){left, right}, 2, 2);
}

/* -- eigenvalues -- */

static value symmetric(artel__graph *graph, const value *y, const value *dy)
{
    value gaps = inverse_gaps(graph, y[0]), apart = product(graph, turned_by(graph, y[1], dy[1]), gaps);
    value middle = artel__op_add(graph, apart, chosen(graph, dy[0], is_diagonal));
    value whole = by_turned(graph, by(graph, y[1], middle), y[1]);
    value both = artel__op_add(graph, whole, turned(graph, whole));
    value under = chosen(graph, both, is_under), diagonal = chosen(graph, whole, is_diagonal);
    return artel__op_add(graph, under, diagonal);
}

/* -- singular values -- */

/* One side of the factors, vectors in columns, and its gradient. */
typedef struct side {
    value x, dx;
} side;

static value middle_of(artel__graph *graph, value s, value ds, value of_u, value of_v)
{
    value gaps = inverse_gaps(graph, square(graph, s)), u = product(graph, gaps, skew(graph, of_u));
    value v = product(graph, gaps, skew(graph, of_v)), left = product(graph, u, s);
    value right = product(graph, turned(graph, s), v);
    return artel__op_add(graph, artel__op_add(graph, chosen(graph, ds, is_diagonal), left), right);
}

/* u is that of the shorter side, all of it; v may have columns beyond. */
static value both_sides(artel__graph *graph, const side *u, const side *v, value s, value ds)
{
    int64_t k = extent(graph, u->x, 1), n = extent(graph, v->x, 1), others = extent(graph, v->x, 2) - k;
    value first = columns_of(graph, v->x, 0, k), d_first = columns_of(graph, v->dx, 0, k);
    value of_u = turned_by(graph, u->x, u->dx), of_v = turned_by(graph, first, d_first);
    value da = by_turned(graph, by(graph, u->x, middle_of(graph, s, ds, of_u, of_v)), first);
    if (k == n) return da;
    value known = by_turned(graph, turned(graph, of_v), first);
    value rest = difference(graph, turned(graph, d_first), known);
    if (others > 0) {
        value across = turned_by(graph, first, columns_of(graph, v->dx, k, others));
        rest = difference(graph, rest, by_turned(graph, across, columns_of(graph, v->x, k, others)));
    }
    rest = product(graph, rest, safe_reciprocal(graph, turned(graph, s)));
    return artel__op_add(graph, da, by(graph, u->x, rest));
}

static value singular(artel__graph *graph, int64_t m, int64_t n, const value *y, const value *dy)
{
    const side u = {y[0], dy[0]}, v = {turned(graph, y[2]), turned(graph, dy[2])};
    return m > n ? turned(graph, both_sides(graph, &v, &u, y[1], dy[1])) : both_sides(graph, &u, &v, y[1], dy[1]);
}

/* -- all of them -- */

/* The matrix, its factors and their gradients, as leaves and, wide, as three axes; numbers are one line. */
typedef struct anew {
    value leaf[1 + 2 * ARTEL__DECOMPOSITION_RESULTS], wide[1 + 2 * ARTEL__DECOMPOSITION_RESULTS];
    int input[1 + 2 * ARTEL__DECOMPOSITION_RESULTS];
} anew;

static void take_operand(const artel__gradient *g, anew *a, int k, int numbers, int64_t lead)
{
    artel__graph *graph = g->graph;
    a->leaf[k] = artel__second_leaf(graph, g->in[k]);
    if (a->leaf[k] < 0) return;
    const artel_shape *shape = &graph->value[a->leaf[k]].shape;
    int64_t columns = shape->dim[shape->rank - 1], lines = k == numbers ? 1 : shape->dim[shape->rank - 2];
    a->wide[k] = as_matrices(graph, artel__op_cast(graph, a->leaf[k], ARTEL_DTYPE_FLOAT64), lead, lines, columns);
}

artel_status artel__second_decompose(artel__gradient *g, artel__decomposition function)
{
    artel__graph *graph = g->graph;
    const artel_shape shape = graph->value[g->in[0]].shape;
    int results = function == ARTEL__DECOMPOSITION_SINGULAR ? 3 : 2, count = 1 + 2 * results;
    int numbers = function == ARTEL__DECOMPOSITION_QR ? -1 : function == ARTEL__DECOMPOSITION_SYMMETRIC ? 0 : 1;
    int64_t lead = artel__shape_product(&shape, 0, shape.rank - 2), m = shape.dim[shape.rank - 2],
            n = shape.dim[shape.rank - 1];
    anew a;
    for (int k = 0; k < count; k++) {
        int result = k == 0 ? -2 : (k - 1) % results;
        a.input[k] = k;
        take_operand(g, &a, k, result == numbers ? k : -1, lead);
        if (k > results && a.leaf[k] < 0) a.wide[k] = artel__op_fill_like(graph, a.wide[k - results], 0);
    }
    const value *y = &a.wide[1], *dy = &a.wide[1 + results];
    value da = ARTEL__NO_VALUE;
    ARTEL_TRY(graph->status);
    switch (function) {
    case ARTEL__DECOMPOSITION_QR: da = factors(graph, a.wide[0], y, dy); break;
    case ARTEL__DECOMPOSITION_SYMMETRIC: da = symmetric(graph, y, dy); break;
    case ARTEL__DECOMPOSITION_SINGULAR: da = singular(graph, m, n, y, dy); break;
    }
    da = artel__op_reshape(graph, da, &shape);
    ARTEL_TRY(graph->status);
    artel__slopes slopes = {{da}, {artel__op_cast(graph, g->out_gradient[0], ARTEL_DTYPE_FLOAT64)}, 1, a.leaf, count};
    return artel__second_finish(g, &slopes, a.input);
}
