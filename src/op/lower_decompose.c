/* SPDX-License-Identifier: Apache-2.0 */
/* Factors of small matrices as programs of devices, all of a shard at once, in float64: the algorithms and signs of
 * kernel/decompose.h. Jacobi's rotations go by pairs of lines that have none in common, as players meet in a tournament
 * (Golub & Van Loan, Matrix Computations, 8.5.5): the first half of the lines against the second, whereupon all but the
 * first line move on by one place. A sweep, in which all have met, ends where it began. Sweeps are a loop of known
 * length, in which one has no turns when the last one rotated nothing in any matrix; as a matrix by itself is rotated
 * only where a rotation is due, what it becomes does not depend on the others.
 */
#include "op/lower_decompose.h"

#include <math.h>

#include "op/lower_grid.h"

#define MOST_SWEEPS 60
#define NEGLIGIBLE 1e-15
#define EQUAL 1e-6
#define NOTHING 1e-13 /* of the largest singular value: what rounding leaves of 0 */

typedef struct given {
    artel__lower *lower;
    artel__hlo *h;
    bool whole;
    int64_t outer, m, n, k; /* k: the smaller */
    artel__hlo_value a;     /* [outer][m][n], zeros where it is not finite */
    artel__hlo_value finite;
} given;

static artel__hlo_value scalar(artel__hlo *h, double number)
{
    artel__hlo_type type = {.dtype = ARTEL_DTYPE_INT32};
    return artel__hlo_splat(h, number, &type);
}

static void give(const given *g, int k, artel__hlo_value y)
{
    artel__grid_output(g->lower, k, artel__grid_only(g->h, artel__grid_spread(g->h, g->finite, y), y, (double)NAN));
}

/* -- QR -- */

/* The reflection of column x at its element `turn`: its vector, and what remains of the element. */
typedef struct reflection {
    artel__hlo_value vector, tau, left;
} reflection;

static reflection reflect(artel__hlo *h, artel__hlo_value x, artel__hlo_value turn)
{
    artel__hlo_value here = artel__grid_where(h, x, 1, "EQ", turn);
    artel__hlo_value below = artel__grid_only(h, artel__grid_where(h, x, 1, "GT", turn), x, 0);
    artel__hlo_value tail = artel__grid_sum(h, artel__grid_multiply(h, below, below), 1);
    artel__hlo_value first = artel__grid_sum(h, artel__grid_only(h, here, x, 0), 1),
                     zero = artel__hlo_number(h, 0, tail);
    artel__hlo_value size =
        artel__hlo_unary(h, "sqrt", artel__grid_add(h, artel__grid_multiply(h, first, first), tail));
    artel__hlo_value left =
        artel__hlo_select(h, artel__hlo_compare(h, "GE", first, zero), artel__hlo_unary(h, "negate", size), size);
    artel__hlo_value due = artel__hlo_compare(h, "NE", tail, zero);
    artel__hlo_value apart = artel__grid_only(h, due, artel__grid_subtract(h, first, left), 1);
    artel__hlo_value part = artel__hlo_binary(h, "divide", below, artel__grid_spread(h, apart, below));
    artel__hlo_value tau =
        artel__hlo_binary(h, "divide", artel__grid_subtract(h, left, first), artel__grid_only(h, due, left, 1));
    return (reflection){.vector = artel__hlo_select(h, here, artel__hlo_number(h, 1, x), part),
                        .tau = artel__grid_only(h, due, tau, 0),
                        .left = artel__hlo_select(h, due, left, first)};
}

/* A turn: t loses a column below its diagonal, q gets the reflection from the right. */
static void reflect_all(artel__hlo *h, artel__hlo_value turn, artel__hlo_value t, artel__hlo_value q,
                        artel__hlo_value next[2])
{
    reflection r = reflect(h, artel__grid_column(h, t, turn), turn);
    artel__hlo_value by_line = artel__grid_by_line(h, r.vector, t);
    artel__hlo_value share = artel__grid_sum(h, artel__grid_multiply(h, by_line, t), 1);
    share = artel__grid_multiply(h, share, artel__grid_spread(h, r.tau, share));
    artel__hlo_value less =
        artel__grid_subtract(h, t, artel__grid_multiply(h, by_line, artel__grid_by_column(h, share, t)));
    artel__hlo_value mark =
        artel__hlo_binary(h, "and", artel__grid_where(h, t, 1, "EQ", turn), artel__grid_where(h, t, 2, "EQ", turn));
    next[0] = artel__hlo_select(h, artel__grid_where(h, t, 2, "GT", turn), less, t);
    next[0] = artel__hlo_select(h, mark, artel__grid_spread(h, r.left, t), next[0]);
    artel__hlo_value across = artel__grid_by_column(h, r.vector, q);
    share = artel__grid_sum(h, artel__grid_multiply(h, across, q), 2);
    share = artel__grid_multiply(h, share, artel__grid_spread(h, r.tau, share));
    next[1] = artel__grid_subtract(h, q, artel__grid_multiply(h, across, artel__grid_by_line(h, share, q)));
}

