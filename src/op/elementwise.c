/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise functions of one and two operands.
 *
 *   unary    y = f(x), f a row of kernel/unary.list;        dx = dy f'(x)
 *   binary   out = a op b with NumPy broadcasting;          da = sum over broadcast axes of dout * d op / d a
 * A GLOBAL operand of a ROW result is broadcast over rows, so its gradient is a fold over rows and an all-reduce.
 * Values in panel layout (gradients of weights) are treated as flat arrays; both operands must then have that layout.
 */
#include "op/elementwise.h"

#include <math.h>

#include "kernel/wide.h"
#include "op/lower_elementwise.h"
#include "op/node_attributes.h"
#include "op/second.h"

static void like_input(artel__infer *infer, int k, artel_dtype dtype)
{
    artel__infer_output(infer, 0, infer->in[k]->domain, dtype, &infer->in[k]->shape);
    infer->out[0].storage = infer->in[k]->storage;
    infer->out[0].layout = infer->in[k]->layout;
}

static artel_status infer_unary(artel__infer *infer)
{
    artel_dtype dtype = infer->in[0]->dtype;
    if (dtype != ARTEL_DTYPE_FLOAT32 && dtype != ARTEL_DTYPE_FLOAT64)
        return artel__op_fail(infer, "the operand is %s, expected float32", artel_dtype_name(dtype));
    like_input(infer, 0, dtype);
    return ARTEL_OK;
}

static int64_t elements(const artel__run_args *args, artel__value_id id)
{
    return artel__args_rows(args, id) * args->graph->value[id].storage;
}

static void fill_unary_wide(const artel__run_args *args, void *params)
{
    const artel__unary_attributes *a = args->attributes;
    *(artel__wide_unary *)params = (artel__wide_unary){.op = a->function,
                                                       .count = elements(args, args->node->output[0]),
                                                       .x = args->in[0],
                                                       .y = args->out[0],
                                                       .a = a->exact[0],
                                                       .b = a->exact[1],
                                                       .c = a->exact[2]};
}

static void fill_unary(const artel__run_args *args, void *params)
{
    const artel__unary_attributes *a = args->attributes;
    if (artel__args_wide(args)) {
        fill_unary_wide(args, params);
        return;
    }
    *(artel__unary_forward *)params = (artel__unary_forward){.op = a->function,
                                                             .count = elements(args, args->node->output[0]),
                                                             .x = args->in[0],
                                                             .y = args->out[0],
                                                             .x_half = artel__args_half_in(args, 0),
                                                             .y_half = artel__args_half_out(args, 0),
                                                             .a = a->parameter[0],
                                                             .b = a->parameter[1],
                                                             .c = a->parameter[2]};
}

static void fill_unary_gradient_wide(const artel__run_args *args, void *params)
{
    const artel__unary_attributes *a = args->attributes;
    *(artel__wide_unary_gradient *)params =
        (artel__wide_unary_gradient){.op = a->function,
                                     .count = elements(args, args->node->output[0]),
                                     .dy = args->in[0],
                                     .v = args->node->inputs > 1 ? args->in[1] : NULL,
                                     .dx = args->out[0],
                                     .a = a->exact[0],
                                     .b = a->exact[1],
                                     .c = a->exact[2]};
}

static const artel__kernel *const *choose_unary(const artel__graph *graph, const artel__node *node)
{
    return artel__node_wide(graph, node, false) ? artel__wide_unary_kernels : NULL;
}

static const artel__kernel *const *choose_unary_gradient(const artel__graph *graph, const artel__node *node)
{
    return artel__node_wide(graph, node, false) ? artel__wide_unary_gradient_kernels : NULL;
}

static void fill_unary_gradient(const artel__run_args *args, void *params)
{
    const artel__unary_attributes *a = args->attributes;
    const void *read = args->node->inputs > 1 ? args->in[1] : NULL;
    if (artel__args_wide(args)) {
        fill_unary_gradient_wide(args, params);
        return;
    }
    *(artel__unary_gradient *)params = (artel__unary_gradient){.op = a->function,
                                                               .count = elements(args, args->node->output[0]),
                                                               .dy = args->in[0],
                                                               .x = read,
                                                               .y = read,
                                                               .dx = args->out[0],
                                                               .v_half = artel__args_half_in(args, 1),
                                                               .dy_half = artel__args_half_in(args, 0),
                                                               .dx_half = artel__args_half_out(args, 0),
                                                               .a = a->parameter[0],
                                                               .b = a->parameter[1],
                                                               .c = a->parameter[2]};
}

