/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a whole batch in programs of devices: in the order of keys, each beside every other.
 *
 * The order is a stable sort, and the other way about a sort of the order itself: nothing is scattered. Of a loss of
 * pairs a table [rows][batch] is made, in float64 as kernel/pairs.h says; masks are selections, for an exponent of what
 * does not count may overflow. Which of the rows are a shard's own is a scalar that comes with each launch.
 */
#include "op/lower_batch.h"

#include <math.h>

#include "kernel/batch.h"
#include "kernel/pairs.h"
#include "op/lower_formula.h"

/* The own ones of a vector over the batch. */
static artel__hlo_value own_part(artel__lower *lower, size_t offset, artel__hlo_value vector)
{
    artel__hlo_value first = artel__lower_scalar_of(lower, offset, ARTEL_DTYPE_INT64);
    return artel__hlo_dynamic_slice(lower->hlo, vector, &first, &lower->rows);
}

static artel__hlo_type vector_over(artel_dtype dtype, int64_t batch)
{
    return (artel__hlo_type){.dtype = dtype, .rank = 1, .dim = {batch}};
}

void artel__lower_shuffle(artel__lower *lower, bool back)
{
    artel__hlo *h = lower->hlo;
    artel__hlo_type x = *artel__hlo_type_of(h, lower->in[0]), to = artel__lower_out_type(lower, 0);
    int64_t batch = x.dim[0];
    artel__hlo_type keys = vector_over(ARTEL_DTYPE_FLOAT32, batch), places = vector_over(ARTEL_DTYPE_INT32, batch),
                    table = {.dtype = x.dtype, .rank = 2, .dim = {batch, artel__hlo_count(&x) / batch}};
    artel__hlo_value in[] = {artel__hlo_reshape(h, lower->in[1], &keys), artel__hlo_iota(h, &places, 0)}, sorted[2];
    artel__hlo_sort(h, "LT", in, 2, 0, sorted);
    artel__hlo_value turned[] = {sorted[1], in[1]}, order = sorted[1];
    if (back) artel__hlo_sort(h, "LT", turned, 2, 0, sorted);
    if (back) order = sorted[1];
    artel__hlo_value rows = artel__hlo_gather_rows(h, artel__hlo_reshape(h, lower->in[0], &table),
                                                   own_part(lower, offsetof(artel__shuffle, first), order));
    lower->out[0] = artel__hlo_reshape(h, rows, &to);
}

/* -- pairs -- */

/* Tables [rows][batch] of float64 and BOOL. */
typedef struct pairs {
    artel__hlo *h;
    artel__hlo_type all; /* of such a table, float64 */
    artel__hlo_value x;  /* [batch][width], float64 */
    artel__hlo_value positive, counts;
    artel__hlo_value exponent, slope; /* of each pair, as in kernel/pairs.h */
} pairs;

static artel__hlo_value by_row(const pairs *p, artel__hlo_value vector)
{
    artel__hlo_type to = p->all;
    to.dtype = artel__hlo_type_of(p->h, vector)->dtype;
    return artel__hlo_broadcast(p->h, vector, &to, (const int[]){0});
}

static artel__hlo_value by_column(const pairs *p, artel__hlo_value vector)
{
    artel__hlo_type to = p->all;
    to.dtype = artel__hlo_type_of(p->h, vector)->dtype;
    return artel__hlo_broadcast(p->h, vector, &to, (const int[]){1});
}

/* Weights and gaps are named w and g, weights that are above 0 k; m margin, c gamma, t what the distance does. */
static void find_exponents(pairs *p, const artel__pairs_settings *settings, artel__hlo_value similarity)
{
    artel__formula f;
    artel__formula_init(&f, p->h, similarity);
    artel__formula_set(&f, 's', similarity);
    artel__formula_number(&f, 'm', settings->margin);
    artel__formula_number(&f, 'c', settings->gamma);
    artel__formula_write(&f, "1 s - =a a 0 > a 0 ? =d a 0 >= -1 0 ? =t");
    artel__formula_write(&f, "m d + =w m d - =g w 0 > w 0 ? =k w 0 >= g 0 ? =h");
    artel__hlo_value near = artel__formula_write(&f, "c neg k * g *"),
                     near_slope = artel__formula_write(&f, "t c * k h - *");
    artel__formula_write(&f, "1 m + d - =w 1 m - d - =g w 0 > w 0 ? =k w 0 >= g 0 ? =h");
    artel__hlo_value far = artel__formula_write(&f, "c k * g *"),
                     far_slope = artel__formula_write(&f, "t neg c * h k + *");
    p->exponent = artel__hlo_select(p->h, p->positive, near, far);
    p->slope = artel__hlo_select(p->h, p->positive, near_slope, far_slope);
}

static pairs begin_pairs(artel__lower *lower, const artel__pairs_settings *settings)
{
    artel__hlo *h = lower->hlo;
    artel__hlo_type x = *artel__hlo_type_of(h, lower->in[0]);
    int64_t batch = x.dim[0];
    pairs p = {.h = h, .all = {.dtype = ARTEL_DTYPE_FLOAT64, .rank = 2, .dim = {lower->rows, batch}}};
    artel__hlo_type labels = vector_over(ARTEL_DTYPE_INT32, batch);
    artel__hlo_value label = artel__hlo_reshape(h, lower->in[1], &labels), place = artel__hlo_iota(h, &labels, 0);
    artel__hlo_value mine = own_part(lower, offsetof(artel__pairs, first), place);
    p.x = artel__hlo_convert(h, lower->in[0], ARTEL_DTYPE_FLOAT64);
    p.positive = artel__hlo_compare(h, "EQ", by_row(&p, own_part(lower, offsetof(artel__pairs, first), label)),
                                    by_column(&p, label));
    p.counts = artel__hlo_compare(h, "NE", by_row(&p, mine), by_column(&p, place));
    artel__hlo_value other = artel__hlo_unary(h, "not", p.positive);
    p.counts =
        settings->others ? artel__hlo_binary(h, "or", p.counts, other) : artel__hlo_binary(h, "or", p.positive, other);
    find_exponents(&p, settings, artel__hlo_dot(h, artel__hlo_gather_rows(h, p.x, mine), p.x, 1, 1));
    return p;
}

