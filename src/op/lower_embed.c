/* SPDX-License-Identifier: Apache-2.0 */
/* Rows by index, positions by token, and sums over the positions of each token.
 *
 * Positions are sorted stably by token, those without a token of the table last. A sum over a run of them is the last
 * element of the run's running sum, which log2(positions) passes make: in pass k each position adds what lies 2^k
 * before it, unless a run begins between the two. Places are found by sorting and by scatters of which no two go to one
 * place.
 */
#include "op/lower_embed.h"

static artel__hlo_type vector_of(artel_dtype dtype, int64_t count)
{
    return (artel__hlo_type){.dtype = dtype, .rank = 1, .dim = {count}};
}

/* What lies `by` rows before each, `fill` in front of the first. Negative: behind. */
static artel__hlo_value shift(artel__hlo *h, artel__hlo_value a, artel__hlo_value fill, int64_t by)
{
    int64_t low[ARTEL__HLO_RANK] = {by}, high[ARTEL__HLO_RANK] = {-by}, inside[ARTEL__HLO_RANK] = {0};
    return artel__hlo_pad(h, a, fill, low, high, inside);
}

/* Each with all before it (reverse: behind it) by `op`, whose neutral element is `none`. Integers. */
static artel__hlo_value scan(artel__hlo *h, const char *op, artel__hlo_value a, int64_t none, bool reverse)
{
    artel__hlo_type type = *artel__hlo_type_of(h, a), scalar = {.dtype = type.dtype};
    artel__hlo_value fill = artel__hlo_integer(h, (uint64_t)none, &scalar);
    for (int64_t d = 1; d < type.dim[0]; d *= 2) a = artel__hlo_binary(h, op, a, shift(h, a, fill, reverse ? -d : d));
    return a;
}

/* BOOL vector `starts` over the rows of a vector or matrix. */
static artel__hlo_value along_rows(artel__hlo *h, artel__hlo_value a, const artel__hlo_type *to)
{
    return artel__hlo_broadcast(h, a, to, (const int[]){0});
}

/* The running sums of the rows of `a`, which begin anew where `starts`. */
static artel__hlo_value running_sums(artel__hlo *h, artel__hlo_value a, artel__hlo_value starts)
{
    artel__hlo_type type = *artel__hlo_type_of(h, a), scalar = {.dtype = type.dtype},
                    flag = {.dtype = ARTEL_DTYPE_BOOL};
    artel__hlo_value zero = artel__hlo_splat(h, 0, &scalar), yes = artel__hlo_integer(h, 1, &flag);
    for (int64_t d = 1; d < type.dim[0]; d *= 2) {
        artel__hlo_value sum = artel__hlo_binary(h, "add", shift(h, a, zero, d), a);
        a = artel__hlo_select(h, along_rows(h, starts, &type), a, sum);
        starts = artel__hlo_binary(h, "or", starts, shift(h, starts, yes, d));
    }
    return a;
}

static artel__hlo_value less(artel__hlo *h, artel__hlo_value a, double than)
{
    return artel__hlo_compare(h, "LT", a, artel__hlo_number(h, than, a));
}

/* -- rows by index -- */

/* BOOL: whether an index is one of the table. */
static artel__hlo_value is_token(artel__hlo *h, artel__hlo_value index, int64_t vocabulary)
{
    artel__hlo_value low = artel__hlo_compare(h, "GE", index, artel__hlo_number(h, 0, index));
    return artel__hlo_binary(h, "and", low, less(h, index, (double)vocabulary));
}