static void describe_unary(const artel__node *node, artel__text *out)
{
    const artel__unary_attributes *a = node->attributes;
    artel__text_printf(out, "%s", artel__unary_table[a->function].name);
}

/* Plain ReLU and its gradient hand on what they get, or 0. */
static bool moves_unary(const void *attributes)
{
    const artel__unary_attributes *a = attributes;
    return a->function == ARTEL__UNARY_RELU && a->parameter[0] == 0.0f && isinf(a->parameter[1]);
}

const artel__op_def artel__op_unary_gradient_def = {
    .name = "unary_gradient",
    .doc = "Gradient of an element-wise function.",
    .attribute_size = sizeof(artel__unary_attributes),
    .placement = ARTEL__PLACE_INPLACE,
    .infer = infer_unary,
    .grad = artel__second_unary,
    .moves = moves_unary,
    .describe = describe_unary,
    .lower = artel__lower_unary_gradient,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__unary_gradient_kernels,
            .choose = choose_unary_gradient,
            .params_size = ARTEL__EITHER_SIZE(artel__unary_gradient, artel__wide_unary_gradient),
            .fill = fill_unary_gradient,
            .half_in = 3u,
            .half_out = 1u,
        },
};

static artel_status grad_unary(artel__gradient *g)
{
    const artel__unary_attributes *a = g->attributes;
    artel__reads reads = artel__unary_table[a->function].reads;
    artel__value_id inputs[2] = {g->out_gradient[0], reads == ARTEL__READS_X ? g->in[0] : g->out[0]};
    g->in_gradient[0] =
        artel__graph_add(g->graph, &artel__op_unary_gradient_def, a, inputs, reads == ARTEL__READS_NONE ? 1 : 2);
    return ARTEL_OK;
}

const artel__op_def artel__op_unary_def = {
    .name = "unary",
    .doc = "An element-wise function.",
    .attribute_size = sizeof(artel__unary_attributes),
    .placement = ARTEL__PLACE_INPLACE,
    .infer = infer_unary,
    .grad = grad_unary,
    .moves = moves_unary,
    .describe = describe_unary,
    .lower = artel__lower_unary,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__unary_forward_kernels,
            .choose = choose_unary,
            .params_size = ARTEL__EITHER_SIZE(artel__unary_forward, artel__wide_unary),
            .fill = fill_unary,
            .half_in = 1u,
            .half_out = 1u,
        },
};

const artel__unary_attributes *artel__op_unary_read(const artel__node *node)
{
    return node->op == &artel__op_unary_def || node->op == &artel__op_unary_gradient_def ? node->attributes : NULL;
}

artel__value_id artel__op_relu_mask(artel__graph *graph, artel__value_id dy, artel__value_id out)
{
    artel__unary_attributes attributes = {
        .function = ARTEL__UNARY_RELU, .parameter = {0.0f, INFINITY, 0.0f}, .exact = {0, (double)INFINITY, 0}};
    return artel__graph_add(graph, &artel__op_unary_gradient_def, &attributes, (artel__value_id[]){dy, out}, 2);
}

/* -- two operands -- */

typedef artel__binary_attributes binary_attributes;

static const char *const binary_names[] = {
#define BINARY(name, function) #function,
#include "kernel/binary.list"
#undef BINARY
};

artel_status artel__infer_broadcast(artel__infer *infer, int operands, artel_dtype dtype)
{
    artel_shape shape = infer->in[0]->shape;
    artel__domain domain = ARTEL__DOMAIN_GLOBAL;
    bool panels = infer->in[0]->layout == ARTEL__LAYOUT_PANELS;
    for (int k = 0; k < operands; k++) {
        char a[128], b[128];
        artel_shape joined;
        if (infer->in[k]->domain == ARTEL__DOMAIN_NODES)
            return artel__op_fail(infer, "an operand is an unfinished fold");
        if (infer->in[k]->domain == ARTEL__DOMAIN_ROW) domain = ARTEL__DOMAIN_ROW;
        if (panels != (infer->in[k]->layout == ARTEL__LAYOUT_PANELS))
            return artel__op_fail(infer, "operands of different layouts");
        if (!artel__shape_broadcast(&shape, &infer->in[k]->shape, &joined))
            return artel__op_fail(infer, "the shapes %s and %s do not broadcast",
                                  artel__shape_text(&shape, true, a, sizeof a),
                                  artel__shape_text(&infer->in[k]->shape, true, b, sizeof b));
        shape = joined;
    }
    artel__infer_output(infer, 0, domain, dtype, &shape);
    infer->out[0].storage = panels ? infer->in[0]->storage : 0;
    infer->out[0].layout = infer->in[0]->layout;
    return ARTEL_OK;
}

