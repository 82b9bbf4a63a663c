/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions over axes of a row; softmax and its relatives; ranks.
 *
 *   reduce       y = sum, mean, max, min or product over the marked axes;   gradients: kernel/reduce.h
 *   softmax      y = exp(x - max) / sum along one axis, log_softmax, sparsemax;  glu
 *   argmax, in_top_k  integers and indicators, no gradient
 * Orders of summation: kernel/reduce.h and kernel/softmax.h.
 */
#include "op/reduce.h"

#include "kernel/wide.h"
#include "op/lower_reduce.h"
#include "op/elementwise.h"
#include "op/gather.h"
#include "op/reduce_attributes.h"
#include "op/second.h"
#include "op/shape_ops.h"

static artel_status infer_reduce(artel__infer *infer)
{
    const artel__reduce_attributes *a = infer->attributes;
    const artel__value *x = infer->in[0];
    artel_shape shape = {.rank = 0};
    for (int i = 0; i < x->shape.rank; i++) {
        if (!(a->axes & (1u << i)))
            shape.dim[shape.rank++] = x->shape.dim[i];
        else if (a->keep)
            shape.dim[shape.rank++] = 1;
    }
    artel__infer_output(infer, 0, x->domain, x->dtype == ARTEL_DTYPE_FLOAT64 ? x->dtype : ARTEL_DTYPE_FLOAT32, &shape);
    return ARTEL_OK;
}

/* The kernel's index space: rows in front, then the axes of `full`. */
static int reduce_space(const artel__run_args *args, artel__value_id full, uint32_t axes, int64_t *dim, bool *reduced)
{
    const artel__value *value = &args->graph->value[full];
    dim[0] = artel__args_rows(args, full);
    reduced[0] = false;
    for (int i = 0; i < value->shape.rank; i++) {
        dim[i + 1] = value->shape.dim[i];
        reduced[i + 1] = (axes & (1u << i)) != 0;
    }
    return value->shape.rank + 1;
}

static void fill_reduce_wide(const artel__run_args *args, artel__wide_reduce *p)
{
    const artel__reduce_attributes *a = args->attributes;
    p->op = a->function;
    p->rank = reduce_space(args, args->node->input[0], a->axes, p->dim, p->reduced);
    p->x = args->in[0];
    p->y = args->out[0];
}

static const artel__kernel *const *choose_reduce(const artel__graph *graph, const artel__node *node)
{
    return artel__node_wide(graph, node, false) ? artel__wide_reduce_kernels : NULL;
}

static void fill_reduce(const artel__run_args *args, void *params)
{
    const artel__reduce_attributes *a = args->attributes;
    if (artel__args_wide(args)) {
        fill_reduce_wide(args, params);
        return;
    }
    artel__reduce *p = params;
    p->op = a->function;
    p->rank = reduce_space(args, args->node->input[0], a->axes, p->dim, p->reduced);
    p->x = args->in[0];
    p->y = args->out[0];
    p->x_half = artel__args_half_in(args, 0);
    p->y_half = artel__args_half_out(args, 0);
}

/* Inputs: x, y, dy. */
static artel_status infer_reduce_gradient(artel__infer *infer)
{
    artel__infer_output(infer, 0, infer->in[0]->domain,
                        infer->in[2]->dtype == ARTEL_DTYPE_FLOAT64 ? ARTEL_DTYPE_FLOAT64 : ARTEL_DTYPE_FLOAT32,
                        &infer->in[0]->shape);
    return ARTEL_OK;
}

static void fill_reduce_gradient_wide(const artel__run_args *args, artel__wide_reduce_gradient *p)
{
    const artel__reduce_attributes *a = args->attributes;
    p->op = a->function;
    p->rank = reduce_space(args, args->node->output[0], a->axes, p->dim, p->reduced);
    p->x = args->in[0];
    p->y = args->in[1];
    p->dy = args->in[2];
    p->dx = args->out[0];
}

