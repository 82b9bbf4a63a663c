/* SPDX-License-Identifier: Apache-2.0 */
/* The core of attention: probabilities by query and key, and their mean of the values. Formulas: kernel/attention.h.
 *
 *   forward   inputs query, key, value, mask; outputs the result and the probabilities before dropout, which the
 * gradient reads backward  dquery, dkey, dvalue of one row and head together, dropout drawn again from the same ordinal
 */
#include "op/elementwise.h"
#include "op/lower_random.h"
#include "op/node_attributes.h"
#include "op/recurrent.h"
#include "op/second_recurrent.h"

typedef artel__attention_attributes attention_attributes;

enum {
    IN_QUERY,
    IN_KEY,
    IN_VALUE,
    IN_MASK,
    INPUTS
};
enum {
    BACK_PROBS = INPUTS,
    BACK_DOUT,
    BACK_DPROBS,
    BACK_INPUTS
};

/* Whether a mask aligns with [leading axes as one][h][t][s] from the right. */
static bool mask_fits(const artel__value *mask, const artel_shape *query, int64_t s)
{
    int rank = query->rank;
    const int64_t extent[4] = {artel__shape_product(query, 0, rank - 3), query->dim[rank - 2], query->dim[rank - 3], s};
    if (mask->dtype != ARTEL_DTYPE_BOOL || mask->shape.rank > 4) return false;
    for (int i = 0; i < mask->shape.rank; i++) {
        int64_t dim = mask->shape.dim[mask->shape.rank - 1 - i];
        if (dim != 1 && dim != extent[3 - i]) return false;
    }
    return true;
}

/* The last three extents: length, heads, features. */
static const int64_t *last_three(const artel__value *value)
{
    return value->shape.dim + value->shape.rank - 3;
}

static artel_status infer_attention(artel__infer *infer)
{
    const artel__value *query = infer->in[IN_QUERY], *mask = infer->in[IN_MASK];
    int rank = query->shape.rank;
    for (int i = 0; i < 3; i++) {
        const artel__value *in = infer->in[i];
        if (in->dtype != ARTEL_DTYPE_FLOAT32 || in->domain != ARTEL__DOMAIN_ROW || rank < 3 || in->shape.rank != rank)
            return artel__op_fail(infer, "query, key and value are not float32 [...][length][heads][features]");
        for (int d = 0; d < rank - 3; d++) {
            if (in->shape.dim[d] != query->shape.dim[d])
                return artel__op_fail(infer, "the leading axes of query, key and value differ");
        }
    }
    const int64_t *q = last_three(query), *k = last_three(infer->in[IN_KEY]), *v = last_three(infer->in[IN_VALUE]);
    if (k[1] < 1 || q[1] % k[1] != 0 || v[1] != k[1] || k[0] != v[0] || q[2] != k[2])
        return artel__op_fail(infer, "query, key and value do not fit one another");
    if (mask && !mask_fits(mask, &query->shape, k[0])) return artel__op_fail(infer, "the mask does not fit the scores");
    artel_shape out = query->shape, probs = query->shape;
    out.dim[rank - 1] = v[2];
    probs.dim[rank - 3] = q[1];
    probs.dim[rank - 2] = q[0];
    probs.dim[rank - 1] = k[0];
    artel__infer_output(infer, 0, ARTEL__DOMAIN_ROW, ARTEL_DTYPE_FLOAT32, &out);
    artel__infer_output(infer, 1, ARTEL__DOMAIN_ROW, ARTEL_DTYPE_FLOAT32, &probs);
    return ARTEL_OK;
}

/* In blocks where query, key and value are bfloat16. */
static artel__arithmetic arithmetic(const artel__run_args *args)
{
    artel_dtype held = artel__args_held(args, IN_QUERY, IN_KEY);
    return held == artel__args_in(args, IN_VALUE)->precision ? artel__args_arithmetic(args, held)
                                                             : ARTEL__ARITHMETIC_CHAIN;
}

