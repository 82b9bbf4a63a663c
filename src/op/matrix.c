/* SPDX-License-Identifier: Apache-2.0 */
/* Small square matrices: solutions, inverses, determinants, Cholesky's factor.
 *
 *   solve        y = a^-1 b;   db = a^-T dy, da = -db y^T
 *   inverse      y = a^-1;     da = -y^T dy y^T
 *   determinant  y = |a|;      da = dy y a^-T
 *   cholesky     y y^T = a;    da = (s + s^T) / 2 with s = y^-T p y^-1, p the lower triangle of y^T dy with half of its
 * diagonal after tensorflow/python/ops/linalg_grad.py. Numerics: kernel/matrix.h.
 */
#include "op/matrix.h"

#include "kernel/wide.h"
#include "op/formula.h"
#include "op/lower_matrix.h"
#include "op/reduce.h"
#include "op/shape_ops.h"

typedef struct matrix_attributes {
    artel__matrix_function function;
} matrix_attributes;

static bool leads_agree(const artel_shape *a, const artel_shape *b)
{
    bool agree = a->rank == b->rank;
    for (int i = 0; i + 2 < a->rank && agree; i++) agree = a->dim[i] == b->dim[i];
    return agree;
}

static artel_status infer_matrix(artel__infer *infer)
{
    const matrix_attributes *at = infer->attributes;
    const artel__value *a = infer->in[0], *b = infer->in[1], *whole = a;
    artel_shape shape = a->shape;
    int rank = shape.rank;
    bool floats = a->dtype == ARTEL_DTYPE_FLOAT32 || a->dtype == ARTEL_DTYPE_FLOAT64;
    if (!floats || rank < 2 || shape.dim[rank - 1] != shape.dim[rank - 2])
        return artel__op_fail(infer, "expected square matrices of float32 or float64");
    if (at->function == ARTEL__MATRIX_SOLVE) {
        bool fits =
            b && b->dtype == a->dtype && b->shape.rank >= 2 && b->shape.dim[b->shape.rank - 2] == shape.dim[rank - 1];
        if (fits && a->domain == b->domain) fits = leads_agree(&a->shape, &b->shape);
        if (fits && a->domain != b->domain) {
            const artel__value *one = a->domain == ARTEL__DOMAIN_GLOBAL ? a : b;
            whole = one == a ? b : a;
            fits = one->domain == ARTEL__DOMAIN_GLOBAL && one->shape.rank == 2;
        }
        if (!fits) return artel__op_fail(infer, "the two sides do not fit");
        shape = whole->shape;
        shape.dim[shape.rank - 2] = a->shape.dim[rank - 1];
        shape.dim[shape.rank - 1] = b->shape.dim[b->shape.rank - 1];
    }
    if (at->function == ARTEL__MATRIX_DETERMINANT) shape.rank -= 2;
    artel__infer_output(infer, 0, whole->domain, a->dtype, &shape);
    return ARTEL_OK;
}

static void fill_matrix(const artel__run_args *args, void *params)
{
    const matrix_attributes *at = args->attributes;
    const artel__value *a = artel__args_in(args, 0), *out = artel__args_out(args, 0);
    const artel__value *b = args->node->inputs > 1 && args->node->input[1] >= 0 ? artel__args_in(args, 1) : NULL;
    int behind = at->function == ARTEL__MATRIX_DETERMINANT ? 0 : 2;
    *(artel__matrix *)params = (artel__matrix){.function = at->function,
                                               .outer = artel__args_rows(args, args->node->output[0]) *
                                                        artel__shape_product(&out->shape, 0, out->shape.rank - behind),
                                               .n = a->shape.dim[a->shape.rank - 1],
                                               .m = b ? b->shape.dim[b->shape.rank - 1] : 0,
                                               .shared_a = a->domain != out->domain,
                                               .shared_b = b && b->domain != out->domain,
                                               .a = args->in[0],
                                               .b = b ? args->in[1] : NULL,
                                               .y = args->out[0]};
}

static const artel__kernel *const *choose_matrix(const artel__graph *graph, const artel__node *node)
{
    return artel__node_wide(graph, node, false) ? artel__wide_matrix_kernels : NULL;
}

static int64_t cost_matrix(const artel__graph *graph, const artel__node *node)
{
    const artel_shape *shape = &graph->value[node->input[0]].shape;
    return artel_shape_count(shape) * shape->dim[shape->rank - 1];
}

/* -- gradients -- */

static artel__value_id turned(artel__graph *graph, artel__value_id x)
{
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    int axes[ARTEL_MAX_RANK], rank = graph->value[x].shape.rank;
    for (int i = 0; i < rank; i++) axes[i] = i < rank - 2 ? i : 2 * rank - 3 - i;
    return artel__op_transpose(graph, x, axes);
}

/* x [m][k] times the transpose of y [n][k], through all products. */
static artel__value_id times_turned(artel__graph *graph, artel__value_id x, artel__value_id y)
{
    if (graph->status < 0 || x < 0 || y < 0) return ARTEL__NO_VALUE;
    artel_shape a = graph->value[x].shape, b = graph->value[y].shape;
    if (a.rank + 1 > ARTEL_MAX_RANK || b.rank + 1 > ARTEL_MAX_RANK) {
        graph->status = artel__fail(artel__graph_context(graph), ARTEL_ERROR_UNSUPPORTED, graph->scope,
                                    "use fewer axes", "the gradient of matrices with so many axes is not supported");
        return ARTEL__NO_VALUE;
    }
    a.dim[a.rank] = a.dim[a.rank - 1], a.dim[a.rank - 1] = 1, a.rank++;
    b.dim[b.rank] = b.dim[b.rank - 1], b.dim[b.rank - 1] = b.dim[b.rank - 2], b.dim[b.rank - 2] = 1, b.rank++;
    artel__value_id right = artel__op_reshape(graph, y, &b),
                    all = artel__op_binary(graph, ARTEL__BINARY_MUL, artel__op_reshape(graph, x, &a), right);
    if (graph->status < 0) return ARTEL__NO_VALUE;
    return artel__op_reduce(graph, ARTEL__REDUCE_SUM, all, 1u << (graph->value[all].shape.rank - 1), false);
}

