/* SPDX-License-Identifier: Apache-2.0 */
/* Products with weights: Dense, EinsumDense, the projections of attention.
 *
 *   forward          out[m][n] = activation(sum_k x[m][k] w[k][n] + b[n]),   m = rows times inner axes
 *   data gradient    dx[m][k] = sum_n dy[m][n] w[k][n], a product with the transposed panels of w
 *   weight gradient  dw[k][n] = fold over shards of sum_m x[m][k] dy[m][n], db[n] = the same of dy
 * Order of operations: kernel/product.h. With a fused ReLU, dy is masked by out > 0 first.
 */
#include "graph/lower.h"
#include "op/elementwise.h"
#include "op/node_attributes.h"
#include "op/op.h"
#include "op/reduce.h"
#include "op/shape_ops.h"
#include "op/wide_product.h"

extern const artel__op_def artel__op_product_def;

typedef artel__product_attributes product_attributes;

/* Of operands 0 and 1. What holds 16-bit numbers is multiplied as such; sums are float32. */
static artel__hlo_value held_dot(artel__lower *lower, artel__hlo_value a, artel__hlo_value b, int axis_a, int axis_b)
{
    artel_dtype held = artel__lower_held(lower, 0, 1);
    return artel__hlo_dot(lower->hlo, artel__hlo_convert(lower->hlo, a, held), artel__hlo_convert(lower->hlo, b, held),
                          axis_a, axis_b);
}

static artel_status infer_product(artel__infer *infer)
{
    const product_attributes *a = infer->attributes;
    const artel__value *x = infer->in[0], *w = infer->in[1];
    if (x->dtype != ARTEL_DTYPE_FLOAT32)
        return artel__op_fail(infer, "inputs are %s, expected float32", artel_dtype_name(x->dtype));
    int kept = x->shape.rank - a->contracted;
    if (kept < 0 || artel__shape_product(&x->shape, kept, x->shape.rank) != a->k ||
        w->storage != (a->turned ? artel__panels_floats(a->n, a->k) : artel__panels_floats(a->k, a->n))) {
        char shape[128];
        return artel__op_fail(infer, "the input %s does not fit weights of %lld rows",
                              artel__shape_text(&x->shape, true, shape, sizeof shape), (long long)a->k);
    }
    artel_shape out = {.rank = kept};
    for (int i = 0; i < kept; i++) out.dim[i] = x->shape.dim[i];
    for (int i = 0; i < a->columns.rank; i++) out.dim[out.rank++] = a->columns.dim[i];
    artel__infer_output(infer, 0, x->domain, ARTEL_DTYPE_FLOAT32, &out);
    return ARTEL_OK;
}

static void fill_product(const artel__run_args *args, void *params)
{
    const product_attributes *a = args->attributes;
    artel__product_forward *p = params;
    const artel__value *out = artel__args_out(args, 0);
    p->m = artel__args_rows(args, args->node->output[0]) * (a->n ? out->storage / a->n : 0);
    p->n = a->n;
    p->k = a->k;
    p->a = args->in[0];
    p->lda = a->k;
    p->w = args->in[1];
    p->bias = args->node->inputs > 2 ? args->in[2] : NULL;
    p->activation = a->activation;
    p->out = args->out[0];
    p->ldo = a->n;
    p->turned = a->turned;
    p->held = artel__args_held(args, 0, 1);
    p->arithmetic = artel__args_arithmetic(args, p->held);
    p->a_half = artel__args_half_in(args, 0);
    p->out_half = artel__args_half_out(args, 0);
    p->w_raw = artel__args_raw_in(args, 1);
}

static int64_t cost_product(const artel__graph *graph, const artel__node *node)
{
    const product_attributes *a = node->attributes;
    return 2 * a->k * graph->value[node->output[0]].storage;
}

