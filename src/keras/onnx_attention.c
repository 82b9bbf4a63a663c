/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX nodes for multi-head attention and its products, as sums over named axes (Einsum).
 *
 * Heads stay an axis of their own: queries [batch, time, heads, key], as in Keras' layer.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "keras/onnx.h"

typedef artel__onnx_call call;

static const char *einsum(artel__onnx *o, const char *equation, const char *a, const char *b)
{
    artel__text node = artel__onnx_start(o, "Einsum");
    artel__onnx_string(&node, "equation", equation);
    return artel__onnx_end(o, &node, (const char *[]){a, b}, 2);
}

/* A projection: the einsum with the sublayer's kernel, and its bias. */
static const char *project(call *c, const char *path, const char *equation, const char *x)
{
    const artel__layer *layer = artel__onnx_child(c->layer, path);
    if (!layer) return artel__onnx_refuse(c, "this form of attention");
    const char *y = einsum(c->onnx, equation, x, artel__onnx_weight_constant(c->onnx, layer, 0));
    return layer->variable_count > 1
               ? artel__onnx_node2(c->onnx, "Add", y, artel__onnx_weight_constant(c->onnx, layer, 1))
               : y;
}

/* A keyword argument that is set to something. */
static bool is_set(call *c, const char *name)
{
    json_t *value = json_object_get(json_object_get(c->arguments, "kwargs"), name);
    return value && !json_is_null(value) && !json_is_false(value);
}

static const char *attend(call *c)
{
    static const char *const refused[] = {"use_causal_mask", "attention_mask", "query_mask",
                                          "value_mask",      "key_mask",       "return_attention_scores"};
    for (size_t i = 0; i < ARTEL__COUNT(refused); i++) {
        if (is_set(c, refused[i])) return artel__onnx_refuse(c, refused[i]);
    }
    for (int i = 0; i < c->inputs; i++) {
        if (c->in[i].tensor.mask >= 0) return artel__onnx_refuse(c, "masks");
    }
    if (json_is_true(json_object_get(c->config, "use_gate"))) return artel__onnx_refuse(c, "use_gate");
    if (artel__onnx_number(c->config, "sliding_window", 0) > 0) return artel__onnx_refuse(c, "sliding_window");
    if (c->shape.rank != 2 || c->out.rank != 2) return artel__onnx_refuse(c, "attention over several axes");
    if (json_array_size(json_object_get(c->arguments, "args")) < 2)
        return artel__onnx_refuse(c, "query and value by name");
    if (c->inputs < 2 || c->inputs > 3) return artel__onnx_refuse(c, "this number of operands");
    artel__onnx *o = c->onnx;
    const char *query = c->in[0].name, *value = c->in[1].name, *key = c->in[c->inputs - 1].name;
    double width = artel__onnx_number(c->config, "key_dim", 1);
    const char *q = project(c, "query_dense", "abc,cde->abde", query);
    const char *k = q ? project(c, "key_dense", "abc,cde->abde", key) : NULL;
    const char *v = k ? project(c, "value_dense", "abc,cde->abde", value) : NULL;
    if (!v) return NULL;
    q = artel__onnx_node2(o, "Mul", q, artel__onnx_scalar(o, 1 / sqrt(width)));
    artel__text node = artel__onnx_start(o, "Softmax");
    artel__onnx_int(&node, "axis", -1);
    const char *weights = artel__onnx_end(o, &node, (const char *[]){einsum(o, "btnk,bsnk->bnts", q, k)}, 1);
    return project(c, "output_dense", "btnk,nkd->btd", einsum(o, "bnts,bsnk->btnk", weights, v));
}

static const char *einsum_dense(call *c)
{
    const char *equation = artel__onnx_word(c->config, "equation", "");
    if (!*equation || strstr(equation, "...")) return artel__onnx_refuse(c, "this equation");
    const char *y = einsum(c->onnx, equation, c->in[0].name, artel__onnx_weight_constant(c->onnx, c->layer, 0));
    if (c->layer->variable_count > 1)
        y = artel__onnx_node2(c->onnx, "Add", y, artel__onnx_weight_constant(c->onnx, c->layer, 1));
    return artel__onnx_activation(c, "activation", y);
}

const artel__onnx_row artel__onnx_attention[] = {
    {"MultiHeadAttention", attend, NULL},
    {"EinsumDense", einsum_dense, NULL},
    {NULL, NULL, NULL},
};