/* The lower triangle with half of the diagonal. */
static artel__value_id half_triangle(artel__graph *graph, artel__value_id x, int64_t n)
{
    float *weight = artel__arena_alloc(graph->arena, (size_t)(n * n) + 1, sizeof *weight);
    if (!weight) return ARTEL__NO_VALUE;
    for (int64_t i = 0; i < n * n; i++) weight[i] = i % n < i / n ? 1.0f : i % n == i / n ? 0.5f : 0.0f;
    artel_shape shape = artel__shape(2, n, n);
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    artel__value_id weights = artel__op_constant(graph, ARTEL_DTYPE_FLOAT32, &shape, weight);
    return artel__op_binary(graph, ARTEL__BINARY_MUL, x, artel__op_cast(graph, weights, graph->value[x].dtype));
}

static artel__value_id grad_cholesky(artel__gradient *g)
{
    artel__graph *graph = g->graph;
    const artel_shape *shape = &graph->value[g->out[0]].shape;
    artel__value_id turned_inverse =
        turned(graph, artel__op_matrix(graph, ARTEL__MATRIX_INVERSE, g->out[0], ARTEL__NO_VALUE));
    artel__value_id dy = turned(graph, g->out_gradient[0]), p = times_turned(graph, turned(graph, g->out[0]), dy);
    p = half_triangle(graph, p, shape->dim[shape->rank - 1]);
    artel__value_id s = times_turned(graph, turned_inverse, turned(graph, times_turned(graph, p, turned_inverse)));
    return artel__op_affine(graph, artel__op_add(graph, s, turned(graph, s)), 0.5f, 0);
}

static artel_status grad_solve(artel__gradient *g)
{
    artel__graph *graph = g->graph;
    artel__value_id db = artel__op_matrix(graph, ARTEL__MATRIX_SOLVE, turned(graph, g->in[0]), g->out_gradient[0]);
    if (g->needed[1]) g->in_gradient[1] = artel__op_sum_to(graph, db, g->in[1]);
    if (g->needed[0])
        g->in_gradient[0] = artel__op_sum_to(graph, negative(graph, times_turned(graph, db, g->out[0])), g->in[0]);
    return graph->status;
}

static artel__value_id grad_determinant(artel__gradient *g)
{
    artel__graph *graph = g->graph;
    artel__value_id slope = artel__op_binary(graph, ARTEL__BINARY_MUL, g->out_gradient[0], g->out[0]);
    if (graph->status < 0) return ARTEL__NO_VALUE;
    artel_shape shape = graph->value[slope].shape;
    shape.dim[shape.rank] = shape.dim[shape.rank + 1] = 1;
    shape.rank += 2;
    artel__value_id inverse = artel__op_matrix(graph, ARTEL__MATRIX_INVERSE, turned(graph, g->in[0]), ARTEL__NO_VALUE);
    return artel__op_binary(graph, ARTEL__BINARY_MUL, artel__op_reshape(graph, slope, &shape), inverse);
}

static artel_status grad_matrix(artel__gradient *g)
{
    artel__graph *graph = g->graph;
    artel__value_id y = g->out[0], dy = g->out_gradient[0];
    switch (((const matrix_attributes *)g->attributes)->function) {
    case ARTEL__MATRIX_SOLVE: return grad_solve(g);
    case ARTEL__MATRIX_INVERSE:
        dy = turned(graph, dy);
        g->in_gradient[0] = negative(graph, times_turned(graph, times_turned(graph, turned(graph, y), dy), y));
        break;
    case ARTEL__MATRIX_CHOLESKY: g->in_gradient[0] = grad_cholesky(g); break;
    case ARTEL__MATRIX_DETERMINANT: g->in_gradient[0] = grad_determinant(g); break;
    }
    return graph->status;
}

static void describe_matrix(const artel__node *node, artel__text *out)
{
    static const char *const names[] = {"solve", "inverse", "cholesky", "determinant"};
    artel__text_printf(out, "%s", names[((const matrix_attributes *)node->attributes)->function]);
}

static void lower_matrix(artel__lower *lower)
{
    artel__lower_matrix(lower, ((const matrix_attributes *)lower->attributes)->function);
}

const artel__op_def artel__op_matrix_def = {
    .name = "matrix",
    .doc = "Solution, inverse, determinant or Cholesky's factor of small square matrices.",
    .attribute_size = sizeof(matrix_attributes),
    .infer = infer_matrix,
    .grad = grad_matrix,
    .cost = cost_matrix,
    .describe = describe_matrix,
    .lower = lower_matrix,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__matrix_kernels,
            .choose = choose_matrix,
            .params_size = sizeof(artel__matrix),
            .fill = fill_matrix,
        },
};

artel__value_id artel__op_matrix(artel__graph *graph, artel__matrix_function function, artel__value_id a,
                                 artel__value_id b)
{
    matrix_attributes attributes = {function};
    return artel__graph_add(graph, &artel__op_matrix_def, &attributes, (artel__value_id[]){a, b}, b < 0 ? 1 : 2);
}