static void fill_shape(const artel__run_args *args, artel__attention_shape *shape)
{
    const attention_attributes *a = args->attributes;
    const artel__value *query = artel__args_in(args, IN_QUERY);
    const int64_t *q = last_three(query), *k = last_three(artel__args_in(args, IN_KEY)),
                  *v = last_three(artel__args_in(args, IN_VALUE));
    int64_t inner = artel__shape_product(&query->shape, 0, query->shape.rank - 3);
    *shape = (artel__attention_shape){.rows = args->step->fold->rows * inner,
                                      .queries = q[0],
                                      .keys = k[0],
                                      .inner = inner,
                                      .heads = q[1],
                                      .key_heads = k[1],
                                      .depth = q[2],
                                      .value_depth = v[2],
                                      .scale = a->scale,
                                      .causal = a->causal,
                                      .hidden = (artel__hidden)a->hidden,
                                      .mask = args->in[IN_MASK],
                                      .rate = a->rate,
                                      .keep_scale = a->keep_scale,
                                      .key = artel__rng_make_key(args->step->seed, ARTEL__STREAM_DROPOUT),
                                      .batch = args->step->batch,
                                      .node = a->ordinal,
                                      .first_row = args->step->fold->row,
                                      .arithmetic = arithmetic(args)};
    if (!shape->mask) return;
    const artel__value *mask = artel__args_in(args, IN_MASK);
    int64_t *const to[] = {&shape->mask_key, &shape->mask_query, &shape->mask_head, &shape->mask_inner}, stride = 1;
    for (int i = 0; i < mask->shape.rank; i++) {
        int64_t dim = mask->shape.dim[mask->shape.rank - 1 - i];
        *to[i] = dim == 1 ? 0 : stride;
        stride *= dim;
    }
    shape->mask_row = mask->domain == ARTEL__DOMAIN_ROW ? mask->storage : 0;
}

static void fill_attention(const artel__run_args *args, void *params)
{
    artel__attention_forward *p = params;
    fill_shape(args, &p->shape);
    p->q = args->in[IN_QUERY];
    p->k = args->in[IN_KEY];
    p->v = args->in[IN_VALUE];
    p->out = args->out[0];
    p->probs = args->out[1];
    p->q_half = artel__args_half_in(args, IN_QUERY);
    p->k_half = artel__args_half_in(args, IN_KEY);
    p->v_half = artel__args_half_in(args, IN_VALUE);
    p->out_half = artel__args_half_out(args, 0);
}

/* Both products of a head, for every query and key. */
static int64_t products(const artel__graph *graph, const artel__node *node)
{
    const artel__value *query = &graph->value[node->input[IN_QUERY]];
    const int64_t *q = last_three(query), *v = last_three(&graph->value[node->input[IN_VALUE]]);
    return 2 * query->storage / (q[2] ? q[2] : 1) * v[0] * (q[2] + v[2]);
}

static int64_t cost_attention(const artel__graph *graph, const artel__node *node)
{
    return products(graph, node);
}

static int64_t cost_attention_gradient(const artel__graph *graph, const artel__node *node)
{
    return 2 * products(graph, node);
}

static artel_status infer_attention_gradient(artel__infer *infer)
{
    for (int i = 0; i < 3; i++)
        artel__infer_output(infer, i, ARTEL__DOMAIN_ROW, ARTEL_DTYPE_FLOAT32, &infer->in[i]->shape);
    return ARTEL_OK;
}

static void fill_attention_gradient(const artel__run_args *args, void *params)
{
    artel__attention_gradient *p = params;
    fill_shape(args, &p->shape);
    p->q = args->in[IN_QUERY];
    p->k = args->in[IN_KEY];
    p->v = args->in[IN_VALUE];
    p->probs = args->in[BACK_PROBS];
    p->dout = args->in[BACK_DOUT];
    p->dprobs = args->in[BACK_DPROBS];
    p->dq = args->out[0];
    p->dk = args->out[1];
    p->dv = args->out[2];
    p->q_half = artel__args_half_in(args, IN_QUERY);
    p->k_half = artel__args_half_in(args, IN_KEY);
    p->v_half = artel__args_half_in(args, IN_VALUE);
    p->dout_half = artel__args_half_in(args, BACK_DOUT);
    p->dq_half = artel__args_half_out(args, 0);
    p->dk_half = artel__args_half_out(args, 1);
    p->dv_half = artel__args_half_out(args, 2);
}

/* -- for devices -- */

/* A node there: rows times leading axes, heads as groups of those that share a head of keys. */
typedef struct lowering {
    artel__lower *lower;
    artel__hlo *hlo;
    const attention_attributes *attributes;
    artel__hlo_type scores, mask; /* [rows][groups][share][t][s]; [rows][inner][heads][t][s] of BOOL */
    artel__hlo_value seen;        /* BOOL, as scores; -1: all are */
    artel_dtype held;             /* what operands of products are rounded to */
} lowering;

