/* SPDX-License-Identifier: Apache-2.0 */
/* Products, windows, statistics, attention and recurrent cells of the graph as ONNX nodes. */
#include <string.h>

#include "kernel/attention.h"
#include "keras/onnx_graph.h"
#include "op/conv_attributes.h"
#include "op/node_attributes.h"
#include "op/norm.h"
#include "op/norm_attributes.h"
#include "op/ops.h"
#include "op/pool_attributes.h"

typedef artel__onnx_site site;

static const char *add(site *s, const char *a, const char *b)
{
    return artel__onnx_node2(s->onnx, "Add", a, b);
}

static const char *multiply(site *s, const char *a, const char *b)
{
    return artel__onnx_node2(s->onnx, "Mul", a, b);
}

static const char *as_vector(site *s, const char *x)
{
    const int64_t all = -1;
    return artel__onnx_reshaped(s, x, false, &all, 1);
}

/* -- products -- */

static void write_product(site *s)
{
    const artel__product_attributes *a = s->node->attributes;
    const artel__value *x = artel__onnx_in_value(s, 0);
    bool rows = artel__onnx_ahead(x);
    if (artel__onnx_open(s->onnx) && (a->contracted != 1 || a->columns.rank != 1))
        s->refused = "over inputs of any size";
    int kept = x->shape.rank - a->contracted;
    const int64_t matrix[2] = {a->turned ? a->n : a->k, a->turned ? a->k : a->n}, swap[2] = {1, 0};
    int64_t dims[ARTEL_MAX_RANK + 1];
    memcpy(dims, x->shape.dim, sizeof x->shape.dim);
    dims[kept] = a->k;
    const char *w = artel__onnx_reshaped(s, s->in[1], false, matrix, 2);
    if (a->turned) w = artel__onnx_transpose(s->onnx, w, swap, 2);
    const char *from = a->contracted == 1 ? s->in[0] : artel__onnx_reshaped(s, s->in[0], rows, dims, kept + 1);
    const char *y = artel__onnx_node2(s->onnx, "MatMul", from, w);
    if (s->in[2]) y = add(s, y, as_vector(s, s->in[2]));
    y = artel__onnx_fused(s, a->activation, y);
    s->out[0] = a->columns.rank == 1 ? y : artel__onnx_shaped(s, y, artel__onnx_out_value(s));
}

/* -- windows -- */

static const int64_t to_front[5] = {0, 4, 1, 2, 3}, to_back[5] = {0, 2, 3, 4, 1};
static const int64_t image_front[4] = {0, 3, 1, 2}, image_back[4] = {0, 2, 3, 1};

static int64_t behind(int64_t in, int64_t before, int64_t out, int64_t stride, int64_t reach)
{
    int64_t pad = (out - 1) * stride + reach - in - before;
    return pad > 0 ? pad : 0;
}

/* [kh][kw][in / groups][out] -> [out][in / groups][kh][kw] */
static const char *turn_weights(site *s, const char *w, const artel__conv2d_shape *c, int64_t in, int64_t out)
{
    static const int64_t perm[4] = {3, 2, 0, 1};
    const int64_t dims[4] = {c->kh, c->kw, in, out};
    return artel__onnx_transpose(s->onnx, artel__onnx_reshaped(s, w, false, dims, 4), perm, 4);
}

static void set_steps(artel__text *node, const artel__conv2d_shape *c, const int64_t pads[4], int64_t groups)
{
    artel__onnx_ints(node, "pads", pads, 4);
    artel__onnx_ints(node, "strides", (const int64_t[]){c->sh, c->sw}, 2);
    artel__onnx_ints(node, "dilations", (const int64_t[]){c->dh, c->dw}, 2);
    artel__onnx_int(node, "group", groups);
}

/* Of a row that is several images, each becomes one of the batch. */
static const char *image(site *s, int64_t height, int64_t width, int64_t channels)
{
    const int64_t dims[3] = {height, width, channels};
    return artel__onnx_transpose(s->onnx, artel__onnx_reshaped(s, s->in[0], true, dims, 3), image_front, 4);
}

static void finish_image(site *s, artel__text *node, const char *const *operands)
{
    const artel__conv_attributes *a = s->node->attributes;
    const char *y = artel__onnx_end(s->onnx, node, operands, a->bias ? 3 : 2);
    y = artel__onnx_transpose(s->onnx, artel__onnx_fused(s, a->activation, y), image_back, 4);
    s->out[0] = artel__onnx_shaped(s, y, artel__onnx_out_value(s));
}

