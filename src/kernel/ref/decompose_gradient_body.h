/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of factors of small matrices of one type of number (kernel/real.h): the reference of float32, and all there
 * is of float64. Who includes it says what it is called (DECOMPOSE_KIND). See kernel/decompose.h.
 */
#include "kernel/decompose.h"
#include "kernel/real.h"

/* A matrix in scratch, or its transpose, or some of its columns. */
typedef struct grid {
    double *t;
    int64_t rows, columns, down, across; /* down, across: from one line, column to the next */
} grid;

static double *at(grid x, int64_t i, int64_t j)
{
    return x.t + i * x.down + j * x.across;
}

static grid turned(grid x)
{
    return (grid){x.t, x.columns, x.rows, x.across, x.down};
}

static grid columns_of(grid x, int64_t first, int64_t count)
{
    return (grid){x.t + first * x.across, x.rows, count, x.down, x.across};
}

static grid zeros(double **scratch, int64_t rows, int64_t columns)
{
    grid x = {*scratch, rows, columns, columns, 1};
    *scratch += rows * columns;
    for (int64_t i = 0; i < rows * columns; i++) x.t[i] = 0;
    return x;
}

/* A copy; zeros where there is nothing. */
static grid copy_of(double **scratch, const artel__real *from, int64_t rows, int64_t columns)
{
    grid x = zeros(scratch, rows, columns);
    for (int64_t i = 0; i < rows * columns && from; i++) x.t[i] = (double)from[i];
    return x;
}

/* out += sign x y */
static void add_product(grid out, grid x, grid y, double sign)
{
    for (int64_t i = 0; i < out.rows; i++) {
        for (int64_t j = 0; j < out.columns; j++) {
            double sum = 0;
            for (int64_t k = 0; k < x.columns; k++) sum = sum + *at(x, i, k) * *at(y, k, j);
            *at(out, i, j) = *at(out, i, j) + sign * sum;
        }
    }
}

static double safe_reciprocal(double x)
{
    return x / (x * x + 1e-20);
}

/* What a kernel is given of one matrix. */
typedef struct given {
    const artel__decompose *p;
    const artel__real *a, *y[ARTEL__DECOMPOSITION_RESULTS], *dy[ARTEL__DECOMPOSITION_RESULTS];
    double *scratch;
    grid da;
} given;

/* -- QR -- */

/* x := x r^-T, r upper triangular */
static void divide(grid x, grid r)
{
    for (int64_t i = 0; i < x.rows; i++) {
        for (int64_t j = r.rows - 1; j >= 0; j--) {
            double sum = *at(x, i, j);
            for (int64_t k = j + 1; k < r.rows; k++) sum = sum - *at(x, i, k) * *at(r, j, k);
            *at(x, i, j) = sum / *at(r, j, j);
        }
    }
}

/* da = q (dr + low r^-T) + (dq - q q^T dq) r^-T, where low is the lower triangle of s - s^T, s = q^T dq + r dr^T. */
static void square_factors(given *g, grid q, grid r, grid dq, grid dr)
{
    int64_t k = r.rows;
    grid s = zeros(&g->scratch, k, k), both = zeros(&g->scratch, k, k), low = zeros(&g->scratch, k, k);
    add_product(s, turned(q), dq, 1);
    add_product(both, turned(q), dq, 1);
    add_product(both, r, turned(dr), 1);
    for (int64_t i = 0; i < k; i++) {
        for (int64_t j = 0; j < i; j++) *at(low, i, j) = *at(both, i, j) - *at(both, j, i);
    }
    divide(low, r);
    for (int64_t i = 0; i < k * k; i++) *at(low, i / k, i % k) += *at(dr, i / k, i % k);
    add_product(dq, q, s, -1);
    divide(dq, r);
    grid da = columns_of(g->da, 0, k);
    for (int64_t i = 0; i < da.rows * k; i++) *at(da, i / k, i % k) = *at(dq, i / k, i % k);
    add_product(da, q, low, 1);
}

static void factors(given *g)
{
    int64_t m = g->p->m, n = g->p->n, k = m < n ? m : n;
    grid a = copy_of(&g->scratch, g->a, m, n), q = copy_of(&g->scratch, g->y[0], m, k),
         r = copy_of(&g->scratch, g->y[1], k, n);
    grid dq = copy_of(&g->scratch, g->dy[0], m, k), dr = copy_of(&g->scratch, g->dy[1], k, n);
    if (m < n) { /* a = (x, y), r = (u, v): y = q v */
        grid dv = columns_of(dr, m, n - m);
        add_product(dq, columns_of(a, m, n - m), turned(dv), 1);
        add_product(columns_of(g->da, m, n - m), q, dv, 1);
    }
    square_factors(g, q, columns_of(r, 0, k), dq, columns_of(dr, 0, k));
}

/* -- eigenvalues -- */

static void symmetric(given *g)
{
    int64_t n = g->p->n;
    grid e = copy_of(&g->scratch, g->y[0], 1, n), v = copy_of(&g->scratch, g->y[1], n, n);
    grid de = copy_of(&g->scratch, g->dy[0], 1, n), dv = copy_of(&g->scratch, g->dy[1], n, n);
    grid middle = zeros(&g->scratch, n, n), left = zeros(&g->scratch, n, n), whole = zeros(&g->scratch, n, n);
    add_product(middle, turned(v), dv, 1);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++)
            *at(middle, i, j) = i == j ? de.t[i] : *at(middle, i, j) * safe_reciprocal(e.t[j] - e.t[i]);
    }
    add_product(left, v, middle, 1);
    add_product(whole, left, turned(v), 1);
    for (int64_t i = 0; i < n; i++) { /* the lower triangle is what was read */
        for (int64_t j = 0; j <= i; j++)
            *at(g->da, i, j) = i == j ? *at(whole, i, i) : *at(whole, i, j) + *at(whole, j, i);
    }
}