/* The logarithm of the sum over those of a row that count: [rows]. */
static artel__hlo_value log_sum(const pairs *p, artel__hlo_value counts)
{
    artel__hlo *h = p->h;
    artel__hlo_value none = artel__hlo_splat(h, -INFINITY, &p->all);
    artel__hlo_value most =
        artel__hlo_reduce(h, "maximum", -INFINITY, artel__hlo_select(h, counts, p->exponent, none), 2);
    artel__hlo_value part =
        artel__hlo_unary(h, "exponential", artel__hlo_binary(h, "subtract", p->exponent, by_row(p, most)));
    artel__hlo_value sum =
        artel__hlo_reduce(h, "add", 0, artel__hlo_select(h, counts, part, artel__hlo_splat(h, 0, &p->all)), 2);
    artel__formula f;
    artel__formula_init(&f, h, sum);
    artel__formula_set(&f, 's', sum);
    artel__formula_set(&f, 'm', most);
    return artel__formula_write(&f, "s 0 > m s log + 0 inf - ?");
}

void artel__lower_pairs(artel__lower *lower, const artel__pairs_settings *settings)
{
    artel__hlo *h = lower->hlo;
    artel__hlo_type to = artel__lower_out_type(lower, 0), two = artel__lower_out_type(lower, 1),
                    one = {.dtype = ARTEL_DTYPE_FLOAT64, .rank = 2, .dim = {lower->rows, 1}};
    pairs p = begin_pairs(lower, settings);
    artel__hlo_value of[] = {
        log_sum(&p, artel__hlo_binary(h, "and", p.positive, p.counts)),
        log_sum(&p, artel__hlo_unary(h, "not", p.positive)),
    };
    artel__formula f;
    artel__formula_init(&f, h, of[0]);
    artel__formula_set(&f, 'p', of[0]);
    artel__formula_set(&f, 'n', of[1]);
    artel__hlo_value loss = artel__formula_write(
        &f, "p n + =b p 0 inf - == n 0 inf - == or 0 b 0 > b 1 b neg exp + log + 1 b exp + log ? ?");
    for (int i = 0; i < 2; i++) of[i] = artel__hlo_reshape(h, of[i], &one);
    lower->out[0] = artel__hlo_reshape(h, artel__hlo_convert(h, loss, to.dtype), &to);
    lower->out[1] = artel__hlo_reshape(h, artel__hlo_convert(h, artel__hlo_concatenate(h, of, 2, 1), two.dtype), &two);
}

/* -- and back -- */

/* d loss / d similarity of one side: P, N and upstream are of that side's rows, spread over the table. */
static artel__hlo_value share(const pairs *p, const artel__hlo_value side[3])
{
    artel__formula f;
    artel__formula_init(&f, p->h, p->exponent);
    artel__formula_set(&f, 'p', side[0]);
    artel__formula_set(&f, 'n', side[1]);
    artel__formula_set(&f, 'u', side[2]);
    artel__formula_set(&f, 'e', p->exponent);
    artel__formula_set(&f, 's', p->slope);
    artel__formula_set(&f, 'q', artel__hlo_select(p->h, p->positive, side[0], side[1]));
    artel__formula_set(&f, 'c', p->counts);
    return artel__formula_write(&f,
                                "p 0 inf - == n 0 inf - == or u 0 == or 0 c u p n + logistic * e q - exp * s * 0 ? ?");
}

void artel__lower_pairs_gradient(artel__lower *lower, const artel__pairs_settings *settings)
{
    artel__hlo *h = lower->hlo;
    artel__hlo_type to = artel__lower_out_type(lower, 0);
    pairs p = begin_pairs(lower, settings);
    int64_t batch = p.all.dim[1];
    artel__hlo_type flat = vector_over(ARTEL_DTYPE_FLOAT64, batch),
                    two = {.dtype = ARTEL_DTYPE_FLOAT64, .rank = 2, .dim = {batch, 2}};
    artel__hlo_value sums = artel__hlo_reshape(h, artel__hlo_convert(h, lower->in[2], ARTEL_DTYPE_FLOAT64), &two);
    artel__hlo_value of[] = {artel__hlo_slice_axis(h, sums, 1, 0, 1), artel__hlo_slice_axis(h, sums, 1, 1, 2),
                             artel__hlo_convert(h, lower->in[3], ARTEL_DTYPE_FLOAT64)};
    artel__hlo_value mine[3], others[3];
    for (int i = 0; i < 3; i++) {
        artel__hlo_value vector = artel__hlo_reshape(h, of[i], &flat);
        mine[i] = by_row(&p, own_part(lower, offsetof(artel__pairs, first), vector));
        others[i] = by_column(&p, vector);
    }
    artel__hlo_value factor = artel__hlo_binary(h, "add", share(&p, mine), share(&p, others));
    artel__hlo_value gradient = artel__hlo_convert(h, artel__hlo_dot(h, factor, p.x, 1, 0), to.dtype);
    lower->out[0] = artel__hlo_reshape(h, gradient, &to);
}
