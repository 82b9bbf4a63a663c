/* SPDX-License-Identifier: Apache-2.0 */
/* Values of a graph that is being traced: places for them, constants, variables, random numbers, reductions. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "function/direct.h"
#include "function/function_impl.h"
#include "function/graph_whole.h"
#include "function/tape.h"
#include "function/texts.h"
#include "op/all_rows.h"
#include "op/batch_rows.h"
#include "op/elementwise.h"
#include "op/node_attributes.h"
#include "op/reduce.h"
#include "op/shape_ops.h"

/* -- places -- */

void artel__graph_wrap(artel_graph *out, artel__graph *graph)
{
    *out = (artel_graph){.ctx = artel__graph_context(graph), .graph = graph};
}

artel_value artel__graph_put(artel_graph *g, const artel__place *place)
{
    if (g->graph->status < 0) return ARTEL_NO_VALUE;
    if (g->places == g->capacity) {
        int wider = g->capacity ? 2 * g->capacity : 64;
        artel__place *block = artel__arena_alloc(g->graph->arena, (size_t)wider, sizeof *block);
        if (!block) {
            g->graph->status = ARTEL_ERROR_NO_MEMORY;
            return ARTEL_NO_VALUE;
        }
        if (g->places) memcpy(block, g->place, (size_t)g->places * sizeof *block);
        g->place = block;
        g->capacity = wider;
    }
    g->place[g->places] = *place;
    return g->places++;
}

artel_value artel__graph_give_weights(artel_graph *g, artel__value_id value, int64_t rows, const artel_shape *shape)
{
    if (value < 0) return ARTEL_NO_VALUE;
    return artel__graph_put(g, &(artel__place){.value = value, .rows = rows, .shape = *shape});
}

artel_value artel__graph_give(artel_graph *g, artel__value_id value)
{
    if (g->graph->status < 0 || value < 0) return ARTEL_NO_VALUE;
    return artel__graph_give_weights(g, value, 0, &g->graph->value[value].shape);
}

artel_value artel__graph_refuse(artel_graph *g, artel_status status, const char *where, const char *advice,
                                const char *format, ...)
{
    char text[512];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (g->graph->status == ARTEL_OK) g->graph->status = artel__fail(g->ctx, status, where, advice, "%s", text);
    return ARTEL_NO_VALUE;
}

const artel__place *artel__graph_place(artel_graph *g, artel_value value)
{
    if (g->graph->status < 0) return NULL;
    if (value >= 0 && value < g->places)
        return !g->place[value].text || artel__graph_text.feed(g, &g->place[value]) ? &g->place[value] : NULL;
    artel__graph_refuse(g, ARTEL_ERROR_INVALID, "graph", "use values that this graph has given",
                        "%d is no value of this graph", (int)value);
    return NULL;
}

artel__value_id artel__graph_take(artel_graph *g, artel_value value)
{
    const artel__place *place = artel__graph_place(g, value);
    if (!place) return ARTEL__NO_VALUE;
    const artel__value *found = &g->graph->value[place->value];
    if (found->layout == ARTEL__LAYOUT_PLAIN && artel__shape_equal(&found->shape, &place->shape)) return place->value;
    if (found->layout == ARTEL__LAYOUT_PLAIN) return artel__op_reshape(g->graph, place->value, &place->shape);
    return artel__op_reshape(g->graph, artel__op_plain(g->graph, place->value, place->rows), &place->shape);
}

artel_status artel_graph_status(const artel_graph *g)
{
    ARTEL_TRY(artel__need(g ? g->ctx : NULL, __func__, "graph", g));
    return g->graph->status;
}

bool artel_graph_training(const artel_graph *g)
{
    return g && g->graph->training;
}