static void factors(const given *g)
{
    artel__hlo *h = g->h;
    int64_t width = g->whole ? g->m : g->k;
    artel__hlo_value init[] = {g->a, artel__grid_identity(h, g->outer, g->m)}, next[2];
    artel__hlo_loop loop;
    artel__hlo_loop_begin(h, scalar(h, (double)g->k), init, 2, &loop);
    reflect_all(h, loop.turn, loop.carried[0], loop.carried[1], next);
    artel__hlo_loop_end(h, &loop, next);
    artel__hlo_value r = artel__grid_only(h, artel__grid_place(h, g->a, "LE"), loop.carried[0], 0);
    give(g, 0, artel__hlo_slice_axis(h, loop.carried[1], 2, 0, width));
    give(g, 1, artel__hlo_slice_axis(h, r, 1, 0, width));
}

/* -- signs and order -- */

/* A list: -1 where a line is to be turned. */
static artel__hlo_value sign_of(artel__hlo *h, artel__hlo_value x)
{
    const artel__hlo_type type = *artel__hlo_type_of(h, x);
    artel__hlo_value size = artel__hlo_unary(h, "abs", x), most = artel__hlo_reduce(h, "maximum", 0, size, 1u << 2);
    most = artel__grid_multiply(h, most, artel__hlo_number(h, 1 - EQUAL, most));
    artel__hlo_value column = artel__grid_index(h, x, 2);
    artel__hlo_value among = artel__hlo_compare(h, "GE", size, artel__grid_by_line(h, most, size));
    artel__hlo_value first = artel__hlo_reduce(h, "minimum", (double)type.dim[2],
                                               artel__grid_only(h, among, column, (double)type.dim[2]), 1u << 2);
    artel__hlo_value here = artel__hlo_compare(h, "EQ", column, artel__grid_by_line(h, first, column));
    artel__hlo_value number = artel__grid_sum(h, artel__grid_only(h, here, x, 0), 2);
    return artel__grid_only(h, artel__hlo_compare(h, "LT", number, artel__hlo_number(h, 0, number)),
                            artel__hlo_number(h, -1, number), 1);
}

/* A grid of 0 and 1 that brings lines into the order of their values, equals as they come. */
static artel__hlo_value order_of(artel__hlo *h, artel__hlo_value value, const char *how)
{
    const artel__hlo_type type = *artel__hlo_type_of(h, value);
    artel__hlo_value square = artel__grid_zeros(h, type.dim[0], type.dim[1], type.dim[1]);
    artel__hlo_value own = artel__grid_by_line(h, value, square), other = artel__grid_by_column(h, value, square);
    artel__hlo_value equal =
        artel__hlo_binary(h, "and", artel__hlo_compare(h, "EQ", other, own), artel__grid_place(h, square, "GT"));
    artel__hlo_value before = artel__hlo_binary(h, "or", artel__hlo_compare(h, how, other, own), equal);
    artel__hlo_value place = artel__grid_sum(h, artel__hlo_convert(h, before, ARTEL_DTYPE_INT32), 2);
    artel__hlo_value at = artel__grid_index(h, square, 1);
    return artel__hlo_convert(h, artel__hlo_compare(h, "EQ", at, artel__grid_by_column(h, place, at)),
                              ARTEL_DTYPE_FLOAT64);
}

static artel__hlo_value ordered_list(artel__hlo *h, artel__hlo_value order, artel__hlo_value list)
{
    return artel__grid_sum(h, artel__grid_multiply(h, order, artel__grid_by_column(h, list, order)), 2);
}

/* -- rotations -- */

/* A list by pair of lines: the smaller rotations that make [a b; b d] diagonal, where one is due. */
typedef struct rotation {
    artel__hlo_value c, s, due;
} rotation;

