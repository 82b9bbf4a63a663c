/* SPDX-License-Identifier: Apache-2.0 */
/* Keras' raw operations that normalise, and attention. See layer_ops.h. Put together in the order of
 * keras/src/ops/nn.py and keras/src/backend/tensorflow/nn.py.
 */
#include <math.h>
#include <string.h>

#include "nn/layer_ops_formula.h"
#include "op/recurrent.h"
#include "op/reduce.h"
#include "op/shape_ops.h"

/* -- normalisation -- */

/* An optional operand, float32 and as a row; along the axes of `axes`, where it has but those. */
static artel_status optional(const artel__layer *layer, const artel__call *call, const char *key, int position,
                             artel__value_id x, uint32_t axes, artel__value_id *out)
{
    artel__graph *graph = call->graph;
    json_t *given = artel__raw_setting(layer, call, key, position);
    *out = ARTEL__NO_VALUE;
    if (!given) return ARTEL_OK;
    ARTEL_TRY(artel__raw_operand(layer, call, given, out));
    *out = artel__as_float(graph, *out);
    ARTEL_TRY(graph->status);
    artel_shape row = graph->value[x].shape, own = graph->value[*out].shape, wide = {.rank = row.rank};
    int last = row.rank - 1, count = artel__bit_count(axes);
    bool constant = graph->value[*out].domain == ARTEL__DOMAIN_GLOBAL;
    if (constant && own.rank == row.rank + 1) return artel__raw_align(layer, graph, out, &x);
    if (!constant || axes == 1u << last || (own.rank != count && own.rank != 1)) return ARTEL_OK;
    for (int i = 0; i < row.rank; i++) wide.dim[i] = axes >> i & 1u ? row.dim[i] : 1;
    if (artel_shape_count(&wide) != artel_shape_count(&own)) return artel__raw_refuse(layer, "operands of this shape");
    *out = artel__op_reshape(graph, *out, &wide);
    return graph->status;
}

static artel_status read_axes(const artel__layer *layer, const artel__call *call, artel__value_id *x, uint32_t *axes)
{
    json_t *axis = artel__raw_setting(layer, call, "axis", 0);
    ARTEL_TRY(artel__raw_float(layer, call, x));
    ARTEL_TRY(call->graph->status);
    int rank = call->graph->value[*x].shape.rank;
    if (rank < 1) return artel__raw_refuse(layer, "the batch as its axis");
    *axes = 1u << (rank - 1);
    return axis ? artel__raw_axes(layer, call, rank, axes) : ARTEL_OK;
}

static artel__value_id mean(artel__graph *graph, artel__value_id x, uint32_t axes)
{
    return artel__op_reduce(graph, ARTEL__REDUCE_MEAN, x, axes, true);
}

static artel__value_id inverse_root(artel__graph *graph, artel__value_id x, double epsilon)
{
    return unary(graph, ARTEL__UNARY_RSQRT, artel__op_affine(graph, x, 1, epsilon));
}

artel_status artel__raw_rms_normalization(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__value_id x, scale;
    uint32_t axes;
    ARTEL_TRY(read_axes(layer, call, &x, &axes));
    ARTEL_TRY(optional(layer, call, "scale", 1, x, 1u << (graph->value[x].shape.rank - 1), &scale));
    artel__value_id square = mean(graph, unary(graph, ARTEL__UNARY_SQUARE, x), axes);
    artel__value_id y = product(graph, x, inverse_root(graph, square, artel__raw_number(layer, call, "epsilon", 1e-7)));
    artel__call_return(call, scale >= 0 ? product(graph, y, scale) : y);
    return graph->status;
}

artel_status artel__raw_layer_normalization(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__value_id x, gamma, beta;
    uint32_t axes;
    ARTEL_TRY(read_axes(layer, call, &x, &axes));
    ARTEL_TRY(optional(layer, call, "gamma", 1, x, axes, &gamma));
    ARTEL_TRY(optional(layer, call, "beta", 2, x, axes, &beta));
    artel__value_id middle = mean(graph, x, axes), apart = binary(graph, ARTEL__BINARY_SUB, x, middle);
    artel__value_id inverse = inverse_root(graph, mean(graph, unary(graph, ARTEL__UNARY_SQUARE, apart), axes),
                                           artel__raw_number(layer, call, "epsilon", 1e-7));
    bool scaled = json_is_true(artel__raw_setting(layer, call, "rms_scaling", 0));
    if (gamma >= 0) inverse = product(graph, inverse, gamma);
    artel__value_id y = product(graph, scaled ? x : apart, inverse);
    artel__call_return(call, beta >= 0 && !scaled ? artel__op_add(graph, y, beta) : y);
    return graph->status;
}

artel_status artel__raw_batch_normalization(artel__layer *layer, artel__call *call)
{
    static const char *const keys[] = {"mean", "variance", "offset", "scale"};
    artel__graph *graph = call->graph;
    artel__value_id x, part[4];
    int axis;
    ARTEL_TRY(artel__raw_along(layer, call, -1, &x, &axis));
    for (int i = 0; i < 4; i++) ARTEL_TRY(optional(layer, call, keys[i], i + 1, x, 1u << axis, &part[i]));
    if (part[0] < 0 || part[1] < 0) return artel__raw_refuse(layer, "no mean or variance");
    artel__value_id inverse = inverse_root(graph, part[1], artel__raw_number(layer, call, "epsilon", 1e-3));
    if (part[3] >= 0) inverse = product(graph, inverse, part[3]);
    artel__value_id rest = product(graph, negative(graph, part[0]), inverse);
    if (part[2] >= 0) rest = artel__op_add(graph, part[2], rest);
    artel__call_return(call, artel__op_add(graph, product(graph, x, inverse), rest));
    return graph->status;
}