/* Indices that all rows share are told in the first. */
static void tell_faults(artel__lower *lower, artel__hlo_value index, artel__hlo_value good)
{
    artel__hlo *h = lower->hlo;
    int64_t count = artel__hlo_count(artel__hlo_type_of(h, index));
    artel__hlo_type flag = {.dtype = ARTEL_DTYPE_BOOL, .rank = 2, .dim = {lower->rows, count}}, value = flag;
    artel__hlo_value bad = artel__hlo_unary(h, "not", good), wide = artel__hlo_convert(h, index, ARTEL_DTYPE_INT64);
    artel__domain domain = lower->graph->value[lower->node->input[1]].domain;
    value.dtype = ARTEL_DTYPE_INT64;
    if (domain != ARTEL__DOMAIN_ROW) {
        bad = artel__hlo_broadcast(h, bad, &flag, (const int[]){1});
        wide = artel__hlo_broadcast(h, wide, &value, (const int[]){1});
    }
    artel__lower_fault_in(lower, bad, wide);
}

void artel__lower_embedding(artel__lower *lower)
{
    artel__hlo *h = lower->hlo;
    artel__hlo_type table = artel__lower_in_type(lower, 0), out = artel__lower_out_type(lower, 0);
    artel__hlo_type flat = vector_of(ARTEL_DTYPE_INT32, artel__hlo_count(artel__hlo_type_of(h, lower->in[1])));
    artel__hlo_value index = artel__hlo_reshape(h, lower->in[1], &flat), good = is_token(h, index, table.dim[0]);
    artel__hlo_value y = artel__hlo_gather_rows(h, artel__hlo_reshape(h, lower->in[0], &table), index);
    tell_faults(lower, index, good);
    artel__hlo_type rows = *artel__hlo_type_of(h, y);
    y = artel__hlo_select(h, along_rows(h, good, &rows), y, artel__hlo_number(h, 0, y));
    lower->out[0] = artel__hlo_reshape(h, y, &out);
}

/* -- positions by token -- */

typedef struct order {
    int64_t positions;
    artel__hlo_value token,
        place;             /* INT32 by place in the order: the token, `vocabulary` where there is none; the position */
    artel__hlo_value here; /* 0, 1, ... */
    artel__hlo_value starts; /* BOOL: the first of a token */
    artel__hlo_value count;  /* scalar: how many have a token */
} order;

static order sort_positions(artel__lower *lower, int64_t vocabulary)
{
    artel__hlo *h = lower->hlo;
    order o = {.positions = artel__hlo_count(artel__hlo_type_of(h, lower->in[0]))};
    artel__hlo_type flat = vector_of(ARTEL_DTYPE_INT32, o.positions), scalar = {.dtype = ARTEL_DTYPE_INT32};
    artel__hlo_value index = artel__hlo_reshape(h, lower->in[0], &flat),
                     none = artel__hlo_number(h, (double)vocabulary, index);
    artel__hlo_value sorted[2],
        in[] = {artel__hlo_select(h, is_token(h, index, vocabulary), index, none), artel__hlo_iota(h, &flat, 0)};
    artel__hlo_sort(h, "LT", in, 2, 0, sorted);
    o.token = sorted[0];
    o.place = sorted[1];
    o.here = in[1];
    artel__hlo_value valid = less(h, o.token, (double)vocabulary);
    artel__hlo_value before = shift(h, o.token, artel__hlo_splat(h, -1, &scalar), 1);
    o.starts = artel__hlo_binary(h, "and", valid, artel__hlo_compare(h, "NE", o.token, before));
    o.count = artel__hlo_reduce(h, "add", 0, artel__hlo_convert(h, valid, ARTEL_DTYPE_INT32), 1);
    return o;
}

/* By token, and behind the last: where its positions begin, or where those of the next token that has any do: the
 * smallest from behind. */
static artel__hlo_value find_begins(artel__hlo *h, const order *o, int64_t vocabulary)
{
    artel__hlo_type first = vector_of(ARTEL_DTYPE_INT32, vocabulary + 1);
    artel__hlo_value none = artel__hlo_broadcast(h, o->count, &first, NULL);
    artel__hlo_value outside =
        artel__hlo_binary(h, "add", o->here, artel__hlo_number(h, (double)(vocabulary + 1), o->here));
    artel__hlo_value to = artel__hlo_select(h, o->starts, o->token, outside);
    return scan(h, "minimum", artel__hlo_scatter_rows(h, none, to, o->here, false), INT32_MAX, true);
}

