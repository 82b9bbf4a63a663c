/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices of slopes: an element of the target at a time, by the calls of artel/graph.h, which is what a saved function
 * holds of it.
 *
 * The target is laid out as one axis; each of its elements is differentiated, and what comes of them is joined along a
 * new axis, which then takes the target's shape. Of rows all of this is by row.
 */
#include <stdio.h>

#include "function/function_impl.h"

enum {
    MOST_ELEMENTS = 4096,
    JOINED = 32, /* inputs of an operation */
    TEXT = 256
};

typedef struct jacobian {
    artel_graph *g;
    artel_value target;
    const artel_value *wanted;
    int count;
    bool rows; /* the target is by row */
    artel_shape shape;
    int64_t elements;
} jacobian;

static bool is_rows(artel_graph *g, artel_value x, artel_shape *shape)
{
    const artel__place *place = artel__graph_place(g, x);
    if (!place) return false;
    *shape = place->shape;
    return g->graph->value[place->value].domain == ARTEL__DOMAIN_ROW;
}

/* x with the axes of `first` and those of `second`, behind the batch where it is by row. */
static artel_value reshaped(artel_graph *g, artel_value x, bool rows, const artel_shape *first,
                            const artel_shape *second)
{
    char text[TEXT];
    int at = snprintf(text, sizeof text, "{\"newshape\": [%s", rows ? "-1" : ""), axes = rows;
    for (int i = 0; i < first->rank + second->rank; i++) {
        int64_t extent = i < first->rank ? first->dim[i] : second->dim[i - first->rank];
        at += snprintf(text + at, sizeof text - (size_t)at, "%s%lld", axes++ ? ", " : "", (long long)extent);
    }
    snprintf(text + at, sizeof text - (size_t)at, "]}");
    return artel_graph_op(g, "reshape", &x, 1, text);
}

static artel_value element(const jacobian *j, artel_value line, int64_t k)
{
    char text[TEXT];
    snprintf(text, sizeof text,
             j->rows ? "{\"start_indices\": [0, %lld], \"shape\": [-1, 1]}"
                     : "{\"start_indices\": [%lld], \"shape\": [1]}",
             (long long)k);
    return artel_graph_op(j->g, "slice", &line, 1, text);
}

/* Joins `count` values along the first axis behind the batch, in place. */
static artel_value joined(artel_graph *g, artel_value *part, int64_t count, bool rows)
{
    while (count > 1) {
        int64_t made = 0;
        for (int64_t i = 0; i < count; i += JOINED) {
            int some = (int)(count - i < JOINED ? count - i : JOINED);
            part[made++] =
                some == 1 ? part[i]
                          : artel_graph_op(g, "concatenate", part + i, some, rows ? "{\"axis\": 1}" : "{\"axis\": 0}");
        }
        count = made;
    }
    return part[0];
}

/* slope[k * count + i]: of element k by wanted[i] */
static artel_value matrix(const jacobian *j, const artel_value *slope, int i)
{
    artel_graph *g = j->g;
    artel_shape shape, one = {.rank = 1, .dim = {1}};
    bool rows = is_rows(g, j->wanted[i], &shape), some = false;
    artel_value *part = artel__arena_alloc(g->graph->arena, (size_t)j->elements + 1, sizeof *part);
    if (!part) g->graph->status = ARTEL_ERROR_NO_MEMORY;
    if (g->graph->status < 0) return ARTEL_NO_VALUE;
    for (int64_t k = 0; k < j->elements; k++) some = some || slope[k * j->count + i] >= 0;
    if (!some) return ARTEL_NO_VALUE;
    for (int64_t k = 0; k < j->elements; k++) {
        artel_value x = slope[k * j->count + i];
        if (x < 0) x = artel_graph_unary(g, "zeros_like", j->wanted[i]);
        part[k] = j->elements > 1 ? reshaped(g, x, rows, &one, &shape) : x; /* one is not joined with others */
    }
    return reshaped(g, joined(g, part, j->elements, rows), rows, &j->shape, &shape);
}

static artel_status check(const jacobian *j)
{
    artel_graph *g = j->g;
    if (j->elements > MOST_ELEMENTS)
        artel__graph_refuse(g, ARTEL_ERROR_UNSUPPORTED, "jacobian", "differentiate a part of it",
                            "a target of %lld elements; there are at most 4,096", (long long)j->elements);
    for (int i = 0; i < j->count && g->graph->status == ARTEL_OK; i++) {
        artel_shape shape;
        bool rows = is_rows(g, j->wanted[i], &shape);
        if (g->graph->status < 0) break;
        if (j->rows && !rows)
            artel__graph_refuse(
                g, ARTEL_ERROR_UNSUPPORTED, "jacobian",
                "reduce the target over rows, or multiply rows of ones by the value and use the product",
                "the target is by row, and what it is differentiated by is shared");
        else if (j->shape.rank + shape.rank + rows > ARTEL_MAX_RANK)
            artel__graph_refuse(g, ARTEL_ERROR_UNSUPPORTED, "jacobian", "reshape one of them",
                                "the axes of target and value together are more than %d", ARTEL_MAX_RANK);
    }
    return g->graph->status;
}

artel_status artel_graph_jacobians(artel_graph *g, artel_value target, const artel_value *wanted, int count,
                                   artel_value *out)
{
    ARTEL_TRY(artel__need(g ? g->ctx : NULL, __func__, "graph", g));
    ARTEL_TRY(g->graph->status);
    if (!wanted || !out || count < 1)
        return artel__graph_refuse(g, ARTEL_ERROR_INVALID, "jacobian",
                                   "name at least one value and room for its matrix", "an argument is missing"),
               g->graph->status;
    jacobian j = {.g = g, .target = target, .wanted = wanted, .count = count};
    j.rows = is_rows(g, target, &j.shape);
    ARTEL_TRY(g->graph->status);
    j.elements = artel_shape_count(&j.shape);
    ARTEL_TRY(check(&j));
    const artel_shape line = {.rank = 1, .dim = {j.elements}}, none = {.rank = 0};
    artel_value flat = reshaped(g, target, j.rows, &line, &none);
    size_t slopes = (size_t)j.elements * (size_t)count;
    artel_value *slope = artel__arena_alloc(g->graph->arena, slopes + (size_t)count + 1, sizeof *slope);
    if (!slope) return g->graph->status = ARTEL_ERROR_NO_MEMORY;
    for (int64_t k = 0; k < j.elements; k++)
        ARTEL_TRY(artel_graph_gradients(g, element(&j, flat, k), wanted, count, slope + k * count));
    for (int i = 0; i < count; i++) slope[slopes + (size_t)i] = matrix(&j, slope, i);
    for (int i = 0; i < count && g->graph->status == ARTEL_OK; i++) out[i] = slope[slopes + (size_t)i];
    return g->graph->status;
}