static void describe_product(const artel__node *node, artel__text *out)
{
    const product_attributes *a = node->attributes;
    artel__text_printf(out, "k=%lld n=%lld%s%s", (long long)a->k, (long long)a->n, a->activation ? " relu" : "",
                       a->turned ? " turned" : "");
}

/* -- transposed weights -- */

typedef struct transpose_attributes {
    int64_t taps, rows, columns, groups;
} transpose_attributes;

static artel_status infer_transpose(artel__infer *infer)
{
    const transpose_attributes *a = infer->attributes;
    artel_shape shape = artel__shape(2, a->taps * (a->columns / a->groups), a->groups * a->rows);
    artel__infer_output(infer, 0, ARTEL__DOMAIN_GLOBAL, ARTEL_DTYPE_FLOAT32, &shape);
    infer->out[0].storage = artel__pack_transposed_floats(a->taps, a->rows, a->columns, a->groups);
    infer->out[0].layout = ARTEL__LAYOUT_PANELS;
    return ARTEL_OK;
}

static void fill_transpose(const artel__run_args *args, void *params)
{
    const transpose_attributes *a = args->attributes;
    *(artel__product_pack *)params = (artel__product_pack){.what = ARTEL__PACK_TRANSPOSE,
                                                           .taps = a->taps,
                                                           .rows = a->rows,
                                                           .columns = a->columns,
                                                           .groups = a->groups,
                                                           .from = args->in[0],
                                                           .to = args->out[0]};
}

/* [taps][rows][groups][columns] -> [taps downwards][columns][groups][rows] */
static void lower_transpose(artel__lower *lower)
{
    const transpose_attributes *a = lower->attributes;
    artel__hlo_type out = artel__lower_out_type(lower, 0);
    artel__hlo_type from = {
        .dtype = out.dtype, .rank = 4, .dim = {a->taps, a->rows, a->groups, a->columns / a->groups}};
    artel__hlo_value w = artel__hlo_reshape(lower->hlo, lower->in[0], &from);
    if (a->taps > 1) w = artel__hlo_reverse(lower->hlo, w, 0);
    lower->out[0] = artel__hlo_reshape(lower->hlo, artel__hlo_transpose(lower->hlo, w, (int[]){0, 3, 2, 1}), &out);
}

/* Turned once more, the axes are where they were. */
static artel_status grad_transpose_weights(artel__gradient *g)
{
    const transpose_attributes *a = g->attributes;
    g->in_gradient[0] = artel__op_transpose_weights(g->graph, g->out_gradient[0], a->taps, a->columns / a->groups,
                                                    a->groups * a->rows, a->groups);
    return g->graph->status;
}

const artel__op_def artel__op_transpose_weights_def = {
    .name = "transpose_weights",
    .doc = "Weights of a product or convolution, transposed for the data gradient.",
    .attribute_size = sizeof(transpose_attributes),
    .infer = infer_transpose,
    .grad = grad_transpose_weights,
    .lower = lower_transpose,
    .moves = artel__op_always_moves,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__product_pack_kernels,
            .params_size = sizeof(artel__product_pack),
            .fill = fill_transpose,
            .raw_alike = true,
        },
};

artel__value_id artel__op_transpose_weights(artel__graph *graph, artel__value_id w, int64_t taps, int64_t rows,
                                            int64_t columns, int64_t groups)
{
    transpose_attributes attributes = {taps, rows, columns, groups};
    return artel__graph_add(graph, &artel__op_transpose_weights_def, &attributes, &w, 1);
}

/* -- weight gradient -- */

typedef struct weight_gradient_attributes {
    int64_t k, n;
    bool bias;
} weight_gradient_attributes;

static artel_status infer_weight_gradient(artel__infer *infer)
{
    const weight_gradient_attributes *a = infer->attributes;
    artel_shape w = artel__shape(2, a->k, a->n), b = artel__shape(1, a->n);
    artel__infer_output(infer, 0, ARTEL__DOMAIN_NODES, ARTEL_DTYPE_FLOAT32, &w);
    infer->out[0].storage = artel__panels_floats(a->k, a->n);
    infer->out[0].layout = ARTEL__LAYOUT_PANELS;
    if (a->bias) artel__infer_output(infer, 1, ARTEL__DOMAIN_NODES, ARTEL_DTYPE_FLOAT32, &b);
    return ARTEL_OK;
}