/* Due where b is more than the negligible part of the product of the roots of a and d. */
static rotation rotation_of(artel__hlo *h, artel__hlo_value a, artel__hlo_value b, artel__hlo_value d,
                            double negligible)
{
    artel__hlo_value one = artel__hlo_number(h, 1, a), zero = artel__hlo_number(h, 0, a);
    artel__hlo_value size = artel__grid_multiply(h, artel__hlo_unary(h, "sqrt", artel__hlo_unary(h, "abs", a)),
                                                 artel__hlo_unary(h, "sqrt", artel__hlo_unary(h, "abs", d)));
    artel__hlo_value least = artel__grid_multiply(h, size, artel__hlo_number(h, negligible, size));
    artel__hlo_value due = artel__hlo_binary(h, "and", artel__hlo_compare(h, "NE", b, zero),
                                             artel__hlo_compare(h, "GT", artel__hlo_unary(h, "abs", b), least));
    b = artel__hlo_select(h, due, b, one);
    artel__hlo_value zeta = artel__hlo_binary(h, "divide", artel__grid_subtract(h, d, a), artel__grid_add(h, b, b));
    artel__hlo_value root = artel__hlo_unary(h, "sqrt", artel__grid_add(h, one, artel__grid_multiply(h, zeta, zeta)));
    artel__hlo_value sign = artel__grid_only(h, artel__hlo_compare(h, "GE", zeta, zero), one, -1);
    artel__hlo_value t =
        artel__hlo_binary(h, "divide", sign, artel__grid_add(h, artel__hlo_unary(h, "abs", zeta), root));
    root = artel__hlo_unary(h, "sqrt", artel__grid_add(h, one, artel__grid_multiply(h, t, t)));
    artel__hlo_value c = artel__hlo_binary(h, "divide", one, root);
    return (rotation){.c = artel__hlo_select(h, due, c, one),
                      .s = artel__grid_only(h, due, artel__grid_multiply(h, c, t), 0),
                      .due = due};
}

/* The two halves of the lines (axis 1) or columns. */
static void halves(artel__hlo *h, artel__hlo_value x, int axis, artel__hlo_value half[2])
{
    int64_t count = artel__hlo_type_of(h, x)->dim[axis];
    half[0] = artel__hlo_slice_axis(h, x, axis, 0, count / 2);
    half[1] = artel__hlo_slice_axis(h, x, axis, count / 2, count);
}

/* Line i with line i of the other half. */
static artel__hlo_value rotated(artel__hlo *h, artel__hlo_value x, int axis, const rotation *r)
{
    artel__hlo_value half[2], turned[2];
    halves(h, x, axis, half);
    artel__hlo_value c = axis == 1 ? artel__grid_by_line(h, r->c, half[0]) : artel__grid_by_column(h, r->c, half[0]);
    artel__hlo_value s = axis == 1 ? artel__grid_by_line(h, r->s, half[0]) : artel__grid_by_column(h, r->s, half[0]);
    turned[0] = artel__grid_subtract(h, artel__grid_multiply(h, c, half[0]), artel__grid_multiply(h, s, half[1]));
    turned[1] = artel__grid_add(h, artel__grid_multiply(h, s, half[0]), artel__grid_multiply(h, c, half[1]));
    return artel__hlo_concatenate(h, turned, 2, axis);
}

/* All but the first move on by one place: along the first half, and back along the second. */
static artel__hlo_value moved_on(artel__hlo *h, artel__hlo_value x, int axis)
{
    int64_t count = artel__hlo_type_of(h, x)->dim[axis], half = count / 2;
    if (half < 2) return x;
    artel__hlo_value part[] = {
        artel__hlo_slice_axis(h, x, axis, 0, 1), artel__hlo_slice_axis(h, x, axis, half, half + 1),
        artel__hlo_slice_axis(h, x, axis, 1, half - 1), artel__hlo_slice_axis(h, x, axis, half + 1, count),
        artel__hlo_slice_axis(h, x, axis, half - 1, half)};
    if (half > 2) return artel__hlo_concatenate(h, part, 5, axis);
    part[2] = part[3], part[3] = part[4];
    return artel__hlo_concatenate(h, part, 4, axis);
}

/* Whether a rotation was due in any matrix, or in an earlier turn. */
static artel__hlo_value any_of(artel__hlo *h, artel__hlo_value due, artel__hlo_value earlier)
{
    artel__hlo_value any = artel__hlo_reduce(h, "or", 0, due, 3);
    return artel__hlo_binary(h, "maximum", earlier, artel__hlo_convert(h, any, ARTEL_DTYPE_INT32));
}