void artel__args_loop(const artel__run_args *args, int first, int operands, artel__value_id like, artel__loop *loop)
{
    const artel__value *out = &args->graph->value[like];
    artel_shape flat = artel__shape(1, out->storage);
    const artel_shape *shape[ARTEL__LOOP_OPERANDS];
    bool has_rows[ARTEL__LOOP_OPERANDS];
    for (int k = 0; k < operands; k++) {
        const artel__value *in = artel__args_in(args, first + k);
        shape[k] = out->layout == ARTEL__LAYOUT_PANELS ? &flat : &in->shape;
        has_rows[k] = in->domain == ARTEL__DOMAIN_ROW;
    }
    int64_t rows = out->domain == ARTEL__DOMAIN_ROW ? args->step->fold->rows : -1;
    artel__loop_broadcast(loop, rows, out->layout == ARTEL__LAYOUT_PANELS ? &flat : &out->shape, operands, shape,
                          has_rows);
}

static artel_status infer_binary(artel__infer *infer)
{
    artel_dtype dtype = infer->in[0]->dtype == ARTEL_DTYPE_FLOAT64 ? ARTEL_DTYPE_FLOAT64 : ARTEL_DTYPE_FLOAT32;
    for (int k = 0; k < 2; k++) {
        if (infer->in[k]->dtype != dtype)
            return artel__op_fail(infer, "an operand is %s, expected %s", artel_dtype_name(infer->in[k]->dtype),
                                  artel_dtype_name(dtype));
    }
    return artel__infer_broadcast(infer, 2, dtype);
}

static void fill_binary_wide(const artel__run_args *args, void *params)
{
    const binary_attributes *a = args->attributes;
    artel__wide_binary *p = params;
    p->op = a ? a->function : ARTEL__BINARY_ADD;
    p->a = args->in[0];
    p->b = args->in[1];
    p->out = args->out[0];
    artel__args_loop(args, 0, 2, args->node->output[0], &p->loop);
}

static const artel__kernel *const *choose_binary(const artel__graph *graph, const artel__node *node)
{
    return artel__node_wide(graph, node, false) ? artel__wide_binary_kernels : NULL;
}

static void fill_binary(const artel__run_args *args, void *params)
{
    const binary_attributes *a = args->attributes;
    if (artel__args_wide(args)) {
        fill_binary_wide(args, params);
        return;
    }
    artel__binary_forward *p = params;
    p->op = a ? a->function : ARTEL__BINARY_ADD;
    p->a = args->in[0];
    p->b = args->in[1];
    p->out = args->out[0];
    p->a_half = artel__args_half_in(args, 0);
    p->b_half = artel__args_half_in(args, 1);
    p->out_half = artel__args_half_out(args, 0);
    artel__args_loop(args, 0, 2, args->node->output[0], &p->loop);
}

static void describe_binary(const artel__node *node, artel__text *out)
{
    const binary_attributes *a = node->attributes;
    artel__text_printf(out, "%s", binary_names[a->function]);
}

/* Inputs: dout, a, b. */
static artel_status infer_binary_gradient(artel__infer *infer)
{
    like_input(infer, 0, infer->in[0]->dtype);
    return ARTEL_OK;
}

static void fill_binary_gradient_wide(const artel__run_args *args, void *params)
{
    const binary_attributes *a = args->attributes;
    artel__wide_binary_gradient *p = params;
    p->op = a->function;
    p->wrt = a->wrt;
    p->dout = args->in[0];
    p->a = args->in[1];
    p->b = args->in[2];
    p->gradient = args->out[0];
    artel__args_loop(args, 1, 2, args->node->output[0], &p->loop);
}

static const artel__kernel *const *choose_binary_gradient(const artel__graph *graph, const artel__node *node)
{
    return artel__node_wide(graph, node, false) ? artel__wide_binary_gradient_kernels : NULL;
}