static void put_convolution(site *s, int64_t groups)
{
    const artel__conv_attributes *a = s->node->attributes;
    const artel__conv2d_shape *c = &a->shape;
    const int64_t pads[4] = {c->top, c->left, behind(c->ih, c->top, c->oh, c->sh, (c->kh - 1) * c->dh + 1),
                             behind(c->iw, c->left, c->ow, c->sw, (c->kw - 1) * c->dw + 1)};
    const char *operands[3] = {image(s, c->ih, c->iw, c->ic), turn_weights(s, s->in[1], c, c->ic / groups, c->oc),
                               a->bias ? as_vector(s, s->in[2]) : NULL};
    artel__text node = artel__onnx_start(s->onnx, "Conv");
    set_steps(&node, c, pads, groups);
    finish_image(s, &node, operands);
}

static void write_conv(site *s)
{
    put_convolution(s, ((const artel__conv_attributes *)s->node->attributes)->shape.groups);
}

static void write_depthwise(site *s)
{
    put_convolution(s, ((const artel__conv_attributes *)s->node->attributes)->shape.ic);
}

/* `shape` is that of the convolution whose gradient this is: its output [oh][ow][oc] comes in, [ih][iw][ic] goes out.
 */
static void write_conv_transpose(site *s)
{
    const artel__conv_attributes *a = s->node->attributes;
    const artel__conv2d_shape *c = &a->shape;
    int64_t tail[2] = {(c->oh - 1) * c->sh + (c->kh - 1) * c->dh + 1 - c->ih - c->top,
                       (c->ow - 1) * c->sw + (c->kw - 1) * c->dw + 1 - c->iw - c->left},
            beyond[2];
    for (int i = 0; i < 2; i++) {
        beyond[i] = tail[i] < 0 ? -tail[i] : 0;
        if (tail[i] < 0) tail[i] = 0;
    }
    const int64_t pads[4] = {c->top, c->left, tail[0], tail[1]};
    const char *operands[3] = {image(s, c->oh, c->ow, c->oc), turn_weights(s, s->in[2], c, c->ic, c->oc),
                               a->bias ? as_vector(s, s->in[3]) : NULL};
    artel__text node = artel__onnx_start(s->onnx, "ConvTranspose");
    set_steps(&node, c, pads, 1);
    artel__onnx_ints(&node, "output_padding", beyond, 2);
    finish_image(s, &node, operands);
}

static void write_pool(site *s)
{
    const artel__pool_attributes *a = s->node->attributes;
    const artel__pool_shape *p = &a->shape;
    int64_t dims[4] = {p->in[0], p->in[1], p->in[2], p->channels}, pads[6];
    for (int i = 0; i < 3; i++) {
        pads[i] = p->pad[i];
        pads[i + 3] = behind(p->in[i], p->pad[i], p->out[i], p->stride[i], p->window[i]);
    }
    const char *x = artel__onnx_transpose(s->onnx, artel__onnx_reshaped(s, s->in[0], true, dims, 4), to_front, 5);
    artel__text node = artel__onnx_start(s->onnx, a->function == ARTEL__POOL_MAX ? "MaxPool" : "AveragePool");
    artel__onnx_ints(&node, "kernel_shape", p->window, 3);
    artel__onnx_ints(&node, "strides", p->stride, 3);
    artel__onnx_ints(&node, "pads", pads, 6);
    const char *y = artel__onnx_transpose(s->onnx, artel__onnx_end(s->onnx, &node, &x, 1), to_back, 5);
    s->out[0] = artel__onnx_shaped(s, y, artel__onnx_out_value(s));
}

/* -- statistics -- */

static const char *inverse_root(site *s, const char *variance, double epsilon)
{
    const char *moved = add(s, variance, artel__onnx_scalar(s->onnx, epsilon));
    return artel__onnx_node1(s->onnx, "Reciprocal", artel__onnx_node1(s->onnx, "Sqrt", moved));
}

static void write_norm_inverse(site *s)
{
    s->out[0] = inverse_root(s, s->in[0], (double)((const artel__epsilon_attributes *)s->node->attributes)->epsilon);
}

