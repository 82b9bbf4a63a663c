/* SPDX-License-Identifier: Apache-2.0 */
/* Small graphs of factors of small matrices. */
#include "support/op_cases.h"

#include "op/decompose.h"
#include "op/elementwise.h"

/* With so many lines and columns, and 1, 2, 3 ... on the diagonal: values far from equal. */
static artel__value_id matrices(op_graph *g, int64_t m, int64_t n)
{
    float diagonal[64] = {0};
    artel_shape shape = SHAPE(m, n);
    for (int64_t i = 0; i < m && i < n; i++) diagonal[i * n + i] = (float)(i + 1);
    artel__value_id x = op_row(g, OP_SIGNED, SHAPE(2, m, n));
    return artel__op_add(&g->graph, artel__op_affine(&g->graph, x, 0.3f, 0),
                         artel__op_constant(&g->graph, ARTEL_DTYPE_FLOAT32, &shape, diagonal));
}

static artel__value_id decompose(op_graph *g)
{
    static const struct {
        artel__decomposition function;
        bool whole;
        int m, n, result;
    } rows[] = {
        {ARTEL__DECOMPOSITION_QR, false, 4, 3, 0},        {ARTEL__DECOMPOSITION_QR, false, 4, 3, 1},
        {ARTEL__DECOMPOSITION_QR, false, 3, 5, 0},        {ARTEL__DECOMPOSITION_QR, true, 3, 5, 1},
        {ARTEL__DECOMPOSITION_QR, true, 3, 3, 0},         {ARTEL__DECOMPOSITION_SYMMETRIC, false, 4, 4, 0},
        {ARTEL__DECOMPOSITION_SYMMETRIC, false, 4, 4, 1}, {ARTEL__DECOMPOSITION_SINGULAR, false, 4, 3, 0},
        {ARTEL__DECOMPOSITION_SINGULAR, false, 3, 4, 1},  {ARTEL__DECOMPOSITION_SINGULAR, false, 3, 5, 2},
        {ARTEL__DECOMPOSITION_SINGULAR, false, 5, 3, 2},  {ARTEL__DECOMPOSITION_SINGULAR, true, 4, 3, 0},
        {ARTEL__DECOMPOSITION_SINGULAR, true, 3, 4, 2},   {ARTEL__DECOMPOSITION_SINGULAR, true, 3, 3, 0},
        {ARTEL__DECOMPOSITION_SINGULAR, false, 1, 1, 1},  {ARTEL__DECOMPOSITION_QR, false, 1, 1, 1},
    };
    int i = g->parameter;
    artel__value_id y =
        artel__op_decompose(&g->graph, rows[i].function, rows[i].whole, matrices(g, rows[i].m, rows[i].n));
    return rows[i].result ? artel__graph_output(&g->graph, y, rows[i].result) : y;
}

const op_family op_cases_decompose[] = {
    {{.name = "decompose", .build = decompose, .tolerance = 0.01}, 16},
    {.count = 0},
};
