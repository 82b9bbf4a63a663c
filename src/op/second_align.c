/* SPDX-License-Identifier: Apache-2.0 */
/* The gradient of the gradient of an alignment (CTC), by second_anew.c: the walk through the lattice of kernel/align.h,
 * step by step, in float64.
 *
 * States are those of the longest list: those behind a row's own reach none of its last ones. What cannot be has the
 * logarithm LEAST in place of -inf, so that differences stay numbers; where nothing can be at all the gradient is 0, as
 * it is of the first order.
 */
#include <math.h>

#include "op/formula.h"
#include "op/gather.h"
#include "op/reduce.h"
#include "op/second.h"
#include "op/shape_ops.h"

#define LEAST (-1e30)

enum {
    MOST_STEPS = 4096
};

typedef artel__value_id value;

/* Of a row, by state (blank, label, blank, ..., label, blank): its class, int32; what it costs to come from two states
 * before, 0 or LEAST; whether it is one of the last two. */
typedef struct lattice {
    int64_t states;
    value class, skip, last;
} lattice;

static value by_state(artel__graph *graph, const lattice *l, double (*of)(int64_t state))
{
    double *all = artel__arena_alloc(graph->arena, (size_t)l->states, sizeof *all);
    artel_shape line = artel__shape(1, l->states);
    if (!all) {
        graph->status = ARTEL_ERROR_NO_MEMORY;
        return ARTEL__NO_VALUE;
    }
    for (int64_t s = 0; s < l->states; s++) all[s] = of(s);
    return artel__op_constant(graph, ARTEL_DTYPE_FLOAT64, &line, all);
}

static double place_of(int64_t state)
{
    return (double)state;
}

static double is_label(int64_t state)
{
    return state % 2;
}

static double is_later_label(int64_t state)
{
    return state % 2 && state > 2;
}

static double label_of(int64_t state)
{
    return state % 2 ? (double)(state / 2) : 0;
}

static double label_before(int64_t state)
{
    return state % 2 && state > 2 ? (double)(state / 2 - 1) : 0;
}

static double first_cost(int64_t state)
{
    return state < 2 ? 0 : LEAST;
}

static value picked(artel__graph *graph, const lattice *l, value labels, double (*of)(int64_t state))
{
    return artel__op_take(graph, labels, artel__op_cast(graph, by_state(graph, l, of), ARTEL_DTYPE_INT32), 0);
}

/* labels: float64 [n], n > 0 */
static lattice lattice_of(artel__graph *graph, value labels)
{
    lattice l = {.states = 2 * graph->value[labels].shape.dim[0] + 1};
    value own = picked(graph, &l, labels, label_of), before = picked(graph, &l, labels, label_before);
    l.class = artel__op_cast(graph, product(graph, own, by_state(graph, &l, is_label)), ARTEL_DTYPE_INT32);
    value later = artel__op_compare_scalar(graph, ARTEL__COMPARE_GREATER, by_state(graph, &l, is_later_label), 0);
    value differs = artel__op_compare(graph, ARTEL__COMPARE_NOT_EQUAL, own, before);
    value may = artel__op_logical_and(graph, differs, later);
    l.skip = where(graph, may, ARTEL__NO_VALUE, artel__op_fill_like(graph, own, LEAST));
    value there = artel__op_compare_scalar(graph, ARTEL__COMPARE_NOT_EQUAL, labels, 0);
    value count =
        artel__op_reduce(graph, ARTEL__REDUCE_SUM, artel__op_cast(graph, there, ARTEL_DTYPE_FLOAT64), 1, true);
    value place = by_state(graph, &l, place_of);
    value behind = difference(graph, place, times(graph, count, 2)); /* the last: 0 and -1 */
    value near = artel__op_compare_scalar(graph, ARTEL__COMPARE_GREATER, behind, -2);
    l.last = artel__op_logical_and(graph, near, below(graph, behind, 1));
    return l;
}

