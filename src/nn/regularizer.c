/* SPDX-License-Identifier: Apache-2.0 */
/* Weight regularisers: L1, L2 and both, and that of orthogonal rows or columns, as keras.regularizers writes them.
 *
 * Orthogonal: with X' the rows of X divided by their norms (by 1e-7 where that is less) and P = X' X'^T without its
 * diagonal, n of them, penalty = c sum |P|, c = factor / (n (n - 1)),   dX' = 2 c sign(P) X',   dX = (dX' - X' (rows of
 * dX' . X')) / norm After keras/src/regularizers/regularizers.py. Of an activity X has the rows of the global batch,
 * and each adds its part of the penalty, over the rows, to its loss.
 */
#include <string.h>

#include "nn/activity.h"
#include "nn/record.h"
#include "op/all_rows.h"
#include "op/batch_rows.h"
#include "op/elementwise.h"
#include "op/optimize.h"
#include "op/reduce.h"
#include "op/shape_ops.h"

typedef struct regularizer_def {
    const char *class_name;
    const char *names[3];
    const artel__option *options;
} regularizer_def;

#define FACTOR(key, fallback)                                                                                       \
    {                                                                                                               \
#key, "a number, not negative", ARTEL__OPTION_FLOAT, offsetof(artel__regularizer, key), fallback, 0, 1e300, \
            NULL                                                                                                    \
    }
#define END          \
    {                \
        .name = NULL \
    }

typedef struct orthogonal_config {
    double factor;
    int mode;
} orthogonal_config;
static const char *const modes[] = {"rows", "columns", NULL};
static const artel__option orthogonal_options[] = {
    {"factor", "a number, not negative", ARTEL__OPTION_FLOAT, offsetof(orthogonal_config, factor), "0.01", 0, 1e300,
     NULL},
    {"mode", "which are to be orthogonal", ARTEL__OPTION_ENUM, offsetof(orthogonal_config, mode), "rows", 0, 0, modes},
    END};

static const artel__option l1_options[] = {FACTOR(l1, "0.01"), END};
static const artel__option l2_options[] = {FACTOR(l2, "0.01"), END};
static const artel__option both_options[] = {FACTOR(l1, "0.0"), FACTOR(l2, "0.0"), END};

static const regularizer_def table[] = {
    {"L1", {"l1"}, l1_options},
    {"L2", {"l2"}, l2_options},
    {"L1L2", {"l1l2", "l1_l2"}, both_options},
};

static const char *const names[] = {"L1", "L2", "L1L2", "OrthogonalRegularizer", "l1", "l2", "l1_l2", NULL};

static artel_status read_orthogonal(artel__arena *arena, const char *where, json_t *json, artel__regularizer *out)
{
    orthogonal_config config = {0};
    ARTEL_TRY(artel__record_options(arena, where, orthogonal_options, json, &config));
    *out = (artel__regularizer){.orthogonal = config.factor, .columns = config.mode == 1};
    return ARTEL_OK;
}

artel_status artel__regularizer_read(artel__arena *arena, const char *where, json_t *json, artel__regularizer *out)
{
    *out = (artel__regularizer){0};
    if (!json || json_is_null(json)) return ARTEL_OK;
    artel__record record;
    ARTEL_TRY(artel__record_parse(arena->ctx, where, "regulariser", json, &record));
    for (size_t i = 0; i < ARTEL__COUNT(table); i++) {
        if (strcmp(table[i].class_name, record.name) == 0 || artel__name_in(record.name, table[i].names))
            return artel__record_options(arena, where, table[i].options, record.config, out);
    }
    if (artel__name_in(record.name, (const char *const[]){"OrthogonalRegularizer", "orthogonal_regularizer", NULL}))
        return read_orthogonal(arena, where, record.config, out);
    return artel__record_unknown(arena->ctx, where, "regulariser", record.name, names, "docs/initializers.md");
}

/* -- in a graph -- */

static artel__value_id times(artel__graph *graph, artel__value_id a, artel__value_id b)
{
    return artel__op_binary(graph, ARTEL__BINARY_MUL, a, b);
}

static artel__value_id turned(artel__graph *graph, artel__value_id x)
{
    return artel__op_transpose(graph, x, (int[]){1, 0});
}

/* a [m][k] times b [k][n]. */
static artel__value_id product(artel__graph *graph, artel__value_id a, artel__value_id b)
{
    if (graph->status < 0) return ARTEL__NO_VALUE;
    artel_shape columns = artel__shape(1, graph->value[b].shape.dim[1]);
    return artel__op_product(graph, a, artel__op_panels(graph, b), ARTEL__NO_VALUE, 1, &columns, ARTEL__FUSED_NONE);
}

typedef struct lines {
    artel__value_id unit, inverse, cosine; /* X' [n][k], 1 / norm [n][1], P [n][n] */
    int64_t rows;                          /* of the panels of the variable */
    double scale;                          /* c */
} lines;