static void fill_weight_gradient(const artel__run_args *args, void *params)
{
    const weight_gradient_attributes *a = args->attributes;
    artel__product_weight_gradient *p = params;
    p->fold = args->step->fold;
    p->inner = a->k ? artel__args_in(args, 0)->storage / a->k : 0;
    p->k = a->k;
    p->n = a->n;
    p->x = args->in[0];
    p->ldx = a->k;
    p->dy = args->in[1];
    p->ldy = a->n;
    p->dw = args->out[0];
    p->dw_stride = artel__args_out(args, 0)->storage;
    p->dbias = a->bias ? args->out[1] : NULL;
    p->dbias_stride = a->n;
    p->held = artel__args_held(args, 0, 1);
    p->arithmetic = artel__args_arithmetic(args, p->held);
    p->x_half = artel__args_half_in(args, 0);
    p->dy_half = artel__args_half_in(args, 1);
}

static int64_t cost_weight_gradient(const artel__graph *graph, const artel__node *node)
{
    const weight_gradient_attributes *a = node->attributes;
    return 2 * a->k * graph->value[node->input[1]].storage;
}

static void lower_weight_gradient(artel__lower *lower)
{
    const weight_gradient_attributes *a = lower->attributes;
    artel__hlo *h = lower->hlo;
    artel__hlo_type x = {.dtype = ARTEL_DTYPE_FLOAT32, .rank = 2}, dy = x;
    x.dim[0] = dy.dim[0] = a->k ? artel__hlo_count(artel__hlo_type_of(h, lower->in[0])) / a->k : 0;
    x.dim[1] = a->k;
    dy.dim[1] = a->n;
    artel__hlo_value slope = artel__hlo_reshape(h, lower->in[1], &dy);
    lower->out[0] = held_dot(lower, artel__hlo_reshape(h, lower->in[0], &x), slope, 0, 0);
    if (a->bias) lower->out[1] = artel__hlo_reduce(h, "add", 0, slope, 1);
}

/* dw = x' dy and db = sum dy, with G and h what comes back to them: dx = dy G', d dy = x G + h, all as matrices. */
static artel_status grad_weight_gradient(artel__gradient *g)
{
    const weight_gradient_attributes *a = g->attributes;
    artel__graph *graph = g->graph;
    artel__value_id back = g->out_gradient[0], bias = g->out_gradient[1], x = g->in[0], dy = g->in[1];
    artel_shape columns = artel__shape(1, a->n), rows = artel__shape(1, a->k), x_shape = graph->value[x].shape,
                dy_shape = graph->value[dy].shape;
    artel_shape x_matrix = artel__shape(2, -1, a->k), dy_matrix = artel__shape(2, -1, a->n);
    x_matrix.dim[0] = dy_matrix.dim[0] = a->k ? graph->value[x].storage / a->k : 0;
    artel__value_id made;
    if (g->needed[0] && back >= 0) {
        artel__value_id turned = artel__op_transpose_weights(graph, back, 1, a->k, a->n, 1);
        made = artel__op_product(graph, artel__op_reshape(graph, dy, &dy_matrix), turned, ARTEL__NO_VALUE, 1, &rows,
                                 ARTEL__FUSED_NONE);
        g->in_gradient[0] = artel__op_reshape(graph, made, &x_shape);
    }
    if (!g->needed[1]) return graph->status;
    if (back >= 0)
        made = artel__op_product(graph, artel__op_reshape(graph, x, &x_matrix), back, bias, 1, &columns,
                                 ARTEL__FUSED_NONE);
    else
        made = artel__op_add(graph, artel__op_fill_like(graph, artel__op_reshape(graph, dy, &dy_matrix), 0), bias);
    g->in_gradient[1] = artel__op_reshape(graph, made, &dy_shape);
    return graph->status;
}