static value moved(artel__graph *graph, value alpha, int64_t states)
{
    return artel__op_pad(graph, alpha, (int64_t[]){0, states}, (int64_t[]){0, -states}, LEAST);
}

/* log(exp a + exp b + exp c) */
static value joined(artel__graph *graph, value a, value b, value c)
{
    value most = binary(graph, ARTEL__BINARY_MAX, binary(graph, ARTEL__BINARY_MAX, a, b), c), sum = ARTEL__NO_VALUE;
    const value way[] = {a, b, c};
    most = artel__op_stop_gradient(graph, most);
    for (int i = 0; i < 3; i++) {
        value share = unary(graph, ARTEL__UNARY_EXPONENTIAL, difference(graph, way[i], most));
        sum = i ? artel__op_add(graph, sum, share) : share;
    }
    return artel__op_add(graph, most, unary(graph, ARTEL__UNARY_LOG, sum));
}

/* The logarithm of a step's class in each state: [steps][states]. */
static value emissions(artel__graph *graph, const lattice *l, value logits)
{
    value log_p = artel__op_softmax(graph, ARTEL__LOG_SOFTMAX, logits, 1);
    log_p = artel__op_take(graph, artel__op_transpose(graph, log_p, (int[]){1, 0}), l->class, 0);
    return clip(graph, artel__op_transpose(graph, log_p, (int[]){1, 0}), LEAST, (double)INFINITY);
}

/* The loss of float64 logits [steps][classes]; 0 where the list cannot be. */
static value loss_of(artel__graph *graph, const lattice *l, value logits)
{
    value at = emissions(graph, l, logits), alpha = by_state(graph, l, first_cost);
    if (graph->status < 0) return ARTEL__NO_VALUE;
    int64_t steps = graph->value[at].shape.dim[0];
    for (int64_t t = 0; t < steps && graph->status >= 0; t++) {
        if (t > 0) {
            value before = moved(graph, alpha, 1), skipped = artel__op_add(graph, moved(graph, alpha, 2), l->skip);
            alpha = joined(graph, alpha, before, skipped);
        }
        alpha = artel__op_add(graph, alpha, artel__op_slice(graph, at, 0, t, 1, 1));
    }
    alpha = where(graph, l->last, alpha, artel__op_fill_like(graph, alpha, LEAST));
    value most = artel__op_stop_gradient(graph, artel__op_reduce(graph, ARTEL__REDUCE_MAX, alpha, 3, true));
    value shares = unary(graph, ARTEL__UNARY_EXPONENTIAL, difference(graph, alpha, most));
    value rest = unary(graph, ARTEL__UNARY_LOG, artel__op_reduce(graph, ARTEL__REDUCE_SUM, shares, 3, true));
    value can = artel__op_compare_scalar(graph, ARTEL__COMPARE_GREATER, most, LEAST / 2);
    return where(graph, can, negative(graph, artel__op_add(graph, most, rest)), ARTEL__NO_VALUE);
}

artel_status artel__second_align(artel__gradient *g)
{
    static const int input[] = {2, 0};
    artel__graph *graph = g->graph;
    const artel_shape *labels = &graph->value[g->in[1]].shape, *logits = &graph->value[g->in[2]].shape;
    if (logits->dim[0] > MOST_STEPS || labels->dim[0] < 1)
        return artel__second_refuse(g, "an alignment (CTC) of more than 4,096 steps or of no labels");
    value p = artel__second_leaf(graph, g->in[2]), upstream = artel__second_leaf(graph, g->in[0]);
    const value leaf[] = {p, upstream};
    lattice l = lattice_of(graph, artel__op_cast(graph, g->in[1], ARTEL_DTYPE_FLOAT64));
    value y = loss_of(graph, &l, artel__op_cast(graph, p, ARTEL_DTYPE_FLOAT64));
    ARTEL_TRY(graph->status);
    y = artel__op_reshape(graph, y, &graph->value[upstream].shape);
    return artel__second_written(g, y, artel__op_cast(graph, upstream, ARTEL_DTYPE_FLOAT64), leaf, input);
}
