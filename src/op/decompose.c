/* SPDX-License-Identifier: Apache-2.0 */
/* Factors of small matrices: QR, eigenvalues of symmetric ones, singular values.
 *
 *   decompose           a [lead][m][n] -> two or three results, each behind lead (kernel/decompose.h)
 *   decompose_gradient  a, the results, what is known of their gradients -> da
 * Algorithms, signs, formulas of gradients and numerics: kernel/decompose.h.
 */
#include "op/decompose.h"

#include "kernel/wide.h"
#include "op/lower_decompose.h"
#include "op/second.h"

typedef struct decompose_attributes {
    artel__decomposition function;
    bool whole;
} decompose_attributes;

static const char *const names[] = {"qr", "eigh", "svd"};

static int results_of(artel__decomposition function)
{
    return function == ARTEL__DECOMPOSITION_SINGULAR ? 3 : 2;
}

static artel_status infer_decompose(artel__infer *infer)
{
    const decompose_attributes *at = infer->attributes;
    const artel__value *a = infer->in[0];
    int rank = a->shape.rank;
    if ((a->dtype != ARTEL_DTYPE_FLOAT32 && a->dtype != ARTEL_DTYPE_FLOAT64) || rank < 2)
        return artel__op_fail(infer, "expected matrices of float32 or float64");
    int64_t m = a->shape.dim[rank - 2], n = a->shape.dim[rank - 1], k = m < n ? m : n, left = at->whole ? m : k,
            right = at->whole ? n : k;
    if (m < 1 || n < 1) return artel__op_fail(infer, "expected matrices with elements");
    artel_shape shape[] = {a->shape, a->shape, a->shape};
    switch (at->function) {
    case ARTEL__DECOMPOSITION_QR: shape[0].dim[rank - 1] = shape[1].dim[rank - 2] = left; break;
    case ARTEL__DECOMPOSITION_SYMMETRIC:
        if (m != n) return artel__op_fail(infer, "expected square matrices");
        shape[0].rank--;
        break;
    case ARTEL__DECOMPOSITION_SINGULAR:
        shape[0].dim[rank - 1] = left;
        shape[1].rank--;
        shape[1].dim[rank - 2] = k;
        shape[2].dim[rank - 2] = right;
        break;
    }
    for (int i = 0; i < results_of(at->function); i++) artel__infer_output(infer, i, a->domain, a->dtype, &shape[i]);
    return ARTEL_OK;
}

/* All but the results. */
static artel__decompose plain_params(const artel__run_args *args)
{
    const decompose_attributes *at = args->attributes;
    const artel_shape *shape = &artel__args_in(args, 0)->shape;
    return (artel__decompose){.function = at->function,
                              .whole = at->whole,
                              .outer = artel__args_rows(args, args->node->output[0]) *
                                       artel__shape_product(shape, 0, shape->rank - 2),
                              .m = shape->dim[shape->rank - 2],
                              .n = shape->dim[shape->rank - 1],
                              .a = args->in[0]};
}

static void fill_decompose(const artel__run_args *args, void *params)
{
    artel__decompose *p = params;
    *p = plain_params(args);
    for (int i = 0; i < results_of(p->function); i++) p->y[i] = args->out[i];
}

static void fill_gradient(const artel__run_args *args, void *params)
{
    artel__decompose_gradient *p = params;
    *p = (artel__decompose_gradient){.of = plain_params(args), .da = args->out[0]};
    int results = results_of(p->of.function);
    for (int i = 0; i < results; i++) {
        p->of.y[i] = args->in[1 + i];
        p->dy[i] = 1 + results + i < args->node->inputs ? args->in[1 + results + i] : NULL;
    }
}

static const artel__kernel *const *choose_decompose(const artel__graph *graph, const artel__node *node)
{
    return artel__node_wide(graph, node, true) ? artel__wide_decompose_kernels : NULL;
}

static const artel__kernel *const *choose_gradient(const artel__graph *graph, const artel__node *node)
{
    return artel__node_wide(graph, node, true) ? artel__wide_decompose_gradient_kernels : NULL;
}

