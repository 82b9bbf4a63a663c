/* SPDX-License-Identifier: Apache-2.0 */
/* The gradient of the gradient of a loss of pairs of rows (Circle), by second_anew.c: the formula of kernel/pairs.h of
 * the rows of the whole batch as an axis, in float64.
 *
 * The gradient node reads what all replicas gathered, and those gathered values have no gradients. So what comes back
 * to it goes to the rows that were gathered: the operand of the forward node, and what came back to its loss. Exponents
 * of what does not count are LEAST in place of -inf, so that differences stay numbers.
 */
#include <math.h>

#include "op/all_rows.h"
#include "op/formula.h"
#include "op/pairs.h"
#include "op/reduce.h"
#include "op/second.h"
#include "op/shape_ops.h"
#include "op/wide_product.h"

#define LEAST (-1e30)

typedef artel__value_id value;

/* Of n places in the batch: which pairs count [n][n], of one class and of two. */
typedef struct partners {
    int64_t places;
    value one_class, two_classes;
} partners;

static value as_column(artel__graph *graph, value x, int64_t n)
{
    artel_shape shape = artel__shape(2, n, (int64_t)1);
    return artel__op_reshape(graph, x, &shape);
}

static value both_of(artel__graph *graph, value of_each)
{
    return artel__op_logical_and(graph, as_column(graph, of_each, graph->batch_size), of_each);
}

static value not_diagonal(artel__graph *graph, int64_t n)
{
    uint8_t *apart = artel__arena_alloc(graph->arena, (size_t)(n * n) + 1, sizeof *apart);
    artel_shape shape = artel__shape(2, n, n);
    if (!apart) {
        graph->status = ARTEL_ERROR_NO_MEMORY;
        return ARTEL__NO_VALUE;
    }
    for (int64_t i = 0; i < n * n; i++) apart[i] = i / n != i % n;
    return artel__op_constant(graph, ARTEL_DTYPE_BOOL, &shape, apart);
}

static partners partners_of(artel__graph *graph, value labels, bool others)
{
    partners p = {.places = graph->batch_size};
    artel_shape line = artel__shape(1, p.places);
    value ones = artel__op_all_rows_of(graph, artel__op_fill_like(graph, labels, 1), ARTEL__NO_VALUE);
    value label = artel__op_reshape(graph, artel__op_all_rows_of(graph, labels, ARTEL__NO_VALUE), &line);
    value there = artel__op_compare_scalar(graph, ARTEL__COMPARE_GREATER, artel__op_reshape(graph, ones, &line), 0);
    value same = artel__op_compare(graph, ARTEL__COMPARE_EQUAL, as_column(graph, label, p.places), label);
    value pairs = both_of(graph, there);
    p.one_class = artel__op_logical_and(graph, pairs, same);
    if (others) p.one_class = artel__op_logical_and(graph, p.one_class, not_diagonal(graph, p.places));
    p.two_classes = artel__op_logical_and(graph, pairs, artel__op_logical_not(graph, same));
    return p;
}

static value not_below_0(artel__graph *graph, value x)
{
    return clip(graph, x, 0, (double)INFINITY);
}

/* log of the sum, over those that count, of the exponentials: [n][1]; LEAST and more where none does. */
static value log_of_sum(artel__graph *graph, value counts, value exponent)
{
    exponent = where(graph, counts, exponent, artel__op_fill_like(graph, exponent, LEAST));
    value most = artel__op_stop_gradient(graph, artel__op_reduce(graph, ARTEL__REDUCE_MAX, exponent, 2, true));
    value shares = unary(graph, ARTEL__UNARY_EXPONENTIAL, difference(graph, exponent, most));
    value rest = unary(graph, ARTEL__UNARY_LOG, artel__op_reduce(graph, ARTEL__REDUCE_SUM, shares, 2, true));
    return artel__op_add(graph, most, rest);
}

/* x: float64 [n][width]; the loss of each row, [n] */
static value losses(artel__graph *graph, const artel__pairs_settings *s, const partners *p, value x)
{
    if (graph->status < 0) return ARTEL__NO_VALUE;
    artel_shape one = artel__shape(3, (int64_t)1, p->places, graph->value[x].shape.dim[1]),
                square_form = artel__shape(2, p->places, p->places), line = artel__shape(1, p->places);
    value matrix = artel__op_reshape(graph, x, &one);
    value similarity = artel__op_reshape(graph, artel__op_wide_product(graph, matrix, matrix), &square_form);
    value away = not_below_0(graph, artel__op_affine(graph, similarity, -1, 1));
    value weight = not_below_0(graph, artel__op_affine(graph, away, 1, s->margin)),
          gap = artel__op_affine(graph, away, -1, s->margin);
    value near = product(graph, weight, gap);
    weight = not_below_0(graph, artel__op_affine(graph, away, -1, 1 + s->margin));
    gap = artel__op_affine(graph, away, -1, 1 - s->margin);
    value far = product(graph, weight, gap);
    value of_one = log_of_sum(graph, p->one_class, times(graph, near, -s->gamma));
    value of_two = log_of_sum(graph, p->two_classes, times(graph, far, s->gamma));
    value least = binary(graph, ARTEL__BINARY_MIN, of_one, of_two);
    value partnered = artel__op_compare_scalar(graph, ARTEL__COMPARE_GREATER, least, LEAST / 2);
    value loss = unary(graph, ARTEL__UNARY_SOFTPLUS,
                       where(graph, partnered, artel__op_add(graph, of_one, of_two), ARTEL__NO_VALUE));
    return artel__op_reshape(graph, where(graph, partnered, loss, ARTEL__NO_VALUE), &line);
}

/* What was gathered. */
static value behind(const artel__graph *graph, value gathered)
{
    return graph->node[graph->value[gathered].node].input[0];
}

artel_status artel__second_pairs(artel__gradient *g, const artel__pairs_settings *s)
{
    artel__graph *graph = g->graph;
    if (graph->batch_size < 1) return artel__second_refuse(g, "similarities of pairs (Circle) in batches of any size");
    const value rows = behind(graph, g->in[0]), upstream = behind(graph, g->in[3]);
    value x = artel__second_leaf(graph, rows), up = artel__second_leaf(graph, upstream), dx, found[2];
    const value leaf[] = {x, up};
    partners p = partners_of(graph, g->in[1], s->others);
    value all = artel__op_all_rows(graph, artel__op_cast(graph, x, ARTEL_DTYPE_FLOAT64)),
          seeds = artel__op_all_rows(graph, artel__op_cast(graph, up, ARTEL_DTYPE_FLOAT64));
    value loss = losses(graph, s, &p, all);
    artel__slopes first = {{loss}, {seeds}, 1, leaf, 1};
    ARTEL_TRY(graph->status);
    ARTEL_TRY(artel__second_slopes(graph, &first, &dx));
    artel__slopes slopes = {{dx}, {g->out_gradient[0]}, 1, leaf, 2};
    ARTEL_TRY(artel__second_slopes(graph, &slopes, found));
    for (int i = 0; i < 2; i++) {
        g->also[i] = i ? upstream : rows;
        g->also_gradient[i] = found[i];
    }
    g->alsos = 2;
    return graph->status;
}
