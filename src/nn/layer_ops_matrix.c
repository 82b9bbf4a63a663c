/* SPDX-License-Identifier: Apache-2.0 */
/* Keras' raw operations on small matrices: solutions, inverses, determinants, Cholesky's factor; and norms of vectors
 * and matrices. See layer_ops.h and op/matrix.h. Eigenvalues, singular values and QR: layer_ops_decompose.c.
 */
#include <math.h>
#include <string.h>

#include "nn/layer_ops_formula.h"
#include "op/matrix.h"
#include "op/reduce.h"
#include "op/shape_ops.h"

/* Square matrices in the last two axes of the n-th argument. */
static artel_status read_matrix(const artel__layer *layer, const artel__call *call, int n, artel__value_id *x)
{
    artel__graph *graph = call->graph;
    ARTEL_TRY(artel__raw_operand(layer, call, artel__raw_argument(call, n), x));
    *x = artel__as_float(graph, *x);
    ARTEL_TRY(graph->status);
    const artel_shape *shape = &graph->value[*x].shape;
    bool square = shape->rank >= 2 && shape->dim[shape->rank - 1] == shape->dim[shape->rank - 2];
    return square ? ARTEL_OK : artel__raw_refuse(layer, "anything but square matrices behind the batch");
}

static artel_status one_matrix(const artel__layer *layer, const artel__call *call, artel__value_id *x)
{
    ARTEL_TRY(read_matrix(layer, call, 0, x));
    if (call->shared || call->graph->value[*x].domain == ARTEL__DOMAIN_ROW) return ARTEL_OK;
    return artel__raw_refuse(layer, "a constant as its first argument");
}

static artel__value_id transposed(artel__graph *graph, artel__value_id x)
{
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    int axes[ARTEL_MAX_RANK], rank = graph->value[x].shape.rank;
    for (int i = 0; i < rank; i++) axes[i] = i < rank - 2 ? i : 2 * rank - 3 - i;
    return artel__op_transpose(graph, x, axes);
}

artel_status artel__raw_inv(artel__layer *layer, artel__call *call)
{
    artel__value_id x;
    ARTEL_TRY(one_matrix(layer, call, &x));
    artel__call_return(call, artel__op_matrix(call->graph, ARTEL__MATRIX_INVERSE, x, ARTEL__NO_VALUE));
    return call->graph->status;
}

artel_status artel__raw_det(artel__layer *layer, artel__call *call)
{
    artel__value_id x;
    ARTEL_TRY(one_matrix(layer, call, &x));
    artel__call_return(call, artel__op_matrix(call->graph, ARTEL__MATRIX_DETERMINANT, x, ARTEL__NO_VALUE));
    return call->graph->status;
}

/* The sign, and the logarithm of the magnitude. */
artel_status artel__raw_slogdet(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__value_id x;
    ARTEL_TRY(one_matrix(layer, call, &x));
    x = artel__op_matrix(graph, ARTEL__MATRIX_DETERMINANT, x, ARTEL__NO_VALUE);
    call->out[0] = (artel__tensor){unary(graph, ARTEL__UNARY_SIGN, x), ARTEL__NO_VALUE};
    call->out[1] = (artel__tensor){unary(graph, ARTEL__UNARY_LOG, unary(graph, ARTEL__UNARY_ABS, x)), ARTEL__NO_VALUE};
    call->outputs = 2;
    return graph->status;
}

artel_status artel__raw_cholesky(artel__layer *layer, artel__call *call)
{
    artel__value_id x;
    ARTEL_TRY(one_matrix(layer, call, &x));
    x = artel__op_matrix(call->graph, ARTEL__MATRIX_CHOLESKY, x, ARTEL__NO_VALUE);
    artel__call_return(call,
                       json_is_true(artel__raw_setting(layer, call, "upper", 0)) ? transposed(call->graph, x) : x);
    return call->graph->status;
}

/* Twice the sum of the logarithms of the factor's diagonal: of symmetric, positive definite matrices, as in TensorFlow.
 */
artel_status artel__raw_logdet(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__value_id x;
    ARTEL_TRY(one_matrix(layer, call, &x));
    artel_shape shape = graph->value[x].shape;
    int64_t n = shape.dim[shape.rank - 1];
    shape.rank--;
    shape.dim[shape.rank - 1] = n * n;
    x = artel__op_reshape(graph, artel__op_matrix(graph, ARTEL__MATRIX_CHOLESKY, x, ARTEL__NO_VALUE), &shape);
    x = unary(graph, ARTEL__UNARY_LOG, artel__op_slice(graph, x, shape.rank - 1, 0, n, n + 1));
    artel__call_return(call,
                       times(graph, artel__op_reduce(graph, ARTEL__REDUCE_SUM, x, 1u << (shape.rank - 1), false), 2));
    return graph->status;
}