artel_status artel_graph_describe(const artel_graph *g, artel_value value, artel_dtype *dtype, artel_shape *shape,
                                  bool *rows)
{
    ARTEL_TRY(artel__need(g ? g->ctx : NULL, __func__, "graph", g));
    if (value < 0 || value >= g->places)
        return artel__fail(g->ctx, ARTEL_ERROR_INVALID, "graph", "use values that this graph has given",
                           "%d is no value of this graph", (int)value);
    const artel__text_value *text = g->place[value].text;
    const artel__value *found = text ? NULL : &g->graph->value[g->place[value].value];
    if (dtype) *dtype = text ? text->row.dtype : found->dtype;
    if (shape) *shape = g->place[value].shape;
    if (rows) *rows = text ? text->rows : found->domain == ARTEL__DOMAIN_ROW;
    return ARTEL_OK;
}

/* -- leaves -- */

bool artel__computes_with(artel_dtype dtype)
{
    return dtype == ARTEL_DTYPE_FLOAT32 || dtype == ARTEL_DTYPE_FLOAT64 || dtype == ARTEL_DTYPE_INT32 ||
           dtype == ARTEL_DTYPE_INT64 || dtype == ARTEL_DTYPE_BOOL;
}

artel_value artel_graph_constant(artel_graph *g, artel_dtype dtype, const artel_shape *shape, const void *elements)
{
    if (!g || g->graph->status < 0) return ARTEL_NO_VALUE;
    if (!shape || !elements)
        return artel__graph_refuse(g, ARTEL_ERROR_INVALID, "constant", "give both",
                                   "the shape or the elements are NULL");
    if (!artel__computes_with(dtype) && dtype != ARTEL_DTYPE_STRING)
        return artel__graph_refuse(g, ARTEL_ERROR_UNSUPPORTED, "constant",
                                   "use float32, float64, int32, int64, bool or string", "a constant of %s",
                                   artel_dtype_name(dtype));
    if (shape->rank < 0 || shape->rank > ARTEL_MAX_RANK || artel_shape_count(shape) < 0)
        return artel__graph_refuse(g, ARTEL_ERROR_INVALID, "constant", "use 0 to 8 axes", "this shape is none");
    if (dtype == ARTEL_DTYPE_STRING) return artel__graph_text.constant(g, shape, elements);
    artel__value_id value = artel__op_constant(g->graph, dtype, shape, elements);
    if (value < 0) return ARTEL_NO_VALUE;
    const artel__constant_attributes *made = g->graph->node[g->graph->value[value].node].attributes;
    artel__tape_entry *entry = artel__tape_begin(
        g, &(artel__tape_entry){.kind = ARTEL__TAPE_CONSTANT, .dtype = dtype, .shape = *shape, .elements = made->data},
        NULL, 0);
    return artel__tape_gave(g, entry, artel__graph_give(g, value));
}

artel_value artel_graph_number(artel_graph *g, double number)
{
    artel_shape scalar = {.rank = 0};
    float value = (float)number;
    if (!g || g->graph->status < 0) return ARTEL_NO_VALUE;
    if (number == (double)value || number != number)
        return artel_graph_constant(g, ARTEL_DTYPE_FLOAT32, &scalar, &value);
    artel__value_id made = artel__op_constant_exact(g->graph, number);
    if (made < 0) return ARTEL_NO_VALUE;
    const artel__tape_entry asked = {.kind = ARTEL__TAPE_NUMBER, .number = {number}};
    artel__tape_entry *entry = artel__tape_begin(g, &asked, NULL, 0);
    return artel__tape_gave(g, entry, artel__graph_give(g, made));
}