/* Inputs x, mean, inverse, gamma, beta, residual. */
static void write_normalise(site *s)
{
    const artel__norm_attributes *a = s->node->attributes;
    const char *y = multiply(s, artel__onnx_node2(s->onnx, "Sub", s->in[0], s->in[1]), s->in[2]);
    if (s->in[3]) y = multiply(s, y, s->in[3]);
    if (s->in[4]) y = add(s, y, s->in[4]);
    if (s->in[5]) y = add(s, y, s->in[5]);
    if (a->activation != ARTEL__NORM_LINEAR) y = artel__onnx_node1(s->onnx, "Relu", y);
    if (a->activation == ARTEL__NORM_RELU6) y = artel__onnx_node2(s->onnx, "Min", y, artel__onnx_scalar(s->onnx, 6));
    s->out[0] = y;
}

/* Over the last axes; forms and epsilons: kernel/norm.h. Inputs x, gamma, beta. */
static void write_layer_norm(site *s)
{
    const artel__layer_norm_attributes *a = s->node->attributes;
    artel__onnx *o = s->onnx;
    int64_t axes[ARTEL_MAX_RANK];
    for (int i = 0; i < a->axes; i++) axes[i] = i - a->axes;
    bool centred = a->mode == ARTEL__LAYER_NORM_LAYER || a->mode == ARTEL__LAYER_NORM_RMS_SCALED,
         unit = a->mode == ARTEL__LAYER_NORM_UNIT;
    const char *x = s->in[0], *moved = x, *inverse;
    if (centred)
        moved = artel__onnx_node2(o, "Sub", x, artel__onnx_reduce_over(o, "ReduceMean", x, axes, a->axes, true));
    const char *squares =
        artel__onnx_reduce_over(o, unit ? "ReduceSum" : "ReduceMean", multiply(s, moved, moved), axes, a->axes, true);
    inverse = unit ? artel__onnx_node2(o, "Min", inverse_root(s, squares, 0),
                                       artel__onnx_scalar(o, (double)(1.0f / a->epsilon)))
                   : inverse_root(s, squares, (double)a->epsilon);
    const char *y = multiply(s, a->mode == ARTEL__LAYER_NORM_LAYER ? moved : x, inverse);
    const artel_shape *shape = &artel__onnx_in_value(s, 0)->shape;
    const int64_t *last = shape->dim + shape->rank - a->axes;
    if (s->in[1]) y = multiply(s, y, artel__onnx_reshaped(s, s->in[1], false, last, a->axes));
    if (s->in[2]) y = add(s, y, artel__onnx_reshaped(s, s->in[2], false, last, a->axes));
    s->out[0] = y;
}

/* -- attention -- */

/* [.., length, heads, features] -> [.., heads, length, features], or with the last two changed: [.., heads, features,
 * length]. */
static const char *heads_first(site *s, const char *x, int rank, bool turned)
{
    int64_t perm[ARTEL_MAX_RANK + 1];
    for (int i = 0; i < rank; i++) perm[i] = i;
    perm[rank - 3] = rank - 2;
    perm[rank - 2] = turned ? rank - 1 : rank - 3;
    perm[rank - 1] = turned ? rank - 3 : rank - 1;
    return artel__onnx_transpose(s->onnx, x, perm, rank);
}

/* Each head of keys and values for the heads of queries that share it. */
static const char *share_heads(site *s, const char *x, int axis, int64_t heads, int64_t key_heads)
{
    int64_t *which = artel__arena_alloc(&s->onnx->arena, (size_t)heads + 1, sizeof *which);
    if (heads == key_heads) return x;
    for (int64_t i = 0; which && i < heads; i++) which[i] = i * key_heads / heads;
    artel__text node = artel__onnx_start(s->onnx, "Gather");
    artel__onnx_int(&node, "axis", axis);
    const char *index = which ? artel__onnx_ints_constant(s->onnx, which, (int)heads) : NULL;
    return artel__onnx_end(s->onnx, &node, (const char *[]){x, index}, 2);
}

static const char *where(site *s, const char *mask, const char *x, const char *otherwise)
{
    artel__text node = artel__onnx_start(s->onnx, "Where");
    return artel__onnx_end(s->onnx, &node, (const char *[]){mask, x, otherwise}, 3);
}