/* a without what a triangular solution does not look at. */
static artel__value_id triangle(artel__graph *graph, artel__value_id a, bool lower)
{
    const artel_shape *in = &graph->value[a].shape;
    int64_t n = in->dim[in->rank - 1];
    artel_shape shape = artel__shape(2, n, n);
    uint8_t *stays = artel__arena_alloc(graph->arena, (size_t)(n * n) + 1, sizeof *stays);
    if (!stays) return ARTEL__NO_VALUE;
    for (int64_t i = 0; i < n * n; i++) stays[i] = lower ? i % n <= i / n : i % n >= i / n;
    return artel__op_where(graph, artel__op_constant(graph, ARTEL_DTYPE_BOOL, &shape, stays), a, ARTEL__NO_VALUE);
}

/* "Solve" and "SolveTriangular": b has one axis less than a for vectors. */
artel_status artel__raw_solve(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__value_id a, b;
    ARTEL_TRY(read_matrix(layer, call, 0, &a));
    ARTEL_TRY(artel__raw_operand(layer, call, artel__raw_argument(call, 1), &b));
    b = artel__as_float(graph, b);
    ARTEL_TRY(graph->status);
    bool a_rows = graph->value[a].domain == ARTEL__DOMAIN_ROW, b_rows = graph->value[b].domain == ARTEL__DOMAIN_ROW;
    artel_shape left = graph->value[a].shape, right = graph->value[b].shape;
    int a_rank = left.rank + a_rows, b_rank = right.rank + b_rows;
    bool vector = b_rank == a_rank - 1;
    bool alike = (a_rows && b_rows) || call->shared;
    if ((!a_rows && !b_rows && !alike) || (alike && left.rank - vector != right.rank) || right.rank < 1 + !vector)
        return artel__raw_refuse(layer, "two sides that do not fit one another");
    if (!alike) { /* a constant has no leading axes, or a batch of one */
        artel__value_id *one = a_rows ? &b : &a;
        ARTEL_TRY(artel__raw_align(layer, graph, one, a_rows ? &a : &b));
        ARTEL_TRY(graph->status);
        left = graph->value[a].shape;
        right = graph->value[b].shape;
    }
    if (right.dim[vector ? right.rank - 1 : right.rank - 2] != left.dim[left.rank - 1])
        return artel__raw_refuse(layer, "two sides that do not fit one another");
    if (strcmp(layer->def->class_name, "ops.SolveTriangular") == 0)
        a = triangle(graph, a, json_is_true(artel__raw_setting(layer, call, "lower", 0)));
    if (vector) {
        right.dim[right.rank++] = 1;
        b = artel__op_reshape(graph, b, &right);
    }
    artel__value_id y = artel__op_matrix(graph, ARTEL__MATRIX_SOLVE, a, b);
    ARTEL_TRY(graph->status);
    artel_shape shape = graph->value[y].shape;
    if (vector) shape.rank--;
    artel__call_return(call, vector ? artel__op_reshape(graph, y, &shape) : y);
    return graph->status;
}

/* The inverse of the matrix that the factor belongs to: a^-T a^-1 of a lower one. */
artel_status artel__raw_cholesky_inverse(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__value_id x;
    ARTEL_TRY(one_matrix(layer, call, &x));
    bool upper = json_is_true(artel__raw_setting(layer, call, "upper", 0));
    artel__value_id inverse =
        artel__op_matrix(graph, ARTEL__MATRIX_INVERSE, triangle(graph, x, !upper), ARTEL__NO_VALUE);
    artel__value_id rows = upper ? inverse : transposed(graph, inverse);
    artel__call_return(call, artel__row_products(graph, rows, rows));
    return graph->status;
}

/* -- norms -- */

static artel__value_id reduced(artel__graph *graph, artel__reduction function, artel__value_id x, uint32_t axes,
                               bool keep)
{
    return artel__op_reduce(graph, function, x, axes, keep);
}

/* (sum |x|^p)^(1 / p), the largest for infinity, the smallest for -infinity, the number of others than 0 for 0. */
static artel__value_id vector_norm(artel__graph *graph, artel__value_id x, double p, uint32_t axes, bool keep)
{
    artel__value_id size = unary(graph, ARTEL__UNARY_ABS, x);
    if (p == INFINITY || p == -INFINITY)
        return reduced(graph, p > 0 ? ARTEL__REDUCE_MAX : ARTEL__REDUCE_MIN, size, axes, keep);
    if (p == 0) size = artel__as_float(graph, above(graph, size, 0));
    if (p == 0 || p == 1) return reduced(graph, ARTEL__REDUCE_SUM, size, axes, keep);
    if (p == 2)
        return unary(graph, ARTEL__UNARY_SQRT,
                     reduced(graph, ARTEL__REDUCE_SUM, unary(graph, ARTEL__UNARY_SQUARE, x), axes, keep));
    artel__value_id power = artel__op_unary_exact(graph, ARTEL__UNARY_POWER, (double[]){p, 0, 0}, size);
    power = reduced(graph, ARTEL__REDUCE_SUM, power, axes, keep);
    return artel__op_unary_exact(graph, ARTEL__UNARY_POWER, (double[]){1 / p, 0, 0}, power);
}