artel_value artel_graph_variable(artel_graph *g, artel_variable *variable)
{
    if (!g || g->graph->status < 0) return ARTEL_NO_VALUE;
    if (!variable || variable->strategy != g->strategy)
        return artel__graph_refuse(g, ARTEL_ERROR_INVALID, "variable", "use a variable of the strategy that traces",
                                   "the variable is %s",
                                   !g->strategy ? "a strategy's, and this is a part of a model"
                                   : variable   ? "another strategy's"
                                                : "NULL");
    if (variable->words) return artel__graph_text.variable(g, variable);
    const artel__variable *declared = &g->strategy->variables.item[variable->index];
    artel__tape_entry *entry =
        artel__tape_begin(g, &(artel__tape_entry){.kind = ARTEL__TAPE_VARIABLE, .which = variable->index}, NULL, 0);
    return artel__tape_gave(g, entry,
                            artel__graph_give_weights(g, artel__graph_variable(g->graph, variable->index),
                                                      declared->rows, &declared->shape));
}

/* -- random numbers -- */

static bool takes_rows(artel_graph *g, const char *what, artel__value_id value)
{
    if (g->graph->status < 0 || value < 0) return false;
    if (g->graph->value[value].domain == ARTEL__DOMAIN_ROW) return true;
    artel__graph_refuse(g, ARTEL_ERROR_INVALID, what, "give a value with rows", "a shared value, which has no rows");
    return false;
}

artel_value artel_graph_dropout(artel_graph *g, artel_value x, double rate)
{
    artel_shape each = {.rank = 0};
    if (!g || g->graph->status < 0) return ARTEL_NO_VALUE;
    artel__value_id value = artel__graph_take(g, x);
    if (!takes_rows(g, "dropout", value)) return ARTEL_NO_VALUE;
    if (!(rate >= 0 && rate < 1))
        return artel__graph_refuse(g, ARTEL_ERROR_INVALID, "dropout", "give a rate of at least 0 and below 1",
                                   "a rate of %g", rate);
    artel__tape_entry *entry =
        artel__tape_begin(g, &(artel__tape_entry){.kind = ARTEL__TAPE_DROPOUT, .number = {rate}}, &x, 1);
    return artel__tape_gave(g, entry,
                            artel__graph_give(g, rate == 0 ? value : artel__op_dropout(g->graph, value, rate, &each)));
}

artel_value artel_graph_uniform(artel_graph *g, artel_value like, const artel_shape *shape, double low, double high,
                                bool shared)
{
    if (!g || g->graph->status < 0) return ARTEL_NO_VALUE;
    artel__value_id value = artel__graph_take(g, like);
    if (!takes_rows(g, "uniform", value)) return ARTEL_NO_VALUE;
    if (!shape || artel_shape_count(shape) < 0 || !(isfinite(low) && isfinite(high) && low <= high))
        return artel__graph_refuse(g, ARTEL_ERROR_INVALID, "uniform", "give a shape and two finite numbers in order",
                                   "numbers between %g and %g", low, high);
    const artel__tape_entry asked = {
        .kind = ARTEL__TAPE_UNIFORM, .shape = *shape, .number = {low, high}, .flag = shared};
    artel__tape_entry *entry = artel__tape_begin(g, &asked, &like, 1);
    return artel__tape_gave(g, entry,
                            artel__graph_give(g, artel__op_uniform(g->graph, value, low, high, shape, shared)));
}

artel_value artel_graph_normal(artel_graph *g, artel_value like, const artel_shape *shape, double deviation)
{
    if (!g || g->graph->status < 0) return ARTEL_NO_VALUE;
    artel__value_id value = artel__graph_take(g, like);
    if (!takes_rows(g, "normal", value)) return ARTEL_NO_VALUE;
    if (!shape || artel_shape_count(shape) < 0 || !(isfinite(deviation) && deviation >= 0))
        return artel__graph_refuse(g, ARTEL_ERROR_INVALID, "normal", "give a shape and a deviation of at least 0",
                                   "a deviation of %g", deviation);
    const artel__tape_entry asked = {.kind = ARTEL__TAPE_NORMAL, .shape = *shape, .number = {deviation}};
    artel__tape_entry *entry = artel__tape_begin(g, &asked, &like, 1);
    artel__value_id zeros = artel__op_uniform(g->graph, value, 0, 0, shape, false);
    return artel__tape_gave(g, entry, artel__graph_give(g, artel__op_gaussian_noise(g->graph, zeros, deviation)));
}