static const char *hide(site *s, const char *scores, const char *mask)
{
    const artel__attention_attributes *a = s->node->attributes;
    const char *low = a->hidden == (int)ARTEL__HIDDEN_LOWERED
                          ? add(s, scores, artel__onnx_scalar(s->onnx, -1e9))
                          : artel__onnx_scalar(s->onnx, (double)ARTEL__MASKED_SCORE);
    return where(s, mask, scores, low);
}

static const char *causal_mask(site *s, int64_t queries, int64_t keys)
{
    uint8_t *seen = artel__arena_alloc(&s->onnx->arena, (size_t)(queries * keys) + 1, 1);
    for (int64_t i = 0; seen && i < queries * keys; i++) seen[i] = i % keys <= i / keys;
    return artel__onnx_constant(s->onnx, ARTEL_DTYPE_BOOL, &(artel_shape){2, {queries, keys}}, seen);
}

/* A mask lines up with [axes in front as one][heads][queries][keys] from the right. */
static const char *spread_mask(site *s, int lead)
{
    const artel__value *mask = artel__onnx_in_value(s, 3);
    int64_t axes[ARTEL_MAX_RANK];
    int missing = lead + 3 - mask->shape.rank;
    if (mask->shape.rank == 4 && mask->shape.dim[0] != 1 && lead > 1) s->refused = "a mask of several axes in front";
    if (artel__onnx_ahead(mask) && missing < 0)
        return artel__onnx_node2(s->onnx, "Squeeze", s->in[3], artel__onnx_ints_constant(s->onnx, (int64_t[]){1}, 1));
    if (!artel__onnx_ahead(mask) || missing <= 0) return s->in[3];
    for (int i = 0; i < missing; i++) axes[i] = i + 1;
    return artel__onnx_node2(s->onnx, "Unsqueeze", s->in[3], artel__onnx_ints_constant(s->onnx, axes, missing));
}

static void write_attention(site *s)
{
    const artel__attention_attributes *a = s->node->attributes;
    const artel_shape *q = &artel__onnx_in_value(s, 0)->shape, *k = &artel__onnx_in_value(s, 1)->shape;
    int row = q->rank, rank = row + 1;
    int64_t heads = q->dim[row - 2], shared = k->dim[row - 2];
    const char *query =
        multiply(s, heads_first(s, s->in[0], rank, false), artel__onnx_scalar(s->onnx, (double)a->scale));
    const char *key = share_heads(s, heads_first(s, s->in[1], rank, true), rank - 3, heads, shared);
    const char *value = share_heads(s, heads_first(s, s->in[2], rank, false), rank - 3, heads, shared);
    const char *scores = artel__onnx_node2(s->onnx, "MatMul", query, key);
    const char *mask = s->in[3] ? spread_mask(s, row - 3) : NULL;
    if (a->causal && artel__onnx_open(s->onnx)) s->refused = "causal, over inputs of any size";
    if (a->causal) {
        const char *past = causal_mask(s, q->dim[row - 3], k->dim[row - 3]);
        mask = mask ? artel__onnx_node2(s->onnx, "And", mask, past) : past;
    }
    if (mask) scores = hide(s, scores, mask);
    artel__text node = artel__onnx_start(s->onnx, "Softmax");
    artel__onnx_int(&node, "axis", -1);
    s->out[1] = artel__onnx_end(s->onnx, &node, &scores, 1);
    if (s->in[3] && a->hidden == (int)ARTEL__HIDDEN_ZERO)
        s->out[1] = where(s, mask, s->out[1], artel__onnx_scalar(s->onnx, 0));
    s->out[0] = heads_first(s, artel__onnx_node2(s->onnx, "MatMul", s->out[1], value), rank, false);
}

const artel__onnx_operation artel__onnx_products[] = {
    {&artel__op_product_def, write_product, true, 0},
    {&artel__op_conv2d_def, write_conv, false, 0},
    {&artel__op_depthwise_def, write_depthwise, false, 0},
    {&artel__op_conv2d_transpose_def, write_conv_transpose, false, 1u << 1},
    {&artel__op_pool_def, write_pool, false, 0},
    {&artel__op_norm_inverse_def, write_norm_inverse, true, 0},
    {&artel__op_normalise_def, write_normalise, true, 0},
    {&artel__op_layer_norm_def, write_layer_norm, true, 0},
    {&artel__op_attention_def, write_attention, true, 0},
    {&artel__op_recurrent_def, artel__onnx_write_scan, true, 0},
    {NULL, NULL, false, 0},
};