const artel__op_def artel__op_product_weight_gradient_def = {
    .name = "product_weight_gradient",
    .doc = "Gradient of a product's weights and bias, folded over shards in the tile.",
    .attribute_size = sizeof(weight_gradient_attributes),
    .infer = infer_weight_gradient,
    .grad = grad_weight_gradient,
    .cost = cost_weight_gradient,
    .lower = lower_weight_gradient,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__product_weight_gradient_kernels,
            .params_size = sizeof(artel__product_weight_gradient),
            .fill = fill_weight_gradient,
            .half_in = 3u,
            .follow = offsetof(artel__product_weight_gradient, follow),
        },
};

artel__value_id artel__op_weight_gradient(artel__graph *graph, artel__value_id x, artel__value_id dy, int64_t k,
                                          int64_t n, bool bias)
{
    weight_gradient_attributes attributes = {k, n, bias};
    return artel__graph_add(graph, &artel__op_product_weight_gradient_def, &attributes, (artel__value_id[]){x, dy}, 2);
}

/* From so many weights on they are turned inside the product when that has one row for each row of the batch. */
#define TURNED_WEIGHTS ((int64_t)1 << 18)

static artel__value_id data_gradient(artel__gradient *g, artel__value_id dy)
{
    const product_attributes *a = g->attributes;
    const artel_shape *x = &g->graph->value[g->in[0]].shape;
    product_attributes back = {.contracted = a->columns.rank, .columns = {.rank = a->contracted}, .k = a->n, .n = a->k};
    for (int i = 0; i < a->contracted; i++) back.columns.dim[i] = x->dim[x->rank - a->contracted + i];
    back.turned = !a->turned && x->rank == a->contracted && a->k * a->n >= TURNED_WEIGHTS;
    artel__value_id w =
        back.turned || a->turned ? g->in[1] : artel__op_transpose_weights(g->graph, g->in[1], 1, a->k, a->n, 1);
    return artel__graph_add(g->graph, &artel__op_product_def, &back, (artel__value_id[]){dy, w}, 2);
}

/* Of an input without rows there is nothing to fold: the weights' gradient is a product itself. */
static void gradient_of_shared(artel__gradient *g, artel__value_id dy)
{
    const product_attributes *a = g->attributes;
    artel__graph *graph = g->graph;
    artel_shape x = artel__shape(2, -1, a->k), y = artel__shape(2, -1, a->n), columns = artel__shape(1, a->n);
    x.dim[0] = y.dim[0] = a->n ? graph->value[dy].storage / a->n : 0;
    artel__value_id matrix = artel__op_reshape(graph, dy, &y);
    if (g->needed[1]) {
        artel__value_id turned = artel__op_transpose(graph, artel__op_reshape(graph, g->in[0], &x), (int[]){1, 0});
        artel__value_id made = artel__op_product(graph, turned, artel__op_panels(graph, matrix), ARTEL__NO_VALUE, 1,
                                                 &columns, ARTEL__FUSED_NONE);
        g->in_gradient[1] = artel__op_panels_of(graph, made, a->k);
    }
    if (g->needed[2]) g->in_gradient[2] = artel__op_reduce(graph, ARTEL__REDUCE_SUM, matrix, 1u, false);
}

