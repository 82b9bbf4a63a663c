/* SPDX-License-Identifier: Apache-2.0 */
/* Losses of unaligned sequences as programs of devices: kernel/align.h, all rows at once.
 *
 * Every row has the states of the longest list, 2 labels + 1. Those behind its own last one are reached from before and
 * lead nowhere before, so they need no mask: the end is taken where the row's own list ends, and what comes back begins
 * there. Ways forward and back are loops over the steps; in between all is done for all steps together. Arithmetic is
 * float64 as on processors, with the device's own exponentials and logarithms.
 */
#include "op/lower_align.h"

#include <math.h>

#include "op/lower_formula.h"

typedef struct lattice {
    artel__hlo *h;
    int64_t rows, steps, classes, labels, states;
    artel__hlo_type by_class, by_state, at; /* float64 [rows][steps][classes], [rows][steps][states], [rows][states] */
    artel__hlo_value state;                 /* INT32 [rows][states]: its number */
    artel__hlo_value class, skips;    /* INT32, BOOL likewise; whether it may be reached from the one before last */
    artel__hlo_value count, bad;      /* INT32 [rows]: labels; BOOL [rows]: one is no class */
    artel__hlo_value log_p, emission; /* of each class, of each state's class */
} lattice;

static artel__hlo_value log_add(const lattice *l, artel__hlo_value a, artel__hlo_value b)
{
    artel__formula f;
    artel__formula_init(&f, l->h, a);
    artel__formula_set(&f, 'a', a);
    artel__formula_set(&f, 'b', b);
    return artel__formula_write(&f, "a b max =m a b min =l l 0 inf - == m m 1 l m - exp + log + ?");
}

/* What lies `by` states before each (negative: behind it); nothing leads there from outside. */
static artel__hlo_value shift(const lattice *l, artel__hlo_value a, int64_t by)
{
    artel__hlo_type scalar = {.dtype = artel__hlo_type_of(l->h, a)->dtype};
    artel__hlo_value none = scalar.dtype == ARTEL_DTYPE_FLOAT64 ? artel__hlo_splat(l->h, -INFINITY, &scalar)
                                                                : artel__hlo_integer(l->h, 0, &scalar);
    return artel__hlo_pad(l->h, a, none, (const int64_t[]){0, by}, (const int64_t[]){0, -by}, (const int64_t[]){0, 0});
}

static artel__hlo_value none_at(const lattice *l)
{
    return artel__hlo_splat(l->h, -INFINITY, &l->at);
}

/* [rows] over [rows][states]. */
static artel__hlo_value over_states(const lattice *l, artel__hlo_value by_row)
{
    artel__hlo_type to = l->at;
    to.dtype = artel__hlo_type_of(l->h, by_row)->dtype;
    return artel__hlo_broadcast(l->h, by_row, &to, (const int[]){0});
}

/* BOOL [rows][states]: state 2 count - back. */
static artel__hlo_value is_last(const lattice *l, int back)
{
    artel__hlo *h = l->h;
    artel__hlo_value twice = artel__hlo_binary(h, "add", l->count, l->count);
    twice = artel__hlo_binary(h, "subtract", twice, artel__hlo_number(h, back, twice));
    return artel__hlo_compare(h, "EQ", l->state, over_states(l, twice));
}

/* The class of each state: blank, label, blank, ..., and whether it differs from the label before. */
static void read_labels(lattice *l, artel__hlo_value labels)
{
    artel__hlo *h = l->h;
    artel__hlo_type list = {.dtype = ARTEL_DTYPE_INT32, .rank = 2, .dim = {l->rows, l->labels}},
                    scalar = {.dtype = ARTEL_DTYPE_INT32}, state = l->at;
    state.dtype = ARTEL_DTYPE_INT32;
    labels = artel__hlo_reshape(h, labels, &list);
    l->state = artel__hlo_iota(h, &state, 1);
    l->class = artel__hlo_pad(h, labels, artel__hlo_splat(h, 0, &scalar), (const int64_t[]){0, 1},
                              (const int64_t[]){0, 1}, (const int64_t[]){0, 1});
    artel__hlo_value none = artel__hlo_number(h, 0, labels), blank = artel__hlo_number(h, 0, l->class);
    artel__hlo_value is_label = artel__hlo_compare(h, "NE", labels, none);
    l->count = artel__hlo_reduce(h, "add", 0, artel__hlo_convert(h, is_label, ARTEL_DTYPE_INT32), 2);
    artel__hlo_value odd = artel__hlo_binary(h, "and", l->state, artel__hlo_number(h, 1, l->state));
    l->skips = artel__hlo_binary(h, "and", artel__hlo_compare(h, "NE", odd, blank),
                                 artel__hlo_compare(h, "NE", l->class, shift(l, l->class, 2)));
    l->skips =
        artel__hlo_binary(h, "and", l->skips, artel__hlo_compare(h, "GE", l->state, artel__hlo_number(h, 2, l->state)));
    artel__hlo_value wrong =
        artel__hlo_binary(h, "or", artel__hlo_compare(h, "LT", labels, none),
                          artel__hlo_compare(h, "GE", labels, artel__hlo_number(h, (double)l->classes, labels)));
    l->bad = artel__hlo_reduce(h, "or", 0, wrong, 2);
}

