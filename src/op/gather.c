/* SPDX-License-Identifier: Apache-2.0 */
/* Elements by index along an axis, the order of elements, arithmetic of integers.
 *
 *   order    places from the smallest to the largest, no gradient: what is ordered is taken by them
 *   take     y[lead][i][..] = x[lead][index[lead][i]][..]; take_gradient adds dy up where it was taken, pick by pick
 *   integer  and, or, xor, shifts, division, remainder, divisors of int32 and int64
 *
 * Orders and edges: kernel/gather.h.
 */
#include "op/gather.h"

#include "kernel/wide.h"
#include "op/elementwise.h"
#include "op/lower_gather.h"
#include "op/node_attributes.h"

/* -- order -- */

static artel_status infer_order(artel__infer *infer)
{
    const artel__value *x = infer->in[0];
    bool floats = x->dtype == ARTEL_DTYPE_FLOAT32 || x->dtype == ARTEL_DTYPE_FLOAT64;
    if (!floats || x->shape.rank < 1 || x->shape.dim[x->shape.rank - 1] > INT32_MAX)
        return artel__op_fail(infer, "expected float32 with an axis");
    artel__infer_output(infer, 0, x->domain, ARTEL_DTYPE_INT32, &x->shape);
    return ARTEL_OK;
}

static void fill_order(const artel__run_args *args, void *params)
{
    const artel_shape *shape = &artel__args_in(args, 0)->shape;
    int64_t outer = artel__args_rows(args, args->node->input[0]) * artel__shape_product(shape, 0, shape->rank - 1);
    int64_t length = shape->dim[shape->rank - 1];
    if (artel__node_wide(args->graph, args->node, true))
        *(artel__wide_order *)params =
            (artel__wide_order){.outer = outer, .length = length, .x = args->in[0], .y = args->out[0]};
    else
        *(artel__order *)params = (artel__order){.outer = outer, .length = length, .x = args->in[0], .y = args->out[0]};
}

static const artel__kernel *const *choose_order(const artel__graph *graph, const artel__node *node)
{
    return artel__node_wide(graph, node, true) ? artel__wide_order_kernels : NULL;
}

const artel__op_def artel__op_order_def = {
    .name = "order",
    .doc = "Places of the elements along the last axis from the smallest to the largest.",
    .infer = infer_order,
    .lower = artel__lower_order,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__order_kernels,
            .choose = choose_order,
            .params_size = ARTEL__EITHER_SIZE(artel__order, artel__wide_order),
            .fill = fill_order,
        },
};

artel__value_id artel__op_order(artel__graph *graph, artel__value_id x)
{
    return artel__graph_add(graph, &artel__op_order_def, NULL, &x, 1);
}

/* -- elements by index -- */

typedef artel__take_attributes take_attributes;

/* Whether one row of indices serves all. */
static bool is_shared(const artel__value *index)
{
    return index->shape.rank == 1 && index->domain == ARTEL__DOMAIN_GLOBAL;
}

static bool leads_agree(const artel__value *x, const artel__value *index, int axis)
{
    bool agree = index->shape.rank == axis + 1 && index->domain == x->domain;
    for (int i = 0; i < axis && agree; i++) agree = x->shape.dim[i] == index->shape.dim[i];
    return agree;
}

static artel_status infer_take(artel__infer *infer)
{
    const take_attributes *a = infer->attributes;
    const artel__value *x = infer->in[0], *index = infer->in[1];
    if (index->dtype != ARTEL_DTYPE_INT32 ||
        (x->dtype != ARTEL_DTYPE_FLOAT32 && x->dtype != ARTEL_DTYPE_FLOAT64 && x->dtype != ARTEL_DTYPE_INT32))
        return artel__op_fail(infer, "expected numbers and int32 indices, found %s", artel_dtype_name(index->dtype));
    if (a->axis < 0 || a->axis >= x->shape.rank) return artel__op_fail(infer, "the axis is out of range");
    if (!is_shared(index) && !leads_agree(x, index, a->axis)) return artel__op_fail(infer, "the indices do not fit");
    artel_shape shape = x->shape;
    shape.dim[a->axis] = index->shape.dim[index->shape.rank - 1];
    artel__infer_output(infer, 0, x->domain, x->dtype, &shape);
    return ARTEL_OK;
}

static void fill_picks(const artel__run_args *args, artel__value_id whole, int64_t extent, int axis, artel__take *out)
{
    const artel__value *x = &args->graph->value[whole], *index = artel__args_in(args, 1);
    int64_t lead = artel__shape_product(&x->shape, 0, axis);
    *out = (artel__take){.outer = artel__args_rows(args, whole) * lead,
                         .extent = extent,
                         .picks = index->shape.dim[index->shape.rank - 1],
                         .inner = artel__shape_product(&x->shape, axis + 1, x->shape.rank),
                         .per_row = lead > 0 ? lead : 1,
                         .shared = is_shared(index),
                         .index = args->in[1],
                         .fault = artel__args_fault_slot(args)};
}

static void fill_take(const artel__run_args *args, void *params)
{
    const take_attributes *a = args->attributes;
    artel__take *p = params;
    fill_picks(args, args->node->output[0], a->extent, a->axis, p);
    if (artel__args_wide(args)) p->inner *= 2; /* elements move as they lie, of float64 two words */
    p->x = args->in[0];
    p->y = args->out[0];
}

static artel_status infer_take_gradient(artel__infer *infer)
{
    const take_attributes *a = infer->attributes;
    artel_shape shape = infer->in[0]->shape;
    shape.dim[a->axis] = a->extent;
    bool wide = infer->in[0]->dtype == ARTEL_DTYPE_FLOAT64;
    artel__infer_output(infer, 0, infer->in[0]->domain, wide ? ARTEL_DTYPE_FLOAT64 : ARTEL_DTYPE_FLOAT32, &shape);
    return ARTEL_OK;
}

