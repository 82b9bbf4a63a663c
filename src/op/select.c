/* SPDX-License-Identifier: Apache-2.0 */
/* Comparisons, logic, selection, casts, constants.
 *
 *   compare  out = a ? b as BOOL;  logical  and, or, not on BOOL;  select  out = condition ? a : b
 *   cast     out = (dtype)x, as numpy's astype;  constant  a GLOBAL value of the graph;  fill  one number everywhere
 * Comparisons, logic, constants and casts to or from integers stop gradients; select passes them to the chosen side.
 */
#include <string.h>

#include "kernel/shape_ops.h"
#include "kernel/wide.h"
#include "op/elementwise.h"
#include "op/lower_elementwise.h"
#include "op/node_attributes.h"

/* For operations whose result does not follow small changes of the operands. */
static artel_status grad_none(artel__gradient *g)
{
    (void)g;
    return ARTEL_OK;
}

typedef artel__function_attributes compare_attributes;

static artel_status infer_compare(artel__infer *infer)
{
    artel_dtype dtype = infer->in[0]->dtype;
    if (infer->in[1]->dtype != dtype || (dtype != ARTEL_DTYPE_FLOAT32 && dtype != ARTEL_DTYPE_FLOAT64 &&
                                         dtype != ARTEL_DTYPE_INT32 && dtype != ARTEL_DTYPE_INT64))
        return artel__op_fail(infer, "operands are %s and %s", artel_dtype_name(dtype),
                              artel_dtype_name(infer->in[1]->dtype));
    return artel__infer_broadcast(infer, 2, ARTEL_DTYPE_BOOL);
}

static void fill_compare(const artel__run_args *args, void *params)
{
    const compare_attributes *a = args->attributes;
    artel__compare *p = params;
    p->op = (artel__comparison)a->function;
    p->dtype = artel__args_in(args, 0)->dtype;
    p->a = args->in[0];
    p->b = args->in[1];
    p->out = args->out[0];
    artel__args_loop(args, 0, 2, args->node->output[0], &p->loop);
}

static void lower_compare(artel__lower *lower)
{
    static const char *const how[] = {
        [ARTEL__COMPARE_EQUAL] = "EQ",      [ARTEL__COMPARE_NOT_EQUAL] = "NE", [ARTEL__COMPARE_LESS] = "LT",
        [ARTEL__COMPARE_LESS_EQUAL] = "LE", [ARTEL__COMPARE_GREATER] = "GT",   [ARTEL__COMPARE_GREATER_EQUAL] = "GE"};
    const compare_attributes *a = lower->attributes;
    artel__hlo_type to = artel__lower_out_type(lower, 0);
    artel__hlo_value first = artel__lower_spread(lower, 0, &to), second = artel__lower_spread(lower, 1, &to);
    lower->out[0] = artel__hlo_compare(lower->hlo, how[a->function], first, second);
}

const artel__op_def artel__op_compare_def = {
    .name = "compare",
    .doc = "Comparison of two operands with broadcasting.",
    .attribute_size = sizeof(compare_attributes),
    .infer = infer_compare,
    .lower = lower_compare,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__compare_kernels,
            .params_size = sizeof(artel__compare),
            .fill = fill_compare,
        },
};

static artel_status infer_logical(artel__infer *infer)
{
    for (int k = 0; k < infer->inputs; k++) {
        if (infer->in[k]->dtype != ARTEL_DTYPE_BOOL)
            return artel__op_fail(infer, "an operand is %s, expected bool", artel_dtype_name(infer->in[k]->dtype));
    }
    return artel__infer_broadcast(infer, infer->inputs, ARTEL_DTYPE_BOOL);
}

static void fill_logical(const artel__run_args *args, void *params)
{
    const compare_attributes *a = args->attributes;
    artel__logical *p = params;
    p->op = (artel__logic)a->function;
    p->a = args->in[0];
    p->b = args->node->inputs > 1 ? args->in[1] : NULL;
    p->out = args->out[0];
    artel__args_loop(args, 0, args->node->inputs, args->node->output[0], &p->loop);
}