/* log_p of each state's class, taken from a table of all. */
static artel__hlo_value emissions(const lattice *l)
{
    artel__hlo *h = l->h;
    artel__hlo_type place = l->by_state, flat = {.dtype = ARTEL_DTYPE_INT32, .rank = 1};
    artel__hlo_type table = {.dtype = ARTEL_DTYPE_FLOAT64, .rank = 2, .dim = {l->rows * l->steps * l->classes, 1}};
    place.dtype = ARTEL_DTYPE_INT32;
    flat.dim[0] = artel__hlo_count(&place);
    artel__hlo_type line = {.dtype = ARTEL_DTYPE_INT32, .rank = 2, .dim = {l->rows, l->steps}},
                    lines = {.dtype = ARTEL_DTYPE_INT32, .rank = 1, .dim = {l->rows * l->steps}};
    artel__hlo_value first = artel__hlo_reshape(h, artel__hlo_iota(h, &lines, 0), &line);
    first = artel__hlo_binary(h, "multiply", first, artel__hlo_number(h, (double)l->classes, first));
    artel__hlo_value index = artel__hlo_binary(h, "add", artel__hlo_broadcast(h, first, &place, (const int[]){0, 1}),
                                               artel__hlo_broadcast(h, l->class, &place, (const int[]){0, 2}));
    artel__hlo_value picked =
        artel__hlo_gather_rows(h, artel__hlo_reshape(h, l->log_p, &table), artel__hlo_reshape(h, index, &flat));
    return artel__hlo_reshape(h, picked, &l->by_state);
}

static void tell_faults(artel__lower *lower, const lattice *l, artel__hlo_value labels)
{
    artel__hlo *h = l->h;
    artel__hlo_type list = {.dtype = ARTEL_DTYPE_INT32, .rank = 2, .dim = {l->rows, l->labels}};
    labels = artel__hlo_reshape(h, labels, &list);
    artel__hlo_value low = artel__hlo_compare(h, "LT", labels, artel__hlo_number(h, 0, labels));
    artel__hlo_value high = artel__hlo_compare(h, "GE", labels, artel__hlo_number(h, (double)l->classes, labels));
    artel__lower_fault_in(lower, artel__hlo_binary(h, "or", low, high),
                          artel__hlo_convert(h, labels, ARTEL_DTYPE_INT64));
}

/* Labels and logits are operands `first` and the one behind it. */
static lattice read_lattice(artel__lower *lower, int first)
{
    artel__hlo *h = lower->hlo;
    artel__hlo_type logits = artel__lower_in_type(lower, first + 1), labels = artel__lower_in_type(lower, first);
    lattice l = {.h = h,
                 .rows = logits.dim[0],
                 .steps = logits.dim[1],
                 .classes = logits.dim[2],
                 .labels = labels.dim[labels.rank - 1]};
    l.states = 2 * l.labels + 1;
    l.by_class = (artel__hlo_type){.dtype = ARTEL_DTYPE_FLOAT64, .rank = 3, .dim = {l.rows, l.steps, l.classes}};
    l.by_state = (artel__hlo_type){.dtype = ARTEL_DTYPE_FLOAT64, .rank = 3, .dim = {l.rows, l.steps, l.states}};
    l.at = (artel__hlo_type){.dtype = ARTEL_DTYPE_FLOAT64, .rank = 2, .dim = {l.rows, l.states}};
    read_labels(&l, lower->in[first]);
    tell_faults(lower, &l, lower->in[first]);
    artel__hlo_value x = artel__hlo_reshape(h, lower->in[first + 1], &logits);
    x = artel__hlo_convert(h, x, ARTEL_DTYPE_FLOAT64);
    artel__formula f;
    artel__formula_init(&f, h, x);
    artel__formula_set(&f, 'x', x);
    l.log_p = artel__formula_write(&f, "x most =m x m x m - exp sum log + -");
    l.emission = emissions(&l);
    return l;
}

