/* SPDX-License-Identifier: Apache-2.0 */
/* Order, elements by index, integers as programs of devices. Picks are rows of a table of all elements; their gradients
 * a product with a table of ones at the places taken. */
#include "op/lower_gather.h"

#include <math.h>

#include "op/lower_elementwise.h"

void artel__lower_order(artel__lower *lower)
{
    artel__hlo *h = lower->hlo;
    artel__hlo_value x = lower->in[0], sorted[2];
    artel__hlo_type places = artel__lower_out_type(lower, 0), type = *artel__hlo_type_of(h, x);
    x = artel__hlo_select(h, artel__hlo_compare(h, "EQ", x, x), x, artel__hlo_splat(h, INFINITY, &type));
    artel__hlo_value in[] = {x, artel__hlo_iota(h, &places, places.rank - 1)};
    artel__hlo_sort(h, "LT", in, 2, places.rank - 1, sorted);
    lower->out[0] = sorted[1];
}

/* The indices [outer][picks]. */
static artel__hlo_value index_of(artel__lower *lower, const artel__lower_picks *p)
{
    artel__hlo *h = lower->hlo;
    artel__hlo_type all = {.dtype = ARTEL_DTYPE_INT32, .rank = 2, .dim = {p->outer, p->picks}};
    artel__hlo_type own = p->shared ? (artel__hlo_type){.dtype = ARTEL_DTYPE_INT32, .rank = 1, .dim = {p->picks}} : all;
    artel__hlo_value index = artel__hlo_reshape(h, lower->in[1], &own);
    return p->shared ? artel__hlo_broadcast(h, index, &all, (const int[]){1}) : index;
}

static void tell_faults(artel__lower *lower, artel__hlo_value index, artel__hlo_value good)
{
    artel__hlo *h = lower->hlo;
    int64_t count = artel__hlo_count(artel__hlo_type_of(h, index));
    if (lower->graph->value[lower->node->output[0]].domain != ARTEL__DOMAIN_ROW || count % lower->rows) return;
    artel__hlo_type flag = {.dtype = ARTEL_DTYPE_BOOL, .rank = 2, .dim = {lower->rows, count / lower->rows}},
                    value = flag;
    value.dtype = ARTEL_DTYPE_INT64;
    artel__hlo_value bad = artel__hlo_reshape(h, artel__hlo_unary(h, "not", good), &flag);
    artel__lower_fault_in(lower, bad, artel__hlo_reshape(h, artel__hlo_convert(h, index, ARTEL_DTYPE_INT64), &value));
}

static artel__hlo_value is_inside(artel__hlo *h, artel__hlo_value index, int64_t extent)
{
    artel__hlo_value low = artel__hlo_compare(h, "GE", index, artel__hlo_number(h, 0, index));
    return artel__hlo_binary(h, "and", low,
                             artel__hlo_compare(h, "LT", index, artel__hlo_number(h, (double)extent, index)));
}

void artel__lower_take(artel__lower *lower, const artel__lower_picks *p)
{
    artel__hlo *h = lower->hlo;
    artel__hlo_type to = artel__lower_out_type(lower, 0),
                    table = {.dtype = to.dtype, .rank = 2, .dim = {p->outer * p->extent, p->inner}};
    artel__hlo_value index = index_of(lower, p), good = is_inside(h, index, p->extent);
    artel__hlo_type all = *artel__hlo_type_of(h, index),
                    flat = {.dtype = ARTEL_DTYPE_INT32, .rank = 1, .dim = {p->outer * p->picks}};
    artel__hlo_value first = artel__hlo_iota(h, &all, 0);
    first = artel__hlo_binary(h, "multiply", first, artel__hlo_number(h, (double)p->extent, first));
    artel__hlo_value place = artel__hlo_reshape(h, artel__hlo_binary(h, "add", first, index), &flat);
    artel__hlo_value y = artel__hlo_gather_rows(h, artel__hlo_reshape(h, lower->in[0], &table), place);
    artel__hlo_type rows = *artel__hlo_type_of(h, y);
    flat.dtype = ARTEL_DTYPE_BOOL;
    artel__hlo_value taken = artel__hlo_broadcast(h, artel__hlo_reshape(h, good, &flat), &rows, (const int[]){0});
    tell_faults(lower, index, good);
    lower->out[0] = artel__hlo_reshape(h, artel__hlo_select(h, taken, y, artel__hlo_number(h, 0, y)), &to);
}

void artel__lower_take_gradient(artel__lower *lower, const artel__lower_picks *p)
{
    artel__hlo *h = lower->hlo;
    artel__hlo_type to = artel__lower_out_type(lower, 0),
                    dy = {.dtype = to.dtype, .rank = 3, .dim = {p->outer, p->picks, p->inner}};
    artel__hlo_type table = {.dtype = ARTEL_DTYPE_INT32, .rank = 3, .dim = {p->outer, p->picks, p->extent}};
    artel__hlo_value index = artel__hlo_broadcast(h, index_of(lower, p), &table, (const int[]){0, 1});
    artel__hlo_value here = artel__hlo_compare(h, "EQ", index, artel__hlo_iota(h, &table, 2));
    artel__hlo_dims dims = {.batch = 1, .contracted = 1, .contracted_a = {1}, .contracted_b = {1}};
    artel__hlo_value dx = artel__hlo_dot_general(h, artel__hlo_convert(h, here, to.dtype),
                                                 artel__hlo_reshape(h, lower->in[0], &dy), &dims);
    lower->out[0] = artel__hlo_reshape(h, dx, &to);
}