static artel_status grad_product(artel__gradient *g)
{
    const product_attributes *a = g->attributes;
    artel__graph *graph = g->graph;
    artel__value_id dy = g->out_gradient[0];
    if (a->activation == ARTEL__FUSED_RELU) dy = artel__op_relu_mask(graph, dy, g->out[0]);
    if (graph->status < 0) return graph->status;
    if (g->needed[0]) g->in_gradient[0] = data_gradient(g, dy);
    if (graph->value[dy].domain != ARTEL__DOMAIN_ROW) {
        gradient_of_shared(g, dy);
        return graph->status;
    }
    if (a->turned && g->needed[1]) /* a gradient's gradient */
        g->in_gradient[1] =
            artel__op_all_reduce(graph, artel__op_weight_gradient(graph, dy, g->in[0], a->n, a->k, false));
    else if (g->needed[1] || g->needed[2]) {
        artel__value_id nodes = artel__op_weight_gradient(graph, g->in[0], dy, a->k, a->n, g->needed[2]);
        if (g->needed[1]) g->in_gradient[1] = artel__op_all_reduce(graph, nodes);
        if (g->needed[2]) g->in_gradient[2] = artel__op_all_reduce(graph, artel__graph_output(graph, nodes, 1));
    }
    return ARTEL_OK;
}

static void lower_product(artel__lower *lower)
{
    const product_attributes *a = lower->attributes;
    artel__hlo *h = lower->hlo;
    artel__hlo_type out = artel__lower_out_type(lower, 0), x = {.dtype = ARTEL_DTYPE_FLOAT32, .rank = 2}, w = x,
                    bias = x;
    int64_t count = 1;
    for (int i = 0; i < out.rank; i++) count *= out.dim[i];
    x.dim[0] = a->n ? count / a->n : 0;
    w.dim[a->turned] = x.dim[1] = a->k;
    w.dim[!a->turned] = a->n;
    artel__hlo_value y =
        held_dot(lower, artel__hlo_reshape(h, lower->in[0], &x), artel__hlo_reshape(h, lower->in[1], &w), 1, a->turned);
    bias = *artel__hlo_type_of(h, y);
    if (lower->in[2] >= 0) {
        artel__hlo_type flat = {.dtype = ARTEL_DTYPE_FLOAT32, .rank = 1, .dim = {a->n}};
        y = artel__hlo_binary(h, "add", y,
                              artel__hlo_broadcast_trailing(h, artel__hlo_reshape(h, lower->in[2], &flat), &bias));
    }
    if (a->activation == ARTEL__FUSED_RELU) y = artel__hlo_binary(h, "maximum", y, artel__hlo_number(h, 0, y));
    lower->out[0] = artel__hlo_reshape(h, y, &out);
}

const artel__op_def artel__op_product_def = {
    .name = "product",
    .doc = "Product with weights, bias and ReLU fused.",
    .attribute_size = sizeof(product_attributes),
    .infer = infer_product,
    .grad = grad_product,
    .cost = cost_product,
    .describe = describe_product,
    .lower = lower_product,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__product_forward_kernels,
            .params_size = sizeof(artel__product_forward),
            .fill = fill_product,
            .half_in = 1u << 0,
            .half_out = 1u << 0,
            .raw_in = 1u << 1,
            .narrow = offsetof(artel__product_forward, narrow),
        },
};

artel__value_id artel__op_product(artel__graph *graph, artel__value_id x, artel__value_id w, artel__value_id bias,
                                  int contracted, const artel_shape *columns, artel__fused activation)
{
    if (graph->status < 0 || x < 0 || w < 0) return ARTEL__NO_VALUE;
    if (graph->value[x].dtype == ARTEL_DTYPE_FLOAT64)
        return artel__op_wide_weights(graph, x, w, bias,
                                      &(artel__wide_weights){contracted, *columns, activation == ARTEL__FUSED_RELU});
    const artel_shape *shape = &graph->value[x].shape;
    product_attributes attributes = {.contracted = contracted,
                                     .columns = *columns,
                                     .activation = activation,
                                     .k = artel__shape_product(shape, shape->rank - contracted, shape->rank),
                                     .n = artel_shape_count(columns)};
    artel__value_id inputs[] = {x, w, bias};
    return artel__graph_add(graph, &artel__op_product_def, &attributes, inputs, bias >= 0 ? 3 : 2);
}