static const artel__kernel *const *choose_reduce_gradient(const artel__graph *graph, const artel__node *node)
{
    return artel__node_wide(graph, node, false) ? artel__wide_reduce_gradient_kernels : NULL;
}

static void fill_reduce_gradient(const artel__run_args *args, void *params)
{
    const artel__reduce_attributes *a = args->attributes;
    if (artel__args_wide(args)) {
        fill_reduce_gradient_wide(args, params);
        return;
    }
    artel__reduce_gradient *p = params;
    p->op = a->function;
    p->rank = reduce_space(args, args->node->output[0], a->axes, p->dim, p->reduced);
    p->x = args->in[0];
    p->y = args->in[1];
    p->dy = args->in[2];
    p->dx = args->out[0];
    p->dy_half = artel__args_half_in(args, 2);
    p->dx_half = artel__args_half_out(args, 0);
}

/* Sums and means have the same slope everywhere. */
static uint32_t unread_by_gradient(const artel__node *node)
{
    const artel__reduce_attributes *a = node->attributes;
    return a->function == ARTEL__REDUCE_SUM || a->function == ARTEL__REDUCE_MEAN ? 3 : 0;
}

const artel__op_def artel__op_reduce_gradient_def = {
    .name = "reduce_gradient",
    .doc = "Gradient of a reduction over axes of a row.",
    .attribute_size = sizeof(artel__reduce_attributes),
    .infer = infer_reduce_gradient,
    .grad = artel__second_reduce,
    .lower = artel__lower_reduce_gradient,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__reduce_gradient_kernels,
            .choose = choose_reduce_gradient,
            .params_size = ARTEL__EITHER_SIZE(artel__reduce_gradient, artel__wide_reduce_gradient),
            .fill = fill_reduce_gradient,
            .half_in = 1u << 2,
            .half_out = 1u,
            .unread = unread_by_gradient,
        },
};

static artel_status grad_reduce(artel__gradient *g)
{
    g->in_gradient[0] = artel__graph_add(g->graph, &artel__op_reduce_gradient_def, g->attributes,
                                         (artel__value_id[]){g->in[0], g->out[0], g->out_gradient[0]}, 3);
    return ARTEL_OK;
}

const artel__op_def artel__op_reduce_def = {
    .name = "reduce",
    .doc = "Sum, mean, maximum, minimum or product over axes of a row.",
    .attribute_size = sizeof(artel__reduce_attributes),
    .infer = infer_reduce,
    .grad = grad_reduce,
    .lower = artel__lower_reduce,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__reduce_kernels,
            .choose = choose_reduce,
            .params_size = ARTEL__EITHER_SIZE(artel__reduce, artel__wide_reduce),
            .fill = fill_reduce,
            .half_in = 1u,
            .half_out = 1u,
        },
};

/* -- along one axis: [outer][length][inner] -- */

typedef struct axis_space {
    int64_t outer, length, inner;
} axis_space;

static axis_space space_of(const artel__run_args *args, artel__value_id id, int axis)
{
    const artel_shape *shape = &args->graph->value[id].shape;
    return (axis_space){.outer = artel__args_rows(args, id) * artel__shape_product(shape, 0, axis),
                        .length = shape->dim[axis],
                        .inner = artel__shape_product(shape, axis + 1, shape->rank)};
}

static artel_status infer_axis(artel__infer *infer)
{
    const artel__axis_attributes *a = infer->attributes;
    const artel__value *x = infer->in[0];
    if (a->axis < 0 || a->axis >= x->shape.rank) return artel__op_fail(infer, "the axis is out of range");
    artel__infer_output(infer, 0, x->domain, ARTEL_DTYPE_FLOAT32, &x->shape);
    return ARTEL_OK;
}