void artel__lower_embedding_sort(artel__lower *lower, int64_t vocabulary)
{
    order o = sort_positions(lower, vocabulary);
    artel__hlo_type sorted = artel__lower_out_type(lower, 0);
    lower->out[0] = artel__hlo_reshape(lower->hlo, o.place, &sorted);
    lower->out[1] = find_begins(lower->hlo, &o, vocabulary);
}

/* Tokens are the keys where one starts, sorted before all others; with them go the places where they start. */
void artel__lower_embedding_tokens(artel__lower *lower, int64_t vocabulary)
{
    artel__hlo *h = lower->hlo;
    order o = sort_positions(lower, vocabulary);
    artel__hlo_type shape = artel__lower_out_type(lower, 0), scalar = {.dtype = ARTEL_DTYPE_INT32},
                    one = artel__lower_out_type(lower, 3);
    artel__hlo_value outside = artel__hlo_binary(h, "add", o.here, artel__hlo_number(h, (double)vocabulary, o.here));
    artel__hlo_value in[] = {artel__hlo_select(h, o.starts, o.token, outside), o.here}, sorted[2];
    artel__hlo_value count = artel__hlo_reduce(h, "add", 0, artel__hlo_convert(h, o.starts, ARTEL_DTYPE_INT32), 1);
    artel__hlo_sort(h, "LT", in, 2, 0, sorted);
    artel__hlo_type flat = *artel__hlo_type_of(h, sorted[1]);
    artel__hlo_value next = shift(h, sorted[1], artel__hlo_splat(h, 0, &scalar), -1);
    artel__hlo_value last = artel__hlo_binary(h, "subtract", count, artel__hlo_splat(h, 1, &scalar));
    artel__hlo_value inner = artel__hlo_compare(h, "LT", o.here, artel__hlo_broadcast(h, last, &flat, NULL));
    artel__hlo_value end = artel__hlo_select(h, inner, next, artel__hlo_broadcast(h, o.count, &flat, NULL));
    lower->out[0] = artel__hlo_reshape(h, o.place, &shape);
    lower->out[1] = artel__hlo_reshape(h, end, &shape);
    lower->out[2] = artel__hlo_reshape(h, sorted[0], &shape);
    lower->out[3] = artel__hlo_reshape(h, count, &one);
}

/* -- sums -- */

/* dy as `place` has the positions, [positions][width]. */
static artel__hlo_value in_order(artel__hlo *h, artel__hlo_value of_rows, artel__hlo_value place)
{
    artel__hlo_type dy = *artel__hlo_type_of(h, of_rows);
    int64_t width = dy.dim[dy.rank - 1], positions = artel__hlo_count(artel__hlo_type_of(h, place));
    artel__hlo_type rows = {.dtype = dy.dtype, .rank = 2, .dim = {positions, width}};
    artel__hlo_type flat = vector_of(ARTEL_DTYPE_INT32, positions);
    return artel__hlo_gather_rows(h, artel__hlo_reshape(h, of_rows, &rows), artel__hlo_reshape(h, place, &flat));
}

/* Of inputs dy and places, or its squares or sizes. */
static artel__hlo_value sorted_rows(artel__lower *lower, artel__occurrence of)
{
    artel__hlo_value rows = in_order(lower->hlo, lower->in[0], lower->in[1]);
    return of == ARTEL__OCCURRENCE_SQUARE ? artel__hlo_binary(lower->hlo, "multiply", rows, rows)
           : of == ARTEL__OCCURRENCE_SIZE ? artel__hlo_unary(lower->hlo, "abs", rows)
                                          : rows;
}