/* The largest or smallest sum of magnitudes of columns (p = 1, -1) or lines (infinity, -infinity); the largest or
 * smallest singular value (2, -2), the sum of all (0). */
static artel__value_id matrix_norm(artel__graph *graph, artel__value_id x, double p, const int axis[2], bool keep)
{
    int along = p == 1 || p == -1 ? 0 : 1;
    artel__reduction end = p == 0 ? ARTEL__REDUCE_SUM : p > 0 ? ARTEL__REDUCE_MAX : ARTEL__REDUCE_MIN;
    artel__value_id y;
    if (p == 0 || p == 2 || p == -2) {
        int permutation[ARTEL_MAX_RANK];
        y = artel__raw_singular_values(graph, artel__axes_last(graph, x, 1u << axis[0] | 1u << axis[1], permutation));
        if (graph->status < 0) return ARTEL__NO_VALUE;
        y = reduced(graph, end, y, 1u << (graph->value[y].shape.rank - 1), false);
    } else {
        artel__value_id sums =
            reduced(graph, ARTEL__REDUCE_SUM, unary(graph, ARTEL__UNARY_ABS, x), 1u << axis[along], true);
        y = reduced(graph, end, sums, 1u << axis[1 - along], true);
    }
    if (graph->status < 0) return ARTEL__NO_VALUE;
    artel_shape in = graph->value[x].shape, out = {.rank = 0};
    for (int i = 0; i < in.rank; i++) {
        bool gone = i == axis[0] || i == axis[1];
        if (!gone || keep) out.dim[out.rank++] = gone ? 1 : in.dim[i];
    }
    return artel__op_reshape(graph, y, &out);
}

artel_status artel__raw_norm(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__value_id x;
    uint32_t axes;
    double p = 2;
    json_t *order = artel__raw_setting(layer, call, "ord", 0), *given = artel__raw_setting(layer, call, "axis", 0);
    ARTEL_TRY(artel__raw_reduction(layer, call, &x, &axes));
    bool keep = artel__raw_keeps_axes(layer, call), number_given = artel__json_number(order, &p);
    int count = artel__bit_count(axes), rank = graph->value[x].shape.rank;
    const char *name = number_given ? NULL : json_string_value(order);
    bool square = !order || (name && (strcmp(name, "fro") == 0 || strcmp(name, "euclidean") == 0));
    if ((count == 1 && number_given) || square) {
        artel__call_return(call, vector_norm(graph, x, square ? 2 : p, axes, keep));
        return graph->status;
    }
    bool all = name && strcmp(name, "nuc") == 0, singular = all || p == 2 || p == -2;
    bool known =
        count == 2 && (all || number_given) && (singular || p == 1 || p == -1 || p == INFINITY || p == -INFINITY);
    if (!known) return artel__raw_refuse(layer, "such an order");
    if (all) p = 0;
    int64_t first = 0, second = 0;
    artel__json_integer(json_array_get(given, 0), &first);
    artel__json_integer(json_array_get(given, 1), &second);
    int axis[2] = {artel__row_axis(first, rank), artel__row_axis(second, rank)};
    artel__call_return(call, matrix_norm(graph, x, p, axis, keep));
    return graph->status;
}

artel_status artel__raw_cdist(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__value_id x[2];
    for (int i = 0; i < 2; i++) {
        ARTEL_TRY(artel__raw_operand(layer, call, artel__raw_argument(call, i), &x[i]));
        x[i] = artel__as_float(graph, x[i]);
    }
    ARTEL_TRY(artel__raw_align(layer, graph, &x[0], &x[1]));
    ARTEL_TRY(artel__raw_align(layer, graph, &x[1], &x[0]));
    ARTEL_TRY(graph->status);
    for (int i = 0; i < 2; i++) {
        artel_shape shape = graph->value[x[i]].shape;
        if (shape.rank < 2 || shape.rank >= ARTEL_MAX_RANK)
            return artel__raw_refuse(layer, "the batch as one of its points");
        int at = i ? shape.rank - 2 : shape.rank - 1; /* [m][1][d] beside [1][n][d] */
        for (int k = shape.rank++; k > at; k--) shape.dim[k] = shape.dim[k - 1];
        shape.dim[at] = 1;
        x[i] = artel__op_reshape(graph, x[i], &shape);
    }
    artel__value_id apart = unary(graph, ARTEL__UNARY_SQUARE, binary(graph, ARTEL__BINARY_SUB, x[0], x[1]));
    ARTEL_TRY(graph->status);
    apart = artel__op_reduce(graph, ARTEL__REDUCE_SUM, apart, 1u << (graph->value[apart].shape.rank - 1), false);
    artel__call_return(call, unary(graph, ARTEL__UNARY_SQRT, apart));
    return graph->status;
}