static void fill_take_gradient(const artel__run_args *args, void *params)
{
    const take_attributes *a = args->attributes;
    if (artel__args_wide(args)) {
        artel__wide_take_gradient *p = params;
        fill_picks(args, args->node->output[0], a->extent, a->axis, &p->as);
        p->dy = args->in[0];
        p->dx = args->out[0];
    } else {
        artel__take_gradient *p = params;
        fill_picks(args, args->node->output[0], a->extent, a->axis, &p->as);
        p->dy = args->in[0];
        p->dx = args->out[0];
    }
}

static const artel__kernel *const *choose_take_gradient(const artel__graph *graph, const artel__node *node)
{
    return artel__node_wide(graph, node, false) ? artel__wide_take_gradient_kernels : NULL;
}

static artel__lower_picks picks_of(const artel__lower *lower)
{
    const take_attributes *a = lower->attributes;
    const artel__value *out = &lower->graph->value[lower->node->output[0]],
                       *index = &lower->graph->value[lower->node->input[1]];
    return (artel__lower_picks){.outer = (out->domain == ARTEL__DOMAIN_ROW ? lower->rows : 1) *
                                         artel__shape_product(&out->shape, 0, a->axis),
                                .extent = a->extent,
                                .picks = index->shape.dim[index->shape.rank - 1],
                                .inner = artel__shape_product(&out->shape, a->axis + 1, out->shape.rank),
                                .shared = is_shared(index)};
}

static void lower_take(artel__lower *lower)
{
    artel__lower_picks picks = picks_of(lower);
    artel__lower_take(lower, &picks);
}

static void lower_take_gradient(artel__lower *lower)
{
    artel__lower_picks picks = picks_of(lower);
    artel__lower_take_gradient(lower, &picks);
}

static artel_status grad_take_gradient(artel__gradient *g)
{
    const take_attributes *a = g->attributes;
    if (g->needed[0]) g->in_gradient[0] = artel__op_take(g->graph, g->out_gradient[0], g->in[1], a->axis);
    return g->graph->status;
}

const artel__op_def artel__op_take_gradient_def = {
    .name = "take_gradient",
    .doc = "Gradient of elements by index.",
    .attribute_size = sizeof(take_attributes),
    .infer = infer_take_gradient,
    .grad = grad_take_gradient,
    .lower = lower_take_gradient,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__take_gradient_kernels,
            .choose = choose_take_gradient,
            .params_size = ARTEL__EITHER_SIZE(artel__take_gradient, artel__wide_take_gradient),
            .fill = fill_take_gradient,
        },
};

static artel_status grad_take(artel__gradient *g)
{
    if (g->needed[0])
        g->in_gradient[0] = artel__graph_add(g->graph, &artel__op_take_gradient_def, g->attributes,
                                             (artel__value_id[]){g->out_gradient[0], g->in[1]}, 2);
    return ARTEL_OK;
}

const artel__op_def artel__op_take_def = {
    .name = "take",
    .doc = "Elements along an axis by index.",
    .attribute_size = sizeof(take_attributes),
    .infer = infer_take,
    .grad = grad_take,
    .lower = lower_take,
    .moves = artel__op_always_moves,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__take_kernels,
            .params_size = sizeof(artel__take),
            .fill = fill_take,
        },
};

artel__value_id artel__op_take(artel__graph *graph, artel__value_id x, artel__value_id index, int axis)
{
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    const artel_shape *shape = &graph->value[x].shape;
    take_attributes attributes = {axis, axis >= 0 && axis < shape->rank ? shape->dim[axis] : 0};
    return artel__graph_add(graph, &artel__op_take_def, &attributes, (artel__value_id[]){x, index}, 2);
}

/* -- integers -- */

typedef artel__function_attributes integer_attributes;

static artel_status infer_integer(artel__infer *infer)
{
    artel_dtype dtype = infer->in[0]->dtype == ARTEL_DTYPE_INT64 ? ARTEL_DTYPE_INT64 : ARTEL_DTYPE_INT32;
    for (int k = 0; k < 2; k++) {
        if (infer->in[k]->dtype != dtype)
            return artel__op_fail(infer, "an operand is %s, expected %s", artel_dtype_name(infer->in[k]->dtype),
                                  artel_dtype_name(dtype));
    }
    return artel__infer_broadcast(infer, 2, dtype);
}

static void fill_integer(const artel__run_args *args, void *params)
{
    artel__integer *p = params;
    p->op = (artel__integer_op)((const integer_attributes *)args->attributes)->function;
    p->a = args->in[0];
    p->b = args->in[1];
    p->out = args->out[0];
    p->is_long = artel__args_in(args, 0)->dtype == ARTEL_DTYPE_INT64;
    artel__args_loop(args, 0, 2, args->node->output[0], &p->loop);
}

static void lower_integer(artel__lower *lower)
{
    artel__lower_integer(lower, (artel__integer_op)((const integer_attributes *)lower->attributes)->function);
}

const artel__op_def artel__op_integer_def = {
    .name = "integer",
    .doc = "Bits, sums, products, quotients and divisors of integers, with broadcasting.",
    .attribute_size = sizeof(integer_attributes),
    .infer = infer_integer,
    .lower = lower_integer,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__integer_kernels,
            .params_size = sizeof(artel__integer),
            .fill = fill_integer,
        },
};

artel__value_id artel__op_integer(artel__graph *graph, artel__integer_op function, artel__value_id a, artel__value_id b)
{
    integer_attributes attributes = {(int)function};
    return artel__graph_add(graph, &artel__op_integer_def, &attributes, (artel__value_id[]){a, b}, 2);
}