/* One turn of a sweep: `value` and what goes along with it, both become their next ones. */
typedef artel__hlo_value turn_fn(const given *g, artel__hlo_value value[2], artel__hlo_value earlier);

/* Sweeps until nothing is left to be rotated, over an even number of lines. */
static void sweep(const given *g, turn_fn *turn, int64_t lines, artel__hlo_value value[2])
{
    artel__hlo *h = g->h;
    artel__hlo_value none = scalar(h, 0), init[] = {value[0], value[1], scalar(h, 1)}, next[3];
    artel__hlo_loop all, one;
    artel__hlo_loop_begin(h, scalar(h, MOST_SWEEPS), init, 3, &all);
    artel__hlo_value turns = artel__grid_multiply(h, all.carried[2], scalar(h, (double)(lines - 1)));
    artel__hlo_loop_begin(h, turns, (const artel__hlo_value[]){all.carried[0], all.carried[1], none}, 3, &one);
    next[0] = one.carried[0], next[1] = one.carried[1];
    next[2] = turn(g, next, one.carried[2]);
    artel__hlo_loop_end(h, &one, next);
    artel__hlo_loop_end(h, &all, one.carried);
    value[0] = all.carried[0], value[1] = all.carried[1];
}

/* -- eigenvalues -- */

/* value: the matrix, its vectors as lines */
static artel__hlo_value turn_symmetric(const given *g, artel__hlo_value value[2], artel__hlo_value earlier)
{
    artel__hlo *h = g->h;
    artel__hlo_value t = value[0], lines[2], corner[2], diagonal = artel__grid_diagonal(h, t), end[2], part[2];
    int64_t count = artel__hlo_type_of(h, t)->dim[1];
    halves(h, t, 1, lines);
    halves(h, lines[0], 2, corner);
    end[0] = artel__hlo_slice_axis(h, diagonal, 1, 0, count / 2);
    end[1] = artel__hlo_slice_axis(h, diagonal, 1, count / 2, count);
    rotation r = rotation_of(h, end[0], artel__grid_diagonal(h, corner[1]), end[1], NEGLIGIBLE * NEGLIGIBLE);
    t = rotated(h, rotated(h, t, 1, &r), 2, &r);
    artel__hlo_value half = scalar(h, (double)(count / 2)), line = artel__grid_index(h, t, 1),
                     column = artel__grid_index(h, t, 2);
    artel__hlo_type index = *artel__hlo_type_of(h, line);
    half = artel__hlo_broadcast(h, half, &index, NULL);
    artel__hlo_value pair =
        artel__hlo_compare(h, "EQ", artel__hlo_unary(h, "abs", artel__grid_subtract(h, line, column)), half);
    part[0] = part[1] = r.due;
    artel__hlo_value due = artel__hlo_concatenate(h, part, 2, 1);
    pair = artel__hlo_binary(h, "and", pair, artel__grid_by_line(h, due, pair));
    t = artel__hlo_select(h, pair, artel__hlo_number(h, 0, t), t);
    value[0] = moved_on(h, moved_on(h, t, 1), 2);
    value[1] = moved_on(h, rotated(h, value[1], 1, &r), 1);
    return any_of(h, r.due, earlier);
}

/* With zeros behind the last line and column where their number is odd. */
static artel__hlo_value even(artel__hlo *h, artel__hlo_value x, bool columns)
{
    const artel__hlo_type type = *artel__hlo_type_of(h, x);
    artel__hlo_type one = {.dtype = ARTEL_DTYPE_FLOAT64};
    const int64_t none[3] = {0}, high[] = {0, type.dim[1] % 2, columns ? type.dim[2] % 2 : 0};
    return high[1] || high[2] ? artel__hlo_pad(h, x, artel__hlo_splat(h, 0, &one), none, high, none) : x;
}