static void lower_logical(artel__lower *lower)
{
    static const char *const how[] = {[ARTEL__LOGIC_AND] = "and", [ARTEL__LOGIC_OR] = "or", [ARTEL__LOGIC_XOR] = "xor"};
    const compare_attributes *a = lower->attributes;
    artel__hlo_type to = artel__lower_out_type(lower, 0);
    artel__hlo_value first = artel__lower_spread(lower, 0, &to);
    if (a->function == ARTEL__LOGIC_NOT)
        lower->out[0] = artel__hlo_unary(lower->hlo, "not", first);
    else
        lower->out[0] = artel__hlo_binary(lower->hlo, how[a->function], first, artel__lower_spread(lower, 1, &to));
}

const artel__op_def artel__op_logical_def = {
    .name = "logical",
    .doc = "And, or, not on truth values.",
    .attribute_size = sizeof(compare_attributes),
    .infer = infer_logical,
    .lower = lower_logical,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__logical_kernels,
            .params_size = sizeof(artel__logical),
            .fill = fill_logical,
        },
};

artel__value_id artel__op_logical_and(artel__graph *graph, artel__value_id a, artel__value_id b)
{
    compare_attributes attributes = {ARTEL__LOGIC_AND};
    return artel__graph_add(graph, &artel__op_logical_def, &attributes, (artel__value_id[]){a, b}, 2);
}

artel__value_id artel__op_logical_or(artel__graph *graph, artel__value_id a, artel__value_id b)
{
    compare_attributes attributes = {ARTEL__LOGIC_OR};
    return artel__graph_add(graph, &artel__op_logical_def, &attributes, (artel__value_id[]){a, b}, 2);
}

artel__value_id artel__op_logical_not(artel__graph *graph, artel__value_id a)
{
    compare_attributes attributes = {ARTEL__LOGIC_NOT};
    return artel__graph_add(graph, &artel__op_logical_def, &attributes, &a, 1);
}

/* -- selection: inputs condition, a, b; an absent a or b stands for zeros -- */

static artel_status infer_select(artel__infer *infer)
{
    const artel__value *condition = infer->in[0];
    if (condition->dtype != ARTEL_DTYPE_BOOL)
        return artel__op_fail(infer, "the condition is %s", artel_dtype_name(condition->dtype));
    artel__value zero = {.domain = ARTEL__DOMAIN_GLOBAL, .dtype = ARTEL_DTYPE_FLOAT32};
    for (int k = 1; k < 3; k++) {
        artel_dtype dtype = infer->in[k] ? infer->in[k]->dtype : ARTEL_DTYPE_FLOAT32;
        if (dtype == ARTEL_DTYPE_FLOAT64 || dtype == ARTEL_DTYPE_INT64) zero.dtype = dtype;
    }
    for (int k = 1; k < 3; k++) {
        if (!infer->in[k]) infer->in[k] = &zero;
        if (zero.dtype != ARTEL_DTYPE_FLOAT32 && infer->in[k]->dtype != zero.dtype)
            return artel__op_fail(infer, "an operand is %s, expected %s", artel_dtype_name(infer->in[k]->dtype),
                                  artel_dtype_name(zero.dtype));
    }
    artel_status status = artel__infer_broadcast(infer, 3, zero.dtype);
    for (int k = 1; k < 3; k++) {
        if (infer->in[k] == &zero) infer->in[k] = NULL;
    }
    return status;
}

static void loop_select(const artel__run_args *args, artel__loop *loop)
{
    const artel__value *out = artel__args_out(args, 0);
    artel_shape scalar = {.rank = 0};
    const artel_shape *shape[3];
    bool has_rows[3];
    for (int k = 0; k < 3; k++) {
        bool absent = args->node->input[k] < 0;
        shape[k] = absent ? &scalar : &artel__args_in(args, k)->shape;
        has_rows[k] = !absent && artel__args_in(args, k)->domain == ARTEL__DOMAIN_ROW;
    }
    artel__loop_broadcast(loop, out->domain == ARTEL__DOMAIN_ROW ? args->step->fold->rows : -1, &out->shape, 3, shape,
                          has_rows);
}

static bool is_long(const artel__graph *graph, const artel__node *node)
{
    return graph->value[node->output[0]].dtype == ARTEL_DTYPE_INT64;
}

static void fill_select(const artel__run_args *args, void *params)
{
    if (artel__args_wide(args) || is_long(args->graph, args->node)) {
        artel__wide_select *p = params;
        *p = (artel__wide_select){.condition = args->in[0], .a = args->in[1], .b = args->in[2], .out = args->out[0]};
        loop_select(args, &p->loop);
    } else {
        artel__select *p = params;
        p->condition = args->in[0];
        p->a = args->in[1];
        p->b = args->in[2];
        p->out = args->out[0];
        loop_select(args, &p->loop);
    }
}