/* Of step `t`, a scalar INT32: [rows][states] of [rows][steps][states]. */
static artel__hlo_value at_step(const lattice *l, artel__hlo_value all, artel__hlo_value t)
{
    artel__hlo_value zero = artel__hlo_number(l->h, 0, t), first[] = {zero, t, zero};
    return artel__hlo_reshape(
        l->h, artel__hlo_dynamic_slice(l->h, all, first, (const int64_t[]){l->rows, 1, l->states}), &l->at);
}

static artel__hlo_value put_step(const lattice *l, artel__hlo_value all, artel__hlo_value t, artel__hlo_value one)
{
    artel__hlo_type part = {.dtype = ARTEL_DTYPE_FLOAT64, .rank = 3, .dim = {l->rows, 1, l->states}};
    artel__hlo_value zero = artel__hlo_number(l->h, 0, t), first[] = {zero, t, zero};
    return artel__hlo_dynamic_update(l->h, all, artel__hlo_reshape(l->h, one, &part), first);
}

static artel__hlo_value integer(const lattice *l, int64_t number)
{
    artel__hlo_type scalar = {.dtype = ARTEL_DTYPE_INT32};
    return artel__hlo_integer(l->h, (uint64_t)number, &scalar);
}

/* The ways to be in each state at the last step; at every step in `all`, where that is not NULL. */
static artel__hlo_value go_forward(const lattice *l, artel__hlo_value *all)
{
    artel__hlo *h = l->h;
    artel__hlo_loop loop;
    artel__hlo_value early = artel__hlo_compare(h, "LT", l->state, artel__hlo_number(h, 2, l->state));
    artel__hlo_value begin = artel__hlo_select(h, early, artel__hlo_splat(h, 0, &l->at), none_at(l)), next[2];
    begin = artel__hlo_binary(h, "add", begin, at_step(l, l->emission, integer(l, 0)));
    artel__hlo_value init[] = {begin, -1};
    if (all) init[1] = put_step(l, artel__hlo_splat(h, 0, &l->by_state), integer(l, 0), begin);
    artel__hlo_loop_begin(h, integer(l, l->steps - 1), init, all ? 2 : 1, &loop);
    artel__hlo_value t = artel__hlo_binary(h, "add", loop.turn, integer(l, 1)), before = loop.carried[0];
    artel__hlo_value ways = log_add(l, before, shift(l, before, 1));
    ways = log_add(l, ways, artel__hlo_select(h, l->skips, shift(l, before, 2), none_at(l)));
    next[0] = artel__hlo_binary(h, "add", ways, at_step(l, l->emission, t));
    if (all) next[1] = put_step(l, loop.carried[1], t, next[0]);
    artel__hlo_loop_end(h, &loop, next);
    if (all) *all = loop.carried[1];
    return loop.carried[0];
}

/* The logarithm of the probability of each list: [rows]. */
static artel__hlo_value ends(const lattice *l, artel__hlo_value last)
{
    artel__hlo_value part[2];
    for (int i = 0; i < 2; i++)
        part[i] =
            artel__hlo_reduce(l->h, "maximum", -INFINITY, artel__hlo_select(l->h, is_last(l, i), last, none_at(l)), 2);
    return log_add(l, part[0], part[1]);
}

void artel__lower_align(artel__lower *lower)
{
    artel__hlo *h = lower->hlo;
    artel__hlo_type to = artel__lower_out_type(lower, 0);
    lattice l = read_lattice(lower, 0);
    artel__formula f;
    artel__hlo_value log_z = ends(&l, go_forward(&l, NULL));
    artel__formula_init(&f, h, log_z);
    artel__formula_set(&f, 'z', log_z);
    artel__formula_set(&f, 'b', l.bad);
    lower->out[0] =
        artel__hlo_reshape(h, artel__hlo_convert(h, artel__formula_write(&f, "b inf z neg ?"), to.dtype), &to);
}