static void symmetric(const given *g)
{
    artel__hlo *h = g->h;
    int64_t n = g->n, lines = n + n % 2;
    artel__hlo_value t = artel__hlo_select(h, artel__grid_place(h, g->a, "GE"), g->a, artel__grid_turned(h, g->a));
    artel__hlo_value value[] = {even(h, t, true), artel__grid_identity(h, g->outer, lines)};
    sweep(g, turn_symmetric, lines, value);
    artel__hlo_value found = artel__hlo_slice_axis(h, artel__grid_diagonal(h, value[0]), 1, 0, n);
    artel__hlo_value v = artel__hlo_slice_axis(h, artel__hlo_slice_axis(h, value[1], 1, 0, n), 2, 0, n);
    artel__hlo_value order = order_of(h, found, "LT");
    v = artel__grid_multiply(h, v, artel__grid_by_line(h, sign_of(h, v), v));
    give(g, 0, ordered_list(h, order, found));
    give(g, 1, artel__grid_product(h, v, true, order, true));
}

/* -- singular values -- */

/* value: the columns of the matrix, m >= n of it, as lines; what was done to them */
static artel__hlo_value turn_singular(const given *g, artel__hlo_value value[2], artel__hlo_value earlier)
{
    artel__hlo *h = g->h;
    artel__hlo_value half[2];
    halves(h, value[0], 1, half);
    artel__hlo_value a = artel__grid_sum(h, artel__grid_multiply(h, half[0], half[0]), 2),
                     b = artel__grid_sum(h, artel__grid_multiply(h, half[0], half[1]), 2),
                     d = artel__grid_sum(h, artel__grid_multiply(h, half[1], half[1]), 2);
    rotation r = rotation_of(h, a, b, d, NEGLIGIBLE);
    for (int i = 0; i < 2; i++) value[i] = moved_on(h, rotated(h, value[i], 1, &r), 1);
    return any_of(h, r.due, earlier);
}

/* A list orthogonal to the lines before `turn`, of length 1: the best of what is left of the axes. */
static artel__hlo_value complete(artel__hlo *h, artel__hlo_value t, artel__hlo_value turn)
{
    const artel__hlo_type type = *artel__hlo_type_of(h, t);
    artel__hlo_type alone = artel__grid_type(type.dim[0], 1, type.dim[2]);
    t = artel__grid_only(h, artel__grid_where(h, t, 1, "LT", turn), t, 0);
    artel__hlo_value taken = artel__grid_sum(h, artel__grid_multiply(h, t, t), 1);
    artel__hlo_value left = artel__grid_subtract(h, artel__hlo_number(h, 1 + EQUAL, taken), taken);
    artel__hlo_value most = artel__hlo_reduce(h, "maximum", -1, left, 2), place = artel__grid_index(h, left, 1);
    most = artel__grid_subtract(h, most, artel__hlo_number(h, EQUAL, most));
    artel__hlo_value among = artel__hlo_compare(h, "GE", left, artel__grid_spread(h, most, left));
    artel__hlo_value best =
        artel__hlo_reduce(h, "minimum", (double)type.dim[2], artel__grid_only(h, among, place, (double)type.dim[2]), 2);
    artel__hlo_value x = artel__hlo_convert(h, artel__hlo_compare(h, "EQ", place, artel__grid_spread(h, best, place)),
                                            ARTEL_DTYPE_FLOAT64);
    for (int turns = 0; turns < 2; turns++) { /* twice is enough (Parlett, The Symmetric Eigenvalue Problem, 6.9) */
        artel__hlo_value share = artel__grid_sum(h, artel__grid_multiply(h, t, artel__grid_by_column(h, x, t)), 2);
        share = artel__grid_multiply(h, t, artel__grid_by_line(h, share, t));
        x = artel__grid_subtract(h, x, artel__grid_sum(h, share, 1));
    }
    artel__hlo_value line = artel__hlo_reshape(h, x, &alone), sign = sign_of(h, line);
    artel__hlo_value size = artel__hlo_unary(h, "sqrt", artel__grid_sum(h, artel__grid_multiply(h, line, line), 2));
    line = artel__hlo_binary(h, "divide", line, artel__grid_by_line(h, size, line));
    line = artel__grid_multiply(h, line, artel__grid_by_line(h, sign, line));
    artel__hlo_type list = artel__list_type(type.dim[0], type.dim[2]);
    return artel__hlo_reshape(h, line, &list);
}