/* -- attention -- */

/* An optional operand that broadcasts to [heads][queries][keys]. */
static artel_status score_operand(const artel__layer *layer, const artel__call *call, const char *key, int position,
                                  artel__value_id *out)
{
    artel__graph *graph = call->graph;
    json_t *given = artel__raw_setting(layer, call, key, position);
    *out = ARTEL__NO_VALUE;
    if (!given) return ARTEL_OK;
    ARTEL_TRY(artel__raw_operand(layer, call, given, out));
    ARTEL_TRY(graph->status);
    artel_shape shape = graph->value[*out].shape;
    bool rows = graph->value[*out].domain == ARTEL__DOMAIN_ROW;
    if (!rows && shape.rank == 4 && shape.dim[0] == 1) {
        shape = artel__shape(3, shape.dim[1], shape.dim[2], shape.dim[3]);
        *out = artel__op_reshape(graph, *out, &shape);
    }
    return shape.rank == 3 || (!rows && shape.rank < 3) ? ARTEL_OK
                                                        : artel__raw_refuse(layer, "a bias or mask of this shape");
}

/* [length][heads][features] as [heads][length][features]. */
static artel__value_id by_head(artel__graph *graph, artel__value_id x)
{
    return artel__op_transpose(graph, x, (const int[]){1, 0, 2});
}

/* Query t sees keys up to t. */
static artel__value_id triangle(artel__graph *graph, int64_t queries, int64_t keys)
{
    artel_shape shape = artel__shape(2, queries, keys);
    uint8_t *sees = artel__arena_alloc(graph->arena, (size_t)(queries * keys) + 1, sizeof *sees);
    if (!sees) return ARTEL__NO_VALUE;
    for (int64_t i = 0; i < queries * keys; i++) sees[i] = i % keys <= i / keys;
    return artel__op_constant(graph, ARTEL_DTYPE_BOOL, &shape, sees);
}

/* With a bias, or in float64: by parts. */
static artel__value_id attend_by_parts(artel__graph *graph, const artel__attention *a, double scale,
                                       artel__value_id bias)
{
    artel_shape q = graph->value[a->query].shape, k = graph->value[a->key].shape;
    artel__value_id key = a->key, value = a->value;
    if (k.dim[1] < q.dim[1]) {
        key = artel__op_repeat(graph, key, 1, q.dim[1] / k.dim[1]);
        value = artel__op_repeat(graph, value, 1, q.dim[1] / k.dim[1]);
    }
    artel__value_id keys = by_head(graph, key), scores = artel__row_products(graph, by_head(graph, a->query), keys);
    artel__value_id offset = artel__as_float(graph, bias);
    scores = times(graph, scores, scale);
    if (bias >= 0) scores = artel__op_add(graph, scores, offset);
    artel__value_id seen = a->mask;
    if (a->causal) {
        artel__value_id past = triangle(graph, q.dim[0], k.dim[0]);
        seen = seen >= 0 ? artel__op_logical_and(graph, seen, past) : past;
    }
    if (seen >= 0) scores = where(graph, seen, scores, number(graph, -0.7 * 3.38953e38));
    scores = artel__op_softmax(graph, ARTEL__SOFTMAX, scores, 2);
    artel__value_id columns = artel__op_transpose(graph, value, (const int[]){1, 2, 0});
    return by_head(graph, artel__row_products(graph, scores, columns));
}

artel_status artel__raw_dot_product_attention(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__value_id in[3], bias;
    double scale;
    artel__attention a = {.causal = json_is_true(artel__raw_setting(layer, call, "is_causal", 0))};
    for (int i = 0; i < 3; i++) {
        in[i] = artel__call_tensor(call, artel__raw_argument(call, i)).value;
        if (in[i] < 0) return artel__raw_refuse(layer, "constants as query, key or value");
        in[i] = artel__as_float(graph, in[i]);
        ARTEL_TRY(graph->status);
        if (graph->value[in[i]].shape.rank != 3)
            return artel__raw_refuse(layer, "anything but [batch, length, heads, features]");
    }
    artel_shape q = graph->value[in[0]].shape, k = graph->value[in[1]].shape, v = graph->value[in[2]].shape;
    if (k.dim[1] < 1 || q.dim[1] % k.dim[1] || v.dim[1] != k.dim[1] || k.dim[0] != v.dim[0] || q.dim[2] != k.dim[2])
        return artel__raw_refuse(layer, "query, key and value that do not fit one another");
    if (json_is_true(artel__raw_setting(layer, call, "flash_attention", 0)) ||
        artel__raw_setting(layer, call, "attn_logits_soft_cap", 0))
        return artel__raw_refuse(layer, "flash_attention or attn_logits_soft_cap");
    ARTEL_TRY(score_operand(layer, call, "bias", 3, &bias));
    ARTEL_TRY(score_operand(layer, call, "mask", 4, &a.mask));
    if (a.mask >= 0) a.mask = artel__op_cast(graph, a.mask, ARTEL_DTYPE_BOOL);
    a.query = in[0];
    a.key = in[1];
    a.value = in[2];
    bool given = artel__json_number(artel__raw_setting(layer, call, "scale", 5), &scale),
         wide = graph->real == ARTEL_DTYPE_FLOAT64;
    a.scale = given ? (float)scale : 1.0f / sqrtf((float)k.dim[2]);
    if (wide && !given) scale = 1 / sqrt((double)k.dim[2]);
    if (!wide) scale = (double)a.scale;
    artel__call_return(call,
                       bias >= 0 || wide ? attend_by_parts(graph, &a, scale, bias) : artel__op_attention(graph, &a));
    return graph->status;
}