static void fill_binary_gradient(const artel__run_args *args, void *params)
{
    const binary_attributes *a = args->attributes;
    if (artel__args_wide(args)) {
        fill_binary_gradient_wide(args, params);
        return;
    }
    artel__binary_gradient *p = params;
    p->op = a->function;
    p->wrt = a->wrt;
    p->dout = args->in[0];
    p->a = args->in[1];
    p->b = args->in[2];
    p->gradient = args->out[0];
    p->dout_half = artel__args_half_in(args, 0);
    p->a_half = artel__args_half_in(args, 1);
    p->b_half = artel__args_half_in(args, 2);
    p->gradient_half = artel__args_half_out(args, 0);
    artel__args_loop(args, 1, 2, args->node->output[0], &p->loop);
}

static artel_status grad_binary_gradient(artel__gradient *g)
{
    const binary_attributes *a = g->attributes;
    return artel__second_binary(g, a->function, a->wrt);
}

static void lower_binary_gradient(artel__lower *lower)
{
    const binary_attributes *a = lower->attributes;
    artel__lower_binary_gradient(lower, a->function, a->wrt);
}

const artel__op_def artel__op_binary_gradient_def = {
    .name = "binary_gradient",
    .doc = "Gradient of arithmetic on two operands, before broadcast axes are summed.",
    .attribute_size = sizeof(binary_attributes),
    .placement = ARTEL__PLACE_INPLACE,
    .infer = infer_binary_gradient,
    .grad = grad_binary_gradient,
    .describe = describe_binary,
    .lower = lower_binary_gradient,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__binary_gradient_kernels,
            .choose = choose_binary_gradient,
            .params_size = ARTEL__EITHER_SIZE(artel__binary_gradient, artel__wide_binary_gradient),
            .fill = fill_binary_gradient,
            .half_in = 7u,
            .half_out = 1u,
        },
};

static artel_status grad_binary(artel__gradient *g)
{
    const binary_attributes *a = g->attributes;
    for (int k = 0; k < 2; k++) {
        if (!g->needed[k]) continue;
        artel__value_id gradient = g->out_gradient[0];
        binary_attributes attributes = {a->function, k};
        if (!(a->function == ARTEL__BINARY_ADD || (a->function == ARTEL__BINARY_SUB && k == 0)))
            gradient = artel__graph_add(g->graph, &artel__op_binary_gradient_def, &attributes,
                                        (artel__value_id[]){gradient, g->in[0], g->in[1]}, 3);
        g->in_gradient[k] = artel__op_sum_to(g->graph, gradient, g->in[k]);
    }
    return ARTEL_OK;
}

static bool is_quotient(const artel__graph *graph, artel__value_id id)
{
    int32_t producer = graph->value[id].node;
    const artel__node *node = producer < 0 ? NULL : &graph->node[producer];
    const binary_attributes *a = node && node->op == &artel__op_binary_def ? node->attributes : NULL;
    return a && a->function == ARTEL__BINARY_DIV;
}

/* XLA makes a / b / c and a / (b / c) quotients of products, which may overflow. */
static void lower_binary(artel__lower *lower)
{
    const binary_attributes *a = lower->attributes;
    for (int k = 0; k < 2 && a && a->function == ARTEL__BINARY_DIV; k++) {
        if (is_quotient(lower->graph, lower->node->input[k]))
            lower->in[k] = artel__hlo_barrier(lower->hlo, lower->in[k]);
    }
    artel__lower_binary(lower, a ? a->function : ARTEL__BINARY_ADD);
}

const artel__op_def artel__op_binary_def = {
    .name = "binary",
    .doc = "Arithmetic on two operands with broadcasting.",
    .attribute_size = sizeof(binary_attributes),
    .placement = ARTEL__PLACE_INPLACE,
    .infer = infer_binary,
    .grad = grad_binary,
    .describe = describe_binary,
    .lower = lower_binary,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__binary_forward_kernels,
            .choose = choose_binary,
            .params_size = ARTEL__EITHER_SIZE(artel__binary_forward, artel__wide_binary),
            .fill = fill_binary,
            .half_in = 3u,
            .half_out = 1u,
        },
};

artel__binary artel__op_binary_function(const artel__node *node)
{
    const binary_attributes *a = node->attributes;
    return a->function;
}