/* The mask, and what a query may see. */
static void find_seen(lowering *l)
{
    artel__lower *lower = l->lower;
    artel__hlo *h = l->hlo;
    artel__hlo_type flags = l->scores, places = l->scores;
    flags.dtype = ARTEL_DTYPE_BOOL;
    places.dtype = ARTEL_DTYPE_INT32;
    if (lower->in[IN_MASK] >= 0) {
        const artel__value *mask = &lower->graph->value[lower->node->input[IN_MASK]];
        artel__hlo_type thin = {.dtype = ARTEL_DTYPE_BOOL, .rank = 5, .dim = {1, 1, 1, 1, 1}};
        if (mask->domain == ARTEL__DOMAIN_ROW) thin.dim[0] = lower->rows;
        for (int i = 0; i < mask->shape.rank; i++) thin.dim[4 - i] = mask->shape.dim[mask->shape.rank - 1 - i];
        artel__hlo_value spread =
            artel__hlo_broadcast_trailing(h, artel__hlo_reshape(h, lower->in[IN_MASK], &thin), &l->mask);
        l->seen = artel__hlo_reshape(h, spread, &flags);
    }
    if (!l->attributes->causal) return;
    artel__hlo_value early =
        artel__hlo_compare(h, "LE", artel__hlo_iota(h, &places, 4), artel__hlo_iota(h, &places, 3));
    l->seen = l->seen < 0 ? early : artel__hlo_binary(h, "and", l->seen, early);
}

static lowering lowering_of(artel__lower *lower)
{
    lowering l = {.lower = lower, .hlo = lower->hlo, .attributes = lower->attributes, .seen = -1};
    const artel__value *value = lower->graph->value, *query = &value[lower->node->input[IN_QUERY]];
    const int64_t *q = last_three(query), *k = last_three(&value[lower->node->input[IN_KEY]]);
    int64_t inner = artel__shape_product(&query->shape, 0, query->shape.rank - 3), rows = lower->rows * inner;
    l.scores = (artel__hlo_type){.dtype = ARTEL_DTYPE_FLOAT32, .rank = 5, .dim = {rows, k[1], q[1] / k[1], q[0], k[0]}};
    l.mask = (artel__hlo_type){.dtype = ARTEL_DTYPE_BOOL, .rank = 5, .dim = {lower->rows, inner, q[1], q[0], k[0]}};
    l.held = artel__lower_held(lower, IN_QUERY, IN_KEY);
    if (l.held != ARTEL_DTYPE_BFLOAT16 || value[lower->node->input[IN_VALUE]].precision != l.held)
        l.held = ARTEL_DTYPE_FLOAT32;
    find_seen(&l);
    return l;
}

/* By query: [rows][t][groups][share][features]. */
static artel__hlo_value by_query(const lowering *l, artel__hlo_value x)
{
    const artel__hlo_type *from = artel__hlo_type_of(l->hlo, x);
    artel__hlo_type type = {.dtype = ARTEL_DTYPE_FLOAT32, .rank = 5};
    type.dim[0] = l->scores.dim[0];
    type.dim[1] = l->scores.dim[3];
    type.dim[2] = l->scores.dim[1];
    type.dim[3] = l->scores.dim[2];
    type.dim[4] = from->dim[from->rank - 1];
    return artel__hlo_reshape(l->hlo, x, &type);
}

/* By key: [rows][s][groups][features]. */
static artel__hlo_value by_key(const lowering *l, artel__hlo_value x)
{
    const artel__hlo_type *from = artel__hlo_type_of(l->hlo, x);
    artel__hlo_type type = {
        .dtype = ARTEL_DTYPE_FLOAT32, .rank = 4, .dim = {l->scores.dim[0], l->scores.dim[4], l->scores.dim[1]}};
    type.dim[3] = from->dim[from->rank - 1];
    return artel__hlo_reshape(l->hlo, x, &type);
}

static artel__hlo_value product(const lowering *l, artel__hlo_value a, artel__hlo_value b, const artel__hlo_dims *dims)
{
    return artel__hlo_dot_general(l->hlo, artel__hlo_convert(l->hlo, a, l->held),
                                  artel__hlo_convert(l->hlo, b, l->held), dims);
}

/* As scores: x by query, y by key. */
static artel__hlo_value scores(const lowering *l, artel__hlo_value x, artel__hlo_value y)
{
    const artel__hlo_dims dims = {
        .batch = 2, .contracted = 1, .batch_a = {0, 2}, .batch_b = {0, 2}, .contracted_a = {4}, .contracted_b = {3}};
    return artel__hlo_transpose(l->hlo, product(l, x, y, &dims), (const int[]){0, 1, 3, 2, 4});
}