/* The ways on from each state at every step, the step's own class left out. */
static artel__hlo_value go_back(const lattice *l)
{
    artel__hlo *h = l->h;
    artel__hlo_loop loop;
    artel__hlo_value ends_here = artel__hlo_binary(h, "or", is_last(l, 0), is_last(l, 1));
    artel__hlo_value end = artel__hlo_select(h, ends_here, artel__hlo_splat(h, 0, &l->at), none_at(l)), next[2];
    artel__hlo_value last = integer(l, l->steps - 1);
    artel__hlo_value init[] = {end, put_step(l, artel__hlo_splat(h, 0, &l->by_state), last, end)};
    artel__hlo_loop_begin(h, last, init, 2, &loop);
    artel__hlo_value t = artel__hlo_binary(h, "subtract", integer(l, l->steps - 1), loop.turn);
    artel__hlo_value later = artel__hlo_binary(h, "add", loop.carried[0], at_step(l, l->emission, t));
    artel__hlo_value skips = shift(l, l->skips, -2);
    next[0] = log_add(l, later, shift(l, later, -1));
    next[0] = log_add(l, next[0], artel__hlo_select(h, skips, shift(l, later, -2), none_at(l)));
    next[1] = put_step(l, loop.carried[1], artel__hlo_binary(h, "subtract", t, integer(l, 1)), next[0]);
    artel__hlo_loop_end(h, &loop, next);
    return loop.carried[1];
}

/* The probability that each class is there, given the list: [rows][steps][classes]. */
static artel__hlo_value posterior(const lattice *l, artel__hlo_value both, artel__hlo_value log_z)
{
    artel__hlo *h = l->h;
    artel__hlo_type table = {.dtype = ARTEL_DTYPE_INT32, .rank = 3, .dim = {l->rows, l->states, l->classes}};
    artel__formula f;
    artel__formula_init(&f, h, both);
    artel__formula_set(&f, 'b', both);
    artel__formula_set(&f, 'z', artel__hlo_broadcast(h, log_z, &l->by_state, (const int[]){0}));
    artel__hlo_value there = artel__formula_write(&f, "b 0 inf - > b z - exp 0 ?");
    artel__hlo_value is = artel__hlo_compare(h, "EQ", artel__hlo_broadcast(h, l->class, &table, (const int[]){0, 1}),
                                             artel__hlo_iota(h, &table, 2));
    artel__hlo_dims dims = {.batch = 1, .contracted = 1, .contracted_a = {2}, .contracted_b = {1}};
    return artel__hlo_dot_general(h, there, artel__hlo_convert(h, is, ARTEL_DTYPE_FLOAT64), &dims);
}

void artel__lower_align_gradient(artel__lower *lower)
{
    artel__hlo *h = lower->hlo;
    artel__hlo_type to = artel__lower_out_type(lower, 0), row = {.dtype = ARTEL_DTYPE_FLOAT64, .rank = 1};
    lattice l = read_lattice(lower, 1);
    artel__hlo_value alpha;
    artel__hlo_value log_z = ends(&l, go_forward(&l, &alpha));
    artel__formula f;
    artel__formula_init(&f, h, l.log_p);
    row.dim[0] = l.rows;
    artel__hlo_value upstream = artel__hlo_convert(
        h,
        artel__hlo_reshape(h, lower->in[0],
                           &(artel__hlo_type){.dtype = ARTEL_DTYPE_FLOAT32, .rank = 1, .dim = {l.rows}}),
        ARTEL_DTYPE_FLOAT64);
    artel__hlo_value none = artel__hlo_compare(h, "EQ", log_z, artel__hlo_splat(h, -INFINITY, &row));
    artel__hlo_type flags = l.by_class;
    flags.dtype = ARTEL_DTYPE_BOOL;
    none = artel__hlo_binary(h, "or", none, l.bad);
    artel__formula_set(&f, 'n', artel__hlo_broadcast(h, none, &flags, (const int[]){0}));
    artel__formula_set(&f, 'u', artel__hlo_broadcast(h, upstream, &l.by_class, (const int[]){0}));
    artel__formula_set(&f, 'l', l.log_p);
    artel__formula_set(&f, 'p', posterior(&l, artel__hlo_binary(h, "add", alpha, go_back(&l)), log_z));
    artel__hlo_value gradient = artel__formula_write(&f, "n 0 u l exp p - * ?");
    lower->out[0] = artel__hlo_reshape(h, artel__hlo_convert(h, gradient, to.dtype), &to);
}
