/* SPDX-License-Identifier: Apache-2.0 */
/* The core of attention: probabilities by query and key, and their mean of the values. Formulas: kernel/attention.h.
 *
 *   forward   inputs query, key, value, mask; outputs the result and the probabilities before dropout, which the gradient reads
 *   backward  dquery, dkey, dvalue of one row and head together, dropout drawn again from the same ordinal
 */
#include "op/elementwise.h"
#include "op/recurrent.h"

typedef struct attention_attributes {
    float scale, rate, keep_scale;
    bool causal;
    uint32_t ordinal;
} attention_attributes;

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

/* Whether a mask aligns with [h][t][s] from the right. */
static bool mask_fits(const artel__value *mask, int64_t h, int64_t t, int64_t s)
{
    const int64_t extent[3] = {h, t, s};
    if (mask->dtype != ARTEL_DTYPE_BOOL || mask->shape.rank > 3) return false;
    for (int i = 0; i < mask->shape.rank; i++) {
        int64_t dim = mask->shape.dim[mask->shape.rank - 1 - i];
        if (dim != 1 && dim != extent[2 - i]) return false;
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
            if (in->shape.dim[d] != query->shape.dim[d]) return artel__op_fail(infer, "the leading axes of query, key and value differ");
        }
    }
    const int64_t *q = last_three(query), *k = last_three(infer->in[IN_KEY]), *v = last_three(infer->in[IN_VALUE]);
    if (k[1] < 1 || q[1] % k[1] != 0 || v[1] != k[1] || k[0] != v[0] || q[2] != k[2])
        return artel__op_fail(infer, "query, key and value do not fit one another");
    if (mask && !mask_fits(mask, q[1], q[0], k[0])) return artel__op_fail(infer, "the mask does not fit the scores");
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
    return held == artel__args_in(args, IN_VALUE)->precision ? artel__args_arithmetic(args, held) : ARTEL__ARITHMETIC_CHAIN;
}

static void fill_shape(const artel__run_args *args, artel__attention_shape *shape)
{
    const attention_attributes *a = args->attributes;
    const artel__value *query = artel__args_in(args, IN_QUERY);
    const int64_t *q = last_three(query), *k = last_three(artel__args_in(args, IN_KEY)), *v = last_three(artel__args_in(args, IN_VALUE));
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
    int64_t *const to[3] = {&shape->mask_key, &shape->mask_query, &shape->mask_head}, stride = 1;
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
    for (int i = 0; i < 3; i++) artel__infer_output(infer, i, ARTEL__DOMAIN_ROW, ARTEL_DTYPE_FLOAT32, &infer->in[i]->shape);
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
}

const artel__op_def artel__op_attention_gradient_def = {
    .name = "attention_gradient",
    .doc = "Gradients of attention's query, key and value.",
    .attribute_size = sizeof(attention_attributes),
    .infer = infer_attention_gradient,
    .cost = cost_attention_gradient,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__attention_gradient_kernels,
            .params_size = sizeof(artel__attention_gradient),
            .fill = fill_attention_gradient,
        },
};

static artel_status grad_attention(artel__gradient *g)
{
    artel__graph *graph = g->graph;
    artel__value_id dout = g->out_gradient[0];
    if (dout < 0) dout = artel__op_fill_like(graph, g->out[0], 0);
    artel__value_id inputs[BACK_INPUTS] = {g->in[IN_QUERY], g->in[IN_KEY], g->in[IN_VALUE],   g->in[IN_MASK],
                                           g->out[1],       dout,          g->out_gradient[1]};
    artel__value_id back = artel__graph_add(graph, &artel__op_attention_gradient_def, g->attributes, inputs, BACK_INPUTS);
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
    .exec =
        &(const artel__op_exec){
            .kernels = artel__attention_forward_kernels,
            .params_size = sizeof(artel__attention_forward),
            .fill = fill_attention,
        },
};

artel__value_id artel__op_attention(artel__graph *graph, const artel__attention *attention)
{
    if (graph->status < 0) return ARTEL__NO_VALUE;
    double rate = graph->training ? attention->rate : 0;
    attention_attributes attributes = {.scale = attention->scale,
                                       .causal = attention->causal,
                                       .rate = (float)rate,
                                       .keep_scale = rate < 1 ? (float)(1.0 / (1.0 - rate)) : 0};
    if (rate > 0) attributes.ordinal = graph->random_ops++;
    artel__value_id inputs[INPUTS] = {attention->query, attention->key, attention->value, attention->mask};
    return artel__graph_add(graph, &artel__op_attention_def, &attributes, inputs, INPUTS);
}
