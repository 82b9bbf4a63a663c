/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of factors of small matrices as programs of devices, all of a shard at once, in float64: the formulas of
 * kernel/decompose.h. */
#include "op/lower_decompose.h"
#include "op/lower_grid.h"

typedef struct given {
    artel__lower *lower;
    artel__hlo *h;
    bool whole;
    int64_t outer, m, n, k; /* k: the smaller */
} given;

/* x / (x^2 + 1e-20) */
static artel__hlo_value safe_reciprocal(artel__hlo *h, artel__hlo_value x)
{
    artel__hlo_value below = artel__grid_multiply(h, x, x);
    return artel__hlo_binary(h, "divide", x, artel__grid_add(h, below, artel__hlo_number(h, 1e-20, below)));
}

static artel__hlo_value columns_of(artel__hlo *h, artel__hlo_value x, int64_t first, int64_t count)
{
    return artel__hlo_slice_axis(h, x, 2, first, first + count);
}

/* -- QR -- */

/* x r^-T, r upper triangular */
static artel__hlo_value divided(const given *g, artel__hlo_value x, artel__hlo_value r)
{
    artel__hlo *h = g->h;
    artel__hlo_type scalar = {.dtype = ARTEL_DTYPE_INT32};
    artel__hlo_loop loop;
    artel__hlo_loop_begin(h, artel__hlo_splat(h, (double)g->k, &scalar), &x, 1, &loop);
    artel__hlo_value j = artel__grid_subtract(h, artel__hlo_splat(h, (double)(g->k - 1), &scalar), loop.turn),
                     now = loop.carried[0];
    artel__hlo_value line = artel__grid_line(h, r, j);
    artel__hlo_value behind = artel__grid_only(h, artel__grid_where(h, line, 1, "GT", j), line, 0);
    artel__hlo_value own = artel__grid_sum(h, artel__grid_only(h, artel__grid_where(h, line, 1, "EQ", j), line, 0), 1);
    artel__hlo_value sum = artel__grid_sum(h, artel__grid_multiply(h, now, artel__grid_by_column(h, behind, now)), 2);
    artel__hlo_value column = artel__grid_subtract(h, artel__grid_column(h, now, j), sum);
    column = artel__hlo_binary(h, "divide", column, artel__grid_spread(h, own, column));
    artel__hlo_value next =
        artel__hlo_select(h, artel__grid_where(h, now, 2, "EQ", j), artel__grid_by_line(h, column, now), now);
    artel__hlo_loop_end(h, &loop, &next);
    return loop.carried[0];
}

/* q (dr + low r^-T) + (dq - q q^T dq) r^-T, where low is the lower triangle of s - s^T, s = q^T dq + r dr^T. */
static artel__hlo_value square_factors(const given *g, artel__hlo_value q, artel__hlo_value r, artel__hlo_value dq,
                                       artel__hlo_value dr)
{
    artel__hlo *h = g->h;
    artel__hlo_value s = artel__grid_product(h, q, true, dq, false);
    artel__hlo_value both = artel__grid_add(h, s, artel__grid_product(h, r, false, dr, true));
    artel__hlo_value low = artel__grid_subtract(h, both, artel__grid_turned(h, both));
    low = artel__grid_only(h, artel__grid_place(h, low, "GT"), low, 0);
    low = artel__grid_add(h, divided(g, low, r), dr);
    artel__hlo_value rest = artel__grid_subtract(h, dq, artel__grid_product(h, q, false, s, false));
    return artel__grid_add(h, divided(g, rest, r), artel__grid_product(h, q, false, low, false));
}

static void factors(const given *g)
{
    artel__hlo *h = g->h;
    artel__lower *l = g->lower;
    int64_t m = g->m, n = g->n, k = g->k;
    artel__hlo_value q = artel__grid_input(l, 1, g->outer, m, k), r = artel__grid_input(l, 2, g->outer, k, n);
    artel__hlo_value dq = artel__grid_input(l, 3, g->outer, m, k), dr = artel__grid_input(l, 4, g->outer, k, n), da[2];
    if (m < n) { /* a = (x, y), r = (u, v): y = q v */
        artel__hlo_value a = artel__grid_input(l, 0, g->outer, m, n), dv = columns_of(h, dr, m, n - m);
        dq = artel__grid_add(h, dq, artel__grid_product(h, columns_of(h, a, m, n - m), false, dv, true));
        da[1] = artel__grid_product(h, q, false, dv, false);
    }
    da[0] = square_factors(g, q, columns_of(h, r, 0, k), dq, columns_of(h, dr, 0, k));
    artel__grid_output(l, 0, m < n ? artel__hlo_concatenate(h, da, 2, 2) : da[0]);
}

/* -- eigenvalues -- */

static void symmetric(const given *g)
{
    artel__hlo *h = g->h;
    artel__lower *l = g->lower;
    artel__hlo_value e = artel__grid_input(l, 1, g->outer, g->n, -1), v = artel__grid_input(l, 2, g->outer, g->n, g->n);
    artel__hlo_value de = artel__grid_input(l, 3, g->outer, g->n, -1),
                     dv = artel__grid_input(l, 4, g->outer, g->n, g->n);
    artel__hlo_value middle = artel__grid_product(h, v, true, dv, false);
    artel__hlo_value apart =
        artel__grid_subtract(h, artel__grid_by_column(h, e, middle), artel__grid_by_line(h, e, middle));
    artel__hlo_value diagonal = artel__grid_place(h, middle, "EQ");
    middle = artel__hlo_select(h, diagonal, artel__grid_by_line(h, de, middle),
                               artel__grid_multiply(h, middle, safe_reciprocal(h, apart)));
    artel__hlo_value whole = artel__grid_product(h, artel__grid_product(h, v, false, middle, false), false, v, true);
    artel__hlo_value both = artel__grid_add(h, whole, artel__grid_turned(h, whole));
    both = artel__grid_only(h, artel__grid_place(h, both, "GT"), both, 0); /* the lower triangle is what was read */
    artel__grid_output(l, 0, artel__hlo_select(h, diagonal, whole, both));
}