/* False where the graph has failed. */
static bool make_lines(artel__graph *graph, const artel__regularizer *r, artel__value_id variable, lines *out)
{
    if (graph->status < 0) return false;
    const float least[3] = {0, 1e7f, 0};
    const artel__value *value = &graph->value[variable];
    if (value->shape.rank != 2) {
        graph->status = artel__fail(artel__graph_context(graph), ARTEL_ERROR_INVALID, graph->scope,
                                    "use it for matrices, as Keras does",
                                    "OrthogonalRegularizer: the weight has %d axes", value->shape.rank);
        return false;
    }
    out->rows = graph->variables->item[value->variable].rows;
    artel__value_id x = artel__op_plain(graph, variable, out->rows);
    if (r->columns) x = turned(graph, x);
    artel__value_id squares =
        artel__op_reduce(graph, ARTEL__REDUCE_SUM, artel__op_unary(graph, ARTEL__UNARY_SQUARE, NULL, x), 2, true);
    out->inverse =
        artel__op_unary(graph, ARTEL__UNARY_CLIP, least, artel__op_unary(graph, ARTEL__UNARY_RSQRT, NULL, squares));
    out->unit = times(graph, x, out->inverse);
    artel__value_id all = product(graph, out->unit, turned(graph, out->unit));
    if (graph->status < 0) return false;
    int64_t n = graph->value[all].shape.dim[0];
    float *others = artel__arena_alloc(graph->arena, (size_t)(n * n), sizeof *others);
    if (!others) graph->status = ARTEL_ERROR_NO_MEMORY;
    for (int64_t i = 0; others && i < n * n; i++) others[i] = i / n == i % n ? 0.0f : 1.0f;
    if (others)
        out->cosine =
            times(graph, all, artel__op_constant(graph, ARTEL_DTYPE_FLOAT32, &graph->value[all].shape, others));
    out->scale = n > 1 ? r->orthogonal / ((double)n * ((double)n - 1)) : 0;
    return graph->status == ARTEL_OK;
}

static artel__value_id orthogonal_penalty(artel__graph *graph, const artel__regularizer *r, artel__value_id variable)
{
    lines l;
    if (!make_lines(graph, r, variable, &l)) return ARTEL__NO_VALUE;
    artel__value_id size = artel__op_absolute_norm(graph, l.cosine);
    return artel__op_norm_scaled(graph, size, l.scale);
}

artel__value_id artel__regularizer_penalty(artel__graph *graph, const artel__regularizer *regularizer,
                                           artel__value_id variable)
{
    if (regularizer->orthogonal != 0) return orthogonal_penalty(graph, regularizer, variable);
    return artel__op_penalty(graph, variable, regularizer->l1, regularizer->l2);
}

static artel__value_id orthogonal_gradient(artel__graph *graph, const artel__regularizer *r, artel__value_id variable)
{
    lines l;
    if (!make_lines(graph, r, variable, &l)) return ARTEL__NO_VALUE;
    artel__value_id way = product(graph, artel__op_unary(graph, ARTEL__UNARY_SIGN, NULL, l.cosine), l.unit);
    way = artel__op_affine(graph, way, (float)(2 * l.scale), 0);
    artel__value_id along = artel__op_reduce(graph, ARTEL__REDUCE_SUM, times(graph, way, l.unit), 2, true);
    artel__value_id dx =
        times(graph, artel__op_binary(graph, ARTEL__BINARY_SUB, way, times(graph, l.unit, along)), l.inverse);
    if (r->columns) dx = turned(graph, dx);
    bool panels = graph->status == ARTEL_OK && graph->value[variable].layout == ARTEL__LAYOUT_PANELS;
    return panels ? artel__op_panels_of(graph, dx, l.rows) : dx;
}

artel__value_id artel__regularizer_gradient(artel__graph *graph, const artel__regularizer *regularizer,
                                            artel__value_id gradient, artel__value_id variable)
{
    if (regularizer->orthogonal != 0) {
        artel__value_id own = orthogonal_gradient(graph, regularizer, variable);
        return gradient < 0 ? own : artel__op_add(graph, gradient, own);
    }
    if (gradient < 0) gradient = artel__op_fill_like(graph, variable, 0);
    return artel__op_regularise(graph, gradient, variable, regularizer->l1, regularizer->l2);
}

/* -- of activities -- */

static artel__value_id over_axes(artel__graph *graph, artel__value_id x, uint32_t axes)
{
    return artel__op_reduce(graph, ARTEL__REDUCE_SUM, x, axes, false);
}

/* Of the root of `squares`, at most 1e7. */
static artel__value_id inverse_root(artel__graph *graph, artel__value_id squares)
{
    const float least[3] = {0, 1e7f, 0};
    return artel__op_unary(graph, ARTEL__UNARY_CLIP, least, artel__op_unary(graph, ARTEL__UNARY_RSQRT, NULL, squares));
}