static const artel__kernel *const *choose_select(const artel__graph *graph, const artel__node *node)
{
    if (is_long(graph, node)) return artel__long_select_kernels;
    return artel__node_wide(graph, node, false) ? artel__wide_select_kernels : NULL;
}

static artel_status grad_select(artel__gradient *g)
{
    artel__value_id dy = g->out_gradient[0];
    for (int k = 1; k < 3; k++) {
        if (!g->needed[k]) continue;
        artel__value_id chosen =
            artel__op_where(g->graph, g->in[0], k == 1 ? dy : ARTEL__NO_VALUE, k == 1 ? ARTEL__NO_VALUE : dy);
        g->in_gradient[k] = artel__op_sum_to(g->graph, chosen, g->in[k]);
    }
    return ARTEL_OK;
}

static void lower_select(artel__lower *lower)
{
    artel__hlo_type to = artel__lower_out_type(lower, 0);
    artel__hlo_value side[3];
    for (int k = 0; k < 3; k++)
        side[k] = lower->in[k] >= 0 ? artel__lower_spread(lower, k, &to) : artel__hlo_splat(lower->hlo, 0, &to);
    lower->out[0] = artel__hlo_select(lower->hlo, side[0], side[1], side[2]);
}

const artel__op_def artel__op_select_def = {
    .name = "select",
    .doc = "Chooses between two operands by a condition, with broadcasting.",
    .infer = infer_select,
    .lower = lower_select,
    .grad = grad_select,
    .moves = artel__op_always_moves,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__select_kernels,
            .choose = choose_select,
            .params_size = ARTEL__EITHER_SIZE(artel__select, artel__wide_select),
            .fill = fill_select,
        },
};

/* -- casts -- */

typedef struct cast_attributes {
    artel_dtype dtype;
} cast_attributes;

static artel_status infer_cast(artel__infer *infer)
{
    const cast_attributes *a = infer->attributes;
    artel__infer_output(infer, 0, infer->in[0]->domain, a->dtype, &infer->in[0]->shape);
    return ARTEL_OK;
}

static void fill_cast(const artel__run_args *args, void *params)
{
    const artel__value *in = artel__args_in(args, 0), *out = artel__args_out(args, 0);
    *(artel__cast *)params = (artel__cast){.from = in->dtype,
                                           .to = out->dtype,
                                           .count = artel__args_rows(args, args->node->output[0]) * out->storage,
                                           .x = args->in[0],
                                           .y = args->out[0]};
}

/* Between floating-point types; integers carry no gradient. */
static artel_status grad_cast(artel__gradient *g)
{
    if (!g->needed[0] || g->out_gradient[0] < 0) return ARTEL_OK;
    g->in_gradient[0] = artel__op_cast(g->graph, g->out_gradient[0], g->graph->value[g->in[0]].dtype);
    return ARTEL_OK;
}

static void lower_cast(artel__lower *lower)
{
    lower->out[0] = artel__lower_convert(lower->hlo, lower->in[0], artel__lower_out_type(lower, 0).dtype);
}

const artel__op_def artel__op_cast_def = {
    .name = "cast",
    .doc = "Conversion between element types.",
    .attribute_size = sizeof(cast_attributes),
    .infer = infer_cast,
    .lower = lower_cast,
    .grad = grad_cast,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__cast_kernels,
            .params_size = sizeof(artel__cast),
            .fill = fill_cast,
        },
};

artel__value_id artel__op_cast(artel__graph *graph, artel__value_id x, artel_dtype dtype)
{
    if (graph->status < 0 || x < 0 || graph->value[x].dtype == dtype) return x;
    cast_attributes attributes = {dtype};
    return artel__graph_add(graph, &artel__op_cast_def, &attributes, &x, 1);
}

/* -- constants -- */

typedef artel__constant_attributes constant_attributes;

static artel_status infer_constant(artel__infer *infer)
{
    const constant_attributes *a = infer->attributes;
    artel__infer_output(infer, 0, ARTEL__DOMAIN_GLOBAL, a->dtype, &a->shape);
    return ARTEL_OK;
}