/* By query: p as scores, y by key. */
static artel__hlo_value over_keys(const lowering *l, artel__hlo_value p, artel__hlo_value y)
{
    const artel__hlo_dims dims = {
        .batch = 2, .contracted = 1, .batch_a = {0, 1}, .batch_b = {0, 2}, .contracted_a = {4}, .contracted_b = {1}};
    return artel__hlo_transpose(l->hlo, product(l, p, y, &dims), (const int[]){0, 3, 1, 2, 4});
}

/* By key: p as scores, x by query. */
static artel__hlo_value over_queries(const lowering *l, artel__hlo_value p, artel__hlo_value x)
{
    const artel__hlo_dims dims = {.batch = 2,
                                  .contracted = 2,
                                  .batch_a = {0, 1},
                                  .batch_b = {0, 2},
                                  .contracted_a = {2, 3},
                                  .contracted_b = {3, 1}};
    return artel__hlo_transpose(l->hlo, product(l, p, x, &dims), (const int[]){0, 2, 1, 3});
}

/* A value for each query, as scores. */
static artel__hlo_value along_keys(const lowering *l, artel__hlo_value a)
{
    return artel__hlo_broadcast(l->hlo, a, &l->scores, (const int[]){0, 1, 2, 3});
}

static artel__hlo_value where_seen(const lowering *l, artel__hlo_value a, float otherwise)
{
    return l->seen < 0 ? a : artel__hlo_select(l->hlo, l->seen, a, artel__hlo_number(l->hlo, (double)otherwise, a));
}

/* The scores with what is hidden out of the way. */
static artel__hlo_value where_hidden(const lowering *l, artel__hlo_value s)
{
    artel__hlo *h = l->hlo;
    if (l->attributes->hidden != ARTEL__HIDDEN_LOWERED || l->seen < 0) return where_seen(l, s, ARTEL__MASKED_SCORE);
    return artel__hlo_select(h, l->seen, s, artel__hlo_binary(h, "subtract", s, artel__hlo_number(h, 1e9, s)));
}

_Static_assert(offsetof(artel__attention_forward, shape) == offsetof(artel__attention_gradient, shape),
               "both draw from one place");

/* The draws lie as scores do; -1: no dropout. */
static artel__hlo_value draw(const lowering *l)
{
    const size_t shape = offsetof(artel__attention_forward, shape);
    artel__lower_drawing drawing = {.key = shape + offsetof(artel__attention_shape, key),
                                    .batch = shape + offsetof(artel__attention_shape, batch),
                                    .first_row = shape + offsetof(artel__attention_shape, first_row),
                                    .ordinal = l->attributes->ordinal,
                                    .count = artel__hlo_count(&l->scores) / (l->lower->rows ? l->lower->rows : 1)};
    if (!(l->attributes->rate > 0)) return -1;
    return artel__hlo_reshape(l->hlo, artel__lower_draw(l->lower, &drawing), &l->scores);
}

static artel__hlo_value dropped(const lowering *l, artel__hlo_value x, artel__hlo_value drawn)
{
    if (drawn < 0) return x;
    return artel__lower_drop(l->hlo, x, drawn, (double)l->attributes->rate, (double)l->attributes->keep_scale);
}

static artel__hlo_value times(const lowering *l, artel__hlo_value a, artel__hlo_value b)
{
    return artel__hlo_binary(l->hlo, "multiply", a, b);
}

static artel__hlo_value softmax(const lowering *l, artel__hlo_value x)
{
    artel__hlo *h = l->hlo;
    artel__hlo_value most = artel__hlo_reduce(h, "maximum", -__builtin_inf(), x, 1u << 4);
    x = artel__hlo_unary(h, "exponential", artel__hlo_binary(h, "subtract", x, along_keys(l, most)));
    return artel__hlo_binary(h, "divide", x, along_keys(l, artel__hlo_reduce(h, "add", 0, x, 1u << 4)));
}

static void give(artel__lower *lower, int k, artel__hlo_value value)
{
    artel__hlo_type type = artel__lower_out_type(lower, k);
    lower->out[k] = artel__hlo_reshape(lower->hlo, value, &type);
}

static void lower_attention(artel__lower *lower)
{
    lowering l = lowering_of(lower);
    artel__hlo_value s = scores(&l, by_query(&l, lower->in[IN_QUERY]), by_key(&l, lower->in[IN_KEY]));
    s = times(&l, s, artel__hlo_number(l.hlo, (double)l.attributes->scale, s));
    artel__hlo_value p = softmax(&l, where_hidden(&l, s));
    if (l.attributes->hidden == ARTEL__HIDDEN_ZERO) p = where_seen(&l, p, 0);
    give(lower, 0, over_keys(&l, dropped(&l, p, draw(&l)), by_key(&l, lower->in[IN_VALUE])));
    give(lower, 1, p);
}

