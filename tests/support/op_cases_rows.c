/* SPDX-License-Identifier: Apache-2.0 */
/* Small graphs of operations: functions of rows behind what a graph has computed. See op_cases.h. */
#include <string.h>

#include "op/elementwise.h"
#include "op/row_function.h"
#include "support/op_cases.h"
#include "text/functions.h"

static artel__value_id discretized(op_graph *g)
{
    static const float boundary[] = {-0.5f, 0.1f, 0.4f};
    static const artel__discretize settings = {
        boundary, 3, {.mode = ARTEL__ENCODE_COUNT, .depth = 4, .dtype = ARTEL_DTYPE_FLOAT32}};
    artel__value_id x = op_row(g, OP_SIGNED, SHAPE(5)), y = op_row(g, OP_SIGNED, SHAPE(4));
    return artel__op_add(&g->graph, artel__op_row_function(&g->graph, &artel__discretize_function, &settings, &x, 1),
                         y);
}

/* Integers of 1 to 19 digits and of both signs; 0 among them. */
static artel__value_id many_digits(op_graph *g)
{
    float power[20] = {0};
    for (int i = 1; i < 20; i++) power[i] = (i > 1 ? power[i - 1] : 0.9f) * 9.7f;
    artel__value_id scale = artel__op_constant(&g->graph, ARTEL_DTYPE_FLOAT32, &SHAPE(20), power);
    artel__value_id x = artel__op_binary(&g->graph, ARTEL__BINARY_MUL, op_row(g, OP_SIGNED, SHAPE(20)), scale);
    return artel__op_cast(&g->graph, x, ARTEL_DTYPE_INT64);
}

static artel__value_id as_number(op_graph *g, artel__value_id y)
{
    return artel__op_cast(&g->graph, y, ARTEL_DTYPE_FLOAT32);
}

static const artel__encoding as_places = {.mode = ARTEL__ENCODE_INT, .dtype = ARTEL_DTYPE_INT32};

static artel__encoding in_turn(int turn, int64_t depth)
{
    static const float weights[] = {0.5f, 2, 1, 0.25f, 3, 1.5f, 0.75f};
    static const artel__encoding_mode mode[] = {ARTEL__ENCODE_INT, ARTEL__ENCODE_ONE_HOT, ARTEL__ENCODE_MULTI_HOT,
                                                ARTEL__ENCODE_COUNT, ARTEL__ENCODE_TF_IDF};
    if (turn == 0) return as_places;
    return (artel__encoding){.mode = mode[turn], .depth = depth, .dtype = ARTEL_DTYPE_FLOAT32, .weights = weights};
}

static artel__value_id hashed(op_graph *g)
{
    static const artel__hashing settings[] = {
        {.bins = 997, .encoding = {.mode = ARTEL__ENCODE_INT, .dtype = ARTEL_DTYPE_INT32}},
        {.bins = 997, .salted = true, .salt = {3, 1234567890123}, .encoding = {.dtype = ARTEL_DTYPE_INT32}},
        {.bins = 5, .masked = true, .encoding = {.mode = ARTEL__ENCODE_COUNT, .depth = 5, .dtype = ARTEL_DTYPE_INT32}},
        {.bins = 1, .masked = true, .encoding = {.dtype = ARTEL_DTYPE_INT32}},
    };
    artel__value_id x = many_digits(g);
    return as_number(g, artel__op_row_function(&g->graph, &artel__hashing_function, &settings[g->parameter], &x, 1));
}

/* With something that is the same for all rows. */
static artel__value_id crossed(op_graph *g)
{
    static const artel__crossing settings = {.bins = 997, .encoding = {.dtype = ARTEL_DTYPE_INT32}};
    const int32_t same = -7;
    artel__value_id in[] = {op_indices(g, 9, SHAPE(1)), op_indices(g, 5, SHAPE(1)),
                            artel__op_constant(&g->graph, ARTEL_DTYPE_INT32, &SHAPE(1), &same)};
    return as_number(g, artel__op_row_function(&g->graph, &artel__crossing_function, &settings, in, 3));
}

static artel__value_id categories(op_graph *g)
{
    static const artel__categories settings = {{.mode = ARTEL__ENCODE_COUNT, .depth = 6, .dtype = ARTEL_DTYPE_FLOAT32}};
    artel__value_id in[] = {op_indices(g, 8, SHAPE(4, 3)), op_row(g, OP_SIGNED, SHAPE(4, 3))};
    return artel__op_row_function(&g->graph, &artel__categories_function, &settings, in, 2);
}

/* Modes of the result, then places for unknown terms in all their forms, a vocabulary without terms, and backwards. */
static artel__value_id looked_up(op_graph *g)
{
    int64_t *term = artel__arena_alloc(&g->arena, 5, sizeof *term), repeated;
    artel__table *table = artel__arena_alloc(&g->arena, 1, sizeof *table);
    artel__lookup *s = artel__arena_alloc(&g->arena, 1, sizeof *s);
    int p = g->parameter, unknown = p < 5 ? 1 : p - 5;
    memcpy(term, (int64_t[]){7, -3, 1, 900, 4}, 5 * sizeof *term);
    assert_int_equal(artel__table_integers(&g->arena, term, unknown == 4 ? 0 : 5, table, &repeated), ARTEL_OK);
    *s = (artel__lookup){.table = table,
                         .inverse = unknown == 5,
                         .oov = unknown == 0  ? 0
                                : unknown < 2 ? 1
                                              : 3,
                         .masked = unknown != 4,
                         .mask_integer = unknown ? 2 : 0,
                         .oov_integer = -1,
                         .fingerprints = unknown == 3,
                         .encoding = in_turn(p < 5 ? p : 0, 7)};
    s->first_oov = s->masked && s->encoding.mode == ARTEL__ENCODE_INT;
    artel__value_id x = unknown == 3 ? many_digits(g) : op_indices(g, 9, SHAPE(3, 2));
    if (unknown == 0) /* 0 and 1: the mask, and a term */
        x = artel__op_cast(&g->graph, artel__op_compare_scalar(&g->graph, ARTEL__COMPARE_LESS, as_number(g, x), 4),
                           ARTEL_DTYPE_INT32);
    return as_number(g, artel__op_row_function(&g->graph, &artel__lookup_function, s, &x, 1));
}

const op_family op_cases_rows[] = {
    {{.name = "discretized", .build = discretized}, 1},
    {{.name = "hashed", .build = hashed, .bits_only = true}, 4},
    {{.name = "crossed", .build = crossed, .bits_only = true}, 1},
    {{.name = "categories", .build = categories, .bits_only = true}, 1},
    {{.name = "looked up", .build = looked_up, .bits_only = true}, 11},
    {.count = 0},
};