static void fill_constant(const artel__run_args *args, void *params)
{
    const constant_attributes *a = args->attributes;
    artel__copy_transpose(params, 1, (int64_t[]){artel_shape_count(&a->shape)}, (int[]){0});
    artel__strided_copy *p = params;
    p->item = artel_dtype_size(a->dtype);
    p->x = a->data;
    p->y = args->out[0];
}

static void lower_constant(artel__lower *lower)
{
    const constant_attributes *a = lower->attributes;
    artel__hlo_type type = artel__lower_out_type(lower, 0);
    if (type.dtype == ARTEL_DTYPE_BOOL) {
        type.dtype = ARTEL_DTYPE_UINT8;
        lower->out[0] = artel__hlo_convert(lower->hlo, artel__hlo_table(lower->hlo, a->data, &type), ARTEL_DTYPE_BOOL);
    } else {
        lower->out[0] = artel__hlo_table(lower->hlo, a->data, &type);
    }
}

const artel__op_def artel__op_constant_def = {
    .name = "constant",
    .doc = "A constant of the graph.",
    .attribute_size = sizeof(constant_attributes),
    .infer = infer_constant,
    .lower = lower_constant,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__strided_copy_kernels,
            .params_size = sizeof(artel__strided_copy),
            .fill = fill_constant,
        },
};

/* -- one number everywhere -- */

typedef artel__fill_attributes fill_attributes;

static artel_status infer_fill(artel__infer *infer)
{
    const artel__value *like = infer->in[0];
    bool wide = like->dtype == ARTEL_DTYPE_FLOAT64;
    artel__infer_output(infer, 0, like->domain, wide ? ARTEL_DTYPE_FLOAT64 : ARTEL_DTYPE_FLOAT32, &like->shape);
    if (like->layout == ARTEL__LAYOUT_PANELS) { /* as a gradient lies */
        infer->out[0].storage = like->storage;
        infer->out[0].layout = like->layout;
    }
    return ARTEL_OK;
}

static void fill_fill(const artel__run_args *args, void *params)
{
    const fill_attributes *a = args->attributes;
    uint32_t bits;
    uint64_t wide;
    memcpy(&bits, &a->number, sizeof bits);
    memcpy(&wide, &a->exact, sizeof wide);
    *(artel__fill *)params =
        (artel__fill){.count = artel__args_rows(args, args->node->output[0]) * artel__args_out(args, 0)->storage,
                      .item = artel__args_wide(args) ? 8 : 4,
                      .bits = artel__args_wide(args) ? wide : bits,
                      .y = args->out[0]};
}

static uint32_t unread_by_fill(const artel__node *node)
{
    (void)node;
    return 1;
}

static bool fills_zero(const void *attributes)
{
    return ((const fill_attributes *)attributes)->number == 0;
}

static void lower_fill(artel__lower *lower)
{
    const fill_attributes *a = lower->attributes;
    artel__hlo_type type = artel__lower_out_type(lower, 0);
    lower->out[0] =
        artel__hlo_splat(lower->hlo, type.dtype == ARTEL_DTYPE_FLOAT64 ? a->exact : (double)a->number, &type);
}

const artel__op_def artel__op_fill_def = {
    .name = "fill",
    .doc = "One number everywhere, in the shape of another value.",
    .attribute_size = sizeof(fill_attributes),
    .infer = infer_fill,
    .lower = lower_fill,
    .grad = grad_none,
    .moves = fills_zero,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__fill_kernels,
            .params_size = sizeof(artel__fill),
            .fill = fill_fill,
            .unread = unread_by_fill,
        },
};

static artel_status infer_stop(artel__infer *infer)
{
    artel__infer_output(infer, 0, infer->in[0]->domain, infer->in[0]->dtype, &infer->in[0]->shape);
    return ARTEL_OK;
}

static void lower_stop(artel__lower *lower)
{
    artel__hlo_type to = artel__lower_out_type(lower, 0);
    lower->out[0] = artel__hlo_reshape(lower->hlo, lower->in[0], &to);
}

const artel__op_def artel__op_stop_gradient_def = {
    .name = "stop_gradient",
    .doc = "The operand, without its gradient.",
    .placement = ARTEL__PLACE_VIEW,
    .infer = infer_stop,
    .grad = grad_none,
    .lower = lower_stop,
};

artel__value_id artel__op_stop_gradient(artel__graph *graph, artel__value_id x)
{
    return artel__graph_add(graph, &artel__op_stop_gradient_def, NULL, &x, 1);
}