/* 0 on the diagonal of [n][n], else 1; of the dtype of `like`. */
static artel__value_id others_than_own(artel__graph *graph, int64_t n, artel__value_id like)
{
    artel_shape shape = artel__shape(2, n, n);
    float *others = artel__arena_alloc(graph->arena, (size_t)(n * n), sizeof *others);
    if (!others) graph->status = ARTEL_ERROR_NO_MEMORY;
    if (graph->status < 0) return ARTEL__NO_VALUE;
    for (int64_t i = 0; i < n * n; i++) others[i] = i / n == i % n ? 0.0f : 1.0f;
    artel__value_id value = artel__op_constant(graph, ARTEL_DTYPE_FLOAT32, &shape, others);
    return artel__op_cast(graph, value, graph->value[like].dtype);
}

/* P of the columns is one number of the whole batch; each row has its part of it. */
static artel__value_id columns_apart(artel__graph *graph, const artel__regularizer *r, artel__value_id x)
{
    int64_t k = graph->value[x].shape.dim[0];
    artel_shape down = artel__shape(2, k, (int64_t)1), across = artel__shape(2, (int64_t)1, k);
    artel__value_id squares = artel__op_batch_sums(graph, artel__op_unary(graph, ARTEL__UNARY_SQUARE, NULL, x));
    artel__value_id unit = times(graph, x, inverse_root(graph, squares));
    artel__value_id column = artel__op_reshape(graph, unit, &down), row = artel__op_reshape(graph, unit, &across);
    artel__value_id all = artel__op_batch_sums(graph, times(graph, column, row));
    if (graph->status < 0) return ARTEL__NO_VALUE;
    artel__value_id cosine = times(graph, all, others_than_own(graph, k, all));
    artel__value_id sum = over_axes(graph, artel__op_unary(graph, ARTEL__UNARY_ABS, NULL, cosine), 3);
    sum = artel__op_affine(graph, sum, k > 1 ? r->orthogonal / ((double)k * ((double)k - 1)) : 0, 0);
    artel__value_id nothing = artel__op_fill_like(graph, over_axes(graph, x, 1), 0);
    artel__value_id rows = artel__op_batch_sums(graph, artel__op_affine(graph, nothing, 0, 1));
    return artel__op_add(graph, nothing, artel__op_binary(graph, ARTEL__BINARY_DIV, sum, rows));
}

/* The sum of |cosine| of a row with all others. The other rows count as numbers; since each pair is met from both of
 * its rows, a row's gradient is twice that of its own sum. */
static artel__value_id rows_apart(artel__graph *graph, const artel__regularizer *r, artel__value_id x)
{
    artel__value_id squares = over_axes(graph, artel__op_unary(graph, ARTEL__UNARY_SQUARE, NULL, x), 1);
    if (graph->status < 0 || graph->batch_size < 1) return ARTEL__NO_VALUE;
    bool wide = graph->value[x].dtype == ARTEL_DTYPE_FLOAT64;
    artel__value_id inverse = inverse_root(graph, squares);
    artel_shape one = artel__shape(1, (int64_t)1);
    artel__value_id unit = times(graph, x, artel__op_reshape(graph, inverse, &one));
    artel__value_id given = artel__op_stop_gradient(graph, unit);
    artel__value_id others = turned(graph, artel__op_all_rows(graph, given));
    if (graph->status < 0) return ARTEL__NO_VALUE;
    artel_shape columns = artel__shape(1, graph->value[others].shape.dim[1]);
    artel__value_id cosine = artel__op_product(graph, unit, wide ? others : artel__op_panels(graph, others),
                                               ARTEL__NO_VALUE, 1, &columns, ARTEL__FUSED_NONE);
    artel__value_id sum = over_axes(graph, artel__op_unary(graph, ARTEL__UNARY_ABS, NULL, cosine), 1);
    sum = artel__op_binary(graph, ARTEL__BINARY_SUB, sum, over_axes(graph, times(graph, unit, given), 1));
    artel__value_id rows = artel__op_batch_sums(graph, artel__op_fill_like(graph, squares, 1));
    artel__value_id pairs = times(graph, rows, artel__op_affine(graph, rows, 1, -1));
    pairs = artel__op_binary(graph, ARTEL__BINARY_MAX, pairs, artel__op_fill_like(graph, pairs, 1));
    sum = artel__op_binary(graph, ARTEL__BINARY_DIV, artel__op_affine(graph, sum, r->orthogonal, 0), pairs);
    artel__value_id twice = artel__op_affine(graph, sum, 2, 0), once = artel__op_stop_gradient(graph, sum);
    return artel__op_binary(graph, ARTEL__BINARY_SUB, twice, once);
}

artel__value_id artel__regularizer_activity(artel__graph *graph, const artel__regularizer *regularizer,
                                            artel__value_id x)
{
    if (graph->status < 0) return ARTEL__NO_VALUE;
    if (graph->value[x].shape.rank == 1)
        return regularizer->columns ? columns_apart(graph, regularizer, x) : rows_apart(graph, regularizer, x);
    graph->status = artel__fail(artel__graph_context(graph), ARTEL_ERROR_INVALID, graph->scope,
                                "use it for matrices, as Keras does", "OrthogonalRegularizer: the activity has %d axes",
                                graph->value[x].shape.rank + 1);
    return ARTEL__NO_VALUE;
}