/* -- integers -- */

static artel__hlo_value zero_like(artel__hlo *h, artel__hlo_value a)
{
    return artel__hlo_number(h, 0, a);
}

/* a's remainder with the sign of b; 0 where b is 0. */
static artel__hlo_value floor_mod(artel__hlo *h, artel__hlo_value a, artel__hlo_value b)
{
    artel__hlo_value zero = zero_like(h, a), none = artel__hlo_compare(h, "EQ", b, zero);
    artel__hlo_value by = artel__hlo_select(h, none, artel__hlo_number(h, 1, a), b),
                     rest = artel__hlo_binary(h, "remainder", a, by);
    artel__hlo_value other =
        artel__hlo_binary(h, "xor", artel__hlo_compare(h, "LT", rest, zero), artel__hlo_compare(h, "LT", by, zero));
    other = artel__hlo_binary(h, "and", other, artel__hlo_compare(h, "NE", rest, zero));
    return artel__hlo_select(h, none, zero, artel__hlo_select(h, other, artel__hlo_binary(h, "add", rest, by), rest));
}

static artel__hlo_value quotient(artel__hlo *h, artel__hlo_value a, artel__hlo_value b)
{
    artel__hlo_value zero = zero_like(h, a), none = artel__hlo_compare(h, "EQ", b, zero);
    artel__hlo_value by = artel__hlo_select(h, none, artel__hlo_number(h, 1, a), b);
    artel__hlo_value whole =
        artel__hlo_binary(h, "divide", artel__hlo_binary(h, "subtract", a, floor_mod(h, a, by)), by);
    return artel__hlo_select(h, none, zero, whole);
}

/* Euclid's algorithm; 46 steps are enough for 32 bits, 92 for 64. */
static artel__hlo_value divisor(artel__hlo *h, artel__hlo_value a, artel__hlo_value b)
{
    artel__hlo_type scalar = {.dtype = ARTEL_DTYPE_INT32};
    artel__hlo_loop loop;
    artel__hlo_value init[] = {artel__hlo_unary(h, "abs", a), artel__hlo_unary(h, "abs", b)};
    artel__hlo_loop_begin(h,
                          artel__hlo_splat(h, artel__hlo_type_of(h, a)->dtype == ARTEL_DTYPE_INT64 ? 92 : 46, &scalar),
                          init, 2, &loop);
    artel__hlo_value x = loop.carried[0], y = loop.carried[1], done = artel__hlo_compare(h, "EQ", y, zero_like(h, y));
    artel__hlo_value next[] = {artel__hlo_select(h, done, x, y), floor_mod(h, x, y)};
    artel__hlo_loop_end(h, &loop, next);
    return loop.carried[0];
}

static artel__hlo_value shift(artel__hlo *h, const char *op, artel__hlo_value a, artel__hlo_value by)
{
    double most = artel__hlo_type_of(h, a)->dtype == ARTEL_DTYPE_INT64 ? 63 : 31;
    by = artel__hlo_binary(h, "maximum", by, zero_like(h, by));
    return artel__hlo_binary(h, op, a, artel__hlo_binary(h, "minimum", by, artel__hlo_number(h, most, by)));
}

void artel__lower_integer(artel__lower *lower, artel__integer_op function)
{
    artel__hlo *h = lower->hlo;
    artel__hlo_type to = artel__lower_out_type(lower, 0);
    artel__hlo_value a = artel__lower_spread(lower, 0, &to), b = artel__lower_spread(lower, 1, &to), y = -1;
    switch (function) {
    case ARTEL__INTEGER_AND: y = artel__hlo_binary(h, "and", a, b); break;
    case ARTEL__INTEGER_OR: y = artel__hlo_binary(h, "or", a, b); break;
    case ARTEL__INTEGER_XOR: y = artel__hlo_binary(h, "xor", a, b); break;
    case ARTEL__INTEGER_SHIFT_LEFT: y = shift(h, "shift_left", a, b); break;
    case ARTEL__INTEGER_SHIFT_RIGHT: y = shift(h, "shift_right_arithmetic", a, b); break;
    case ARTEL__INTEGER_DIV: y = quotient(h, a, b); break;
    case ARTEL__INTEGER_MOD: y = floor_mod(h, a, b); break;
    case ARTEL__INTEGER_GCD: y = divisor(h, a, b); break;
    case ARTEL__INTEGER_LCM:
        y = artel__hlo_binary(h, "multiply", quotient(h, artel__hlo_unary(h, "abs", a), divisor(h, a, b)),
                              artel__hlo_unary(h, "abs", b));
        break;
    case ARTEL__INTEGER_ADD: y = artel__hlo_binary(h, "add", a, b); break;
    case ARTEL__INTEGER_SUBTRACT: y = artel__hlo_binary(h, "subtract", a, b); break;
    case ARTEL__INTEGER_MULTIPLY: y = artel__hlo_binary(h, "multiply", a, b); break;
    case ARTEL__INTEGER_COUNT: break;
    }
    lower->out[0] = y;
}