/* Lines of t beyond those with a singular value that is more than rounding. */
static artel__hlo_value completed(const given *g, artel__hlo_value t, artel__hlo_value value)
{
    artel__hlo *h = g->h;
    const artel__hlo_type type = *artel__hlo_type_of(h, t);
    artel__hlo_type list = artel__list_type(g->outer, type.dim[1]), one = {.dtype = ARTEL_DTYPE_FLOAT64};
    int64_t more[] = {0, type.dim[1] - g->k}, none[] = {0, 0};
    artel__hlo_value all = more[1] ? artel__hlo_pad(h, value, artel__hlo_splat(h, 0, &one), none, more, none) : value;
    artel__hlo_value least = artel__hlo_reduce(h, "maximum", 0, value, 2);
    least = artel__grid_multiply(h, least, artel__hlo_number(h, NOTHING, least));
    artel__hlo_value has = artel__hlo_compare(h, "GT", all, artel__hlo_broadcast(h, least, &list, (const int[]){0}));
    artel__hlo_loop loop;
    artel__hlo_loop_begin(h, scalar(h, (double)type.dim[1]), &t, 1, &loop);
    artel__hlo_value now = loop.carried[0];
    artel__hlo_value mark = artel__hlo_binary(h, "and", artel__grid_where(h, now, 1, "EQ", loop.turn),
                                              artel__grid_by_line(h, artel__hlo_unary(h, "not", has), now));
    artel__hlo_value next = artel__hlo_select(h, mark, artel__grid_by_column(h, complete(h, now, loop.turn), now), now);
    artel__hlo_loop_end(h, &loop, &next);
    return loop.carried[0];
}

static void singular(const given *g)
{
    artel__hlo *h = g->h;
    bool wide = g->m < g->n;
    int64_t m = wide ? g->n : g->m, n = g->k, lines = n + n % 2;
    artel__hlo_value w = wide ? g->a : artel__grid_turned(h, g->a);
    artel__hlo_value value[] = {even(h, w, false), artel__grid_identity(h, g->outer, lines)};
    sweep(g, turn_singular, lines, value);
    w = artel__hlo_slice_axis(h, value[0], 1, 0, n);
    artel__hlo_value v = artel__hlo_slice_axis(h, artel__hlo_slice_axis(h, value[1], 1, 0, n), 2, 0, n);
    artel__hlo_value size = artel__hlo_unary(h, "sqrt", artel__grid_sum(h, artel__grid_multiply(h, w, w), 2));
    artel__hlo_value has = artel__hlo_compare(h, "GT", size, artel__hlo_number(h, 0, size)), sign = sign_of(h, v);
    if (m == n) sign = artel__hlo_select(h, has, sign_of(h, w), sign);
    w = artel__hlo_binary(h, "divide", w, artel__grid_by_line(h, artel__grid_only(h, has, size, 1), w));
    artel__hlo_value order = order_of(h, size, "GT"), found = ordered_list(h, order, size);
    artel__hlo_value t =
        artel__grid_product(h, order, false, artel__grid_multiply(h, w, artel__grid_by_line(h, sign, w)), false);
    v = artel__grid_product(h, order, false, artel__grid_multiply(h, v, artel__grid_by_line(h, sign, v)), false);
    if (g->whole && m > n) {
        artel__hlo_value both[] = {t, artel__grid_zeros(h, g->outer, m - n, m)};
        t = artel__hlo_concatenate(h, both, 2, 1);
    }
    t = completed(g, t, found);
    give(g, 0, artel__grid_turned(h, wide ? v : t));
    give(g, 1, found);
    give(g, 2, wide ? t : v);
}

void artel__lower_decompose(artel__lower *lower, artel__decomposition function, bool whole)
{
    artel__hlo *h = lower->hlo;
    const artel_shape *shape = &lower->graph->value[lower->node->input[0]].shape;
    given g = {.lower = lower, .h = h, .whole = whole};
    g.m = shape->dim[shape->rank - 2];
    g.n = shape->dim[shape->rank - 1];
    g.k = g.m < g.n ? g.m : g.n;
    g.outer = artel__hlo_count(artel__hlo_type_of(h, lower->in[0])) / (g.m * g.n);
    artel__hlo_value a = artel__grid_input(lower, 0, g.outer, g.m, g.n);
    g.finite = artel__hlo_reduce(h, "and", 1, artel__hlo_is_finite(h, a), 6);
    g.a = artel__grid_only(h, artel__grid_spread(h, g.finite, a), a, 0);
    switch (function) {
    case ARTEL__DECOMPOSITION_QR: factors(&g); break;
    case ARTEL__DECOMPOSITION_SYMMETRIC: symmetric(&g); break;
    case ARTEL__DECOMPOSITION_SINGULAR: singular(&g); break;
    }
}