/* -- singular values -- */

/* One side of the factors and its gradient. */
typedef struct side {
    artel__hlo_value x, dx;
} side;

/* diag(ds) + (f u^T du + its transpose) diag(s) + diag(s) (f v^T dv + its transpose), f of i, j: 1 / (s_j^2 - s_i^2) */
static artel__hlo_value middle_of(const given *g, artel__hlo_value s, artel__hlo_value of_u, artel__hlo_value of_v)
{
    artel__hlo *h = g->h;
    artel__hlo_value ds = artel__grid_input(g->lower, 5, g->outer, g->k, -1), squares = artel__grid_multiply(h, s, s);
    artel__hlo_value diagonal = artel__grid_place(h, of_u, "EQ"), none = artel__hlo_number(h, 0, of_u);
    artel__hlo_value apart =
        artel__grid_subtract(h, artel__grid_by_column(h, squares, of_u), artel__grid_by_line(h, squares, of_u));
    artel__hlo_value f = artel__hlo_select(h, diagonal, none, safe_reciprocal(h, apart));
    artel__hlo_value u = artel__grid_multiply(h, f, artel__grid_subtract(h, of_u, artel__grid_turned(h, of_u)));
    artel__hlo_value v = artel__grid_multiply(h, f, artel__grid_subtract(h, of_v, artel__grid_turned(h, of_v)));
    u = artel__grid_multiply(h, u, artel__grid_by_column(h, s, u));
    v = artel__grid_multiply(h, v, artel__grid_by_line(h, s, v));
    artel__hlo_value own = artel__hlo_select(h, diagonal, artel__grid_by_line(h, ds, u), none);
    return artel__grid_add(h, artel__grid_add(h, own, u), v);
}

/* da of the matrix whose shorter side has the lines; u is that side's, v [n][k + others] the other one's. */
static artel__hlo_value both_sides(const given *g, side u, side v, int64_t n, int64_t others)
{
    artel__hlo *h = g->h;
    int64_t k = g->k;
    artel__hlo_value s = artel__grid_input(g->lower, 2, g->outer, k, -1);
    artel__hlo_value first = columns_of(h, v.x, 0, k), d_first = columns_of(h, v.dx, 0, k);
    artel__hlo_value of_u = artel__grid_product(h, u.x, true, u.dx, false),
                     of_v = artel__grid_product(h, first, true, d_first, false);
    artel__hlo_value left = artel__grid_product(h, u.x, false, middle_of(g, s, of_u, of_v), false);
    artel__hlo_value da = artel__grid_product(h, left, false, first, true);
    if (k == n) return da;
    artel__hlo_value rest = artel__grid_turned(h, d_first);
    rest = artel__grid_subtract(h, rest, artel__grid_product(h, of_v, true, first, true));
    if (others > 0) {
        artel__hlo_value across = artel__grid_product(h, first, true, columns_of(h, v.dx, k, others), false);
        rest =
            artel__grid_subtract(h, rest, artel__grid_product(h, across, false, columns_of(h, v.x, k, others), true));
    }
    rest = artel__grid_multiply(h, rest, artel__grid_by_line(h, safe_reciprocal(h, s), rest));
    return artel__grid_add(h, da, artel__grid_product(h, u.x, false, rest, false));
}

static void singular(const given *g)
{
    artel__hlo *h = g->h;
    artel__lower *l = g->lower;
    int64_t m = g->m, n = g->n, k = g->k, left = g->whole ? m : k, right = g->whole ? n : k;
    side u = {artel__grid_input(l, 1, g->outer, m, left), artel__grid_input(l, 4, g->outer, m, left)};
    side v = {artel__grid_turned(h, artel__grid_input(l, 3, g->outer, right, n)),
              artel__grid_turned(h, artel__grid_input(l, 6, g->outer, right, n))};
    artel__grid_output(
        l, 0, m > n ? artel__grid_turned(h, both_sides(g, v, u, m, left - k)) : both_sides(g, u, v, n, right - k));
}

void artel__lower_decompose_gradient(artel__lower *lower, artel__decomposition function, bool whole)
{
    const artel_shape *shape = &lower->graph->value[lower->node->input[0]].shape;
    given g = {.lower = lower, .h = lower->hlo, .whole = whole};
    g.m = shape->dim[shape->rank - 2];
    g.n = shape->dim[shape->rank - 1];
    g.k = g.m < g.n ? g.m : g.n;
    g.outer = artel__hlo_count(artel__hlo_type_of(g.h, lower->in[0])) / (g.m * g.n);
    switch (function) {
    case ARTEL__DECOMPOSITION_QR: factors(&g); break;
    case ARTEL__DECOMPOSITION_SYMMETRIC: symmetric(&g); break;
    case ARTEL__DECOMPOSITION_SINGULAR: singular(&g); break;
    }
}
