/* SPDX-License-Identifier: Apache-2.0 */
/* The formulas of kernel/attention.h in float64, where operations take the place of its kernels. Masks of dropout are
 * those of float32.
 */
#include "op/attention_float64.h"

#include "op/formula.h"
#include "op/reduce.h"
#include "op/shape_ops.h"
#include "op/wide_product.h"

artel__value_id artel__causal_mask(artel__graph *graph, int64_t t, int64_t s)
{
    artel_shape shape = artel__shape(2, t, s);
    uint8_t *mask = artel__arena_alloc(graph->arena, (size_t)(t * s) + 1, 1);
    if (!mask) return ARTEL__NO_VALUE;
    for (int64_t i = 0; i < t; i++)
        for (int64_t j = 0; j < s; j++) mask[i * s + j] = i >= j;
    return artel__op_constant(graph, ARTEL_DTYPE_BOOL, &shape, mask);
}

artel__value_id artel__attention_both(artel__graph *graph, artel__value_id a, artel__value_id b)
{
    return a < 0 ? b : b < 0 ? a : artel__op_logical_and(graph, a, b);
}

/* In float32 what is lowered loses its differences; the gradient of that is taken as if it had not, as by TensorFlow.
 */
static artel__value_id lowered_as_float32(artel__graph *graph, artel__value_id scores)
{
    scores = artel__op_affine(graph, artel__op_cast(graph, scores, ARTEL_DTYPE_FLOAT32), 1, -1e9);
    return artel__op_cast(graph, scores, ARTEL_DTYPE_FLOAT64);
}

artel__value_id artel__attention_probabilities(artel__graph *graph, artel__value_id scores, artel__value_id mask,
                                               artel__hidden hidden)
{
    if (graph->status < 0 || scores < 0) return ARTEL__NO_VALUE;
    int last = graph->value[scores].shape.rank - 1;
    if (mask >= 0) {
        artel__value_id other = hidden == ARTEL__HIDDEN_LOWERED ? artel__op_affine(graph, scores, 1, -1e9)
                                                                : artel__op_fill_like(graph, scores, -1e9);
        if (hidden == ARTEL__HIDDEN_REPLACED) other = artel__op_fill_like(graph, scores, -0.7 * 3.38953e38);
        scores = where(graph, mask, scores, other);
    }
    scores = artel__op_softmax(graph, ARTEL__SOFTMAX, scores, last);
    return mask >= 0 && hidden == ARTEL__HIDDEN_ZERO ? where(graph, mask, scores, ARTEL__NO_VALUE) : scores;
}

/* [..][length][heads][features] as [..][heads][length][features], or, `turned`, [..][heads][features][length]; the axes
 * in front as one. */
static artel__value_id by_head(artel__graph *graph, artel__value_id x, int64_t heads, bool turned)
{
    artel_shape in = graph->value[x].shape;
    int64_t own = in.dim[in.rank - 2], length = in.dim[in.rank - 3], features = in.dim[in.rank - 1];
    artel_shape apart = artel__shape(4, artel__shape_product(&in, 0, in.rank - 3), length, own, features),
                joined = artel__shape(3, apart.dim[0] * heads, turned ? features : length, turned ? length : features);
    x = artel__op_reshape(graph, x, &apart);
    if (own < heads) x = artel__op_repeat(graph, x, 2, heads / own);
    x = artel__op_transpose(graph, x, turned ? (const int[]){0, 2, 3, 1} : (const int[]){0, 2, 1, 3});
    return artel__op_reshape(graph, x, &joined);
}

static artel__value_id scores_of(artel__graph *graph, const artel__attention_float64 *how, const artel_shape *shape)
{
    int64_t heads = shape->dim[shape->rank - 3];
    artel__value_id query = by_head(graph, how->attention.query, heads, false),
                    key = by_head(graph, how->attention.key, heads, false),
                    scores = artel__op_wide_product(graph, query, key);
    scores = artel__op_reshape(graph, scores, shape);
    if (how->factor >= 0) scores = binary(graph, ARTEL__BINARY_MUL, scores, how->factor);
    return how->scale == 1 ? scores : times(graph, scores, how->scale);
}

artel__value_id artel__attend_float64(artel__graph *graph, const artel__attention_float64 *how, artel__value_id *probs)
{
    static const int back[] = {0, 2, 1, 3};
    const artel__attention *a = &how->attention;
    if (graph->status < 0 || a->query < 0 || a->key < 0 || a->value < 0) return ARTEL__NO_VALUE;
    artel_shape out = graph->value[a->query].shape, shape = out;
    int64_t t = out.dim[out.rank - 3], heads = out.dim[out.rank - 2], s = graph->value[a->key].shape.dim[out.rank - 3],
            v = graph->value[a->value].shape.dim[out.rank - 1], lead = artel__shape_product(&out, 0, out.rank - 3);
    artel__value_id mask = a->mask, scores;
    out.dim[out.rank - 1] = v;
    shape.dim[out.rank - 3] = heads;
    shape.dim[out.rank - 2] = t;
    shape.dim[out.rank - 1] = s;
    artel_shape folded = artel__shape(4, lead, heads, t, s); /* as masks lie */
    scores = scores_of(graph, how, &folded);
    if (a->causal) mask = artel__attention_both(graph, mask, artel__causal_mask(graph, t, s));
    if (how->of_float32 && a->hidden == ARTEL__HIDDEN_LOWERED && mask >= 0) {
        scores = where(graph, mask, scores, lowered_as_float32(graph, scores));
        mask = ARTEL__NO_VALUE;
    }
    scores = artel__attention_probabilities(graph, scores, mask, a->hidden);
    *probs = artel__op_reshape(graph, scores, &shape);
    if (graph->training && a->rate > 0) scores = artel__op_dropout(graph, scores, a->rate, NULL);
    artel_shape matrices = artel__shape(3, lead * heads, t, s), apart = artel__shape(4, lead, heads, t, v);
    artel__value_id values = by_head(graph, a->value, heads, true),
                    y = artel__op_wide_product(graph, artel__op_reshape(graph, scores, &matrices), values);
    y = artel__op_transpose(graph, artel__op_reshape(graph, y, &apart), back);
    return artel__op_reshape(graph, y, &out);
}