static void fill_softmax(const artel__run_args *args, void *params)
{
    const artel__axis_attributes *a = args->attributes;
    axis_space s = space_of(args, args->node->output[0], a->axis);
    *(artel__softmax_forward *)params = (artel__softmax_forward){.op = (artel__softmax_op)a->function,
                                                                 .outer = s.outer,
                                                                 .length = s.length,
                                                                 .inner = s.inner,
                                                                 .x = args->in[0],
                                                                 .y = args->out[0]};
}

/* Inputs: dy, y and, for sparsemax, x. */
static void fill_softmax_gradient(const artel__run_args *args, void *params)
{
    const artel__axis_attributes *a = args->attributes;
    axis_space s = space_of(args, args->node->output[0], a->axis);
    *(artel__softmax_gradient *)params = (artel__softmax_gradient){.op = (artel__softmax_op)a->function,
                                                                   .outer = s.outer,
                                                                   .length = s.length,
                                                                   .inner = s.inner,
                                                                   .y = args->in[1],
                                                                   .dy = args->in[0],
                                                                   .dx = args->out[0],
                                                                   .x = args->in[2]};
}

const artel__op_def artel__op_softmax_gradient_def = {
    .name = "softmax_gradient",
    .doc = "Gradient of softmax and its relatives.",
    .attribute_size = sizeof(artel__axis_attributes),
    .placement = ARTEL__PLACE_INPLACE,
    .infer = infer_axis,
    .grad = artel__second_softmax,
    .lower = artel__lower_softmax_gradient,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__softmax_gradient_kernels,
            .params_size = sizeof(artel__softmax_gradient),
            .fill = fill_softmax_gradient,
        },
};

static artel_status grad_softmax(artel__gradient *g)
{
    const artel__axis_attributes *a = g->attributes;
    artel__value_id x = a->function == (int)ARTEL__SPARSEMAX ? g->in[0] : ARTEL__NO_VALUE;
    artel__value_id inputs[] = {g->out_gradient[0], g->out[0], x};
    g->in_gradient[0] = artel__graph_add(g->graph, &artel__op_softmax_gradient_def, g->attributes, inputs, 3);
    return ARTEL_OK;
}

static void describe_softmax(const artel__node *node, artel__text *out)
{
    static const char *const names[] = {"softmax", "log_softmax", "sparsemax"};
    const artel__axis_attributes *a = node->attributes;
    artel__text_printf(out, "%s axis=%d", names[a->function], a->axis);
}

const artel__op_def artel__op_softmax_def = {
    .name = "softmax",
    .doc = "Softmax, log-softmax or sparsemax along one axis.",
    .attribute_size = sizeof(artel__axis_attributes),
    .placement = ARTEL__PLACE_INPLACE,
    .infer = infer_axis,
    .grad = grad_softmax,
    .describe = describe_softmax,
    .lower = artel__lower_softmax,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__softmax_forward_kernels,
            .params_size = sizeof(artel__softmax_forward),
            .fill = fill_softmax,
        },
};

static int normal_axis(const artel__graph *graph, artel__value_id x, int axis)
{
    return axis < 0 ? axis + graph->value[x].shape.rank : axis;
}

/* Of float64, from operations that have it. */
static artel__value_id wide_softmax(artel__graph *graph, artel__softmax_op function, artel__value_id x, uint32_t axis)
{
    artel__value_id most = artel__op_reduce(graph, ARTEL__REDUCE_MAX, artel__op_stop_gradient(graph, x), axis, true);
    artel__value_id apart = artel__op_binary(graph, ARTEL__BINARY_SUB, x, most);
    artel__value_id power = artel__op_unary(graph, ARTEL__UNARY_EXPONENTIAL, NULL, apart);
    artel__value_id sum = artel__op_reduce(graph, ARTEL__REDUCE_SUM, power, axis, true);
    if (function == ARTEL__SOFTMAX) return artel__op_binary(graph, ARTEL__BINARY_DIV, power, sum);
    return artel__op_binary(graph, ARTEL__BINARY_SUB, apart, artel__op_unary(graph, ARTEL__UNARY_LOG, NULL, sum));
}