/* -- across rows -- */

/* One number of the sum of all scalars (0) and how many there are (1), which are float64, as a scalar. */
static artel__value_id part_of(artel__graph *graph, artel__value_id pair, int which, artel_dtype dtype)
{
    artel_shape scalar = {.rank = 0};
    return artel__op_reshape(graph, artel__op_cast(graph, artel__op_slice(graph, pair, 0, which, 1, 1), dtype),
                             &scalar);
}

/* How many rows there are, as a scalar of their type. */
static artel__value_id count_rows(artel__graph *graph, artel__value_id rows)
{
    artel_dtype dtype = graph->value[rows].dtype;
    uint32_t axes = (1u << graph->value[rows].shape.rank) - 1;
    artel__value_id one = artel__op_cast(graph, artel__op_fill_like(graph, rows, 1), ARTEL_DTYPE_FLOAT32);
    if (axes) one = artel__op_reduce(graph, ARTEL__REDUCE_MAX, one, axes, false);
    return part_of(graph, artel__op_all_reduce(graph, artel__op_fold_weighted(graph, one, ARTEL__NO_VALUE)), 1, dtype);
}

static artel__value_id reduce_rows(artel__graph *graph, artel__value_id rows, bool mean)
{
    artel__value_id value;
    if (graph->status < 0) return ARTEL__NO_VALUE;
    bool wide = graph->value[rows].dtype == ARTEL_DTYPE_FLOAT64;
    if (graph->value[rows].shape.rank == 0 && !wide)
        value = part_of(graph, artel__op_all_reduce(graph, artel__op_fold_weighted(graph, rows, ARTEL__NO_VALUE)), 0,
                        ARTEL_DTYPE_FLOAT32);
    else
        value = artel__op_all_reduce(graph, artel__op_fold_sum(graph, rows));
    if (!mean) return artel__op_batch_sum(graph, value, rows);
    return artel__op_batch_mean(graph, artel__op_binary(graph, ARTEL__BINARY_DIV, value, count_rows(graph, rows)),
                                rows);
}

static artel__value_id extreme(artel__graph *graph, artel__value_id rows, bool least)
{
    if (!least) return artel__op_batch_max(graph, rows);
    return artel__op_unary(graph, ARTEL__UNARY_NEG, NULL,
                           artel__op_batch_max(graph, artel__op_unary(graph, ARTEL__UNARY_NEG, NULL, rows)));
}

/* What holds 16-bit numbers, as any float32. */
static artel__value_id as_float32(artel__graph *graph, artel__value_id value)
{
    if (graph->status < 0 || !graph->value[value].precision) return value;
    artel_dtype outer = graph->precision;
    graph->precision = ARTEL_DTYPE_FLOAT32;
    value = artel__op_unary(graph, ARTEL__UNARY_LINEAR, NULL, value);
    graph->precision = outer;
    return value;
}

/* The largest or least number of int64: of the high halves, and of the low halves of those that have it. */
static artel__value_id extreme_long(artel__graph *graph, const artel__value_id *half, bool least)
{
    artel__value_id high = extreme(graph, half[0], least);
    artel__value_id last = artel__op_compare(graph, ARTEL__COMPARE_EQUAL, half[0], high);
    const double none = least ? 4294967296.0 : -1;
    artel__value_id other = artel__op_constant(graph, ARTEL_DTYPE_FLOAT64, &(artel_shape){0}, &none);
    return artel__whole_join(graph, high, extreme(graph, artel__op_where(graph, last, half[1], other), least));
}

