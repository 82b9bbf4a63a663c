/* SPDX-License-Identifier: Apache-2.0 */
/* Attention and AdditiveAttention: scores without projections, a softmax over the keys, a mean of the values.
 *
 * Dot products are one operation (op/recurrent.h). The other scores, sums over the features of tanh(query + key), are
 * put together here from broadcasting operations, which keep [t][s][features] of each row: Attention, score_mode
 * "concat"   concat_score_weight * sum(tanh(scale * (q + k))) AdditiveAttention                sum(scale[features] *
 * tanh(q + k)) A score that the mask hides is lowered by 1e9, as in Keras. After keras/src/layers/attention.
 */
#include <string.h>

#include "op/attention_float64.h"
#include "nn/layer_attention.h"
#include "op/elementwise.h"
#include "op/recurrent.h"
#include "op/reduce.h"
#include "op/shape_ops.h"

typedef struct scored_config {
    bool use_scale;
    double dropout;
} scored_config;

typedef enum score {
    SCORE_DOT,
    SCORE_CONCAT,
    SCORE_ADDITIVE
} score;

#define SCORED_OPTIONS(fallback)                                                                                     \
    {"use_scale",                                                                                                    \
     "a trainable factor on the scores",                                                                             \
     ARTEL__OPTION_BOOL,                                                                                             \
     offsetof(scored_config, use_scale),                                                                             \
     fallback,                                                                                                       \
     0,                                                                                                              \
     0,                                                                                                              \
     NULL},                                                                                                          \
        {"dropout", "share of the scores dropped", ARTEL__OPTION_FLOAT, offsetof(scored_config, dropout), "0", 0, 1, \
         NULL},                                                                                                      \
        ARTEL__PART("seed", "accepted; the run's seed decides")

static const artel__option attention_options[] = {SCORED_OPTIONS("false"), ARTEL__PART("score_mode", "dot or concat"),
                                                  ARTEL__OPTIONS_END};
static const artel__option additive_options[] = {SCORED_OPTIONS("true"), ARTEL__OPTIONS_END};

static score score_of(const artel__layer *layer)
{
    return layer->own ? *(const score *)layer->own : SCORE_DOT;
}

static artel_status configure_attention(artel__layer *layer)
{
    static const score concat = SCORE_CONCAT;
    const char *mode = json_string_value(artel__layer_setting(layer, "score_mode"));
    if (!mode || strcmp(mode, "dot") == 0) return ARTEL_OK;
    layer->own = (void *)&concat;
    if (strcmp(mode, "concat") == 0) return ARTEL_OK;
    return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "use score_mode=\"dot\" or \"concat\"",
                             "the score_mode \"%s\" does not exist", mode);
}

static artel_status configure_additive(artel__layer *layer)
{
    static const score additive = SCORE_ADDITIVE;
    layer->own = (void *)&additive;
    return ARTEL_OK;
}

static artel_status declare(artel__layer *layer, const char *name, const char *initializer, const artel_shape *shape)
{
    artel__weight_parts parts = {0};
    json_t *json = json_string(initializer);
    if (!json) return artel__fail_memory(layer->arena->ctx, layer->name, 1);
    artel_status status = artel__initializer_read(layer->arena, layer->name, json, &parts.initializer);
    json_decref(json);
    ARTEL_TRY(status);
    return artel__layer_declare(layer, name, shape, 0, true, &parts);
}

static artel_status build_scored(artel__layer *layer, const artel__call *call)
{
    const scored_config *c = layer->config;
    artel_shape scalar = {.rank = 0};
    artel__tensor in[3];
    ARTEL_TRY(artel__attention_inputs(layer, call, in));
    const artel_shape *query = &call->graph->value[in[0].value].shape;
    artel_shape features = artel__shape(1, query->rank ? query->dim[query->rank - 1] : (int64_t)1);
    if (c->use_scale && score_of(layer) == SCORE_ADDITIVE) return declare(layer, "scale", "glorot_uniform", &features);
    if (c->use_scale) ARTEL_TRY(declare(layer, "scale", "ones", &scalar));
    return score_of(layer) == SCORE_CONCAT ? declare(layer, "concat_score_weight", "ones", &scalar) : ARTEL_OK;
}

/* -- dot products -- */

/* [n][features] as [n][1][features], one head. */
static artel__value_id one_head(artel__graph *graph, artel__value_id x)
{
    x = artel__as_float(graph, x);
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    artel_shape in = graph->value[x].shape, out = artel__shape(3, in.dim[0], (int64_t)1, in.dim[1]);
    return artel__op_reshape(graph, x, &out);
}

/* The result and the scores behind their softmax. */
typedef struct attended {
    artel__value_id out, scores;
} attended;

/* [..][n][m] as matrices of one head. */
static artel__value_id without_head(artel__graph *graph, artel__value_id x, int head)
{
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    artel_shape in = graph->value[x].shape, out = artel__shape(2, in.dim[head == 0 ? 1 : 0], in.dim[2]);
    return artel__op_reshape(graph, x, &out);
}

static artel__value_id attend(artel__graph *graph, artel__attention *attention, artel__value_id factor,
                              artel__value_id *scores)
{
    artel__attention_float64 how = {.scale = 1, .factor = factor};
    if (graph->status < 0) return ARTEL__NO_VALUE;
    if (graph->value[attention->query].dtype == ARTEL_DTYPE_FLOAT64) {
        how.attention = *attention;
        return artel__attend_float64(graph, &how, scores);
    }
    if (factor >= 0) attention->query = artel__op_binary(graph, ARTEL__BINARY_MUL, attention->query, factor);
    artel__value_id out = artel__op_attention(graph, attention);
    *scores = graph->status < 0 ? ARTEL__NO_VALUE : artel__graph_output(graph, out, 1);
    return out;
}