static void lower_attention_gradient(artel__lower *lower)
{
    lowering l = lowering_of(lower);
    artel__hlo_value dout = by_query(&l, lower->in[BACK_DOUT]),
                     p = artel__hlo_reshape(l.hlo, lower->in[BACK_PROBS], &l.scores);
    artel__hlo_value drawn = draw(&l), d = dropped(&l, scores(&l, dout, by_key(&l, lower->in[IN_VALUE])), drawn);
    give(lower, 2, over_queries(&l, dropped(&l, p, drawn), dout));
    if (lower->in[BACK_DPROBS] >= 0)
        d = artel__hlo_binary(l.hlo, "add", d, artel__hlo_reshape(l.hlo, lower->in[BACK_DPROBS], &l.scores));
    artel__hlo_value sum = artel__hlo_reduce(l.hlo, "add", 0, times(&l, d, p), 1u << 4);
    d = times(&l, artel__hlo_binary(l.hlo, "subtract", d, along_keys(&l, sum)), p);
    d = times(&l, d, artel__hlo_number(l.hlo, (double)l.attributes->scale, d));
    if (l.attributes->hidden != ARTEL__HIDDEN_LOWERED) d = where_seen(&l, d, 0);
    give(lower, 0, over_keys(&l, d, by_key(&l, lower->in[IN_KEY])));
    give(lower, 1, over_queries(&l, d, by_query(&l, lower->in[IN_QUERY])));
}

const artel__op_def artel__op_attention_gradient_def = {
    .name = "attention_gradient",
    .doc = "Gradients of attention's query, key and value.",
    .attribute_size = sizeof(attention_attributes),
    .infer = infer_attention_gradient,
    .grad = artel__second_attention,
    .cost = cost_attention_gradient,
    .lower = lower_attention_gradient,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__attention_gradient_kernels,
            .params_size = sizeof(artel__attention_gradient),
            .fill = fill_attention_gradient,
            .half_in = 1u << IN_QUERY | 1u << IN_KEY | 1u << IN_VALUE | 1u << BACK_DOUT,
            .half_out = 7u,
        },
};

static artel_status grad_attention(artel__gradient *g)
{
    artel__graph *graph = g->graph;
    artel__value_id dout = g->out_gradient[0];
    if (dout < 0) dout = artel__op_fill_like(graph, g->out[0], 0);
    artel__value_id inputs[BACK_INPUTS] = {g->in[IN_QUERY], g->in[IN_KEY], g->in[IN_VALUE],   g->in[IN_MASK],
                                           g->out[1],       dout,          g->out_gradient[1]};
    artel__value_id back =
        artel__graph_add(graph, &artel__op_attention_gradient_def, g->attributes, inputs, BACK_INPUTS);
    for (int i = 0; i < 3; i++) {
        if (g->needed[i]) g->in_gradient[i] = artel__graph_output(graph, back, i);
    }
    return ARTEL_OK;
}

const artel__op_def artel__op_attention_def = {
    .name = "attention",
    .doc = "Attention of queries to keys, and the mean of their values.",
    .attribute_size = sizeof(attention_attributes),
    .infer = infer_attention,
    .grad = grad_attention,
    .cost = cost_attention,
    .lower = lower_attention,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__attention_forward_kernels,
            .params_size = sizeof(artel__attention_forward),
            .fill = fill_attention,
            .half_in = 1u << IN_QUERY | 1u << IN_KEY | 1u << IN_VALUE,
            .half_out = 1u,
        },
};

artel__value_id artel__op_attention(artel__graph *graph, const artel__attention *attention)
{
    if (graph->status < 0) return ARTEL__NO_VALUE;
    double rate = graph->training ? attention->rate : 0;
    attention_attributes attributes = {.scale = attention->scale,
                                       .causal = attention->causal,
                                       .hidden = (uint8_t)attention->hidden,
                                       .rate = (float)rate,
                                       .keep_scale = rate < 1 ? (float)(1.0 / (1.0 - rate)) : 0};
    if (rate > 0) attributes.ordinal = graph->random_ops++;
    artel__value_id inputs[INPUTS] = {attention->query, attention->key, attention->value, attention->mask};
    return artel__graph_add(graph, &artel__op_attention_def, &attributes, inputs, INPUTS);
}