/* A mean is no whole number: float64. */
static artel__value_id reduce_long(artel__graph *graph, artel_reduction reduction, artel__value_id rows)
{
    artel__value_id half[2];
    if (reduction == ARTEL_REDUCTION_MEAN)
        return reduce_rows(graph, artel__op_cast(graph, rows, ARTEL_DTYPE_FLOAT64), true);
    artel__whole_split(graph, rows, half);
    if (reduction != ARTEL_REDUCTION_SUM) return extreme_long(graph, half, reduction == ARTEL_REDUCTION_MIN);
    for (int i = 0; i < 2; i++) half[i] = reduce_rows(graph, half[i], false);
    return artel__whole_join(graph, half[0], half[1]);
}

artel_value artel_graph_reduce(artel_graph *g, artel_reduction reduction, artel_value rows)
{
    if (!g || g->graph->status < 0) return ARTEL_NO_VALUE;
    artel__value_id value = artel__graph_take(g, rows);
    if (!takes_rows(g, "reduce", value)) return ARTEL_NO_VALUE;
    if (reduction == ARTEL_REDUCTION_PRODUCT || reduction < ARTEL_REDUCTION_SUM || reduction > ARTEL_REDUCTION_PRODUCT)
        return artel__graph_refuse(g, ARTEL_ERROR_UNSUPPORTED, "reduce", "return the rows and reduce them outside",
                                   "rows have sums, means, minima and maxima, but no products");
    artel__tape_entry *entry =
        artel__tape_begin(g, &(artel__tape_entry){.kind = ARTEL__TAPE_REDUCE, .which = (int)reduction}, &rows, 1);
    if (g->graph->value[value].dtype == ARTEL_DTYPE_INT64)
        return artel__tape_gave(g, entry, artel__graph_give(g, reduce_long(g->graph, reduction, value)));
    if (g->graph->value[value].dtype > ARTEL_DTYPE_FLOAT64)
        value = artel__op_cast(g->graph, value, ARTEL_DTYPE_FLOAT32);
    value = as_float32(g->graph, value);
    bool sums = reduction == ARTEL_REDUCTION_SUM || reduction == ARTEL_REDUCTION_MEAN;
    artel__value_id reduced = sums ? reduce_rows(g->graph, value, reduction == ARTEL_REDUCTION_MEAN)
                                   : extreme(g->graph, value, reduction == ARTEL_REDUCTION_MIN);
    return artel__tape_gave(g, entry, artel__graph_give(g, reduced));
}

/* Truth values travel as whole numbers. */
static artel__value_id gather_rows(artel__graph *graph, artel__value_id rows)
{
    artel_dtype dtype = graph->value[rows].dtype;
    if (dtype != ARTEL_DTYPE_BOOL) return artel__op_all_rows(graph, as_float32(graph, rows));
    return artel__op_cast(graph, artel__op_all_rows(graph, artel__op_cast(graph, rows, ARTEL_DTYPE_INT32)), dtype);
}

artel_value artel_graph_gather(artel_graph *g, artel_value rows)
{
    if (!g || g->graph->status < 0) return ARTEL_NO_VALUE;
    if (artel__texts_is(g, rows)) return artel__graph_text.gather(g, rows);
    artel__value_id value = artel__graph_take(g, rows);
    if (!takes_rows(g, "gather", value)) return ARTEL_NO_VALUE;
    if (!g->strategy) /* a model is built before anybody knows how large batches are */
        return artel__graph_refuse(g, ARTEL_ERROR_UNSUPPORTED, "gather", "gather rows in a function of a strategy",
                                   "a part of a model gathers no rows");
    if (g->graph->value[value].shape.rank == ARTEL_MAX_RANK)
        return artel__graph_refuse(g, ARTEL_ERROR_UNSUPPORTED, "gather", "reshape its rows",
                                   "rows of %d axes, to which the batch is one more", ARTEL_MAX_RANK);
    artel__tape_entry *entry = artel__tape_begin(g, &(artel__tape_entry){.kind = ARTEL__TAPE_GATHER}, &rows, 1);
    return artel__tape_gave(g, entry, artel__graph_give(g, gather_rows(g->graph, value)));
}
