/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling over windows of one to three spatial axes, channels last.
 *
 *   max      y = greatest value of the window; dy goes to its first maximum
 *   average  y = mean over the positions inside the input; dy is shared among them
 * Where windows lie apart, the gradient of maxima is written over x. It takes over the gradient of a ReLU that made x
 * (fuse.c). Formulas and orders: kernel/pool.h.
 */
#include "op/lower_pool.h"
#include "op/norm.h"
#include "op/pool_attributes.h"
#include "op/second.h"

static artel_status infer_pool(artel__infer *infer)
{
    const artel__pool_attributes *a = infer->attributes;
    const artel__value *x = infer->in[0];
    artel_shape out = x->shape;
    int axes = out.rank - 1;
    if (axes < 1 || axes > 3) return artel__op_fail(infer, "expected one to three spatial axes and channels");
    for (int i = 0; i < axes; i++) {
        if (a->shape.in[3 - axes + i] != x->shape.dim[i])
            return artel__op_fail(infer, "the input does not have the expected extents");
        out.dim[i] = a->shape.out[3 - axes + i];
    }
    artel__infer_output(infer, 0, x->domain, ARTEL_DTYPE_FLOAT32, &out);
    return ARTEL_OK;
}

static void fill_pool(const artel__run_args *args, void *params)
{
    const artel__pool_attributes *a = args->attributes;
    *(artel__pool_forward *)params = (artel__pool_forward){.op = a->function,
                                                           .rows = artel__args_rows(args, args->node->input[0]),
                                                           .shape = a->shape,
                                                           .x = args->in[0],
                                                           .y = args->out[0],
                                                           .x_half = artel__args_half_in(args, 0),
                                                           .y_half = artel__args_half_out(args, 0)};
}

/* Inputs: dy, x, y. */
static artel_status infer_pool_gradient(artel__infer *infer)
{
    artel__infer_output(infer, 0, infer->in[1]->domain, ARTEL_DTYPE_FLOAT32, &infer->in[1]->shape);
    return ARTEL_OK;
}

static void fill_pool_gradient(const artel__run_args *args, void *params)
{
    const artel__pool_attributes *a = args->attributes;
    *(artel__pool_gradient *)params = (artel__pool_gradient){.op = a->function,
                                                             .rows = artel__args_rows(args, args->node->input[0]),
                                                             .shape = a->shape,
                                                             .dy = args->in[0],
                                                             .x = args->in[1],
                                                             .y = args->in[2],
                                                             .dx = args->out[0],
                                                             .relu = a->relu,
                                                             .dy_half = artel__args_half_in(args, 0),
                                                             .x_half = artel__args_half_in(args, 1),
                                                             .y_half = artel__args_half_in(args, 2),
                                                             .dx_half = artel__args_half_out(args, 0)};
}

/* An average has the same slope everywhere. */
static uint32_t unread_by_gradient(const artel__node *node)
{
    return ((const artel__pool_attributes *)node->attributes)->function == ARTEL__POOL_AVERAGE ? 6 : 0;
}

/* Where windows do not overlap, every element is one of dy, or 0. */
static bool spreads_maximum(const void *attributes)
{
    const artel__pool_attributes *a = attributes;
    return a->function == ARTEL__POOL_MAX && artel__pool_apart(&a->shape);
}

static artel__in_place place_pool_gradient(const void *attributes)
{
    return (artel__in_place){spreads_maximum(attributes) ? 1 : -1, 0};
}

static void describe_pool(const artel__node *node, artel__text *out)
{
    const artel__pool_attributes *a = node->attributes;
    artel__text_printf(out, "%s %lldx%lldx%lld%s", a->function == ARTEL__POOL_MAX ? "max" : "average",
                       (long long)a->shape.window[0], (long long)a->shape.window[1], (long long)a->shape.window[2],
                       a->relu ? " relu" : "");
}

const artel__op_def artel__op_pool_gradient_def = {
    .name = "pool_gradient",
    .doc = "Gradient of pooling, and of a ReLU in front of it.",
    .attribute_size = sizeof(artel__pool_attributes),
    .placement = ARTEL__PLACE_INPLACE,
    .infer = infer_pool_gradient,
    .grad = artel__second_pool,
    .moves = spreads_maximum,
    .describe = describe_pool,
    .lower = artel__lower_pool_gradient,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__pool_gradient_kernels,
            .params_size = sizeof(artel__pool_gradient),
            .fill = fill_pool_gradient,
            .half_in = 7u,
            .half_out = 1u,
            .unread = unread_by_gradient,
            .in_place = place_pool_gradient,
        },
};

bool artel__op_pool_take_relu(artel__graph *graph, artel__node *node)
{
    const artel__pool_attributes *now = node->attributes;
    if (now->function != ARTEL__POOL_MAX || now->relu) return false;
    artel__pool_attributes *attributes = artel__arena_alloc(graph->arena, 1, sizeof *attributes);
    if (!attributes) return false;
    *attributes = *now;
    attributes->relu = true;
    node->attributes = attributes;
    return true;
}

static artel_status grad_pool(artel__gradient *g)
{
    artel__value_id inputs[] = {g->out_gradient[0], g->in[0], g->out[0]};
    g->in_gradient[0] = artel__graph_add(g->graph, &artel__op_pool_gradient_def, g->attributes, inputs, 3);
    return ARTEL_OK;
}

static bool takes_maximum(const void *attributes)
{
    return ((const artel__pool_attributes *)attributes)->function == ARTEL__POOL_MAX;
}

const artel__op_def artel__op_pool_def = {
    .name = "pool",
    .doc = "Maximum or average over windows.",
    .attribute_size = sizeof(artel__pool_attributes),
    .infer = infer_pool,
    .grad = grad_pool,
    .moves = takes_maximum,
    .describe = describe_pool,
    .lower = artel__lower_pool,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__pool_forward_kernels,
            .params_size = sizeof(artel__pool_forward),
            .fill = fill_pool,
            .half_in = 1u,
            .half_out = 1u,
        },
};

artel__value_id artel__op_pool(artel__graph *graph, artel__pool_op function, artel__value_id x,
                               const artel__pool_shape *shape)
{
    artel__pool_attributes attributes = {.function = function, .shape = *shape};
    return artel__graph_add(graph, &artel__op_pool_def, &attributes, &x, 1);
}