/* The sums of runs: run k, where `has`, begins at `begin` and its last position is `last`; 0 where there is none. */
static artel__hlo_value sum_runs(artel__hlo *h, artel__hlo_value rows, artel__hlo_value begin, artel__hlo_value last,
                                 artel__hlo_value has)
{
    int64_t positions = artel__hlo_type_of(h, rows)->dim[0];
    artel__hlo_type marks = vector_of(ARTEL_DTYPE_INT32, positions), runs = *artel__hlo_type_of(h, begin);
    artel__hlo_value outside = artel__hlo_iota(h, &runs, 0);
    outside = artel__hlo_binary(h, "add", outside, artel__hlo_number(h, (double)positions, outside));
    artel__hlo_value to = artel__hlo_select(h, has, begin, outside), none = artel__hlo_splat(h, 0, &marks);
    artel__hlo_value mark = artel__hlo_scatter_rows(h, none, to, artel__hlo_splat(h, 1, &runs), false);
    artel__hlo_value sums = running_sums(h, rows, artel__hlo_compare(h, "NE", mark, none));
    sums = artel__hlo_gather_rows(h, sums, last);
    artel__hlo_type out = *artel__hlo_type_of(h, sums);
    artel__hlo_value zero = artel__hlo_number(h, 0, sums);
    return artel__hlo_select(h, along_rows(h, has, &out), artel__hlo_binary(h, "add", sums, zero), zero);
}

static artel__hlo_value one_before(artel__hlo *h, artel__hlo_value a)
{
    return artel__hlo_binary(h, "subtract", a, artel__hlo_number(h, 1, a));
}

/* By token, where positions of each begin in `begins`. */
static artel__hlo_value sum_tokens(artel__hlo *h, artel__hlo_value rows, artel__hlo_value begins, int64_t vocabulary)
{
    artel__hlo_value begin = artel__hlo_slice_axis(h, begins, 0, 0, vocabulary);
    artel__hlo_value end = artel__hlo_slice_axis(h, begins, 0, 1, vocabulary + 1);
    return sum_runs(h, rows, begin, one_before(h, end), artel__hlo_compare(h, "LT", begin, end));
}

void artel__lower_embedding_gradient(artel__lower *lower, artel__occurrence of)
{
    artel__hlo_type out = artel__lower_out_type(lower, 0);
    lower->out[0] = sum_tokens(lower->hlo, sorted_rows(lower, of), lower->in[2], out.dim[0]);
}

void artel__lower_lookup_gradient(artel__lower *lower)
{
    artel__hlo *h = lower->hlo;
    artel__hlo_type out = artel__lower_out_type(lower, 0);
    order o = sort_positions(lower, out.dim[0]);
    lower->out[0] = sum_tokens(h, in_order(h, lower->in[1], o.place), find_begins(h, &o, out.dim[0]), out.dim[0]);
}

void artel__lower_embedding_rows(artel__lower *lower, artel__occurrence of)
{
    artel__hlo *h = lower->hlo;
    artel__hlo_type out = artel__lower_out_type(lower, 0), scalar = {.dtype = ARTEL_DTYPE_INT32};
    artel__hlo_type flat = vector_of(ARTEL_DTYPE_INT32, artel__hlo_count(artel__hlo_type_of(h, lower->in[2])));
    artel__hlo_value end = artel__hlo_reshape(h, lower->in[2], &flat),
                     begin = shift(h, end, artel__hlo_splat(h, 0, &scalar), 1);
    artel__hlo_value count = artel__hlo_broadcast(h, artel__hlo_reshape(h, lower->in[3], &scalar), &flat, NULL);
    artel__hlo_value has = artel__hlo_compare(h, "LT", artel__hlo_iota(h, &flat, 0), count);
    lower->out[0] = artel__hlo_reshape(h, sum_runs(h, sorted_rows(lower, of), begin, one_before(h, end), has), &out);
}