static artel_status attend_dot(artel__layer *layer, artel__call *call, const artel__tensor in[3], attended *made)
{
    const scored_config *c = layer->config;
    artel__graph *graph = call->graph;
    artel__attention attention = {.query = one_head(graph, in[0].value),
                                  .key = one_head(graph, in[2].value),
                                  .value = one_head(graph, in[1].value),
                                  .mask = artel__attention_mask(graph, in[1].mask, false),
                                  .scale = 1,
                                  .causal = artel__attention_flag(call, "use_causal_mask"),
                                  .rate = c->dropout,
                                  .hidden = ARTEL__HIDDEN_LOWERED};
    artel__value_id factor = c->use_scale ? artel__layer_weight(layer, graph, 0) : ARTEL__NO_VALUE, scores,
                    out = attend(graph, &attention, factor, &scores);
    made->out = without_head(graph, out, 1);
    made->scores = without_head(graph, scores, 0);
    return graph->status;
}

/* -- sums of tanh -- */

/* [t][d] as [t][1][d], or [s][d] as [1][s][d]. */
static artel__value_id spread(artel__graph *graph, artel__value_id x, bool query)
{
    x = artel__as_float(graph, x);
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    const artel_shape *in = &graph->value[x].shape;
    artel_shape out = query ? artel__shape(3, in->dim[0], (int64_t)1, in->dim[1])
                            : artel__shape(3, (int64_t)1, in->dim[0], in->dim[1]);
    return artel__op_reshape(graph, x, &out);
}

static artel__value_id scores_of_sums(artel__layer *layer, artel__graph *graph, artel__value_id query,
                                      artel__value_id key)
{
    const scored_config *c = layer->config;
    bool additive = score_of(layer) == SCORE_ADDITIVE;
    artel__value_id keys = spread(graph, key, false), sum = artel__op_add(graph, spread(graph, query, true), keys);
    if (c->use_scale && !additive)
        sum = artel__op_binary(graph, ARTEL__BINARY_MUL, sum, artel__layer_weight(layer, graph, 0));
    sum = artel__op_unary(graph, ARTEL__UNARY_TANH, NULL, sum);
    if (c->use_scale && additive)
        sum = artel__op_binary(graph, ARTEL__BINARY_MUL, sum, artel__layer_weight(layer, graph, 0));
    sum = artel__op_reduce(graph, ARTEL__REDUCE_SUM, sum, 1u << 2, false);
    return additive ? sum
                    : artel__op_binary(graph, ARTEL__BINARY_MUL, sum,
                                       artel__layer_weight(layer, graph, c->use_scale ? 1 : 0));
}

static artel_status attend_sums(artel__layer *layer, artel__call *call, const artel__tensor in[3], attended *made)
{
    static const int turned[] = {1, 0};
    const scored_config *c = layer->config;
    artel__graph *graph = call->graph;
    artel__value_id scores = scores_of_sums(layer, graph, in[0].value, in[2].value);
    ARTEL_TRY(graph->status);
    artel__value_id mask = artel__attention_mask(graph, in[1].mask, false);
    const artel_shape *shape = &graph->value[scores].shape;
    if (artel__attention_flag(call, "use_causal_mask"))
        mask = artel__attention_both(graph, mask, artel__causal_mask(graph, shape->dim[0], shape->dim[1]));
    made->scores = scores = artel__attention_probabilities(graph, scores, mask, ARTEL__HIDDEN_LOWERED);
    if (graph->training && c->dropout > 0) made->scores = scores = artel__op_dropout(graph, scores, c->dropout, NULL);
    made->out =
        artel__row_products(graph, scores, artel__op_transpose(graph, artel__as_float(graph, in[1].value), turned));
    return graph->status;
}

static artel_status call_scored(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__tensor in[3];
    attended made;
    ARTEL_TRY(artel__attention_inputs(layer, call, in));
    for (int i = 0; i < 3; i++) {
        if (graph->value[in[i].value].shape.rank != 2)
            return artel__layer_fail(layer, ARTEL_ERROR_UNSUPPORTED, "feed sequences of vectors",
                                     "query, value and key do not have three axes");
    }
    ARTEL_TRY((score_of(layer) == SCORE_DOT ? attend_dot : attend_sums)(layer, call, in, &made));
    artel__value_id valid = artel__attention_mask(graph, in[0].mask, true);
    if (valid >= 0) made.out = artel__op_where(graph, valid, made.out, ARTEL__NO_VALUE);
    call->out[0] = (artel__tensor){made.out, in[0].mask};
    call->outputs = 1;
    if (artel__attention_flag(call, "return_attention_scores"))
        call->out[call->outputs++] = (artel__tensor){made.scores, ARTEL__NO_VALUE};
    return graph->status;
}

#define SCORED(symbol, name, table, configuration, sentence) \
    const artel__layer_def artel__layer_##symbol##_def = {   \
        .class_name = name,                                  \
        .doc = sentence,                                     \
        .config_size = sizeof(scored_config),                \
        .options = table,                                    \
        .mask = ARTEL__MASK_OWN,                             \
        .configure = configuration,                          \
        .build = build_scored,                               \
        .call = call_scored,                                 \
    }

SCORED(attention, "Attention", attention_options, configure_attention,
       "Attention by dot products or sums, without projections.");
SCORED(additive_attention, "AdditiveAttention", additive_options, configure_additive,
       "Attention by sums, without projections.");