artel__value_id artel__op_softmax(artel__graph *graph, artel__softmax_op function, artel__value_id x, int axis)
{
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    artel__axis_attributes attributes = {(int)function, normal_axis(graph, x, axis)};
    if (graph->value[x].dtype == ARTEL_DTYPE_FLOAT64 && function != ARTEL__SPARSEMAX)
        return wide_softmax(graph, function, x, 1u << attributes.axis);
    return artel__graph_add(graph, &artel__op_softmax_def, &attributes, &x, 1);
}

/* -- glu -- */

static artel_status infer_glu(artel__infer *infer)
{
    const artel__axis_attributes *a = infer->attributes;
    artel_shape shape = infer->in[0]->shape;
    if (a->axis < 0 || a->axis >= shape.rank || shape.dim[a->axis] % 2)
        return artel__op_fail(infer, "the axis must have an even extent");
    shape.dim[a->axis] /= 2;
    artel__infer_output(infer, 0, infer->in[0]->domain, ARTEL_DTYPE_FLOAT32, &shape);
    return ARTEL_OK;
}

static void fill_glu(const artel__run_args *args, void *params)
{
    const artel__axis_attributes *a = args->attributes;
    axis_space s = space_of(args, args->node->output[0], a->axis);
    *(artel__glu_forward *)params = (artel__glu_forward){s.outer, s.length, s.inner, args->in[0], args->out[0]};
}

/* Inputs: x, dy. */
static void fill_glu_gradient(const artel__run_args *args, void *params)
{
    const artel__axis_attributes *a = args->attributes;
    axis_space s = space_of(args, args->node->input[1], a->axis);
    *(artel__glu_gradient *)params =
        (artel__glu_gradient){s.outer, s.length, s.inner, args->in[0], args->in[1], args->out[0]};
}

/* Written anew as a * sigmoid(b), the halves of x. */
static artel_status grad_glu_gradient(artel__gradient *g)
{
    static const int input[] = {0, 1};
    const artel__axis_attributes *a = g->attributes;
    artel__graph *graph = g->graph;
    artel__value_id x = artel__second_leaf(graph, g->in[0]), dy = artel__second_leaf(graph, g->in[1]), dx;
    int64_t half = graph->value[g->in[1]].shape.dim[a->axis];
    artel__value_id left = artel__op_slice(graph, x, a->axis, 0, half, 1),
                    right = artel__op_slice(graph, x, a->axis, half, half, 1);
    artel__value_id y =
        artel__op_binary(graph, ARTEL__BINARY_MUL, left, artel__op_unary(graph, ARTEL__UNARY_SIGMOID, NULL, right));
    artel__slopes first = {{y}, {dy}, 1, &x, 1};
    ARTEL_TRY(graph->status);
    ARTEL_TRY(artel__second_slopes(graph, &first, &dx));
    const artel__value_id leaf[] = {x, dy};
    artel__slopes slopes = {{dx}, {g->out_gradient[0]}, 1, leaf, 2};
    return artel__second_finish(g, &slopes, input);
}

const artel__op_def artel__op_glu_gradient_def = {
    .name = "glu_gradient",
    .doc = "Gradient of the gated linear unit.",
    .attribute_size = sizeof(artel__axis_attributes),
    .infer = infer_axis,
    .grad = grad_glu_gradient,
    .lower = artel__lower_glu_gradient,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__glu_gradient_kernels,
            .params_size = sizeof(artel__glu_gradient),
            .fill = fill_glu_gradient,
        },
};

static artel_status grad_glu(artel__gradient *g)
{
    g->in_gradient[0] = artel__graph_add(g->graph, &artel__op_glu_gradient_def, g->attributes,
                                         (artel__value_id[]){g->in[0], g->out_gradient[0]}, 2);
    return ARTEL_OK;
}