/* -- singular values -- */

/* One side of the factors and its gradient. */
typedef struct side {
    grid x, dx;
} side;

/* diag(ds) + (f u^T du + its transpose) diag(s) + diag(s) (f v^T dv + its transpose), f of i, j: 1 / (s_j^2 - s_i^2) */
static grid middle_of(given *g, grid s, grid of_u, grid of_v)
{
    int64_t k = s.columns;
    grid ds = copy_of(&g->scratch, g->dy[1], 1, k), middle = zeros(&g->scratch, k, k);
    for (int64_t i = 0; i < k; i++) {
        for (int64_t j = 0; j < k; j++) {
            double f = i == j ? 0 : safe_reciprocal(s.t[j] * s.t[j] - s.t[i] * s.t[i]);
            double u = f * (*at(of_u, i, j) - *at(of_u, j, i)), v = f * (*at(of_v, i, j) - *at(of_v, j, i));
            *at(middle, i, j) = (i == j ? ds.t[i] : 0) + u * s.t[j] + s.t[i] * v;
        }
    }
    return middle;
}

/* u is that of the shorter side. */
static void both_sides(given *g, side u, side v, grid da)
{
    int64_t k = u.x.rows, n = v.x.rows, others = v.x.columns - k;
    grid s = copy_of(&g->scratch, g->y[1], 1, k), of_u = zeros(&g->scratch, k, k), of_v = zeros(&g->scratch, k, k);
    grid first = columns_of(v.x, 0, k), d_first = columns_of(v.dx, 0, k), left = zeros(&g->scratch, k, k);
    add_product(of_u, turned(u.x), u.dx, 1);
    add_product(of_v, turned(first), d_first, 1);
    add_product(left, u.x, middle_of(g, s, of_u, of_v), 1);
    add_product(da, left, turned(first), 1);
    if (k == n) return;
    grid rest = zeros(&g->scratch, k, n);
    for (int64_t i = 0; i < k * n; i++) *at(rest, i / n, i % n) = *at(d_first, i % n, i / n);
    add_product(rest, turned(of_v), turned(first), -1);
    if (others > 0) {
        grid across = zeros(&g->scratch, k, others);
        add_product(across, turned(first), columns_of(v.dx, k, others), 1);
        add_product(rest, across, turned(columns_of(v.x, k, others)), -1);
    }
    for (int64_t i = 0; i < k * n; i++) *at(rest, i / n, i % n) *= safe_reciprocal(s.t[i / n]);
    add_product(da, u.x, rest, 1);
}

static void singular(given *g)
{
    int64_t m = g->p->m, n = g->p->n, k = m < n ? m : n, left = g->p->whole ? m : k, right = g->p->whole ? n : k;
    side u = {copy_of(&g->scratch, g->y[0], m, left), copy_of(&g->scratch, g->dy[0], m, left)};
    side v = {turned(copy_of(&g->scratch, g->y[2], right, n)), turned(copy_of(&g->scratch, g->dy[2], right, n))};
    if (m > n)
        both_sides(g, v, u, turned(g->da));
    else
        both_sides(g, u, v, g->da);
}

static int64_t tasks(const void *params)
{
    return ((const artel__decompose_gradient *)params)->of.outer;
}

static size_t scratch_bytes(const void *params)
{
    const artel__decompose *p = &((const artel__decompose_gradient *)params)->of;
    int64_t longer = p->m > p->n ? p->m : p->n;
    return (size_t)(14 * longer * longer + 4 * longer) * sizeof(double) + 8;
}

static void run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__decompose_gradient *p = params;
    const artel__decompose *of = &p->of;
    int64_t size = of->m * of->n;
    for (int64_t i = begin; i < end; i++) {
        given g = {.p = of, .a = (const artel__real *)of->a + i * size, .scratch = scratch};
        for (int k = 0; k < ARTEL__DECOMPOSITION_RESULTS; k++) {
            int64_t each = artel__decompose_size(of, k);
            g.y[k] = each ? (const artel__real *)of->y[k] + i * each : NULL;
            g.dy[k] = p->dy[k] && each ? (const artel__real *)p->dy[k] + i * each : NULL;
        }
        g.da = zeros(&g.scratch, of->m, of->n);
        switch (of->function) {
        case ARTEL__DECOMPOSITION_QR: factors(&g); break;
        case ARTEL__DECOMPOSITION_SYMMETRIC: symmetric(&g); break;
        case ARTEL__DECOMPOSITION_SINGULAR: singular(&g); break;
        }
        artel__real *da = (artel__real *)p->da + i * size;
        for (int64_t j = 0; j < size; j++) da[j] = (artel__real)g.da.t[j];
    }
}

static const artel__kernel gradient = {
    .name = DECOMPOSE_KIND " decompose_gradient", .tasks = tasks, .scratch_bytes = scratch_bytes, .run = run};