static int64_t cost_decompose(const artel__graph *graph, const artel__node *node)
{
    const artel_shape *shape = &graph->value[node->input[0]].shape;
    int64_t m = shape->dim[shape->rank - 2], n = shape->dim[shape->rank - 1];
    return 8 * artel_shape_count(shape) * (m > n ? m : n);
}

static artel_status infer_gradient(artel__infer *infer)
{
    artel__infer_output(infer, 0, infer->in[0]->domain, infer->in[0]->dtype, &infer->in[0]->shape);
    return ARTEL_OK;
}

static void describe_decompose(const artel__node *node, artel__text *out)
{
    const decompose_attributes *at = node->attributes;
    artel__text_printf(out, "%s%s", names[at->function], at->whole ? " whole" : "");
}

static void lower_decompose(artel__lower *lower)
{
    const decompose_attributes *at = lower->attributes;
    artel__lower_decompose(lower, at->function, at->whole);
}

static void lower_gradient(artel__lower *lower)
{
    const decompose_attributes *at = lower->attributes;
    artel__lower_decompose_gradient(lower, at->function, at->whole);
}

static artel_status grad_gradient(artel__gradient *g)
{
    return artel__second_decompose(g, ((const decompose_attributes *)g->attributes)->function);
}

const artel__op_def artel__op_decompose_gradient_def = {
    .name = "decompose_gradient",
    .doc = "Gradient of factors of small matrices.",
    .attribute_size = sizeof(decompose_attributes),
    .infer = infer_gradient,
    .grad = grad_gradient,
    .lower = lower_gradient,
    .cost = cost_decompose,
    .describe = describe_decompose,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__decompose_gradient_kernels,
            .choose = choose_gradient,
            .params_size = sizeof(artel__decompose_gradient),
            .fill = fill_gradient,
        },
};

/* What TensorFlow cannot differentiate either: columns that are only known to be orthogonal to all others. */
static artel_status refuse_gradient(const artel__gradient *g, const decompose_attributes *at)
{
    artel__graph *graph = g->graph;
    const artel_shape *shape = &graph->value[g->in[0]].shape;
    int64_t more = shape->dim[shape->rank - 2] - shape->dim[shape->rank - 1];
    bool known = !at->whole || at->function == ARTEL__DECOMPOSITION_SYMMETRIC;
    known = known || (at->function == ARTEL__DECOMPOSITION_QR ? more <= 0 : more >= -1 && more <= 1);
    if (known) return ARTEL_OK;
    const char *advice = at->function == ARTEL__DECOMPOSITION_QR ? "use mode=\"reduced\"" : "use full_matrices=False";
    return artel__fail(artel__graph_context(graph), ARTEL_ERROR_UNSUPPORTED, graph->scope, advice,
                       "%s of so long matrices has no gradient with whole bases, as in TensorFlow",
                       names[at->function]);
}

static artel_status grad_decompose(artel__gradient *g)
{
    const decompose_attributes *at = g->attributes;
    artel__value_id inputs[1 + 2 * ARTEL__DECOMPOSITION_RESULTS] = {g->in[0]};
    int results = results_of(at->function);
    ARTEL_TRY(refuse_gradient(g, at));
    for (int i = 0; i < results; i++) {
        inputs[1 + i] = g->out[i];
        inputs[1 + results + i] = g->out_gradient[i];
    }
    g->in_gradient[0] = artel__graph_add(g->graph, &artel__op_decompose_gradient_def, at, inputs, 1 + 2 * results);
    return g->graph->status;
}

const artel__op_def artel__op_decompose_def = {
    .name = "decompose",
    .doc = "Factors of small matrices: QR, eigenvalues of symmetric ones, singular values.",
    .attribute_size = sizeof(decompose_attributes),
    .infer = infer_decompose,
    .grad = grad_decompose,
    .lower = lower_decompose,
    .cost = cost_decompose,
    .describe = describe_decompose,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__decompose_kernels,
            .choose = choose_decompose,
            .params_size = sizeof(artel__decompose),
            .fill = fill_decompose,
        },
};

artel__value_id artel__op_decompose(artel__graph *graph, artel__decomposition function, bool whole, artel__value_id a)
{
    decompose_attributes attributes = {function, whole};
    return artel__graph_add(graph, &artel__op_decompose_def, &attributes, &a, 1);
}