const artel__op_def artel__op_glu_def = {
    .name = "glu",
    .doc = "First half of an axis times the sigmoid of the second.",
    .attribute_size = sizeof(artel__axis_attributes),
    .infer = infer_glu,
    .grad = grad_glu,
    .lower = artel__lower_glu,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__glu_forward_kernels,
            .params_size = sizeof(artel__glu_forward),
            .fill = fill_glu,
        },
};

artel__value_id artel__op_glu(artel__graph *graph, artel__value_id x, int axis)
{
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    artel__axis_attributes attributes = {0, normal_axis(graph, x, axis)};
    return artel__graph_add(graph, &artel__op_glu_def, &attributes, &x, 1);
}

/* -- ranks -- */

static artel_status infer_argmax(artel__infer *infer)
{
    artel_shape shape = infer->in[0]->shape;
    if (shape.rank < 1) return artel__op_fail(infer, "a scalar has no axis");
    shape.rank--;
    artel__infer_output(infer, 0, infer->in[0]->domain, ARTEL_DTYPE_INT32, &shape);
    return ARTEL_OK;
}

static void fill_argmax(const artel__run_args *args, void *params)
{
    axis_space s = space_of(args, args->node->input[0], artel__args_in(args, 0)->shape.rank - 1);
    *(artel__argmax *)params = (artel__argmax){s.outer, s.length, 1, args->in[0], args->out[0]};
}

const artel__op_def artel__op_argmax_def = {
    .name = "argmax",
    .doc = "Index of the first largest element along the last axis.",
    .infer = infer_argmax,
    .lower = artel__lower_argmax,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__argmax_kernels,
            .params_size = sizeof(artel__argmax),
            .fill = fill_argmax,
        },
};

/* Of float64 the first in the ascending order of what is negated, zeros without a sign. */
static artel__value_id argmax_wide(artel__graph *graph, artel__value_id x)
{
    artel_shape shape = graph->value[x].shape;
    artel__value_id order = artel__op_order(graph, artel__op_affine(graph, x, -1, 0));
    order = artel__op_slice(graph, order, shape.rank - 1, 0, 1, 1);
    shape.rank--;
    return artel__op_reshape(graph, order, &shape);
}

artel__value_id artel__op_argmax(artel__graph *graph, artel__value_id x)
{
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    if (graph->value[x].dtype == ARTEL_DTYPE_FLOAT64 && graph->value[x].shape.rank > 0) return argmax_wide(graph, x);
    return artel__graph_add(graph, &artel__op_argmax_def, NULL, &x, 1);
}

static artel_status infer_in_top_k(artel__infer *infer)
{
    artel_shape shape = infer->in[0]->shape;
    if (shape.rank < 1 || infer->in[1]->dtype != ARTEL_DTYPE_INT32)
        return artel__op_fail(infer, "expected scores and int32 classes");
    shape.rank--;
    artel__infer_output(infer, 0, infer->in[0]->domain, ARTEL_DTYPE_FLOAT32, &shape);
    return ARTEL_OK;
}

static void fill_in_top_k(const artel__run_args *args, void *params)
{
    const artel__top_attributes *a = args->attributes;
    axis_space s = space_of(args, args->node->input[0], artel__args_in(args, 0)->shape.rank - 1);
    *(artel__in_top_k *)params = (artel__in_top_k){s.outer, s.length, a->k, args->in[0], args->in[1], args->out[0]};
}

const artel__op_def artel__op_in_top_k_def = {
    .name = "in_top_k",
    .doc = "Whether a class is among the k best.",
    .attribute_size = sizeof(artel__top_attributes),
    .infer = infer_in_top_k,
    .lower = artel__lower_in_top_k,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__in_top_k_kernels,
            .params_size = sizeof(artel__in_top_k),
            .fill = fill_in_top_k,
        },
};

artel__value_id artel__op_in_top_k(artel__graph *graph, artel__value_id x, artel__value_id target, int k)
{
    artel__top_attributes attributes = {k};
    return artel__graph_add(graph, &artel__op_in_top_k_def, &attributes, (artel__value_id[]){x, target}, 2);
}
